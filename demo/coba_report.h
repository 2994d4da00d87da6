/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The figures that sum up a run, and the raster and the population rate of one trial, drawn with characters.
 */
#ifndef LACUNA_DEMO_COBA_REPORT_H
#define LACUNA_DEMO_COBA_REPORT_H

#include "coba_simulate.h"
#include "coba_spikes.h"

#include <stdio.h>

/* The report on a run. */
typedef struct coba_report {
    double seconds;      /* simulated                                            */
    double wall_seconds; /* of the whole program, wiring included                */
    double rate;         /* Hz: spikes per neuron and second                     */
    double late_rate;    /* Hz: the same over the second half of the run         */
    double density;      /* mean fraction of ones among the spikes of a call     */
    int alive;           /* trials with a spike in the last 10 ms                */
} coba_report_t;

/* wall_seconds is what the whole program took. */
coba_report_t coba_report_make(const coba_result_t *result, coba_shape_t shape, double wall_seconds);

/* One line of key=value, with checksums of the raster and of the final potentials. */
void coba_report_summary(FILE *out, const coba_report_t *report, const coba_result_t *result,
                         coba_shape_t shape);

/* The same for people, without the checksums. */
void coba_report_text(FILE *out, const coba_report_t *report, const coba_result_t *result,
                      coba_shape_t shape);

/* The raster and the population rate of one trial, drawn with characters. */

/* Draws trial 0 in at most 100 columns and 26 lines: a sample of neurons, evenly spread over the network,
 * one to each row of dots, excitatory above inhibitory; below it the rate of all neurons.
 * Braille where the locale's characters are UTF-8 (setlocale is the caller's), plain ASCII elsewhere.
 * Returns 0, or -1 when there is no memory. */
int coba_picture_draw(FILE *out, const coba_spikes_t *spikes, coba_shape_t shape);

#endif

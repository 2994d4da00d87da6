/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The figures that sum up a run. */
#ifndef COBA_REPORT_H
#define COBA_REPORT_H

#include <stdio.h>

#include "coba_simulate.h"

/* What is told of a run. */
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

#endif

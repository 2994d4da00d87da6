/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The raster and the population rate of one trial, drawn with characters. */
#ifndef COBA_PICTURE_H
#define COBA_PICTURE_H

#include <stdio.h>

#include "coba_spikes.h"

/* Draws trial 0 in at most 100 columns and 26 lines: a sample of neurons, evenly spread over the network,
 * one to each row of dots, excitatory above inhibitory; below it the rate of all neurons.
 * Braille where the locale's characters are UTF-8 (setlocale is the caller's), plain ASCII elsewhere.
 * Returns 0, or -1 when there is no memory. */
int coba_picture_draw(FILE *out, const coba_spikes_t *spikes, coba_shape_t shape);

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What follows a product, as plain data: bias, and which elements stay. */
#ifndef LACUNA_MODEL_FINISH_H
#define LACUNA_MODEL_FINISH_H

#include "lacuna/types.h"

#include <stdbool.h>

/* out[i, j] := x where x or, of magnitudes, |x| is above limit or NaN, else 0; x = out[i, j] + bias[i or j].
 */
typedef struct lac_finish {
    lac_dim_t m, n;
    float *out;
    lac_inc_t rs, cs;
    const float *bias; /* NULL: none */
    bool bias_of_rows;
    bool magnitude;
    float limit; /* NaN: all stay */
} lac_finish_t;

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The epilogue of a product as plain data: bias, and which elements stay. */
#ifndef LACUNA_MODEL_EPILOGUE_H
#define LACUNA_MODEL_EPILOGUE_H

#include <stdbool.h>

/* c[i, j] := x where x or, of magnitudes, |x| is above limit or NaN, else 0; x = c[i, j] + bias[i or j]. */
typedef struct lac_epilogue_args {
    bool any;          /* false: nothing follows */
    bool bias_per_row; /* of c */
    bool magnitude;
    float limit;       /* NaN: all stay */
    const float *bias; /* NULL: none */
    double pass_us;    /* of a pass over c that does it, behind a route that does not */
    bool bits;         /* which elements of c are not zero is asked for afterwards: lac_outcome_t.bits     */
    bool
        bits_transposed; /* along the columns of c: the rows of the matrix as it is stored, else along rows */
} lac_epilogue_args_t;

#endif

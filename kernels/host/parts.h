/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Parts that several kernels share: levels of sums, the end of a product, the row of an entry. */
#ifndef LACUNA_HOST_PARTS_H
#define LACUNA_HOST_PARTS_H

#include "host_kernels.h"
#include "panels.h"
#include "simd.h"

/* The levels of the runs in panels.h, in vectors: a run carried into them, and all of them added up.
 *
 * `level` is level 1 of the first vector; vectors lie LANES apart, levels `stride`. A level is written before
 * it is read, and needs no initial contents. */

/* True where term `nth`, counted from 0, begins a run after another one. */
LAC_INLINE bool begins_run(int64_t nth)
{
    return nth % RUN == 0 && nth != 0;
}

/* Sums in level l after `count` of RUN^l terms: a digit, or in the last level all of them. */
LAC_INLINE int64_t run_digit(int l, int64_t count)
{
    return l < RUN_LEVELS - 1 ? count % RUN : count;
}

/* Carries sum, which holds the run that ended before term `nth`. */
LAC_INLINE void carry_run(vec_t *sum, int vectors, real_t *level, int64_t stride, int64_t nth)
{
    int l = 1;
    int64_t count = nth / RUN;
    for (; run_digit(l, count) == 0; l++, count /= RUN, level += stride) {
        UNROLLED
        for (int v = 0; v < vectors; v++) sum[v] = v_load(level + v * LANES) + sum[v];
    }
    bool first = run_digit(l, count) == 1;
    UNROLLED
    for (int v = 0; v < vectors; v++) {
        if (!first) sum[v] = v_load(level + v * LANES) + sum[v];
        v_store(level + v * LANES, sum[v]);
    }
}

/* Adds to sum, the last run of `terms`, the levels above it. */
LAC_INLINE void add_levels(vec_t *sum, int vectors, const real_t *level, int64_t stride, int64_t terms)
{
    int64_t count = (terms - 1) / RUN;
    for (int l = 1; count > 0 && l < RUN_LEVELS; l++, count /= RUN, level += stride) {
        if (run_digit(l, count) == 0) continue;
        UNROLLED
        for (int v = 0; v < vectors; v++) sum[v] = v_load(level + v * LANES) + sum[v];
    }
}

/* The end of a product that keeps its sums in scratch: acc[i * lda + j], i < m, j < n, to elements
 * (i0 + i, j0 + j) of out, at any strides. Every element is finished alike, so that the result does not
 * depend on the layout of out or on where a vector ended. */
static void write_out(const real_t *acc, int64_t lda, int64_t m, int64_t n, const lac_host_output_t *out,
                      int64_t i0, int64_t j0)
{
    real_t alpha = SCALAR(out->alpha);
    real_t beta = SCALAR(out->beta);
    int64_t rs = out->rs;
    int64_t cs = out->cs;
    real_t *to = (real_t *)out->data + i0 * rs + j0 * cs;
    if (cs == 1) {
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j += LANES) {
                int64_t lanes = min_i64(n - j, LANES);
                const real_t *p = acc + i * lda + j;
                v_scale_out(to + i * rs + j, lanes == LANES ? v_load(p) : v_load_n(p, lanes), alpha, beta,
                            lanes);
            }
        return;
    }
    int64_t vector_rows = rs == 1 ? m - m % LANES : 0;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < vector_rows; i += LANES)
            v_scale_out(to + i + j * cs, v_load_strided(acc + i * lda + j, lda), alpha, beta, LANES);
        for (int64_t i = vector_rows; i < m; i++)
            to[i * rs + j * cs] = r_scale_out(alpha, acc[i * lda + j], beta, to + i * rs + j * cs);
    }
}

/* Where the work is cut by entries, the row that an entry of a CSR matrix lies in: the last row that begins
 * at or before entry e. */
static int64_t row_of_entry(const lac_rows_t *s, int64_t e)
{
    int64_t low = 0;
    int64_t high = s->rows;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (s->ptr[middle] <= e)
            low = middle;
        else
            high = middle;
    }
    return low;
}

#endif

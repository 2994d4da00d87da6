/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The levels of sum_runs.h, in vectors: a run carried into them, and all of them added up.
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

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Product of the events of S, by rows, with a W that is sparse itself. */

/* Rows [i0, i1) x columns [j0, j1) of out. w lists W by its rows: w->rows is the summed extent, w->cols the
 * columns of out. acc: lac_pair_scratch(j1 - j0, size) bytes of the calling thread. */
LAC_KERNEL(csr_pair, void,
           (const lac_rows_t *s, const lac_rows_t *w, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
            const lac_host_output_t *out, void *acc))

#ifdef LAC_KERNEL_BODIES

/* csr_pair: out := beta * out + alpha * S * W with S and W in CSR: the step of a network of sparse weights.
 *
 * Shapes    S rows x kk, W kk x n, out rows x n at any strides. One row of out after the other is summed in
 *           acc: each event of S adds its row of W to the columns that this has entries in.
 * Bytes     8 per entry of an active row of W (4 where all are 1), once; acc written and read once a row, and
 *           once for each entry, from a cache where it fits one.
 * Order     each out[i, j]: one multiply-add in double per entry, k ascending, rounded once; of double values
 *           the sums of PAIR_RUN events at a time are added up. No dependence on the ranges.
 * Limit     one load, multiply-add and store of acc an entry; memory, where rows of W are not in a cache. The
 *           next rows are asked for ahead: the processor does not see where they begin. */

enum { PAIR_RUN = 512, PAIR_AHEAD = 2, PAIR_LINES = 4, PAIR_LINE = 16 /* elements of a cache line */ };

/* The first entry of [begin, end) from column j on. */
LAC_INLINE int64_t pair_first(const int32_t *idx, int64_t begin, int64_t end, int64_t j)
{
    while (begin < end) {
        int64_t middle = begin + (end - begin) / 2;
        if (idx[middle] < j)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Asks for the entries of the event after the next, and for where those of a later one lie. */
LAC_INLINE void pair_fetch(const lac_rows_t *s, const lac_rows_t *w, int64_t e, int64_t end)
{
    if (e + 2 * PAIR_AHEAD < end) __builtin_prefetch(w->ptr + s->idx[e + 2 * PAIR_AHEAD]);
    if (e + PAIR_AHEAD >= end) return;
    int64_t begin = w->ptr[s->idx[e + PAIR_AHEAD]];
    for (int64_t l = 0; l < PAIR_LINES; l++) {
        __builtin_prefetch(w->idx + begin + l * PAIR_LINE);
        if (w->val) __builtin_prefetch((const real_t *)w->val + begin + l * PAIR_LINE);
    }
}

/* Events [first, last) of S into acc, of which element 0 is column j0. */
static void pair_events(const lac_rows_t *s, int64_t first, int64_t last, const lac_rows_t *w, int64_t j0,
                        int64_t j1, double *acc)
{
    const int32_t *idx = w->idx;
    const real_t *val = w->val;
    double *to = acc - j0;
    for (int64_t e = first; e < last; e++) {
        int64_t k = s->idx[e];
        int64_t p = w->ptr[k];
        int64_t end = w->ptr[k + 1];
        double x = s->val ? (double)((const real_t *)s->val)[e] : 1.0;
        pair_fetch(s, w, e, last);
        if (j0 > 0) p = pair_first(idx, p, end, j0);
        if (j1 < w->cols) end = pair_first(idx, p, end, j1);
        if (val)
            for (; p < end; p++) to[idx[p]] += x * (double)val[p];
        else
            for (; p < end; p++) to[idx[p]] += x;
    }
}

/* One row's events: in double, floats need no runs. */
static void pair_row(const lac_rows_t *s, int64_t i, const lac_rows_t *w, int64_t j0, int64_t j1, double *acc)
{
    int64_t n = j1 - j0;
    int64_t e = s->ptr[i];
    int64_t last = s->ptr[i + 1];
    double *total = acc + n; /* of the runs before, where there is one */
    memset(acc, 0, (size_t)n * sizeof *acc);
    if (sizeof(real_t) < sizeof *acc || last - e <= PAIR_RUN) {
        pair_events(s, e, last, w, j0, j1, acc);
        return;
    }
    memset(total, 0, (size_t)n * sizeof *total);
    for (; e < last; e += PAIR_RUN) {
        pair_events(s, e, min_i64(e + PAIR_RUN, last), w, j0, j1, acc);
        for (int64_t j = 0; j < n; j++) total[j] += acc[j], acc[j] = 0;
    }
    memcpy(acc, total, (size_t)n * sizeof *acc);
}

static void csr_pair(const lac_rows_t *s, const lac_rows_t *w, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
                     const lac_host_output_t *out, void *acc)
{
    const double *sums = acc;
    for (int64_t i = i0; i < i1 && j0 < j1; i++) {
        pair_row(s, i, w, j0, j1, acc);
        for (int64_t j = j0; j < j1; j += LANES) {
            real_t sum[LANES];
            int64_t lanes = min_i64(j1 - j, LANES);
            for (int64_t l = 0; l < lanes; l++) sum[l] = (real_t)sums[j - j0 + l];
            write_out(sum, LANES, 1, lanes, out, i, j);
        }
    }
}

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Products of S in CSR with W, by rows of W and by columns. */

/* CSR products, rows [i0, i1) x columns [j0, j1) of out. W by rows (w[k * ldw + j]).
 * scratch: lac_csr_scratch(s->cols, size) values of the calling thread, where panels of W are packed when
 * that pays; or NULL: never packed. The result is the same. Cut j before i: each call packs its panels. */
LAC_KERNEL(csr_rows, void,
           (const lac_rows_t *s, int64_t i0, int64_t i1, const void *w, int64_t ldw, int64_t j0, int64_t j1,
            const lac_host_output_t *out, void *scratch))
/* The same with W by columns (w[j * ldw + k]); good for few columns. */
LAC_KERNEL(csr_cols, void,
           (const lac_rows_t *s, int64_t i0, int64_t i1, const void *w, int64_t ldw, int64_t j0, int64_t j1,
            const lac_host_output_t *out))

#ifdef LAC_KERNEL_BODIES

/* csr_rows: out := beta * out + alpha * S * W with S in CSR, where rows of W are contiguous.
 *
 * Shapes    S rows x kk, W kk x n with W[k, j] at w[k * ldw + j], out rows x n at any strides. Columns are
 *           summed in registers, up to ROW_VECTORS vectors at a time. Where the rows have enough entries to
 *           pay for it, W goes in panels that are first packed into scratch: one then stays in L2 whatever
 *           ldw is (a power of two maps its rows to few cache sets). Where they have too few, rows go whole,
 *           so that memory streams the rows of W, RUN of them at a time where there are many, and those of a
 *           large output without an entry past the caches.
 * Bytes     per entry a panel row of W from L2 (from memory when not packed) and 8 of S; W once per panel
 *           when packed. Flops 2 (j1 - j0) per entry.
 * Order     each out[i, j]: one multiply-add per entry, k ascending, in runs (panels.h); no dependence on
 *           the panels or on the ranges.
 * Limit     one load of W per multiply-add, from L2.
 * Measured  AVX-512, Xeon (family 6 model 207, 2.3 GHz), one thread on a shared machine, 2026-11-20:
 *           2048x2048x2048 at 10 %: 30 ms, 115 GB/s from L2, 58 GFLOP/s of the nonzeros. */

enum {
    ROW_VECTORS = 8,
    CSR_PAST = 4 << 20,                    /* elements of out                                    */
    CSR_LONG = 256,                        /* entries of a row beyond which it goes run by run   */
    CSR_SPAN = 8192 / (int)sizeof(real_t), /* columns of out that a run goes through, at most  */
    CSR_SPAN_VECTORS = 4
};

/* The entries of one row of S. */
typedef struct csr_entries {
    const int32_t *idx;
    const real_t *val; /* or NULL: every one is 1 */
    int64_t nnz;
} csr_entries_t;

LAC_INLINE csr_entries_t csr_entries(const lac_rows_t *s, int64_t i)
{
    int64_t first = s->ptr[i];
    return (csr_entries_t){s->idx + first, s->val ? (const real_t *)s->val + first : NULL,
                           s->ptr[i + 1] - first};
}

/* The sums of one row, `vectors` vectors of columns, to `to`; of the last only the first `lanes` lanes. */
LAC_INLINE void csr_store(const vec_t *sum, int vectors, int64_t lanes, const lac_host_output_t *out,
                          real_t *to)
{
    real_t alpha = SCALAR(out->alpha);
    real_t beta = SCALAR(out->beta);
    int64_t cs = out->cs;
    int last = vectors - 1;
    if (cs == 1) {
        UNROLLED
        for (int v = 0; v < last; v++) v_scale_out(to + v * LANES, sum[v], alpha, beta, LANES);
        v_scale_out(to + last * LANES, sum[last], alpha, beta, lanes);
        return;
    }
    UNROLLED
    for (int v = 0; v < vectors; v++) {
        real_t t[LANES];
        v_store(t, sum[v]);
        for (int64_t l = 0; l < (v < last ? LANES : lanes); l++) {
            real_t *o = to + (v * LANES + l) * cs;
            *o = r_scale_out(alpha, t[l], beta, o);
        }
    }
}

/* The sums of the run that begins at entry e, `vectors` vectors of columns; of the last only the first
 * `lanes` lanes. Returns where the run ends. */
LAC_INLINE int64_t csr_sum_run(const csr_entries_t *s, int64_t e, const real_t *w, int64_t ldw, int vectors,
                               int64_t lanes, vec_t *sum)
{
    int last = vectors - 1;
    int64_t end = min_i64(e + RUN, s->nnz);
    UNROLLED
    for (int v = 0; v < vectors; v++) sum[v] = v_zero();
    for (int64_t p = e; p < end; p++) {
        const real_t *slice = w + s->idx[p] * ldw;
        vec_t value = v_set1(s->val ? s->val[p] : 1);
        UNROLLED
        for (int v = 0; v < last; v++) sum[v] = v_fma(value, v_load(slice + v * LANES), sum[v]);
        const real_t *tail = slice + last * LANES;
        sum[last] = v_fma(value, lanes == LANES ? v_load(tail) : v_load_n(tail, lanes), sum[last]);
    }
    return end;
}

/* `vectors` vectors of columns of one row; in the last, only the first `lanes` lanes. */
LAC_INLINE void csr_row_block(const csr_entries_t *s, const real_t *w, int64_t ldw, int vectors,
                              int64_t lanes, const lac_host_output_t *out, real_t *to)
{
    real_t level[(RUN_LEVELS - 1) * ROW_VECTORS * LANES];
    vec_t sum[ROW_VECTORS];
    int64_t end = csr_sum_run(s, 0, w, ldw, vectors, lanes, sum);
    while (end < s->nnz) {
        carry_run(sum, vectors, level, ROW_VECTORS * LANES, end);
        end = csr_sum_run(s, end, w, ldw, vectors, lanes, sum);
    }
    add_levels(sum, vectors, level, ROW_VECTORS * LANES, s->nnz);
    csr_store(sum, vectors, lanes, out, to);
}

/* The run from entry e alone, carried into `level`; of the last run, the end of the row's sums. */
LAC_INLINE void csr_run_block(const csr_entries_t *s, int64_t e, const real_t *w, int64_t ldw, int vectors,
                              int64_t lanes, real_t *level, const lac_host_output_t *out, real_t *to)
{
    vec_t sum[CSR_SPAN_VECTORS];
    int64_t end = csr_sum_run(s, e, w, ldw, vectors, lanes, sum);
    if (end < s->nnz) {
        carry_run(sum, vectors, level, CSR_SPAN, end);
        return;
    }
    add_levels(sum, vectors, level, CSR_SPAN, s->nnz);
    csr_store(sum, vectors, lanes, out, to);
}

/* n columns of a row of many entries: run by run, so that memory streams no more rows of W than a run has. */
static void csr_long_row(const csr_entries_t *s, const real_t *w, int64_t ldw, int64_t n,
                         const lac_host_output_t *out, real_t *to)
{
    enum { BLOCK = CSR_SPAN_VECTORS * LANES };
    real_t level[(RUN_LEVELS - 1) * CSR_SPAN];
    for (int64_t j0 = 0; j0 < n; j0 += CSR_SPAN)
        for (int64_t e = 0; e < s->nnz; e += RUN) {
            int64_t j = j0, j1 = min_i64(n, j0 + CSR_SPAN);
            for (; j + BLOCK <= j1; j += BLOCK)
                csr_run_block(s, e, w + j, ldw, CSR_SPAN_VECTORS, LANES, level + j - j0, out,
                              to + j * out->cs);
            for (; j < j1; j += LANES)
                csr_run_block(s, e, w + j, ldw, 1, min_i64(LANES, j1 - j), level + j - j0, out,
                              to + j * out->cs);
        }
}

/* n columns of one row: whole blocks, then halves of a block, then what is left with a partial vector. */
static void csr_row(const csr_entries_t *s, const real_t *w, int64_t ldw, int64_t n,
                    const lac_host_output_t *out, real_t *to)
{
    int64_t cs = out->cs;
    int64_t j = 0;
    for (; j + 8 * LANES <= n; j += 8 * LANES) csr_row_block(s, w + j, ldw, 8, LANES, out, to + j * cs);
    for (; j + 4 * LANES <= n; j += 4 * LANES) csr_row_block(s, w + j, ldw, 4, LANES, out, to + j * cs);
    for (; j + 2 * LANES <= n; j += 2 * LANES) csr_row_block(s, w + j, ldw, 2, LANES, out, to + j * cs);
    if (j + LANES < n)
        csr_row_block(s, w + j, ldw, 2, n - j - LANES, out, to + j * cs);
    else if (j + LANES == n)
        csr_row_block(s, w + j, ldw, 1, LANES, out, to + j * cs);
    else if (j < n)
        csr_row_block(s, w + j, ldw, 1, n - j, out, to + j * cs);
}

/* A row without entries of an output that is larger than caches. */
static void csr_empty_row(int64_t n, real_t x, real_t *out)
{
    int64_t j = 0, head = min_i64(n, (int64_t)(-(uintptr_t)out / sizeof *out % LANES));
    for (; j < head; j++) out[j] = x;
    for (vec_t v = v_set1(x); j + LANES <= n; j += LANES) v_stream(out + j, v);
    for (; j < n; j++) out[j] = x;
}

/* Copies columns [j, j + n) of W next to each other. */
LAC_INLINE void csr_pack(const real_t *w, int64_t ldw, int64_t kk, int64_t j, int64_t n, real_t *panel)
{
    for (int64_t k = 0; k < kk; k++) memcpy(panel + k * n, w + k * ldw + j, (size_t)n * sizeof *w);
}

static void csr_rows(const lac_rows_t *s, int64_t i0, int64_t i1, const void *w, int64_t ldw, int64_t j0,
                     int64_t j1, const lac_host_output_t *out, void *scratch)
{
    if (i0 >= i1 || j0 >= j1) return;
    int64_t rows = i1 - i0;
    int64_t entries = s->ptr[i1] - s->ptr[i0];
    bool pack = scratch && csr_packs(rows, s->cols, entries, sizeof(real_t));
    bool past = SCALAR(out->beta) == 0 && out->cs == 1 && rows * (j1 - j0) > CSR_PAST;
    int64_t width = pack ? csr_panel(s->cols, sizeof(real_t)) : j1 - j0;
    for (int64_t j = j0; j < j1; j += width) {
        int64_t n = min_i64(j1 - j, width);
        const real_t *panel = pack ? scratch : (const real_t *)w + j;
        int64_t ld = pack ? n : ldw;
        if (pack) csr_pack(w, ldw, s->cols, j, n, scratch);
        for (int64_t i = i0; i < i1; i++) {
            csr_entries_t row = csr_entries(s, i);
            real_t *to = (real_t *)out->data + i * out->rs + j * out->cs;
            if (past && row.nnz == 0)
                csr_empty_row(n, SCALAR(out->alpha) * 0, to);
            else if (!pack && row.nnz > CSR_LONG)
                csr_long_row(&row, panel, ld, n, out, to);
            else
                csr_row(&row, panel, ld, n, out, to);
        }
    }
    if (past) v_stream_end();
}

/* csr_cols: out := beta * out + alpha * S * W with S in CSR, where columns of W are contiguous.
 *
 * Shapes    S rows x kk, W kk x n with W[k, j] at w[j * ldw + k], out rows x n at any strides. CHUNK
 *           entries of a row at a time meet up to COLUMN_BLOCK columns: S is read n / COLUMN_BLOCK times.
 * Bytes     8 per entry of S and block; W by gathers, from cache when n is short. Flops 2 (j1 - j0) per
 *           entry.
 * Order     entry e of a row is added in lane e % CHUNK, LANE_RUN of them straight up; the lanes are added in
 *           one fixed tree. No dependence on the ranges.
 * Limit     bytes of S while n is 1, then one gathered element a cycle.
 * Measured  AVX-512, Xeon (family 6 model 207, 2.3 GHz), one thread on a shared machine, 2026-11-20:
 *           5000x5000 at 5 %, n = 1: 0.44 ms, 23 GB/s of the 31 that a plain sum streams; n = 10: 4.1 ms,
 *           where csr_rows takes 1.7 ms. */

enum { COLUMN_BLOCK = 4 };

LAC_INLINE xvec_t x_gather(const real_t *p, const int32_t *idx)
{
    xvec_t x;
    UNROLLED
    for (int v = 0; v < PER_CHUNK; v++) x.v[v] = v_load_indexed(p, idx + v * LANES);
    return x;
}

LAC_INLINE xvec_t x_load(const real_t *p)
{
    xvec_t x;
    UNROLLED
    for (int v = 0; v < PER_CHUNK; v++) x.v[v] = v_load(p + v * LANES);
    return x;
}

LAC_INLINE void csr_dot(const csr_entries_t *s, const real_t *w, int64_t ldw, int columns,
                        const lac_host_output_t *out, real_t *to)
{
    const xvec_t zero = x_ones(0);
    const xvec_t one = x_ones((xmask_t)CHUNK_MASK);
    xvec_t sum[COLUMN_BLOCK], total[COLUMN_BLOCK];
    int64_t e = 0;
    UNROLLED
    for (int c = 0; c < columns; c++) sum[c] = total[c] = zero;
    for (int64_t whole = s->nnz - s->nnz % CHUNK; e < whole;) {
        UNROLLED
        for (int c = 0; c < columns; c++) total[c] = x_add(total[c], sum[c]), sum[c] = zero;
        for (int64_t end = min_i64(e + LANE_RUN * CHUNK, whole); e < end; e += CHUNK) {
            xvec_t value = s->val ? x_load(s->val + e) : one;
            UNROLLED
            for (int c = 0; c < columns; c++)
                sum[c] = x_fma(value, x_gather(w + c * ldw, s->idx + e), sum[c]);
        }
    }
    UNROLLED
    for (int c = 0; c < columns; c++) {
        real_t lane[CHUNK];
        memcpy(lane, &sum[c], sizeof lane);
        for (int64_t t = e; t < s->nnz; t++)
            lane[t - e] = r_fma(s->val ? s->val[t] : 1, w[c * ldw + s->idx[t]], lane[t - e]);
        memcpy(&sum[c], lane, sizeof lane);
        real_t *o = to + c * out->cs;
        *o = r_scale_out(SCALAR(out->alpha), x_sum(x_add(total[c], sum[c])), SCALAR(out->beta), o);
    }
}

static void csr_cols(const lac_rows_t *s, int64_t i0, int64_t i1, const void *w, int64_t ldw, int64_t j0,
                     int64_t j1, const lac_host_output_t *out)
{
    for (int64_t j = j0; j < j1; j += COLUMN_BLOCK)
        for (int64_t i = i0; i < i1; i++) {
            csr_entries_t row = csr_entries(s, i);
            const real_t *from = (const real_t *)w + j * ldw;
            real_t *to = (real_t *)out->data + i * out->rs + j * out->cs;
            switch (min_i64(j1 - j, COLUMN_BLOCK)) {
            case 4:
                csr_dot(&row, from, ldw, 4, out, to);
                break;
            case 3:
                csr_dot(&row, from, ldw, 3, out, to);
                break;
            case 2:
                csr_dot(&row, from, ldw, 2, out, to);
                break;
            default:
                csr_dot(&row, from, ldw, 1, out, to);
                break;
            }
        }
}

#endif

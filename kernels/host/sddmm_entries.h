/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * sddmm: val[e] := beta * val[e] + alpha * sum over k of A[i, k] * B[k, j], at the entries e = (i, j) of a
 * pattern.
 *
 * Layout    the pattern in CSR; A by rows and B by columns, so that both are read along k (A[i, k] at
 *           a[i * lda + k], B[k, j] at b[j * ldb + k]). SDDMM_COLUMNS entries of a row at a time share the
 *           loads of A, and their sums stay in registers.
 * Bytes     per entry kk values of B and kk / SDDMM_COLUMNS of A from the caches, 4 of index and a value.
 *           Flops 2 kk per entry.
 * Order     element k in lane k % CHUNK, ascending, one multiply-add each, LANE_RUN of them straight up; the
 *           lanes are added in one fixed order. No dependence on the ranges, or on which entries go together.
 * Limit     loads of B: from L2 where its columns fit, as they do not come in blocks. */

/* Sampled product, entries [e0, e1) of the pattern (whose values are not read): val[e] := beta * val[e] +
 * alpha * sum over k of A[i, k] * B[k, j] for entry e = (i, j), both along k: A[i, k] at a[i * lda + k],
 * B[k, j] at b[j * ldb + k]. Each value is summed in CHUNK lanes that are added in one fixed order. */
LAC_KERNEL(sddmm, void,
           (const lac_rows_t *pattern, int64_t e0, int64_t e1, const void *a, int64_t lda, const void *b,
            int64_t ldb, int64_t kk, double alpha, double beta, void *val))

#ifdef LAC_KERNEL_BODIES

enum { SDDMM_COLUMNS = 4 };

/* The lanes of x[0..CHUNK), of which the first `count` are there. */
LAC_INLINE xvec_t x_load_upto(const real_t *x, int64_t count)
{
    xvec_t v;
    UNROLLED
    for (int p = 0; p < PER_CHUNK; p++) v.v[p] = v_load_upto(x + p * LANES, count - p * LANES);
    return v;
}

/* Sums of one row of A with SDDMM_COLUMNS columns of B. */
LAC_INLINE void sddmm_sums(const real_t *a, const real_t *const *b, int64_t kk, real_t *sum)
{
    const xvec_t zero = x_ones(0);
    xvec_t lanes[SDDMM_COLUMNS], total[SDDMM_COLUMNS];
    int64_t whole = kk - kk % CHUNK;
    UNROLLED
    for (int c = 0; c < SDDMM_COLUMNS; c++) lanes[c] = total[c] = zero;
    for (int64_t k = 0; k < whole;) {
        UNROLLED
        for (int c = 0; c < SDDMM_COLUMNS; c++) total[c] = x_add(total[c], lanes[c]), lanes[c] = zero;
        for (int64_t end = min_i64(k + LANE_RUN * CHUNK, whole); k < end; k += CHUNK) {
            xvec_t x = x_load_upto(a + k, CHUNK);
            UNROLLED
            for (int c = 0; c < SDDMM_COLUMNS; c++)
                lanes[c] = x_fma(x, x_load_upto(b[c] + k, CHUNK), lanes[c]);
        }
    }
    if (whole < kk) {
        xvec_t x = x_load_upto(a + whole, kk - whole);
        UNROLLED
        for (int c = 0; c < SDDMM_COLUMNS; c++)
            lanes[c] = x_fma(x, x_load_upto(b[c] + whole, kk - whole), lanes[c]);
    }
    UNROLLED
    for (int c = 0; c < SDDMM_COLUMNS; c++) sum[c] = x_sum(x_add(total[c], lanes[c]));
}

static void sddmm(const lac_rows_t *pattern, int64_t e0, int64_t e1, const void *a, int64_t lda,
                  const void *b, int64_t ldb, int64_t kk, double alpha, double beta, void *values)
{
    const real_t by = (real_t)alpha, keep = (real_t)beta;
    real_t *val = values;
    const real_t *column[SDDMM_COLUMNS];
    real_t sum[SDDMM_COLUMNS];
    if (e0 >= e1) return;
    for (int64_t row = row_of_entry(pattern, e0), e = e0; e < e1; row++) {
        int64_t end = min_i64(pattern->ptr[row + 1], e1);
        for (; e < end; e += SDDMM_COLUMNS) {
            int64_t count = min_i64(end - e, SDDMM_COLUMNS);
            /* What is missing of a group is its last column again, which is in L1: its sum is dropped. */
            for (int64_t c = 0; c < SDDMM_COLUMNS; c++)
                column[c] = (const real_t *)b + pattern->idx[e + min_i64(c, count - 1)] * ldb;
            sddmm_sums((const real_t *)a + row * lda, column, kk, sum);
            for (int64_t c = 0; c < count; c++) val[e + c] = r_scale_out(by, sum[c], keep, val + e + c);
        }
        e = end;
    }
}

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * csr_cols: out := beta * out + alpha * S * W with S in CSR, where columns of W are contiguous.
 *
 * Shapes    S rows x kk, W kk x n with W[k, j] at w[j * ldw + k], out rows x n at any strides. Sixteen
 *           entries of a row at a time meet up to COLUMN_BLOCK columns: S is read n / COLUMN_BLOCK times.
 * Bytes     8 per entry of S and block; W by gathers, from cache when n is short. Flops 2 (j1 - j0) per
 *           entry.
 * Order     entry e of a row is added in lane e % 16, LANE_RUN of them straight up; the lanes are added in
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

LAC_INLINE void csr_dot(const int32_t *idx, const float *val, int64_t nnz, const real_t *w, int64_t ldw,
                        int columns, real_t alpha, real_t beta, real_t *out, int64_t cs)
{
    const xvec_t zero = x_ones(0);
    const xvec_t one = x_ones(0xFFFF);
    xvec_t sum[COLUMN_BLOCK], total[COLUMN_BLOCK];
    int64_t e = 0;
    UNROLLED
    for (int c = 0; c < columns; c++) sum[c] = total[c] = zero;
    for (int64_t whole = nnz - nnz % CHUNK; e < whole;) {
        UNROLLED
        for (int c = 0; c < columns; c++) total[c] = x_add(total[c], sum[c]), sum[c] = zero;
        for (int64_t end = min_i64(e + LANE_RUN * CHUNK, whole); e < end; e += CHUNK) {
            xvec_t value = val ? x_load(val + e) : one;
            UNROLLED
            for (int c = 0; c < columns; c++) sum[c] = x_fma(value, x_gather(w + c * ldw, idx + e), sum[c]);
        }
    }
    UNROLLED
    for (int c = 0; c < columns; c++) {
        real_t lane[CHUNK];
        memcpy(lane, &sum[c], sizeof lane);
        for (int64_t t = e; t < nnz; t++)
            lane[t - e] = r_fma(val ? val[t] : 1, w[c * ldw + idx[t]], lane[t - e]);
        memcpy(&sum[c], lane, sizeof lane);
        out[c * cs] = r_scale_out(alpha, x_sum(x_add(total[c], sum[c])), beta, out + c * cs);
    }
}

static void csr_cols(const lac_rows_t *s, int64_t i0, int64_t i1, const float *w, int64_t ldw, int64_t j0,
                     int64_t j1, float alpha, float beta, float *out, int64_t rs, int64_t cs)
{
    for (int64_t j = j0; j < j1; j += COLUMN_BLOCK)
        for (int64_t i = i0; i < i1; i++) {
            int64_t first = s->ptr[i];
            int64_t nnz = s->ptr[i + 1] - first;
            const int32_t *idx = s->idx + first;
            const float *val = s->val ? s->val + first : NULL;
            const real_t *from = w + j * ldw;
            real_t *to = out + i * rs + j * cs;
            switch (min_i64(j1 - j, COLUMN_BLOCK)) {
            case 4:
                csr_dot(idx, val, nnz, from, ldw, 4, alpha, beta, to, cs);
                break;
            case 3:
                csr_dot(idx, val, nnz, from, ldw, 3, alpha, beta, to, cs);
                break;
            case 2:
                csr_dot(idx, val, nnz, from, ldw, 2, alpha, beta, to, cs);
                break;
            default:
                csr_dot(idx, val, nnz, from, ldw, 1, alpha, beta, to, cs);
                break;
            }
        }
}

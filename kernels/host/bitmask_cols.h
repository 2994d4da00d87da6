/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * bitmask_cols: out := beta * out + alpha * S * W with S as occupancy bits and packed values, where columns
 * of W are contiguous and few.
 *
 * Shapes    S rows x kk, W kk x n with W[k, j] at w[j * ldw + k], out rows x n at any strides. Sixteen k of a
 *           row at a time: their packed values are spread to their lanes and meet up to BITS_COLUMNS columns.
 * Bytes     per row kk / 8 of bits and 4 per nonzero, ceil(n / BITS_COLUMNS) times, against 4 kk when dense;
 *           W from cache. Flops 2 n kk / 16 vector lanes whatever the density.
 * Order     k is added in lane k % 16; the lanes are added in one fixed tree. No dependence on the ranges. */

enum { BITS_COLUMNS = 8 };

LAC_INLINE void bits_dot(const uint64_t *bits, int64_t words, const float *val, const real_t *w, int64_t ldw,
                         int columns, real_t alpha, real_t beta, real_t *out, int64_t cs)
{
    xvec_t sum[BITS_COLUMNS];
    for (int c = 0; c < columns; c++) sum[c] = x_ones(0);
    for (int64_t word = 0; word < words; word++) {
        uint64_t rest = bits[word];
        for (const real_t *p = w + word * 64; rest; rest >>= CHUNK, p += CHUNK) {
            uint32_t set = (uint32_t)(rest & 0xFFFFU);
            xvec_t value = val ? x_expand(val, set) : x_ones(set);
            if (val) val += __builtin_popcount(set);
            for (int c = 0; c < columns; c++) sum[c] = x_fma(value, x_load_masked(p + c * ldw, set), sum[c]);
        }
    }
    for (int c = 0; c < columns; c++) out[c * cs] = r_finish(alpha, x_sum(sum[c]), beta, out + c * cs);
}

static void bitmask_cols(const lac_bits_t *s, int64_t i0, int64_t i1, const float *w, int64_t ldw, int64_t n,
                         float alpha, float beta, float *out, int64_t rs, int64_t cs)
{
    for (int64_t i = i0; i < i1; i++) {
        const uint64_t *bits = s->bits + i * s->words;
        const float *val = s->val ? s->val + s->first[i] : NULL;
        real_t *to = out + i * rs;
        int64_t j = 0;
        for (; j + 8 <= n; j += 8)
            bits_dot(bits, s->words, val, w + j * ldw, ldw, 8, alpha, beta, to + j * cs, cs);
        for (; j + 4 <= n; j += 4)
            bits_dot(bits, s->words, val, w + j * ldw, ldw, 4, alpha, beta, to + j * cs, cs);
        for (; j + 2 <= n; j += 2)
            bits_dot(bits, s->words, val, w + j * ldw, ldw, 2, alpha, beta, to + j * cs, cs);
        for (; j < n; j++) bits_dot(bits, s->words, val, w + j * ldw, ldw, 1, alpha, beta, to + j * cs, cs);
    }
}

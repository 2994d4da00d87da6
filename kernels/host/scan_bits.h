/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * fill_bits: one occupancy bit per element of S, rows of ceil(kk / 64) words.
 *
 * Layout    S at s[i * rs + k * cs]. cs == 1: a mask is a word. rs == 1: 64 masks along the rows are
 *           transposed as a 64 x 64 bit matrix. Any other: element by element.
 * Bytes     all of S once, 1 bit per element written. No flops.
 * Limit     memory, as count_rows. */

#if !defined(LAC_BITS_SHARED)
#    define LAC_BITS_SHARED
/* In place: bit c of a[r] becomes bit r of a[c]. Swaps off-diagonal blocks of 32, 16, .. 1 bits
 * (H. S. Warren, Hacker's Delight, 7-3). */
static void transpose_bits(uint64_t a[64])
{
    uint64_t low = 0x00000000FFFFFFFFU;
    for (int half = 32; half > 0; half /= 2, low ^= low << half)
        for (int r = 0; r < 64; r = (r + half + 1) & ~half) {
            uint64_t t = ((a[r] >> half) ^ a[r + half]) & low;
            a[r] ^= t << half;
            a[r + half] ^= t;
        }
}
#endif

static uint64_t ELEM(nz_strided)(const elem_t *p, int64_t stride, int64_t n)
{
    uint64_t bits = 0;
    for (int64_t l = 0; l < n; l++) bits |= (uint64_t)(p[l * stride] != 0) << l;
    return bits;
}

/* Words of 64 rows from one block of 64 columns. */
static void ELEM(bits_of_columns)(const elem_t *s, int64_t i0, int64_t rows, int64_t k0, int64_t n,
                                  int64_t cs, uint64_t *bits, int64_t words)
{
    uint64_t block[64] = {0};
    for (int64_t k = 0; k < n; k++) block[k] = ELEM(nz_part)(s + (k0 + k) * cs + i0, rows);
    transpose_bits(block);
    for (int64_t i = 0; i < rows; i++) bits[i * words] = block[i];
}

static void ELEM(fill_bits)(const elem_t *s, int64_t i0, int64_t i1, int64_t kk, int64_t rs, int64_t cs,
                            uint64_t *bits)
{
    int64_t words = (kk + 63) / 64;
    if (cs != 1 && rs == 1) {
        for (int64_t i = i0; i < i1; i += 64)
            for (int64_t k = 0; k < kk; k += 64) ELEM(bits_of_columns)
        (s, i, min_i64(i1 - i, 64), k, min_i64(kk - k, 64), cs, bits + (i - i0) * words + k / 64, words);
        return;
    }
    for (int64_t i = i0; i < i1; i++)
        for (int64_t k = 0; k < kk; k += 64) {
            const elem_t *p = s + i * rs + k * cs;
            int64_t n = min_i64(kk - k, 64);
            *bits++ = cs == 1 ? ELEM(nz_part)(p, n) : ELEM(nz_strided)(p, cs, n);
        }
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Transposing copies, of numbers and of binary events. */

/* dst[c * ldd + r] = src[r * rs + c * cs] for r < m, c in [c0, c1): transposing copy, blocked. */
LAC_KERNEL(transpose_values, void,
           (const void *src, int64_t m, int64_t c0, int64_t c1, int64_t rs, int64_t cs, void *dst,
            int64_t ldd))
/* The same copy as transpose_values, from binary events: 1 where the byte is not 0. */
LAC_KERNEL(transpose_events, void,
           (const uint8_t *src, int64_t m, int64_t c0, int64_t c1, int64_t rs, int64_t cs, void *dst,
            int64_t ldd))

#ifdef LAC_KERNEL_BODIES

/* transpose_values: dst[c * ldd + r] = src[r * rs + c * cs], r < m, c in [c0, c1).
 *
 * Layout    tiles of TILE_ROWS x TILE_COLS: one cache line of each row of a row-major source, written in
 *           runs of TILE_ROWS.
 * Bytes     a value read and one written per element, and one more read where a line is written. No flops,
 *           exact.
 * Limit     memory, and a page of the source per row.
 * Measured  AVX-512, Xeon (family 6 model 207, 2.3 GHz), one thread on a shared machine, 2026-11-20:
 *           5000x5000 floats: 20 ms, 10 GB/s read and written. */

enum { TILE_ROWS = 256, TILE_COLS = 16 };

static void transpose_tile(const real_t *src, int64_t m, int64_t n, int64_t rs, int64_t cs, real_t *dst,
                           int64_t ldd)
{
    for (int64_t c = 0; c < n; c++) {
        int64_t r = 0;
        for (; r + LANES <= m; r += LANES)
            v_store(dst + c * ldd + r, v_load_strided(src + r * rs + c * cs, rs));
        for (; r < m; r++) dst[c * ldd + r] = src[r * rs + c * cs];
    }
}

static void transpose_values(const void *src, int64_t m, int64_t c0, int64_t c1, int64_t rs, int64_t cs,
                             void *dst, int64_t ldd)
{
    for (int64_t r = 0; r < m; r += TILE_ROWS)
        for (int64_t c = c0; c < c1; c += TILE_COLS)
            transpose_tile((const real_t *)src + r * rs + c * cs, min_i64(m - r, TILE_ROWS),
                           min_i64(c1 - c, TILE_COLS), rs, cs, (real_t *)dst + c * ldd + r, ldd);
}

/* transpose_events: dst[c * ldd + r] = src[r * rs + c * cs] != 0, r < m, c in [c0, c1).
 *
 * Layout    tiles of transpose_values. Bytes read once, whatever their strides; a value written per element.
 */

static void transpose_events(const uint8_t *src, int64_t m, int64_t c0, int64_t c1, int64_t rs, int64_t cs,
                             void *dst, int64_t ldd)
{
    for (int64_t r = 0; r < m; r += TILE_ROWS)
        for (int64_t c = c0; c < c1; c += TILE_COLS) {
            int64_t rows = min_i64(m - r, TILE_ROWS);
            int64_t cols = min_i64(c1 - c, TILE_COLS);
            for (int64_t j = 0; j < cols; j++) {
                const uint8_t *from = src + r * rs + (c + j) * cs;
                real_t *to = (real_t *)dst + (c + j) * ldd + r;
                if (rs == 1)
                    for (int64_t i = 0; i < rows; i++) to[i] = (real_t)(from[i] != 0);
                else
                    for (int64_t i = 0; i < rows; i++) to[i] = (real_t)(from[i * rs] != 0);
            }
        }
}

#endif

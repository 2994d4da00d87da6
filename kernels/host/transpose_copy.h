/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * transpose_copy: dst[c * ldd + r] = src[r * rs + c * cs], r < m, c in [c0, c1).
 *
 * Layout    tiles of TILE x TILE, so that the lines of both sides stay in L1 while a tile is moved.
 * Bytes     4 read and 4 written per element. No flops, exact. */

enum { TILE = 64 };

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

static void transpose_copy(const float *src, int64_t m, int64_t c0, int64_t c1, int64_t rs, int64_t cs,
                           float *dst, int64_t ldd)
{
    for (int64_t r = 0; r < m; r += TILE)
        for (int64_t c = c0; c < c1; c += TILE)
            transpose_tile(src + r * rs + c * cs, min_i64(m - r, TILE), min_i64(c1 - c, TILE), rs, cs,
                           dst + c * ldd + r, ldd);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * transpose_events: dst[c * ldd + r] = src[r * rs + c * cs] != 0, r < m, c in [c0, c1).
 *
 * Layout    tiles of transpose_copy. Bytes read once, whatever their strides; 4 written per element. */

static void transpose_events(const uint8_t *src, int64_t m, int64_t c0, int64_t c1, int64_t rs, int64_t cs,
                             float *dst, int64_t ldd)
{
    for (int64_t r = 0; r < m; r += TILE_ROWS)
        for (int64_t c = c0; c < c1; c += TILE_COLS) {
            int64_t rows = min_i64(m - r, TILE_ROWS);
            int64_t cols = min_i64(c1 - c, TILE_COLS);
            for (int64_t j = 0; j < cols; j++) {
                const uint8_t *from = src + r * rs + (c + j) * cs;
                real_t *to = dst + (c + j) * ldd + r;
                if (rs == 1)
                    for (int64_t i = 0; i < rows; i++) to[i] = (real_t)(from[i] != 0);
                else
                    for (int64_t i = 0; i < rows; i++) to[i] = (real_t)(from[i * rs] != 0);
            }
        }
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Included before a kernel that is compiled for the host: stands in for common/tensor_map.cuh. */
#ifndef LACUNA_EMULATED_TENSOR_MAP_H
#define LACUNA_EMULATED_TENSOR_MAP_H
#define LACUNA_CUDA_COMMON_TENSOR_MAP_CUH

struct CUtensorMap {
    const float *w;
    int64_t rows, cols, ld;
    int box_rows, box_cols;
    bool swizzled;
};

namespace lacuna
{

inline bool make_tensor_map(CUtensorMap *map, const float *w, int64_t rows, int64_t cols, int64_t ld,
                            int box_rows, int box_cols, bool swizzled = false)
{
    *map = {w, rows, cols, ld, box_rows, box_cols, swizzled};
    return box_rows <= 256 && box_cols <= 256 && (!swizzled || box_cols == 32) && (uintptr_t)w % 16 == 0 &&
           ld % 4 == 0;
}

inline void copy_tile(void *to, const CUtensorMap *map, int row, int col, barrier_t *done)
{
    const CUtensorMap m = *map;
    const int64_t count = (int64_t)m.box_rows * m.box_cols;
    float *into = at_address<float>(shared_address(to));
    EMULATED_REQUIRE(shared_address(to) + 4 * (size_t)count <= emulated_shared_bytes());
    EMULATED_REQUIRE(shared_address(to) % (m.swizzled ? 1024 : 128) == 0);
    emulated_later([=] {
        for (int64_t e = 0; e < count; e++) {
            const int64_t r = row + e / m.box_cols, c = col + e % m.box_cols;
            const int64_t at = m.swizzled ? e ^ e / 32 % 8 * 4 : e;
            into[at] = r < m.rows && c < m.cols ? m.w[r * m.ld + c] : 0.0f;
        }
        done->bytes -= 4 * count;
        done->settle();
    });
}

} // namespace lacuna
#endif

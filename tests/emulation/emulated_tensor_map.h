/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Included before a kernel that is compiled for the host: stands in for common/tensor_map.cuh. */
#ifndef LACUNA_EMULATED_TENSOR_MAP_H
#define LACUNA_EMULATED_TENSOR_MAP_H
#define LACUNA_CUDA_COMMON_TENSOR_MAP_CUH

struct CUtensorMap {
    void *w;
    int64_t rows, cols, ld; /* of strips: their number, and bytes */
    int box_rows, box_cols, planes;
    int64_t next_plane;
    bool swizzled;
};

namespace lacuna
{

inline bool make_tensor_map(CUtensorMap *map, const float *w, int64_t rows, int64_t cols, int64_t ld,
                            int box_rows, int box_cols, bool swizzled = false)
{
    *map = {(void *)w, rows, cols, ld, box_rows, box_cols, 1, 0, swizzled};
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
            into[at] = r < m.rows && c < m.cols ? ((const float *)m.w)[r * m.ld + c] : 0.0f;
        }
        done->bytes -= 4 * count;
        done->settle();
    });
}

inline void store_tile(const void *from, const CUtensorMap *map, int row, int col)
{
    const CUtensorMap m = *map;
    const int64_t count = (int64_t)m.box_rows * m.box_cols;
    const float *out_of = at_address<float>(shared_address(from));
    EMULATED_REQUIRE(shared_address(from) + 4 * (size_t)count <= emulated_shared_bytes());
    EMULATED_REQUIRE(shared_address(from) % (m.swizzled ? 1024 : 128) == 0);
    emulated_later([=] {
        for (int64_t e = 0; e < count; e++) {
            const int64_t r = row + e / m.box_cols, c = col + e % m.box_cols;
            if (r < m.rows && c < m.cols)
                ((float *)m.w)[r * m.ld + c] = out_of[m.swizzled ? e ^ e / 32 % 8 * 4 : e];
        }
    });
}

constexpr int kBoxRows = 8, kBoxStripCols = 64;
inline bool make_strips_map(CUtensorMap *map, const void *w, int64_t rows, int64_t strips, int64_t pitch,
                            int planes, int64_t next_plane, int box_strips)
{
    *map = {(void *)w, rows, strips, pitch, kBoxRows, box_strips, planes, next_plane, true};
    return (uintptr_t)w % 16 == 0 && pitch % 16 == 0 && pitch > 0 && next_plane % 16 == 0 && next_plane > 0;
}

/* Pieces of 16 bytes, plane by plane, strip by strip, row by row. */
inline void copy_strips(void *to, const CUtensorMap *map, int row, int strip, barrier_t *done)
{
    struct Piece {
        uint64_t part[2];
    };
    const CUtensorMap m = *map;
    const int count = m.planes * m.box_cols * kBoxRows * 8;
    Piece *into = at_address<Piece>(shared_address(to));
    EMULATED_REQUIRE(shared_address(to) + 16 * (size_t)count <= emulated_shared_bytes());
    EMULATED_REQUIRE(shared_address(to) % 1024 == 0);
    emulated_later([=] {
        for (int e = 0; e < count; e++) {
            const int piece = e % 8, line = e / 8, strips = line / kBoxRows;
            const int64_t r = row + line % kBoxRows, s = strip + strips % m.box_cols;
            const char *from = (const char *)m.w + strips / m.box_cols * m.next_plane + r * m.ld + s * 128;
            Piece x = {};
            if (r < m.rows && s < m.cols) memcpy(&x, from + piece * 16, sizeof x);
            into[line * 8 + (piece ^ line % 8)] = x;
        }
        done->bytes -= 16 * count;
        done->settle();
    });
}

} // namespace lacuna
#endif

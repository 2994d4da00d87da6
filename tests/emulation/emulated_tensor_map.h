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
    int size; /* of an element */
};

namespace lacuna
{

template <typename E>
bool make_tensor_map(CUtensorMap *map, const E *w, int64_t rows, int64_t cols, int64_t ld, int box_rows,
                     int box_cols, bool swizzled = false)
{
    constexpr int kSize = (int)sizeof(E);
    *map = {(void *)w, rows, cols, ld, box_rows, box_cols, 1, 0, swizzled, kSize};
    return box_rows <= 256 && box_cols <= 256 && (!swizzled || box_cols * kSize == 128) &&
           (uintptr_t)w % 16 == 0 && ld * kSize % 16 == 0;
}

/* Calls move(element of the matrix or NULL, its place in the box at `box`) for all of a box. */
template <typename Move>
inline void of_box(const CUtensorMap &m, char *box, int row, int col, const Move &move)
{
    for (int e = 0; e < m.box_rows * m.box_cols; e++) {
        const int64_t r = row + e / m.box_cols, c = col + e % m.box_cols;
        const int at = e * m.size;
        move(r < m.rows && c < m.cols ? (char *)m.w + (r * m.ld + c) * m.size : nullptr,
             box + (m.swizzled ? at ^ (at >> 7 & 7) << 4 : at));
    }
}

inline char *box_at(const CUtensorMap &m, const void *box)
{
    const unsigned address = shared_address(box);
    EMULATED_REQUIRE(address + (size_t)(m.size * m.box_rows * m.box_cols) <= emulated_shared_bytes());
    EMULATED_REQUIRE(address % (m.swizzled ? 1024 : 128) == 0);
    return at_address<char>(address);
}

inline void copy_tile(void *to, const CUtensorMap *map, int row, int col, barrier_t *done)
{
    const CUtensorMap m = *map;
    char *const box = box_at(m, to);
    emulated_later([=] {
        of_box(m, box, row, col, [&](const char *from, char *into) {
            if (from)
                memcpy(into, from, (size_t)m.size);
            else
                memset(into, 0, (size_t)m.size);
        });
        done->bytes -= m.size * m.box_rows * m.box_cols;
        done->settle();
    });
}

inline void store_tile(const void *from, const CUtensorMap *map, int row, int col)
{
    const CUtensorMap m = *map;
    char *const box = box_at(m, from);
    EMULATED_REQUIRE(m.cols * m.size % 16 == 0); /* on the device, what is left of 16 bytes is written, too */
    emulated_later([=] {
        of_box(m, box, row, col, [&](char *into, const char *out_of) {
            if (into) memcpy(into, out_of, (size_t)m.size);
        });
    });
}

constexpr int kBoxRows = 8, kBoxStripCols = 64;
inline bool make_strips_map(CUtensorMap *map, const void *w, int64_t rows, int64_t strips, int64_t pitch,
                            int planes, int64_t next_plane, int box_strips)
{
    *map = {(void *)w, rows, strips, pitch, kBoxRows, box_strips, planes, next_plane, true, 2};
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

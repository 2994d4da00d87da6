/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Tiles of a matrix brought into shared memory by the copy engine, or out of it: their description, and the
 * copies.
 * Compute 9.0.
 */
#ifndef LACUNA_CUDA_COMMON_TENSOR_MAP_CUH
#define LACUNA_CUDA_COMMON_TENSOR_MAP_CUH

#include <cuda.h>

#include "common/async_copy.cuh"

namespace lacuna
{

/* The driver's function that describes matrices; it is asked for once. */
inline decltype(&cuTensorMapEncodeTiled) tensor_map_encoder()
{
    typedef decltype(&cuTensorMapEncodeTiled) Encode;
    static const Encode encode = [] {
        void *found = nullptr;
        cudaDriverEntryPointQueryResult result;
        const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                                                   cudaEnableDefault, &result);
        return error == cudaSuccess && result == cudaDriverEntryPointSuccess ? (Encode)found : nullptr;
    }();
    return encode;
}

/* Describes a matrix by rows, of f32 or of elements of two bytes, tiles of box_rows x box_cols of it (at most
 * 256 each); what lies outside the matrix is read as 0. w and ld are multiples of 16 bytes. swizzled: a row
 * of the box has 128 bytes, it comes to an address that is a multiple of 1024, and piece p of 16 bytes of its
 * row r lies where p ^ (r % 8) would. */
template <typename E>
bool make_tensor_map(CUtensorMap *map, const E *w, int64_t rows, int64_t cols, int64_t ld, int box_rows,
                     int box_cols, bool swizzled = false)
{
    static_assert(sizeof(E) == 4 || sizeof(E) == 2, "an element's type");
    const auto encode = tensor_map_encoder();
    const cuuint64_t extent[] = {(cuuint64_t)cols, (cuuint64_t)rows}, stride[] = {(cuuint64_t)ld * sizeof(E)};
    const cuuint32_t box[] = {(cuuint32_t)box_cols, (cuuint32_t)box_rows}, step[] = {1, 1};
    return encode &&
           encode(map, sizeof(E) == 4 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : CU_TENSOR_MAP_DATA_TYPE_UINT16, 2,
                  (void *)w, extent, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                  swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/* Describes `planes` matrices of elements of two bytes, each of `rows` rows and `strips` strips of 64
 * columns, a row `pitch` bytes behind the one before, a plane `next_plane`; both are multiples of 16, as w
 * is. A box is 8 rows of box_strips strips of all planes; it comes to an address that is a multiple of 1024,
 * plane by plane, strip by strip, row by row, and piece p of 16 bytes of its row r lies where p ^ r would.
 * What lies outside is read as 0. */
constexpr int kBoxRows = 8, kBoxStripCols = 64;
inline bool make_strips_map(CUtensorMap *map, const void *w, int64_t rows, int64_t strips, int64_t pitch,
                            int planes, int64_t next_plane, int box_strips)
{
    const auto encode = tensor_map_encoder();
    const cuuint64_t extent[] = {kBoxStripCols, (cuuint64_t)rows, (cuuint64_t)strips, (cuuint64_t)planes},
                     stride[] = {(cuuint64_t)pitch, kBoxStripCols * 2, (cuuint64_t)next_plane};
    const cuuint32_t box[] = {kBoxStripCols, kBoxRows, (cuuint32_t)box_strips, (cuuint32_t)planes},
                     step[] = {1, 1, 1, 1};
    return encode &&
           encode(map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 4, (void *)w, extent, stride, box, step,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/* Begins the copy of the tile at (row, col); one thread. All of the tile counts as bytes that come. */
__device__ inline void copy_tile(void *to, const CUtensorMap *map, int row, int col, barrier_t *done)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
                 "l"(map), "r"(col), "r"(row), "r"(shared_address(done))
                 : "memory");
#endif
}

/* The same the other way; what lies outside the matrix is not written, but for what is left of the last 16
 * bytes of a row (H200, CUDA 13.0). Closed by stores_commit. */
__device__ inline void store_tile(const void *from, const CUtensorMap *map, int row, int col)
{
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
        "r"(col), "r"(row), "r"(shared_address(from))
        : "memory");
#endif
}

/* Begins the copy of the box of rows from `row` and strips from `strip`. */
__device__ inline void copy_strips(void *to, const CUtensorMap *map, int row, int strip, barrier_t *done)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4, %2}], [%5];" ::"r"(shared_address(to)),
                 "l"(map), "r"(0), "r"(row), "r"(strip), "r"(shared_address(done))
                 : "memory");
#endif
}

} // namespace lacuna
#endif

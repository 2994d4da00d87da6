/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Matrix products of a warp, which every device of compute capability 8.0 or more has. */
#ifndef LACUNA_CUDA_TILES_MMA_CUH
#define LACUNA_CUDA_TILES_MMA_CUH

#include "common/primitives.cuh"

namespace lacuna
{

/* Four 8 x 8 matrices of bf16, transposed: lane 8 i + r brings the address of the 16 bytes that are row r of
 * matrix i. Lane l gets of each, in a word, rows 2 (l % 4) + {0, 1} of column l / 4. */
__device__ inline uint4 load_transposed(unsigned address)
{
    uint4 x;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "r"(address)
                 : "memory");
    return x;
}

/* The same, as they lie: lane l gets of each columns 2 (l % 4) + {0, 1} of row l / 4. */
__device__ inline uint4 load_matrices(unsigned address)
{
    uint4 x;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "r"(address)
                 : "memory");
    return x;
}

/* The other way: words of four matrices, which lanes hold as load_matrices and load_transposed have them. */
__device__ inline void store_matrices(unsigned address, uint4 x)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(x.x),
                 "r"(x.y), "r"(x.z), "r"(x.w)
                 : "memory");
#endif
}
__device__ inline void store_transposed(unsigned address, uint4 x)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
                 "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w)
                 : "memory");
#endif
}

/* D := D + A B; 16 x 8 x 16. Lane l holds of D, at d[2 h + c], row l / 4 + 8 h and column 2 (l % 4) + c; of A
 * in word 2 g + h of a, as two bf16, row l / 4 + 8 h and columns 8 g + 2 (l % 4) + {0, 1}; of B in b0 rows
 * 2 (l % 4) + {0, 1} of column l / 4, in b1 those 8 further. */
__device__ inline void mma_bf16(float (&d)[4], uint4 a, uint32_t b0, uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

} // namespace lacuna
#endif

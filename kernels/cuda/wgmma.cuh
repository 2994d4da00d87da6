/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Warpgroup matrix products of compute capability 9.0a: descriptors, the instruction, and its ordering. */
#ifndef LACUNA_WGMMA_CUH
#define LACUNA_WGMMA_CUH

#include "async_copy.cuh"

namespace lacuna
{

constexpr int kGroup = 128;     /* threads of a warpgroup                                       */
constexpr int kWgmmaRows = 64;  /* of D, from one warpgroup                                     */
constexpr int kWgmmaCols = 128; /* of D, of the one shape that is used here                     */
constexpr int kWgmmaDepth = 16; /* of k, of bf16                                                */
constexpr int kWgmmaSums = kWgmmaRows * kWgmmaCols / kGroup; /* elements of D that a thread holds */

/* A matrix in shared memory as wgmma reads it, with the extent that is not k contiguous: lines of 64 bf16
 * (128 bytes) per k, their eight 16-byte pieces exchanged by xor with k modulo 8, which is the 128-byte
 * swizzle. `next_64` bytes further lie the next 64 elements of a line's extent; eight k take 1024 bytes. The
 * start is aligned to 1024 bytes, but for steps of whole eights of k. */
__device__ inline uint64_t wgmma_matrix(unsigned address, unsigned next_64)
{
    constexpr uint64_t kSwizzle128 = 1ull << 62, kEightLines = 1024;
    return kSwizzle128 | (kEightLines >> 4) << 32 | (uint64_t)(next_64 >> 4) << 16 |
           (uint64_t)((address & 0x3ffff) >> 4);
}

/* The same matrix so many bytes further on. */
__device__ inline uint64_t wgmma_further(uint64_t matrix, int bytes)
{
    return matrix + (unsigned)(bytes >> 4);
}

/* Before the first product of a group, after the registers of D were written. */
__device__ inline void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ inline void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Waits until no more than kLeft groups are under way. */
template <int kLeft> __device__ inline void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

/* D := A B, or D + A B where `add`; 64 x 128 x 16. Thread t of the warpgroup, lane l of its warp w, holds of
 * D, at d[4 j + 2 h + c], row 16 w + l / 4 + 8 h and column 8 j + 2 (l % 4) + c; of A in word 2 g + h of a,
 * as two bf16, row 16 w + l / 4 + 8 h and columns 8 g + 2 (l % 4) + {0, 1}. A's registers are read until the
 * group has ended. */
__device__ inline void wgmma_bf16(float (&d)[kWgmmaSums], uint4 a, uint64_t b, bool add)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "{%64, %65, %66, %67}, %68, p, 1, 1, 1;\n}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                   "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
                   "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                   "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
                   "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
                   "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
                   "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                   "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
                   "+f"(d[63])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(b), "r"((int)add));
}

/* Registers of the threads of this warpgroup from now on. */
template <int kRegisters> __device__ inline void registers_fewer()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters> __device__ inline void registers_more()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

/* What this thread stored into shared memory may be read by wgmma, once a barrier has told. */
__device__ inline void stores_to_wgmma_fence()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

} // namespace lacuna
#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Warpgroup matrix products of compute capability 9.0a: descriptors, the instruction, and its ordering. */
#ifndef LACUNA_CUDA_TILES_WGMMA_CUH
#define LACUNA_CUDA_TILES_WGMMA_CUH

#include "common/async_copy.cuh"

namespace lacuna
{

constexpr int kGroup = 128;     /* threads of a warpgroup            */
constexpr int kWgmmaRows = 64;  /* of D, from one warpgroup          */
constexpr int kWgmmaDepth = 16; /* of k, of bf16                     */

/* An f32, of which the tensor cores take the sign, the exponent and ten bits. */
struct TF32 {
    static constexpr int kDepth = 8; /* of k */
};

/* B in shared memory as wgmma reads it, with k contiguous: cores of 8 columns x 8 k of 128 bytes, a column's
 * 8 k together. `next_k` bytes further lie the next eight k, `next_columns` further the next eight columns.
 */
__device__ inline uint64_t wgmma_matrix(unsigned address, unsigned next_k, unsigned next_columns)
{
    return (uint64_t)(next_columns >> 4) << 32 | (uint64_t)(next_k >> 4) << 16 |
           (uint64_t)((address & 0x3ffff) >> 4);
}

/* B in shared memory by rows of k, as strips of 64 columns: of each k 128 bytes, whose pieces of 16 are
 * exchanged by xor with k % 8. Eight k of a strip follow each other, at a multiple of 1024; `next_strip`
 * bytes further lie those of the next strip, `next_eight` further the next eight k. */
constexpr int kStripCols = 64, kStripLine = 128;
constexpr uint64_t kExchanged = uint64_t(1) << 62; /* in 128 bytes */
__device__ inline uint64_t wgmma_strips(unsigned address, unsigned next_strip, unsigned next_eight)
{
    return kExchanged | wgmma_matrix(address, next_strip, next_eight);
}

/* B in shared memory column by column, of each 128 bytes of k, whose pieces of 16 are exchanged by xor with
 * column % 8, from a multiple of 1024 on. The k of an instruction are 32 bytes of these. */
__device__ inline uint64_t wgmma_lines(unsigned address)
{
    return kExchanged | wgmma_matrix(address, 16, 1024);
}

/* The same matrix so many bytes further on. */
__device__ inline uint64_t wgmma_further(uint64_t matrix, int bytes)
{
    return (matrix & ~(uint64_t)0xffffffff) | ((uint32_t)matrix + (uint32_t)(bytes >> 4));
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

/* D := A B, or D + A B where `add`: of bf16, 64 x N x 16, or of TF32, 64 x N x 8; N is 8, 16, 32, 48, 56, 64,
 * 96 or 128. Thread t of the warpgroup, lane l of its warp w, holds of D, at d[4 j + 2 h + c], row 16 w
 * + l / 4 + 8 h and column 8 j + 2 (l % 4) + c; of A in word 2 g + h of a row 16 w + l / 4 + 8 h and columns
 * 8 g + 2 (l % 4) + {0, 1}, two elements, or of TF32 column 4 g + l % 4. A's registers are read until the
 * group has ended. Cores of B have four k of TF32. */
#define LACUNA_WGMMA(type, shape, last, sums, outputs, a_at, b_at, add_at, ...)                              \
    __device__ inline void wgmma(type, float(&d)[sums], uint4 a, uint64_t b, bool add)                       \
    {                                                                                                        \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " add_at ", 0;\nwgmma.mma_async.sync.aligned." shape  \
                     " {" outputs "}, {" a_at "}, " b_at ", p, 1, 1" last ";\n}"                             \
                     : __VA_ARGS__                                                                           \
                     : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(b), "r"((int)add));                       \
    }
#define LACUNA_WGMMA_OF(columns, ...)                                                                        \
    LACUNA_WGMMA(BF16, "m64n" columns "k16.f32.bf16.bf16", ", 0", __VA_ARGS__)                               \
    LACUNA_WGMMA(TF32, "m64n" columns "k8.f32.tf32.tf32", "", __VA_ARGS__)
#define LACUNA_OF_4(d, i)  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define LACUNA_OF_8(d, i)  LACUNA_OF_4(d, i), LACUNA_OF_4(d, i + 4)
#define LACUNA_OF_16(d, i) LACUNA_OF_8(d, i), LACUNA_OF_8(d, i + 8)
#define LACUNA_OF_32(d, i) LACUNA_OF_16(d, i), LACUNA_OF_16(d, i + 16)
#define LACUNA_SUMS_4(i)   LACUNA_OF_4(d, i)
#define LACUNA_SUMS_8(i)   LACUNA_OF_8(d, i)
#define LACUNA_SUMS_16(i)  LACUNA_OF_16(d, i)
#define LACUNA_SUMS_32(i)  LACUNA_OF_32(d, i)
/* Places of D's registers among an instruction's. */
#define LACUNA_FIRST_4  "%0, %1, %2, %3"
#define LACUNA_FIRST_8  LACUNA_FIRST_4 ", %4, %5, %6, %7"
#define LACUNA_FIRST_16 LACUNA_FIRST_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define LACUNA_FIRST_24 LACUNA_FIRST_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define LACUNA_FIRST_28 LACUNA_FIRST_24 ", %24, %25, %26, %27"
#define LACUNA_FIRST_32 LACUNA_FIRST_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define LACUNA_FIRST_48                                                                                      \
    LACUNA_FIRST_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define LACUNA_FIRST_64                                                                                      \
    LACUNA_FIRST_48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
LACUNA_WGMMA_OF("8", 4, LACUNA_FIRST_4, "%4, %5, %6, %7", "%8", "%9", LACUNA_SUMS_4(0))
LACUNA_WGMMA_OF("16", 8, LACUNA_FIRST_8, "%8, %9, %10, %11", "%12", "%13", LACUNA_SUMS_8(0))
LACUNA_WGMMA_OF("32", 16, LACUNA_FIRST_16, "%16, %17, %18, %19", "%20", "%21", LACUNA_SUMS_16(0))
LACUNA_WGMMA_OF("48", 24, LACUNA_FIRST_24, "%24, %25, %26, %27", "%28", "%29", LACUNA_SUMS_16(0),
                LACUNA_SUMS_8(16))
LACUNA_WGMMA_OF("56", 28, LACUNA_FIRST_28, "%28, %29, %30, %31", "%32", "%33", LACUNA_SUMS_16(0),
                LACUNA_SUMS_8(16), LACUNA_SUMS_4(24))
LACUNA_WGMMA_OF("64", 32, LACUNA_FIRST_32, "%32, %33, %34, %35", "%36", "%37", LACUNA_SUMS_32(0))
LACUNA_WGMMA_OF("96", 48, LACUNA_FIRST_48, "%48, %49, %50, %51", "%52", "%53", LACUNA_SUMS_32(0),
                LACUNA_SUMS_16(32))
LACUNA_WGMMA_OF("128", 64, LACUNA_FIRST_64, "%64, %65, %66, %67", "%68", "%69", LACUNA_SUMS_32(0),
                LACUNA_SUMS_32(32))
#undef LACUNA_WGMMA_OF
#undef LACUNA_WGMMA

/* D := D + A B with N of 128 and both in shared memory: A as wgmma_matrix has it, with rows in place of
 * columns, and B as wgmma_strips has it. */
#define LACUNA_WGMMA_STRIPS(type, name)                                                                      \
    __device__ inline void wgmma(type, float(&d)[64], uint64_t a, uint64_t b)                                \
    {                                                                                                        \
        asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, 1, 1;\n"                                              \
                     "wgmma.mma_async.sync.aligned.m64n128k16.f32." name "." name " {" LACUNA_FIRST_64       \
                     "}, %64, %65, p, 1, 1, 0, 1;\n}"                                                        \
                     : LACUNA_SUMS_32(0), LACUNA_SUMS_32(32)                                                 \
                     : "l"(a), "l"(b));                                                                      \
    }
LACUNA_WGMMA_STRIPS(BF16, "bf16")
LACUNA_WGMMA_STRIPS(F16, "f16")
#undef LACUNA_WGMMA_STRIPS

/* The same with N of 256, the sums of its first 128 columns apart from those of the others, and both operands
 * as wgmma_strips has them, k by k: A, of 64 rows, where kAlongRows, B where kAlongColumns; else row by row,
 * or column by column, and 16 k lie in 32 bytes of each one's 128. */
#define LACUNA_TEN(t)                                                                                        \
    "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9"
#define LACUNA_FIRST_128                                                                                     \
    LACUNA_TEN()                                                                                             \
    ", " LACUNA_TEN(1) ", " LACUNA_TEN(2) ", " LACUNA_TEN(3) ", " LACUNA_TEN(4) ", " LACUNA_TEN(             \
        5) ", " LACUNA_TEN(6) ", " LACUNA_TEN(7) ", " LACUNA_TEN(8) ", " LACUNA_TEN(9) ", " LACUNA_TEN(10) ", " LACUNA_TEN(11) ", %120, %121, %122, %123, %124, %125, %126, %127"
#define LACUNA_WGMMA_WIDE(type, name)                                                                        \
    template <bool kAlongRows, bool kAlongColumns>                                                           \
    __device__ inline void wgmma(type, float(&low)[64], float(&high)[64], uint64_t a, uint64_t b)            \
    {                                                                                                        \
        asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, 1, 1;\n"                                              \
                     "wgmma.mma_async.sync.aligned.m64n256k16.f32." name "." name " {" LACUNA_FIRST_128      \
                     "}, %128, %129, p, 1, 1, %130, %131;\n}"                                                \
                     : LACUNA_OF_32(low, 0), LACUNA_OF_32(low, 32), LACUNA_OF_32(high, 0),                   \
                       LACUNA_OF_32(high, 32)                                                                \
                     : "l"(a), "l"(b), "n"((int)kAlongRows), "n"((int)kAlongColumns));                       \
    }
LACUNA_WGMMA_WIDE(BF16, "bf16")
LACUNA_WGMMA_WIDE(F16, "f16")
#undef LACUNA_WGMMA_WIDE

/* D := A B, or D + A B where `add`; A 64 x 16 in shared memory as wgmma_strips has it, k by k, of one strip,
 * and B as wgmma_matrix has it, with N of 32, 64, 96 or 128. */
#define LACUNA_WGMMA_BOTH(columns, sums, outputs, a_at, b_at, add_at, ...)                                   \
    __device__ inline void wgmma(F16, float(&d)[sums], uint64_t a, uint64_t b, bool add)                     \
    {                                                                                                        \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " add_at                                              \
                     ", 0;\nwgmma.mma_async.sync.aligned.m64n" columns "k16.f32.f16.f16 {" outputs           \
                     "}, " a_at ", " b_at ", p, 1, 1, 1, 0;\n}"                                              \
                     : __VA_ARGS__                                                                           \
                     : "l"(a), "l"(b), "r"((int)add));                                                       \
    }
LACUNA_WGMMA_BOTH("32", 16, LACUNA_FIRST_16, "%16", "%17", "%18", LACUNA_SUMS_16(0))
LACUNA_WGMMA_BOTH("64", 32, LACUNA_FIRST_32, "%32", "%33", "%34", LACUNA_SUMS_32(0))
LACUNA_WGMMA_BOTH("96", 48, LACUNA_FIRST_48, "%48", "%49", "%50", LACUNA_SUMS_32(0), LACUNA_SUMS_16(32))
LACUNA_WGMMA_BOTH("128", 64, LACUNA_FIRST_64, "%64", "%65", "%66", LACUNA_SUMS_32(0), LACUNA_SUMS_32(32))
#undef LACUNA_WGMMA_BOTH

/* Up to here these registers hold what they hold: for those that products under way read. */
template <int kCount> __device__ inline void keep(uint4 (&x)[kCount])
{
#pragma unroll
    for (int i = 0; i < kCount; i++)
        asm volatile("" : "+r"(x[i].x), "+r"(x[i].y), "+r"(x[i].z), "+r"(x[i].w));
}

/* The same of sums: before products that add to them, and when these are done. */
template <int kCount> __device__ inline void keep(float (&x)[kCount])
{
#pragma unroll
    for (int i = 0; i < kCount; i++) asm volatile("" : "+f"(x[i])::"memory");
}

/* The compiler neither recomputes x behind this nor uses it before. */
__device__ inline void keep(int &x)
{
    asm volatile("" : "+r"(x));
}
__device__ inline void keep(const char *&x)
{
    asm volatile("" : "+l"(x));
}
__device__ inline void keep(uint64_t &x)
{
    asm volatile("" : "+l"(x));
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

/* Meets the other threads of the named barrier, of which there are kThreads. */
template <int kThreads> __device__ inline void meet(int name)
{
    asm volatile("bar.sync %0, %1;" ::"r"(name), "n"(kThreads) : "memory");
}

/* The same; true in all where it is in any. */
template <int kThreads> __device__ inline bool any_of(int name, bool mine)
{
    int any;
    asm volatile(
        "{\n.reg .pred p, q;\nsetp.ne.b32 p, %1, 0;\nbar.red.or.pred q, %2, %3, p;\nselp.b32 %0, 1, 0, q;\n}"
        : "=r"(any)
        : "r"((int)mine), "r"(name), "n"(kThreads)
        : "memory");
    return any != 0;
}

} // namespace lacuna
#endif

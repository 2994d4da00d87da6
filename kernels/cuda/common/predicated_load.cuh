/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Loads under a condition, without a branch. */
#ifndef LACUNA_CUDA_COMMON_PREDICATED_LOAD_CUH
#define LACUNA_CUDA_COMMON_PREDICATED_LOAD_CUH

#include <stdint.h>

namespace lacuna
{

/* *p where `live`, else `otherwise`: without a branch, so that many are begun before the first is waited for.
 * A compiler puts what is done with a value into the branch that loads it, and then waits for each. */
__device__ inline uint32_t load_if(bool live, const uint32_t *p, uint32_t otherwise)
{
    uint32_t x = otherwise;
    asm volatile("{ .reg .pred q; setp.ne.s32 q, %2, 0; @q ld.global.b32 %0, [%1]; }"
                 : "+r"(x)
                 : "l"(p), "r"((int)live));
    return x;
}
__device__ inline int32_t load_if(bool live, const int32_t *p, int32_t otherwise)
{
    return (int32_t)load_if(live, (const uint32_t *)p, (uint32_t)otherwise);
}
__device__ inline float load_if(bool live, const float *p, float otherwise)
{
    return __uint_as_float(load_if(live, (const uint32_t *)p, __float_as_uint(otherwise)));
}
__device__ inline uint32_t load_if(bool live, const uint8_t *p, uint32_t otherwise)
{
    uint32_t x = otherwise;
    asm volatile("{ .reg .pred q; setp.ne.s32 q, %2, 0; @q ld.global.u8 %0, [%1]; }"
                 : "+r"(x)
                 : "l"(p), "r"((int)live));
    return x;
}
__device__ inline int64_t load_if(bool live, const int64_t *p, int64_t otherwise)
{
    int64_t x = otherwise;
    asm volatile("{ .reg .pred q; setp.ne.s32 q, %2, 0; @q ld.global.b64 %0, [%1]; }"
                 : "+l"(x)
                 : "l"(p), "r"((int)live));
    return x;
}

} // namespace lacuna
#endif

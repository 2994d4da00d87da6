/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Launches of which a count on the device says whether they have work. */
#ifndef LACUNA_CUDA_COMMON_GATE_CUH
#define LACUNA_CUDA_COMMON_GATE_CUH

#include "device.cuh"

namespace lacuna
{

/* Counts that an earlier launch left, and up to which sum they are few: at most LAC_CUDA_ADAPTIVE_MOST.
 * INT_MAX is more than that. */
struct Gate {
    const int *count;
    int counts; /* 0: there is no gate */
    int few;
    bool there;        /* before the launches that read it may begin; else the launch before leaves them */
    double break_even; /* while no counts are there: nonzeros over elements that are few                 */
};

/* Of so many samples, those that say that there is more than few of it whatever chance has a part in, if more
 * than these are nonzero. */
__host__ __device__ inline int surely_many(double break_even, int samples)
{
    return (int)(1.5 * break_even * samples) + 4;
}

/* Where, in an m x k matrix, a sample lies: another one for each number. */
__device__ inline int64_t sampled_place(uint32_t number, int m, int k, int64_t rs, int64_t cs)
{
    const uint32_t any = scramble32(number);
    return share_of(any, m) * rs + share_of(any * 0x27d4eb2fu, k) * cs;
}

/* The sum of the counts as far as it is few, else one more than few: of the first warp of a block, behind the
 * launch that counted. */
__device__ inline int sum_of_counts(const Gate &g)
{
    const unsigned more = (unsigned)g.few + 1;
    unsigned sum = 0;
#pragma unroll 8
    for (int c = (int)threadIdx.x; c < g.counts; c += kWarp)
        sum = min(sum + min((unsigned)__ldcg(g.count + c), more), more);
    return (int)min(__reduce_add_sync(kFull, sum), more);
}

/* Whether the counts are more than few. All threads of a block call it. One warp reads: where all do, they
 * wait for the few lines of cache that the counts are in (some 3 us for 10 x 5000 x 5000, H200, 2026-11-23).
 */
__device__ inline bool counted_many(const Gate &g)
{
    __shared__ bool many;
    if (threadIdx.x < kWarp) {
        const bool more = sum_of_counts(g) > g.few;
        if (threadIdx.x == 0) many = more;
    }
    __syncthreads();
    return many;
}

/* Whether there is work; then operands are there. All threads of a block. */
__device__ inline bool begins(const Gate &gate)
{
    if (gate.counts && gate.there && counted_many(gate)) return true; /* the launch before has no work then */
    dependency_wait();
    return !gate.counts || (!gate.there && counted_many(gate));
}

} // namespace lacuna
#endif

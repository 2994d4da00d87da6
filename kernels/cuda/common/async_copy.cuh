/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Asynchronous copies into shared memory, and the barriers that signal their end. */
#ifndef LACUNA_CUDA_COMMON_ASYNC_COPY_CUH
#define LACUNA_CUDA_COMMON_ASYNC_COPY_CUH

#include "device.cuh"

namespace lacuna
{

/* An mbarrier in shared memory: a phase ends when `arrivals` have arrived and all promised bytes have come.
 */
typedef uint64_t barrier_t;

__device__ inline void barrier_init(barrier_t *b, int arrivals)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(arrivals) : "memory");
}

/* What this thread wrote to shared memory is seen by the bulk copies behind: barriers after their
 * initialisation, and contents. */
__device__ inline void bulk_copy_fence()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

__device__ inline void barrier_arrive(barrier_t *b)
{
    asm volatile("{\n .reg .b64 state;\n mbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(shared_address(b))
                 : "memory");
}

/* True in one lane of a whole warp: behind it the compiler knows that instructions of the copy engine are
 * given once, and does not look for further lanes. */
__device__ inline bool one_lane()
{
#if __CUDA_ARCH__ >= 900
    unsigned one;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(one));
    return one != 0;
#else
    return threadIdx.x % kWarp == 0;
#endif
}

/* Waits for the end of the phase of this parity: the first phase has parity 0. */
__device__ inline void barrier_wait(barrier_t *b, unsigned parity)
{
    unsigned done = 0;
    while (!done) {
#if __CUDA_ARCH__ >= 900
        asm volatile(
            "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, "
            "p;\n}"
            : "=r"(done)
            : "r"(shared_address(b)), "r"(parity)
            : "memory");
#else
        asm volatile(
            "{\n .reg .pred p;\n mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, "
            "p;\n}"
            : "=r"(done)
            : "r"(shared_address(b)), "r"(parity)
            : "memory");
#endif
    }
}

/* Arrives when the copies that this thread has begun so far are done. */
__device__ inline void barrier_arrive_copied(barrier_t *b)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(b)) : "memory");
}

__device__ inline void copy_async16(float *to, const float *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

__device__ inline void copy_async4(float *to, const float *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

/* Closes a group of this thread's copies; waits until all but the last kLater groups are done. */
__device__ inline void copies_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kLater> __device__ inline void copies_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(kLater) : "memory");
}

/* Compute 9.0: arrives, and promises `bytes` to be copied by copy_bulk. */
__device__ inline void barrier_arrive_promise(barrier_t *b, unsigned bytes)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("{\n .reg .b64 state;\n mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1;\n}" ::"r"(
                     shared_address(b)),
                 "r"(bytes)
                 : "memory");
#endif
}

/* The same promise without arriving: before the thread does. */
__device__ inline void barrier_promise(barrier_t *b, unsigned bytes)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(b)),
                 "r"(bytes)
                 : "memory");
#endif
}

/* Compute 9.0: a block's barrier, once initialised, is known to the blocks of its cluster that this block
 * meets behind. */
__device__ inline void cluster_barrier_fence()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

/* Compute 9.0: x to another block of the cluster, whose barrier counts its bytes; addresses of
 * cluster_address. That spares the cluster a barrier behind which all stores are seen. */
__device__ inline void cluster_push(unsigned address, float x, unsigned barrier)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(address),
                 "f"(x), "r"(barrier)
                 : "memory");
#endif
}

/* Waits for the end of the first phase, and for what was pushed in it. */
__device__ inline void barrier_wait_pushed(barrier_t *b)
{
#if __CUDA_ARCH__ >= 900
    unsigned done = 0;
    while (!done)
        asm volatile(
            "{\n .reg .pred p;\n mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;"
            "\n selp.u32 %0, 1, 0, p;\n}"
            : "=r"(done)
            : "r"(shared_address(b))
            : "memory");
#endif
}

/* Compute 9.0: one contiguous copy of 16-byte pieces; one thread. */
__device__ inline void copy_bulk(float *to, const float *from, unsigned bytes, barrier_t *done)
{
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            shared_address(to)),
        "l"(from), "r"(bytes), "r"(shared_address(done))
        : "memory");
#endif
}

/* Compute 9.0: closes a group of this thread's copies out of shared memory; waits until all of them have read
 * what they copy. */
__device__ inline void stores_commit()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}
__device__ inline void stores_wait_read()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}

} // namespace lacuna
#endif

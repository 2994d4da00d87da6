/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a kernel asks of the machine and CUDA C has no word for: shared memory by address, clusters,
 * programmatic launch, loads with a hint, bf16. */
#ifndef LACUNA_CUDA_COMMON_PRIMITIVES_CUH
#define LACUNA_CUDA_COMMON_PRIMITIVES_CUH

#include <cuda_runtime.h>

#include <stdint.h>

/* Declares `name`, an array of `type` in the shared memory that the launch asked for. */
#define LACUNA_DYNAMIC_SHARED(type, name) extern __shared__ type name[]

namespace lacuna
{

__device__ inline unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

/* Sixteen bytes of shared memory, read before what comes later in the program: to save registers, the
 * compiler would put each of a row's reads behind the use of the one before. */
__device__ inline float4 read_now(unsigned address)
{
    float4 x;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                 : "r"(address)
                 : "memory");
    return x;
}
__device__ inline float2 read_two_now(unsigned address)
{
    float2 x;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x.x), "=f"(x.y) : "r"(address) : "memory");
    return x;
}

__device__ inline float load_shared(unsigned address)
{
    float x;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(address));
    return x;
}

/* Words of shared memory by address; without a branch. */
__device__ inline uint32_t load_shared_word(unsigned address)
{
    uint32_t x;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(address) : "memory");
    return x;
}
__device__ inline void store_shared_if(bool wanted, unsigned address, uint32_t x)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %0, 0;\n@p st.shared.b32 [%1], %2;\n}" ::"r"((int)wanted),
                 "r"(address), "r"(x)
                 : "memory");
}

/* x, which the compiler cannot know, and so keeps, in place of finding it anew wherever it is used. */
__device__ inline unsigned kept(unsigned x)
{
    asm volatile("mov.b32 %0, %0;" : "+r"(x));
    return x;
}

/* The bit of this lane, and those of the lanes below. As the compiler cannot know them, it keeps them. */
struct LaneMasks {
    unsigned mine, below;
};
__device__ inline LaneMasks lane_masks()
{
    LaneMasks m;
    asm volatile("mov.b32 %0, %%lanemask_eq;" : "=r"(m.mine));
    asm volatile("mov.b32 %0, %%lanemask_lt;" : "=r"(m.below));
    return m;
}

/* threadIdx.x, read at this place: for what it is needed only behind a loop whose registers are all in use.
 */
__device__ inline int thread_here()
{
    int x;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
    return x;
}

/* For what passes through once, and must not displace other things in the first cache. */
__device__ inline float load_once(const float *p)
{
    float x;
    asm volatile("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(x) : "l"(p));
    return x;
}

/* The same of four; 16-byte aligned. */
__device__ inline float4 load_once4(const float *p)
{
    float4 x;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                 : "l"(p));
    return x;
}

/* Eight bytes at once, to or from memory that another device reads or writes meanwhile. */
__device__ inline void store_system(uint64_t *p, uint64_t x)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory");
}
__device__ inline uint64_t load_system(const uint64_t *p)
{
    uint64_t x;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");
    return x;
}

/* The device's clock, the same for all of its multiprocessors. */
__device__ inline unsigned long long now_ns()
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* The bf16 numbers nearest to two floats: hi above, lo below. */
__device__ inline uint32_t nearest_bf16(float lo, float hi)
{
    uint32_t both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(hi), "f"(lo));
    return both;
}

/* binary16 to f32, and the nearest one to an f32. */
__device__ inline float f16_value(uint16_t bits)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
__device__ inline uint16_t nearest_f16(float x)
{
    uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}

__device__ inline uint32_t nearest_f16_pair(float lo, float hi)
{
    uint32_t both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(hi), "f"(lo));
    return both;
}

/* A cluster of one is an ordinary block: then the barrier is __syncthreads and addresses stay local. Below
 * compute 9.0 there are no clusters and the launchers never ask for one. */
__device__ inline void cluster_arrive_relaxed(int cluster)
{
#if __CUDA_ARCH__ >= 900
    if (cluster > 1) asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

/* What this thread wrote is seen by those that wait. */
__device__ inline void cluster_arrive(int cluster)
{
#if __CUDA_ARCH__ >= 900
    if (cluster > 1) asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

__device__ inline void cluster_wait(int cluster)
{
#if __CUDA_ARCH__ >= 900
    if (cluster > 1) asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

__device__ inline void cluster_sync(int cluster)
{
#if __CUDA_ARCH__ >= 900
    if (cluster > 1) {
        asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
        return;
    }
#endif
    __syncthreads();
}

/* The address, in block `rank` of the cluster, of what `p` is in this block's shared memory. */
__device__ inline unsigned cluster_address(const void *p, int rank, int cluster)
{
    unsigned local = shared_address(p);
#if __CUDA_ARCH__ >= 900
    if (cluster > 1) {
        unsigned remote;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(local), "r"(rank));
        return remote;
    }
#endif
    return local;
}

/* The memory that these addresses are of: without clusters the block's own. */
#if __CUDA_ARCH__ >= 900
#    define LACUNA_OF_CLUSTER "shared::cluster"
#else
#    define LACUNA_OF_CLUSTER "shared"
#endif

__device__ inline void cluster_store(unsigned address, float x)
{
    asm volatile("st." LACUNA_OF_CLUSTER ".f32 [%0], %1;" ::"r"(address), "f"(x) : "memory");
}
__device__ inline void cluster_store(unsigned address, int x)
{
    asm volatile("st." LACUNA_OF_CLUSTER ".b32 [%0], %1;" ::"r"(address), "r"(x) : "memory");
}
__device__ inline void cluster_store(unsigned address, double x)
{
    asm volatile("st." LACUNA_OF_CLUSTER ".f64 [%0], %1;" ::"r"(address), "d"(x) : "memory");
}
__device__ inline void cluster_store(unsigned address, unsigned long long x)
{
    asm volatile("st." LACUNA_OF_CLUSTER ".u64 [%0], %1;" ::"r"(address), "l"(x) : "memory");
}
__device__ inline void cluster_store(unsigned address, float4 x)
{
    asm volatile("st." LACUNA_OF_CLUSTER ".v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(x.x), "f"(x.y),
                 "f"(x.z), "f"(x.w)
                 : "memory");
}

__device__ inline float4 cluster_load4(unsigned address)
{
    float4 x;
#if __CUDA_ARCH__ >= 900
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                 : "r"(address)
                 : "memory");
#else
    x = read_now(address);
#endif
    return x;
}

/* Added to eight bytes of a block of the cluster, at an address of cluster_address, by its blocks at once. */
__device__ inline void cluster_add(unsigned address, unsigned long long x)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("red.relaxed.cluster.shared::cluster.add.u64 [%0], %1;" ::"r"(address), "l"(x) : "memory");
#else
    asm volatile("red.shared.add.u64 [%0], %1;" ::"r"(address), "l"(x) : "memory");
#endif
}

/* Programmatic dependent launch: let the next kernel of the stream begin; wait for the previous one's writes.
 */
__device__ inline void dependents_launch()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ inline void dependency_wait()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* p[kAhead] where `live`, else `otherwise`: without a branch, so that many are begun before the first is
 * waited for. A compiler puts what is done with a value into the branch that loads it, and then waits for
 * each. */
template <int kAhead = 0> __device__ inline uint32_t load_if(bool live, const uint32_t *p, uint32_t otherwise)
{
    uint32_t x = otherwise;
    asm volatile("{ .reg .pred q; setp.ne.s32 q, %2, 0; @q ld.global.b32 %0, [%1 + %3]; }"
                 : "+r"(x)
                 : "l"(p), "r"((int)live), "n"(kAhead * (int)sizeof(uint32_t)));
    return x;
}
template <int kAhead = 0> __device__ inline int32_t load_if(bool live, const int32_t *p, int32_t otherwise)
{
    return (int32_t)load_if<kAhead>(live, (const uint32_t *)p, (uint32_t)otherwise);
}
template <int kAhead = 0> __device__ inline float load_if(bool live, const float *p, float otherwise)
{
    return __uint_as_float(load_if<kAhead>(live, (const uint32_t *)p, __float_as_uint(otherwise)));
}
__device__ inline uint32_t load_if(bool live, const uint16_t *p, uint32_t otherwise)
{
    uint32_t x = otherwise;
    asm volatile("{ .reg .pred q; setp.ne.s32 q, %2, 0; @q ld.global.u16 %0, [%1]; }"
                 : "+r"(x)
                 : "l"(p), "r"((int)live));
    return x;
}
__device__ inline uint32_t load_if(bool live, const uint8_t *p, uint32_t otherwise)
{
    uint32_t x = otherwise;
    asm volatile("{ .reg .pred q; setp.ne.s32 q, %2, 0; @q ld.global.u8 %0, [%1]; }"
                 : "+r"(x)
                 : "l"(p), "r"((int)live));
    return x;
}
/* x[] := p[0 .. 4), 16-byte aligned, where `live`, else 0. */
__device__ inline void load_four_if(bool live, const uint32_t *p, uint32_t *x)
{
    x[0] = x[1] = x[2] = x[3] = 0;
    asm volatile("{ .reg .pred q; setp.ne.s32 q, %5, 0; @q ld.global.v4.b32 {%0, %1, %2, %3}, [%4]; }"
                 : "+r"(x[0]), "+r"(x[1]), "+r"(x[2]), "+r"(x[3])
                 : "l"(p), "r"((int)live));
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

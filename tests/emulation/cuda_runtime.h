/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Stands in for CUDA's header of this name where kernels are compiled for the host: the words of CUDA C and
 * of its run time that the kernels use, on the threads of emulator.h. */
#ifndef LACUNA_EMULATED_CUDA_RUNTIME_H
#define LACUNA_EMULATED_CUDA_RUNTIME_H

#include "emulator.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include <map>

#define __global__ static
#define __device__
#define __host__
#define __noinline__    __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#define __shared__      static thread_local /* a block is a thread of the host */
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)

template <typename Of> struct EmulatedCoordinate {
    Of of;
    unsigned EmulatedIndex::*axis;
    operator unsigned() const { return of().*axis; }
};
template <typename Of> struct EmulatedVector {
    EmulatedCoordinate<Of> x, y, z;
    constexpr explicit EmulatedVector(Of of)
        : x{of, &EmulatedIndex::x}, y{of, &EmulatedIndex::y}, z{of, &EmulatedIndex::z}
    {
    }
};
inline constexpr EmulatedVector threadIdx(emulated_thread_index);
inline constexpr EmulatedVector blockIdx(emulated_block_index), blockDim(emulated_block_dim),
    gridDim(emulated_grid_dim);

/* Of a vector type, which a device reads and writes at once and only where it is aligned: every copy, also
 * through a pointer that a kernel has cast, is checked. */
template <size_t kBytes> struct EmulatedVectorAccess {
    EmulatedVectorAccess() = default;
    EmulatedVectorAccess(const EmulatedVectorAccess &from) { emulated_vector_at(&from, kBytes); }
    EmulatedVectorAccess &operator=(const EmulatedVectorAccess &from)
    {
        emulated_vector_at(&from, kBytes), emulated_vector_at(this, kBytes);
        return *this;
    }
};

struct alignas(16) float4 : EmulatedVectorAccess<16> {
    float x, y, z, w;
    float4() = default;
    float4(float x_, float y_, float z_, float w_) : x(x_), y(y_), z(z_), w(w_) {}
};
struct alignas(8) float2 : EmulatedVectorAccess<8> {
    float x, y;
    float2() = default;
    float2(float x_, float y_) : x(x_), y(y_) {}
};
struct alignas(16) int4 : EmulatedVectorAccess<16> {
    int x, y, z, w;
    int4() = default;
    int4(int x_, int y_, int z_, int w_) : x(x_), y(y_), z(z_), w(w_) {}
};
struct alignas(16) uint4 : EmulatedVectorAccess<16> {
    unsigned x, y, z, w;
    uint4() = default;
    uint4(unsigned x_, unsigned y_, unsigned z_, unsigned w_) : x(x_), y(y_), z(z_), w(w_) {}
};
struct alignas(8) uint2 : EmulatedVectorAccess<8> {
    unsigned x, y;
    uint2() = default;
    uint2(unsigned x_, unsigned y_) : x(x_), y(y_) {}
};
struct alignas(8) int2 : EmulatedVectorAccess<8> {
    int x, y;
    int2() = default;
    int2(int x_, int y_) : x(x_), y(y_) {}
};
struct alignas(4) uchar4 : EmulatedVectorAccess<4> {
    unsigned char x, y, z, w;
};
static_assert(sizeof(float4) == 16 && sizeof(int4) == 16 && sizeof(uint4) == 16 && sizeof(float2) == 8 &&
                  sizeof(uint2) == 8 && sizeof(int2) == 8 && sizeof(uchar4) == 4,
              "as on a device");

struct alignas(16) double2 : EmulatedVectorAccess<16> {
    double x, y;
    double2() = default;
    double2(double x_, double y_) : x(x_), y(y_) {}
};
inline double2 make_double2(double x, double y)
{
    return {x, y};
}
inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}
inline int2 make_int2(int x, int y)
{
    return {x, y};
}
inline float2 make_float2(float x, float y)
{
    return {x, y};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}
inline uint2 make_uint2(unsigned x, unsigned y)
{
    return {x, y};
}

inline int4 make_int4(int x, int y, int z, int w)
{
    return {x, y, z, w};
}

template <typename To, typename From> inline To same_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "another type of the same size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
inline unsigned __float_as_uint(float x)
{
    return same_bits<unsigned>(x);
}
inline float __uint_as_float(unsigned x)
{
    return same_bits<float>(x);
}
inline int __float_as_int(float x)
{
    return same_bits<int>(x);
}
inline float __int_as_float(int x)
{
    return same_bits<float>(x);
}

template <typename T> inline T __ldg(const T *p)
{
    return *p;
}
template <typename T> inline T __ldcs(const T *p)
{
    return *p;
}
template <typename T> inline T __ldcg(const T *p)
{
    return *p;
}
/* Byte i of the result is that of y above x which the i-th digit of `which` names. */
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned which)
{
    const unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) result |= unsigned(both >> (which >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    return result;
}
inline float __fadd_rn(float x, float y)
{
    return x + y;
}
inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
inline int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}
inline int __clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y)
{
    return (unsigned long long)((unsigned __int128)x * y >> 64);
}
inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

/* Every lane of the warp must come: the kernels have no use for other masks. */
template <typename T> class Exchange
{
  public:
    explicit Exchange(T mine)
    {
        static_assert(sizeof(T) <= sizeof(uint64_t), "one word per lane");
        uint64_t word = 0;
        memcpy(&word, &mine, sizeof mine);
        words_ = emulated_exchange(word);
    }
    T operator[](int lane) const
    {
        T of;
        memcpy(&of, &words_[lane], sizeof of);
        return of;
    }

  private:
    const uint64_t *words_; /* until this thread's next exchange */
};

/* The same, to keep. */
template <typename T> struct Lanes {
    T of[32];
    explicit Lanes(T mine)
    {
        const Exchange<T> all(mine);
        for (int l = 0; l < 32; l++) of[l] = all[l];
    }
};

inline int emulated_lane()
{
    return int(threadIdx.x % 32);
}
inline void __syncwarp(unsigned = ~0u)
{
    emulated_exchange(0);
}
inline unsigned __ballot_sync(unsigned, int predicate)
{
    const Exchange<int> all(predicate);
    unsigned bits = 0;
    for (int l = 0; l < 32; l++) bits |= unsigned(all[l] != 0) << l;
    return bits;
}
inline int __any_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, predicate) != 0;
}
inline int __all_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, predicate) == mask;
}
template <typename T> inline T __shfl_sync(unsigned, T x, int lane, int width = 32)
{
    return Exchange<T>(x)[(emulated_lane() & -width) + (lane & (width - 1))];
}
template <typename T> inline T __shfl_xor_sync(unsigned, T x, int mask)
{
    return Exchange<T>(x)[emulated_lane() ^ mask];
}
template <typename T> inline T __shfl_up_sync(unsigned, T x, int by, int width = 32)
{
    const Exchange<T> all(x);
    return emulated_lane() % width < by ? x : all[emulated_lane() - by];
}
template <typename T> inline unsigned __match_any_sync(unsigned, T x)
{
    const Exchange<T> all(x);
    unsigned equal = 0;
    for (int l = 0; l < 32; l++) equal |= unsigned(all[l] == x) << l;
    return equal;
}
template <typename T> inline T __reduce_add_sync(unsigned, T x)
{
    const Exchange<T> all(x);
    T sum = 0;
    for (int l = 0; l < 32; l++) sum += all[l];
    return sum;
}
template <typename T> inline T __reduce_max_sync(unsigned, T x)
{
    const Exchange<T> all(x);
    for (int l = 0; l < 32; l++) x = x < all[l] ? all[l] : x;
    return x;
}
template <typename T> inline T __reduce_min_sync(unsigned, T x)
{
    const Exchange<T> all(x);
    for (int l = 0; l < 32; l++) x = all[l] < x ? all[l] : x;
    return x;
}
inline void __syncthreads()
{
    emulated_sync_block();
}
inline int __syncthreads_and(int predicate)
{
    static thread_local int against; /* of the block */
    emulated_sync_block();           /* all have read what came of the last one */
    against = 0;
    emulated_sync_block();
    against += !predicate;
    emulated_sync_block();
    return against == 0;
}
inline int __syncthreads_or(int predicate)
{
    return !__syncthreads_and(!predicate);
}

inline int __syncthreads_count(int predicate)
{
    static thread_local int those;
    emulated_sync_block();
    those = 0;
    emulated_sync_block();
    those += predicate != 0;
    emulated_sync_block();
    return those;
}

/* Blocks run one after the other, but for those of a cluster, which have no use for these. */
inline int atomicAdd(int *at, int x)
{
    const int was = *at;
    *at += x;
    return was;
}
inline unsigned atomicAdd(unsigned *at, unsigned x)
{
    const unsigned was = *at;
    *at += x;
    return was;
}
inline float atomicAdd(float *at, float x)
{
    const float was = *at;
    *at += x;
    return was;
}
inline int atomicExch(int *at, int x)
{
    return __atomic_exchange_n(at, x, __ATOMIC_RELAXED);
}
inline float atomicExch(float *at, float x)
{
    const float was = *at;
    *at = x;
    return was;
}
inline int atomicMax(int *at, int x)
{
    const int was = *at;
    if (x > was) *at = x;
    return was;
}

template <typename T> inline void __stcg(T *at, T x)
{
    *at = x;
}
template <typename T> inline void __stcs(T *at, T x)
{
    *at = x;
}
inline void __threadfence_system() {}
inline unsigned atomicMax(unsigned *at, unsigned x)
{
    const unsigned was = *at;
    if (x > was) *at = x;
    return was;
}
inline unsigned long long atomicAdd(unsigned long long *at, unsigned long long x)
{
    const unsigned long long was = *at;
    *at += x;
    return was;
}
inline unsigned long long atomicMin(unsigned long long *at, unsigned long long x)
{
    const unsigned long long was = *at;
    if (x < was) *at = x;
    return was;
}
inline unsigned long long atomicOr(unsigned long long *at, unsigned long long bits)
{
    const unsigned long long was = *at;
    *at |= bits;
    return was;
}
inline unsigned atomicOr(unsigned *at, unsigned bits)
{
    const unsigned before = *at;
    *at |= bits;
    return before;
}

/* The run time ------------------------------------------------------------------------------------------- */

typedef void *cudaStream_t;
typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorLaunchOutOfResources = 701
} cudaError_t;
typedef enum cudaDeviceAttr {
    cudaDevAttrMultiProcessorCount,
    cudaDevAttrMaxSharedMemoryPerBlockOptin,
    cudaDevAttrComputeCapabilityMajor
} cudaDeviceAttr;
typedef enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize,
    cudaFuncAttributeNonPortableClusterSizeAllowed
} cudaFuncAttribute;
typedef enum cudaLaunchAttributeID {
    cudaLaunchAttributeClusterDimension,
    cudaLaunchAttributeProgrammaticStreamSerialization
} cudaLaunchAttributeID;

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    struct {
        dim3 clusterDim;
        int programmaticStreamSerializationAllowed;
    } val;
};

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};

inline cudaError_t cudaGetDevice(int *device)
{
    *device = emulated_device;
    return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr what, int device)
{
    EMULATED_REQUIRE(device >= 0 && device < EMULATED_ALL);
    const EmulatedDevice &d = kEmulatedDevices[device];
    *value = what == cudaDevAttrMultiProcessorCount            ? d.multiprocessors
             : what == cudaDevAttrMaxSharedMemoryPerBlockOptin ? (int)d.shared
                                                               : d.major;
    return cudaSuccess;
}
inline cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t = nullptr)
{
    memset(to, value, bytes);
    return cudaSuccess;
}

/* The shared memory that a launch of a kernel may have, as it was asked for last, by any thread. */
inline std::map<const void *, size_t> emulated_allowed;

inline cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute what, int value)
{
    if (what != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if ((size_t)value > kEmulatedDevices[emulated_device].shared) return cudaErrorInvalidValue;
    emulated_allowed[kernel] = (size_t)value;
    return cudaSuccess;
}

/* Runs the kernel to its end. */
template <typename Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Args), Args args)
{
    EmulatedGrid grid = {{config->gridDim.x, config->gridDim.y, config->gridDim.z},
                         {config->blockDim.x, config->blockDim.y, config->blockDim.z},
                         config->dynamicSmemBytes,
                         1};
    if (config->dynamicSmemBytes > 48 * 1024) {
        size_t &allowed = emulated_allowed[(const void *)kernel];
        if (emulated_meddling > 0) allowed = 0, emulated_meddling--;
        if (allowed < config->dynamicSmemBytes) return cudaErrorInvalidValue;
    }
    for (unsigned a = 0; a < config->numAttrs; a++)
        if (config->attrs[a].id == cudaLaunchAttributeClusterDimension)
            grid.cluster = (int)config->attrs[a].val.clusterDim.x;
    return emulated_run(grid, [&] { kernel(args); }) ? cudaSuccess : cudaErrorInvalidValue;
}

#endif

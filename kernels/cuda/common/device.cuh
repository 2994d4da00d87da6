/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Device helpers shared by the kernels: extents, scalars, launch of a configured grid, the epilogue of an
 * element, the length of runs of sums. */
#ifndef LACUNA_CUDA_COMMON_DEVICE_CUH
#define LACUNA_CUDA_COMMON_DEVICE_CUH

#include "element.cuh"
#include "primitives.cuh"
#include "cuda_kernels.h"

#include <atomic>

namespace lacuna
{

constexpr int kWarp = 32;
constexpr unsigned kFull = 0xffffffffu;

__host__ __device__ constexpr int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}
__host__ __device__ constexpr int64_t round_up(int64_t a, int64_t b)
{
    return ceil_div(a, b) * b;
}
template <typename T> __host__ __device__ constexpr T min(T a, T b)
{
    return a < b ? a : b;
}
template <typename T> __host__ __device__ constexpr T max(T a, T b)
{
    return a > b ? a : b;
}

template <typename T = float> __device__ inline T load_scalar(lac_cuda_scalar_t s);
template <> __device__ inline float load_scalar<float>(lac_cuda_scalar_t s)
{
    return s.device ? *s.device : s.value;
}
template <> __device__ inline double load_scalar<double>(lac_cuda_scalar_t s)
{
    return s.device ? *(const double *)s.device : s.f64;
}

/* x y + z, rounded once. */
__device__ inline float multiply_add(float x, float y, float z)
{
    return fmaf(x, y, z);
}
__device__ inline double multiply_add(double x, double y, double z)
{
    return fma(x, y, z);
}

/* beta at + alpha sum, as BLAS has it: with alpha = 0 the sum is not used, with beta = 0 the old value is not
 * read. */
template <typename T> __device__ inline T scaled(const T *at, T sum, T alpha, T beta)
{
    const T x = alpha == T(0) ? T(0) : alpha * sum;
    return beta == T(0) ? x : multiply_add(beta, *at, x);
}

__device__ inline unsigned lanes_below(int lane)
{
    return (1u << lane) - 1u;
}

/* The sum of x over this lane and those below it, in each kLanes of a warp. */
template <int kLanes = kWarp> __device__ inline int inclusive_sum(int x, int lane)
{
#pragma unroll
    for (int d = 1; d < kLanes; d *= 2) {
        const int below = __shfl_up_sync(kFull, x, d, kLanes);
        if (lane % kLanes >= d) x += below;
    }
    return x;
}

/* Element t of a rows x cols matrix, counted along its rows or along its columns. */
template <typename Int> struct Cell {
    Int row, column;
};
template <typename Int> __device__ inline Cell<Int> cell_of(Int t, Int rows, Int cols, bool along_rows)
{
    return along_rows ? Cell<Int>{t / cols, t % cols} : Cell<Int>{t % rows, t / rows};
}

/* Where samples of a matrix lie: */
/* `of` times a fraction of 2^32, of < 2^32; */
__device__ inline int64_t share_of(uint32_t fraction, int64_t of)
{
    return (int64_t)((uint64_t)fraction * (uint64_t)of >> 32);
}

/* a fraction without a pattern. */
__device__ inline uint32_t scramble32(uint32_t x)
{
    x *= 0x9e3779b9u, x ^= x >> 16, x *= 0x85ebca6bu, x ^= x >> 13, x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}

struct Device {
    int sms;
    bool hopper; /* clusters, distributed shared memory, programmatic dependent launch */
    int shared; /* bytes of shared memory that a block can have: 227 KiB, 163 on an A100, 99 on most others */
};

/* Asked at every launch: what does not change is asked of CUDA once. */
inline Device current_device()
{
    constexpr int kKnown = 64;
    /* Twice the multiprocessors, and 1 for a Hopper; above, shared memory in pieces of kPiece. 0: not asked
     * yet. */
    constexpr int kPiece = 256, kShift = 16;
    static std::atomic<int> known[kKnown];
    int id = 0, sms = 1, major = 0, shared = 48 * 1024;
    cudaGetDevice(&id);
    int packed = id < kKnown ? known[id].load(std::memory_order_relaxed) : 0;
    if (!packed) {
        cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, id);
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, id);
        cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, id);
        packed = shared / kPiece << kShift | (2 * sms + (major >= 9));
        if (id < kKnown) known[id].store(packed, std::memory_order_relaxed);
    }
    return {packed % (1 << kShift) / 2, packed % 2 != 0, (packed >> kShift) * kPiece};
}

/* Where the entries of a row begin and end. */
struct RowEntries {
    int64_t begin, end;
};
__device__ inline RowEntries entries_of(const lac_cuda_csr_t &s, int64_t row)
{
    const int64_t *const at = s.ptr + (row << (int)s.apart);
    return {at[0], at[1]};
}

struct Launch {
    dim3 grid, block;
    size_t shared;
    int cluster;       /* blocks along x that make a cluster                            */
    bool programmatic; /* may begin before its predecessor in the stream has ended      */
    cudaStream_t stream;
};

constexpr int kTries = 8; /* of a launch whose shared memory another thread may have lessened */

/* The shared memory that this thread asked for a kernel last: asking takes a microsecond. */
struct Allowance {
    const void *kernel;
    int device;
    size_t bytes;
};

/* Where it is known; two kernels that share a place are asked for each time. */
inline Allowance &allowance_of(const void *kernel)
{
    constexpr int kBits = 6;
    static thread_local Allowance known[1 << kBits];
    return known[(uint64_t)(uintptr_t)kernel * 0x9e3779b97f4a7c15u >> (64 - kBits)];
}

/* Lets a block of a kernel have so many bytes. What was asked for last holds for all threads. */
inline bool allow_shared(const void *kernel, size_t bytes, bool again)
{
    Allowance &known = allowance_of(kernel);
    int device = 0;
    cudaGetDevice(&device);
    const bool same = known.kernel == kernel && known.device == device;
    if (same && known.bytes >= bytes && !again) return true;
    if (same) bytes = max(bytes, known.bytes);
    known = {kernel, device, bytes};
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes) == cudaSuccess)
        return true;
    known = {};
    return false;
}

template <typename Args> lac_status_t launch(void (*kernel)(Args), const Launch &l, Args args)
{
    const void *entry = (const void *)kernel;
    /* 48 KiB may be had without asking, of which a kernel's static arrays are a part. */
    const bool asks = l.shared > 40 * 1024;
    if (l.cluster > 8 &&
        cudaFuncSetAttribute(entry, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) != cudaSuccess)
        return LAC_ERR_VENDOR;
    cudaLaunchAttribute attr[2];
    unsigned count = 0;
    if (l.cluster > 1) {
        attr[count].id = cudaLaunchAttributeClusterDimension;
        attr[count].val.clusterDim.x = (unsigned)l.cluster;
        attr[count].val.clusterDim.y = 1;
        attr[count++].val.clusterDim.z = 1;
    }
    if (l.programmatic && current_device().hopper) {
        attr[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attr[count++].val.programmaticStreamSerializationAllowed = 1;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = l.grid;
    config.blockDim = l.block;
    config.dynamicSmemBytes = l.shared;
    config.stream = l.stream;
    config.attrs = attr;
    config.numAttrs = count;
    for (int tries = asks ? kTries : 1; tries > 0; tries--) {
        if (asks && !allow_shared(entry, l.shared, tries < kTries)) return LAC_ERR_VENDOR;
        const cudaError_t error = cudaLaunchKernelEx(&config, kernel, args);
        if (error == cudaSuccess) return LAC_OK;
        if (error != cudaErrorInvalidValue && error != cudaErrorLaunchOutOfResources) return LAC_ERR_VENDOR;
        if (tries > 1) cudaGetLastError(); /* cleared: the next one may do */
    }
    return LAC_ERR_VENDOR;
}

/* A launch of blocks that go on in grid strides, for as many blocks of work as `wanted`. */
inline Launch grid_stride(int64_t wanted, int threads, lac_cuda_stream_t stream)
{
    const int64_t blocks = min<int64_t>(max<int64_t>(wanted, 1), 1 << 16);
    return {dim3(unsigned(blocks)), dim3(unsigned(threads)), 0, 1, false, (cudaStream_t)stream};
}

inline bool aligned(const void *p, size_t bytes)
{
    return ((uintptr_t)p & (bytes - 1)) == 0;
}
inline int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}
inline bool fits(int64_t x)
{
    return x >= 0 && x < INT32_MAX;
}

/* Bias and activation of one element: the same bits where it is written as in a pass behind. */

/* What is added to element (row, col) of an output. */
__device__ inline float bias_at(const lac_cuda_epilogue_t &epilogue, int64_t row, int64_t col)
{
    return epilogue.bias ? epilogue.bias[epilogue.of_rows ? row : col] : 0.0f;
}

/* x + bias where that, or its magnitude, is not <= limit, else 0. The sum is never part of a multiply-add,
 * and a bias of 0 is added too: it makes -0 to 0. */
__device__ inline float apply_epilogue(const lac_cuda_epilogue_t &epilogue, float x, float bias)
{
    x = __fadd_rn(x, bias);
    return (epilogue.magnitude ? fabsf(x) : x) <= epilogue.limit ? 0.0f : x;
}

/* x after the epilogue, if there is one. */
__device__ inline float with_epilogue(const lac_cuda_epilogue_t &epilogue, float x, float bias)
{
    return epilogue.any ? apply_epilogue(epilogue, x, bias) : x;
}

/* at := beta at + alpha sum, and the epilogue; at is element (row, col) of the output. Returns it. */
__device__ inline float store_with_epilogue(float *at, float sum, float alpha, float beta,
                                            const lac_cuda_epilogue_t &epilogue, int64_t row, int64_t col)
{
    const float x = scaled(at, sum, alpha, beta);
    return *at = epilogue.any ? apply_epilogue(epilogue, x, bias_at(epilogue, row, col)) : x;
}

/* How many terms one accumulator adds one after the other before it is added to a total.
 *
 * The rounding error of a straight sum of n terms grows with n where they have one sign and with its square
 * root where they cancel. A vendor's GEMM divides k among warps and blocks, and adds up the parts: its sums
 * of a few hundred nonzeros are three times as accurate as one accumulator's. Two levels of sums, short runs
 * and the total of the runs, are as accurate as that. */

constexpr int kShortestRun = 16; /* of 20 .. 100 terms: 1.4 times the error of eight parts; 32: 1.9 times */
constexpr int kLongestRun = 512;
constexpr int kRunsOfSum = 48; /* at most, of which a total is made, between these two bounds */

/* Length of the runs of a sum of about so many terms: a power of two. */
__host__ __device__ constexpr int run_length(int64_t terms)
{
    int length = kShortestRun;
    while (length < kLongestRun && (int64_t)length * kRunsOfSum < terms) length *= 2;
    return length;
}

} // namespace lacuna

#endif

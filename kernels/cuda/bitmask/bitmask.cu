/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Product with a frozen sparse operand kept as occupancy bits and packed values, for a short other side. */
#include "common/async_copy.cuh"
#include "event/gather.cuh"

namespace lacuna
{
namespace
{

constexpr int kMostWarps = 20; /* of a block, which has a multiprocessor to itself: shared memory */
constexpr int kHeld = 1024;    /* elements of S that a warp takes at a time: kRows rows, kHeld / kRows of k */
constexpr int kWFloats = 12 * 1024; /* of W in shared memory                             */
constexpr int kSpare = 4;           /* floats between rows of values: they begin on 16 bytes */

struct BitmaskArgs {
    GemmArgs p;
    lac_cuda_bits_t s;
    int j0;
};

/* Per warp: two sets of values, for each word of bits where its values begin, and the sums of its runs. */
template <int kColumns, int kRows> struct WarpMemory {
    float value[2][kRows][kHeld / kRows + kSpare];
    uint2 word[kWarp];
    float total[round_up(kRows * kColumns, 4)];
};

/* Begins to copy `count` values from `from` on; they will lie from to[the returned number] on. Lanes [0,
 * lanes). Nothing is read that is not theirs or some other row's: what is no whole piece comes one by one. */
__device__ inline int fetch_values(float *to, const float *from, const float *begin, int count, int lane,
                                   int lanes)
{
    const int skew = (int)((uintptr_t)from / sizeof(float) % 4), end = skew + count, whole = end / 4 * 4;
    from -= skew;
    for (int q = 4 * lane; q < whole; q += 4 * lanes)
        if (from + q >= begin)
            copy_async16(to + q, from + q);
        else
            for (int e = skew; e < 4; e++) copy_async4(to + e, from + e);
    const int rest = whole + lane;
    if (rest >= skew && rest < end) copy_async4(to + rest, from + rest);
    return skew;
}

/* W[k0 .., columns from j0 on] into shared memory: 4 columns of a k together, or as many as there are. Eight
 * loads of a thread are in flight. */
template <int kColumns> __device__ void fetch_w(float *to, const GemmArgs &p, int j0, int k0, int length)
{
    constexpr int kTogether = min(kColumns, 4), kPlane = kWFloats / (kColumns / kTogether);
    constexpr int kAtOnce = 8 / kColumns;
    const float *from = p.w + (int64_t)k0 * p.wks + (int64_t)j0 * p.wjs;
    const int columns = min(kColumns, p.n - j0);
    for (int k1 = threadIdx.x; k1 < length; k1 += kAtOnce * blockDim.x) {
        float x[kAtOnce][kColumns];
#pragma unroll
        for (int u = 0; u < kAtOnce; u++)
#pragma unroll
            for (int c = 0; c < kColumns; c++) {
                const int k = k1 + u * blockDim.x;
                if (k < length && c < columns)
                    x[u][c] = __ldg(from + (int64_t)k * p.wks + (int64_t)c * p.wjs);
            }
#pragma unroll
        for (int u = 0; u < kAtOnce; u++)
#pragma unroll
            for (int c = 0; c < kColumns; c++) {
                const int k = k1 + u * blockDim.x;
                if (k < length) to[c / kTogether * kPlane + k * kTogether + c % kTogether] = x[u][c];
            }
    }
}

template <int kColumns> __device__ inline void load_w(float (&y)[kColumns], const float *w, int k)
{
    constexpr int kTogether = min(kColumns, 4), kPlane = kWFloats / (kColumns / kTogether);
#pragma unroll
    for (int c = 0; c < kColumns; c += kTogether) {
        const float *at = w + c / kTogether * kPlane + k * kTogether;
        if constexpr (kTogether == 4) {
            const float4 q = *(const float4 *)at;
            y[c] = q.x, y[c + 1] = q.y, y[c + 2] = q.z, y[c + 3] = q.w;
        } else if constexpr (kTogether == 2) {
            const float2 q = *(const float2 *)at;
            y[c] = q.x, y[c + 1] = q.y;
        } else {
            y[c] = *at;
        }
    }
}

/* total[r * kColumns + c] += the lanes' sums; theirs begin anew. Each total is one lane's. */
template <int kRows, int kColumns>
__device__ inline void settle(float (&acc)[kRows][kColumns], float *total, int lane)
{
    static_assert(kRows * kColumns <= kWarp, "a lane for each sum");
#pragma unroll
    for (int r = 0; r < kRows; r++)
#pragma unroll
        for (int c = 0; c < kColumns; c++) {
            float sum = acc[r][c];
#pragma unroll
            for (int d = kWarp / 2; d > 0; d /= 2) sum += __shfl_xor_sync(kFull, sum, d);
            if (lane == r * kColumns + c) total[lane] += sum;
            acc[r][c] = 0.0f;
        }
}

/* A warp's rows of S, strip by strip: kStrip elements of each of kRows rows. Lane l has word l % kWords of
 * row l / kWords, as 32 bits. */
template <int kRows> struct Strips {
    static constexpr int kStrip = kHeld / kRows, kWords = kStrip / kWarp;
    const unsigned *bits; /* of this lane's row */
    const float *value;   /* of it, the next strip's */
    int64_t halves;       /* words of 32 bits in a row */
    bool live;            /* whether there is such a row */
    int part;             /* this lane's word of a strip */

    __device__ Strips(const lac_cuda_bits_t &s, int row, bool is_row, int lane)
        : bits((const unsigned *)(s.bits + (is_row ? row : 0) * s.words)),
          value(s.val + (is_row ? s.first[row] : 0)), halves(2 * s.words), live(is_row), part(lane % kWords)
    {
    }

    __device__ unsigned word(int64_t strip) const
    {
        const int64_t h = strip * kWords + part;
        return live && h < halves ? __ldcs(bits + h) : 0u;
    }

    /* Begins to copy the values of a strip, whose words are given; returns this lane's with the address of
     * its first value. */
    __device__ uint2 fetch(unsigned set, float *to, const float *all_values, int lane)
    {
        const int end = inclusive_sum<kWords>(__popc(set), lane);
        const int count = __shfl_sync(kFull, end, kWords - 1, kWords);
        const int skew = fetch_values(to, value, all_values, count, part, kWords);
        copies_commit();
        value += count;
        return make_uint2(set, shared_address(to + skew + end - __popc(set)));
    }
};

/* acc[r][c] += S[r, k] * W[k, c] for this lane's k of a strip, `in` being the strip's first k in w. */
template <int kRows, int kColumns>
__device__ inline void add_strip(float (&acc)[kRows][kColumns], const uint2 *word, const float *w, int in,
                                 LaneMasks masks, int lane)
{
    constexpr int kWords = Strips<kRows>::kWords;
#pragma unroll 2
    for (int u = 0; u < kWords; u++) {
        float y[kColumns];
        load_w(y, w, in + u * kWarp + lane);
#pragma unroll
        for (int r = 0; r < kRows; r++) {
            const uint2 set = word[r * kWords + u];
            if (set.x & masks.mine) { /* 0 * Inf is dropped */
                const float x = load_shared(set.y + 4 * __popc(set.x & masks.below));
#pragma unroll
                for (int c = 0; c < kColumns; c++) acc[r][c] = fmaf(x, y[c], acc[r][c]);
            }
        }
    }
}

/* out := beta out + alpha S W for kColumns columns of W from j0 on; S[m, k] as bits and packed values.
 *
 * Mapping   one warp per kRows rows of S, kHeld elements at a time: lane l counts a word of bits and copies
 *           values; then it takes k = l of each 32, its value lies behind those of the set bits below. W is
 *           in shared memory, as much as fits, for the whole block.
 * Layout    any; values are copied in pieces of 16 bytes.
 * Bytes     1/8 per element of S and 4 per nonzero, once; W once per block.
 * Order     the lanes' sums are added by a butterfly, after every 512 terms of a lane: one fixed order, no
 *           atomics.
 * Limit     one column: 2.6 TB/s at 50 %; a word of a row takes 7 instructions, and as many stalls. 54 us
 *           for 8192 x 8192, where cuBLAS takes 91; 66 to 136 us for four columns (H200, 2026-11-21). */
template <int kColumns, int kRows>
__global__ __launch_bounds__(kMostWarps *kWarp, 1) void bitmask(const __grid_constant__ BitmaskArgs a)
{
    constexpr int kStrip = Strips<kRows>::kStrip, kWords = Strips<kRows>::kWords;
    constexpr int kRun = kLongestRun / kWords;                /* strips */
    constexpr int kW = kWFloats / kColumns / kStrip * kStrip; /* k of W at a time */
    LACUNA_DYNAMIC_SHARED(float4, memory);
    const GemmArgs &p = a.p;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
    const LaneMasks masks = lane_masks(); /* kept: 7 instead of 10 instructions a word */
    float *w = (float *)memory;
    WarpMemory<kColumns, kRows> &mine = ((WarpMemory<kColumns, kRows> *)(w + kWFloats))[warp];
    const int row0 = (blockIdx.x * warps + warp) * kRows, row = row0 + lane / kWords;
    Strips<kRows> strips(a.s, row, row < p.m, lane);
    float acc[kRows][kColumns] = {};
    if (lane < kRows * kColumns) mine.total[lane] = 0.0f;
    const int count = (int)ceil_div(p.k, kStrip);
    uint2 here = strips.fetch(strips.word(0), mine.value[0][lane / kWords], a.s.val, lane);
    unsigned next = strips.word(1);
    for (int strip = 0; strip < count; strip++) {
        const int k0 = strip * kStrip, in = k0 % kW;
        if (strip && strip % kRun == 0) settle(acc, mine.total, lane);
        if (in == 0) {
            __syncthreads();
            fetch_w<kColumns>(w, p, a.j0, k0, min(kW, p.k - k0));
            __syncthreads();
        }
        mine.word[lane] = here;
        here = strips.fetch(next, mine.value[(strip + 1) % 2][lane / kWords], a.s.val, lane);
        next = strips.word(strip + 2);
        copies_wait<1>();
        __syncwarp();
        add_strip(acc, mine.word, w, in, masks, lane);
        __syncwarp();
    }
    settle(acc, mine.total, lane);
    const float alpha = load_scalar(p.alpha), beta = load_scalar(p.beta);
    const int r = lane / kColumns, c = lane % kColumns; /* the lane that added up this sum */
    if (r < kRows && c < p.n - a.j0 && row0 + r < p.m)
        store_sum(p, row0 + r, a.j0 + c, mine.total[lane], alpha, beta);
}

template <int kColumns, int kRows> lac_status_t launch_rows(const BitmaskArgs &a, cudaStream_t stream)
{
    const Device device = current_device();
    const int64_t tasks = ceil_div(a.p.m, kRows), sms = device.sms, w_source = sizeof(float) * kWFloats;
    const int64_t room = (device.shared - w_source) / (int64_t)sizeof(WarpMemory<kColumns, kRows>);
    const int64_t fit = max<int64_t>(1, min<int64_t>(kMostWarps, room));
    const int warps = (int)ceil_div(tasks, sms * ceil_div(tasks, sms * fit));
    const size_t shared = size_t(w_source) + sizeof(WarpMemory<kColumns, kRows>) * size_t(warps);
    return launch(
        bitmask<kColumns, kRows>,
        {dim3(unsigned(ceil_div(tasks, warps))), dim3(unsigned(warps * kWarp)), shared, 1, false, stream}, a);
}

/* As many rows of S per warp as leave every multiprocessor a dozen warps. */
template <int kColumns> lac_status_t launch_columns(const BitmaskArgs &a, cudaStream_t stream)
{
    const int64_t rows = a.p.m / (12 * current_device().sms);
    if (rows >= 4) return launch_rows<kColumns, 4>(a, stream);
    if (rows >= 2) return launch_rows<kColumns, 2>(a, stream);
    return launch_rows<kColumns, 1>(a, stream);
}

/* As many columns of W as there are left, up to 8. */
lac_status_t launch_left(const BitmaskArgs &a, cudaStream_t stream)
{
    const int left = a.p.n - a.j0;
    if (left == 1) return launch_columns<1>(a, stream);
    if (left == 2) return launch_columns<2>(a, stream);
    if (left <= 4) return launch_columns<4>(a, stream);
    return launch_columns<8>(a, stream);
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_bitmask(const lac_cuda_product_t *p, const lac_cuda_bits_t *s,
                                         lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!extents_fit(p)) return LAC_ERR_EXTENT;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    for (int64_t j0 = 0; j0 < p->n; j0 += 8) {
        const BitmaskArgs a = {make_gemm_args(p), *s, (int)j0};
        const lac_status_t status = launch_left(a, (cudaStream_t)stream);
        if (status != LAC_OK) return status;
    }
    return LAC_OK;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Products with the transpose of compressed rows as a caller brings them: of rows that meet no event, nothing
 * is read.
 *
 * Terms of many rows are added into one element, in whatever order blocks come; so that the sum does not
 * depend on it, integers are added. Three ways:
 *
 * counts   one value for all entries, and events: an element counts its events, and is multiplied at the end.
 * bins     other values, and events: the terms are floats. Where the exponents of all terms lie close enough,
 *          each is a whole number of one of two units, and sums are exact until they are rounded, once.
 * raised   other terms, and those that lie too far apart: first the largest exponent of each element's terms
 *          is found, in the element itself; then the terms are added as multiples of a unit that is
 *          2^(62 - bits) times finer than twice the largest of them, where 2^bits is no less than the number
 *          of terms. The error is that of one rounding to float, and at most a unit a term.
 *
 * Whether bins will do is known on the device alone: its kernels of the other way end at once. */
#include "common/fixed.cuh"
#include "loose.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kRounds = 2; /* elements of X of a thread, where they are many */
constexpr int kItems = kRounds * kThreads;
constexpr int kAtOnce = 4;       /* entries of a thread in flight */
constexpr int kBlocksEach = 6;   /* a multiprocessor, where X is long: as many as count side by side */
constexpr int kClearingEach = 2; /* a multiprocessor */
constexpr int kRanges = LAC_CUDA_LOOSE_RANGES / 8;
static_assert(kRanges == kThreads, "a thread reads a range");

/* Exponents of the values that a block met, as floats hold them, and of how many entries. */
struct Range {
    uint16_t lowest, highest;
    float entries;
};
static_assert(sizeof(Range) == 8, "LAC_CUDA_LOOSE_RANGES");

struct ScatterArgs {
    lac_cuda_loose_t a;
    lac_cuda_loose_dense_t x;
    int64_t columns;
    float *out;
    int64_t rs, cs;
    bool fours;               /* out lies together, in pieces of 16 bytes */
    unsigned long long *sums; /* [2][n][columns] */
    Range *range;
    int bits;   /* sums of so many bits of terms do not overflow */
    int items;  /* elements of X of a block           */
    int ranges; /* 0: bins are not tried            */
    int64_t blocks;
};

/* Events of a block ---------------------------------------------------------------------------------------
 */

struct Events {
    int64_t upto[kItems]; /* entries of the events up to this one */
    int32_t begin[kItems];
    int32_t column[kItems]; /* of X */
    float factor[kItems];
    int warps[kRounds * kWarps];
};

/* Lists the elements of X that are not zero and whose rows are not empty; how many there are. */
__device__ int list_events(const ScatterArgs &p, int64_t block, Events &s)
{
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    int64_t row[kRounds], column[kRounds];
    float x[kRounds];
    Span span[kRounds];
    unsigned those[kRounds];
    int at[kRounds], count = 0;
#pragma unroll
    for (int r = 0; r < kRounds; r++) {
        const int t = r * kThreads + (int)threadIdx.x;
        const int64_t item = block * p.items + t;
        row[r] = p.columns == 1 ? item : item / p.columns;
        column[r] = p.columns == 1 ? 0 : item - row[r] * p.columns;
        x[r] = t < p.items && row[r] < p.a.m ? factor_at(p.x, row[r], column[r]) : 0.0f;
    }
#pragma unroll
    for (int r = 0; r < kRounds; r++) {
        span[r] = x[r] != 0.0f ? span_of(p.a, row[r]) : Span{0, 0};
        those[r] = __ballot_sync(kFull, span[r].end > span[r].begin);
        if (lane == 0) s.warps[r * kWarps + warp] = __popc(those[r]);
    }
    __syncthreads();
#pragma unroll
    for (int w = 0; w < kRounds * kWarps; w++) {
        if (w % kWarps == warp) at[w / kWarps] = count + __popc(those[w / kWarps] & lanes_below(lane));
        count += s.warps[w];
    }
    if (!count) return 0;
#pragma unroll
    for (int r = 0; r < kRounds; r++) {
        if (span[r].end <= span[r].begin) continue;
        s.begin[at[r]] = (int32_t)span[r].begin, s.upto[at[r]] = span[r].end - span[r].begin;
        s.factor[at[r]] = x[r], s.column[at[r]] = (int32_t)column[r];
    }
    __syncthreads();
    if (warp == 0) {
        int64_t before = 0;
        for (int first = 0; first < count; first += kWarp) {
            int64_t sum = first + lane < count ? s.upto[first + lane] : 0;
#pragma unroll
            for (int d = 1; d < kWarp; d *= 2) {
                const int64_t below = __shfl_up_sync(kFull, sum, d);
                if (lane >= d) sum += below;
            }
            sum += before;
            if (first + lane < count) s.upto[first + lane] = sum;
            before = __shfl_sync(kFull, sum, kWarp - 1);
        }
    }
    __syncthreads();
    return count;
}

__device__ inline int64_t load_index(const void *list, bool wide, int64_t i, bool live)
{
    const int64_t at = live ? i : 0;
    const int64_t long_one = load_if(live && wide, (const int64_t *)list + at, (int64_t)-1);
    const int32_t short_one = load_if(live && !wide, (const int32_t *)list + at, -1);
    return wide ? long_one : short_one;
}

/* Calls use(column of A, column of X, term's value, factor) for each entry of the events, shared out evenly
 * among the block's threads. What is out of range is reported and left out. */
template <bool kColumns, bool kValues, typename Use>
__device__ inline void each_entry(const ScatterArgs &p, const Events &s, int count, Use use)
{
    const lac_cuda_loose_t &a = p.a;
    const int64_t total = s.upto[count - 1];
    const float one = kValues && a.val && a.homogeneous ? *a.val : 1.0f;
    for (int64_t from = threadIdx.x; from < total; from += kAtOnce * kThreads) {
        int64_t e[kAtOnce], column[kAtOnce], place[kAtOnce];
        float value[kAtOnce];
        int event[kAtOnce];
#pragma unroll
        for (int u = 0; u < kAtOnce; u++) {
            const int64_t at = from + u * kThreads;
            int first = 0; /* the first with upto > at */
            for (int step = 1 << (31 - __clz(count)); step > 0; step /= 2)
                if (first + step < count && s.upto[first + step - 1] <= at) first += step;
            event[u] = first;
            e[u] = at < total ? s.begin[first] + at - (first ? s.upto[first - 1] : 0) : -1;
        }
#pragma unroll
        for (int u = 0; u < kAtOnce; u++) {
            column[u] = kColumns ? load_index(a.idx, a.wide, e[u], e[u] >= 0) : 0;
            place[u] = kValues && a.perm ? load_index(a.perm, a.wide, e[u], e[u] >= 0) : e[u];
        }
#pragma unroll
        for (int u = 0; u < kAtOnce; u++) {
            const bool varied = kValues && a.val && !a.homogeneous;
            const bool there = varied && place[u] >= 0 && place[u] < a.nnz;
            value[u] = load_if(there, a.val + (there ? place[u] : 0), varied ? 0.0f : one);
        }
#pragma unroll
        for (int u = 0; u < kAtOnce; u++) {
            if (e[u] < 0) continue;
            if (kColumns && (column[u] < 0 || column[u] >= a.n)) {
                report(a, e[u], LAC_CUDA_LOOSE_IDX);
                continue;
            }
            if (kValues && (place[u] < 0 || place[u] >= a.nnz)) {
                report(a, e[u], LAC_CUDA_LOOSE_PERM);
                continue;
            }
            use(column[u], s.column[event[u]], value[u], s.factor[event[u]]);
        }
    }
}

/* The output ----------------------------------------------------------------------------------------------
 */

__device__ inline float *element_at(const ScatterArgs &p, int64_t q)
{
    if (p.columns == 1) return p.out + q * p.rs;
    const int64_t row = q / p.columns;
    return p.out + row * p.rs + (q - row * p.columns) * p.cs;
}

__device__ inline void clear(const ScatterArgs &p)
{
    const int64_t total = p.a.n * p.columns, step = (int64_t)gridDim.x * kThreads,
                  first = (int64_t)blockIdx.x * kThreads + threadIdx.x;
    if (p.fours)
        for (int64_t q = first; q < total / 4; q += step)
            *((float4 *)p.out + q) = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int64_t q = p.fours ? total / 4 * 4 + first : first; q < total; q += step) *element_at(p, q) = 0.0f;
    if (!p.sums) return;
    for (int64_t q = first; q < (p.ranges ? 2 : 1) * total; q += step) p.sums[q] = 0;
}

/* Counts --------------------------------------------------------------------------------------------------
 */

__global__ __launch_bounds__(kThreads) void count_begin(const __grid_constant__ ScatterArgs p)
{
    dependents_launch();
    clear(p);
}

/* out[c, j] += the events of X[:, j] that have an entry in column c.
 *
 * Mapping   a block to up to 512 elements of X, whose events' entries its threads share.
 * Bytes     X once; idx of a row once for each event of it, and of each entry a sector of out, in the second
 *           cache.
 * Order     none is needed: integers.
 * Limit     latency: X, pointers, indices, counts. All but the last are on their way before out is 0. */
__global__ __launch_bounds__(kThreads, kBlocksEach) void count_events(const __grid_constant__ ScatterArgs p)
{
    __shared__ Events s;
    dependents_launch();
    const int count = list_events(p, blockIdx.x, s);
    if (count)
        each_entry<true, false>(p, s, count, [&](int64_t column, int j, float, float) {
            dependency_wait(); /* out is 0 */
            atomicAdd((int *)(p.out + column * p.rs + j * p.cs), 1);
        });
    dependency_wait(); /* who waits for this kernel waits for the one before */
}

__global__ __launch_bounds__(kThreads) void count_end(const __grid_constant__ ScatterArgs p)
{
    const int64_t total = p.a.n * p.columns, step = (int64_t)gridDim.x * kThreads;
    const float one = p.a.val ? *p.a.val : 1.0f;
    dependency_wait();
    for (int64_t q = (int64_t)blockIdx.x * kThreads + threadIdx.x; q < total; q += step) {
        float *element = element_at(p, q);
        const unsigned found = __float_as_uint(*element);
        *element = found ? (float)((double)one * (double)found) : 0.0f;
    }
}

/* Exponents -----------------------------------------------------------------------------------------------
 */

constexpr unsigned kNotFinite = 0x7ff; /* of a double */

__device__ inline unsigned exponent_of(double x)
{
    unsigned long long bits;
    memcpy(&bits, &x, sizeof bits);
    return unsigned(bits >> 52) & kNotFinite;
}

/* Units per 1 where the largest term has this exponent: |term| < 2^(exponent - 1022). */
__device__ inline int fineness(unsigned exponent, int bits)
{
    return 62 - bits - ((int)exponent - 1022);
}

/* Bins ----------------------------------------------------------------------------------------------------
 *
 * The first holds exponents (highest - width, highest], the second the `width` below. A term is shifted by
 * its place in its bin, and takes up to 23 + width bits: sums of 2^(39 - width) of them do not overflow. */

struct Bins {
    int highest, width;
    bool two;  /* the second is used */
    bool will; /* do */
};

__device__ inline Bins bins_of(int lowest, int highest, double entries)
{
    const int width = 62 - (kMantissa - 1) - ((int)exponent_of(1.000001 * fmax(entries, 1.0)) - 1022);
    const int span = highest - lowest;
    return {highest, width, span >= width, highest < kFloatNotFinite && width > 0 && span < 2 * width};
}

/* Of what all blocks met. */
__device__ Bins read_bins(const ScatterArgs &p)
{
    __shared__ int low[kWarps], high[kWarps];
    __shared__ double some[kWarps];
    if (!p.ranges) return {0, 0, false, false};
    const int t = threadIdx.x, lane = t % kWarp, warp = t / kWarp;
    const Range r = t < p.ranges ? p.range[t] : Range{kFloatNotFinite, 1, 0.0f};
    const int lowest = __reduce_min_sync(kFull, (int)r.lowest),
              highest = __reduce_max_sync(kFull, (int)r.highest);
    double entries = r.entries;
#pragma unroll
    for (int d = 1; d < kWarp; d *= 2) entries += __shfl_xor_sync(kFull, entries, d);
    if (lane == 0) low[warp] = lowest, high[warp] = highest, some[warp] = entries;
    __syncthreads();
    int all_low = low[0], all_high = high[0];
    double all = some[0];
    for (int w = 1; w < kWarps; w++)
        all_low = min(all_low, low[w]), all_high = max(all_high, high[w]), all += some[w];
    return bins_of(min(all_low, all_high), all_high, all);
}

/* sum 2^exponent, rounded once. */
__device__ inline float rounded(__int128 sum, int exponent)
{
    if (sum == 0) return 0.0f;
    const bool negative = sum < 0;
    unsigned __int128 all = negative ? -(unsigned __int128)sum : (unsigned __int128)sum;
    unsigned long long rest = 0;
    if (all >> 53) { /* to 53 bits, of which the last says whether there was more */
        const unsigned long long top = (unsigned long long)(all >> 64);
        const int length = top ? 128 - __clzll((long long)top) : 64 - __clzll((long long)all),
                  by = length - 53;
        rest = (all & (((unsigned __int128)1 << by) - 1)) != 0;
        all >>= by;
        exponent += by;
    }
    const double x = (double)(long long)((unsigned long long)all | rest) * double_power_of_two(exponent);
    return (float)(negative ? -x : x);
}

/* Kernels of bins and of raised sums ----------------------------------------------------------------------
 */

/* Clears what is added to. Where bins are tried: the exponents of the values that events meet, and how many.
 *
 * Mapping   blocks take elements of X by turns, 512 at most. Bytes: 20 for each element of out; X; val. */
__global__ __launch_bounds__(kThreads) void scatter_begin(const __grid_constant__ ScatterArgs p)
{
    __shared__ Events s;
    __shared__ int low[kWarps], high[kWarps];
    __shared__ float some[kWarps];
    dependents_launch();
    clear(p);
    if (!p.ranges) return;
    int lowest = kFloatNotFinite, highest = 1;
    float entries = 0.0f;
    for (int64_t block = blockIdx.x; block < p.blocks; block += gridDim.x) {
        const int count = list_events(p, block, s);
        if (count)
            each_entry<false, true>(p, s, count, [&](int64_t, int, float value, float) {
                if (value == 0.0f) return;
                const int e = float_exponent(value);
                lowest = min(lowest, e), highest = max(highest, e);
                entries += 1.0f;
            });
        __syncthreads(); /* before the list is written again */
    }
    const int t = threadIdx.x, lane = t % kWarp, warp = t / kWarp;
    lowest = __reduce_min_sync(kFull, lowest), highest = __reduce_max_sync(kFull, highest);
#pragma unroll
    for (int d = 1; d < kWarp; d *= 2) entries += __shfl_xor_sync(kFull, entries, d);
    if (lane == 0) low[warp] = lowest, high[warp] = highest, some[warp] = entries;
    __syncthreads();
    if (t != 0) return;
    for (int w = 1; w < kWarps; w++)
        lowest = min(lowest, low[w]), highest = max(highest, high[w]), entries += some[w];
    p.range[blockIdx.x] = {(uint16_t)lowest, (uint16_t)highest, entries};
}

__device__ inline void raise(const ScatterArgs &p, int64_t column, int j, float value, float x)
{
    const double term = (double)value * (double)x;
    unsigned *element = (unsigned *)(p.out + column * p.rs + j * p.cs);
    if (term != 0.0 && *(volatile unsigned *)element < exponent_of(term))
        atomicMax(element, exponent_of(term));
}

__device__ inline void add_raised(const ScatterArgs &p, int64_t column, int j, float value, float x)
{
    const double term = (double)value * (double)x;
    if (term == 0.0) return;
    unsigned long long *sum = p.sums + column * p.columns + j;
    const unsigned top = *(unsigned *)(p.out + column * p.rs + j * p.cs);
    if (top == kNotFinite) {
        if (exponent_of(term) == kNotFinite) atomicOr(sum, (unsigned long long)not_finite(term));
        return;
    }
    atomicAdd(sum, (unsigned long long)llrint(term * double_power_of_two(fineness(top, p.bits))));
}

__device__ inline void add_binned(const ScatterArgs &p, const Bins &bins, int64_t column, int j, float value)
{
    if (value == 0.0f) return;
    const int below = bins.highest - float_exponent(value);
    const bool second = below >= bins.width;
    const long long term = float_mantissa(value) << ((second ? 2 : 1) * bins.width - 1 - below);
    atomicAdd(p.sums + (second ? p.a.n * p.columns : 0) + column * p.columns + j,
              (unsigned long long)(value < 0.0f ? -term : term));
}

/* Adds terms to bins; where these will not do, raises each element to the largest exponent of its terms.
 *
 * Mapping   a block to up to 512 elements of X, whose events' entries its threads share.
 * Bytes     X once; idx and val of a row once for each event of it, and of each entry a sector of sums, in
 *           the second cache.
 * Order     none is needed: integers. */
__global__ __launch_bounds__(kThreads) void scatter_terms(const __grid_constant__ ScatterArgs p)
{
    __shared__ Events s;
    dependents_launch();
    const int count = list_events(p, blockIdx.x, s);
    dependency_wait();
    if (!count) return;
    const Bins bins = read_bins(p);
    if (bins.will)
        each_entry<true, true>(p, s, count, [&](int64_t column, int j, float value, float) {
            add_binned(p, bins, column, j, value);
        });
    else
        each_entry<true, true>(
            p, s, count, [&](int64_t column, int j, float value, float x) { raise(p, column, j, value, x); });
}

/* What bins hold, rounded; otherwise adds terms to raised sums. */
__global__ __launch_bounds__(kThreads) void scatter_sums(const __grid_constant__ ScatterArgs p)
{
    __shared__ Events s;
    dependents_launch();
    dependency_wait();
    const Bins bins = read_bins(p);
    if (bins.will) {
        const int64_t total = p.a.n * p.columns, step = (int64_t)gridDim.x * kThreads;
        const int unit = bins.highest - 2 * bins.width + 1 - 150; /* of the second */
        for (int64_t q = (int64_t)blockIdx.x * kThreads + threadIdx.x; q < total; q += step) {
            const long long first = (long long)p.sums[q],
                            second = bins.two ? (long long)p.sums[total + q] : 0;
            const __int128 both = (__int128)first * ((__int128)1 << bins.width) + second;
            *element_at(p, q) = rounded(both, unit);
        }
        return;
    }
    const int count = (int64_t)blockIdx.x < p.blocks ? list_events(p, blockIdx.x, s) : 0;
    if (count)
        each_entry<true, true>(p, s, count, [&](int64_t column, int j, float value, float x) {
            add_raised(p, column, j, value, x);
        });
}

__device__ inline float converted(const ScatterArgs &p, unsigned top, unsigned long long sum)
{
    if (top == kNotFinite) return sum_not_finite((unsigned)sum);
    return top ? (float)((double)(long long)sum * double_power_of_two(-fineness(top, p.bits))) : 0.0f;
}

/* Raised sums, rounded. */
__global__ __launch_bounds__(kThreads) void scatter_end(const __grid_constant__ ScatterArgs p)
{
    dependency_wait();
    if (read_bins(p).will) return;
    const int64_t total = p.a.n * p.columns, step = (int64_t)gridDim.x * kThreads;
    for (int64_t q = (int64_t)blockIdx.x * kThreads + threadIdx.x; q < total; q += step) {
        float *element = element_at(p, q);
        *element = converted(p, __float_as_uint(*element), p.sums[q]);
    }
}

/* Launches ------------------------------------------------------------------------------------------------
 */

/* One kernel after the other: all but the first may begin before the one before has ended. */
struct Chain {
    const ScatterArgs &args;
    lac_cuda_stream_t stream;
    lac_status_t status;
    bool first;

    void operator()(void (*kernel)(ScatterArgs), int64_t blocks)
    {
        if (status == LAC_OK && !fits(blocks)) status = LAC_ERR_EXTENT;
        if (status != LAC_OK) return;
        const Launch l = {
            dim3(unsigned(max<int64_t>(blocks, 1))), dim3(kThreads), 0, 1, !first, (cudaStream_t)stream};
        first = false;
        status = launch(kernel, l, args);
    }
};

ScatterArgs make_args(const lac_cuda_loose_t *a, const lac_cuda_loose_dense_t *x, int64_t columns, float *out,
                      int64_t rs, int64_t cs)
{
    const bool together = columns == 1 ? rs == 1 : rs == columns && cs == 1;
    ScatterArgs p = {*a,      *x,      columns, out, rs, cs, together && aligned(out, 16),
                     nullptr, nullptr, 0,       0,   0,  0};
    while ((int64_t)1 << p.bits < a->nnz) p.bits++;
    const int64_t all = a->m * columns, room = (int64_t)kBlocksEach * current_device().sms;
    p.items = (int)max<int64_t>(kWarp, min<int64_t>(kItems, round_up(ceil_div(all, room), kWarp)));
    p.blocks = ceil_div(all, p.items);
    return p;
}

/* Blocks that go through the output. */
int64_t output_blocks(const ScatterArgs &p)
{
    return min<int64_t>(ceil_div(p.a.n * p.columns, 2 * kThreads),
                        (int64_t)2 * kBlocksEach * current_device().sms);
}

/* Blocks that clear it while others list their events, for whom they leave room. */
int64_t clearing_blocks(const ScatterArgs &p)
{
    return min<int64_t>(output_blocks(p), (int64_t)kClearingEach * current_device().sms);
}

void queue_counts(Chain &queue, const ScatterArgs &p)
{
    queue(count_begin, clearing_blocks(p));
    if (p.blocks) queue(count_events, p.blocks);
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_loose_count(const lac_cuda_loose_t *a, const lac_cuda_loose_dense_t *x,
                                             int64_t columns, int32_t *out, int64_t rs, int64_t cs,
                                             lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!all_fit(a) || !fits(columns)) return LAC_ERR_EXTENT;
    if (!a->n || !columns) return LAC_OK;
    const ScatterArgs p = make_args(a, x, columns, (float *)out, rs, cs);
    Chain queue = {p, stream, LAC_OK, true};
    queue_counts(queue, p);
    return queue.status;
}

extern "C" lac_status_t lac_cuda_loose_scatter(const lac_cuda_loose_t *a, const lac_cuda_loose_dense_t *x,
                                               int64_t columns, float *out, int64_t rs, int64_t cs,
                                               void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!all_fit(a) || !fits(columns)) return LAC_ERR_EXTENT;
    if (!a->n || !columns) return LAC_OK;
    ScatterArgs p = make_args(a, x, columns, out, rs, cs);
    Chain queue = {p, stream, LAC_OK, true};
    if (!workspace) {
        queue_counts(queue, p);
        queue(count_end, output_blocks(p));
        return queue.status;
    }
    const int64_t sums = 2 * a->n * columns;
    p.sums = (unsigned long long *)workspace;
    p.range = (Range *)(p.sums + sums);
    if (a->val && !a->homogeneous && (x->bytes || x->binary))
        p.ranges = (int)max<int64_t>(1, min<int64_t>(kRanges, p.blocks));
    queue(scatter_begin, p.ranges ? p.ranges : output_blocks(p));
    if (p.blocks) queue(scatter_terms, p.blocks);
    queue(scatter_sums, max<int64_t>(p.blocks, output_blocks(p)));
    queue(scatter_end, output_blocks(p));
    return queue.status;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The second launch of a streamed product of many rows: W streams through shared memory once for every 128 of
 * them, and is split on its way to the tensor cores, into f16 where these hold S. */
#include "steps.cuh"

namespace lacuna
{
namespace streamed
{
namespace
{

/* A configuration: rows of S, W along k or by rows. Each warpgroup has 64 columns. */
template <int kRows, bool kAlongK> struct Config : StageShape<kRows, kManyGroups, kAlongK> {
    static constexpr int kWarpsOfBox = 2, kConsumers = kManyGroups * kBoxes * kWarpsOfBox * kWarp,
                         kThreads = kConsumers + kGroup, kBringer = kConsumers;
};

/* Below this size an element is too small beside the largest. */
__device__ inline float least_of(int largest)
{
    return power_of_two(largest - ThreeF16::kTop + ThreeF16::kLeast);
}

/* Whether one power of two does not do for what a warp will hold of W, sixteen columns of 32 k of which a
 * lane has sixteen elements, at a step of the block's first item, another one for each warp. */
template <typename C> __device__ inline bool samples_are_wide(const MultiplyArgs &a)
{
    const GemmArgs &p = a.out.p;
    if (p.k < kStep || p.n < 16) return false;
    const Item first = item_of(a.shape, (int)blockIdx.x);
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = C::kThreads / kWarp;
    const int k0 = (first.begin + (first.end - first.begin) * warp / warps) * kStep,
              j0 = first.tile / a.shape.passes * kManyGroups * kGroupColumns +
                   warp * 16 % (kManyGroups * kGroupColumns);
    const int k = min(k0, (p.k - kStep) / 4 * 4) + (C::kAlongK ? lane % 2 * 16 : lane),
              j = min(j0, (p.n - 16) / 4 * 4) + (C::kAlongK ? lane / 2 : 0);
    const float4 *const from = (const float4 *)(p.w + (int64_t)k * p.wks + (int64_t)j * p.wjs);
    float x[16], largest = 0.0f;
#pragma unroll
    for (int q = 0; q < 4; q++) {
        const float4 four = __ldg(from + q);
        x[4 * q] = four.x, x[4 * q + 1] = four.y, x[4 * q + 2] = four.z, x[4 * q + 3] = four.w;
    }
#pragma unroll
    for (int e = 0; e < 16; e++) largest = fmaxf(largest, fabsf(x[e]));
    const int exponent = largest_exponent(__reduce_max_sync(kFull, __float_as_uint(largest)));
    const float least = least_of(exponent);
    bool left = false;
#pragma unroll
    for (int e = 0; e < 16; e++) left |= fabsf(x[e]) < least && x[e] != 0.0f;
    return exponent > ThreeF16::kLowest && __any_sync(kFull, left);
}

/* Whether they are in so many warps that rounds would take longer than six products. All threads of the
 * block.
 */
__device__ inline bool is_wide(bool samples_are)
{
    constexpr int kMany = 2;
    return __syncthreads_count(samples_are && threadIdx.x % kWarp == 0) >= kMany;
}

/* Whether f16 hold S, and it has enough nonzeros. All threads of the block, when S is split. */
template <typename C> __device__ inline bool f16_do(const MultiplyArgs &a)
{
    __shared__ unsigned sum;
    const int counts = counts_of_pieces(a.shape);
    unsigned mine = 0;
    bool wide = false;
    if (threadIdx.x == 0) sum = 0;
#pragma unroll 4
    for (int c = (int)threadIdx.x; c < counts; c += C::kThreads) {
        const unsigned count = __ldcg(a.space.nonzeros + c);
        wide |= count == kWide, mine += count;
    }
    mine = __reduce_add_sync(kFull, mine);
    if (__syncthreads_or(wide)) return false;
    if (threadIdx.x % kWarp == 0) atomicAdd(&sum, mine);
    __syncthreads();
    return sum >= (unsigned)(kFewTerms * a.out.p.m);
}

/* A thread's elements of W in a step, of each half: those of word w of a fragment at 2 w. */
typedef float Elements[kHalves][8];

/* Where they lie in a stage, which is swizzled so that the lanes that read at once read all banks. By rows:
 * two neighbouring columns of k 2 t, 2 t + 1, and 8 k further. Along k: four neighbouring k of two columns.
 */
template <typename C> struct Reader {
    unsigned at[2];

    __device__ Reader(int warp, int lane)
    {
        const int g = lane / 4, t = lane % 4, first = warp % C::kWarpsOfBox * 16;
#pragma unroll
        for (int i = 0; i < 2; i++)
            at[i] =
                warp / C::kWarpsOfBox * kBoxBytes +
                (C::kAlongK ? (first + order(g)) * kRowBytes + ((t + 4 * i) ^ order(g)) * 16
                            : (2 * t + i) * kRowBytes + ((first / 4 + g / 2) ^ (2 * t + i)) * 16 + g % 2 * 8);
    }

    __device__ void read(Elements &x, unsigned stage) const
    {
#pragma unroll
        for (int half = 0; half < kHalves; half++)
#pragma unroll
            for (int q = 0; q < (C::kAlongK ? 2 : 4); q++) {
                float *const to = x[half];
                if (C::kAlongK) { /* column q */
                    const float4 k = read_now(stage + at[half] + q * 8 * kRowBytes);
                    to[2 * q] = k.x, to[2 * q + 1] = k.y, to[2 * q + 4] = k.z, to[2 * q + 5] = k.w;
                } else { /* k 8 (q / 2) + 2 t + q % 2 */
                    const float2 columns =
                        read_two_now(stage + at[q % 2] + (q / 2 * 8 + half * 16) * kRowBytes);
                    to[q / 2 * 4 + q % 2] = columns.x, to[q / 2 * 4 + q % 2 + 2] = columns.y;
                }
            }
    }

    /* Along k, a core's columns are taken in this order. */
    static __device__ int order(int g)
    {
        return (g & 1) << 2 | g >> 1;
    }

    /* The first of a thread's two columns, of the box's 32, and how far the other one lies. */
    static __device__ int column(int warp, int lane)
    {
        const int g = lane / 4;
        return warp % C::kWarpsOfBox * 16 + (C::kAlongK ? order(g) : 2 * g);
    }
    static constexpr int kApart = C::kAlongK ? kCore : 1;
};

/* W's splits of each half step. */
typedef uint4 Fragments[kHalves * kSplits];

/* What a step's fragments stand for: themselves times 2^exponent; and whether smaller elements were left out
 * of them. */
struct Scale {
    int exponent;
    bool left;
};

__device__ inline Scale split_step(SixBf16, const Elements &x, Fragments &b)
{
#pragma unroll
    for (int half = 0; half < kHalves; half++)
#pragma unroll
        for (int word = 0; word < 4; word++) {
            const SplitPair s = split_pair(x[half][2 * word], x[half][2 * word + 1]);
#pragma unroll
            for (int q = 0; q < kSplits; q++) set_word(b[kSplits * half + q], word, s.word[q]);
        }
    return {0, false};
}

/* Leaves the elements out that are smaller than `least`; whether there are any but zeros. */
__device__ inline bool leave_small(const Elements &x, Fragments &b, float least)
{
    const auto is_small = [=](float y) { return fabsf(y) < least && y != 0.0f; };
    bool any = false;
#pragma unroll
    for (int e = 0; e < 8 * kHalves; e++) any |= is_small(x[e / 8][e % 8]);
    if (!any) return false;
#pragma unroll
    for (int half = 0; half < kHalves; half++)
#pragma unroll
        for (int word = 0; word < 4; word++) {
            const uint32_t kept = (is_small(x[half][2 * word]) ? 0u : 0xffffu) |
                                  (is_small(x[half][2 * word + 1]) ? 0u : 0xffff0000u);
#pragma unroll
            for (int q = 0; q < kSplits; q++) {
                uint4 &of = b[kSplits * half + q];
                set_word(of, word, kept & (word == 0 ? of.x : word == 1 ? of.y : word == 2 ? of.z : of.w));
            }
        }
    return true;
}

/* A warp's columns have one power of two. */
__device__ inline Scale split_step(ThreeF16, const Elements &x, Fragments &b)
{
    constexpr uint32_t kApart = (15 - ThreeF16::kApart) << 10, kLeast = (15 + ThreeF16::kLeast) << 10;
    float largest[2] = {};
#pragma unroll
    for (int e = 0; e < 8 * kHalves; e++) largest[e % 2] = fmaxf(largest[e % 2], fabsf(x[e / 8][e % 8]));
    const int exponent =
        largest_exponent(__reduce_max_sync(kFull, __float_as_uint(fmaxf(largest[0], largest[1]))));
    const float power = power_of_two(ThreeF16::kTop - exponent);
    uint32_t least[2] = {0x7bff7bffu, 0x7bff7bffu}; /* the largest f16 */
#pragma unroll
    for (int half = 0; half < kHalves; half++)
#pragma unroll
        for (int word = 0; word < 4; word++) {
            uint32_t h, l;
            split_f16(x[half][2 * word] * power, x[half][2 * word + 1] * power, 1.0f, h, l);
            set_word(b[kSplits * half], word, h);
            set_word(b[kSplits * half + 1], word, l);
            set_word(b[kSplits * half + 2], word, multiply_f16_pair(h, kApart | kApart << 16));
            least[word % 2] = smaller_f16_pair(least[word % 2], h);
        }
    least[0] = smaller_f16_pair(least[0], least[1]);
    bool left = false;
    if (exponent > ThreeF16::kLowest && min(least[0] & 0xffffu, least[0] >> 16) < kLeast)
        left = leave_small(x, b, least_of(exponent));
    return {exponent - ThreeF16::kTop, left};
}

/* A thread's sums of two columns: e / 4 eights of rows of S, of each two rows of both columns. */
template <typename C> using Sums = float[C::kSums];

/* sum += acc. */
template <typename C> __device__ inline void add_plain(Sums<C> &sum, const Sums<C> &acc)
{
#pragma unroll
    for (int e = 0; e < C::kSums; e++) sum[e] += acc[e];
}

/* acc := b s for a whole step, up to where the caller waits. Of bf16, which leave less than f16 for what a
 * tensor core cuts off, the first half is added up before the other begins. */
template <typename C>
__device__ inline void multiply_step(SixBf16 form, Sums<C> &acc, Sums<C> &sum, Fragments &b, uint64_t s)
{
#pragma unroll
    for (int half = 0; half < kHalves; half++) {
        if (half) {
            wgmma_wait<0>();
            keep(b);
            add_plain<C>(sum, acc);
        }
        wgmma_fence();
#pragma unroll
        for (int q = 0; q < SixBf16::kProducts; q++)
            multiply_splits<C>(form, q, acc, b, kSplits * half, wgmma_further(s, half * half_bytes(C::kRows)),
                               q > 0);
        wgmma_commit();
    }
}
template <typename C>
__device__ inline void multiply_step(ThreeF16 form, Sums<C> &acc, Sums<C> &, Fragments &b, uint64_t s)
{
    wgmma_fence();
#pragma unroll
    for (int q = 0; q < ThreeF16::kProducts; q++)
#pragma unroll
        for (int half = 0; half < kHalves; half++)
            multiply_splits<C>(form, q, acc, b, kSplits * half, wgmma_further(s, half * half_bytes(C::kRows)),
                               q + half > 0);
    wgmma_commit();
}

/* Waits for it, and adds it to the sums; `stage` is where it came from. */
template <typename C>
__device__ inline void finish_step(SixBf16, Sums<C> &sum, Sums<C> &acc, Fragments &b, const Scale &, unsigned)
{
    wgmma_wait<0>();
    keep(b);
    add_plain<C>(sum, acc);
}

template <typename C>
__device__ inline void finish_step(ThreeF16, Sums<C> &sum, Sums<C> &acc, Fragments &b, const Scale &scale,
                                   unsigned stage)
{
    constexpr int kGroupSums = kScaledRows / 2; /* of a thread */
    constexpr int kScales = C::kSums / kGroupSums, kLow = -126, kHigh = 127;
    int e[ThreeF16::kScales], lowest = 0;
#pragma unroll
    for (int g = 0; g < kScales; g += 4) {
        const float4 x = read_now(stage + C::kOfW + ThreeF16::kSplitsOfS * split_bytes(C::kRows) + g * 4);
        e[g] = __float_as_int(x.x), e[g + 1] = __float_as_int(x.y);
        e[g + 2] = __float_as_int(x.z), e[g + 3] = __float_as_int(x.w);
    }
#pragma unroll
    for (int g = 0; g < kScales; g++) {
        e[g] = min(e[g] + scale.exponent, kHigh);
        lowest = min(lowest, e[g]);
    }
    wgmma_wait<0>();
    keep(b);
    if (lowest < kLow) /* by two factors: a sum may be more than the smallest power of two */
#pragma unroll
        for (int g = 0; g < kScales; g++) {
            const int first = max(kLow, min(0, e[g] - kLow));
            e[g] = max(kLow, e[g] - first);
#pragma unroll
            for (int i = g * kGroupSums; i < (g + 1) * kGroupSums; i++) acc[i] *= power_of_two(first);
        }
#pragma unroll
    for (int g = 0; g < kScales; g++)
#pragma unroll
        for (int i = g * kGroupSums; i < (g + 1) * kGroupSums; i++)
            sum[i] = fmaf(acc[i], power_of_two(e[g]), sum[i]);
}

/* Whether any thread of the warpgroup has left something out. */
__device__ inline bool any_left(const Scale &scale)
{
    return any_of<kGroup>(1 + (int)threadIdx.x / kGroup, scale.left);
}

/* Multiplies what a step's fragments left out, until nothing is left; all of a warpgroup where any has. x and
 * b are used up. */
template <typename C>
__device__ inline void add_left(const Reader<C> &reader, unsigned stage, Scale scale, uint64_t s, Elements &x,
                                Fragments &b, Sums<C> &acc, Sums<C> &sum)
{
    bool left = true;
    while (left) {
        const float least = least_of(scale.exponent + ThreeF16::kTop);
        reader.read(x, stage);
#pragma unroll
        for (int e = 0; e < 8 * kHalves; e++) {
            float &y = x[e / 8][e % 8];
            y = fabsf(y) < least ? y : 0.0f;
        }
        scale = split_step(ThreeF16(), x, b);
        multiply_step<C>(ThreeF16(), acc, sum, b, s);
        left = any_left(scale);
        finish_step<C>(ThreeF16(), sum, acc, b, scale, stage);
    }
}

/* The sums of an item, as rows. */
template <typename C>
__device__ inline void write_sums(const MultiplyArgs &a, const Item &item, const Sums<C> &sum)
{
    const Shape &h = a.shape;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, width = width_of(h);
    float *to = a.space.sums +
                ((int64_t)(item.part * h.passes + item.tile % h.passes) * C::kRows + lane % 4 * 2) * width +
                (item.tile / h.passes * C::kGroups * kBoxes + warp / C::kWarpsOfBox) * kBoxColumns +
                Reader<C>::column(warp, lane);
#pragma unroll
    for (int e = 0; e < C::kSums; e += 2) {
        const int at = e / 4 * 4 + e % 4 / 2; /* of row 8 (e / 4) + e % 4 / 2 */
        float *const row = to + (int64_t)(e / 4 * 8 + e % 4 / 2) * width;
        if (C::kAlongK)
            __stcg(row, sum[at]), __stcg(row + Reader<C>::kApart, sum[at + 2]);
        else
            __stcg((float2 *)row, make_float2(sum[at], sum[at + 2]));
    }
}

/* The steps of a block, item after item. */
struct Steps {
    const Shape &h;
    int number, step;
    Item item;

    __device__ explicit Steps(const Shape &shape)
        : h(shape), number((int)blockIdx.x), item(item_of(h, number))
    {
        step = item.begin;
    }
    __device__ bool any() const { return number < h.tiles * h.parts; }
    __device__ bool ends_item() const { return step + 1 == item.end; }
    __device__ void next()
    {
        if (++step < item.end) return;
        number += h.blocks;
        item = item_of(h, number);
        step = item.begin;
    }
};

/* Multiplies step after step. While the tensor cores have one, the next is split, and the one behind that is
 * read; fragments take turns, so that no register of a product under way is written. */
template <typename C, typename Form>
__device__ __forceinline__ void consume(Form form, const MultiplyArgs &a, const Stages &st)
{
    constexpr bool kScaled = Form::kScales > 0;
    const Reader<C> reader(threadIdx.x / kWarp, threadIdx.x % kWarp);
    const unsigned memory = shared_address(st.memory);
    const uint64_t matrix = matrix_of_s<C>(st);
    Steps steps(a.shape), unread(a.shape);
    Ring<C::kStages> ring, ahead;
    Elements x = {};
    Fragments b[2];
    Scale scale[2];
    Sums<C> sum = {}, acc;
    /* The next step's elements; whether there is one. */
    const auto read_next = [&] {
        if (!unread.any()) return false;
        barrier_wait(st.full + ahead.stage, ahead.round);
        reader.read(x, memory + ahead.stage * C::kStageBytes);
        ahead.next(), unread.next();
        return true;
    };
    /* From fragments `now`, a constant; the other ones become the next step's. */
    const auto multiply_next = [&](int now) {
        const unsigned here = memory + ring.stage * C::kStageBytes;
        const uint64_t s = wgmma_further(matrix, ring.stage * C::kStageBytes);
        multiply_step<C>(form, acc, sum, b[now], s);
        const bool left = kScaled && any_left(scale[now]);
        scale[now ^ 1] = split_step(form, x, b[now ^ 1]);
        const unsigned there = memory + ahead.stage * C::kStageBytes;
        const bool more = read_next();
        finish_step<C>(form, sum, acc, b[now], scale[now], here);
        if (kScaled && left) {
            add_left<C>(reader, here, scale[now], s, x, b[now], acc, sum);
            if (more) reader.read(x, there);
        }
        barrier_arrive(st.empty + ring.stage);
        ring.next();
        if (steps.ends_item()) {
            write_sums<C>(a, steps.item, sum);
#pragma unroll
            for (int e = 0; e < C::kSums; e++) sum[e] = 0.0f;
        }
        steps.next();
    };
    read_next();
    scale[0] = split_step(form, x, b[0]);
    read_next();
    while (steps.any()) {
        multiply_next(0);
        if (!steps.any()) break;
        multiply_next(1);
    }
}

/* sums := S W for each part of k,  S[m, k] split, any density, W[k, n].
 *
 * Mapping   a block makes item after item; a warpgroup has 64 columns of W in registers, as the first
 *           operand, split on the way; S's rows are the second. One thread of another brings stages of 32 k.
 * Bytes     W once for every 128 rows of S; S's splits once for each tile of columns, from cache.
 * Order     steps ascending: 32 k of f16 in the tensor cores, 16 of bf16, which cut off what they add, sums
 *           of these by f32 additions. */
template <typename C>
__global__ __launch_bounds__(C::kThreads, 1) void stream_multiply_many(const __grid_constant__ MultiplyArgs a)
{
    LACUNA_DYNAMIC_SHARED(uint8_t, dynamic);
    __shared__ barrier_t full[C::kStages], empty[C::kStages];
    const Stages st = begin_stages<C>(dynamic, full, empty, C::kConsumers);
    bool wide = false;
    if (!begins<C>(a, st, [&] { wide = samples_are_wide<C>(a); })) return;
    const bool scaled = !is_wide(wide) && f16_do<C>(a);
    if (threadIdx.x >= C::kConsumers) {
        registers_fewer<kProducerRegisters>();
        if (threadIdx.x == C::kBringer) produce<C>(a, st, scaled);
        return;
    }
    registers_more<kConsumerRegisters>();
    if (scaled)
        consume<C>(ThreeF16(), a, st);
    else
        consume<C>(SixBf16(), a, st);
}

template <int kRows> lac_status_t launch_rows(const MultiplyArgs &a, bool along_k, cudaStream_t stream)
{
    typedef Config<kRows, true> AlongK;
    typedef Config<kRows, false> ByRows;
    static_assert(AlongK::kShared == ByRows::kShared, "one launch for both");
    const Launch l = {
        dim3((unsigned)a.shape.blocks), dim3(AlongK::kThreads), AlongK::kShared, 1, true, stream};
    return along_k ? launch(stream_multiply_many<AlongK>, l, a) : launch(stream_multiply_many<ByRows>, l, a);
}

} // namespace

lac_status_t multiply_many(const MultiplyArgs &a, bool along_k, cudaStream_t stream)
{
    return a.shape.rows == 96 ? launch_rows<96>(a, along_k, stream) : launch_rows<128>(a, along_k, stream);
}

} // namespace streamed
} // namespace lacuna

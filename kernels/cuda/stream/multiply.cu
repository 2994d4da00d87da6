/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The second launch of a streamed product of few rows, or of a short k: W streams through shared memory once,
 * is split into bf16 on its way to the tensor cores, and meets all rows of S there. */
#include "steps.cuh"

namespace lacuna
{
namespace streamed
{
namespace
{

/* A configuration: rows of S, warpgroups, W along k or by rows, sums that are the output. */
template <int kRows, int kGroups, bool kAlongK, bool kDirect_>
struct Config : StageShape<kRows, kGroups, kAlongK> {
    static constexpr bool kDirect = kDirect_;
    static constexpr int kConsumers = kGroups * kGroup, kThreads = kConsumers + kGroup, kBringer = kConsumers;
};

/* A thread's elements of W in a stage, which is swizzled so that the lanes of a quarter warp read all banks.
 * By rows: four neighbouring columns of k 2 t, 2 t + 1, and 8 k further. Along k: four neighbouring k of four
 * columns. */
template <typename C> struct Reader {
    unsigned at[2];

    __device__ Reader(int warp, int lane)
    {
        const int g = lane / 4, t = lane % 4, column = C::kAlongK ? order(g) : 0;
#pragma unroll
        for (int i = 0; i < 2; i++)
            at[i] = warp * kBoxBytes + (C::kAlongK ? column * kRowBytes + ((t + 4 * i) ^ column) * 16
                                                   : (2 * t + i) * kRowBytes + (g ^ (2 * t + i)) * 16);
    }

    __device__ void read(float4 (&x)[4], unsigned stage, int half) const
    {
#pragma unroll
        for (int q = 0; q < 4; q++)
            x[q] = C::kAlongK ? read_now(stage + at[half] + q * 8 * kRowBytes)
                              : read_now(stage + at[q % 2] + (q / 2 * 8 + half * 16) * kRowBytes);
    }

    /* Along k, a core's columns are taken in this order. */
    static __device__ int order(int g)
    {
        return (g & 1) << 2 | g >> 1;
    }

    /* The column, of the warp's 32, of row g + 8 high of a product of 64 columns. */
    static __device__ int column(int product, int high, int g)
    {
        return C::kAlongK ? product * 16 + high * 8 + order(g) : 4 * g + 2 * product + high;
    }

    /* The two elements of word 2 g + h of a product's fragment. */
    static __device__ float2 pair(const float4 (&x)[4], int product, int word)
    {
        const int k = word / 2, h = word % 2;
        if (C::kAlongK) {
            const float4 &v = x[2 * product + h];
            return k ? make_float2(v.z, v.w) : make_float2(v.x, v.y);
        }
        const float4 &u = x[2 * k], &v = x[2 * k + 1];
        return product ? h ? make_float2(u.w, v.w) : make_float2(u.z, v.z)
               : h ? make_float2(u.y, v.y)
                       : make_float2(u.x, v.x);
    }
};

typedef uint4 Fragments[2 * kSplits]; /* of two products */

template <typename C> __device__ inline void split_fragments(const float4 (&x)[4], Fragments &b)
{
#pragma unroll
    for (int product = 0; product < 2; product++)
#pragma unroll
        for (int word = 0; word < 4; word++) {
            const float2 both = Reader<C>::pair(x, product, word);
            const SplitPair s = split_pair(both.x, both.y);
#pragma unroll
            for (int q = 0; q < kSplits; q++) set_word(b[kSplits * product + q], word, s.word[q]);
        }
}

/* acc := b s. */
template <typename C>
__device__ inline void multiply_half(float (&acc)[2][C::kSums], const Fragments &b, uint64_t s)
{
#pragma unroll
    for (int q = 0; q < SixBf16::kProducts; q++)
#pragma unroll
        for (int t = 0; t < 2; t++) multiply_splits<C>(SixBf16(), q, acc[t], b, kSplits * t, s, q > 0);
}

/* A thread's sums: four columns of each of kSums / 2 rows; which row, behind its first. */
__device__ constexpr int row_of(int e)
{
    return e / 2 * 8 + e % 2;
}

template <typename Sums> __device__ inline float4 four_of(const Sums &sum, int e)
{
    const int at = e / 2 * 4 + e % 2;
    return make_float4(sum[0][at], sum[0][at + 2], sum[1][at], sum[1][at + 2]);
}

/* The sums of an item, as rows. */
template <typename C>
__device__ inline void write_sums(const MultiplyArgs &a, const Item &item, const float (&sum)[2][C::kSums])
{
    const Shape &h = a.shape;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, g = lane / 4, width = width_of(h);
    float *to = a.space.sums +
                ((int64_t)(item.part * h.passes + item.tile % h.passes) * C::kRows + lane % 4 * 2) * width +
                (item.tile / h.passes * C::kGroups * kBoxes + warp) * kBoxColumns;
#pragma unroll
    for (int e = 0; e < C::kSums / 2; e++) {
        float *const row = to + (int64_t)row_of(e) * width;
        const float4 x = four_of(sum, e);
        if (!C::kAlongK) {
            __stcg((float4 *)(row + Reader<C>::column(0, 0, g)), x);
            continue;
        }
        __stcg(row + Reader<C>::column(0, 0, g), x.x);
        __stcg(row + Reader<C>::column(0, 1, g), x.y);
        __stcg(row + Reader<C>::column(1, 0, g), x.z);
        __stcg(row + Reader<C>::column(1, 1, g), x.w);
    }
}

/* Four elements of the output that lie apart, or are added to, or whose sums are no numbers; called and not
 * unrolled at each place, so that the code stays in the instruction cache. */
template <int kApart>
__device__ __noinline__ void finish_four(const Output &a, float4 sums, int i, int j, float alpha, float beta)
{
    const GemmArgs &p = a.p;
    float x[4] = {sums.x, sums.y, sums.z, sums.w};
    mend_sums<kApart>(a, x, i, j, i < p.m && j < p.n);
#pragma unroll
    for (int q = 0; q < 4; q++)
        if (i < p.m && j + q * kApart < p.n) store_sum(p, i, j + q * kApart, x[q], alpha, beta);
}

/* Four neighbouring columns of row i of an output whose rows begin anywhere; all lanes of a warp, of which
 * eight have a row: g has columns j = 4 g .. of 32. A lane stores the 16 aligned bytes that begin in its
 * columns and end in those of the next one; what is left at both ends of the 32, and behind the last column,
 * goes one by one. Called, as finish_four is. */
__device__ __noinline__ void write_piece(const GemmArgs &p, float4 sums, int i, int j, float alpha)
{
    const int lane = threadIdx.x % kWarp, g = lane / 4, later = (lane + 4) % kWarp;
    float x[7] = {alpha * sums.x, alpha * sums.y, alpha * sums.z, alpha * sums.w, 0.0f, 0.0f, 0.0f};
    if (p.epilogue.any)
#pragma unroll
        for (int q = 0; q < 4; q++)
            x[q] = apply_epilogue(p.epilogue, x[q], bias_at(p.epilogue, 0, min(j + q, p.n - 1)));
#pragma unroll
    for (int q = 0; q < 3; q++) x[4 + q] = __shfl_sync(kFull, x[q], later);
    float *const to = p.out + i * p.rs + j;
    const int before = (int)(-((uintptr_t)to / sizeof(float)) % 4); /* elements before the aligned ones */
    if (i >= p.m) return;
#pragma unroll
    for (int q = 0; q < 3; q++)
        if (g == 0 && q < before && j + q < p.n) __stcs(to + q, x[q]);
    float piece[4];
#pragma unroll
    for (int q = 0; q < 4; q++)
        piece[q] = before == 0 ? x[q] : before == 1 ? x[q + 1] : before == 2 ? x[q + 2] : x[q + 3];
    const int mine = min(g == kWarp / 4 - 1 ? 4 - before : 4, p.n - j - before);
    if (mine == 4) {
        __stcs((float4 *)(to + before), make_float4(piece[0], piece[1], piece[2], piece[3]));
        return;
    }
#pragma unroll
    for (int q = 0; q < 3; q++)
        if (q < mine) __stcs(to + before + q, piece[q]);
}

/* The same, where no other item adds to them, as the output. */
template <typename C>
__device__ inline void write_output(const MultiplyArgs &a, const Item &item, const float (&sum)[2][C::kSums])
{
    constexpr int kApart = C::kAlongK ? kCore : 1; /* columns of a thread's four sums */
    const GemmArgs &p = a.out.p;
    const float alpha = load_scalar(p.alpha), beta = load_scalar(p.beta);
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, g = lane / 4;
    const int i0 = item.tile % a.shape.passes * C::kRows + lane % 4 * 2,
              j = (item.tile / a.shape.passes * C::kGroups * kBoxes + warp) * kBoxColumns +
                  Reader<C>::column(0, 0, g);
    float bad = 0.0f; /* NaN where any sum is no number */
#pragma unroll
    for (int e = 0; e < 2 * C::kSums; e++) bad = fmaf(sum[e % 2][e / 2], 0.0f, bad);
    const bool plain = alpha != 0.0f && beta == 0.0f && writes_together(p) && !__any_sync(kFull, bad != 0.0f);
    if (!plain) {
#pragma unroll
        for (int e = 0; e < C::kSums / 2; e++)
            finish_four<kApart>(a.out, four_of(sum, e), i0 + row_of(e), j, alpha, beta);
        return;
    }
    if (!C::kAlongK && !writes_fours(p)) {
#pragma unroll
        for (int e = 0; e < C::kSums / 2; e++) write_piece(p, four_of(sum, e), i0 + row_of(e), j, alpha);
        return;
    }
    float bias[4] = {};
    if (p.epilogue.any)
#pragma unroll
        for (int q = 0; q < 4; q++) bias[q] = bias_at(p.epilogue, 0, min(j + q * kApart, p.n - 1));
    float *const out = p.out + i0 * p.rs + j;
#pragma unroll
    for (int e = 0; e < C::kSums / 2; e++) {
        if (i0 + row_of(e) >= p.m) continue;
        float4 x = four_of(sum, e);
        x = make_float4(alpha * x.x, alpha * x.y, alpha * x.z, alpha * x.w);
        if (p.epilogue.any)
            x = make_float4(
                apply_epilogue(p.epilogue, x.x, bias[0]), apply_epilogue(p.epilogue, x.y, bias[1]),
                apply_epilogue(p.epilogue, x.z, bias[2]), apply_epilogue(p.epilogue, x.w, bias[3]));
        float *const to = out + row_of(e) * p.rs;
        if (!C::kAlongK) {
            if (j < p.n) __stcs((float4 *)to, x);
            continue;
        }
        if (j < p.n) __stcs(to, x.x);
        if (j + kApart < p.n) __stcs(to + kApart, x.y);
        if (j + 2 * kApart < p.n) __stcs(to + 2 * kApart, x.z);
        if (j + 3 * kApart < p.n) __stcs(to + 3 * kApart, x.w);
    }
}

template <typename C>
__device__ inline void add_sums(float (&sum)[2][C::kSums], const float (&acc)[2][C::kSums])
{
#pragma unroll
    for (int t = 0; t < 2; t++)
#pragma unroll
        for (int e = 0; e < C::kSums; e++) sum[t][e] += acc[t][e];
}

/* Multiplies step after step. While the tensor cores have one half of a step, the next one is split. */
template <typename C> __device__ __forceinline__ void consume(const MultiplyArgs &a, const Stages &st)
{
    const Shape &h = a.shape;
    const Reader<C> reader(threadIdx.x / kWarp, threadIdx.x % kWarp);
    const unsigned memory = shared_address(st.memory);
    const uint64_t matrix = matrix_of_s<C>(st);
    Ring<C::kStages> ring;
    float4 x[4];
    Fragments b[kHalves];
    barrier_wait(st.full, 0);
    reader.read(x, memory, 0);
    split_fragments<C>(x, b[0]);
    reader.read(x, memory, 1);
    for (int number = (int)blockIdx.x; number < h.tiles * h.parts; number += h.blocks) {
        const Item item = item_of(h, number);
        const bool last_item = number + h.blocks >= h.tiles * h.parts;
        float sum[2][C::kSums] = {}, acc[2][C::kSums];
        for (int step = item.begin; step < item.end; step++) {
            const int stage = ring.stage;
            const uint64_t s = wgmma_further(matrix, stage * C::kStageBytes);
            const bool more = step + 1 < item.end || !last_item;
            ring.next();
            wgmma_fence();
            multiply_half<C>(acc, b[0], s);
            wgmma_commit();
            split_fragments<C>(x, b[1]);
            if (more) {
                barrier_wait(st.full + ring.stage, ring.round);
                reader.read(x, memory + ring.stage * C::kStageBytes, 0);
            }
            wgmma_wait<0>();
            keep(b[0]);
            add_sums<C>(sum, acc);
            wgmma_fence();
            multiply_half<C>(acc, b[1], wgmma_further(s, half_bytes(C::kRows)));
            wgmma_commit();
            if (more) {
                split_fragments<C>(x, b[0]);
                reader.read(x, memory + ring.stage * C::kStageBytes, 1);
            }
            wgmma_wait<0>();
            keep(b[1]);
            barrier_arrive(st.empty + stage);
            add_sums<C>(sum, acc);
        }
        if constexpr (C::kDirect)
            write_output<C>(a, item, sum);
        else
            write_sums<C>(a, item, sum);
    }
}

/* sums := S W for each part of k,  S[m, k] split into bf16, any density, W[k, n]; or the output itself.
 *
 * Mapping   a block makes item after item; one thread of a warpgroup brings stages of 32 k of 128 columns
 *           for each of the other two, and S's splits. These hold W's columns in registers, as the first
 *           operand, split on the way: two products of 64 columns; S's rows are the second.
 * Bytes     W once for every 64 rows of S; S's splits once for each tile of columns, from cache.
 * Order     steps ascending: 32 k in the tensor cores, which cut off what they add, sums of these by f32
 *           additions. */
template <typename C>
__global__ __launch_bounds__(C::kThreads, 1) void stream_multiply(const __grid_constant__ MultiplyArgs a)
{
    LACUNA_DYNAMIC_SHARED(uint8_t, dynamic);
    __shared__ barrier_t full[C::kStages], empty[C::kStages];
    const Stages st = begin_stages<C>(dynamic, full, empty, C::kConsumers);
    if (!begins<C>(a, st, [] {})) return;
    if (threadIdx.x >= C::kConsumers) {
        registers_fewer<kProducerRegisters>();
        if (threadIdx.x == C::kBringer) produce<C>(a, st, false);
    } else {
        registers_more<kConsumerRegisters>();
        consume<C>(a, st);
    }
}

template <int kRows, bool kDirect>
lac_status_t launch_rows(const MultiplyArgs &a, bool along_k, cudaStream_t stream)
{
    typedef Config<kRows, 2, true, kDirect> AlongK;
    typedef Config<kRows, 2, false, kDirect> ByRows;
    static_assert(AlongK::kShared == ByRows::kShared, "one launch for both");
    const Launch l = {
        dim3((unsigned)a.shape.blocks), dim3(AlongK::kThreads), AlongK::kShared, 1, true, stream};
    return along_k ? launch(stream_multiply<AlongK>, l, a) : launch(stream_multiply<ByRows>, l, a);
}

} // namespace

lac_status_t multiply(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Shape &shape,
                      const Space &space, const Gate &gate, cudaStream_t stream)
{
    MultiplyArgs a = {{}, shape, space, output_of(p, s), gate};
    const bool along_k = p->order == LAC_CUDA_COLS;
    if (!make_tensor_map(&a.w, (const float *)p->w, along_k ? p->n : p->k, along_k ? p->k : p->n, p->ldw,
                         along_k ? kGroupColumns : kStep, kBoxColumns, true))
        return LAC_ERR_VENDOR;
    if (shape.direct) return launch_rows<kMaxRows, true>(a, along_k, stream);
    switch (shape.rows) {
    case 8:
        return launch_rows<8, false>(a, along_k, stream);
    case 16:
        return launch_rows<16, false>(a, along_k, stream);
    case 32:
        return launch_rows<32, false>(a, along_k, stream);
    case 48:
        return launch_rows<48, false>(a, along_k, stream);
    case 64:
        return launch_rows<64, false>(a, along_k, stream);
    default:
        return multiply_many(a, along_k, stream);
    }
}

} // namespace streamed
} // namespace lacuna

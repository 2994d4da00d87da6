/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The second launch of a streamed product: W streams through shared memory once for the rows of a pass, is
 * split on its way to the tensor cores, and meets S there. */
#include "split.cuh"

namespace lacuna
{
namespace streamed
{
namespace
{

/* A thread's elements of W in half a step: of each set of 64 columns two, of each column k number 2 b + i,
 * which is the i-th of the two that it holds of the b-th instruction. */
template <typename C> using Elements = float[C::kColumnSets][2][4];

/* Where they lie in a stage, which is swizzled so that the lanes that read at once read all banks. A warp has
 * a box of 32 columns, or half of one. By rows a thread has neighbouring columns of k 2 t, 2 t + 1, and 8 k
 * further; along k four neighbouring k of each column. */
template <typename C> struct Reader {
    static constexpr int kWarpsOfBox = 2 / C::kColumnSets, kOfWarp = kBoxColumns / kWarpsOfBox;
    unsigned at[2];

    __device__ Reader(int warp, int lane)
    {
        const int g = lane / 4, t = lane % 4, first = warp % kWarpsOfBox * kOfWarp;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int k = 2 * t + i, column = C::kAlongK ? first + order(g) : first + 2 * C::kColumnSets * g;
            at[i] = warp / kWarpsOfBox * kBoxBytes +
                    (C::kAlongK ? column * kRowBytes + ((t + 4 * i) ^ order(g)) * 16
                                : k * kRowBytes + (column / 4 ^ k) * 16 + column % 4 * 4);
        }
    }

    __device__ void read(Elements<C> &x, unsigned stage, int half) const
    {
#pragma unroll
        for (int q = 0; q < (C::kAlongK ? 2 * C::kColumnSets : 4); q++) {
            if (C::kAlongK) { /* column q */
                const float4 k = read_now(stage + at[half] + q * kCore * kRowBytes);
                float(&to)[4] = x[q / 2][q % 2];
                to[0] = k.x, to[1] = k.y, to[2] = k.z, to[3] = k.w;
                continue;
            }
            const unsigned from = stage + at[q % 2] + (q / 2 * 8 + half * 16) * kRowBytes;
            if (C::kColumnSets > 1) {
                const float4 columns = read_now(from);
                x[0][0][q] = columns.x, x[0][1][q] = columns.y;
                x[C::kColumnSets - 1][0][q] = columns.z, x[C::kColumnSets - 1][1][q] = columns.w;
            } else {
                const float2 columns = read_two_now(from);
                x[0][0][q] = columns.x, x[0][1][q] = columns.y;
            }
        }
    }

    /* Along k, a core's columns are taken in this order. */
    static __device__ int order(int g)
    {
        return (g & 1) << 2 | g >> 1;
    }

    /* The first of a thread's columns, of the tile's; the others lie kApart further each. */
    static constexpr int kApart = C::kAlongK ? kCore : 1;
    static __device__ int column(int warp, int lane)
    {
        return warp * kOfWarp + (C::kAlongK ? order(lane / 4) : lane / 4 * 2 * C::kColumnSets);
    }
};

/* W's splits of half a step: for each set of columns and instruction a fragment of each split. */
template <typename C, typename Form>
using Fragments = uint4[C::kColumnSets * Form::kInstructions * Form::kSplits];

/* An instruction of TF32 has k number 2 i and 2 i + 1. */
template <typename C>
__device__ inline void split_fragments(ThreeTf32, const Elements<C> &x, Fragments<C, ThreeTf32> &b)
{
#pragma unroll
    for (int set = 0; set < C::kColumnSets; set++)
#pragma unroll
        for (int i = 0; i < ThreeTf32::kInstructions; i++) {
            SplitTf32 s[4];
#pragma unroll
            for (int word = 0; word < 4; word++) s[word] = split_tf32(x[set][word % 2][2 * i + word / 2]);
            uint4 *const to = b + ThreeTf32::kSplits * (set * ThreeTf32::kInstructions + i);
            to[0] = make_uint4(s[0].nearest, s[1].nearest, s[2].nearest, s[3].nearest);
            to[1] = make_uint4(s[0].rest, s[1].rest, s[2].rest, s[3].rest);
        }
}

/* That of bf16 has all four, in words of two. */
template <typename C>
__device__ inline void split_fragments(SixBf16, const Elements<C> &x, Fragments<C, SixBf16> &b)
{
#pragma unroll
    for (int set = 0; set < C::kColumnSets; set++) {
        SplitPair s[4];
#pragma unroll
        for (int word = 0; word < 4; word++) {
            const float *const two = x[set][word % 2] + word / 2 * 2;
            s[word] = split_pair(two[0], two[1]);
        }
#pragma unroll
        for (int q = 0; q < SixBf16::kSplits; q++)
            b[SixBf16::kSplits * set + q] =
                make_uint4(s[0].word[q], s[1].word[q], s[2].word[q], s[3].word[q]);
    }
}

template <typename C> using Sums = float[C::kProducts][C::kSums];
template <typename C> using Begun = float[C::kAtOnce][C::kSums];

/* acc[product] := b s of half a step, from S's matrix in a stage. */
template <typename C, typename Form, int kProduct>
__device__ inline void begin_product(Begun<C> &acc, const Fragments<C, Form> &b, uint64_t s, int half)
{
    typedef SplitOfS<C, Form> OfS;
    constexpr int kSet = kProduct % C::kColumnSets, kFirstRow = kProduct % C::kRowSets * (C::kRows / 2);
    wgmma_fence();
#pragma unroll
    for (int term = 0; term < Form::kTerms; term++)
#pragma unroll
        for (int i = 0; i < Form::kInstructions; i++)
            wgmma(typename Form::Element(), acc[kProduct % C::kAtOnce],
                  b[Form::kSplits * (kSet * Form::kInstructions + i) + Form::of_w(term)],
                  wgmma_further(s, OfS::at(Form::of_s(term)) + half * OfS::kHalf + i * OfS::kNext +
                                       kFirstRow * OfS::kOfRow),
                  term + i > 0);
    wgmma_commit();
}

/* A thread's sums: its columns of each of kSums / 2 rows; which row, behind its first, and which of the sums
 * of a product, for the first of its columns. */
__device__ constexpr int row_of(int e)
{
    return e / 2 * 8 + e % 2;
}
__device__ constexpr int sum_of(int e)
{
    return e / 2 * 4 + e % 2;
}

/* Those of two sets of columns. */
template <int kSums> __device__ inline float4 four_of(const float (&sum)[2][kSums], int e)
{
    const int at = sum_of(e);
    return make_float4(sum[0][at], sum[0][at + 2], sum[1][at], sum[1][at + 2]);
}

/* The sums of an item, as rows. */
template <typename C>
__device__ inline void write_sums(const MultiplyArgs &a, const Item &item, const Sums<C> &sum)
{
    const Shape &h = a.shape;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, width = width_of(h);
    float *to = a.space.sums +
                ((int64_t)(item.part * h.passes + item.tile % h.passes) * C::kRows + lane % 4 * 2) * width +
                first_column<C>(h, item.tile) + Reader<C>::column(warp, lane);
#pragma unroll
    for (int rows = 0; rows < C::kRowSets; rows++)
#pragma unroll
        for (int e = 0; e < C::kSums / 2; e++) {
            float *const row = to + (int64_t)(rows * (C::kRows / 2) + row_of(e)) * width;
            const int at = sum_of(e);
            if (C::kAlongK)
#pragma unroll
                for (int q = 0; q < 2 * C::kColumnSets; q++)
                    __stcg(row + q * Reader<C>::kApart, sum[rows + q / 2][at + q % 2 * 2]);
            else if (C::kColumnSets > 1)
                __stcg((float4 *)row, four_of(sum, e));
            else
                __stcg((float2 *)row, make_float2(sum[rows][at], sum[rows][at + 2]));
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

/* The biases of a thread's columns, from j on. */
template <typename C> __device__ inline void read_biases_of(float (&bias)[4], const GemmArgs &p, int j)
{
#pragma unroll
    for (int q = 0; q < 4; q++)
        bias[q] = p.epilogue.any ? bias_at(p.epilogue, 0, min(j + q * Reader<C>::kApart, p.n - 1)) : 0.0f;
}

/* Whether the output is alpha times a warp's sums, and the epilogue of that. */
template <typename C> __device__ inline bool are_plain(const GemmArgs &p, const Sums<C> &sum)
{
    const float bad = no_numbers(sum[0]) + no_numbers(sum[1]);
    return load_scalar(p.alpha) != 0.0f && load_scalar(p.beta) == 0.0f && writes_together(p) &&
           !__any_sync(kFull, bad != 0.0f);
}

/* A warp's columns of an item go to the output by way of `box`, its part of shared memory: the next item is
 * multiplied while the copy engine writes them. */
template <typename C>
__device__ inline void send_sums(const MultiplyArgs &a, const Item &item, const Sums<C> &sum, uint8_t *box)
{
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, column = Reader<C>::column(0, lane);
    const int row = lane % 4 * 2, at = row * kRowBytes + (column / 4 ^ row) * 16 + column % 4 * 4;
    const int place[2] = {at, (at ^ 16) + kRowBytes}; /* of its first two rows; others lie kCore rows apart */
    const int j0 = first_column<C>(a.shape, item.tile) + warp * Reader<C>::kOfWarp;
    const float alpha = load_scalar(a.out.p.alpha);
    float bias[4];
    read_biases_of<C>(bias, a.out.p, j0 + column);
    if (one_lane()) stores_wait_read(); /* of the item before */
    __syncwarp();
#pragma unroll
    for (int e = 0; e < C::kSums / 2; e++) {
        const float4 x = finished(a.out.p, times(alpha, four_of(sum, e)), bias);
        uint8_t *const to = box + e / 2 * kCore * kRowBytes;
        if (C::kAlongK) { /* two pieces further each */
            *(float *)(to + place[e % 2]) = x.x, *(float *)(to + (place[e % 2] ^ 32)) = x.y;
            *(float *)(to + (place[e % 2] ^ 64)) = x.z, *(float *)(to + (place[e % 2] ^ 96)) = x.w;
        } else {
            *(float4 *)(to + place[e % 2]) = x;
        }
    }
    bulk_copy_fence();
    __syncwarp();
    if (one_lane()) {
        store_tile(box, &a.boxes, item.tile % a.shape.passes * C::kRows, j0);
        stores_commit();
    }
}

/* The sums of an item that no other item adds to, as the output. */
template <typename C>
__device__ inline void write_output(const MultiplyArgs &a, const Item &item, const Sums<C> &sum, uint8_t *box)
{
    constexpr int kApart = Reader<C>::kApart;
    const GemmArgs &p = a.out.p;
    const float alpha = load_scalar(p.alpha), beta = load_scalar(p.beta);
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int i0 = item.tile % a.shape.passes * C::kRows + lane % 4 * 2,
              j = first_column<C>(a.shape, item.tile) + Reader<C>::column(warp, lane);
    if (!are_plain<C>(p, sum)) {
#pragma unroll
        for (int e = 0; e < C::kSums / 2; e++)
            finish_four<kApart>(a.out, four_of(sum, e), i0 + row_of(e), j, alpha, beta);
        return;
    }
    if (a.by_boxes) return send_sums<C>(a, item, sum, box);
    if (!C::kAlongK) {
#pragma unroll
        for (int e = 0; e < C::kSums / 2; e++) write_piece(p, four_of(sum, e), i0 + row_of(e), j, alpha);
        return;
    }
    float bias[4];
    read_biases_of<C>(bias, p, j);
    float *const out = p.out + i0 * p.rs + j;
#pragma unroll
    for (int e = 0; e < C::kSums / 2; e++) {
        if (i0 + row_of(e) >= p.m) continue;
        const float4 x = finished(p, times(alpha, four_of(sum, e)), bias);
        float *const to = out + row_of(e) * p.rs;
        if (j < p.n) __stcs(to, x.x);
        if (j + kApart < p.n) __stcs(to + kApart, x.y);
        if (j + 2 * kApart < p.n) __stcs(to + 2 * kApart, x.z);
        if (j + 3 * kApart < p.n) __stcs(to + 3 * kApart, x.w);
    }
}

/* The sums of a block of a cluster, as rows where its stages were. */
template <typename C> __device__ inline void keep_sums(const Stages &st, const Sums<C> &sum)
{
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    float *const to = (float *)st.memory + lane % 4 * 2 * C::kPitch + Reader<C>::column(warp, lane);
    meet<C::kMultipliers>(1); /* the stages were read */
#pragma unroll
    for (int rows = 0; rows < C::kRowSets; rows++)
#pragma unroll
        for (int e = 0; e < C::kSums / 2; e++) {
            float *const row = to + (rows * (C::kRows / 2) + row_of(e)) * C::kPitch;
            const int at = sum_of(e);
            if (C::kAlongK)
                row[0] = sum[rows][at], row[Reader<C>::kApart] = sum[rows][at + 2];
            else
                *(float2 *)row = make_float2(sum[rows][at], sum[rows][at + 2]);
        }
}

/* Some rows of a tile's sums, added up, as the output: those of all blocks of the cluster, its own first. A
 * thread has four columns of so many rows at once. */
template <typename C> __device__ inline void add_cluster(const MultiplyArgs &a, const Stages &st)
{
    constexpr int kQuads = C::kGroups * kGroupColumns / 4, kApart = C::kMultipliers / kQuads, kAtOnce = 8;
    const GemmArgs &p = a.out.p;
    const int parts = a.shape.parts;
    const Item item = item_of(a.shape, (int)blockIdx.x);
    const int i0 = item.tile % a.shape.passes * C::kRows, rows = min(C::kRows, p.m - i0),
              end = rows * (item.part + 1) / parts;
    const int quad = (int)threadIdx.x % kQuads, j = first_column<C>(a.shape, item.tile) + 4 * quad;
    const float alpha = load_scalar(p.alpha), beta = load_scalar(p.beta);
    const bool plain = alpha != 0.0f && beta == 0.0f && writes_together(p) && writes_fours(p);
    float bias[4];
    read_biases<4>(bias, p, j);
    int row = rows * item.part / parts + (int)threadIdx.x / kQuads;
#pragma unroll 1
    do {                 /* at least once: the cluster waits */
        int at[kAtOnce]; /* bytes */
        float4 x[kAtOnce];
#pragma unroll
        for (int u = 0; u < kAtOnce; u++) {
            at[u] = 4 * (min(row + u * kApart, rows - 1) * C::kPitch + 4 * quad);
            x[u] = *(const float4 *)(st.memory + at[u]);
        }
#pragma unroll 1
        for (int q = 1; q < parts; q++) {
            const unsigned from = cluster_address(st.memory, (item.part + q) % parts, parts);
            float4 more[kAtOnce];
#pragma unroll
            for (int u = 0; u < kAtOnce; u++) more[u] = cluster_load4(from + at[u]);
#pragma unroll
            for (int u = 0; u < kAtOnce; u++) x[u] = plus(x[u], more[u]);
        }
        float bad = 0.0f;
#pragma unroll
        for (int u = 0; u < kAtOnce; u++) bad += no_numbers<4>({x[u].x, x[u].y, x[u].z, x[u].w});
        const bool mends = __any_sync(kFull, bad != 0.0f);
        cluster_arrive_relaxed(parts); /* of others nothing more is read, for of several parts this is once */
#pragma unroll
        for (int u = 0; u < kAtOnce; u++) {
            const int i = row + u * kApart < end ? i0 + row + u * kApart : p.m;
            if (!plain || mends)
                finish_four<1>(a.out, x[u], i, j, alpha, beta);
            else if (i < p.m && j < p.n)
                __stcs((float4 *)(p.out + i * p.rs + j), finished(p, times(alpha, x[u]), bias));
        }
    } while ((row += kAtOnce * kApart) < end);
    static_assert(C::kRows <= 2 * kAtOnce * kApart, "blocks of two parts have rows for one turn");
}

/* The sums of a cluster's blocks meet. The threads of a block that did not multiply are there, too. */
template <typename C> __device__ inline void meet_cluster(const MultiplyArgs &a, const Stages &st, bool adds)
{
    const int parts = a.shape.parts;
    if (parts > 1) {
        __syncwarp();
        cluster_arrive(parts);
        cluster_wait(parts);
    } else if (adds)
        meet<C::kMultipliers>(1);
    if (adds)
        add_cluster<C>(a, st);
    else
        cluster_arrive_relaxed(parts);
    cluster_wait(parts); /* no block ends while another one reads its sums */
}

/* Waits for the product, behind which so many others have begun, and adds it up. */
template <typename C, int kProduct, int kBehind = 1>
__device__ inline void end_product(Sums<C> &sum, Begun<C> &acc)
{
    wgmma_wait<C::kAtOnce == 1 ? 0 : kBehind>();
    keep(acc[kProduct % C::kAtOnce]);
#pragma unroll
    for (int e = 0; e < C::kSums; e++) sum[kProduct][e] += acc[kProduct % C::kAtOnce][e];
}

/* Multiplies half a step after the other: two products each, in turns, so that tensor cores have one while
 * the other one is added up, and the next elements of W are split. */
template <typename C, typename Form>
__device__ __forceinline__ void consume(Form form, const MultiplyArgs &a, const Stages &st)
{
    const Shape &h = a.shape;
    const Reader<C> reader(threadIdx.x / kWarp, threadIdx.x % kWarp);
    const unsigned memory = shared_address(st.memory);
    const uint64_t matrix = SplitOfS<C, Form>::matrix(memory);
    uint8_t *const box = st.memory + C::kStages * C::kStageBytes + threadIdx.x / kWarp * C::kOfSums;
    Ring<C::kStages> ring;
    Elements<C> x;
    Fragments<C, Form> b[kHalves];
    barrier_wait(&st.at[0].full, 0);
    reader.read(x, memory, 0);
    split_fragments<C>(form, x, b[0]);
    reader.read(x, memory, 1);
    for (int number = (int)blockIdx.x; number < h.tiles * h.parts; number += h.blocks) {
        const Item item = item_of(h, number);
        const bool last_item = number + h.blocks >= h.tiles * h.parts;
        Sums<C> sum = {};
        Begun<C> acc;
        for (int step = item.begin; step < item.end; step++) {
            Barriers &here = st.at[ring.stage];
            const uint64_t s = wgmma_further(matrix, ring.stage * C::kStageBytes);
            const bool more = step + 1 < item.end || !last_item;
            barrier_wait(&here.split, ring.round);
            ring.next();
            const unsigned next = memory + ring.stage * C::kStageBytes;
            begin_product<C, Form, 0>(acc, b[0], s, 0);
            if (!C::kThree) begin_product<C, Form, 1>(acc, b[0], s, 0);
            split_fragments<C>(form, x, b[1]);
            if (C::kThree) {
                end_product<C, 0>(sum, acc);
                begin_product<C, Form, 1>(acc, b[0], s, 0);
            }
            if (more) {
                barrier_wait(&st.at[ring.stage].full, ring.round);
                reader.read(x, next, 0);
            }
            if (!C::kThree) {
                end_product<C, 0>(sum, acc);
                begin_product<C, Form, 0>(acc, b[1], s, 1);
            }
            end_product<C, 1>(sum, acc);
            keep(b[0]);
            if (C::kThree)
                begin_product<C, Form, 0>(acc, b[1], s, 1);
            else
                begin_product<C, Form, 1>(acc, b[1], s, 1);
            if (more) {
                split_fragments<C>(form, x, b[0]);
                reader.read(x, next, 1);
            }
            end_product<C, 0>(sum, acc);
            if (C::kThree) begin_product<C, Form, 1>(acc, b[1], s, 1);
            end_product<C, 1, 0>(sum, acc);
            keep(b[1]);
            barrier_arrive(&here.empty);
        }
        if constexpr (C::kCluster)
            keep_sums<C>(st, sum);
        else if constexpr (C::kDirect)
            write_output<C>(a, item, sum, box);
        else
            write_sums<C>(a, item, sum);
    }
    if (C::kDirect && a.by_boxes && one_lane()) stores_wait_read(); /* a block that has ended has no memory */
}

/* Whether numbers of W are of very unlike size in what a warp has of the block's first step. */
template <typename C> __device__ inline bool first_is_wide(const Stages &st)
{
    const Reader<C> reader(threadIdx.x / kWarp, threadIdx.x % kWarp);
    Elements<C> x[kHalves];
    float largest = 0.0f;
    bool wide = false;
    barrier_wait(&st.at[0].full, 0);
#pragma unroll
    for (int half = 0; half < kHalves; half++) reader.read(x[half], shared_address(st.memory), half);
    const auto for_each = [&](auto fn) {
#pragma unroll
        for (int half = 0; half < kHalves; half++)
#pragma unroll
            for (int e = 0; e < 8 * C::kColumnSets; e++) fn(fabsf(x[half][e / 8][e / 4 % 2][e % 4]));
    };
    for_each([&](float y) { largest = fmaxf(largest, y); });
    const float least =
        __uint_as_float(__reduce_max_sync(kFull, __float_as_uint(largest))) * power_of_two(-kWideBitsOfW);
    for_each([&](float y) { wide |= y < least && y != 0.0f; });
    return __any_sync(kFull, wide);
}

/* What a block counts: nonzeros of S, and warps that found numbers of very unlike size in S or in W. */
struct Counts {
    barrier_t done;
    unsigned nonzeros, wide, wide_of_w;
};

/* Whether a row of S has enough of so many nonzeros: of S, or of its rows that a block of a cluster has, in
 * the first of its steps, as whose the others are taken to be, if they have twice as many. */
template <typename C> __device__ inline bool enough_terms(const MultiplyArgs &a, unsigned nonzeros)
{
    if (!C::kCluster) return nonzeros >= (unsigned)(kFewTerms * a.out.p.m);
    const int pass = item_of(a.shape, (int)blockIdx.x).tile % a.shape.passes,
              rows = min(C::kRows, a.out.p.m - pass * C::kRows);
    return (int64_t)nonzeros * a.shape.steps >= 2 * kFewTerms * rows;
}

/* Whether TF32 do for S and W. All threads but those of the bringing warp. */
template <typename C> __device__ inline bool tf32_do(const MultiplyArgs &a, const Stages &st, Counts &sum)
{
    constexpr int kManyWide = 2;
    const bool multiplies = threadIdx.x < C::kMultipliers;
    const int counts = counts_of_pieces(a.shape), thread = (int)threadIdx.x - (multiplies ? 0 : kWarp);
    unsigned nonzeros = 0;
    bool wide = false;
    if constexpr (C::kCluster) {
        const unsigned count = multiplies ? 0 : count_first<C>(st);
        wide = count == kWide, nonzeros = wide || threadIdx.x % kWarp ? 0 : count;
    } else
#pragma unroll 4
        for (int c = thread; c < counts; c += C::kCounters) {
            const unsigned count = __ldcg(a.space.nonzeros + c);
            wide |= count == kWide, nonzeros += count;
        }
    nonzeros = __reduce_add_sync(kFull, nonzeros);
    wide = __any_sync(kFull, wide);
    const bool wide_of_w = multiplies && first_is_wide<C>(st);
    if (threadIdx.x % kWarp == 0) {
        atomicAdd(&sum.nonzeros, nonzeros);
        if (wide) atomicAdd(&sum.wide, 1u);
        if (wide_of_w) atomicAdd(&sum.wide_of_w, 1u);
    }
    barrier_arrive(&sum.done);
    barrier_wait(&sum.done, 0);
    return enough_terms<C>(a, sum.nonzeros) && sum.wide == 0 && sum.wide_of_w < kManyWide;
}

/* sums := S W for each part of k,  S[m, k] packed or, for a cluster, as it lies, any density, W[k, n]; or the
 * output itself.
 *
 * Mapping   a block makes item after item; one thread of a warpgroup brings stages of 32 k of W's columns and
 *           S, other warps of it split S. Two warpgroups hold W's columns in registers, as the first operand,
 *           split on the way; S's rows are the second one.
 * Bytes     W once for the rows of a pass; S once for each tile of columns, from cache.
 * Order     steps ascending: 16 k in the tensor cores, which cut off what they add, sums of these by f32
 *           additions. */
template <typename C>
__global__ __launch_bounds__(C::kThreads, 1) void stream_multiply(const __grid_constant__ MultiplyArgs a)
{
    LACUNA_DYNAMIC_SHARED(uint8_t, dynamic);
    __shared__ Barriers barriers[C::kStages];
    __shared__ Counts counts;
    if (threadIdx.x == 0) {
        counts.nonzeros = counts.wide = counts.wide_of_w = 0;
        barrier_init(&counts.done, C::kCounters);
    }
    const Stages st = begin_stages<C>(dynamic, barriers);
    constexpr bool kChooses = C::kRows > kBf16Rows;
    if (!begins<C>(a, st)) return;
    if (threadIdx.x >= C::kMultipliers) {
        registers_fewer<C::kOfOthers>();
        if (threadIdx.x < C::kBringer + kWarp) {
            if (brings<C>()) bring<C>(a, st);
        } else if (kChooses && tf32_do<C>(a, st, counts))
            split_s<C>(ThreeTf32(), a, st);
        else
            split_s<C>(SixBf16(), a, st);
        if constexpr (C::kCluster) meet_cluster<C>(a, st, false);
        return;
    }
    registers_more<C::kOfMultiplier>();
    if (kChooses && tf32_do<C>(a, st, counts))
        consume<C>(ThreeTf32(), a, st);
    else
        consume<C>(SixBf16(), a, st);
    if constexpr (C::kCluster) meet_cluster<C>(a, st, true);
}

/* Describes W to the copy engine. */
bool map_w(MultiplyArgs &a, const lac_cuda_product_t *p)
{
    const bool along_k = p->order == LAC_CUDA_COLS;
    const int64_t lines = along_k ? p->n : p->k, length = along_k ? p->k : p->n;
    const int turns = a.shape.apart ? kApart : 1;
    for (int q = 0; q < turns; q++) {
        const int before = a.shape.apart ? elements_before(p, q) : 0;
        if (!make_tensor_map(&a.w[q], (const float *)p->w + q * p->ldw - before, ceil_div(lines - q, turns),
                             length + before, turns * p->ldw, along_k ? kGroupColumns : kStep, kBoxColumns,
                             true))
            return false;
    }
    return true;
}

template <int kRows, int kGroups = kMostGroups, To kTo = kToParts>
lac_status_t launch_rows(const MultiplyArgs &a, bool along_k, cudaStream_t stream)
{
    typedef Config<kRows, true, kTo, kGroups> AlongK;
    typedef Config<kRows, false, kTo, kGroups> ByRows;
    static_assert(AlongK::kShared == ByRows::kShared, "one launch for both");
    const int cluster = kTo == kToCluster ? a.shape.parts : 1;
    const Launch l = {
        dim3((unsigned)a.shape.blocks), dim3(AlongK::kThreads), AlongK::kShared, cluster, true, stream};
    return along_k ? launch(stream_multiply<AlongK>, l, a) : launch(stream_multiply<ByRows>, l, a);
}

template <int kRows> lac_status_t launch_many(const MultiplyArgs &a, bool along_k, cudaStream_t stream)
{
    return a.shape.groups == kMoreGroups ? launch_rows<kRows, kMoreGroups>(a, along_k, stream)
                                         : launch_rows<kRows, kFewGroups>(a, along_k, stream);
}

} // namespace

lac_status_t multiply(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Shape &shape,
                      const Space &space, const Gate &gate, cudaStream_t stream)
{
    if (shape.single) {
        switch (kernel_of(p, s, current_device().sms)) {
        case LAC_CUDA_STREAM_GEMV:
            return multiply_gemv(p, s, gate, stream);
        case LAC_CUDA_STREAM_RANK_K:
            return multiply_rank_k(p, s, gate, stream);
        case LAC_CUDA_STREAM_FEW:
            return gate.counts ? multiply_small(p, s, gate, stream) : run_few_full(p, s, stream);
        default:
            return multiply_small(p, s, gate, stream);
        }
    }
    MultiplyArgs a = {};
    a.shape = shape, a.space = space, a.out = output_of(p, s), a.gate = gate;
    if (!map_w(a, p)) return LAC_ERR_VENDOR;
    const bool along_k = p->order == LAC_CUDA_COLS;
    a.by_boxes = shape.direct && writes_together(a.out.p) && writes_fours(a.out.p) && p->rs >= p->n &&
                 make_tensor_map(&a.boxes, a.out.p.out, p->m, p->n, p->rs, kMaxRows, kBoxColumns, true);
    if (shape.direct) return launch_rows<kMaxRows, kMostGroups, kToOutput>(a, along_k, stream);
    switch (shape.rows) {
    case 16:
        return launch_rows<16>(a, along_k, stream);
    case 32:
        return launch_rows<32>(a, along_k, stream);
    case 48:
        return launch_rows<48>(a, along_k, stream);
    case 56:
        return launch_rows<56>(a, along_k, stream);
    case 64:
        return launch_rows<64>(a, along_k, stream);
    case 96:
        return launch_many<96>(a, along_k, stream);
    case 112:
        return launch_many<112>(a, along_k, stream);
    default:
        return launch_many<kManyRows>(a, along_k, stream);
    }
}

lac_status_t multiply_cluster(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Shape &shape,
                              cudaStream_t stream)
{
    MultiplyArgs a = {};
    a.shape = shape, a.out = output_of(p, s);
    if (!map_w(a, p) ||
        !make_tensor_map(&a.of_s, (const float *)s->data, p->m, p->k, s->rs, shape.rows, kBoxColumns, true))
        return LAC_ERR_VENDOR;
    return launch_rows<kManyRows, kFewGroups, kToCluster>(a, p->order == LAC_CUDA_COLS, stream);
}

} // namespace streamed
} // namespace lacuna

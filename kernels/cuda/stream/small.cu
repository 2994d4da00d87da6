/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The streamed product of few rows, or small altogether, in one launch: warps read W straight into registers,
 * as the tensor cores want it, and their sums meet in the shared memory of a cluster. */
#include "output.cuh"
#include "splits.cuh"
#include "stream.cuh"
#include "tiles/mma.cuh"

namespace lacuna
{
namespace streamed
{
namespace
{

constexpr int kOfThread = 4;   /* columns of a tile, and neighbouring k of a chunk */
constexpr int kEight = 8;      /* rows of S of an instruction                      */
constexpr int kMaxCluster = 8; /* blocks                                           */
constexpr int kAhead = 2;      /* chunks of a warp that are on their way           */

/* Warps of a multiprocessor: by how many registers a thread needs. 8 x 5000 x 5000 with three chunks ahead,
 * and sixteen warps, 0.3 us more, along k 1 us (H200, 2026-11-27). */
constexpr int most_warps(int rows)
{
    return rows > kFewRows ? 16 : 20;
}

struct SmallArgs {
    Output out;
    Gate gate;
    int cluster;
    bool fours; /* neighbouring k of S lie together, four of them as 16 aligned bytes */
};

/* How W lies, and whether four neighbours of it are 16 aligned bytes. */
enum Layout { kByRows, kByRowsSingles, kAlongK, kAlongKSingles };

/* What thread number t of group g, lane 4 g + t, has of a chunk of sixteen k, of which it takes four
 * neighbours, from 4 t on: W's, of its four columns, and S's, of row g and each eighth one behind. */
typedef float OfW[kOfThread][kOfThread];
template <int kRows> using OfS = float[kRows / kEight][kOfThread];

__device__ inline void set_four(float (&x)[4], float4 four)
{
    x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
}

/* A thread's columns of a tile. For those that W does not have the last of it are read, and their sums are
 * not stored. */
template <Layout kLayout> struct Columns {
    static constexpr bool kNeighbours = kLayout == kByRows; /* else eight columns apart */
    static constexpr int kPointers = kNeighbours ? 1 : kOfThread;
    const float *at[kPointers]; /* from a k on */

    static __device__ int number(int g, int q) { return kNeighbours ? kOfThread * g + q : g + kEight * q; }

    __device__ Columns(const GemmArgs &p, int j, int k, int g)
    {
#pragma unroll
        for (int q = 0; q < kPointers; q++)
            at[q] = p.w + (int64_t)k * p.wks +
                    (int64_t)min(j + number(g, q), p.n - (kNeighbours ? kOfThread : 1)) * p.wjs;
    }

    __device__ void move(int64_t elements)
    {
#pragma unroll
        for (int q = 0; q < kPointers; q++) at[q] += elements;
    }

    __device__ void read(OfW &w, const GemmArgs &p) const
    {
#pragma unroll
        for (int q = 0; q < kOfThread; q++) {
            if (kLayout == kByRows) { /* of k number q */
                const float4 row = load_once4(at[0] + (int64_t)q * p.wks);
                w[0][q] = row.x, w[1][q] = row.y, w[2][q] = row.z, w[3][q] = row.w;
            } else if (kLayout == kAlongK)
                set_four(w[q], load_once4(at[q % kPointers]));
            else
#pragma unroll
                for (int i = 0; i < kOfThread; i++) w[q][i] = __ldg(at[q % kPointers] + (int64_t)i * p.wks);
        }
    }

    /* Where the first `none` of the k are not there, which may be all. */
    __device__ void read_first(OfW &w, const GemmArgs &p, int none) const
    {
#pragma unroll
        for (int q = 0; q < kOfThread; q++)
#pragma unroll
            for (int i = 0; i < kOfThread; i++)
                w[q][i] = i >= none ? __ldg(at[q % kPointers] + q / kPointers + (int64_t)i * p.wks) : 0.0f;
    }
};

/* A thread's rows of S, the first of which is i0, from k on, of which the first `none` are not there; for
 * rows that S does not have the last of it. */
template <int kRows, typename T>
__device__ inline void read_s(OfS<kRows> &s, const SmallArgs &a, int i0, int k, int none = 0)
{
    const Output &o = a.out;
#pragma unroll
    for (int r = 0; r < kRows / kEight; r++) {
        const T *const from = (const T *)o.s + min(i0 + r * kEight, o.p.m - 1) * o.rs + k * o.cs;
        if (sizeof(T) == sizeof(float) && a.fours && none <= 0) {
            set_four(s[r], __ldg((const float4 *)from));
            continue;
        }
#pragma unroll
        for (int i = 0; i < kOfThread; i++) s[r][i] = i >= none ? event_value(from[i * o.cs]) : 0.0f;
    }
}

__device__ inline SplitPair split_two(const float *two)
{
    SplitPair s;
    split_bf16(two[0], two[1], s.word);
    return s;
}

/* A thread's sums: of each eight rows of S those of 2 t and 2 t + 1, for each pair of columns: at [2 h + c]
 * of column h of the pair and row c. */
template <int kRows> using Sums = float[kRows / kEight][kOfThread / 2][4];

template <int kRows> __device__ inline void add_chunk(Sums<kRows> &sum, const OfW &w, const OfS<kRows> &s)
{
    SplitPair of_s[kRows / kEight][2];
#pragma unroll
    for (int r = 0; r < kRows / kEight; r++)
#pragma unroll
        for (int two = 0; two < 2; two++) of_s[r][two] = split_two(s[r] + 2 * two);
#pragma unroll
    for (int pair = 0; pair < kOfThread / 2; pair++) {
        SplitPair of_w[4];
#pragma unroll
        for (int word = 0; word < 4; word++) of_w[word] = split_two(w[2 * pair + word % 2] + word / 2 * 2);
#pragma unroll
        for (int r = 0; r < kRows / kEight; r++) {
            float acc[4] = {};
#pragma unroll
            for (int term = 0; term < SixBf16::kTerms; term++) {
                const int x = SixBf16::of_w(term), y = SixBf16::of_s(term);
                mma_bf16(acc, make_uint4(of_w[0].word[x], of_w[1].word[x], of_w[2].word[x], of_w[3].word[x]),
                         of_s[r][0].word[y], of_s[r][1].word[y]);
            }
#pragma unroll
            for (int e = 0; e < 4; e++) sum[r][pair][e] += acc[e];
        }
    }
}

/* A warp's sums over its chunks: of each round of all warps of the cluster one, or, of a W along k, two
 * neighbours, which share lines of 128 bytes. The first chunk of all is the one that may not be whole. */
template <int kRows, Layout kLayout, typename T>
__device__ inline void sum_chunks(Sums<kRows> &sum, const SmallArgs &a, int j, int number, int numbers)
{
    constexpr int kTogether = kLayout == kAlongK ? kAhead : 1;
    static_assert(kAhead % kTogether == 0, "chunks that are read together are as many as are on their way");
    const GemmArgs &p = a.out.p;
    const int lane = threadIdx.x % kWarp, g = lane / 4, first = kOfThread * (lane % 4);
    const int i0 = (int)blockIdx.y * kRows + g;
    const int chunks = (int)ceil_div(p.k, kPiece), none = chunks * kPiece - p.k;
    int chunk = number * kTogether, next = chunk; /* to be multiplied, and to be read */
    OfW w[kAhead];
    OfS<kRows> s[kAhead];
    Columns<kLayout> columns(p, j, chunk * kPiece - none + first, g);
    const auto further = [&](int u) {
        return u % kTogether < kTogether - 1 ? 1 : kTogether * (numbers - 1) + 1;
    };
    const auto read = [&](int u) {
        if (next < chunks) {
            columns.read(w[u], p);
            read_s<kRows, T>(s[u], a, i0, next * kPiece - none + first);
            columns.move((int64_t)further(u) * kPiece * p.wks);
        }
        next += further(u);
    };
    if (number == 0 && none > 0) {
        columns.read_first(w[0], p, none - first);
        read_s<kRows, T>(s[0], a, i0, first - none, none - first);
        columns.move((int64_t)further(0) * kPiece * p.wks);
        next += further(0);
    } else
        read(0);
#pragma unroll
    for (int u = 1; u < kAhead; u++) read(u);
    while (chunk < chunks)
#pragma unroll
        for (int u = 0; u < kAhead; u++) {
            if (chunk >= chunks) break;
            add_chunk<kRows>(sum, w[u], s[u]);
            if (u % kTogether == kTogether - 1)
#pragma unroll
                for (int v = u - kTogether + 1; v <= u; v++) read(v);
            chunk += further(u);
        }
}

/* out := beta out + alpha S W, and the epilogue,  S[m, k] of any density, W[k, n].
 *
 * Mapping   grid (cluster * tiles of 32 columns, groups of kRows rows); all warps of a cluster have the same
 *           columns and take chunks of sixteen k in turn: neighbouring rows of W are read at a time.
 * Layout    any of W by rows or along k, loads of 16 bytes where it is aligned; any of S, loads of 16 bytes
 *           where its rows are.
 * Bytes     W once, from cache for further groups of rows; S once for each tile, from cache.
 * Order     a warp's chunks ascending: sixteen k in the tensor cores, which cut off what they add, sums of
 *           these by f32 additions; then warps of a block, then blocks, ascending.
 * Limit     DRAM: 19.9 us for 8 x 4096 x 4096, 31.1 for 8 x 5000 x 5000 (H200, 2026-11-27). */
template <int kRows, Layout kLayout, typename T>
__global__ __launch_bounds__(most_warps(kRows) * kWarp) void stream_small(const __grid_constant__ SmallArgs a)
{
    LACUNA_DYNAMIC_SHARED(float, sums); /* [warp][row][column] */
    constexpr int kOfWarp = kRows * kSmallTile, kQuads = kSmallTile / 4;
    const GemmArgs &p = a.out.p;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
    const int cluster = a.cluster, rank = blockIdx.x % cluster, j = blockIdx.x / cluster * kSmallTile;
    if (!begins(a.gate)) return;
    Sums<kRows> sum = {};
    sum_chunks<kRows, kLayout, T>(sum, a, j, rank * warps + warp, cluster * warps);
    dependency_wait(); /* if not before */
    dependents_launch();
#pragma unroll
    for (int r = 0; r < kRows / kEight; r++)
#pragma unroll
        for (int e = 0; e < 8; e++)
            sums[warp * kOfWarp + (r * kEight + 2 * (lane % 4) + e % 2) * kSmallTile +
                 Columns<kLayout>::number(lane / 4, e / 2)] = sum[r][e / 4][e % 4];
    __syncthreads();
    if (cluster > 1) { /* those of the block, where the first warp has put its own */
        for (int e = (int)threadIdx.x; e < kOfWarp; e += (int)blockDim.x) {
            float x = sums[e];
#pragma unroll 4
            for (int w = 1; w < warps; w++) x += sums[w * kOfWarp + e];
            sums[e] = x;
        }
        cluster_sync(cluster);
    }
    const float alpha = load_scalar(p.alpha), beta = load_scalar(p.beta);
    const int i0 = (int)blockIdx.y * kRows, rows = min(kRows, p.m - i0), quads = rows * kQuads;
    for (int quad = (int)threadIdx.x; quad - lane < quads; quad += (int)blockDim.x) {
        const Cell<int> at = cell_of(quad, rows, kQuads, p.cs <= p.rs);
        const bool mine = quad < quads && j + 4 * at.column < p.n && at.row % cluster == rank;
        float x[4] = {};
        if (mine) {
            const float *const from = sums + at.row * kSmallTile + 4 * at.column;
#pragma unroll 4
            for (int part = 0; part < (cluster > 1 ? cluster : warps); part++) {
                const float4 more = cluster > 1 ? cluster_load4(cluster_address(from, part, cluster))
                                                : *(const float4 *)(from + part * kOfWarp);
                x[0] += more.x, x[1] += more.y, x[2] += more.z, x[3] += more.w;
            }
        }
        mend_sums<1>(a.out, x, i0 + at.row, j + 4 * at.column, mine);
        if (mine) store_quad(a.out, x, i0 + at.row, j + 4 * at.column, alpha, beta);
    }
    if (cluster > 1) cluster_sync(cluster); /* others may still read this block's sums */
}

/* How the work is shared out. All blocks are to be there at once, as many on each multiprocessor, for those
 * that have more of them fall behind, and memory is read in many places: 8 x 5000 x 5000 in 157 blocks of
 * eight warps 36.5 us, in clusters of three blocks of five 31.1. */
struct Cut {
    int warps, cluster;
};
Cut cut_small(int rows, int64_t m, int64_t n, int64_t k, int sms)
{
    constexpr double kPlaced = 0.92; /* of all places, that clusters of more than two blocks find room in */
    constexpr double kGain = 1.15;   /* of warps, for which blocks are to meet those of a larger cluster */
    constexpr int kMostBlocks = 5;   /* of a multiprocessor, where there are too many for all at once */
    const int64_t tiles = ceil_div(m, rows) * ceil_div(n, kSmallTile), chunks = ceil_div(k, kPiece);
    Cut best = {};
    double best_warps = 0.0;
    for (int cluster = 1; cluster <= kMaxCluster && (cluster == 1 || 2 * cluster <= chunks); cluster++) {
        const int places = max(1, cluster > 2 ? (int)(kPlaced * sms) : sms);
        int64_t blocks = ceil_div(tiles * cluster, places);
        if (blocks > most_warps(rows) / min(cluster, 2)) {
            if (cluster > 1) break;
            blocks = kMostBlocks;
        }
        const int64_t warps = max<int64_t>(1, min(most_warps(rows) / blocks, chunks / (2 * cluster)));
        if ((double)(tiles * cluster * warps) > kGain * best_warps)
            best = {(int)warps, cluster}, best_warps = (double)(tiles * cluster * warps);
    }
    return best;
}

template <Layout kLayout_> struct Of {
    static constexpr Layout kLayout = kLayout_;
};

template <int kRows> lac_status_t launch_rows(SmallArgs a, const lac_cuda_product_t *p, cudaStream_t stream)
{
    const Cut cut = cut_small(kRows, p->m, p->n, p->k, current_device().sms);
    /* Blocks that come while those of the counting launch are there find room in the wrong places: 10 x 5000
     * x 5000, W along k, 63 us in place of 37 (H200, 2026-11-27). */
    const bool early = kRows == kFewRows || !a.gate.counts || a.gate.there;
    a.cluster = cut.cluster;
    const Launch l = {
        dim3((unsigned)(cut.cluster * ceil_div(p->n, kSmallTile)), (unsigned)ceil_div(p->m, kRows)),
        dim3((unsigned)(cut.warps * kWarp)),
        sizeof(float) * (size_t)(cut.warps * kRows * kSmallTile),
        cut.cluster,
        early,
        stream};
    const auto run = [&](auto layout) {
        return a.out.bytes ? launch(stream_small<kRows, decltype(layout)::kLayout, uint8_t>, l, a)
                           : launch(stream_small<kRows, decltype(layout)::kLayout, float>, l, a);
    };
    const bool singles = lines_of(p) != kAligned || (p->order == LAC_CUDA_ROWS ? p->n : p->k) % kOfThread;
    if (p->order == LAC_CUDA_COLS) return singles ? run(Of<kAlongKSingles>()) : run(Of<kAlongK>());
    return singles ? run(Of<kByRowsSingles>()) : run(Of<kByRows>());
}

} // namespace

lac_status_t multiply_small(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Gate &gate,
                            cudaStream_t stream)
{
    const SmallArgs a = {output_of(p, s), gate, 1,
                         s->dt == LAC_F32 && s->cs == 1 && p->k % kOfThread == 0 && s->rs % kOfThread == 0 &&
                             aligned(s->data, 16)};
    return p->m <= kFewRows ? launch_rows<kFewRows>(a, p, stream) : launch_rows<kGroupRows>(a, p, stream);
}

} // namespace streamed
} // namespace lacuna

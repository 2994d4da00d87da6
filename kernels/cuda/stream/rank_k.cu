/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The streamed product with a short k in one launch, as the gradient of a weight is: a block keeps rows of S
 * in registers for as long as columns of W go past. */
#include "common/tensor_map.cuh"
#include "output.cuh"
#include "splits.cuh"
#include "stream.cuh"

namespace lacuna
{
namespace streamed
{
namespace
{

static_assert(kTileRows == 2 * kWgmmaRows, "two warpgroups multiply");
constexpr int kConsumers = 2 * kGroup, kProducers = 2 * kGroup, kThreads = kConsumers + kProducers;
constexpr int kMostStages = 4;
constexpr int kCoreBytes = 144,
              kEightBytes = kTileColumns / 8 * kCoreBytes; /* eight k of eight columns, and of all */
constexpr int kWarpRows = 16, kBoxColumns = 32, kRowBytes = 4 * kBoxColumns; /* a warp's sums, as boxes */
constexpr int kBoxBytes = kWarpRows * kRowBytes, kBoxes = kTileColumns / kBoxColumns;
constexpr int kOfWarp = kBoxes * kBoxBytes, kOfSums = kConsumers / kWarp * kOfWarp;
constexpr int kAlignment = 1024, kRoom = 225 * 1024;
constexpr int kTwo = 2, kEight = 8; /* columns and k that a thread splits */

/* A configuration of the kernel: k up to 16 kPieces, how W lies, and whether the output may be added to: what
 * tells more from each other at run time costs a tenth, for then the compiler does not see that all lanes
 * have the same stage. */
template <int kPieces_, bool kAlongK_, bool kAdds_> struct Config {
    static constexpr int kPieces = kPieces_;
    static constexpr bool kAlongK = kAlongK_, kAdds = kAdds_;
    static constexpr int kOfConsumer = kPieces > 4 ? 208 : 192,
                         kOfProducer = kPieces > 4 ? 48 : 64; /* registers */
    static constexpr int kEights = kPieces * kPiece / kEight, kOfSplit = kEights * kEightBytes,
                         kStageBytes = SixBf16::kSplits * kOfSplit,
                         kStages = min(kMostStages, (kRoom - kAlignment - kOfSums) / kStageBytes),
                         kShared = kStages * kStageBytes + kOfSums + kAlignment;
    static_assert(kStages * kStageBytes % kAlignment == 0, "boxes lie behind the stages");
};

struct RankKArgs {
    Output out;
    Gate gate;
    int across, tiles; /* of a group of rows; of all */
    bool two_of_s;     /* neighbouring k are 8 aligned bytes                     */
    bool fours;        /* of k, or of columns where W lies by rows, are 16       */
    bool by_boxes;     /* sums go to the output by the copy engine               */
    CUtensorMap boxes;
};

struct Stages {
    uint8_t *memory;
    struct Barriers {
        barrier_t full, empty;
    } * at;
    barrier_t *there; /* of each warp that multiplies: the boxes that are added to */
};

/* The tiles of a block, one after the other: neighbours, of one group of rows or two. */
struct Tiles {
    const int across;
    int left, group, number; /* how many; which group; which tile of it */

    __device__ explicit Tiles(const RankKArgs &a) : across(a.across)
    {
        const int64_t all = a.tiles;
        const int begin = (int)(all * blockIdx.x / gridDim.x),
                  end = (int)(all * (blockIdx.x + 1) / gridDim.x);
        left = end - begin, group = begin / across, number = begin % across;
    }
    __device__ void next()
    {
        left--;
        if (++number == across) number = 0, group++;
    }
};

/* A thread of the producers splits two neighbouring columns of a tile, of eight neighbouring k a turn. Places
 * 2 t and 2 t + 1 of four cores have the eight neighbours from 8 t on, so that a thread that multiplies has
 * eight neighbours of a box. Cores are 16 bytes further apart than they are long, and lanes take columns in
 * such an order, that eight lanes write to all banks. */
template <typename C> struct Producer {
    static constexpr int kOfTurn = kProducers / kWarp, kTurns = (C::kEights + kOfTurn - 1) / kOfTurn;
    const RankKArgs &a;
    int column, at;  /* the first of both, of the tile, and where it lies in eight k */
    const int eight; /* of the first turn                                            */
    float x[kTwo * kEight];

    __device__ explicit Producer(const RankKArgs &args)
        : a(args), eight(((int)threadIdx.x - kConsumers) / kWarp)
    {
        const int lane = threadIdx.x % kWarp, box = lane / 16, t = lane / 2 % 4,
                  core = lane / 8 % 2 * 2 + lane % 2;
        column = box * kBoxColumns + 8 * t + 2 * core;
        at = (4 * box + core) * kCoreBytes + 2 * t * 16;
    }

    /* Where a turn has work for the thread. */
    __device__ bool has(int turn) const
    {
        return C::kEights % kOfTurn == 0 || turn * kOfTurn + eight < C::kEights;
    }

    /* Element i of column q, in the order in which they are read at once. */
    __device__ static constexpr int place(int q, int i) { return C::kAlongK ? q * kEight + i : i * kTwo + q; }

    __device__ inline void read(int turn, int tile)
    {
        const GemmArgs &p = a.out.p;
        const int j = tile * kTileColumns + column, k = (turn * kOfTurn + eight) * kEight;
        const float *const from = p.w + (int64_t)j * p.wjs + (int64_t)k * p.wks;
        if (!has(turn)) return;
        if (!a.fours || (tile + 1) * kTileColumns > p.n || k + kEight > p.k) {
#pragma unroll
            for (int q = 0; q < kTwo; q++)
#pragma unroll
                for (int i = 0; i < kEight; i++)
                    x[place(q, i)] =
                        j + q < p.n && k + i < p.k ? __ldg(from + q * p.wjs + (int64_t)i * p.wks) : 0.0f;
        } else if (C::kAlongK) {
#pragma unroll
            for (int q = 0; q < kTwo; q++)
#pragma unroll
                for (int i = 0; i < kEight; i += 4) {
                    const float4 four = __ldg((const float4 *)(from + q * p.wjs + i));
                    float *const to = x + place(q, i);
                    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
                }
        } else {
#pragma unroll
            for (int i = 0; i < kEight; i++) {
                const float2 two = __ldg((const float2 *)(from + (int64_t)i * p.wks));
                x[place(0, i)] = two.x, x[place(1, i)] = two.y;
            }
        }
    }

    __device__ inline void write(int turn, uint8_t *stage) const
    {
        if (!has(turn)) return;
        uint8_t *const to = stage + (turn * kOfTurn + eight) * kEightBytes + at;
#pragma unroll
        for (int q = 0; q < kTwo; q++) {
            uint32_t s[kEight / 2][SixBf16::kSplits];
#pragma unroll
            for (int two = 0; two < kEight / 2; two++)
                split_bf16(x[place(q, 2 * two)], x[place(q, 2 * two + 1)], s[two]);
#pragma unroll
            for (int split = 0; split < SixBf16::kSplits; split++)
                *(uint4 *)(to + split * C::kOfSplit + q * 16) =
                    make_uint4(s[0][split], s[1][split], s[2][split], s[3][split]);
        }
    }
};

/* Splits tile after tile of W. */
template <typename C> __device__ inline void produce(const RankKArgs &a, const Stages &st)
{
    typedef Producer<C> P;
    P producer(a);
    Ring<C::kStages> ring;
    Tiles tiles(a);
    producer.read(0, tiles.number);
#pragma unroll 1
    for (int made = 0; tiles.left > 0; made++, ring.next()) {
        const int tile = tiles.number;
        tiles.next();
        if (made >= C::kStages) barrier_wait(&st.at[ring.stage].empty, ring.round ^ 1);
#pragma unroll
        for (int turn = 0; turn < P::kTurns; turn++) {
            producer.write(turn, st.memory + ring.stage * C::kStageBytes);
            if (turn + 1 < P::kTurns)
                producer.read(turn + 1, tile);
            else if (tiles.left > 0)
                producer.read(0, tiles.number);
        }
        bulk_copy_fence(); /* tensor cores read it as the copy engine would */
        barrier_arrive(&st.at[ring.stage].full);
    }
}

/* A thread's elements of S, as wgmma has its first operand, for the warp's rows from i on. */
template <typename C> using Rows = uint4[C::kPieces][SixBf16::kSplits];

template <typename C, typename T> __device__ inline void read_rows(Rows<C> &rows, const RankKArgs &a, int i)
{
    const Output &o = a.out;
    const int lane = threadIdx.x % kWarp;
    float x[C::kPieces][4][2]; /* [word] */
    const auto for_words = [&](auto read) {
#pragma unroll
        for (int piece = 0; piece < C::kPieces; piece++)
#pragma unroll
            for (int word = 0; word < 4; word++) {
                const int row = i + lane / 4 + word % 2 * 8, k = piece * kPiece + word / 2 * 8 + lane % 4 * 2;
                read(x[piece][word], row, k, (const T *)o.s + min(row, o.p.m - 1) * o.rs + k * o.cs);
            }
    };
    if (a.two_of_s && i + kWarpRows <= o.p.m && C::kPieces * kPiece <= o.p.k)
        for_words([&](float(&to)[2], int, int, const T *from) {
            const float2 two = __ldg((const float2 *)from);
            to[0] = two.x, to[1] = two.y;
        });
    else
        for_words([&](float(&to)[2], int row, int k, const T *from) {
#pragma unroll
            for (int e = 0; e < 2; e++)
                to[e] = row < o.p.m && k + e < o.p.k ? event_value(__ldg(from + e * o.cs)) : 0.0f;
        });
#pragma unroll
    for (int piece = 0; piece < C::kPieces; piece++) {
        uint32_t s[4][SixBf16::kSplits];
#pragma unroll
        for (int word = 0; word < 4; word++) split_bf16(x[piece][word][0], x[piece][word][1], s[word]);
#pragma unroll
        for (int q = 0; q < SixBf16::kSplits; q++)
            rows[piece][q] = make_uint4(s[0][q], s[1][q], s[2][q], s[3][q]);
    }
}

constexpr int kSums = kTileColumns / 2; /* of a thread: of two rows */

/* acc := sixteen k of the rows with those of a stage. */
template <typename C>
__device__ inline void begin_piece(float (&acc)[kSums], const uint4 (&rows)[SixBf16::kSplits],
                                   uint64_t matrix, int piece)
{
    wgmma_fence();
#pragma unroll
    for (int term = 0; term < SixBf16::kTerms; term++)
        wgmma(BF16(), acc, rows[SixBf16::of_s(term)],
              wgmma_further(matrix, SixBf16::of_w(term) * C::kOfSplit + piece * 2 * kEightBytes), term > 0);
    wgmma_commit();
}

/* Waits for the product, behind which so many others have begun, and adds it up. */
template <int kBehind> __device__ inline void add_piece(float (&sum)[kSums], float (&acc)[kSums])
{
    wgmma_wait<kBehind>();
    keep(acc);
#pragma unroll
    for (int e = 0; e < kSums; e++) sum[e] += acc[e];
}

/* A thread's fours of a tile: use(its sums, where they lie in the warp's boxes, column behind the tile's
 * first). */
template <typename Use> __device__ inline void for_fours(const float (&sum)[kSums], uint8_t *box, Use use)
{
    const int row = threadIdx.x % kWarp / 4, column = threadIdx.x % 4 * 8;
#pragma unroll
    for (int b = 0; b < kBoxes; b++)
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int four = 0; four < 2; four++) {
                const int at = 16 * b + 8 * four + 2 * half, piece = (column / 4 + four) ^ row;
                uint8_t *const to = box + b * kBoxBytes + (row + 8 * half) * kRowBytes + piece * 16;
                use(make_float4(sum[at], sum[at + 1], sum[at + 4], sum[at + 5]), (float4 *)to,
                    b * kBoxColumns + column + 4 * four);
            }
}

/* A warp's boxes of the output, from row i and column j on, come to where sums are added to them; one lane.
 */
__device__ inline void bring_boxes(const RankKArgs &a, uint8_t *box, int i, int j, barrier_t *there)
{
    barrier_arrive_promise(there, kOfWarp);
#pragma unroll
    for (int b = 0; b < kBoxes; b++) copy_tile(box + b * kBoxBytes, &a.boxes, i, j + b * kBoxColumns, there);
}

/* A warp's sums as the output, by way of its boxes. kAdds: to what these hold. */
template <bool kAdds>
__device__ inline void send(const RankKArgs &a, const float (&sum)[kSums], uint8_t *box, int i, int j,
                            float alpha, float beta)
{
    const GemmArgs &p = a.out.p;
    const auto for_all = [&](auto finish) {
        for_fours(sum, box, [&](float4 x, float4 *to, int column) {
            x = times(alpha, x);
            if (kAdds)
                x = make_float4(fmaf(beta, to->x, x.x), fmaf(beta, to->y, x.y), fmaf(beta, to->z, x.z),
                                fmaf(beta, to->w, x.w));
            *to = finish(x, j + column);
        });
    };
    if (!kAdds) {
        if (one_lane()) stores_wait_read(); /* of the tile before */
        __syncwarp();
    }
    if (p.epilogue.any)
        for_all([&](float4 x, int column) {
            float bias[4];
            read_biases<4>(bias, p, column);
            return finished(p, x, bias);
        });
    else
        for_all([](float4 x, int) { return x; });
    bulk_copy_fence();
    __syncwarp();
    if (one_lane()) {
#pragma unroll
        for (int b = 0; b < kBoxes; b++) store_tile(box + b * kBoxBytes, &a.boxes, i, j + b * kBoxColumns);
        stores_commit();
    }
}

/* Sums that are no numbers again, in f32, one after the other by all lanes of the warp. */
template <int kCount>
__device__ inline void mend(const Output &a, float (&x)[kCount], const int (&row)[kCount],
                            const int (&column)[kCount], const bool (&mine)[kCount])
{
#pragma unroll
    for (int q = 0; q < kCount; q++)
        for (unsigned bad = __ballot_sync(kFull, mine[q] && !isfinite(x[q])); bad; bad &= bad - 1) {
            const int source = __ffs((int)bad) - 1;
            const float again =
                sum_in_f32(a, __shfl_sync(kFull, row[q], source), __shfl_sync(kFull, column[q], source));
            if ((int)threadIdx.x % kWarp == source) x[q] = again;
        }
}

/* The same of any output, and of sums that are no numbers, which the warp has put into its boxes: a row after
 * the other, or two columns where columns lie together. Called, so that what multiplies keeps its registers.
 */
__device__ __noinline__ void write_any(const Output &a, const uint8_t *box, int i, int j, float alpha,
                                       float beta)
{
    constexpr int kOfBox = kWarpRows * kBoxColumns / kWarp, kAtOnce = 8; /* elements of a lane */
    static_assert(kOfBox % kAtOnce == 0, "a box takes whole turns");
    const GemmArgs &p = a.p;
    const int lane = threadIdx.x % kWarp;
    const bool by_rows = p.cs <= p.rs;
    __syncwarp();
#pragma unroll 1
    for (int first = 0; first < kBoxes * kOfBox; first += kAtOnce) {
        const uint8_t *const from = box + first / kOfBox * kBoxBytes;
        float x[kAtOnce], was[kAtOnce];
        int row[kAtOnce], column[kAtOnce];
        bool mine[kAtOnce], numbers = true;
#pragma unroll
        for (int q = 0; q < kAtOnce; q++) {
            const int e = first % kOfBox + q, r = by_rows ? e : lane % kWarpRows,
                      c = by_rows ? lane : e * 2 + lane / kWarpRows;
            row[q] = i + r, column[q] = j + first / kOfBox * kBoxColumns + c;
            mine[q] = row[q] < p.m && column[q] < p.n;
            x[q] = *(const float *)(from + r * kRowBytes + (c / 4 ^ r % 8) * 16 + c % 4 * 4);
            was[q] = mine[q] && beta != 0.0f ? p.out[row[q] * p.rs + column[q] * p.cs] : 0.0f;
            numbers &= !mine[q] || isfinite(x[q]);
        }
        if (__any_sync(kFull, !numbers)) mend<kAtOnce>(a, x, row, column, mine);
#pragma unroll
        for (int q = 0; q < kAtOnce; q++)
            if (mine[q])
                p.out[row[q] * p.rs + column[q] * p.cs] = with_epilogue(
                    p.epilogue, scaled(&was[q], x[q], alpha, beta), bias_at(p.epilogue, row[q], column[q]));
    }
    __syncwarp();
}

/* Multiplies tile after tile; two pieces of sixteen k are on the tensor cores while what came before is added
 * up, and while the tile before becomes the output. */
template <typename C> __device__ inline void consume(const RankKArgs &a, const Stages &st)
{
    const GemmArgs &p = a.out.p;
    const int warp = threadIdx.x / kWarp;
    const uint64_t matrix = wgmma_matrix(shared_address(st.memory), kEightBytes, kCoreBytes);
    const float alpha = load_scalar(p.alpha), beta = load_scalar(p.beta);
    const bool plain = a.by_boxes && alpha != 0.0f, adds = C::kAdds && plain && beta != 0.0f;
    uint8_t *const box = st.memory + C::kStages * C::kStageBytes + warp * kOfWarp;
    int brought = 0; /* boxes that are added to: the parity of their barrier */
    Ring<C::kStages> ring;
    Tiles tiles(a);
    int group = -1;
    uint64_t here = 0;
    Rows<C> rows;
    float acc[2][kSums];
    const auto row = [&] { return tiles.group * kTileRows + warp * kWarpRows; };
    const auto begin = [&](int piece) { begin_piece<C>(acc[piece % 2], rows[piece], here, piece); };
    const auto begin_tile = [&] {
        if (tiles.left > 0 && tiles.group != group) {
            group = tiles.group;
            if (a.out.bytes)
                read_rows<C, uint8_t>(rows, a, row());
            else
                read_rows<C, float>(rows, a, row());
        }
        if (tiles.left > 0) barrier_wait(&st.at[ring.stage].full, ring.round);
        here = wgmma_further(matrix, __shfl_sync(kFull, ring.stage, 0) * C::kStageBytes);
        begin(0), begin(1);
    };
    const auto bring = [&] {
        bulk_copy_fence();
        __syncwarp();
        if (one_lane())
            stores_wait_read(), bring_boxes(a, box, row(), tiles.number * kTileColumns, st.there + warp);
    };
    if (adds) bring();
    begin_tile();
#pragma unroll 1
    while (tiles.left > 0) {
        const int i = row(), j = tiles.number * kTileColumns;
        float sum[kSums];
        wgmma_wait<0>();
        keep(acc[0]), keep(acc[1]);
#pragma unroll
        for (int e = 0; e < kSums; e++) sum[e] = acc[0][e] + acc[1][e];
#pragma unroll
        for (int piece = 2; piece < C::kPieces; piece++) {
            begin(piece);
            if (piece > 2) add_piece<1>(sum, acc[(piece + 1) % 2]);
        }
        if (C::kPieces > 2) add_piece<0>(sum, acc[1]);
        barrier_arrive(&st.at[ring.stage].empty);
        const bool sends = plain && !__any_sync(kFull, no_numbers(sum) != 0.0f);
        if (adds) barrier_wait(st.there + warp, brought++ % 2);
        if (!sends) {
            if (one_lane()) stores_wait_read();
            __syncwarp();
            for_fours(sum, box, [](float4 x, float4 *to, int) { *to = x; });
            write_any(a.out, box, i, j, alpha, beta);
        } else if (adds)
            send<true>(a, sum, box, i, j, alpha, beta);
        tiles.next(), ring.next();
        if (adds && tiles.left > 0) bring();
        begin_tile(); /* behind the last one, for nothing: products are not begun in a branch */
        if (sends && !adds) send<false>(a, sum, box, i, j, alpha, beta);
    }
    wgmma_wait<0>();
    if (a.by_boxes && one_lane()) stores_wait_read(); /* a block that has ended has no memory */
}

/* out := beta out + alpha S W, and the epilogue,  S[m, k] of any density, W[k, n], k of up to 128.
 *
 * Mapping   grid (multiprocessors). A tile is 128 rows and 64 columns; a block has neighbouring ones, as many
 *           as others or one more. Two warpgroups hold 64 rows of S each, split in registers; two split W's
 *           columns, tile after tile, into shared memory.
 * Layout    any of S, W and output; this by the copy engine where its rows are pieces of 16 bytes.
 * Bytes     the output once; W once for each 128 rows, from cache.
 * Order     sixteen k in the tensor cores, which cut off what they add, sums of these by f32 additions.
 * Limit     the chain of a warpgroup, which multiplies and then writes: 4096 x 64 x 4096 in 27 us, of which
 *           tensor cores are busy for 16 and memory for 15 (warm, H200, 2026-11-28). */
template <typename C>
__global__ __launch_bounds__(kThreads, 1) void stream_rank_k(const __grid_constant__ RankKArgs a)
{
    LACUNA_DYNAMIC_SHARED(uint8_t, dynamic);
    __shared__ Stages::Barriers barriers[C::kStages];
    __shared__ barrier_t there[kConsumers / kWarp];
    if (threadIdx.x == 0) {
        for (int i = 0; i < C::kStages; i++) {
            barrier_init(&barriers[i].full, kProducers);
            barrier_init(&barriers[i].empty, kConsumers);
        }
        for (barrier_t &boxes : there) barrier_init(&boxes, 1);
        bulk_copy_fence();
    }
    __syncthreads();
    const Stages st = {dynamic + (kAlignment - shared_address(dynamic) % kAlignment) % kAlignment, barriers,
                       there};
    if (!begins(a.gate)) return;
    dependency_wait(); /* if not before */
    dependents_launch();
    if (threadIdx.x >= kConsumers) {
        registers_fewer<C::kOfProducer>();
        produce<C>(a, st);
    } else {
        registers_more<C::kOfConsumer>();
        consume<C>(a, st);
    }
}

template <int kPieces>
lac_status_t launch_pieces(const RankKArgs &a, const lac_cuda_product_t *p, cudaStream_t stream)
{
    const auto run = [&](auto config) {
        typedef decltype(config) C;
        const unsigned blocks = (unsigned)min(a.tiles, current_device().sms);
        return launch(stream_rank_k<C>, {dim3(blocks), dim3(kThreads), C::kShared, 1, true, stream}, a);
    };
    const bool adds = p->beta.device || p->beta.value != 0.0f;
    if (p->order == LAC_CUDA_COLS)
        return adds ? run(Config<kPieces, true, true>()) : run(Config<kPieces, true, false>());
    return adds ? run(Config<kPieces, false, true>()) : run(Config<kPieces, false, false>());
}

} // namespace

lac_status_t multiply_rank_k(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Gate &gate,
                             cudaStream_t stream)
{
    RankKArgs a = {};
    a.out = output_of(p, s), a.gate = gate;
    a.across = (int)ceil_div(p->n, kTileColumns);
    a.tiles = (int)rank_k_tiles(p->m, p->n);
    a.two_of_s = !a.out.bytes && s->cs == 1 && s->rs % 2 == 0 && aligned(s->data, 8);
    a.fours = lines_of(p) == kAligned;
    a.by_boxes = writes_together(a.out.p) && writes_fours(a.out.p) && p->rs >= p->n &&
                 make_tensor_map(&a.boxes, a.out.p.out, p->m, p->n, p->rs, kWarpRows, kBoxColumns, true);
    const int64_t pieces = ceil_div(p->k, kPiece);
    if (pieces <= 2) return launch_pieces<2>(a, p, stream);
    if (pieces <= 4) return launch_pieces<4>(a, p, stream);
    return launch_pieces<8>(a, p, stream);
}

} // namespace streamed
} // namespace lacuna

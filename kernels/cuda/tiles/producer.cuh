/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What fills the stages of the product by tiles, on devices with warpgroup products; and what it shares with
 * those that empty them: shapes, shared memory, the layout of b's fragments. */
#ifndef LACUNA_CUDA_TILES_PRODUCER_CUH
#define LACUNA_CUDA_TILES_PRODUCER_CUH

#include "tiles.cuh"
#include "epilogue_boxes.cuh"

namespace lacuna
{
namespace
{

constexpr int kConsumers = 2, kProducers = 2; /* warpgroups: 64 columns of b each; what fills stages */
constexpr int kThreads = (kConsumers + kProducers) * kGroup;
static_assert(kTileCols == kConsumers * kWgmmaRows && kDepth == kWgmmaDepth &&
                  kHolders == kConsumers * kGroup,
              "an instruction's shape");
constexpr int kDepths = kStep / kDepth;
constexpr int kFragmentBytes = kDepth * kTileCols * 2;

/* Strips of b in a stage where it is not split: of two tiles, or of one in two planes. */
constexpr int kBlockStrips = 4;

constexpr int kProducerWarps = kProducers * kGroup / kWarp;

/* How b, of type E, comes to those who multiply. kSplit: by way of `raw`, where it lies as it came, and is
 * split in the order of wgmma's registers; else in strips, from where wgmma reads it. */
template <typename E> struct Flow {
    static constexpr bool kSplit = std::is_same_v<E, float>;
    static constexpr int kWide = ShapeOf<E>::kWide;
    static constexpr int kAlignment = kSplit ? 128 : 8 * kStripLine; /* of b in a stage */
    static constexpr int kConsumerRegisters = kSplit ? 184 : 200, kProducerRegisters = kSplit ? 72 : 56;
    /* Those who fill stages are teams, which take turns: so many warps share a step. */
    static constexpr int kTeams = kSplit ? 2 : 4, kTeamWarps = kProducerWarps / kTeams;
    static constexpr int kMine = kStep / kTeamWarps; /* k of a warp */
    static constexpr int kListings = kSplit ? 4 : 2; /* of steps of its own that a warp knows beforehand */
    static constexpr int kStages = kSplit ? 4 : ShapeOf<E>::kSplits > 1 ? 7 : 8;
    /* Of b in a step, 16 k each: split by split, or tile by tile. */
    static constexpr int kFragments = ShapeOf<E>::kSplits * kWide * kDepths;
    static constexpr int kStageB = kFragments * kFragmentBytes, kStageA = kRowGroups * ShapeOf<E>::kStepBytes;
    static constexpr int kLineBytes =
        kWide * kTileCols *
        (kSplit ? (int)sizeof(float) : 2 * ShapeOf<E>::kSplits);      /* of a row of b, in a block's tiles */
    static constexpr int kRawBytes = kSplit ? kStep * kLineBytes : 0; /* a step of b, of each team */
    /* What the lists say of a step that concerns a warp. */
    struct alignas(16) Listing {
        int rows[kMine];       /* of b                                                  */
        int slots[kRowGroups]; /* of each row group's splits, -1: it is not the row group's */
        int m, n;              /* tile                                                  */
    };
    static constexpr int kBoxesBytes = /* in which a tile goes out, of elements of two bytes */
        ShapeOf<E>::kSplits == 1 ? kConsumers * kBoxes * kBoxBytes : 0;
    static constexpr int kShared = kStages * (kStageA + kStageB) + kBoxesBytes + kTeams * kRawBytes +
                                   kProducerWarps * kListings * (int)sizeof(Listing) + kAlignment;
    static_assert(kConsumers * kConsumerRegisters + kProducers * kProducerRegisters <= 512,
                  "65536 registers");
    static_assert(kShared + 256 <= 227 * 1024, "what a block may have, and a few barriers");
    static_assert(kTeams <= kStages, "none waits for the turn of a stage behind the next one");
    static_assert(kLineBytes == kWarp * 16 && (kSplit || kStageB == kStep * kLineBytes),
                  "a warp brings a row at a time");
    /* Eight k of a strip, and of all strips, which follow each other: tile by tile, or plane by plane. */
    static constexpr int kStripBytes = kCore * kStripLine, kEightBytes = kCore * kLineBytes;
    static_assert(kStageB % kAlignment == 0 && (kSplit || kStripBytes % kAlignment == 0),
                  "all stages, strips");
};

template <typename E> using Listing = typename Flow<E>::Listing;

/* This warp's place in its team. */
template <typename E> __device__ inline int team_warp()
{
    return threadIdx.x / kWarp % Flow<E>::kTeamWarps;
}

constexpr int kNoStep = 0; /* the set that ends all steps */

/* b as it is brought: row by row, or by the copy engine in boxes of eight rows of all strips that a block
 * has. There are none where a row has no whole strips: of the last row a box would read more than there is.
 */
template <typename E> struct Brought {
    const std::conditional_t<std::is_same_v<E, ScaledF16>, uint16_t, E> *at;
    unsigned pitch; /* bytes from a row to the next */
    bool boxes;
    CUtensorMap map;
};
template <typename E>
Brought<E> brought(const void *at, int64_t pitch, int64_t k, int64_t columns, int planes = 1)
{
    Brought<E> b = {};
    b.at = (decltype(b.at))at, b.pitch = (unsigned)pitch;
    b.boxes = !Flow<E>::kSplit && columns % kStripCols == 0 &&
              make_strips_map(&b.map, at, k, columns / kStripCols, pitch, planes, pitch / planes,
                              kBlockStrips / planes);
    return b;
}

template <typename E> struct MultiplyArgs {
    Brought<E> b;
    TilesOut<typename MemoryOf<E>::type> out;
    BoxedOutput boxed; /* of elements of two bytes */
    TilesPacked packed;
    TilesSpace s;
    FormChoice form;
    const float *a; /* of two f16 numbers: where rests of b are multiplied with */
    int64_t ars, acs;
};

struct Stages {
    unsigned char *b, *a, *boxes, *raw; /* kStages of b and a; of each consumer; of each team */
    unsigned char *listings;            /* kListings of each producer's warp    */
    int *sets;                          /* of row groups that want them; kNoStep */
    barrier_t *full, *empty;
};

/* Position in the ring of stages, of a step among all that the block does. No more are gone on than there are
 * stages. */
template <int kStages> struct Slot {
    int stage;
    unsigned turn; /* modulo 2 */
    __device__ int at() const { return stage; }
    __device__ unsigned filled() const { return turn; }    /* parity of full that says so  */
    __device__ unsigned freed() const { return turn ^ 1; } /* ... of empty, for this step */
    __device__ void go_on(int steps)
    {
        stage += steps;
        if (stage >= kStages) stage -= kStages, turn ^= 1;
    }
};

/* Where a thread's registers of a fragment lie: those of row (of wgmma's first operand) 16 w + r and 8
 * further, k 2 c and 8 further. Column 16 w + 2 r + h of b is its row 16 w + r + 8 h. Neither those who store
 * nor those who load meet in a bank. */
__device__ inline int fragment_at(int w, int r, int c)
{
    const int line = w * 4 + r / 2;
    return line * 128 + ((c + r % 2 * 4) ^ line % 8) * 16;
}

/* Who fills the stages of the product by tiles, on devices with warpgroup products: rows of b split into the
 * registers that wgmma wants, and splits of a. A lane has four columns of b's tile, a warp the rows that are
 * k 2 c, 2 c + 1, 2 c + 8 and 2 c + 9 of 16 for two c, which are the words of wgmma's first operand. */

/* A warp's rows that are split are columns c to c + 3 and c + 8 to c + 11 of a step, as its listing has them;
 * it splits them in turns. Those that are not are neighbours. */
constexpr int kTurns = 2, kRowsEach = 4;
static_assert(Flow<float>::kMine == kTurns * kRowsEach, "a row is split once");
static_assert(kRowGroups * sizeof(int) == 16, "a copy brings all slots");

/* A team's way: every kTeams-th step of all that the block does. */
template <typename E> struct Walk {
    /* Lanes that copy a listing, by 16 bytes: so many bring rows, the next one slots. */
    static constexpr int kRowLanes = Flow<E>::kMine / 4;
    int item, step, known; /* known: steps that the lists were asked for */
    Work work;
    const char *from; /* what this lane copies of the step's listing */
    __device__ bool over(const MultiplyArgs<E> &g) const { return item >= g.s.works * g.s.splits; }
    /* Goes on to where `step` lies in what is done. */
    __device__ void settle(const MultiplyArgs<E> &g)
    {
        while (step >= work.end && !over(g)) {
            const int beyond = step - work.end;
            item += (int)gridDim.x;
            if (over(g)) return;
            work = find_work(g.packed, g.s, item);
            step = work.begin + beyond;
        }
        find_listing(g.packed);
    }
    __device__ void find_listing(const TilesPacked &a)
    {
        const int warp = team_warp<E>(), lane = threadIdx.x % kWarp,
                  c = Flow<E>::kSplit ? warp / 2 * kDepth + warp % 2 * 4 + lane * 8
                                      : warp * Flow<E>::kMine + lane * 4;
        const int64_t line = (int64_t)work.m * a.lines + step;
        from = lane < kRowLanes ? (const char *)(a.rows + line * kStep + c) : (const char *)(a.slots + line);
    }
};

/* Begins to copy what the lists say of the step that the walk is at, if there is one; goes on. */
template <typename E>
__device__ inline void bring_listing(const MultiplyArgs<E> &g, Walk<E> *w, Listing<E> *to)
{
    constexpr int kRowLanes = Walk<E>::kRowLanes, kTeams = Flow<E>::kTeams;
    if (w->over(g)) return;
    const int lane = threadIdx.x % kWarp;
    if (lane <= kRowLanes) copy_async16((float *)to + lane * 4, (const float *)w->from);
    if (lane == 0) to->m = w->work.m, to->n = w->work.n;
    w->known++;
    w->from += kTeams * (lane < kRowLanes ? kStep : kRowGroups) * (int)sizeof(int);
    w->step += kTeams;
    if (w->step >= w->work.end) w->settle(g);
}

/* Four columns of a row of b, of which `left` are inside: by single ones where not all are, for no more than
 * those may be read. */
template <bool kWhole> __device__ inline void bring_quad(float *to, const float *from, int left)
{
    if (kWhole || left > 3) {
        copy_async16(to, from);
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (i < left)
                copy_async4(to + i, from + i);
            else
                to[i] = 0.0f;
    }
}

/* Begins to copy this warp's rows of a step as they lie; each thread will read what it copied. */
template <bool kWhole>
__device__ inline void bring_rows(const MultiplyArgs<float> &g, const Listing<float> &s, unsigned char *raw)
{
    constexpr int kMine = Flow<float>::kMine;
    const int warp = team_warp<float>(), lane = threadIdx.x % kWarp, col = s.n * kTileCols + lane * 4;
    const char *const b = (const char *)(g.b.at + col);
    float *to = (float *)(raw + warp * kMine * kTileCols * 4 + lane * 16);
    int4 row[kMine / 4];
#pragma unroll
    for (int i = 0; i < kMine / 4; i++) row[i] = *((const int4 *)s.rows + i);
#pragma unroll
    for (int i = 0; i < kMine; i++) {
        const int4 four = row[i % 4 / 2]; /* k 2 c and further; k 2 c + 8 and further */
        const int at = i / kRowsEach ? (i % 2 ? four.w : four.z) : (i % 2 ? four.y : four.x);
        bring_quad<kWhole>(to + i * kTileCols,
                           (const float *)(b + (uint64_t)(unsigned)listed_row(at) * g.b.pitch),
                           g.out.n - col);
    }
}

/* Where this lane's piece of a row of b lies in the first row. A piece past the last is the last once more,
 * and never stored. Of two f16 numbers half a warp has a plane each. */
constexpr int kPiece = 8, kStripPieces = kStripCols / kPiece;
template <lac_dt_t kType>
__device__ inline const char *piece_of(const MultiplyArgs<Half<kType>> &g, int tile_n, int lane)
{
    const int col = tile_n * Flow<Half<kType>>::kWide * kTileCols + lane * kPiece;
    return (const char *)(g.b.at + min(col, g.out.n - kPiece));
}
__device__ inline const char *piece_of(const MultiplyArgs<ScaledF16> &g, int tile_n, int lane)
{
    constexpr int kPieces = kTileCols / kPiece;
    const int columns = g.s.planes.columns, col = tile_n * kTileCols + lane % kPieces * kPiece;
    return (const char *)(g.b.at + lane / kPieces * (int64_t)columns + min(col, columns - kPiece));
}

/* The same of eight rows to the strips that wgmma reads: at once where they are neighbours, as where blocks
 * of zeros or no zeros are. */
template <typename E>
__device__ inline void bring_eight(const MultiplyArgs<E> &g, const Listing<E> &s, const int *rows,
                                   unsigned char *eight, barrier_t *full)
{
    static_assert(kCore == kBoxRows && kStripCols == kBoxStripCols && kPlaneStrip == kStripCols &&
                      Flow<E>::kEightBytes == kBlockStrips * Flow<E>::kStripBytes,
                  "they are a box");
    const int lane = threadIdx.x % kWarp, here = listed_row(rows[lane % kCore]);
    if (g.b.boxes && __all_sync(kFull, here == listed_row(rows[0]) + lane % kCore)) {
        if (lane == 0) {
            barrier_promise(full, Flow<E>::kEightBytes);
            copy_strips(eight, &g.b.map, here, s.n * (Flow<E>::kWide * kTileCols / kStripCols), full);
        }
        return;
    }
    int row[kCore]; /* read before the first copy: each would wait behind one */
#pragma unroll
    for (int i = 0; i < kCore; i += 4) {
        const int4 four = *(const int4 *)(rows + i);
        row[i] = four.x, row[i + 1] = four.y, row[i + 2] = four.z, row[i + 3] = four.w;
    }
    const char *const b = piece_of(g, s.n, lane);
    unsigned char *const strip = eight + lane / kStripPieces * Flow<E>::kStripBytes;
    const char *from[kCore];
#pragma unroll
    for (int i = 0; i < kCore; i++) {
        from[i] = b + (uint64_t)(unsigned)listed_row(row[i]) * g.b.pitch;
        keep(from[i]); /* all of them before the first copy, which would hold up what the next one wants */
    }
#pragma unroll
    for (int i = 0; i < kCore; i++)
        copy_async16((float *)(strip + i * kStripLine + (lane % kStripPieces ^ i) * 16),
                     (const float *)from[i]);
}

/* ... of this warp's rows of a step. */
template <typename E>
__device__ inline void bring_strips(const MultiplyArgs<E> &g, const Listing<E> &s, unsigned char *stage,
                                    barrier_t *full)
{
    constexpr int kEights = Flow<E>::kMine / kCore;
    unsigned char *const mine = stage + team_warp<E>() * kEights * Flow<E>::kEightBytes;
#pragma unroll
    for (int i = 0; i < kEights; i++)
        bring_eight(g, s, s.rows + i * kCore, mine + i * Flow<E>::kEightBytes, full);
}

/* What this thread copied of a turn's rows. */
__device__ inline void load_rows(const unsigned char *raw, int turn, float (&x)[kRowsEach][4])
{
    const int warp = team_warp<float>(), lane = threadIdx.x % kWarp;
#pragma unroll
    for (int i = 0; i < kRowsEach; i++) {
        const float4 row =
            *(const float4 *)(raw + (warp * Flow<float>::kMine + turn * kRowsEach + i) * kTileCols * 4 +
                              lane * 16);
        x[i][0] = row.x, x[i][1] = row.y, x[i][2] = row.z, x[i][3] = row.w;
    }
}

/* Splits two columns of a turn's rows into a stage. */
__device__ inline void split_columns(const float (&x)[kRowsEach][4], unsigned char *stage, int turn, int pair)
{
    const int warp = team_warp<float>(), lane = threadIdx.x % kWarp;
    uint32_t word[4][kBf16Splits]; /* 2 g + h */
#pragma unroll
    for (int w = 0; w < 4; w++)
        split_pair(x[w / 2 * 2][2 * pair + w % 2], x[w / 2 * 2 + 1][2 * pair + w % 2], word[w]);
    unsigned char *at = stage + warp / 2 * kFragmentBytes +
                        fragment_at(lane / 4, lane % 4 * 2 + pair, warp % 2 * kTurns + turn);
#pragma unroll
    for (int p = 0; p < kBf16Splits; p++)
        *(uint4 *)(at + p * kDepths * kFragmentBytes) =
            make_uint4(word[0][p], word[1][p], word[2][p], word[3][p]);
}

/* Begins to copy the splits of a of a step, and says whose step it is; a warp, a lane for each row group. */
template <typename E>
__device__ inline void bring_splits(const MultiplyArgs<E> &g, const Listing<E> &s, const Stages &st,
                                    int stage)
{
    constexpr int kStepBytes = ShapeOf<E>::kStepBytes, kStageA = Flow<E>::kStageA;
    const int lane = threadIdx.x % kWarp, slot = s.slots[lane % kRowGroups];
    const unsigned set = __ballot_sync(kFull, slot >= 0) & kAll;
    if (lane == 0) {
        st.sets[stage] = (int)set;
        barrier_arrive_promise(st.full + stage, (unsigned)__popc(set) * kStepBytes);
    }
    __syncwarp();
    if (lane < kRowGroups && slot >= 0)
        copy_bulk((float *)(st.a + stage * kStageA + lane * kStepBytes),
                  (const float *)(g.packed.splits +
                                  (((int64_t)s.m * kRowGroups + lane) * g.packed.room + slot) * kStepBytes),
                  kStepBytes, st.full + stage);
}

/* A stage that holds no step: the first one of them is behind the last step. */
__device__ inline void end_steps(const Stages &st, const Slot<Flow<float>::kStages> &slot)
{
    const int stage = slot.at();
    barrier_wait(st.empty + stage, slot.freed());
    if (team_warp<float>() == 0 && threadIdx.x % kWarp == 0) {
        st.sets[stage] = kNoStep;
        barrier_arrive_promise(st.full + stage, 0);
    }
    barrier_arrive(st.full + stage);
}

/* A team's way through its steps: the walk has asked for the lists of the first kListings. */
template <typename E> struct Filling {
    Listing<E> *listings;
    Slot<Flow<E>::kStages> slot;
    Walk<E> walk;

    __device__ Filling(const MultiplyArgs<E> &g, const Stages &st, int turn)
        : listings((Listing<E> *)st.listings +
                   (threadIdx.x / kWarp - kConsumers * (kGroup / kWarp)) * Flow<E>::kListings),
          slot{turn, 0}, walk{(int)blockIdx.x, 0, 0, find_work(g.packed, g.s, (int)blockIdx.x), nullptr}
    {
        walk.step = walk.work.begin + turn;
        walk.settle(g);
        for (int i = 0; i < Flow<E>::kListings; i++) bring_listing(g, &walk, listings + i);
        copies_commit();
        copies_wait<0>();
        __syncwarp();
    }
    __device__ const Listing<E> &of(int at) const { return listings[at % Flow<E>::kListings]; }
    /* Behind a step: its listing makes room for a later one. */
    __device__ void next(const MultiplyArgs<E> &g, int at)
    {
        slot.go_on(Flow<E>::kTeams);
        __syncwarp(); /* all have read this step's listing */
        bring_listing(g, &walk, listings + at % Flow<E>::kListings);
        copies_commit();
    }
};

/* Fills the stages of every kTeams-th step with the rows of b that it names, split on the way into wgmma's
 * registers, and a's splits, which a warp brings each in its turn. The rows of the next of its steps come
 * meanwhile, and what the lists say of later ones: nobody waits for what comes from afar. */
template <bool kWhole>
__device__ inline void produce(const MultiplyArgs<float> &g, const Stages &st, int turn)
{
    unsigned char *const raw = st.raw + turn * Flow<float>::kRawBytes;
    Filling<float> f(g, st, turn);
    if (f.walk.known > 0) bring_rows<kWhole>(g, f.of(0), raw);
    copies_commit();
    for (int at = 0; at < f.walk.known; at++) {
        const int stage = f.slot.at();
        unsigned char *const b = st.b + stage * Flow<float>::kStageB;
        float first[kRowsEach][4], second[kRowsEach][4];
        copies_wait<0>();
        __syncwarp(); /* the lanes have what each of them copied of listings */
        load_rows(raw, 0, first);
        barrier_wait(st.empty + stage, f.slot.freed());
        if (team_warp<float>() == at % Flow<float>::kTeamWarps) bring_splits(g, f.of(at), st, stage);
        split_columns(first, b, 0, 0);
        load_rows(raw, 1, second);
        split_columns(first, b, 0, 1);
        split_columns(second, b, 1, 0);
        if (at + 1 < f.walk.known) bring_rows<kWhole>(g, f.of(at + 1), raw);
        split_columns(second, b, 1, 1);
        barrier_arrive(st.full + stage);
        f.next(g, at);
    }
    end_steps(st, f.slot);
}

/* The same with rows of b that need not be split: as many steps are under way as there are stages, and the
 * barrier of each counts its copies. */
template <bool, typename E>
__device__ inline void produce(const MultiplyArgs<E> &g, const Stages &st, int turn)
{
    Filling<E> f(g, st, turn);
    for (int at = 0; at < f.walk.known; at++) {
        const int stage = f.slot.at();
        if (at >= Flow<E>::kListings)
            copies_wait<Flow<E>::kListings - 1>(); /* this step's listing, and rows before it */
        __syncwarp();
        barrier_wait(st.empty + stage, f.slot.freed());
        if (team_warp<E>() == at % Flow<E>::kTeamWarps) bring_splits(g, f.of(at), st, stage);
        bring_strips(g, f.of(at), st.b + stage * Flow<E>::kStageB, st.full + stage);
        barrier_arrive_copied(st.full + stage);
        f.next(g, at);
    }
    copies_wait<0>();
}

} // namespace
} // namespace lacuna

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Who fills the stages of the product by tiles, on devices with warpgroup products: rows of b split into the
 * registers that wgmma wants, and pieces of a. A lane has four columns of b's tile, a warp the rows that are
 * k 2 c, 2 c + 1, 2 c + 8 and 2 c + 9 of 16 for two c, which are the words of wgmma's first operand. */
#ifndef LACUNA_TILES_FILL_CUH
#define LACUNA_TILES_FILL_CUH

#include "tiles_stages.cuh"

namespace lacuna
{
namespace
{

/* Every kProducers-th step of all that the block does. */
struct Walk {
    int item, step;
    Work work;
    __device__ bool over(const MultiplyArgs &g) const { return item >= (int)g.s.tiles * g.s.splits; }
    /* Goes on to where `step` lies in what is done. */
    __device__ void settle(const MultiplyArgs &g)
    {
        while (step >= work.end && !over(g)) {
            const int beyond = step - work.end;
            item += (int)gridDim.x;
            if (over(g)) return;
            work = find_work(g.packed, g.s, item);
            step = work.begin + beyond;
        }
    }
};

constexpr int kTurns = 2, kRowsEach = 4,
              kMine = kTurns * kRowsEach; /* a warp's rows: so many times so many */
static_assert(kStep == kMine * (kGroup / kWarp) && kTileCols == 4 * kWarp, "a warp brings a row at a time");

/* Begins to copy what the lists say of the step that the walk is at; goes on. */
__device__ inline void bring_listing(const MultiplyArgs &g, Walk *w, Listing *to)
{
    const bool over = w->over(g);
    const int64_t line = (int64_t)w->work.m * g.packed.lines + w->step;
    const int lane = threadIdx.x % kWarp;
    if (!over && lane < kStep / 4)
        copy_async16((float *)(to->rows + lane * 4),
                     (const float *)(g.packed.rows + line * kStep + lane * 4));
    if (!over && lane == kStep / 4)
        copy_async16((float *)to->places, (const float *)(g.packed.places + line));
    if (lane == 0) to->m = over ? -1 : w->work.m, to->n = w->work.n;
    if (over) return;
    w->step += kProducers;
    w->settle(g);
}

/* Begins to copy this warp's rows of a step as they lie; each thread will read what it copied. */
template <bool kWhole>
__device__ inline void bring_rows(const MultiplyArgs &g, const Listing &s, unsigned char *raw)
{
    const int warp = threadIdx.x % kGroup / kWarp, lane = threadIdx.x % kWarp,
              col = s.n * kTileCols + lane * 4;
    const int left = kWhole ? 4 : most(0, least(4, g.out.n - col));
    float *to = (float *)(raw + warp * kMine * kTileCols * 4 + lane * 16);
    int row[kMine];
#pragma unroll
    for (int i = 0; i < kMine; i++) {
        const int turn = i / kRowsEach, c = warp % 2 * kTurns + turn;
        row[i] = s.rows[warp / 2 * kDepth + c * 2 + i % 2 + i % kRowsEach / 2 * 8];
    }
#pragma unroll
    for (int i = 0; i < kMine; i++) {
        const float *from = g.b + listed_row(row[i]) * g.ldb + col;
        if (kWhole)
            copy_async16(to + i * kTileCols, from);
        else
            copy_async16(to + i * kTileCols, left > 0 ? from : g.b, left * 4);
    }
}

/* Splits a turn's rows into a stage. */
__device__ inline void split_rows(const unsigned char *raw, unsigned char *stage, int turn)
{
    const int warp = threadIdx.x % kGroup / kWarp, lane = threadIdx.x % kWarp;
    float in[kRowsEach][4];
#pragma unroll
    for (int i = 0; i < kRowsEach; i++) {
        const float4 x =
            *(const float4 *)(raw + (warp * kMine + turn * kRowsEach + i) * kTileCols * 4 + lane * 16);
        in[i][0] = x.x, in[i][1] = x.y, in[i][2] = x.z, in[i][3] = x.w;
    }
#pragma unroll
    for (int pair = 0; pair < 2; pair++) {
        uint32_t word[4][kPieces]; /* 2 g + h */
#pragma unroll
        for (int w = 0; w < 4; w++)
            split_pair(in[w / 2 * 2][2 * pair + w % 2], in[w / 2 * 2 + 1][2 * pair + w % 2], word[w]);
        unsigned char *at = stage + warp / 2 * kFragmentBytes +
                            fragment_at(lane / 4, lane % 4 * 2 + pair, warp % 2 * kTurns + turn);
#pragma unroll
        for (int p = 0; p < kPieces; p++)
            *(uint4 *)(at + p * kDepths * kFragmentBytes) =
                make_uint4(word[0][p], word[1][p], word[2][p], word[3][p]);
    }
}

/* Begins to copy the pieces of a of a step, and says whose step it is; a warp, a lane for each quarter. */
__device__ inline void bring_pieces(const MultiplyArgs &g, const Listing &s, const Stages &st, int stage)
{
    const int lane = threadIdx.x % kWarp, place = s.places[lane % kQuarters];
    const unsigned set = __ballot_sync(kFull, place >= 0) & kAll;
    if (lane == 0) {
        st.sets[stage] = (int)set;
        barrier_arrive_promise(st.full + stage, (unsigned)__popc(set) * kStepBytes);
    }
    __syncwarp();
    if (lane < kQuarters && place >= 0)
        copy_bulk((float *)(st.a + stage * kStageA + lane * kStepBytes),
                  (const float *)(g.packed.pieces +
                                  (((int64_t)s.m * kQuarters + lane) * g.packed.room + place) * kStepBytes),
                  kStepBytes, st.full + stage);
}

/* Fills the stages of every second step with the rows of b that it names, split on the way into wgmma's
 * registers, and a's pieces. The rows of the next kRaws of its steps are on their way meanwhile, and so is
 * what the lists say of later ones: nobody waits for what comes from afar. */
template <bool kWhole> __device__ inline void produce(const MultiplyArgs &g, const Stages &st, int turn)
{
    static_assert(kListings == kRaws + 2, "a listing has come when two more copies were waited for");
    Slot slot = {turn, 1};
    Walk walk = {(int)blockIdx.x, 0, find_work(g.packed, g.s, (int)blockIdx.x)};
    walk.step = walk.work.begin + turn;
    walk.settle(g);
    unsigned char *const raws = st.raw + turn * kRaws * kRawBytes;
    Listing *const listings = st.listings + (threadIdx.x / kWarp - kConsumers * kGroup / kWarp) * kListings;
    for (int i = 0; i < kListings; i++) bring_listing(g, &walk, listings + i);
    copies_commit();
    copies_wait<0>();
    __syncwarp();
    for (int i = 0; i < kRaws; i++) {
        if (listings[i].m >= 0) bring_rows<kWhole>(g, listings[i], raws + i * kRawBytes);
        copies_commit();
    }
    for (int at = 0; listings[at % kListings].m >= 0; at++) {
        const Listing &later = listings[(at + kRaws) % kListings];
        unsigned char *const raw = raws + at % kRaws * kRawBytes;
        copies_wait<kRaws - 1>();
        __syncwarp(); /* the lanes have what each of them copied of a listing */
        barrier_wait(st.empty + slot.at, slot.parity);
        if (threadIdx.x % kGroup < kWarp) bring_pieces(g, listings[at % kListings], st, slot.at);
#pragma unroll
        for (int t = 0; t < kTurns; t++) split_rows(raw, st.b + slot.at * kStageB, t);
        barrier_arrive(st.full + slot.at);
        slot.next(kProducers);
        if (later.m >= 0) bring_rows<kWhole>(g, later, raw);
        __syncwarp(); /* all have read this step's listing */
        bring_listing(g, &walk, listings + at % kListings);
        copies_commit();
        __syncwarp();
    }
}

} // namespace
} // namespace lacuna
#endif

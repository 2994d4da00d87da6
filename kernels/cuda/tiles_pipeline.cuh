/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What those who fill stages of the product by tiles and those who empty them have in common, on devices with
 * warpgroup products: shapes, shared memory, the layout of b's fragments. */
#ifndef LACUNA_TILES_PIPELINE_CUH
#define LACUNA_TILES_PIPELINE_CUH

#include "tile_scheduler.cuh"
#include "tiles_epilogue_store.cuh"
#include "wgmma.cuh"

namespace lacuna
{
namespace
{

constexpr int kConsumers = 2, kProducers = 2; /* warpgroups: 64 columns of b each; every second step each */
constexpr int kThreads = (kConsumers + kProducers) * kGroup;
constexpr int kConsumerRegisters = 184, kProducerRegisters = 72;
static_assert(kTileCols == kConsumers * kWgmmaRows && kDepth == kWgmmaDepth &&
                  kHolders == kConsumers * kGroup,
              "an instruction's shape");
static_assert(kConsumers * kConsumerRegisters + kProducers * kProducerRegisters <= 512, "65536 registers");

constexpr int kStages = 4;
constexpr int kDepths = kStep / kDepth;
constexpr int kFragments = kBf16Splits * kDepths; /* of b in a step: piece by piece, 16 k each */
constexpr int kFragmentBytes = kDepth * kTileCols * 2;
constexpr int kStageB = kFragments * kFragmentBytes, kStageA = kRowGroups * kStepBytes;
constexpr int kRawBytes = kStep * kTileCols * 4; /* a step of b as it lies, of each producer */

/* What the lists say of a step that concerns a warp of those who fill stages. */
constexpr int kProducerWarps = kProducers * kGroup / kWarp, kMine = kStep / (kGroup / kWarp);
struct alignas(16) Listing {
    int rows[kMine];        /* of b                                                    */
    int places[kRowGroups]; /* of each quarter's pieces, -1: it is not the quarter's   */
    int m, n;               /* tile                                                    */
};
constexpr int kListings = 4;

constexpr int kAlignment = 128;
constexpr int kShared = kStages * (kStageA + kStageB) + kProducers * kRawBytes +
                        kProducerWarps * kListings * (int)sizeof(Listing) + kAlignment;
static_assert(kShared + 256 <= 227 * 1024, "what a block may have, and a few barriers");

constexpr int kNoStep = 0; /* the set that ends all steps */

struct MultiplyArgs {
    const float *b;
    unsigned pitch; /* bytes from a row of b to the next */
    TilesOut out;
    TilesPacked packed;
    TilesSpace s;
};

struct Stages {
    unsigned char *b, *a, *raw; /* kStages of b and a; one of each producer */
    Listing *listings;          /* kListings of each producer's warp        */
    int *sets;                  /* of quarters that want them; kNoStep      */
    barrier_t *full, *empty;
};

/* Position in the ring of stages: of the step of that number among all that the block does. */
struct Slot {
    unsigned step;
    static_assert((kStages & (kStages - 1)) == 0, "the numbers may go round");
    __device__ int at() const { return (int)(step % kStages); }
    __device__ unsigned filled() const { return step / kStages % 2; } /* parity of full that says so  */
    __device__ unsigned freed() const { return filled() ^ 1; }        /* ... of empty, for this step */
};

/* Where a thread's registers of a fragment lie: those of row (of wgmma's first operand) 16 w + r and 8
 * further, k 2 c and 8 further. Column 16 w + 2 r + h of b is its row 16 w + r + 8 h. Neither those who store
 * nor those who load meet in a bank. */
__device__ inline int fragment_at(int w, int r, int c)
{
    const int line = w * 4 + r / 2;
    return line * 128 + ((c + r % 2 * 4) ^ line % 8) * 16;
}

} // namespace
} // namespace lacuna
#endif

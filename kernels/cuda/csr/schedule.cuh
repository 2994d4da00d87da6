/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Steps: the entries of 8 rows of S in ascending k, ready to be carried out by one warp.
 *
 * A warp keeps 8 rows of its part of C in registers, and registers cannot be indexed: a step names the code
 * that adds to its row. So that the next jump is known in time, a step's `next` describes the
 * step behind it, and `value` is its own. */
#ifndef LACUNA_CUDA_CSR_SCHEDULE_CUH
#define LACUNA_CUDA_CSR_SCHEDULE_CUH

#include "common/device.cuh"

namespace lacuna
{

constexpr int kStepRows = 8;      /* of S, in a group: one warp's        */
constexpr int kStepWarps = 16;    /* groups of a block                   */
constexpr int kStepChunk = 64;    /* k that are in shared memory at once */
constexpr int kStepColumns = 256; /* of W in a row of such a chunk       */
constexpr int kEarlyMost = 4;     /* tiles of rows whose blocks may begin first */
constexpr int kStepParts = 8;     /* of k, at most: blocks that share a tile of rows and columns */
constexpr int kBatch = 32;        /* steps that a warp fetches at a time, the last of them the fetching */

struct alignas(8) Step {
    uint32_t next;
    float value;
};

/* What a step does, in the low bits of the word that describes it. Rows of W alternate between two sets of
 * registers, so that one is fetched while the other is in use. */
constexpr uint32_t kStepOther = kStepRows;       /* + row: add from the second set; from 0: from the first  */
constexpr uint32_t kStepChunkOn = 2 * kStepRows; /* the next chunk of W                                  */
constexpr uint32_t kStepFetch = kStepChunkOn + 1; /* the next batch of steps                             */
constexpr uint32_t kStepEnd = kStepFetch + 1;
constexpr uint32_t kStepOp = 63;
constexpr uint32_t kStepFresh = 1u << 31; /* the row of W differs from that of the step before           */
constexpr uint32_t kStepOffset = (kStepChunk - 1) * kStepColumns * 4; /* of W's row in its chunk, bytes */
static_assert(kStepEnd <= kStepOp && kStepColumns * 4 > kStepOp, "fields do not overlap");

/* The arrays of a lac_cuda_schedule_t, one behind the other. */
struct StepArrays {
    int *row;   /* [groups * kStepRows]: of S, or -1       */
    int *first; /* [groups]: batch                         */
    int *early; /* [1]: tiles of rows that take much longer than others; they come first */
    int *entry; /* [groups * kStepParts]: the step, of the group's, that opens a part's first chunk */
    Step *step;
};

/* Tiles of rows: what one block takes. */
__host__ __device__ inline int64_t step_tiles(int64_t m)
{
    return ceil_div(m, kStepRows * kStepWarps);
}

/* The first chunk of a part of k. */
__host__ __device__ inline int part_chunk(int part, int chunks)
{
    return (int)((int64_t)part * chunks / kStepParts);
}

__host__ __device__ inline StepArrays step_arrays(void *memory, int64_t m)
{
    const int64_t groups = step_tiles(m) * kStepWarps;
    char *const rows = (char *)memory, *const first = rows + round_up(4 * groups * kStepRows, 256),
                *const early = first + round_up(4 * groups, 256), *const entry = early + 256,
                *const steps = entry + round_up(4 * groups * kStepParts, 256);
    return {(int *)rows, (int *)first, (int *)early, (int *)entry, (Step *)steps};
}

} // namespace lacuna
#endif

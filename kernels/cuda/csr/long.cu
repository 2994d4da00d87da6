/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Product of a sparse S, made into steps, with a W by rows: both long. */
#include "machine.cuh"
#include "event/gather.cuh"
#include "common/tensor_map.cuh"

namespace lacuna
{
namespace
{

constexpr int kStages = 3;
constexpr int kStageBytes = kStepChunk * kStepColumns * 4;
constexpr size_t kShared = kStages * kStageBytes + kStepWarps * kBatch * sizeof(Step);

struct LongArgs {
    GemmArgs p;
    StepArrays from;
    int tiles, chunks; /* of rows of S, of k */
    int parts;         /* of k */
    float *partial;    /* with more than one part: [part][tile's row][width], the sums of the parts */
    int width;
    CUtensorMap w;
};

struct alignas(1024) Line { /* as the copy engine likes them aligned */
    char bytes[1024];
};

struct Barriers {
    barrier_t full[kStages], empty[kStages];
};
static_assert(kShared + sizeof(Barriers) <= LAC_CUDA_LONG_SHARED,
              "what LAC_CUDA_LONG_SHARED promises the caller");

/* What a block does: chunks [begin, end) of a tile, and its first column. */
struct Work {
    int tile, part, begin, end, j0;
};

/* One thread: brings W, chunk by chunk. */
__device__ void bring_chunks(const LongArgs &a, char *stages, Barriers &b, const Work &work)
{
    for (int c = 0; c < work.end - work.begin; c++) {
        const int stage = c % kStages;
        if (c >= kStages) barrier_wait(&b.empty[stage], (c / kStages - 1) & 1);
        barrier_arrive_promise(&b.full[stage], kStageBytes);
        copy_tile(stages + stage * kStageBytes, &a.w, (work.begin + c) * kStepChunk, work.j0, &b.full[stage]);
    }
}

/* Batches of steps after which the sums of a group are added to what the output, or the part's memory, has:
 * 512 terms of each of its rows, on average. Rows of a group have about as many. */
constexpr int kBatchesOfRun = kStepRows * kLongestRun / (kBatch - 1);

/* Steps of one group of rows, from number `entry` on, which opens a chunk, through `chunks` chunks.
 * settle(false): takes the sums of a run, which begin anew. */
template <typename Settle>
__device__ inline void carry_out(StepMachine &s, const Step *from, int entry, int chunks, unsigned queue,
                                 unsigned stages, Barriers &b, int lane, const Settle &settle)
{
    int batches = 0;
    const unsigned mine = queue + lane * (int)sizeof(Step);
    from += entry / (kBatch - 1) * kBatch;
    Step held = from[lane];
    keep_step(mine, held);
    held = from[kBatch + lane], from += 2 * kBatch;
    __syncwarp();
    s.at = queue + entry % (kBatch - 1) * (int)sizeof(Step), s.what = kStepChunkOn;
    take_step(s);
    unsigned base = stages + lane * 16;
    for (int chunk = 0;;) {
        if (s.what < kStepChunkOn) run_steps(s, base);
        if (s.what == kStepEnd) break;
        const unsigned next = s.next;
        if (s.what == kStepChunkOn) {
            if (chunk == chunks) break;
            if (batches >= kBatchesOfRun) settle(false), batches = 0;
            if (chunk > 0) {
                __syncwarp();
                if (lane == 0) barrier_arrive(&b.empty[(chunk - 1) % kStages]);
            }
            barrier_wait(&b.full[chunk % kStages], chunk / kStages & 1);
            base = stages + chunk % kStages * kStageBytes + lane * 16;
            chunk++;
            s.at += 8;
        } else {
            __syncwarp();
            keep_step(mine, held);
            held = from[lane], from += kBatch, batches++;
            __syncwarp();
            s.at = queue;
        }
        take_step(s);
        s.what = next & kStepOp;
        if (!(next & kStepFresh)) continue;
        if (s.what < kStepOther)
            load_row(s.w[0], base + (next & kStepOffset));
        else
            load_row(s.w[1], base + (next & kStepOffset));
    }
}

/* Adds the sums of a run to the output. settled: not the first run, which scales what is there by beta. */
__device__ inline void add_group(const GemmArgs &p, StepMachine &s, const int *rows, int j0, int lane,
                                 bool settled)
{
    const float alpha = load_scalar(p.alpha), beta = settled ? 1.0f : load_scalar(p.beta);
    const int mine = lane < kStepRows ? rows[lane] : -1;
#pragma unroll
    for (int r = 0; r < kStepRows; r++) {
        const int i = __shfl_sync(kFull, mine, r);
#pragma unroll
        for (int c = 0; c < kStepMine; c++) {
            const int j = j0 + 4 * lane + kWarp * (c / 4 * 4) + c % 4;
            float *const at = p.out + i * p.rs + j * p.cs;
            if (i >= 0 && j < p.n) *at = scaled(at, s.sum[r][c], alpha, beta);
            s.sum[r][c] = 0.0f;
        }
    }
}

/* Writes the sums of a group, or of its last run. The biases of columns are read before anything is stored,
 * all at once. */
__device__ inline void store_group(const GemmArgs &p, const StepMachine &s, const int *rows, int j0, int lane,
                                   bool settled)
{
    const float alpha = load_scalar(p.alpha), beta = settled ? 1.0f : load_scalar(p.beta);
    const bool fours = stores_fours(p, alpha, beta);
    const int mine = lane < kStepRows ? rows[lane] : -1, mine0 = j0 + 4 * lane;
    float bias[kStepMine];
#pragma unroll
    for (int c = 0; c < kStepMine; c += 4) read_biases<4>(bias + c, p, mine0 + kWarp * c);
#pragma unroll
    for (int r = 0; r < kStepRows; r++) {
        const int i = __shfl_sync(kFull, mine, r);
        if (i < 0) continue;
        if (p.epilogue.any && p.epilogue.of_rows)
#pragma unroll
            for (int c = 0; c < kStepMine; c++) bias[c] = bias_at(p.epilogue, i, 0);
#pragma unroll
        for (int c = 0; c < kStepMine; c += 4)
            store_four<false>(p, i, mine0 + kWarp * c, &s.sum[r][c], bias + c, fours, alpha, beta);
    }
}

constexpr int kTileRows = kStepWarps * kStepRows;

/* Keeps the sums of a group over a part of k, or of a run of it; they begin anew. */
__device__ inline void keep_group(const LongArgs &a, StepMachine &s, const Work &work, int warp, int lane,
                                  bool settled)
{
    const int64_t row = ((int64_t)work.part * a.tiles + work.tile) * kTileRows + warp * kStepRows;
    float *at = a.partial + row * a.width + work.j0 + 4 * lane;
#pragma unroll
    for (int r = 0; r < kStepRows; r++, at += a.width)
#pragma unroll
        for (int c = 0; c < kStepMine; c += 4) {
            float4 *const four = (float4 *)(at + kWarp * c);
            const float4 x = settled ? *four : make_float4(0, 0, 0, 0);
            *four = make_float4(x.x + s.sum[r][c], x.y + s.sum[r][c + 1], x.z + s.sum[r][c + 2],
                                x.w + s.sum[r][c + 3]);
            s.sum[r][c] = s.sum[r][c + 1] = s.sum[r][c + 2] = s.sum[r][c + 3] = 0.0f;
        }
}

constexpr int kAddThreads = 256;

/* Adds up the parts of k in their order and writes. A thread has four columns of a row. */
__global__ __launch_bounds__(kAddThreads) void add_parts(const __grid_constant__ LongArgs a)
{
    const int quads = a.width / 4;
    const int64_t t = (int64_t)blockIdx.x * kAddThreads + threadIdx.x, slot = t / quads;
    const int j = (int)(t % quads) * 4;
    const int64_t rows = (int64_t)a.tiles * kTileRows;
    if (slot >= rows || j >= a.p.n) return;
    const int i = a.from.row[slot];
    if (i < 0) return;
    const float alpha = load_scalar(a.p.alpha), beta = load_scalar(a.p.beta);
    float sum[4] = {}, bias[4];
    read_biases<4>(bias, a.p, j);
    dependency_wait();
#pragma unroll 4
    for (int part = 0; part < a.parts; part++) {
        const float4 x = *(const float4 *)(a.partial + (part * rows + slot) * a.width + j);
        sum[0] += x.x, sum[1] += x.y, sum[2] += x.z, sum[3] += x.w;
    }
    if (a.p.epilogue.any && a.p.epilogue.of_rows)
#pragma unroll
        for (int q = 0; q < 4; q++) bias[q] = bias_at(a.p.epilogue, i, 0);
    store_four<false>(a.p, i, j, sum, bias, stores_fours(a.p, alpha, beta), alpha, beta);
}

/* The tiles of rows and of columns of a block. Blocks of the tiles that take much longer begin first; of the
 * others, those follow each other that read the same columns of W. */
__device__ inline int2 locate_block(int block, int tiles, int columns, int early)
{
    const int rest = block - early * columns;
    return rest < 0 ? make_int2(block / columns, block % columns)
                    : make_int2(early + rest % (tiles - early), rest / (tiles - early));
}

/* What comes to a block as number `block` of all. */
__device__ inline Work find_work(const LongArgs &a, int block, int blocks)
{
    const int part = block % a.parts, each = kStepParts / a.parts, rest = block / a.parts;
    const int2 place = locate_block(rest, a.tiles, blocks / a.parts / a.tiles, *a.from.early);
    return {place.x, part, part_chunk(part * each, a.chunks), part_chunk((part + 1) * each, a.chunks),
            place.y * kStepColumns};
}

/* out := beta out + alpha S W, S[m, k] as steps, W[k, n] by rows.
 *
 * Mapping   a block holds 128 rows of S and 256 columns of W, a warp 8 of those rows with all columns: 8 x 8
 *           sums in the registers of each lane. One more warp has the copy engine bring W, 64 k at a time, up
 *           to 3 times as many ahead. Where that makes few blocks, each takes a part of k, and another kernel
 *           adds up the parts.
 * Layout    rows of W begin on 16 bytes; out with any strides.
 * Bytes     W once per 128 rows of S from the last-level cache into shared memory; from there each row of W
 *           once for the entries that 8 rows have in it; 8 per entry once per 256 columns. Parts of k: their
 *           sums once out and in.
 * Order     the entries of a row, or of its part of k, in ascending k, one after the other in runs of some
 *           512, whose sums are added up in memory; the parts in order: no atomics.
 * Limit     4096^3 at 1, 2, 5, 10 %: 181, 253, 497, 872 us with this machine code of a step, before k
 *           could be in parts. Below 1 % the copies; then the banks of shared memory, busy for 80 % of
 *           the cycles at 1 %; at 10 % also a jump per entry, 8 cycles of the unit that jumps, of which
 *           a multiprocessor has one (H200, 2026-11-22). */
__global__ __launch_bounds__((kStepWarps + 1) * kWarp, 1) void csr_long(const __grid_constant__ LongArgs a)
{
    LACUNA_DYNAMIC_SHARED(Line, lines);
    char *const stages = (char *)lines;
    __shared__ Barriers barriers;
    const int lane = threadIdx.x % kWarp, warp = __shfl_sync(kFull, threadIdx.x / kWarp, 0);
    if (threadIdx.x < kStages) {
        barrier_init(&barriers.full[threadIdx.x], 1);
        barrier_init(&barriers.empty[threadIdx.x], kStepWarps);
        bulk_copy_fence();
    }
    __syncthreads();
    if (a.parts > 1) dependents_launch();
    if (warp == kStepWarps) {
        if (lane == 0) bring_chunks(a, stages, barriers, find_work(a, (int)blockIdx.x, (int)gridDim.x));
        return;
    }
    const unsigned queue = shared_address(stages + kStages * kStageBytes) + warp * kBatch * (int)sizeof(Step);
    StepMachine s = {};
    bool settled = false;
    const auto settle = [&](bool last) {
        int block = (int)blockIdx.x, mine = warp;
        asm volatile("" : "+r"(block), "+r"(mine)); /* found anew: no registers keep it meanwhile */
        const Work work = find_work(a, block, (int)gridDim.x);
        const int *const rows = a.from.row + ((int64_t)work.tile * kStepWarps + mine) * kStepRows;
        if (a.parts > 1)
            keep_group(a, s, work, mine, lane, settled);
        else if (last)
            store_group(a.p, s, rows, work.j0, lane, settled);
        else
            add_group(a.p, s, rows, work.j0, lane, settled);
#pragma unroll
        for (int c = 0; c < kStepMine; c++)
            s.w[0][c] = s.w[1][c] = 0.0f; /* a chunk begins with a fresh row */
        settled = true;
    };
    const Work work = find_work(a, (int)blockIdx.x, (int)gridDim.x);
    const int64_t group = (int64_t)work.tile * kStepWarps + warp;
    if (work.end > work.begin)
        carry_out(s, a.from.step + (int64_t)a.from.first[group] * kBatch,
                  a.from.entry[group * kStepParts + work.part * (kStepParts / a.parts)],
                  work.end - work.begin, queue, shared_address(stages), barriers, lane, settle);
    settle(true);
}

int64_t tiles_of(int64_t m, int64_t n)
{
    return step_tiles(m) * ceil_div(n, kStepColumns);
}

int parts_of(int64_t m, int64_t n, int64_t k)
{
    return lac_cuda_csr_long_parts(m, n, k, current_device().sms);
}

} // namespace
} // namespace lacuna

/* As many as it takes to fill the device with tiles. A chunk takes 0.6 to 4 us, to begin and end a tile 3; to
 * keep the parts and add them up, what is left of 75, 20 and 34 us (csr_bench: 512 x 4096 x 4096 in two
 * parts, 1024^3 in four, 128 x 4096 x 4096 in eight; H200, 2026-11-22). */
extern "C" int lac_cuda_csr_long_parts(int64_t m, int64_t n, int64_t k, int processors)
{
    using namespace lacuna;
    const int64_t chunks = ceil_div(k, kStepChunk);
    int best = 1;
    double best_us = 0;
    for (int parts = 1; parts <= kStepParts && parts <= chunks; parts *= 2) {
        const int64_t waves = ceil_div(tiles_of(m, n) * parts, processors);
        const double us =
            (double)waves * (1.2 * (double)chunks / parts + 3) + (parts > 1 ? 7 + 1.2 * parts : 0);
        if (parts == 1 || us < best_us) best = parts, best_us = us;
    }
    return best;
}

extern "C" int64_t lac_cuda_csr_long_bytes(int64_t m, int64_t n, int64_t k)
{
    using namespace lacuna;
    const int parts = parts_of(m, n, k);
    return parts > 1 ? 4 * parts * tiles_of(m, n) * kTileRows * kStepColumns : 0;
}

extern "C" lac_status_t lac_cuda_csr_long(const lac_cuda_product_t *p, const void *steps, void *workspace,
                                          lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!extents_fit(p)) return LAC_ERR_EXTENT;
    if (p->order != LAC_CUDA_ROWS || p->ldw % 4 || !aligned(p->w, 16)) return LAC_ERR_VALUE;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    const int64_t tiles = tiles_of(p->m, p->n), width = round_up(p->n, kStepColumns);
    LongArgs a = {make_gemm_args(p),
                  step_arrays((void *)steps, p->m),
                  (int)step_tiles(p->m),
                  (int)ceil_div(p->k, kStepChunk),
                  parts_of(p->m, p->n, p->k),
                  (float *)workspace,
                  (int)width,
                  {}};
    if (!fits(tiles * a.parts) || !fits(width)) return LAC_ERR_EXTENT;
    if (!make_tensor_map(&a.w, (const float *)p->w, p->k, p->n, p->ldw, kStepChunk, kStepColumns))
        return LAC_ERR_VENDOR;
    const Launch l = {dim3(unsigned(tiles * a.parts)),
                      dim3((kStepWarps + 1) * kWarp),
                      kShared,
                      1,
                      false,
                      (cudaStream_t)stream};
    const lac_status_t status = launch(csr_long, l, a);
    if (status != LAC_OK || a.parts == 1) return status;
    const int64_t quads = step_tiles(p->m) * kTileRows * width / 4;
    const Launch add = {
        dim3(unsigned(ceil_div(quads, kAddThreads))), dim3(kAddThreads), 0, 1, true, (cudaStream_t)stream};
    return launch(add_parts, add, a);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Product of a sparse S, made into steps, with a W by rows: both long. */
#include "csr_machine.cuh"
#include "event_gather.cuh"
#include "tensor_map.cuh"

namespace lacuna
{
namespace
{

constexpr int kStages = 3;
constexpr int kStageBytes = kStepChunk * kStepColumns * 4;
constexpr size_t kShared = kStages * kStageBytes + kStepWarps * kBatch * sizeof(Step);

struct LongArgs {
    Picture p;
    StepArrays from;
    int tiles, chunks; /* of rows of S, of k */
    CUtensorMap w;
};

struct Barriers {
    barrier_t full[kStages], empty[kStages];
};
static_assert(kShared + sizeof(Barriers) <= LAC_CUDA_LONG_SHARED, "as the caller was told");

/* One thread: brings W, chunk by chunk. */
__device__ void bring_chunks(const LongArgs &a, char *stages, Barriers &b, int j0)
{
    for (int c = 0; c < a.chunks; c++) {
        const int stage = c % kStages;
        if (c >= kStages) barrier_wait(&b.empty[stage], (c / kStages - 1) & 1);
        barrier_arrive_promise(&b.full[stage], kStageBytes);
        copy_tile(stages + stage * kStageBytes, &a.w, c * kStepChunk, j0, &b.full[stage]);
    }
}

__device__ inline void load_row(float (&w)[kStepMine], unsigned at)
{
#pragma unroll
    for (int c = 0; c < kStepMine; c += 4)
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(w[c]), "=f"(w[c + 1]), "=f"(w[c + 2]), "=f"(w[c + 3])
                     : "r"(at + 128 * c));
}

/* Steps of one group of rows, from the first to the end. */
__device__ void carry_out(StepMachine &s, const Step *from, unsigned queue, unsigned stages, Barriers &b,
                          int lane)
{
    const auto keep = [&](Step x) {
        asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(queue + lane * 8), "r"(x.next),
                     "r"(__float_as_uint(x.value))
                     : "memory");
    };
    const auto take = [&] {
        asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(s.next), "=r"(s.value) : "r"(s.at) : "memory");
    };
    Step held = from[lane];
    keep(held);
    held = from[kBatch + lane], from += 2 * kBatch;
    __syncwarp();
    s.at = queue, s.what = kStepChunkOn;
    take();
    unsigned base = stages + lane * 16;
    for (int chunk = 0;;) {
        if (s.what < kStepChunkOn) run_steps(s, base);
        if (s.what == kStepEnd) break;
        const unsigned next = s.next;
        if (s.what == kStepChunkOn) {
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
            keep(held);
            held = from[lane], from += kBatch;
            __syncwarp();
            s.at = queue;
        }
        take();
        s.what = next & kStepOp;
        if (!(next & kStepFresh)) continue;
        if (s.what < kStepOther)
            load_row(s.w[0], base + (next & kStepOffset));
        else
            load_row(s.w[1], base + (next & kStepOffset));
    }
}

/* out[i, j .. j + 3] := beta out + alpha sums, and what follows, as far as there are columns. quads: all at
 * once; beta is 0 then, and alpha is not. */
__device__ inline void store_four(const Picture &p, int i, int j, const float *sum, const float *bias,
                                  bool quads, float alpha, float beta)
{
    float *const at = p.out + i * p.rs + j * p.cs;
    if (quads && j < p.n) {
        float x[4];
#pragma unroll
        for (int q = 0; q < 4; q++) x[q] = followed(p.after, alpha * sum[q], bias[q]);
        *(float4 *)at = make_float4(x[0], x[1], x[2], x[3]);
    }
    if (quads) return;
#pragma unroll
    for (int q = 0; q < 4; q++)
        if (j + q < p.n)
            at[q * p.cs] = followed(p.after, scaled(at + q * p.cs, sum[q], alpha, beta), bias[q]);
}

/* Writes the sums of a group. The biases of columns are read before anything is stored, all at once. */
__device__ void store_group(const Picture &p, const StepMachine &s, const int *rows, int j0, int lane)
{
    const float alpha = load_scalar(p.alpha), beta = load_scalar(p.beta);
    const bool quads = p.cs == 1 && p.rs % 4 == 0 && p.n % 4 == 0 && (uintptr_t)p.out % 16 == 0 &&
                       alpha != 0.0f && beta == 0.0f;
    const int mine = lane < kStepRows ? rows[lane] : -1, mine0 = j0 + 4 * lane;
    float bias[kStepMine] = {};
#pragma unroll
    for (int c = 0; c < kStepMine; c++)
        if (p.after.any && !p.after.of_rows)
            bias[c] = bias_at(p.after, 0, least(mine0 + kWarp * (c / 4 * 4) + c % 4, p.n - 1));
#pragma unroll
    for (int r = 0; r < kStepRows; r++) {
        const int i = __shfl_sync(kFull, mine, r);
        if (i < 0) continue;
        if (p.after.any && p.after.of_rows)
#pragma unroll
            for (int c = 0; c < kStepMine; c++) bias[c] = bias_at(p.after, i, 0);
#pragma unroll
        for (int c = 0; c < kStepMine; c += 4)
            store_four(p, i, mine0 + kWarp * c, &s.sum[r][c], bias + c, quads, alpha, beta);
    }
}

/* The tiles of rows and of columns of a block. Blocks of the tiles that take much longer begin first; of the
 * others, those follow each other that read the same columns of W. */
__device__ inline int2 place_block(int block, int tiles, int columns, int early)
{
    const int rest = block - early * columns;
    return rest < 0 ? make_int2(block / columns, block % columns)
                    : make_int2(early + rest % (tiles - early), rest / (tiles - early));
}

/* out := beta out + alpha S W, S[m, k] as steps, W[k, n] by rows.
 *
 * Mapping   a block holds 128 rows of S and 256 columns of W, a warp 8 of those rows with all columns: 8 x 8
 *           sums in the registers of each lane. One more warp has the copy engine bring W, 64 k at a time, up
 *           to 3 times as many ahead.
 * Layout    rows of W begin on 16 bytes; out with any strides.
 * Bytes     W once per 128 rows of S from the last-level cache into shared memory; from there each row of W
 *           once for the entries that 8 rows have in it; 8 per entry once per 256 columns.
 * Order     the entries of a row in ascending k, one after the other: no atomics.
 * Limit     4096^3 at 1, 2, 5, 10 %: 183, 256, 504, 908 us. Below 1 % the copies; beyond, a jump per entry,
 *           8 cycles of the unit that jumps, of which a multiprocessor has one (H200, 2026-11-21). */
__global__ __launch_bounds__((kStepWarps + 1) * kWarp, 1) void csr_long(const __grid_constant__ LongArgs a)
{
    extern __shared__ __align__(1024) char stages[];
    __shared__ Barriers barriers;
    const int lane = threadIdx.x % kWarp, warp = __shfl_sync(kFull, threadIdx.x / kWarp, 0);
    const int2 place = place_block((int)blockIdx.x, a.tiles, (int)gridDim.x / a.tiles, *a.from.early);
    const int tile = place.x, j0 = place.y * kStepColumns;
    if (threadIdx.x < kStages) {
        barrier_init(&barriers.full[threadIdx.x], 1);
        barrier_init(&barriers.empty[threadIdx.x], kStepWarps);
        barrier_init_fence();
    }
    __syncthreads();
    if (warp == kStepWarps) {
        if (lane == 0) bring_chunks(a, stages, barriers, j0);
        return;
    }
    const int group = tile * kStepWarps + warp;
    const unsigned queue = shared_address(stages + kStages * kStageBytes) + warp * kBatch * (int)sizeof(Step);
    StepMachine s = {};
    carry_out(s, a.from.step + (int64_t)a.from.first[group] * kBatch, queue, shared_address(stages), barriers,
              lane);
    store_group(a.p, s, a.from.row + group * kStepRows, j0, lane);
}

} // namespace
} // namespace lacuna
extern "C" lac_status_t lac_cuda_csr_long(const lac_cuda_product_t *p, const void *steps,
                                          lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!extents_fit(p)) return LAC_ERR_EXTENT;
    if (p->order != LAC_CUDA_ROWS || p->ldw % 4 || !aligned(p->w, 16)) return LAC_ERR_VALUE;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    LongArgs a = {make_picture(p),
                  step_arrays((void *)steps, p->m),
                  (int)step_tiles(p->m),
                  (int)ceil_div(p->k, kStepChunk),
                  {}};
    if (!make_tensor_map(&a.w, p->w, p->k, p->n, p->ldw, kStepChunk, kStepColumns)) return LAC_ERR_VENDOR;
    const Launch l = {dim3(unsigned(a.tiles * ceil_div(p->n, kStepColumns))),
                      dim3((kStepWarps + 1) * kWarp),
                      kShared,
                      1,
                      false,
                      (cudaStream_t)stream};
    return launch(csr_long, l, a);
}

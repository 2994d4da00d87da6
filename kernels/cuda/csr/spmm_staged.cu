/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Product of an S that lies dense, of many rows, with a long W by rows, which is brought through shared
 * memory once for 256 of them: a list of the nonzeros of each row in each chunk of k, then the product. */
#include "event/gather.cuh"
#include "common/tensor_map.cuh"

namespace lacuna
{
namespace
{

constexpr int kChunk = 256;   /* k whose rows of W are in shared memory at once: what a list covers */
constexpr int kListWarps = 8; /* of a block that makes lists         */
constexpr int kWarps = 32;    /* of one that multiplies, which takes */
constexpr int kMostRows = 8;  /* ... rows of S each, and of columns  */
constexpr int kLeastWidth = 16, kMostWidth = 96, kWidths = 8; /* from, to, and in steps of: whole sectors */
constexpr int kLeastHeld = 4, kMostHeld = 32; /* events of a list that come with W, powers of two */
constexpr int kMostStages = 8, kLeastStages = 2;
constexpr int kAlign = 128; /* of a stage, as the copy engine wants it */
constexpr int kEventBytes = (int)sizeof(Event);
constexpr int64_t kShared = LAC_CUDA_LONG_SHARED - 1024 - kAlign; /* beside barriers */

/* The events of each row in each chunk: filled up, by events of value 0 whose row of W is the one of zeros
 * behind the chunk, to a multiple of the teams of lanes that share them, and at least to one each. */
struct Lists {
    Event *held; /* [chunks][rows][length]: the first ones                  */
    Event *all;  /* [rows][chunks * kChunk]: those behind them, in their place */
    int *count;  /* [chunks][rows]                                          */
    int chunks, rows, length;
};

struct ListArgs {
    const void *s;
    int64_t rs, cs;
    int m, k, teams;
    bool quads;
    Lists lists;
};

struct StagedArgs {
    GemmArgs p;
    Lists lists;
    int width, tiles; /* columns of a block; blocks side by side */
    int rows, each;   /* of S: of a block, of a warp             */
    int stages;
    CUtensorMap w;
};

struct Barriers {
    barrier_t full[kMostStages], empty[kMostStages];
};

/* Lists the nonzeros of S.
 *
 * Mapping   a warp to a chunk of a row.
 * Bytes     S once, best along its rows; 8 for each place that is held, and for each event beyond. */
template <typename T>
__global__ __launch_bounds__(kListWarps *kWarp) void list_chunks(const __grid_constant__ ListArgs a)
{
    constexpr int kLaneElements = 4, kRounds = kChunk / (kLaneElements * kWarp);
    __shared__ Event packed[kListWarps][kChunk + kWarp];
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, chunk = (int)blockIdx.y,
              row = (int)blockIdx.x * kListWarps + warp;
    dependents_launch();
    if (row >= a.lists.rows) return; /* the whole warp */
    const ScanRow<T> from = {(const T *)a.s + row * a.rs, a.cs, a.quads};
    const int end = row < a.m ? a.k : 0;
    T x[kRounds][kLaneElements];
#pragma unroll
    for (int q = 0; q < kRounds; q++)
        scan_load(x[q], from, chunk * kChunk + q * kLaneElements * kWarp, end, lane);
    Event *const list = packed[warp];
    int count = 0;
#pragma unroll
    for (int q = 0; q < kRounds; q++)
        count += scan_pack(x[q], a.quads, q * kLaneElements * kWarp, list + count, lane);
    list[count + lane] = {kChunk, 0.0f};
    __syncwarp();
    const int full = max(1, (int)ceil_div(count, a.teams)) * a.teams;
    const int64_t at = (int64_t)chunk * a.lists.rows + row;
    if (lane < a.lists.length) a.lists.held[at * a.lists.length + lane] = list[min(lane, count)];
    Event *const all = a.lists.all + ((int64_t)row * a.lists.chunks + chunk) * kChunk;
    for (int e = a.lists.length + lane; e < full; e += kWarp) all[e] = list[e];
    if (lane == 0) a.lists.count[at] = full;
}

/* A lane's four columns of a row's sum. */
struct FourSums {
    float x[4];

    __device__ void add(float v, float4 w)
    {
        x[0] = fmaf(v, w.x, x[0]), x[1] = fmaf(v, w.y, x[1]);
        x[2] = fmaf(v, w.z, x[2]), x[3] = fmaf(v, w.w, x[3]);
    }
    __device__ void add(const FourSums &other)
    {
#pragma unroll
        for (int q = 0; q < 4; q++) x[q] += other.x[q];
    }
};

/* What a thread knows of where things are, addresses of shared memory. */
struct Stage {
    unsigned columns; /* the lane's in the first row of W                    */
    unsigned pitch;   /* bytes from a row of W to the next                   */
    unsigned events;  /* the first that the lane's team takes, of the warp's */

    __device__ void add(FourSums &sum, float2 event) const
    {
        sum.add(event.y, read_now(columns + __float_as_uint(event.x) * pitch));
    }
};

/* The sum of a row of S over a chunk: the events of a team of lanes, every kTeams-th. `rest`: where those lie
 * that are not held. */
template <int kTeams>
__device__ inline FourSums sum_chunk(const Stage &s, unsigned first, int count, int held, const float2 *rest)
{
    constexpr int kApart = kTeams * kEventBytes;
    const float2 event = read_two_now(first);
    const float4 w = read_now(s.columns + __float_as_uint(event.x) * s.pitch);
    FourSums sum = {event.y * w.x, event.y * w.y, event.y * w.z, event.y * w.w};
    if (count == kTeams) return sum;
    int left = min(count, held) - kTeams;
    unsigned at = first + kApart;
#pragma unroll 1
    for (; left >= 2 * kTeams; left -= 2 * kTeams, at += 2 * kApart) {
        const float2 two[2] = {read_two_now(at), read_two_now(at + kApart)};
        const float4 v = read_now(s.columns + __float_as_uint(two[0].x) * s.pitch),
                     w = read_now(s.columns + __float_as_uint(two[1].x) * s.pitch);
        sum.add(two[0].y, v), sum.add(two[1].y, w);
    }
    if (left > 0) s.add(sum, read_two_now(at));
#pragma unroll 1
    for (int e = held; e < count; e += 2 * kTeams) { /* from memory */
        const float2 two[2] = {rest[e], e + kTeams < count ? rest[e + kTeams] : make_float2(0.0f, 0.0f)};
        s.add(sum, two[0]);
        if (e + kTeams < count) s.add(sum, two[1]);
    }
    return sum;
}

/* out := beta out + alpha S W from the lists of S.
 *
 * Mapping   a block holds up to 256 rows of S, a warp up to 8 of them, and up to 96 columns of W, of which a
 *           lane has four. Columns for which fewer lanes do leave two or four teams of them, which share the
 *           events of a row. W and the lists come chunk by chunk, some chunks ahead: the warp that is in turn
 *           waits until all have done with a stage, and has the copy engine fill it anew.
 * Layout    W by rows that begin on 16 bytes; out with any strides.
 * Bytes     W once for each 256 rows of S; from shared memory 16 for each event and lane, and 8 for each
 *           event.
 * Order     a team's events of a chunk, ascending; the chunks, ascending; then the teams by a tree: no
 *           atomics.
 * Limit     90 x 5000 x 6000 at 3 %, 512 x 5000 x 5000 at 1 %: 42, 66 us with the lists. W's way into shared
 *           memory, then the accesses there, 128 bytes a cycle; of two or three events in a list, the
 *           instructions around them (H200, 2026-11-29). */
template <int kTeams, int kRows>
__global__ __launch_bounds__(kWarps *kWarp, 1) void spmm_staged(const __grid_constant__ StagedArgs a)
{
    constexpr int kLanes = kWarp / kTeams;
    LACUNA_DYNAMIC_SHARED(float4, dynamic);
    __shared__ Barriers barriers;
    const int lane = threadIdx.x % kWarp, warp = __shfl_sync(kFull, threadIdx.x / kWarp, 0),
              team = lane / kLanes;
    const int j0 = (int)blockIdx.x % a.tiles * a.width, i0 = (int)blockIdx.x / a.tiles * a.rows;
    const int first = i0 + warp * a.each, rows = min(a.each, min(a.p.m, i0 + a.rows) - first); /* < 0: none */
    const int chunks = a.lists.chunks, held = a.lists.length;
    const int pitch = a.width * 4, w_bytes = (kChunk + 1) * pitch, list_bytes = a.rows * held * kEventBytes,
              count_bytes = a.rows * 4,
              stage_bytes = (int)round_up(w_bytes + list_bytes + count_bytes, kAlign);
    char *const stages = (char *)dynamic + (kAlign - shared_address(dynamic) % kAlign) % kAlign;
    if ((int)threadIdx.x < a.stages) {
        barrier_init(&barriers.full[threadIdx.x], 1);
        barrier_init(&barriers.empty[threadIdx.x], kWarps);
    }
    for (int t = threadIdx.x; t < a.stages * a.width; t += kWarps * kWarp) /* the rows of zeros */
        ((float *)(stages + t / a.width * stage_bytes))[kChunk * a.width + t % a.width] = 0.0f;
    bulk_copy_fence();
    __syncthreads();
    const auto bring_w = [&](int chunk) {
        barrier_t *const full = &barriers.full[chunk % a.stages];
        barrier_arrive_promise(full, kChunk * pitch + list_bytes + count_bytes);
        copy_tile(stages + chunk % a.stages * stage_bytes, &a.w, chunk * kChunk, j0, full);
    };
    const auto bring_lists = [&](int chunk) {
        barrier_t *const full = &barriers.full[chunk % a.stages];
        char *const to = stages + chunk % a.stages * stage_bytes + w_bytes;
        const int64_t at = (int64_t)chunk * a.lists.rows + i0;
        copy_bulk((float *)to, (const float *)(a.lists.held + at * held), list_bytes, full);
        copy_bulk((float *)(to + list_bytes), (const float *)(a.lists.count + at), count_bytes, full);
    };
    if (threadIdx.x == 0)
        for (int c = 0; c < min(a.stages, chunks); c++) bring_w(c);
    dependency_wait(); /* for the lists */
    if (threadIdx.x == 0)
        for (int c = 0; c < min(a.stages, chunks); c++) bring_lists(c);

    FourSums sum[kRows] = {};
    const unsigned at = shared_address(stages);
    const int columns = min(lane % kLanes * 4, a.width - 4); /* lanes beyond read what another one does */
    for (int c = 0, stage = 0, phase = 0; c < chunks; c++) {
        const unsigned here = at + stage * stage_bytes, lists = here + w_bytes;
        const Stage s = {here + 4 * columns, (unsigned)pitch,
                         lists + (warp * a.each * held + team) * kEventBytes};
        barrier_wait(&barriers.full[stage], phase);
        const int count =
            lane < rows ? (int)load_shared_word(lists + list_bytes + (warp * a.each + lane) * 4) : 0;
#pragma unroll
        for (int r = 0; r < kRows; r++) {
            const int n = __shfl_sync(kFull, count, r);
            if (n == 0) break; /* no further row */
            const Event *const rest = a.lists.all + ((int64_t)(first + r) * chunks + c) * kChunk + team;
            sum[r].add(
                sum_chunk<kTeams>(s, s.events + r * held * kEventBytes, n, held, (const float2 *)rest));
        }
        __syncwarp();
        if (lane == 0) {
            barrier_arrive(&barriers.empty[stage]);
            if (c % kWarps == warp && c + a.stages < chunks) {
                barrier_wait(&barriers.empty[stage], phase);
                bring_w(c + a.stages), bring_lists(c + a.stages);
            }
        }
        __syncwarp();
        if (++stage == a.stages) stage = 0, phase ^= 1;
    }

    const float alpha = load_scalar(a.p.alpha), beta = load_scalar(a.p.beta);
    const bool fours = stores_fours(a.p, alpha, beta);
    const int mine = lane % kLanes * 4, j = j0 + mine;
    float bias[4];
    read_biases<4>(bias, a.p, j);
#pragma unroll
    for (int r = 0; r < kRows; r++) {
        if (r >= rows) break;
#pragma unroll
        for (int q = 0; q < 4; q++)
#pragma unroll
            for (int d = kLanes; d < kWarp; d *= 2) sum[r].x[q] += __shfl_xor_sync(kFull, sum[r].x[q], d);
        if (a.p.epilogue.any && a.p.epilogue.of_rows)
#pragma unroll
            for (int q = 0; q < 4; q++) bias[q] = bias_at(a.p.epilogue, first + r, 0);
        if (team == 0 && mine < a.width)
            store_four<false>(a.p, first + r, j, sum[r].x, bias, fours, alpha, beta);
    }
}

struct Cut {
    int width, teams, tiles; /* columns of a block, teams of lanes for them, blocks side by side */
    int groups, rows, each;  /* blocks one below the other; rows of one, of a warp               */
    int chunks, held, stages;
    int64_t stage_bytes;
    double cycles; /* that a block takes for a chunk */
};

int teams_of(int width)
{
    return width <= 32 ? 4 : width <= 64 ? 2 : 1;
}

/* What a block takes for a chunk whose lists have `events` on average, in cycles: one for each 128 bytes that
 * are read of shared memory, and nine for each row; or until its columns of W are there, which come at
 * bytes_of_cycle from the last-level cache to each of 132 multiprocessors. Fitted to a dozen products of 90
 * to 2048 rows at 1 to 10 % (H200, 2026-11-29). */
double cycles_of(int width, int rows, double events)
{
    const int teams = teams_of(width), of_w = teams == 1 ? (int)ceil_div(width, kWarp) : 4;
    const double turns = max(1.0, events / teams + (teams > 1 ? 0.5 : 0.1)), bytes_of_cycle = 18;
    return max(rows * (turns * (of_w + 1) + 9), kChunk * width * 4 / bytes_of_cycle);
}

/* Blocks one below the other, and rows of each, whose counts are whole pieces of 16 bytes. */
int64_t groups_of(int64_t m)
{
    return max<int64_t>(1, ceil_div(m, kWarps * kMostRows));
}
int64_t rows_of(int64_t m)
{
    return round_up(ceil_div(m, groups_of(m)), 4);
}

Cut cut_of(int64_t m, int64_t n, int64_t k, double density, int sms)
{
    const double events = density * kChunk;
    Cut c = {};
    c.chunks = (int)ceil_div(k, kChunk);
    c.groups = (int)groups_of(m);
    c.rows = (int)rows_of(m);
    c.each = (int)ceil_div(c.rows, kWarps);
    double best = 0;
    for (int width = kLeastWidth; width <= kMostWidth; width += kWidths) {
        const double cycles = cycles_of(width, c.rows, events),
                     all = cycles * (double)ceil_div(ceil_div(n, width) * c.groups, sms);
        if (!c.width || all < best) best = all, c.width = width, c.cycles = cycles;
    }
    c.teams = teams_of(c.width);
    c.tiles = (int)ceil_div(n, c.width);
    for (c.held = kLeastHeld; c.held < kMostHeld && c.held < events + 2 * sqrt(events);) c.held *= 2;
    for (;; c.held /= 2) {
        c.stage_bytes = round_up((kChunk + 1) * 4 * c.width + c.rows * (c.held * kEventBytes + 4), kAlign);
        c.stages = (int)min<int64_t>(kMostStages, kShared / c.stage_bytes);
        if (c.stages >= kLeastStages) return c;
    }
}

/* Where the lists of S lie in a workspace, bytes from its beginning; room for as many held as ever. */
struct Places {
    int64_t all, count, end;
};
Places places_of(int64_t m, int64_t k)
{
    const int64_t chunks = ceil_div(k, kChunk), rows = groups_of(m) * rows_of(m),
                  all = round_up(rows * chunks * kMostHeld * kEventBytes, 256),
                  count = all + m * chunks * kChunk * kEventBytes;
    return {all, count, count + round_up(4 * rows * chunks, 256)};
}

template <int kTeams> lac_status_t multiply(const StagedArgs &a, const Launch &l)
{
    return a.each <= 1   ? launch(spmm_staged<kTeams, 1>, l, a)
           : a.each <= 2 ? launch(spmm_staged<kTeams, 2>, l, a)
           : a.each <= 4 ? launch(spmm_staged<kTeams, 4>, l, a)
                         : launch(spmm_staged<kTeams, kMostRows>, l, a);
}

} // namespace
} // namespace lacuna

extern "C" lac_cuda_staged_shape_t lac_cuda_spmm_staged_shape(int64_t m, int64_t n, int64_t k, double density,
                                                              int processors)
{
    using namespace lacuna;
    const Cut c = cut_of(m, n, k, density, processors);
    return {(int64_t)c.tiles * c.groups, c.chunks, c.cycles};
}

extern "C" int64_t lac_cuda_spmm_staged_bytes(int64_t m, int64_t k)
{
    using namespace lacuna;
    return places_of(m, k).end;
}

extern "C" lac_status_t lac_cuda_spmm_staged(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                             void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    constexpr int64_t kMostAlongY = 65535;
    if (!extents_fit(p)) return LAC_ERR_EXTENT;
    if (p->order != LAC_CUDA_ROWS || p->ldw % 4 || !aligned(p->w, 16)) return LAC_ERR_VALUE;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    const Cut c = cut_of(p->m, p->n, p->k, s->density, current_device().sms);
    const Places at = places_of(p->m, p->k);
    char *const memory = (char *)workspace;
    const Lists lists = {(Event *)memory, (Event *)(memory + at.all), (int *)(memory + at.count),
                         c.chunks,        c.groups * c.rows,          c.held};
    StagedArgs a = {make_gemm_args(p), lists, c.width, c.tiles, c.rows, c.each, c.stages, {}};
    if (c.chunks > kMostAlongY || !fits((int64_t)c.tiles * c.groups)) return LAC_ERR_EXTENT;
    if (!make_tensor_map(&a.w, (const float *)p->w, p->k, p->n, p->ldw, kChunk, c.width))
        return LAC_ERR_VENDOR;
    if (c.chunks > 0) {
        const ListArgs from = {s->data, s->rs, s->cs, (int)p->m, (int)p->k, c.teams, scans_quads(s, p->k),
                               lists};
        const Launch l = {dim3(unsigned(ceil_div(lists.rows, kListWarps)), unsigned(c.chunks)),
                          dim3(kListWarps * kWarp),
                          0,
                          1,
                          false,
                          (cudaStream_t)stream};
        const lac_status_t status =
            s->dt == LAC_U8 ? launch(list_chunks<uint8_t>, l, from) : launch(list_chunks<float>, l, from);
        if (status != LAC_OK) return status;
    }
    const Launch l = {dim3(unsigned(c.tiles * c.groups)),
                      dim3(kWarps * kWarp),
                      size_t(c.stages * c.stage_bytes + kAlign),
                      1,
                      true,
                      (cudaStream_t)stream};
    return c.teams == 4 ? multiply<4>(a, l) : c.teams == 2 ? multiply<2>(a, l) : multiply<1>(a, l);
}

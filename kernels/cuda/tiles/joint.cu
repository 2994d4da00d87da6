/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The joint product by tiles: of each piece of 32 x 32 of the output, six bf16 products by mma.sync over the
 * k that both its rows and its columns have. */
#include "common/async_copy.cuh"
#include "tiles.cuh"
#include "epilogue_store.cuh"
#include "wgmma.cuh"

namespace lacuna
{
namespace
{

constexpr int kPieces = kRowGroups * kRowGroups; /* of a tile; a warp each */
constexpr int kConsumers = kPieces * kWarp, kThreads = kConsumers + kGroup;
constexpr int kConsumerRegisters = 104, kProducerRegisters = 64;
static_assert(kConsumers * kConsumerRegisters + kGroup * kProducerRegisters <= kThreads * 96,
              "a launch gives 96 to a thread");
constexpr int kGroups = 2 * kRowGroups; /* of a tile: of rows, then of columns */
constexpr int kPieceSide = kGroupLines, kDown = kPieceSide / 16, kAcross = kPieceSide / 8;

constexpr int kProducerWarps = kGroup / kWarp, kMine = kGroups / kProducerWarps; /* groups that each brings */

/* A window is some spans of the k of a tile, all of whose lines fit into a stage: they follow each other. */
constexpr int kStages = 3, kCapacity = 363; /* lines */
constexpr int kStage = kCapacity * kJointLine;
static_assert(kGroups * kSpan <= kCapacity, "a span fits");
static_assert(kTileRows * kPitch * 4 <= kStage, "a stage takes a tile's sums when they are exchanged");

/* Lines of an operand that the other one has no use for are left out where there are so many in a span of a
 * group: what is left comes in more copies. */
constexpr int kLeaveOut = 8;

/* A line of zeros behind the stages: of k that there are none. */
constexpr int kZeros = kStages * kStage, kLists = kZeros + kJointLine + 64;
constexpr int kTogether = 4; /* spans whose k are listed together */
constexpr int kList = 256;   /* k that wait for being multiplied, of each warp: less than 16 and these */
static_assert(kList >= kTogether * kSpan + kDepth, "they have room");
constexpr int kAlignment = 128;
constexpr int kShared = kLists + kPieces * kList * 4 + kAlignment;
static_assert(kShared / 16 < 1 << 16, "two addresses in a word");

/* What a stage holds: a window's k, or nothing but the end of a tile, or of all. */
enum Content { kWindow, kTileEnd, kAllEnd };
struct Header {
    uint2 spans[kGroups][kWarp]; /* [group][span of the window] a bit per k that is there; where in shared
                                    memory its first line is, in 16 bytes */
    int count;                   /* spans */
    Content content;
    bool special; /* Inf or NaN is among the floats of a */
    Work work;
};
static_assert(kShared + kStages * sizeof(Header) + 128 <= 227 * 1024, "what a block may have");

struct JointArgs {
    JointPacked a, b;
    TilesOut<float> out;
    TilesSpace s;
    TilesChoice choice;
};

struct Stages {
    unsigned char *memory;
    Header *headers;
    int *items; /* two: of this tile, of the one before */
    barrier_t *full, *empty;
};

/* Position in the ring of stages. */
struct Slot {
    unsigned step;
    __device__ int at() const { return (int)(step % kStages); }
    __device__ unsigned filled() const { return step / kStages % 2; }
    __device__ unsigned freed() const { return filled() ^ 1; }
};

/* Producers: four warps, two groups each ---------------------------------------------------------------- */

/* Of a lane's span: which k each group has, and which of them are brought. */
struct Span {
    uint32_t words[kGroups], brought[kGroups];
    int lines;
};

__device__ inline Span load_span(const JointArgs &g, const Work &work, int span, bool *special)
{
    Span x;
    uint32_t any[2] = {};
#pragma unroll
    for (int i = 0; i < kGroups; i++) {
        const bool of_b = i >= kRowGroups;
        const JointPacked &o = of_b ? g.b : g.a;
        const int group = (of_b ? work.n : work.m) * kRowGroups + i % kRowGroups;
        x.words[i] = 0;
        if (span < work.end) {
            const uint2 mark = o.marks[(int64_t)group * o.spans + span];
            x.words[i] = mark.x;
            if (!of_b && mark.y) *special = true;
        }
        any[of_b] |= x.words[i];
    }
    x.lines = 0;
#pragma unroll
    for (int i = 0; i < kGroups; i++) {
        const uint32_t met = x.words[i] & any[i < kRowGroups];
        const bool less = met == 0 || __popc(x.words[i] ^ met) >= kLeaveOut;
        x.brought[i] = less ? met : x.words[i];
        x.lines += __popc(x.brought[i]);
    }
    return x;
}

/* Begins to copy the lines of a span that are brought, as long as they follow each other. */
__device__ inline void copy_lines(unsigned char *to, const unsigned char *from, uint32_t word,
                                  uint32_t brought, barrier_t *full)
{
    while (brought) {
        const uint32_t first = brought & (0u - brought), out = word & ~brought & ~(first - 1),
                       run = brought & ((out & (0u - out)) - 1);
        const unsigned bytes = (unsigned)(__popc(run) * kJointLine);
        copy_bulk((float *)to, (const float *)(from + __popc(word & (first - 1)) * kJointLine), bytes, full);
        to += bytes;
        word &= ~run, from += bytes; /* what is behind lies as many lines further */
        brought &= ~run;
    }
}

/* This warp's part of a window: the spans of the lanes from first to last, of which this lane's begins
 * `start` lines behind the first. */
__device__ inline void bring_window(const JointArgs &g, const Stages &st, const Slot &slot, const Work &work,
                                    const Span &x, int span, int start, int first, int last)
{
    const int stage = slot.at(), lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp - kPieces;
    const bool mine = lane >= first && lane <= last;
    Header &header = st.headers[stage];
    barrier_t *const full = st.full + stage;
    if (lane == 0 && warp == 0) header.content = kWindow, header.count = last - first + 1;
    int lines = 0, at[kMine];
#pragma unroll
    for (int i = 0; i < kGroups; i++) {
        if (i / kMine == warp) {
            at[i % kMine] = start;
            if (mine)
                header.spans[i][lane - first] =
                    make_uint2(x.brought[i], (unsigned)((stage * kCapacity + start) * (kJointLine / 16)));
            lines += __popc(x.brought[i]);
        }
        start += __popc(x.brought[i]);
    }
    barrier_arrive_promise(full, mine ? (unsigned)(lines * kJointLine) : 0u);
    if (!mine) return;
#pragma unroll
    for (int i = 0; i < kGroups; i++)
        if (i / kMine == warp) {
            const JointPacked &o = i >= kRowGroups ? g.b : g.a;
            const int group = (i >= kRowGroups ? work.n : work.m) * kRowGroups + i % kRowGroups;
            copy_lines(st.memory + stage * kStage + at[i % kMine] * kJointLine,
                       o.lines + ((int64_t)group * o.spans + span) * kSpanBytes, x.words[i], x.brought[i],
                       full);
        }
}

__device__ inline void end_stage(const Stages &st, const Slot &slot, Content content, const Work &work,
                                 bool special)
{
    const int stage = slot.at();
    barrier_wait(st.empty + stage, slot.freed());
    if (threadIdx.x == kConsumers) {
        Header &header = st.headers[stage];
        header.content = content, header.special = special, header.work = work;
    }
    barrier_arrive(st.full + stage);
}

/* Whichever block comes first takes the next tile: they cost what their zeros leave. */
__device__ inline int next_item(const JointArgs &g, const Stages &st, unsigned turn)
{
    if (threadIdx.x == kConsumers) st.items[turn % 2] = atomicAdd(g.s.next, 1);
    any_of<3, kGroup>(false);
    return st.items[turn % 2];
}

__device__ inline void produce(const JointArgs &g, const Stages &st)
{
    const int lane = threadIdx.x % kWarp, items = (int)g.s.tiles * g.s.splits;
    Slot slot = {0};
    Work work = {};
    unsigned turn = 0;
    for (int item = next_item(g, st, turn); item < items; item = next_item(g, st, ++turn)) {
        work = find_work(g.a.groups / kRowGroups, g.s, item, [&](int) { return g.a.spans; });
        bool special = false;
        for (int base = work.begin; base < work.end; base += kWarp) {
            const Span x = load_span(g, work, base + lane, &special);
            const int through = inclusive_sum(x.lines, lane), all = __shfl_sync(kFull, through, kWarp - 1);
            for (int before = 0, first = 0; before < all;) {
                const unsigned fit = __ballot_sync(kFull, through - before <= kCapacity);
                const int last = __popc(fit) - 1; /* they are the first ones */
                barrier_wait(st.empty + slot.at(), slot.freed());
                bring_window(g, st, slot, work, x, base + lane, through - x.lines - before, first, last);
                slot.step++;
                before = __shfl_sync(kFull, through, last), first = last + 1;
            }
        }
        end_stage(st, slot, kTileEnd, work, __any_sync(kFull, special) != 0);
        slot.step++;
    }
    end_stage(st, slot, kAllEnd, work, false);
}

/* Consumers: a warp for each piece ----------------------------------------------------------------------- */

/* Its rows and columns among the tile's groups: the four warps of a scheduler have different ones of both. */
struct Place {
    int row, column;
};
__device__ inline Place my_place()
{
    const int warp = threadIdx.x / kWarp;
    return {warp / kRowGroups, (warp + warp / kRowGroups) % kRowGroups};
}

using Sums = float[kDown][kAcross][4];

/* sum += the six products of 16 k, the smallest first: a sum of few is what the tensor cores' truncation
 * allows. The addresses are those of what ldmatrix reads by this lane: of a, lines 8 (l / 16) + l % 8 and
 * rows 8 (l / 8 % 2) on; of b, lines 8 (l / 8 % 2) + l % 8 and columns 8 (l / 16) on. */
__device__ inline void multiply_depth(Sums &sum, unsigned a_at, unsigned b_at)
{
    uint4 a[kDown][kBf16Splits];
#pragma unroll
    for (int i = 0; i < kDown; i++)
#pragma unroll
        for (int p = 0; p < kBf16Splits; p++)
            a[i][p] = load_transposed((a_at ^ (unsigned)(i * 32)) + p * kSplitLine);
#pragma unroll
    for (int j = 0; j < kAcross; j += 2) {
        uint4 x[kBf16Splits];
#pragma unroll
        for (int p = 0; p < kBf16Splits; p++)
            x[p] = load_transposed((b_at ^ (unsigned)(j * 16)) + p * kSplitLine);
        add_six_products(sum, j, a, x);
    }
}

/* The warp's list of k that both sides have: where their lines lie in shared memory, of b in the upper half
 * of a word, in 16 bytes. A ring. */
struct List {
    unsigned ring, begin, end;
    __device__ unsigned at(unsigned place) const { return ring + place % kList * 4; }
    /* k of some spans from the ath and bth on. */
    template <int kCount> __device__ void add(int lane, const uint2 *a, const uint2 *b)
    {
        const unsigned below = lanes_below(lane), pieces = (unsigned)joint_piece(lane, 0) / 16 * 0x10001u;
        uint2 x[kCount], y[kCount];
#pragma unroll
        for (int u = 0; u < kCount; u++) x[u] = a[u], y[u] = b[u];
#pragma unroll
        for (int u = 0; u < kCount; u++) {
            const uint32_t both = x[u].x & y[u].x;
            const unsigned i = (unsigned)__popc(x[u].x & below), j = (unsigned)__popc(y[u].x & below);
            const unsigned a_at = x[u].y + i * (kJointLine / 16), b_at = y[u].y + j * (kJointLine / 16);
            store_shared_if(both >> lane & 1u, this->at(end + (unsigned)__popc(both & below)),
                            a_at + (b_at << 16) + pieces);
            end += (unsigned)__popc(both);
        }
        __syncwarp();
    }
    __device__ bool whole() const
    {
        return end - begin >= (unsigned)kDepth;
    }
    __device__ void multiply(int lane, unsigned memory, Sums &sum)
    {
        const unsigned a = load_shared_word(at(begin + (unsigned)(lane / 16 * 8 + lane % 8))) & 0xffffu,
                       b = load_shared_word(at(begin + (unsigned)(lane % 16))) >> 16;
        multiply_depth(sum, memory + (a ^ (unsigned)(lane / 8 % 2)) * 16,
                       memory + (b ^ (unsigned)(lane / 16)) * 16);
        begin += kDepth;
    }
    /* What is left, less than 16, made up with zeros. */
    __device__ void multiply_rest(int lane, unsigned memory, Sums &sum)
    {
        if (end == begin) return;
        store_shared_if(end + (unsigned)lane < begin + kDepth, at(end + (unsigned)lane),
                        kZeros / 16 * 0x10001u);
        end = begin + kDepth;
        __syncwarp();
        multiply(lane, memory, sum);
    }
};

constexpr int kNone = -1;

/* How far a consumer has come: k that wait in its list are in the last window, whose stage it then holds. */
struct Consumer {
    Place at;
    List list;
    int held; /* kNone, or the stage of the window before */
    Sums sum;
};

__device__ inline void release(const Stages &st, Consumer *c)
{
    if (c->held != kNone) barrier_arrive(st.empty + c->held);
    c->held = kNone;
}

/* sum += what a window holds for this warp's piece, and what the one before left; less than 16 k are left for
 * the next one. Those of two windows before are not: their stage is wanted. */
__device__ inline void consume_window(const Stages &st, int stage, Consumer *c)
{
    const int lane = threadIdx.x % kWarp;
    const Header &header = st.headers[stage];
    const unsigned memory = shared_address(st.memory);
    const uint2 *const a = header.spans[c->at.row], *const b = header.spans[kRowGroups + c->at.column];
    for (int span = 0, left = header.count; left > 0;) {
        const int count = left >= kTogether ? kTogether : left >= 2 ? 2 : 1;
        if (count == kTogether)
            c->list.add<kTogether>(lane, a + span, b + span);
        else if (count == 2)
            c->list.add<2>(lane, a + span, b + span);
        else
            c->list.add<1>(lane, a + span, b + span);
        span += count, left -= count;
        while (c->list.whole()) {
            c->list.multiply(lane, memory, c->sum);
            release(st, c);
        }
    }
    if (c->held != kNone) {
        c->list.multiply_rest(lane, memory, c->sum);
        release(st, c);
    }
    c->held = stage;
    if (c->list.begin == c->list.end) release(st, c);
}

__device__ inline void clear(Sums &sum)
{
#pragma unroll
    for (int e = 0; e < kDown * kAcross * 4; e++) sum[e / (4 * kAcross)][e / 4 % kAcross][e % 4] = 0.0f;
}

/* Puts the sums by rows into a stage. */
__device__ inline void spread_sums(const Sums &sum, Place at, float *memory)
{
    const int lane = threadIdx.x % kWarp;
    float *const mine =
        memory + (at.row * kPieceSide + lane / 4) * kPitch + at.column * kPieceSide + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < kDown; i++)
#pragma unroll
        for (int j = 0; j < kAcross; j++)
#pragma unroll
            for (int h = 0; h < 2; h++)
                *(float2 *)(mine + (16 * i + 8 * h) * kPitch + 8 * j) =
                    make_float2(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
}

/* The end of a tile: half of the consumers hold it as epilogue_store.cuh wants it, and write it. */
template <bool kBits>
__device__ inline void finish_tile(const JointArgs &g, const Stages &st, int stage, Place at, const Sums &sum)
{
    const Work work = st.headers[stage].work;
    const bool special = st.headers[stage].special;
    float *const memory = (float *)(st.memory + stage * kStage);
    const int number = work.m * g.s.tiles_n + work.n;
    spread_sums(sum, at, memory);
    any_of<1, kConsumers>(false);
    bulk_copy_fence(); /* the next copies to this stage come behind what was written */
    if (threadIdx.x >= kHolders) {
        barrier_arrive(st.empty + stage);
        return;
    }
    float whole[kSums];
    collect_sums(memory, whole);
    barrier_arrive(st.empty + stage);
    unscale(whole);
    if (special) whole[0] = __int_as_float(0x7fffffff); /* Inf times a zero of b is to be found */
    if (g.s.splits > 1)
        store_part(g.s, number, work.split, whole);
    else if (!any_of<2, kHolders>(!all_finite(whole)))
        write_tile<float, kBits>(g.out, g.s, work.m, work.n, whole);
    else if (threadIdx.x == 0)
        note_failed(g.s, number);
}

template <bool kBits> __device__ inline void consume(const JointArgs &g, const Stages &st)
{
    Consumer c = {
        my_place(), {shared_address(st.memory + kLists) + threadIdx.x / kWarp * kList * 4, 0, 0}, kNone, {}};
    clear(c.sum);
    for (Slot slot = {0};; slot.step++) {
        const int stage = slot.at();
        barrier_wait(st.full + stage, slot.filled());
        const Content content = st.headers[stage].content;
        if (content == kAllEnd) return;
        if (content == kWindow) {
            consume_window(st, stage, &c);
        } else {
            c.list.multiply_rest(threadIdx.x % kWarp, shared_address(st.memory), c.sum);
            release(st, &c);
            finish_tile<kBits>(g, st, stage, c.at, c.sum);
            clear(c.sum);
        }
    }
}

/* c := beta c + alpha a b, of a and b as pack_groups left them.
 *
 * Mapping   a block per multiprocessor takes tile after tile of 128 x 128, or parts of their k. Four warps
 *           fill stages with windows: as many spans of 32 k as fit, of each group of 32 rows or columns the
 *           lines that are there, by bulk copies. Sixteen warps have a piece of 32 x 32 each: they find the
 *           k that both its groups have from the bits, and gather their lines by ldmatrix, which takes any
 *           address.
 * Bytes     192 for each k of each group and tile, from cache; 205 KiB of shared memory, read 12 KiB for 32
 *           k of a piece.
 * Order     k in ascending order, 16 of a piece's at a time in the tensor cores, fewer where two windows
 *           have less; the sums of these by fp32 additions; parts in ascending order. Windows are cut by
 *           what the operands hold, whichever block comes.
 * Limit     the chain of a warp: with half of the blocks of both, tensor cores are busy for 43 % of the
 *           clocks, issue slots half of them, shared memory 45 %, the second level of cache 31 % (H200,
 *           2026-11-23). */
template <bool kBits>
__global__ __launch_bounds__(kThreads, 1) void multiply_tiles_joint(const __grid_constant__ JointArgs g)
{
    LACUNA_DYNAMIC_SHARED(unsigned char, dynamic);
    __shared__ Header headers[kStages];
    __shared__ int items[2];
    __shared__ barrier_t full[kStages], empty[kStages];
    unsigned char *const memory = dynamic + (kAlignment - shared_address(dynamic) % kAlignment) % kAlignment;
    const Stages st = {memory, headers, items, full, empty};
    if (threadIdx.x < kJointLine / 16) *((uint4 *)(memory + kZeros) + threadIdx.x) = make_uint4(0, 0, 0, 0);
    if (threadIdx.x == 0) {
        for (int i = 0; i < kStages; i++) {
            barrier_init(full + i, kGroup);
            barrier_init(empty + i, kConsumers);
        }
        bulk_copy_fence();
    }
    __syncthreads();
    dependency_wait();
    if (!chosen(g.choice, true)) return;
    if (threadIdx.x >= kConsumers) {
        registers_fewer<kProducerRegisters>();
        produce(g, st);
    } else {
        registers_more<kConsumerRegisters>();
        consume<kBits>(g, st);
    }
}

} // namespace

lac_status_t multiply_joint(const lac_cuda_tiles_t *p, const TilesChoice &choice, void *workspace,
                            lac_cuda_stream_t stream)
{
    const JointArgs g = {joint_packed(p->m, p->k, (void *)p->packed),
                         joint_packed(p->n, p->k, (void *)p->packed_b), tiles_out<float>(p),
                         tiles_space(p->dt, p->m, p->n, p->k, workspace), choice};
    const int64_t blocks = min<int64_t>(current_device().sms, g.s.tiles * g.s.splits);
    return launch(p->bits ? multiply_tiles_joint<true> : multiply_tiles_joint<false>,
                  {dim3((unsigned)blocks), dim3(kThreads), kShared, 1, true, (cudaStream_t)stream}, g);
}

} // namespace lacuna

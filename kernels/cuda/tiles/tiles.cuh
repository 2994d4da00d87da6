/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the kernels of the product by tiles share: shapes, workspace, the three bf16 splits of a float, or the
 * two f16 numbers, and the one of an element of two bytes, and which tile and steps a block has. */
#ifndef LACUNA_CUDA_TILES_TILES_CUH
#define LACUNA_CUDA_TILES_TILES_CUH

#include "common/device.cuh"
#include "cuda_kernels.h"

namespace lacuna
{

constexpr int kBf16Splits = 3; /* bf16 numbers whose sum is a float */
constexpr int kRowGroups = 4,
              kRowGroupRows = LAC_CUDA_TILES_ROWS; /* of a tile; rows of a that are active together */
constexpr int kTileRows = kRowGroups * kRowGroupRows, kTileCols = LAC_CUDA_TILES_SIDE; /* of a; of b */
constexpr int kStep = LAC_CUDA_TILES_STEP;  /* k that are multiplied together */
constexpr int kDepth = 16;                  /* k of one instruction           */
constexpr int kAll = (1 << kRowGroups) - 1; /* the set of all row groups        */
constexpr int kSets = kAll + 1;
/* Sets in the order in which a tile has their steps: those of fewer row groups first. */
#define LACUNA_SETS(X) X(1) X(2) X(4) X(8) X(3) X(5) X(6) X(9) X(10) X(12) X(7) X(11) X(13) X(14) X(15)

/* A row group's splits of a step: cores of 8 rows x 8 k, a row's 8 k contiguous; the cores of a split along k
 * follow each other, then come the splits, then the next eight rows. */
constexpr int kCore = 8, kCoreBytes = kCore * kCore * 2;
constexpr int kSplitCores = kStep / kCore, kSplitBytes = kSplitCores * kCoreBytes;

/* What depends on the elements, or on how many splits of two bytes stand for one. */
template <int kSplits_> struct SplitShape {
    static constexpr int kSplits = kSplits_;
    static constexpr int kEightRows = kSplits * kSplitBytes; /* bytes from eight rows to the next  */
    static constexpr int kStepBytes = kRowGroupRows / kCore * kEightRows;
    /* Tiles side by side that a block has: where a step has less to multiply, it brings too much for less. */
    static constexpr int kWide = kSplits == 1 ? 2 : 1;
};
template <typename E> struct ShapeOf : SplitShape<1> {
};
template <> struct ShapeOf<float> : SplitShape<kBf16Splits> {
};

/* A float as two f16 numbers: of itself times a power of two that its line has, a row of a or a column of b.
 */
struct ScaledF16 {
};
template <> struct ShapeOf<ScaledF16> : SplitShape<2> {
};
/* What is in memory of an operand. */
template <typename E> struct MemoryOf {
    using type = E;
};
template <> struct MemoryOf<ScaledF16> {
    using type = float;
};
constexpr int kEightRows = ShapeOf<float>::kEightRows, kStepBytes = ShapeOf<float>::kStepBytes;

/* The same of a type that is known on the host alone. */
struct Shape {
    int step_bytes, wide;
};
inline Shape shape_of(lac_dt_t dt)
{
    using Two = SplitShape<1>;
    return dt == LAC_F32 ? Shape{kStepBytes, ShapeOf<float>::kWide} : Shape{Two::kStepBytes, Two::kWide};
}

static_assert(kTileRows == LAC_CUDA_TILES_SIDE, "a tile is square");

/* Cuts memory up into pieces that are aligned to 256 bytes. */
struct Cutter {
    unsigned char *begin, *at;
    unsigned char *take(int64_t bytes)
    {
        unsigned char *mine = at;
        at += round_up(bytes, 256);
        return mine;
    }
};

/* What two f16 numbers leave of floats that they do not fit; of the lines of a tile no more than so many, in
 * no order. */
constexpr int kMostRests = 64;
struct Rest {
    int line, k; /* line: of the tile's */
    float rest;
};

/* What is known of an operand's lines, in tiles of them, where floats are two f16 numbers. */
struct ScaledLines {
    int *exponents;               /* [tile][kTileRows] of the power of two that a line was multiplied by */
    int *rests;                   /* [tile] how many there are                                           */
    Rest *rest;                   /* [tile][kMostRests]                                                  */
    unsigned long long *nonzeros; /* in samples of all lines                                   */
    int *wide;                    /* not 0: of some tile there are too many rests                        */
};
inline ScaledLines scaled_lines(Cutter *cut, int64_t tiles)
{
    ScaledLines s;
    s.exponents = (int *)cut->take(tiles * kTileRows * 4);
    s.rests = (int *)cut->take(tiles * 4);
    s.rest = (Rest *)cut->take(tiles * kMostRests * (int64_t)sizeof(Rest));
    s.nonzeros = (unsigned long long *)cut->take(16), s.wide = (int *)(s.nonzeros + 1);
    return s;
}

/* Of which of its forms f32 is multiplied, decided on the device by what both operands hold. a.wide NULL:
 * there is no choice. */
struct FormChoice {
    ScaledLines a, b;
    double fewest; /* product of both counts of nonzeros: with fewer, sums have too few terms */
};
template <typename E> __device__ inline bool in_form(const FormChoice &c)
{
    return !c.a.wide;
}
__device__ inline bool two_f16_do(const FormChoice &c)
{
    return !*c.a.wide && !*c.b.wide && (double)*c.a.nonzeros * (double)*c.b.nonzeros >= c.fewest;
}
template <> __device__ inline bool in_form<float>(const FormChoice &c)
{
    return !c.a.wide || !two_f16_do(c);
}
template <> __device__ inline bool in_form<ScaledF16>(const FormChoice &c)
{
    return two_f16_do(c);
}

/* Where things lie in what is made of a. Each k of a tile has a set of row groups that it is active in. Steps
 * are whole steps of one set's k; what is left of a set's k goes to a larger set, at last to that of all
 * row groups, whose last step alone may have columns without a k: their splits are zeros. */
struct TilesPacked {
    bool pairs; /* two row groups are active together */
    int tiles_m, words, room,
        lines;        /* words of `active` of a row group; steps that a row group, a tile has room for */
    uint32_t *active; /* [row group] a bit per k                                                   */
    int *tile_steps, *row_group_steps; /* [tile]; [row group] */
    int *set_steps;        /* [tile][kSets] of each set of row groups, in the order of LACUNA_SETS; then
                              whether of any step eight rows of b are no neighbours                  */
    int4 *slots;           /* [tile][lines] a step's slot among each row group's, -1: it is not there   */
    int *rows;             /* [tile][lines kStep] of b; ~row: a column without a k                     */
    unsigned char *splits; /* [row group][room][bytes of a step]                                        */
    ScaledLines scaled;    /* of f32 */
    unsigned long long *k_counts; /* of two bytes: k that pairs of row groups have listed; times 2^32, k of
                                     the whole steps of kWholeStep that these lie in */
    int *whole_of_tile;           /* [tile] of two bytes: these k of whole steps of its pairs */
    int64_t bytes;
};

/* Elements of two bytes are their own splits, so that they need not be packed: where most k of those whole
 * steps that have something are listed, as where zeros come in large blocks, steps are multiplied as they lie
 * in memory, and nothing is listed. Decided on the device, when all k are marked. A count that begins at
 * kNeverUnpacked forbids it, as for an a that the copy engine cannot read. */
constexpr int kWholeStep = 64;
constexpr unsigned long long kNeverUnpacked = 1ull << 63;
__device__ inline bool takes_unpacked(const TilesPacked &s)
{
    if (!s.k_counts) return false;
    const unsigned long long counts = *s.k_counts, listed = (uint32_t)counts, whole = counts >> 32;
    return 4 * whole <= 5 * listed; /* a listed k takes 5/4 of the time that one of a whole step does */
}

inline TilesPacked tiles_packed(lac_dt_t dt, int64_t m, int64_t k, int64_t room, void *memory)
{
    TilesPacked s = {};
    s.pairs = dt != LAC_F32;
    s.tiles_m = (int)ceil_div(m, kTileRows), s.words = (int)ceil_div(k, 32);
    s.room = (int)room, s.lines = (int)ceil_div(k, kStep);
    const int64_t tiles = s.tiles_m, row_groups = kRowGroups * tiles;
    Cutter cut = {(unsigned char *)memory, (unsigned char *)memory};
    s.splits = cut.take(row_groups * room * shape_of(dt).step_bytes);
    s.active = (uint32_t *)cut.take(row_groups * s.words * 4);
    s.set_steps = (int *)cut.take(tiles * kSets * 4);
    s.slots = (int4 *)cut.take(tiles * s.lines * 16);
    s.rows = (int *)cut.take(tiles * s.lines * kStep * 4);
    s.tile_steps = (int *)cut.take(tiles * 4);
    s.row_group_steps = (int *)cut.take(row_groups * 4);
    if (dt == LAC_F32)
        s.scaled = scaled_lines(&cut, tiles);
    else
        s.k_counts = (unsigned long long *)cut.take(sizeof *s.k_counts),
        s.whole_of_tile = (int *)cut.take(tiles * 4);
    s.bytes = cut.at - cut.begin;
    return s;
}

/* b as two f16 planes: of each k the nearest numbers of its row, then those of what they leave, each of whole
 * strips of columns as wgmma reads them. Of sixteen those with even numbers come first: so wgmma leaves
 * neighbours in a thread.
 */
struct Planes {
    unsigned char *at;
    int columns; /* of a plane's row */
    ScaledLines scaled;
    __host__ __device__ int64_t pitch() const { return columns * (int64_t)4; }
};
constexpr int kPlaneColumns = 16, kPlaneStrip = 64;

/* Whether there is room for planes of b in the workspace: where they may pay, and are not too large; and
 * where they are small, so that any product can be tested. */
inline bool has_planes(lac_dt_t dt, int64_t m, int64_t n, int64_t k)
{
    constexpr int64_t kSmall = 1 << 24, kLarge = INT64_C(1) << 31;
    const int64_t bytes = k * round_up(n, kPlaneStrip) * 4;
    return dt == LAC_F32 && lac_cuda_tiles_warpgroups_here() &&
           (bytes <= kSmall || (bytes <= kLarge && lac_cuda_tiles_in_f16(m, n, k, true)));
}

/* Where things lie in the workspace of a product. */
struct TilesSpace {
    int tiles_n;
    int64_t tiles;              /* of c                                                         */
    int across, works;          /* what blocks have of a row of tiles, and of c: one, or two neighbours */
    int *failed, *failed_count; /* tiles without a finite sum                                   */
    int *next;                  /* works that blocks came for                                   */
    int splits;                 /* blocks that share the k of a tile                            */
    float4 *parts;              /* [split][tile][kTileRows kTileCols / 4], where there are some */
    uint2 *occupied;            /* [tile][kHolders] which of its sums a thread wrote as no zeros */
    Planes planes;              /* of f32 with warpgroup products; in the same place for all panels */
    int64_t bytes;
};

inline TilesSpace tiles_space(lac_dt_t dt, int64_t m, int64_t n, int64_t k, void *workspace)
{
    TilesSpace s = {};
    const int64_t tiles_m = ceil_div(m, kTileRows);
    s.tiles_n = (int)ceil_div(n, kTileCols), s.tiles = tiles_m * s.tiles_n;
    s.across = (int)ceil_div(s.tiles_n, shape_of(dt).wide), s.works = (int)(tiles_m * s.across);
    Cutter cut = {(unsigned char *)workspace, (unsigned char *)workspace};
    if (has_planes(dt, m, n, k)) {
        s.planes.columns = (int)round_up(n, kPlaneStrip);
        s.planes.at = cut.take(k * s.planes.pitch());
        s.planes.scaled = scaled_lines(&cut, s.tiles_n);
    }
    s.failed = (int *)cut.take(s.tiles * 4);
    s.failed_count = (int *)cut.take(8), s.next = s.failed_count + 1;
    s.splits = lac_cuda_tiles_splits(s.works, ceil_div(k, kStep), current_device().sms);
    s.parts = (float4 *)cut.take(s.splits > 1 ? s.splits * s.tiles * kTileRows * kTileCols * 4 : 0);
    s.occupied = (uint2 *)cut.take(s.tiles * kTileRows * kTileCols / 8);
    s.bytes = cut.at - cut.begin;
    return s;
}

/* What is read of a, and what is made of it. */
template <typename E> struct PackArgs {
    const E *a;
    int64_t ars, acs;
    int m;
    int64_t k;
    TilesPacked s;
    FormChoice form;
    bool beside; /* what was launched last, of whose making the lists want nothing */
};

template <typename E> PackArgs<E> pack_args(const lac_cuda_tiles_t *p, int64_t room, void *memory)
{
    return {(const E *)p->a,
            p->ars,
            p->acs,
            (int)p->m,
            p->k,
            tiles_packed(p->dt, p->m, p->k, room, memory),
            {},
            false};
}

/* Before they are split, floats are scaled so that every split of every float, subnormals too, is a normal
 * bf16. */
constexpr float kScale = 0x1p24f, kUnscale = 0x1p-48f; /* of an operand; of a product */

/* Three bf16 splits of two scaled floats, rounded to nearest: their sum is the float, exactly. Inf, NaN and
 * what overflows when it is scaled leave a NaN or Inf. */
__device__ inline void split_pair(float lo, float hi, uint32_t (&split)[kBf16Splits])
{
    split_bf16(lo * kScale, hi * kScale, split);
}

/* x 2^e for e from -252 to 254, rounded once unless it is subnormal. */
__device__ inline float times_power(float x, int e)
{
    const int half = e / 2;
    return x * power_of_two(half) * power_of_two(e - half);
}

/* Whether two f16 numbers hold x, scaled, as well as those of ordinary size: to 2^-22 of it. */
__device__ inline bool fits_two_f16(float x, float scaled)
{
    constexpr float kLeast = 0.125f, kOver = 65520.0f;
    return (x == 0.0f) | ((fabsf(scaled) >= kLeast) & (fabsf(scaled) < kOver)); /* no branches */
}

/* Two f16 numbers each of x and y, rounded to nearest. Inf and NaN leave a NaN. */
__device__ inline void split_two_f16(float x, float y, uint32_t (&split)[2])
{
    split[0] = nearest_f16_pair(x, y);
    x -= f16_value((uint16_t)split[0]), y -= f16_value((uint16_t)(split[0] >> 16));
    split[1] = nearest_f16_pair(x, y);
}

/* For an element of a line that does not fit: keeps what its two numbers, which lie `apart` from each other,
 * leave of it. Where they hold nothing of it, it is left whole, and they become 0. Nothing is left of Inf and
 * NaN. */
__device__ inline void leave_rest(const ScaledLines &s, int line, int k, float x, int exponent,
                                  uint16_t *number, int64_t apart)
{
    constexpr float kOver = 65520.0f, kUnder = 0x1p-100f, kLargest = 3.402823466e+38f;
    const float scaled = x * power_of_two(exponent);
    const int tile = line / kTileRows;
    if (fits_two_f16(x, scaled) || !(fabsf(x) <= kLargest)) return;
    float rest = x;
    if (fabsf(scaled) < kOver && fabsf(scaled) > kUnder) {
        const uint16_t first = nearest_f16(scaled);
        const float left = scaled - f16_value(first);
        rest = (left - f16_value(nearest_f16(left))) * power_of_two(-exponent);
        if (rest == 0.0f) return;
    } else {
        number[0] = number[apart] = 0;
    }
    if (*(volatile int *)s.wide) return;
    const int at = atomicAdd(s.rests + tile, 1);
    if (at < kMostRests)
        s.rest[tile * kMostRests + at] = {line % kTileRows, k, rest};
    else
        *s.wide = 1;
}

/* An element of two bytes is its own split. */
template <lac_dt_t kType>
__device__ inline void split_pair(Half<kType> lo, Half<kType> hi, uint32_t (&split)[1])
{
    split[0] = (uint32_t)hi.bits << 16 | lo.bits;
}

/* The products on tensor cores of lac_cuda_tiles_run. By warpgroup products (wgmma): compute capability
 * 9.0 alone. By those of a warp (mma.sync): every device from 8.0 on. */
struct FormArgs {
    FormChoice choice;
    unsigned char *splits; /* of a, as bf16 numbers */
};
lac_status_t multiply_by_wgmma(const lac_cuda_tiles_t *p, const FormArgs &form, void *workspace,
                               lac_cuda_stream_t stream);
lac_status_t multiply_by_mma(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);
/* Of elements of two bytes, where takes_unpacked. */
bool may_be_unpacked(const lac_cuda_tiles_t *p);
lac_status_t multiply_unpacked(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);
/* b by rows from b by columns, where its product is not taken unpacked. */
lac_status_t transpose_b(const lac_cuda_tiles_t *p, const TilesPacked &a, lac_cuda_stream_t stream);
/* Marks, lists and splits of lac_cuda_tiles_pack. `beside`: what was launched last, find_scales, when all
 * before was done. */
lac_status_t mark_steps(const lac_cuda_tiles_t *p, bool beside, int64_t room, void *memory,
                        lac_cuda_stream_t stream);
lac_status_t list_steps(const lac_cuda_tiles_t *p, int64_t room, void *memory, lac_cuda_stream_t stream);
lac_status_t pack_steps(const lac_cuda_tiles_t *p, bool two_f16, int64_t room, void *memory,
                        lac_cuda_stream_t stream);
/* Whether floats are two f16 numbers, where the operands allow it; `packed`: a is, or is to be kept. */
bool takes_two_f16(const lac_cuda_tiles_t *p, bool packed);
/* The bf16 splits of a by lists that there are, where the product is not of two f16 numbers. */
lac_status_t pack_bf16(const lac_cuda_tiles_t *p, const FormArgs &form, int64_t room, void *memory,
                       lac_cuda_stream_t stream);
/* Nothing was found yet: no tile of a product has failed, no k of a is marked, no line of a or b has a rest;
 * any of them may be NULL. */
lac_status_t begin_tiles(const lac_cuda_tiles_t *p, const TilesSpace *product, const TilesPacked *a,
                         const ScaledLines *of_a, const ScaledLines *of_b, lac_cuda_stream_t stream);
/* Exponents of the lines of a and b, either of which may be NULL, by a sample. */
lac_status_t find_scales(const lac_cuda_tiles_t *p, const ScaledLines *of_a, const ScaledLines *of_b,
                         lac_cuda_stream_t stream);
/* b's planes, with a packed before; and pack_steps of two f16 numbers beside them. */
lac_status_t pack_planes(const lac_cuda_tiles_t *p, const Planes &planes, lac_cuda_stream_t stream);
lac_status_t pack_both(const lac_cuda_tiles_t *p, const Planes &planes, int64_t room, void *memory,
                       lac_cuda_stream_t stream);
/* Both counts of nonzeros as a sample finds them, multiplied, where sums have some sixteen terms. */
double fewest_nonzeros(const lac_cuda_tiles_t *p);

/* The way of a block through the product by tiles: which tile, which of its steps, whose they are. */

constexpr int kRowsTogether =
    16; /* tiles of rows whose blocks follow each other: they share b in the cache */

/* A tile, or two neighbours, and its steps, or a part of them. */
struct Work {
    int m, n, split, begin, end; /* n: of TilesSpace.across */
};

/* Of tiles x splits: kRowsTogether tiles of rows, then the next column of tiles. */
__device__ inline Work find_place(const TilesPacked &a, const TilesSpace &s, int item)
{
    const int split = item / s.works, index = item % s.works;
    const int group = kRowsTogether * s.across, first = index / group * kRowsTogether;
    const int rows = min(kRowsTogether, a.tiles_m - first), at = index % group;
    return {first + at % rows, at / rows, split, 0, 0};
}

/* ... with its part of the steps that its tile has: 2^26 times 16 at most. */
__device__ inline void share_steps(const TilesSpace &s, unsigned steps, Work *work)
{
    const unsigned split = (unsigned)work->split, parts = (unsigned)s.splits;
    work->begin = (int)(steps * split / parts), work->end = (int)(steps * (split + 1) / parts);
}

__device__ inline Work find_work(const TilesPacked &a, const TilesSpace &s, int item)
{
    Work work = find_place(a, s, item);
    share_steps(s, (unsigned)a.tile_steps[work.m], &work);
    return work;
}

/* Of b, as a list names it; a column without a k names a row, too. */
__device__ inline int listed_row(int row)
{
    return row < 0 ? ~row : row;
}

/* Which row of b this lane's column of a step names. */
__device__ inline int listed_row(const TilesPacked &a, int m, int step)
{
    return listed_row(a.rows[((int64_t)m * a.lines + step) * kStep + threadIdx.x % kWarp]);
}

/* Where a row group's splits of a step are, in steps; -1: it is not the row group's. */
__device__ inline int64_t splits_at(const TilesPacked &a, int m, int step, int row_group)
{
    const int slot = ((const int *)(a.slots + (int64_t)m * a.lines + step))[row_group];
    return slot < 0 ? -1 : ((int64_t)m * kRowGroups + row_group) * a.room + slot;
}

/* Four columns of a row of b, of which `left` are inside; kWhole: all. */
template <bool kWhole> __device__ inline float4 load_quad(const float *at, int left)
{
    float4 x = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (kWhole || left > 3) {
        x = load_once4(at);
    } else {
        if (left > 0) x.x = at[0];
        if (left > 1) x.y = at[1];
        if (left > 2) x.z = at[2];
    }
    return x;
}

} // namespace lacuna

#endif

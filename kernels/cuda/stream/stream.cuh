/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the kernels of the streamed product share: how the work is cut, and what lies in the workspace. */
#ifndef LACUNA_CUDA_STREAM_STREAM_CUH
#define LACUNA_CUDA_STREAM_STREAM_CUH

#include "common/gate.cuh"
#include "event/few.cuh"

namespace lacuna
{
namespace streamed
{

constexpr int kStep = 32;         /* k of a step: a stage of the pipeline                  */
constexpr int kHalves = 2;        /* of a step                                             */
constexpr int kPiece = 16;        /* k of one                                              */
constexpr int kCore = 8;          /* rows of S of a core matrix of wgmma                   */
constexpr int kSlots = 4;         /* k of it, of a row: 16 bytes                           */
constexpr int kGroupColumns = 64; /* of W; a block has some such groups                    */
constexpr int kFewRows = 8;       /* of S: then, or where the product is small, small.cu   */
constexpr int kGroupRows = 16;    /* makes it, for so many rows at a time, or              */
constexpr int kSmallTile = 32;    /* ... columns of W                                      */
constexpr int kBf16Rows = 32;     /* for which tensor cores have time enough for six bf16  */
constexpr int kMaxRows = 64;      /* in one pass over W, and if there are more,            */
constexpr int kManyRows = 128;    /* for which a block has fewer columns: of so many groups, */
constexpr int kFewGroups = 2;     /* as many sums as of fewer rows, or one more,           */
constexpr int kMoreGroups = 3;    /* which keeps tensor cores busier                       */
constexpr int kMostGroups = 4;    /* that a block has otherwise                            */
constexpr int kMaxParts = 32;     /* of k                                                  */
constexpr int kMinPartSteps = 4;  /* of a part, where there is more than one               */
constexpr int kThinSteps = 16;    /* of a k that is not cut                                */
constexpr int kMostOfCluster = 3; /* parts of k that are a cluster                         */
constexpr int kApart = 4;         /* rows of W: every so many begin as far off 16 bytes;   */
constexpr int kMostApart = 1024;  /* rows of S then: sums of four parts are stored         */
static_assert(kHalves * kPiece == kStep, "halves are whole pieces");

/* Six products of bf16 in place of three of TF32, where a single term's error would show in a sum: */
constexpr int kFewTerms = 16;    /* where a row of S has fewer nonzeros on average,    */
constexpr int kWideBits = 28;    /* numbers so many bits smaller than the largest of their neighbours,    */
constexpr int kWideBitsOfW = 20; /* or of W so many, in what two warps of a block have of its first step */

/* How W's rows, or its columns along k, begin: as the copy engine takes them; off 16 bytes, where it takes
 * every fourth row, of which all begin as far off (a description of W for each four, shifted by up to three
 * columns: their sums are parts of k of their own, and shifted back when they are added up); or off 16 bytes
 * along k, which small.cu alone reads. */
enum Lines { kAligned, kApartRows, kApartColumns };
inline Lines lines_of(const lac_cuda_product_t *p)
{
    if (p->ldw % 4 == 0 && aligned(p->w, 16)) return kAligned;
    return p->order == LAC_CUDA_ROWS ? kApartRows : kApartColumns;
}
/* Elements from 16 aligned bytes to the first of row q of W. */
inline int elements_before(const lac_cuda_product_t *p, int q)
{
    return (int)(((uintptr_t)p->w / sizeof(float) + (uint64_t)(q * p->ldw)) % 4);
}

/* A product in pieces of kGroupRows x kSmallTile x kPiece. */
struct Pieces {
    int64_t groups, tiles, chunks;
};
inline Pieces pieces_of(int64_t m, int64_t n, int64_t k)
{
    return {ceil_div(m, kGroupRows), ceil_div(n, kSmallTile), ceil_div(k, kPiece)};
}

/* Whether small.cu makes the product: up to so many pieces for each multiprocessor, where what comes before
 * and behind the pieces of k counts as two more, it is faster than launches one behind the other. 64 x 784 x
 * 4096 (198 pieces) takes 15.2 us in place of 16.6, 64 x 2048 x 2048 (252) 18.9 and 18.4, 784 x 64 x 4096
 * (285) 26.4 and 15.4; 10 x 5000 x 5000 (375) 34.4 and 37.5, 10 x 10000 x 10000 (1487) 131 and 118 (H200,
 * 2026-11-27). */
inline bool takes_small(int64_t m, int64_t n, int64_t k, Lines lines, int sms)
{
    constexpr int kMostPieces = 200, kMostOfOneGroup = 380;
    if (m <= kFewRows) return true;
    const Pieces p = pieces_of(m, n, k);
    const int64_t pieces = p.groups * p.tiles * (p.chunks + 2);
    if (p.groups == 1) return lines != kAligned || pieces <= kMostOfOneGroup * sms;
    return pieces <= kMostPieces * sms;
}

/* Whether rank_k.cu does: a short k, of which a block holds rows of S in registers, and tiles of the output
 * for most multiprocessors. 48 x 100 x 5000 takes 6.7 us in place of 5.7 by small.cu, 64 x 128 x 20000 12.5
 * and 19.6; 512 x 64 x 512 (32 tiles) 4.8, cuBLAS 3.7 (H200, 2026-11-28). */
constexpr int kTileRows = 128, kTileColumns = 64;
inline int64_t rank_k_tiles(int64_t m, int64_t n)
{
    return ceil_div(m, kTileRows) * ceil_div(n, kTileColumns);
}
inline bool takes_rank_k(int64_t m, int64_t n, int64_t k, int sms)
{
    constexpr int kMostK = 128, kLeastRows = 49;
    constexpr double kLeastBusy = 0.6;
    return k <= kMostK && m >= kLeastRows && (double)rank_k_tiles(m, n) >= kLeastBusy * sms;
}

/* Whether the product is one launch, whatever S is like. */
inline bool is_single(const lac_cuda_product_t *p, int sms)
{
    return takes_rank_k(p->m, p->n, p->k, sms) || takes_small(p->m, p->n, p->k, lines_of(p), sms);
}

/* How a product is cut. A block makes sums of an item, a tile of columns for a pass of rows and a part of k,
 * after another; items of the same part are made side by side, so that whole rows of W are read at once. */
struct Shape {
    bool single;        /* one launch: the rest says that nothing is packed, and no sums are stored */
    int rows, passes;   /* of S in a pass, padded to what the instruction has; passes over W */
    int groups;         /* of 64 columns that a block has                                    */
    int tiles_n, tiles; /* of columns; times passes                                          */
    int steps, parts, blocks;
    bool apart;   /* kApartRows: k comes in four turns, of every fourth, steps / 4 each */
    bool direct;  /* one part, and its sums are written as the output: no third launch */
    bool counted; /* nonzeros of S are, for the form in which it is multiplied         */
    bool cluster; /* one launch: S as it lies, the blocks of a tile's parts a cluster  */
};

__host__ __device__ inline int width_of(const Shape &s)
{
    return s.tiles_n * s.groups * kGroupColumns; /* a row of sums */
}

/* Bytes of a step of S, rows x 32 k: core matrices, those of the same k together. */
__host__ __device__ constexpr int step_bytes(int rows)
{
    return rows * kStep * 4;
}

struct Space {
    uint8_t *steps;     /* [passes][steps] of step_bytes                                 */
    unsigned *nonzeros; /* of 32 pieces of S, where the shape has them counted, or kWide */
    float *sums;        /* [parts][passes * rows][width]                                 */
};
constexpr unsigned kWide = ~0u;

/* Pieces that S is packed in: rows of half a step. */
__host__ __device__ inline int64_t pack_pieces(const Shape &h)
{
    return (int64_t)h.passes * h.steps * kHalves * h.rows;
}
__host__ __device__ inline int counts_of_pieces(const Shape &h)
{
    return (int)ceil_div(pack_pieces(h), kWarp);
}

/* What so many parts take, in steps: all blocks work side by side, on as many items each, of a step at a
 * time; the sums are written and read once more, at about the rate of W, by another launch. */
inline double steps_of(const Shape &s, int parts, int capacity)
{
    const double sums =
        8.0 * s.passes * s.rows * width_of(s) / (4.0 * kStep * s.groups * kGroupColumns * capacity);
    const int64_t turns = ceil_div((int64_t)s.tiles * parts, capacity);
    return (double)(turns * ceil_div(s.steps, parts)) + 0.5 * (double)turns + sums * parts;
}

inline void cut_k(Shape &s, int capacity)
{
    const int first = s.apart ? kApart : 1;
    s.parts = first;
    for (int p = 2 * first; p <= kMaxParts && s.steps / p >= kMinPartSteps; p += first)
        if (steps_of(s, p, capacity) < steps_of(s, s.parts, capacity)) s.parts = p;
}

inline void cut_rows(Shape &s, int64_t m, int rows, int capacity)
{
    s.rows = rows;
    s.passes = (int)ceil_div(m, rows);
    s.counted = rows > kBf16Rows;
    s.tiles = s.tiles_n * s.passes;
    s.blocks = (int)min<int64_t>(capacity, (int64_t)s.tiles * s.parts);
}

/* A cut by tiles of so many groups of columns. */
inline Shape cut_columns(Shape s, int64_t m, int64_t n, int groups, int sms)
{
    const int each = (int)ceil_div(m, ceil_div(m, kManyRows));
    int rows = kManyRows;
    s.groups = groups;
    s.tiles_n = (int)ceil_div(n, groups * kGroupColumns);
    for (int fewer : {112, 96, 64, 56, 48, 32, 16}) /* there is a kernel for each */
        if (each <= fewer) rows = fewer;
    cut_rows(s, m, rows, sms);
    cut_k(s, sms);
    cut_rows(s, m, s.rows, sms);
    return s;
}

/* What a step of kMoreGroups takes, beside one of kFewGroups: half as many columns more in 1.39 us in place
 * of 1.05 (H200, 2026-11-29). */
constexpr double kLongerStep = 1.33;

/* A short k is not cut, and no sums are stored, where tiles alone keep all multiprocessors busy. */
inline bool is_thin(const Shape &s, int64_t m, int capacity)
{
    return m > kMaxRows / 2 && s.steps <= kThinSteps && s.tiles_n * ceil_div(m, kMaxRows) > capacity;
}

inline Shape shape_of(const lac_cuda_product_t *p, int sms)
{
    const Lines lines = lines_of(p);
    const int64_t m = p->m, k = p->k;
    int64_t n = p->n;
    Shape s = {};
    s.single = s.direct = is_single(p, sms);
    if (s.single) return s;
    s.apart = lines == kApartRows;
    if (s.apart) n += 2 * (kApart - 1); /* columns of the last four of which all are shifted */
    s.groups = kMostGroups;
    s.tiles_n = (int)ceil_div(n, s.groups * kGroupColumns);
    s.steps = (int)(s.apart ? kApart * ceil_div(ceil_div(k, kApart), kStep) : ceil_div(k, kStep));
    s.parts = 1;
    s.direct = !s.apart && is_thin(s, m, sms);
    if (s.direct) {
        cut_rows(s, m, kMaxRows, sms);
        return s;
    }
    if (m <= kMaxRows) return cut_columns(s, m, n, kMostGroups, sms);
    const Shape few = cut_columns(s, m, n, kFewGroups, sms), more = cut_columns(s, m, n, kMoreGroups, sms);
    return kLongerStep * steps_of(more, more.parts, sms) < steps_of(few, few.parts, sms) ? more : few;
}

/* How many clusters of so many blocks, of a multiprocessor each, find room at once: 132, 66 and 39 on an
 * H200. */
inline int clusters_of(int blocks, int sms)
{
    constexpr double kRoom[kMostOfCluster] = {1.0, 0.5, 0.3};
    return (int)(kRoom[blocks - 1] * sms);
}

/* Whether the product of this shape is one launch of clusters, where S lies as the copy engine takes it, and
 * the output by rows: if these find room at once, and take fewer steps than three launches; the shape becomes
 * theirs then. Such clusters take about kAround steps around their own, and kMeet for each part; the other
 * launches kLaunches beside the sums that are written and read, and a step of 112 rows is shorter than one of
 * 128. 1000 x 1000 x 1000 takes 25.8 us in place of 30.9, 700 x 5000 x 700 68.4 and 74.9, 512 x 1024 x 1024
 * (32 tiles of three parts) 21.4 and 19.8 (H200, 2026-11-29). */
inline bool takes_cluster(Shape &shape, const lac_cuda_product_t *p, const lac_cuda_dense_t *of_s, int sms)
{
    constexpr double kAround = 6.2, kMeet = 0.6, kLaunches = 2.7, kFewerRows = 0.95;
    constexpr int kLeastRows = 112; /* of a pass: of fewer, so many more rows of padding cost more */
    if (shape.single || shape.direct || shape.apart || shape.rows < kLeastRows) return false;
    if (p->cs != 1 || of_s->dt != LAC_F32 || of_s->cs != 1 || of_s->rs % 4 || !aligned(of_s->data, 16))
        return false;
    Shape s = shape;
    s.cluster = true;
    s.rows = kManyRows;
    s.groups = kFewGroups;
    s.tiles_n = (int)ceil_div(p->n, s.groups * kGroupColumns);
    s.passes = (int)ceil_div(p->m, s.rows);
    s.tiles = s.tiles_n * s.passes;
    for (s.parts = kMostOfCluster; s.tiles > clusters_of(s.parts, sms); s.parts--)
        if (s.parts == 1) return false;
    s.parts = min(s.parts, s.steps);
    s.blocks = s.tiles * s.parts;
    const double less =
        (shape.rows < kManyRows ? kFewerRows : 1.0) * (shape.groups == kMoreGroups ? kLongerStep : 1.0);
    const bool takes = (double)ceil_div(s.steps, s.parts) + kAround + kMeet * s.parts <
                       less * steps_of(shape, shape.parts, sms) + kLaunches;
    if (takes) shape = s;
    return takes;
}

inline Space space_of(const Shape &s, void *workspace)
{
    Space space = {};
    char *at = (char *)workspace;
    space.steps = (uint8_t *)at, at += round_up((int64_t)s.passes * s.steps * step_bytes(s.rows), 256);
    space.nonzeros = (unsigned *)at, at += s.counted ? round_up(4 * (int64_t)counts_of_pieces(s), 256) : 0;
    space.sums = (float *)at;
    return space;
}
inline int64_t space_bytes(const Shape &s)
{
    return (char *)space_of(s, nullptr).sums - (char *)nullptr +
           (s.direct ? 0 : 4 * (int64_t)s.parts * s.passes * s.rows * width_of(s));
}

/* A stage of the pipeline, one after the other. */
template <int kStages> struct Ring {
    int stage = 0, round = 0;
    __device__ void next()
    {
        if (++stage == kStages) stage = 0, round ^= 1;
    }
};

/* The second launch; multiply.cu is code for compute capability 9.0 alone. With a gate, it has work where
 * many were counted. Where the counts are there, it lets the next launch begin at once; else, and where few
 * were counted, the next one begins when all of its blocks have ended. */
lac_status_t multiply(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Shape &shape,
                      const Space &space, const Gate &gate, cudaStream_t stream);

/* The only launch of a product that takes_cluster. */
lac_status_t multiply_cluster(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Shape &shape,
                              cudaStream_t stream);

/* The only launch of a product of up to kFewRows rows by a W along k, where both operands are read 16 bytes
 * at a time; of few rows by a W by rows (event/few.cu); of one with a short k; or of another small product.
 * With a gate, all but few.cu have work where many were counted. */
bool takes_gemv(const lac_cuda_product_t *p, const lac_cuda_dense_t *s);
inline lac_cuda_stream_kernel_t kernel_of(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, int sms)
{
    if (!is_single(p, sms)) return LAC_CUDA_STREAM_STEPS; /* or _CLUSTER, which takes_cluster says */
    if (takes_gemv(p, s)) return LAC_CUDA_STREAM_GEMV;
    if (takes_few_full(p, s, sms)) return LAC_CUDA_STREAM_FEW;
    return takes_rank_k(p->m, p->n, p->k, sms) ? LAC_CUDA_STREAM_RANK_K : LAC_CUDA_STREAM_SMALL;
}
int64_t gemv_rounds(const lac_cuda_product_t *p, int sms); /* of loads, one behind the other, of all warps */
lac_status_t multiply_gemv(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Gate &gate,
                           cudaStream_t stream);
lac_status_t multiply_rank_k(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Gate &gate,
                             cudaStream_t stream);
lac_status_t multiply_small(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Gate &gate,
                            cudaStream_t stream);

} // namespace streamed
} // namespace lacuna
#endif

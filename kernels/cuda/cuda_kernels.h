/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The contract of the CUDA kernels: arithmetic on raw device pointers, no policy, no allocation, no sync.
 *
 * Every sparse route computes one problem, "S times W":
 *
 *     out[i, j] := beta * out[i, j] + alpha * sum over k of S[i, k] * W[k, j]      i < m, j < n, k < kk
 *
 * and what `epilogue` says of each element is done where it is written. S is the sparse operand, W the dense
 * operand. A right-hand sparse operand is the same problem with the product transposed. Strides are in
 * elements; element (r, c) of X lies at X[r * rs + c * cs].
 *
 * Common to all launchers:
 *  - all pointers are device pointers; work is queued on `stream`; nothing is allocated, synchronised or
 *    copied, so every launcher may be captured into a graph;
 *  - sums run in one fixed order per output element, with fused multiply-adds in f32 and no float atomics:
 *    the same inputs on the same device give the same bits;
 *  - zeros of S are skipped (0 * Inf and 0 * NaN are dropped), -0 is a zero, NaN is not;
 *  - beta == 0 never reads out; W and S are read only where needed;
 *  - extents and leading dimensions must be below 2^31 each (LAC_ERR_EXTENT otherwise); products of them may
 *    pass it. LAC_ERR_VENDOR means that a launch failed. Arguments are otherwise trusted. */
#ifndef LACUNA_CUDA_CUDA_KERNELS_H
#define LACUNA_CUDA_CUDA_KERNELS_H

#include <lacuna/types.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void *lac_cuda_stream_t; /* a cudaStream_t */

/* A scalar of the caller's: read on the device when device != NULL, else passed by value. Of a product of
 * doubles a double, at `device` too. */
typedef struct lac_cuda_scalar {
    const float *device;
    union {
        float value;
        double f64;
    };
} lac_cuda_scalar_t;

/* What becomes of an element x of an output once it is computed: x + bias, or 0 where that, or its magnitude,
 * is not above limit. One f32 addition, whoever does it. */
typedef struct lac_cuda_epilogue {
    const float *bias; /* NULL: none; of an output of two bytes an element, of its type in truth */
    bool any;          /* false: x stays as it is */
    bool of_rows;      /* a bias for each row of the output; else for each column */
    bool magnitude;
    float limit; /* NaN: all stay */
} lac_cuda_epilogue_t;

typedef enum lac_cuda_order {
    LAC_CUDA_ROWS = 0, /* rows of W contiguous: element (k, j) at w[k * ldw + j]               */
    LAC_CUDA_COLS = 1  /* columns of W contiguous along k: element (k, j) at w[j * ldw + k]    */
} lac_cuda_order_t;

/* The problem without S. */
typedef struct lac_cuda_product {
    int64_t m, n, k;
    lac_cuda_scalar_t alpha;
    const void *w;
    int64_t ldw;
    lac_cuda_order_t order;
    lac_cuda_scalar_t beta;
    void *out;
    int64_t rs, cs; /* strides of out */
    lac_cuda_epilogue_t epilogue;
    lac_dt_t w_dt;   /* LAC_F32; event_fused, _slots and _csr take LAC_F16 and LAC_BF16 too, whose  */
    lac_dt_t out_dt; /* out is of that type, to which sums are rounded once, or LAC_F32; and LAC_F64,
                        whose out, sums and scalars are too, without an epilogue                    */
} lac_cuda_product_t;

/* S as it lies in memory: dense with zeros. */
typedef struct lac_cuda_dense {
    lac_dt_t dt; /* LAC_F32, or LAC_U8: any nonzero byte is an event of value 1; LAC_F16 and LAC_BF16 where
                    there is no W, or W is of that type; event_slots takes any of them with any W. LAC_F64
                    where there is no W, or W is LAC_F64, which takes LAC_U8 beside it */
    const void *data;
    int64_t rs, cs;
    double density; /* what is expected, or 0: unknown; only steers how the work is cut */
} lac_cuda_dense_t;

/* S by rows (CSR). apart: row i's events are [ptr[2 i], ptr[2 i + 1]), as lac_cuda_csr_rows leaves them;
 * taken by lac_cuda_event_csr, _spmm_narrow, _spmm_wide and _schedule. */
typedef struct lac_cuda_csr {
    const int64_t *ptr; /* [m + 1]                                              */
    const int32_t *idx; /* [nnz] k of each event                                */
    const float *val;   /* [nnz], or NULL: every event has value 1; doubles beside a W of LAC_F64 */
    int64_t nnz;        /* as far as the host knows it; only steers the split   */
    bool apart;
} lac_cuda_csr_t;

/* How a launch is cut; 0 in any field means "choose". A warp owns one row of S, 128 * vec
 * columns and one slice of k; a block holds row_warps x k_warps warps; `cluster` blocks share one output
 * tile. */
typedef struct lac_cuda_tile {
    int vec;       /* fused only: 1 or 2                                    */
    int row_warps; /* row_warps * k_warps <= 32                             */
    int k_warps;
    int cluster; /* 1, 2, 4, 8 or 16; more than 1 needs compute 9.0       */
    int slice;   /* slots only: k per slot, a multiple of 128; more where the workspace has no room */
} lac_cuda_tile_t;

/* Event product, one launch: blocks scan their slice of a dense S and gather only the active rows (or
 * columns) of W. Best while S is small against n (every 128 * vec columns scan S once). tile may be NULL. */
lac_status_t lac_cuda_event_fused(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                  const lac_cuda_tile_t *tile, lac_cuda_stream_t stream);
/* Whether that lists the events of all rows of an S of such a density, block by block, and reads W once, at
 * about memory's rate (compute 9.0): a single row by a W of two bytes an element, four by floats, and up to
 * ten that have more than few events. Reads the extents of W, its type, order and address. */
bool lac_cuda_event_lists_rows(const lac_cuda_product_t *p, double density);

/* Event product, two launches chained by programmatic dependent launch: the first packs the events of S into
 * slots in the workspace, the second gathers. tile may be NULL. s->data == NULL: the workspace already
 * holds what an earlier call with the same m, n, k, density and tile packed there.
 * Workspace (256-byte aligned): lac_cuda_event_slots_bytes(m, k, w_dt) bytes, written before it is read. */
lac_status_t lac_cuda_event_slots(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                  const lac_cuda_tile_t *tile, void *workspace, lac_cuda_stream_t stream);
int64_t lac_cuda_event_slots_bytes(int64_t m, int64_t k, lac_dt_t w_dt);

/* The same with an S of p->k columns of which column j stands for k = list[j], ascending. */
lac_status_t lac_cuda_event_listed(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                   const int32_t *list, void *workspace, lac_cuda_stream_t stream);

/* Event products for W by columns (order must be LAC_CUDA_COLS, k > 0), two chained launches each. s->data ==
 * NULL: the workspace already holds what an earlier call of the same function for the same m, k and density
 * packed there. Workspaces are 256-byte aligned.
 *
 * active: reads from each column only the elements where a row of S has an event, those that any of up to 11
 * rows needs at once. Best where a good part of W's 64-byte pieces holds none. stream: W streams once through
 * shared memory for all rows of S. Best where most pieces are needed.
 *
 * Workspace: lac_cuda_event_active_bytes(m, k) or lac_cuda_event_stream_bytes(m, k) bytes for the current
 * device. */
lac_status_t lac_cuda_event_active(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, void *workspace,
                                   lac_cuda_stream_t stream);
int64_t lac_cuda_event_active_bytes(int64_t m, int64_t k);
lac_status_t lac_cuda_event_stream(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, void *workspace,
                                   lac_cuda_stream_t stream);
int64_t lac_cuda_event_stream_bytes(int64_t m, int64_t k);

/* The product at any density: W streams through the tensor cores once for up to 64 rows of S, or for every
 * 128, at the accuracy of f32 (six products of bf16; from 33 rows on three of TF32, where these are as good).
 * Nothing is skipped: 0 times an Inf or NaN is NaN. Compute 9.0; W begins anywhere, and so do its rows, up to
 * 1024 rows of S; columns of a W along k are multiples of 16 bytes from 17 rows on, unless the product is
 * small or k is up to 128 (lac_cuda_stream_aligned; LAC_ERR_VALUE otherwise). One launch of up to 8 rows, of
 * up to 16 where W is small or not so aligned, of small products, and of a k of up to 128 and a large output
 * (lac_cuda_stream_is_rank_k), and of middle sizes, where rows of an S of floats lie along k and are pieces
 * of 16 bytes, and the output lies by rows; else three chained launches, two where k is up to 512 and the
 * output is large. Workspace (256-byte aligned): lac_cuda_stream_bytes(p) bytes for the current device, by
 * its extents, w, ldw and order. */
lac_status_t lac_cuda_stream(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, void *workspace,
                             lac_cuda_stream_t stream);
int64_t lac_cuda_stream_bytes(const lac_cuda_product_t *p);
bool lac_cuda_stream_aligned(const lac_cuda_product_t *p);
/* Whether a product of such extents has a short k and so large an output that the kernel for these makes it:
 * then W should be the operand along whose columns the output lies together. */
bool lac_cuda_stream_is_rank_k(int64_t m, int64_t n, int64_t k);
/* Whether it is of a middle size, and one launch of clusters makes it. */
bool lac_cuda_stream_is_cluster(const lac_cuda_product_t *p, const lac_cuda_dense_t *s);
/* How the output of a short k is written, where beta is 0: as it lies together; in pieces of 16 bytes that
 * two threads have a part in, since its rows are no such pieces; or element by element. */
typedef enum lac_cuda_writes {
    LAC_CUDA_WRITES_WHOLE,
    LAC_CUDA_WRITES_PIECES,
    LAC_CUDA_WRITES_SINGLES
} lac_cuda_writes_t;
lac_cuda_writes_t lac_cuda_stream_writes(const lac_cuda_product_t *p);
/* How such a product is cut on so many multiprocessors: blocks at work, items and steps that each makes,
 * bytes of W and of S that a step brings, bytes of sums that are written and read again: 0 where there is no
 * third launch. apart: W's rows begin off 16 bytes. Of products in one launch: of a small one, blocks, pieces
 * of them and of one, and the bytes of W; of few rows by a W along k (gemv), steps are rounds of loads that
 * are waited for; of a short k (rank_k), blocks, the tiles that each makes, and pieces of sixteen k; of few
 * rows by a W by rows, as an event product makes them (few), the bytes of W; of middle sizes, where the parts
 * of a tile are a cluster, as of one of three launches, whose sums are not written. gated: as
 * lac_cuda_adaptive makes it, which has no clusters. */
typedef enum lac_cuda_stream_kernel {
    LAC_CUDA_STREAM_STEPS,
    LAC_CUDA_STREAM_SMALL,
    LAC_CUDA_STREAM_GEMV,
    LAC_CUDA_STREAM_RANK_K,
    LAC_CUDA_STREAM_FEW,
    LAC_CUDA_STREAM_CLUSTER
} lac_cuda_stream_kernel_t;
typedef struct lac_cuda_stream_shape {
    lac_cuda_stream_kernel_t kernel;
    bool apart;
    int64_t blocks, items, steps, w_bytes, s_bytes, sums_bytes;
} lac_cuda_stream_shape_t;
lac_cuda_stream_shape_t lac_cuda_stream_cut(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                            bool gated, int processors);

/* The same product, of which the device decides how it is made, each time anew: where at most `break_even` of
 * S's elements are nonzero (W by columns: as many of its k are active as then would be), an event product
 * gathers and zeros are skipped, else W streams and nothing is. A sample may say so first. s->density is not
 * read. Up to four chained launches, and at most LAC_CUDA_ADAPTIVE_MOST elements in S. Workspace (256-byte
 * aligned): lac_cuda_adaptive_bytes(p) bytes for the current device. */
#define LAC_CUDA_ADAPTIVE_MOST ((int64_t)1 << 26)
lac_status_t lac_cuda_adaptive(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, double break_even,
                               void *workspace, lac_cuda_stream_t stream);
int64_t lac_cuda_adaptive_bytes(const lac_cuda_product_t *p);

/* Event product with the events given as CSR. tile may be NULL. */
lac_status_t lac_cuda_event_csr(const lac_cuda_product_t *p, const lac_cuda_csr_t *s,
                                const lac_cuda_tile_t *tile, lac_cuda_stream_t stream);

/* The same for many rows of S, n <= LAC_CUDA_NARROW_MAX: a warp or more per row, the lanes share events. */
#define LAC_CUDA_NARROW_MAX 64
lac_status_t lac_cuda_spmm_narrow(const lac_cuda_product_t *p, const lac_cuda_csr_t *s,
                                  lac_cuda_stream_t stream);

/* The same for many rows of S with few nonzeros each and a long W by rows; n, w and ldw multiples of 16 bytes
 * (LAC_ERR_VALUE otherwise). */
lac_status_t lac_cuda_spmm_wide(const lac_cuda_product_t *p, const lac_cuda_csr_t *s,
                                lac_cuda_stream_t stream);

#define LAC_CUDA_LONG_SHARED (227 * 1024)
/* The same from an S of floats or bytes as it lies, of 30 rows and more with some nonzeros in each 256 k, and
 * a long W by rows, in two chained launches: W comes through shared memory once for up to 256 rows of S.
 * Compute 9.0, LAC_CUDA_LONG_SHARED bytes of shared memory for a block; w and ldw multiples of 16 bytes
 * (LAC_ERR_VALUE otherwise). Workspace (256-byte aligned): lac_cuda_spmm_staged_bytes(m, k) bytes, written
 * before it is read. The shape: how it is cut for so many multiprocessors; a pure function. */
typedef struct lac_cuda_staged_shape {
    int64_t blocks; /* of the product                                    */
    int64_t chunks; /* of 256 k, which a block takes one after the other */
    double cycles;  /* that a block takes for a chunk                    */
} lac_cuda_staged_shape_t;
lac_cuda_staged_shape_t lac_cuda_spmm_staged_shape(int64_t m, int64_t n, int64_t k, double density,
                                                   int processors);
int64_t lac_cuda_spmm_staged_bytes(int64_t m, int64_t k);
lac_status_t lac_cuda_spmm_staged(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, void *workspace,
                                  lac_cuda_stream_t stream);

/* The same where both sides are long, in two calls: S is made into steps, and the steps are multiplied with
 * any W of k rows. Compute 9.0, LAC_CUDA_LONG_SHARED bytes of shared memory for a block; W by rows, w and ldw
 * multiples of 16 bytes (LAC_ERR_VALUE otherwise). steps: lac_cuda_schedule_bytes(m, k, nnz) bytes,
 * workspace: lac_cuda_schedule_scratch(m) bytes, both 256-byte aligned; nnz is at least the number of
 * entries. The product's workspace, as aligned: lac_cuda_csr_long_bytes(m, n, k) bytes for the current
 * device, none where k is not cut into parts. lac_cuda_csr_long_parts: how many those are, with so many
 * multiprocessors. */
lac_status_t lac_cuda_schedule(int64_t m, int64_t k, const lac_cuda_csr_t *s, void *steps, void *workspace,
                               lac_cuda_stream_t stream);
int64_t lac_cuda_schedule_bytes(int64_t m, int64_t k, int64_t nnz);
int64_t lac_cuda_schedule_scratch(int64_t m);
lac_status_t lac_cuda_csr_long(const lac_cuda_product_t *p, const void *steps, void *workspace,
                               lac_cuda_stream_t stream);
int64_t lac_cuda_csr_long_bytes(int64_t m, int64_t n, int64_t k);
int lac_cuda_csr_long_parts(int64_t m, int64_t n, int64_t k, int processors);

/* Events times a sparse W, given by its rows: W[k, :] has entries [w->ptr[k], w->ptr[k + 1]), columns
 * distinct. p->w, ldw and order are not read. S is dense where s->data != NULL, else the CSR of `rows`.
 * Workspace (256-byte aligned): lac_cuda_event_pair_bytes(m, n, k) bytes for the current device. */
lac_status_t lac_cuda_event_pair(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                 const lac_cuda_csr_t *rows, const lac_cuda_csr_t *w, void *workspace,
                                 lac_cuda_stream_t stream);
int64_t lac_cuda_event_pair_bytes(int64_t m, int64_t n, int64_t k);

/* The same by segments: where W's pattern is made ready once, many blocks share its rows. Columns ascend
 * within a row of W; values may be others in every call. */
typedef struct lac_cuda_segments {
    int64_t k, width;      /* rows of W; columns of a range, a multiple of 32                             */
    const uint16_t *first; /* [k][ceil(n / width) + 1]: entries of row k before column r * width, or 65535;
                              behind them a word that products write: what terms to expect               */
} lac_cuda_segments_t;

/* How such a launch is cut; 0 in any field means "choose". */
typedef struct lac_cuda_segments_cut {
    int warps;   /* of a block: 8 or 16                                                                   */
    int lanes;   /* that take the entries of one event side by side: 4, 8, 16 or 32                       */
    int span;    /* ranges of a block                                                                     */
    int copies;  /* of a block's sums: 32 / lanes for each warp, or a power of two up to its warps; -1: as
                    many as there is room for with any width                                              */
    int cluster; /* blocks that share the events of a range: 1, 2, 4 or 8; more than 1 needs compute 9.0  */
    int bits;    /* S is made into bits by a launch of its own: 1; not: -1                                */
    int terms;   /* added up as integers, by clusters of eight: 1; as floats: -1                          */
    bool late;   /* may begin before the launch before it has ended, on which it does not depend          */
} lac_cuda_segments_cut_t;

/* Events of a binary S, listed for each of its rows in memory: event e of row i, e < count[i], is k = idx[i *
 * ld + e] - first, ascending; what is outside [0, k) is none. Nothing beyond ld is read. */
typedef struct lac_cuda_event_lists {
    const int32_t *idx, *count;
    int64_t ld, first;
    double density; /* of S, about; not above 0: not known */
} lac_cuda_event_lists_t;

/* The same as bits: bit (first + k) % 32 of word words[i * ld + (first + k) / 32] is S[i, k]; first + p->k is
 * at most 32 ld. */
typedef struct lac_cuda_event_bits {
    const uint32_t *words;
    int64_t ld, first;
    double density; /* as above */
} lac_cuda_event_bits_t;

/* Where the events of S are: in one of these, the others NULL. */
typedef struct lac_cuda_event_source {
    const lac_cuda_dense_t *dense;
    const int32_t
        *list; /* NULL, or `dense` has p->k columns of which column j stands for k = list[j], ascending */
    const lac_cuda_csr_t *rows;
    const lac_cuda_event_lists_t *lists;
    const lac_cuda_event_bits_t *bits;
} lac_cuda_event_source_t;

/* Where ranges are so wide that copies of their sums do not fit, a term is the product of an event's value
 * and an entry, rounded, and sums of terms are added up as integers and rounded once. cut may be NULL.
 * Workspace (256-byte aligned): lac_cuda_event_segments_bytes(m, k) bytes, none with a list. LAC_ERR_EXTENT
 * where the sums of a range do not fit in a block's shared memory. */
lac_status_t lac_cuda_event_segments(const lac_cuda_product_t *p, const lac_cuda_event_source_t *s,
                                     const lac_cuda_csr_t *w, const lac_cuda_segments_t *segments,
                                     const lac_cuda_segments_cut_t *cut, void *workspace,
                                     lac_cuda_stream_t stream);
int64_t lac_cuda_event_segments_bytes(int64_t m, int64_t k);

/* Bits of events where W has no values, as it lies and without pointers of its segments: sums are numbers of
 * events. alpha is 1 and beta 0, both on the host, p->cs 1, and no epilogue follows. each: entries of every
 * row of W; 0: as w->ptr says. late: as of a cut. LAC_ERR_EXTENT beyond 2^24 k, or 65535 rows. */
lac_status_t lac_cuda_event_counts(const lac_cuda_product_t *p, const lac_cuda_event_bits_t *bits,
                                   const lac_cuda_csr_t *w, int64_t each, bool late,
                                   lac_cuda_stream_t stream);

/* Makes the segment pointers of a W of k rows, into first[k][ceil(n / width) + 1]: lac_cuda_segments_bytes
 * bytes. lac_cuda_segments_width: the width for the current device, 0 where the pointers would be too many
 * beside nnz entries. */
lac_status_t lac_cuda_segment_pointers(int64_t k, int64_t n, int64_t width, const lac_cuda_csr_t *w,
                                       uint16_t *first, lac_cuda_stream_t stream);
int64_t lac_cuda_segments_bytes(int64_t k, int64_t n, int64_t width);
int64_t lac_cuda_segments_width(int64_t k, int64_t n, int64_t nnz);

/* Bitmask product for a frozen S (30-95 % zeros, many rows) and a short W: reads one bit per element and the
 * packed values, instead of every element. Any order of W; n is taken 8 columns at a time, S read once for
 * each. */
typedef struct lac_cuda_bits {
    int64_t words;        /* 64-bit words per row: ceil(k / 64)                             */
    const uint64_t *bits; /* [m * words], bit (k % 64) of word k / 64; unused high bits 0   */
    const int64_t *first; /* [m] index in val of the row's first nonzero                    */
    const float *val;     /* [nnz] packed values, row by row, ascending k                   */
} lac_cuda_bits_t;
lac_status_t lac_cuda_bitmask(const lac_cuda_product_t *p, const lac_cuda_bits_t *s,
                              lac_cuda_stream_t stream);

/* Metadata builders
 * ------------------------------------------------------------------------------------------- S is m x k,
 * dense, any strides; exchange m with k and rs with cs to build by columns (CSC). All results are sorted and
 * reproducible; nothing comes back to the host.
 *
 * Nonzeros of each row, into count[m]. */
lac_status_t lac_cuda_count_rows(int64_t m, int64_t k, const lac_cuda_dense_t *s, int64_t *count,
                                 lac_cuda_stream_t stream);

/* Nonzeros among `samples` elements spread over S (the same ones for the same seed), into *count: the
 * cheapest look. */
lac_status_t lac_cuda_probe(int64_t m, int64_t k, const lac_cuda_dense_t *s, int64_t samples, uint64_t seed,
                            int64_t *count, lac_cuda_stream_t stream);

/* CSR in two steps, so that the caller may size idx and val in between (or give m * k at once):
 * ptr[m + 1] from S, then idx and val (of type dt, LAC_F32, or LAC_F64 of an S of
 * LAC_F64 or LAC_U8; may be NULL) from S and ptr.
 * Workspace (256-byte aligned) of the first: lac_cuda_csr_bytes(m) bytes. */
lac_status_t lac_cuda_csr_ptr(int64_t m, int64_t k, const lac_cuda_dense_t *s, int64_t *ptr, void *workspace,
                              lac_cuda_stream_t stream);
lac_status_t lac_cuda_csr_fill(int64_t m, int64_t k, const lac_cuda_dense_t *s, const int64_t *ptr,
                               int32_t *idx, lac_dt_t dt, void *val, lac_cuda_stream_t stream);
int64_t lac_cuda_csr_bytes(int64_t m);
/* The rows in one step, into memory that has room for every element: each row's from row * k on, ptr[2 m] as
 * of a CSR whose rows are apart. */
lac_status_t lac_cuda_csr_rows(int64_t m, int64_t k, const lac_cuda_dense_t *s, int64_t *ptr, int32_t *idx,
                               lac_dt_t dt, void *val, lac_cuda_stream_t stream);

/* The same from bits as in lac_cuda_bits_t, and of an f32 S only the elements whose bit is set. idx may
 * be NULL, too. Workspace as above. */
lac_status_t lac_cuda_csr_ptr_of_bits(int64_t m, int64_t k, const uint64_t *bits, int64_t *ptr,
                                      void *workspace, lac_cuda_stream_t stream);
lac_status_t lac_cuda_csr_fill_of_bits(int64_t m, int64_t k, const uint64_t *bits, const float *s, int64_t rs,
                                       int64_t cs, const int64_t *ptr, int32_t *idx, float *val,
                                       lac_cuda_stream_t stream);

/* Occupancy bits of all rows, as in lac_cuda_bits_t; with ptr and val of a CSR they make its bitmask format.
 */
lac_status_t lac_cuda_fill_bits(int64_t m, int64_t k, const lac_cuda_dense_t *s, uint64_t *bits,
                                lac_cuda_stream_t stream);

/* The active list: ascending k where any row has an event, into active[<= k], their number into *count.
 * Workspace (256-byte aligned): lac_cuda_active_bytes(k) bytes. */
lac_status_t lac_cuda_active_list(int64_t m, int64_t k, const lac_cuda_dense_t *s, int32_t *active,
                                  int64_t *count, void *workspace, lac_cuda_stream_t stream);
int64_t lac_cuda_active_bytes(int64_t k);

/* dst[c * ldd + r] = src[r * rs + c * cs] for r < m, c < n: the k-major copy of a frozen W. */
lac_status_t lac_cuda_transpose(int64_t m, int64_t n, const float *src, int64_t rs, int64_t cs, float *dst,
                                int64_t ldd, lac_cuda_stream_t stream);

/* Many small event products in one launch. */

#define LAC_CUDA_BATCH_K   4096 /* the longest k                      */
#define LAC_CUDA_BATCH_SET 128  /* matrices that one launch can name */

/* out_q := beta out_q + alpha S_q W_q for q < count: the picture above, count times over. Element
 * (k, j) of W lies at w[k * wks + j * wjs]. */
typedef struct lac_cuda_batch {
    int64_t count, m, n, k;
    float alpha, beta;
    lac_dt_t dt;           /* of S: LAC_U8, LAC_F32 or w_dt   */
    lac_dt_t w_dt, out_dt; /* out: of W's type, or of LAC_F32 */
    int64_t srs, scs, wks, wjs, rs, cs;
    /* Where the matrices begin, in elements behind the first; or, for up to LAC_CUDA_BATCH_SET of them, one
     * by one, in arrays of the host. NULL: the steps count. */
    const void *s, *w;
    void *out;
    int64_t s_step, w_step, out_step;
    const void *const *s_each, *const *w_each;
    void *const *out_each;
} lac_cuda_batch_t;

/* One block for each row of S and up to 1024 columns. k <= LAC_CUDA_BATCH_K (LAC_ERR_EXTENT otherwise). */
lac_status_t lac_cuda_batch_events(const lac_cuda_batch_t *b, lac_cuda_stream_t stream);

/* Sampled products on the device. */

/* values[e] := beta values[e] + alpha sum over l of a[i * lda + l] b[j * ldb + l] for each entry e = (i, j)
 * of an m x n pattern: both operands as lines along k. pattern->val is not read; its nnz is exact. */
typedef struct lac_cuda_sampled {
    int64_t m, n, k;
    float alpha, beta;
    const float *a;
    int64_t lda;
    const float *b;
    int64_t ldb;
    float *values;
    int64_t longest; /* entries of the pattern's longest row; 0: not known, about as long as the others */
} lac_cuda_sampled_t;

lac_status_t lac_cuda_sddmm(const lac_cuda_sampled_t *p, const lac_cuda_csr_t *pattern,
                            lac_cuda_stream_t stream);

/* Rows picked out of a CSR matrix on the device, as a dense matrix and as CSR, and the gradient to its
 * values.
 *
 * S is m x n in CSR, columns ascending and distinct within a row. */

/* Where kernels report an invalid input: the smallest of index << 32 | the value found there, over all calls
 * since the word was LAC_CUDA_NOTHING_BAD. In pinned host memory; written only for an invalid input. */
#define LAC_CUDA_NOTHING_BAD UINT64_MAX

typedef struct lac_cuda_slice {
    int64_t m, n, count;
    const void *rows; /* [count] in any order, each as often as wanted: int64_t where wide, else int32_t;
                         NULL: 0, 1, .. count - 1, for lac_cuda_slice_rows */
    bool wide;
    const int64_t *ptr;  /* [m + 1]                                                   */
    const int32_t *idx;  /* [nnz]                                                     */
    const float *val;    /* [nnz]; NULL: every entry has the value *weight            */
    const float *weight; /* one float; NULL: 1                                       */
    int64_t nnz;         /* as the host knows it                                     */
    uint64_t *bad; /* receives the first index of a row outside [0, m); NULL: that is no error. Such a row
                      has no entries */
} lac_cuda_slice_t;

/* out[i, j] := S[rows[i], j], every element written once. */
lac_status_t lac_cuda_slice_rows(const lac_cuda_slice_t *s, float *out, int64_t rs, int64_t cs,
                                 lac_cuda_stream_t stream);

/* grad[e] := sum over the i with rows[i] == e's row, ascending, of g[i, idx[e]]; 0 for rows that were not
 * picked. Values of s are not read; grad is [nnz]. Workspace (256-byte aligned): lac_cuda_slice_grad_bytes(m,
 * count). */
lac_status_t lac_cuda_slice_grad(const lac_cuda_slice_t *s, const float *g, int64_t rs, int64_t cs,
                                 float *grad, void *workspace, lac_cuda_stream_t stream);
int64_t lac_cuda_slice_grad_bytes(int64_t m, int64_t count);

/* *sum := the sum of those over all entries, taken in double. Workspace: lac_cuda_slice_sum_bytes(count). */
lac_status_t lac_cuda_slice_sum(const lac_cuda_slice_t *s, const float *g, int64_t rs, int64_t cs, float *sum,
                                void *workspace, lac_cuda_stream_t stream);
int64_t lac_cuda_slice_sum_bytes(int64_t count);

/* The slice as CSR, ptr and idx int64_t where wide, else int32_t: first ptr[count + 1], then idx and val
 * (NULL: not wanted) at ptr. *bad reports entries that overflow int32_t, and rows whose ptr is not
 * what the first wrote: these are left out. Workspace (256-byte aligned): lac_cuda_slice_ptr_bytes(count). */
lac_status_t lac_cuda_slice_ptr(const lac_cuda_slice_t *s, bool wide, void *ptr, uint64_t *bad,
                                void *workspace, lac_cuda_stream_t stream);
int64_t lac_cuda_slice_ptr_bytes(int64_t count);
lac_status_t lac_cuda_slice_entries(const lac_cuda_slice_t *s, bool wide, const void *ptr, void *idx,
                                    float *val, uint64_t *bad, lac_cuda_stream_t stream);

/* The product by tiles on tensor cores, with sums of f32: its launchers and their workspace.
 *
 *     c[i, j] := beta c[i, j] + alpha * sum over k of a[i, k] * b[k, j]      i < m, j < n
 *
 * Needs compute capability 8.0. */

/* As which numbers floats are multiplied: as lac_cuda_tiles_in_f16 has it; two f16 ones, where the device has
 * warpgroup products and the operands allow it; three bf16 ones. */
typedef enum lac_cuda_form { LAC_CUDA_FORM_AUTO, LAC_CUDA_FORM_F16, LAC_CUDA_FORM_BF16 } lac_cuda_form_t;

typedef struct lac_cuda_tiles {
    int64_t m, n, k;
    lac_cuda_scalar_t alpha;
    const void *a; /* any strides; k where all rows of a tile are zero are skipped */
    int64_t ars, acs;
    const void *packed; /* what lac_cuda_tiles_pack made of a, or NULL: it is made in the workspace */
    int64_t room;       /* of packed */
    const void *b;      /* rows contiguous: element (k, j) at b[k * ldb + j] */
    int64_t ldb;
    lac_cuda_scalar_t beta;
    void *c;
    int64_t crs, ccs;
    lac_cuda_epilogue_t epilogue; /* done where c is written */
    bool portable;  /* by the kernel of other devices, also where there are warpgroup products: to test it */
    uint64_t *bits; /* NULL, or where the occupancy of what is written to c goes, as in lac_cuda_bits_t; NaN
                       is not zero */
    int64_t bits_words;   /* from one row of bits to the next: ceil(n / 64) */
    bool bits_transposed; /* a row of bits for each column of c, then of ceil(m / 64) words */
    /* LAC_F32, whose products are as accurate as fp32; or LAC_F16, LAC_BF16, whose products are exact, where
     * lac_cuda_tiles_warpgroups_here(): not portable, and without bits. */
    lac_dt_t dt;          /* of a and b                                                         */
    lac_dt_t out_dt;      /* of c and of the bias: dt, to which sums are rounded once, or LAC_F32 */
    lac_cuda_form_t form; /* of f32; of what was packed, that which it was packed for */
    /* Of two bytes, NULL or where b lies by columns, element (k, j) at b_columns[j * ld_columns + k], columns
     * in whole pieces of 16 bytes. Then b is memory for it by rows, which is written where it is wanted. */
    const void *b_columns;
    int64_t ld_columns;
} lac_cuda_tiles_t;

/* True where the thread's current device has the instructions: compute capability 8.0. */
bool lac_cuda_tiles_here(void);
/* True where b[k, n] can be read as it lies: rows of 16-byte pieces, less than 4 GiB from each other; of two
 * bytes an element, of whole pieces. */
bool lac_cuda_tiles_aligned(lac_dt_t dt, const void *b, int64_t n, int64_t ldb);

/* A tile of c is LAC_CUDA_TILES_SIDE square; LAC_CUDA_TILES_ROWS rows of a, a row group, are active at a k or
 * not, and k are multiplied LAC_CUDA_TILES_STEP at a time. */
#define LAC_CUDA_TILES_SIDE 128
#define LAC_CUDA_TILES_ROWS 32
#define LAC_CUDA_TILES_STEP 32
/* Blocks that share the steps of a tile, so that all multiprocessors have work. */
int lac_cuda_tiles_splits(int64_t tiles, int64_t steps, int64_t processors);

/* Lists of active k and bf16 splits of a, or its elements of two bytes, at `memory`, which has `room` steps
 * for each row group: for any a lac_cuda_tiles_room(k). All memory is aligned to 256 bytes. */
int64_t lac_cuda_tiles_room(int64_t k);
int64_t lac_cuda_tiles_packed_bytes(lac_dt_t dt, int64_t m, int64_t k, int64_t room);
lac_status_t lac_cuda_tiles_pack(const lac_cuda_tiles_t *p, int64_t room, void *memory,
                                 lac_cuda_stream_t stream);
/* *most := the room that what was packed needs; on the device. */
lac_status_t lac_cuda_tiles_max_room(lac_dt_t dt, int64_t m, int64_t k, int64_t room, const void *memory,
                                     int *most, lac_cuda_stream_t stream);
/* True where one packing serves the whole product: a few gigabytes at most. */
bool lac_cuda_tiles_whole(int64_t m, int64_t n, int64_t k);

/* Whether floats are multiplied as two f16 numbers on a device of compute capability 9.0, where that has most
 * often been faster; of a packed a, which may meet any b, whatever n is. */
bool lac_cuda_tiles_in_f16(int64_t m, int64_t n, int64_t k, bool packed);

/* The whole product, and its workspace: where a is not packed, that is part of both. */
int64_t lac_cuda_tiles_bytes(lac_dt_t dt, int64_t m, int64_t n, int64_t k, bool packed);
lac_status_t lac_cuda_tiles_run(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);
/* Its steps behind the products on tensor cores: sums of shared tiles, and the tiles that tensor
 * cores could not do (Inf, NaN, overflow), by fp32 multiply-adds. */
lac_status_t lac_cuda_tiles_reduce(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);
lac_status_t lac_cuda_tiles_fixup(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);
/* Whether the thread's current device has products of warpgroups (compute capability 9.0). */
bool lac_cuda_tiles_warpgroups_here(void);
/* The bits, from what the steps above left of them in the workspace. */
lac_status_t lac_cuda_tiles_occupied(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);

#ifdef __cplusplus
}
#endif

#endif

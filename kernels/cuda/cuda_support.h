/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The kernels around the products: copies, expansions, samples, the fp64 product.
 *
 * The contract is that of cuda_kernels.h: device pointers, work queued on `stream`, nothing allocated or
 * waited for, the same bits each time. Element (r, c) of X lies at X[r * rs + c * cs]; a nonzero byte of u8
 * is 1. */
#ifndef LACUNA_CUDA_SUPPORT_H
#define LACUNA_CUDA_SUPPORT_H

#include "cuda_kernels.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A matrix in memory, of any type. */
typedef struct lac_cuda_matrix {
    lac_dt_t dt;
    const void *data;
    int64_t rows, cols;
    int64_t rs, cs;
} lac_cuda_matrix_t;

/* out := beta out, of numbers of type dt. beta == 0 never reads out. */
lac_status_t lac_cuda_scale(int64_t rows, int64_t cols, lac_cuda_scalar_t beta, lac_dt_t dt, void *out,
                            int64_t rs, int64_t cs, lac_cuda_stream_t stream);

/* out := beta out + x, in f32 and then converted to dt, whatever the strides of both; into LAC_F64, in fp64,
 * from LAC_F64 and LAC_U8. */
lac_status_t lac_cuda_copy(const lac_cuda_matrix_t *x, double beta, lac_dt_t dt, void *out, int64_t rs,
                           int64_t cs, lac_cuda_stream_t stream);

/* Applies the epilogue to every element of out, where the kernel that wrote it did not. */
typedef struct lac_cuda_apply_epilogue {
    int64_t m, n;
    float *out;
    int64_t rs, cs;
    lac_cuda_epilogue_t epilogue;
} lac_cuda_epilogue_pass_t;
lac_status_t lac_cuda_epilogue_pass(const lac_cuda_epilogue_pass_t *f, lac_cuda_stream_t stream);

/* Compressed rows as a caller brings them (lacuna/csr.h): nothing of them is checked before a kernel reads
 * it. What is out of range counts as absent, and the least 4 * place + array is kept in *bad, a word of
 * pinned memory. */
typedef enum lac_cuda_loose_array {
    LAC_CUDA_LOOSE_PTR,
    LAC_CUDA_LOOSE_IDX,
    LAC_CUDA_LOOSE_PERM
} lac_cuda_loose_array_t;
typedef struct lac_cuda_loose {
    int64_t m, n, nnz;
    int64_t fan_out;  /* entries of a row, where ptr is NULL */
    bool wide;        /* ptr, idx and perm are of 64 bits */
    bool homogeneous; /* val is [1] */
    const void *ptr, *idx, *perm;
    const float *val; /* NULL: every entry is 1 */
    uint64_t *bad;
} lac_cuda_loose_t;
typedef struct lac_cuda_loose_dense {
    const void *data;
    bool bytes;  /* events: any nonzero byte counts 1 */
    bool binary; /* so does any nonzero float */
    int64_t rs, cs;
} lac_cuda_loose_dense_t;
typedef struct lac_cuda_row_list {
    int64_t count;
    const void *rows;
    bool wide;
} lac_cuda_row_list_t;

/* out := A X, m x columns, without what meets a zero of X. */
lac_status_t lac_cuda_loose_gather(const lac_cuda_loose_t *a, const lac_cuda_loose_dense_t *x,
                                   int64_t columns, float *out, int64_t rs, int64_t cs,
                                   lac_cuda_stream_t stream);
/* out := A' X, n x columns; rows of A whose row of X is zero are not read. Workspace:
 * LAC_CUDA_LOOSE_SUMS bytes for each element of out and LAC_CUDA_LOOSE_RANGES more, 8-byte aligned; NULL
 * where all entries of A have one value and X is binary. */
#define LAC_CUDA_LOOSE_SUMS   16
#define LAC_CUDA_LOOSE_RANGES 2048
lac_status_t lac_cuda_loose_scatter(const lac_cuda_loose_t *a, const lac_cuda_loose_dense_t *x,
                                    int64_t columns, float *out, int64_t rs, int64_t cs, void *workspace,
                                    lac_cuda_stream_t stream);
/* out[c, j] := how many entries of column c of A meet a nonzero of X[:, j]; values are not read. */
lac_status_t lac_cuda_loose_count(const lac_cuda_loose_t *a, const lac_cuda_loose_dense_t *x, int64_t columns,
                                  int32_t *out, int64_t rs, int64_t cs, lac_cuda_stream_t stream);
/* out[i, :] := row rows[i], zeros where there is none such. */
lac_status_t lac_cuda_loose_slice(const lac_cuda_loose_t *a, const lac_cuda_row_list_t *rows, float *out,
                                  int64_t rs, int64_t cs, lac_cuda_stream_t stream);
/* grad[e] := sum of g[i, idx[e]] over the i with rows[i] == e's row. */
lac_status_t lac_cuda_loose_grad(const lac_cuda_loose_t *a, const lac_cuda_row_list_t *rows, const float *g,
                                 int64_t rs, int64_t cs, float *grad, lac_cuda_stream_t stream);
/* values[e] := (X Y)[i, j] at the entries e = (i, j). */
lac_status_t lac_cuda_loose_sddmm(const lac_cuda_loose_t *a, const lac_cuda_loose_dense_t *x,
                                  const lac_cuda_loose_dense_t *y, int64_t depth, float *values,
                                  lac_cuda_stream_t stream);

/* The neurons of a step (lacuna/lif.h), all arrays on the device; what they received is there. */
#define LAC_CUDA_LIF_INPUTS 8
typedef struct lac_cuda_lif_input {
    float *g;
    const float *received;
    float weight, decay, reversal;
    int conductance;
} lac_cuda_lif_input_t;
typedef struct lac_cuda_lif {
    int64_t m, n;
    float rate; /* dt / tau */
    float v_rest, v_threshold, v_reset;
    int32_t refractory;
    int inputs;
    const float *current; /* or NULL */
    float *v;
    int32_t *wait; /* not used where refractory is 0 */
    uint8_t *spikes;
    uint64_t *bits;       /* or NULL */
    uint8_t *spikes_twin; /* NULL, or where the same is written once more */
    uint64_t *bits_twin;
    /* NULL, or who fired in each copy, ascending, and how many; state: LAC_CUDA_LIF_STATE bytes, 0 before the
     * first of the steps that use it, which come one after the other. */
    int32_t *list; /* [m][n] */
    int32_t *count;
    uint64_t *state;
    lac_cuda_lif_input_t input[LAC_CUDA_LIF_INPUTS];
} lac_cuda_lif_t;
#define LAC_CUDA_LIF_STATE 8256
lac_status_t lac_cuda_lif_step(const lac_cuda_lif_t *lif, lac_cuda_stream_t stream);

/* Which tiles of rows x cols of x hold a nonzero, `words` words of bits for each row of tiles; and, where
 * count is not NULL, how many do. */
typedef struct lac_cuda_tiling {
    int64_t rows, cols, words;
    uint64_t *bits;
    int64_t *count;
} lac_cuda_tiling_t;
lac_status_t lac_cuda_tile_bits(const lac_cuda_matrix_t *x, const lac_cuda_tiling_t *t,
                                lac_cuda_stream_t stream);

/* Counts nonzeros among pseudo-random elements of x (all of x where it has no more than
 * LAC_CUDA_PROBE_SAMPLES elements), and how many of LAC_CUDA_PROBE_LINES pseudo-random lines of k (rows of x
 * where k_by_rows, else columns) have any among LAC_CUDA_PROBE_LINE elements. Writes, into pinned host
 * memory, LAC_CUDA_PROBE_WORDS words of (mark << 32 | such pieces << 24 | such lines << 16 | nonzeros), what
 * each block saw; pieces: of LAC_CUDA_PROBE_PIECES of so many k and so much of x's other extent, that have
 * any among LAC_CUDA_PROBE_LINE elements. */
#define LAC_CUDA_PROBE_WORDS   16
#define LAC_CUDA_PROBE_SAMPLES 65536
#define LAC_CUDA_PROBE_LINES   256
#define LAC_CUDA_PROBE_LINE    32
#define LAC_CUDA_PROBE_PIECES  256
#define LAC_CUDA_PIECE_ACROSS  128
#define LAC_CUDA_PIECE_K       64
lac_status_t lac_cuda_probe_marked(const lac_cuda_matrix_t *x, bool k_by_rows, uint64_t seed, uint32_t mark,
                                   uint64_t *words, lac_cuda_stream_t stream);

/* A fingerprint of x: the same with a hash of each element, always of the same ones, instead of the count of
 * nonzeros. */
lac_status_t lac_cuda_fingerprint(const lac_cuda_matrix_t *x, uint32_t mark, uint64_t *words,
                                  lac_cuda_stream_t stream);

/* Sets a graph's condition (a cudaGraphConditionalHandle) to 1 where less than `limit` of 4096 elements of x,
 * always the same, is nonzero, else to 0. Extents below 2^31. CUDA 12.4 and later. */
lac_status_t lac_cuda_probe_condition(const lac_cuda_matrix_t *x, double limit, unsigned long long handle,
                                      lac_cuda_stream_t stream);

/* Whose zeros are not multiplied. */
typedef enum lac_cuda_skip { LAC_CUDA_SKIP_NONE, LAC_CUDA_SKIP_A, LAC_CUDA_SKIP_B } lac_cuda_skip_t;

/* c := beta c + alpha a b, every product and sum in double; c is of numbers of type dt, and scalars, a and b
 * are of LAC_F64 where it is, but for bytes. */
lac_status_t lac_cuda_gemm_f64(int64_t m, int64_t n, int64_t k, lac_cuda_skip_t skip, lac_cuda_scalar_t alpha,
                               const lac_cuda_matrix_t *a, const lac_cuda_matrix_t *b, lac_cuda_scalar_t beta,
                               lac_dt_t dt, void *c, int64_t rs, int64_t cs, lac_cuda_stream_t stream);

/* Writes the entries of a compressed format into a zeroed matrix, both of type dt, LAC_F32 or LAC_F64:
 * entry p of major i, minor idx[p] goes to out[i * major_stride + idx[p] * minor_stride]. val may be NULL:
 * ones. */
lac_status_t lac_cuda_densify_compressed(int64_t majors, const int64_t *ptr, const int32_t *idx, lac_dt_t dt,
                                         const void *val, void *out, int64_t major_stride,
                                         int64_t minor_stride, lac_cuda_stream_t stream);
/* The same for a bitmask with the values of row i from first[i] on. */
lac_status_t lac_cuda_densify_bits(int64_t majors, int64_t minors, const uint64_t *bits, const int64_t *first,
                                   lac_dt_t dt, const void *val, void *out, int64_t major_stride,
                                   int64_t minor_stride, lac_cuda_stream_t stream);
/* Element (i, idx[j]) is val[j * m + i]. */
lac_status_t lac_cuda_densify_active(int64_t m, int64_t count, const int32_t *idx, lac_dt_t dt,
                                     const void *val, void *out, int64_t rs, int64_t cs,
                                     lac_cuda_stream_t stream);

/* The values of an active list: val[j * m + i] = X(i, idx[j]), of type dt, LAC_F32, or LAC_F64 of an X of
 * LAC_F64 or LAC_U8. */
lac_status_t lac_cuda_active_values(const lac_cuda_matrix_t *x, int64_t count, const int32_t *idx,
                                    lac_dt_t dt, void *val, lac_cuda_stream_t stream);
/* The same entries by the other extent: ptr[minors + 1], idx[nnz] ascending, val[nnz] (NULL: not wanted).
 * from->nnz is exact. Workspace (256-byte aligned): lac_cuda_csr_to_csc_bytes(minors, nnz) bytes. */
lac_status_t lac_cuda_csr_to_csc(int64_t majors, int64_t minors, const lac_cuda_csr_t *from, int64_t *ptr,
                                 int32_t *idx, float *val, void *workspace, lac_cuda_stream_t stream);
int64_t lac_cuda_csr_to_csc_bytes(int64_t minors, int64_t nnz);

/* CSR of a bitmask: ptr[majors + 1] and idx; the values of both formats lie in the same order. */
lac_status_t lac_cuda_list_bits(int64_t majors, int64_t minors, const lac_cuda_bits_t *from, int64_t *ptr,
                                int32_t *idx, lac_cuda_stream_t stream);
/* The same value everywhere. */
lac_status_t lac_cuda_fill(int64_t count, float value, float *out, lac_cuda_stream_t stream);
/* Row pointers of 32 bits for libraries that want them. */
lac_status_t lac_cuda_narrow(int64_t count, const int64_t *from, int32_t *to, lac_cuda_stream_t stream);
/* Row pointers from libraries that have such. */
lac_status_t lac_cuda_widen(int64_t count, const int32_t *from, int64_t *to, lac_cuda_stream_t stream);
/* Holds the stream until the host writes `ticket`, or a later one, to *open, for at most `us`; after that
 * *expired becomes the ticket. Both words are pinned host memory. */
lac_status_t lac_cuda_host_gate(const uint32_t *open, uint32_t ticket, uint32_t *expired, double us,
                                lac_cuda_stream_t stream);
/* A kernel of 2 us on one multiprocessor, behind which a launch begins as it does behind another product. */
lac_status_t lac_cuda_run_ahead(lac_cuda_stream_t stream);

/* The exchange of events between ranks: each has `count` columns of a batch of rows, and all get all columns
 * as bytes. On the way they are bits: 32 columns of a row to a word, the words of a row one behind the other.
 */

/* A rank's share: its first column and number of columns, and where its words begin among those of all. */
typedef struct lac_cuda_shard {
    int64_t first, count, word;
} lac_cuda_shard_t;

/* Words of a rank's share. */
static inline int64_t lac_cuda_shard_words(int64_t rows, int64_t count)
{
    return rows * ((count + 31) / 32);
}

/* x, rows x cols, as words. */
lac_status_t lac_cuda_events_pack(const lac_cuda_matrix_t *x, uint32_t *words, lac_cuda_stream_t stream);

/* The words of all ranks, rank r's from words + r * stride on, as bytes by rows: out[i * ld + column]. */
typedef struct lac_cuda_unpack {
    int ranks;
    const lac_cuda_shard_t *shard; /* [ranks], on the device */
    int64_t rows, stride, ld;
    const uint32_t *words;
    uint8_t *out;
    int64_t most; /* words of the largest share */
} lac_cuda_unpack_t;
lac_status_t lac_cuda_events_unpack(const lac_cuda_unpack_t *u, lac_cuda_stream_t stream);

/* Both in one launch, by stores into the memory of the other ranks' devices. A word travels with the number
 * of its exchange in 8 bytes that are stored at once, so that whoever reads it knows that it is there (as in
 * NCCL's protocol LL); two sets of places are used in turns, and nobody can be two exchanges ahead. */
typedef struct lac_cuda_exchange {
    int ranks, rank;
    const lac_cuda_shard_t *shard; /* [ranks], on the device */
    uint64_t *const
        *place;    /* [ranks], on the device: each rank's places, 2 * words of 8 bytes, its own too */
    int64_t words; /* of all ranks together                                                        */
    lac_cuda_matrix_t mine; /* rows x this rank's columns                                                   */
    uint8_t *out;           /* [rows][ld]                                                                   */
    int64_t ld;
    uint32_t *state;          /* LAC_CUDA_EXCHANGE_STATE words on the device, zero at first             */
    uint32_t *failed;         /* pinned: 1 + the rank that was waited for in vain; 0: none               */
    const uint32_t *stop;     /* pinned: not 0: nothing is waited for any more                           */
    unsigned long long limit; /* nanoseconds that a launch waits at most                                    */
} lac_cuda_exchange_t;
#define LAC_CUDA_EXCHANGE_STATE 4
lac_status_t lac_cuda_events_exchange(const lac_cuda_exchange_t *x, lac_cuda_stream_t stream);

#ifdef __cplusplus
}
#endif
#endif

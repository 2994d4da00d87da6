/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The contract of the host kernels: arithmetic on raw pointers, no policy, no allocation, no threads.
 *
 * Every sparse route computes one problem, "S times W":
 *
 *     out[i, j] := beta * out[i, j] + alpha * sum over k of S[i, k] * W[k, j]      i < m, j < n, k < kk
 *
 * S is the sparse operand, W the dense operand. A right-hand sparse operand is the same
 * problem with the product transposed, so that a kernel never asks which side it serves. Strides are in
 * elements, and element (r, c) of X lies at X[r * rs + c * cs].
 *
 * Every kernel exists for two types of values, float and double: of W, out and all sums, and of S, which may
 * also be binary events in bytes. A table of kernels serves one of them; values are behind void pointers,
 * and `room for a value` is its size.
 *
 * A kernel computes a range [j0, j1) of output columns, or [i0, i1) of output rows, so that a caller may
 * share the ranges among threads: each output element is summed by one thread in ascending k, in runs
 * (panels.h), and the result does not depend on how the ranges were cut. csr_cols and bitmask_cols, which
 * walk along k, sum each element in lanes, 16 of float or 8 of double, that are added in one fixed order at
 * the end: as independent of the cuts.
 * beta == 0 never reads out. All accumulation is in the type of W, one fused multiply-add per event (one
 * multiply and one add on the portable instruction set). Zeros of S are never multiplied: 0 * Inf is dropped.
 * j0, j1 and i0, i1 are absolute: out, w and s point at element (0, 0). Empty ranges are allowed.
 * No kernel keeps state; scratch needs no alignment (64 bytes is fastest) and no initial contents. */
#ifndef LACUNA_HOST_HOST_KERNELS_H
#define LACUNA_HOST_HOST_KERNELS_H

#include "lacuna/lif.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nonzeros of S in k-major order (k ascending, row ascending within one k): the input of the event kernels.
 * It is CSC without its empty columns. The caller owns the arrays; capacity is theirs, in events. */
typedef struct lac_events {
    int64_t capacity; /* of k, row, val (and of first, + 1): in elements       */
    int64_t active;   /* number of k with an event                             */
    int64_t count;    /* number of events, <= capacity                         */
    int64_t *first;   /* [active + 1] first event of each active k             */
    int32_t *k;       /* [active] its k, strictly ascending                    */
    int32_t *row;     /* [count] row of S                                      */
    void *val;        /* [count] its value                                     */
} lac_events_t;

/* One matrix given by rows: CSR. Also serves CSC, with the roles of rows and columns exchanged. */
typedef struct lac_rows {
    int64_t rows, cols;
    const int64_t *ptr; /* [rows + 1], ptr[0] == 0                                        */
    const int32_t *idx; /* [ptr[rows]] column, strictly ascending within a row            */
    const void *val;    /* [ptr[rows]] values, or NULL: every entry is 1                  */
} lac_rows_t;

/* Rows of S selected by a list of either index type; one outside [0, s->rows) stands for a row without
 * entries.
 */
typedef struct lac_row_indices {
    int64_t count;
    const void *rows; /* [count] of int32_t, or of int64_t where wide; NULL: 0, 1, .. count - 1 */
    bool wide;
} lac_row_indices_t;

static inline int64_t lac_row_index(const lac_row_indices_t *indices, int64_t i)
{
    if (!indices->rows) return i;
    return indices->wide ? ((const int64_t *)indices->rows)[i] : ((const int32_t *)indices->rows)[i];
}

/* One matrix given by occupancy bits along k and its packed values. Bit (k % 64) of word [i][k / 64]. */
typedef struct lac_bits {
    int64_t rows, cols;
    int64_t words;        /* 64-bit words per row: ceil(cols / 64)                         */
    const uint64_t *bits; /* [rows * words]                                                */
    const int64_t *first; /* [rows] index in val of the row's first nonzero                */
    const void *val;      /* [nnz + 16] packed values, row by row, ascending k, with 16 of padding that may be
                             read; or NULL: every one is 1                                 */
} lac_bits_t;

/* The value types of the tables. */
typedef enum lac_host_type { LAC_HOST_F32, LAC_HOST_F64, LAC_HOST_TYPES } lac_host_type_t;

/* A factor in the type of the values. */
typedef union lac_host_scalar {
    float f32;
    double f64;
} lac_host_scalar_t;

/* Compressed rows as a caller brings them: not checked, in any order, with repetitions. */
typedef struct lac_loose_rows {
    int64_t rows, cols, nnz;
    int64_t fan_out;  /* entries of every row, where ptr is NULL                    */
    bool wide;        /* ptr, idx and perm are of int64_t, otherwise int32_t        */
    const void *ptr;  /* [rows + 1]                                                 */
    const void *idx;  /* [nnz]                                                      */
    const void *perm; /* [nnz], or NULL: entry e has the value val[perm[e]]         */
    const void *val;  /* [nnz], or [1] where homogeneous, or NULL: every entry is 1 */
    bool homogeneous;
} lac_loose_rows_t;

/* Which array of such rows holds the first wrong number; see loose_rows.h. */
typedef enum lac_loose_array { LAC_LOOSE_PTR, LAC_LOOSE_IDX, LAC_LOOSE_PERM } lac_loose_array_t;
#define LAC_LOOSE_FINE INT64_C(-1)

/* A dense matrix of values, or of bytes whose nonzeros are events. */
typedef struct lac_loose_dense {
    const void *data;
    bool bytes;
    int64_t rs, cs;
} lac_loose_dense_t;

/* Where a product goes: out := beta * out + alpha * product, element (i, j) at data[i * rs + j * cs]. */
typedef struct lac_host_output {
    lac_host_scalar_t alpha, beta;
    void *data;
    int64_t rs, cs;
} lac_host_output_t;

/* A dense matrix at any strides: element (r, c) at data[r * rs + c * cs]. */
typedef struct lac_host_matrix {
    const void *data;
    int64_t rs, cs;
} lac_host_matrix_t;

/* The kernels that read a dense S of one element type: the values' own, or binary events in bytes. */
typedef struct lac_host_scans {
    /* Compaction ---------------------------------------------------------------------------------------
     * Appends the nonzeros of S[0..m, k0..k1) to ev (whose k, row, first, active, count must be consistent;
     * active == count == 0 and first[0] == 0 to begin). Returns false, with ev unspecified, as soon as the
     * events would exceed ev->capacity. NaN is a nonzero; -0 is a zero. Fast when rs == 1 or cs == 1. */
    bool (*events)(const void *s, int64_t m, int64_t k0, int64_t k1, int64_t rs, int64_t cs,
                   lac_events_t *ev);

    /* Number of nonzeros in each of rows [i0, i1) of an m x kk matrix, into count[i - i0]; and the same
     * rows written as CSR entries, row i from idx + start[i - i0] up to start[i - i0 + 1] (idx or val may be
     * NULL: only the other is written, as for the packed values of lac_bits_t). Nothing past that is written,
     * though S has changed since it was counted; entries that have become zero since are zeros of column 0.
     */
    void (*count_rows)(const void *s, int64_t i0, int64_t i1, int64_t kk, int64_t rs, int64_t cs,
                       int64_t *count);
    void (*fill_rows)(const void *s, int64_t i0, int64_t i1, int64_t kk, int64_t rs, int64_t cs,
                      const int64_t *start, int32_t *idx, void *val);
    /* Rows [i0, i1), each contiguous, in one reading: their entries one after the other into idx (may be
     * NULL) and val, which have room for (i1 - i0) * kk; how many each row has into count[i - i0]; and their
     * bits as below, unless NULL. */
    void (*collect_rows)(const void *s, int64_t i0, int64_t i1, int64_t kk, int64_t rs, int32_t *idx,
                         void *val, uint64_t *bits, int64_t *count);
    /* Occupancy bits of rows [i0, i1), words = ceil(kk / 64) per row, unused high bits 0. */
    void (*fill_bits)(const void *s, int64_t i0, int64_t i1, int64_t kk, int64_t rs, int64_t cs,
                      uint64_t *bits);

    /* Probe: nonzeros among `samples` elements spread over the matrix (quasi-random in both directions,
     * the same positions for the same seed); the cheapest estimate of a density. Returns the nonzeros seen.
     */
    int64_t (*probe)(const void *s, int64_t m, int64_t kk, int64_t rs, int64_t cs, int64_t samples,
                     uint64_t seed);
} lac_host_scans_t;

/* The kernels of one instruction set and one type of values. */
typedef struct lac_host_kernels {
    const char *isa; /* "avx512", "avx2", "portable" */
    lac_host_type_t type;
    size_t size;              /* bytes of a value                */
    lac_host_scans_t scan;    /* of an S of such values          */
    lac_host_scans_t scan_u8; /* of an S of binary events        */

    /* Each file of kernels opens with its own: contract, type and arguments. */
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define LAC_KERNEL(name, type, arguments) type(*name) arguments;
#include "kernel_files.h"
#undef LAC_KERNEL
} lac_host_kernels_t;

/* Values of scratch, of `size` bytes each, that event_rows and event_cols need per thread for m rows of S. */
int64_t lac_event_scratch(int64_t m, size_t size);
/* Values of scratch that csr_rows can use per thread for an S of kk columns. */
int64_t lac_csr_scratch(int64_t kk, size_t size);
/* Bytes of scratch that csr_pair needs per thread for so many columns. */
int64_t lac_pair_scratch(int64_t columns, size_t size);
/* True where csr_rows packs W, given scratch, for so many entries of all its rows. */
bool lac_csr_packs(int64_t rows, int64_t kk, int64_t entries, size_t size);
/* Values of scratch that dense needs per thread. */
int64_t lac_dense_scratch(void);

/* A factor as the kernels of a type take it. */
static inline lac_host_scalar_t lac_host_scalar(lac_host_type_t type, double x)
{
    lac_host_scalar_t scalar;
    if (type == LAC_HOST_F64)
        scalar.f64 = x;
    else
        scalar.f32 = (float)x;
    return scalar;
}

/* The kernels for this processor, the widest instruction set first; or of a named one, NULL where the
 * processor lacks it or the name is unknown. */
const lac_host_kernels_t *lac_host_kernels(lac_host_type_t type);
const lac_host_kernels_t *lac_host_kernels_named(const char *isa, lac_host_type_t type);

/* The one symbol that each compilation of isa_kernels.c defines. */
extern const lac_host_kernels_t lac_host_kernels_portable_f32, lac_host_kernels_portable_f64;
extern const lac_host_kernels_t lac_host_kernels_avx2_f32, lac_host_kernels_avx2_f64;
extern const lac_host_kernels_t lac_host_kernels_avx512_f32, lac_host_kernels_avx512_f64;

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The arguments of one call, as they travel from the public or the intercepted symbol to the planner: with
 * the layout and every transpose folded into strides, so that nobody below asks again. */
#ifndef LACUNA_OPERAND_GEMM_ARGS_H
#define LACUNA_OPERAND_GEMM_ARGS_H

#include "lacuna/meta.h"

#include <stdbool.h>

/* True for the types of two bytes, whose sums, scalars and formats are f32. */
static inline bool lac_is_half(lac_dt_t dt)
{
    return dt == LAC_F16 || dt == LAC_BF16;
}

/* The type of the values in the formats of such an operand. */
static inline lac_dt_t lac_value_type(lac_dt_t dt)
{
    return lac_is_half(dt) ? LAC_F32 : dt;
}

/* Which triangle of a square matrix is meant, its diagonal included. */
typedef enum lac_triangle { LAC_TRIANGLE_NONE = 0, LAC_TRIANGLE_LOWER, LAC_TRIANGLE_UPPER } lac_triangle_t;

/* True where element (i, j) belongs to it; to NONE, a whole matrix, all do. */
static inline bool lac_triangle_holds(lac_triangle_t which, lac_dim_t i, lac_dim_t j)
{
    return which == LAC_TRIANGLE_NONE || (which == LAC_TRIANGLE_LOWER ? i >= j : i <= j);
}

/* Those of a product in one number: of C, the only elements that are computed, the others are left alone; of
 * A and B, all that a symmetric operand's buffer holds, the others are not read. */
#define LAC_TRIANGLES(c, a, b) ((unsigned)(c) | (unsigned)(a) << 2 | (unsigned)(b) << 4)

/* An operand: element (r, c) of op(X) lies at buf[r * rs + c * cs]. */
typedef struct lac_matrix_args {
    const void *buf; /* NULL: sparse only */
    lac_inc_t rs, cs;
    lac_meta_t *meta; /* what is known of X; NULL: nothing */
    lac_dt_t dt;
    bool transposed; /* op(X) is the transpose of the matrix that meta describes */
} lac_matrix_args_t;

/* What is added to the product besides beta C; each pointer may be NULL. */
typedef struct lac_residual {
    const float *d;   /* m x n, column-major, apart from C; of an f32 C alone */
    lac_inc_t ldd;    /* its leading dimension                                */
    const void *bias; /* m values of C's type: one for each row, in every column */
} lac_residual_t;

/* A batch of products of one shape: the distance from one product's matrices to the next one's, in elements.
 */
typedef struct lac_strides {
    lac_inc_t a, b, c;
    lac_dim_t count;
} lac_strides_t;

/* C[m, n] := beta C + alpha op(A)[m, k] op(B)[k, n] (+ residual), once or as a batch. */
typedef struct lac_gemm_args {
    lac_dim_t m, n, k;
    lac_dt_t dt; /* of C, and of the scalars but for those of LAC_F16 and LAC_BF16, which are f32 */
    lac_matrix_args_t a, b;
    unsigned triangles; /* LAC_TRIANGLES; on the host alone; 0: whole matrices */
    void *c;
    lac_inc_t crs, ccs;
    const void *alpha, *beta; /* NULL, on the host: 1 and 0                                         */
    lac_space_t scalars;      /* where they lie                                                     */
    bool adds;                /* residual is added                                                  */
    bool registered;          /* A or B may be registered, or is frozen by its shape: see interpose.h */
    lac_residual_t residual;  /* unset where nothing is                       */
    lac_strides_t batch;      /* count 0 or 1: a single product, strides unset */
    const char *symbol;       /* who calls, for reports: it lives as long as the call ... */
    const void *caller;       /* ... and from where; or NULL                            */
} lac_gemm_args_t;

/* The scalar that a caller's pointer leads to, for a c of that type; `absent` for NULL. */
static inline double lac_scalar(const void *scalar, lac_dt_t dt, double absent)
{
    if (!scalar) return absent;
    return dt == LAC_F64 ? *(const double *)scalar : (double)*(const float *)scalar;
}

/* C := beta C + alpha A B with A as the CSR arrays of somebody else's call, all on the context's device. The
 * entries of a row may stand in any order, and more than once. */
typedef struct lac_spmm {
    lac_dim_t m, n, k, nnz;
    lac_trans_t trans;              /* LAC_TRANS: the arrays hold the transpose of A, k rows */
    lac_index_t ptr_type, idx_type; /* of ptr[rows + 1] and idx[nnz], which begin at 0; nnz is exact */
    const void *ptr, *idx;
    const float *val; /* [nnz] */
    const float *b;   /* k x n; one of its strides is 1 */
    lac_inc_t rsb, csb;
    float *c; /* m x n */
    lac_inc_t rsc, csc;
    const float *alpha, *beta; /* one float each ... */
    lac_space_t scalars;       /* ... and where they lie */
    int alg;                   /* what else tells the caller's own calls apart: their algorithm */
} lac_spmm_t;

/* Why a drop-in library passes a call through without probing it. */
typedef enum lac_pass {
    LAC_PASS_VENDOR,         /* a vendor library made it, within an algorithm of its own    */
    LAC_PASS_TYPE,           /* its types, arithmetic or layout                             */
    LAC_PASS_ARGUMENTS,      /* nothing to multiply, or an error that is not ours to report */
    LAC_PASS_BATCH,          /* several products, that cannot be served one by one          */
    LAC_PASS_SMALL,          /* fewer multiply-adds than lac_interpose_min_macs                   */
    LAC_PASS_HANDLE,         /* scalars on the device, or a math mode                       */
    LAC_PASS_CAPTURED,       /* its stream is being captured                                */
    LAC_PASS_STREAM,         /* the per-thread default stream, or one too many              */
    LAC_PASS_CONTEXT,        /* no context could be made for it                             */
    LAC_PASS_GRAPH,          /* not passed on: captured with both paths                           */
    LAC_PASS_DEVICE_POINTERS /* where its matrices are is known on the device alone         */
} lac_pass_t;

#endif

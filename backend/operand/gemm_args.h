/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a drop-in library's call brings, as plain data, and why one is passed through instead. */
#ifndef LACUNA_OPERAND_GEMM_ARGS_H
#define LACUNA_OPERAND_GEMM_ARGS_H

#include "lacuna/meta.h"

/* Residual: what is added to the product besides beta C; each pointer may be NULL. */
typedef struct lac_residual {
    const float *d;    /* m x n, column-major, apart from C           */
    lac_inc_t ldd;     /* its leading dimension                       */
    const float *bias; /* m values: one for each row, in every column */
} lac_residual_t;

/* How far the matrices of the next product of a batch lie on, in elements. */
typedef struct lac_strides {
    lac_inc_t a, b, c;
    lac_dim_t count;
} lac_strides_t;

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

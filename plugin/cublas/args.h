/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * cuBLAS arguments read into plain, column-major terms. */
#ifndef LACUNA_PLUGIN_CUBLAS_ARGS_H
#define LACUNA_PLUGIN_CUBLAS_ARGS_H

#include "shapes.h"
#include "common/colmajor_args.h"

#include "lacuna/types.h"

enum { MATH_OF_HANDLE = -1 };

/* C := beta C + alpha op(A) op(B), `count` times, the next one's matrices so many elements further on. ta and
 * tb are lac_trans_t or BAD_TRANS. */
typedef struct gemm_args {
    int ta, tb, math; /* math: of CUBLAS_MATH_, or MATH_OF_HANDLE */
    int64_t m, n, k;
    const float *alpha, *beta; /* where the handle's pointer mode says */
    const float *a, *b;
    float *c;
    int64_t lda, ldb, ldc;
    int64_t stride_a, stride_b, stride_c, count;
    bool f32; /* every type is f32, and nothing asks for an algorithm by name */
    bool f32_result;
} gemm_args_t;

/* y := beta y + alpha op(A) x, A stored m x n. */
typedef struct gemv_args {
    int ta;
    int64_t m, n;
    const float *alpha, *beta;
    const float *a, *x;
    float *y;
    int64_t lda, incx, incy;
} gemv_args_t;

/* Real data: the conjugate transpose is the transpose. */
static inline int read_trans(int trans)
{
    return trans == CUBLAS_OP_N                           ? LAC_NO_TRANS
           : trans == CUBLAS_OP_T || trans == CUBLAS_OP_C ? LAC_TRANS
                                                          : BAD_TRANS;
}

static inline gemm_args_t read_sgemm_strided(bool wide, SGEMM_STRIDED_PARAMS)
{
    (void)handle;
    return (gemm_args_t){.ta = read_trans(ta),
                         .tb = read_trans(tb),
                         .math = MATH_OF_HANDLE,
                         .m = read_slot(m, wide),
                         .n = read_slot(n, wide),
                         .k = read_slot(k, wide),
                         .alpha = alpha,
                         .beta = beta,
                         .a = a,
                         .b = b,
                         .c = c,
                         .lda = read_slot(lda, wide),
                         .ldb = read_slot(ldb, wide),
                         .ldc = read_slot(ldc, wide),
                         .stride_a = stride_a,
                         .stride_b = stride_b,
                         .stride_c = stride_c,
                         .count = read_slot(count, wide),
                         .f32 = true,
                         .f32_result = true};
}

static inline gemm_args_t read_sgemm(bool wide, SGEMM_PARAMS)
{
    return read_sgemm_strided(wide, handle, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}

/* The extended calls name their types, the arithmetic and the algorithm. */
static inline gemm_args_t read_gemm_strided_ex(bool wide, GEMM_STRIDED_EX_PARAMS)
{
    gemm_args_t g = read_sgemm_strided(wide, handle, ta, tb, m, n, k, alpha, a, lda, stride_a, b, ldb,
                                       stride_b, beta, c, ldc, stride_c, count);
    bool known = compute == CUBLAS_COMPUTE_FP32 || compute == CUBLAS_COMPUTE_FP32_PEDANTIC ||
                 compute == CUBLAS_COMPUTE_TF32;
    bool free = algo == CUBLAS_ALGO_DEFAULT || algo == CUBLAS_ALGO_DEFAULT_TENSOR;
    g.f32_result = c_type == CUDA_TYPE_F32;
    g.f32 = known && free && a_type == CUDA_TYPE_F32 && b_type == CUDA_TYPE_F32 && c_type == CUDA_TYPE_F32;
    if (compute == CUBLAS_COMPUTE_FP32_PEDANTIC) g.math = CUBLAS_MATH_PEDANTIC;
    if (compute == CUBLAS_COMPUTE_TF32) g.math = CUBLAS_MATH_TF32;
    return g;
}

static inline gemm_args_t read_gemm_ex(bool wide, GEMM_EX_PARAMS)
{
    return read_gemm_strided_ex(wide, handle, ta, tb, m, n, k, alpha, a, a_type, lda, 0, b, b_type, ldb, 0,
                                beta, c, c_type, ldc, 0, 1, compute, algo);
}

static inline gemv_args_t read_sgemv(bool wide, SGEMV_PARAMS)
{
    (void)handle;
    return (gemv_args_t){.ta = read_trans(ta),
                         .m = read_slot(m, wide),
                         .n = read_slot(n, wide),
                         .alpha = alpha,
                         .beta = beta,
                         .a = a,
                         .x = x,
                         .y = y,
                         .lda = read_slot(lda, wide),
                         .incx = read_slot(incx, wide),
                         .incy = read_slot(incy, wide)};
}

/* Whether cuBLAS would accept the arguments and do any work for them. Anything else is its own business. */
static inline bool gemm_is_proper(const gemm_args_t *g)
{
    return product_is_proper(g->ta, g->tb, g->m, g->n, g->k, g->lda, g->ldb, g->ldc) && g->count > 0 &&
           g->alpha && g->beta && g->a && g->b && g->c;
}

static inline bool gemv_is_proper(const gemv_args_t *g)
{
    return vector_product_is_proper(g->ta, g->m, g->n, g->lda, g->incx, g->incy) && g->alpha && g->beta &&
           g->a && g->x && g->y;
}

/* A batch that is one product: it has one member, or its members share one operand and the rest of each lies
 * beside the one before. False where it is none. */
static inline bool gemm_batch_as_one(gemm_args_t *g)
{
    int64_t next_a = g->ta ? g->m * g->lda : g->m, next_b = g->tb ? g->n : g->n * g->ldb;
    if (g->count == 1) return true;
    if (g->stride_a == 0 && g->stride_b == next_b && g->stride_c == g->n * g->ldc &&
        (!g->tb || g->ldb >= g->n * g->count)) {
        g->n *= g->count; /* B and C stand side by side */
    } else if (g->stride_b == 0 && g->stride_a == next_a && g->stride_c == g->m &&
               g->ldc >= g->m * g->count && (g->ta || g->lda >= g->m * g->count)) {
        g->m *= g->count; /* A and C stand one below the other */
    } else {
        return false;
    }
    g->count = 1;
    return true;
}

/* A batch of products that may be made one after the other: no C begins before the last one ends. */
static inline bool gemm_batch_is_apart(const gemm_args_t *g)
{
    return g->stride_a >= 0 && g->stride_b >= 0 && g->stride_c >= (g->n - 1) * g->ldc + g->m;
}

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The shapes of the cuBLAS calls: their parameters, once for entry points, handlers and forwarding pointers;
 * and the few of their enumerators that matter here. No header of cuBLAS is needed to build.
 *
 * Every integer is taken as a 64-bit slot: on the 64-bit ABIs an int occupies such a slot with undefined
 * upper bits, so passing slots on verbatim serves the _64 calls and the others alike, and only the reader
 * narrows. */
#ifndef LACUNA_PLUGIN_CUBLAS_SHAPES_H
#define LACUNA_PLUGIN_CUBLAS_SHAPES_H

#include <stddef.h>
#include <stdint.h>

_Static_assert(sizeof(void *) == 8, "the entry points rely on 64-bit argument slots");

#define SGEMM_PARAMS                                                                                         \
    void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const float *alpha, const float *a,       \
        int64_t lda, const float *b, int64_t ldb, const float *beta, float *c, int64_t ldc
#define SGEMM_ARGS handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc

/* Scalars of binary16, as everything else is. */
#define HGEMM_PARAMS                                                                                         \
    void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,         \
        int64_t lda, const void *b, int64_t ldb, const void *beta, void *c, int64_t ldc
#define HGEMM_ARGS   SGEMM_ARGS
#define DGEMM_PARAMS HGEMM_PARAMS
#define DGEMM_ARGS   SGEMM_ARGS

#define SGEMV_PARAMS                                                                                         \
    void *handle, int ta, int64_t m, int64_t n, const float *alpha, const float *a, int64_t lda,             \
        const float *x, int64_t incx, const float *beta, float *y, int64_t incy
#define SGEMV_ARGS handle, ta, m, n, alpha, a, lda, x, incx, beta, y, incy

#define SGEMM_STRIDED_PARAMS                                                                                 \
    void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const float *alpha, const float *a,       \
        int64_t lda, int64_t stride_a, const float *b, int64_t ldb, int64_t stride_b, const float *beta,     \
        float *c, int64_t ldc, int64_t stride_c, int64_t count
#define SGEMM_STRIDED_ARGS                                                                                   \
    handle, ta, tb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, count

#define SGEMM_BATCHED_PARAMS                                                                                 \
    void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const float *alpha,                       \
        const float *const *a, int64_t lda, const float *const *b, int64_t ldb, const float *beta,           \
        float *const *c, int64_t ldc, int64_t count
#define SGEMM_BATCHED_ARGS handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count

#define GEMM_EX_PARAMS                                                                                       \
    void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,         \
        int a_type, int64_t lda, const void *b, int b_type, int64_t ldb, const void *beta, void *c,          \
        int c_type, int64_t ldc, int compute, int algo
#define GEMM_EX_ARGS                                                                                         \
    handle, ta, tb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, compute, algo

#define GEMM_STRIDED_EX_PARAMS                                                                               \
    void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,         \
        int a_type, int64_t lda, int64_t stride_a, const void *b, int b_type, int64_t ldb, int64_t stride_b, \
        const void *beta, void *c, int c_type, int64_t ldc, int64_t stride_c, int64_t count, int compute,    \
        int algo
#define GEMM_STRIDED_EX_ARGS                                                                                 \
    handle, ta, tb, m, n, k, alpha, a, a_type, lda, stride_a, b, b_type, ldb, stride_b, beta, c, c_type,     \
        ldc, stride_c, count, compute, algo

#define GEMM_BATCHED_EX_PARAMS                                                                               \
    void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const void *alpha, const void *const *a,  \
        int a_type, int64_t lda, const void *const *b, int b_type, int64_t ldb, const void *beta,            \
        void *const *c, int c_type, int64_t ldc, int64_t count, int compute, int algo
#define GEMM_BATCHED_EX_ARGS                                                                                 \
    handle, ta, tb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, count, compute, algo

#define LT_MATMUL_PARAMS                                                                                     \
    void *handle, const void *desc, const void *alpha, const void *a, const void *a_layout, const void *b,   \
        const void *b_layout, const void *beta, const void *c, const void *c_layout, void *d,                \
        const void *d_layout, const void *algo, void *workspace, size_t workspace_bytes, void *stream
#define LT_MATMUL_ARGS                                                                                       \
    handle, desc, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, algo, workspace,          \
        workspace_bytes, stream

/* The same as members of a structure that LT_MATMUL_ARGS fill in. */
#define LT_MATMUL_MEMBERS                                                                                    \
    void *handle;                                                                                            \
    const void *desc, *alpha, *a, *a_layout, *b, *b_layout, *beta, *c, *c_layout;                            \
    void *d;                                                                                                 \
    const void *d_layout, *algo;                                                                             \
    void *workspace;                                                                                         \
    size_t workspace_bytes;                                                                                  \
    void *stream

/* Of cuSPARSE; matrices by their descriptions. */
#define SPMM_PARAMS                                                                                          \
    void *handle, int op_a, int op_b, const void *alpha, const void *a, const void *b, const void *beta,     \
        void *c, int type, int algo, void *buffer
#define SPMM_ARGS handle, op_a, op_b, alpha, a, b, beta, c, type, algo, buffer
#define SPMM_MEMBERS                                                                                         \
    void *handle;                                                                                            \
    int op_a, op_b;                                                                                          \
    const void *alpha, *a, *b, *beta;                                                                        \
    void *c;                                                                                                 \
    int type, algo;                                                                                          \
    void *buffer

typedef int sgemm_fn(SGEMM_PARAMS);
typedef int hgemm_fn(HGEMM_PARAMS);
typedef int dgemm_fn(DGEMM_PARAMS);
typedef int sgemv_fn(SGEMV_PARAMS);
typedef int sgemm_strided_fn(SGEMM_STRIDED_PARAMS);
typedef int sgemm_batched_fn(SGEMM_BATCHED_PARAMS);
typedef int gemm_ex_fn(GEMM_EX_PARAMS);
typedef int gemm_strided_ex_fn(GEMM_STRIDED_EX_PARAMS);
typedef int gemm_batched_ex_fn(GEMM_BATCHED_EX_PARAMS);
typedef int lt_matmul_fn(LT_MATMUL_PARAMS);
typedef int spmm_fn(SPMM_PARAMS);

enum { CUBLAS_SUCCESS = 0, CUBLAS_NOT_INITIALIZED = 1, CUBLAS_EXECUTION_FAILED = 13 };
enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum { CUBLAS_SCALARS_ON_HOST = 0 };
enum {
    CUBLAS_MATH_DEFAULT = 0,
    CUBLAS_MATH_PEDANTIC = 2,
    CUBLAS_MATH_TF32 = 3,
    CUBLAS_MATH_NO_REDUCTION = 16
};
enum { CUBLAS_COMPUTE_FP32 = 68, CUBLAS_COMPUTE_FP32_PEDANTIC = 69, CUBLAS_COMPUTE_TF32 = 77 };
enum { CUBLAS_ALGO_DEFAULT = -1, CUBLAS_ALGO_DEFAULT_TENSOR = 99 };
enum { CUDA_TYPE_F32 = 0, CUDA_TYPE_F16 = 2, CUDA_TYPE_BF16 = 14 };

/* Attributes of a product and of a layout, and their values. */
enum {
    LT_COMPUTE = 0,
    LT_SCALE_TYPE = 1,
    LT_POINTER_MODE = 2,
    LT_TRANS_A = 3,
    LT_TRANS_B = 4,
    LT_TRANS_C = 5,
    LT_FILL = 6,
    LT_EPILOGUE = 7,
    LT_BIAS = 8,
    LT_SCALE_A = 17,
    LT_SCALE_B = 18,
    LT_SCALE_C = 19,
    LT_SCALE_D = 20,
    LT_LARGEST_D = 21,
    LT_BIAS_TYPE = 26,
    LT_SCALE_OUT = 36,
    LT_EMULATION = 38
};
enum { LT_TYPE = 0, LT_ORDER = 1, LT_ROWS = 2, LT_COLS = 3, LT_LD = 4, LT_BATCH = 5, LT_BATCH_MODE = 8 };
enum { LT_EPILOGUE_NONE = 1, LT_EPILOGUE_BIAS = 4 };
enum { LT_ORDER_COLUMNS = 0, LT_FILL_ALL = 2 };

enum { SPARSE_CSR = 1 };
enum { SPARSE_INDEX_32 = 2, SPARSE_INDEX_64 = 3 };
enum { SPARSE_ALGO_DEFAULT = 0, SPARSE_ALGO_CSR_1 = 4, SPARSE_ALGO_CSR_2 = 6 };
enum { SPARSE_ORDER_COLUMNS = 1, SPARSE_ORDER_ROWS = 2 };

#endif

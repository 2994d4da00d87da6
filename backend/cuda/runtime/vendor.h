/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * cuBLAS and cuSPARSE, found at run time. Their handles and enumerations are declared here as far as they are
 * used, so that neither header is needed to build; both libraries keep them stable. */
#ifndef LACUNA_CUDA_RUNTIME_VENDOR_H
#define LACUNA_CUDA_RUNTIME_VENDOR_H

#include "exec.h"

#define LAC_CUDA_BLAS_WORKSPACE ((size_t)64 << 20)

/* Operations and modes of cuBLAS. */
enum { LAC_CUBLAS_N = 0, LAC_CUBLAS_T = 1 };
enum { LAC_CUBLAS_SCALARS_HOST = 0, LAC_CUBLAS_SCALARS_DEVICE = 1 };
enum {
    LAC_CUBLAS_DEFAULT_MATH = 0,
    LAC_CUBLAS_PEDANTIC_MATH = 2,
    LAC_CUBLAS_TF32_MATH = 3,
    LAC_CUBLAS_WIDE_REDUCTION = 16 /* beside them: parts of a sum are added up in f32 */
};

/* Types of elements, of the arithmetic, and of an algorithm. */
enum { LAC_CUDA_R_32F = 0, LAC_CUDA_R_16F = 2, LAC_CUDA_R_16BF = 14 };
enum { LAC_CUBLAS_COMPUTE_32F = 68, LAC_CUBLAS_GEMM_DEFAULT = -1 };

static inline int lac_cublas_type(lac_dt_t dt)
{
    return dt == LAC_F16 ? LAC_CUDA_R_16F : dt == LAC_BF16 ? LAC_CUDA_R_16BF : LAC_CUDA_R_32F;
}

typedef struct lac_cublas {
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, cudaStream_t stream);
    int (*set_workspace)(void *handle, void *workspace, size_t bytes);
    int (*set_math)(void *handle, int mode);
    int (*set_scalars)(void *handle, int mode); /* or NULL */
    int (*version)(void *handle, int *version);
    int (*sgemm)(void *handle, int ta, int tb, int m, int n, int k, const float *alpha, const float *a,
                 int lda, const float *b, int ldb, const float *beta, float *c, int ldc);
    int (*sgemm_64)(void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const float *alpha,
                    const float *a, int64_t lda, const float *b, int64_t ldb, const float *beta, float *c,
                    int64_t ldc); /* NULL before CUDA 12 */
    int (*dgemm)(void *handle, int ta, int tb, int m, int n, int k, const double *alpha, const double *a,
                 int lda, const double *b, int ldb, const double *beta, double *c, int ldc); /* or NULL */
    int (*dgemm_64)(void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const double *alpha,
                    const double *a, int64_t lda, const double *b, int64_t ldb, const double *beta, double *c,
                    int64_t ldc); /* NULL before CUDA 12 */
    int (*gemm_ex)(void *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                   int a_type, int lda, const void *b, int b_type, int ldb, const void *beta, void *c,
                   int c_type, int ldc, int compute, int algo); /* or NULL */
    int (*gemm_ex_64)(void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const void *alpha,
                      const void *a, int a_type, int64_t lda, const void *b, int b_type, int64_t ldb,
                      const void *beta, void *c, int c_type, int64_t ldc, int compute,
                      int algo); /* NULL before CUDA 12 */
    int (*sgemm_strided)(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
                         const float *a, int lda, long long a_step, const float *b, int ldb, long long b_step,
                         const float *beta, float *c, int ldc, long long c_step, int count);
    int (*gemm_strided_ex)(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                           const void *a, int a_type, int lda, long long a_step, const void *b, int b_type,
                           int ldb, long long b_step, const void *beta, void *c, int c_type, int ldc,
                           long long c_step, int count, int compute, int algo); /* or NULL */
    bool found;
    char missing[256]; /* why it was not found */
} lac_cublas_t;

const lac_cublas_t *lac_cublas(void);

/* The exec's handle in *handle: made on first use, with the exec's stream and a workspace of its own set
 * after it, since setting the stream resets the workspace. Errors: UNAVAILABLE, MEMORY (while captured),
 * VENDOR. */
lac_status_t lac_cublas_handle(lac_exec_t *exec, void **handle);

/* Sets the mode in it, where another is set; halves: for a product of f16 or bf16, whose sums are f32. */
lac_status_t lac_cublas_math(lac_exec_t *exec, void *handle, lac_math_t math, bool halves);

lac_status_t lac_cublas_check_error(int status, const char *what);

void lac_cuda_vendor_close(lac_exec_t *exec);

#endif

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
enum { LAC_CUBLAS_DEFAULT_MATH = 0, LAC_CUBLAS_PEDANTIC_MATH = 2, LAC_CUBLAS_TF32_MATH = 3 };

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
    int (*sgemm_strided)(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
                         const float *a, int lda, long long a_step, const float *b, int ldb, long long b_step,
                         const float *beta, float *c, int ldc, long long c_step, int count);
    bool found;
    char missing[256]; /* why it was not found */
} lac_cublas_t;

const lac_cublas_t *lac_cublas(void);

/* The exec's handle in *handle: made on first use, with the exec's stream and a workspace of its own set
 * after it, since setting the stream resets the workspace. Errors: UNAVAILABLE, MEMORY (while captured),
 * VENDOR. */
lac_status_t lac_cublas_handle(lac_exec_t *exec, void **handle);

/* Sets the mode in it, where another is set. */
lac_status_t lac_cublas_math(lac_exec_t *exec, void *handle, lac_math_t math);

lac_status_t lac_cublas_check_error(int status, const char *what);

void lac_cuda_vendor_close(lac_exec_t *exec);

#endif

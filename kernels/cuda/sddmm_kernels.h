/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sampled products on the device. The contract is that of cuda_kernels.h. */
#ifndef LACUNA_SDDMM_KERNELS_H
#define LACUNA_SDDMM_KERNELS_H

#include "cuda_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * cuSPARSE, found at run time, with what its product keeps between calls; and a product with the CSR arrays
 * of somebody else's call.
 *
 * Enumerations and handles are declared here as far as they are used, so that its header is not needed to
 * build; the generic interface keeps them stable since CUDA 12. */
#ifndef LACUNA_CUDA_OPERATORS_SPMM_H
#define LACUNA_CUDA_OPERATORS_SPMM_H

#include "cuda/runtime/exec.h"

typedef struct lac_cusparse {
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, cudaStream_t stream);
    int (*version)(void *handle, int *version);
    int (*create_csr)(void **matrix, int64_t rows, int64_t cols, int64_t nnz, void *ptr, void *idx, void *val,
                      int ptr_type, int idx_type, int base, int value_type);
    int (*destroy_csr)(const void *matrix);
    int (*create_dense)(void **matrix, int64_t rows, int64_t cols, int64_t ld, void *values, int type,
                        int order);
    int (*destroy_dense)(const void *matrix);
    int (*set_values)(void *matrix, void *values);
    int (*buffer_size)(void *handle, int op_a, int op_b, const void *alpha, const void *a, const void *b,
                       const void *beta, void *c, int type, int algorithm, size_t *bytes);
    int (*preprocess)(void *handle, int op_a, int op_b, const void *alpha, const void *a, const void *b,
                      const void *beta, void *c, int type, int algorithm, void *buffer);
    int (*spmm)(void *handle, int op_a, int op_b, const void *alpha, const void *a, const void *b,
                const void *beta, void *c, int type, int algorithm, void *buffer);
    bool found;
    char missing[256]; /* why it was not found */
} lac_cusparse_t;

const lac_cusparse_t *lac_cusparse(void);

/* Whose rows a kept product is for: no other format of any metadata ever has the same two numbers. */
typedef struct lac_cuda_spmm_key {
    uint64_t serial, format_id; /* 0, 0: of nobody, the product is not kept */
    int64_t m, n, k, ldb, ldc;
} lac_cuda_spmm_key_t;

/* C := beta C + alpha A B with A[m, k] as CSR (nnz exact), B[k, n] and C[m, n] by rows, 16-byte aligned. The
 * first call of a key makes descriptors and lets cuSPARSE preprocess A, and may allocate; *declined is set,
 * and nothing done, where it cannot since the stream is captured, or graphs use every slot. A product of
 * nobody's waits for the stream. preparing: all but the product. Errors: VENDOR, MEMORY, UNAVAILABLE. */
lac_status_t lac_cuda_spmm(lac_exec_t *exec, const lac_cuda_spmm_key_t *key, const lac_cuda_csr_t *a,
                           float alpha, const float *b, float beta, float *c, bool *declined);

/* cuSPARSE's version; 0 where there is none. */
int lac_cuda_spmm_version(lac_exec_t *exec);
/* Device memory held for products. */
size_t lac_cuda_spmm_held(const lac_exec_t *exec);
void lac_cuda_spmm_close(lac_exec_t *exec);

/* A product with the CSR arrays of somebody else's call. */

/* Queues it. What our kernels do not read as it is, 32-bit row pointers, 64-bit indices, a transposed A, a
 * long B by columns, is brought into the workspace first, in every call. Errors: EXTENT, MEMORY, VENDOR. */
lac_status_t lac_cuda_spmm_arrays(lac_exec_t *exec, const lac_spmm_t *x);

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Rows picked out of a CSR matrix on the device, as a dense matrix and as CSR, and the gradient to its
 * values.
 *
 * The contract is that of cuda_kernels.h: device pointers, work queued on `stream`, nothing allocated or
 * waited for, the same bits each time. S is m x n in CSR, columns ascending and distinct within a row. */
#ifndef LACUNA_SLICE_KERNELS_H
#define LACUNA_SLICE_KERNELS_H

#include "cuda_kernels.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where kernels tell of what they cannot do: the smallest of place << 32 | what was found there, of all calls
 * since the word was LAC_CUDA_NOTHING_BAD. In pinned host memory; touched only where there is something. */
#define LAC_CUDA_NOTHING_BAD UINT64_MAX

typedef struct lac_cuda_slice {
    int64_t m, n, count;
    const void *rows; /* [count] in any order, each as often as wanted: int64_t where wide, else int32_t;
                         NULL: 0, 1, .. count - 1, for lac_cuda_slice_rows */
    bool wide;
    const int64_t *ptr;  /* [m + 1]                                                   */
    const int32_t *idx;  /* [nnz]                                                     */
    const float *val;    /* [nnz]; NULL: every entry has the value *weight            */
    const float *weight; /* one float; NULL: 1                                       */
    int64_t nnz;         /* as the host knows it                                     */
    uint64_t *bad; /* told of the first place of a row outside [0, m); NULL: that is no error. Such a row
                      has no entries */
} lac_cuda_slice_t;

/* out[i, j] := S[rows[i], j], every element written once. */
lac_status_t lac_cuda_slice_rows(const lac_cuda_slice_t *s, float *out, int64_t rs, int64_t cs,
                                 lac_cuda_stream_t stream);

/* grad[e] := sum over the i with rows[i] == e's row, ascending, of g[i, idx[e]]; 0 for rows that were not
 * picked. Values of s are not read; grad is [nnz]. Workspace (256-byte aligned): lac_cuda_slice_grad_bytes(m,
 * count). */
lac_status_t lac_cuda_slice_grad(const lac_cuda_slice_t *s, const float *g, int64_t rs, int64_t cs,
                                 float *grad, void *workspace, lac_cuda_stream_t stream);
int64_t lac_cuda_slice_grad_bytes(int64_t m, int64_t count);

/* *sum := the sum of those over all entries, taken in double. Workspace: lac_cuda_slice_sum_bytes(count). */
lac_status_t lac_cuda_slice_sum(const lac_cuda_slice_t *s, const float *g, int64_t rs, int64_t cs, float *sum,
                                void *workspace, lac_cuda_stream_t stream);
int64_t lac_cuda_slice_sum_bytes(int64_t count);

/* The slice as CSR, ptr and idx int64_t where wide, else int32_t: first ptr[count + 1], then idx and val
 * (NULL: not wanted) at ptr. *bad is told where the entries overflow int32_t, and of rows whose ptr is not
 * what the first wrote: these are left out. Workspace (256-byte aligned): lac_cuda_slice_ptr_bytes(count). */
lac_status_t lac_cuda_slice_ptr(const lac_cuda_slice_t *s, bool wide, void *ptr, uint64_t *bad,
                                void *workspace, lac_cuda_stream_t stream);
int64_t lac_cuda_slice_ptr_bytes(int64_t count);
lac_status_t lac_cuda_slice_entries(const lac_cuda_slice_t *s, bool wide, const void *ptr, void *idx,
                                    float *val, uint64_t *bad, lac_cuda_stream_t stream);

#ifdef __cplusplus
}
#endif
#endif

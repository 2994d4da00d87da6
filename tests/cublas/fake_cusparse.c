/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A cuSPARSE that computes nothing: it remembers what it was called with, and its descriptions are what
 * fake_cusparse.h says. */
#define _GNU_SOURCE
#include "../plugin/fake_library.h"
#include "fake_cusparse.h"
#include "cublas/shapes.h"

EXPORT spmm_fn cusparseSpMM;
int cusparseSpMM(SPMM_PARAMS)
{
    return note("cusparseSpMM", CALLER,
                SLOTS(ADDRESS(handle), op_a, op_b, ADDRESS(alpha), ADDRESS(a), ADDRESS(b), ADDRESS(beta),
                      ADDRESS(c), type, algo, ADDRESS(buffer)));
}

EXPORT int cusparseGetStream(const fake_sparse_handle_t *handle, void **stream);
int cusparseGetStream(const fake_sparse_handle_t *handle, void **stream)
{
    *stream = handle->stream;
    return handle->fails;
}

EXPORT int cusparseGetPointerMode(const fake_sparse_handle_t *handle, int *mode);
int cusparseGetPointerMode(const fake_sparse_handle_t *handle, int *mode)
{
    *mode = handle->scalars;
    return 0;
}

EXPORT int cusparseSpMatGetFormat(const fake_sparse_matrix_t *x, int *format);
int cusparseSpMatGetFormat(const fake_sparse_matrix_t *x, int *format)
{
    *format = x->format;
    return 0;
}

EXPORT int cusparseSpMatGetStridedBatch(const fake_sparse_matrix_t *x, int *count);
int cusparseSpMatGetStridedBatch(const fake_sparse_matrix_t *x, int *count)
{
    *count = x->batch;
    return 0;
}

EXPORT int cusparseConstCsrGet(const fake_sparse_matrix_t *x, int64_t *rows, int64_t *cols, int64_t *nnz,
                               const void **ptr, const void **idx, const void **val, int *ptr_type,
                               int *idx_type, int *base, int *type);
int cusparseConstCsrGet(const fake_sparse_matrix_t *x, int64_t *rows, int64_t *cols, int64_t *nnz,
                        const void **ptr, const void **idx, const void **val, int *ptr_type, int *idx_type,
                        int *base, int *type)
{
    *rows = x->rows, *cols = x->cols, *nnz = x->nnz;
    *ptr = x->ptr, *idx = x->idx, *val = x->val;
    *ptr_type = x->ptr_type, *idx_type = x->idx_type;
    *base = x->base, *type = x->type;
    return x->fails;
}

EXPORT int cusparseDnMatGetStridedBatch(const fake_dense_matrix_t *x, int *count, int64_t *stride);
int cusparseDnMatGetStridedBatch(const fake_dense_matrix_t *x, int *count, int64_t *stride)
{
    *count = x->batch, *stride = x->stride;
    return 0;
}

EXPORT int cusparseConstDnMatGet(const fake_dense_matrix_t *x, int64_t *rows, int64_t *cols, int64_t *ld,
                                 const void **values, int *type, int *order);
int cusparseConstDnMatGet(const fake_dense_matrix_t *x, int64_t *rows, int64_t *cols, int64_t *ld,
                          const void **values, int *type, int *order)
{
    *rows = x->rows, *cols = x->cols, *ld = x->ld;
    *values = x->values;
    *type = x->type, *order = x->order;
    return x->fails;
}

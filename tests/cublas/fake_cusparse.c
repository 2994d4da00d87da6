/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A cuSPARSE that computes nothing: it remembers what it was called with, and its descriptions are what
 * fake_cusparse.h says. */
#define _GNU_SOURCE
#include "fake_cusparse.h"
#include "cublas/shapes.h"

#include <dlfcn.h>
#include <string.h>

#define EXPORT     __attribute__((visibility("default")))
#define ADDRESS(x) (int64_t)(x)

static fake_sparse_record_t record;

EXPORT fake_sparse_take_fn fake_sparse_take;
fake_sparse_record_t fake_sparse_take(void)
{
    fake_sparse_record_t taken = record;
    memset(&record, 0, sizeof record);
    return taken;
}

EXPORT spmm_fn cusparseSpMM;
int cusparseSpMM(SPMM_PARAMS)
{
    Dl_info info;
    const int64_t slot[FAKE_SPARSE_SLOTS] = {
        ADDRESS(handle), op_a,       op_b, ADDRESS(alpha), ADDRESS(a),     ADDRESS(b),
        ADDRESS(beta),   ADDRESS(c), type, algo,           ADDRESS(buffer)};
    record.calls++;
    memcpy(record.slot, slot, sizeof slot);
    record.through_plugin = dladdr(__builtin_return_address(0), &info) && info.dli_fname &&
                            strstr(info.dli_fname, "liblacuna_cublas") != NULL;
    return FAKE_SPARSE_STATUS;
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

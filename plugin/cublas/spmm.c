/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * cuSPARSE's product of a sparse matrix with a dense one: its descriptions are read through its own getters,
 * and the buffer that it asked for is left alone. */
#include "entry.h"

#define MACS_MIN 65536.0 /* multiply-adds below which the host is busier than the device */

typedef struct sparse_terms {
    int64_t rows, cols, nnz;
    const void *ptr, *idx, *val;
    int ptr_type, idx_type, base, type;
} sparse_terms_t;

typedef struct dense_terms {
    int64_t rows, cols, ld;
    const void *values;
    int type, order;
} dense_terms_t;

static bool read_sparse(const sparse_getters_t *get, const void *desc, sparse_terms_t *x)
{
    int format = 0, batch = 0;
    if (!desc || get->format(desc, &format) || format != SPARSE_CSR) return false;
    if (get->sparse_batch(desc, &batch) || batch > 1) return false;
    return !get->csr(desc, &x->rows, &x->cols, &x->nnz, &x->ptr, &x->idx, &x->val, &x->ptr_type, &x->idx_type,
                     &x->base, &x->type);
}

static bool read_dense(const sparse_getters_t *get, const void *desc, dense_terms_t *x)
{
    int batch = 0;
    int64_t stride = 0;
    if (!desc || get->dense_batch(desc, &batch, &stride) || batch > 1) return false;
    return !get->dense(desc, &x->rows, &x->cols, &x->ld, &x->values, &x->type, &x->order);
}

/* The algorithms for CSR. The third promises the same bits every time, which two kernels in turn could not
 * keep; the others are none for CSR, and cuSPARSE says so. */
static bool is_free(int algo)
{
    return algo == SPARSE_ALGO_DEFAULT || algo == SPARSE_ALGO_CSR_1 || algo == SPARSE_ALGO_CSR_2;
}

static bool is_index(int type)
{
    return type == SPARSE_INDEX_32 || type == SPARSE_INDEX_64;
}

/* Steps from row to row and from column to column, the matrix read as `op` says. */
static bool read_strides(const dense_terms_t *x, int op, int64_t *rs, int64_t *cs)
{
    bool by_rows = x->order == SPARSE_ORDER_ROWS;
    if (!by_rows && x->order != SPARSE_ORDER_COLUMNS) return false;
    bool along_rows = by_rows == (op == CUBLAS_OP_N); /* columns of op(X) lie side by side */
    *rs = along_rows ? x->ld : 1;
    *cs = along_rows ? 1 : x->ld;
    return x->type == CUDA_TYPE_F32 && x->values && x->ld >= (by_rows ? x->cols : x->rows);
}

/* What cuSPARSE would compute here, and we too. */
static bool is_served(const sparse_terms_t *x, int algo, int type)
{
    return type == CUDA_TYPE_F32 && is_free(algo) && is_index(x->ptr_type) && is_index(x->idx_type) &&
           x->base == 0 && x->type == CUDA_TYPE_F32 && x->ptr && x->idx && x->val;
}

static lac_index_t index_type(int type)
{
    return type == SPARSE_INDEX_64 ? LAC_I64 : LAC_I32;
}

static bool read_spmm(const sparse_getters_t *get, const spmm_call_t *call, lac_spmm_t *s)
{
    sparse_terms_t x;
    dense_terms_t y, z;
    int trans = read_trans(call->op_a), op_b = read_trans(call->op_b), scalars = -1;
    if (trans == BAD_TRANS || op_b == BAD_TRANS || !call->alpha || !call->beta) return false;
    if (!read_sparse(get, call->a, &x) || !read_dense(get, call->b, &y) || !read_dense(get, call->c, &z))
        return false;
    if (!is_served(&x, call->algo, call->type) || get->pointer_mode(call->handle, &scalars)) return false;
    *s = (lac_spmm_t){.m = trans ? x.cols : x.rows,
                      .n = op_b ? y.rows : y.cols,
                      .k = trans ? x.rows : x.cols,
                      .nnz = x.nnz,
                      .trans = (lac_trans_t)trans,
                      .ptr_type = index_type(x.ptr_type),
                      .idx_type = index_type(x.idx_type),
                      .ptr = x.ptr,
                      .idx = x.idx,
                      .val = x.val,
                      .b = y.values,
                      .c = (float *)(uintptr_t)z.values,
                      .alpha = call->alpha,
                      .beta = call->beta,
                      .scalars = scalars == CUBLAS_SCALARS_ON_HOST ? LAC_HOST : LAC_DEVICE,
                      .alg = call->algo};
    bool fits = s->k == (op_b ? y.cols : y.rows) && z.rows == s->m && z.cols == s->n;
    return fits && read_strides(&y, call->op_b, &s->rsb, &s->csb) &&
           read_strides(&z, CUBLAS_OP_N, &s->rsc, &s->csc);
}

static bool has_getters(const sparse_getters_t *get)
{
    return get->stream && get->pointer_mode && get->format && get->sparse_batch && get->csr &&
           get->dense_batch && get->dense;
}

/* What is registered where C is to be is not as it was, whoever computes it. Of a batch, all from the first C
 * to the end of the last. */
static void invalidate_written(const sparse_getters_t *get, const void *c)
{
    dense_terms_t z;
    int batch = 0;
    int64_t apart = 0;
    if (!c || get->dense_batch(c, &batch, &apart) ||
        get->dense(c, &z.rows, &z.cols, &z.ld, &z.values, &z.type, &z.order) || z.type != CUDA_TYPE_F32)
        return;
    int64_t line = z.order == SPARSE_ORDER_ROWS ? z.cols : z.rows, lines = z.rows + z.cols - line;
    int64_t all = (lines - 1) * z.ld + line;
    if (line <= 0 || lines <= 0 || z.ld < line) return;
    if (batch > 1 && apart > 0)
        lac_interpose_invalidate_output(LAC_F32, z.values, (batch - 1) * apart + all, 1, 1, 1);
    else
        lac_interpose_invalidate_output(LAC_F32, z.values, line, lines, 1, z.ld);
}

bool lacuna_spmm(call_t *call, const spmm_call_t *spmm)
{
    lac_spmm_t s;
    void *stream = NULL;
    const sparse_getters_t *get = &call->next_fn->get.sparse;
    if (!spmm->handle || !has_getters(get) || get->stream(spmm->handle, &stream))
        return passed_on(call, LAC_PASS_HANDLE);
    invalidate_written(get, spmm->c);
    if (!read_spmm(get, spmm, &s)) return passed_on(call, LAC_PASS_TYPE);
    if (s.m <= 0 || s.n <= 0 || s.k <= 0 || s.nnz <= 0) return passed_on(call, LAC_PASS_ARGUMENTS);
    if (lac_interpose_min_macs() > 0.0 && (double)s.nnz * (double)s.n < MACS_MIN)
        return passed_on(call, LAC_PASS_SMALL);
    lac_pass_t why;
    stream_context_t *sc = call_enter(stream, CUBLAS_MATH_DEFAULT, &why);
    if (!sc) return passed_on(call, why);
    return call_leave(call, sc, lac_try_spmm(sc->ctx, &s, call->symbol, call->caller));
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The kernels that take the entries of a row as they come: neither is told that they are in order. */
#include "cuda_spmm_arrays.h"
#include "cuda_gather.h"
#include "../base/status.h"

/* Where the pieces of the workspace lie; empty ones take nothing. */
typedef struct layout {
    bool transposed;
    int64_t ldw; /* of a transposed B */
    size_t ptr, idx, w;
    size_t by_rows; /* the rows of A where the arrays hold its columns, and what making them takes */
} layout_t;

static int64_t stored_rows(const lac_spmm_t *x)
{
    return x->trans == LAC_TRANS ? x->k : x->m;
}

static size_t pointers(int64_t rows)
{
    return lac_cuda_piece((size_t)(rows + 1) * sizeof(int64_t));
}

static size_t entries(const lac_spmm_t *x)
{
    return lac_cuda_piece((size_t)x->nnz * sizeof(float));
}

static layout_t lay_out(const lac_spmm_t *x)
{
    layout_t l = {.transposed = x->csb != 1 && x->n > LAC_CUDA_NARROW_MAX, .ldw = (x->n + 3) / 4 * 4};
    if (x->ptr_type == LAC_I32) l.ptr = pointers(stored_rows(x));
    if (x->idx_type == LAC_I64) l.idx = entries(x);
    if (l.transposed) l.w = lac_cuda_piece((size_t)x->k * (size_t)l.ldw * sizeof(float));
    if (x->trans == LAC_TRANS)
        l.by_rows = pointers(x->m) + 2 * entries(x) + (size_t)lac_cuda_csr_to_csc_bytes(x->m, x->nnz);
    return l;
}

/* The rows of A from its columns; in order, though nobody relies on it. */
static lac_status_t csr_to_csc(lac_exec_t *exec, const lac_spmm_t *x, char *memory, lac_cuda_csr_t *csr)
{
    int64_t *ptr = (int64_t *)(void *)memory;
    int32_t *idx = (int32_t *)(void *)(memory + pointers(x->m));
    float *val = (float *)(void *)((char *)idx + entries(x));
    void *scratch = (char *)val + entries(x);
    lac_status_t status =
        lac_cuda_launched(lac_cuda_csr_to_csc(x->k, x->m, csr, ptr, idx, val, scratch, exec->stream), "rows");
    *csr = (lac_cuda_csr_t){ptr, idx, val, x->nnz};
    return status;
}

static lac_status_t lay_out_rows(lac_exec_t *exec, const lac_spmm_t *x, const layout_t *l, char *memory,
                                 lac_cuda_csr_t *csr)
{
    int64_t *ptr = (int64_t *)(void *)memory;
    int32_t *idx = (int32_t *)(void *)(memory + l->ptr);
    lac_status_t status = LAC_OK;
    *csr = (lac_cuda_csr_t){l->ptr ? ptr : x->ptr, l->idx ? idx : x->idx, x->val, x->nnz};
    if (l->ptr) status = lac_cuda_widen(stored_rows(x) + 1, x->ptr, ptr, exec->stream);
    if (!status && l->idx) status = lac_cuda_narrow(x->nnz, x->idx, idx, exec->stream);
    if (!status && l->by_rows) status = csr_to_csc(exec, x, memory + l->ptr + l->idx + l->w, csr);
    return lac_cuda_launched(status, "rows");
}

/* B by rows, of any length. */
static lac_status_t multiply(lac_exec_t *exec, const lac_spmm_t *x, const lac_cuda_product_t *p,
                             const lac_cuda_csr_t *csr)
{
    if (x->n <= LAC_CUDA_NARROW_MAX) return lac_cuda_spmm_narrow(p, csr, exec->stream);
    bool aligned = p->order == LAC_CUDA_ROWS && x->n % 4 == 0 && p->ldw % 4 == 0 && (uintptr_t)p->w % 16 == 0;
    if (aligned &&
        lac_cuda_wide_wins((double)x->m, (double)x->n, (double)x->k, (double)x->nnz, exec->machine))
        return lac_cuda_spmm_wide(p, csr, exec->stream);
    return lac_cuda_event_csr(p, csr, NULL, exec->stream);
}

lac_status_t lac_cuda_spmm_arrays(lac_exec_t *exec, const lac_spmm_t *x)
{
    bool there = x->scalars == LAC_DEVICE, by_rows = x->csb == 1;
    layout_t l = lay_out(x);
    lac_cuda_csr_t csr;
    char *memory;
    lac_cuda_product_t product = {.m = x->m, .n = x->n, .k = x->k, .w = x->b, .out = x->c};
    product.alpha = (lac_cuda_scalar_t){there ? x->alpha : NULL, there ? 1.0f : *x->alpha};
    product.beta = (lac_cuda_scalar_t){there ? x->beta : NULL, there ? 1.0f : *x->beta};
    product.rs = x->rsc, product.cs = x->csc;
    product.order = by_rows || l.transposed ? LAC_CUDA_ROWS : LAC_CUDA_COLS;
    product.ldw = l.transposed ? l.ldw : by_rows ? x->rsb : x->csb;
    lac_status_t status = lac_cuda_work(exec, l.ptr + l.idx + l.w + l.by_rows + 1, (void **)&memory);
    if (!status) status = lay_out_rows(exec, x, &l, memory, &csr);
    if (!status && l.transposed) {
        lac_cuda_matrix_t b = {LAC_F32, x->b, x->k, x->n, x->rsb, x->csb};
        float *w = (float *)(void *)(memory + l.ptr + l.idx);
        product.w = w;
        status = lac_cuda_launched(lac_cuda_copy(&b, 0.0f, w, l.ldw, 1, exec->stream), "csr");
    }
    if (status) return status;
    return lac_cuda_launched(multiply(exec, x, &product, &csr), "csr");
}

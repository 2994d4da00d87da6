/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operators on compressed rows that a call brings along, on a device.
 *
 * To check the arrays before a call returns, the host would have to wait for the device, each time. So the
 * kernels check what they read: what is out of range counts as absent, and its place goes to a word of pinned
 * memory, which the next call and everything that waits anyway read. */
#include "operators.h"
#include "base/status.h"

#include <inttypes.h>

lac_status_t lac_cuda_csr_check_errors(lac_exec_t *exec)
{
    static const char *const names[] = {"ptr", "idx", "perm"};
    uint64_t wrong =
        __atomic_exchange_n(&exec->bad[LAC_CUDA_BAD_CSR], LAC_CUDA_NOTHING_BAD, __ATOMIC_RELAXED);
    if (wrong == LAC_CUDA_NOTHING_BAD) return LAC_OK;
    return lac_fail(LAC_ERR_VALUE, "a.%s[%" PRIu64 "]: was out of range in an earlier call; taken for absent",
                    names[wrong % 4], wrong / 4);
}

static lac_cuda_loose_t described(const lac_exec_t *exec, const lac_csr_call_t *c)
{
    const lac_csr_t *a = c->a;
    const float *val = c->values ? a->val : NULL;
    bool one = !val || a->homogeneous;
    return (lac_cuda_loose_t){.m = a->m,
                              .n = a->n,
                              .nnz = a->nnz,
                              .fan_out = a->m ? a->nnz / a->m : 0,
                              .wide = a->it == LAC_I64,
                              .homogeneous = one,
                              .ptr = a->ptr,
                              .idx = a->idx,
                              .perm = one ? NULL : a->perm,
                              .val = val,
                              .bad = &exec->bad[LAC_CUDA_BAD_CSR]};
}

static lac_cuda_loose_dense_t dense(const lac_obj_t *x, bool binary)
{
    return (lac_cuda_loose_dense_t){
        .data = x->buf, .bytes = x->dt == LAC_U8, .binary = binary, .rs = x->rs, .cs = x->cs};
}

/* Memory of the caller's, or the run's own. */
static lac_status_t sums_of(lac_exec_t *exec, const lac_csr_call_t *c, void **sums)
{
    size_t bytes;
    if (__builtin_mul_overflow((size_t)c->a->n * LAC_CUDA_LOOSE_SUMS, (size_t)c->columns, &bytes) ||
        __builtin_add_overflow(bytes, (size_t)LAC_CUDA_LOOSE_RANGES, &bytes))
        bytes = SIZE_MAX;
    *sums = exec->csr_workspace;
    if (!*sums) return lac_cuda_work(exec, bytes, sums);
    if (bytes <= exec->csr_workspace_bytes) return LAC_OK;
    return lac_fail(LAC_ERR_MEMORY, "workspace: the product needs %zu bytes and was given %zu", bytes,
                    exec->csr_workspace_bytes);
}

static lac_status_t gemm(lac_exec_t *exec, const lac_csr_call_t *c)
{
    lac_status_t status = lac_cuda_csr_check_errors(exec);
    if (status) return status;
    lac_cuda_loose_t a = described(exec, c);
    lac_cuda_loose_dense_t x = dense(&c->x, c->binary);
    void *sums = NULL;
    if (!c->transposed)
        return lac_cuda_launched(
            lac_cuda_loose_gather(&a, &x, c->columns, c->out, c->rs, c->cs, exec->stream), "csr product");
    bool counts = a.homogeneous && (x.bytes || x.binary);
    if (!counts && (status = sums_of(exec, c, &sums))) return status;
    return lac_cuda_launched(
        lac_cuda_loose_scatter(&a, &x, c->columns, c->out, c->rs, c->cs, sums, exec->stream), "csr product");
}

static lac_status_t count(lac_exec_t *exec, const lac_csr_call_t *c)
{
    lac_status_t status = lac_cuda_csr_check_errors(exec);
    if (status) return status;
    lac_cuda_loose_t a = described(exec, c);
    lac_cuda_loose_dense_t x = dense(&c->x, true);
    return lac_cuda_launched(lac_cuda_loose_count(&a, &x, c->columns, c->counts, c->columns, 1, exec->stream),
                             "csr count");
}

static lac_status_t slice_rows(lac_exec_t *exec, const lac_csr_call_t *c)
{
    lac_status_t status = lac_cuda_csr_check_errors(exec);
    if (status) return status;
    lac_cuda_loose_t a = described(exec, c);
    lac_cuda_row_list_t rows = {c->count, c->rows, c->it == LAC_I64};
    return lac_cuda_launched(lac_cuda_loose_slice(&a, &rows, c->out, c->rs, c->cs, exec->stream),
                             "csr slice");
}

static lac_status_t slice_grad(lac_exec_t *exec, const lac_csr_call_t *c)
{
    lac_status_t status = lac_cuda_csr_check_errors(exec);
    if (status) return status;
    lac_cuda_loose_t a = described(exec, c);
    lac_cuda_row_list_t rows = {c->count, c->rows, c->it == LAC_I64};
    return lac_cuda_launched(lac_cuda_loose_grad(&a, &rows, c->y.buf, c->y.rs, c->y.cs, c->out, exec->stream),
                             "csr slice gradient");
}

static lac_status_t sddmm(lac_exec_t *exec, const lac_csr_call_t *c)
{
    lac_status_t status = lac_cuda_csr_check_errors(exec);
    if (status) return status;
    lac_cuda_loose_t a = described(exec, c);
    lac_cuda_loose_dense_t x = dense(&c->x, false), y = dense(&c->y, false);
    return lac_cuda_launched(lac_cuda_loose_sddmm(&a, &x, &y, c->depth, c->out, exec->stream), "csr sample");
}

static lac_status_t workspace(lac_exec_t *exec, void *memory, size_t bytes)
{
    exec->csr_workspace = memory;
    exec->csr_workspace_bytes = bytes;
    return LAC_OK;
}

const lac_csr_operators_t lac_cuda_csr = {gemm, count, slice_rows, slice_grad, sddmm, workspace};

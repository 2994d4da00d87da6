/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Row slices on a device.
 *
 * To check the list of rows before the call returns, the host would have to wait for the device, each time.
 * So the kernels check it: a row outside the matrix has no entries, and the index of the first one goes to a
 * word of pinned memory, which the next call and everything that waits anyway read. */
#include "operators.h"
#include "cuda/formats/formats.h"
#include "cuda_kernels.h"
#include "base/status.h"

#include <inttypes.h>

static uint64_t take(uint64_t *word)
{
    return __atomic_exchange_n(word, LAC_CUDA_NOTHING_BAD, __ATOMIC_RELAXED);
}

lac_status_t lac_cuda_slice_check_errors(lac_exec_t *exec)
{
    uint64_t row = take(&exec->bad[LAC_CUDA_BAD_ROW]);
    if (row != LAC_CUDA_NOTHING_BAD)
        return lac_fail(LAC_ERR_VALUE,
                        "rows[%" PRIu64 "]: was %" PRId32
                        " in an earlier call, outside the operand; taken for "
                        "an empty row",
                        row >> 32, (int32_t)(uint32_t)row);
    uint64_t pointer = take(&exec->bad[LAC_CUDA_BAD_POINTER]);
    if (pointer != LAC_CUDA_NOTHING_BAD)
        return lac_fail(LAC_ERR_SPARSE,
                        "ptr[%" PRIu64 "]: was %" PRId32 " in an earlier call: not what lac_slice_rows_count "
                        "writes, or an overflow of int32_t",
                        pointer >> 32, (int32_t)(uint32_t)pointer);
    return LAC_OK;
}

static lac_cuda_slice_t described(const lac_exec_t *exec, const lac_slicing_t *s)
{
    return (lac_cuda_slice_t){.m = s->m,
                              .n = s->n,
                              .count = s->count,
                              .rows = s->rows,
                              .wide = s->it == LAC_I64,
                              .ptr = s->format->ptr,
                              .idx = s->format->idx,
                              .val = s->homogeneous ? NULL : s->val,
                              .weight = s->homogeneous ? s->val : NULL,
                              .nnz = s->format->count,
                              .bad = s->zero_rows ? NULL : &exec->bad[LAC_CUDA_BAD_ROW]};
}

/* Of compressed rows or columns, or of a frozen buffer: what a slice takes does not depend on where it is
 * taken, so a bitmask, which would do here, is not asked. */
static lac_status_t slice_format(lac_exec_t *exec, const lac_slicing_t *s, const lac_format_data_t **format)
{
    const bool stands =
        s->a.formats & (1u << LAC_FORMAT_CSR | 1u << LAC_FORMAT_CSC) || (s->a.frozen && s->a.buf);
    lac_status_t status = lac_cuda_slice_check_errors(exec);
    return status || !stands ? status : lac_cuda_format_ensure(exec, &s->a, s->which, format);
}

static lac_status_t slice_dense(lac_exec_t *exec, const lac_slicing_t *s, void *out, lac_inc_t rs,
                                lac_inc_t cs)
{
    lac_cuda_slice_t slice = described(exec, s);
    return lac_cuda_launched(lac_cuda_slice_rows(&slice, out, rs, cs, exec->stream), "slice");
}

static lac_status_t slice_grad(lac_exec_t *exec, const lac_slicing_t *s, const void *grad_out, lac_inc_t rs,
                               lac_inc_t cs, void *grad_val)
{
    lac_cuda_slice_t slice = described(exec, s);
    int64_t bytes =
        s->homogeneous ? lac_cuda_slice_sum_bytes(s->count) : lac_cuda_slice_grad_bytes(s->m, s->count);
    void *scratch;
    lac_status_t status = lac_cuda_work(exec, (size_t)bytes, &scratch);
    if (status) return status;
    return lac_cuda_launched(
        s->homogeneous ? lac_cuda_slice_sum(&slice, grad_out, rs, cs, grad_val, scratch, exec->stream)
                       : lac_cuda_slice_grad(&slice, grad_out, rs, cs, grad_val, scratch, exec->stream),
        "slice gradient");
}

static lac_status_t slice_count(lac_exec_t *exec, const lac_slicing_t *s, lac_index_t it, void *ptr)
{
    lac_cuda_slice_t slice = described(exec, s);
    void *scratch;
    lac_status_t status = lac_cuda_work(exec, (size_t)lac_cuda_slice_ptr_bytes(s->count), &scratch);
    if (status) return status;
    return lac_cuda_launched(lac_cuda_slice_ptr(&slice, it == LAC_I64, ptr, &exec->bad[LAC_CUDA_BAD_POINTER],
                                                scratch, exec->stream),
                             "slice");
}

/* The pointers are on the device: the kernel checks them row by row. */
static lac_status_t slice_entries(lac_exec_t *exec, const lac_slicing_t *s, lac_index_t it, const void *ptr,
                                  int64_t *entries)
{
    (void)exec, (void)s, (void)it, (void)ptr;
    *entries = LAC_ENTRIES_UNKNOWN;
    return LAC_OK;
}

static lac_status_t slice_csr(lac_exec_t *exec, const lac_slicing_t *s, lac_index_t it, const void *ptr,
                              void *idx, void *val)
{
    lac_cuda_slice_t slice = described(exec, s);
    return lac_cuda_launched(lac_cuda_slice_entries(&slice, it == LAC_I64, ptr, idx, val,
                                                    &exec->bad[LAC_CUDA_BAD_POINTER], exec->stream),
                             "slice");
}

const lac_slicer_t lac_cuda_slicer = {.format = slice_format,
                                      .rows = slice_dense,
                                      .grad = slice_grad,
                                      .count = slice_count,
                                      .entries = slice_entries,
                                      .csr = slice_csr};

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Compressed formats from other sparse formats, for operands that have no buffer to scan. */
#include "cuda_convert.h"
#include "cuda_format_memory.h"
#include "../base/status.h"

/* The compressed format of the other extent. */
static lac_format_t across(lac_format_t which)
{
    return which == LAC_FORMAT_CSR ? LAC_FORMAT_CSC : LAC_FORMAT_CSR;
}

bool lac_cuda_format_converts(const lac_operand_t *x, lac_format_t which)
{
    if (which != LAC_FORMAT_CSR && which != LAC_FORMAT_CSC) return false;
    return x->formats & (1u << across(which) | 1u << LAC_FORMAT_BITS);
}

static lac_status_t csr_to_csc(lac_exec_t *exec, const lac_meta_t *meta, lac_format_t which,
                               const lac_format_data_t *from, lac_format_data_t *data)
{
    int64_t majors = which == LAC_FORMAT_CSC ? meta->m : meta->n,
            minors = which == LAC_FORMAT_CSC ? meta->n : meta->m;
    lac_cuda_csr_t csr = {from->ptr, from->idx, from->val, from->count};
    size_t entries = (size_t)from->count * sizeof(float);
    void *ptr, *idx, *val = NULL, *scratch;
    lac_status_t status = lac_cuda_format_own(data, 0, (size_t)(minors + 1) * sizeof(int64_t), &ptr);
    if (!status) status = lac_cuda_format_own(data, 1, entries, &idx);
    if (!status && from->val) status = lac_cuda_format_own(data, 2, entries, &val);
    if (!status)
        status = lac_cuda_work(exec, (size_t)lac_cuda_csr_to_csc_bytes(minors, from->count), &scratch);
    if (!status)
        status = lac_cuda_launched(
            lac_cuda_csr_to_csc(majors, minors, &csr, ptr, idx, val, scratch, exec->stream), "metadata");
    if (status) return status;
    data->ptr = ptr, data->idx = idx, data->val = val;
    return LAC_OK;
}

static lac_status_t list_bits(lac_exec_t *exec, const lac_meta_t *meta, const lac_format_data_t *from,
                              lac_format_data_t *data)
{
    lac_cuda_bits_t bits = {(meta->n + 63) / 64, from->bits, from->ptr, from->val};
    size_t entries = (size_t)from->count * sizeof(float);
    void *ptr, *idx, *val;
    lac_status_t status = lac_cuda_format_own(data, 0, (size_t)(meta->m + 1) * sizeof(int64_t), &ptr);
    if (!status) status = lac_cuda_format_own(data, 1, entries, &idx);
    if (!status) status = lac_cuda_format_own(data, 2, entries, &val);
    if (!status)
        status = lac_cuda_check_error(
            cudaMemcpyAsync(val, from->val, entries, cudaMemcpyDeviceToDevice, exec->stream), "metadata");
    if (!status)
        status = lac_cuda_launched(lac_cuda_list_bits(meta->m, meta->n, &bits, ptr, idx, exec->stream),
                                   "metadata");
    if (status) return status;
    data->ptr = ptr, data->idx = idx, data->val = val;
    return LAC_OK;
}

lac_status_t lac_cuda_format_convert(lac_exec_t *exec, const lac_operand_t *x, lac_format_t which,
                                     lac_format_data_t *data)
{
    const lac_meta_t *meta = x->meta;
    lac_format_t source = x->formats & 1u << across(which) ? across(which) : LAC_FORMAT_BITS;
    const lac_format_data_t *from = lac_meta_format(meta, source);
    lac_format_data_t rows;
    *data = (lac_format_data_t){0};
    if (!from) return lac_fail(LAC_ERR_INTERNAL, "metadata: the format went away");
    lac_cuda_format_begin(from->origin == LAC_ORIGIN_SCANNED ? LAC_ORIGIN_SCANNED : LAC_ORIGIN_DERIVED, data);
    data->count = from->count;
    rows = *data;
    lac_status_t status = lac_cuda_may_allocate(exec, "metadata");
    if (status) return status;
    if (source != LAC_FORMAT_BITS)
        status = csr_to_csc(exec, meta, which, from, data);
    else if (which == LAC_FORMAT_CSR)
        status = list_bits(exec, meta, from, data);
    else if (!(status = list_bits(exec, meta, from, &rows)))
        status = csr_to_csc(exec, meta, which, &rows, data);
    if (!status) status = lac_cuda_check_error(cudaStreamSynchronize(exec->stream), "metadata");
    lac_cuda_format_drop(&rows);
    if (status) lac_cuda_format_drop(data);
    return status;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Rows from metadata, or counted and filled in the workspace. */
#include "cuda_rows.h"

#define ROW_TRIP 4096.0 /* elements of a row that its block has in flight */
#define TRIP_US  1.75

lac_cuda_rows_source_t lac_cuda_rows_source(const lac_sided_t *s)
{
    if (lac_cuda_format_at_hand(s->s, lac_sided_by_rows(s))) return LAC_CUDA_ROWS_FORMAT;
    return s->s->buf ? LAC_CUDA_ROWS_BUILT : LAC_CUDA_ROWS_NOWHERE;
}

static size_t pointer_bytes(const lac_sided_t *s)
{
    return lac_cuda_piece((size_t)(s->m + 1) * sizeof(int64_t));
}

static size_t entry_bytes(const lac_sided_t *s)
{
    return lac_cuda_piece((size_t)s->m * (size_t)s->k * sizeof(float));
}

size_t lac_cuda_rows_bytes(const lac_sided_t *s)
{
    if (lac_cuda_rows_source(s) != LAC_CUDA_ROWS_BUILT) return 0;
    return pointer_bytes(s) + (s->s->dt == LAC_F32 ? 2 : 1) * entry_bytes(s) +
           lac_cuda_piece((size_t)lac_cuda_csr_bytes(s->m));
}

double lac_cuda_rows_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    if (lac_cuda_rows_source(s) != LAC_CUDA_ROWS_BUILT) return 0.0;
    double elements = (double)s->m * (double)s->k, element = s->s->dt == LAC_F32 ? 4.0 : 1.0;
    double bytes = 2.0 * element * elements + 8.0 * s->s->density * elements; /* count, then fill */
    double moved = bytes / (machine->cuda_dram_gbps * 1e3);
    double walked = 2.0 * TRIP_US * ((double)s->k / ROW_TRIP - 1.0); /* one block per row */
    return 3.0 * machine->cuda_launch_us + (moved > walked ? moved : walked);
}

lac_status_t lac_cuda_rows_build(lac_exec_t *exec, const lac_sided_t *s, char *memory, lac_cuda_csr_t *csr)
{
    int64_t *ptr = (int64_t *)(void *)memory;
    int32_t *idx = (int32_t *)(void *)(memory + pointer_bytes(s));
    float *val = (float *)(void *)((char *)idx + entry_bytes(s));
    bool ones = s->s->dt != LAC_F32;
    void *scratch = ones ? (void *)val : (char *)val + entry_bytes(s);
    lac_cuda_dense_t dense = {s->s->dt, s->s->buf, s->srs, s->scs, s->s->density};
    lac_status_t status = lac_cuda_csr_ptr(s->m, s->k, &dense, ptr, scratch, exec->stream);
    if (!status) status = lac_cuda_csr_fill(s->m, s->k, &dense, ptr, idx, ones ? NULL : val, exec->stream);
    double nnz = s->s->density * (double)s->m * (double)s->k;
    *csr = (lac_cuda_csr_t){ptr, idx, ones ? NULL : val, (int64_t)nnz};
    return lac_cuda_launched(status, "rows");
}

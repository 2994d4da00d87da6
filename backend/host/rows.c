/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * CSR of S: two passes over a dense buffer, or one counting sort over CSC. */
#include "rows.h"
#include "formats.h"
#include "../base/status.h"

#include <string.h>

lac_rows_source_t lac_rows_source(const lac_sided_t *s)
{
    if (lac_format_at_hand(s->s, lac_sided_by_rows(s))) return LAC_ROWS_FORMAT;
    if (s->s->formats & 1u << lac_sided_by_k(s)) return LAC_ROWS_BY_K;
    return s->s->buf ? LAC_ROWS_SCAN : LAC_ROWS_NOWHERE;
}

typedef struct fill {
    const lac_host_kernels_t *kernels;
    const lac_sided_t *s;
    int64_t *ptr;
    int32_t *idx;
    float *val;
} fill_t;

static void count_part(void *arg, int part, int parts)
{
    const fill_t *f = arg;
    const lac_sided_t *s = f->s;
    long long i0, i1;
    lac_share(s->m, 1, part, parts, &i0, &i1);
    if (s->s->dt == LAC_F32)
        f->kernels->count_rows_f32(s->s->buf, i0, i1, s->k, s->srs, s->scs, f->ptr + 1 + i0);
    else
        f->kernels->count_rows_u8(s->s->buf, i0, i1, s->k, s->srs, s->scs, f->ptr + 1 + i0);
}

static void fill_part(void *arg, int part, int parts)
{
    const fill_t *f = arg;
    const lac_sided_t *s = f->s;
    long long i0, i1;
    lac_share(s->m, 1, part, parts, &i0, &i1);
    if (s->s->dt == LAC_F32)
        f->kernels->fill_rows_f32(s->s->buf, i0, i1, s->k, s->srs, s->scs, f->ptr + i0, f->idx, f->val);
    else
        f->kernels->fill_rows_u8(s->s->buf, i0, i1, s->k, s->srs, s->scs, f->ptr + i0, f->idx, f->val);
}

/* Row pointers in one buffer, entries in another: the pointers are known before the entries' number is. */
static bool entries(lac_exec_t *exec, fill_t *f, int64_t count)
{
    char *memory = lac_work(exec, LAC_WORK_ROWS, (size_t)count * 8 + 16);
    f->idx = (int32_t *)(void *)memory;
    f->val = memory ? (float *)(void *)(memory + (size_t)count * sizeof *f->idx) : NULL;
    return memory;
}

static lac_status_t scan(lac_exec_t *exec, const lac_sided_t *s, int threads, int64_t limit, lac_rows_t *rows,
                         bool *exceeded)
{
    fill_t f = {.kernels = exec->kernels, .s = s};
    f.ptr = lac_work(exec, LAC_WORK_EVENTS, (size_t)(s->m + 1) * sizeof *f.ptr);
    if (!f.ptr) return LAC_ERR_MEMORY;
    f.ptr[0] = 0;
    lac_parallel(threads, count_part, &f);
    for (int64_t i = 0; i < s->m; i++) f.ptr[i + 1] += f.ptr[i];
    *exceeded = limit >= 0 && f.ptr[s->m] > limit;
    if (*exceeded) return LAC_OK;
    if (!entries(exec, &f, f.ptr[s->m])) return LAC_ERR_MEMORY;
    lac_parallel(threads, fill_part, &f);
    *rows = (lac_rows_t){s->m, s->k, f.ptr, f.idx, f.val};
    return LAC_OK;
}

static lac_status_t csr_to_csc(lac_exec_t *exec, const lac_sided_t *s, const lac_format_data_t *by_k,
                               lac_rows_t *rows)
{
    fill_t f = {.s = s};
    f.ptr = lac_work(exec, LAC_WORK_EVENTS, (size_t)(s->m + 2) * sizeof *f.ptr);
    if (!f.ptr || !entries(exec, &f, by_k->count)) return LAC_ERR_MEMORY;
    int64_t *place = f.ptr + 1; /* place[i] counts, then walks from the row's start to its end */
    memset(f.ptr, 0, (size_t)(s->m + 2) * sizeof *f.ptr);
    for (int64_t p = 0; p < by_k->count; p++) place[by_k->idx[p] + 1]++;
    for (int64_t i = 0; i < s->m; i++) place[i + 1] += place[i];
    for (int64_t k = 0; k < s->k; k++)
        for (int64_t p = by_k->ptr[k]; p < by_k->ptr[k + 1]; p++) {
            int64_t at = place[by_k->idx[p]]++;
            f.idx[at] = (int32_t)k;
            f.val[at] = by_k->val ? by_k->val[p] : 1.0f;
        }
    *rows = (lac_rows_t){s->m, s->k, f.ptr, f.idx, f.val};
    return LAC_OK;
}

lac_status_t lac_rows_gather(lac_exec_t *exec, const lac_sided_t *s, int threads, int64_t limit,
                             lac_rows_t *rows, bool *exceeded)
{
    const lac_format_data_t *format = NULL;
    *exceeded = false;
    switch (lac_rows_source(s)) {
    case LAC_ROWS_FORMAT: {
        lac_status_t status = lac_format_ensure(exec, s->s, threads, lac_sided_by_rows(s), &format);
        if (status) return status;
        if (!format) break;
        *rows = (lac_rows_t){s->m, s->k, format->ptr, format->idx, format->val};
        return LAC_OK;
    }
    case LAC_ROWS_BY_K:
        return csr_to_csc(exec, s, lac_meta_format(s->s->meta, lac_sided_by_k(s)), rows);
    case LAC_ROWS_SCAN:
        return scan(exec, s, threads, limit, rows, exceeded);
    case LAC_ROWS_NOWHERE:
        break;
    }
    return lac_fail(LAC_ERR_INTERNAL, "csr: no source of rows");
}

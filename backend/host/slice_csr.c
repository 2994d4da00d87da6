/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Picked rows as CSR in the caller's arrays: lengths first, then the entries. */
#include "host_slice.h"
#include "../base/status.h"

#include <inttypes.h>
#include <string.h>

/* Entries that a thread takes at a time, about. */
#define PIECE 65536

typedef struct copy {
    lac_rows_t a;
    float weight;
    lac_row_indices_t indices;
    lac_index_t it;
    const void *ptr;
    void *idx;
    float *val;
    lac_pieces_t pieces;
} copy_t;

static int64_t begin_of(lac_index_t it, const void *ptr, int64_t i)
{
    return it == LAC_I64 ? ((const int64_t *)ptr)[i] : ((const int32_t *)ptr)[i];
}

/* Where the entries of the i-th picked row lie: none where there is no such row. */
static int64_t entries_of(const lac_rows_t *a, const lac_row_indices_t *indices, int64_t i, int64_t *first)
{
    int64_t row = lac_row_index(indices, i);
    bool there = row >= 0 && row < a->rows;
    *first = there ? a->ptr[row] : 0;
    return there ? a->ptr[row + 1] - a->ptr[row] : 0;
}

static lac_rows_t rows_of(const lac_slicing_t *s)
{
    return (lac_rows_t){s->m, s->n, s->format->ptr, s->format->idx, s->homogeneous ? NULL : s->val};
}

lac_status_t lac_host_slice_count(lac_exec_t *exec, const lac_slicing_t *s, lac_index_t it, void *ptr)
{
    lac_row_indices_t indices = lac_slice_row_indices(s);
    lac_rows_t a = rows_of(s);
    int64_t total = 0, first;
    (void)exec;
    lac_status_t status = lac_slice_check_rows(s);
    if (status) return status;
    for (int64_t i = 0; i < s->count; i++)
        if (__builtin_add_overflow(total, entries_of(&a, &indices, i, &first), &total))
            return lac_fail(LAC_ERR_EXTENT, "rows: their entries overflow int64_t");
    if (it == LAC_I32 && total > INT32_MAX)
        return lac_fail(LAC_ERR_EXTENT, "ptr: %" PRId64 " entries overflow int32_t", total);
    total = 0;
    for (int64_t i = 0; i <= s->count; i++) {
        if (it == LAC_I64)
            ((int64_t *)ptr)[i] = total;
        else
            ((int32_t *)ptr)[i] = (int32_t)total;
        if (i < s->count) total += entries_of(&a, &indices, i, &first);
    }
    return LAC_OK;
}

static void copy_row(const copy_t *c, int64_t i)
{
    int64_t first, length = entries_of(&c->a, &c->indices, i, &first), to = begin_of(c->it, c->ptr, i);
    const int32_t *idx = c->a.idx + first;
    if (length == 0) return;
    if (c->it == LAC_I32)
        memcpy((int32_t *)c->idx + to, idx, (size_t)length * sizeof *idx);
    else
        for (int64_t e = 0; e < length; e++) ((int64_t *)c->idx)[to + e] = idx[e];
    if (c->val && c->a.val)
        memcpy(c->val + to, c->a.val + first, (size_t)length * sizeof *c->val);
    else if (c->val)
        for (int64_t e = 0; e < length; e++) c->val[to + e] = c->weight;
}

static void copy_part(void *arg, int part, int parts)
{
    copy_t *c = arg;
    int64_t i0, i1;
    (void)part, (void)parts;
    while (lac_pieces_take(&c->pieces, &i0, &i1))
        for (int64_t i = i0; i < i1; i++) copy_row(c, i);
}

lac_status_t lac_host_slice_entries(lac_exec_t *exec, const lac_slicing_t *s, lac_index_t it, const void *ptr,
                                    int64_t *entries)
{
    lac_row_indices_t indices = lac_slice_row_indices(s);
    lac_rows_t a = rows_of(s);
    int64_t total = 0, first;
    (void)exec;
    lac_status_t status = lac_slice_check_rows(s);
    for (int64_t i = 0; !status && i <= s->count; i++) {
        if (begin_of(it, ptr, i) != total)
            return lac_fail(LAC_ERR_SPARSE,
                            "ptr[%" PRId64 "]: is %" PRId64 ", and lac_slice_rows_count writes %" PRId64, i,
                            begin_of(it, ptr, i), total);
        if (i < s->count) total += entries_of(&a, &indices, i, &first);
    }
    *entries = total;
    return status;
}

lac_status_t lac_host_slice_csr(lac_exec_t *exec, const lac_slicing_t *s, lac_index_t it, const void *ptr,
                                void *idx, float *val)
{
    copy_t c = {.a = rows_of(s),
                .weight = s->homogeneous && s->val ? *s->val : 1.0f,
                .indices = lac_slice_row_indices(s),
                .it = it,
                .ptr = ptr,
                .idx = idx,
                .val = val};
    int64_t entries = begin_of(it, ptr, s->count);
    double serial = 16.0 * (double)entries / (exec->machine->out_gbps * 1e3);
    c.pieces.extent = s->count;
    c.pieces.grain = 1 + PIECE / (1 + entries / s->count); /* there are entries: count is not 0 */
    lac_parallel(lac_host_parts(s->threads, serial, exec->machine->fork_join_us), copy_part, &c);
    return LAC_OK;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The adjoint of a row slice: the list of rows is turned into the slices of each row, and every entry
 gathers.

 A scatter over the slices would have to add into entries that several slices share; the gather writes each
 entry once, sums its slices in ascending order, and needs no atomics. */
#include "host_slice.h"
#include "../base/status.h"

#include <string.h>

/* Entries that a thread takes at a time. */
#define PIECE 16384

typedef struct gather {
    const lac_host_kernels_t *kernels;
    lac_rows_t a;
    lac_row_indices_t indices;
    int64_t *first, *place; /* the slices of row r: place[first[r]] .. place[first[r + 1] - 1] */
    const float *g;
    lac_inc_t rs, cs;
    float *grad;
    double *partial; /* [count] */
    lac_pieces_t pieces;
} gather_t;

/* A counting sort, stable: the places of one row ascend. */
static lac_status_t group_by_row(lac_exec_t *exec, gather_t *g)
{
    int64_t m = g->a.rows, count = g->indices.count;
    g->first = lac_work(exec, LAC_WORK_ROWS, (size_t)(m + 2) * sizeof *g->first);
    g->place = lac_work(exec, LAC_WORK_EVENTS, (size_t)count * sizeof *g->place + 1);
    if (!g->first || !g->place) return LAC_ERR_MEMORY;
    int64_t *walk = g->first + 1; /* walk[r] counts, then walks from the row's begin to its end */
    memset(g->first, 0, (size_t)(m + 2) * sizeof *g->first);
    for (int64_t i = 0; i < count; i++) {
        int64_t row = lac_row_index(&g->indices, i);
        if (row >= 0 && row < m) walk[row + 1]++;
    }
    for (int64_t r = 0; r < m; r++) walk[r + 1] += walk[r];
    for (int64_t i = 0; i < count; i++) {
        int64_t row = lac_row_index(&g->indices, i);
        if (row >= 0 && row < m) g->place[walk[row]++] = i;
    }
    return LAC_OK;
}

static void entries_part(void *arg, int part, int parts)
{
    gather_t *g = arg;
    int64_t e0, e1;
    (void)part, (void)parts;
    while (lac_pieces_take(&g->pieces, &e0, &e1))
        g->kernels->slice_grad(&g->a, g->first, g->place, e0, e1, g->g, g->rs, g->cs, g->grad);
}

static void sums_part(void *arg, int part, int parts)
{
    gather_t *g = arg;
    int64_t i0, i1;
    (void)part, (void)parts;
    while (lac_pieces_take(&g->pieces, &i0, &i1))
        for (int64_t i = i0; i < i1; i++) {
            int64_t row = lac_row_index(&g->indices, i);
            bool there = row >= 0 && row < g->a.rows;
            int64_t e = there ? g->a.ptr[row] : 0, end = there ? g->a.ptr[row + 1] : 0;
            g->partial[i] = g->kernels->slice_sum(g->a.idx + e, end - e, g->g + i * g->rs, g->cs);
        }
}

/* One sum per slice, then over the slices in order. */
static lac_status_t sum_all(lac_exec_t *exec, gather_t *g, int threads, double expected)
{
    double total = 0.0, length = expected / (double)(g->indices.count ? g->indices.count : 1);
    g->partial = lac_work(exec, LAC_WORK_EVENTS, (size_t)g->indices.count * sizeof *g->partial + 1);
    if (!g->partial) return LAC_ERR_MEMORY;
    g->pieces.extent = g->indices.count;
    g->pieces.grain = 1 + (int64_t)(PIECE / (length + 1.0));
    lac_parallel(threads, sums_part, g);
    for (int64_t i = 0; i < g->indices.count; i++) total += g->partial[i];
    *g->grad = (float)total;
    return LAC_OK;
}

lac_status_t lac_host_slice_grad(lac_exec_t *exec, const lac_slicing_t *s, const float *grad_out,
                                 lac_inc_t rs, lac_inc_t cs, float *grad_val)
{
    const lac_machine_t *machine = exec->machine;
    gather_t g = {.kernels = exec->kernels,
                  .a = {s->m, s->n, s->format->ptr, s->format->idx, NULL},
                  .indices = lac_slice_row_indices(s),
                  .g = grad_out,
                  .rs = rs,
                  .cs = cs,
                  .grad = grad_val};
    lac_status_t status = lac_slice_check_rows(s);
    if (status || (!s->format->count && !s->homogeneous)) return status;
    /* A cache line of grad_out per entry, at most all of it, and the entries. */
    double expected = lac_slice_expected(s), all = 4.0 * (double)s->count * (double)s->n;
    double lines = 64.0 * expected < all ? 64.0 * expected : all;
    double serial = (lines + 8.0 * (double)s->format->count) / (machine->row_gbps * 1e3);
    int threads = lac_host_parts(s->threads, serial, machine->fork_join_us);
    if (s->homogeneous) return sum_all(exec, &g, threads, expected);
    if ((status = group_by_row(exec, &g))) return status;
    g.pieces.extent = s->format->count;
    g.pieces.grain = PIECE;
    lac_parallel(threads, entries_part, &g);
    return LAC_OK;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operators on compressed rows that a call brings along: shared among threads by rows, or by columns of the
 result.
 *
 Without trans, pieces of rows are taken by whichever thread is free. With trans every thread would scatter
 into the same rows: columns are cut instead, and a single one is left to one thread. */
#include "operators.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

#define PIECE_ENTRIES   8192 /* of a piece of rows: large beside taking it */
#define SCATTER_COLUMNS 16   /* that are scattered at once: two cache lines of sums */
#define ENTRY_NS        1.5  /* an entry's share, for deciding how many threads to wake */

typedef struct work {
    const lac_host_kernels_t *kernels;
    const lac_csr_call_t *call;
    lac_loose_rows_t a;
    lac_loose_dense_t x;
    lac_host_matrix_t y;
    lac_row_indices_t indices;
    const int64_t *first, *slice;
    double *scratch;
    int64_t scratch_each;
    lac_pieces_t pieces;
    atomic_llong wrong; /* the least place of a wrong number, or LAC_LOOSE_FINE */
} work_t;

static void report_wrong(work_t *w, int64_t wrong)
{
    long long before = atomic_load(&w->wrong);
    while (wrong != LAC_LOOSE_FINE && (before == LAC_LOOSE_FINE || wrong < before))
        if (atomic_compare_exchange_weak(&w->wrong, &before, wrong)) break;
}

static lac_status_t verdict(work_t *w)
{
    static const char *const names[] = {"ptr", "idx", "perm"};
    int64_t wrong = atomic_load(&w->wrong);
    if (wrong == LAC_LOOSE_FINE) return LAC_OK;
    return lac_fail(LAC_ERR_VALUE, "a.%s[%" PRId64 "]: is out of range", names[wrong % 4], wrong / 4);
}

/* How many threads, and rows of a piece, for work of so many entries in `rows` rows. */
static int cut_rows(work_t *w, const lac_exec_t *exec, int64_t rows, double entries, double each)
{
    double per_row = rows ? entries / (double)rows : 0.0;
    int64_t grain = (int64_t)(PIECE_ENTRIES / (per_row * each + 1.0)) + 1;
    w->pieces = (lac_pieces_t){.extent = rows, .grain = grain};
    double serial = entries * each * ENTRY_NS * 1e-3;
    return lac_host_parts(w->call->threads, serial, exec->machine->fork_join_us);
}

static work_t begin(const lac_exec_t *exec, const lac_csr_call_t *c)
{
    const lac_csr_t *a = c->a;
    bool varied = c->values && a->val && !a->homogeneous;
    work_t w = {.kernels = lac_kernels(exec, LAC_F32),
                .call = c,
                .a = {.rows = a->m,
                      .cols = a->n,
                      .nnz = a->nnz,
                      .fan_out = a->m ? a->nnz / a->m : 0,
                      .wide = a->it == LAC_I64,
                      .ptr = a->ptr,
                      .idx = a->idx,
                      .perm = varied ? a->perm : NULL,
                      .val = c->values ? a->val : NULL,
                      .homogeneous = a->homogeneous},
                .x = {c->x.buf, c->x.dt == LAC_U8, c->x.rs, c->x.cs},
                .y = {c->y.buf, c->y.rs, c->y.cs},
                .indices = {c->count, c->rows, c->it == LAC_I64}};
    atomic_init(&w.wrong, LAC_LOOSE_FINE);
    return w;
}

static void gather_part(void *arg, int part, int parts)
{
    work_t *w = arg;
    const lac_csr_call_t *c = w->call;
    int64_t i0, i1;
    (void)part, (void)parts;
    while (lac_pieces_take(&w->pieces, &i0, &i1))
        report_wrong(w, w->kernels->loose_gather(&w->a, i0, i1, &w->x, c->binary, 0, c->columns, c->out,
                                                 c->rs, c->cs));
}

static void scatter_part(void *arg, int part, int parts)
{
    work_t *w = arg;
    const lac_csr_call_t *c = w->call;
    int64_t j0, j1;
    (void)parts;
    while (lac_pieces_take(&w->pieces, &j0, &j1))
        report_wrong(w, w->kernels->loose_scatter(&w->a, &w->x, c->binary, j0, j1,
                                                  w->scratch + part * w->scratch_each, c->out, c->rs, c->cs));
}

static lac_status_t gemm(lac_exec_t *exec, const lac_csr_call_t *c)
{
    work_t w = begin(exec, c);
    if (!c->transposed) {
        int parts = cut_rows(&w, exec, w.a.rows, (double)w.a.nnz, (double)c->columns);
        lac_parallel(parts, gather_part, &w);
        return verdict(&w);
    }
    int64_t width = c->columns < SCATTER_COLUMNS ? c->columns : SCATTER_COLUMNS;
    double serial = (double)w.a.nnz * (double)c->columns * ENTRY_NS * 1e-3;
    int parts = lac_host_parts(c->threads, serial, exec->machine->fork_join_us);
    int64_t pieces = (c->columns + width - 1) / width;
    if (parts > pieces) parts = (int)pieces;
    w.pieces = (lac_pieces_t){.extent = c->columns, .grain = width};
    size_t bytes;
    w.scratch_each = w.a.cols * width + w.a.cols + 1; /* and what a single column lists */
    if (__builtin_mul_overflow((size_t)w.scratch_each * sizeof(double), (size_t)parts, &bytes))
        bytes = SIZE_MAX;
    w.scratch = lac_work(exec, LAC_WORK_ACC, bytes);
    if (!w.scratch) return LAC_ERR_MEMORY;
    lac_parallel(parts, scatter_part, &w);
    return verdict(&w);
}

static int64_t index_at(const lac_loose_rows_t *a, const void *list, int64_t i)
{
    return a->wide ? ((const int64_t *)list)[i] : ((const int32_t *)list)[i];
}

static bool is_event(const lac_loose_dense_t *x, int64_t i, int64_t j)
{
    int64_t at = i * x->rs + j * x->cs;
    return x->bytes ? ((const uint8_t *)x->data)[at] != 0 : ((const float *)x->data)[at] != 0.0f;
}

/* Adds 1 to a column's counts for each entry of row i; the place of the first wrong one. */
static int64_t count_row(const lac_loose_rows_t *a, int64_t i, int64_t columns, int32_t *counts)
{
    int64_t begin = i * a->fan_out, end = begin + a->fan_out;
    if (a->ptr) begin = index_at(a, a->ptr, i), end = index_at(a, a->ptr, i + 1);
    if (begin < 0 || end < begin || end > a->nnz) return 4 * i + LAC_LOOSE_PTR;
    for (int64_t e = begin; e < end; e++) {
        int64_t column = index_at(a, a->idx, e);
        if (column < 0 || column >= a->cols) return 4 * e + LAC_LOOSE_IDX;
        counts[column * columns]++;
    }
    return LAC_LOOSE_FINE;
}

/* One thread's work: it waits for memory. */
static lac_status_t count(lac_exec_t *exec, const lac_csr_call_t *c)
{
    work_t w = begin(exec, c);
    memset(c->counts, 0, (size_t)(w.a.cols * c->columns) * sizeof *c->counts);
    for (int64_t i = 0; i < w.a.rows; i++)
        for (int64_t j = 0; j < c->columns; j++)
            if (is_event(&w.x, i, j)) report_wrong(&w, count_row(&w.a, i, c->columns, c->counts + j));
    return verdict(&w);
}

static void slice_part(void *arg, int part, int parts)
{
    work_t *w = arg;
    const lac_csr_call_t *c = w->call;
    double *line = w->scratch + part * w->scratch_each;
    int64_t i0, i1;
    (void)parts;
    while (lac_pieces_take(&w->pieces, &i0, &i1)) {
        int64_t wrong = w->kernels->loose_slice(&w->a, &w->indices, i0, i1, line, c->out, c->rs, c->cs);
        if (wrong != LAC_LOOSE_FINE) memset(line, 0, (size_t)w->a.cols * sizeof *line);
        report_wrong(w, wrong);
    }
}

static lac_status_t slice_rows(lac_exec_t *exec, const lac_csr_call_t *c)
{
    work_t w = begin(exec, c);
    double each = (double)w.a.cols + (w.a.rows ? (double)w.a.nnz / (double)w.a.rows : 0.0);
    int parts = cut_rows(&w, exec, c->count, (double)c->count * each, 1.0);
    size_t bytes;
    w.scratch_each = w.a.cols;
    if (__builtin_mul_overflow((size_t)w.a.cols * sizeof(double), (size_t)parts, &bytes)) bytes = SIZE_MAX;
    w.scratch = lac_work(exec, LAC_WORK_ACC, bytes);
    if (!w.scratch) return LAC_ERR_MEMORY;
    memset(w.scratch, 0, bytes);
    lac_parallel(parts, slice_part, &w);
    return verdict(&w);
}

static void grad_part(void *arg, int part, int parts)
{
    work_t *w = arg;
    const lac_csr_call_t *c = w->call;
    int64_t r0, r1;
    (void)part, (void)parts;
    while (lac_pieces_take(&w->pieces, &r0, &r1))
        report_wrong(w, w->kernels->loose_grad(&w->a, r0, r1, w->first, w->slice, w->y.data, w->y.rs, w->y.cs,
                                               c->out));
}

/* The slices of each row, ascending: first[rows + 2] and slice[count]; first[r + 1] counts, then begins, then
 * ends row r. */
static int64_t *list_slices(lac_exec_t *exec, const work_t *w)
{
    const lac_csr_call_t *c = w->call;
    int64_t *first =
        lac_work(exec, LAC_WORK_ROWS, ((size_t)w->a.rows + 2 + (size_t)c->count) * sizeof *first);
    if (!first) return NULL;
    int64_t *slice = first + w->a.rows + 2;
    memset(first, 0, ((size_t)w->a.rows + 2) * sizeof *first);
    for (int64_t i = 0; i < c->count; i++) {
        int64_t r = lac_row_index(&w->indices, i);
        if (r >= 0 && r < w->a.rows) first[r + 2]++;
    }
    for (int64_t r = 0; r < w->a.rows; r++) first[r + 2] += first[r + 1];
    for (int64_t i = 0; i < c->count; i++) {
        int64_t r = lac_row_index(&w->indices, i);
        if (r >= 0 && r < w->a.rows) slice[first[r + 1]++] = i;
    }
    return first;
}

static lac_status_t slice_grad(lac_exec_t *exec, const lac_csr_call_t *c)
{
    work_t w = begin(exec, c);
    int64_t *first = list_slices(exec, &w);
    if (!first) return LAC_ERR_MEMORY;
    w.first = first;
    w.slice = first + w.a.rows + 2;
    double each = w.a.rows ? 1.0 + (double)c->count / (double)w.a.rows : 1.0;
    int parts = cut_rows(&w, exec, w.a.rows, (double)w.a.nnz, each);
    lac_parallel(parts, grad_part, &w);
    return verdict(&w);
}

static void sddmm_part(void *arg, int part, int parts)
{
    work_t *w = arg;
    const lac_csr_call_t *c = w->call;
    const lac_host_matrix_t x = {w->x.data, w->x.rs, w->x.cs};
    int64_t i0, i1;
    (void)part, (void)parts;
    while (lac_pieces_take(&w->pieces, &i0, &i1))
        report_wrong(w, w->kernels->loose_sddmm(&w->a, i0, i1, &x, &w->y, c->depth, c->out));
}

static lac_status_t sddmm(lac_exec_t *exec, const lac_csr_call_t *c)
{
    work_t w = begin(exec, c);
    int parts = cut_rows(&w, exec, w.a.rows, (double)w.a.nnz, (double)c->depth);
    lac_parallel(parts, sddmm_part, &w);
    return verdict(&w);
}

/* Scratch memory stays the context's: nothing is recorded here. */
static lac_status_t workspace(lac_exec_t *exec, void *memory, size_t bytes)
{
    (void)exec, (void)memory, (void)bytes;
    return LAC_OK;
}

const lac_csr_operators_t lac_host_csr = {gemm, count, slice_rows, slice_grad, sddmm, workspace};

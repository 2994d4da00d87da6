/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Picked rows as a dense matrix: pieces of the output, each written whole by whichever thread is free.

 Pieces are taken, not dealt: rows may be of any length, and another program's threads on the same processors
 would otherwise leave one thread's share for last. Each piece is its own computation, so that the result is
 the same whoever takes it. */
#include "operators.h"
#include "host/formats/formats.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

/* Elements of a piece, 256 KB of output: large beside the cost of taking it, small beside a share. */
#define PIECE 65536
/* Bytes of an output that is written past the caches: half of what a core's share of them may be. */
#define PAST ((int64_t)16 << 20)
/* Rows of a piece of an output that lies by columns, and its columns: its lines are then written whole. */
#define STRIDED_ROWS 64
#define STRIDED_COLS 16384

bool lac_pieces_take(lac_pieces_t *pieces, int64_t *begin, int64_t *end)
{
    *begin = atomic_fetch_add_explicit(&pieces->next, 1, memory_order_relaxed) * pieces->grain;
    if (*begin >= pieces->extent) return false;
    *end = pieces->extent - *begin < pieces->grain ? pieces->extent : *begin + pieces->grain;
    return true;
}

lac_row_indices_t lac_slice_row_indices(const lac_slicing_t *s)
{
    return (lac_row_indices_t){s->count, s->rows, s->it == LAC_I64};
}

lac_status_t lac_slice_check_rows(const lac_slicing_t *s)
{
    lac_row_indices_t indices = lac_slice_row_indices(s);
    for (int64_t i = 0; !s->zero_rows && i < s->count; i++) {
        int64_t row = lac_row_index(&indices, i);
        if (row < 0 || row >= s->m)
            return lac_fail(LAC_ERR_VALUE, "rows[%" PRId64 "]: is %" PRId64 ", outside [0, %" PRId64 ")", i,
                            row, s->m);
    }
    return LAC_OK;
}

double lac_slice_expected(const lac_slicing_t *s)
{
    return s->m ? (double)s->format->count / (double)s->m * (double)s->count : 0.0;
}

/* Of every entry, where one value stands for all of them. */
static double weight_of(const lac_slicing_t *s)
{
    return s->homogeneous ? lac_scalar(s->val, s->a.values, 1.0) : 1.0;
}

typedef struct dense {
    const lac_host_kernels_t *kernels;
    lac_rows_t a;
    double weight;
    lac_row_indices_t indices;
    void *out;
    lac_inc_t rs, cs;
    bool past;                  /* out is larger than caches                   */
    int64_t rows, cols, across; /* extents of a piece, and pieces side by side */
    lac_pieces_t pieces;
} dense_t;

static void dense_part(void *arg, int part, int parts)
{
    dense_t *d = arg;
    int64_t piece, end;
    (void)part, (void)parts;
    while (lac_pieces_take(&d->pieces, &piece, &end)) {
        int64_t i = piece / d->across * d->rows, j = piece % d->across * d->cols;
        int64_t m = d->indices.count - i < d->rows ? d->indices.count - i : d->rows;
        int64_t n = d->a.cols - j < d->cols ? d->a.cols - j : d->cols;
        d->kernels->slice_rows(&d->a, d->weight, &d->indices, i, i + m, j, j + n, d->out, d->rs, d->cs,
                               d->past);
    }
}

static void cut(dense_t *d)
{
    int64_t n = d->a.cols, rs = d->rs < 0 ? -d->rs : d->rs, cs = d->cs < 0 ? -d->cs : d->cs;
    bool transposed = rs < cs; /* as the kernel sees it */
    d->rows = transposed ? STRIDED_ROWS : n < PIECE ? PIECE / n : 1;
    d->cols = transposed ? STRIDED_COLS : PIECE;
    if (n < d->cols) d->cols = n;
    d->across = (n + d->cols - 1) / d->cols;
    d->pieces.grain = 1;
    d->pieces.extent = d->across * ((d->indices.count + d->rows - 1) / d->rows);
}

static lac_status_t slice_dense(lac_exec_t *exec, const lac_slicing_t *s, void *out, lac_inc_t rs,
                                lac_inc_t cs)
{
    const lac_machine_t *machine = exec->machine;
    lac_status_t status = lac_slice_check_rows(s);
    if (status || !s->count || !s->n) return status;
    dense_t d = {.kernels = lac_kernels(exec, s->a.values),
                 .a = {s->m, s->n, s->format->ptr, s->format->idx, s->homogeneous ? NULL : s->val},
                 .weight = weight_of(s),
                 .indices = lac_slice_row_indices(s),
                 .out = out,
                 .rs = rs,
                 .cs = cs,
                 .past = s->count > PAST / (int64_t)lac_dt_size(s->a.values) / s->n};
    double bytes = (double)lac_dt_size(s->a.values) * (double)s->count * (double)s->n;
    cut(&d);
    double serial = (bytes + 8.0 * lac_slice_expected(s)) / (machine->out_gbps * 1e3);
    lac_parallel(lac_host_parts(s->threads, serial, machine->fork_join_us), dense_part, &d);
    return LAC_OK;
}

static lac_status_t slice_format(lac_exec_t *exec, const lac_slicing_t *s, const lac_format_data_t **format)
{
    lac_status_t status = LAC_OK;
    bool there = s->a.formats & 1u << s->which;
    if (there || !lac_csr_to_csc_applies(&s->a, s->which))
        status = lac_format_ensure(exec, &s->a, s->threads, s->which, format);
    else
        status = lac_csr_to_csc_keep(exec, &s->a, s->threads, s->which, format);
    return status;
}

const lac_slicer_t lac_host_slicer = {.format = slice_format,
                                      .rows = slice_dense,
                                      .grad = lac_host_slice_grad,
                                      .count = lac_host_slice_count,
                                      .entries = lac_host_slice_entries,
                                      .csr = lac_host_slice_csr};

/* Picked rows as CSR in the caller's arrays: lengths first, then the entries. */

/* Entries that a thread takes at a time, about. */
#define ENTRIES_PIECE 65536

typedef struct copy {
    lac_rows_t a;
    const void *weight; /* NULL: 1 */
    lac_row_indices_t indices;
    lac_index_t it;
    const void *ptr;
    void *idx;
    size_t size; /* of a value */
    void *val;
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
        memcpy((char *)c->val + (size_t)to * c->size, lac_value_at(c->size, c->a.val, first),
               (size_t)length * c->size);
    else if (c->val)
        for (int64_t e = 0; e < length; e++) lac_copy_value(c->size, c->val, to + e, c->weight, 0);
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
                                void *idx, void *val)
{
    copy_t c = {.a = rows_of(s),
                .weight = s->homogeneous ? s->val : NULL,
                .size = lac_dt_size(s->a.values),
                .indices = lac_slice_row_indices(s),
                .it = it,
                .ptr = ptr,
                .idx = idx,
                .val = val};
    int64_t entries = begin_of(it, ptr, s->count);
    double serial = 16.0 * (double)entries / (exec->machine->out_gbps * 1e3);
    c.pieces.extent = s->count;
    c.pieces.grain = 1 + ENTRIES_PIECE / (1 + entries / s->count); /* there are entries: count is not 0 */
    lac_parallel(lac_host_parts(s->threads, serial, exec->machine->fork_join_us), copy_part, &c);
    return LAC_OK;
}

/* The adjoint of a row slice: the list of rows is inverted into the slices of each row, and every entry
 *  gathers.
 *
 *  A scatter over the slices would have to add into entries that several slices share; the gather writes each
 *  entry once, sums its slices in ascending order, and needs no atomics. */

/* Entries that a thread takes at a time. */
#define GRAD_PIECE 16384

typedef struct gather {
    const lac_host_kernels_t *kernels;
    lac_rows_t a;
    lac_row_indices_t indices;
    int64_t *first, *slice; /* the slices of row r: slice[first[r]] .. slice[first[r + 1] - 1] */
    const void *g;
    lac_inc_t rs, cs;
    void *grad;
    double *partial; /* [count] */
    lac_pieces_t pieces;
} gather_t;

/* A counting sort, stable: the slices of one row ascend. */
static lac_status_t group_by_row(lac_exec_t *exec, gather_t *g)
{
    int64_t m = g->a.rows, count = g->indices.count;
    g->first = lac_work(exec, LAC_WORK_ROWS, (size_t)(m + 2) * sizeof *g->first);
    g->slice = lac_work(exec, LAC_WORK_EVENTS, (size_t)count * sizeof *g->slice + 1);
    if (!g->first || !g->slice) return LAC_ERR_MEMORY;
    int64_t *walk = g->first + 1; /* walk[r] counts, then walks from the row's begin to its end */
    memset(g->first, 0, (size_t)(m + 2) * sizeof *g->first);
    for (int64_t i = 0; i < count; i++) {
        int64_t row = lac_row_index(&g->indices, i);
        if (row >= 0 && row < m) walk[row + 1]++;
    }
    for (int64_t r = 0; r < m; r++) walk[r + 1] += walk[r];
    for (int64_t i = 0; i < count; i++) {
        int64_t row = lac_row_index(&g->indices, i);
        if (row >= 0 && row < m) g->slice[walk[row]++] = i;
    }
    return LAC_OK;
}

static void entries_part(void *arg, int part, int parts)
{
    gather_t *g = arg;
    int64_t e0, e1;
    (void)part, (void)parts;
    while (lac_pieces_take(&g->pieces, &e0, &e1))
        g->kernels->slice_grad(&g->a, g->first, g->slice, e0, e1, g->g, g->rs, g->cs, g->grad);
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
            g->partial[i] = g->kernels->slice_sum(g->a.idx + e, end - e,
                                                  lac_value_at(g->kernels->size, g->g, i * g->rs), g->cs);
        }
}

/* One sum per slice, then over the slices in order. */
static lac_status_t sum_all(lac_exec_t *exec, gather_t *g, int threads, double expected)
{
    double total = 0.0, length = expected / (double)(g->indices.count ? g->indices.count : 1);
    g->partial = lac_work(exec, LAC_WORK_EVENTS, (size_t)g->indices.count * sizeof *g->partial + 1);
    if (!g->partial) return LAC_ERR_MEMORY;
    g->pieces.extent = g->indices.count;
    g->pieces.grain = 1 + (int64_t)(GRAD_PIECE / (length + 1.0));
    lac_parallel(threads, sums_part, g);
    for (int64_t i = 0; i < g->indices.count; i++) total += g->partial[i];
    if (g->kernels->type == LAC_HOST_F64)
        *(double *)g->grad = total;
    else
        *(float *)g->grad = (float)total;
    return LAC_OK;
}

lac_status_t lac_host_slice_grad(lac_exec_t *exec, const lac_slicing_t *s, const void *grad_out, lac_inc_t rs,
                                 lac_inc_t cs, void *grad_val)
{
    const lac_machine_t *machine = exec->machine;
    gather_t g = {.kernels = lac_kernels(exec, s->a.values),
                  .a = {s->m, s->n, s->format->ptr, s->format->idx, NULL},
                  .indices = lac_slice_row_indices(s),
                  .g = grad_out,
                  .rs = rs,
                  .cs = cs,
                  .grad = grad_val};
    lac_status_t status = lac_slice_check_rows(s);
    if (status || (!s->format->count && !s->homogeneous)) return status;
    /* A cache line of grad_out per entry, at most all of it, and the entries. */
    double expected = lac_slice_expected(s),
           all = (double)lac_dt_size(s->a.values) * (double)s->count * (double)s->n;
    double lines = 64.0 * expected < all ? 64.0 * expected : all;
    double serial = (lines + 8.0 * (double)s->format->count) / (machine->row_gbps * 1e3);
    int threads = lac_host_parts(s->threads, serial, machine->fork_join_us);
    if (s->homogeneous) return sum_all(exec, &g, threads, expected);
    if ((status = group_by_row(exec, &g))) return status;
    g.pieces.extent = s->format->count;
    g.pieces.grain = GRAD_PIECE;
    lac_parallel(threads, entries_part, &g);
    return LAC_OK;
}

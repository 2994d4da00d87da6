/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Picked rows as a dense matrix: pieces of the output, each written whole by whichever thread is free.

 Pieces are taken, not dealt: rows may be of any length, and another program's threads on the same processors
 would otherwise leave one thread's share for last. Each piece is its own computation, so that the result is
 the same whoever takes it. */
#include "host_slice.h"
#include "formats.h"
#include "csr_to_csc.h"
#include "../base/status.h"

#include <inttypes.h>

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

typedef struct dense {
    const lac_host_kernels_t *kernels;
    lac_rows_t a;
    float weight;
    lac_row_indices_t indices;
    float *out;
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

static lac_status_t slice_dense(lac_exec_t *exec, const lac_slicing_t *s, float *out, lac_inc_t rs,
                                lac_inc_t cs)
{
    const lac_machine_t *machine = exec->machine;
    lac_status_t status = lac_slice_check_rows(s);
    if (status || !s->count || !s->n) return status;
    dense_t d = {.kernels = exec->kernels,
                 .a = {s->m, s->n, s->format->ptr, s->format->idx, s->homogeneous ? NULL : s->val},
                 .weight = s->homogeneous && s->val ? *s->val : 1.0f,
                 .indices = lac_slice_row_indices(s),
                 .out = out,
                 .rs = rs,
                 .cs = cs,
                 .past = s->count > PAST / 4 / s->n};
    double bytes = 4.0 * (double)s->count * (double)s->n;
    cut(&d);
    double serial = (bytes + 8.0 * lac_slice_expected(s)) / (machine->out_gbps * 1e3);
    lac_parallel(lac_host_parts(s->threads, serial, machine->fork_join_us), dense_part, &d);
    return LAC_OK;
}

static lac_status_t csc_format(lac_exec_t *exec, const lac_slicing_t *s, const lac_format_data_t **format)
{
    lac_meta_t *meta = s->a.meta;
    bool by_rows = s->which == LAC_FORMAT_CSC; /* of the format that is there */
    lac_status_t status = LAC_OK;
    lac_meta_lock(meta);
    if (!(*format = lac_meta_format(meta, s->which))) {
        lac_format_data_t data;
        status = lac_csr_to_csc(exec, lac_meta_format(meta, by_rows ? LAC_FORMAT_CSR : LAC_FORMAT_CSC),
                                by_rows ? meta->m : meta->n, by_rows ? meta->n : meta->m, s->threads, &data);
        if (!status) lac_meta_install(meta, s->which, &data);
        *format = lac_meta_format(meta, s->which);
    }
    lac_meta_unlock(meta);
    return status;
}

static lac_status_t slice_format(lac_exec_t *exec, const lac_slicing_t *s, const lac_format_data_t **format)
{
    lac_status_t status = LAC_OK;
    bool there = s->a.formats & 1u << s->which;
    if (there || !lac_csr_to_csc_applies(&s->a, s->which))
        status = lac_format_ensure(exec, &s->a, s->threads, s->which, format);
    else
        status = csc_format(exec, s, format);
    return status;
}

const lac_slicer_t lac_host_slicer = {.format = slice_format,
                                      .rows = slice_dense,
                                      .grad = lac_host_slice_grad,
                                      .count = lac_host_slice_count,
                                      .entries = lac_host_slice_entries,
                                      .csr = lac_host_slice_csr};

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Expansion of sparse formats and conversion of types, for routes that need every element. */
#include "dense_view.h"
#include "base/status.h"
#include "formats.h"
#include "host/operators/operators.h"

#include <string.h>

/* SIZE_MAX, of which there is never enough, where the number does not fit. */
static size_t dense_bytes(lac_dt_t dt, lac_dim_t rows, lac_dim_t cols)
{
    size_t bytes;
    if (__builtin_mul_overflow((size_t)rows, (size_t)cols, &bytes)) return SIZE_MAX;
    return __builtin_mul_overflow(bytes, lac_dt_size(dt), &bytes) ? SIZE_MAX : bytes;
}

size_t lac_dense_view_bytes(const lac_operand_t *x, lac_dt_t dt, lac_dim_t rows, lac_dim_t cols, bool unit)
{
    return lac_operand_is_dense(x, dt, rows, cols, unit) ? 0 : dense_bytes(dt, rows, cols);
}

enum { SYMMETRIC_BLOCK = 32 }; /* rows and columns: both places of a block stay in the first cache */

/* One block of the triangle that is stored, to where it stands in the whole and to its mirror image. */
static void expand_block(const lac_operand_t *x, size_t size, lac_dim_t n, lac_dim_t i0, lac_dim_t j0,
                         void *to)
{
    lac_dim_t i1 = i0 + SYMMETRIC_BLOCK < n ? i0 + SYMMETRIC_BLOCK : n;
    for (lac_dim_t i = i0; i < i1; i++) {
        lac_dim_t j1 = j0 + SYMMETRIC_BLOCK < i + 1 ? j0 + SYMMETRIC_BLOCK : i + 1;
        for (lac_dim_t j = j0; j < j1; j++) {
            bool lower = x->triangle == LAC_TRIANGLE_LOWER;
            lac_inc_t at = lower ? i * x->rs + j * x->cs : j * x->rs + i * x->cs;
            lac_copy_value(size, to, i * n + j, x->buf, at);
            lac_copy_value(size, to, j * n + i, x->buf, at);
        }
    }
}

static void expand_symmetric(const lac_operand_t *x, size_t size, lac_dim_t n, void *to)
{
    for (lac_dim_t i0 = 0; i0 < n; i0 += SYMMETRIC_BLOCK)
        for (lac_dim_t j0 = 0; j0 <= i0; j0 += SYMMETRIC_BLOCK) expand_block(x, size, n, i0, j0, to);
}

static void copy_elements(const lac_operand_t *x, size_t size, lac_dim_t rows, lac_dim_t cols, void *to)
{
    for (lac_dim_t r = 0; r < rows; r++)
        for (lac_dim_t c = 0; c < cols; c++) {
            lac_inc_t at = r * x->rs + c * x->cs;
            if (x->dt != LAC_U8)
                lac_copy_value(size, to, r * cols + c, x->buf, at);
            else if (((const uint8_t *)x->buf)[at])
                lac_copy_value(size, to, r * cols + c, NULL, 0);
            else
                lac_clear_value(size, to, r * cols + c);
        }
}

/* Writes the entries of one compressed format; majors are rows of op(X) when `by_rows`, columns otherwise. */
static void densify_compressed(const lac_format_data_t *format, size_t size, int64_t majors, bool by_rows,
                               lac_dim_t cols, void *to)
{
    for (int64_t i = 0; i < majors; i++)
        for (int64_t p = format->ptr[i]; p < format->ptr[i + 1]; p++) {
            int64_t j = format->idx[p];
            lac_copy_value(size, to, by_rows ? i * cols + j : j * cols + i, format->val, p);
        }
}

static void densify_bits(const lac_format_data_t *format, size_t size, int64_t majors, int64_t minors,
                         bool by_rows, lac_dim_t cols, void *to)
{
    int64_t words = (minors + 63) / 64;
    for (int64_t i = 0; i < majors; i++) {
        int64_t e = format->ptr[i];
        for (int64_t j = 0; j < minors; j++)
            if (format->bits[i * words + j / 64] >> (j % 64) & 1)
                lac_copy_value(size, to, by_rows ? i * cols + j : j * cols + i, format->val, e++);
    }
}

static void densify_active(const lac_format_data_t *format, size_t size, int64_t m, bool transposed,
                           lac_dim_t cols, void *to)
{
    for (int64_t p = 0; p < format->count; p++)
        for (int64_t i = 0; i < m; i++) {
            int64_t j = format->idx[p];
            lac_copy_value(size, to, transposed ? j * cols + i : i * cols + j, format->val, p * m + i);
        }
}

static lac_status_t densify(const lac_operand_t *x, size_t size, lac_dim_t rows, lac_dim_t cols, void *to)
{
    const lac_meta_t *meta = x->meta;
    const lac_format_data_t *format;
    memset(to, 0, (size_t)rows * (size_t)cols * size);
    if ((format = lac_meta_format(meta, LAC_FORMAT_CSR)))
        densify_compressed(format, size, meta->m, !x->transposed, cols, to);
    else if ((format = lac_meta_format(meta, LAC_FORMAT_CSC)))
        densify_compressed(format, size, meta->n, x->transposed, cols, to);
    else if ((format = lac_meta_format(meta, LAC_FORMAT_BITS)))
        densify_bits(format, size, meta->m, meta->n, !x->transposed, cols, to);
    else if ((format = lac_meta_format(meta, LAC_FORMAT_BITS_T)))
        densify_bits(format, size, meta->n, meta->m, x->transposed, cols, to);
    else if ((format = lac_meta_format(meta, LAC_FORMAT_ACTIVE)))
        densify_active(format, size, meta->m, x->transposed, cols, to);
    else
        return lac_fail(LAC_ERR_INTERNAL, "contents: the operand has neither a buffer nor a format");
    return LAC_OK;
}

lac_status_t lac_dense_view(lac_exec_t *exec, const lac_operand_t *x, lac_dt_t dt, lac_dim_t rows,
                            lac_dim_t cols, bool unit, lac_work_t purpose, lac_dense_view_t *contents)
{
    *contents = (lac_dense_view_t){x->buf, x->rs, x->cs};
    if (lac_operand_is_dense(x, dt, rows, cols, unit)) return LAC_OK;
    void *copy = lac_work(exec, purpose, dense_bytes(dt, rows, cols));
    if (!copy) return LAC_ERR_MEMORY;
    *contents = (lac_dense_view_t){copy, cols, 1};
    if (!x->buf) return densify(x, lac_dt_size(dt), rows, cols, copy);
    if (x->triangle)
        expand_symmetric(x, lac_dt_size(dt), rows, copy);
    else
        copy_elements(x, lac_dt_size(dt), rows, cols, copy);
    return LAC_OK;
}

size_t lac_symmetric_bytes(const lac_problem_t *p)
{
    return p->a.triangle || p->b.triangle ? dense_bytes(p->dt, p->k, p->k) : 0;
}

/* Half of it goes across its rows. */
double lac_symmetric_us(const lac_problem_t *p, const lac_machine_t *machine)
{
    return (double)lac_symmetric_bytes(p) / (machine->out_strided_gbps * 1e3);
}

lac_status_t lac_expand_symmetric(lac_exec_t *exec, lac_side_t side, const lac_problem_t **p,
                                  lac_problem_t *expanded)
{
    lac_dense_view_t whole;
    if (!(*p)->a.triangle && !(*p)->b.triangle) return LAC_OK;
    *expanded = **p;
    lac_operand_t *x = expanded->a.triangle ? &expanded->a : &expanded->b;
    lac_status_t status =
        lac_dense_view(exec, x, expanded->dt, expanded->k, expanded->k, false, LAC_WORK_A, &whole);
    if (status) return status;
    x->triangle = LAC_TRIANGLE_NONE;
    x->buf = whole.buf;
    x->rs = side == LAC_SIDE_RIGHT ? whole.cs : whole.rs; /* its own transpose */
    x->cs = side == LAC_SIDE_RIGHT ? whole.rs : whole.cs;
    *p = expanded;
    return LAC_OK;
}

/* The dense contents of any operand in the caller's memory, and how many nonzeros they have. */

#define PAST ((int64_t)4 << 20) /* elements of an output that is written past the caches */

/* A compressed format is a slice of all its lines. */
static lac_status_t all_lines(lac_exec_t *exec, const lac_format_data_t *format, int64_t lines,
                              int64_t length, int threads, lac_dt_t dt, void *out, lac_inc_t rs, lac_inc_t cs)
{
    lac_slicing_t s = {.a.values = dt,
                       .format = format,
                       .m = lines,
                       .n = length,
                       .count = lines,
                       .val = format->val,
                       .zero_rows = true,
                       .threads = threads};
    return lac_host_slicer.rows(exec, &s, out, rs, cs);
}

typedef struct spread {
    const lac_host_kernels_t *kernels;
    const lac_format_data_t *format;
    int64_t lines, length;
    int32_t *idx; /* [parts * length] */
    char *out;
    lac_inc_t rs, cs;
    lac_pieces_t pieces;
} spread_t;

/* A line of a bitmask is a line of CSR once the indices of its bits are listed. */
static void spread_part(void *arg, int part, int parts)
{
    spread_t *s = arg;
    int64_t words = (s->length + 63) / 64, i0, i1;
    int32_t *idx = s->idx + part * s->length;
    (void)parts;
    while (lac_pieces_take(&s->pieces, &i0, &i1))
        for (int64_t i = i0; i < i1; i++) {
            int64_t ptr[2] = {0, 0};
            for (int64_t w = 0; w < words; w++)
                for (uint64_t set = s->format->bits[i * words + w]; set; set &= set - 1)
                    idx[ptr[1]++] = (int32_t)(64 * w + __builtin_ctzll(set));
            lac_rows_t line = {
                1, s->length, ptr, idx,
                s->format->val ? lac_value_at(s->kernels->size, s->format->val, s->format->ptr[i]) : NULL};
            lac_row_indices_t first = {.count = 1};
            s->kernels->slice_rows(&line, 1.0, &first, 0, 1, 0, s->length,
                                   s->out + i * s->rs * (int64_t)s->kernels->size, s->rs, s->cs,
                                   s->lines * s->length > PAST);
        }
}

static lac_status_t all_bits(lac_exec_t *exec, const lac_format_data_t *format, int64_t lines, int64_t length,
                             int threads, lac_dt_t dt, void *out, lac_inc_t rs, lac_inc_t cs)
{
    spread_t s = {lac_kernels(exec, dt),         format, lines, length, NULL, out, rs, cs,
                  {.extent = lines, .grain = 16}};
    double serial =
        (double)lac_dt_size(dt) * (double)lines * (double)length / (exec->machine->out_gbps * 1e3);
    int parts = lac_host_parts(threads, serial, exec->machine->fork_join_us);
    s.idx = lac_work(exec, LAC_WORK_EVENTS, (size_t)parts * (size_t)length * sizeof *s.idx + 1);
    if (!s.idx) return LAC_ERR_MEMORY;
    lac_parallel(parts, spread_part, &s);
    return LAC_OK;
}

/* The extents of a matrix in the order in which its memory is walked: the nearer elements inside. */
typedef struct walk {
    bool by_rows;
    lac_dim_t outer, inner;
} walk_t;

static walk_t walk_of(lac_dim_t rows, lac_dim_t cols, lac_inc_t rs, lac_inc_t cs)
{
    bool by_rows = (cs < 0 ? -cs : cs) <= (rs < 0 ? -rs : rs);
    return by_rows ? (walk_t){true, rows, cols} : (walk_t){false, cols, rows};
}

static void copy_dense(const lac_dense_view_t *from, size_t size, lac_dim_t rows, lac_dim_t cols, void *out,
                       lac_inc_t rs, lac_inc_t cs)
{
    walk_t w = walk_of(rows, cols, rs, cs);
    for (lac_dim_t i = 0; i < w.outer; i++)
        for (lac_dim_t j = 0; j < w.inner; j++) {
            lac_dim_t r = w.by_rows ? i : j, c = w.by_rows ? j : i;
            lac_copy_value(size, out, r * rs + c * cs, from->buf, r * from->rs + c * from->cs);
        }
}

lac_status_t lac_host_densify(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                              void *out, lac_inc_t rs, lac_inc_t cs, int threads)
{
    /* Formats hold X, out receives op(X): the strides of X's rows and columns there. */
    lac_inc_t xrs = x->transposed ? cs : rs, xcs = x->transposed ? rs : cs;
    const lac_format_data_t *format;
    if ((format = lac_operand_format(x, LAC_FORMAT_CSR)))
        return all_lines(exec, format, x->meta->m, x->meta->n, threads, x->values, out, xrs, xcs);
    if ((format = lac_operand_format(x, LAC_FORMAT_CSC)))
        return all_lines(exec, format, x->meta->n, x->meta->m, threads, x->values, out, xcs, xrs);
    if ((format = lac_operand_format(x, LAC_FORMAT_BITS)))
        return all_bits(exec, format, x->meta->m, x->meta->n, threads, x->values, out, xrs, xcs);
    lac_dense_view_t from;
    lac_operand_t formed = *x;
    if (x->formats & LAC_FORMATS_SPARSE) formed.buf = NULL; /* the format is what stands for the contents */
    lac_status_t status = lac_dense_view(exec, &formed, x->values, rows, cols, false, LAC_WORK_A, &from);
    if (!status) copy_dense(&from, lac_dt_size(x->values), rows, cols, out, rs, cs);
    return status;
}

/* Among the values of an active list some may be 0. */
static int64_t count_active(const lac_format_data_t *format, size_t size, int64_t m)
{
    int64_t count = 0;
    for (int64_t p = 0; p < format->count * m; p++) count += !lac_is_zero(size, format->val, p);
    return count;
}

lac_status_t lac_host_count(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                            int64_t *count, int threads)
{
    static const lac_format_t counted[] = {LAC_FORMAT_CSR, LAC_FORMAT_CSC, LAC_FORMAT_BITS};
    const lac_format_data_t *format;
    for (int i = 0; i < 3; i++)
        if ((format = lac_operand_format(x, counted[i]))) {
            *count = format->count;
            return LAC_OK;
        }
    if ((format = lac_operand_format(x, LAC_FORMAT_ACTIVE))) {
        *count = count_active(format, lac_dt_size(x->values), x->meta->m);
        return LAC_OK;
    }
    lac_stored_t stored = {x->dt, x->values, rows, cols, x->rs, x->cs, x->buf};
    int64_t nonzeros = rows && cols ? lac_host_nonzeros(exec, &stored, threads) : 0;
    if (nonzeros < 0) return LAC_ERR_MEMORY;
    *count = nonzeros;
    return LAC_OK;
}

/* Which tiles of an operand hold a nonzero: from its buffer, or from the format that stands for it. */

/* Marks the tile of element (r, c) of op(X). */
static void mark(const lac_tiling_t *t, lac_dim_t r, lac_dim_t c)
{
    lac_dim_t tile = c / t->cols;
    t->bits[r / t->rows * t->words + tile / 64] |= UINT64_C(1) << tile % 64;
}

/* The tiles of the entries of compressed rows; of columns where `columns`. op(X) may be X transposed. */
static void mark_compressed(const lac_tiling_t *t, const lac_format_data_t *format, size_t size,
                            lac_dim_t majors, bool columns)
{
    for (lac_dim_t i = 0; i < majors; i++)
        for (int64_t p = format->ptr[i]; p < format->ptr[i + 1]; p++) {
            if (format->val && lac_is_zero(size, format->val, p)) continue;
            mark(t, columns ? format->idx[p] : i, columns ? i : format->idx[p]);
        }
}

static bool is_compressed(const lac_operand_t *x)
{
    return x->formats & (1u << LAC_FORMAT_CSR | 1u << LAC_FORMAT_CSC);
}

static void mark_format(const lac_tiling_t *t, const lac_operand_t *x)
{
    size_t size = lac_dt_size(x->values);
    if (x->formats & 1u << LAC_FORMAT_CSR)
        mark_compressed(t, lac_meta_format(x->meta, LAC_FORMAT_CSR), size, x->meta->m, x->transposed);
    else
        mark_compressed(t, lac_meta_format(x->meta, LAC_FORMAT_CSC), size, x->meta->n, !x->transposed);
}

static void mark_dense(const lac_tiling_t *t, size_t size, lac_dim_t rows, lac_dim_t cols,
                       lac_dense_view_t from)
{
    walk_t w = walk_of(rows, cols, from.rs, from.cs);
    for (lac_dim_t i = 0; i < w.outer; i++)
        for (lac_dim_t j = 0; j < w.inner; j++) {
            lac_dim_t r = w.by_rows ? i : j, c = w.by_rows ? j : i;
            if (!lac_is_zero(size, from.buf, r * from.rs + c * from.cs)) mark(t, r, c);
        }
}

lac_status_t lac_host_occupancy(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                                const lac_tiling_t *tiling)
{
    int64_t words = (rows / tiling->rows + (rows % tiling->rows > 0)) * tiling->words, count = 0;
    lac_dense_view_t from;
    bool some = rows && cols, dense = some && !is_compressed(x);
    lac_status_t status =
        dense ? lac_dense_view(exec, x, x->values, rows, cols, false, LAC_WORK_A, &from) : LAC_OK;
    if (status) return status;
    memset(tiling->bits, 0, (size_t)words * sizeof *tiling->bits);
    if (dense)
        mark_dense(tiling, lac_dt_size(x->values), rows, cols, from);
    else if (some)
        mark_format(tiling, x);
    for (int64_t w = 0; w < words; w++) count += __builtin_popcountll(tiling->bits[w]);
    if (tiling->count) *tiling->count = count;
    return LAC_OK;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The dense contents of any operand in the caller's memory, and how many nonzeros they have. */
#include "host_densify.h"
#include "dense_view.h"
#include "formats.h"
#include "host_slice.h"

#define PAST ((int64_t)4 << 20) /* elements of an output that is written past the caches */

/* A compressed format is a slice of all its lines. */
static lac_status_t all_lines(lac_exec_t *exec, const lac_format_data_t *format, int64_t lines,
                              int64_t length, int threads, float *out, lac_inc_t rs, lac_inc_t cs)
{
    lac_slicing_t s = {.format = format,
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
    float *out;
    lac_inc_t rs, cs;
    lac_pieces_t pieces;
} spread_t;

/* A line of a bitmask is a line of CSR once its places are listed. */
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
            lac_rows_t line = {1, s->length, ptr, idx,
                               s->format->val ? s->format->val + s->format->ptr[i] : NULL};
            lac_row_indices_t first = {.count = 1};
            s->kernels->slice_rows(&line, 1.0f, &first, 0, 1, 0, s->length, s->out + i * s->rs, s->rs, s->cs,
                                   s->lines * s->length > PAST);
        }
}

static lac_status_t all_bits(lac_exec_t *exec, const lac_format_data_t *format, int64_t lines, int64_t length,
                             int threads, float *out, lac_inc_t rs, lac_inc_t cs)
{
    spread_t s = {exec->kernels, format, lines, length, NULL, out, rs, cs, {.extent = lines, .grain = 16}};
    double serial = 4.0 * (double)lines * (double)length / (exec->machine->out_gbps * 1e3);
    int parts = lac_host_parts(threads, serial, exec->machine->fork_join_us);
    s.idx = lac_work(exec, LAC_WORK_EVENTS, (size_t)parts * (size_t)length * sizeof *s.idx + 1);
    if (!s.idx) return LAC_ERR_MEMORY;
    lac_parallel(parts, spread_part, &s);
    return LAC_OK;
}

lac_status_t lac_host_densify(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                              float *out, lac_inc_t rs, lac_inc_t cs, int threads)
{
    lac_dense_view_t from;
    const lac_format_data_t *format;
    if (x->formats & 1u << LAC_FORMAT_CSR && (format = lac_meta_format(x->meta, LAC_FORMAT_CSR)))
        return all_lines(exec, format, x->meta->m, x->meta->n, threads, out, x->transposed ? cs : rs,
                         x->transposed ? rs : cs);
    if (x->formats & 1u << LAC_FORMAT_CSC && (format = lac_meta_format(x->meta, LAC_FORMAT_CSC)))
        return all_lines(exec, format, x->meta->n, x->meta->m, threads, out, x->transposed ? rs : cs,
                         x->transposed ? cs : rs);
    if (x->formats & 1u << LAC_FORMAT_BITS && (format = lac_meta_format(x->meta, LAC_FORMAT_BITS)))
        return all_bits(exec, format, x->meta->m, x->meta->n, threads, out, x->transposed ? cs : rs,
                        x->transposed ? rs : cs);
    lac_operand_t formed = *x;
    if (x->formats & LAC_FORMATS_SPARSE) formed.buf = NULL; /* the format is what stands for the contents */
    lac_status_t status = lac_dense_view(exec, &formed, rows, cols, false, LAC_WORK_A, &from);
    if (status) return status;
    bool by_rows = (cs < 0 ? -cs : cs) <= (rs < 0 ? -rs : rs);
    lac_dim_t outer = by_rows ? rows : cols, inner = by_rows ? cols : rows;
    for (lac_dim_t i = 0; i < outer; i++)
        for (lac_dim_t j = 0; j < inner; j++) {
            lac_dim_t r = by_rows ? i : j, c = by_rows ? j : i;
            out[r * rs + c * cs] = from.buf[r * from.rs + c * from.cs];
        }
    return LAC_OK;
}

/* Among the values of an active list some may be 0. */
static int64_t count_active(const lac_format_data_t *format, int64_t m)
{
    int64_t count = 0;
    for (int64_t p = 0; p < format->count * m; p++) count += format->val[p] != 0.0f;
    return count;
}

lac_status_t lac_host_count(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                            int64_t *count, int threads)
{
    static const lac_format_t counted[] = {LAC_FORMAT_CSR, LAC_FORMAT_CSC, LAC_FORMAT_BITS};
    const lac_format_data_t *format;
    for (int i = 0; i < 3; i++)
        if (x->formats & 1u << counted[i] && (format = lac_meta_format(x->meta, counted[i]))) {
            *count = format->count;
            return LAC_OK;
        }
    if (x->formats & 1u << LAC_FORMAT_ACTIVE && (format = lac_meta_format(x->meta, LAC_FORMAT_ACTIVE))) {
        *count = count_active(format, x->meta->m);
        return LAC_OK;
    }
    lac_stored_t stored = {x->dt, rows, cols, x->rs, x->cs, x->buf};
    int64_t nonzeros = rows && cols ? lac_host_nonzeros(exec, &stored, threads) : 0;
    if (nonzeros < 0) return LAC_ERR_MEMORY;
    *count = nonzeros;
    return LAC_OK;
}

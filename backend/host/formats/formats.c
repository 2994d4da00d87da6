/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Formats from a dense buffer: count, lay out, fill; and the transposed copy of a frozen weight. */
#include "formats.h"
#include "base/status.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define SAMPLES 1024
#define TRANSPOSE_SHARE                                                                                      \
    16 /* one element in so many is a nonzero: beyond, two readings cost less than turning                   \
        */

typedef struct build {
    lac_exec_t *exec;
    const lac_host_kernels_t *kernels;
    const lac_stored_t *x;
    int64_t *count; /* per row: first its nonzeros, then where its entries begin */
    int32_t *idx;
    void *val;
    uint64_t *bits;
    void *copy;
} build_t;

static void count_part(void *arg, int part, int parts)
{
    const build_t *b = arg;
    const lac_stored_t *x = b->x;
    long long i0, i1;
    lac_share(x->m, 1, part, parts, &i0, &i1);
    lac_scans(b->kernels, x->dt)->count_rows(x->buf, i0, i1, x->n, x->rs, x->cs, b->count + i0);
}

static void fill_part(void *arg, int part, int parts)
{
    const build_t *b = arg;
    const lac_stored_t *x = b->x;
    long long i0, i1;
    lac_share(x->m, 1, part, parts, &i0, &i1);
    lac_scans(b->kernels, x->dt)
        ->fill_rows(x->buf, i0, i1, x->n, x->rs, x->cs, b->count + i0, b->idx, b->val);
}

static void bits_part(void *arg, int part, int parts)
{
    const build_t *b = arg;
    const lac_stored_t *x = b->x;
    int64_t words = (x->n + 63) / 64;
    long long i0, i1;
    lac_share(x->m, 1, part, parts, &i0, &i1);
    lac_scans(b->kernels, x->dt)->fill_bits(x->buf, i0, i1, x->n, x->rs, x->cs, b->bits + i0 * words);
}

static void copy_part(void *arg, int part, int parts)
{
    const build_t *b = arg;
    const lac_stored_t *x = b->x;
    long long c0, c1;
    lac_share(x->n, 16, part, parts, &c0, &c1);
    b->kernels->transpose_values(x->buf, x->m, c0, c1, x->rs, x->cs, b->copy, x->m);
}

/* Row counts become row starts; returns the total. */
static int64_t lay_out(int64_t *count, int64_t rows)
{
    int64_t total = 0;
    for (int64_t i = 0; i < rows; i++) {
        int64_t length = count[i];
        count[i] = total;
        total += length;
    }
    return total;
}

static lac_status_t build_rows(build_t *b, int threads, bool with_bits, lac_format_data_t *data)
{
    if (lac_collects(b->x)) return lac_collect_rows(b->exec, b->x, threads, with_bits, data);
    int64_t rows = b->x->m, words = (b->x->n + 63) / 64;
    int64_t *ptr = b->count = lac_format_own(data, 0, (size_t)(rows + 1) * sizeof *ptr);
    if (!ptr) return LAC_ERR_MEMORY;
    lac_parallel(threads, count_part, b);
    data->count = ptr[rows] = lay_out(ptr, rows);
    b->val = lac_format_own_values(data, 1, data->count, b->kernels->size);
    if (!b->val) return LAC_ERR_MEMORY;
    if (with_bits) {
        b->bits = lac_format_own(data, 2, (size_t)(rows * words) * sizeof *b->bits);
        if (!b->bits) return LAC_ERR_MEMORY;
        lac_parallel(threads, bits_part, b);
    } else {
        b->idx = lac_format_own(data, 2, (size_t)data->count * sizeof *b->idx);
        if (!b->idx) return LAC_ERR_MEMORY;
    }
    lac_parallel(threads, fill_part, b);
    data->ptr = ptr, data->idx = b->idx, data->val = b->val, data->bits = b->bits;
    return LAC_OK;
}

/* Compressed majors that lie across the buffer's lines, of few entries: found line by line, then transposed.
 */
static bool transposes_lines(const build_t *b, bool with_bits)
{
    const lac_stored_t *x = b->x, lines = {x->dt, x->values, x->n, x->m, x->cs, x->rs, x->buf};
    if (with_bits || !lac_collects(&lines)) return false;
    int64_t seen =
        lac_scans(b->kernels, x->dt)->probe(x->buf, lines.m, lines.n, lines.rs, lines.cs, SAMPLES, 1);
    return seen <= SAMPLES / TRANSPOSE_SHARE;
}

static lac_status_t build_transposed(const build_t *b, int threads, lac_format_data_t *data)
{
    const lac_stored_t *x = b->x, lines = {x->dt, x->values, x->n, x->m, x->cs, x->rs, x->buf};
    lac_format_data_t found = {0};
    lac_status_t status = lac_collect_rows(b->exec, &lines, threads, false, &found);
    if (!status) status = lac_csr_to_csc(b->exec, b->kernels->size, &found, lines.m, lines.n, threads, data);
    if (!status) data->origin = LAC_ORIGIN_SCANNED;
    for (int i = 0; i < 4; i++) lac_free(found.owned[i]);
    return status;
}

static lac_status_t build_copy(build_t *b, int threads, lac_format_data_t *data)
{
    if (b->x->dt == LAC_U8) return lac_fail(LAC_ERR_TYPE, "metadata: binary events have no transposed copy");
    b->copy = lac_format_own(data, 0, (size_t)(b->x->m * b->x->n) * b->kernels->size);
    if (!b->copy) return LAC_ERR_MEMORY;
    lac_parallel(threads, copy_part, b);
    data->val = b->copy;
    return LAC_OK;
}

lac_status_t lac_format_build(lac_exec_t *exec, const lac_stored_t *x, int threads, lac_format_t format,
                              lac_format_data_t *data)
{
    bool copy = format == LAC_FORMAT_PACKED || format == LAC_FORMAT_PACKED_T;
    bool with_bits = format == LAC_FORMAT_BITS || format == LAC_FORMAT_BITS_T;
    /* A copy is written by the transposing kernel, so the one by rows reads the transposed view. */
    bool by_minor = format == LAC_FORMAT_CSC || format == LAC_FORMAT_BITS_T || format == LAC_FORMAT_PACKED;
    lac_stored_t view = by_minor ? (lac_stored_t){x->dt, x->values, x->n, x->m, x->cs, x->rs, x->buf} : *x;
    build_t b = {.exec = exec, .kernels = lac_kernels(exec, x->values), .x = &view};
    *data = (lac_format_data_t){.origin = LAC_ORIGIN_SCANNED};
    if (!copy && (x->m > INT32_MAX || x->n > INT32_MAX))
        return lac_fail(LAC_ERR_EXTENT, "metadata: %lld x %lld overflows 32-bit indices", (long long)x->m,
                        (long long)x->n);
    lac_status_t status;
    if (copy)
        status = build_copy(&b, threads, data);
    else if (format == LAC_FORMAT_ACTIVE)
        status = lac_collect_active(exec, x, threads, data);
    else if (transposes_lines(&b, with_bits))
        status = build_transposed(&b, threads, data);
    else
        status = build_rows(&b, threads, with_bits, data);
    if (!status) return LAC_OK;
    for (int i = 0; i < 4; i++) lac_free(data->owned[i]);
    *data = (lac_format_data_t){0};
    return status;
}

int64_t lac_host_nonzeros(lac_exec_t *exec, const lac_stored_t *x, int threads)
{
    build_t b = {.exec = exec, .kernels = lac_kernels(exec, x->values), .x = x};
    b.count = lac_work(exec, LAC_WORK_ROWS, (size_t)x->m * sizeof *b.count);
    if (!b.count) return -1;
    lac_parallel(threads, count_part, &b);
    return lay_out(b.count, x->m);
}

bool lac_format_at_hand(const lac_operand_t *x, lac_format_t which)
{
    if (x->formats & 1u << which) return true;
    bool copy = which == LAC_FORMAT_PACKED || which == LAC_FORMAT_PACKED_T;
    bool buildable = copy ? x->dt != LAC_U8 : x->meta && x->meta->m <= INT32_MAX && x->meta->n <= INT32_MAX;
    return x->frozen && x->buf && buildable;
}

size_t lac_format_bytes(const lac_operand_t *x, lac_format_t which)
{
    if (x->formats & 1u << which || !x->meta || !lac_format_at_hand(x, which)) return 0;
    double m = (double)x->meta->m, n = (double)x->meta->n,
           nonzeros = x->density < 0 ? 0.0 : x->density * m * n;
    bool columns = which == LAC_FORMAT_CSC || which == LAC_FORMAT_BITS_T;
    double size = (double)lac_dt_size(x->values);
    double majors = columns ? n : m, words = ceil((columns ? m : n) / 64.0);
    switch (which) {
    case LAC_FORMAT_PACKED:
    case LAC_FORMAT_PACKED_T:
        return (size_t)(m * n * size);
    case LAC_FORMAT_BITS:
    case LAC_FORMAT_BITS_T:
        return (size_t)((majors * words + majors + 1.0) * 8.0 + (nonzeros + 16.0) * size);
    default:
        return (size_t)((majors + 1.0) * 8.0 + nonzeros * (4.0 + size) + 64.0);
    }
}

typedef struct made {
    lac_exec_t *exec;
    const lac_stored_t *stored;
    int threads;
    lac_format_t which;
} made_t;

static lac_status_t make(void *arg, lac_format_data_t *data)
{
    const made_t *m = arg;
    return lac_format_build(m->exec, m->stored, m->threads, m->which, data);
}

lac_status_t lac_format_ensure(lac_exec_t *exec, const lac_operand_t *x, int threads, lac_format_t which,
                               const lac_format_data_t **format)
{
    if ((*format = lac_operand_format(x, which))) return LAC_OK;
    if (!lac_format_at_hand(x, which)) return LAC_OK;
    lac_stored_t stored = {x->dt,
                           x->values,
                           x->meta->m,
                           x->meta->n,
                           x->transposed ? x->cs : x->rs,
                           x->transposed ? x->rs : x->cs,
                           x->buf};
    made_t made = {exec, &stored, threads, which};
    return lac_meta_ensure(x->meta, which, 0, make, &made, format);
}

/* CSR from CSC and the reverse: a counting sort, a tile of minors at a time.
 *
 *  Each minor is a stream that is written to; a tile has no more of them than caches and page tables follow.
 * A tile is found in each major by a cursor, so that entries are read once to be counted and once to be laid.
 *  Tiles belong to one thread, and majors are walked in order: the same format however many threads there
 * are. */

#define TILE_STREAMS 512   /* minors of a tile, at least, where entries are laid                    */
#define TILE_RUN     16    /* entries of a major in a tile on average, at least, where tiles are many */
#define TILE_LINES   4     /* cache lines of a run that are asked for                            */
#define COUNTED      65536 /* minors that are counted at once: their counts stay in L2          */
#define AHEAD        8     /* majors whose entries are asked for before they are read */
#define LINE         16    /* elements of a cache line */
#define RANGES       4     /* of minors for each thread: columns differ in how full they are         */

typedef struct csr_to_csc {
    const lac_format_data_t *from;
    int64_t majors, minors, tile, ranges;
    int64_t *cursor; /* [parts * majors] */
    int64_t *place;  /* [minors + 1]: place[j] counts, then walks from j's first entry to its end */
    int32_t *idx;
    size_t size; /* of a value */
    void *val;   /* NULL: ones */
    atomic_llong next;
} csr_to_csc_t;

static int64_t first_from(const lac_format_data_t *format, int64_t major, int64_t minor)
{
    int64_t begin = format->ptr[major], end = format->ptr[major + 1];
    while (minor && begin < end) {
        int64_t middle = begin + (end - begin) / 2;
        if (format->idx[middle] < minor)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* What the tile reads of a major that comes soon: too short a run for the processor to see it coming. */
static void fetch(const csr_to_csc_t *t, const int64_t *cursor, int64_t major)
{
    if (major >= t->majors) return;
    for (int64_t l = 0; l < TILE_LINES; l++) __builtin_prefetch(t->from->idx + cursor[major] + l * LINE);
    for (int64_t l = 0; t->val && l < TILE_LINES; l++)
        __builtin_prefetch(lac_value_at(t->size, t->from->val, cursor[major] + l * LINE));
}

static void count_tile(const csr_to_csc_t *t, int64_t *cursor, int64_t limit)
{
    const int32_t *idx = t->from->idx;
    const int64_t *ptr = t->from->ptr;
    int64_t *place = t->place;
    for (int64_t i = 0; i < t->majors; i++) {
        int64_t e = cursor[i], end = ptr[i + 1];
        for (; e < end && idx[e] < limit; e++) place[idx[e]]++;
        cursor[i] = e;
    }
}

static inline __attribute__((always_inline)) void lay_values(const csr_to_csc_t *t, int64_t *cursor,
                                                             int64_t limit, size_t size)
{
    const int32_t *idx = t->from->idx;
    const int64_t *ptr = t->from->ptr;
    const void *val = t->from->val;
    int64_t *place = t->place;
    int32_t *to_idx = t->idx;
    void *to_val = t->val;
    for (int64_t i = 0; i < t->majors; i++) {
        int64_t e = cursor[i], end = ptr[i + 1];
        fetch(t, cursor, i + AHEAD);
        if (val)
            for (; e < end && idx[e] < limit; e++) {
                int64_t at = place[idx[e]]++;
                to_idx[at] = (int32_t)i;
                lac_copy_value(size, to_val, at, val, e);
                if (at % LINE == 0) {
                    __builtin_prefetch(to_idx + at + LINE, 1);
                    __builtin_prefetch(lac_value_at(size, to_val, at + LINE), 1);
                }
            }
        else
            for (; e < end && idx[e] < limit; e++) to_idx[place[idx[e]]++] = (int32_t)i;
        cursor[i] = e;
    }
}

/* The size as a constant of its loop. */
static void lay_tile(const csr_to_csc_t *t, int64_t *cursor, int64_t limit)
{
    if (t->size == sizeof(double))
        lay_values(t, cursor, limit, sizeof(double));
    else
        lay_values(t, cursor, limit, sizeof(float));
}

static void walk(csr_to_csc_t *t, int part,
                 void (*tile)(const csr_to_csc_t *t, int64_t *cursor, int64_t limit))
{
    int64_t *cursor = t->cursor + part * t->majors;
    long long j0, j1, range;
    while ((range = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed)) < t->ranges) {
        lac_share(t->minors, 1, (int)range, (int)t->ranges, &j0, &j1);
        for (int64_t i = 0; i < t->majors; i++) cursor[i] = first_from(t->from, i, j0);
        for (int64_t j = j0; j < j1; j += t->tile) tile(t, cursor, j1 - j < t->tile ? j1 : j + t->tile);
    }
}

static void count_minors_part(void *arg, int part, int parts)
{
    (void)parts;
    walk(arg, part, count_tile);
}

static void lay_part(void *arg, int part, int parts)
{
    (void)parts;
    walk(arg, part, lay_tile);
}

static void lay_out_minors(int64_t *count, int64_t minors, int64_t *ptr)
{
    int64_t at = 0;
    for (int64_t j = 0; j < minors; j++) {
        int64_t length = count[j];
        ptr[j] = count[j] = at;
        at += length;
    }
    ptr[minors] = at;
}

bool lac_csr_to_csc_applies(const lac_operand_t *x, lac_format_t which)
{
    lac_format_t other = which == LAC_FORMAT_CSR ? LAC_FORMAT_CSC : LAC_FORMAT_CSR;
    return (which == LAC_FORMAT_CSR || which == LAC_FORMAT_CSC) && x->formats & 1u << other;
}

lac_status_t lac_csr_to_csc(lac_exec_t *exec, size_t size, const lac_format_data_t *from, int64_t majors,
                            int64_t minors, int threads, lac_format_data_t *to)
{
    int64_t nnz = from->count;
    csr_to_csc_t t = {.size = size, .from = from, .majors = majors, .minors = minors, .tile = TILE_STREAMS};
    double run = TILE_RUN * (double)majors * (double)minors / (double)(nnz + 1);
    double serial = 32.0 * (double)nnz / (exec->machine->pack_gbps * 1e3);
    int parts = lac_host_parts(threads, serial, exec->machine->fork_join_us);
    if (run > TILE_STREAMS) t.tile = run < (double)minors ? (int64_t)run : minors;
    t.ranges = parts > 1 ? (int64_t)parts * RANGES : 1;
    *to = (lac_format_data_t){.origin = LAC_ORIGIN_DERIVED, .count = nnz};
    int64_t *ptr = lac_format_own(to, 0, (size_t)(minors + 1) * sizeof *ptr);
    t.idx = ptr ? lac_format_own(to, 1, (size_t)nnz * sizeof *t.idx) : NULL;
    t.val = t.idx && from->val ? lac_format_own_values(to, 2, nnz, size) : NULL;
    t.cursor = lac_work(exec, LAC_WORK_ROWS, (size_t)(parts * majors + 1) * sizeof *t.cursor);
    t.place = lac_work(exec, LAC_WORK_EVENTS, (size_t)(minors + 1) * sizeof *t.place);
    if (!t.idx || (from->val && !t.val) || !t.cursor || !t.place) {
        for (int i = 0; i < 4; i++) lac_free(to->owned[i]);
        *to = (lac_format_data_t){0};
        return LAC_ERR_MEMORY;
    }
    memset(t.place, 0, (size_t)(minors + 1) * sizeof *t.place);
    int64_t tile = t.tile;
    t.tile = tile < COUNTED ? COUNTED : tile;
    lac_parallel(parts, count_minors_part, &t);
    t.tile = tile;
    lay_out_minors(t.place, minors, ptr);
    atomic_store(&t.next, 0);
    lac_parallel(parts, lay_part, &t);
    to->ptr = ptr, to->idx = t.idx, to->val = t.val;
    return LAC_OK;
}

typedef struct other {
    lac_exec_t *exec;
    const lac_operand_t *x;
    lac_format_t which;
    int threads;
} other_t;

static lac_status_t make_other(void *arg, lac_format_data_t *data)
{
    const other_t *other = arg;
    const lac_meta_t *meta = other->x->meta;
    bool by_rows = other->which == LAC_FORMAT_CSC; /* of the format that is there */
    return lac_csr_to_csc(other->exec, lac_dt_size(other->x->values),
                          lac_meta_format(meta, by_rows ? LAC_FORMAT_CSR : LAC_FORMAT_CSC),
                          by_rows ? meta->m : meta->n, by_rows ? meta->n : meta->m, other->threads, data);
}

lac_status_t lac_csr_to_csc_keep(lac_exec_t *exec, const lac_operand_t *x, int threads, lac_format_t which,
                                 const lac_format_data_t **format)
{
    return lac_meta_ensure(x->meta, which, 0, make_other, &(other_t){exec, x, which, threads}, format);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The csr route: S by rows times W, each output row summed in registers over its own nonzeros.

 Serves long sides, where an event list for all rows at once would leave the cache. W by rows is packed panel
 by panel into the second-level cache; W by columns is transposed first, unless few rows would use it, and
 binary events are made into numbers. */
#include "routes.h"
#include "csr.h"
#include "triangle.h"
#include "host/formats/dense_view.h"
#include "host/formats/formats.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* A column-major W is transposed from so many rows of S on, for each k: walking it costs about this many
 * times an element of its copy, for each row; */
#define TRANSPOSE_GAIN 28
#define TRANSPOSE_ROWS 24 /* and for so many whatever k is, for S then has events enough */

typedef struct product {
    const lac_host_kernels_t *kernels;
    const lac_problem_t *p;
    const lac_sided_t *s;
    const lac_rows_t *rows;
    const void *w;
    void *transposed;
    lac_inc_t ldw;
    bool by_rows, cut_columns;
    char *scratch;
    int64_t scratch_stride; /* bytes */
} product_t;

/* A C of which a triangle is asked for is A A': the sides differ in nothing but C's strides, and a drop-in
 * library lays it by rows. */
static bool is_other_side(const lac_route_t *route, const lac_problem_t *p)
{
    return p->triangle && route->side == LAC_SIDE_RIGHT;
}

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    lac_refusal_t refusal = lac_sparse_refusal(p, &s, LAC_TAKES_TRIANGLE | LAC_TAKES_U8_W);
    if (refusal != LAC_FITS) return refusal;
    if (is_other_side(route, p)) return LAC_REFUSED_TRIANGLE;
    if (lac_rows_source(&s) == LAC_ROWS_NOWHERE) return LAC_REFUSED_NO_FORMAT;
    if (s.m > INT32_MAX || s.k > INT32_MAX) return LAC_REFUSED_INDEX_RANGE;
    if (s.w->dt != LAC_U8 && lac_sided_w_layout(p, &s) == LAC_W_STRIDED) return LAC_REFUSED_W_STRIDES;
    return LAC_FITS;
}

/* Whether W is written anew, by rows. */
static bool turns(const lac_problem_t *p, const lac_sided_t *s)
{
    if (s->w->dt == LAC_U8) return true;
    if (lac_sided_w_layout(p, s) != LAC_W_COLS) return false;
    return s->m >= TRANSPOSE_ROWS || s->m * TRANSPOSE_GAIN > s->k;
}

/* On one thread, W's packing or turning included. */
static double product_us(const lac_problem_t *p, const lac_sided_t *s, const lac_machine_t *machine,
                         double nonzeros)
{
    double share = lac_triangle_share(p);
    double m = (double)s->m, n = share * (double)s->n, k = (double)s->k, vectors = ceil(n / s->line);
    double out = share * lac_sided_out_us(s, machine);
    bool by_columns = lac_sided_w_layout(p, s) == LAC_W_COLS && !turns(p, s);
    if (by_columns) return out + (m * n * machine->csr_dot_ns + nonzeros * n * machine->csr_ns) * 1e-3;
    double whole = s->size * k * (double)s->n / (machine->pack_gbps * 1e3),
           prepared = turns(p, s) ? whole : 0.0;
    double arithmetic = (nonzeros * machine->csr_ns + m * machine->csr_row_ns) * vectors * 1e-3;
    if (lac_csr_packs(s->m, s->k, (int64_t)nonzeros, (size_t)s->size))
        return out + prepared + whole + arithmetic;
    double touched = s->size * n * (nonzeros < k ? nonzeros : k); /* bytes of W */
    /* Streamed from a cache into a cache, nothing but the arithmetic shows. */
    if (s->ocs == 1 && lac_far_share(touched + s->size * m * n, machine) <= 0.0) return prepared + arithmetic;
    double moved = lac_far_share(touched, machine) * s->size * nonzeros * n / (machine->row_gbps * 1e3);
    return out + prepared + (moved > arithmetic ? moved : arithmetic);
}

static double prepare_us(const lac_sided_t *s, const lac_machine_t *machine, double nonzeros)
{
    double element = (double)lac_dt_size(s->s->dt), passes = s->scs == 1 ? 2.0 : 4.0; /* across: slower */
    switch (lac_rows_source(s)) {
    case LAC_ROWS_SCAN:
        return passes * lac_scan_us((double)s->m * (double)s->k * element, machine) +
               nonzeros * machine->scan_event_ns * 1e-3;
    case LAC_ROWS_BY_K:
        return nonzeros * 2.0 * machine->scan_event_ns * 1e-3;
    default:
        return 0.0;
    }
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    lac_sided_t s = lac_sided(p, route->side);
    double nonzeros = s.s->density * (double)s.m * (double)s.k;
    double serial = product_us(p, &s, machine, nonzeros) + prepare_us(&s, machine, nonzeros);
    double expanded = lac_symmetric_us(p, machine); /* by one thread */
    int parts = lac_host_parts(p->settings.threads, serial, machine->fork_join_us);
    return machine->route_us + expanded + serial / parts + (parts > 1 ? 2.0 * machine->fork_join_us : 0);
}

/* Workspace, as `bytes` says and as a run takes it: a thread's packed panels, W transposed, CSR of this call.
 */
static int64_t panel_stride(const lac_sided_t *s)
{
    return (lac_csr_scratch(s->k, (size_t)s->size) * (int64_t)s->size + 63) / 64 * 64;
}
static size_t panel_bytes(const lac_sided_t *s, int parts)
{
    return (size_t)parts * (size_t)panel_stride(s);
}
static size_t transposed_bytes(const lac_problem_t *p, const lac_sided_t *s)
{
    return turns(p, s) ? (size_t)s->k * (size_t)s->n * (size_t)s->size : 0;
}
static size_t pointer_bytes(const lac_sided_t *s)
{
    return (size_t)(s->m + 2) * sizeof(int64_t);
}
static size_t entry_bytes(size_t size, int64_t count)
{
    return (size_t)count * (sizeof(int32_t) + size) + 16;
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    int64_t nonzeros = (int64_t)ceil(s.s->density * (double)s.m * (double)s.k);
    size_t rows = lac_rows_source(&s) == LAC_ROWS_FORMAT
                      ? lac_format_bytes(s.s, lac_sided_by_rows(&s))
                      : pointer_bytes(&s) + entry_bytes((size_t)s.size, nonzeros);
    bool copies = lac_sided_w_layout(p, &s) == LAC_W_PACKED;
    return rows + panel_bytes(&s, p->settings.threads) + transposed_bytes(p, &s) + lac_symmetric_bytes(p) +
           lac_triangle_bytes(p, p->settings.threads) +
           (copies ? lac_format_bytes(s.w, lac_sided_k_major(&s)) : 0);
}

static void transpose_part(void *arg, int part, int parts)
{
    const product_t *g = arg;
    const lac_sided_t *s = g->s;
    long long k0, k1;
    lac_share(s->k, 16, part, parts, &k0, &k1);
    if (s->w->dt == LAC_U8) {
        g->kernels->transpose_events(s->w->buf, s->n, k0, k1, s->wcs, s->wrs, g->transposed, s->n);
        return;
    }
    /* W' is n x k with rows of the leading dimension: its transpose is W by rows. */
    g->kernels->transpose_values(s->w->buf, s->n, k0, k1, s->wcs, s->wrs, g->transposed, s->n);
}

static void product_block(void *arg, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
                          const lac_host_output_t *out, int part)
{
    const product_t *g = arg;
    if (g->by_rows)
        g->kernels->csr_rows(g->rows, i0, i1, g->w, g->ldw, j0, j1, out,
                             g->scratch ? g->scratch + part * g->scratch_stride : NULL);
    else
        g->kernels->csr_cols(g->rows, i0, i1, g->w, g->ldw, j0, j1, out);
}

static void product_part(void *arg, int part, int parts)
{
    product_t *g = arg;
    const lac_sided_t *s = g->s;
    long long i0 = 0, i1 = s->m, j0 = 0, j1 = s->n;
    if (g->cut_columns)
        lac_share(s->n, 64, part, parts, &j0, &j1);
    else
        lac_share(s->m, 1, part, parts, &i0, &i1);
    if (i0 == i1 || j0 == j1) return;
    lac_host_output_t out = lac_host_output(g->kernels, g->p->alpha, g->p->beta, g->p->c, s->ors, s->ocs);
    product_block(g, i0, i1, j0, j1, &out, part);
}

static lac_status_t choose_w(lac_exec_t *exec, product_t *g, int parts)
{
    const lac_sided_t *s = g->s;
    lac_w_layout_t slices = lac_sided_w_layout(g->p, s);
    const lac_format_data_t *copy = NULL;
    g->w = s->w->buf;
    g->by_rows = slices == LAC_W_ROWS;
    g->ldw = g->by_rows ? s->wrs : s->wcs;
    if (slices == LAC_W_PACKED) {
        lac_status_t status =
            lac_format_ensure(exec, s->w, g->p->settings.threads, lac_sided_k_major(s), &copy);
        if (status || !copy) return status;
        g->w = copy->val;
    } else if (turns(g->p, s)) {
        g->transposed = lac_work(exec, LAC_WORK_B, transposed_bytes(g->p, s));
        if (!g->transposed) return LAC_ERR_MEMORY;
        lac_parallel(parts, transpose_part, g);
        g->w = g->transposed;
    } else {
        return LAC_OK;
    }
    g->by_rows = true;
    g->ldw = s->n;
    return LAC_OK;
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    lac_problem_t expanded;
    lac_status_t status = lac_expand_symmetric(exec, route->side, &p, &expanded);
    if (status) return status;
    lac_sided_t s = lac_sided(p, route->side);
    lac_rows_t rows;
    double elements = (double)s.m * (double)s.k, wake = exec->machine->fork_join_us;
    double expected = s.s->density * elements;
    int64_t limit = lac_sided_limit(p, &s);
    int parts = lac_host_parts(p->settings.threads, prepare_us(&s, exec->machine, expected), wake);
    status = lac_rows_gather(exec, lac_kernels(exec, p->dt), &s, parts, limit, &rows, &out->declined);
    if (status || out->declined) return status;
    if (lac_exceeds(limit, rows.ptr[s.m])) return (out->declined = true), LAC_OK;
    out->density = (double)rows.ptr[s.m] / elements;

    product_t g = {.kernels = lac_kernels(exec, p->dt), .p = p, .s = &s, .rows = &rows};
    parts =
        lac_host_parts(p->settings.threads, product_us(p, &s, exec->machine, out->density * elements), wake);
    if ((status = choose_w(exec, &g, parts))) return status;
    g.cut_columns = g.by_rows && s.n >= 64 * parts;
    g.scratch_stride = panel_stride(&s);
    g.scratch = lac_work(exec, LAC_WORK_ACC, panel_bytes(&s, parts));
    if (!g.scratch) return LAC_ERR_MEMORY;
    if (p->triangle) {
        bool packs =
            lac_csr_packs(s.m, s.k, rows.ptr[s.m], (size_t)s.size); /* once for each panel of columns */
        bool row_panels = g.by_rows && !packs;
        if (!packs) g.scratch = NULL;
        return lac_triangle_run(exec, p, parts, row_panels, product_block, &g);
    }
    lac_parallel(parts, product_part, &g);
    return LAC_OK;
}

const lac_route_t lac_host_route_csr[] = LAC_ROUTE_SIDES(csr, applicable, cost_us, bytes, run, NULL, 0);

/* CSR of S: two passes over a dense buffer, or one counting sort over CSC. */

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
    void *val;
} fill_t;

static void count_part(void *arg, int part, int parts)
{
    const fill_t *f = arg;
    const lac_sided_t *s = f->s;
    long long i0, i1;
    lac_share(s->m, 1, part, parts, &i0, &i1);
    lac_scans(f->kernels, s->s->dt)->count_rows(s->s->buf, i0, i1, s->k, s->srs, s->scs, f->ptr + 1 + i0);
}

static void fill_part(void *arg, int part, int parts)
{
    const fill_t *f = arg;
    const lac_sided_t *s = f->s;
    long long i0, i1;
    lac_share(s->m, 1, part, parts, &i0, &i1);
    lac_scans(f->kernels, s->s->dt)
        ->fill_rows(s->s->buf, i0, i1, s->k, s->srs, s->scs, f->ptr + i0, f->idx, f->val);
}

/* Row pointers in one buffer, entries in another: the pointers are known before the entries' number is. */
static bool entries(lac_exec_t *exec, fill_t *f, int64_t count)
{
    size_t size = f->kernels->size;
    char *memory = lac_work(exec, LAC_WORK_ROWS, entry_bytes(size, count));
    f->val = memory;
    f->idx = memory ? (int32_t *)(void *)(memory + (size_t)count * size) : NULL;
    return memory;
}

static lac_status_t scan(lac_exec_t *exec, const lac_host_kernels_t *kernels, const lac_sided_t *s,
                         int threads, int64_t limit, lac_rows_t *rows, bool *exceeded)
{
    fill_t f = {.kernels = kernels, .s = s};
    f.ptr = lac_work(exec, LAC_WORK_EVENTS, pointer_bytes(s));
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

static lac_status_t csr_to_csc(lac_exec_t *exec, const lac_host_kernels_t *kernels, const lac_sided_t *s,
                               const lac_format_data_t *by_k, lac_rows_t *rows)
{
    fill_t f = {.kernels = kernels, .s = s};
    f.ptr = lac_work(exec, LAC_WORK_EVENTS, pointer_bytes(s));
    if (!f.ptr || !entries(exec, &f, by_k->count)) return LAC_ERR_MEMORY;
    int64_t *place = f.ptr + 1; /* place[i] counts, then walks from the row's start to its end */
    memset(f.ptr, 0, pointer_bytes(s));
    for (int64_t p = 0; p < by_k->count; p++) place[by_k->idx[p] + 1]++;
    for (int64_t i = 0; i < s->m; i++) place[i + 1] += place[i];
    for (int64_t k = 0; k < s->k; k++)
        for (int64_t p = by_k->ptr[k]; p < by_k->ptr[k + 1]; p++) {
            int64_t at = place[by_k->idx[p]]++;
            f.idx[at] = (int32_t)k;
            lac_copy_value(kernels->size, f.val, at, by_k->val, p);
        }
    *rows = (lac_rows_t){s->m, s->k, f.ptr, f.idx, f.val};
    return LAC_OK;
}

lac_status_t lac_rows_gather(lac_exec_t *exec, const lac_host_kernels_t *kernels, const lac_sided_t *s,
                             int threads, int64_t limit, lac_rows_t *rows, bool *exceeded)
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
        return csr_to_csc(exec, kernels, s, lac_meta_format(s->s->meta, lac_sided_by_k(s)), rows);
    case LAC_ROWS_SCAN:
        return scan(exec, kernels, s, threads, limit, rows, exceeded);
    case LAC_ROWS_NOWHERE:
        break;
    }
    lac_fail(LAC_ERR_INTERNAL, "csr: no source of rows");
    return LAC_ERR_INTERNAL;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The event route: compact the events of S, then gather only the slices of W that they name.

 Left and right side are one route on two views of the problem. Where W's slices lie strided and W is frozen,
 a k-major copy made once turns the column gather into a row gather. */
#include "events.h"
#include "formats.h"
#include "host_routes.h"

#include <math.h>

/* Rows of S that one pass accumulates: beyond, the accumulators leave the cache and the csr route serves. */
#define ROWS_MAX 512

/* W as the kernels take it. */
typedef struct gather {
    const lac_host_kernels_t *kernels;
    const lac_problem_t *p;
    const lac_sided_t *s;
    const lac_event_list_t *list;
    const float *w;
    lac_inc_t ldw;
    bool by_rows;
    float *acc;
    int64_t acc_stride;
} gather_t;

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    return p->k == 0 || p->alpha == 0.0f || !p->m || !p->n ? LAC_REFUSED_TRIVIAL
           : p->strict_nan                                 ? LAC_REFUSED_STRICT_NAN
           : !s.w->buf                                     ? LAC_REFUSED_W_SPARSE
           : s.w->dt != LAC_F32                            ? LAC_REFUSED_W_TYPE
           : lac_event_source(&s) == LAC_EVENTS_NOWHERE    ? LAC_REFUSED_NO_FORMAT
           : s.s->density < 0                              ? LAC_REFUSED_DENSITY_UNKNOWN
           : s.m > ROWS_MAX                                ? LAC_REFUSED_NOT_SHORT
           : s.k > INT32_MAX                               ? LAC_REFUSED_INDEX_RANGE
           : lac_sided_w_layout(p, &s) == LAC_W_STRIDED    ? LAC_REFUSED_W_STRIDES
                                                           : LAC_FITS;
}

static double scan_us(const lac_sided_t *s, const lac_machine_t *machine, double events)
{
    double element = s->s->dt == LAC_F32 ? 4.0 : 1.0;
    double swept =
        lac_event_source(s) == LAC_EVENTS_SCAN ? (double)s->m * (double)s->k * element : (double)s->k * 8.0;
    return lac_scan_us(swept, machine) + events * machine->scan_event_ns * 1e-3;
}

/* Time of the gather on one thread, and the part of it that memory bounds however many threads there are. */
static double gather_us(const lac_problem_t *p, const lac_sided_t *s, const lac_machine_t *machine,
                        double active, double events, double *floor_us)
{
    double n = (double)s->n, k = (double)s->k;
    double arithmetic = events * ceil(n / 16.0) * machine->axpy_ns * 1e-3;
    double out = lac_sided_out_us(s, machine);
    bool by_rows = lac_sided_w_layout(p, s) != LAC_W_COLS;
    double lines =
        by_rows ? active * ceil(n / 16.0) : n * ceil(k / 16.0) * lac_active_fraction(active / k, 16.0);
    bool near = lac_is_near(lines * 64.0, machine);
    double moved = by_rows ? (near ? 0.0 : lines * 64.0 / (machine->row_gbps * 1e3))
                           : lines * (near ? machine->cached_line_ns : machine->line_ns) * 1e-3;
    *floor_us = near ? 0.0 : lines * 64.0 / (machine->row_gbps_all * 1e3);
    return (by_rows && moved > arithmetic ? moved : moved + arithmetic) + out;
}

static double active_k(const lac_sided_t *s)
{
    double fraction = s->s->k_active >= 0 ? s->s->k_active : lac_active_fraction(s->s->density, (double)s->m);
    return fraction * (double)s->k;
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    lac_sided_t s = lac_sided(p, route->side);
    double events = s.s->density * (double)s.m * (double)s.k, floor_us;
    double scan = scan_us(&s, machine, events);
    double gather = gather_us(p, &s, machine, active_k(&s), events, &floor_us);
    int scan_parts = lac_host_parts(p->threads, scan, machine->fork_join_us);
    int parts = lac_host_parts(p->threads, gather, machine->fork_join_us);
    double shared = gather / parts > floor_us ? gather / parts : floor_us;
    return machine->route_us + scan / scan_parts + shared + (scan_parts > 1 ? machine->fork_join_us : 0) +
           (parts > 1 ? machine->fork_join_us : 0);
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    double events = s.s->density < 0 ? 0 : s.s->density * (double)s.m * (double)s.k;
    size_t total =
        (size_t)(events * 20.0) + (size_t)p->threads * (size_t)lac_event_scratch(s.m) * sizeof(float);
    if (lac_sided_w_layout(p, &s) == LAC_W_PACKED) total += (size_t)s.k * (size_t)s.n * sizeof(float);
    return total;
}

static void gather_part(void *arg, int part, int parts)
{
    const gather_t *g = arg;
    const lac_sided_t *s = g->s;
    long long j0, j1;
    lac_share(s->n, 16, part, parts, &j0, &j1);
    if (j0 == j1) return;
    (g->by_rows ? g->kernels->event_rows : g->kernels->event_cols)(
        g->list->fragment, g->list->fragments, s->m, g->w, g->ldw, j0, j1, g->p->alpha, g->p->beta, g->p->c,
        s->ors, s->ocs, g->acc + part * g->acc_stride);
}

/* Where W is read from, and how. */
static lac_status_t choose_w(lac_exec_t *exec, gather_t *g)
{
    const lac_sided_t *s = g->s;
    lac_w_layout_t slices = lac_sided_w_layout(g->p, s);
    const lac_format_data_t *copy = NULL;
    g->w = s->w->buf;
    g->by_rows = slices == LAC_W_ROWS;
    g->ldw = g->by_rows ? s->wrs : s->wcs;
    if (slices != LAC_W_PACKED) return LAC_OK;
    lac_status_t status = lac_format_ensure(exec, s->w, g->p->threads, lac_sided_k_major(s), &copy);
    if (status || !copy) return status;
    g->w = copy->val;
    g->by_rows = true;
    g->ldw = s->n;
    return LAC_OK;
}

/* Events beyond which a scan gives up; negative: none. */
static int64_t event_limit(const lac_problem_t *p, const lac_sided_t *s)
{
    return p->density_limit < 0 ? -1 : (int64_t)(p->density_limit * (double)s->m * (double)s->k);
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    lac_sided_t s = lac_sided(p, route->side);
    lac_event_list_t list;
    double expected = s.s->density * (double)s.m * (double)s.k, floor_us;
    int scan_parts =
        lac_host_parts(p->threads, scan_us(&s, exec->machine, expected), exec->machine->fork_join_us);
    lac_status_t status = lac_events_gather(exec, &s, scan_parts, event_limit(p, &s), &list, &out->declined);
    if (status || out->declined) return status;
    out->density = (double)list.count / ((double)s.m * (double)s.k);
    out->k_active = (double)list.active / (double)s.k;

    gather_t g = {.kernels = exec->kernels, .p = p, .s = &s, .list = &list};
    if ((status = choose_w(exec, &g))) return status;
    double gather = gather_us(p, &s, exec->machine, (double)list.active, (double)list.count, &floor_us);
    int parts = lac_host_parts(p->threads, gather, exec->machine->fork_join_us);
    g.acc_stride = (lac_event_scratch(s.m) + 15) / 16 * 16;
    g.acc = lac_work(exec, LAC_WORK_ACC, (size_t)parts * (size_t)g.acc_stride * sizeof *g.acc);
    if (!g.acc) return LAC_ERR_MEMORY;
    lac_parallel(parts, gather_part, &g);
    return LAC_OK;
}

const lac_route_t lac_route_event_left = {"event", LAC_ROLE_SPARSE, LAC_SIDE_LEFT, applicable,
                                          cost_us, bytes,           run,           NULL};
const lac_route_t lac_route_event_right = {
    "event", LAC_ROLE_SPARSE, LAC_SIDE_RIGHT, applicable, cost_us, bytes, run, NULL};

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The event route: compact the events of S, then gather only the slices of W that they name.

 Left and right side are one route on two views of the problem. Where W's slices lie strided and W is frozen,
 a k-major copy made once turns the column gather into a row gather. Of a W that is sparse only, the entries
 of the rows that events name are added to the sums. */
#include "event.h"
#include "host/formats/formats.h"
#include "routes.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* Rows of S that one pass accumulates: beyond, the accumulators leave the cache and the csr route serves. */
#define ROWS_MAX 512

/* W as the kernels take it. */
typedef struct gather {
    const lac_host_kernels_t *kernels;
    const lac_problem_t *p;
    const lac_sided_t *s;
    const lac_event_list_t *list;
    const void *w;
    lac_inc_t ldw;
    bool by_rows;
    char *acc;
    int64_t acc_stride; /* bytes */
} gather_t;

/* The same where W is sparse only. */
typedef struct entries {
    const lac_host_kernels_t *kernels;
    const lac_problem_t *p;
    const lac_sided_t *s;
    lac_rows_t rows, w;
    char *acc;
    int64_t acc_stride; /* bytes */
    bool cut_columns;
} entries_t;

/* The format of a sparse W that lists its slices W[k, :]. */
static lac_format_t w_by_k(const lac_sided_t *s)
{
    return s->w_transposed ? LAC_FORMAT_CSC : LAC_FORMAT_CSR;
}

/* Whether a sparse W is to be had by its slices: where it is frozen, a copy of it by the other side is worth
 * making. */
static bool has_slices(const lac_sided_t *s)
{
    return lac_operand_format(s->w, w_by_k(s)) || (s->w->frozen && lac_csr_to_csc_applies(s->w, w_by_k(s)));
}

/* The same format, of this side or the other, for what either says: how many entries there are. */
static const lac_format_data_t *entries_of(const lac_sided_t *s)
{
    const lac_format_data_t *w = lac_operand_format(s->w, w_by_k(s));
    return w ? w : lac_operand_format(s->w, s->w_transposed ? LAC_FORMAT_CSR : LAC_FORMAT_CSC);
}

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    lac_refusal_t refusal = lac_sparse_refusal(p, &s, LAC_TAKES_SPARSE_W);
    if (refusal != LAC_FITS) return refusal;
    if (!s.w->buf && !has_slices(&s)) return LAC_REFUSED_W_SPARSE;
    if (lac_event_source(&s) == LAC_EVENTS_NOWHERE) return LAC_REFUSED_NO_FORMAT;
    if (s.m > (s.w->buf ? ROWS_MAX : INT32_MAX)) return LAC_REFUSED_NOT_SHORT;
    if (s.k > INT32_MAX) return LAC_REFUSED_INDEX_RANGE;
    if (!s.w->buf) return LAC_FITS;
    if (lac_sided_w_layout(p, &s) == LAC_W_STRIDED) return LAC_REFUSED_W_STRIDES;
    return LAC_FITS;
}

static double scan_us(const lac_sided_t *s, const lac_machine_t *machine, double events)
{
    double element = (double)lac_dt_size(s->s->dt);
    lac_event_source_t source = lac_event_source(s);
    double swept = source == LAC_EVENTS_SCAN     ? (double)s->m * (double)s->k * element
                   : source == LAC_EVENTS_BITS   ? (double)s->k / 8.0
                   : source == LAC_EVENTS_LISTED ? 0.0
                                                 : (double)s->k * 8.0;
    return lac_scan_us(swept, machine) + events * machine->scan_event_ns * 1e-3;
}

/* Time of the gather on one thread, and the part of it that memory bounds however many threads there are. */
static double gather_us(const lac_problem_t *p, const lac_sided_t *s, const lac_machine_t *machine,
                        double active, double events, double *floor_us)
{
    double n = (double)s->n, k = (double)s->k;
    double arithmetic = events * ceil(n / s->line) * machine->axpy_ns * 1e-3;
    double out = lac_sided_out_us(s, machine);
    bool by_rows = lac_sided_w_layout(p, s) != LAC_W_COLS;
    double lines = by_rows ? active * ceil(n / s->line)
                           : n * ceil(k / s->line) * lac_active_fraction(active / k, s->line);
    bool near = lac_is_near(lines * 64.0, machine);
    double far = (by_rows ? lac_far_share(lines * 64.0, machine) : near ? 0.0 : 1.0) * lines * 64.0;
    double moved = by_rows ? far / (machine->row_gbps * 1e3)
                           : lines * (near ? machine->cached_line_ns : machine->line_ns) * 1e-3;
    *floor_us = far / (machine->row_gbps_all * 1e3);
    return (by_rows && moved > arithmetic ? moved : moved + arithmetic) + out;
}

/* The same where W is sparse only: an entry takes as long as a cache line of a gather, and those of large
 * matrices come from memory. */
static double entries_us(const lac_sided_t *s, const lac_machine_t *machine, double events, double *floor_us)
{
    const lac_format_data_t *w = entries_of(s);
    double filled = w && s->k > 0 ? (double)w->count / (double)s->k : 0.0, entries = events * filled;
    double out =
        16.0 * (double)s->m * (double)s->n / (machine->out_gbps * 1e3) + lac_sided_out_us(s, machine);
    bool near = lac_is_near(8.0 * entries, machine);
    double moved = near ? 0.0 : 8.0 * entries / (machine->row_gbps * 1e3);
    *floor_us = near ? 0.0 : 8.0 * entries / (machine->row_gbps_all * 1e3);
    double worked = entries * machine->cached_line_ns * 1e-3;
    return (moved > worked ? moved : worked) + out;
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
    double gather = s.w->buf ? gather_us(p, &s, machine, active_k(&s), events, &floor_us)
                             : entries_us(&s, machine, events, &floor_us);
    int scan_parts = lac_host_parts(p->settings.threads, scan, machine->fork_join_us);
    int parts = lac_host_parts(p->settings.threads, gather, machine->fork_join_us);
    double shared = gather / parts > floor_us ? gather / parts : floor_us;
    return machine->route_us + scan / scan_parts + shared + (scan_parts > 1 ? machine->fork_join_us : 0) +
           (parts > 1 ? machine->fork_join_us : 0);
}

/* Workspace, as `bytes` says and as a run takes it: a thread's accumulators, an event list of values of a
 * size, and the places of k while CSR of S is sorted by k. */
static int64_t acc_stride(const lac_problem_t *p, const lac_sided_t *s)
{
    size_t size = lac_dt_size(p->dt);
    return (lac_event_scratch(s->m, size) * (int64_t)size + 63) / 64 * 64;
}
static size_t acc_bytes(const lac_problem_t *p, const lac_sided_t *s, int parts)
{
    return (size_t)parts * (size_t)acc_stride(p, s);
}
static size_t list_bytes(int64_t capacity, size_t size)
{
    return (size_t)capacity * (sizeof(int64_t) + 2 * sizeof(int32_t) + size) + 32;
}
static size_t place_bytes(int64_t m, int64_t k)
{
    return m == 1 ? 0 : (size_t)(k + 1) * sizeof(int64_t);
}

/* A scan does not know its events before: it begins with room for a few per cent, and grows up to `most`. No
 * part of it can hold more than its own range of k. */
static int64_t most_events(const lac_sided_t *s, int parts, int64_t limit)
{
    int64_t range = ((s->k + 63) / 64 + parts - 1) / parts * 64 * s->m;
    return limit < range ? limit : range;
}
static int64_t first_capacity(const lac_sided_t *s, int64_t most)
{
    int64_t capacity = s->m * s->k / 32 + 1024;
    return capacity < most ? capacity : most;
}
static int64_t next_capacity(int64_t capacity, int64_t most)
{
    return capacity > most / 4 ? most : capacity * 4;
}
static size_t scan_bytes(const lac_sided_t *s, int parts, int64_t events)
{
    int64_t most = most_events(s, parts, s->m * s->k), capacity = first_capacity(s, most);
    while (capacity < events / parts && capacity < most) capacity = next_capacity(capacity, most);
    return (size_t)parts * list_bytes(capacity, (size_t)s->size);
}

static size_t events_bytes(const lac_sided_t *s, int parts)
{
    int64_t events = (int64_t)ceil(s->s->density * (double)s->m * (double)s->k);
    switch (lac_event_source(s)) {
    case LAC_EVENTS_BY_K:
        return lac_format_bytes(s->s, lac_sided_by_k(s)) + list_bytes(events, (size_t)s->size);
    case LAC_EVENTS_BY_ROWS:
        return list_bytes(events, (size_t)s->size) + place_bytes(s->m, s->k);
    case LAC_EVENTS_ACTIVE:
        return list_bytes((int64_t)ceil(active_k(s)) * s->m, (size_t)s->size);
    case LAC_EVENTS_BITS:
    case LAC_EVENTS_LISTED:
        return list_bytes(events, (size_t)s->size);
    default:
        return scan_bytes(s, parts < LAC_FRAGMENTS_MAX ? parts : LAC_FRAGMENTS_MAX, events);
    }
}

/* Of a sparse W: events by rows, and sums in double. */
static size_t rows_bytes(int64_t m, int64_t events, size_t size)
{
    return (size_t)(m + 2) * sizeof(int64_t) + (size_t)events * (sizeof(int32_t) + size) + 16;
}
static int64_t sums_stride(const lac_sided_t *s)
{
    return (lac_pair_scratch(s->n, (size_t)s->size) + 63) / 64 * 64;
}
static size_t sums_bytes(const lac_sided_t *s, int parts)
{
    return (size_t)parts * (size_t)sums_stride(s);
}

/* Of W's slices, where they are yet to be made, and while they are. */
static size_t slices_bytes(const lac_sided_t *s, int threads)
{
    const lac_format_data_t *other = entries_of(s);
    if (lac_operand_format(s->w, w_by_k(s)) || !other) return 0;
    return (size_t)(2 * (s->k + 1) + threads * s->n + 1) * sizeof(int64_t) + 64 +
           (size_t)other->count * (sizeof(int32_t) + (other->val ? (size_t)s->size : 0));
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    if (!s.w->buf) {
        double events = ceil(s.s->density * (double)s.m * (double)s.k);
        return events_bytes(&s, p->settings.threads) + rows_bytes(s.m, (int64_t)events, (size_t)s.size) +
               sums_bytes(&s, p->settings.threads) + slices_bytes(&s, p->settings.threads);
    }
    bool copies = lac_sided_w_layout(p, &s) == LAC_W_PACKED;
    return events_bytes(&s, p->settings.threads) + acc_bytes(p, &s, p->settings.threads) +
           (copies ? lac_format_bytes(s.w, lac_sided_k_major(&s)) : 0);
}

static void gather_part(void *arg, int part, int parts)
{
    const gather_t *g = arg;
    const lac_sided_t *s = g->s;
    long long j0, j1;
    lac_share(s->n, 16, part, parts, &j0, &j1);
    if (j0 == j1) return;
    lac_host_output_t out = lac_host_output(g->kernels, g->p->alpha, g->p->beta, g->p->c, s->ors, s->ocs);
    (g->by_rows ? g->kernels->event_rows : g->kernels->event_cols)(g->list->fragment, g->list->fragments,
                                                                   s->m, g->w, g->ldw, j0, j1, &out,
                                                                   g->acc + part * g->acc_stride);
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
    lac_status_t status = lac_format_ensure(exec, s->w, g->p->settings.threads, lac_sided_k_major(s), &copy);
    if (status || !copy) return status;
    g->w = copy->val;
    g->by_rows = true;
    g->ldw = s->n;
    return LAC_OK;
}

/* The lists' events by rows of S, k ascending in each. */
static lac_status_t sort_by_rows(lac_exec_t *exec, const lac_sided_t *s, const lac_event_list_t *list,
                                 lac_rows_t *rows)
{
    size_t size = (size_t)s->size;
    char *memory = lac_work(exec, LAC_WORK_B, rows_bytes(s->m, list->count, size));
    if (!memory) return LAC_ERR_MEMORY;
    int64_t *ptr = (int64_t *)(void *)memory, *place = ptr + 1; /* counts, then walks to the row's end */
    char *val = (char *)(ptr + s->m + 2);
    int32_t *idx = (int32_t *)(void *)(val + (size_t)list->count * size);
    memset(ptr, 0, (size_t)(s->m + 2) * sizeof *ptr);
    for (int f = 0; f < list->fragments; f++)
        for (int64_t e = 0; e < list->fragment[f].count; e++) place[list->fragment[f].row[e] + 1]++;
    for (int64_t i = 0; i < s->m; i++) place[i + 1] += place[i];
    for (int f = 0; f < list->fragments; f++) {
        const lac_events_t *ev = &list->fragment[f];
        for (int64_t a = 0; a < ev->active; a++)
            for (int64_t e = ev->first[a]; e < ev->first[a + 1]; e++) {
                int64_t at = place[ev->row[e]]++;
                idx[at] = ev->k[a];
                memcpy(val + (size_t)at * size, (const char *)ev->val + (size_t)e * size, size);
            }
    }
    *rows = (lac_rows_t){s->m, s->k, ptr, idx, val};
    return LAC_OK;
}

static void entries_part(void *arg, int part, int parts)
{
    const entries_t *g = arg;
    const lac_sided_t *s = g->s;
    long long i0 = 0, i1 = s->m, j0 = 0, j1 = s->n;
    if (g->cut_columns)
        lac_share(s->n, 16, part, parts, &j0, &j1);
    else
        lac_share(s->m, 1, part, parts, &i0, &i1);
    lac_host_output_t out = lac_host_output(g->kernels, g->p->alpha, g->p->beta, g->p->c, s->ors, s->ocs);
    g->kernels->csr_pair(&g->rows, &g->w, i0, i1, j0, j1, &out, g->acc + part * g->acc_stride);
}

static lac_status_t find_slices(lac_exec_t *exec, const lac_problem_t *p, const lac_sided_t *s,
                                const lac_format_data_t **w)
{
    *w = lac_operand_format(s->w, w_by_k(s));
    return *w ? LAC_OK : lac_csr_to_csc_keep(exec, s->w, p->settings.threads, w_by_k(s), w);
}

static lac_status_t multiply_entries(lac_exec_t *exec, const lac_problem_t *p, const lac_sided_t *s,
                                     const lac_format_data_t *w, const lac_event_list_t *list)
{
    entries_t g = {.kernels = lac_kernels(exec, p->dt), .p = p, .s = s, .acc_stride = sums_stride(s)};
    double floor_us, us = entries_us(s, exec->machine, (double)list->count, &floor_us);
    int parts = lac_host_parts(p->settings.threads, us, exec->machine->fork_join_us);
    lac_status_t status = sort_by_rows(exec, s, list, &g.rows);
    if (status) return status;
    g.w = (lac_rows_t){s->k, s->n, w->ptr, w->idx, w->val};
    g.cut_columns = s->m < 4 * (int64_t)parts;
    g.acc = lac_work(exec, LAC_WORK_ACC, sums_bytes(s, parts));
    if (!g.acc) return LAC_ERR_MEMORY;
    lac_parallel(parts, entries_part, &g);
    return LAC_OK;
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    lac_sided_t s = lac_sided(p, route->side);
    lac_event_list_t list;
    double expected = s.s->density * (double)s.m * (double)s.k, floor_us;
    int scan_parts = lac_host_parts(p->settings.threads, scan_us(&s, exec->machine, expected),
                                    exec->machine->fork_join_us);
    int64_t limit = lac_sided_limit(p, &s);
    const lac_format_data_t *w = NULL;
    lac_status_t status = s.w->buf ? LAC_OK : find_slices(exec, p, &s, &w); /* which takes the workspace */
    if (status) return status;
    status = lac_events_gather(exec, lac_kernels(exec, p->dt), &s, scan_parts, limit, &list, &out->declined);
    if (status || out->declined) return status;
    if (lac_exceeds(limit, list.count)) return (out->declined = true), LAC_OK;
    out->density = (double)list.count / ((double)s.m * (double)s.k);
    out->k_active = (double)list.active / (double)s.k;

    if (!s.w->buf) return multiply_entries(exec, p, &s, w, &list);
    gather_t g = {.kernels = lac_kernels(exec, p->dt), .p = p, .s = &s, .list = &list};
    if ((status = choose_w(exec, &g))) return status;
    double gather = gather_us(p, &s, exec->machine, (double)list.active, (double)list.count, &floor_us);
    int parts = lac_host_parts(p->settings.threads, gather, exec->machine->fork_join_us);
    g.acc_stride = acc_stride(p, &s);
    g.acc = lac_work(exec, LAC_WORK_ACC, acc_bytes(p, &s, parts));
    if (!g.acc) return LAC_ERR_MEMORY;
    lac_parallel(parts, gather_part, &g);
    return LAC_OK;
}

const lac_route_t lac_host_route_event[] = LAC_ROUTE_SIDES(event, applicable, cost_us, bytes, run, NULL, 0);

/* Four ways to one list; each writes into the same workspace. */

lac_event_source_t lac_event_source(const lac_sided_t *s)
{
    const lac_operand_t *x = s->s;
    if (lac_format_at_hand(x, lac_sided_by_k(s))) return LAC_EVENTS_BY_K;
    if (x->formats & 1u << lac_sided_by_rows(s)) return LAC_EVENTS_BY_ROWS;
    if (lac_sided_has_active(s)) return LAC_EVENTS_ACTIVE;
    if (s->m == 1 && lac_sided_event_bits(s)) return LAC_EVENTS_BITS;
    if (s->m == 1 && lac_sided_event_lists(s)) return LAC_EVENTS_LISTED;
    return x->buf ? LAC_EVENTS_SCAN : LAC_EVENTS_NOWHERE;
}

/* Cuts one list's arrays out of `memory`, the widest first; returns the memory behind them. */
static char *lay_list(lac_events_t *ev, char *memory, int64_t capacity, size_t size)
{
    *ev = (lac_events_t){.capacity = capacity};
    ev->first = (int64_t *)(void *)memory;
    memory += (size_t)(capacity + 1) * sizeof *ev->first;
    ev->val = memory;
    memory += (size_t)capacity * size;
    ev->k = (int32_t *)(void *)memory;
    memory += (size_t)capacity * sizeof *ev->k;
    ev->row = (int32_t *)(void *)memory;
    memory += (size_t)capacity * sizeof *ev->row;
    ev->first[0] = 0;
    return memory + (8 - (size_t)memory % 8) % 8;
}

static lac_status_t one_list(lac_exec_t *exec, size_t size, int64_t capacity, lac_event_list_t *list)
{
    char *memory = lac_work(exec, LAC_WORK_EVENTS, list_bytes(capacity, size));
    if (!memory) return LAC_ERR_MEMORY;
    lay_list(&list->fragment[0], memory, capacity, size);
    list->fragments = 1;
    return LAC_OK;
}

/* Opens the next active k. */
static void begin_k(lac_events_t *ev, int64_t k)
{
    ev->k[ev->active] = (int32_t)k;
    ev->first[ev->active++] = ev->count;
}

static void add_event(lac_events_t *ev, size_t size, int64_t row, const void *val, int64_t e)
{
    ev->row[ev->count] = (int32_t)row;
    lac_copy_value(size, ev->val, ev->count++, val, e);
}

static void close_list(lac_event_list_t *list)
{
    list->active = list->count = 0;
    for (int f = 0; f < list->fragments; f++) {
        lac_events_t *ev = &list->fragment[f];
        ev->first[ev->active] = ev->count;
        list->active += ev->active;
        list->count += ev->count;
    }
}

static lac_status_t from_by_k(lac_exec_t *exec, size_t size, const lac_format_data_t *format, int64_t kk,
                              lac_event_list_t *list)
{
    lac_status_t status = one_list(exec, size, format->count, list);
    if (status) return status;
    lac_events_t *ev = &list->fragment[0];
    for (int64_t k = 0; k < kk; k++) {
        if (format->ptr[k] == format->ptr[k + 1]) continue;
        begin_k(ev, k);
        for (int64_t p = format->ptr[k]; p < format->ptr[k + 1]; p++)
            add_event(ev, size, format->idx[p], format->val, p);
    }
    return LAC_OK;
}

/* One row of CSR is k-major already. */
static lac_status_t from_one_row(lac_exec_t *exec, size_t size, const lac_format_data_t *format,
                                 lac_event_list_t *list)
{
    lac_status_t status = one_list(exec, size, format->count, list);
    for (int64_t p = 0; !status && p < format->count; p++) {
        begin_k(&list->fragment[0], format->idx[p]);
        add_event(&list->fragment[0], size, 0, format->val, p);
    }
    return status;
}

/* CSR of S transposed k-major by a counting sort over k. */
static lac_status_t from_by_rows(lac_exec_t *exec, size_t size, const lac_format_data_t *format, int64_t m,
                                 int64_t kk, lac_event_list_t *list)
{
    if (m == 1) return from_one_row(exec, size, format, list);
    lac_status_t status = one_list(exec, size, format->count, list);
    int64_t *place = status ? NULL : lac_work(exec, LAC_WORK_ROWS, place_bytes(m, kk));
    if (!place) return LAC_ERR_MEMORY;
    lac_events_t *ev = &list->fragment[0];
    memset(place, 0, place_bytes(m, kk));
    for (int64_t p = 0; p < format->count; p++) place[format->idx[p] + 1]++;
    for (int64_t k = 0; k < kk; k++) {
        place[k + 1] += place[k];
        if (place[k + 1] == place[k]) continue;
        ev->k[ev->active] = (int32_t)k;
        ev->first[ev->active++] = place[k];
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t p = format->ptr[i]; p < format->ptr[i + 1]; p++) {
            int64_t at = place[format->idx[p]]++;
            ev->row[at] = (int32_t)i;
            lac_copy_value(size, ev->val, at, format->val, p);
        }
    ev->count = format->count;
    return LAC_OK;
}

static lac_status_t from_active(lac_exec_t *exec, size_t size, const lac_format_data_t *format, int64_t m,
                                lac_event_list_t *list)
{
    lac_status_t status = one_list(exec, size, format->count * m, list);
    if (status) return status;
    lac_events_t *ev = &list->fragment[0];
    for (int64_t j = 0; j < format->count; j++) {
        begin_k(ev, format->idx[j]);
        for (int64_t i = 0; i < m; i++)
            if (!lac_is_zero(size, format->val, j * m + i)) add_event(ev, size, i, format->val, j * m + i);
        if (ev->first[ev->active - 1] == ev->count) ev->active--; /* every row was zero there */
    }
    return LAC_OK;
}

/* The first of `count` indices that is not below `bound`. */
static int64_t first_from(const int32_t *idx, int64_t count, int64_t bound)
{
    int64_t low = 0;
    while (low < count) {
        int64_t middle = (low + count) / 2;
        if (idx[middle] < bound)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* The list of one row, of which those in [first, first + kk) are S's. Its program vouches for the order: an
 * index that is out of range all the same is passed over. */
static lac_status_t from_listed(lac_exec_t *exec, size_t size, const lac_format_data_t *lists, int64_t kk,
                                lac_event_list_t *list)
{
    int64_t count = lists->counts[0] < lists->count ? lists->counts[0] : lists->count;
    int64_t begin = first_from(lists->idx, count, lists->first),
            end = first_from(lists->idx, count, lists->first + kk);
    lac_status_t status = one_list(exec, size, end > begin ? end - begin : 0, list);
    for (int64_t p = begin; !status && p < end; p++) {
        int64_t k = lists->idx[p] - lists->first;
        if (k < 0 || k >= kk) continue;
        begin_k(&list->fragment[0], k);
        add_event(&list->fragment[0], size, 0, NULL, 0);
    }
    return status;
}

/* Bits [first, first + kk) of one row, a word at a time; of the first and last word only what is S's. */
typedef struct words {
    const lac_format_data_t *bits;
    int64_t begin, end; /* bits */
} words_t;

static uint64_t word_at(const words_t *x, int64_t w)
{
    uint64_t word = x->bits->bits[w];
    if (64 * w < x->begin) word &= ~UINT64_C(0) << (x->begin - 64 * w);
    if (64 * w + 64 > x->end) word &= ~UINT64_C(0) >> (64 * w + 64 - x->end);
    return word;
}

static lac_status_t from_event_bits(lac_exec_t *exec, size_t size, const lac_format_data_t *bits, int64_t kk,
                                    lac_event_list_t *list)
{
    words_t x = {bits, bits->first, bits->first + kk};
    int64_t first = x.begin / 64, last = (x.end + 63) / 64, count = 0;
    for (int64_t w = first; w < last; w++) count += __builtin_popcountll(word_at(&x, w));
    lac_status_t status = one_list(exec, size, count, list);
    for (int64_t w = first; !status && w < last; w++)
        for (uint64_t left = word_at(&x, w); left; left &= left - 1) {
            begin_k(&list->fragment[0], 64 * w + __builtin_ctzll(left) - x.begin);
            add_event(&list->fragment[0], size, 0, NULL, 0);
        }
    return status;
}

typedef struct scan {
    const lac_host_kernels_t *kernels;
    const lac_sided_t *s;
    lac_event_list_t *list;
    bool exceeded[LAC_FRAGMENTS_MAX];
} scan_t;

static void scan_part(void *arg, int part, int parts)
{
    scan_t *scan = arg;
    const lac_sided_t *s = scan->s;
    lac_events_t *ev = &scan->list->fragment[part];
    long long k0, k1;
    lac_share(s->k, 64, part, parts, &k0, &k1);
    const lac_host_scans_t *scans = lac_scans(scan->kernels, s->s->dt);
    scan->exceeded[part] = !scans->events(s->s->buf, s->m, k0, k1, s->srs, s->scs, ev);
}

static lac_status_t scan_once(lac_exec_t *exec, const lac_host_kernels_t *kernels, const lac_sided_t *s,
                              int parts, int64_t capacity, lac_event_list_t *list, bool *exceeded)
{
    scan_t scan = {.kernels = kernels, .s = s, .list = list};
    char *memory = lac_work(exec, LAC_WORK_EVENTS, (size_t)parts * list_bytes(capacity, kernels->size));
    if (!memory) return LAC_ERR_MEMORY;
    for (int f = 0; f < parts; f++) memory = lay_list(&list->fragment[f], memory, capacity, kernels->size);
    list->fragments = parts;
    lac_parallel(parts, scan_part, &scan);
    *exceeded = false;
    for (int f = 0; f < parts; f++) *exceeded |= scan.exceeded[f];
    return LAC_OK;
}

static lac_status_t from_scan(lac_exec_t *exec, const lac_host_kernels_t *kernels, const lac_sided_t *s,
                              int parts, int64_t limit, lac_event_list_t *list, bool *exceeded)
{
    int64_t elements = s->m * s->k;
    if (limit < 0 || limit > elements) limit = elements;
    int64_t most = most_events(s, parts, limit);
    for (int64_t capacity = first_capacity(s, most);; capacity = next_capacity(capacity, most)) {
        lac_status_t status = scan_once(exec, kernels, s, parts, capacity, list, exceeded);
        if (status || (*exceeded && capacity == most)) return status;
        if (*exceeded) continue;
        int64_t count = 0; /* within every fragment, and all together? The answer is the same for all parts */
        for (int f = 0; f < parts; f++) count += list->fragment[f].count;
        *exceeded = count > limit;
        return LAC_OK;
    }
}

lac_status_t lac_events_gather(lac_exec_t *exec, const lac_host_kernels_t *kernels, const lac_sided_t *s,
                               int threads, int64_t limit, lac_event_list_t *list, bool *exceeded)
{
    const lac_format_data_t *format = NULL;
    lac_event_source_t source = lac_event_source(s);
    lac_status_t status = LAC_OK;
    list->fragments = 0;
    *exceeded = false;
    if (source == LAC_EVENTS_BY_K) {
        status = lac_format_ensure(exec, s->s, threads, lac_sided_by_k(s), &format);
        if (!status) status = format ? from_by_k(exec, kernels->size, format, s->k, list) : LAC_ERR_INTERNAL;
    } else if (source == LAC_EVENTS_BY_ROWS) {
        status = from_by_rows(exec, kernels->size, lac_meta_format(s->s->meta, lac_sided_by_rows(s)), s->m,
                              s->k, list);
    } else if (source == LAC_EVENTS_ACTIVE) {
        status = from_active(exec, kernels->size, lac_meta_format(s->s->meta, LAC_FORMAT_ACTIVE), s->m, list);
    } else if (source == LAC_EVENTS_BITS) {
        status = from_event_bits(exec, kernels->size, lac_sided_event_bits(s), s->k, list);
    } else if (source == LAC_EVENTS_LISTED) {
        status = from_listed(exec, kernels->size, lac_sided_event_lists(s), s->k, list);
    } else if (source == LAC_EVENTS_SCAN) {
        status = from_scan(exec, kernels, s, threads < LAC_FRAGMENTS_MAX ? threads : LAC_FRAGMENTS_MAX, limit,
                           list, exceeded);
    } else {
        lac_fail(LAC_ERR_INTERNAL, "event: no source of events");
        return LAC_ERR_INTERNAL;
    }
    if (!status && !*exceeded) close_list(list);
    return status;
}

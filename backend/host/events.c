/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Four ways to one list; each writes into the same workspace. */
#include "events.h"
#include "formats.h"
#include "../base/status.h"

#include <string.h>

lac_event_source_t lac_event_source(const lac_sided_t *s)
{
    const lac_operand_t *x = s->s;
    if (lac_format_at_hand(x, lac_sided_by_k(s))) return LAC_EVENTS_BY_K;
    if (x->formats & 1u << lac_sided_by_rows(s)) return LAC_EVENTS_BY_ROWS;
    if (lac_sided_has_active(s)) return LAC_EVENTS_ACTIVE;
    return x->buf ? LAC_EVENTS_SCAN : LAC_EVENTS_NOWHERE;
}

/* Cuts one list's arrays out of `memory`; returns the memory behind them. */
static char *lay_list(lac_events_t *ev, char *memory, int64_t capacity)
{
    *ev = (lac_events_t){.capacity = capacity};
    ev->first = (int64_t *)(void *)memory;
    memory += (size_t)(capacity + 1) * sizeof *ev->first;
    ev->k = (int32_t *)(void *)memory;
    memory += (size_t)capacity * sizeof *ev->k;
    ev->row = (int32_t *)(void *)memory;
    memory += (size_t)capacity * sizeof *ev->row;
    ev->val = (float *)(void *)memory;
    memory += (size_t)capacity * sizeof *ev->val;
    ev->first[0] = 0;
    return memory + (8 - (size_t)memory % 8) % 8;
}

static size_t list_bytes(int64_t capacity)
{
    return (size_t)capacity * 20 + 24;
}

static lac_status_t one_list(lac_exec_t *exec, int64_t capacity, lac_event_list_t *list)
{
    char *memory = lac_work(exec, LAC_WORK_EVENTS, list_bytes(capacity));
    if (!memory) return LAC_ERR_MEMORY;
    lay_list(&list->fragment[0], memory, capacity);
    list->fragments = 1;
    return LAC_OK;
}

/* Opens the next active k. */
static void begin_k(lac_events_t *ev, int64_t k)
{
    ev->k[ev->active] = (int32_t)k;
    ev->first[ev->active++] = ev->count;
}

static void add_event(lac_events_t *ev, int64_t row, float value)
{
    ev->row[ev->count] = (int32_t)row;
    ev->val[ev->count++] = value;
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

static lac_status_t from_by_k(lac_exec_t *exec, const lac_format_data_t *format, int64_t kk,
                              lac_event_list_t *list)
{
    lac_status_t status = one_list(exec, format->count, list);
    if (status) return status;
    lac_events_t *ev = &list->fragment[0];
    for (int64_t k = 0; k < kk; k++) {
        if (format->ptr[k] == format->ptr[k + 1]) continue;
        begin_k(ev, k);
        for (int64_t p = format->ptr[k]; p < format->ptr[k + 1]; p++)
            add_event(ev, format->idx[p], format->val ? format->val[p] : 1.0f);
    }
    return LAC_OK;
}

/* One row of CSR is k-major already. */
static lac_status_t from_one_row(lac_exec_t *exec, const lac_format_data_t *format, lac_event_list_t *list)
{
    lac_status_t status = one_list(exec, format->count, list);
    for (int64_t p = 0; !status && p < format->count; p++) {
        begin_k(&list->fragment[0], format->idx[p]);
        add_event(&list->fragment[0], 0, format->val ? format->val[p] : 1.0f);
    }
    return status;
}

/* CSR of S transposed k-major by a counting sort over k. */
static lac_status_t from_by_rows(lac_exec_t *exec, const lac_format_data_t *format, int64_t m, int64_t kk,
                                 lac_event_list_t *list)
{
    if (m == 1) return from_one_row(exec, format, list);
    lac_status_t status = one_list(exec, format->count, list);
    int64_t *place = status ? NULL : lac_work(exec, LAC_WORK_ROWS, (size_t)(kk + 1) * sizeof *place);
    if (!place) return LAC_ERR_MEMORY;
    lac_events_t *ev = &list->fragment[0];
    memset(place, 0, (size_t)(kk + 1) * sizeof *place);
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
            ev->val[at] = format->val ? format->val[p] : 1.0f;
        }
    ev->count = format->count;
    return LAC_OK;
}

static lac_status_t from_active(lac_exec_t *exec, const lac_format_data_t *format, int64_t m,
                                lac_event_list_t *list)
{
    lac_status_t status = one_list(exec, format->count * m, list);
    if (status) return status;
    lac_events_t *ev = &list->fragment[0];
    for (int64_t j = 0; j < format->count; j++) {
        begin_k(ev, format->idx[j]);
        for (int64_t i = 0; i < m; i++)
            if (format->val[j * m + i] != 0.0f) add_event(ev, i, format->val[j * m + i]);
        if (ev->first[ev->active - 1] == ev->count) ev->active--; /* every row was zero there */
    }
    return LAC_OK;
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
    bool fits = s->s->dt == LAC_F32
                    ? scan->kernels->scan_events_f32(s->s->buf, s->m, k0, k1, s->srs, s->scs, ev)
                    : scan->kernels->scan_events_u8(s->s->buf, s->m, k0, k1, s->srs, s->scs, ev);
    scan->exceeded[part] = !fits;
}

static lac_status_t scan_once(lac_exec_t *exec, const lac_sided_t *s, int parts, int64_t capacity,
                              lac_event_list_t *list, bool *exceeded)
{
    scan_t scan = {.kernels = exec->kernels, .s = s, .list = list};
    char *memory = lac_work(exec, LAC_WORK_EVENTS, (size_t)parts * list_bytes(capacity));
    if (!memory) return LAC_ERR_MEMORY;
    for (int f = 0; f < parts; f++) memory = lay_list(&list->fragment[f], memory, capacity);
    list->fragments = parts;
    lac_parallel(parts, scan_part, &scan);
    *exceeded = false;
    for (int f = 0; f < parts; f++) *exceeded |= scan.exceeded[f];
    return LAC_OK;
}

/* The density is not known before the scan: begin with room for a few per cent, and grow up to the limit. */
static lac_status_t from_scan(lac_exec_t *exec, const lac_sided_t *s, int parts, int64_t limit,
                              lac_event_list_t *list, bool *exceeded)
{
    int64_t elements = s->m * s->k;
    if (limit < 0 || limit > elements) limit = elements;
    /* No fragment can hold more than its own range of k. */
    int64_t range = ((s->k + 63) / 64 + parts - 1) / parts * 64 * s->m, most = limit < range ? limit : range;
    for (int64_t capacity = elements / 32 + 1024;; capacity *= 4) {
        if (capacity > most) capacity = most;
        lac_status_t status = scan_once(exec, s, parts, capacity, list, exceeded);
        if (status || (*exceeded && capacity == most)) return status;
        if (*exceeded) continue;
        int64_t count = 0; /* within every fragment, and all together? The answer is the same for all parts */
        for (int f = 0; f < parts; f++) count += list->fragment[f].count;
        *exceeded = count > limit;
        return LAC_OK;
    }
}

lac_status_t lac_events_gather(lac_exec_t *exec, const lac_sided_t *s, int threads, int64_t limit,
                               lac_event_list_t *list, bool *exceeded)
{
    const lac_format_data_t *format = NULL;
    lac_event_source_t source = lac_event_source(s);
    lac_status_t status = LAC_OK;
    list->fragments = 0;
    *exceeded = false;
    if (source == LAC_EVENTS_BY_K) {
        status = lac_format_ensure(exec, s->s, threads, lac_sided_by_k(s), &format);
        if (!status) status = format ? from_by_k(exec, format, s->k, list) : LAC_ERR_INTERNAL;
    } else if (source == LAC_EVENTS_BY_ROWS) {
        status = from_by_rows(exec, lac_meta_format(s->s->meta, lac_sided_by_rows(s)), s->m, s->k, list);
    } else if (source == LAC_EVENTS_ACTIVE) {
        status = from_active(exec, lac_meta_format(s->s->meta, LAC_FORMAT_ACTIVE), s->m, list);
    } else if (source == LAC_EVENTS_SCAN) {
        status = from_scan(exec, s, threads < LAC_FRAGMENTS_MAX ? threads : LAC_FRAGMENTS_MAX, limit, list,
                           exceeded);
    } else {
        return lac_fail(LAC_ERR_INTERNAL, "event: no source of events");
    }
    if (!status && !*exceeded) close_list(list);
    return status;
}

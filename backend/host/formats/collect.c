/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The nonzeros of a large dense buffer, found in one reading.

 How many there are is known only at the end, so that each thread lays what it finds into chunks, which are
 then copied to where they belong. A few rows at a time are counted and laid while they are in the
 second-level cache; memory is read once, where counting all first and laying all then would read it twice. */
#include "formats.h"
#include "base/status.h"

#include <stdatomic.h>
#include <string.h>

#define LARGE         ((int64_t)4 << 20) /* bytes of a buffer: smaller ones stay in a cache   */
#define CHUNK_ENTRIES ((int64_t)1 << 19)

typedef struct chunk {
    struct chunk *next;
    int64_t count, room;
    void *val;
    int32_t *idx; /* NULL with a bitmask */
} chunk_t;

typedef struct collection {
    const lac_host_kernels_t *kernels;
    const lac_stored_t *x;
    bool with_bits;
    chunk_t **first; /* [parts] */
    atomic_bool failed;
    int64_t *ptr;
    int32_t *idx;
    void *val;
    uint64_t *bits;
} collection_t;

void *lac_format_own(lac_format_data_t *data, int slot, size_t bytes)
{
    data->owned[slot] = lac_alloc(bytes);
    if (data->owned[slot])
        data->owned_bytes += bytes;
    else
        lac_fail(LAC_ERR_MEMORY, "metadata: out of memory for %zu bytes", bytes);
    return data->owned[slot];
}

void *lac_format_own_values(lac_format_data_t *data, int slot, int64_t count, size_t size)
{
    char *values = lac_format_own(data, slot, (size_t)(count + 16) * size);
    if (values) memset(values + (size_t)count * size, 0, 16 * size);
    return values;
}

/* A chunk with room for so many more entries: `last`, or one behind it; NULL where there is no memory. */
static chunk_t *chunk_for(chunk_t *last, int64_t entries, size_t size, bool with_bits)
{
    if (last && last->room - last->count >= entries) return last;
    int64_t room = entries > CHUNK_ENTRIES ? entries : CHUNK_ENTRIES;
    char *memory = lac_alloc(LAC_ALIGN + (size_t)room * (with_bits ? size : size + sizeof(int32_t)));
    if (!memory) return NULL;
    chunk_t *c = (chunk_t *)(void *)memory;
    *c = (chunk_t){.room = room, .val = memory + LAC_ALIGN};
    if (!with_bits) c->idx = (int32_t *)(void *)(memory + LAC_ALIGN + (size_t)room * size);
    if (last) last->next = c;
    return c;
}

static void collect_part(void *arg, int part, int parts)
{
    collection_t *g = arg;
    const lac_stored_t *x = g->x;
    int64_t words = (x->n + 63) / 64;
    long long i0, i1;
    chunk_t *last = NULL;
    lac_share(x->m, 1, part, parts, &i0, &i1);
    for (int64_t i = i0; i < i1; i++) {
        last = chunk_for(last, x->n, g->kernels->size, g->with_bits);
        if (!last) {
            atomic_store(&g->failed, true);
            return;
        }
        if (!g->first[part]) g->first[part] = last;
        int32_t *idx = last->idx ? last->idx + last->count : NULL;
        uint64_t *bits = g->bits ? g->bits + i * words : NULL;
        void *val = (char *)last->val + last->count * (int64_t)g->kernels->size;
        lac_scans(g->kernels, x->dt)->collect_rows(x->buf, i, i + 1, x->n, x->rs, idx, val, bits, g->ptr + i);
        last->count += g->ptr[i];
    }
}

static void scatter_part(void *arg, int part, int parts)
{
    const collection_t *g = arg;
    long long i0, i1;
    lac_share(g->x->m, 1, part, parts, &i0, &i1);
    int64_t at = g->ptr[i0];
    for (const chunk_t *c = g->first[part]; c; at += c->count, c = c->next) {
        int64_t size = (int64_t)g->kernels->size;
        memcpy((char *)g->val + at * size, c->val, (size_t)(c->count * size));
        if (g->idx) memcpy(g->idx + at, c->idx, (size_t)c->count * sizeof *c->idx);
    }
}

static void drop_chunks(chunk_t *const *first, int parts)
{
    for (int p = 0; p < parts; p++)
        for (chunk_t *c = first[p], *next; c; c = next) {
            next = c->next;
            lac_free(c);
        }
}

static lac_status_t place(collection_t *g, int threads, lac_format_data_t *data)
{
    int64_t total = 0;
    if (atomic_load(&g->failed))
        return lac_fail(LAC_ERR_MEMORY, "metadata: out of memory for what was found");
    for (int64_t i = 0; i < g->x->m; i++) {
        int64_t length = g->ptr[i];
        g->ptr[i] = total;
        total += length;
    }
    data->count = g->ptr[g->x->m] = total;
    g->val = lac_format_own_values(data, 1, total, g->kernels->size);
    if (g->val && !g->with_bits) g->idx = lac_format_own(data, 2, (size_t)total * sizeof *g->idx);
    if (!g->val || (!g->with_bits && !g->idx)) return LAC_ERR_MEMORY;
    lac_parallel(threads, scatter_part, g);
    data->ptr = g->ptr, data->idx = g->idx, data->val = g->val, data->bits = g->bits;
    return LAC_OK;
}

bool lac_collects(const lac_stored_t *x)
{
    int64_t element = (int64_t)lac_dt_size(x->dt);
    return x->cs == 1 && x->n > 0 && x->m > LARGE / element / x->n;
}

lac_status_t lac_collect_rows(lac_exec_t *exec, const lac_stored_t *x, int threads, bool with_bits,
                              lac_format_data_t *data)
{
    collection_t g = {.kernels = lac_kernels(exec, x->values), .x = x, .with_bits = with_bits};
    size_t words = (size_t)x->m * (size_t)((x->n + 63) / 64);
    g.first = lac_work(exec, LAC_WORK_ACC, (size_t)threads * sizeof(chunk_t *));
    g.ptr = g.first ? lac_format_own(data, 0, (size_t)(x->m + 1) * sizeof *g.ptr) : NULL;
    if (g.ptr && with_bits) g.bits = lac_format_own(data, 2, words * sizeof *g.bits);
    if (!g.ptr || (with_bits && !g.bits)) return LAC_ERR_MEMORY;
    memset(g.first, 0, (size_t)threads * sizeof(chunk_t *));
    lac_parallel(threads, collect_part, &g);
    lac_status_t status = place(&g, threads, data);
    drop_chunks(g.first, threads);
    return status;
}

/* The active columns of a dense buffer with the values of every row, found in one reading.
 *
 *  A few columns at a time are scanned into events, in order of columns, and appended to what the
 *  thread found before; where all threads' columns go is known at the end. */

#define BLOCK_ELEMENTS ((int64_t)1 << 15) /* of the buffer, scanned into events at once */
#define FIRST_COLUMNS  1024               /* room to begin with                        */

typedef struct found {
    int64_t count, room, nonzeros; /* columns, and events */
    int32_t *idx;
    void *val; /* [room * m] */
    bool failed;
    char padding[16]; /* of a cache line */
} found_t;

typedef struct activity {
    const lac_host_kernels_t *kernels;
    const lac_stored_t *x;
    int64_t block; /* columns */
    char *events;  /* [parts * event_bytes] */
    size_t event_bytes;
    found_t *found; /* [parts] */
    int32_t *idx;
    void *val;
} activity_t;

static lac_events_t events_of(const activity_t *g, int part)
{
    lac_events_t ev = {.capacity = g->block * g->x->m};
    ev.first = (int64_t *)(void *)(g->events + (size_t)part * g->event_bytes);
    ev.val = ev.first + g->block + 1;
    ev.row = (int32_t *)(void *)((char *)ev.val + ev.capacity * (int64_t)g->kernels->size);
    ev.k = ev.row + ev.capacity;
    return ev;
}

/* Columns to have room for, when `columns` more are found behind the first `probed` of `all`: twice as many
 * as before, or, once some have been scanned, what the rest will hold if it is like them. */
static int64_t room_for(const found_t *f, int64_t columns, int64_t probed, int64_t all)
{
    int64_t least = f->count + columns, twice = 2 * f->room > FIRST_COLUMNS ? 2 * f->room : FIRST_COLUMNS;
    double expected = 1.05 * (double)least * (double)all / (double)probed;
    if (probed > all / 32 && expected < (double)all) twice = (int64_t)expected;
    return least > twice ? least : twice;
}

/* Room for so many more columns, each of `column` bytes. */
static bool grow(found_t *f, int64_t columns, size_t column, int64_t probed, int64_t all)
{
    if (f->room - f->count >= columns) return true;
    int64_t room = room_for(f, columns, probed, all);
    int32_t *idx = lac_alloc((size_t)room * sizeof *idx);
    void *val = lac_alloc((size_t)room * column);
    f->failed = !idx || !val;
    if (!f->failed && f->count) {
        memcpy(idx, f->idx, (size_t)f->count * sizeof *idx);
        memcpy(val, f->val, (size_t)f->count * column);
    }
    lac_free(f->failed ? (void *)idx : (void *)f->idx);
    lac_free(f->failed ? val : f->val);
    if (!f->failed) f->idx = idx, f->val = val, f->room = room;
    return !f->failed;
}

static void lay(found_t *f, const lac_events_t *ev, int64_t m, size_t size)
{
    memcpy(f->idx + f->count, ev->k, (size_t)ev->active * sizeof *f->idx);
    memset((char *)f->val + (size_t)(f->count * m) * size, 0, (size_t)(ev->active * m) * size);
    for (int64_t a = 0; a < ev->active; a++, f->count++)
        for (int64_t e = ev->first[a]; e < ev->first[a + 1]; e++)
            lac_copy_value(size, f->val, f->count * m + ev->row[e], ev->val, e);
    f->nonzeros += ev->count;
}

static void find_part(void *arg, int part, int parts)
{
    const activity_t *g = arg;
    const lac_stored_t *x = g->x;
    found_t *f = g->found + part;
    lac_events_t ev = events_of(g, part);
    long long j0, j1;
    lac_share(x->n, 64, part, parts, &j0, &j1);
    for (int64_t j = j0; j < j1 && !f->failed; j += g->block) {
        int64_t end = j1 - j < g->block ? j1 : j + g->block;
        ev.active = ev.count = ev.first[0] = 0;
        size_t size = g->kernels->size;
        lac_scans(g->kernels, x->dt)->events(x->buf, x->m, j, end, x->rs, x->cs, &ev);
        if (ev.active && grow(f, ev.active, (size_t)x->m * size, end - j0, j1 - j0)) lay(f, &ev, x->m, size);
    }
}

static void scatter_active_part(void *arg, int part, int parts)
{
    const activity_t *g = arg;
    const found_t *f = g->found + part;
    int64_t at = 0;
    (void)parts;
    for (int p = 0; p < part; p++) at += g->found[p].count;
    if (!f->count) return;
    memcpy(g->idx + at, f->idx, (size_t)f->count * sizeof *f->idx);
    size_t column = (size_t)g->x->m * g->kernels->size;
    memcpy((char *)g->val + (size_t)at * column, f->val, (size_t)f->count * column);
}

/* What one thread found is where it belongs. */
static void hand_over(found_t *f, size_t column, lac_format_data_t *data)
{
    data->owned[0] = f->idx, data->owned[1] = f->val;
    data->owned_bytes += (size_t)f->room * (column + sizeof *f->idx);
    data->idx = f->idx, data->val = f->val;
    f->idx = NULL, f->val = NULL;
}

static lac_status_t place_active(activity_t *g, int threads, lac_format_data_t *data)
{
    bool failed = false;
    for (int p = 0; p < threads; p++) {
        failed |= g->found[p].failed;
        data->count += g->found[p].count;
        data->nonzeros += g->found[p].nonzeros;
    }
    if (failed) return lac_fail(LAC_ERR_MEMORY, "metadata: out of memory for what was found");
    if (threads == 1 && data->count) {
        hand_over(g->found, (size_t)g->x->m * g->kernels->size, data);
        return LAC_OK;
    }
    g->idx = lac_format_own(data, 0, (size_t)data->count * sizeof *g->idx);
    g->val = g->idx ? lac_format_own(data, 1, (size_t)(data->count * g->x->m) * g->kernels->size) : NULL;
    if (!g->val) return LAC_ERR_MEMORY;
    lac_parallel(threads, scatter_active_part, g);
    data->idx = g->idx, data->val = g->val;
    return LAC_OK;
}

lac_status_t lac_collect_active(lac_exec_t *exec, const lac_stored_t *x, int threads, lac_format_data_t *data)
{
    activity_t g = {.kernels = lac_kernels(exec, x->values), .x = x, .block = 64};
    if (x->m && x->m < BLOCK_ELEMENTS / 64) g.block = BLOCK_ELEMENTS / x->m / 64 * 64;
    size_t words = (size_t)g.block * (size_t)x->m * (g.kernels->size + sizeof(int32_t)) +
                   (size_t)(g.block + 1) * 8 + (size_t)g.block * 4;
    g.event_bytes = (words + LAC_ALIGN - 1) / LAC_ALIGN * LAC_ALIGN;
    g.events = lac_work(exec, LAC_WORK_EVENTS, (size_t)threads * g.event_bytes);
    g.found = g.events ? lac_work(exec, LAC_WORK_ROWS, (size_t)threads * sizeof *g.found) : NULL;
    if (!g.found) return LAC_ERR_MEMORY;
    memset(g.found, 0, (size_t)threads * sizeof *g.found);
    lac_parallel(threads, find_part, &g);
    lac_status_t status = place_active(&g, threads, data);
    for (int p = 0; p < threads; p++) lac_free(g.found[p].idx), lac_free(g.found[p].val);
    return status;
}

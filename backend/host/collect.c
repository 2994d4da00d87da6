/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The nonzeros of a large dense buffer, found in one reading.

 How many there are is known only at the end, so that each thread lays what it finds into chunks, which are
 then copied to where they belong. A few rows at a time are counted and laid while they are in the
 second-level cache; memory is read once, where counting all first and laying all then would read it twice. */
#include "collect.h"
#include "../base/status.h"

#include <stdatomic.h>
#include <string.h>

#define LARGE         ((int64_t)4 << 20) /* bytes of a buffer: smaller ones stay in a cache   */
#define CHUNK_ENTRIES ((int64_t)1 << 19)

typedef struct chunk {
    struct chunk *next;
    int64_t count, room;
    float *val;
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
    float *val;
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

/* A chunk with room for so many more entries: `last`, or one behind it; NULL where there is no memory. */
static chunk_t *chunk_for(chunk_t *last, int64_t entries, bool with_bits)
{
    if (last && last->room - last->count >= entries) return last;
    int64_t room = entries > CHUNK_ENTRIES ? entries : CHUNK_ENTRIES;
    char *memory = lac_alloc(LAC_ALIGN + (size_t)room * (with_bits ? 4 : 8));
    if (!memory) return NULL;
    chunk_t *c = (chunk_t *)(void *)memory;
    *c = (chunk_t){.room = room, .val = (float *)(void *)(memory + LAC_ALIGN)};
    if (!with_bits) c->idx = (int32_t *)(void *)(c->val + room);
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
        last = chunk_for(last, x->n, g->with_bits);
        if (!last) {
            atomic_store(&g->failed, true);
            return;
        }
        if (!g->first[part]) g->first[part] = last;
        int32_t *idx = last->idx ? last->idx + last->count : NULL;
        uint64_t *bits = g->bits ? g->bits + i * words : NULL;
        if (x->dt == LAC_F32)
            g->kernels->collect_rows_f32(x->buf, i, i + 1, x->n, x->rs, idx, last->val + last->count, bits,
                                         g->ptr + i);
        else
            g->kernels->collect_rows_u8(x->buf, i, i + 1, x->n, x->rs, idx, last->val + last->count, bits,
                                        g->ptr + i);
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
        memcpy(g->val + at, c->val, (size_t)c->count * sizeof *c->val);
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
        data->longest = length > data->longest ? length : data->longest;
        total += length;
    }
    data->count = g->ptr[g->x->m] = total;
    g->val = lac_format_own(data, 1, (size_t)(total + 16) * sizeof *g->val);
    if (g->val && !g->with_bits) g->idx = lac_format_own(data, 2, (size_t)total * sizeof *g->idx);
    if (!g->val || (!g->with_bits && !g->idx)) return LAC_ERR_MEMORY;
    for (int p = 0; p < 16; p++) g->val[total + p] = 0.0f; /* what vectors may read */
    lac_parallel(threads, scatter_part, g);
    data->ptr = g->ptr, data->idx = g->idx, data->val = g->val, data->bits = g->bits;
    return LAC_OK;
}

bool lac_collects(const lac_stored_t *x)
{
    int64_t element = x->dt == LAC_F32 ? 4 : 1;
    return x->cs == 1 && x->n > 0 && x->m > LARGE / element / x->n;
}

lac_status_t lac_collect_rows(lac_exec_t *exec, const lac_stored_t *x, int threads, bool with_bits,
                              lac_format_data_t *data)
{
    collection_t g = {.kernels = exec->kernels, .x = x, .with_bits = with_bits};
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

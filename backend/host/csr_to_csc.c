/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * CSR from CSC and the reverse: a counting sort, a tile of minors at a time.

 Each minor is a stream that is written to; a tile has no more of them than caches and page tables follow. A
 tile is found in each major by a cursor, so that entries are read once to be counted and once to be laid.
 Tiles belong to one thread, and majors are walked in order: the same format however many threads there are.
 */
#include "csr_to_csc.h"
#include "collect.h"

#include <stdatomic.h>
#include <string.h>

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
    float *val; /* NULL: ones */
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
        __builtin_prefetch(t->from->val + cursor[major] + l * LINE);
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

static void lay_tile(const csr_to_csc_t *t, int64_t *cursor, int64_t limit)
{
    const int32_t *idx = t->from->idx;
    const int64_t *ptr = t->from->ptr;
    const float *val = t->from->val;
    int64_t *place = t->place;
    int32_t *to_idx = t->idx;
    float *to_val = t->val;
    for (int64_t i = 0; i < t->majors; i++) {
        int64_t e = cursor[i], end = ptr[i + 1];
        fetch(t, cursor, i + AHEAD);
        if (val)
            for (; e < end && idx[e] < limit; e++) {
                int64_t at = place[idx[e]]++;
                to_idx[at] = (int32_t)i;
                to_val[at] = val[e];
                if (at % LINE == 0) {
                    __builtin_prefetch(to_idx + at + LINE, 1);
                    __builtin_prefetch(to_val + at + LINE, 1);
                }
            }
        else
            for (; e < end && idx[e] < limit; e++) to_idx[place[idx[e]]++] = (int32_t)i;
        cursor[i] = e;
    }
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

static void count_part(void *arg, int part, int parts)
{
    (void)parts;
    walk(arg, part, count_tile);
}

static void lay_part(void *arg, int part, int parts)
{
    (void)parts;
    walk(arg, part, lay_tile);
}

static int64_t lay_out(int64_t *count, int64_t minors, int64_t *ptr)
{
    int64_t longest = 0, at = 0;
    for (int64_t j = 0; j < minors; j++) {
        int64_t length = count[j];
        longest = length > longest ? length : longest;
        ptr[j] = count[j] = at;
        at += length;
    }
    ptr[minors] = at;
    return longest;
}

bool lac_csr_to_csc_applies(const lac_operand_t *x, lac_format_t which)
{
    lac_format_t other = which == LAC_FORMAT_CSR ? LAC_FORMAT_CSC : LAC_FORMAT_CSR;
    return (which == LAC_FORMAT_CSR || which == LAC_FORMAT_CSC) && x->formats & 1u << other;
}

lac_status_t lac_csr_to_csc(lac_exec_t *exec, const lac_format_data_t *from, int64_t majors, int64_t minors,
                            int threads, lac_format_data_t *to)
{
    int64_t nnz = from->count;
    csr_to_csc_t t = {.from = from, .majors = majors, .minors = minors, .tile = TILE_STREAMS};
    double run = TILE_RUN * (double)majors * (double)minors / (double)(nnz + 1);
    double serial = 32.0 * (double)nnz / (exec->machine->pack_gbps * 1e3);
    int parts = lac_host_parts(threads, serial, exec->machine->fork_join_us);
    if (run > TILE_STREAMS) t.tile = run < (double)minors ? (int64_t)run : minors;
    t.ranges = parts > 1 ? (int64_t)parts * RANGES : 1;
    *to = (lac_format_data_t){.origin = LAC_ORIGIN_DERIVED, .count = nnz};
    int64_t *ptr = lac_format_own(to, 0, (size_t)(minors + 1) * sizeof *ptr);
    t.idx = ptr ? lac_format_own(to, 1, (size_t)nnz * sizeof *t.idx) : NULL;
    t.val = t.idx && from->val ? lac_format_own(to, 2, (size_t)(nnz + 16) * sizeof *t.val) : NULL;
    t.cursor = lac_work(exec, LAC_WORK_ROWS, (size_t)(parts * majors + 1) * sizeof *t.cursor);
    t.place = lac_work(exec, LAC_WORK_EVENTS, (size_t)(minors + 1) * sizeof *t.place);
    if (!t.idx || (from->val && !t.val) || !t.cursor || !t.place) {
        for (int i = 0; i < 4; i++) lac_free(to->owned[i]);
        *to = (lac_format_data_t){0};
        return LAC_ERR_MEMORY;
    }
    memset(t.place, 0, (size_t)(minors + 1) * sizeof *t.place);
    for (int p = 0; t.val && p < 16; p++) t.val[nnz + p] = 0.0f; /* what vectors may read */
    int64_t tile = t.tile;
    t.tile = tile < COUNTED ? COUNTED : tile;
    lac_parallel(parts, count_part, &t);
    t.tile = tile;
    to->longest = lay_out(t.place, minors, ptr);
    atomic_store(&t.next, 0);
    lac_parallel(parts, lay_part, &t);
    to->ptr = ptr, to->idx = t.idx, to->val = t.val;
    return LAC_OK;
}

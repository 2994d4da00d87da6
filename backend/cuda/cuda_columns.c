/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Choice and cost of the event products for W by columns, fitted to 37 problems: 1 .. 400 rows of 1500 ..
 * 10000, 0.05 .. 10 % (H200, 2026-11-21). */
#include "cuda_columns.h"

#include <math.h>

#define SECTOR       8.0  /* floats                                                  */
#define PIECE        16.0 /* floats that memory moves together                       */
#define EVENT_ROWS   20.0 /* of S that share a fetched sector, one element per event */
#define ACTIVE_ROWS  11.0 /* of S that share an active list                          */
#define EVENTS_MAX   3e5  /* events times columns                                    */
#define EVENTS_OF_K  0.05 /* events of all rows per k                                */
#define STREAM_SPARE 11e6 /* bytes of W that a list must save to beat the stream     */
#define SECTOR_RATE  0.4  /* at which sectors come, where all of W comes at 1        */
#define GIVEN_SPARE  5e6  /* bytes in sectors that packing S takes the time of       */
#define TAIL         0.25 /* of the shorter of two things that overlap               */
#define COLUMNS_WARP 4.0  /* columns of a warp or of a stage                         */

static double w_bytes(const lac_sided_t *s)
{
    return 4.0 * (double)s->k * (double)s->n;
}

/* Share of W's pieces of so many floats that so many rows of S need. */
static double share(const lac_sided_t *s, double piece, double rows)
{
    return lac_active_fraction(s->s->density, piece * (rows < (double)s->m ? rows : (double)s->m));
}

static double events(const lac_sided_t *s)
{
    return s->s->density * (double)s->m * (double)s->k * (double)s->n;
}

lac_cuda_columns_t lac_cuda_columns_best(const lac_sided_t *s)
{
    double spared = (1.0 - share(s, PIECE, (double)s->m)) * w_bytes(s);
    if (s->s->density * (double)s->m < EVENTS_OF_K && events(s) < EVENTS_MAX) return LAC_CUDA_COLUMNS_EVENTS;
    return spared < STREAM_SPARE ? LAC_CUDA_COLUMNS_STREAM : LAC_CUDA_COLUMNS_ACTIVE;
}

/* Every group of rows fetches its sectors anew. */
static double events_bytes(const lac_sided_t *s)
{
    return ceil((double)s->m / EVENT_ROWS) * share(s, SECTOR, EVENT_ROWS) * w_bytes(s);
}

static double events_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    return events_bytes(s) / (machine->cuda_sector_gbps * 1e3);
}

/* 5000 x 5000 x 50, 1 %: 133 us given, 31 from the buffer; 10000 x 10000 x 10, 1 %: 224 and 79, 0.1 %: 28 and
 * 30 (H200, 2026-11-21). */
bool lac_cuda_columns_beat_given(const lac_sided_t *s)
{
    double pieces = share(s, PIECE, (double)s->m);
    double others = lac_cuda_columns_best(s) == LAC_CUDA_COLUMNS_ACTIVE ? pieces / (0.5 + 0.5 * pieces) : 1.0;
    return events_bytes(s) > GIVEN_SPARE + SECTOR_RATE * others * w_bytes(s);
}

/* Memory gives single pieces at half the rate of all of them; groups of rows meet in the cache. */
static double active_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    double pieces = share(s, PIECE, (double)s->m), groups = ceil((double)s->m / ACTIVE_ROWS);
    double dram = pieces * w_bytes(s) / (machine->cuda_active_gbps * (0.5 + 0.5 * pieces) * 1e3);
    double cache = groups * share(s, SECTOR, ACTIVE_ROWS) * w_bytes(s) / (machine->cuda_l2_gbps * 1e3);
    return machine->cuda_active_us + (dram > cache ? dram : cache);
}

/* Each row of a column is a sum over lanes, whatever its events. */
static double stream_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    double moved = w_bytes(s) / (machine->cuda_stream_gbps * 1e3);
    double sums = (double)s->m * (double)s->n / (machine->cuda_stream_sums * 1e3);
    double worked = sums + events(s) / (machine->cuda_stream_events * 1e3);
    return moved > worked ? moved + TAIL * worked : worked + TAIL * moved;
}

double lac_cuda_columns_us(const lac_sided_t *s, lac_cuda_columns_t how, const lac_machine_t *machine)
{
    double out = 4.0 * (double)s->m * (double)s->n / (machine->cuda_dram_gbps * 1e3);
    double blocks = (double)s->n / COLUMNS_WARP, idle = machine->cuda_processors / blocks;
    if (idle < 1.0) idle = 1.0;
    switch (how) {
    case LAC_CUDA_COLUMNS_ACTIVE:
        return out + idle * active_us(s, machine);
    case LAC_CUDA_COLUMNS_STREAM:
        return out + idle * stream_us(s, machine);
    default:
        return out + events_us(s, machine);
    }
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The cost of gathering slices of W by rows. */
#include "gather.h"

#include <math.h>

#define TILE     128.0 /* columns of a warp: fewer cost as many            */
#define ALONE    10.0  /* rows of a block up to which none finds another's */
#define TOGETHER 32.0  /* rows of a full block                             */
#define SHARED   1.7   /* what such a block finds in its first-level cache, over what it fetches */
#define FARTHER  50e6  /* bytes of W beyond which it finds less: they come from memory, at other times */

#define WIDE       512.0 /* columns of a warp                              */
#define WIDE_ROW   64.0  /* nonzeros of a row, beyond which warps share it */
#define WIDE_WARPS 32.0  /* that a multiprocessor holds                    */
#define WIDE_ROWS  128.0 /* of S, below which it was not tried             */
#define AT_ONCE    1.5   /* times as many warps: most of them still run at once */
#define ACROSS                                                                                               \
    0.16 /* of the rate of its output, where that lies across the rows: 4 bytes a sector; H200, 2026-11-23   \
          */

/* Few rows whose blocks list their events: what it takes however few there are, and for each further row; its
 * share of memory's rate, for 10 to 100 % of 33 to 180 MB of W, and what it loses of that for each row beyond
 * four; what a block reads, and of how many columns it is (h200/rows_gpu_2026-11-28.json and
 * few_2026-11-29.json). */
#define FEW_US         1.6
#define FEW_ROW_US     0.08
#define FEW_RATE       0.92
#define FEW_ROWS       4.0
#define FEW_ROW_LOSS   0.015
#define FEW_BLOCK_GBPS 32.0
#define FEW_BLOCKS     8.0   /* that share k at most, and */
#define FEW_COLUMNS    256.0 /* bytes of a row of W that one has */

/* What the times hang on: extents, the density of S, and the share of k where it has nonzeros. */
typedef struct gathered {
    double m, n, k, density, active;
    double size; /* bytes of an element of W                                                          */
    bool across; /* a row of the output does not lie together */
} gathered_t;

static gathered_t gathered_of(const lac_sided_t *s)
{
    double m = (double)s->m, d = s->s->density;
    return (gathered_t){m,
                        (double)s->n,
                        (double)s->k,
                        d,
                        s->s->k_active >= 0 ? s->s->k_active : lac_active_fraction(d, m),
                        (double)lac_dt_size(s->w->dt),
                        s->ocs != 1};
}

/* Each slice that any row of S needs comes from memory once, and to the multiprocessors for every event, but
 * for those that rows of one block share; the two overlap for the most part. Each 128 columns of a row of the
 * output are a warp's, whose start and end count however few its events are. Within a quarter for 10 to 4096
 * rows at 0.1 to 25 % (H200, 2026-11-21); of a W that is longer than the last-level cache it may take more,
 * 32 x 4096 x 4096 at 10 % 1.7 times as long (2026-11-29). */
static double gather_us(gathered_t g, const lac_machine_t *machine)
{
    double w = g.active * g.size * g.k * g.n, dram = w / (machine->cuda_dram_gbps * 1e3);
    double rows = g.m < TOGETHER ? g.m : TOGETHER,
           beside = rows > ALONE ? (rows - ALONE) / (TOGETHER - ALONE) : 0.0;
    double common = lac_active_fraction(g.density, rows);
    double found = 1.0 + SHARED * beside * common * common * (w > FARTHER ? FARTHER / w : 1.0);
    double fetched =
        g.size * g.density * g.m * g.k * ceil(g.n / TILE) * TILE / (found * machine->cuda_gather_gbps * 1e3);
    double out = (g.size > 4.0 ? g.size : 4.0) * g.m * g.n / (machine->cuda_gather_out_gbps * 1e3);
    return out + (dram > fetched ? dram + 0.35 * fetched : fetched + 0.35 * dram);
}

/* 4096^3 at 0.05 / 0.1 / 0.2 / 0.5 / 1 %: 41, 49, 72, 159, 309 us (H200, 2026-11-22). Where warps are few,
 * not all that could be in flight is. 512 x 5000 x 5000 at 0.5 / 1 %: 61, 93 us, some 9
 * of them for making the rows (2026-11-29). */
static double wide_us(gathered_t g, const lac_machine_t *machine)
{
    double w = g.active * 4.0 * g.k * g.n, dram = w / (machine->cuda_dram_gbps * 1e3);
    double slices = ceil(g.n / WIDE), idle = WIDE_WARPS * machine->cuda_processors / (g.m * slices);
    bool at_once =
        AT_ONCE * idle >= 1.0; /* all columns of W are read: what cache holds of it does not help */
    double fetched = 4.0 * g.density * g.m * g.k * slices * WIDE / (machine->cuda_wide_gbps * 1e3) *
                     (idle > 1.0 ? idle : 1.0);
    double out = 4.0 * g.m * g.n / (machine->cuda_wide_out_gbps * (g.across ? ACROSS : 1.0) * 1e3);
    if (at_once && w > FARTHER) return out + dram + fetched;
    return out + (dram > fetched ? dram : fetched);
}

double lac_cuda_gather_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    return gather_us(gathered_of(s), machine);
}

double lac_cuda_few_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    gathered_t g = gathered_of(s);
    double bytes = g.active * g.size * g.k * g.n, blocks = FEW_BLOCKS * ceil(g.size * g.n / FEW_COLUMNS);
    double beyond = g.m > FEW_ROWS ? g.m - FEW_ROWS : 0.0;
    double memory = bytes * (1.0 + FEW_ROW_LOSS * beyond) / (FEW_RATE * machine->cuda_dram_gbps * 1e3),
           shared = bytes / (FEW_BLOCK_GBPS * blocks * 1e3);
    return FEW_US + FEW_ROW_US * (g.m - 1.0) + (memory > shared ? memory : shared);
}

double lac_cuda_wide_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    return wide_us(gathered_of(s), machine);
}

bool lac_cuda_wide_wins(double m, double n, double k, double nnz, bool across, const lac_machine_t *machine)
{
    double d = nnz / (m * k);
    gathered_t g = {m, n, k, d, lac_active_fraction(d, m), sizeof(float), across};
    return m >= WIDE_ROWS && n >= WIDE && nnz / m <= WIDE_ROW && wide_us(g, machine) < gather_us(g, machine);
}

/* Choice and cost of the event products for W by columns, fitted to 37 problems: 1 .. 400 rows of 1500 ..
 * 10000, 0.05 .. 10 % (H200, 2026-11-21). The choice compares times that the costs' own constants give, so
 * that it moves with them on another device. */

#define SECTOR       8.0   /* floats                                                         */
#define PIECE        16.0  /* floats that memory moves together                              */
#define EVENT_ROWS   20.0  /* of S that share a fetched sector, one element per event        */
#define ACTIVE_ROWS  11.0  /* of S that share an active list                                 */
#define EVENTS_MAX   3e5   /* events times columns: a count, whatever each takes */
#define EVENTS_OF_K  0.05  /* events of all rows per k                                       */
#define LIST_US      2.683 /* of streaming that a list must spare                            */
#define PACK_US      2.941 /* of sectors that packing S takes the time of                    */
#define OTHERS_RATE  0.965 /* of the streaming time of what the others read, beside sectors  */
#define TAIL         0.25  /* of the shorter of two things that overlap                      */
#define COLUMNS_WARP 4.0   /* columns of a warp or of a stage                                */

static double w_bytes(const lac_sided_t *s)
{
    return (double)lac_dt_size(s->w->dt) * (double)s->k * (double)s->n;
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

/* Of so many bytes, as sectors and as a stream. */
static double sectors_us(double bytes, const lac_machine_t *machine)
{
    return bytes / (machine->cuda_sector_gbps * 1e3);
}

static double streamed_us(double bytes, const lac_machine_t *machine)
{
    return bytes / (machine->cuda_stream_gbps * 1e3);
}

lac_cuda_columns_t lac_cuda_columns_best(const lac_sided_t *s, const lac_machine_t *machine)
{
    double spared = (1.0 - share(s, PIECE, (double)s->m)) * w_bytes(s);
    if (s->s->density * (double)s->m < EVENTS_OF_K && events(s) < EVENTS_MAX) return LAC_CUDA_COLUMNS_EVENTS;
    return streamed_us(spared, machine) < LIST_US ? LAC_CUDA_COLUMNS_STREAM : LAC_CUDA_COLUMNS_ACTIVE;
}

/* Every group of rows fetches its sectors anew. */
static double events_bytes(const lac_sided_t *s)
{
    return ceil((double)s->m / EVENT_ROWS) * share(s, SECTOR, EVENT_ROWS) * w_bytes(s);
}

/* 5000 x 5000 x 50, 1 %: 133 us given, 31 from the buffer; 10000 x 10000 x 10, 1 %: 224 and 79, 0.1 %: 28 and
 * 30 (H200, 2026-11-21). */
bool lac_cuda_columns_beat_given(const lac_sided_t *s, const lac_machine_t *machine)
{
    double pieces = share(s, PIECE, (double)s->m);
    bool listed = lac_cuda_columns_best(s, machine) == LAC_CUDA_COLUMNS_ACTIVE;
    double others = listed ? pieces / (0.5 + 0.5 * pieces) : 1.0;
    return sectors_us(events_bytes(s), machine) >
           PACK_US + OTHERS_RATE * streamed_us(others * w_bytes(s), machine);
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
    double moved = streamed_us(w_bytes(s), machine);
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
        return out + sectors_us(events_bytes(s), machine);
    }
}

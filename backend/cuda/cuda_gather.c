/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The cost of gathering slices of W by rows. */
#include "cuda_gather.h"

#include <math.h>

#define TILE     128.0 /* columns of a warp: fewer cost as many            */
#define ALONE    10.0  /* rows of a block up to which none finds another's */
#define TOGETHER 32.0  /* rows of a full block                             */
#define SHARED   1.7   /* what such a block finds in its first-level cache, over what it fetches */

#define WIDE          512.0  /* columns of a warp                                        */
#define WIDE_GBPS     9400.0 /* slices of W reaching the multiprocessors                 */
#define WIDE_OUT_GBPS 3950.0 /* output                                                   */
#define WIDE_ROW      64.0   /* nonzeros of a row, beyond which warps share it           */
#define WIDE_WARPS    32.0   /* that a multiprocessor holds                              */
#define WIDE_ROWS     128.0  /* of S, below which it was not tried                       */

/* What the times hang on: extents, the density of S, and the share of k where it has nonzeros. */
typedef struct gathered {
    double m, n, k, density, active;
} gathered_t;

static gathered_t gathered_of(const lac_sided_t *s)
{
    double m = (double)s->m, d = s->s->density;
    return (gathered_t){m, (double)s->n, (double)s->k, d,
                        s->s->k_active >= 0 ? s->s->k_active : lac_active_fraction(d, m)};
}

/* Each slice that any row of S needs comes from memory once, and to the multiprocessors for every event, but
 * for those that rows of one block share; the two overlap for the most part. Each 128 columns of a row of the
 * output are a warp's, whose start and end count however few its events are. Within a quarter for 10 to 4096
 * rows at 0.1 to 25 % (H200, 2026-11-21). */
static double gather_us(gathered_t g, const lac_machine_t *machine)
{
    double dram = g.active * 4.0 * g.k * g.n / (machine->cuda_dram_gbps * 1e3);
    double rows = g.m < TOGETHER ? g.m : TOGETHER,
           beside = rows > ALONE ? (rows - ALONE) / (TOGETHER - ALONE) : 0.0;
    double common = lac_active_fraction(g.density, rows), found = 1.0 + SHARED * beside * common * common;
    double fetched =
        4.0 * g.density * g.m * g.k * ceil(g.n / TILE) * TILE / (found * machine->cuda_gather_gbps * 1e3);
    double out = 4.0 * g.m * g.n / (machine->cuda_gather_out_gbps * 1e3);
    return out + (dram > fetched ? dram + 0.35 * fetched : fetched + 0.35 * dram);
}

/* 4096^3 at 0.05 / 0.1 / 0.2 / 0.5 / 1 %: 41, 49, 72, 159, 309 us (H200, 2026-11-22). Where warps are few,
 * not all that could be in flight is. */
static double wide_us(gathered_t g, const lac_machine_t *machine)
{
    double dram = g.active * 4.0 * g.k * g.n / (machine->cuda_dram_gbps * 1e3);
    double slices = ceil(g.n / WIDE), idle = WIDE_WARPS * machine->cuda_processors / (g.m * slices);
    double fetched =
        4.0 * g.density * g.m * g.k * slices * WIDE / (WIDE_GBPS * 1e3) * (idle > 1.0 ? idle : 1.0);
    return 4.0 * g.m * g.n / (WIDE_OUT_GBPS * 1e3) + (dram > fetched ? dram : fetched);
}

double lac_cuda_gather_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    return gather_us(gathered_of(s), machine);
}

double lac_cuda_wide_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    return wide_us(gathered_of(s), machine);
}

bool lac_cuda_wide_wins(double m, double n, double k, double nnz, const lac_machine_t *machine)
{
    double d = nnz / (m * k);
    gathered_t g = {m, n, k, d, lac_active_fraction(d, m)};
    return m >= WIDE_ROWS && n >= WIDE && nnz / m <= WIDE_ROW && wide_us(g, machine) < gather_us(g, machine);
}

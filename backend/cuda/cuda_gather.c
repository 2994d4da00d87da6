/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The cost of gathering slices of W by rows. */
#include "cuda_gather.h"

#include <math.h>

#define TILE     128.0 /* columns of a warp: fewer cost as many            */
#define ALONE    10.0  /* rows of a block up to which none finds another's */
#define TOGETHER 32.0  /* rows of a full block                             */
#define SHARED   1.7   /* what such a block finds in its first-level cache, over what it fetches */

/* Each slice that any row of S needs comes from memory once, and to the multiprocessors for every event, but
 * for those that rows of one block share; the two overlap for the most part. Each 128 columns of a row of the
 * output are a warp's, whose start and end count however few its events are. Within a quarter for 10 to 4096
 * rows at 0.1 to 25 % (H200, 2026-11-21). */
double lac_cuda_gather_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    double m = (double)s->m, n = (double)s->n, k = (double)s->k, d = s->s->density;
    double active = s->s->k_active >= 0 ? s->s->k_active : lac_active_fraction(d, m);
    double dram = active * 4.0 * k * n / (machine->cuda_dram_gbps * 1e3);
    double rows = m < TOGETHER ? m : TOGETHER,
           beside = rows > ALONE ? (rows - ALONE) / (TOGETHER - ALONE) : 0.0;
    double common = lac_active_fraction(d, rows), found = 1.0 + SHARED * beside * common * common;
    double fetched = 4.0 * d * m * k * ceil(n / TILE) * TILE / (found * machine->cuda_gather_gbps * 1e3);
    double out = 4.0 * m * n / (machine->cuda_gather_out_gbps * 1e3);
    return out + (dram > fetched ? dram + 0.35 * fetched : fetched + 0.35 * dram);
}

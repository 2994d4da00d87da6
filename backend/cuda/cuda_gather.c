/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The cost of gathering slices of W by rows. */
#include "cuda_gather.h"

/* Each slice that any row of S needs comes from memory once, and from the cache for every group of rows that
 * shares it; beyond some 7 % the arithmetic is what counts. They overlap for the most part. Each 128 columns
 * of a row of the output are a warp's, whose start and end count however few its events are. */
double lac_cuda_gather_us(const lac_sided_t *s, const lac_machine_t *machine)
{
    double m = (double)s->m, n = (double)s->n, w = 4.0 * (double)s->k * n, d = s->s->density;
    double group = m * d > 0.8 ? 32.0 : 10.0, groups = m > group ? m / group : 1.0;
    double active = s->s->k_active >= 0 ? s->s->k_active : lac_active_fraction(d, m);
    double dram = active * w / (machine->cuda_dram_gbps * 1e3);
    double cache = groups * lac_active_fraction(d, m < group ? m : group) * w / (machine->cuda_l2_gbps * 1e3);
    double worked = d * m * (double)s->k * n / (machine->cuda_gather_events * 1e3);
    double near = cache > worked ? cache : worked;
    double out = 4.0 * m * n / (machine->cuda_gather_out_gbps * 1e3);
    return out + (dram > near ? dram + 0.35 * near : near + 0.35 * dram);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the kernels and their callers agree on, whatever the instruction set: runs of sums, panels and blocks.
 */
#ifndef LACUNA_HOST_PANELS_H
#define LACUNA_HOST_PANELS_H

/* How many terms are added straight up: a run; so that rounding errors do not grow with the number of terms.
 *
 * RUN terms are added straight up, RUN such sums again, and so on: the terms of a sum count in base RUN, and
 * digit l of their number is the number of sums of RUN^l terms that stand in level l. Level 0 is the sum that
 * a kernel adds to. The term after a whole run carries it into level 1, which is carried as a digit is.
 *
 * Error     RUN roundings a level, so at most RUN_LEVELS * (RUN + 1) units of |A||B| up to RUN^RUN_LEVELS =
 *           2^20 terms, where a straight sum has one a term. A BLAS adds up blocks of 256 to 512 k, in which
 *           sparse data have few terms, so that it errs as short sums do: N terms in B blocks by about
 *           sqrt(N / B^2 + B) units. Over all N and B, runs of 16 err at most 1.6 times as much, runs of 32
 *           2.1 times; the contract allows 2.
 * Order     of the terms of an element alone: the same for every vector, range, and cut into fragments.
 * Lanes     sums spread over CHUNK lanes have a level in their lanes, and those are added up after LANE_RUN
 *           steps; so are other sums that pass once through memory for many terms.
 * Cost      one addition for RUN multiply-adds, and of the levels each 1 / RUN of the one before. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RUN = 16,            /* terms of a run, runs of the next level, ..: a power of two */
    RUN_LEVELS = 5,      /* the last one takes what comes                              */
    LANE_RUN = RUN * RUN /* terms                                                      */
};

/* How wide a panel of W csr_rows packs into scratch, and when; shared with lac_csr_scratch and lac_csr_packs.
 */
enum {
    CSR_PANEL_BYTES = 1048576, /* kk x panel of W: to stay in an L2 of 1.25 MB and more */
    CSR_PANEL_MIN = 16,
    CSR_PANEL_MAX = 128,
    CSR_PACK_REUSE = 4 /* entries for each row of W */
};

/* Columns of W, values of `size` bytes, in a packed panel for an S of kk columns: a power of two, 0 where no
 * panel would stay in L2. */
static inline int64_t csr_panel(int64_t kk, size_t size)
{
    int64_t width = CSR_PANEL_MAX;
    while (width >= CSR_PANEL_MIN && width * kk > (int64_t)(CSR_PANEL_BYTES / size)) width /= 2;
    return width < CSR_PANEL_MIN ? 0 : width;
}

/* Where most rows of S are empty what is written counts, and nothing is packed. */
static inline bool csr_packs(int64_t rows, int64_t kk, int64_t entries, size_t size)
{
    return csr_panel(kk, size) > 0 && entries >= CSR_PACK_REUSE * kk && entries >= rows;
}

/* The cache blocks of the dense product; shared with lac_dense_scratch. */
enum {
    DENSE_M = 96,      /* rows of a block: a multiple of every MICRO_ROWS */
    DENSE_N = 256,     /* columns of a block: a multiple of 2 * LANES     */
    DENSE_K = 8 * RUN, /* depth of a block: terms that are added straight */
    DENSE_SCRATCH = DENSE_M * DENSE_K + DENSE_K * DENSE_N + 2 * DENSE_M * DENSE_N
};

/* What the event products keep in scratch; shared with lac_event_scratch. */
enum {
    EVENT_PANEL_BYTES = 262144, /* m x panel accumulators, beside the slices of W in L2 */
    EVENT_PANEL_MIN = 64,
    EVENT_PANEL_MAX = 4096,
    ACTIVE_BLOCK = 16 /* slices of W that are read side by side: as many streams as the prefetchers follow */
};

/* Columns of out that event_rows sums at a time for m rows of S: a multiple of EVENT_PANEL_MIN. */
static inline int64_t event_panel(int64_t m, size_t size)
{
    int64_t width = (int64_t)(EVENT_PANEL_BYTES / size) / (m > 0 ? m : 1) / EVENT_PANEL_MIN * EVENT_PANEL_MIN;
    if (width < EVENT_PANEL_MIN) return EVENT_PANEL_MIN;
    return width < EVENT_PANEL_MAX ? width : EVENT_PANEL_MAX;
}

/* Values: the levels of a panel; then, as 32-bit integers in as many values, how many events each row had,
 * and for each event of a block the run that it begins. Levels that no row has enough events for are never
 * touched. */
static inline int64_t event_scratch(int64_t m, size_t size)
{
    return m * (event_panel(m, size) * RUN_LEVELS + 1 + ACTIVE_BLOCK);
}

#endif

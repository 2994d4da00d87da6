/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * How wide a panel of W csr_rows packs into scratch, and when; shared with lac_csr_scratch and lac_csr_packs.
 */
#ifndef LACUNA_CSR_PANEL_H
#define LACUNA_CSR_PANEL_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CSR_PANEL_FLOATS = 262144, /* kk x panel of W: 1 MiB, to stay in an L2 of 1.25 MB and more */
    CSR_PANEL_MIN = 16,
    CSR_PANEL_MAX = 128,
    CSR_PACK_REUSE = 4, /* entries for each row of W                                                        */
    CSR_STREAMS = 64    /* entries of a row of S, at the mean, whose rows of W memory streams side by side */
};

/* Columns of W in a packed panel for an S of kk columns: a power of two, 0 where no panel would stay in L2.
 */
static inline int64_t csr_panel(int64_t kk)
{
    int64_t width = CSR_PANEL_MAX;
    while (width >= CSR_PANEL_MIN && width * kk > CSR_PANEL_FLOATS) width /= 2;
    return width < CSR_PANEL_MIN ? 0 : width;
}

/* Where most rows of S are empty what is written counts, and rows go whole. */
static inline bool csr_packs(int64_t rows, int64_t kk, int64_t entries)
{
    return csr_panel(kk) > 0 && entries >= CSR_PACK_REUSE * kk && entries >= rows;
}

/* Where nothing is packed: rows of few entries go whole, others panel by panel. */
static inline bool csr_goes_whole(int64_t rows, int64_t entries)
{
    return entries <= CSR_STREAMS * rows;
}

#endif

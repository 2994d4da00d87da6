/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * How wide a panel of W csr_rows packs into scratch; shared with lac_csr_scratch. */
#ifndef LACUNA_CSR_PANEL_H
#define LACUNA_CSR_PANEL_H

#include <stdint.h>

enum {
    CSR_PANEL_FLOATS = 262144, /* kk x panel of W: 1 MiB, to stay in an L2 of 1.25 MB and more */
    CSR_PANEL_MIN = 16,
    CSR_PANEL_MAX = 128
};

/* Columns of W in a packed panel for an S of kk columns: a power of two, 0 where no panel would stay in L2.
 */
static inline int64_t csr_panel(int64_t kk)
{
    int64_t width = CSR_PANEL_MAX;
    while (width >= CSR_PANEL_MIN && width * kk > CSR_PANEL_FLOATS) width /= 2;
    return width < CSR_PANEL_MIN ? 0 : width;
}

#endif

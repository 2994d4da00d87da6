/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * How much scratch the host kernels need, and when they use it; the same for every instruction set. */
#include "host_kernels.h"

#include "csr_panel.h"
#include "dense_block.h"
#include "event_panel.h"

int64_t lac_event_scratch(int64_t m)
{
    return event_scratch(m > 0 ? m : 1);
}

int64_t lac_csr_scratch(int64_t kk)
{
    return kk * csr_panel(kk);
}

bool lac_csr_packs(int64_t rows, int64_t kk, int64_t entries)
{
    return csr_packs(rows, kk, entries);
}

bool lac_csr_goes_whole(int64_t rows, int64_t entries)
{
    return csr_goes_whole(rows, entries);
}

int64_t lac_dense_scratch(void)
{
    return DENSE_SCRATCH;
}

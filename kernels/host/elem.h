/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The element types of S for the scans: the values' own, whose value is itself, and binary events in bytes,
 * whose value is 1. isa_kernels.c names one of them in elem_t and ELEM(name) before it includes scan.h. */
#ifndef LACUNA_HOST_ELEM_H
#define LACUNA_HOST_ELEM_H

#include "simd.h"

static inline real_t value_real(real_t e)
{
    return e;
}

/* Entries of the set bits of CHUNK elements at src, the first of which has position base. */
static inline void store_entries_real(int32_t *idx, real_t *val, const real_t *src, int32_t base,
                                      uint32_t bits)
{
    store_packed(idx, val, src, base, bits);
}

static inline real_t value_u8(uint8_t e)
{
    (void)e;
    return 1;
}

static inline void store_entries_u8(int32_t *idx, real_t *val, const uint8_t *src, int32_t base,
                                    uint32_t bits)
{
    (void)src;
    store_packed(idx, NULL, NULL, base, bits);
    for (int n = __builtin_popcount(bits); val && n > 0; n--) val[n - 1] = 1;
}

#endif

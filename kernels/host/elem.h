/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The element types of S for the scans: binary32, whose value is itself, and binary events in bytes, whose
 * value is 1. isa_kernels.c names one of them in elem_t and ELEM(name) before it includes scan.h. */
#ifndef LACUNA_HOST_ELEM_H
#define LACUNA_HOST_ELEM_H

#include "simd.h"

static inline float value_f32(float e)
{
    return e;
}

/* Entries of the set bits of 16 elements at src, the first of which has position base. */
static inline void store_entries_f32(int32_t *idx, float *val, const float *src, int32_t base, uint32_t bits)
{
    store_packed(idx, val, src, base, bits);
}

static inline float value_u8(uint8_t e)
{
    (void)e;
    return 1.0F;
}

static inline void store_entries_u8(int32_t *idx, float *val, const uint8_t *src, int32_t base, uint32_t bits)
{
    (void)src;
    store_packed(idx, NULL, NULL, base, bits);
    for (int n = __builtin_popcount(bits); val && n > 0; n--) val[n - 1] = 1.0F;
}

#endif

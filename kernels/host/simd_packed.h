/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Packed stores bit by bit, for instruction sets without a compress. */
#ifndef LACUNA_SIMD_PACKED_H
#define LACUNA_SIMD_PACKED_H

#include <stdint.h>

/* Positions base + l of the set bits l, and src[l], to the fronts of idx and val; a NULL one is left out. */
static inline void store_packed(int32_t *idx, float *val, const float *src, int32_t base, uint32_t bits)
{
    for (int n = 0; bits; bits &= bits - 1, n++) {
        int l = __builtin_ctz(bits);
        if (idx) idx[n] = base + l;
        if (val) val[n] = src[l];
    }
}

#endif

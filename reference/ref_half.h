/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The types of two bytes, by arithmetic alone: what a number of theirs is, and which is nearest to a double.
 */
#ifndef REF_HALF_H
#define REF_HALF_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "lacuna/types.h"

static inline bool ref_is_half(lac_dt_t dt)
{
    return dt == LAC_F16 || dt == LAC_BF16;
}

/* Bits of the fraction, and what is added to the exponent. */
static inline int ref_half_fraction(lac_dt_t dt)
{
    return dt == LAC_F16 ? 10 : 7;
}
static inline int ref_half_bias(lac_dt_t dt)
{
    return dt == LAC_F16 ? 15 : 127;
}

static inline double ref_half_value(lac_dt_t dt, uint16_t bits)
{
    const int p = ref_half_fraction(dt), bias = ref_half_bias(dt);
    const int exponent = (bits & 0x7fff) >> p, fraction = bits & ((1 << p) - 1);
    double size = exponent > 2 * bias ? (fraction ? (double)NAN : (double)INFINITY)
                  : exponent          ? ldexp(fraction + (1 << p), exponent - bias - p)
                                      : ldexp(fraction, 1 - bias - p);
    return bits >> 15 ? -size : size;
}

/* Of an ulp at x: 2^unit. */
static inline int ref_half_unit(lac_dt_t dt, double x)
{
    const int least = 1 - ref_half_bias(dt);
    int exponent = least;
    if (x != 0.0 && isfinite(x)) frexp(x, &exponent), exponent--;
    return (exponent < least ? least : exponent) - ref_half_fraction(dt);
}

/* Ties to even. */
static inline uint16_t ref_half_nearest(lac_dt_t dt, double x)
{
    const int p = ref_half_fraction(dt), bias = ref_half_bias(dt), unit = ref_half_unit(dt, x);
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    const uint16_t infinite = (uint16_t)((2 * bias + 1) << p);
    if (isnan(x)) return (uint16_t)(infinite | 1 << (p - 1));
    double whole = isinf(x) ? x : nearbyint(ldexp(fabs(x), -unit));
    if (isinf(x) || ldexp(whole, unit) >= ldexp(1.0, bias + 1)) return sign | infinite;
    return (uint16_t)(sign | (((unit + p + bias - 1) << p) + (int)whole));
}

#endif

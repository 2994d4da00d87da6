/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Throws of dice: a stream of random numbers that is the same each time. */
#ifndef TOOL_RNG_H
#define TOOL_RNG_H

#include <math.h>
#include <stdint.h>

#include "ref_random.h"

typedef struct rng {
    uint64_t stream, index; /* set stream by ref_stream, index to 0 */
} rng_t;

/* In 0 .. bound - 1; bound is at least 1. */
static inline uint64_t rng_below(rng_t *rng, uint64_t bound)
{
    return ref_random(rng->stream, rng->index++) % bound;
}

/* In [0, 1). */
static inline double rng_unit(rng_t *rng)
{
    return (double)(ref_random(rng->stream, rng->index++) >> 11) * 0x1p-53;
}

/* In 1 .. largest, each power of two as likely as the next. */
static inline int64_t rng_log_uniform(rng_t *rng, int64_t largest)
{
    int64_t v = (int64_t)exp(rng_unit(rng) * log((double)largest + 1.0));
    return v < 1 ? 1 : v > largest ? largest : v;
}

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Throws of dice: a stream of random numbers that is the same each time. */
#ifndef TOOL_DICE_H
#define TOOL_DICE_H

#include <math.h>
#include <stdint.h>

#include "ref_random.h"

typedef struct dice {
    uint64_t stream, index; /* set stream by ref_stream, index to 0 */
} dice_t;

/* In 0 .. bound - 1; bound is at least 1. */
static inline uint64_t dice_below(dice_t *dice, uint64_t bound)
{
    return ref_random(dice->stream, dice->index++) % bound;
}

/* In [0, 1). */
static inline double dice_unit(dice_t *dice)
{
    return (double)(ref_random(dice->stream, dice->index++) >> 11) * 0x1p-53;
}

/* In 1 .. largest, each power of two as likely as the next. */
static inline int64_t dice_log_uniform(dice_t *dice, int64_t largest)
{
    int64_t v = (int64_t)exp(dice_unit(dice) * log((double)largest + 1.0));
    return v < 1 ? 1 : v > largest ? largest : v;
}

#endif

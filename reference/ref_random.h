/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A counter-based random generator: number i of a stream without the numbers before it (SplitMix64, Steele,
 * Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). */
#ifndef REF_RANDOM_H
#define REF_RANDOM_H

#include <stdint.h>

static inline uint64_t ref_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Number `index` of a stream: 64 uniform bits. */
static inline uint64_t ref_random(uint64_t stream, uint64_t index)
{
    return ref_mix(stream + (index + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* The stream with a given tag that belongs to a seed; the mixing keeps streams of near seeds apart. */
static inline uint64_t ref_stream(uint64_t seed, uint64_t tag)
{
    return ref_mix(ref_random(seed, tag) ^ UINT64_C(0x6a09e667f3bcc909));
}

#endif

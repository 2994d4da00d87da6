/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A small seeded generator whose numbers are the same on every machine: no libm, no global state. */
#ifndef COBA_RANDOM_H
#define COBA_RANDOM_H

#include <stdint.h>

typedef struct coba_random {
    uint64_t state;
} coba_random_t;

/* SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
static inline uint64_t coba_random_bits(coba_random_t *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Stream number `stream` of a seed: one for the wiring, one for each trial. */
static inline coba_random_t coba_random_stream(uint64_t seed, uint64_t stream)
{
    coba_random_t outer = {seed};
    coba_random_t inner = {coba_random_bits(&outer) ^ stream};
    return (coba_random_t){coba_random_bits(&inner)};
}

/* Uniform in [0, 1), a multiple of 2^-53. */
static inline double coba_random_uniform(coba_random_t *random)
{
    return (double)(coba_random_bits(random) >> 11) * 0x1p-53;
}

/* Mean 0, deviation 1: twelve uniforms less six, which needs no libm and therefore has the same bits
 * everywhere; the tails that it lacks, beyond six deviations, do not matter to an initial condition. */
static inline double coba_random_normal(coba_random_t *random)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++) sum += coba_random_uniform(random);
    return sum;
}

#endif

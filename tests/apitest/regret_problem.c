/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The random problems of the regret runs. */
#include "regret_problem.h"

#include <math.h>

#include "problem_random.h"

/* Two significant digits, so that a printed problem stays short and reads back as itself. */
static double short_density(double d)
{
    if (d <= 0.0) return 0.0;
    double scale = pow(10.0, 1.0 - floor(log10(d)));
    double v = floor(d * scale + 0.5) / scale;
    return v > 1.0 ? 1.0 : v;
}

static ref_operand_t bench_operand(rng_t *rng, bool sparse)
{
    static const ref_structure_t structure[] = {REF_BERNOULLI, REF_BLOCK, REF_ROW, REF_COLUMN, REF_POWER};
    ref_operand_t x = {.layout = {.step = 1}, .pattern = {.density = 1.0}};
    if (!sparse) return x;
    double density = short_density(exp(log(1e-4) * rng_unit(rng)));
    x.pattern =
        problem_random_pattern(rng, structure[rng_below(rng, sizeof structure / sizeof *structure)], density);
    return x;
}

ref_problem_t regret_problem(uint64_t seed, uint64_t index, int64_t max_extent, double max_flops)
{
    rng_t rng = {.stream = ref_stream(seed, index)};
    ref_problem_t p = {.op = REF_SGEMM, .alpha = 1.0f, .seed = 1 + index};
    p.trans_a = rng_below(&rng, 2) == 0 ? LAC_NO_TRANS : LAC_TRANS;
    p.trans_b = rng_below(&rng, 2) == 0 ? LAC_NO_TRANS : LAC_TRANS;
    do {
        p.m = rng_log_uniform(&rng, max_extent);
        p.k = rng_log_uniform(&rng, max_extent);
        p.n = rng_log_uniform(&rng, max_extent);
    } while (2.0 * (double)p.m * (double)p.k * (double)p.n > max_flops);
    uint64_t sides = rng_below(&rng, 5);
    p.a = bench_operand(&rng, sides != 1 && sides != 2);
    p.b = bench_operand(&rng, sides != 0 && sides != 3);
    p.c = bench_operand(&rng, false);
    return p;
}

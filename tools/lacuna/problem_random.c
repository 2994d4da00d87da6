/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Random problems, the same for the same seed. */
#include "problem_random.h"

/* Kernels change their minds at the widths of vectors, words and tiles, and beside them. */
static int64_t check_extent(rng_t *rng)
{
    static const int64_t awkward[] = {0,  1,  2,  3,  7,  8,   15,  16,  17, 31,
                                      32, 33, 63, 64, 65, 127, 128, 129, 200};
    if (rng_below(rng, 3) == 0) return awkward[rng_below(rng, sizeof awkward / sizeof *awkward)];
    return rng_log_uniform(rng, 150);
}

ref_layout_t problem_random_layout(rng_t *rng)
{
    ref_layout_t layout = {.by_columns = rng_below(rng, 2) == 0, .step = 1};
    if (rng_below(rng, 4) == 0) layout.step = 1 + (int64_t)rng_below(rng, 3);
    if (rng_below(rng, 3) == 0) layout.pad = (int64_t)rng_below(rng, 20);
    return layout;
}

ref_pattern_t problem_random_pattern(rng_t *rng, ref_structure_t structure, double density)
{
    ref_pattern_t p = {.structure = structure, .density = density};
    if (structure == REF_DENSE) p.density = 1.0;
    if (structure == REF_ZERO) p.density = 0.0;
    if (structure == REF_BLOCK) {
        p.block_rows = (int64_t)1 << rng_below(rng, 6);
        p.block_cols = (int64_t)1 << rng_below(rng, 6);
    }
    return p;
}

static ref_operand_t check_operand(rng_t *rng, lac_dt_t dt)
{
    static const double density[] = {0.0, 0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9, 1.0};
    ref_operand_t x = {.dt = dt, .layout = problem_random_layout(rng)};
    x.pattern = problem_random_pattern(rng, (ref_structure_t)rng_below(rng, REF_POWER + 1),
                                       density[rng_below(rng, sizeof density / sizeof *density)]);
    x.pattern.values = (ref_values_t)rng_below(rng, REF_SPECIAL + 1);
    if (dt == LAC_U8 && x.pattern.values != REF_ONES) x.pattern.values = REF_UNIFORM;
    if (rng_below(rng, 2) == 0) return x;
    x.meta = (ref_meta_t)rng_below(rng, REF_META_ACTIVE + 1);
    x.frozen = rng_below(rng, 3) == 0;
    x.only = x.meta >= REF_META_CSR && rng_below(rng, 4) == 0;
    return x;
}

ref_problem_t problem_random_check(uint64_t seed, uint64_t index)
{
    static const float factor[] = {1.0f, 1.0f, 0.0f, -1.0f, 0.5f, 2.0f};
    rng_t rng = {.stream = ref_stream(seed, index)};
    ref_problem_t p = {.op = rng_below(&rng, 6) == 0 ? REF_SGEMV : REF_SGEMM};
    p.trans_a = rng_below(&rng, 2) == 0 ? LAC_NO_TRANS : LAC_TRANS;
    p.trans_b = p.op == REF_SGEMV || rng_below(&rng, 2) == 0 ? LAC_NO_TRANS : LAC_TRANS;
    p.m = check_extent(&rng);
    p.k = check_extent(&rng);
    p.n = p.op == REF_SGEMV ? 1 : check_extent(&rng);
    p.alpha = factor[rng_below(&rng, sizeof factor / sizeof *factor)];
    p.beta = rng_below(&rng, 2) == 0 ? 0.0f : factor[rng_below(&rng, sizeof factor / sizeof *factor)];
    uint64_t binary = rng_below(&rng, 6);
    p.a = check_operand(&rng, binary == 0 ? LAC_U8 : LAC_F32);
    p.b = check_operand(&rng, binary == 1 ? LAC_U8 : LAC_F32);
    if (p.a.only) p.b.only = false;
    p.c = (ref_operand_t){.layout = problem_random_layout(&rng), .pattern = {.density = 1.0}};
    p.seed = 1 + index;
    return p;
}

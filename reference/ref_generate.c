/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Structures of zeros and kinds of values, element by element from a counter-based generator. */
#include "ref_generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref_random.h"

/* Streams of one operand's seed, and the operands of one problem's. Numbers for ever: they are the data. */
enum { STREAM_OCCUPIED = 0, STREAM_VALUE = 1, STREAM_SHUFFLE = 2 };
enum { OPERAND_A = 10, OPERAND_B = 11, OPERAND_C = 12 };

/* A probability as a threshold for the upper 53 bits of a random number: 2^53 is always, 0 is never. */
static uint64_t threshold(double probability)
{
    return (uint64_t)ceil(probability * 0x1p53);
}

struct filler {
    ref_pattern_t pattern;
    int64_t m, n;
    uint64_t occupied, value; /* streams                                                   */
    uint64_t limit;           /* threshold of the density                                  */
    int64_t block_cols;       /* REF_BLOCK: blocks in a row of blocks                      */
    uint64_t *row;            /* [m] REF_POWER: the row's threshold; otherwise NULL        */
    int64_t band;             /* REF_BAND: width; REF_FAN: elements of a row               */
};

/* Structure ---------------------------------------------------------------------------------------- */

/* Mean over m rows of min(1, c / (rank + 1)). */
static double power_mean(int64_t m, double c)
{
    double sum = 0.0;
    for (int64_t rank = 0; rank < m; rank++) {
        double p = c / (double)(rank + 1);
        sum += p < 1.0 ? p : 1.0;
    }
    return sum / (double)m;
}

/* The c for which the mean is the density, by bisection: the mean grows with c, and c = m gives 1. */
static double power_scale(int64_t m, double density)
{
    double lo = 0.0, hi = (double)m;
    for (int step = 0; step < 60; step++) {
        double c = lo + (hi - lo) / 2;
        if (power_mean(m, c) < density)
            lo = c;
        else
            hi = c;
    }
    return hi;
}

static bool prepare_power(struct filler *f, uint64_t seed)
{
    uint64_t shuffle = ref_stream(seed, STREAM_SHUFFLE);
    double c = power_scale(f->m, f->pattern.density);

    f->row = malloc((size_t)f->m * sizeof *f->row);
    if (f->row == NULL) return false;
    for (int64_t i = 0; i < f->m; i++) {
        double p = c / (double)(i + 1);
        f->row[i] = threshold(p < 1.0 ? p : 1.0);
    }
    for (int64_t i = f->m - 1; i > 0; i--) {
        int64_t j = (int64_t)(ref_random(shuffle, (uint64_t)i) % ((uint64_t)i + 1));
        uint64_t t = f->row[i];
        f->row[i] = f->row[j];
        f->row[j] = t;
    }
    return true;
}

/* The band of row i begins here: centred on the diagonal, pushed inside, so that every row has its width. */
static int64_t band_start(const struct filler *f, int64_t i)
{
    int64_t start = (int64_t)((double)i * (double)f->n / (double)f->m) - f->band / 2;
    if (start > f->n - f->band) start = f->n - f->band;
    return start > 0 ? start : 0;
}

/* Row i has one element in each of f->band stretches of it, which are as long as can be. */
static bool in_fan(const struct filler *f, int64_t i, int64_t j)
{
    if (f->band == 0) return false;
    int64_t at = (int64_t)((__int128)j * f->band / f->n);
    int64_t begin = (int64_t)((__int128)at * f->n / f->band), end;
    while ((end = (int64_t)((__int128)(at + 1) * f->n / f->band)) <= j) at++, begin = end;
    uint64_t random = ref_random(f->occupied, (uint64_t)(i * f->band + at));
    return j == begin + (int64_t)((random >> 11) % (uint64_t)(end - begin));
}

static bool chance(const struct filler *f, int64_t index, uint64_t limit)
{
    return ref_random(f->occupied, (uint64_t)index) >> 11 < limit;
}

static inline bool is_occupied(const struct filler *f, int64_t i, int64_t j)
{
    const ref_pattern_t *p = &f->pattern;
    switch (p->structure) {
    case REF_DENSE:
        return true;
    case REF_ZERO:
        return false;
    case REF_BERNOULLI:
        return chance(f, i * f->n + j, f->limit);
    case REF_BLOCK:
        return chance(f, i / p->block_rows * f->block_cols + j / p->block_cols, f->limit);
    case REF_ROW:
        return chance(f, i, f->limit);
    case REF_COLUMN:
        return chance(f, j, f->limit);
    case REF_BAND:
        return j >= band_start(f, i) && j < band_start(f, i) + f->band;
    case REF_POWER:
        return chance(f, i * f->n + j, f->row[i]);
    case REF_FAN:
        return in_fan(f, i, j);
    }
    return false;
}

/* Values ------------------------------------------------------------------------------------------- */

/* Significant bits of a number. */
static int bits_of(lac_dt_t dt)
{
    return dt == LAC_F16 || dt == LAC_BF16 ? ref_half_fraction(dt) + 1 : 24;
}

/* Odd multiples of 2^-24, of 2^-52 for doubles, 2^-11 for f16 and 2^-8 for bf16, in (-1, 1): never zero, each
 * exact in its type. */
static double uniform(lac_dt_t dt, uint64_t random)
{
    const int bits = bits_of(dt);
    if (dt == LAC_F64) return (double)((int64_t)(random >> 12) * 2 + 1 - ((int64_t)1 << 52)) * 0x1p-52;
    return ldexp((double)((int64_t)(random >> (64 - bits)) * 2 + 1 - ((int64_t)1 << bits)), -bits);
}

/* The low bits of one random number choose the exponent, the sign or the kind; uniform uses the high ones. */
static double value_of(lac_dt_t dt, ref_values_t values, uint64_t random)
{
    switch (values) {
    case REF_UNIFORM:
        return uniform(dt, random);
    case REF_POSITIVE:
        return dt == LAC_F64 ? (double)((random >> 11) + 1) * 0x1p-53
                             : ldexp((double)((random >> (64 - bits_of(dt))) + 1), -bits_of(dt));
    case REF_SPREAD_8:
        return ldexp(uniform(dt, random), (int)((random & 0xffffff) % 17) - 8);
    case REF_SPREAD_30: /* of f16, whose exponents end sooner, less far */
        return dt == LAC_F16 ? ldexp(uniform(dt, random), (int)((random & 0xffffff) % 25) - 12)
                             : ldexp(uniform(dt, random), (int)((random & 0xffffff) % 61) - 30);
    case REF_ONES:
        return 1.0;
    case REF_INTEGER:
        return (double)((random & 3) + 1) * ((random & 4) != 0 ? -1.0 : 1.0);
    case REF_OUTLIERS:
        return uniform(dt, random) * ((random & 255) == 0 ? 0x1p12 : 1.0);
    case REF_SPECIAL:
        break;
    }
    if ((random & 63) != 0) return uniform(dt, random);
    return (random >> 6) % 3 == 0   ? (double)NAN
           : (random >> 6) % 3 == 1 ? (double)INFINITY
                                    : -(double)INFINITY;
}

static double number(const struct filler *f, lac_dt_t dt, int64_t i, int64_t j)
{
    uint64_t index = (uint64_t)(i * f->n + j);
    ref_values_t values = f->pattern.values;

    if (is_occupied(f, i, j)) return value_of(dt, values, ref_random(f->value, index));
    return values == REF_SPECIAL && (ref_random(f->value, index) & 1) != 0 ? -0.0 : 0.0;
}

static void write_u8(const struct filler *f, uint8_t *at, int64_t i, int64_t j)
{
    if (!is_occupied(f, i, j))
        *at = 0;
    else if (f->pattern.values == REF_ONES)
        *at = 1;
    else
        *at = (uint8_t)(ref_random(f->value, (uint64_t)(i * f->n + j)) % 255 + 1);
}

/* Filling ------------------------------------------------------------------------------------------ */

static void write_element(const struct filler *f, const ref_matrix_t *x, int64_t i, int64_t j)
{
    if (x->dt == LAC_U8)
        write_u8(f, (uint8_t *)x->data + i * x->rs + j * x->cs, i, j);
    else
        ref_matrix_put(x, i, j, number(f, x->dt, i, j));
}

bool ref_fill(ref_matrix_t *x, const ref_pattern_t *pattern, uint64_t seed)
{
    struct filler f = {.pattern = *pattern, .m = x->m, .n = x->n, .limit = threshold(pattern->density)};

    f.occupied = ref_stream(seed, STREAM_OCCUPIED);
    f.value = ref_stream(seed, STREAM_VALUE);
    f.band = (int64_t)(pattern->density * (double)x->n + 0.5);
    if (pattern->structure == REF_BLOCK)
        f.block_cols = (x->n + pattern->block_cols - 1) / pattern->block_cols;
    if (pattern->structure == REF_POWER && x->m > 0 && !prepare_power(&f, seed)) return false;
    /* The inner loop runs along the shorter stride. */
    if (x->rs >= x->cs)
        for (int64_t i = 0; i < x->m; i++)
            for (int64_t j = 0; j < x->n; j++) write_element(&f, x, i, j);
    else
        for (int64_t j = 0; j < x->n; j++)
            for (int64_t i = 0; i < x->m; i++) write_element(&f, x, i, j);
    free(f.row);
    return true;
}

static bool make_operand(ref_matrix_t *x, const ref_operand_t *o, lac_trans_t trans, int64_t rows,
                         int64_t cols, int64_t guard, uint64_t seed)
{
    bool transposed = trans == LAC_TRANS;
    if (!ref_matrix_alloc(x, o->dt, transposed ? cols : rows, transposed ? rows : cols, &o->layout, guard))
        return false;
    if (o->pattern.structure == REF_FAN) return ref_fill(x, &o->pattern, seed);
    ref_matrix_t view = ref_matrix_op(x, trans);
    return ref_fill(&view, &o->pattern, seed);
}

bool ref_case_make(ref_case_t *out, const ref_problem_t *p, int64_t guard)
{
    memset(out, 0, sizeof *out);
    bool good = make_operand(&out->a, &p->a, p->trans_a, p->m, p->k, 0, ref_stream(p->seed, OPERAND_A)) &&
                make_operand(&out->b, &p->b, p->trans_b, p->k, p->n, 0, ref_stream(p->seed, OPERAND_B));
    if (good && p->beta == 0.0f)
        good = ref_matrix_alloc(&out->c, p->c.dt, p->m, p->n, &p->c.layout, guard);
    else if (good)
        good = make_operand(&out->c, &p->c, LAC_NO_TRANS, p->m, p->n, guard, ref_stream(p->seed, OPERAND_C));
    if (!good) ref_case_free(out);
    return good;
}

void ref_case_free(ref_case_t *operands)
{
    if (operands == NULL) return;
    ref_matrix_free(&operands->a);
    ref_matrix_free(&operands->b);
    ref_matrix_free(&operands->c);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A cheap verdict on a timed result, and the oracle of a device. */
#include "result_check.h"
#include "ref_random.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double unit_of(const operand_set_t *set)
{
    return set->problem.c.dt == LAC_F64 ? 0x1p-53 : 0x1p-24;
}

/* Below it a relative error means nothing. */
static double smallest(const operand_set_t *set)
{
    return set->problem.c.dt == LAC_F64 ? DBL_MIN : (double)FLT_MIN;
}

static double unit(const result_check_t *check)
{
    return 2.0 * ((double)check->set->problem.k + 2.0) * unit_of(check->set);
}

/* An ulp of a result of two bytes: it is rounded, and so is the one that it is compared with. */
static double rounding(const operand_set_t *set, double x)
{
    lac_dt_t dt = set->problem.c.dt;
    return ref_is_half(dt) ? ldexp(1.0, ref_half_unit(dt, x)) : 0.0;
}

static void square_norms(double *rows, const ref_matrix_t *x, bool by_rows)
{
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) {
            double v = ref_matrix_at(x, i, j);
            rows[by_rows ? i : j] += v * v;
        }
}

/* One element in long double, its magnitude |A||B| taken exactly. */
static result_sample_t element(const result_check_t *check, int64_t i, int64_t j)
{
    const ref_problem_t *p = &check->set->problem;
    ref_matrix_t a = ref_matrix_op(&check->set->data.a, p->trans_a);
    ref_matrix_t b = ref_matrix_op(&check->set->data.b, p->trans_b);
    result_sample_t s = {.i = i, .j = j};
    long double sum = 0.0L, magnitude = 0.0L;
    for (int64_t k = 0; k < p->k; k++) {
        long double term = (long double)ref_matrix_at(&a, i, k) * (long double)ref_matrix_at(&b, k, j);
        sum += term;
        magnitude += fabsl(term);
    }
    double before = p->beta != 0.0f ? (double)p->beta * ref_matrix_at(&check->set->c_before, i, j) : 0.0;
    s.want = (double)((long double)before + (long double)p->alpha * sum);
    s.tolerance = unit(check) * (fabs(before) + fabs((double)p->alpha) * (double)magnitude) +
                  smallest(check->set) + rounding(check->set, s.want);
    return s;
}

static result_sample_t take_sample(const result_check_t *check, uint64_t number)
{
    const ref_problem_t *p = &check->set->problem;
    uint64_t stream = ref_stream(p->seed, 0x73616d70);
    return element(check, (int64_t)(ref_random(stream, 2 * number) % (uint64_t)p->m),
                   (int64_t)(ref_random(stream, 2 * number + 1) % (uint64_t)p->n));
}

bool result_check_make(result_check_t *check, const operand_set_t *set)
{
    const ref_problem_t *p = &set->problem;
    *check = (result_check_t){.set = set};
    check->row_norm = calloc((size_t)p->m + 1, sizeof(double));
    check->col_norm = calloc((size_t)p->n + 1, sizeof(double));
    check->want = malloc(((size_t)p->m * (size_t)p->n + 1) * sizeof(double));
    if (!check->row_norm || !check->col_norm || !check->want) {
        result_check_free(check);
        return false;
    }
    ref_matrix_t a = ref_matrix_op(&set->data.a, p->trans_a), b = ref_matrix_op(&set->data.b, p->trans_b);
    square_norms(check->row_norm, &a, true);
    square_norms(check->col_norm, &b, false);
    if (p->m > 0 && p->n > 0)
        for (; check->samples < RESULT_SAMPLES; check->samples++)
            check->sample[check->samples] = take_sample(check, (uint64_t)check->samples);
    return true;
}

void result_check_free(result_check_t *check)
{
    free(check->row_norm);
    free(check->col_norm);
    free(check->want);
    *check = (result_check_t){0};
}

static bool samples_agree(const result_check_t *check, char *why, size_t size)
{
    for (int s = 0; s < check->samples; s++) {
        const result_sample_t *at = &check->sample[s];
        double got = ref_matrix_at(&check->set->data.c, at->i, at->j);
        if (fabs(got - at->want) <= at->tolerance) continue; /* false for NaN */
        snprintf(why, size, "element (%lld, %lld) is %.9g, in double it is %.9g", (long long)at->i,
                 (long long)at->j, got, at->want);
        return false;
    }
    return true;
}

bool result_check_baseline(result_check_t *check, char *why, size_t size)
{
    const ref_matrix_t *c = &check->set->data.c;
    for (int64_t i = 0; i < c->m; i++)
        for (int64_t j = 0; j < c->n; j++) check->want[i * c->n + j] = ref_matrix_at(c, i, j);
    return samples_agree(check, why, size);
}

/* Where a result and the baseline's differ, a product in double says which of the two is wrong. True: the
 * baseline, whose element is put right; one that is wrong throughout is no longer compared with. */
static bool baseline_is_wrong(result_check_t *check, int64_t i, int64_t j, double got)
{
    const ref_problem_t *p = &check->set->problem;
    const result_sample_t exact = element(check, i, j);
    double *want = &check->want[i * p->n + j];
    if (!(fabs(got - exact.want) <= exact.tolerance)) return false; /* of NaN */
    if (check->corrected++ == 0)
        snprintf(check->baseline_why, sizeof check->baseline_why,
                 "element (%lld, %lld) is %.9g, in double it is %.9g", (long long)i, (long long)j, *want,
                 exact.want);
    *want = exact.want;
    return true;
}

static double tolerance(const result_check_t *check, int64_t i, int64_t j)
{
    const ref_problem_t *p = &check->set->problem;
    double product = sqrt(check->row_norm[i] * check->col_norm[j]);
    double before = p->beta != 0.0f ? (double)p->beta * ref_matrix_at(&check->set->c_before, i, j) : 0.0;
    return unit(check) * (fabs((double)p->alpha) * product + fabs(before)) + smallest(check->set) +
           rounding(check->set, check->want[i * p->n + j]);
}

bool result_check_agrees(result_check_t *check, char *why, size_t size)
{
    const ref_matrix_t *c = &check->set->data.c;
    int64_t where;
    if (!ref_matrix_padding_intact(c, &where)) {
        snprintf(why, size, "wrote outside C, at %lld elements from its first", (long long)where);
        return false;
    }
    for (int64_t i = 0; i < c->m; i++)
        for (int64_t j = 0; j < c->n && check->corrected < RESULT_SAMPLES; j++) {
            double got = ref_matrix_at(c, i, j), want = check->want[i * c->n + j];
            if (fabs(got - want) <= tolerance(check, i, j)) continue; /* false for NaN */
            if (baseline_is_wrong(check, i, j, got)) continue;
            snprintf(why, size, "element (%lld, %lld) is %.9g, the baseline's is %.9g", (long long)i,
                     (long long)j, got, want);
            return false;
        }
    return samples_agree(check, why, size);
}

/* The oracle for products of floats that would take the host seconds. Doubles have none on a device: it has
 * no wider type to sum them in. */

/* Multiply-adds that the host sums in about a tenth of a second. */
#define HOST_MAX 1.5e8
#define SAMPLES  256

bool device_oracle_serves(const operand_set_t *set)
{
    const ref_problem_t *p = &set->problem;
    bool finite = p->a.pattern.values != REF_SPECIAL && p->b.pattern.values != REF_SPECIAL &&
                  p->c.pattern.values != REF_SPECIAL;
    return set->copy_c.memory && finite && p->c.dt != LAC_F64 &&
           (double)p->m * (double)p->k * (double)p->n > HOST_MAX;
}

/* Dense floats by rows, as the problem's op(X) has them, or their magnitudes. NULL: out of memory. */
static float *by_rows(const ref_matrix_t *x, bool magnitude)
{
    float *to = malloc(((size_t)x->m * (size_t)x->n + 1) * sizeof *to);
    for (int64_t i = 0; to && i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) {
            float v = (float)ref_matrix_at(x, i, j);
            to[i * x->n + j] = magnitude ? fabsf(v) : v;
        }
    return to;
}

static lac_status_t place(lac_ctx_t *ctx, const ref_matrix_t *x, bool magnitude, lac_obj_t *obj)
{
    float *host = by_rows(x, magnitude);
    if (!host) return LAC_ERR_MEMORY;
    *obj = lac_obj_rowmajor(LAC_F32, x->m, x->n, NULL, x->n);
    obj->space = LAC_DEVICE;
    lac_status_t status = device_array(ctx, host, (size_t)(x->m * x->n) * sizeof *host, &obj->buf);
    free(host);
    return status;
}

/* One product into a new array of doubles; NULL: failed. */
static double *product(const operand_set_t *set, lac_ctx_t *ctx, bool magnitude)
{
    const ref_problem_t *p = &set->problem;
    ref_matrix_t x = ref_matrix_op(&set->data.a, p->trans_a), y = ref_matrix_op(&set->data.b, p->trans_b);
    size_t count = (size_t)p->m * (size_t)p->n;
    float *sums = malloc((count + 1) * sizeof *sums);
    double *wide = malloc((count + 1) * sizeof *wide);
    float alpha = magnitude ? fabsf(p->alpha) : p->alpha, beta = magnitude ? fabsf(p->beta) : p->beta;
    lac_obj_t a = {.buf = NULL}, b = {.buf = NULL}, c = {.buf = NULL};
    lac_call_opts_t call = {.size = sizeof call, .route = "reference"};

    lac_status_t status = sums && wide ? LAC_OK : LAC_ERR_MEMORY;
    if (status == LAC_OK) status = place(ctx, &x, magnitude, &a);
    if (status == LAC_OK) status = place(ctx, &y, magnitude, &b);
    if (status == LAC_OK) status = place(ctx, &set->c_before, magnitude, &c);
    if (status == LAC_OK) status = lac_gemm_ex(ctx, &alpha, &a, &b, &beta, &c, &call);
    if (status == LAC_OK) status = lac_device_download(ctx, sums, c.buf, count * sizeof *sums);
    for (size_t i = 0; status == LAC_OK && i < count; i++) wide[i] = sums[i];
    if (status != LAC_OK) {
        free(wide);
        wide = NULL;
    }
    lac_device_free(ctx, a.buf);
    lac_device_free(ctx, b.buf);
    lac_device_free(ctx, c.buf);
    free(sums);
    return wide;
}

/* Some elements against the host's own sums in double. */
static bool oracle_agrees(const operand_set_t *set, const ref_result_t *out, char *why, size_t size)
{
    const ref_problem_t *p = &set->problem;
    ref_matrix_t a = ref_matrix_op(&set->data.a, p->trans_a), b = ref_matrix_op(&set->data.b, p->trans_b);
    uint64_t stream = ref_stream(p->seed, 0x6f7261636c65);
    for (uint64_t s = 0; s < SAMPLES; s++) {
        int64_t i = (int64_t)(ref_random(stream, 2 * s) % (uint64_t)p->m);
        int64_t j = (int64_t)(ref_random(stream, 2 * s + 1) % (uint64_t)p->n);
        double sum = p->beta != 0.0f ? (double)p->beta * ref_matrix_at(&set->c_before, i, j) : 0.0;
        for (int64_t k = 0; k < p->k; k++)
            sum += (double)p->alpha * ref_matrix_at(&a, i, k) * ref_matrix_at(&b, k, j);
        double got = out->value[i * p->n + j], unit = 0x1p-24 * out->magnitude[i * p->n + j];
        if (fabs(got - sum) <= 2.0 * DEVICE_ORACLE_UNITS * unit) continue; /* false for NaN */
        snprintf(why, size, "the device's oracle has %.17g at (%lld, %lld), in double it is %.17g", got,
                 (long long)i, (long long)j, sum);
        return false;
    }
    return true;
}

bool device_oracle(const operand_set_t *set, lac_ctx_t *ctx, ref_result_t *out, char *why, size_t size)
{
    const ref_problem_t *p = &set->problem;
    *out = (ref_result_t){.m = p->m, .n = p->n, .k = p->k};
    out->value = product(set, ctx, false);
    out->magnitude = out->value ? product(set, ctx, true) : NULL;
    if (out->magnitude && oracle_agrees(set, out, why, size)) return true;
    if (!out->magnitude) snprintf(why, size, "the device's oracle: %s", lac_last_error());
    ref_result_free(out);
    return false;
}

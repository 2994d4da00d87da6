/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The product in double, of doubles in long double with compensation: B in blocks that fit a cache, four
 * terms of k at a time. */
#include "ref_gemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <float.h>
#include <inttypes.h>
#include <stdio.h>

/* One block of B in double is 512 KiB; a row of a block of C, value and magnitude, is 4 KiB. */
enum { BLOCK_K = 256, BLOCK_N = 256 };

struct block {
    double b[BLOCK_K][BLOCK_N];
    double a[BLOCK_K];  /* the terms of one row of A that count, ascending k */
    int64_t k[BLOCK_K]; /* their k in the block                              */
};

/* beta c, and |beta| |c|; zeros where beta is 0. */
static void begin(const ref_matrix_t *c, double beta, ref_result_t *out)
{
    size_t count = (size_t)(out->m * out->n);
    memset(out->value, 0, count * sizeof *out->value);
    memset(out->magnitude, 0, count * sizeof *out->magnitude);
    if (beta == 0.0) return;
    for (int64_t i = 0; i < out->m; i++)
        for (int64_t j = 0; j < out->n; j++) {
            double x = beta * ref_matrix_at(c, i, j);
            out->value[i * out->n + j] = x;
            out->magnitude[i * out->n + j] = fabs(x);
        }
}

/* Copies b[k0 .., j0 ..] and says whether all of it is finite. */
static bool pack(struct block *block, const ref_matrix_t *b, int64_t k0, int64_t kn, int64_t j0, int64_t jn)
{
    bool finite = true;
    for (int64_t k = 0; k < kn; k++)
        for (int64_t j = 0; j < jn; j++) {
            double x = ref_matrix_at(b, k0 + k, j0 + j);
            finite = finite && isfinite(x);
            block->b[k][j] = x;
        }
    return finite;
}

/* value += alpha a b and magnitude += |alpha a| |b|, for four terms: fewer passes over the row of C. */
static void add_terms(double *restrict value, double *restrict magnitude, const struct block *block,
                      int64_t t, int64_t jn)
{
    const double a0 = block->a[t], a1 = block->a[t + 1], a2 = block->a[t + 2], a3 = block->a[t + 3];
    const double *b0 = block->b[block->k[t]], *b1 = block->b[block->k[t + 1]];
    const double *b2 = block->b[block->k[t + 2]], *b3 = block->b[block->k[t + 3]];

    for (int64_t j = 0; j < jn; j++) {
        double x0 = a0 * b0[j], x1 = a1 * b1[j], x2 = a2 * b2[j], x3 = a3 * b3[j];
        value[j] = value[j] + x0 + x1 + x2 + x3;
        magnitude[j] = magnitude[j] + fabs(x0) + fabs(x1) + fabs(x2) + fabs(x3);
    }
}

static void add_term(double *restrict value, double *restrict magnitude, const struct block *block, int64_t t,
                     int64_t jn)
{
    const double a = block->a[t], *b = block->b[block->k[t]];
    for (int64_t j = 0; j < jn; j++) {
        value[j] += a * b[j];
        magnitude[j] += fabs(a * b[j]);
    }
}

/* Terms whose zero drops them are told apart one by one; only blocks of B with an Inf or a NaN come here. */
static void add_term_skipping(double *restrict value, double *restrict magnitude, const struct block *block,
                              int64_t t, int64_t jn)
{
    const double a = block->a[t], *b = block->b[block->k[t]];
    for (int64_t j = 0; j < jn; j++) {
        if (b[j] == 0.0) continue;
        value[j] += a * b[j];
        magnitude[j] += fabs(a * b[j]);
    }
}

/* One row of A against the block. A zero of A times a finite number adds nothing, so it is left out in
 * every mode where the block is finite; a zero of B matters only where A's factor is not finite. */
static void add_row(struct block *block, const ref_matrix_t *a, int64_t i, int64_t k0, int64_t kn, int64_t jn,
                    double alpha, bool finite, unsigned nan, double *value, double *magnitude)
{
    int64_t terms = 0, t = 0;
    bool a_finite = true;

    for (int64_t k = 0; k < kn; k++) {
        double x = ref_matrix_at(a, i, k0 + k);
        if (x == 0.0 && (finite || (nan & REF_SKIP_A) != 0)) continue;
        a_finite = a_finite && isfinite(x);
        block->a[terms] = alpha * x;
        block->k[terms++] = k;
    }
    if ((nan & REF_SKIP_B) != 0 && !a_finite) {
        for (; t < terms; t++) add_term_skipping(value, magnitude, block, t, jn);
        return;
    }
    for (; t + 4 <= terms; t += 4) add_terms(value, magnitude, block, t, jn);
    for (; t < terms; t++) add_term(value, magnitude, block, t, jn);
}

/* The same for one element of a product of doubles. The products are exact to 2^-64, and what an addition
 * loses is added up beside it (A. Neumaier, ZAMM 54, 1974), so that the error does not grow with the terms.
 * What is not finite needs no such care. */
static void element_f64(const ref_matrix_t *a, const ref_matrix_t *b, int64_t i, int64_t j, unsigned nan,
                        double alpha, double *value, double *magnitude)
{
    long double sum = 0.0L, lost = 0.0L, size = 0.0L;
    for (int64_t k = 0; k < a->n; k++) {
        long double x = (long double)ref_matrix_at(a, i, k), y = (long double)ref_matrix_at(b, k, j);
        if ((x == 0.0L && (nan & REF_SKIP_A)) || (y == 0.0L && (nan & REF_SKIP_B))) continue;
        long double term = x * y, next = sum + term;
        lost += fabsl(sum) >= fabsl(term) ? (sum - next) + term : (term - next) + sum;
        sum = next;
        size += fabsl(term);
    }
    if (isfinite((double)sum)) sum += lost; /* as a double: valgrind knows no infinity of long double */
    *value = (double)((long double)*value + (long double)alpha * sum);
    *magnitude = (double)((long double)*magnitude + fabsl((long double)alpha) * size);
}

static bool allocate(ref_result_t *out, int64_t m, int64_t n, int64_t k)
{
    int64_t count;
    *out = (ref_result_t){.m = m, .n = n, .k = k};
    if (__builtin_mul_overflow(m, n, &count) || count > REF_MAX_SLOTS) return false;
    size_t size = ((size_t)count + 1) * sizeof(double);
    out->value = malloc(size);
    out->magnitude = malloc(size);
    return out->value != NULL && out->magnitude != NULL;
}

static bool extents_fit(const ref_matrix_t *a, const ref_matrix_t *b, const ref_matrix_t *c, float beta)
{
    if (a->n != b->m) return false;
    return beta == 0.0f || (c != NULL && c->m == a->m && c->n == b->n);
}

bool ref_gemm(const ref_matrix_t *a, const ref_matrix_t *b, const ref_matrix_t *c, float alpha, float beta,
              unsigned nan, ref_result_t *out)
{
    const int64_t m = a->m, n = b->n, kk = a->n;
    struct block *block = malloc(sizeof *block);
    bool good = extents_fit(a, b, c, beta) && allocate(out, m, n, kk) && block != NULL;

    if (!good) {
        ref_result_free(out);
        free(block);
        return false;
    }
    begin(c, (double)beta, out);
    if (a->dt == LAC_F64 || b->dt == LAC_F64) {
        for (int64_t e = 0; alpha != 0.0f && e < m * n; e++)
            element_f64(a, b, e / n, e % n, nan, (double)alpha, out->value + e, out->magnitude + e);
        free(block);
        return true;
    }
    for (int64_t k0 = 0; alpha != 0.0f && k0 < kk; k0 += BLOCK_K)
        for (int64_t j0 = 0; j0 < n; j0 += BLOCK_N) {
            int64_t kn = kk - k0 < BLOCK_K ? kk - k0 : BLOCK_K, jn = n - j0 < BLOCK_N ? n - j0 : BLOCK_N;
            bool finite = pack(block, b, k0, kn, j0, jn);
            for (int64_t i = 0; i < m; i++)
                add_row(block, a, i, k0, kn, jn, (double)alpha, finite, nan, out->value + i * n + j0,
                        out->magnitude + i * n + j0);
        }
    free(block);
    return true;
}

bool ref_gemm_case(const ref_problem_t *p, const ref_case_t *operands, unsigned nan, ref_result_t *out)
{
    ref_matrix_t a = ref_matrix_op(&operands->a, p->trans_a), b = ref_matrix_op(&operands->b, p->trans_b);
    return ref_gemm(&a, &b, &operands->c, p->alpha, p->beta, nan, out);
}

void ref_result_free(ref_result_t *result)
{
    if (result == NULL) return;
    free(result->value);
    free(result->magnitude);
    memset(result, 0, sizeof *result);
}

/* Judging a product element by element: class first, then the error in units of |A||B|. */

/* Of 1 in each type's sums: half an ulp. The smallest number of each. */
static double unit_of(lac_dt_t dt)
{
    return dt == LAC_F64 ? 0x1p-53 : 0x1p-24;
}
static double smallest_of(lac_dt_t dt)
{
    return dt == LAC_F64 ? 0x1p-1074 : 0x1p-149;
}
static double largest_of(lac_dt_t dt)
{
    return dt == LAC_F64 ? DBL_MAX : dt == LAC_F16 ? 65504.0 : (double)FLT_MAX;
}
/* What rounding a sum to a type of two bytes may take from it. */
static double rounding_of(lac_dt_t dt, double got, double want)
{
    return ref_is_half(dt) ? ldexp(1.0, ref_half_unit(dt, fmax(fabs(got), fabs(want))) - 1) : 0.0;
}

double ref_bound(int64_t k)
{
    double n = (double)k + 2.0, unit = unit_of(LAC_F32);
    return n * unit < 1.0 ? n / (1.0 - n * unit) : (double)INFINITY;
}

static bool is_poison(const ref_matrix_t *x, int64_t i, int64_t j)
{
    const char *at = (const char *)x->data + (i * x->rs + j * x->cs) * (int64_t)lac_dt_size(x->dt);
    uint64_t bits = 0;
    memcpy(&bits, at, lac_dt_size(x->dt));
    return bits == ref_poison_bits(x->dt);
}

struct verdict {
    double error;
    bool averaged;      /* finite on both sides: counts in the mean */
    const char *reason; /* "" unless the class is wrong             */
};

static struct verdict wrong_class(const char *reason)
{
    return (struct verdict){INFINITY, false, reason};
}

static struct verdict judge(lac_dt_t dt, double got, double want, double magnitude)
{
    const struct verdict right = {0.0, false, ""};

    if (isnan(want)) return isnan(got) ? right : wrong_class("must be NaN");
    if (isinf(want)) return got == want ? right : wrong_class("must be this infinity");
    if (!isfinite(got)) return magnitude >= largest_of(dt) ? right : wrong_class("must be finite");
    if (magnitude == 0.0) return got == 0.0 ? right : wrong_class("must be 0: no term is nonzero");
    /* The smallest number keeps products below the normal range from counting as large relative errors. */
    double apart = fmax(fabs(got - want) - rounding_of(dt, got, want), 0.0);
    double error = apart / (unit_of(dt) * magnitude + smallest_of(dt));
    return (struct verdict){error, true, ""};
}

bool ref_compare(const ref_matrix_t *got, const ref_result_t *want, double bound, ref_report_t *report)
{
    int64_t averaged = 0;
    double sum = 0.0;

    *report = (ref_report_t){.bound = bound, .row = -1, .col = -1, .reason = "", .max_error = 0.0};
    report->dt = got->dt;
    if (got->dt == LAC_U8 || got->m != want->m || got->n != want->n) {
        report->reason = "type or extents differ";
        return false;
    }
    for (int64_t i = 0; i < want->m; i++)
        for (int64_t j = 0; j < want->n; j++) {
            double value = want->value[i * want->n + j], magnitude = want->magnitude[i * want->n + j];
            double x = ref_matrix_at(got, i, j);
            struct verdict v = is_poison(got, i, j) ? wrong_class("not written, or poison was read")
                                                    : judge(got->dt, x, value, magnitude);
            bool wrong = !(v.error <= bound) || v.reason[0] != '\0';

            report->elements++;
            report->wrong += wrong;
            report->nonfinite += !isfinite(value) && !wrong;
            if (v.averaged) {
                averaged++;
                sum += v.error;
            }
            if (report->row >= 0 && !(v.error > report->max_error)) continue;
            report->row = i;
            report->col = j;
            report->got = x;
            report->want = value;
            report->magnitude = magnitude;
            report->max_error = v.error;
            report->reason = !wrong ? "" : v.reason[0] != '\0' ? v.reason : "error above the bound";
        }
    report->mean_error = averaged > 0 ? sum / (double)averaged : 0.0;
    report->ok = report->wrong == 0;
    return report->ok;
}

size_t ref_report_print(const ref_report_t *r, char *text, size_t size)
{
    int n = snprintf(text, size,
                     "%s: %" PRId64 " of %" PRId64
                     " wrong, max error %.3g, mean %.3g (bound %.4g, unit 2^-%d |A||B|)"
                     "; worst (%" PRId64 ",%" PRId64 ") got %.*g want %.17g%s%s",
                     r->ok ? "ok" : "WRONG", r->wrong, r->elements, r->max_error, r->mean_error, r->bound,
                     r->dt == LAC_F64 ? 53 : 24, r->row, r->col, r->dt == LAC_F64 ? 17 : 9, r->got, r->want,
                     r->reason[0] != '\0' ? ": " : "", r->reason);
    return n > 0 ? (size_t)n : 0;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The product in double: B in blocks that fit a cache, four terms of k at a time. */
#include "ref_gemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
            double x = beta * (double)ref_matrix_at(c, i, j);
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
            double x = (double)ref_matrix_at(b, k0 + k, j0 + j);
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
        double x = (double)ref_matrix_at(a, i, k0 + k);
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

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A BLAS whose sgemm has one fault, named by FAULTY_BLAS_FAULT: "element" (one element of C is wrong),
 * "nan" (one is NaN), "padding" (writes below the last row of C), "input" (changes A), "unstable" (other bits
 * each time); otherwise it has none. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static float element(const float *x, int64_t ld, char trans, int64_t i, int64_t j)
{
    return trans == 'N' || trans == 'n' ? x[i + j * ld] : x[j + i * ld];
}

static void add_fault(float *a, float *c, int64_t m, int64_t n, int64_t ldc)
{
    static float unit = 1.0f;
    const char *fault = getenv("FAULTY_BLAS_FAULT");
    if (!fault || m == 0 || n == 0) return;
    if (strcmp(fault, "element") == 0) c[m / 2 + n / 2 * ldc] += 1.0f;
    if (strcmp(fault, "nan") == 0) c[m / 2 + n / 2 * ldc] = NAN;
    if (strcmp(fault, "padding") == 0) c[m + (n - 1) * ldc] = 1.0f;
    if (strcmp(fault, "input") == 0) a[0] += 1.0f;
    if (strcmp(fault, "unstable") == 0) c[0] = nextafterf(c[0], unit *= -2.0f);
}

EXPORT void sgemm_(const char *ta, const char *tb, const int32_t *m, const int32_t *n, const int32_t *k,
                   const float *alpha, float *a, const int32_t *lda, const float *b, const int32_t *ldb,
                   const float *beta, float *c, const int32_t *ldc);
void sgemm_(const char *ta, const char *tb, const int32_t *m, const int32_t *n, const int32_t *k,
            const float *alpha, float *a, const int32_t *lda, const float *b, const int32_t *ldb,
            const float *beta, float *c, const int32_t *ldc)
{
    static int products;
    const char *fault = getenv("FAULTY_BLAS_FAULT");
    const bool rough = fault && strcmp(fault, "rough") == 0 && products++ > 0;
    for (int64_t j = 0; j < *n; j++)
        for (int64_t i = 0; i < *m; i++) {
            float *to = &c[i + j * *ldc];
            double sum = 0.0;
            for (int64_t l = 0; l < *k; l++) {
                sum += (double)element(a, *lda, *ta, i, l) * (double)element(b, *ldb, *tb, l, j);
                if (rough) sum = (double)(float)sum;
            }
            *to = (float)((double)*alpha * sum + (*beta != 0.0f ? (double)*beta * (double)*to : 0.0));
        }
    add_fault(a, c, *m, *n, *ldc);
}

/* The library wants both; no test here has it called. */
EXPORT void sgemv_(void);
void sgemv_(void)
{
    abort();
}

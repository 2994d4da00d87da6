/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A BLAS whose sgemm has one fault, named by FAULTY_BLAS_FAULT: "element" (one element of C is wrong),
 * "spot" (one is some roundings too large), "nan" (one is NaN), "padding" (writes below the last row of C),
 * "input" (changes A), "unstable" (other bits each time), "rough" (sums of floats, from the second product
 * on); otherwise it has none. */
#include "blas/shapes.h"

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

static void add_fault(const float *a, float *c, int64_t m, int64_t n, int64_t ldc)
{
    static float unit = 1.0f;
    const char *fault = getenv("FAULTY_BLAS_FAULT");
    if (!fault || m == 0 || n == 0) return;
    if (strcmp(fault, "element") == 0) c[m / 2 + n / 2 * ldc] += 1.0f;
    if (strcmp(fault, "spot") == 0) c[m / 2 + n / 2 * ldc] *= 1.0000003f;
    if (strcmp(fault, "nan") == 0) c[m / 2 + n / 2 * ldc] = NAN;
    if (strcmp(fault, "padding") == 0) c[m + (n - 1) * ldc] = 1.0f;
    if (strcmp(fault, "input") == 0) *(float *)(uintptr_t)a += 1.0f;
    if (strcmp(fault, "unstable") == 0) c[0] = nextafterf(c[0], unit *= -2.0f);
}

static int64_t integer(const void *p)
{
    return *(const int32_t *)p;
}

EXPORT sgemm_fn sgemm_;
void sgemm_(SGEMM_PARAMS, size_t ta_len, size_t tb_len)
{
    static int products;
    const char *fault = getenv("FAULTY_BLAS_FAULT");
    const bool rough = fault && strcmp(fault, "rough") == 0 && products++ > 0;
    const int64_t rows = integer(m), cols = integer(n), depth = integer(k), step = integer(ldc);
    (void)ta_len, (void)tb_len;
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++) {
            float *to = &c[i + j * step];
            double sum = 0.0;
            for (int64_t l = 0; l < depth; l++) {
                sum +=
                    (double)element(a, integer(lda), *ta, i, l) * (double)element(b, integer(ldb), *tb, l, j);
                if (rough) sum = (double)(float)sum;
            }
            *to = (float)((double)*alpha * sum + (*beta != 0.0f ? (double)*beta * (double)*to : 0.0));
        }
    add_fault(a, c, rows, cols, step);
}

/* The library wants both; no test here has it called. */
EXPORT void sgemv_(void);
void sgemv_(void)
{
    abort();
}

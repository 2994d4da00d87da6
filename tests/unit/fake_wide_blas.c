/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A BLAS as the wheels of NumPy bring it: prefixed names, 64-bit integers, and a product that only it makes.
 */
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void scipy_sgemv_64_(void);
void scipy_sgemv_64_(void) {}

EXPORT void scipy_sgemm_64_(const char *ta, const char *tb, const int64_t *m, const int64_t *n,
                            const int64_t *k, const float *alpha, const float *a, const int64_t *lda,
                            const float *b, const int64_t *ldb, const float *beta, float *c,
                            const int64_t *ldc, size_t ta_length, size_t tb_length);

/* C := 1000 + its extents, each in a digit of its own. */
void scipy_sgemm_64_(const char *ta, const char *tb, const int64_t *m, const int64_t *n, const int64_t *k,
                     const float *alpha, const float *a, const int64_t *lda, const float *b,
                     const int64_t *ldb, const float *beta, float *c, const int64_t *ldc, size_t ta_length,
                     size_t tb_length)
{
    (void)ta, (void)tb, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb, (void)beta;
    (void)ta_length, (void)tb_length;
    for (int64_t j = 0; j < *n; j++)
        for (int64_t i = 0; i < *m; i++) c[i + j * *ldc] = (float)(1000 + 100 * *m + 10 * *n + *k);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A library for lacuna doctor, made as SciPy's are: its hidden sgemm_ is a jump through the linkage table to
 * scipy_sgemm_, and its hidden sgemv_ calls scipy_sgemv_ and goes on. Its cblas_sgemm64_ is its own.
 * It multiplies row-major, too. */
#include <stddef.h>

extern void scipy_sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
                         const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
                         const float *beta, float *c, const int *ldc, size_t ta_length, size_t tb_length);
extern void scipy_cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                              int lda, const float *b, int ldb, float beta, float *c, int ldc);
extern void scipy_sgemv_(const char *ta, const int *m, const int *n, const float *alpha, const float *a,
                         const int *lda, const float *x, const int *incx, const float *beta, float *y,
                         const int *incy, size_t ta_length);

__attribute__((noinline, visibility("hidden"))) void
sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const float *alpha,
       const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c,
       const int *ldc, size_t ta_length, size_t tb_length);
void sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const float *alpha,
            const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c,
            const int *ldc, size_t ta_length, size_t tb_length)
{
    scipy_sgemm_(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, ta_length, tb_length);
}

__attribute__((noinline, visibility("hidden"))) void sgemv_(int n, const float *a, const float *x, float *y);
void sgemv_(int n, const float *a, const float *x, float *y)
{
    const float one = 1.0f, zero = 0.0f;
    const int step = 1;
    scipy_sgemv_("N", &n, &n, &one, a, &n, x, &step, &zero, y, &step, 1);
    y[0] += one;
}

__attribute__((noinline, visibility("hidden"))) float cblas_sgemm64_(float x);
float cblas_sgemm64_(float x)
{
    return 3.0f * x;
}

float doctor_stub(void);
float doctor_stub(void)
{
    float a[4] = {1.0f, 2.0f, 3.0f, 4.0f}, c[4] = {0.0f}, one = 1.0f;
    int two = 2;
    sgemm_("N", "N", &two, &two, &two, &one, a, &two, a, &two, &one, c, &two, 1, 1);
    sgemv_(2, a, a, c);
    float x[2 * 4] = {1.0f}, w[4 * 3] = {1.0f}, y[2 * 3] = {0.0f};
    scipy_cblas_sgemm(101, 111, 111, 2, 3, 4, one, x, 4, w, 3, 0.0f, y, 3); /* row-major */
    return cblas_sgemm64_(c[0]);
}

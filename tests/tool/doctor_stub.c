/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A library for lacuna doctor, made as SciPy's are: its hidden sgemm_ is a jump through the linkage table to
 * scipy_sgemm_, and its hidden sgemv_ calls scipy_sgemv_ and goes on. Its cblas_sgemm64_ is its own.
 * It multiplies row-major, too. */
#include "blas/shapes.h"

extern sgemm_fn scipy_sgemm_;
extern cblas_sgemm_fn scipy_cblas_sgemm;
extern sgemv_fn scipy_sgemv_;

__attribute__((noinline, visibility("hidden"))) sgemm_fn sgemm_;
void sgemm_(SGEMM_PARAMS, size_t ta_len, size_t tb_len)
{
    scipy_sgemm_(GEMM_ARGS, ta_len, tb_len);
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

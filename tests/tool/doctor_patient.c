/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A program for lacuna doctor: one product by a BLAS that it was linked against, another fetched from it with
 * dlsym, and a third that it brings itself. */
#include <dlfcn.h>
#include <stddef.h>

extern void sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
                   const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
                   const float *beta, float *c, const int *ldc, size_t ta_length, size_t tb_length);
float cblas_sgemv64_(float x);

float cblas_sgemv64_(float x)
{
    return 2.0f * x;
}

int main(void)
{
    float a[4] = {1.0f, 2.0f, 3.0f, 4.0f}, c[4] = {0.0f}, one = 1.0f;
    int two = 2;
    sgemm_("N", "N", &two, &two, &two, &one, a, &two, a, &two, &one, c, &two, 1, 1);
    void *blas = dlopen(PATIENT_BLAS, RTLD_NOW | RTLD_NOLOAD);
    return blas && dlsym(blas, "cblas_sgemm") && cblas_sgemv64_(one) > one ? 7 : 1;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A program for lacuna doctor: one product by a BLAS that it was linked against, another fetched from it with
 * dlsym, a third that it brings itself, and one in double, which is not Lacuna's. Built again with other
 * names for the first three. */
#include "blas/shapes.h"

#include <dlfcn.h>

#ifndef PATIENT_DLSYM
#    define PATIENT_DLSYM "cblas_sgemm"
#endif

extern sgemm_fn sgemm_;
void cblas_zgemm(void);
int fake_finds_itself(void);
float cblas_sgemv64_(float x);

float cblas_sgemv64_(float x)
{
    return 2.0f * x;
}

/* Each argument is a library whose doctor_stub it calls. */
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        float (*stub)(void) = library ? (float (*)(void))dlsym(library, "doctor_stub") : NULL;
        if (!stub || stub() < 0.0f) return 2;
    }
    float a[4] = {1.0f, 2.0f, 3.0f, 4.0f}, c[4] = {0.0f}, one = 1.0f;
    int two = 2;
    sgemm_("N", "N", &two, &two, &two, &one, a, &two, a, &two, &one, c, &two, 1, 1);
    cblas_zgemm();
    if (!fake_finds_itself()) return 3;
    void *blas = dlopen(PATIENT_BLAS, RTLD_NOW | RTLD_NOLOAD);
    cblas_sgemm_fn *sgemm = blas ? (cblas_sgemm_fn *)dlsym(blas, PATIENT_DLSYM) : NULL;
    if (!sgemm) return 1;
    sgemm(102, 111, 111, 2, 2, 2, one, a, 2, a, 2, one, c, 2);
    return cblas_sgemv64_(one) > one ? 7 : 1;
}

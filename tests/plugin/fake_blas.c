/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A BLAS that computes nothing: it remembers what it was called with, and its cblas_sgemm calls sgemm_ as
 * netlib's does. Built several times, to stand for different BLASes in one process. FAKE_WIDE: the plain
 * names have 64-bit integers too. FAKE_LACUNA: it says that it is a drop-in library of Lacuna. */
#define _GNU_SOURCE
#include "fake_library.h"
#include "blas/shapes.h"

#ifndef FAKE_WIDE
#    define FAKE_WIDE 0
#endif

#ifdef FAKE_LACUNA
EXPORT void lacuna_blas_marker(void);
void lacuna_blas_marker(void) {}
#endif

static int64_t integer(const void *p, int wide)
{
    return wide || FAKE_WIDE ? *(const int64_t *)p : *(const int32_t *)p;
}

static int64_t bits(float x)
{
    int32_t i;
    memcpy(&i, &x, sizeof i);
    return i;
}

static void fake_sgemm(const char *name, const void *caller, int w, SGEMM_PARAMS, size_t ta_len,
                       size_t tb_len)
{
    note(name, caller,
         SLOTS(*ta, *tb, integer(m, w), integer(n, w), integer(k, w), bits(*alpha), ADDRESS(a),
               integer(lda, w), ADDRESS(b), integer(ldb, w), bits(*beta), ADDRESS(c), integer(ldc, w),
               ADDRESS(ta_len), ADDRESS(tb_len)));
}

static void fake_sgemv(const char *name, const void *caller, int w, SGEMV_PARAMS, size_t ta_len)
{
    note(name, caller,
         SLOTS(*ta, integer(m, w), integer(n, w), bits(*alpha), ADDRESS(a), integer(lda, w), ADDRESS(x),
               integer(incx, w), bits(*beta), ADDRESS(y), integer(incy, w), ADDRESS(ta_len)));
}

/* What no drop-in library stands in front of; none here calls it with arguments. */
EXPORT void cblas_dgemm(void);
void cblas_dgemm(void) {}

/* What it looks up in itself is its own, whoever stands in front of others' calls. */
EXPORT int fake_finds_itself(void);
int fake_finds_itself(void)
{
    Dl_info here, found;
    if (!dladdr((void *)(uintptr_t)fake_finds_itself, &here)) return 0;
    void *self = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    void *own = self ? dlsym(self, "cblas_sgemm") : NULL;
    int finds = own && dladdr(own, &found) && found.dli_fbase == here.dli_fbase;
    if (self) dlclose(self);
    return finds;
}

EXPORT sgemm_fn sgemm_;

static void fake_cblas_sgemm(const char *name, const void *caller, CBLAS_SGEMM_PARAMS)
{
    note(name, caller,
         SLOTS(order, ta, tb, m, n, k, bits(alpha), ADDRESS(a), lda, ADDRESS(b), ldb, bits(beta), ADDRESS(c),
               ldc));
    if (strcmp(name, "cblas_sgemm") == 0)
        sgemm_("N", "N", &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1);
}

static void fake_cblas_sgemv(const char *name, const void *caller, CBLAS_SGEMV_PARAMS)
{
    note(
        name, caller,
        SLOTS(order, ta, m, n, bits(alpha), ADDRESS(a), lda, ADDRESS(x), incx, bits(beta), ADDRESS(y), incy));
}

/* clang-format off */
#define SGEMM_FAKE(name, wide)       EXPORT sgemm_fn name;       void name(SGEMM_PARAMS, size_t ta_len, size_t tb_len) { fake_sgemm(#name, CALLER, wide, SGEMM_ARGS, ta_len, tb_len); }
#define SGEMV_FAKE(name, wide)       EXPORT sgemv_fn name;       void name(SGEMV_PARAMS, size_t ta_len) { fake_sgemv(#name, CALLER, wide, SGEMV_ARGS, ta_len); }
#define CBLAS_SGEMM_FAKE(name, wide) EXPORT cblas_sgemm_fn name; void name(CBLAS_SGEMM_PARAMS) { fake_cblas_sgemm(#name, CALLER, CBLAS_SGEMM_ARGS); }
#define CBLAS_SGEMV_FAKE(name, wide) EXPORT cblas_sgemv_fn name; void name(CBLAS_SGEMV_PARAMS) { fake_cblas_sgemv(#name, CALLER, CBLAS_SGEMV_ARGS); }
#define SYMBOL(shape, name, wide) shape##_FAKE(name, wide)
#include "blas/symbols.def"
/* clang-format on */

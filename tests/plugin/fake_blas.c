/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A BLAS that computes nothing: it remembers what it was called with, and its cblas_sgemm calls sgemm_ as
 * netlib's does. Built several times, to stand for different BLASes in one process. FAKE_WIDE: the plain
 * names have 64-bit integers too. FAKE_LACUNA: it says that it is a drop-in library of Lacuna. */
#include "fake_blas.h"
#include "blas/shapes.h"

#include <string.h>

#ifndef FAKE_WIDE
#    define FAKE_WIDE 0
#endif
#define EXPORT __attribute__((visibility("default")))

#ifdef FAKE_LACUNA
EXPORT void lacuna_blas_marker(void);
void lacuna_blas_marker(void) {}
#endif

static _Thread_local fake_record_t record;

EXPORT fake_record_t fake_take(void);
fake_record_t fake_take(void)
{
    fake_record_t taken = record;
    memset(&record, 0, sizeof record);
    return taken;
}

static void note(const char *name, const int64_t *argument)
{
    if (record.calls++ == 0) record.first = name;
    record.last = name;
    memcpy(record.argument, argument, sizeof record.argument);
}

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

static void fake_sgemm(const char *name, int w, SGEMM_PARAMS, size_t ta_len, size_t tb_len)
{
    note(name,
         (int64_t[FAKE_ARGUMENTS]){*ta, *tb, integer(m, w), integer(n, w), integer(k, w), bits(*alpha),
                                   (int64_t)a, integer(lda, w), (int64_t)b, integer(ldb, w), bits(*beta),
                                   (int64_t)c, integer(ldc, w), (int64_t)ta_len, (int64_t)tb_len});
}

static void fake_sgemv(const char *name, int w, SGEMV_PARAMS, size_t ta_len)
{
    note(name, (int64_t[FAKE_ARGUMENTS]){*ta, integer(m, w), integer(n, w), bits(*alpha), (int64_t)a,
                                         integer(lda, w), (int64_t)x, integer(incx, w), bits(*beta),
                                         (int64_t)y, integer(incy, w), (int64_t)ta_len});
}

EXPORT sgemm_fn sgemm_;

static void fake_cblas_sgemm(const char *name, CBLAS_SGEMM_PARAMS)
{
    note(name, (int64_t[FAKE_ARGUMENTS]){order, ta, tb, m, n, k, bits(alpha), (int64_t)a, lda, (int64_t)b,
                                         ldb, bits(beta), (int64_t)c, ldc});
    if (strcmp(name, "cblas_sgemm") == 0)
        sgemm_("N", "N", &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1);
}

static void fake_cblas_sgemv(const char *name, CBLAS_SGEMV_PARAMS)
{
    note(name, (int64_t[FAKE_ARGUMENTS]){order, ta, m, n, bits(alpha), (int64_t)a, lda, (int64_t)x, incx,
                                         bits(beta), (int64_t)y, incy});
}

/* clang-format off */
#define SGEMM(name, wide)       EXPORT sgemm_fn name;
#define SGEMV(name, wide)       EXPORT sgemv_fn name;
#define CBLAS_SGEMM(name, wide) EXPORT cblas_sgemm_fn name;
#define CBLAS_SGEMV(name, wide) EXPORT cblas_sgemv_fn name;
#include "blas/symbols.def"
#undef SGEMM
#undef SGEMV
#undef CBLAS_SGEMM
#undef CBLAS_SGEMV

#define SGEMM(name, wide)       void name(SGEMM_PARAMS, size_t ta_len, size_t tb_len) { fake_sgemm(#name, wide, SGEMM_ARGS, ta_len, tb_len); }
#define SGEMV(name, wide)       void name(SGEMV_PARAMS, size_t ta_len) { fake_sgemv(#name, wide, SGEMV_ARGS, ta_len); }
#define CBLAS_SGEMM(name, wide) void name(CBLAS_SGEMM_PARAMS) { fake_cblas_sgemm(#name, CBLAS_SGEMM_ARGS); }
#define CBLAS_SGEMV(name, wide) void name(CBLAS_SGEMV_PARAMS) { fake_cblas_sgemv(#name, CBLAS_SGEMV_ARGS); }
#include "blas/symbols.def"
/* clang-format on */

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

/* Of a scalar of `size` bytes. */
static int64_t bits(const void *scalar, size_t size)
{
    int64_t i = 0;
    memcpy(&i, scalar, size);
    return i;
}

static void fake_gemm(const char *name, const void *caller, int w, size_t size, GEMM_PARAMS(void),
                      size_t ta_len, size_t tb_len)
{
    note(name, caller,
         SLOTS(*ta, *tb, integer(m, w), integer(n, w), integer(k, w), bits(alpha, size), ADDRESS(a),
               integer(lda, w), ADDRESS(b), integer(ldb, w), bits(beta, size), ADDRESS(c), integer(ldc, w),
               ADDRESS(ta_len), ADDRESS(tb_len)));
}

static void fake_gemv(const char *name, const void *caller, int w, size_t size, GEMV_PARAMS(void),
                      size_t ta_len)
{
    note(name, caller,
         SLOTS(*ta, integer(m, w), integer(n, w), bits(alpha, size), ADDRESS(a), integer(lda, w), ADDRESS(x),
               integer(incx, w), bits(beta, size), ADDRESS(y), integer(incy, w), ADDRESS(ta_len)));
}

static void fake_syrk(const char *name, const void *caller, int w, size_t size, SYRK_PARAMS(void),
                      size_t uplo_len, size_t trans_len)
{
    note(name, caller,
         SLOTS(*uplo, *trans, integer(n, w), integer(k, w), bits(alpha, size), ADDRESS(a), integer(lda, w),
               bits(beta, size), ADDRESS(c), integer(ldc, w), ADDRESS(uplo_len), ADDRESS(trans_len)));
}

static void fake_symm(const char *name, const void *caller, int w, size_t size, SYMM_PARAMS(void),
                      size_t side_len, size_t uplo_len)
{
    note(name, caller,
         SLOTS(*side, *uplo, integer(m, w), integer(n, w), bits(alpha, size), ADDRESS(a), integer(lda, w),
               ADDRESS(b), integer(ldb, w), bits(beta, size), ADDRESS(c), integer(ldc, w), ADDRESS(side_len),
               ADDRESS(uplo_len)));
}

/* What no drop-in library stands in front of; none here calls it with arguments. */
EXPORT void cblas_zgemm(void);
void cblas_zgemm(void) {}

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
EXPORT dgemm_fn dgemm_;

static void fake_cblas_gemm(const char *name, const void *caller, size_t size,
                            CBLAS_GEMM_PARAMS(void, const void *))
{
    note(name, caller,
         SLOTS(order, ta, tb, m, n, k, bits(alpha, size), ADDRESS(a), lda, ADDRESS(b), ldb, bits(beta, size),
               ADDRESS(c), ldc));
    if (strcmp(name, "cblas_sgemm") == 0)
        sgemm_("N", "N", &m, &n, &k, alpha, a, &lda, b, &ldb, beta, c, &ldc, 1, 1);
    if (strcmp(name, "cblas_dgemm") == 0)
        dgemm_("N", "N", &m, &n, &k, alpha, a, &lda, b, &ldb, beta, c, &ldc, 1, 1);
}

static void fake_cblas_gemv(const char *name, const void *caller, size_t size,
                            CBLAS_GEMV_PARAMS(void, const void *))
{
    note(name, caller,
         SLOTS(order, ta, m, n, bits(alpha, size), ADDRESS(a), lda, ADDRESS(x), incx, bits(beta, size),
               ADDRESS(y), incy));
}

static void fake_cblas_syrk(const char *name, const void *caller, size_t size,
                            CBLAS_SYRK_PARAMS(void, const void *))
{
    note(name, caller,
         SLOTS(order, uplo, trans, n, k, bits(alpha, size), ADDRESS(a), lda, bits(beta, size), ADDRESS(c),
               ldc));
}

static void fake_cblas_symm(const char *name, const void *caller, size_t size,
                            CBLAS_SYMM_PARAMS(void, const void *))
{
    note(name, caller,
         SLOTS(order, side, uplo, m, n, bits(alpha, size), ADDRESS(a), lda, ADDRESS(b), ldb, bits(beta, size),
               ADDRESS(c), ldc));
}

/* clang-format off */
#define GEMM_FAKE(name, wide)       fake_gemm(name, CALLER, wide, sizeof *alpha, GEMM_ARGS, ta_len, tb_len)
#define GEMV_FAKE(name, wide)       fake_gemv(name, CALLER, wide, sizeof *alpha, GEMV_ARGS, ta_len)
#define CBLAS_GEMM_FAKE(name, wide) fake_cblas_gemm(name, CALLER, sizeof alpha, CBLAS_GEMM_ARGS(&alpha, &beta))
#define CBLAS_GEMV_FAKE(name, wide) fake_cblas_gemv(name, CALLER, sizeof alpha, CBLAS_GEMV_ARGS(&alpha, &beta))
#define SYRK_FAKE(name, wide)       fake_syrk(name, CALLER, wide, sizeof *alpha, SYRK_ARGS, uplo_len, trans_len)
#define SYMM_FAKE(name, wide)       fake_symm(name, CALLER, wide, sizeof *alpha, SYMM_ARGS, side_len, uplo_len)
#define CBLAS_SYRK_FAKE(name, wide) fake_cblas_syrk(name, CALLER, sizeof alpha, CBLAS_SYRK_ARGS(&alpha, &beta))
#define CBLAS_SYMM_FAKE(name, wide) fake_cblas_symm(name, CALLER, sizeof alpha, CBLAS_SYMM_ARGS(&alpha, &beta))
#define SSYRK_FAKE(name, wide)       EXPORT ssyrk_fn name;       void name(SSYRK_PARAMS, size_t uplo_len, size_t trans_len) { SYRK_FAKE(#name, wide); }
#define DSYRK_FAKE(name, wide)       EXPORT dsyrk_fn name;       void name(DSYRK_PARAMS, size_t uplo_len, size_t trans_len) { SYRK_FAKE(#name, wide); }
#define SSYMM_FAKE(name, wide)       EXPORT ssymm_fn name;       void name(SSYMM_PARAMS, size_t side_len, size_t uplo_len) { SYMM_FAKE(#name, wide); }
#define DSYMM_FAKE(name, wide)       EXPORT dsymm_fn name;       void name(DSYMM_PARAMS, size_t side_len, size_t uplo_len) { SYMM_FAKE(#name, wide); }
#define CBLAS_SSYRK_FAKE(name, wide) EXPORT cblas_ssyrk_fn name; void name(CBLAS_SSYRK_PARAMS) { CBLAS_SYRK_FAKE(#name, wide); }
#define CBLAS_DSYRK_FAKE(name, wide) EXPORT cblas_dsyrk_fn name; void name(CBLAS_DSYRK_PARAMS) { CBLAS_SYRK_FAKE(#name, wide); }
#define CBLAS_SSYMM_FAKE(name, wide) EXPORT cblas_ssymm_fn name; void name(CBLAS_SSYMM_PARAMS) { CBLAS_SYMM_FAKE(#name, wide); }
#define CBLAS_DSYMM_FAKE(name, wide) EXPORT cblas_dsymm_fn name; void name(CBLAS_DSYMM_PARAMS) { CBLAS_SYMM_FAKE(#name, wide); }
#define SGEMM_FAKE(name, wide)       EXPORT sgemm_fn name;       void name(SGEMM_PARAMS, size_t ta_len, size_t tb_len) { GEMM_FAKE(#name, wide); }
#define DGEMM_FAKE(name, wide)       EXPORT dgemm_fn name;       void name(DGEMM_PARAMS, size_t ta_len, size_t tb_len) { GEMM_FAKE(#name, wide); }
#define SGEMV_FAKE(name, wide)       EXPORT sgemv_fn name;       void name(SGEMV_PARAMS, size_t ta_len) { GEMV_FAKE(#name, wide); }
#define DGEMV_FAKE(name, wide)       EXPORT dgemv_fn name;       void name(DGEMV_PARAMS, size_t ta_len) { GEMV_FAKE(#name, wide); }
#define CBLAS_SGEMM_FAKE(name, wide) EXPORT cblas_sgemm_fn name; void name(CBLAS_SGEMM_PARAMS) { CBLAS_GEMM_FAKE(#name, wide); }
#define CBLAS_DGEMM_FAKE(name, wide) EXPORT cblas_dgemm_fn name; void name(CBLAS_DGEMM_PARAMS) { CBLAS_GEMM_FAKE(#name, wide); }
#define CBLAS_SGEMV_FAKE(name, wide) EXPORT cblas_sgemv_fn name; void name(CBLAS_SGEMV_PARAMS) { CBLAS_GEMV_FAKE(#name, wide); }
#define CBLAS_DGEMV_FAKE(name, wide) EXPORT cblas_dgemv_fn name; void name(CBLAS_DGEMV_PARAMS) { CBLAS_GEMV_FAKE(#name, wide); }
#define SYMBOL(shape, name, wide) shape##_FAKE(name, wide)
#include "blas/symbols.def"
/* clang-format on */

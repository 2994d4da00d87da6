/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A cuBLAS that computes nothing: it remembers what it was called with, and its cublasGemmEx calls
 * cublasSgemm_v2 through the dynamic linker, as the vendor's calls its own. Built several times, to stand for
 * different ones in a process, with versioned symbols as the vendor's are. */
#define _GNU_SOURCE
#include "../plugin/fake_library.h"
#include "fake_cublas.h"
#include "cublas/shapes.h"

#define INTEGER(x) (w ? (x) : (int32_t)(x))

static int fake_sgemm(const char *name, int w, const void *caller, SGEMM_PARAMS)
{
    return note(name, caller,
                SLOTS(ADDRESS(handle), ta, tb, INTEGER(m), INTEGER(n), INTEGER(k), ADDRESS(alpha), ADDRESS(a),
                      INTEGER(lda), ADDRESS(b), INTEGER(ldb), ADDRESS(beta), ADDRESS(c), INTEGER(ldc)));
}

static int fake_hgemm(const char *name, int w, const void *caller, HGEMM_PARAMS)
{
    return fake_sgemm(name, w, caller, HGEMM_ARGS);
}

static int fake_sgemv(const char *name, int w, const void *caller, SGEMV_PARAMS)
{
    return note(name, caller,
                SLOTS(ADDRESS(handle), ta, INTEGER(m), INTEGER(n), ADDRESS(alpha), ADDRESS(a), INTEGER(lda),
                      ADDRESS(x), INTEGER(incx), ADDRESS(beta), ADDRESS(y), INTEGER(incy)));
}

static int fake_sgemm_strided(const char *name, int w, const void *caller, SGEMM_STRIDED_PARAMS)
{
    return note(name, caller,
                SLOTS(ADDRESS(handle), ta, tb, INTEGER(m), INTEGER(n), INTEGER(k), ADDRESS(alpha), ADDRESS(a),
                      INTEGER(lda), stride_a, ADDRESS(b), INTEGER(ldb), stride_b, ADDRESS(beta), ADDRESS(c),
                      INTEGER(ldc), stride_c, INTEGER(count)));
}

static int fake_sgemm_batched(const char *name, int w, const void *caller, SGEMM_BATCHED_PARAMS)
{
    return note(name, caller,
                SLOTS(ADDRESS(handle), ta, tb, INTEGER(m), INTEGER(n), INTEGER(k), ADDRESS(alpha), ADDRESS(a),
                      INTEGER(lda), ADDRESS(b), INTEGER(ldb), ADDRESS(beta), ADDRESS(c), INTEGER(ldc),
                      INTEGER(count)));
}

EXPORT sgemm_fn cublasSgemm_v2;

static int fake_gemm_ex(const char *name, int w, const void *caller, GEMM_EX_PARAMS)
{
    int status = note(name, caller,
                      SLOTS(ADDRESS(handle), ta, tb, INTEGER(m), INTEGER(n), INTEGER(k), ADDRESS(alpha),
                            ADDRESS(a), a_type, INTEGER(lda), ADDRESS(b), b_type, INTEGER(ldb), ADDRESS(beta),
                            ADDRESS(c), c_type, INTEGER(ldc), compute, algo));
    fake_record_t mine = record;
    if (w) return status;
    cublasSgemm_v2(handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    mine.calls = record.calls;
    mine.last = record.last;
    record = mine;
    return status;
}

static int fake_gemm_strided_ex(const char *name, int w, const void *caller, GEMM_STRIDED_EX_PARAMS)
{
    return note(name, caller,
                SLOTS(ADDRESS(handle), ta, tb, INTEGER(m), INTEGER(n), INTEGER(k), ADDRESS(alpha), ADDRESS(a),
                      a_type, INTEGER(lda), stride_a, ADDRESS(b), b_type, INTEGER(ldb), stride_b,
                      ADDRESS(beta), ADDRESS(c), c_type, INTEGER(ldc), stride_c, INTEGER(count), compute,
                      algo));
}

static int fake_gemm_batched_ex(const char *name, int w, const void *caller, GEMM_BATCHED_EX_PARAMS)
{
    return note(name, caller,
                SLOTS(ADDRESS(handle), ta, tb, INTEGER(m), INTEGER(n), INTEGER(k), ADDRESS(alpha), ADDRESS(a),
                      a_type, INTEGER(lda), ADDRESS(b), b_type, INTEGER(ldb), ADDRESS(beta), ADDRESS(c),
                      c_type, INTEGER(ldc), INTEGER(count), compute, algo));
}

static int fake_lt_matmul(const char *name, int w, const void *caller, LT_MATMUL_PARAMS)
{
    (void)w;
    return note(name, caller,
                SLOTS(ADDRESS(handle), ADDRESS(desc), ADDRESS(alpha), ADDRESS(a), ADDRESS(a_layout),
                      ADDRESS(b), ADDRESS(b_layout), ADDRESS(beta), ADDRESS(c), ADDRESS(c_layout), ADDRESS(d),
                      ADDRESS(d_layout), ADDRESS(algo), ADDRESS(workspace), (int64_t)workspace_bytes,
                      ADDRESS(stream)));
}

/* Descriptions and layouts are what fake_cublas.h says. */
static int attribute(const fake_attributes_t *from, int which, void *value, size_t bytes, size_t *written)
{
    record.attributes++;
    if (!from || which < 0 || which >= FAKE_ATTRIBUTES) return FAKE_STATUS;
    if (from->value[which] == FAKE_UNREADABLE) return FAKE_STATUS;
    memcpy(value, &from->value[which], bytes);
    *written = bytes;
    return CUBLAS_SUCCESS;
}

typedef int lt_getter_fn(const void *from, int which, void *value, size_t bytes, size_t *written);
EXPORT lt_getter_fn cublasLtMatmulDescGetAttribute, cublasLtMatrixLayoutGetAttribute;
int cublasLtMatmulDescGetAttribute(const void *from, int which, void *value, size_t bytes, size_t *written)
{
    return attribute(from, which, value, bytes, written);
}
int cublasLtMatrixLayoutGetAttribute(const void *from, int which, void *value, size_t bytes, size_t *written)
{
    return attribute(from, which, value, bytes, written);
}

/* Handles, which nobody of ours may change. */
EXPORT fake_handle_t fake_handle;

static int got(int which)
{
    record.getters++;
    return fake_handle.fails & which ? FAKE_STATUS : CUBLAS_SUCCESS;
}

static int set(void)
{
    record.setters++;
    return CUBLAS_SUCCESS;
}

/* clang-format off */
EXPORT int cublasGetStream_v2(void *handle, void **stream);
EXPORT int cublasGetPointerMode_v2(void *handle, int *mode);
EXPORT int cublasGetMathMode(void *handle, int *mode);
int cublasGetStream_v2(void *handle, void **stream) { (void)handle; *stream = fake_handle.stream; return got(FAKE_STREAM); }
int cublasGetPointerMode_v2(void *handle, int *mode) { (void)handle; *mode = fake_handle.scalars; return got(FAKE_POINTER_MODE); }
int cublasGetMathMode(void *handle, int *mode) { (void)handle; *mode = fake_handle.math; return got(FAKE_MATH_MODE); }

#define SETTER(name) EXPORT int name(void); int name(void) { return set(); }
SETTER(cublasSetStream_v2)
SETTER(cublasSetWorkspace_v2)
SETTER(cublasSetPointerMode_v2)
SETTER(cublasSetMathMode)
SETTER(cublasSetAtomicsMode)

#define FAKE(shape, fake, name, wide) EXPORT int name(shape##_PARAMS); int name(shape##_PARAMS) { return fake(#name, wide, CALLER, shape##_ARGS); }
#define SGEMM_FAKE(name, wide)      FAKE(SGEMM, fake_sgemm, name, wide)
#define HGEMM_FAKE(name, wide)      FAKE(HGEMM, fake_hgemm, name, wide)
#define DGEMM_FAKE(name, wide)      FAKE(DGEMM, fake_hgemm, name, wide)
#define SGEMV_FAKE(name, wide)      FAKE(SGEMV, fake_sgemv, name, wide)
#define SGEMM_STRIDED_FAKE(name, wide) FAKE(SGEMM_STRIDED, fake_sgemm_strided, name, wide)
#define SGEMM_BATCHED_FAKE(name, wide) FAKE(SGEMM_BATCHED, fake_sgemm_batched, name, wide)
#define GEMM_EX_FAKE(name, wide)    FAKE(GEMM_EX, fake_gemm_ex, name, wide)
#define GEMM_STRIDED_EX_FAKE(name, wide) FAKE(GEMM_STRIDED_EX, fake_gemm_strided_ex, name, wide)
#define GEMM_BATCHED_EX_FAKE(name, wide) FAKE(GEMM_BATCHED_EX, fake_gemm_batched_ex, name, wide)
#define LT_MATMUL_FAKE(name, wide)  FAKE(LT_MATMUL, fake_lt_matmul, name, wide)
#define SPMM_FAKE(name, wide) /* cuSPARSE's: fake_cusparse.c */
#define SYMBOL(shape, name, wide) shape##_FAKE(name, wide)
#include "cublas/symbols.def"
/* clang-format on */

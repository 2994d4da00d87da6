/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A cuBLAS that computes nothing: it remembers what it was called with, and its cublasGemmEx calls
 * cublasSgemm_v2 through the dynamic linker, as the vendor's calls its own. Built several times, to stand for
 * different ones in a process, with versioned symbols as the vendor's are. */
#define _GNU_SOURCE
#include "fake_cublas.h"
#include "cublas/shapes.h"

#include <dlfcn.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

static _Thread_local fake_record_t record;

EXPORT fake_record_t fake_take(void);
fake_record_t fake_take(void)
{
    fake_record_t taken = record;
    memset(&record, 0, sizeof record);
    return taken;
}

static int note(const char *name, const void *caller, const int64_t *slot)
{
    Dl_info info;
    if (record.calls++ == 0) record.first = name;
    record.last = name;
    record.through_plugin =
        dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "liblacuna_cublas") != NULL;
    memcpy(record.slot, slot, sizeof record.slot);
    return FAKE_STATUS;
}

#define INTEGER(x) (w ? (x) : (int32_t)(x))
#define ADDRESS(x) (int64_t)(x)

static int fake_sgemm(const char *name, int w, const void *caller, SGEMM_PARAMS)
{
    return note(name, caller,
                (int64_t[FAKE_SLOTS]){ADDRESS(handle), ta, tb, INTEGER(m), INTEGER(n), INTEGER(k),
                                      ADDRESS(alpha), ADDRESS(a), INTEGER(lda), ADDRESS(b), INTEGER(ldb),
                                      ADDRESS(beta), ADDRESS(c), INTEGER(ldc)});
}

static int fake_sgemv(const char *name, int w, const void *caller, SGEMV_PARAMS)
{
    return note(name, caller,
                (int64_t[FAKE_SLOTS]){ADDRESS(handle), ta, INTEGER(m), INTEGER(n), ADDRESS(alpha), ADDRESS(a),
                                      INTEGER(lda), ADDRESS(x), INTEGER(incx), ADDRESS(beta), ADDRESS(y),
                                      INTEGER(incy)});
}

static int fake_sgemm_strided(const char *name, int w, const void *caller, SGEMM_STRIDED_PARAMS)
{
    return note(name, caller,
                (int64_t[FAKE_SLOTS]){ADDRESS(handle), ta, tb, INTEGER(m), INTEGER(n), INTEGER(k),
                                      ADDRESS(alpha), ADDRESS(a), INTEGER(lda), stride_a, ADDRESS(b),
                                      INTEGER(ldb), stride_b, ADDRESS(beta), ADDRESS(c), INTEGER(ldc),
                                      stride_c, INTEGER(count)});
}

static int fake_sgemm_batched(const char *name, int w, const void *caller, SGEMM_BATCHED_PARAMS)
{
    return note(name, caller,
                (int64_t[FAKE_SLOTS]){ADDRESS(handle), ta, tb, INTEGER(m), INTEGER(n), INTEGER(k),
                                      ADDRESS(alpha), ADDRESS(a), INTEGER(lda), ADDRESS(b), INTEGER(ldb),
                                      ADDRESS(beta), ADDRESS(c), INTEGER(ldc), INTEGER(count)});
}

EXPORT sgemm_fn cublasSgemm_v2;

static int fake_gemm_ex(const char *name, int w, const void *caller, GEMM_EX_PARAMS)
{
    int status = note(name, caller,
                      (int64_t[FAKE_SLOTS]){ADDRESS(handle), ta, tb, INTEGER(m), INTEGER(n), INTEGER(k),
                                            ADDRESS(alpha), ADDRESS(a), a_type, INTEGER(lda), ADDRESS(b),
                                            b_type, INTEGER(ldb), ADDRESS(beta), ADDRESS(c), c_type,
                                            INTEGER(ldc), compute, algo});
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
    return note(name, caller, (int64_t[FAKE_SLOTS]){ADDRESS(handle), ta,           tb,
                                                    INTEGER(m),      INTEGER(n),   INTEGER(k),
                                                    ADDRESS(alpha),  ADDRESS(a),   a_type,
                                                    INTEGER(lda),    stride_a,     ADDRESS(b),
                                                    b_type,          INTEGER(ldb), stride_b,
                                                    ADDRESS(beta),   ADDRESS(c),   c_type,
                                                    INTEGER(ldc),    stride_c,     INTEGER(count),
                                                    compute,         algo});
}

static int fake_lt_matmul(const char *name, const void *caller, LT_MATMUL_PARAMS)
{
    return note(name, caller,
                (int64_t[FAKE_SLOTS]){ADDRESS(handle), ADDRESS(desc), ADDRESS(alpha), ADDRESS(a),
                                      ADDRESS(a_layout), ADDRESS(b), ADDRESS(b_layout), ADDRESS(beta),
                                      ADDRESS(c), ADDRESS(c_layout), ADDRESS(d), ADDRESS(d_layout),
                                      ADDRESS(algo), ADDRESS(workspace), (int64_t)workspace_bytes,
                                      ADDRESS(stream)});
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

#define SGEMM(name, wide)           EXPORT sgemm_fn name;
#define SGEMV(name, wide)           EXPORT sgemv_fn name;
#define SGEMM_STRIDED(name, wide)   EXPORT sgemm_strided_fn name;
#define SGEMM_BATCHED(name, wide)   EXPORT sgemm_batched_fn name;
#define GEMM_EX(name, wide)         EXPORT gemm_ex_fn name;
#define GEMM_STRIDED_EX(name, wide) EXPORT gemm_strided_ex_fn name;
#define LT_MATMUL(name, wide)       EXPORT lt_matmul_fn name;
#define SPMM(name, wide) /* cuSPARSE's: fake_cusparse.c */
#include "cublas/symbols.def"
#undef SGEMM
#undef SGEMV
#undef SGEMM_STRIDED
#undef SGEMM_BATCHED
#undef GEMM_EX
#undef GEMM_STRIDED_EX
#undef LT_MATMUL

#define SGEMM(name, wide)           int name(SGEMM_PARAMS) { return fake_sgemm(#name, wide, CALLER, SGEMM_ARGS); }
#define SGEMV(name, wide)           int name(SGEMV_PARAMS) { return fake_sgemv(#name, wide, CALLER, SGEMV_ARGS); }
#define SGEMM_STRIDED(name, wide)   int name(SGEMM_STRIDED_PARAMS) { return fake_sgemm_strided(#name, wide, CALLER, SGEMM_STRIDED_ARGS); }
#define SGEMM_BATCHED(name, wide)   int name(SGEMM_BATCHED_PARAMS) { return fake_sgemm_batched(#name, wide, CALLER, SGEMM_BATCHED_ARGS); }
#define GEMM_EX(name, wide)         int name(GEMM_EX_PARAMS) { return fake_gemm_ex(#name, wide, CALLER, GEMM_EX_ARGS); }
#define GEMM_STRIDED_EX(name, wide) int name(GEMM_STRIDED_EX_PARAMS) { return fake_gemm_strided_ex(#name, wide, CALLER, GEMM_STRIDED_EX_ARGS); }
#define LT_MATMUL(name, wide)       int name(LT_MATMUL_PARAMS) { return fake_lt_matmul(#name, CALLER, LT_MATMUL_ARGS); }
#include "cublas/symbols.def"
/* clang-format on */

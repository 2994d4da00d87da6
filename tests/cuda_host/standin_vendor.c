/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The calls of cuBLAS and cuSPARSE that the backend makes, recorded as launches are. Built as libcublas.so.13
 * and as libcusparse.so.12, found at run time as those are. */
#include "standin.h"

#include <pthread.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct handle {
    void *stream;
    struct handle *next;
} handle_t;

/* Handles that were not destroyed: those that a reset of the device took are never. */
static handle_t *alive;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int made(void **what)
{
    int status = standin_end_vendor();
    *what = NULL;
    if (status) return status;
    handle_t *handle = calloc(1, sizeof *handle);
    if (!handle) abort();
    pthread_mutex_lock(&lock);
    handle->next = alive;
    alive = handle;
    pthread_mutex_unlock(&lock);
    *what = handle;
    standin_vendor_holds(1);
    return 0;
}

static int gone(const void *what)
{
    standin_vendor_holds(-1);
    pthread_mutex_lock(&lock);
    for (handle_t **at = &alive; *at; at = &(*at)->next)
        if (*at == what) {
            *at = (*at)->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    free((void *)(uintptr_t)what);
    return standin_end_vendor();
}

static void *stream_of(const void *handle)
{
    return ((const handle_t *)handle)->stream;
}

#ifdef STANDIN_CUBLAS

EXPORT int cublasCreate_v2(void **handle);
EXPORT int cublasCreate_v2(void **handle)
{
    standin_begin("cublasCreate", NULL);
    return made(handle);
}

EXPORT int cublasDestroy_v2(void *handle);
EXPORT int cublasDestroy_v2(void *handle)
{
    standin_begin("cublasDestroy", NULL);
    return gone(handle);
}

EXPORT int cublasSetStream_v2(void *handle, void *stream);
EXPORT int cublasSetStream_v2(void *handle, void *stream)
{
    ((handle_t *)handle)->stream = stream;
    standin_begin("cublasSetStream", stream);
    return standin_end_vendor();
}

EXPORT int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes);
EXPORT int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes)
{
    standin_begin("cublasSetWorkspace", stream_of(handle));
    standin_note_pointer("workspace", workspace);
    standin_note_integer("bytes", (int64_t)bytes);
    if (standin_extent(workspace) < bytes) standin_breach("cublasSetWorkspace: more than there is");
    return standin_end_vendor();
}

EXPORT int cublasSetMathMode(void *handle, int mode);
EXPORT int cublasSetMathMode(void *handle, int mode)
{
    standin_begin("cublasSetMathMode", stream_of(handle));
    standin_note_integer("mode", mode);
    return standin_end_vendor();
}

EXPORT int cublasSetPointerMode_v2(void *handle, int mode);
EXPORT int cublasSetPointerMode_v2(void *handle, int mode)
{
    standin_begin("cublasSetPointerMode", stream_of(handle));
    standin_note_integer("mode", mode);
    return standin_end_vendor();
}

EXPORT int cublasGetVersion_v2(void *handle, int *version);
EXPORT int cublasGetVersion_v2(void *handle, int *version)
{
    (void)handle;
    *version = 130100;
    return 0;
}

/* A matrix by columns, m x k after the operation. */
static void expect(const char *name, const void *x, int64_t size, int trans, int64_t rows, int64_t cols,
                   int64_t ld)
{
    int64_t lines = trans ? rows : cols, length = trans ? cols : rows, offset = standin_offset(x);
    if (ld < length && lines > 1) standin_breach("%s: a leading dimension below the line", name);
    if (offset < 0 || (size_t)(offset + size * ((lines - 1) * ld + length)) > standin_extent(x))
        standin_breach("%s: an operand that leaves its allocation", name);
}

enum { R_64F = 1 };

static int64_t size_of(int type)
{
    return type == R_64F ? 8 : type == 0 ? 4 : 2; /* CUDA_R_32F, or one of two bytes */
}

static void note(int ta, int tb, int64_t m, int64_t n, int64_t k, const void *a, int a_type, int64_t lda,
                 const void *b, int b_type, int64_t ldb, const void *c, int c_type, int64_t ldc)
{
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {{"ta", ta}, {"tb", tb},   {"m", m},     {"n", n},
                   {"k", k},   {"lda", lda}, {"ldb", ldb}, {"ldc", ldc}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        standin_note_integer(numbers[i].key, numbers[i].value);
    standin_note_pointer("a", a), standin_note_pointer("b", b), standin_note_pointer("c", c);
    expect("gemm: a", a, size_of(a_type), ta, m, k, lda);
    expect("gemm: b", b, size_of(b_type), tb, k, n, ldb);
    expect("gemm: c", c, size_of(c_type), 0, m, n, ldc);
}

EXPORT int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
                          const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
                          int ldc);
EXPORT int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
                          const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
                          int ldc)
{
    standin_begin("cublasSgemm", stream_of(handle));
    note(ta, tb, m, n, k, a, 0, lda, b, 0, ldb, c, 0, ldc);
    standin_note_real("alpha", (double)*alpha), standin_note_real("beta", (double)*beta);
    return standin_end_vendor();
}

EXPORT int cublasSgemm_v2_64(void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k,
                             const float *alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                             const float *beta, float *c, int64_t ldc);
EXPORT int cublasSgemm_v2_64(void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k,
                             const float *alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                             const float *beta, float *c, int64_t ldc)
{
    standin_begin("cublasSgemm_64", stream_of(handle));
    note(ta, tb, m, n, k, a, 0, lda, b, 0, ldb, c, 0, ldc);
    standin_note_real("alpha", (double)*alpha), standin_note_real("beta", (double)*beta);
    return standin_end_vendor();
}

EXPORT int cublasDgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const double *alpha,
                          const double *a, int lda, const double *b, int ldb, const double *beta, double *c,
                          int ldc);
EXPORT int cublasDgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const double *alpha,
                          const double *a, int lda, const double *b, int ldb, const double *beta, double *c,
                          int ldc)
{
    standin_begin("cublasDgemm", stream_of(handle));
    note(ta, tb, m, n, k, a, R_64F, lda, b, R_64F, ldb, c, R_64F, ldc);
    standin_note_real("alpha", *alpha), standin_note_real("beta", *beta);
    return standin_end_vendor();
}

static void note_types(int a_type, int b_type, int c_type, int compute, int algo)
{
    const struct {
        const char *key;
        int value;
    } types[] = {
        {"a_type", a_type}, {"b_type", b_type}, {"c_type", c_type}, {"compute", compute}, {"algo", algo}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        standin_note_integer(types[i].key, types[i].value);
}

EXPORT int cublasGemmEx_64(void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const void *alpha,
                           const void *a, int a_type, int64_t lda, const void *b, int b_type, int64_t ldb,
                           const void *beta, void *c, int c_type, int64_t ldc, int compute, int algo);
EXPORT int cublasGemmEx_64(void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const void *alpha,
                           const void *a, int a_type, int64_t lda, const void *b, int b_type, int64_t ldb,
                           const void *beta, void *c, int c_type, int64_t ldc, int compute, int algo)
{
    standin_begin("cublasGemmEx_64", stream_of(handle));
    note(ta, tb, m, n, k, a, a_type, lda, b, b_type, ldb, c, c_type, ldc);
    note_types(a_type, b_type, c_type, compute, algo);
    standin_note_real("alpha", (double)*(const float *)alpha);
    standin_note_real("beta", (double)*(const float *)beta);
    return standin_end_vendor();
}

EXPORT int cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                        int a_type, int lda, const void *b, int b_type, int ldb, const void *beta, void *c,
                        int c_type, int ldc, int compute, int algo);
EXPORT int cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                        int a_type, int lda, const void *b, int b_type, int ldb, const void *beta, void *c,
                        int c_type, int ldc, int compute, int algo)
{
    return cublasGemmEx_64(handle, ta, tb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type,
                           ldc, compute, algo);
}

EXPORT int cublasSgemmStridedBatched(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
                                     const float *a, int lda, long long a_step, const float *b, int ldb,
                                     long long b_step, const float *beta, float *c, int ldc, long long c_step,
                                     int count);
EXPORT int cublasSgemmStridedBatched(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
                                     const float *a, int lda, long long a_step, const float *b, int ldb,
                                     long long b_step, const float *beta, float *c, int ldc, long long c_step,
                                     int count)
{
    standin_begin("cublasSgemmStridedBatched", stream_of(handle));
    note(ta, tb, m, n, k, a, 0, lda, b, 0, ldb, c, 0, ldc);
    standin_note_real("alpha", (double)*alpha), standin_note_real("beta", (double)*beta);
    standin_note_integer("a_step", a_step), standin_note_integer("b_step", b_step);
    standin_note_integer("c_step", c_step), standin_note_integer("count", count);
    return standin_end_vendor();
}

EXPORT int cublasGemmStridedBatchedEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                                      const void *a, int a_type, int lda, long long a_step, const void *b,
                                      int b_type, int ldb, long long b_step, const void *beta, void *c,
                                      int c_type, int ldc, long long c_step, int count, int compute,
                                      int algo);
EXPORT int cublasGemmStridedBatchedEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                                      const void *a, int a_type, int lda, long long a_step, const void *b,
                                      int b_type, int ldb, long long b_step, const void *beta, void *c,
                                      int c_type, int ldc, long long c_step, int count, int compute, int algo)
{
    standin_begin("cublasGemmStridedBatchedEx", stream_of(handle));
    note(ta, tb, m, n, k, a, a_type, lda, b, b_type, ldb, c, c_type, ldc);
    note_types(a_type, b_type, c_type, compute, algo);
    standin_note_real("alpha", (double)*(const float *)alpha);
    standin_note_real("beta", (double)*(const float *)beta);
    standin_note_integer("a_step", a_step), standin_note_integer("b_step", b_step);
    standin_note_integer("c_step", c_step), standin_note_integer("count", count);
    return standin_end_vendor();
}

#else

EXPORT int cusparseCreate(void **handle);
EXPORT int cusparseCreate(void **handle)
{
    standin_begin("cusparseCreate", NULL);
    return made(handle);
}

EXPORT int cusparseDestroy(void *handle);
EXPORT int cusparseDestroy(void *handle)
{
    standin_begin("cusparseDestroy", NULL);
    return gone(handle);
}

EXPORT int cusparseSetStream(void *handle, void *stream);
EXPORT int cusparseSetStream(void *handle, void *stream)
{
    ((handle_t *)handle)->stream = stream;
    standin_begin("cusparseSetStream", stream);
    return standin_end_vendor();
}

EXPORT int cusparseGetVersion(void *handle, int *version);
EXPORT int cusparseGetVersion(void *handle, int *version)
{
    (void)handle;
    *version = 12600;
    return 0;
}

EXPORT int cusparseCreateCsr(void **matrix, int64_t rows, int64_t cols, int64_t nnz, void *ptr, void *idx,
                             void *val, int ptr_type, int idx_type, int base, int value_type);
EXPORT int cusparseCreateCsr(void **matrix, int64_t rows, int64_t cols, int64_t nnz, void *ptr, void *idx,
                             void *val, int ptr_type, int idx_type, int base, int value_type)
{
    standin_begin("cusparseCreateCsr", NULL);
    standin_note_integer("rows", rows), standin_note_integer("cols", cols), standin_note_integer("nnz", nnz);
    standin_note_pointer("ptr", ptr), standin_note_pointer("idx", idx), standin_note_pointer("val", val);
    standin_note_integer("types", ptr_type * 1000 + idx_type * 100 + base * 10 + value_type);
    return made(matrix);
}

EXPORT int cusparseDestroySpMat(const void *matrix);
EXPORT int cusparseDestroySpMat(const void *matrix)
{
    standin_begin("cusparseDestroySpMat", NULL);
    return gone(matrix);
}

EXPORT int cusparseCreateDnMat(void **matrix, int64_t rows, int64_t cols, int64_t ld, void *values, int type,
                               int order);
EXPORT int cusparseCreateDnMat(void **matrix, int64_t rows, int64_t cols, int64_t ld, void *values, int type,
                               int order)
{
    standin_begin("cusparseCreateDnMat", NULL);
    standin_note_integer("rows", rows), standin_note_integer("cols", cols), standin_note_integer("ld", ld);
    standin_note_pointer("values", values);
    standin_note_integer("types", type * 10 + order);
    return made(matrix);
}

EXPORT int cusparseDestroyDnMat(const void *matrix);
EXPORT int cusparseDestroyDnMat(const void *matrix)
{
    standin_begin("cusparseDestroyDnMat", NULL);
    return gone(matrix);
}

EXPORT int cusparseDnMatSetValues(void *matrix, void *values);
EXPORT int cusparseDnMatSetValues(void *matrix, void *values)
{
    (void)matrix;
    standin_begin("cusparseDnMatSetValues", NULL);
    standin_note_pointer("values", values);
    return standin_end_vendor();
}

EXPORT int cusparseSpMM_bufferSize(void *handle, int op_a, int op_b, const void *alpha, const void *a,
                                   const void *b, const void *beta, void *c, int type, int algorithm,
                                   size_t *bytes);
EXPORT int cusparseSpMM_bufferSize(void *handle, int op_a, int op_b, const void *alpha, const void *a,
                                   const void *b, const void *beta, void *c, int type, int algorithm,
                                   size_t *bytes)
{
    (void)op_a, (void)op_b, (void)alpha, (void)a, (void)b, (void)beta, (void)c, (void)type, (void)algorithm;
    *bytes = 1000;
    standin_begin("cusparseSpMM_bufferSize", stream_of(handle));
    return standin_end_vendor();
}

static int product(const char *name, void *handle, const void *alpha, const void *beta, int algorithm,
                   void *buffer)
{
    standin_begin(name, stream_of(handle));
    standin_note_real("alpha", (double)*(const float *)alpha);
    standin_note_real("beta", (double)*(const float *)beta);
    standin_note_integer("algorithm", algorithm);
    standin_note_pointer("buffer", buffer);
    if (standin_extent(buffer) < 1000) standin_breach("%s: a buffer that is too small", name);
    return standin_end_vendor();
}

EXPORT int cusparseSpMM_preprocess(void *handle, int op_a, int op_b, const void *alpha, const void *a,
                                   const void *b, const void *beta, void *c, int type, int algorithm,
                                   void *buffer);
EXPORT int cusparseSpMM_preprocess(void *handle, int op_a, int op_b, const void *alpha, const void *a,
                                   const void *b, const void *beta, void *c, int type, int algorithm,
                                   void *buffer)
{
    (void)op_a, (void)op_b, (void)a, (void)b, (void)c, (void)type;
    return product("cusparseSpMM_preprocess", handle, alpha, beta, algorithm, buffer);
}

EXPORT int cusparseSpMM(void *handle, int op_a, int op_b, const void *alpha, const void *a, const void *b,
                        const void *beta, void *c, int type, int algorithm, void *buffer);
EXPORT int cusparseSpMM(void *handle, int op_a, int op_b, const void *alpha, const void *a, const void *b,
                        const void *beta, void *c, int type, int algorithm, void *buffer)
{
    (void)op_a, (void)op_b, (void)a, (void)b, (void)c, (void)type;
    return product("cusparseSpMM", handle, alpha, beta, algorithm, buffer);
}

#endif

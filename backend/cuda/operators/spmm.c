/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * cuSPARSE's SpMM with its descriptors and its preprocessing of the matrix kept.
 *
 * Only algorithm CSR_ALG3 with B and C by rows, the fastest and the least fickle for CSR. 4096^3 at 1 / 5 /
 * 10 %: 263 / 915 / 2068 us, ALG2 340 / 1503 / 2939; with C by columns 802 / 2141 / 6397; without
 * preprocessing 331 / 1013 / 2341. There its bits were the same in 10 of 10 runs, where those of ALG1 and
 * ALG2 never were; but with few rows of some hundred nonzeros and more they differed too (8 x 1515 x 1175 at
 * 30 %, 2 x 2279 x 641 at 70 %), which speaks for atomics where a row is divided (H200, CUDA 13.0,
 * cuSPARSE 12.6; 2026-11-21).
 */
#include "spmm.h"
#include "cuda/runtime/capture.h"
#include "base/library.h"
#include "base/status.h"
#include "cuda/routes/gather.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRODUCTS  256 /* kept per exec                                    */
#define ALIGNMENT 16u /* that cuSPARSE asks of the arrays of a CSR matrix */

enum { INDEX_32 = 2, BASE_ZERO = 0, REAL_32 = 0, BY_ROWS = 2, NOT_TRANSPOSED = 0, CSR_ALG3 = 12 };

static pthread_once_t searched = PTHREAD_ONCE_INIT;
static lac_cusparse_t cusparse;

static void search(void)
{
    static const char *const names[] = {"libcusparse.so.12", "libcusparse.so.13", "libcusparse.so", NULL};
    static const lac_library_call_t calls[] = {{"cusparseCreate", &cusparse.create, false},
                                               {"cusparseDestroy", &cusparse.destroy, false},
                                               {"cusparseSetStream", &cusparse.set_stream, false},
                                               {"cusparseGetVersion", &cusparse.version, false},
                                               {"cusparseCreateCsr", &cusparse.create_csr, false},
                                               {"cusparseDestroySpMat", &cusparse.destroy_csr, false},
                                               {"cusparseCreateDnMat", &cusparse.create_dense, false},
                                               {"cusparseDestroyDnMat", &cusparse.destroy_dense, false},
                                               {"cusparseDnMatSetValues", &cusparse.set_values, false},
                                               {"cusparseSpMM_bufferSize", &cusparse.buffer_size, false},
                                               {"cusparseSpMM_preprocess", &cusparse.preprocess, false},
                                               {"cusparseSpMM", &cusparse.spmm, false},
                                               {NULL, NULL, false}};
    void *library = lac_library_open(names, cusparse.missing, sizeof cusparse.missing);
    cusparse.found =
        library && lac_library_take(library, "cuSPARSE", calls, cusparse.missing, sizeof cusparse.missing);
}

const lac_cusparse_t *lac_cusparse(void)
{
    pthread_once(&searched, search);
    return &cusparse;
}

typedef struct product {
    lac_cuda_spmm_key_t key;
    void *a, *b, *c;                /* descriptors                                          */
    void *ptr, *idx, *val, *buffer; /* arrays of its own; idx and val only where needed     */
    size_t bytes;                   /* of them                                              */
    uint64_t used;                  /* by the exec's clock; 0: an empty slot                */
    bool captured;                  /* a recording may use it: it stays                     */
} product_t;

struct lac_cuda_spmm {
    void *handle;
    uint64_t clock;
    product_t product[PRODUCTS];
};

static lac_status_t reported(int status, const char *what)
{
    return status ? lac_fail(LAC_ERR_VENDOR, "%s: cuSPARSE status %d", what, status) : LAC_OK;
}

static void drop(product_t *x)
{
    if (x->a) cusparse.destroy_csr(x->a);
    if (x->b) cusparse.destroy_dense(x->b);
    if (x->c) cusparse.destroy_dense(x->c);
    void *arrays[] = {x->ptr, x->idx, x->val, x->buffer};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) cudaFree(arrays[i]);
    *x = (product_t){0};
}

static lac_status_t own(product_t *x, size_t bytes, void **memory)
{
    x->bytes += bytes;
    return lac_cuda_check_error(cudaMalloc(memory, bytes ? bytes : 1), "cuSPARSE product");
}

/* An array of A as cuSPARSE takes it: the given one, or an aligned copy, or ones where there are no values.
 */
static lac_status_t array_of(lac_exec_t *exec, product_t *x, const void *given, int64_t count, void **mine,
                             const void **array)
{
    size_t bytes = (size_t)count * sizeof(float);
    *array = given;
    if (given && (uintptr_t)given % ALIGNMENT == 0) return LAC_OK;
    lac_status_t status = own(x, bytes, mine);
    *array = *mine;
    if (status) return status;
    if (!given) return lac_cuda_launched(lac_cuda_fill(count, 1.0f, *mine, exec->stream), "cuSPARSE product");
    return lac_cuda_check_error(cudaMemcpyAsync(*mine, given, bytes, cudaMemcpyDeviceToDevice, exec->stream),
                                "cuSPARSE product");
}

static lac_status_t make(lac_exec_t *exec, product_t *x, const lac_cuda_spmm_key_t *key,
                         const lac_cuda_csr_t *a, const float *b, float *c)
{
    const void *idx, *val;
    float one = 1.0f, zero = 0.0f;
    size_t bytes = 0;
    *x = (product_t){.key = *key};
    lac_status_t status = own(x, (size_t)(key->m + 1) * sizeof(int32_t), &x->ptr);
    if (!status)
        status =
            lac_cuda_launched(lac_cuda_narrow(key->m + 1, a->ptr, x->ptr, exec->stream), "cuSPARSE product");
    if (!status) status = array_of(exec, x, a->idx, a->nnz, &x->idx, &idx);
    if (!status) status = array_of(exec, x, a->val, a->nnz, &x->val, &val);
    if (!status)
        status = reported(cusparse.create_csr(&x->a, key->m, key->k, a->nnz, x->ptr, (void *)(uintptr_t)idx,
                                              (void *)(uintptr_t)val, INDEX_32, INDEX_32, BASE_ZERO, REAL_32),
                          "CSR");
    if (!status)
        status = reported(
            cusparse.create_dense(&x->b, key->k, key->n, key->ldb, (void *)(uintptr_t)b, REAL_32, BY_ROWS),
            "B");
    if (!status)
        status = reported(cusparse.create_dense(&x->c, key->m, key->n, key->ldc, c, REAL_32, BY_ROWS), "C");
    void *handle = exec->sparse->handle;
    if (!status)
        status = reported(cusparse.buffer_size(handle, NOT_TRANSPOSED, NOT_TRANSPOSED, &one, x->a, x->b,
                                               &zero, x->c, REAL_32, CSR_ALG3, &bytes),
                          "buffer");
    if (!status) status = own(x, bytes, &x->buffer);
    if (!status)
        status = reported(cusparse.preprocess(handle, NOT_TRANSPOSED, NOT_TRANSPOSED, &one, x->a, x->b, &zero,
                                              x->c, REAL_32, CSR_ALG3, x->buffer),
                          "preprocessing");
    if (status) drop(x);
    return status;
}

static lac_status_t multiply(lac_exec_t *exec, const product_t *x, float alpha, const float *b, float beta,
                             float *c)
{
    lac_status_t status = reported(cusparse.set_values(x->b, (void *)(uintptr_t)b), "B");
    if (!status) status = reported(cusparse.set_values(x->c, c), "C");
    if (status) return status;
    return reported(cusparse.spmm(exec->sparse->handle, NOT_TRANSPOSED, NOT_TRANSPOSED, &alpha, x->a, x->b,
                                  &beta, x->c, REAL_32, CSR_ALG3, x->buffer),
                    "SpMM");
}

static product_t *kept(lac_exec_t *exec, const lac_cuda_spmm_key_t *key)
{
    for (int i = 0; i < PRODUCTS; i++) {
        product_t *x = &exec->sparse->product[i];
        if (x->used && x->key.serial == key->serial && !memcmp(&x->key, key, sizeof *key)) return x;
    }
    return NULL;
}

/* An empty slot, or that of the least recently used product that no recording uses; NULL: there is none. */
static product_t *slot_for(lac_exec_t *exec)
{
    product_t *oldest = NULL;
    for (int i = 0; i < PRODUCTS; i++) {
        product_t *x = &exec->sparse->product[i];
        if (!x->captured && (!oldest || x->used < oldest->used)) oldest = x;
    }
    if (oldest && oldest->used) {
        cudaStreamSynchronize(exec->stream); /* what is under way may use it */
        drop(oldest);
    }
    return oldest;
}

static lac_status_t open_handle(lac_exec_t *exec)
{
    if (exec->sparse) return LAC_OK;
    if (!lac_cusparse()->found) return lac_fail(LAC_ERR_UNAVAILABLE, "cuSPARSE: %s", cusparse.missing);
    struct lac_cuda_spmm *made = calloc(1, sizeof *made);
    if (!made) return lac_fail(LAC_ERR_MEMORY, "cuSPARSE: out of memory");
    lac_status_t status = reported(cusparse.create(&made->handle), "create");
    if (!status) status = reported(cusparse.set_stream(made->handle, exec->stream), "stream");
    if (!status) {
        exec->sparse = made;
        return LAC_OK;
    }
    if (made->handle) cusparse.destroy(made->handle);
    free(made);
    return status;
}

static lac_status_t multiply_once(lac_exec_t *exec, const lac_cuda_spmm_key_t *key, const lac_cuda_csr_t *a,
                                  float alpha, const float *b, float beta, float *c)
{
    product_t once;
    lac_status_t status = make(exec, &once, key, a, b, c);
    if (status) return status;
    if (!exec->preparing) status = multiply(exec, &once, alpha, b, beta, c);
    if (!status) status = lac_cuda_check_error(cudaStreamSynchronize(exec->stream), "stream");
    drop(&once);
    return status;
}

static lac_status_t run(lac_exec_t *exec, const lac_cuda_spmm_key_t *key, const lac_cuda_csr_t *a,
                        float alpha, const float *b, float beta, float *c, bool *declined)
{
    bool fixed = lac_cuda_capturing(exec);
    if (fixed && !exec->sparse) return (*declined = true), LAC_OK;
    lac_status_t status = open_handle(exec);
    if (status) return status;
    product_t *x = key->serial ? kept(exec, key) : NULL;
    if (!x && fixed) return (*declined = true), LAC_OK;
    if (!key->serial) return multiply_once(exec, key, a, alpha, b, beta, c);
    product_t *slot = x ? x : slot_for(exec);
    if (!slot) return (*declined = true), LAC_OK;
    if (!x && (status = make(exec, slot, key, a, b, c))) return status;
    slot->used = ++exec->sparse->clock;
    slot->captured |= fixed;
    return exec->preparing ? LAC_OK : multiply(exec, slot, alpha, b, beta, c);
}

lac_status_t lac_cuda_spmm(lac_exec_t *exec, const lac_cuda_spmm_key_t *key, const lac_cuda_csr_t *a,
                           float alpha, const float *b, float beta, float *c, bool *declined)
{
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    lac_status_t status = run(exec, key, a, alpha, b, beta, c, declined);
    lac_cuda_capture_relaxed_end(mode);
    return status;
}

int lac_cuda_spmm_version(lac_exec_t *exec)
{
    int version = 0;
    if (!lac_cusparse()->found || open_handle(exec) || cusparse.version(exec->sparse->handle, &version))
        return 0;
    return version;
}

size_t lac_cuda_spmm_held(const lac_exec_t *exec)
{
    size_t bytes = 0;
    for (int i = 0; exec->sparse && i < PRODUCTS; i++) bytes += exec->sparse->product[i].bytes;
    return bytes;
}

void lac_cuda_spmm_close(lac_exec_t *exec)
{
    if (!exec->sparse) return;
    for (int i = 0; i < PRODUCTS; i++) drop(&exec->sparse->product[i]);
    cusparse.destroy(exec->sparse->handle);
    free(exec->sparse);
    exec->sparse = NULL;
}

/* The kernels that take the entries of a row as they come: neither relies on their order. */

/* Where the pieces of the workspace lie; empty ones take nothing. */
typedef struct layout {
    bool transposed;
    int64_t ldw; /* of a transposed B */
    size_t ptr, idx, w;
    size_t by_rows; /* the rows of A where the arrays hold its columns, and what making them takes */
} layout_t;

static int64_t stored_rows(const lac_spmm_t *x)
{
    return x->trans == LAC_TRANS ? x->k : x->m;
}

static size_t pointers(int64_t rows)
{
    return lac_cuda_piece((size_t)(rows + 1) * sizeof(int64_t));
}

static size_t entries(const lac_spmm_t *x)
{
    return lac_cuda_piece((size_t)x->nnz * sizeof(float));
}

static layout_t lay_out(const lac_spmm_t *x)
{
    layout_t l = {.transposed = x->csb != 1 && x->n > LAC_CUDA_NARROW_MAX, .ldw = (x->n + 3) / 4 * 4};
    if (x->ptr_type == LAC_I32) l.ptr = pointers(stored_rows(x));
    if (x->idx_type == LAC_I64) l.idx = entries(x);
    if (l.transposed) l.w = lac_cuda_piece((size_t)x->k * (size_t)l.ldw * sizeof(float));
    if (x->trans == LAC_TRANS)
        l.by_rows = pointers(x->m) + 2 * entries(x) + (size_t)lac_cuda_csr_to_csc_bytes(x->m, x->nnz);
    return l;
}

/* The rows of A from its columns; in order, though nobody relies on it. */
static lac_status_t csr_to_csc(lac_exec_t *exec, const lac_spmm_t *x, char *memory, lac_cuda_csr_t *csr)
{
    int64_t *ptr = (int64_t *)(void *)memory;
    int32_t *idx = (int32_t *)(void *)(memory + pointers(x->m));
    float *val = (float *)(void *)((char *)idx + entries(x));
    void *scratch = (char *)val + entries(x);
    lac_status_t status =
        lac_cuda_launched(lac_cuda_csr_to_csc(x->k, x->m, csr, ptr, idx, val, scratch, exec->stream), "rows");
    *csr = (lac_cuda_csr_t){ptr, idx, val, x->nnz, false};
    return status;
}

static lac_status_t lay_out_rows(lac_exec_t *exec, const lac_spmm_t *x, const layout_t *l, char *memory,
                                 lac_cuda_csr_t *csr)
{
    int64_t *ptr = (int64_t *)(void *)memory;
    int32_t *idx = (int32_t *)(void *)(memory + l->ptr);
    lac_status_t status = LAC_OK;
    *csr = (lac_cuda_csr_t){l->ptr ? ptr : x->ptr, l->idx ? idx : x->idx, x->val, x->nnz, false};
    if (l->ptr) status = lac_cuda_widen(stored_rows(x) + 1, x->ptr, ptr, exec->stream);
    if (!status && l->idx) status = lac_cuda_narrow(x->nnz, x->idx, idx, exec->stream);
    if (!status && l->by_rows) status = csr_to_csc(exec, x, memory + l->ptr + l->idx + l->w, csr);
    return lac_cuda_launched(status, "rows");
}

/* B by rows, of any length. */
static lac_status_t multiply_arrays(lac_exec_t *exec, const lac_spmm_t *x, const lac_cuda_product_t *p,
                                    const lac_cuda_csr_t *csr)
{
    if (x->n <= LAC_CUDA_NARROW_MAX) return lac_cuda_spmm_narrow(p, csr, exec->stream);
    bool aligned = p->order == LAC_CUDA_ROWS && x->n % 4 == 0 && p->ldw % 4 == 0 && (uintptr_t)p->w % 16 == 0;
    if (aligned && lac_cuda_wide_wins((double)x->m, (double)x->n, (double)x->k, (double)x->nnz, p->cs != 1,
                                      exec->machine))
        return lac_cuda_spmm_wide(p, csr, exec->stream);
    return lac_cuda_event_csr(p, csr, NULL, exec->stream);
}

lac_status_t lac_cuda_spmm_arrays(lac_exec_t *exec, const lac_spmm_t *x)
{
    bool there = x->scalars == LAC_DEVICE, by_rows = x->csb == 1;
    layout_t l = lay_out(x);
    lac_cuda_csr_t csr;
    char *memory;
    lac_cuda_product_t product = {.m = x->m, .n = x->n, .k = x->k, .w = x->b, .out = x->c};
    product.alpha = (lac_cuda_scalar_t){there ? x->alpha : NULL, {there ? 1.0f : *x->alpha}};
    product.beta = (lac_cuda_scalar_t){there ? x->beta : NULL, {there ? 1.0f : *x->beta}};
    product.rs = x->rsc, product.cs = x->csc;
    product.order = by_rows || l.transposed ? LAC_CUDA_ROWS : LAC_CUDA_COLS;
    product.ldw = l.transposed ? l.ldw : by_rows ? x->rsb : x->csb;
    lac_status_t status = lac_cuda_work(exec, l.ptr + l.idx + l.w + l.by_rows + 1, (void **)&memory);
    if (!status) status = lay_out_rows(exec, x, &l, memory, &csr);
    if (!status && l.transposed) {
        lac_cuda_matrix_t b = {LAC_F32, x->b, x->k, x->n, x->rsb, x->csb};
        float *w = (float *)(void *)(memory + l.ptr + l.idx);
        product.w = w;
        status = lac_cuda_launched(lac_cuda_copy(&b, 0.0f, LAC_F32, w, l.ldw, 1, exec->stream), "csr");
    }
    if (status) return status;
    return lac_cuda_launched(multiply_arrays(exec, x, &product, &csr), "csr");
}

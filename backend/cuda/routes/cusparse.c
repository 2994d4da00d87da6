/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The cusparse route: the vendor's product of a CSR matrix with a dense one.

 Serves only where it was asked for by name, or to be compared with: rows of some hundred nonzeros and more
 come out with other last bits from run to run (spmm.c). cuSPARSE wants the number of nonzeros on the
 host, so the rows come from metadata, or are counted and filled for the one call, which then waits. B and C
 are by rows, everything else is several times slower: a W or an output that lies otherwise passes through the
 workspace. */
#include "cuda/formats/dense_view.h"
#include "routes.h"
#include "csr.h"
#include "cuda/operators/spmm.h"
#include "cuda/runtime/vendor.h"
#include "base/status.h"

#define ROWS_ALONE    10.0 /* of S, that find nothing of W in each other's cache      */
#define ROWS_TOGETHER 110.0
#define FEW_ROWS      0.25       /* of the full rate, for so few rows                       */
#define BUFFER_BYTES  (64 << 10) /* that cuSPARSE keeps for a product: 32 KB were seen at 4096 rows */

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    lac_refusal_t refusal = lac_sparse_refusal(p, &s, 0);
    lac_cuda_rows_source_t source = lac_cuda_rows_source(&s);
    double nnz = s.s->density * (double)s.m * (double)s.k;
    bool indices = s.m < INT32_MAX && s.k < INT32_MAX && s.n < INT32_MAX && nnz < 0.9 * INT32_MAX;
    if (refusal != LAC_FITS) return refusal;
    if (p->dt == LAC_F64) return LAC_REFUSED_DOUBLES;
    if (lac_problem_guarantees(p)) return LAC_REFUSED_SKIP_GUARANTEED; /* an Inf met no entry, and was NaN */
    if (!p->terms.named) return LAC_REFUSED_FORCED_ONLY;
    if (p->alpha_at) return LAC_REFUSED_SCALARS;
    if (!lac_cusparse()->found) return LAC_REFUSED_NO_CUSPARSE;
    if (source == LAC_CUDA_ROWS_NOWHERE) return LAC_REFUSED_NO_FORMAT;
    if (!indices) return LAC_REFUSED_INDEX_RANGE;
    return LAC_FITS;
}

/* A matrix by rows whose every row is 16-byte aligned: cuSPARSE tests the pointer and the extent, not the
 * leading dimension, before it loads 16 bytes (n = 8, ldc = 11 was a misaligned address; cuSPARSE 12.6). */
static bool serves(const void *buf, lac_inc_t rs, lac_inc_t cs, lac_dim_t rows, lac_dim_t cols)
{
    bool by_rows = cs == 1 || cols == 1, apart = rs >= cols && rs % 4 == 0;
    return by_rows && (apart || rows == 1) && (uintptr_t)buf % 16 == 0;
}

static bool w_serves(const lac_sided_t *s)
{
    return serves(s->w->buf, s->wrs, s->wcs, s->k, s->n);
}

static bool out_serves(const lac_problem_t *p, const lac_sided_t *s)
{
    return serves(p->c, s->ors, s->ocs, s->m, s->n);
}

/* The leading dimension of a copy. */
static int64_t padded(lac_dim_t n)
{
    return (n + 3) / 4 * 4;
}

static size_t transposed_bytes(const lac_sided_t *s)
{
    return w_serves(s) ? 0 : lac_cuda_piece((size_t)s->k * (size_t)padded(s->n) * sizeof(float));
}

static size_t out_bytes(const lac_problem_t *p, const lac_sided_t *s)
{
    return out_serves(p, s) ? 0 : lac_cuda_piece((size_t)s->m * (size_t)padded(s->n) * sizeof(float));
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    lac_sided_t s = lac_sided(p, route->side);
    double m = (double)s.m, n = (double)s.n,
           columns = s.n == 1 ? 13.0 : (n < 32.0 ? 32.0 : n) + 20.0; /* that an event costs */
    double shared = m < ROWS_ALONE      ? 0.0
                    : m > ROWS_TOGETHER ? 1.0
                                        : (m - ROWS_ALONE) / (ROWS_TOGETHER - ROWS_ALONE);
    double rate = machine->cuda_spmm_events * (s.n < 32 ? 1.0 : FEW_ROWS + (1.0 - FEW_ROWS) * shared);
    double worked = s.s->density * (double)s.m * (double)s.k * columns / (rate * 1e3);
    double copied = 2.0 * (double)transposed_bytes(&s) + 3.0 * (double)out_bytes(p, &s);
    double moved = 4.0 * lac_active_fraction(s.s->density, (double)s.m) * (double)s.k * n /
                   (machine->cuda_dram_gbps * 1e3);
    double product = worked > moved ? worked + 0.35 * moved : moved + 0.35 * worked;
    double out = 4.0 * (double)s.m * n / (machine->cuda_spmm_out_gbps * 1e3);
    double waits = lac_cuda_rows_source(&s) == LAC_CUDA_ROWS_BUILT ? machine->cuda_wait_us : 0.0;
    return machine->cuda_spmm_us + product + out + copied / (machine->cuda_dram_gbps * 1e3) + waits +
           lac_cuda_rows_us(&s, true, machine);
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    lac_sided_t s = lac_sided(p, route->side);
    return transposed_bytes(&s) + out_bytes(p, &s) + lac_cuda_rows_bytes(&s, true) +
           lac_cuda_format_bytes(s.s, lac_sided_by_rows(&s)) + BUFFER_BYTES +
           (size_t)(s.m + 1) * sizeof(int32_t);
}

static lac_status_t read_count(lac_exec_t *exec, int64_t rows, lac_cuda_csr_t *csr)
{
    lac_status_t status = lac_cuda_check_error(
        cudaMemcpyAsync(&csr->nnz, csr->ptr + rows, sizeof csr->nnz, cudaMemcpyDeviceToHost, exec->stream),
        "cusparse");
    return status ? status : lac_cuda_check_error(cudaStreamSynchronize(exec->stream), "cusparse");
}

/* The rows with their exact number of nonzeros; csr->ptr stays NULL where they cannot be had under capture.
 */
static lac_status_t find_rows(lac_exec_t *exec, const lac_sided_t *s, char *memory, lac_cuda_csr_t *csr,
                              lac_cuda_spmm_key_t *key)
{
    const lac_format_data_t *format;
    *csr = (lac_cuda_csr_t){0};
    if (lac_cuda_rows_source(s) == LAC_CUDA_ROWS_BUILT) {
        void *dense;
        if (lac_cuda_capturing(exec)) return LAC_OK;
        /* The dense route serves where the same call is captured. */
        if (lac_cublas()->found) lac_cublas_handle(exec, &dense);
        lac_status_t status = lac_cuda_rows_build(exec, s, true, memory, csr);
        return status ? status : read_count(exec, s->m, csr);
    }
    lac_status_t status = lac_cuda_format_now(exec, s->s, lac_sided_by_rows(s), &format);
    if (status || !format) return status;
    *csr = (lac_cuda_csr_t){format->ptr, format->idx, format->val, format->count, false};
    key->serial = s->s->meta->serial;
    key->format_id = format->format_id;
    return LAC_OK;
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    lac_sided_t s = lac_sided(p, route->side);
    lac_cuda_spmm_key_t key = {.m = s.m, .n = s.n, .k = s.k};
    lac_cuda_matrix_t w = {LAC_F32, s.w->buf, s.k, s.n, s.wrs, s.wcs};
    lac_cuda_csr_t csr;
    char *memory;
    lac_status_t status = lac_cuda_work(
        exec, transposed_bytes(&s) + out_bytes(p, &s) + lac_cuda_rows_bytes(&s, true), (void **)&memory);
    if (status) return status;
    float *transposed = (float *)(void *)memory, *c = (float *)(void *)(memory + transposed_bytes(&s));
    status = find_rows(exec, &s, memory + transposed_bytes(&s) + out_bytes(p, &s), &csr, &key);
    if (status) return status;
    /* What was believed of the density may be wrong: more entries than 32-bit row pointers count. */
    if (!csr.ptr || csr.nnz > INT32_MAX) return (out->declined = true), LAC_OK;
    out->density = (double)csr.nnz / ((double)s.m * (double)s.k);

    bool direct = out_serves(p, &s);
    const float *b = w_serves(&s) ? w.data : transposed;
    if (b == transposed && !exec->preparing)
        status = lac_cuda_launched(lac_cuda_copy(&w, 0.0f, LAC_F32, transposed, padded(s.n), 1, exec->stream),
                                   "cusparse");
    key.ldb = b == transposed || s.k == 1 ? padded(s.n) : s.wrs;
    key.ldc = !direct || s.m == 1 ? padded(s.n) : s.ors;
    if (!status)
        status = lac_cuda_spmm(exec, &key, &csr, (float)p->alpha, b, direct ? (float)p->beta : 0.0f,
                               direct ? p->c : c, &out->declined);
    if (status || direct || out->declined || exec->preparing) return status;
    lac_cuda_matrix_t product = {LAC_F32, c, s.m, s.n, padded(s.n), 1};
    return lac_cuda_launched(
        lac_cuda_copy(&product, (float)p->beta, LAC_F32, p->c, s.ors, s.ocs, exec->stream), "cusparse");
}

const lac_route_t lac_cuda_route_cusparse[] =
    LAC_ROUTE_SIDES(cusparse, applicable, cost_us, bytes, run, NULL, 0);

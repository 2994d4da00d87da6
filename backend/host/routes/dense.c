/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Routes that skip nothing: the system's BLAS, as it would have been called without this library; our own
 * dense kernel; the reference; and the product with nothing to sum. */
#include "host/formats/dense_view.h"
#include "routes.h"
#include "host/runtime/exec.h"

#include <limits.h>

/* Largest extent given to one BLAS call: its integers have 32 bits. A multiple of every kernel's block. */
#define CHUNK (INT64_C(1) << 30)

/* c can be written by the BLAS where one stride is 1 and the other spans a whole line. */
static bool c_by_columns(const lac_problem_t *p)
{
    return (p->crs == 1 || p->m == 1) && (p->ccs >= p->m || p->n == 1);
}
static bool c_by_rows(const lac_problem_t *p)
{
    return (p->ccs == 1 || p->n == 1) && (p->crs >= p->n || p->m == 1);
}

/* A copy lies by rows: its strides are its columns. */
static bool copies_fit(const lac_problem_t *p)
{
    bool a = p->k <= INT32_MAX || !lac_dense_view_bytes(&p->a, p->m, p->k, true);
    bool b_and_c = p->n <= INT32_MAX ||
                   (!lac_dense_view_bytes(&p->b, p->k, p->n, true) && (c_by_columns(p) || c_by_rows(p)));
    return a && b_and_c;
}

static lac_refusal_t applicable_dense(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    bool fits = p->a.rs <= INT32_MAX && p->a.cs <= INT32_MAX && p->b.rs <= INT32_MAX &&
                p->b.cs <= INT32_MAX && p->crs <= INT32_MAX && p->ccs <= INT32_MAX;
    if (lac_problem_is_trivial(p)) return LAC_REFUSED_TRIVIAL;
    if (p->terms.callers_blas) return LAC_FITS;
    if (!lac_blas()->sgemm) return LAC_REFUSED_NO_BLAS;
    if (!fits || !copies_fit(p)) return LAC_REFUSED_INDEX_RANGE;
    return LAC_FITS;
}

static double cost_us_dense(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route;
    double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    double read = 4.0 * (m * k + k * n), written = 4.0 * m * n;
    if (lac_is_near(read, machine)) /* a cache is as much faster for the BLAS as for a scan */
        read *= machine->scan_gbps / machine->scan_cached_gbps;
    double copies = (double)(lac_dense_view_bytes(&p->a, p->m, p->k, true) +
                             lac_dense_view_bytes(&p->b, p->k, p->n, true));
    int threads = p->settings.blas_threads > 0 ? p->settings.blas_threads : p->settings.threads;
    double vector =
               lac_dense_rate(machine, machine->dense_vector_gbps_one, machine->dense_vector_gbps, threads),
           gflops = lac_dense_rate(machine, machine->dense_gflops_one, machine->dense_gflops, threads),
           gbps = lac_dense_rate(machine, machine->dense_gbps_one, machine->dense_gbps, threads),
           out_gbps = lac_dense_rate(machine, machine->dense_out_gbps_one, machine->dense_out_gbps, threads);
    double product = p->m == 1 || p->n == 1 ? read / (vector * 1e3)
                                            : 2.0 * m * n * k / (gflops * 1e3) + read / (gbps * 1e3) +
                                                  written / (out_gbps * 1e3);
    return machine->dense_call_us + product + copies / (machine->pack_gbps * 1e2);
}

/* Of the product, where the BLAS cannot write c. */
static size_t product_bytes(const lac_problem_t *p)
{
    return c_by_columns(p) || c_by_rows(p) ? 0 : (size_t)p->m * (size_t)p->n * sizeof(float);
}

static size_t bytes_dense(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return product_bytes(p) + lac_dense_view_bytes(&p->a, p->m, p->k, true) +
           lac_dense_view_bytes(&p->b, p->k, p->n, true);
}

/* One operand as sgemm_ takes it: 'N' by columns, 'T' by rows. A stride along an extent of 1 is free. */
typedef struct blas_operand {
    const float *buf;
    char trans;
    int64_t ld;
    lac_inc_t rs, cs;
} blas_operand_t;

static int64_t at_least(lac_inc_t ld, lac_dim_t lines)
{
    return ld > lines ? ld : lines;
}

/* One row whose elements follow each other could be called either; by rows is what a caller would say, and up
 * to a sixth faster (k = 1; OpenBLAS 0.3.21, SkylakeX, 2026-11). */
static blas_operand_t by_blas(const float *buf, lac_inc_t rs, lac_inc_t cs, lac_dim_t rows, lac_dim_t cols)
{
    bool columns = (rs == 1 || (rows == 1 && cs != 1)) && (cs >= rows || cols == 1);
    return columns
               ? (blas_operand_t){buf, 'N', at_least(cols == 1 ? 1 : cs, rows < CHUNK ? rows : CHUNK), rs, cs}
               : (blas_operand_t){buf, 'T', at_least(rows == 1 ? 1 : rs, cols < CHUNK ? cols : CHUNK), rs,
                                  cs};
}

/* C = beta C + alpha A B, all by columns as the BLAS sees them, in pieces whose extents fit its integers. */
static void multiply(const lac_blas_t *blas, lac_dim_t m, lac_dim_t n, lac_dim_t k, float alpha,
                     blas_operand_t a, blas_operand_t b, float beta, float *c, lac_inc_t ldc)
{
    for (lac_dim_t j = 0; j < n; j += CHUNK)
        for (lac_dim_t i = 0; i < m; i += CHUNK)
            for (lac_dim_t l = 0; l < k; l += CHUNK) {
                int64_t mm = m - i < CHUNK ? m - i : CHUNK, nn = n - j < CHUNK ? n - j : CHUNK;
                int64_t kk = k - l < CHUNK ? k - l : CHUNK, ld = at_least(n == 1 ? 1 : ldc, mm);
                const float *ap = a.buf + i * a.rs + l * a.cs, *bp = b.buf + l * b.rs + j * b.cs;
                float step = l == 0 ? beta : 1.0f;
                blas->sgemm(&a.trans, &b.trans, &mm, &nn, &kk, &alpha, ap, &a.ld, bp, &b.ld, &step,
                            c + i + j * ldc, &ld, 1, 1);
            }
}

/* out := beta out + alpha A x for a single column x: half the traffic of sgemm, which would pack A. */
static bool multiply_vector(const lac_blas_t *blas, lac_dim_t m, lac_dim_t k, float alpha, blas_operand_t a,
                            const float *x, lac_inc_t incx, float beta, float *out, lac_inc_t inc)
{
    if (m > INT32_MAX || k > INT32_MAX || incx < 1 || inc < 1 || incx > INT32_MAX || inc > INT32_MAX)
        return false;
    int64_t rows = a.trans == 'N' ? m : k, cols = a.trans == 'N' ? k : m;
    int64_t ix = incx, iy = inc, ld = at_least(a.ld, rows); /* more than sgemm's CHUNK */
    blas->sgemv(&a.trans, &rows, &cols, &alpha, a.buf, &ld, x, &ix, &beta, out, &iy, 1);
    return true;
}

/* One row or column by sgemv: where that was asked for, and where the matrix is so large that sgemm, which
 * packs it, is slower whatever its order. Below, the call that was asked for is the one that is replaced: 1 x
 * 1000 x 50 takes 26 us by sgemv and 14 by sgemm, 1 x 1000 x 1000 290 and 336 (OpenBLAS 0.3.21, SkylakeX,
 * 2026-11). */
#define VECTOR_MIN (1 << 19) /* elements of the matrix */

static bool by_vector(const lac_problem_t *p)
{
    return p->terms.vector || p->k * (p->m > p->n ? p->m : p->n) >= VECTOR_MIN;
}

static void scatter(const lac_problem_t *p, const float *product)
{
    for (lac_dim_t i = 0; i < p->m; i++)
        for (lac_dim_t j = 0; j < p->n; j++) {
            float *c = &p->c[i * p->crs + j * p->ccs];
            *c = (p->beta == 0.0f ? 0.0f : p->beta * *c) + product[i * p->n + j];
        }
}

static lac_status_t run_dense(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                              lac_outcome_t *out)
{
    (void)route, (void)out;
    const lac_blas_t *blas = lac_exec_blas(exec);
    lac_dense_view_t a, b;
    lac_status_t status = lac_dense_view(exec, &p->a, p->m, p->k, true, LAC_WORK_A, &a);
    if (!status) status = lac_dense_view(exec, &p->b, p->k, p->n, true, LAC_WORK_B, &b);
    if (status) return status;
    bool vector = by_vector(p);
    if (vector && p->n == 1 &&
        multiply_vector(blas, p->m, p->k, p->alpha, by_blas(a.buf, a.rs, a.cs, p->m, p->k), b.buf,
                        p->k == 1 ? 1 : b.rs, p->beta, p->c, p->m == 1 ? 1 : p->crs))
        return LAC_OK;
    if (vector && p->m == 1 &&
        multiply_vector(blas, p->n, p->k, p->alpha, by_blas(b.buf, b.cs, b.rs, p->n, p->k), a.buf,
                        p->k == 1 ? 1 : a.cs, p->beta, p->c, p->n == 1 ? 1 : p->ccs))
        return LAC_OK;
    if (c_by_columns(p)) {
        multiply(blas, p->m, p->n, p->k, p->alpha, by_blas(a.buf, a.rs, a.cs, p->m, p->k),
                 by_blas(b.buf, b.rs, b.cs, p->k, p->n), p->beta, p->c, p->ccs);
        return LAC_OK;
    }
    /* By rows, C' = B' A' is by columns; any other c receives the product from the workspace. */
    bool direct = c_by_rows(p);
    float *c = direct ? p->c : lac_work(exec, LAC_WORK_C, product_bytes(p));
    if (!c) return LAC_ERR_MEMORY;
    multiply(blas, p->n, p->m, p->k, p->alpha, by_blas(b.buf, b.cs, b.rs, p->n, p->k),
             by_blas(a.buf, a.cs, a.rs, p->k, p->m), direct ? p->beta : 0.0f, c, direct ? p->crs : p->n);
    if (!direct) scatter(p, c);
    return LAC_OK;
}

const lac_route_t lac_host_route_dense[] =
    LAC_ROUTE_ONE(dense, applicable_dense, cost_us_dense, bytes_dense, run_dense, NULL);

/* The native route: our own blocked dense kernel, where no BLAS is found or its integers are too short. */

static lac_refusal_t applicable_native(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return lac_problem_is_trivial(p) ? LAC_REFUSED_TRIVIAL : LAC_FITS;
}

static double cost_us_native(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route;
    double serial = 2.0 * (double)p->m * (double)p->n * (double)p->k / (machine->native_gflops * 1e3);
    double copies = (double)(lac_dense_view_bytes(&p->a, p->m, p->k, false) +
                             lac_dense_view_bytes(&p->b, p->k, p->n, false));
    return machine->route_us + copies / (machine->pack_gbps * 1e2) +
           serial / lac_host_parts(p->settings.threads, serial, machine->fork_join_us);
}

static size_t scratch_bytes(int parts)
{
    return (size_t)parts * (size_t)lac_dense_scratch() * sizeof(float);
}

static size_t bytes_native(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return lac_dense_view_bytes(&p->a, p->m, p->k, false) + lac_dense_view_bytes(&p->b, p->k, p->n, false) +
           scratch_bytes(p->settings.threads);
}

typedef struct product {
    const lac_host_kernels_t *kernels;
    const lac_problem_t *p;
    lac_dense_view_t a, b;
    bool by_columns; /* the longer side of c is shared among the threads */
    float *scratch;
} product_t;

static void product_part(void *arg, int part, int parts)
{
    const product_t *g = arg;
    const lac_problem_t *p = g->p;
    float *scratch = g->scratch + part * lac_dense_scratch();
    long long i0, i1;
    lac_share(g->by_columns ? p->n : p->m, 8, part, parts, &i0, &i1);
    if (i0 == i1) return;
    if (g->by_columns) { /* C' = B' A' */
        lac_host_matrix_t a = {g->b.buf, g->b.cs, g->b.rs}, b = {g->a.buf, g->a.cs, g->a.rs};
        lac_host_output_t out = {p->alpha, p->beta, p->c, p->ccs, p->crs};
        g->kernels->dense_f32(&a, &b, i0, i1, p->m, p->k, &out, scratch);
    } else {
        lac_host_matrix_t a = {g->a.buf, g->a.rs, g->a.cs}, b = {g->b.buf, g->b.rs, g->b.cs};
        lac_host_output_t out = {p->alpha, p->beta, p->c, p->crs, p->ccs};
        g->kernels->dense_f32(&a, &b, i0, i1, p->n, p->k, &out, scratch);
    }
}

static lac_status_t run_native(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                               lac_outcome_t *out)
{
    (void)route, (void)out;
    product_t g = {.kernels = exec->kernels, .p = p, .by_columns = p->n > p->m};
    lac_status_t status = lac_dense_view(exec, &p->a, p->m, p->k, false, LAC_WORK_A, &g.a);
    if (!status) status = lac_dense_view(exec, &p->b, p->k, p->n, false, LAC_WORK_B, &g.b);
    if (status) return status;
    double serial = 2.0 * (double)p->m * (double)p->n * (double)p->k / (exec->machine->native_gflops * 1e3);
    int parts = lac_host_parts(p->settings.threads, serial, exec->machine->fork_join_us);
    g.scratch = lac_work(exec, LAC_WORK_ACC, scratch_bytes(parts));
    if (!g.scratch) return LAC_ERR_MEMORY;
    lac_parallel(parts, product_part, &g);
    return LAC_OK;
}

const lac_route_t lac_host_route_native[] =
    LAC_ROUTE_ONE(native, applicable_native, cost_us_native, bytes_native, run_native, NULL);

/* The reference route: every product summed in double, to compare against; runs only when forced. */

static lac_refusal_t applicable_reference(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return lac_problem_is_trivial(p) ? LAC_REFUSED_TRIVIAL : LAC_FITS;
}

static double cost_us_reference(const lac_route_t *route, const lac_problem_t *p,
                                const lac_machine_t *machine)
{
    (void)route, (void)machine;
    return 1e-3 * (double)p->m * (double)p->n * (double)p->k; /* about 1 ns each: never the cheapest */
}

static size_t bytes_reference(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return lac_dense_view_bytes(&p->a, p->m, p->k, false) + lac_dense_view_bytes(&p->b, p->k, p->n, false);
}

static lac_status_t run_reference(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                                  lac_outcome_t *out)
{
    (void)route, (void)out;
    lac_dense_view_t a, b;
    lac_status_t status = lac_dense_view(exec, &p->a, p->m, p->k, false, LAC_WORK_A, &a);
    if (!status) status = lac_dense_view(exec, &p->b, p->k, p->n, false, LAC_WORK_B, &b);
    if (status) return status;
    for (lac_dim_t i = 0; i < p->m; i++)
        for (lac_dim_t j = 0; j < p->n; j++) {
            double sum = 0.0;
            for (lac_dim_t k = 0; k < p->k; k++)
                sum += (double)a.buf[i * a.rs + k * a.cs] * (double)b.buf[k * b.rs + j * b.cs];
            float *c = &p->c[i * p->crs + j * p->ccs];
            *c = (float)((double)p->alpha * sum + (p->beta == 0.0f ? 0.0 : (double)p->beta * (double)*c));
        }
    return LAC_OK;
}

const lac_route_t lac_host_route_reference[] =
    LAC_ROUTE_ONE(reference, applicable_reference, cost_us_reference, bytes_reference, run_reference, NULL);

/* The trivial route: nothing to sum, so c is only scaled. */

static lac_refusal_t applicable_trivial(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return lac_problem_is_trivial(p) ? LAC_FITS : LAC_REFUSED_NOT_TRIVIAL;
}

static double cost_us_trivial(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route;
    return 4.0 * (double)p->m * (double)p->n / (machine->row_gbps * 1e3);
}

static size_t bytes_trivial(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route, (void)p;
    return 0;
}

static lac_status_t run_trivial(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                                lac_outcome_t *out)
{
    (void)route, (void)exec, (void)out;
    if (p->beta == 1.0f) return LAC_OK;
    for (lac_dim_t i = 0; i < p->m; i++)
        for (lac_dim_t j = 0; j < p->n; j++) {
            float *c = &p->c[i * p->crs + j * p->ccs];
            *c = p->beta == 0.0f ? 0.0f : p->beta * *c;
        }
    return LAC_OK;
}

const lac_route_t lac_host_route_trivial[] =
    LAC_ROUTE_ONE(trivial, applicable_trivial, cost_us_trivial, bytes_trivial, run_trivial, NULL);

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Routes that skip nothing: the system's BLAS, as it would have been called without this library; our own
 * dense kernel; the reference; and the product with nothing to sum. */
#include "host/formats/dense_view.h"
#include "routes.h"
#include "triangle.h"
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

/* One row or column that was written as lines of a matrix by rows. Both orders could write it; a caller says
 * this one, and the BLAS multiplies the transposed column twice as fast as the row (1 x 63 x 177: 4.7 and 2.9
 * us, 1 x 100 x 400: 16.6 and 10.8; OpenBLAS 0.3.21, SkylakeX, 2026-11). */
static bool c_lies_by_rows(const lac_problem_t *p)
{
    bool row = p->m == 1 && p->n > 1 && p->crs >= p->n, column = p->n == 1 && p->m > 1;
    return p->ccs == 1 && (row || column);
}

/* A copy lies by rows: its strides are its columns. */
static bool copies_fit(const lac_problem_t *p)
{
    bool a = p->k <= INT32_MAX || !lac_dense_view_bytes(&p->a, p->dt, p->m, p->k, true);
    bool b_and_c = p->n <= INT32_MAX || (!lac_dense_view_bytes(&p->b, p->dt, p->k, p->n, true) &&
                                         (c_by_columns(p) || c_by_rows(p)));
    return a && b_and_c;
}

/* Which of its calls serves. */
static lac_host_type_t type_of(const lac_problem_t *p)
{
    return p->dt == LAC_F64 ? LAC_HOST_F64 : LAC_HOST_F32;
}

static lac_refusal_t applicable_dense(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    bool fits = p->a.rs <= INT32_MAX && p->a.cs <= INT32_MAX && p->b.rs <= INT32_MAX &&
                p->b.cs <= INT32_MAX && p->crs <= INT32_MAX && p->ccs <= INT32_MAX;
    if (lac_problem_is_trivial(p)) return LAC_REFUSED_TRIVIAL;
    if (lac_problem_guarantees(p)) return LAC_REFUSED_SKIP_GUARANTEED;
    if (p->terms.callers_blas) return LAC_FITS;
    if (p->triangle) return LAC_REFUSED_TRIANGLE;
    if (!lac_blas()->gemm[type_of(p)]) return LAC_REFUSED_NO_BLAS;
    if (!fits || !copies_fit(p)) return LAC_REFUSED_INDEX_RANGE;
    return LAC_FITS;
}

static double cost_us_dense(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route;
    double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    double size = (double)lac_dt_size(p->dt), read = size * (m * k + k * n), written = size * m * n;
    if (lac_is_near(read, machine)) /* a cache is as much faster for the BLAS as for a scan */
        read *= machine->scan_gbps / machine->scan_cached_gbps;
    double copies = (double)(lac_dense_view_bytes(&p->a, p->dt, p->m, p->k, true) +
                             lac_dense_view_bytes(&p->b, p->dt, p->k, p->n, true));
    if (p->terms.callers_blas && lac_problem_has_triangle(p))
        copies = 0.0; /* ssyrk or ssymm is what was called */
    double share = p->triangle ? 0.5 : 1.0;
    int threads = p->settings.blas_threads > 0 ? p->settings.blas_threads : p->settings.threads;
    double vector =
               lac_dense_rate(machine, machine->dense_vector_gbps_one, machine->dense_vector_gbps, threads),
           gflops = lac_dense_rate(machine, machine->dense_gflops_one, machine->dense_gflops, threads),
           gbps = lac_dense_rate(machine, machine->dense_gbps_one, machine->dense_gbps, threads),
           out_gbps = lac_dense_rate(machine, machine->dense_out_gbps_one, machine->dense_out_gbps, threads);
    if (p->dt == LAC_F64) gflops *= machine->dense64_share;
    double product = p->m == 1 || p->n == 1
                         ? read / (vector * 1e3)
                         : share * 2.0 * m * n * k / (gflops * 1e3) + share * read / (gbps * 1e3) +
                               share * written / (out_gbps * 1e3);
    return machine->dense_call_us + product + copies / (machine->pack_gbps * 1e2);
}

/* Of the product, where the BLAS cannot write c. */
static size_t product_bytes(const lac_problem_t *p)
{
    return c_by_columns(p) || c_by_rows(p) ? 0 : (size_t)p->m * (size_t)p->n * lac_dt_size(p->dt);
}

static size_t bytes_dense(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return product_bytes(p) + lac_dense_view_bytes(&p->a, p->dt, p->m, p->k, true) +
           lac_dense_view_bytes(&p->b, p->dt, p->k, p->n, true);
}

/* One operand as sgemm_ or dgemm_ takes it: 'N' by columns, 'T' by rows. A stride along an extent of 1 is
 * free. */
typedef struct blas_operand {
    const void *buf;
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
static blas_operand_t by_blas(const void *buf, lac_inc_t rs, lac_inc_t cs, lac_dim_t rows, lac_dim_t cols)
{
    bool columns = (rs == 1 || (rows == 1 && cs != 1)) && (cs >= rows || cols == 1);
    return columns
               ? (blas_operand_t){buf, 'N', at_least(cols == 1 ? 1 : cs, rows < CHUNK ? rows : CHUNK), rs, cs}
               : (blas_operand_t){buf, 'T', at_least(rows == 1 ? 1 : rs, cols < CHUNK ? cols : CHUNK), rs,
                                  cs};
}

/* The calls of the BLAS for one type of values, and the scalars in it. */
typedef struct blas_calls {
    lac_gemm_fn gemm;
    lac_gemv_fn gemv;
    int64_t size; /* bytes of a value */
    lac_host_scalar_t alpha, beta, one;
} blas_calls_t;

static blas_calls_t calls_of(const lac_blas_t *blas, const lac_problem_t *p, bool direct)
{
    lac_host_type_t type = type_of(p);
    return (blas_calls_t){.gemm = blas->gemm[type],
                          .gemv = blas->gemv[type],
                          .size = (int64_t)lac_dt_size(p->dt),
                          .alpha = lac_host_scalar(type, p->alpha),
                          .beta = lac_host_scalar(type, direct ? p->beta : 0.0),
                          .one = lac_host_scalar(type, 1.0)};
}

/* C = beta C + alpha A B, all by columns as the BLAS sees them, in pieces whose extents fit its integers. */
static void multiply(const blas_calls_t *blas, lac_dim_t m, lac_dim_t n, lac_dim_t k, blas_operand_t a,
                     blas_operand_t b, void *c, lac_inc_t ldc)
{
    for (lac_dim_t j = 0; j < n; j += CHUNK)
        for (lac_dim_t i = 0; i < m; i += CHUNK)
            for (lac_dim_t l = 0; l < k; l += CHUNK) {
                int64_t mm = m - i < CHUNK ? m - i : CHUNK, nn = n - j < CHUNK ? n - j : CHUNK;
                int64_t kk = k - l < CHUNK ? k - l : CHUNK, ld = at_least(n == 1 ? 1 : ldc, mm);
                const char *ap = (const char *)a.buf + (i * a.rs + l * a.cs) * blas->size,
                           *bp = (const char *)b.buf + (l * b.rs + j * b.cs) * blas->size;
                blas->gemm(&a.trans, &b.trans, &mm, &nn, &kk, &blas->alpha, ap, &a.ld, bp, &b.ld,
                           l == 0 ? &blas->beta : &blas->one, (char *)c + (i + j * ldc) * blas->size, &ld, 1,
                           1);
            }
}

/* out := beta out + alpha A x for a single column x: half the traffic of sgemm, which would pack A. */
static bool multiply_vector(const blas_calls_t *blas, lac_dim_t m, lac_dim_t k, blas_operand_t a,
                            const void *x, lac_inc_t incx, void *out, lac_inc_t inc)
{
    if (m > INT32_MAX || k > INT32_MAX || incx < 1 || inc < 1 || incx > INT32_MAX || inc > INT32_MAX)
        return false;
    int64_t rows = a.trans == 'N' ? m : k, cols = a.trans == 'N' ? k : m;
    int64_t ix = incx, iy = inc, ld = at_least(a.ld, rows); /* more than sgemm's CHUNK */
    blas->gemv(&a.trans, &rows, &cols, &blas->alpha, a.buf, &ld, x, &ix, &blas->beta, out, &iy, 1);
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

static void store(void *c, lac_dt_t dt, long double x)
{
    if (dt == LAC_F64)
        *(double *)c = (double)x;
    else
        *(float *)c = (float)x;
}

static void scatter(const lac_problem_t *p, const void *product)
{
    for (lac_dim_t i = 0; i < p->m; i++)
        for (lac_dim_t j = 0; j < p->n; j++) {
            void *c = lac_c_at(p, i, j);
            double old = p->beta == 0.0 ? 0.0 : lac_scalar(c, p->dt, 0.0);
            double term = lac_scalar(lac_value_at(lac_dt_size(p->dt), product, i * p->n + j), p->dt, 0.0);
            store(c, p->dt, (long double)(p->beta * old + term));
        }
}

/* Of one row or column; false: sgemv cannot say these strides. */
static bool run_vector(const lac_blas_t *blas, const lac_problem_t *p, const lac_dense_view_t *a,
                       const lac_dense_view_t *b)
{
    const blas_calls_t calls = calls_of(blas, p, true);
    if (p->n == 1 && multiply_vector(&calls, p->m, p->k, by_blas(a->buf, a->rs, a->cs, p->m, p->k), b->buf,
                                     p->k == 1 ? 1 : b->rs, p->c, p->m == 1 ? 1 : p->crs))
        return true;
    return p->m == 1 && multiply_vector(&calls, p->n, p->k, by_blas(b->buf, b->cs, b->rs, p->n, p->k), a->buf,
                                        p->k == 1 ? 1 : a->cs, p->c, p->n == 1 ? 1 : p->ccs);
}

static lac_status_t run_dense(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                              lac_outcome_t *out)
{
    (void)route, (void)out;
    const lac_blas_t *blas = lac_exec_blas(exec);
    lac_dense_view_t a, b;
    lac_status_t status = lac_dense_view(exec, &p->a, p->dt, p->m, p->k, true, LAC_WORK_A, &a);
    if (!status) status = lac_dense_view(exec, &p->b, p->dt, p->k, p->n, true, LAC_WORK_B, &b);
    if (status) return status;
    if ((p->m == 1 || p->n == 1) && by_vector(p) && run_vector(blas, p, &a, &b)) return LAC_OK;
    bool direct = c_by_columns(p) || c_by_rows(p);
    const blas_calls_t calls = calls_of(blas, p, direct);
    if (c_by_columns(p) && !c_lies_by_rows(p)) {
        multiply(&calls, p->m, p->n, p->k, by_blas(a.buf, a.rs, a.cs, p->m, p->k),
                 by_blas(b.buf, b.rs, b.cs, p->k, p->n), p->c, p->ccs);
        return LAC_OK;
    }
    /* By rows, C' = B' A' is by columns; any other c receives the product from the workspace. */
    void *c = direct ? p->c : lac_work(exec, LAC_WORK_C, product_bytes(p));
    if (!c) return LAC_ERR_MEMORY;
    multiply(&calls, p->n, p->m, p->k, by_blas(b.buf, b.cs, b.rs, p->n, p->k),
             by_blas(a.buf, a.cs, a.rs, p->k, p->m), c, direct ? p->crs : p->n);
    if (!direct) scatter(p, c);
    return LAC_OK;
}

const lac_route_t lac_host_route_dense[] =
    LAC_ROUTE_ONE(dense, applicable_dense, cost_us_dense, bytes_dense, run_dense, NULL, 0);

/* The native route: our own blocked dense kernel, where no BLAS is found or its integers are too short. */

static lac_refusal_t applicable_native(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return lac_problem_is_trivial(p) ? LAC_REFUSED_TRIVIAL : LAC_FITS;
}

/* On one thread; half as many doubles fill a register. */
static double native_us(const lac_problem_t *p, const lac_machine_t *machine)
{
    double flops = lac_triangle_share(p) * 2.0 * (double)p->m * (double)p->n * (double)p->k;
    return flops * (double)lac_dt_size(p->dt) / 4.0 / (machine->native_gflops * 1e3);
}

static double cost_us_native(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route;
    double serial = native_us(p, machine);
    double copies = (double)(lac_dense_view_bytes(&p->a, p->dt, p->m, p->k, false) +
                             lac_dense_view_bytes(&p->b, p->dt, p->k, p->n, false));
    return machine->route_us + copies / (machine->pack_gbps * 1e2) +
           serial / lac_host_parts(p->settings.threads, serial, machine->fork_join_us);
}

static size_t scratch_bytes(const lac_problem_t *p, int parts)
{
    return (size_t)parts * (size_t)lac_dense_scratch() * lac_dt_size(p->dt);
}

static size_t bytes_native(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return lac_dense_view_bytes(&p->a, p->dt, p->m, p->k, false) +
           lac_dense_view_bytes(&p->b, p->dt, p->k, p->n, false) + scratch_bytes(p, p->settings.threads) +
           lac_triangle_bytes(p, p->settings.threads);
}

typedef struct product {
    const lac_host_kernels_t *kernels;
    const lac_problem_t *p;
    lac_dense_view_t a, b;
    bool by_columns; /* the longer side of c is shared among the threads */
    char *scratch;
} product_t;

static void product_part(void *arg, int part, int parts)
{
    const product_t *g = arg;
    const lac_problem_t *p = g->p;
    char *scratch = g->scratch + (size_t)part * scratch_bytes(p, 1);
    long long i0, i1;
    lac_share(g->by_columns ? p->n : p->m, 8, part, parts, &i0, &i1);
    if (i0 == i1) return;
    if (g->by_columns) { /* C' = B' A' */
        lac_host_matrix_t a = {g->b.buf, g->b.cs, g->b.rs}, b = {g->a.buf, g->a.cs, g->a.rs};
        lac_host_output_t out = lac_host_output(g->kernels, p->alpha, p->beta, p->c, p->ccs, p->crs);
        g->kernels->dense(&a, &b, i0, i1, p->m, p->k, &out, scratch);
    } else {
        lac_host_matrix_t a = {g->a.buf, g->a.rs, g->a.cs}, b = {g->b.buf, g->b.rs, g->b.cs};
        lac_host_output_t out = lac_host_output(g->kernels, p->alpha, p->beta, p->c, p->crs, p->ccs);
        g->kernels->dense(&a, &b, i0, i1, p->n, p->k, &out, scratch);
    }
}

static void product_block(void *arg, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
                          const lac_host_output_t *out, int part)
{
    const product_t *g = arg;
    size_t size = g->kernels->size;
    lac_host_matrix_t a = {g->a.buf, g->a.rs, g->a.cs},
                      b = {lac_value_at(size, g->b.buf, j0 * g->b.cs), g->b.rs, g->b.cs};
    lac_host_output_t to = *out;
    to.data = (void *)((uintptr_t)out->data + (uintptr_t)(j0 * out->cs * (int64_t)size));
    g->kernels->dense(&a, &b, i0, i1, j1 - j0, g->p->k, &to,
                      g->scratch + (size_t)part * scratch_bytes(g->p, 1));
}

static long double element(const lac_dense_view_t *x, lac_dt_t dt, lac_dim_t i, lac_dim_t j)
{
    lac_inc_t at = i * x->rs + j * x->cs;
    return dt == LAC_F64 ? (long double)((const double *)x->buf)[at]
                         : (long double)((const float *)x->buf)[at];
}

/* Where zeros of S are guaranteed not to be multiplied, and no sparse route fits: a row of out at a time,
 * SKIPPING_COLUMNS of it summed in long double, one nonzero of S after the other. */
#define SKIPPING_COLUMNS 256

typedef struct skipping {
    const lac_problem_t *p;
    lac_sided_t s;
    lac_dense_view_t left, w; /* S and W, as the sided view has them */
} skipping_t;

static void skipping_row(const skipping_t *g, lac_dim_t i, lac_dim_t j0, lac_dim_t j1)
{
    long double sum[SKIPPING_COLUMNS] = {0};
    const lac_problem_t *p = g->p;
    bool right = lac_problem_skips(p, &p->b);
    for (lac_dim_t k = 0; k < g->s.k; k++) {
        long double x = element(&g->left, p->dt, i, k);
        if (x == 0.0L) continue;
        for (lac_dim_t j = j0; j < j1; j++) sum[j - j0] += x * element(&g->w, p->dt, k, j);
    }
    for (lac_dim_t j = j0; j < j1; j++) {
        void *c = right ? lac_c_at(p, j, i) : lac_c_at(p, i, j);
        if (!lac_triangle_holds(p->triangle, right ? j : i, right ? i : j)) continue;
        long double old = p->beta == 0.0 ? 0.0L : (long double)lac_scalar(c, p->dt, 0.0);
        store(c, p->dt, (long double)p->alpha * sum[j - j0] + (long double)p->beta * old);
    }
}

static void skipping_part(void *arg, int part, int parts)
{
    const skipping_t *g = arg;
    long long i0, i1;
    lac_share(g->s.m, 1, part, parts, &i0, &i1);
    for (lac_dim_t i = i0; i < i1; i++)
        for (lac_dim_t j = 0; j < g->s.n; j += SKIPPING_COLUMNS)
            skipping_row(g, i, j, j + SKIPPING_COLUMNS < g->s.n ? j + SKIPPING_COLUMNS : g->s.n);
}

static lac_dense_view_t transposed(lac_dense_view_t x)
{
    return (lac_dense_view_t){.buf = x.buf, .rs = x.cs, .cs = x.rs};
}

static void multiply_skipping(const lac_problem_t *p, lac_dense_view_t a, lac_dense_view_t b, int parts)
{
    bool right = lac_problem_skips(p, &p->b);
    skipping_t g = {p, lac_sided(p, right ? LAC_SIDE_RIGHT : LAC_SIDE_LEFT), right ? transposed(b) : a,
                    right ? transposed(a) : b};
    lac_parallel(parts, skipping_part, &g);
}

static lac_status_t run_native(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                               lac_outcome_t *out)
{
    (void)route, (void)out;
    product_t g = {.kernels = lac_kernels(exec, p->dt), .p = p, .by_columns = p->n > p->m};
    lac_status_t status = lac_dense_view(exec, &p->a, p->dt, p->m, p->k, false, LAC_WORK_A, &g.a);
    if (!status) status = lac_dense_view(exec, &p->b, p->dt, p->k, p->n, false, LAC_WORK_B, &g.b);
    if (status) return status;
    double serial = native_us(p, exec->machine);
    int parts = lac_host_parts(p->settings.threads, serial, exec->machine->fork_join_us);
    if (lac_problem_guarantees(p)) {
        multiply_skipping(p, g.a, g.b, parts);
        return LAC_OK;
    }
    g.scratch = lac_work(exec, LAC_WORK_ACC, scratch_bytes(p, parts));
    if (!g.scratch) return LAC_ERR_MEMORY;
    if (p->triangle) return lac_triangle_run(exec, p, parts, false, product_block, &g);
    lac_parallel(parts, product_part, &g);
    return LAC_OK;
}

const lac_route_t lac_host_route_native[] =
    LAC_ROUTE_ONE(native, applicable_native, cost_us_native, bytes_native, run_native, NULL, 0);

/* The reference route: every product summed in long double, to compare against; runs only when forced. */

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
    return lac_dense_view_bytes(&p->a, p->dt, p->m, p->k, false) +
           lac_dense_view_bytes(&p->b, p->dt, p->k, p->n, false);
}

static lac_status_t run_reference(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                                  lac_outcome_t *out)
{
    (void)route, (void)out;
    lac_dense_view_t a, b;
    lac_status_t status = lac_dense_view(exec, &p->a, p->dt, p->m, p->k, false, LAC_WORK_A, &a);
    if (!status) status = lac_dense_view(exec, &p->b, p->dt, p->k, p->n, false, LAC_WORK_B, &b);
    if (status) return status;
    for (lac_dim_t i = 0; i < p->m; i++)
        for (lac_dim_t j = 0; j < p->n; j++) {
            if (!lac_triangle_holds(p->triangle, i, j)) continue;
            long double sum = 0.0L;
            for (lac_dim_t k = 0; k < p->k; k++) {
                long double x = element(&a, p->dt, i, k), y = element(&b, p->dt, k, j);
                bool skipped =
                    (x == 0.0L && lac_problem_skips(p, &p->a)) || (y == 0.0L && lac_problem_skips(p, &p->b));
                if (!skipped) sum += x * y;
            }
            void *c = lac_c_at(p, i, j);
            long double old = p->beta == 0.0 ? 0.0L : (long double)lac_scalar(c, p->dt, 0.0);
            store(c, p->dt, (long double)p->alpha * sum + (long double)p->beta * old);
        }
    return LAC_OK;
}

const lac_route_t lac_host_route_reference[] = LAC_ROUTE_ONE(
    reference, applicable_reference, cost_us_reference, bytes_reference, run_reference, NULL, 0);

/* The trivial route: nothing to sum, so c is only scaled. */

static lac_refusal_t applicable_trivial(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return lac_problem_is_trivial(p) ? LAC_FITS : LAC_REFUSED_NOT_TRIVIAL;
}

static double cost_us_trivial(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route;
    return (double)lac_dt_size(p->dt) * (double)p->m * (double)p->n / (machine->row_gbps * 1e3);
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
    if (p->beta == 1.0) return LAC_OK;
    for (lac_dim_t i = 0; i < p->m; i++)
        for (lac_dim_t j = 0; j < p->n; j++) {
            if (!lac_triangle_holds(p->triangle, i, j)) continue;
            void *c = lac_c_at(p, i, j);
            double old = p->beta == 0.0 ? 0.0 : lac_scalar(c, p->dt, 0.0);
            store(c, p->dt, p->beta == 0.0 ? 0.0L : (long double)(p->beta * old));
        }
    return LAC_OK;
}

const lac_route_t lac_host_route_trivial[] =
    LAC_ROUTE_ONE(trivial, applicable_trivial, cost_us_trivial, bytes_trivial, run_trivial, NULL, 0);

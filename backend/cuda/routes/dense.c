/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Routes that skip nothing on a device: cuBLAS, as it would have been called without this library; one
 * kernel that sums in double, the reference; and the product with nothing to sum. */
#include "cuda/formats/dense_view.h"
#include "routes.h"
#include "cuda/runtime/vendor.h"
#include "cuda/runtime/exec.h"

#include <math.h>

/* 1 x 1 with k = 1e9 took 3 ms, with k = 2^31 + 10 it did not end, nor in pieces of 2^30 with the
 * whole leading dimension (cuBLAS 13.1, H200, 2026-11-21). */
#define K_MAX ((lac_dim_t)1 << 29)

static bool fits_32(const lac_problem_t *p)
{
    return p->m <= INT32_MAX && p->n <= INT32_MAX && p->k <= INT32_MAX && p->a.rs <= INT32_MAX &&
           p->a.cs <= INT32_MAX && p->b.rs <= INT32_MAX && p->b.cs <= INT32_MAX && p->crs <= INT32_MAX &&
           p->ccs <= INT32_MAX;
}

/* c can be written by the BLAS where one stride is 1 and the other spans a whole line. */
static bool c_by_columns(const lac_problem_t *p)
{
    return (p->crs == 1 || p->m == 1) && (p->ccs >= p->m || p->n == 1);
}
static bool c_by_rows(const lac_problem_t *p)
{
    return (p->ccs == 1 || p->n == 1) && (p->crs >= p->n || p->m == 1);
}

/* Scalars on the device are read by one call that writes c itself. */
static bool takes_scalars(const lac_problem_t *p)
{
    return lac_cublas()->set_scalars && p->k <= K_MAX && (c_by_columns(p) || c_by_rows(p));
}

/* The type of both operands by the time that the vendor multiplies them. */
static lac_dt_t factor_type(const lac_problem_t *p)
{
    if (p->dt == LAC_F64) return LAC_F64;
    return lac_is_half(p->a.dt) ? p->a.dt : lac_is_half(p->b.dt) ? p->b.dt : LAC_F32;
}

/* Beside an operand of two bytes, events become numbers of its type in the workspace: 0 and 1 are exact. */
static bool converts(const lac_operand_t *x, lac_dt_t type)
{
    return lac_is_half(type) && x->dt == LAC_U8 && x->buf;
}

static bool takes_half(const lac_operand_t *x, lac_dt_t type, lac_dim_t rows, lac_dim_t cols)
{
    return converts(x, type) || lac_operand_is_dense(x, type, rows, cols, true);
}

/* Two operands of one type as they lie, or one beside events, and sums that are rounded once. */
static bool takes_halves(const lac_problem_t *p)
{
    return lac_cublas()->gemm_ex && (fits_32(p) || lac_cublas()->gemm_ex_64) && p->k <= K_MAX &&
           (c_by_columns(p) || c_by_rows(p)) && takes_half(&p->a, factor_type(p), p->m, p->k) &&
           takes_half(&p->b, factor_type(p), p->k, p->n);
}

/* Whether the vendor's entry for that type takes such extents. */
static bool has_entry(const lac_problem_t *p)
{
    const lac_cublas_t *blas = lac_cublas();
    return p->dt == LAC_F64 ? blas->dgemm && (fits_32(p) || blas->dgemm_64) : fits_32(p) || blas->sgemm_64;
}

static lac_refusal_t applicable_dense(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    if (lac_problem_is_trivial(p)) return LAC_REFUSED_TRIVIAL;
    if (lac_problem_guarantees(p)) return LAC_REFUSED_SKIP_GUARANTEED;
    if (!lac_cublas()->found) return LAC_REFUSED_NO_BLAS;
    if (p->dt == LAC_F64 && !lac_cublas()->dgemm) return LAC_REFUSED_DOUBLES;
    if (!has_entry(p)) return LAC_REFUSED_INDEX_RANGE;
    if (p->alpha_at && !takes_scalars(p)) return LAC_REFUSED_SCALARS;
    return lac_problem_is_half(p) && !takes_halves(p) ? LAC_REFUSED_HALVES : LAC_FITS;
}

static size_t factor_bytes(const lac_operand_t *x, lac_dt_t type, lac_dim_t rows, lac_dim_t cols)
{
    if (!lac_is_half(type)) return lac_cuda_dense_view_bytes(x, rows, cols, true);
    return converts(x, type) ? lac_cuda_piece((size_t)rows * (size_t)cols * lac_dt_size(type)) : 0;
}

/* Whether what cuBLAS (13.1) would round to two bytes before it adds C to it becomes sums of fp32, which we
 * add and round once: a product with a vector, and any up to the size from which that takes more than 1.5 us
 * longer (512 x 512 5.1 us for 3.6, 1024 x 1024 8.4 for 5.7, 4096 x 4096 239 for 174; H200, 2026-11-28).
 * Where a device has beta, nobody can tell, and it is left to cuBLAS. */
#define APART_MAX (512.0 * 512.0)
static bool adds_apart(const lac_problem_t *p)
{
    bool small = p->m == 1 || p->n == 1 || (double)p->m * (double)p->n <= APART_MAX;
    return lac_is_half(p->dt) && small && p->beta != 0.0 && !p->beta_at;
}

/* Whether cuBLAS writes C itself. */
static bool is_direct(const lac_problem_t *p)
{
    return (c_by_columns(p) || c_by_rows(p)) && !adds_apart(p);
}
static lac_dt_t product_type(const lac_problem_t *p)
{
    return adds_apart(p) ? LAC_F32 : p->dt;
}

static size_t work_bytes(const lac_problem_t *p)
{
    lac_dt_t type = factor_type(p);
    size_t c = is_direct(p) ? 0 : (size_t)p->m * (size_t)p->n * lac_dt_size(product_type(p));
    return factor_bytes(&p->a, type, p->m, p->k) + factor_bytes(&p->b, type, p->k, p->n) + lac_cuda_piece(c);
}

/* The operand as the vendor takes it; a copy by rows is made at *memory, which moves behind it, where it is
 * not of that type. */
static lac_status_t factor(lac_exec_t *exec, const lac_operand_t *x, lac_dt_t type, lac_dim_t rows,
                           lac_dim_t cols, char **memory, lac_cuda_dense_view_t *contents)
{
    if (!lac_is_half(type)) return lac_cuda_dense_view(exec, x, rows, cols, true, memory, contents);
    *contents = (lac_cuda_dense_view_t){x->buf, x->rs, x->cs};
    if (!converts(x, type)) return LAC_OK;
    lac_cuda_matrix_t from = {x->dt, x->buf, rows, cols, x->rs, x->cs};
    *contents = (lac_cuda_dense_view_t){(const float *)(void *)*memory, cols, 1};
    lac_status_t status = lac_cuda_copy(&from, 0.0f, type, *memory, cols, 1, exec->stream);
    *memory += factor_bytes(x, type, rows, cols);
    return lac_cuda_launched(status, "dense");
}

static size_t bytes_dense(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return work_bytes(p) + LAC_CUDA_BLAS_WORKSPACE;
}

/* At what rate cuBLAS brings the matrix of a product by a vector: about memory's where a cache may hold most
 * of it, unless it lies by rows and k is the longer side (H200, 2026-11-27, the launch included: 8 to 37 MB
 * at 2.1 to 4.1 TB/s, 69 to 135 MB at 3.0 to 3.4; 16 to 43 MB of such at 1.8 to 2.5). */
#define CACHED_BYTES 4.0e7
static double vector_gbps(const lac_problem_t *p, double bytes, const lac_machine_t *machine)
{
    bool along_k = p->m == 1 ? p->b.rs == 1 : p->a.cs == 1;
    lac_dim_t length = p->m == 1 ? p->n : p->m;
    return bytes < CACHED_BYTES && (along_k || length >= p->k) ? machine->cuda_dram_gbps
                                                               : machine->cuda_dense_vector_gbps;
}

/* Reading and arithmetic overlap for the most part. */
static double cost_us_dense(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route;
    double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    double bytes = (double)lac_dt_size(p->a.dt) * m * k + (double)lac_dt_size(p->b.dt) * k * n +
                   (double)lac_dt_size(p->dt) * m * n;
    double rate = p->m == 1 || p->n == 1 ? vector_gbps(p, bytes, machine) : machine->cuda_dense_gbps;
    double speed = lac_problem_is_half(p) ? LAC_HALF_TFLOPS : 1.0;
    if (lac_problem_is_half(p)) rate = LAC_HALF_DRAM * machine->cuda_dram_gbps;
    double moved = bytes / (rate * 1e3),
           worked = 2.0 * m * n * k / (speed * machine->cuda_dense_tflops * 1e6);
    double copied = 3.0 * (double)work_bytes(p) / (machine->cuda_dram_gbps * 1e3);
    return machine->cuda_dense_call_us + copied +
           (moved > worked ? moved + 0.5 * worked : worked + 0.5 * moved);
}

/* One operand as cuBLAS takes it: by columns, or transposed. A stride along an extent of 1 is free. */
typedef struct blas_operand {
    const void *buf;
    lac_dt_t dt;
    int trans;
    int64_t ld;
} blas_operand_t;

static int64_t at_least(lac_inc_t ld, lac_dim_t lines)
{
    return ld > lines ? ld : lines > 0 ? lines : 1;
}

static blas_operand_t by_blas(lac_dt_t dt, const void *buf, lac_inc_t rs, lac_inc_t cs, lac_dim_t rows,
                              lac_dim_t cols)
{
    bool columns = (rs == 1 || rows == 1) && (cs >= rows || cols == 1);
    return columns ? (blas_operand_t){buf, dt, LAC_CUBLAS_N, at_least(cols == 1 ? 1 : cs, rows)}
                   : (blas_operand_t){buf, dt, LAC_CUBLAS_T, at_least(rows == 1 ? 1 : rs, cols)};
}

static lac_status_t set_scalars(void *handle, int mode)
{
    return lac_cublas_check_error(lac_cublas()->set_scalars(handle, mode), "pointer mode");
}

static int sgemm(void *handle, lac_dim_t m, lac_dim_t n, lac_dim_t k, const void *alpha, blas_operand_t a,
                 blas_operand_t b, const void *beta, void *c, int64_t ld)
{
    const lac_cublas_t *blas = lac_cublas();
    return blas->sgemm_64 ? blas->sgemm_64(handle, a.trans, b.trans, m, n, k, alpha, a.buf, a.ld, b.buf, b.ld,
                                           beta, c, ld)
                          : blas->sgemm(handle, a.trans, b.trans, (int)m, (int)n, (int)k, alpha, a.buf,
                                        (int)a.ld, b.buf, (int)b.ld, beta, c, (int)ld);
}

static int dgemm(void *handle, lac_dim_t m, lac_dim_t n, lac_dim_t k, const void *alpha, blas_operand_t a,
                 blas_operand_t b, const void *beta, void *c, int64_t ld)
{
    const lac_cublas_t *blas = lac_cublas();
    return blas->dgemm_64 ? blas->dgemm_64(handle, a.trans, b.trans, m, n, k, alpha, a.buf, a.ld, b.buf, b.ld,
                                           beta, c, ld)
                          : blas->dgemm(handle, a.trans, b.trans, (int)m, (int)n, (int)k, alpha, a.buf,
                                        (int)a.ld, b.buf, (int)b.ld, beta, c, (int)ld);
}

static int gemm_ex(void *handle, lac_dim_t m, lac_dim_t n, lac_dim_t k, const void *alpha, blas_operand_t a,
                   blas_operand_t b, const void *beta, lac_dt_t dt, void *c, int64_t ld)
{
    const lac_cublas_t *blas = lac_cublas();
    int a_type = lac_cublas_type(a.dt), b_type = lac_cublas_type(b.dt), c_type = lac_cublas_type(dt);
    return blas->gemm_ex_64 ? blas->gemm_ex_64(handle, a.trans, b.trans, m, n, k, alpha, a.buf, a_type, a.ld,
                                               b.buf, b_type, b.ld, beta, c, c_type, ld,
                                               LAC_CUBLAS_COMPUTE_32F, LAC_CUBLAS_GEMM_DEFAULT)
                            : blas->gemm_ex(handle, a.trans, b.trans, (int)m, (int)n, (int)k, alpha, a.buf,
                                            a_type, (int)a.ld, b.buf, b_type, (int)b.ld, beta, c, c_type,
                                            (int)ld, LAC_CUBLAS_COMPUTE_32F, LAC_CUBLAS_GEMM_DEFAULT);
}

/* Elements [k0, k0 + length) along k, which are next to each other (`contiguous`) or one a line. A line that
 * is alone needs no leading dimension, which may be more than cuBLAS's faster kernels can take. */
static blas_operand_t piece_of(const blas_operand_t *x, bool contiguous, lac_dim_t lines, lac_dim_t k0,
                               lac_dim_t length)
{
    const char *from = (const char *)x->buf + k0 * (contiguous ? 1 : x->ld) * (int64_t)lac_dt_size(x->dt);
    blas_operand_t piece = {from, x->dt, x->trans, x->ld};
    if (contiguous && lines == 1) piece.ld = length;
    return piece;
}

/* C = beta C + alpha A B, all by columns as the BLAS sees them; a very long k in pieces. */
static lac_status_t multiply(void *handle, lac_dim_t m, lac_dim_t n, lac_dim_t k, const void *alpha,
                             blas_operand_t a, blas_operand_t b, const void *beta, lac_dt_t dt, void *c,
                             lac_inc_t ldc)
{
    static const float one = 1.0f;
    static const double one_f64 = 1.0;
    int64_t ld = at_least(n == 1 ? 1 : ldc, m);
    int status = 0;
    for (lac_dim_t k0 = 0; !status && k0 < k; k0 += K_MAX) {
        lac_dim_t length = k - k0 < K_MAX ? k - k0 : K_MAX;
        blas_operand_t a0 = piece_of(&a, a.trans != LAC_CUBLAS_N, m, k0, length),
                       b0 = piece_of(&b, b.trans == LAC_CUBLAS_N, n, k0, length);
        status = lac_is_half(a0.dt) ? gemm_ex(handle, m, n, length, alpha, a0, b0, beta, dt, c, ld)
                 : dt == LAC_F64    ? dgemm(handle, m, n, length, alpha, a0, b0, k0 ? &one_f64 : beta, c, ld)
                                    : sgemm(handle, m, n, length, alpha, a0, b0, k0 ? &one : beta, c, ld);
    }
    return lac_cublas_check_error(status, lac_is_half(a.dt) ? "gemm_ex" : dt == LAC_F64 ? "dgemm" : "sgemm");
}

/* Where the vendor reads a scalar. */
static const void *at(const lac_cuda_scalar_t *scalar)
{
    return scalar->device ? (const void *)scalar->device : (const void *)&scalar->f64;
}

/* By rows, C' = B' A' is by columns; any other c receives the product from the workspace. */
static lac_status_t multiply_rows(lac_exec_t *exec, void *handle, const lac_problem_t *p,
                                  const lac_cuda_dense_view_t *a, const lac_cuda_dense_view_t *b,
                                  char *memory)
{
    static const double nothing = 0.0; /* of a float too */
    const lac_cuda_scalar_t alpha = lac_cuda_alpha(p), beta = lac_cuda_beta(p);
    bool direct = is_direct(p);
    void *c = direct ? p->c : (void *)memory;
    lac_status_t status = multiply(handle, p->n, p->m, p->k, at(&alpha),
                                   by_blas(factor_type(p), b->buf, b->cs, b->rs, p->n, p->k),
                                   by_blas(factor_type(p), a->buf, a->cs, a->rs, p->k, p->m),
                                   direct ? at(&beta) : &nothing, product_type(p), c, direct ? p->crs : p->n);
    lac_cuda_matrix_t product = {product_type(p), c, p->m, p->n, p->n, 1};
    if (status || direct) return status;
    return lac_cuda_launched(lac_cuda_copy(&product, p->beta, p->dt, p->c, p->crs, p->ccs, exec->stream),
                             "dense");
}

static lac_status_t run_dense(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                              lac_outcome_t *out)
{
    (void)route, (void)out;
    const lac_cuda_scalar_t alpha = lac_cuda_alpha(p), beta = lac_cuda_beta(p);
    lac_dt_t type = factor_type(p);
    lac_cuda_dense_view_t a, b;
    char *memory;
    void *handle;
    lac_status_t status = lac_cublas_handle(exec, &handle);
    if (!status) status = lac_cuda_work(exec, work_bytes(p), (void **)&memory);
    if (!status) status = lac_cublas_math(exec, handle, p->settings.math, lac_problem_is_half(p));
    if (status || exec->preparing) return status;
    status = factor(exec, &p->a, type, p->m, p->k, &memory, &a);
    if (!status) status = factor(exec, &p->b, type, p->k, p->n, &memory, &b);
    if (status) return status;
    if (p->alpha_at) status = set_scalars(handle, LAC_CUBLAS_SCALARS_DEVICE);
    if (status) return status;
    status =
        c_by_columns(p) && is_direct(p)
            ? multiply(handle, p->m, p->n, p->k, at(&alpha), by_blas(type, a.buf, a.rs, a.cs, p->m, p->k),
                       by_blas(type, b.buf, b.rs, b.cs, p->k, p->n), at(&beta), p->dt, p->c, p->ccs)
            : multiply_rows(exec, handle, p, &a, &b, memory);
    lac_status_t back = p->alpha_at ? set_scalars(handle, LAC_CUBLAS_SCALARS_HOST) : LAC_OK;
    return status ? status : back;
}

const lac_route_t lac_cuda_route_dense[] =
    LAC_ROUTE_ONE(dense, applicable_dense, cost_us_dense, bytes_dense, run_dense, NULL, 0);

/* Every product summed in double by one kernel of our own: the reference route, and the dense route of a
 * machine that has no cuBLAS. */

/* Within 30 % for 57 products of 1 to 7104 tiles and k up to 472 (H200, 2026-11-21). A block goes along k
 * step by step, whoever else is on its multiprocessor. */
#define TILE    16.0
#define STEP_US 0.0375 /* one of k                                                  */
#define TILE_US 0.1    /* a tile, where a multiprocessor has more than it can hold  */
#define DEEP_US 0.15   /* ... and each 16 of its k                                  */

static lac_refusal_t applicable_f64(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return lac_problem_is_trivial(p) ? LAC_REFUSED_TRIVIAL : LAC_FITS;
}

static double cost_us_f64(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route;
    double k = (double)p->k, tiles = ceil((double)p->m / TILE) * ceil((double)p->n / TILE);
    double shared = tiles / machine->cuda_processors * (TILE_US + DEEP_US * ceil(k / TILE));
    return machine->cuda_launch_us + STEP_US * k + shared;
}

static bool densifies(const lac_operand_t *x)
{
    return !x->buf;
}

static size_t bytes_f64(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return (densifies(&p->a) ? lac_cuda_dense_view_bytes(&p->a, p->m, p->k, false) : 0) +
           (densifies(&p->b) ? lac_cuda_dense_view_bytes(&p->b, p->k, p->n, false) : 0);
}

/* The operand as the kernel reads it: either type, any strides; a sparse format expanded at *memory. */
static lac_status_t as_matrix(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                              char **memory, lac_cuda_matrix_t *matrix)
{
    lac_cuda_dense_view_t contents;
    *matrix = (lac_cuda_matrix_t){x->dt, x->buf, rows, cols, x->rs, x->cs};
    if (!densifies(x)) return LAC_OK;
    lac_status_t status = lac_cuda_dense_view(exec, x, rows, cols, false, memory, &contents);
    *matrix = (lac_cuda_matrix_t){x->values, contents.buf, rows, cols, contents.rs, contents.cs};
    return status;
}

static lac_status_t run_f64(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                            lac_outcome_t *out)
{
    (void)out;
    lac_cuda_matrix_t a, b;
    char *memory;
    lac_status_t status = lac_cuda_work(exec, bytes_f64(route, p), (void **)&memory);
    if (status || exec->preparing) return status;
    status = as_matrix(exec, &p->a, p->m, p->k, &memory, &a);
    if (!status) status = as_matrix(exec, &p->b, p->k, p->n, &memory, &b);
    if (status) return status;
    lac_cuda_skip_t skip = lac_problem_skips(p, &p->a)   ? LAC_CUDA_SKIP_A
                           : lac_problem_skips(p, &p->b) ? LAC_CUDA_SKIP_B
                                                         : LAC_CUDA_SKIP_NONE;
    return lac_cuda_launched(lac_cuda_gemm_f64(p->m, p->n, p->k, skip, lac_cuda_alpha(p), &a, &b,
                                               lac_cuda_beta(p), p->dt, p->c, p->crs, p->ccs, exec->stream),
                             route->name);
}

const lac_route_t lac_cuda_route_reference[] =
    LAC_ROUTE_ONE(reference, applicable_f64, cost_us_f64, bytes_f64, run_f64, NULL, 0);
const lac_route_t lac_cuda_route_native[] =
    LAC_ROUTE_ONE(native, applicable_f64, cost_us_f64, bytes_f64, run_f64, NULL, LAC_ROUTE_FEW_TERMS);

/* The trivial route on a device: nothing to sum, so c is only scaled. */

static lac_refusal_t applicable_trivial(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return lac_problem_is_trivial(p) ? LAC_FITS : LAC_REFUSED_NOT_TRIVIAL;
}

static double cost_us_trivial(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route;
    return machine->cuda_launch_us + 8.0 * (double)p->m * (double)p->n / (machine->cuda_dram_gbps * 1e3);
}

static size_t bytes_trivial(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route, (void)p;
    return 0;
}

static lac_status_t run_trivial(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                                lac_outcome_t *out)
{
    (void)route, (void)out;
    if ((p->beta == 1.0f && !p->beta_at) || exec->preparing) return LAC_OK;
    return lac_cuda_launched(
        lac_cuda_scale(p->m, p->n, lac_cuda_beta(p), p->dt, p->c, p->crs, p->ccs, exec->stream), "trivial");
}

const lac_route_t lac_cuda_route_trivial[] =
    LAC_ROUTE_ONE(trivial, applicable_trivial, cost_us_trivial, bytes_trivial, run_trivial, NULL, 0);

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Batches on a device: one launch that skips zeros, or the vendor's strided batch, whichever is predicted to
 be cheaper; neither where single products are large enough to fill the device, or lie in a way that neither
 reads. */
#include "operators.h"
#include "cuda_kernels.h"
#include "cuda/runtime/vendor.h"

_Static_assert(LAC_BATCH_SET <= LAC_CUDA_BATCH_SET, "one launch serves what is named one by one");

#define NEVER  1e30
#define ROW_US 0.0004 /* a row of S, whatever it holds: 512 x 32 rows of 128 (H200, 2026-11-21) */
/* Dense work of a product from which a launch of its own costs nothing beside it: 80 us. */
#define LARGE_FLOPS 4e9

static bool strided(const lac_batch_t *batch)
{
    return !batch->a_each;
}

static bool nonnegative(lac_inc_t rs, lac_inc_t cs)
{
    return rs >= 0 && rs < INT32_MAX && cs >= 0 && cs < INT32_MAX;
}

/* W of numbers, and S of the same, of floats or of events. */
static bool event_takes(const lac_sided_t *s)
{
    bool number = s->w->dt == LAC_F32 || lac_is_half(s->w->dt);
    return number && (s->s->dt == s->w->dt || s->s->dt == LAC_F32 || s->s->dt == LAC_U8);
}

/* The launch reads S by rows in each block of columns, a row of W for each event, and writes out. */
static double event_us(const lac_exec_t *exec, const lac_problem_t *p, const lac_batch_t *batch,
                       lac_side_t side)
{
    const lac_machine_t *machine = exec->machine;
    lac_sided_t s = lac_sided(p, side);
    bool fits = s.s->buf && s.w->buf && event_takes(&s) && s.k <= LAC_CUDA_BATCH_K &&
                nonnegative(s.wrs, s.wcs) && s.n < INT32_MAX && (double)s.m * (double)batch->count < 2e9;
    if (p->settings.strict_nan || s.s->density < 0 || !fits) return NEVER;
    double rows = (double)s.m * (double)batch->count, k = (double)s.k, n = (double)s.n;
    double element = (double)lac_dt_size(s.s->dt), out = (double)lac_dt_size(p->dt),
           apart = s.wcs == 1 ? (double)lac_dt_size(s.w->dt) : 32.0;
    double bytes = rows * (element * k * (1.0 + n / 1024.0) + s.s->density * k * apart * n + out * n);
    return machine->cuda_launch_us + ROW_US * rows + bytes / (machine->cuda_l2_gbps * 1e3);
}

/* One operand as cuBLAS takes it: by columns, or transposed; ld 0 where it does not. */
typedef struct blas_operand {
    const void *buf;
    int trans, ld;
} blas_operand_t;

static blas_operand_t by_blas(const void *buf, lac_inc_t rs, lac_inc_t cs, lac_dim_t rows, lac_dim_t cols)
{
    int64_t by_columns = cols == 1 ? rows : cs, by_rows = rows == 1 ? cols : rs;
    if ((rs == 1 || rows == 1) && by_columns >= rows && by_columns <= INT32_MAX)
        return (blas_operand_t){buf, LAC_CUBLAS_N, (int)by_columns};
    if ((cs == 1 || cols == 1) && by_rows >= cols && by_rows <= INT32_MAX)
        return (blas_operand_t){buf, LAC_CUBLAS_T, (int)by_rows};
    return (blas_operand_t){buf, 0, 0};
}

/* Numbers of one type. */
static bool plain(const lac_operand_t *a, const lac_operand_t *b)
{
    bool half = lac_is_half(a->dt) && lac_cublas()->gemm_strided_ex;
    return a->buf && b->buf && a->dt == b->dt && (a->dt == LAC_F32 || half);
}

/* C by columns as cuBLAS writes it: the product, or the transposed product. */
typedef struct dense {
    blas_operand_t a, b, c;
    lac_dim_t m, n;
    lac_inc_t a_step, b_step;
} dense_t;

static bool as_dense(const lac_problem_t *p, const lac_batch_t *batch, dense_t *d)
{
    const lac_operand_t *a = &p->a, *b = &p->b;
    blas_operand_t c = by_blas(p->c, p->crs, p->ccs, p->m, p->n);
    *d = (dense_t){by_blas(a->buf, a->rs, a->cs, p->m, p->k),
                   by_blas(b->buf, b->rs, b->cs, p->k, p->n),
                   c,
                   p->m,
                   p->n,
                   batch->a_step,
                   batch->b_step};
    if (c.ld && c.trans == LAC_CUBLAS_T)
        *d = (dense_t){by_blas(b->buf, b->cs, b->rs, p->n, p->k),
                       by_blas(a->buf, a->cs, a->rs, p->k, p->m),
                       c,
                       p->n,
                       p->m,
                       batch->b_step,
                       batch->a_step};
    return lac_cublas()->found && strided(batch) && plain(a, b) && d->a.ld && d->b.ld && c.ld &&
           d->m <= INT32_MAX && d->n <= INT32_MAX && p->k <= INT32_MAX && batch->count <= INT32_MAX &&
           batch->a_step >= 0 && batch->b_step >= 0 && batch->c_step >= 0;
}

static double dense_us(const lac_exec_t *exec, const lac_problem_t *p, const lac_batch_t *batch)
{
    const lac_machine_t *machine = exec->machine;
    double count = (double)batch->count, m = (double)p->m, n = (double)p->n, k = (double)p->k;
    double element = (double)lac_dt_size(p->a.dt), out = (double)lac_dt_size(p->dt);
    double a = element * m * k * (batch->a_step ? count : 1.0),
           b = element * k * n * (batch->b_step ? count : 1.0);
    double rate = p->m == 1 || p->n == 1 ? machine->cuda_dense_vector_gbps : machine->cuda_dense_gbps;
    double speed = machine->cuda_dense_tflops;
    if (lac_is_half(p->a.dt)) rate = LAC_HALF_DRAM * machine->cuda_dram_gbps, speed *= LAC_HALF_TFLOPS;
    double moved = (a + b + out * m * n * count) / (rate * 1e3);
    double worked = 2.0 * m * n * k * count / (speed * 1e6);
    return machine->cuda_dense_call_us + (moved > worked ? moved + 0.5 * worked : worked + 0.5 * moved);
}

static lac_status_t run_dense(lac_exec_t *exec, const lac_problem_t *p, const lac_batch_t *batch,
                              const dense_t *d)
{
    void *handle;
    const float alpha = (float)p->alpha, beta = (float)p->beta;
    bool half = lac_is_half(p->a.dt);
    int type = lac_cublas_type(p->a.dt);
    lac_status_t status = lac_cublas_handle(exec, &handle);
    if (!status) status = lac_cublas_math(exec, handle, p->settings.math, half);
    if (status) return status;
    if (half)
        return lac_cublas_check_error(
            lac_cublas()->gemm_strided_ex(
                handle, d->a.trans, d->b.trans, (int)d->m, (int)d->n, (int)p->k, &alpha, d->a.buf, type,
                d->a.ld, d->a_step, d->b.buf, type, d->b.ld, d->b_step, &beta, p->c, lac_cublas_type(p->dt),
                d->c.ld, batch->c_step, (int)batch->count, LAC_CUBLAS_COMPUTE_32F, LAC_CUBLAS_GEMM_DEFAULT),
            "gemmStridedBatchedEx");
    return lac_cublas_check_error(
        lac_cublas()->sgemm_strided(handle, d->a.trans, d->b.trans, (int)d->m, (int)d->n, (int)p->k, &alpha,
                                    d->a.buf, d->a.ld, d->a_step, d->b.buf, d->b.ld, d->b_step, &beta, p->c,
                                    d->c.ld, batch->c_step, (int)batch->count),
        "sgemmStridedBatched");
}

static lac_status_t run_event(lac_exec_t *exec, const lac_problem_t *p, const lac_batch_t *batch,
                              lac_side_t side)
{
    lac_sided_t s = lac_sided(p, side);
    bool left = side == LAC_SIDE_LEFT;
    lac_cuda_batch_t b = {.count = batch->count, .m = s.m, .n = s.n, .k = s.k};
    b.alpha = (float)p->alpha, b.beta = (float)p->beta;
    b.dt = s.s->dt, b.w_dt = s.w->dt, b.out_dt = p->dt;
    b.srs = s.srs, b.scs = s.scs, b.wks = s.wrs, b.wjs = s.wcs, b.rs = s.ors, b.cs = s.ocs;
    b.s = s.s->buf, b.w = s.w->buf, b.out = p->c;
    b.s_step = left ? batch->a_step : batch->b_step;
    b.w_step = left ? batch->b_step : batch->a_step;
    b.out_step = batch->c_step;
    b.s_each = left ? batch->a_each : batch->b_each;
    b.w_each = left ? batch->b_each : batch->a_each;
    b.out_each = batch->c_each;
    return lac_cuda_launched(lac_cuda_batch_events(&b, exec->stream), "batch");
}

lac_status_t lac_cuda_batched(lac_exec_t *exec, const lac_problem_t *p, const lac_batch_t *batch,
                              lac_batch_outcome_t *out)
{
    dense_t d;
    if (!p->k || p->alpha == 0.0 || 2.0 * (double)p->m * (double)p->n * (double)p->k > LARGE_FLOPS)
        return LAC_OK;
    double left = event_us(exec, p, batch, LAC_SIDE_LEFT), right = event_us(exec, p, batch, LAC_SIDE_RIGHT);
    double dense = as_dense(p, batch, &d) ? dense_us(exec, p, batch) : NEVER,
           event = left < right ? left : right;
    if (event >= NEVER && dense >= NEVER) return LAC_OK;
    out->served = true;
    out->role = event < dense ? LAC_ROLE_SPARSE : LAC_ROLE_DENSE;
    out->side = event >= dense ? LAC_SIDE_NONE : left < right ? LAC_SIDE_LEFT : LAC_SIDE_RIGHT;
    return event < dense ? run_event(exec, p, batch, out->side) : run_dense(exec, p, batch, &d);
}

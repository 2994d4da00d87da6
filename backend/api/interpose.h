/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * For libraries that interpose Lacuna in front of another BLAS: a GEMM that declines where that BLAS is
 * better.
 *
 * These calls are made to cost next to nothing on the way to "declined": a hot dense site is recognised from
 * its shape alone, and its operands are not inspected. Arguments must have passed the BLAS's own checks. */
#ifndef LACUNA_API_INTERPOSE_H
#define LACUNA_API_INTERPOSE_H

#include "base/vendor.h"
#include "lacuna/meta.h"
#include "operand/gemm_args.h"

/* Minimum number of multiply-adds for a device GEMM to be considered; below it the caller's
 * own call is as fast. 0 where every call is to be considered, since a backend is forced or
 * every call is reported; infinite where LACUNA_DISABLE is set. Read once for the process. */
LAC_API double lac_interpose_min_macs(void);

/* This thread's own context, made on first use and freed with the thread, on the host; NULL when it cannot be
 * made or LACUNA_DISABLE is set. */
LAC_API lac_ctx_t *lac_thread_ctx(void);

/* Column-major C := beta C + alpha op(A) op(B) as sgemm_, in the context's space. Returns 1 when C has been
 * computed (on a device: queued), 0 when the call is declined and C is untouched. symbol and caller go into
 * verbose lines and statistics. */
LAC_API int lac_try_sgemm(lac_ctx_t *ctx, lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n,
                          lac_dim_t k, float alpha, const float *a, lac_inc_t lda, const float *b,
                          lac_inc_t ldb, float beta, float *c, lac_inc_t ldc, const char *symbol,
                          const void *caller);

/* Row-major C[m, n] := beta C + alpha op(A) op(B) as cblas_sgemm has it. Returns as lac_try_sgemm;
 * verbose lines and statistics show the product as the caller wrote it. */
LAC_API int lac_try_sgemm_rows(lac_ctx_t *ctx, lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n,
                               lac_dim_t k, float alpha, const float *a, lac_inc_t lda, const float *b,
                               lac_inc_t ldb, float beta, float *c, lac_inc_t ldc, const char *symbol,
                               const void *caller);

/* Returns how many upcoming calls with this shape and caller (at most `most`, the next
 * one included) will be declined without inspection. It needs neither pointers nor scalars,
 * and the calls count as declined. `adds`: the call adds a matrix or a bias. */
LAC_API unsigned lac_interpose_dense_streak(lac_ctx_t *ctx, lac_trans_t ta, lac_trans_t tb, lac_dim_t m,
                                            lac_dim_t n, lac_dim_t k, lac_inc_t lda, lac_inc_t ldb, int adds,
                                            const void *caller, unsigned most);

/* Column-major C := beta C + alpha op(A) op(B) + d + bias, on a device. Returns as lac_try_sgemm;
 * where beta = 0, a declined C may hold anything. The price of adding is weighed. */
LAC_API int lac_try_sgemm_residual(lac_ctx_t *ctx, lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n,
                                   lac_dim_t k, float alpha, const float *a, lac_inc_t lda, const float *b,
                                   lac_inc_t ldb, float beta, float *c, lac_inc_t ldc,
                                   const lac_residual_t *residual, const char *symbol, const void *caller);

/* Column-major y := beta y + alpha op(A) x as sgemv_, A stored m x n. */
LAC_API int lac_try_sgemv(lac_ctx_t *ctx, lac_trans_t ta, lac_dim_t m, lac_dim_t n, float alpha,
                          const float *a, lac_inc_t lda, const float *x, lac_inc_t incx, float beta, float *y,
                          lac_inc_t incy, const char *symbol, const void *caller);

/* Nonzero where the operands of column-major C[m, n] := .. op(A) op(B) may be registered (lacuna/register.h),
 * or frozen by their shape; lac_interpose_dense_streak does not
 * know of such calls. Ends the registration of what C overwrites. Costs next to nothing where nothing is. */
LAC_API int lac_interpose_is_registered(lac_dim_t m, lac_dim_t n, lac_dim_t k, const float *a, const float *b,
                                        const float *c, lac_inc_t ldc);

/* Nonzero while the call that was just declined on this context is being
 * timed: call nothing else on it before lac_interpose_timing_end. */
LAC_API int lac_interpose_timing_pending(const lac_ctx_t *ctx);

/* As lac_try_sgemm, for count products of one shape on a device: all of them, or none. They are made
 * one by one, which is weighed against a call that makes all at once. */
LAC_API int lac_try_sgemm_strided(lac_ctx_t *ctx, lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n,
                                  lac_dim_t k, float alpha, const float *a, lac_inc_t lda, const float *b,
                                  lac_inc_t ldb, float beta, float *c, lac_inc_t ldc,
                                  const lac_strides_t *batch, const char *symbol, const void *caller);

/* A product that is being recorded: C := beta C + alpha op(A) op(B) + residual, column-major. */
typedef struct lac_captured_gemm {
    lac_trans_t ta, tb;
    lac_dim_t m, n, k;
    float alpha, beta;
    const float *a, *b;
    float *c;
    lac_inc_t lda, ldb, ldc;
    lac_residual_t residual;
    const char *symbol;
    const void *caller;
} lac_captured_gemm_t;

/* What a context estimates for such a GEMM from earlier calls. */
typedef struct lac_estimate {
    int right;       /* the sparse operand is B, not A                             */
    double density;  /* last seen                                                  */
    double limit;    /* below this density the route that skips is the cheaper one */
    double cost_us;  /* by that route, as far as measured there                    */
    double dense_us; /* by the caller's own dense call                             */
} lac_estimate_t;

/* Nonzero, with the estimate, where a sparse route serves the site of this product on this context. */
LAC_API int lac_gemm_estimate(const lac_ctx_t *ctx, const lac_captured_gemm_t *product,
                              lac_estimate_t *estimate);

/* On `stream`, which is being captured: adds a sparse and a dense path of the GEMM to the capture, and a
 * probe of the sparse operand that selects one each time the graph runs. Returns 1 when it has; 0 when
 * declined: the capture is as it was. Negative: the capture has to be given up. The context has a stream of
 * its own that is not captured, and serves no other stream while the graph lives: its workspace is in the
 * graph. on_release(owner) is called once, whatever is returned, when nothing refers to what was added, on
 * any thread; it may not call CUDA. */
LAC_API int lac_capture_gemm(lac_ctx_t *ctx, void *stream, const lac_captured_gemm_t *product,
                             const lac_estimate_t *estimate, void (*on_release)(void *owner), void *owner);

/* Returns 1 when C has been queued, 0 when the call is declined: where lac_interpose_timing_pending then says
 * so, its time is wanted: call lac_interpose_timing_end when it has run. At each site
 * the caller's own call is timed first, then ours, and the faster one serves. Arguments must have passed the
 * checks of the caller's own call. Entries that are not stored are not multiplied, as in theirs, whatever the
 * context's setting of NaN says. */
LAC_API int lac_try_spmm(lac_ctx_t *ctx, const lac_spmm_t *call, const char *symbol, const void *caller);

/* Counts a passed-through call for the statistics at exit, where they are enabled. */
LAC_API void lac_interpose_count_passthrough(const char *symbol, lac_pass_t why);

/* To be called when the BLAS behind has served a call that was just declined on this context: now and then
 * the time since is measured, so that the decisions at that site rest on it. Costs next to nothing. */
LAC_API void lac_interpose_timing_end(lac_ctx_t *ctx);

#endif

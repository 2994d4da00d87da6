/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * For libraries that interpose Lacuna in front of another BLAS: a GEMM that declines where that BLAS is
 * better.
 *
 * These calls are made to cost next to nothing on the way to "declined": a hot dense site is recognised from
 * its shape alone, and its operands are not inspected. Arguments must have passed the BLAS's own checks. */
#ifndef LACUNA_INTERPOSE_H
#define LACUNA_INTERPOSE_H

#include "lacuna/meta.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* Residual: what is added to the product besides beta C; each pointer may be NULL. */
typedef struct lac_residual {
    const float *d;    /* m x n, column-major, apart from C           */
    lac_inc_t ldd;     /* its leading dimension                       */
    const float *bias; /* m values: one for each row, in every column */
} lac_residual_t;

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

/* How far the matrices of the next product of a batch lie on, in elements. */
typedef struct lac_strides {
    lac_inc_t a, b, c;
    lac_dim_t count;
} lac_strides_t;

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

/* C := beta C + alpha A B with A as the CSR arrays of somebody else's call, all on the context's device. The
 * entries of a row may stand in any order, and more than once. */
typedef struct lac_spmm {
    lac_dim_t m, n, k, nnz;
    lac_trans_t trans;              /* LAC_TRANS: the arrays hold the transpose of A, k rows */
    lac_index_t ptr_type, idx_type; /* of ptr[rows + 1] and idx[nnz], which begin at 0; nnz is exact */
    const void *ptr, *idx;
    const float *val; /* [nnz] */
    const float *b;   /* k x n; one of its strides is 1 */
    lac_inc_t rsb, csb;
    float *c; /* m x n */
    lac_inc_t rsc, csc;
    const float *alpha, *beta; /* one float each ... */
    lac_space_t scalars;       /* ... and where they lie */
    int alg;                   /* what else tells the caller's own calls apart: their algorithm */
} lac_spmm_t;

/* Returns 1 when C has been queued, 0 when the call is declined: where lac_interpose_timing_pending then says
 * so, its time is wanted: call lac_interpose_timing_end when it has run. At each site
 * the caller's own call is timed first, then ours, and the faster one serves. Arguments must have passed the
 * checks of the caller's own call. Entries that are not stored are not multiplied, as in theirs, whatever the
 * context's setting of NaN says. */
LAC_API int lac_try_spmm(lac_ctx_t *ctx, const lac_spmm_t *call, const char *symbol, const void *caller);

/* Why a drop-in library passes a call through without probing it. */
typedef enum lac_pass {
    LAC_PASS_VENDOR,         /* a vendor library made it, within an algorithm of its own    */
    LAC_PASS_TYPE,           /* its types, arithmetic or layout                             */
    LAC_PASS_ARGUMENTS,      /* nothing to multiply, or an error that is not ours to report */
    LAC_PASS_BATCH,          /* several products, that cannot be served one by one          */
    LAC_PASS_SMALL,          /* fewer multiply-adds than lac_interpose_min_macs                   */
    LAC_PASS_HANDLE,         /* scalars on the device, or a math mode                       */
    LAC_PASS_CAPTURED,       /* its stream is being captured                                */
    LAC_PASS_STREAM,         /* the per-thread default stream, or one too many              */
    LAC_PASS_CONTEXT,        /* no context could be made for it                             */
    LAC_PASS_GRAPH,          /* not passed on: captured with both paths                           */
    LAC_PASS_DEVICE_POINTERS /* where its matrices are is known on the device alone         */
} lac_pass_t;

/* Counts a passed-through call for the statistics at exit, where they are enabled. */
LAC_API void lac_interpose_count_passthrough(const char *symbol, lac_pass_t why);

/* To be called when the BLAS behind has served a call that was just declined on this context: now and then
 * the time since is measured, so that the decisions at that site rest on it. Costs next to nothing. */
LAC_API void lac_interpose_timing_end(lac_ctx_t *ctx);

/* Whether a path is that of a BLAS library, judged by the file's name. */
LAC_API int lac_is_blas(const char *path);

/* A symbol of the BLAS that the dense route uses (LACUNA_BLAS, one that is loaded, or one that is opened
 * now), never one of a Lacuna drop-in library; NULL when there is none. The fallback of a drop-in library
 * with no BLAS behind it. */
LAC_API void *lac_blas_symbol(const char *name);

#ifdef __cplusplus
}
#endif
#endif

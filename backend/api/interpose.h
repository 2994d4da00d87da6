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

/* A product of a drop-in library's caller, from the intercepted symbol down: its handler fills in the
 * arguments, which have passed the BLAS's own checks, as they lie in the context's space, and from then on
 * calls these in turn. A vector is a matrix of one column; a batch or a residual takes a device. */

/* Ends the registration (lacuna/register.h) of what C[m, n] overwrites, whoever computes it: C lies at
 * c[i * rs + j * cs]. Costs next to nothing where nothing is registered. */
LAC_API void lac_interpose_invalidate_output(lac_dt_t dt, const void *c, lac_dim_t m, lac_dim_t n,
                                             lac_inc_t rs, lac_inc_t cs);

/* Nonzero where A or B may be registered, or is frozen by its shape: to be put into args->registered. Reads
 * m, n, k and the addresses of A and B alone. */
LAC_API int lac_interpose_is_registered(const lac_gemm_args_t *args);

/* Returns how many upcoming calls with this shape and caller (at most `most`, the next one included) will be
 * declined without inspection. `made`: how many of an earlier answer's the caller has made since, this one
 * not included; they count as declined. Reads neither elements nor scalars. */
LAC_API unsigned lac_interpose_dense_streak(lac_ctx_t *ctx, const lac_gemm_args_t *args, unsigned most,
                                            unsigned made);

/* Returns 1 when C has been computed (on a device: queued), 0 when the call is declined and C is untouched;
 * or, where something is added and beta = 0, C may hold anything. A batch is computed whole or not at all.
 * What the caller's own call would include (the residual, all products of a batch at once) is weighed. */
LAC_API int lac_try_gemm(lac_ctx_t *ctx, const lac_gemm_args_t *args);

/* The same where there is no BLAS to decline to: C is computed by some route, on the host. Errors: ALIAS,
 * MEMORY. */
LAC_API lac_status_t lac_compute_gemm(lac_ctx_t *ctx, const lac_gemm_args_t *args);

/* Nonzero while the call that was just declined on this context is being
 * timed: call nothing else on it before lac_interpose_timing_end. */
LAC_API int lac_interpose_timing_pending(const lac_ctx_t *ctx);

/* What a context estimates for a GEMM from earlier calls. */
typedef struct lac_estimate {
    int right;       /* the sparse operand is B, not A                             */
    double density;  /* last seen                                                  */
    double limit;    /* below this density the route that skips is the cheaper one */
    double cost_us;  /* by that route, as far as measured there                    */
    double dense_us; /* by the caller's own dense call                             */
} lac_estimate_t;

/* Nonzero, with the estimate, where a sparse route serves the site of this call on this context. */
LAC_API int lac_gemm_estimate(const lac_ctx_t *ctx, const lac_gemm_args_t *args, lac_estimate_t *estimate);

/* Nonzero where a product of this shape is recorded without an estimate: a path of ours is predicted to be
 * faster than the caller's whatever its operands hold, or to find zeros at each replay and lose no more than
 * is promised where there are none. */
LAC_API int lac_records_any_density(lac_ctx_t *ctx, const lac_gemm_args_t *args);

/* On `stream`, which is being captured: adds a sparse and a dense path of the GEMM to the capture, and a
 * probe of the sparse operand that selects one each time the graph runs; or one path, as
 * lac_records_any_density has it. What is registered of an operand is read by it, and stays as long.
 * estimate: NULL where there is none. Returns 1 when it has; 0 when declined: the capture is as it was.
 * Negative: the capture has to be given up. The context has a stream of its own that is not captured, and
 * serves no other stream while the graph lives: its workspace is in the graph. on_release(owner) is called
 * once, whatever is returned, when nothing refers to what was added, on any thread; it may not call CUDA. */
LAC_API int lac_capture_gemm(lac_ctx_t *ctx, void *stream, const lac_gemm_args_t *args,
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

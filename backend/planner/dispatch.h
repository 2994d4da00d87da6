/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One call, or a batch of them: fill in densities, select, run, learn, report. */
#ifndef LACUNA_PLANNER_DISPATCH_H
#define LACUNA_PLANNER_DISPATCH_H

#include "context.h"
#include "lacuna/gemm.h"
#include "route/backend.h"
#include "select.h"

/* What the caller of a dispatch may set and get; the public lac_call_opts_t in internal words. */
typedef struct lac_request {
    const char *route;        /* a route name that the call asks for, or NULL       */
    lac_decision_t *decision; /* out, or NULL                                       */
    const char *symbol;
    const void *caller;
    bool may_decline; /* leave c alone where the dense route would serve    */
    bool followed;    /* lac_dispatch_forwarded will follow where it is declined and ctx->forwarded is set  */
    bool untried;     /* the route is for more than this call: no trials but of the caller's BLAS           */
    bool declined;    /* out                                                */
    bool epilogue_done;   /* out: what p->epilogue says is done too; else it is left to the caller  */
    double density_limit; /* 0: by the site                                     */
    double density;       /* out: counted by the run; negative: not             */
    const uint64_t *bits; /* out: those of c that p->epilogue asks for, once all of it is done; or NULL */
} lac_request_t;

/* Computes the described problem by the best route. */
lac_status_t lac_dispatch(lac_ctx_t *ctx, lac_problem_t *p, lac_request_t *request);

/* Puts the policy and what the call's site knows of the operands' densities into a problem. The site; NULL
 * where there is none. */
lac_site_t *lac_dispatch_fill_densities(lac_ctx_t *ctx, lac_problem_t *p, const lac_request_t *request);

/* How many calls of this site that may be declined, up to `most`, are certain to be, without inspection: the
 * site is dense, neither a probe nor a measurement is due, and no report is wanted. This call then counts as
 * declined; the others, once the caller says that they were made: `made` since it was last here. */
unsigned lac_dispatch_dense_streak(lac_ctx_t *ctx, const lac_site_key_t *key, unsigned most, unsigned made);

/* True where this call is the first of its shape, may be declined, and is too short for a look: it then
 * counts as declined. `p` need not have been checked. */
bool lac_dispatch_first(lac_ctx_t *ctx, lac_problem_t *p, const char *symbol, const void *caller);

/* A call that was declined and is being timed (ctx->forwarded is set) has been served by the caller's BLAS.
 */
void lac_dispatch_forwarded(lac_ctx_t *ctx);

/* Decides without running; the history learns nothing. */
void lac_dispatch_explain(lac_ctx_t *ctx, lac_problem_t *p, const lac_request_t *request,
                          lac_decision_t *decision);

/* Runs a route that was chosen before, where it still applies; else any. Plans use it. */
lac_status_t lac_dispatch_planned(lac_ctx_t *ctx, lac_problem_t *p, const lac_route_t *route);

/* The route that a decision names. */
const lac_route_t *lac_dispatch_route(const lac_ctx_t *ctx, const lac_decision_t *decision);

/* A batch of products: at once where the backend can, one by one otherwise. */

/* Serves the whole batch, or leaves all of it (*served false). p is the first product's, without metadata of
 * matrices that differ. */
lac_status_t lac_dispatch_batch(lac_ctx_t *ctx, lac_problem_t *p, lac_batch_t *batch, const char *symbol,
                                bool *served);

/* Reports calls to people, line by line. Nothing is written unless it was asked for. */

/* True where every call must be seen, timed and reported. */
bool lac_report_wanted(const lac_policy_t *policy);

/* One call that was served or declined. */
void lac_report_call(lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p, const lac_request_t *request,
                     const lac_choice_t *choice, double took_us);

#endif

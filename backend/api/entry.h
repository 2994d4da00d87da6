/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Helpers that every public entry point begins with. */
#ifndef LACUNA_API_ENTRY_H
#define LACUNA_API_ENTRY_H

#include "../dispatch/dispatch.h"
#include "lacuna/gemm.h"

/* A call's scalars and operands, checked and described: what lac_gemm_ex, lac_explain and the plans share. */
lac_status_t lac_describe_call(lac_ctx_t *ctx, const float *alpha, const lac_obj_t *a, const lac_obj_t *b,
                               const float *beta, const lac_obj_t *c, lac_problem_t *p);
/* The same with the scalars in that space. */
lac_status_t lac_describe_call_at(lac_ctx_t *ctx, lac_space_t scalars, const float *alpha, const lac_obj_t *a,
                                  const lac_obj_t *b, const float *beta, const lac_obj_t *c,
                                  lac_problem_t *p);

/* Whether scalars may lie there. Errors: VALUE, SPACE. */
lac_status_t lac_check_scalar_space(const lac_ctx_t *ctx, lac_space_t space);

/* Between these the context's device is the thread's current one. */
static inline int lac_enter(const lac_ctx_t *ctx)
{
    return ctx->backend->enter ? ctx->backend->enter(ctx->exec) : 0;
}
static inline void lac_leave(const lac_ctx_t *ctx, int token)
{
    if (ctx->backend->leave) ctx->backend->leave(ctx->exec, token);
}

/* Runs what was described as lac_gemm_ex does; request->route is set by lac_read_call. */
lac_status_t lac_run_call(lac_ctx_t *ctx, lac_problem_t *p, const lac_call_opts_t *settings,
                          lac_request_t *request, lac_call_opts_t *call);

/* The members of a caller's lac_call_opts_t that its size says are there; the rest zero. Errors: VALUE. */
lac_status_t lac_read_call(const lac_call_opts_t *call, lac_call_opts_t *copy, const char **route);

#endif

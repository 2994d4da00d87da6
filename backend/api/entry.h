/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Helpers that public entry points share: how each begins, and registered operands. */
#ifndef LACUNA_API_ENTRY_H
#define LACUNA_API_ENTRY_H

#include "planner/dispatch.h"
#include "interpose.h"
#include "lacuna/gemm.h"
#include "operand/registry.h"
#include "planner/context.h"

/* A call's operands, and its scalars in that space, checked and described: what lac_gemm_ex, lac_explain, the
 * plans and the batches share. */
lac_status_t lac_describe_call(lac_ctx_t *ctx, lac_space_t scalars, const void *alpha, const lac_obj_t *a,
                               const lac_obj_t *b, const void *beta, const lac_obj_t *c, lac_problem_t *p);

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

/* Registered operands, for the entries of drop-in libraries. */

/* The registered operands of a call in progress; NULL: none. */
typedef struct lac_known {
    lac_registered_t *a, *b;
} lac_known_t;

/* Gives the operands of a call what was registered of them, or what the option "frozen" says of their
 * extents. To be given back when the call is done. */
lac_known_t lac_known_take(lac_ctx_t *ctx, lac_obj_t *a, lac_obj_t *b);
void lac_known_give_back(const lac_known_t *known);

/* The same for the operands a and b of a drop-in library's call, and what there is goes into its problem. */
lac_known_t lac_known_of_call(lac_ctx_t *ctx, const lac_gemm_args_t *args, lac_obj_t *a, lac_obj_t *b,
                              lac_problem_t *p);

/* The site of a drop-in library's call, from its shape alone. */
lac_site_key_t lac_site_key_of(const lac_gemm_args_t *args);

/* Queues the sums that follow a product. */
lac_status_t lac_residual_queue(const lac_ctx_t *ctx, const lac_residual_t *residual, const lac_problem_t *p);

#endif

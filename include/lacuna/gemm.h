/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The product: C := beta C + alpha op(A) op(B), the decision behind it, and plans.
 *
 * C is LAC_F32 or LAC_F64; A and B are of its type, or LAC_U8. On a device A and B may be
 * LAC_F16 or LAC_BF16, both, or one beside LAC_U8, and C of that type or LAC_F32; or one beside LAC_F32, and
 * C LAC_F32: sums are f32, and rounded once. alpha and beta point at one number of C's type, of f32 where
 * that is of two bytes; NULL stands for alpha = 1 and beta = 0. beta = 0 never reads C; alpha = 0 never reads
 * A or B. C has a buffer, and overlaps neither A nor B. On any error nothing is written. */
#ifndef LACUNA_GEMM_H
#define LACUNA_GEMM_H

#include "lacuna/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One route's place in a decision. */
typedef struct lac_candidate {
    const char *route;   /* its name                                                     */
    const char *side;    /* "left", "right": which operand it takes as sparse; "" neither */
    const char *refusal; /* why it does not apply; NULL where it does                     */
    double cost_us;      /* predicted microseconds; negative where it does not apply      */
    size_t bytes;        /* memory it needs beyond the operands                           */
} lac_candidate_t;

#define LAC_CANDIDATES_MAX 24

/* A chosen route with all costs and refusals. The texts live as long as the library. */
typedef struct lac_decision {
    const char *route;  /* the chosen route                                                    */
    const char *side;   /* its side                                                            */
    const char *reason; /* why: "cheapest", "forced", "only", "remembered dense", ...          */
    const char *known;  /* how the density was known: "none", "remembered", "probed", "scanned",
                           "attached", "frozen"                                                */
    double density;     /* of the operand taken as sparse; negative when unknown               */
    double cost_us;     /* predicted for the chosen route                                      */
    double dense_us;    /* predicted for the dense route                                       */
    double break_even;  /* the density up to which zeros are skipped, where the device decides; negative:
                           it does not                                                         */
    int count;          /* candidates that follow, in table order                              */
    lac_candidate_t candidate[LAC_CANDIDATES_MAX];
} lac_decision_t;

/* Whether the zeros of one operand, S, are never multiplied, whatever route serves: then NaN and Inf in a row
 * or column of the other operand reach C only where S has a nonzero to meet them. Routes that cannot keep
 * that are refused. */
typedef enum lac_skip {
    LAC_SKIP_DEFAULT = 0,      /* as the context's option "skip" says                                   */
    LAC_SKIP_FAST = 1,         /* nothing is guaranteed: a route skips or multiplies them as is faster  */
    LAC_SKIP_GUARANTEED = 2,   /* S is the u8 operand; else the shorter: A where m <= n, B otherwise    */
    LAC_SKIP_GUARANTEED_A = 3, /* S is A, */
    LAC_SKIP_GUARANTEED_B = 4  /* or B    */
} lac_skip_t;

/* Per-call settings. Set size to sizeof(lac_call_opts_t) and leave unknown members zero. */
typedef struct lac_call_opts {
    size_t size;
    const char *route;        /* a backend name as in lac_ctx_set; NULL: the context's               */
    lac_decision_t *decision; /* filled with what was decided, or NULL                                */
    const char *symbol;       /* the entry point named in verbose lines; NULL: "lac_gemm"             */
    const void *caller;       /* an address inside the caller, named in verbose lines; or NULL        */
    int may_decline;          /* nonzero: where a dense route is best, compute nothing and set declined */
    int declined;             /* out: nonzero when the call was declined; C is untouched              */
    lac_space_t scalars;      /* where alpha and beta lie. LAC_DEVICE: both on the context's device, read when
                                 the product runs, so that a recording takes what they hold then       */
    int skip; /* a lac_skip_t. A guarantee excludes the option nan=strict, and no call under one declines */
    double density_limit; /* a sparse route that counts a larger fraction of nonzeros gives up before it
                             writes C, and the dense route serves (with may_decline: the call is declined); 0:
                             the library's own limit. On a device nothing is counted */
    double density;       /* out: the fraction of nonzeros that the route counted in its sparse operand;
                             negative: it counted none                                                       */
} lac_call_opts_t;

/* C := beta C + alpha op(A) op(B). A sparse-only operand makes it SpMM; an attached active list, the indexed
 * gather. Errors: NULL, EXTENT, STRIDE, ALIAS, TYPE, SPACE, EMPTY, STALE, MEMORY; VALUE for an unknown route.
 */
LAC_API lac_status_t lac_gemm(lac_ctx_t *ctx, const void *alpha, const lac_obj_t *a, const lac_obj_t *b,
                              const void *beta, const lac_obj_t *c);
LAC_API lac_status_t lac_gemm_ex(lac_ctx_t *ctx, const void *alpha, const lac_obj_t *a, const lac_obj_t *b,
                                 const void *beta, const lac_obj_t *c, lac_call_opts_t *call);

/* The same on bare f32 pointers: op(A) is m x k, op(B) is k x n; any strides, in elements. */
LAC_API lac_status_t lac_sgemm(lac_ctx_t *ctx, lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n,
                               lac_dim_t k, float alpha, const float *a, lac_inc_t rsa, lac_inc_t csa,
                               const float *b, lac_inc_t rsb, lac_inc_t csb, float beta, float *c,
                               lac_inc_t rsc, lac_inc_t csc);
/* The same on f64 pointers. */
LAC_API lac_status_t lac_dgemm(lac_ctx_t *ctx, lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n,
                               lac_dim_t k, double alpha, const double *a, lac_inc_t rsa, lac_inc_t csa,
                               const double *b, lac_inc_t rsb, lac_inc_t csb, double beta, double *c,
                               lac_inc_t rsc, lac_inc_t csc);
/* y := beta y + alpha op(A) x, A stored m x n. incx and incy may be negative, with BLAS's meaning. */
LAC_API lac_status_t lac_sgemv(lac_ctx_t *ctx, lac_trans_t ta, lac_dim_t m, lac_dim_t n, float alpha,
                               const float *a, lac_inc_t rsa, lac_inc_t csa, const float *x, lac_inc_t incx,
                               float beta, float *y, lac_inc_t incy);
/* The same of f64. */
LAC_API lac_status_t lac_dgemv(lac_ctx_t *ctx, lac_trans_t ta, lac_dim_t m, lac_dim_t n, double alpha,
                               const double *a, lac_inc_t rsa, lac_inc_t csa, const double *x, lac_inc_t incx,
                               double beta, double *y, lac_inc_t incy);

/* Decides and does not run: what lac_gemm_ex would do now. call may be NULL. */
LAC_API lac_status_t lac_explain(lac_ctx_t *ctx, const void *alpha, const lac_obj_t *a, const lac_obj_t *b,
                                 const void *beta, const lac_obj_t *c, lac_call_opts_t *call,
                                 lac_decision_t *decision);

/* A plan keeps a decision, to be run again on operands of the same shapes, strides and types; its first run
 * grows the workspace, the later ones allocate nothing. Metadata may differ; the route is kept where it is
 * still legal and the dense route serves where it is not. Free with lac_plan_free before the context. */
LAC_API lac_status_t lac_plan_create(lac_ctx_t *ctx, lac_plan_t **plan, const lac_obj_t *a,
                                     const lac_obj_t *b, const lac_obj_t *c, const lac_call_opts_t *call);
LAC_API lac_status_t lac_plan_run(lac_plan_t *plan, const void *alpha, const lac_obj_t *a, const lac_obj_t *b,
                                  const void *beta, const lac_obj_t *c);
LAC_API lac_status_t lac_plan_explain(const lac_plan_t *plan, lac_decision_t *decision);
LAC_API void lac_plan_free(lac_plan_t *plan);

#ifdef __cplusplus
}
#endif
#endif

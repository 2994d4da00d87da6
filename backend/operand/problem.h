/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The problem: one call as plain data, with every transpose already folded into the strides. */
#ifndef LACUNA_OPERAND_PROBLEM_H
#define LACUNA_OPERAND_PROBLEM_H

#include "gemm_args.h"
#include "lacuna/gemm.h"
#include "metadata.h"

#include <stdbool.h>

/* c[i, j] := x where x or, of magnitudes, |x| is above limit or NaN, else 0; x = c[i, j] + bias[i or j]. */
typedef struct lac_epilogue_args {
    bool any;          /* false: nothing follows */
    bool bias_per_row; /* of c */
    bool magnitude;
    double limit;     /* NaN: all stay */
    const void *bias; /* of the type of c; NULL: none */
    bool bits;        /* which elements of c are not zero is asked for afterwards: lac_outcome_t.bits     */
    bool
        bits_transposed; /* along the columns of c: the rows of the matrix as it is stored, else along rows */
} lac_epilogue_args_t;

/* How the density of an operand is known. */
typedef enum lac_source {
    LAC_KNOWN_NOT,        /* nothing is known                                            */
    LAC_KNOWN_REMEMBERED, /* the site's history                                          */
    LAC_KNOWN_PROBED,     /* probed in this call                         */
    LAC_KNOWN_SCANNED,    /* metadata of an operand that may have changed since: a hint  */
    LAC_KNOWN_ATTACHED,   /* the caller's own format                                       */
    LAC_KNOWN_FROZEN      /* measured, and promised not to change                        */
} lac_source_t;

const char *lac_source_name(lac_source_t source);

/* op(X): element (r, c) lies at buf[r * rs + c * cs]. */
/* In what blocks zeros are looked for: as many k, and as much of the operand's other extent. */
#define LAC_BLOCK_ACROSS 128
#define LAC_BLOCK_K      64

typedef struct lac_operand {
    lac_dt_t dt;
    lac_dt_t values;      /* of the formats: LAC_F32 or LAC_F64                                   */
    bool transposed;      /* op(X) is the transpose of the matrix that meta describes           */
    bool frozen;          /* meta is frozen: derived formats may be built and kept                */
    unsigned formats;     /* set of lac_format_t that may stand for the contents                  */
    lac_source_t known;   /* how density is known                                               */
    double density;       /* fraction nonzero; negative when unknown                            */
    double k_active;      /* fraction of k with any nonzero; negative when unknown              */
    double blocks_active; /* of blocks of LAC_BLOCK_ACROSS x LAC_BLOCK_K with any nonzero, where nonzeros keep
                             to some of them; negative: not known to */
    lac_inc_t rs, cs;
    const void *buf; /* NULL: sparse only                                                  */
    lac_meta_t *meta;
    lac_triangle_t triangle; /* X is symmetric, and buf holds this part of it; NONE: all of X     */
} lac_operand_t;

/* A format that may stand for the contents, or NULL. */
static inline const lac_format_data_t *lac_operand_format(const lac_operand_t *x, lac_format_t format)
{
    return x->formats & 1u << format ? lac_meta_format(x->meta, format) : NULL;
}

/* True where a dense kernel of that type can read op(X), rows x cols, from the buffer; `unit`: one stride has
 * to be 1 and the other to span a whole line, as a BLAS wants it. */
static inline bool lac_operand_is_dense(const lac_operand_t *x, lac_dt_t dt, lac_dim_t rows, lac_dim_t cols,
                                        bool unit)
{
    bool by_columns = (x->rs == 1 || rows <= 1) && (x->cs >= rows || cols <= 1);
    bool by_rows = (x->cs == 1 || cols <= 1) && (x->rs >= cols || rows <= 1);
    return x->buf && x->dt == dt && !x->triangle && (!unit || by_columns || by_rows);
}

typedef enum lac_math { LAC_MATH_FP32 = 0, LAC_MATH_PEDANTIC, LAC_MATH_TF32 } lac_math_t;

/* What the user's settings allow a route; from the policy. */
typedef struct lac_call_settings {
    int threads;      /* that a route may use                                                      */
    int blas_threads; /* that the caller's BLAS uses, as far as the environment says; 0: as many   */
    bool strict_nan;  /* 0 * Inf and 0 * NaN must be kept                                          */
    lac_skip_t skip;  /* whose zeros are never multiplied: LAC_SKIP_GUARANTEED_A, _B, or else nobody's */
    bool may_copy;    /* derived k-major copies of frozen operands are allowed                     */
    bool fixed_sums;  /* how a sum is split must not hang on the columns of W or on densities      */
    lac_math_t math;
} lac_call_settings_t;

/* What the planner asks of a run. */
typedef struct lac_run_terms {
    bool named;           /* the route was asked for by name: the host may wait, and bits may vary    */
    bool callers_blas;    /* the caller's own BLAS is the dense route: no other is wanted             */
    bool any_density;     /* replays may find the operand full: a route says no where nobody measured that */
    bool vector;          /* asked for as a matrix times a vector: the dense route is sgemv           */
    double density_limit; /* a route that counts more than this gives up before it writes to c; negative:
                             never */
} lac_run_terms_t;

/* The planner's account of a call. No route reads it: what a route may depend on stands above. */
typedef struct lac_call_account {
    uint64_t site_bits; /* LAC_SITE_...: what else distinguishes its site                              */
    double extra_us; /* what a route that skips costs more here: work that the caller's dense call includes */
    double epilogue_us; /* of a pass over c that does the epilogue, behind a route that does not           */
} lac_call_account_t;

/* A route's inputs are the call, its settings and its terms. */
typedef struct lac_problem {
    lac_dim_t m, n, k;
    lac_dt_t dt;        /* of c; of all sums too where that is LAC_F32 or LAC_F64, else LAC_F32 */
    double alpha, beta; /* 1 where they lie on the device        */
    const float *alpha_at, *beta_at; /* there: both, or NULL: on the host     */
    lac_operand_t a, b;              /* a is m x k, b is k x n */
    void *c;
    lac_inc_t crs, ccs;
    lac_triangle_t triangle;      /* of c, all that is written */
    lac_epilogue_args_t epilogue; /* the caller's to do where the route does not (lac_route_fuses_epilogue) */
    lac_call_settings_t settings;
    lac_run_terms_t terms;
    lac_call_account_t account;
} lac_problem_t;

/* Describes one checked operand from its view and its metadata. */
lac_operand_t lac_operand_describe(const lac_obj_t *obj);

/* Describes a call by its arguments. What is known of the operands' zeros is taken from their metadata alone.
 */
void lac_problem_from_args(lac_problem_t *p, const lac_gemm_args_t *args);
/* The same of checked views, with scalars in that space: on the host, NULL means 1 and 0. */
void lac_problem_from_views(lac_problem_t *p, lac_space_t scalars, const void *alpha, const lac_obj_t *a,
                            const lac_obj_t *b, const void *beta, const lac_obj_t *c);
void lac_problem_describe(lac_problem_t *p, double alpha, const lac_obj_t *a, const lac_obj_t *b, double beta,
                          const lac_obj_t *c);

/* Puts into p->settings.skip which operand's zeros are never multiplied: as the call says, which is there
 * already, or else as `otherwise` does. */
void lac_problem_settle_skip(lac_problem_t *p, lac_skip_t otherwise);

/* True where zeros of one of the operands must not be multiplied; of this one. */
static inline bool lac_problem_guarantees(const lac_problem_t *p)
{
    return p->settings.skip >= LAC_SKIP_GUARANTEED;
}
static inline bool lac_problem_skips(const lac_problem_t *p, const lac_operand_t *x)
{
    return p->settings.skip == (x == &p->b ? LAC_SKIP_GUARANTEED_B : LAC_SKIP_GUARANTEED_A);
}

/* Element (i, j) of a c in its own memory. */
static inline void *lac_c_at(const lac_problem_t *p, lac_dim_t i, lac_dim_t j)
{
    return (char *)p->c + (i * p->crs + j * p->ccs) * (lac_inc_t)lac_dt_size(p->dt);
}

/* True for a product of operands of two bytes an element: routes on a device that say so take them. */
static inline bool lac_problem_is_half(const lac_problem_t *p)
{
    return lac_is_half(p->dt) || lac_is_half(p->a.dt) || lac_is_half(p->b.dt);
}

/* True where one triangle of a matrix is given or asked for. */
static inline bool lac_problem_has_triangle(const lac_problem_t *p)
{
    return p->triangle || p->a.triangle || p->b.triangle;
}

/* True where there is nothing to sum: c is only scaled. */
static inline bool lac_problem_is_trivial(const lac_problem_t *p)
{
    return !p->m || !p->n || !p->k || p->alpha == 0.0;
}

/* Fraction of k where any of `rows` independent rows of the given density has a nonzero. */
double lac_active_fraction(double density, double rows);
/* The density of such rows where that fraction of k is active. */
double lac_active_density(double fraction, double rows);

#endif

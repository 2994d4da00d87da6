/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * From public operands to the plain-data problem. */
#include "problem.h"

#include <math.h>

const char *lac_source_name(lac_source_t source)
{
    static const char *const names[] = {"none", "remembered", "probed", "scanned", "attached", "frozen"};
    return names[source];
}

double lac_active_fraction(double density, double rows)
{
    if (density <= 0.0 || rows <= 0.0) return 0.0;
    if (density >= 1.0) return 1.0;
    return -expm1(rows * log1p(-density));
}

static lac_source_t source_of(const lac_meta_t *meta)
{
    if (!meta || meta->nnz < 0) return LAC_KNOWN_NOT;
    if (meta->frozen) return LAC_KNOWN_FROZEN;
    return meta->density_origin >= LAC_ORIGIN_ATTACHED ? LAC_KNOWN_ATTACHED : LAC_KNOWN_SCANNED;
}

double lac_active_density(double fraction, double rows)
{
    if (fraction <= 0.0 || rows <= 0.0) return 0.0;
    return fraction >= 1.0 ? 1.0 : -expm1(log1p(-fraction) / rows);
}

/* An attached active list says nothing of the single rows: their density is taken for what makes so many k
 * active where nonzeros lie independently. */
static void describe_active_list(lac_operand_t *x, const lac_format_data_t *active)
{
    double extent = (double)x->meta->n;
    double fraction = extent > 0 ? (double)active->count / extent : 0.0;
    if (x->density < 0) {
        x->density = lac_active_density(fraction, (double)x->meta->m);
        x->known = LAC_KNOWN_ATTACHED;
    }
}

static inline lac_matrix_args_t matrix_args(const lac_obj_t *obj)
{
    bool transposed = obj->trans == LAC_TRANS;
    return (lac_matrix_args_t){.buf = obj->buf,
                               .rs = transposed ? obj->cs : obj->rs,
                               .cs = transposed ? obj->rs : obj->cs,
                               .meta = obj->meta,
                               .dt = obj->dt,
                               .transposed = transposed};
}

static void describe_metadata(lac_operand_t *x, const lac_meta_t *meta)
{
    x->frozen = meta->frozen;
    x->formats = lac_meta_trusted(meta);
    x->known = source_of(meta);
    x->density = lac_meta_density(meta);
    if (x->formats & 1u << LAC_FORMAT_ACTIVE)
        describe_active_list(x, lac_meta_format(meta, LAC_FORMAT_ACTIVE));
}

static inline void describe(lac_operand_t *x, const lac_matrix_args_t *matrix)
{
    *x = (lac_operand_t){.dt = matrix->dt,
                         .values = matrix->dt == LAC_U8 ? lac_meta_values(matrix->meta)
                                                        : lac_value_type(matrix->dt),
                         .transposed = matrix->transposed,
                         .known = LAC_KNOWN_NOT,
                         .density = -1.0,
                         .k_active = -1.0,
                         .blocks_active = -1.0,
                         .rs = matrix->rs,
                         .cs = matrix->cs,
                         .buf = matrix->buf,
                         .meta = matrix->meta};
    if (matrix->meta) describe_metadata(x, matrix->meta);
}

lac_operand_t lac_operand_describe(const lac_obj_t *obj)
{
    lac_operand_t x;
    lac_matrix_args_t matrix = matrix_args(obj);
    describe(&x, &matrix);
    return x;
}

/* Formats of binary events that hold values of another type than the product's are of no use to it. */
static inline void match_values(lac_operand_t *x, lac_dt_t dt)
{
    if (x->values == dt) return;
    x->values = dt;
    x->formats = 0;
    x->frozen = false;
}

static inline void from_args(lac_problem_t *p, const lac_gemm_args_t *args)
{
    *p = (lac_problem_t){.m = args->m,
                         .n = args->n,
                         .k = args->k,
                         .dt = args->dt,
                         .alpha = 1.0,
                         .beta = 1.0,
                         .c = args->c,
                         .crs = args->crs,
                         .ccs = args->ccs,
                         .settings = {.threads = 1, .may_copy = true},
                         .terms.density_limit = -1.0};
    describe(&p->a, &args->a);
    describe(&p->b, &args->b);
    p->triangle = (lac_triangle_t)(args->triangles & 3);
    p->a.triangle = (lac_triangle_t)(args->triangles >> 2 & 3);
    p->b.triangle = (lac_triangle_t)(args->triangles >> 4 & 3);
    match_values(&p->a, lac_value_type(args->dt));
    match_values(&p->b, lac_value_type(args->dt));
    if (args->scalars == LAC_DEVICE) {
        p->alpha_at = args->alpha;
        p->beta_at = args->beta;
        return;
    }
    p->alpha = lac_scalar(args->alpha, args->dt, 1.0);
    p->beta = lac_scalar(args->beta, args->dt, 0.0);
}

void lac_problem_from_args(lac_problem_t *p, const lac_gemm_args_t *args)
{
    from_args(p, args);
}

/* The operand whose nonzeros are events: by its type, or by its shape. What metadata says does not count: a
 * touch would change what the call means. */
static lac_skip_t events_of(const lac_problem_t *p)
{
    bool a = p->a.dt == LAC_U8, b = p->b.dt == LAC_U8;
    if (a == b) a = p->m <= p->n;
    return a ? LAC_SKIP_GUARANTEED_A : LAC_SKIP_GUARANTEED_B;
}

void lac_problem_settle_skip(lac_problem_t *p, lac_skip_t otherwise)
{
    lac_skip_t *skip = &p->settings.skip;
    if (*skip == LAC_SKIP_DEFAULT) *skip = otherwise == LAC_SKIP_DEFAULT ? LAC_SKIP_FAST : otherwise;
    if (*skip == LAC_SKIP_GUARANTEED) *skip = events_of(p);
}

void lac_problem_from_views(lac_problem_t *p, lac_space_t scalars, const void *alpha, const lac_obj_t *a,
                            const lac_obj_t *b, const void *beta, const lac_obj_t *c)
{
    bool c_transposed = c->trans == LAC_TRANS;
    lac_gemm_args_t args = {.m = c_transposed ? c->n : c->m,
                            .n = c_transposed ? c->m : c->n,
                            .k = a->trans == LAC_TRANS ? a->m : a->n,
                            .dt = c->dt,
                            .a = matrix_args(a),
                            .b = matrix_args(b),
                            .c = c->buf,
                            .crs = c_transposed ? c->cs : c->rs,
                            .ccs = c_transposed ? c->rs : c->cs,
                            .alpha = alpha,
                            .beta = beta,
                            .scalars = scalars};
    from_args(p, &args);
}

void lac_problem_describe(lac_problem_t *p, double alpha, const lac_obj_t *a, const lac_obj_t *b, double beta,
                          const lac_obj_t *c)
{
    lac_problem_from_views(p, LAC_HOST, NULL, a, b, NULL, c);
    p->alpha = alpha;
    p->beta = beta;
}

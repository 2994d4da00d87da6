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

lac_operand_t lac_operand_describe(const lac_obj_t *obj)
{
    bool transposed = obj->trans == LAC_TRANS;
    lac_operand_t x = {
        .dt = obj->dt, .transposed = transposed, .buf = obj->buf, .meta = obj->meta, .k_active = -1.0};
    x.rs = transposed ? obj->cs : obj->rs;
    x.cs = transposed ? obj->rs : obj->cs;
    x.known = LAC_KNOWN_NOT;
    x.density = -1.0;
    if (!obj->meta) return x;
    x.frozen = obj->meta->frozen;
    x.formats = lac_meta_trusted(obj->meta);
    x.known = source_of(obj->meta);
    x.density = lac_meta_density(obj->meta);
    if (x.formats & 1u << LAC_FORMAT_ACTIVE)
        describe_active_list(&x, lac_meta_format(obj->meta, LAC_FORMAT_ACTIVE));
    return x;
}

void lac_problem_describe(lac_problem_t *p, float alpha, const lac_obj_t *a, const lac_obj_t *b, float beta,
                          const lac_obj_t *c)
{
    bool c_transposed = c->trans == LAC_TRANS;
    *p = (lac_problem_t){.alpha = alpha,
                         .beta = beta,
                         .c = c->buf,
                         .settings = {.threads = 1, .may_copy = true},
                         .terms.density_limit = -1.0};
    p->m = c_transposed ? c->n : c->m;
    p->n = c_transposed ? c->m : c->n;
    p->k = a->trans == LAC_TRANS ? a->m : a->n;
    p->crs = c_transposed ? c->cs : c->rs;
    p->ccs = c_transposed ? c->rs : c->cs;
    p->a = lac_operand_describe(a);
    p->b = lac_operand_describe(b);
}

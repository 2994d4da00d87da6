/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sampled products and gradients tried, against the whole product in double. */
#include <math.h>
#include <stdlib.h>

#include "problems.h"
#include "call.h"

static const ref_layout_t line = {.step = 1};
static const ref_pattern_t full = {.structure = REF_DENSE, .density = 1.0};

/* The product at the entries of a stored matrix, whose op(..) has the product's shape, beside what was in
 * values. `want` is empty where false is returned. */
static bool sample(ref_result_t *want, const ref_result_t *product, const ref_matrix_t *stored,
                   lac_trans_t trans, float beta, const ref_matrix_t *before)
{
    *want = (ref_result_t){.m = 1, .n = before->n, .k = product->k};
    want->value = malloc(((size_t)before->n + 1) * sizeof *want->value);
    want->magnitude = malloc(((size_t)before->n + 1) * sizeof *want->magnitude);
    if (!want->value || !want->magnitude) {
        ref_result_free(want);
        return false;
    }
    int64_t e = 0;
    for (int64_t i = 0; i < stored->m; i++)
        for (int64_t j = 0; j < stored->n; j++) {
            if (ref_matrix_at(stored, i, j) == 0.0) continue;
            int64_t at = trans == LAC_TRANS ? j * product->n + i : i * product->n + j;
            double had = beta != 0.0f ? (double)beta * ref_matrix_at(before, 0, e) : 0.0;
            want->value[e] = had + product->value[at];
            want->magnitude[e++] = fabs(had) + product->magnitude[at];
        }
    return true;
}

/* values[e] := beta values[e] + alpha (op(X) op(Y)) at the entries of a pattern. */
typedef struct sampling {
    ref_matrix_t x, y; /* as the product reads them */
    const ref_matrix_t *stored;
    lac_obj_t pattern;
    guarded_matrix_t values;
    ref_matrix_t before;
} sampling_t;

/* values, with something in them where they are read. */
static lac_status_t copy_values(apitest_t *t, sampling_t *s, int64_t entries)
{
    const ref_pattern_t *pattern = t->set->problem.beta != 0.0f ? &full : NULL;
    lac_status_t status =
        guarded_matrix_make(&s->values, t->ctx, apitest_type(t), 1, entries, &line, pattern, t->rng.stream);
    if (status == LAC_OK && !ref_matrix_copy(&s->before, &s->values.host)) status = LAC_ERR_MEMORY;
    return status;
}

static apitest_end_t judge_sampling(apitest_t *t, sampling_t *s)
{
    const ref_problem_t *p = &t->set->problem;
    ref_result_t product = {0}, want = {0};
    apitest_end_t end;
    if (!ref_gemm(&s->x, &s->y, NULL, p->alpha, 0.0f, REF_STRICT, &product) ||
        !sample(&want, &product, s->stored, s->pattern.trans, p->beta, &s->before))
        end = apitest_fail(t, "the oracle is out of memory");
    else if ((end = apitest_padding(t, &s->values.host, "values")) == APITEST_PASSED)
        end = apitest_compare(t, &s->values.host, &want, product.k);
    t->bits = ref_matrix_result_checksum(&s->values.host);
    ref_result_free(&product);
    ref_result_free(&want);
    return end;
}

static void free_sampling(sampling_t *s)
{
    guarded_matrix_free(&s->values);
    ref_matrix_free(&s->before);
}

/* A pattern of the product's shape: attached, or frozen and scanned. */
typedef struct pattern {
    guarded_matrix_t matrix;
    attachment_t know;
} pattern_t;

static lac_status_t make_pattern(apitest_t *t, pattern_t *pattern, lac_obj_t *obj)
{
    static const double density[] = {0.0, 0.01, 0.1, 0.5, 1.0};
    const ref_problem_t *p = &t->set->problem;
    rng_t *rng = &t->rng;
    bool transposed = rng_below(rng, 2) == 0, attached = rng_below(rng, 3) != 0, wide = rng_below(rng, 2);
    ref_pattern_t some = {.structure = REF_BERNOULLI, .density = density[rng_below(rng, 5)]};
    ref_layout_t layout = problem_random_layout(rng);
    ref_operand_t said = {.meta = attached ? REF_META_CSR : REF_META_NONE, .frozen = !attached};
    said.only = attached && rng_below(rng, 2) == 0;
    lac_status_t status =
        guarded_matrix_make(&pattern->matrix, t->ctx, apitest_type(t), transposed ? p->n : p->m,
                            transposed ? p->m : p->n, &layout, &some, t->rng.stream + 1);
    *obj = pattern->matrix.obj;
    obj->trans = transposed ? LAC_TRANS : LAC_NO_TRANS;
    if (status == LAC_OK)
        status =
            attachment_make(&pattern->know, t->ctx, obj, &pattern->matrix.host, &said, apitest_type(t), wide);
    return status == LAC_OK && !attached ? lac_meta_scan(t->ctx, obj, LAC_META_CSR) : status;
}

apitest_end_t apitest_sddmm(apitest_t *t)
{
    const operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    pattern_t pattern = {0};
    sampling_t s = {.stored = &pattern.matrix.host,
                    .x = ref_matrix_op(&set->data.a, p->trans_a),
                    .y = ref_matrix_op(&set->data.b, p->trans_b)};
    lac_status_t status = make_pattern(t, &pattern, &s.pattern);
    if (status == LAC_OK) status = copy_values(t, &s, ref_matrix_nonzeros(s.stored));
    if (status == LAC_OK)
        status = lac_sddmm(t->ctx, operand_set_alpha(t->set), &set->a, &set->b, operand_set_beta(t->set),
                           &s.pattern, s.values.obj.buf);
    status = apitest_call(t, status);
    if (status == LAC_OK) status = apitest_fetch_matrix(t, &s.values);
    apitest_end_t end = status == LAC_OK ? judge_sampling(t, &s) : apitest_stop(t, status, "lac_sddmm");
    attachment_free(&pattern.know);
    guarded_matrix_free(&pattern.matrix);
    free_sampling(&s);
    return end;
}

/* grad := beta grad + alpha op(X) op(Y), grad being stored as the operand and one of X, Y the gradient to C.
 */
typedef struct gradient {
    bool to_a;
    lac_obj_t operand; /* to which it is */
    guarded_matrix_t of_c;
    sampling_t at;
    guarded_matrix_t whole;
    ref_matrix_t before;
} gradient_t;

static lac_status_t call_gradient(apitest_t *t, const gradient_t *g, const lac_obj_t *to, void *values)
{
    const operand_set_t *set = t->set;
    const void *alpha = operand_set_alpha(set), *beta = operand_set_beta(set);
    return apitest_call(t, g->to_a ? lac_gemm_grad_a(t->ctx, alpha, &g->of_c.obj, &set->b, beta, to, values)
                                   : lac_gemm_grad_b(t->ctx, alpha, &set->a, &g->of_c.obj, beta, to, values));
}

static apitest_end_t judge_whole(apitest_t *t, const gradient_t *g)
{
    ref_matrix_t got = ref_matrix_op(&g->whole.host, g->operand.trans),
                 before = ref_matrix_op(&g->before, g->operand.trans);
    apitest_end_t end = apitest_padding(t, &g->whole.host, "the gradient");
    return end == APITEST_PASSED ? apitest_product(t, &got, &g->at.x, &g->at.y, &before) : end;
}

/* To the whole of the operand: by any route, so that nothing is said of its bits. */
static apitest_end_t try_whole(apitest_t *t, gradient_t *g, const ref_matrix_t *stored)
{
    const ref_pattern_t *pattern = t->set->problem.beta != 0.0f ? &full : NULL;
    ref_layout_t layout = problem_random_layout(&t->rng);
    lac_status_t status = guarded_matrix_make(&g->whole, t->ctx, apitest_type(t), stored->m, stored->n,
                                              &layout, pattern, t->rng.stream + 2);
    if (status == LAC_OK && !ref_matrix_copy(&g->before, &g->whole.host)) status = LAC_ERR_MEMORY;
    lac_obj_t to = g->whole.obj;
    to.trans = g->operand.trans;
    if (status == LAC_OK) status = call_gradient(t, g, &to, NULL);
    if (status == LAC_OK) status = apitest_fetch_matrix(t, &g->whole);
    return status == LAC_OK ? judge_whole(t, g) : apitest_stop(t, status, "the gradient");
}

/* To the entries of the operand's CSR. */
static apitest_end_t try_entries(apitest_t *t, gradient_t *g)
{
    lac_status_t status = copy_values(t, &g->at, ref_matrix_nonzeros(g->at.stored));
    if (status == LAC_OK) status = call_gradient(t, g, &g->operand, g->at.values.obj.buf);
    if (status == LAC_OK) status = apitest_fetch_matrix(t, &g->at.values);
    return status == LAC_OK ? judge_sampling(t, &g->at) : apitest_stop(t, status, "the gradient");
}

static apitest_end_t try_gradient(apitest_t *t, bool to_a)
{
    operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    ref_pattern_t some = {.structure = REF_BERNOULLI, .density = rng_below(&t->rng, 2) ? 1.0 : 0.1};
    ref_layout_t layout = problem_random_layout(&t->rng);
    gradient_t g = {.to_a = to_a, .operand = to_a ? set->a : set->b};
    lac_status_t status =
        guarded_matrix_make(&g.of_c, t->ctx, apitest_type(t), p->m, p->n, &layout, &some, t->rng.stream + 3);
    ref_matrix_t a = ref_matrix_op(&set->data.a, p->trans_a), b = ref_matrix_op(&set->data.b, p->trans_b);
    g.at.stored = to_a ? &set->data.a : &set->data.b;
    g.at.pattern = g.operand;
    g.at.x = to_a ? g.of_c.host : ref_matrix_op(&a, LAC_TRANS);
    g.at.y = to_a ? ref_matrix_op(&b, LAC_TRANS) : g.of_c.host;
    bool entries = apitest_stands(&g.operand, LAC_META_CSR) && rng_below(&t->rng, 4) != 0;
    apitest_end_t end = status != LAC_OK ? apitest_stop(t, status, "the gradient to C")
                        : entries        ? try_entries(t, &g)
                                         : try_whole(t, &g, g.at.stored);
    guarded_matrix_free(&g.of_c);
    guarded_matrix_free(&g.whole);
    ref_matrix_free(&g.before);
    free_sampling(&g.at);
    return end;
}

apitest_end_t apitest_grad_a(apitest_t *t)
{
    return try_gradient(t, true);
}

apitest_end_t apitest_grad_b(apitest_t *t)
{
    return try_gradient(t, false);
}

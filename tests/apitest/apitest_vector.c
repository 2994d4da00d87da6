/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A matrix-vector product tried: increments of either sign, as BLAS counts them. */
#include "apitest_call.h"

/* A vector in memory, and the matrix of one column that a product reads of it. */
typedef struct vector {
    guarded_matrix_t memory;
    lac_inc_t inc;
} vector_t;

static ref_matrix_t as_read(const vector_t *v, const ref_matrix_t *memory)
{
    ref_matrix_t x = *memory;
    if (v->inc > 0 || x.m == 0) return x;
    x.data = (float *)x.data + (x.m - 1) * x.rs; /* from its far end */
    x.rs = v->inc;
    return x;
}

static lac_status_t throw_vector(apitest_t *t, vector_t *v, int64_t count, bool filled)
{
    const ref_pattern_t some = {.structure = REF_BERNOULLI, .density = rng_below(&t->rng, 2) ? 1.0 : 0.2};
    const ref_layout_t layout = {.by_columns = true, .step = 1 + (int64_t)rng_below(&t->rng, 3)};
    v->inc = rng_below(&t->rng, 2) == 0 ? layout.step : -layout.step;
    return guarded_matrix_make(&v->memory, t->ctx, count, 1, &layout, filled ? &some : NULL,
                               t->rng.stream + t->rng.index);
}

static apitest_end_t judge(apitest_t *t, const vector_t *x, const vector_t *y, const ref_matrix_t *before)
{
    ref_matrix_t a = ref_matrix_op(&t->set->data.a, t->set->problem.trans_a),
                 got = as_read(y, &y->memory.host), had = as_read(y, before),
                 read = as_read(x, &x->memory.host);
    apitest_end_t end = apitest_padding(t, &y->memory.host, "y");
    return end == APITEST_PASSED ? apitest_product(t, &got, &a, &read, &had) : end;
}

/* y := beta y + alpha op(A) x, by any route, so that nothing is said of the bits. */
apitest_end_t apitest_vector(apitest_t *t)
{
    const lac_obj_t *a = &t->set->a;
    const ref_problem_t *p = &t->set->problem;
    vector_t x = {0}, y = {0};
    ref_matrix_t before = {0};
    if (a->dt != LAC_F32 || !a->buf) return apitest_refuse(t, "A is no f32 matrix with a buffer");
    lac_status_t status = throw_vector(t, &x, p->k, true);
    if (status == LAC_OK) status = throw_vector(t, &y, p->m, p->beta != 0.0f);
    if (status == LAC_OK && !ref_matrix_copy(&before, &y.memory.host)) status = LAC_ERR_MEMORY;
    if (status == LAC_OK)
        status = lac_sgemv(t->ctx, a->trans, a->m, a->n, p->alpha, a->buf, a->rs, a->cs, x.memory.obj.buf,
                           x.inc, p->beta, y.memory.obj.buf, y.inc);
    status = apitest_call(t, status);
    if (status == LAC_OK) status = apitest_fetch_matrix(t, &y.memory);
    apitest_end_t end = status == LAC_OK ? judge(t, &x, &y, &before) : apitest_stop(t, status, "lac_sgemv");
    guarded_matrix_free(&x.memory);
    guarded_matrix_free(&y.memory);
    ref_matrix_free(&before);
    return end;
}

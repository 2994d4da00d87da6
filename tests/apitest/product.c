/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Other products tried: a batch of views, a matrix-vector product, and a layer. */
#include "call.h"
#include "ref_gemm.h"

#include <float.h>
#include <math.h>

enum { PARTS_MAX = 9 };

typedef struct batch {
    lac_dim_t count, step_a, step_b;
    lac_obj_t a[PARTS_MAX], b[PARTS_MAX], c[PARTS_MAX];
} batch_t;

/* Lines from .. from + count of op(x), rows or columns, without the metadata of the whole. */
static lac_obj_t part(const lac_obj_t *x, bool rows, int64_t from, int64_t count)
{
    lac_obj_t p = *x;
    bool down = rows == (x->trans == LAC_NO_TRANS); /* along the stored rows */
    int64_t width = (int64_t)lac_dt_size(x->dt);
    if (x->m > 0 && x->n > 0) p.buf = (char *)x->buf + from * (down ? x->rs : x->cs) * width;
    p.meta = NULL;
    *(down ? &p.m : &p.n) = count;
    return p;
}

/* As many parts as divide the lines. */
static lac_dim_t throw_parts(rng_t *rng, int64_t lines)
{
    lac_dim_t parts = 1 + (lac_dim_t)rng_below(rng, PARTS_MAX);
    while (lines % parts != 0) parts--;
    return parts;
}

static void throw_batch(apitest_t *t, batch_t *batch)
{
    const operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    bool by_rows = set->a.buf && (!set->b.buf || rng_below(&t->rng, 2) == 0);
    int64_t lines = by_rows ? p->m : p->n;
    batch->count = throw_parts(&t->rng, lines);
    batch->step_a = by_rows ? batch->count > 1 || rng_below(&t->rng, 2) : rng_below(&t->rng, 2) == 0;
    batch->step_b = by_rows ? rng_below(&t->rng, 2) == 0 : batch->count > 1 || rng_below(&t->rng, 2);
    int64_t each = lines / batch->count;
    for (lac_dim_t q = 0; q < batch->count; q++) {
        batch->a[q] = by_rows ? part(&set->a, true, q * each, each) : set->a;
        batch->b[q] = by_rows ? set->b : part(&set->b, false, q * each, each);
        batch->c[q] = part(&set->c, by_rows, q * each, each);
    }
}

static apitest_end_t judge_batch(apitest_t *t)
{
    operand_set_t *set = t->set;
    ref_case_t operands = set->data;
    ref_result_t want;
    operands.c = set->c_before;
    if (!ref_gemm_case(&set->problem, &operands, REF_STRICT, &want))
        return apitest_fail(t, "the oracle is out of memory");
    apitest_end_t end = apitest_padding(t, &set->data.c, "c");
    if (end == APITEST_PASSED) end = apitest_compare(t, &set->data.c, &want, want.k);
    ref_result_free(&want);
    return end;
}

/* By any routes, so that nothing is said of the bits. */
apitest_end_t apitest_batch(apitest_t *t)
{
    operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    batch_t batch;
    if (!set->a.buf && !set->b.buf) return apitest_refuse(t, "neither operand has a buffer to take parts of");
    if (p->a.pattern.values == REF_SPECIAL || p->b.pattern.values == REF_SPECIAL)
        return apitest_refuse(t, "each part may read 0 * Inf in a way of its own");
    throw_batch(t, &batch);
    lac_status_t status = operand_set_reset(set);
    if (status == LAC_OK)
        status = lac_gemm_batched_array(t->ctx, batch.count, operand_set_alpha(t->set), batch.a, batch.step_a,
                                        batch.b, batch.step_b, operand_set_beta(t->set), batch.c);
    status = apitest_call(t, status);
    if (status == LAC_OK) status = apitest_fetch_c(t);
    return status == LAC_OK ? judge_batch(t) : apitest_stop(t, status, "lac_gemm_batched_array");
}

/* A matrix-vector product tried: increments of either sign, as BLAS counts them. */

/* A vector in memory, and the matrix of one column that a product reads of it. */
typedef struct vector {
    guarded_matrix_t memory;
    lac_inc_t inc;
} vector_t;

static ref_matrix_t as_read(const vector_t *v, const ref_matrix_t *memory)
{
    ref_matrix_t x = *memory;
    if (v->inc > 0 || x.m == 0) return x;
    x.data = (char *)x.data + (x.m - 1) * x.rs * (int64_t)lac_dt_size(x.dt); /* from its far end */
    x.rs = v->inc;
    return x;
}

static lac_status_t throw_vector(apitest_t *t, vector_t *v, int64_t count, bool filled)
{
    const ref_pattern_t some = {.structure = REF_BERNOULLI, .density = rng_below(&t->rng, 2) ? 1.0 : 0.2};
    const ref_layout_t layout = {.by_columns = true, .step = 1 + (int64_t)rng_below(&t->rng, 3)};
    v->inc = rng_below(&t->rng, 2) == 0 ? layout.step : -layout.step;
    return guarded_matrix_make(&v->memory, t->ctx, apitest_type(t), count, 1, &layout, filled ? &some : NULL,
                               t->rng.stream + t->rng.index);
}

static apitest_end_t judge_vector(apitest_t *t, const vector_t *x, const vector_t *y,
                                  const ref_matrix_t *before)
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
    if (a->dt == LAC_U8 || !a->buf) return apitest_refuse(t, "A is no matrix of numbers with a buffer");
    lac_status_t status = throw_vector(t, &x, p->k, true);
    if (status == LAC_OK) status = throw_vector(t, &y, p->m, p->beta != 0.0f);
    if (status == LAC_OK && !ref_matrix_copy(&before, &y.memory.host)) status = LAC_ERR_MEMORY;
    if (status == LAC_OK && a->dt == LAC_F64)
        status = lac_dgemv(t->ctx, a->trans, a->m, a->n, t->set->alpha, a->buf, a->rs, a->cs,
                           x.memory.obj.buf, x.inc, t->set->beta, y.memory.obj.buf, y.inc);
    else if (status == LAC_OK)
        status = lac_sgemv(t->ctx, a->trans, a->m, a->n, p->alpha, a->buf, a->rs, a->cs, x.memory.obj.buf,
                           x.inc, p->beta, y.memory.obj.buf, y.inc);
    status = apitest_call(t, status);
    if (status == LAC_OK) status = apitest_fetch_matrix(t, &y.memory);
    apitest_end_t end = status == LAC_OK ? judge_vector(t, &x, &y, &before)
                                         : apitest_stop(t, status, "the product with a vector");
    guarded_matrix_free(&x.memory);
    guarded_matrix_free(&y.memory);
    ref_matrix_free(&before);
    return end;
}

/* A layer tried: product, bias, activation, and the formats of what was written. */

typedef struct layer {
    guarded_matrix_t bias;
    lac_epilogue_t epilogue;
    lac_obj_t c;
} layer_t;

static lac_status_t throw_layer(apitest_t *t, layer_t *layer)
{
    static const double threshold[] = {0.0, 0.25, 1.0, 3.0};
    static const unsigned format[] = {LAC_META_DENSITY, LAC_META_CSR, LAC_META_CSC, LAC_META_BITMASK,
                                      LAC_META_ACTIVE};
    const ref_layout_t line = {.step = 1};
    const ref_pattern_t full = {.structure = REF_DENSE, .density = 1.0};
    const ref_matrix_t *c = &t->set->data.c;
    lac_epilogue_t *e = &layer->epilogue;
    *e = (lac_epilogue_t){.size = sizeof *e, .bias_per_row = (int)rng_below(&t->rng, 2)};
    e->act = (lac_act_t)rng_below(&t->rng, LAC_ACT_MAGNITUDE + 1);
    e->threshold = threshold[rng_below(&t->rng, sizeof threshold / sizeof *threshold)];
    for (int i = 0; i < 5; i++)
        if (rng_below(&t->rng, 3) == 0) e->formats |= format[i];
    layer->c = t->set->c;
    lac_status_t status = lac_meta_create_for(t->ctx, &layer->c.meta, c->m, c->n);
    if (status != LAC_OK || rng_below(&t->rng, 3) == 0) return status;
    status = guarded_matrix_make(&layer->bias, t->ctx, apitest_type(t), 1, e->bias_per_row ? c->m : c->n,
                                 &line, &full, t->rng.stream);
    e->bias = layer->bias.obj.buf;
    return status;
}

/* Whether the activation leaves a value alone. */
static bool passes(const lac_epilogue_t *e, double x)
{
    if (isnan(x) || e->act == LAC_ACT_NONE) return true;
    if (e->act == LAC_ACT_MAGNITUDE) return fabs(x) > e->threshold;
    return x > (e->act == LAC_ACT_RELU ? 0.0 : e->threshold);
}

/* Whether a sum that is only known to within `error` may fall on either side of the threshold. */
static bool in_doubt(const lac_epilogue_t *e, double x, double error)
{
    return !isfinite(x) || !isfinite(error) || passes(e, x - error) != passes(e, x + error) ||
           passes(e, x) != passes(e, x + error);
}

/* From the sum of a layer to its output. Where rounding, or an overflow on the way, decides, the output is
 * taken at its word: a 0, or a number that passes. */
static void activate(const lac_epilogue_t *e, ref_result_t *want, const ref_matrix_t *got, double bound)
{
    for (int64_t i = 0; i < want->m; i++)
        for (int64_t j = 0; j < want->n; j++) {
            double *value = &want->value[i * want->n + j], *magnitude = &want->magnitude[i * want->n + j];
            double error = bound * (got->dt == LAC_F64 ? 0x1p-53 * *magnitude + 0x1p-1074
                                                       : 0x1p-24 * *magnitude + 0x1p-149);
            double x = ref_matrix_at(got, i, j);
            bool doubt = in_doubt(e, *value, error) && *magnitude < INFINITY;
            if (doubt ? x != 0.0 : passes(e, *value)) continue;
            *value = *magnitude = 0.0;
        }
}

static void add_bias(const layer_t *layer, ref_result_t *want)
{
    if (!layer->epilogue.bias) return;
    for (int64_t i = 0; i < want->m; i++)
        for (int64_t j = 0; j < want->n; j++) {
            double bias = ref_matrix_at(&layer->bias.host, 0, layer->epilogue.bias_per_row ? i : j);
            want->value[i * want->n + j] += bias;
            want->magnitude[i * want->n + j] += fabs(bias);
        }
}

/* What an activation has passed is what passes it. */
static apitest_end_t judge_activation(apitest_t *t, const lac_epilogue_t *e, const ref_matrix_t *c)
{
    for (int64_t i = 0; i < c->m; i++)
        for (int64_t j = 0; j < c->n; j++) {
            double x = ref_matrix_at(c, i, j);
            if (x != 0.0 && !passes(e, x))
                return apitest_fail(t, "c(%lld, %lld) is %.9g, which the activation makes 0", (long long)i,
                                    (long long)j, x);
        }
    return APITEST_PASSED;
}

static apitest_end_t judge_values(apitest_t *t, const layer_t *layer)
{
    const operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    ref_case_t before = set->data;
    before.c = set->c_before;
    apitest_end_t end = APITEST_FAILED;
    for (int i = 0; i < t->readings && end != APITEST_PASSED; i++) {
        ref_result_t want;
        if (!ref_gemm_case(p, &before, apitest_reading[i], &want))
            return apitest_fail(t, "the oracle is out of memory");
        add_bias(layer, &want);
        activate(&layer->epilogue, &want, &set->data.c, ref_bound(p->k + 1));
        end = apitest_compare(t, &set->data.c, &want, p->k + 1);
        ref_result_free(&want);
    }
    return end;
}

static apitest_end_t judge_formats(apitest_t *t, const layer_t *layer)
{
    static const unsigned format[] = {LAC_META_CSR, LAC_META_CSC, LAC_META_BITMASK, LAC_META_ACTIVE};
    const ref_matrix_t *c = &t->set->data.c;
    double elements = (double)c->m * (double)c->n, density = lac_meta_density(layer->c.meta);
    double counted = elements > 0 ? (double)ref_matrix_nonzeros(c) / elements : 0.0;
    if (layer->epilogue.formats && density != counted)
        return apitest_fail(t, "the density is said to be %.9g and is %.9g", density, counted);
    apitest_end_t end = APITEST_PASSED;
    for (int i = 0; end == APITEST_PASSED && i < 4; i++)
        if (layer->epilogue.formats & format[i]) end = apitest_format(t, layer->c.meta, format[i], c);
    return end;
}

static apitest_end_t judge_layer(apitest_t *t, const layer_t *layer)
{
    apitest_end_t end = apitest_padding(t, &t->set->data.c, "c");
    if (end == APITEST_PASSED) end = judge_values(t, layer);
    if (end == APITEST_PASSED) end = judge_activation(t, &layer->epilogue, &t->set->data.c);
    return end == APITEST_PASSED ? judge_formats(t, layer) : end;
}

/* The output is the sparse operand of a product as it stands: of C B2 + .. with a narrow, dense B2. */
static apitest_end_t try_next(apitest_t *t, const layer_t *layer)
{
    enum { WIDTH = 3 };
    const ref_layout_t rows = {.step = 1};
    const ref_pattern_t full = {.structure = REF_DENSE, .density = 1.0};
    const ref_matrix_t *c = &t->set->data.c;
    guarded_matrix_t weight = {0}, out = {0};
    ref_matrix_t before = {0};
    lac_status_t status =
        guarded_matrix_make(&weight, t->ctx, apitest_type(t), c->n, WIDTH, &rows, &full, t->rng.stream + 1);
    if (status == LAC_OK)
        status =
            guarded_matrix_make(&out, t->ctx, apitest_type(t), c->m, WIDTH, &rows, &full, t->rng.stream + 2);
    if (status == LAC_OK && !ref_matrix_copy(&before, &out.host)) status = LAC_ERR_MEMORY;
    if (status == LAC_OK)
        status = lac_gemm(t->ctx, operand_set_alpha(t->set), &layer->c, &weight.obj, operand_set_beta(t->set),
                          &out.obj);
    status = apitest_call(t, status);
    if (status == LAC_OK) status = apitest_fetch_matrix(t, &out);
    apitest_end_t end = status == LAC_OK ? apitest_product(t, &out.host, c, &weight.host, &before)
                                         : apitest_stop(t, status, "the product after the layer");
    guarded_matrix_free(&weight);
    guarded_matrix_free(&out);
    ref_matrix_free(&before);
    return end;
}

/* By any route, so that nothing is said of the bits. */
apitest_end_t apitest_layer(apitest_t *t)
{
    operand_set_t *set = t->set;
    layer_t layer = {0};
    lac_status_t status = throw_layer(t, &layer);
    if (status == LAC_OK) status = operand_set_reset(set);
    if (status == LAC_OK)
        status = lac_gemm_epilogue(t->ctx, operand_set_alpha(set), &set->a, &set->b, operand_set_beta(set),
                                   &layer.c, &layer.epilogue, NULL);
    status = apitest_call(t, status);
    if (status == LAC_OK) status = apitest_fetch_c(t);
    apitest_end_t end =
        status == LAC_OK ? judge_layer(t, &layer) : apitest_stop(t, status, "lac_gemm_epilogue");
    if (end == APITEST_PASSED) end = try_next(t, &layer);
    lac_meta_free(layer.c.meta);
    guarded_matrix_free(&layer.bias);
    return end;
}

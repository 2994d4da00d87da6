/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A layer tried: product, bias, activation, and the formats of what was written. */
#include <float.h>
#include <math.h>

#include "ref_compare.h"
#include "apitest_call.h"

typedef struct layer {
    guarded_matrix_t bias;
    lac_epilogue_t epilogue;
    lac_obj_t c;
} layer_t;

static lac_status_t throw_layer(apitest_t *t, layer_t *layer)
{
    static const float threshold[] = {0.0f, 0.25f, 1.0f, 3.0f};
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
    status = guarded_matrix_make(&layer->bias, t->ctx, 1, e->bias_per_row ? c->m : c->n, &line, &full,
                                 t->rng.stream);
    e->bias = layer->bias.obj.buf;
    return status;
}

/* Whether the activation leaves a value alone. */
static bool passes(const lac_epilogue_t *e, double x)
{
    if (isnan(x) || e->act == LAC_ACT_NONE) return true;
    if (e->act == LAC_ACT_MAGNITUDE) return fabs(x) > (double)e->threshold;
    return x > (e->act == LAC_ACT_RELU ? 0.0 : (double)e->threshold);
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
            double error = bound * (0x1p-24 * *magnitude + 0x1p-149);
            float x = ref_matrix_at(got, i, j);
            bool doubt = in_doubt(e, *value, error) && *magnitude < INFINITY;
            if (doubt ? x != 0.0f : passes(e, *value)) continue;
            *value = *magnitude = 0.0;
        }
}

static void add_bias(const layer_t *layer, ref_result_t *want)
{
    if (!layer->epilogue.bias) return;
    for (int64_t i = 0; i < want->m; i++)
        for (int64_t j = 0; j < want->n; j++) {
            double bias = (double)ref_matrix_at(&layer->bias.host, 0, layer->epilogue.bias_per_row ? i : j);
            want->value[i * want->n + j] += bias;
            want->magnitude[i * want->n + j] += fabs(bias);
        }
}

/* What an activation has passed is what passes it. */
static apitest_end_t judge_activation(apitest_t *t, const lac_epilogue_t *e, const ref_matrix_t *c)
{
    for (int64_t i = 0; i < c->m; i++)
        for (int64_t j = 0; j < c->n; j++) {
            float x = ref_matrix_at(c, i, j);
            if (x != 0.0f && !passes(e, (double)x))
                return apitest_fail(t, "c(%lld, %lld) is %.9g, which the activation makes 0", (long long)i,
                                    (long long)j, (double)x);
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
    const ref_problem_t *p = &t->set->problem;
    const ref_matrix_t *c = &t->set->data.c;
    guarded_matrix_t weight = {0}, out = {0};
    ref_matrix_t before = {0};
    lac_status_t status = guarded_matrix_make(&weight, t->ctx, c->n, WIDTH, &rows, &full, t->rng.stream + 1);
    if (status == LAC_OK)
        status = guarded_matrix_make(&out, t->ctx, c->m, WIDTH, &rows, &full, t->rng.stream + 2);
    if (status == LAC_OK && !ref_matrix_copy(&before, &out.host)) status = LAC_ERR_MEMORY;
    if (status == LAC_OK) status = lac_gemm(t->ctx, &p->alpha, &layer->c, &weight.obj, &p->beta, &out.obj);
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
        status = lac_gemm_epilogue(t->ctx, &set->problem.alpha, &set->a, &set->b, &set->problem.beta,
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

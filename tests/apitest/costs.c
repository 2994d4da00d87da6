/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The predicted costs of routes: finite, more than nothing, no smaller for a larger product, and no wonder
 * beside the dense product.
 *
 * The product of the problem is explained, and those of its halves along m, n and k, each route forced, with
 * nothing known of the operands (the density is then assumed), and with the promise that they do not change.
 */
#include "call.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* No call takes less. */
#define CALL_US 0.01
/* Half of a product may be predicted dearer by so much, where a route takes another way for it: csr, which
 * transposes W for many rows alone, by up to 1.55. */
#define SLACK 1.75
/* Of a dense product whose cost is this share, a sparse one needs the arithmetic for the assumed density, at
 * a rate no better than so many times that of the dense one. */
#define ASSUMED_DENSITY 0.1
#define RATE            8.0

enum { WHOLE, PARTS = 4 }; /* whole, half of m, of n, of k */

typedef struct part {
    lac_obj_t a, b, c;
    lac_decision_t decision;
} part_t;

static lac_dim_t half(lac_dim_t extent)
{
    return extent / 2;
}

/* Operands of f32 in buffers, cut at the end along one extent. */
static lac_status_t cut(apitest_t *t, part_t *part, int along, bool frozen)
{
    const operand_set_t *set = t->set;
    part->a = set->a, part->b = set->b, part->c = set->c;
    part->a.meta = part->b.meta = part->c.meta = NULL;
    lac_dim_t *am = part->a.trans != LAC_NO_TRANS ? &part->a.n : &part->a.m,
              *ak = part->a.trans != LAC_NO_TRANS ? &part->a.m : &part->a.n;
    lac_dim_t *bk = part->b.trans != LAC_NO_TRANS ? &part->b.n : &part->b.m,
              *bn = part->b.trans != LAC_NO_TRANS ? &part->b.m : &part->b.n;
    if (along == 1) *am = part->c.m = half(*am);
    if (along == 2) *bn = part->c.n = half(*bn);
    if (along == 3) *ak = *bk = half(*ak);
    if (!frozen) return LAC_OK;
    lac_status_t status = lac_meta_create_for(t->ctx, &part->a.meta, part->a.m, part->a.n);
    if (status == LAC_OK) status = lac_meta_create_for(t->ctx, &part->b.meta, part->b.m, part->b.n);
    if (status == LAC_OK) status = lac_meta_freeze(part->a.meta);
    return status == LAC_OK ? lac_meta_freeze(part->b.meta) : status;
}

static void release(part_t *part)
{
    lac_meta_free(part->a.meta);
    lac_meta_free(part->b.meta);
}

static double dense_us(const lac_decision_t *d)
{
    for (int i = 0; i < d->count; i++)
        if (strcmp(d->candidate[i].route, "dense") == 0 && !d->candidate[i].refusal)
            return d->candidate[i].cost_us;
    return 0.0;
}

static apitest_end_t judge_cost(apitest_t *t, const part_t *part, int row)
{
    static const char *const of[] = {"m", "n", "k"};
    const lac_decision_t *whole = &part[WHOLE].decision;
    const lac_candidate_t *c = &whole->candidate[row];
    double dense = dense_us(whole);
    if (c->refusal) return APITEST_PASSED;
    if (!isfinite(c->cost_us) || c->cost_us < CALL_US)
        return apitest_fail(t, "%s %s: predicts %g us", c->route, c->side, c->cost_us);
    if (*c->side && c->cost_us < ASSUMED_DENSITY / RATE * dense)
        return apitest_fail(t, "%s %s: predicts %g us for the density %g, where a dense product takes %g",
                            c->route, c->side, c->cost_us, ASSUMED_DENSITY, dense);
    for (int i = 1; i < PARTS; i++) {
        const lac_candidate_t *less = &part[i].decision.candidate[row];
        if (!less->refusal && less->cost_us > SLACK * c->cost_us)
            return apitest_fail(t, "%s %s: predicts %g us for half of %s, and %g for all of it", c->route,
                                c->side, less->cost_us, of[i - 1], c->cost_us);
    }
    return APITEST_PASSED;
}

/* The costs of one route's rows, on each part. */
static apitest_end_t try_route(apitest_t *t, const char *route, bool frozen)
{
    part_t part[PARTS] = {0};
    lac_call_opts_t call = {.size = sizeof call, .route = route};
    lac_status_t status = LAC_OK;
    for (int i = 0; status == LAC_OK && i < PARTS; i++) {
        status = cut(t, &part[i], i, frozen);
        if (status == LAC_OK)
            status = lac_explain(t->ctx, operand_set_alpha(t->set), &part[i].a, &part[i].b,
                                 operand_set_beta(t->set), &part[i].c, &call, &part[i].decision);
    }
    for (int i = 0; t->corrupt && i < LAC_CANDIDATES_MAX; i++)
        part[WHOLE].decision.candidate[i].cost_us *= -1.0;
    apitest_end_t end = status == LAC_OK ? APITEST_PASSED : apitest_stop(t, status, "lac_explain");
    for (int row = 0; end == APITEST_PASSED && row < part[WHOLE].decision.count; row++)
        if (strcmp(part[WHOLE].decision.candidate[row].route, route) == 0) end = judge_cost(t, part, row);
    for (int i = 0; i < PARTS; i++) release(&part[i]);
    return end;
}

/* Settings that a cost must not hang on: samples would give the parts densities of their own, and what calls
 * of the whole product took says nothing of those of its halves. */
static const char *const settings[] = {"detect", "learn"};
enum { SETTINGS = sizeof settings / sizeof *settings };

static void find_settings(void *arg, const char *key, const char *value)
{
    char(*found)[16] = arg, name[32];
    for (int i = 0; i < SETTINGS; i++) {
        snprintf(name, sizeof name, "option %s", settings[i]);
        if (strcmp(key, name) == 0) sscanf(value, "%15s", found[i]);
    }
}

apitest_end_t apitest_costs(apitest_t *t)
{
    const operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    char found[SETTINGS][16] = {"probe", "on"};
    if (!set->a.buf || !set->b.buf || set->a.dt != LAC_F32 || set->b.dt != LAC_F32)
        return apitest_refuse(t, "an operand is not f32 in a buffer");
    if (p->m < 8 || p->n < 8 || p->k < 32 || p->alpha == 0.0f)
        return apitest_refuse(t, "halves would be too short");
    lac_ctx_info(t->ctx, find_settings, found);
    for (int i = 0; i < SETTINGS; i++) lac_ctx_set(t->ctx, settings[i], "off");
    apitest_end_t end = APITEST_PASSED;
    for (int i = 0; end == APITEST_PASSED && i < t->routes->count; i++)
        for (int frozen = 0; end == APITEST_PASSED && frozen < 2; frozen++)
            if (strcmp(t->routes->name[i], ROUTE_AUTO) != 0) end = try_route(t, t->routes->name[i], frozen);
    for (int i = 0; i < SETTINGS; i++) lac_ctx_set(t->ctx, settings[i], found[i]);
    return end;
}

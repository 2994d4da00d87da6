/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The routes that a command was asked for, and which of them apply to a problem. */
#include "route_set.h"

#include <stdio.h>
#include <string.h>

#include "vendor_call.h"

bool route_set_has(const route_set_t *set, const char *name)
{
    for (int i = 0; i < set->count; i++)
        if (strcmp(set->name[i], name) == 0) return true;
    return false;
}

void route_set_add(route_set_t *set, const char *name)
{
    int capacity = (int)(sizeof set->name / sizeof set->name[0]);
    if (set->count == capacity || route_set_has(set, name)) return;
    snprintf(set->name[set->count++], ROUTE_NAME, "%s", name);
}

void route_set_drop(route_set_t *set, const char *name)
{
    int kept = 0;
    for (int i = 0; i < set->count; i++)
        if (strcmp(set->name[i], name) != 0) memmove(set->name[kept++], set->name[i], ROUTE_NAME);
    set->count = kept;
}

/* The decision on a small product, where the context computes; false: the library said no. */
static bool ask_for_table(lac_ctx_t *ctx, lac_decision_t *decision)
{
    static const float contents[3][4] = {{1, 0, 0, 1}, {1, 2, 3, 4}, {0}};
    float host[3][4];
    void *memory = NULL;
    float *first = memcpy(host, contents, sizeof host);
    if (computes_on_device(ctx)) {
        if (device_array(ctx, contents, sizeof contents, &memory) != LAC_OK) return false;
        first = memory;
    }
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, 2, 2, first, 2), b = a, c = a;
    a.space = b.space = c.space = memory ? LAC_DEVICE : LAC_HOST;
    b.buf = first + 4;
    c.buf = first + 8;
    bool reported = lac_explain(ctx, NULL, &a, &b, NULL, &c, NULL, decision) == LAC_OK;
    if (memory) lac_device_free(ctx, memory);
    return reported;
}

/* The library's table, seen through that decision. */
static bool add_all(route_set_t *set, lac_ctx_t *ctx, char *error, size_t error_size)
{
    lac_decision_t decision;
    if (!ask_for_table(ctx, &decision)) {
        snprintf(error, error_size, "the list of routes: %s", lac_last_error());
        return false;
    }
    route_set_add(set, ROUTE_AUTO);
    for (int i = 0; i < decision.count; i++) /* what cannot be forced ("trivial") is left to auto */
        if (lac_ctx_set(ctx, "backend", decision.candidate[i].route) == LAC_OK)
            route_set_add(set, decision.candidate[i].route);
    lac_ctx_set(ctx, "backend", ROUTE_AUTO);
    return true;
}

static bool add_one(route_set_t *set, const char *name, lac_ctx_t *ctx, char *error, size_t error_size)
{
    if (strcmp(name, "all") == 0) return add_all(set, ctx, error, error_size);
    if (strcmp(name, ROUTE_AUTO) != 0 && strcmp(name, ROUTE_VENDOR) != 0) {
        if (lac_ctx_set(ctx, "backend", name) != LAC_OK) {
            snprintf(error, error_size, "--route: '%s': %s", name, lac_last_error());
            return false;
        }
        lac_ctx_set(ctx, "backend", ROUTE_AUTO);
    }
    route_set_add(set, name);
    return true;
}

bool route_set_parse(route_set_t *set, const char *text, lac_ctx_t *ctx, char *error, size_t error_size)
{
    *set = (route_set_t){0};
    for (;;) {
        size_t length = strcspn(text, ",");
        char name[ROUTE_NAME];
        if (length == 0 || length >= sizeof name) {
            snprintf(error, error_size, "--route: expected route names set apart by commas, found '%s'",
                     text);
            return false;
        }
        memcpy(name, text, length);
        name[length] = '\0';
        if (!add_one(set, name, ctx, error, error_size)) return false;
        if (text[length] == '\0') return true;
        text += length + 1;
    }
}

/* The refusals of every side of one route. */
static void collect_refusals(route_verdict_t *verdict, const char *route)
{
    size_t used = 0, size = sizeof verdict->why;
    for (int i = 0; i < verdict->decision.count; i++) {
        const lac_candidate_t *c = &verdict->decision.candidate[i];
        if (strcmp(c->route, route) != 0 || !c->refusal) continue;
        int wrote = snprintf(verdict->why + used, size - used, "%s%s%s%s", used > 0 ? "; " : "", c->side,
                             *c->side ? ": " : "", c->refusal);
        if (wrote < 0 || used + (size_t)wrote >= size) return;
        used += (size_t)wrote;
    }
    if (used == 0)
        snprintf(verdict->why, size, "the library chose %s (%s)", verdict->decision.route,
                 verdict->decision.reason);
}

bool route_obeyed(const lac_decision_t *decision, const char *route)
{
    return strcmp(decision->route, route) == 0 || strcmp(decision->reason, "forced") == 0;
}

void route_ask(route_verdict_t *verdict, lac_ctx_t *ctx, const operand_set_t *set, const char *route)
{
    *verdict = (route_verdict_t){0};
    bool forced = strcmp(route, ROUTE_AUTO) != 0;
    lac_call_opts_t call = {.size = sizeof call, .route = forced ? route : NULL};
    verdict->status = lac_explain(ctx, operand_set_alpha(set), &set->a, &set->b, operand_set_beta(set),
                                  &set->c, &call, &verdict->decision);
    if (verdict->status != LAC_OK) {
        snprintf(verdict->why, sizeof verdict->why, "%s", lac_last_error());
        return;
    }
    verdict->applies = !forced || route_obeyed(&verdict->decision, route);
    if (!verdict->applies) collect_refusals(verdict, route);
}

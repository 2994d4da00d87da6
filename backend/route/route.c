/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Names of the routes, texts of the refusals; what a route leaves to be done. */
#include "route.h"

#include <string.h>

static const lac_route_entry_t entries[] = {
#define LAC_ROUTE(name, role, host, cuda, text) {#name, text, LAC_ROLE_##role},
#include "routes.def"
#undef LAC_ROUTE
};
enum { ENTRIES = sizeof entries / sizeof *entries };

const lac_route_entry_t *lac_route_entry(int i)
{
    return i < ENTRIES ? &entries[i] : NULL;
}

const lac_route_entry_t *lac_route_named(const char *name)
{
    for (int i = 0; i < ENTRIES; i++)
        if (!strcmp(entries[i].name, name)) return &entries[i];
    return NULL;
}

const char *lac_role_name(lac_role_t role)
{
    static const char *const names[] = {"sparse", "trivial", "dense", "fast", "either", "native", "oracle"};
    return names[role];
}

const char *lac_refusal_text(lac_refusal_t refusal)
{
    static const char *const texts[] = {
        "fits",
#define LAC_REFUSAL(name, text) text,
#include "refusal.def"
#undef LAC_REFUSAL
    };
    return texts[refusal];
}

lac_refusal_t lac_sparse_refusal(const lac_problem_t *p, const lac_sided_t *s, unsigned takes)
{
    bool has_w = s->w->buf || takes & LAC_TAKES_SPARSE_W;
    bool halves = lac_problem_is_half(p), widens = p->dt == LAC_F32 && lac_is_half(s->w->dt);
    bool has_type = !s->w->buf || s->w->dt == p->dt || widens || takes & LAC_TAKES_U8_W;
    if (lac_problem_is_trivial(p)) return LAC_REFUSED_TRIVIAL;
    if (p->settings.strict_nan) return LAC_REFUSED_STRICT_NAN;
    if (lac_problem_guarantees(p) && !lac_problem_skips(p, s->s)) return LAC_REFUSED_SKIP_GUARANTEED;
    if (halves && !(takes & LAC_TAKES_HALVES)) return LAC_REFUSED_HALVES;
    if (lac_problem_has_triangle(p) && !(takes & LAC_TAKES_TRIANGLE)) return LAC_REFUSED_TRIANGLE;
    if (!has_w) return LAC_REFUSED_W_SPARSE;
    if (!has_type) return LAC_REFUSED_W_TYPE;
    if (s->s->density < 0) return LAC_REFUSED_DENSITY_UNKNOWN;
    return LAC_FITS;
}

double lac_density_below(bool (*wins)(const void *arg, double density), const void *arg)
{
    double low = 0.0, high = 1.0;
    if (!wins(arg, low)) return low;
    if (wins(arg, high)) return high;
    for (int step = 0; step < 10; step++) {
        double middle = 0.5 * (low + high);
        if (wins(arg, middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

typedef struct either {
    const lac_route_t *route;
    const lac_problem_t *p;
    const lac_machine_t *machine;
    double full_us;
} either_t;

static double either_us(const either_t *e, double density)
{
    lac_problem_t known = *e->p;
    lac_operand_t *s = known.m <= known.n ? &known.a : &known.b;
    s->density = density;
    s->k_active = s->blocks_active = -1.0;
    return e->route->cost_us(e->route, &known, e->machine);
}

static bool is_sooner(const void *arg, double density)
{
    const either_t *e = arg;
    return either_us(e, density) < e->full_us;
}

double lac_route_break_even(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    either_t either = {route, p, machine, 0.0};
    either.full_us = either_us(&either, 1.0);
    return lac_density_below(is_sooner, &either);
}

bool lac_route_fuses_epilogue(const lac_route_t *route, const lac_problem_t *p)
{
    return !p->epilogue.any || (route->fuses_epilogue && route->fuses_epilogue(route, p));
}

double lac_route_extra_us(const lac_route_t *route, const lac_problem_t *p)
{
    double skipped = route->role == LAC_ROLE_SPARSE ? p->account.extra_us : 0.0;
    return lac_route_fuses_epilogue(route, p) ? skipped : skipped + p->account.epilogue_us;
}

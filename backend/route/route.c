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
    static const char *const names[] = {"sparse", "trivial", "dense", "fast", "native", "oracle"};
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
    if (!has_w) return LAC_REFUSED_W_SPARSE;
    if (!has_type) return LAC_REFUSED_W_TYPE;
    if (s->s->density < 0) return LAC_REFUSED_DENSITY_UNKNOWN;
    return LAC_FITS;
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

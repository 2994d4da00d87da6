/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Texts of the refusals; what a route leaves to be done. */
#include "route.h"

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

bool lac_route_fuses_epilogue(const lac_route_t *route, const lac_problem_t *p)
{
    return !p->epilogue.any || (route->fuses_epilogue && route->fuses_epilogue(route, p));
}

double lac_route_extra_us(const lac_route_t *route, const lac_problem_t *p)
{
    double skipped = route->role == LAC_ROLE_SPARSE ? p->account.extra_us : 0.0;
    return lac_route_fuses_epilogue(route, p) ? skipped : skipped + p->account.epilogue_us;
}

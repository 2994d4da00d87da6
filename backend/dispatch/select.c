/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The cheapest route that applies. */
#include "select.h"

#include <string.h>

const char *lac_why_text(lac_why_t why)
{
    static const char *const text[LAC_WHYS] = {
        [LAC_WHY_CHEAPEST] = "cheapest",
        [LAC_WHY_ONLY] = "only",
        [LAC_WHY_FORCED] = "forced",
        [LAC_WHY_UNFIT] = "forced route does not apply",
        [LAC_WHY_TRIAL] = "trial",
        [LAC_WHY_PLANNED] = "planned",
        [LAC_WHY_BATCHED] = "batched",
        [LAC_WHY_DENSER] = "denser than expected",
        [LAC_WHY_NO_ROOM] = "no memory for the cheapest",
    };
    return text[why];
}

/* Serves only where it is asked for by name. */
static bool forced_only(const lac_route_t *route)
{
    return route->role == LAC_ROLE_ORACLE;
}

static bool is_sparse(const lac_route_t *route)
{
    return route->role == LAC_ROLE_SPARSE;
}

/* The predicted cost, as far as this site knows better, with what this call adds to it. */
static double corrected(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine,
                        const float *factor, int row)
{
    double cost = route->cost_us(route, p, machine);
    if (factor && factor[row] > 0.0f) cost *= (double)factor[row];
    return cost + lac_route_extra_us(route, p);
}

/* Our dense kernel stands in for a vendor's. Beside one it serves only where it was seen to be faster: a
 * model that is wrong by a few per cent must not cost the caller their BLAS. */
static bool stands_back(const lac_route_t *route, bool vendor_fits, const float *factor, int row)
{
    return route->role == LAC_ROLE_PLAIN && vendor_fits && !(factor && factor[row] > 0.0f);
}

/* True where the site knows what the vendor's product takes, and does not only foresee it. */
static bool vendor_measured(const lac_route_t *const *table, int count, const float *factor)
{
    for (int i = 0; factor && i < count; i++)
        if (table[i]->role == LAC_ROLE_DENSE && factor[i] > 0.0f) return true;
    return false;
}

/* What a route's cost counts for, once bias and hysteresis are in. Hysteresis bridges what predictions lack;
 * beside a vendor's product that was measured it takes the bias back from a sparse route that serves, and no
 * more: one that was seen to be slower does not stay. */
static double weighed(const lac_route_t *route, double cost, const lac_preference_t *preference,
                      bool measured)
{
    double weight = route == preference->incumbent ? 1.0 - preference->hysteresis : 1.0;
    if (!is_sparse(route)) return weight * cost;
    weight *= 1.0 + preference->dense_bias;
    return measured && weight < 1.0 ? cost : weight * cost;
}

/* The cheapest among the routes of one name, or among all free ones when name is NULL. */
static lac_choice_t cheapest(const lac_route_t *const *table, int count, const lac_problem_t *p,
                             const lac_machine_t *machine, const lac_preference_t *preference,
                             const char *name)
{
    lac_choice_t best = {NULL, -1, LAC_WHY_CHEAPEST, -1.0, -1.0};
    double best_weight = 0.0;
    int fitting = 0;
    bool vendor_fits = false, measured = vendor_measured(table, count, preference->factor);
    for (int i = 0; i < count; i++) {
        const lac_route_t *route = table[i];
        if (name ? strcmp(route->name, name) != 0 : forced_only(route)) continue;
        if (route->applicable(route, p) != LAC_FITS) continue;
        fitting++;
        if (!name && stands_back(route, vendor_fits, preference->factor, i)) continue;
        vendor_fits |= route->role == LAC_ROLE_DENSE;
        double cost = corrected(route, p, machine, preference->factor, i),
               weight = weighed(route, cost, preference, measured);
        if (route->role != LAC_ROLE_SPARSE && (best.dense_us < 0 || cost < best.dense_us))
            best.dense_us = cost;
        if (best.route && weight >= best_weight) continue;
        best.route = route;
        best.row = i;
        best.cost_us = cost;
        best_weight = weight;
    }
    if (fitting == 1) best.why = LAC_WHY_ONLY;
    return best;
}

lac_choice_t lac_select(const lac_route_t *const *table, int count, const lac_problem_t *p,
                        const lac_machine_t *machine, const lac_preference_t *preference)
{
    lac_choice_t best = cheapest(table, count, p, machine, preference, NULL);
    if (!preference->forced) return best;
    lac_choice_t forced = cheapest(table, count, p, machine, preference, preference->forced);
    if (!forced.route) {
        best.why = LAC_WHY_UNFIT;
        return best;
    }
    forced.why = LAC_WHY_FORCED;
    forced.dense_us = best.dense_us;
    return forced;
}

void lac_select_record(const lac_route_t *const *table, int count, const lac_problem_t *p,
                       const lac_machine_t *machine, const lac_choice_t *choice, lac_decision_t *record)
{
    const lac_operand_t *sparse = choice->route->side == LAC_SIDE_RIGHT ? &p->b : &p->a;
    if (choice->route->side == LAC_SIDE_NONE && p->b.density >= 0 &&
        (p->a.density < 0 || p->b.density < p->a.density))
        sparse = &p->b;
    *record = (lac_decision_t){.route = choice->route->name,
                               .side = lac_side_name(choice->route->side),
                               .reason = lac_why_text(choice->why),
                               .known = lac_source_name(sparse->known),
                               .density = sparse->density,
                               .cost_us = choice->cost_us,
                               .dense_us = choice->dense_us};
    for (int i = 0; i < count && record->count < LAC_CANDIDATES_MAX; i++) {
        const lac_route_t *route = table[i];
        lac_candidate_t *line = &record->candidate[record->count++];
        lac_refusal_t refusal = route->applicable(route, p);
        *line = (lac_candidate_t){route->name, lac_side_name(route->side), NULL, -1.0, 0};
        if (refusal == LAC_FITS) {
            line->cost_us = route->cost_us(route, p, machine);
            line->bytes = route->bytes(route, p);
        } else {
            line->refusal = lac_refusal_text(refusal);
        }
    }
}

static bool wins_at(const lac_route_t *const *table, int count, lac_problem_t *p,
                    const lac_machine_t *machine, const float *factor, lac_side_t side, double than_us,
                    double density)
{
    lac_operand_t *x = side == LAC_SIDE_RIGHT ? &p->b : &p->a;
    x->density = density;
    x->k_active = -1.0;
    for (int i = 0; i < count; i++)
        if (table[i]->side == side && table[i]->applicable(table[i], p) == LAC_FITS &&
            corrected(table[i], p, machine, factor, i) < than_us)
            return true;
    return false;
}

double lac_break_even(const lac_route_t *const *table, int count, const lac_problem_t *p,
                      const lac_machine_t *machine, const float *factor, lac_side_t side, double than_us)
{
    lac_problem_t trial = *p;
    double low = 0.0, high = 1.0;
    if (!wins_at(table, count, &trial, machine, factor, side, than_us, 0.0)) return 0.0;
    if (wins_at(table, count, &trial, machine, factor, side, than_us, 1.0)) return 1.0;
    for (int step = 0; step < 10; step++) {
        double middle = 0.5 * (low + high);
        if (wins_at(table, count, &trial, machine, factor, side, than_us, middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

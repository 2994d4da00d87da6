/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The cheapest route that applies. */
#include "select.h"

#include <math.h>
#include <string.h>

_Static_assert(LAC_ROUTES_MAX <= LAC_CANDIDATES_MAX, "a record has a line for every row");

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
        [LAC_WHY_ON_DEVICE] = "decided on the device",
        [LAC_WHY_UNPROVEN] = "gain within the model's error, not measured yet",
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

static bool is_measured(const float *factor, int row)
{
    return factor && row < LAC_ROUTES_MAX && factor[row] > 0.0f;
}

/* The predicted cost, as far as this site knows better, or dense products elsewhere do, with what this call
 * adds to it. */
static double corrected(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine,
                        const lac_preference_t *preference, int row)
{
    double cost = route->cost_us(route, p, machine);
    if (is_measured(preference->factor, row))
        cost *= (double)preference->factor[row];
    else if (route->role == LAC_ROLE_DENSE && preference->dense_factor > 0.0)
        cost *= preference->dense_factor;
    return cost + lac_route_extra_us(route, p);
}

bool lac_route_too_dense(const lac_route_t *route, const lac_problem_t *p, double densest)
{
    if (densest <= 0.0 || route->side == LAC_SIDE_NONE || route->traits & LAC_ROUTE_ANY_DENSITY) return false;
    const lac_operand_t *x = route->side == LAC_SIDE_RIGHT ? &p->b : &p->a;
    return (x->known == LAC_KNOWN_PROBED || x->known == LAC_KNOWN_REMEMBERED) && x->density > densest;
}

/* What the prediction of our faster dense kernel counts for beside a vendor's product, until it was measured:
 * of random products, 70 took 1.15 times as long as tiles are predicted, and 12 by stream as much; 340 small
 * ones, to which their times are fitted, as long, +- 12 % (h200/regret.json, 2026-11-27). */
#define FAST_DOUBT 1.15
/* What it counts for beside a vendor's time that was measured: a call tells, and the vendor has its place
 * back where that was wrong. */
#define FAST_TRIAL 1.05
/* What its measured time counts for beside a measured one of the vendor's: such times of it are 0.2 us over
 * replayed ones in the median (event_timer.c), so that this need cover no more than their noise. */
#define FAST_MARGIN 1.03

static bool is_fast(const lac_route_t *route)
{
    return route->role == LAC_ROLE_FAST;
}

static bool is_either(const lac_route_t *route)
{
    return route->role == LAC_ROLE_EITHER;
}

/* With so few terms our dense kernel of a device took less than cuBLAS in 45 of the 47 random products where
 * it is predicted to, by a third in the mean, and 5 and 10 % more in the others (h200/regret.json,
 * 2026-11-26). */
#define FEW_TERMS 4

/* Our dense kernel stands in for a vendor's. Beside one it serves only where it was seen to be faster, or is
 * known to be: a model that is wrong by a few per cent must not cost the caller their BLAS. */
static bool stands_back(const lac_route_t *route, const lac_problem_t *p, bool vendor, const float *factor,
                        int row)
{
    bool few = route->traits & LAC_ROUTE_FEW_TERMS && p->dt == LAC_F32 && p->k <= FEW_TERMS;
    return route->role == LAC_ROLE_NATIVE && vendor && !few && !is_measured(factor, row);
}

/* True where the site knows what the vendor's product takes, and does not only predict it. */
static bool vendor_measured(const lac_route_t *const *table, int count, const float *factor)
{
    for (int i = 0; i < count; i++)
        if (table[i]->role == LAC_ROLE_DENSE && is_measured(factor, i)) return true;
    return false;
}

static bool vendor_fits(const lac_route_t *const *table, int count, const lac_problem_t *p)
{
    for (int i = 0; i < count; i++)
        if (table[i]->role == LAC_ROLE_DENSE && table[i]->applicable(table[i], p) == LAC_FITS) return true;
    return false;
}

/* How many times its cost a sparse route counts for, where it or the vendor's product was never measured: a
 * product is taken from the vendor on predictions alone only where the gain is beyond their error. */
static double doubt(const lac_preference_t *preference, int row, bool vendor_known)
{
    double times = 1.0;
    if (!is_measured(preference->factor, row) && preference->sparse_doubt > 0.0)
        times *= preference->sparse_doubt;
    if (!vendor_known && preference->dense_doubt > 0.0) times *= preference->dense_doubt;
    return times;
}

/* What a route's cost counts for, once bias and hysteresis are in. Hysteresis bridges what predictions lack;
 * beside a vendor's product that was measured it takes the bias back from a sparse route that serves, and no
 * more: one that was seen to be slower does not stay. */
static double weighed(const lac_route_t *route, double cost, const lac_preference_t *preference,
                      bool measured)
{
    double weight = route == preference->incumbent ? 1.0 - preference->hysteresis : 1.0;
    if (!is_sparse(route)) return weight * cost;
    weight *= 1.0 + preference->sparse_margin;
    return measured && weight < 1.0 ? cost : weight * cost;
}

/* Our faster dense kernel beside a vendor's product, which was `measured` or not. */
static double fast_weight(double weight, double cost, bool known, bool measured)
{
    if (!known) return (measured ? FAST_TRIAL : FAST_DOUBT) * weight;
    return measured ? FAST_MARGIN * cost : weight;
}

/* What it takes where the operand that it counts is full. */
static double full_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    lac_problem_t full = *p;
    full.a.density = full.b.density = 1.0;
    full.a.k_active = full.b.k_active = full.a.blocks_active = full.b.blocks_active = -1.0;
    return route->cost_us(route, &full, machine) + lac_route_extra_us(route, p);
}

/* Where nothing is sure of the operands, and ours is the dense kernel that serves: a route that finds out on
 * the device, unless it is predicted to gain nothing by that, or to lose to the vendor where there are no
 * zeros. */
static lac_choice_t on_device(const lac_route_t *const *table, int count, const lac_problem_t *p,
                              const lac_machine_t *machine, lac_choice_t best, double counted_density)
{
    double vendor_us = HUGE_VAL;
    lac_problem_t counted = *p;
    if (counted_density > 0) (p->m <= p->n ? &counted.a : &counted.b)->density = counted_density;
    if (p->a.density >= 0 || p->b.density >= 0) return best;
    for (int i = 0; i < count; i++)
        if (table[i]->role == LAC_ROLE_DENSE && table[i]->applicable(table[i], p) == LAC_FITS)
            vendor_us = table[i]->cost_us(table[i], p, machine);
    for (int i = 0; i < count; i++) {
        if (!is_either(table[i]) || table[i]->applicable(table[i], p) != LAC_FITS) continue;
        double cost = table[i]->cost_us(table[i], &counted, machine) + lac_route_extra_us(table[i], p);
        if (cost < best.cost_us && full_us(table[i], p, machine) < vendor_us)
            best = (lac_choice_t){table[i], i, LAC_WHY_ON_DEVICE, cost, best.dense_us};
    }
    return best;
}

/* How much longer than the vendor's product what stands in for it may take on any input. */
#define PROMISED_SHARE 0.02
#define PROMISED_US    1.5

static lac_operand_t *skipped_operand(const lac_route_t *route, lac_problem_t *p)
{
    return route->side == LAC_SIDE_RIGHT ? &p->b : &p->a;
}

/* A route that skips, were so much of its operand nonzero, of which replays may have any share; negative
 * where it would not fit. */
static double us_at(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine,
                    double density)
{
    lac_problem_t known = *p;
    skipped_operand(route, &known)->density = density;
    known.terms.any_density = true;
    if (route->applicable(route, &known) != LAC_FITS) return -1.0;
    return route->cost_us(route, &known, machine) + lac_route_extra_us(route, p);
}

/* Where nothing is sure of an operand: a route that finds its zeros in every run, unless it is predicted to
 * gain nothing, or to lose more than is promised to the vendor where there are none. */
static lac_choice_t at_any_density(const lac_route_t *const *table, int count, const lac_problem_t *p,
                                   const lac_machine_t *machine, lac_choice_t best, double counted_density)
{
    lac_problem_t here = *p;
    double most_us = best.dense_us + fmax(PROMISED_SHARE * best.dense_us, PROMISED_US);
    for (int i = 0; i < count; i++) {
        const lac_route_t *route = table[i];
        bool finds = route->traits & LAC_ROUTE_FINDS_ZEROS;
        if (!finds || skipped_operand(route, &here)->density >= 0) continue;
        bool counted = counted_density > 0 && (route->side == LAC_SIDE_RIGHT) == (p->m > p->n);
        double full = us_at(route, p, machine, 1.0),
               some = us_at(route, p, machine, counted ? counted_density : LAC_SPARSE_DENSITY);
        if (full < 0 || full > most_us) continue;
        double cost = counted ? some : 0.5 * (some + full);
        if (cost < best.cost_us) best = (lac_choice_t){route, i, LAC_WHY_ON_DEVICE, cost, best.dense_us};
    }
    return best;
}

/* The cheapest among the routes of one name, or among all free ones when name is NULL. */
static lac_choice_t cheapest(const lac_route_t *const *table, int count, const lac_problem_t *p,
                             const lac_machine_t *machine, const lac_preference_t *preference,
                             const char *name)
{
    lac_choice_t best = {NULL, -1, LAC_WHY_CHEAPEST, -1.0, -1.0};
    double best_weight = 0.0, least = 0.0; /* least: the weight of a sparse route, were predictions exact */
    int fitting = 0;
    bool vendor = vendor_fits(table, count, p), measured = vendor_measured(table, count, preference->factor);
    for (int i = 0; i < count; i++) {
        const lac_route_t *route = table[i];
        if (name ? strcmp(route->name, name) != 0 : forced_only(route)) continue;
        if (is_fast(route) && preference->without_fast) continue;
        if (!name && is_either(route)) continue;
        if (route->applicable(route, p) != LAC_FITS) continue;
        fitting++;
        if (!name && stands_back(route, p, vendor, preference->factor, i)) continue;
        if (!name && lac_route_too_dense(route, p, preference->densest)) continue;
        double cost = corrected(route, p, machine, preference, i),
               weight = weighed(route, cost, preference, measured);
        if (is_sparse(route) && (least <= 0.0 || weight < least)) least = weight;
        if (is_sparse(route) && vendor) weight *= doubt(preference, i, measured);
        if (is_fast(route) && vendor)
            weight = fast_weight(weight, cost, is_measured(preference->factor, i), measured);
        if (route->role != LAC_ROLE_SPARSE && (best.dense_us < 0 || cost < best.dense_us))
            best.dense_us = cost;
        if (best.route && weight >= best_weight) continue;
        best.route = route;
        best.row = i;
        best.cost_us = cost;
        best_weight = weight;
    }
    if (fitting == 1) best.why = LAC_WHY_ONLY;
    if (!name && best.route && best.route->role == LAC_ROLE_DENSE && least > 0.0 && least < best_weight)
        best.why = LAC_WHY_UNPROVEN;
    if (name || !best.route || !preference->on_device) return best;
    if (is_fast(best.route)) best = on_device(table, count, p, machine, best, preference->counted_density);
    return at_any_density(table, count, p, machine, best, preference->counted_density);
}

void lac_select_settle(const lac_choice_t *choice, lac_problem_t *p)
{
    if (choice->why != LAC_WHY_ON_DEVICE || !is_sparse(choice->route)) return;
    skipped_operand(choice->route, p)->density = 1.0;
    p->terms.any_density = true;
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
                               .dense_us = choice->dense_us,
                               .break_even = -1.0};
    if (is_either(choice->route)) record->break_even = lac_route_break_even(choice->route, p, machine);
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

typedef struct wins {
    const lac_route_t *const *table;
    int count;
    lac_problem_t *trial;
    const lac_machine_t *machine;
    const float *factor;
    lac_side_t side;
    double than_us;
} wins_t;

static bool wins_at(const void *arg, double density)
{
    const wins_t *w = arg;
    lac_preference_t preference = {.factor = w->factor};
    lac_operand_t *x = w->side == LAC_SIDE_RIGHT ? &w->trial->b : &w->trial->a;
    x->density = density;
    x->k_active = x->blocks_active = -1.0;
    for (int i = 0; i < w->count; i++)
        if (w->table[i]->side == w->side && w->table[i]->applicable(w->table[i], w->trial) == LAC_FITS &&
            corrected(w->table[i], w->trial, w->machine, &preference, i) < w->than_us)
            return true;
    return false;
}

double lac_break_even(const lac_route_t *const *table, int count, const lac_problem_t *p,
                      const lac_machine_t *machine, const float *factor, lac_side_t side, double than_us)
{
    lac_problem_t trial = *p;
    wins_t wins = {table, count, &trial, machine, factor, side, than_us};
    return lac_density_below(wins_at, &wins);
}

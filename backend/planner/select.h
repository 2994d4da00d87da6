/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Selection: pure, and blind to which routes exist. */
#ifndef LACUNA_PLANNER_SELECT_H
#define LACUNA_PLANNER_SELECT_H

#include "route/route.h"
#include "lacuna/gemm.h"

#define LAC_ASSUMED_DENSITY                                                                                  \
    0.10 /* of an operand of which nothing is known, where one guess is to be made                           \
          */

/* What selection may take into account beside the costs. */
typedef struct lac_preference {
    const char *forced;           /* a route name, or NULL                                           */
    const lac_route_t *incumbent; /* the route that served this site last, or NULL                   */
    double hysteresis;            /* a challenger must be cheaper than the incumbent by this fraction */
    double sparse_margin;         /* a sparse route must be cheaper than the dense one by this fraction */
    double dense_factor;    /* measured over predicted time of dense products elsewhere; 0: not known     */
    double sparse_doubt,    /* how many times as slow as predicted a sparse route that was never measured */
        dense_doubt;        /* here may be, and how many times as fast a dense one; 0: taken at its word  */
    bool without_fast;      /* what needs workspace beside the vendor's product is left out                */
    bool on_device;         /* where nothing is known, a route that finds out on the device may serve      */
    double counted_density; /* what that will mostly find, of the shorter side; 0: not known */
    double densest; /* a sampled or remembered operand this full takes no route that pays by zeros alone; 0:
                       any may */
    const float *factor; /* per table row, LAC_ROUTES_MAX of them: measured over predicted time at this site,
                            0 where it was never measured; or NULL. Later rows count as never measured */
} lac_preference_t;

/* Why a route was chosen. */
typedef enum lac_why {
    LAC_WHY_CHEAPEST,
    LAC_WHY_ONLY,      /* no other fits                                       */
    LAC_WHY_FORCED,    /* by name                                             */
    LAC_WHY_UNFIT,     /* the one that was named does not apply               */
    LAC_WHY_TRIAL,     /* its time is to be known                             */
    LAC_WHY_PLANNED,   /* long before                                         */
    LAC_WHY_BATCHED,   /* with others at once                                 */
    LAC_WHY_DENSER,    /* the one that was chosen counted more than expected  */
    LAC_WHY_NO_ROOM,   /* ... lacked memory                                   */
    LAC_WHY_ON_DEVICE, /* nothing is known of the operands: the device counts, and decides */
    LAC_WHY_UNPROVEN,  /* the predicted gain of another is within the model's error, and was not measured yet
                        */
    LAC_WHYS
} lac_why_t;

/* The same for people; lives for ever. */
const char *lac_why_text(lac_why_t why);

typedef struct lac_choice {
    const lac_route_t *route; /* never NULL as long as one route of the table fits */
    int row;                  /* its place in the table                            */
    lac_why_t why;
    double cost_us, dense_us; /* dense_us: the cheapest route that takes no side; negative: none */
} lac_choice_t;

/* True where a sample or a memory of the operand that a route skips in says that it is fuller than `densest`;
 * 0: never. What its owner promised of it is weighed by costs alone. */
bool lac_route_too_dense(const lac_route_t *route, const lac_problem_t *p, double densest);

/* Chooses the cheapest route that applies; a forced one where it applies. Pure. */
lac_choice_t lac_select(const lac_route_t *const *table, int count, const lac_problem_t *p,
                        const lac_machine_t *machine, const lac_preference_t *preference);

/* Where a route that skips was chosen whatever its operand holds, the problem says from now on that this may
 * be full: for which the route is cut. Nothing, otherwise. */
void lac_select_settle(const lac_choice_t *choice, lac_problem_t *p);

/* All costs and refusals of the same selection, for people. */
void lac_select_record(const lac_route_t *const *table, int count, const lac_problem_t *p,
                       const lac_machine_t *machine, const lac_choice_t *choice, lac_decision_t *record);

/* The density of the operand on `side` below which some route on that side is cheaper than `than_us`;
 * 0 where none is at any density, 1 where one always is. `factor` as in lac_preference_t, or NULL. Pure. */
double lac_break_even(const lac_route_t *const *table, int count, const lac_problem_t *p,
                      const lac_machine_t *machine, const float *factor, lac_side_t side, double than_us);

#endif

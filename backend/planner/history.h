/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * History: what a site remembers is put into the problem, and what a call measured is stored in the site. */
#ifndef LACUNA_PLANNER_HISTORY_H
#define LACUNA_PLANNER_HISTORY_H

#include "context.h"
#include "select.h"

/* The site of a problem, prepared with its break-even densities when it is new; NULL where no memory is. */
lac_site_t *lac_history_site(lac_ctx_t *ctx, const lac_problem_t *p, const char *symbol, const void *caller);

/* The same for the first call of a shape that is too short for its routes' costs to be compared now: the
 * site, which has counted the call; NULL for any other call, which then has not been counted. */
lac_site_t *lac_history_first(lac_ctx_t *ctx, const lac_problem_t *p, const char *symbol, const void *caller);

/* Fills in the densities that the problem's operands do not bring themselves: remembered, or, when a probe
 * is due, sampled. Returns false where nothing speaks for a sparse route, so that selection can be spared. */
bool lac_history_fill_densities(lac_ctx_t *ctx, lac_site_t *site, lac_problem_t *p);

/* A call by the route in `row`, of which the model alone says predicted_us, took so long. */
void lac_history_timed(lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p, int row, double predicted_us,
                       double took_us);

/* Learns from a call that a choice served, or gave up; a trial's density counts, not its route. */
void lac_history_learn(lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p, const lac_choice_t *choice,
                       const lac_outcome_t *outcome);

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Timing: what calls really took at a site corrects what the cost model predicts there. */
#ifndef LACUNA_PLANNER_TIMING_H
#define LACUNA_PLANNER_TIMING_H

#include "context.h"
#include "select.h"

/* The site's factors for selection; NULL where learning is off. */
const float *lac_timing_factors(const lac_ctx_t *ctx, const lac_site_t *site);

/* Fills in what is measured and what is doubted of a product's costs: factors, doubts, the densest operand.
 */
void lac_timing_prefer(const lac_ctx_t *ctx, const lac_site_t *site, const lac_problem_t *p,
                       lac_preference_t *preference);

/* The row of the vendor's product and its time, predicted and corrected by dense products elsewhere, without
 * weighing any other route. False on a device, and where no vendor's product applies. */
bool lac_timing_dense(const lac_ctx_t *ctx, const lac_problem_t *p, int *row, double *us);

/* Counts the time of a call. */
void lac_timing_spend(lac_ctx_t *ctx, lac_site_t *site, double us);

/* A dense product took so long: what that says of the machine's BLAS serves all sites. */
void lac_timing_learn_dense(lac_ctx_t *ctx, const lac_problem_t *p, double predicted_us, double took_us);

/* An attempt took so long in place of a route that takes instead_us: what it lost counts from now on, and no
 * longer what the trial that it was, if any, might have lost. */
void lac_timing_settle(lac_ctx_t *ctx, double took_us, double instead_us);

/* True where the host's clock times calls as they are made; where these return before their work is done,
 * lac_device_timing_begin. */
bool lac_timing_every_call(const lac_ctx_t *ctx);

/* True where this call learns nothing if the vendor's product serves it, as it did the one before on the
 * host: it is not timed, weighs no routes and makes no trial. The more calls a site has had, the more of them
 * rest. */
bool lac_timing_rests(const lac_ctx_t *ctx, const lac_site_t *site);

/* True where the site's routes are weighed anew for this call: where each call is timed, until the site is
 * known, and where the vendor's product serves, if the call does not rest. *epoch changes where they are to
 * be weighed again all the same. */
bool lac_timing_weighs(const lac_ctx_t *ctx, const lac_site_t *site, unsigned *epoch);

/* True where a device's site is too new, and its products too short, for a run to be timed. */
bool lac_timing_is_calm(const lac_site_t *site);

/* True where the route in `row` was measured often enough at this site. */
bool lac_timing_is_known(const lac_site_t *site, int row);

/* True where the context can afford the trial of a route that takes as long as the site's dense one. */
bool lac_timing_affords(const lac_ctx_t *ctx, const lac_site_t *site);

/* Replaces a choice by a route that was never measured at this site, where that could pay and the context can
 * afford what the trial might lose: trials of all sites together take 1 % of the time of all calls, from the
 * first call on. A dense route that is about to replace a sparse one on a prediction becomes a trial of
 * itself. `may_decline`: the call is left to the caller's BLAS where no route of ours pays by zeros. Returns
 * true when it did. */
bool lac_timing_trial(lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p, bool may_decline,
                      lac_choice_t *choice);

/* Makes the choice a trial where it is the dense route, about to replace a sparse one on a prediction alone.
 * It costs nothing: it is what would serve. Returns true when it did. */
bool lac_timing_trial_of_dense(const lac_ctx_t *ctx, lac_site_t *site, lac_choice_t *choice);

/* True where it is time to measure again what lost at this site. Only where each call is timed. */
bool lac_timing_reset_penalty_due(const lac_ctx_t *ctx, const lac_site_t *site);

/* A sparse route that served is seen to be slower than the dense one. If it served for long, that may be a
 * bad moment of the machine: the routes that lost are measured again as soon as at a new site. */
void lac_timing_lost(lac_site_t *site);

/* Lets routes that lost show better times, unless such trials have cost the site enough. Returns true where
 * its break-even densities have to be found anew. */
bool lac_timing_reset_penalty(const lac_ctx_t *ctx, lac_site_t *site);

/* A run of the route in `row` took so long; predicted_us is what the model alone says of it. Returns true
 * where the site's picture of its routes has changed enough for its break-even densities to be found anew. */
bool lac_timing_learn(lac_ctx_t *ctx, lac_site_t *site, int row, double predicted_us, double took_us);

/* True where the dense route was never measured at this site and cannot be now, as the stream is captured: an
 * eager call will. */
bool lac_timing_is_open(const lac_ctx_t *ctx, const lac_site_t *site);

/* A known time after one more run: what is faster than expected is the truth sooner than what is slower,
 * since noise only ever adds. */
double lac_timing_follow(double before, double now);

/* True where the time of this call of the site, counted from 1, is worth measuring though it is left to the
 * caller's BLAS. */
bool lac_timing_wants(const lac_ctx_t *ctx, const lac_site_t *site, int row, uint64_t call);

#endif

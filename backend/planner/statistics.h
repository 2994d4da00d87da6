/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The tables at exit (LACUNA_STATS=1): the sites of all contexts, and the calls that were never probed. */
#ifndef LACUNA_PLANNER_STATISTICS_H
#define LACUNA_PLANNER_STATISTICS_H

#include "context.h"
#include "operand/gemm_args.h"

/* A context takes part from its first call to its end. */
void lac_statistics_enlist(lac_ctx_t *ctx);
void lac_statistics_retire(lac_ctx_t *ctx);

/* Has the tables printed at exit, also where no context is ever made. */
void lac_statistics_begin(void);

/* One call that a drop-in library did not ask about. The symbol's text lives as long as the process. */
void lac_statistics_forwarded(const char *symbol, lac_pass_t why);

/* Statistics of a site, independent of its context. Times are what was measured, or not known: nothing that
 * is only predicted is compared with a measurement. */
typedef struct lac_site_stats {
    char shape[64], symbol[24], route[16];
    double min_extent; /* the smaller of m and n: 1 is a vector                   */
    double density;    /* last seen on the sparser side; negative: never           */
    uint64_t sparse, dense;
    double dense_us;     /* a call by the dense route: predicted, or measured where dense_timed */
    double predicted_us; /* all sparse calls                                       */
    double
        measured_us;  /* the same, by the device's own clock where calls return early; negative: not known */
    double gained_us; /* of all sparse calls, against dense ones: where both were measured, otherwise 0   */
    double best_us;   /* all calls by the cheapest route that was measured here; negative: not known      */
    double regret_us; /* beyond it; negative: not known                         */
    const char *why_dense; /* "" where a sparse route serves                    */
    bool dense_timed;      /* dense_us rests on a measurement, not on the model alone */
    char weight[48];       /* extents of a dense operand that is worth freezing, or "" */
    double weight_us;      /* a call's predicted time once it is                       */
} lac_site_stats_t;

lac_site_stats_t lac_site_stats(const lac_ctx_t *ctx, const lac_site_t *site);

/* Prints both tables of sites. Sorts them. */
void lac_statistics_print_sites(lac_site_stats_t *stats, size_t count);

#endif

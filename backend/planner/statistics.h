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

/* Statistics of a site, independent of its context. */
typedef struct lac_site_stats {
    char shape[64], symbol[24], route[16];
    double min_extent; /* the smaller of m and n: 1 is a vector                   */
    double density;    /* last seen on the sparser side; negative: never           */
    uint64_t sparse, dense;
    double dense_us, sparse_us;       /* a call by each, as far as measured          */
    double predicted_us, measured_us; /* of all sparse calls                        */
    double gained_us, regret_us,
        best_us;           /* of all calls: against dense; against the best route known there */
    const char *why_dense; /* "" where a sparse route serves                    */
    bool dense_timed;      /* dense_us rests on a measurement, not on the model alone */
    char weight[48];       /* extents of a dense operand that is worth freezing, or "" */
    double weight_us;      /* a call's predicted time once it is                       */
} lac_site_stats_t;

lac_site_stats_t lac_site_stats(const lac_ctx_t *ctx, const lac_site_t *site);

/* Prints both tables of sites. Sorts them. */
void lac_statistics_print_sites(lac_site_stats_t *stats, size_t count);

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Two ways to do one thing, the caller's and ours, of which no model says which is faster: both are clocked
 * where the calls come from, and the faster one serves. */
#ifndef LACUNA_DISPATCH_RIVALS_H
#define LACUNA_DISPATCH_RIVALS_H

#include "../model/backend.h"

typedef enum lac_rival { LAC_RIVAL_THEIRS, LAC_RIVAL_OURS } lac_rival_t;

/* What makes calls alike. Compared whole, so every byte is set. */
typedef struct lac_rivals_key {
    lac_dim_t m, n, k, nnz; /* nnz: rounded */
    lac_inc_t rsb, csb, rsc, csc;
    const void *caller;
    uint64_t alg;
} lac_rivals_key_t;

typedef struct lac_rivals_site {
    lac_rivals_key_t key;
    uint64_t number; /* never 0, and never another site's */
    uint64_t used;
    uint64_t calls, served[2];
    double us[2];          /* as measured; 0: never */
    int runs[2], asked[2]; /* measured; under way or measured */
    uint64_t again_at;
    char symbol[24];
} lac_rivals_site_t;

typedef struct lac_rivals lac_rivals_t;

#define LAC_RIVALS_ROW 1000 /* rows of run marks from here on are theirs */

/* The site of a call, found or begun; NULL without memory. *rivals is made on first use. */
lac_rivals_site_t *lac_rivals_find(lac_rivals_t **rivals, const lac_rivals_key_t *key, const char *symbol);

/* Who serves the next call; *clocked: its time is wanted. Ours has to be cheaper by the fraction `bias`. */
lac_rival_t lac_rivals_choose(lac_rivals_site_t *site, double bias, bool *clocked);

/* That a clocked run is under way, and what came of it. */
void lac_rivals_asked(lac_rivals_site_t *site, lac_rival_t who);
lac_timing_tag_t lac_rivals_mark(const lac_rivals_site_t *site, lac_rival_t who);
void lac_rivals_learn(lac_rivals_t *rivals, const lac_timing_tag_t *mark, double us);

/* Each site that there is, in no order. */
void lac_rivals_visit(const lac_rivals_t *rivals, void (*visit)(const lac_rivals_site_t *site));

/* NULL is accepted. */
void lac_rivals_free(lac_rivals_t *rivals);

#endif

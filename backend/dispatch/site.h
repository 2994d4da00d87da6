/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sites: what was learned of the calls of one shape from one place. */
#ifndef LACUNA_DISPATCH_SITE_H
#define LACUNA_DISPATCH_SITE_H

#include "choice_memo.h"
#include "../model/route.h"

/* What makes two calls the same site. Compared whole, so every byte is set. */
typedef struct lac_site_key {
    lac_dim_t m, n, k;
    lac_inc_t ars, acs, brs, bcs;
    const void *caller;
    uint64_t types; /* element types and which operands have metadata; LAC_SITE_ADDS */
} lac_site_key_t;

#define LAC_SITE_FROZEN_A UINT64_C(16)
#define LAC_SITE_FROZEN_B UINT64_C(32)
#define LAC_SITE_ADDS     UINT64_C(64)        /* routes that skip have something to add afterwards */
#define LAC_SITE_FINISHED (UINT64_C(1) << 63) /* bias or activation follows */
/* One of so many products that the caller's dense call makes at once. */
#define LAC_SITE_BATCH(count) (UINT64_C(128) | (uint64_t)(count) << 8)

/* What was seen of one operand of a site. */
typedef struct lac_seen {
    double density, k_active; /* last counted or sampled; negative: never    */
    double sampled;           /* by the last look, whatever came of it, or what a scan that gave up saw at
                               * least; negative: none */
    double break_even;        /* below this density some sparse route wins; 0: at none */
    double reach;             /* below this one it might, were the model wrong by its usual error; 0: it need
                               * not be looked at */
    bool pending;             /* a device was asked and has not answered                                  */
} lac_seen_t;

#define LAC_SITE_ROUTES 16 /* rows of a route table */

typedef struct lac_site {
    lac_site_key_t key;
    uint64_t calls, stamp; /* stamp: when it was last used; 0 marks an empty place */
    uint64_t born;         /* its number: never 0, and no two sites of a context ever share it */
    lac_seen_t left, right;
    lac_problem_t shape;      /* the first call's, for finding break-even again; without its metadata     */
    double dense_us;          /* predicted for the route that skips nothing, with what was measured       */
    int dense_row;            /* that route's place in the table; -1: none                                */
    const lac_route_t *route; /* that served last; NULL before the first                                  */
    unsigned wait, countdown; /* calls between two looks at a dense site, and until the next              */
    bool looked;              /* in the call that is under way                                            */
    lac_choice_memo_t memo;   /* of the call before                                                       */
    /* Per table row: measured over predicted time (0: not known), the factor that the break-even densities
     * rest on, the least one of the first runs while there are few, and how many there were, up to a few. */
    float factor[LAC_SITE_ROUTES], settled[LAC_SITE_ROUTES], first[LAC_SITE_ROUTES];
    unsigned char runs[LAC_SITE_ROUTES];
    unsigned learned;          /* counts the changes of the factors                     */
    uint64_t again_at;         /* calls at which routes that lost may be measured again */
    double spent_us, tried_us; /* time of all calls, as far as measured or predicted; of trials            */
    double lost_us;            /* by the first runs of routes, beyond what the dense one would have taken  */
    /* For the statistics at exit. */
    char symbol[24]; /* a copy: the caller's text need not live so long */
    uint64_t sparse_calls, declined_calls, looks;
    double sparse_us_predicted, sparse_us_measured;
} lac_site_t;

#define LAC_SITES     256 /* bounded: about 200 KB a context */
#define LAC_SITE_WAYS 4

typedef struct lac_sites {
    lac_site_t *place; /* [LAC_SITES], allocated on first use */
    uint64_t clock, evicted;
} lac_sites_t;

/* The site of a key: found, or a new one in the place of the least recently used of its set. *fresh tells
 * which. NULL only where there is no memory. */
lac_site_t *lac_site_find(lac_sites_t *sites, const lac_site_key_t *key, bool *fresh);

/* The site of a key where it is known already; NULL otherwise. */
lac_site_t *lac_site_known(lac_sites_t *sites, const lac_site_key_t *key);

/* The site of a number; NULL where it is gone. Looks at every place. */
lac_site_t *lac_site_numbered(lac_sites_t *sites, uint64_t born);

/* Doubles the wait of a site whose look was in vain, within [least, most]. */
void lac_site_back_off(lac_site_t *site, unsigned least, unsigned most);

/* Forgets all sites; numbers go on. */
void lac_sites_free(lac_sites_t *sites);

#endif

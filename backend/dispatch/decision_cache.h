/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The last choice of a site with everything that it followed from: the same facts lead to the same choice,
 * and need not be weighed again. */
#ifndef LACUNA_DISPATCH_DECISION_CACHE_H
#define LACUNA_DISPATCH_DECISION_CACHE_H

#include "select.h"

/* What selection looks at beyond the site's key. Compared whole, so every byte is set. */
typedef struct lac_decision_key {
    double density[2], k_active[2];
    unsigned formats[2];
    unsigned frozen, buffers, known; /* a bit, or four, for each operand */
    unsigned aligned;                /* c's address, as far as vector loads care */
    lac_inc_t crs, ccs;
    const char *wanted;
    const lac_route_t *incumbent;
    bool scalars_there; /* on the device */
    unsigned learned;   /* of the site's measured times */
} lac_decision_key_t;

typedef struct lac_decision_cache {
    lac_decision_key_t facts;
    lac_choice_t choice; /* route == NULL: nothing yet */
} lac_decision_cache_t;

/* The facts of a problem whose densities are filled in as far as they are known. */
void lac_decision_key(lac_decision_key_t *facts, const lac_problem_t *p, const char *wanted,
                      const lac_route_t *incumbent, unsigned learned);

/* The remembered choice where it followed from the same facts; NULL otherwise. */
const lac_choice_t *lac_decision_cache_find(const lac_decision_cache_t *cache,
                                            const lac_decision_key_t *facts);

#endif

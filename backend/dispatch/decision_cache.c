/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Gathers and compares what a choice followed from. */
#include "decision_cache.h"

#include <string.h>

void lac_decision_key(lac_decision_key_t *facts, const lac_problem_t *p, const char *wanted,
                      const lac_route_t *incumbent, unsigned learned)
{
    const lac_operand_t *x[2] = {&p->a, &p->b};
    memset(facts, 0, sizeof *facts); /* padding too */
    for (int i = 0; i < 2; i++) {
        facts->density[i] = x[i]->density;
        facts->k_active[i] = x[i]->k_active;
        facts->formats[i] = x[i]->formats;
        facts->frozen |= (unsigned)x[i]->frozen << i;
        facts->buffers |= (unsigned)(x[i]->buf != NULL) << i | (unsigned)((uintptr_t)x[i]->buf % 16)
                                                                   << (4 + 4 * i);
        facts->known |= (unsigned)x[i]->known << 4 * i | (unsigned)x[i]->transposed << (8 + i);
    }
    facts->aligned = (unsigned)((uintptr_t)p->c % 16);
    facts->crs = p->crs;
    facts->ccs = p->ccs;
    facts->wanted = wanted;
    facts->incumbent = incumbent;
    facts->scalars_there = p->alpha_at != NULL;
    facts->learned = learned;
}

const lac_choice_t *lac_decision_cache_find(const lac_decision_cache_t *cache,
                                            const lac_decision_key_t *facts)
{
    return cache->choice.route && !memcmp(&cache->facts, facts, sizeof *facts) ? &cache->choice : NULL;
}

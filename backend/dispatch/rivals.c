/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A small table of sites, and the choice at each: first theirs is clocked, then ours, then the faster serves.
 */
#include "rivals.h"
#include "../base/memory.h"

#include <stdio.h>
#include <string.h>

#define SITES       64
#define WAYS        4   /* places that a key may have                                  */
#define RUNS_KNOWN  3   /* the first warms up                                          */
#define HOPELESS    2.0 /* so many times slower in the first run that counts: no more  */
#define CLOCK_EVERY 1024
#define AGAIN_FIRST 256  /* calls after which the loser is measured again ...           */
#define AGAIN_TIMES 8    /* ... and then each time that they have grown so many times,  */
#define AGAIN_SHARE 0.01 /* where that takes no more of the time spent                  */

struct lac_rivals {
    uint64_t clock, last_number;
    lac_rivals_site_t site[SITES];
};

static uint64_t hash(const lac_rivals_key_t *key)
{
    uint64_t h = (uint64_t)key->m ^ (uint64_t)key->n << 16 ^ (uint64_t)key->k << 32 ^ (uint64_t)key->nnz << 8;
    h = (h ^ (uint64_t)(uintptr_t)key->caller ^ (uint64_t)key->csb << 20) * UINT64_C(0x9E3779B97F4A7C15);
    return h >> 40;
}

lac_rivals_site_t *lac_rivals_find(lac_rivals_t **rivals, const lac_rivals_key_t *key, const char *symbol)
{
    if (!*rivals) {
        *rivals = lac_alloc(sizeof **rivals);
        if (!*rivals) return NULL;
        memset(*rivals, 0, sizeof **rivals);
    }
    lac_rivals_t *all = *rivals;
    lac_rivals_site_t *set = &all->site[hash(key) % (SITES / WAYS) * WAYS], *oldest = set;
    for (int i = 0; i < WAYS; i++) {
        lac_rivals_site_t *site = &set[i];
        if (site->used && !memcmp(&site->key, key, sizeof *key)) {
            site->used = ++all->clock;
            return site;
        }
        if (site->used < oldest->used) oldest = site;
    }
    *oldest = (lac_rivals_site_t){.key = *key, .used = ++all->clock, .number = ++all->last_number};
    oldest->again_at = AGAIN_FIRST;
    snprintf(oldest->symbol, sizeof oldest->symbol, "%s", symbol);
    return oldest;
}

static bool is_hopeless(const lac_rivals_site_t *site)
{
    return site->runs[LAC_RIVAL_OURS] > 1 && site->us[LAC_RIVAL_OURS] > HOPELESS * site->us[LAC_RIVAL_THEIRS];
}

static lac_rival_t faster(const lac_rivals_site_t *site, double bias)
{
    bool ours = site->runs[LAC_RIVAL_OURS] > 1 &&
                site->us[LAC_RIVAL_OURS] * (1.0 + bias) < site->us[LAC_RIVAL_THEIRS];
    return ours ? LAC_RIVAL_OURS : LAC_RIVAL_THEIRS;
}

/* The one that still has to be measured; what is under way is waited for without clocking more. */
static bool is_unknown(const lac_rivals_site_t *site, lac_rival_t who, bool *clocked)
{
    if (site->runs[who] >= RUNS_KNOWN) return false;
    *clocked = site->asked[who] < RUNS_KNOWN;
    return true;
}

lac_rival_t lac_rivals_choose(lac_rivals_site_t *site, double bias, bool *clocked)
{
    *clocked = false;
    site->calls++;
    lac_rival_t best = faster(site, bias), other = best ? LAC_RIVAL_THEIRS : LAC_RIVAL_OURS;
    if (site->calls % CLOCK_EVERY == 0) /* a time that never came back is asked for again */
        for (int who = 0; who < 2; who++) site->asked[who] = site->runs[who];
    if (site->calls >= site->again_at) {
        bool cheap = site->us[other] < AGAIN_SHARE * (double)site->calls * site->us[best];
        site->again_at *= AGAIN_TIMES;
        if (site->runs[other] > 1 && cheap) site->runs[other] = site->asked[other] = 1;
    }
    if (is_unknown(site, LAC_RIVAL_THEIRS, clocked)) return LAC_RIVAL_THEIRS;
    if (!is_hopeless(site) && is_unknown(site, LAC_RIVAL_OURS, clocked))
        return *clocked ? LAC_RIVAL_OURS : best;
    *clocked = site->calls % CLOCK_EVERY == 0;
    return best;
}

void lac_rivals_asked(lac_rivals_site_t *site, lac_rival_t who)
{
    site->asked[who]++;
}

lac_timing_tag_t lac_rivals_mark(const lac_rivals_site_t *site, lac_rival_t who)
{
    return (lac_timing_tag_t){site->number, LAC_RIVALS_ROW + (int)who, 0.0};
}

/* Noise only ever adds: the least of the first ones; later, what is faster counts sooner. */
static double blended(double before, double us, int runs)
{
    if (runs <= 2) return us;
    if (runs <= RUNS_KNOWN) return us < before ? us : before;
    if (us < before) return before + 0.3 * (us - before);
    return before + 0.05 * ((us < 2.0 * before ? us : 2.0 * before) - before);
}

void lac_rivals_learn(lac_rivals_t *rivals, const lac_timing_tag_t *mark, double us)
{
    int who = mark->row - LAC_RIVALS_ROW;
    for (int i = 0; rivals && i < SITES; i++) {
        lac_rivals_site_t *site = &rivals->site[i];
        if (site->number != mark->site || !site->used) continue;
        int runs = ++site->runs[who];
        if (runs > 1) site->us[who] = blended(site->us[who], us, runs);
        if (site->asked[who] < runs) site->asked[who] = runs;
    }
}

void lac_rivals_visit(const lac_rivals_t *rivals, void (*visit)(const lac_rivals_site_t *site))
{
    for (int i = 0; rivals && i < SITES; i++)
        if (rivals->site[i].used) visit(&rivals->site[i]);
}

void lac_rivals_free(lac_rivals_t *rivals)
{
    lac_free(rivals);
}

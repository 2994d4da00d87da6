/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A small table of sites, and the choice at each: first theirs is clocked, then ours, then the faster serves.
 */
#include "spmm_autotune.h"
#include "timing.h"
#include "base/memory.h"

#include <math.h>
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

struct lac_spmm_autotune {
    uint64_t clock, last_number;
    lac_spmm_autotune_site_t site[SITES];
};

static uint64_t hash(const lac_spmm_autotune_key_t *key)
{
    uint64_t h = (uint64_t)key->m ^ (uint64_t)key->n << 16 ^ (uint64_t)key->k << 32 ^ (uint64_t)key->nnz << 8;
    h = (h ^ (uint64_t)(uintptr_t)key->caller ^ (uint64_t)key->csb << 20) * UINT64_C(0x9E3779B97F4A7C15);
    return h >> 40;
}

lac_spmm_autotune_site_t *lac_spmm_autotune_find(lac_spmm_autotune_t **autotune,
                                                 const lac_spmm_autotune_key_t *key, const char *symbol)
{
    if (!*autotune) {
        *autotune = lac_alloc(sizeof **autotune);
        if (!*autotune) return NULL;
        memset(*autotune, 0, sizeof **autotune);
    }
    lac_spmm_autotune_t *all = *autotune;
    lac_spmm_autotune_site_t *set = &all->site[hash(key) % (SITES / WAYS) * WAYS], *oldest = set;
    for (int i = 0; i < WAYS; i++) {
        lac_spmm_autotune_site_t *site = &set[i];
        if (site->used && !memcmp(&site->key, key, sizeof *key)) {
            site->used = ++all->clock;
            return site;
        }
        if (site->used < oldest->used) oldest = site;
    }
    *oldest = (lac_spmm_autotune_site_t){.key = *key, .used = ++all->clock, .number = ++all->last_number};
    oldest->again_at = AGAIN_FIRST;
    snprintf(oldest->symbol, sizeof oldest->symbol, "%s", symbol);
    return oldest;
}

static bool is_hopeless(const lac_spmm_autotune_site_t *site)
{
    return site->runs[LAC_SPMM_OURS] > 1 && site->us[LAC_SPMM_OURS] > HOPELESS * site->us[LAC_SPMM_VENDOR];
}

static lac_spmm_server_t faster(const lac_spmm_autotune_site_t *site, double bias)
{
    bool ours =
        site->runs[LAC_SPMM_OURS] > 1 && site->us[LAC_SPMM_OURS] * (1.0 + bias) < site->us[LAC_SPMM_VENDOR];
    return ours ? LAC_SPMM_OURS : LAC_SPMM_VENDOR;
}

/* What a site is about. A time that was asked for arrives with a later call. */
typedef enum state {
    MEASURES_VENDOR, /* theirs serves, and is timed                                         */
    MEASURES_OURS,   /* ours is timed; while its times are under way the faster one serves */
    DECIDED          /* the faster one serves                                               */
} state_t;

static state_t state_of(const lac_spmm_autotune_site_t *site)
{
    if (site->runs[LAC_SPMM_VENDOR] < RUNS_KNOWN) return MEASURES_VENDOR;
    if (site->runs[LAC_SPMM_OURS] < RUNS_KNOWN && !is_hopeless(site)) return MEASURES_OURS;
    return DECIDED;
}

/* The loser may have been measured in a bad moment of the machine. */
static void measure_again(lac_spmm_autotune_site_t *site, lac_spmm_server_t loser, lac_spmm_server_t best)
{
    bool cheap = site->us[loser] < AGAIN_SHARE * (double)site->calls * site->us[best];
    site->again_at *= AGAIN_TIMES;
    if (site->runs[loser] > 1 && cheap) site->runs[loser] = site->asked[loser] = 1;
}

lac_spmm_server_t lac_spmm_autotune_choose(lac_spmm_autotune_site_t *site, double bias, bool *clocked)
{
    site->calls++;
    bool due = site->calls % CLOCK_EVERY == 0;
    lac_spmm_server_t best = faster(site, bias);
    for (int who = 0; due && who < 2; who++) /* a time that never came back is asked for again */
        site->asked[who] = site->runs[who];
    if (site->calls >= site->again_at)
        measure_again(site, best == LAC_SPMM_OURS ? LAC_SPMM_VENDOR : LAC_SPMM_OURS, best);
    switch (state_of(site)) {
    case MEASURES_VENDOR:
        *clocked = site->asked[LAC_SPMM_VENDOR] < RUNS_KNOWN;
        return LAC_SPMM_VENDOR;
    case MEASURES_OURS:
        *clocked = site->asked[LAC_SPMM_OURS] < RUNS_KNOWN;
        return *clocked ? LAC_SPMM_OURS : best;
    case DECIDED:
        break;
    }
    *clocked = due;
    return best;
}

void lac_spmm_autotune_asked(lac_spmm_autotune_site_t *site, lac_spmm_server_t who)
{
    site->asked[who]++;
}

lac_timing_tag_t lac_spmm_autotune_tag(const lac_spmm_autotune_site_t *site, lac_spmm_server_t who)
{
    return (lac_timing_tag_t){site->number, LAC_SPMM_AUTOTUNE_ROW + (int)who, 0.0, false};
}

/* The least of the first ones, of which the very first warmed up. */
static double blended(double before, double us, int runs)
{
    if (runs <= 2) return us;
    return runs <= RUNS_KNOWN ? fmin(us, before) : lac_timing_follow(before, us);
}

void lac_spmm_autotune_learn(lac_spmm_autotune_t *autotune, const lac_timing_tag_t *mark, double us)
{
    int who = mark->row - LAC_SPMM_AUTOTUNE_ROW;
    for (int i = 0; autotune && i < SITES; i++) {
        lac_spmm_autotune_site_t *site = &autotune->site[i];
        if (site->number != mark->site || !site->used) continue;
        int runs = ++site->runs[who];
        if (runs > 1) site->us[who] = blended(site->us[who], us, runs);
        if (site->asked[who] < runs) site->asked[who] = runs;
    }
}

void lac_spmm_autotune_visit(const lac_spmm_autotune_t *autotune,
                             void (*visit)(const lac_spmm_autotune_site_t *site))
{
    for (int i = 0; autotune && i < SITES; i++)
        if (autotune->site[i].used) visit(&autotune->site[i]);
}

void lac_spmm_autotune_free(lac_spmm_autotune_t *autotune)
{
    lac_free(autotune);
}

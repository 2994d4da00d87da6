/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A small set-associative table: bounded in memory, no lock, one cache line to find a hot site. */
#include "site.h"
#include "../base/memory.h"

#include <string.h>

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 32;
}

static uint64_t hash(const lac_site_key_t *key)
{
    uint64_t h = mix((uint64_t)key->m, (uint64_t)key->n << 20 ^ (uint64_t)key->k << 40 ^ (uint64_t)key->k);
    h = mix(h, (uint64_t)key->ars ^ (uint64_t)key->acs << 24 ^ (uint64_t)key->brs << 12 ^
                   (uint64_t)key->bcs << 36);
    return mix(h, (uint64_t)(uintptr_t)key->caller ^ key->types << 56);
}

static bool same(const lac_site_key_t *x, const lac_site_key_t *y)
{
    return !memcmp(x, y, sizeof *x);
}

/* The first place of the key's set. */
static lac_site_t *set_of(const lac_sites_t *sites, const lac_site_key_t *key)
{
    return &sites->place[hash(key) % (LAC_SITES / LAC_SITE_WAYS) * LAC_SITE_WAYS];
}

lac_site_t *lac_site_known(lac_sites_t *sites, const lac_site_key_t *key)
{
    if (!sites->place) return NULL;
    lac_site_t *set = set_of(sites, key);
    for (int way = 0; way < LAC_SITE_WAYS; way++)
        if (set[way].stamp && same(&set[way].key, key)) {
            set[way].stamp = ++sites->clock;
            return &set[way];
        }
    return NULL;
}

lac_site_t *lac_site_find(lac_sites_t *sites, const lac_site_key_t *key, bool *fresh)
{
    if (!sites->place) {
        sites->place = lac_alloc(LAC_SITES * sizeof *sites->place);
        if (!sites->place) return NULL;
        memset(sites->place, 0, LAC_SITES * sizeof *sites->place);
    }
    lac_site_t *known = lac_site_known(sites, key);
    *fresh = !known;
    if (known) return known;
    lac_site_t *set = set_of(sites, key), *oldest = set;
    for (int way = 1; way < LAC_SITE_WAYS; way++)
        if (set[way].stamp < oldest->stamp) oldest = &set[way];
    sites->evicted += oldest->stamp != 0;
    *oldest = (lac_site_t){.key = *key, .stamp = ++sites->clock};
    oldest->born = oldest->stamp;
    oldest->left = oldest->right = (lac_seen_t){-1.0, -1.0, -1.0, 0.0, 0.0, false};
    return oldest;
}

lac_site_t *lac_site_numbered(lac_sites_t *sites, uint64_t born)
{
    for (int i = 0; sites->place && i < LAC_SITES; i++)
        if (sites->place[i].stamp && sites->place[i].born == born) return &sites->place[i];
    return NULL;
}

void lac_site_back_off(lac_site_t *site, unsigned least, unsigned most)
{
    unsigned next = site->wait ? site->wait * 2 : least;
    site->wait = next < least ? least : next > most ? most : next;
    site->countdown = site->wait;
}

void lac_sites_free(lac_sites_t *sites)
{
    lac_free(sites->place);
    *sites = (lac_sites_t){.clock = sites->clock};
}

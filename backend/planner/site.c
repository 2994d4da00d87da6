/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * An open-addressing hash table over sites that never move: bounded in memory, no lock, and a new site costs
 * about what a known one does, however many there are. A site's states, and its last decision. */
#include "site.h"
#include "base/memory.h"

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

#define SLOT_BITS 16 /* of an id */
#define INDEX_MIN 64

_Static_assert(LAC_SITES_MAX <= 1 << SLOT_BITS, "an id holds a slot");
_Static_assert(LAC_SITES_MAX % LAC_SITES_CHUNK == 0, "sites fill whole chunks");

lac_site_t *lac_site_at(const lac_sites_t *sites, uint32_t i)
{
    return &sites->chunk[i / LAC_SITES_CHUNK][i % LAC_SITES_CHUNK];
}

/* Where the key's entry is in the index, or where it would be put. */
static uint32_t entry_of(const lac_sites_t *sites, const lac_site_key_t *key, uint32_t h)
{
    uint32_t mask = sites->index_size - 1, at = h & mask;
    while (sites->index[at].slot) {
        if (sites->index[at].hash == h && same(&lac_site_at(sites, sites->index[at].slot - 1)->key, key))
            break;
        at = (at + 1) & mask;
    }
    return at;
}

/* Its slot + 1; 0 where there is none. */
static uint32_t find(const lac_sites_t *sites, const lac_site_key_t *key, uint32_t h)
{
    return sites->index_size ? sites->index[entry_of(sites, key, h)].slot : 0;
}

const lac_site_t *lac_site_peek(const lac_sites_t *sites, const lac_site_key_t *key)
{
    uint32_t slot = find(sites, key, (uint32_t)hash(key));
    return slot ? lac_site_at(sites, slot - 1) : NULL;
}

static lac_site_t *known(lac_sites_t *sites, const lac_site_key_t *key, uint32_t h)
{
    uint32_t slot = find(sites, key, h);
    if (!slot) return NULL;
    sites->used[slot - 1] = true;
    return lac_site_at(sites, slot - 1);
}

lac_site_t *lac_site_known(lac_sites_t *sites, const lac_site_key_t *key)
{
    return known(sites, key, (uint32_t)hash(key));
}

/* An index at most half full after one more site. False without memory. */
static bool grow_index(lac_sites_t *sites)
{
    uint32_t size = sites->index_size;
    if (2 * (sites->count + 1) <= size) return true;
    uint32_t grown = size ? 2 * size : INDEX_MIN;
    struct lac_site_index *index = lac_alloc(grown * sizeof *index);
    if (!index) return false;
    memset(index, 0, grown * sizeof *index);
    for (uint32_t i = 0; i < size; i++) {
        if (!sites->index[i].slot) continue;
        uint32_t at = sites->index[i].hash & (grown - 1);
        while (index[at].slot) at = (at + 1) & (grown - 1);
        index[at] = sites->index[i];
    }
    lac_free(sites->index);
    sites->index = index;
    sites->index_size = grown;
    return true;
}

/* Closes the gap that an entry leaves, so that no search ends too early. */
static void remove_entry(lac_sites_t *sites, uint32_t at)
{
    uint32_t mask = sites->index_size - 1, next = at;
    for (;;) {
        next = (next + 1) & mask;
        if (!sites->index[next].slot) break;
        uint32_t home = sites->index[next].hash & mask;
        if (((next - home) & mask) < ((next - at) & mask)) continue;
        sites->index[at] = sites->index[next];
        at = next;
    }
    sites->index[at].slot = 0;
}

/* A slot whose site no call knew since the hand came by last, emptied. */
static uint32_t evict(lac_sites_t *sites)
{
    while (sites->used[sites->hand]) {
        sites->used[sites->hand] = false;
        sites->hand = (sites->hand + 1) % sites->count;
    }
    uint32_t slot = sites->hand;
    lac_site_t *site = lac_site_at(sites, slot);
    sites->hand = (slot + 1) % sites->count;
    if (sites->on_evict) sites->on_evict(sites->evict_arg, site);
    remove_entry(sites, entry_of(sites, &site->key, (uint32_t)hash(&site->key)));
    sites->evicted++;
    return slot;
}

/* A slot for one more site; LAC_SITES_MAX where there is no memory. */
static uint32_t free_slot(lac_sites_t *sites)
{
    if (sites->count == LAC_SITES_MAX) return evict(sites);
    lac_site_t **chunk = &sites->chunk[sites->count / LAC_SITES_CHUNK];
    if (!*chunk) *chunk = lac_alloc(LAC_SITES_CHUNK * sizeof **chunk);
    if (!*chunk || !grow_index(sites)) return sites->count ? evict(sites) : LAC_SITES_MAX;
    return sites->count++;
}

lac_site_t *lac_site_find(lac_sites_t *sites, const lac_site_key_t *key, bool *fresh)
{
    uint32_t h = (uint32_t)hash(key);
    lac_site_t *site = known(sites, key, h);
    *fresh = !site;
    if (site) return site;
    uint32_t slot = free_slot(sites);
    if (slot == LAC_SITES_MAX) return NULL;
    sites->index[entry_of(sites, key, h)] = (struct lac_site_index){h, slot + 1};
    site = lac_site_at(sites, slot);
    *site = (lac_site_t){.key = *key, .id = ++sites->id << SLOT_BITS | slot};
    site->left = site->right =
        (lac_seen_t){.density = -1.0, .k_active = -1.0, .blocks_active = -1.0, .sampled = -1.0};
    return site;
}

lac_site_t *lac_site_numbered(lac_sites_t *sites, uint64_t id)
{
    uint32_t slot = (uint32_t)(id & ((1u << SLOT_BITS) - 1));
    if (slot >= sites->count || lac_site_at(sites, slot)->id != id) return NULL;
    return lac_site_at(sites, slot);
}

size_t lac_sites_bytes(const lac_sites_t *sites)
{
    uint32_t chunks = (sites->count + LAC_SITES_CHUNK - 1) / LAC_SITES_CHUNK;
    return chunks * LAC_SITES_CHUNK * sizeof(lac_site_t) + sites->index_size * sizeof *sites->index;
}

void lac_sites_free(lac_sites_t *sites)
{
    for (uint32_t i = 0; i < LAC_SITES_MAX / LAC_SITES_CHUNK; i++) lac_free(sites->chunk[i]);
    lac_free(sites->index);
    *sites = (lac_sites_t){.id = sites->id, .on_evict = sites->on_evict, .evict_arg = sites->evict_arg};
}

/* The states of a site. */

/* Sparse and dense data in turns: after so many turns every call is probed, until so many calls in a row were
 * alike. A site that promises and never delivers is left alone after as many. */
#define TURNS_MIXED 2
#define CALLS_ALIKE 64

/* PROBED where every call can be, as long as calls differ. */
static lac_site_state_t probed_or(lac_site_state_t otherwise, const lac_site_t *site, bool cheap)
{
    if (!cheap || site->steady >= CALLS_ALIKE) return otherwise;
    return LAC_SITE_PROBED;
}

static lac_site_state_t state_after(lac_site_t *site, lac_site_event_t event, bool cheap)
{
    bool mixed = site->turns >= TURNS_MIXED;
    site->steady++;
    switch (event) {
    case LAC_SITE_COMPARED:
    case LAC_SITE_LOST:
        site->steady = site->turns = 0;
        return LAC_SITE_DENSE;
    case LAC_SITE_PROMISES:
        if (site->state != LAC_SITE_PROBED) site->steady = 0;
        return probed_or(LAC_SITE_DENSE, site, cheap);
    case LAC_SITE_SERVED:
        if (site->steady >= CALLS_ALIKE) site->turns = 0;
        return mixed ? probed_or(LAC_SITE_SPARSE, site, cheap) : LAC_SITE_SPARSE;
    case LAC_SITE_GAVE_UP:
    case LAC_SITE_NOT_PAYING:
        if (site->served) site->turns += !mixed, site->steady = 0;
        return site->turns >= TURNS_MIXED ? probed_or(LAC_SITE_DENSE, site, cheap) : LAC_SITE_DENSE;
    }
    return LAC_SITE_DENSE;
}

static void wait_calls(lac_site_t *site, unsigned calls)
{
    site->wait = site->countdown = calls < LAC_SITE_WAIT_MAX ? calls : LAC_SITE_WAIT_MAX;
    site->granted = 0; /* what is left of them is not waited for any more */
}

/* Each probe in vain doubles the wait for the next. */
static void back_off(lac_site_t *site, unsigned least)
{
    wait_calls(site, 2 * site->wait > least ? 2 * site->wait : least);
}

lac_site_state_t lac_site_next(lac_site_t *site, lac_site_event_t event, bool cheap, unsigned min_wait)
{
    site->state = state_after(site, event, cheap);
    site->served = event == LAC_SITE_SERVED;
    if (!site->served)
        site->sparse_from = 0;
    else if (!site->sparse_from)
        site->sparse_from = site->calls;
    site->stepped = true;
    if (site->state == LAC_SITE_PROBED) {
        if (event != LAC_SITE_PROMISES || !site->wait) site->wait = 1; /* what a back-off doubles later */
        site->countdown = site->granted = 0;
    } else if (site->state == LAC_SITE_SPARSE || event == LAC_SITE_COMPARED || event == LAC_SITE_LOST) {
        wait_calls(site, 0); /* a dense site: the next call probes */
    } else if (event == LAC_SITE_PROMISES && !cheap) {
        wait_calls(site, min_wait); /* until more is known */
    } else {
        back_off(site, event == LAC_SITE_GAVE_UP ? 1 : min_wait);
    }
    return site->state;
}

/* Gathers and compares what a choice followed from. */

void lac_decision_key(lac_decision_key_t *facts, const lac_problem_t *p, const char *wanted,
                      const lac_route_t *incumbent, unsigned learned)
{
    const lac_operand_t *x[2] = {&p->a, &p->b};
    memset(facts, 0, sizeof *facts); /* padding too */
    for (int i = 0; i < 2; i++) {
        facts->density[i] = x[i]->density;
        facts->k_active[i] = x[i]->k_active;
        facts->blocks_active[i] = x[i]->blocks_active;
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
    facts->adds = p->beta != 0.0;
    facts->learned = learned;
}

const lac_choice_t *lac_decision_cache_find(const lac_decision_cache_t *cache,
                                            const lac_decision_key_t *facts)
{
    return cache->choice.route && !memcmp(&cache->facts, facts, sizeof *facts) ? &cache->choice : NULL;
}

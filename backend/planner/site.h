/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sites: what was learned of the calls of one shape from one place, and the last choice there. */
#ifndef LACUNA_PLANNER_SITE_H
#define LACUNA_PLANNER_SITE_H

#include "select.h"
#include "route/route.h"

/* What selection looks at beyond the site's key. Compared whole, so every byte is set. */
typedef struct lac_decision_key {
    double density[2], k_active[2], blocks_active[2];
    unsigned formats[2];
    unsigned frozen, buffers, known; /* a bit, or four, for each operand */
    unsigned aligned;                /* c's address, as far as vector loads care */
    lac_inc_t crs, ccs;
    const char *wanted;
    const lac_route_t *incumbent;
    bool scalars_there; /* on the device */
    bool adds;          /* beta is not 0 */
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
#define LAC_SITE_EPILOGUE (UINT64_C(1) << 63) /* bias or activation follows */
#define LAC_SITE_F64      (UINT64_C(1) << 62) /* a product of doubles */
#define LAC_SITE_SKIP_A   (UINT64_C(1) << 61) /* whose zeros are never multiplied */
#define LAC_SITE_SKIP_B   (UINT64_C(1) << 60)
#define LAC_SITE_F16      (UINT64_C(1) << 59) /* of f16, of bf16 */
#define LAC_SITE_BF16     (UINT64_C(1) << 58)
#define LAC_SITE_WIDENS   (UINT64_C(1) << 57) /* of these beside f32 */

/* Which triangles its matrices have: LAC_TRIANGLES, 6 bits. */
#define LAC_SITE_TRIANGLES(of) ((uint64_t)(of) << 51)

/* What the types of a product's operands add. */
static inline uint64_t lac_site_type(lac_dt_t a, lac_dt_t b, lac_dt_t c)
{
    uint64_t widens = a == LAC_F32 || b == LAC_F32 ? LAC_SITE_WIDENS : 0;
    if (a == LAC_F16 || b == LAC_F16) return LAC_SITE_F16 | widens;
    if (a == LAC_BF16 || b == LAC_BF16) return LAC_SITE_BF16 | widens;
    return c == LAC_F64 ? LAC_SITE_F64 : 0;
}

/* One of so many products that the caller's dense call makes at once. */
#define LAC_SITE_BATCH(count) (UINT64_C(128) | (uint64_t)(count) << 8)

/* That number; 0: no batch. */
static inline uint64_t lac_site_batch_count(const lac_site_key_t *key)
{
    return key->types & 128 ? (key->types & (LAC_SITE_TRIANGLES(1) - 1)) >> 8 : 0;
}

/* What was seen of one operand of a site. */
typedef struct lac_seen {
    double density, k_active, blocks_active; /* last counted or sampled; negative: never */
    double sampled;         /* by the last look, whatever came of it, or what a scan that gave up saw at
                             * least; negative: none */
    double break_even;      /* below this density some sparse route wins; 0: at none */
    double probe_threshold; /* below this one it might, were the model wrong by its usual error; 0: it need
                             * not be looked at */
    bool pending;           /* a device was asked and has not answered                                  */
    bool assumed;           /* a route was forced to skip zeros of which nothing is known: to be sampled */
} lac_seen_t;

/* What is known of a site, and so what its next call does. lac_site_next is the one table of transitions. */
typedef enum lac_site_state {
    LAC_SITE_NEW,    /* its costs were not compared yet: that would take longer than its calls     */
    LAC_SITE_DENSE,  /* the dense route serves; the operands are probed when `countdown` has run out */
    LAC_SITE_PROBED, /* every call is probed: its data alternate, or a sparse route may pay and is not
                      * certain to                                                                 */
    LAC_SITE_SPARSE  /* a sparse route serves, and counts the density as it runs                   */
} lac_site_state_t;

/* What a call, or its preparation, found. */
typedef enum lac_site_event {
    LAC_SITE_COMPARED,   /* the costs of its routes were compared for the first time                */
    LAC_SITE_PROMISES,   /* a probe: a sparse route may pay, and is not certain to; the dense one served */
    LAC_SITE_NOT_PAYING, /* a probe: too dense for any sparse route                                 */
    LAC_SITE_SERVED,     /* a sparse route served                                                   */
    LAC_SITE_GAVE_UP,    /* a sparse route counted more than it was chosen for, and the dense one served */
    LAC_SITE_LOST        /* what served was seen to be slower than the dense route                  */
} lac_site_event_t;

/* What a call that is passed on reads and writes of a dense site lies in its first two cache lines, as far as
 * nothing is measured. */
typedef struct lac_site {
    _Alignas(64) lac_site_key_t key;
    uint64_t calls, declined_calls;
    uint64_t again_at;  /* calls at which routes that lost may be measured again                         */
    double spent_us;    /* time of all calls, as far as measured or predicted                            */
    double dense_us;    /* predicted for the route that skips nothing, with what was measured            */
    unsigned countdown; /* calls until the next look at a dense site                                     */
    lac_site_state_t state;
    int dense_row;    /* the place in the table of the route that skips nothing; -1: none              */
    unsigned wait;    /* calls between two looks at a dense site                                       */
    unsigned granted; /* calls that a caller may make without asking, and may have made: not counted yet */
    unsigned char runs[LAC_ROUTES_MAX]; /* per table row: how many were timed, up to a few               */
    lac_seen_t left, right;
    uint64_t id; /* its id: its slot in the low bits; never 0, and no two sites of a context share it */
    const lac_route_t *route;    /* that served last; NULL before the first                              */
    const lac_route_t *intended; /* in the call that is under way, trials aside                          */
    const lac_route_t *sparse_route; /* the last sparse one that served; NULL: none                      */
    uint64_t again_from;        /* calls from which again_at is counted: 0, or when what served long lost  */
    uint64_t sparse_from;       /* calls at which sparse routes began to serve; 0: none does               */
    unsigned turns, steady;     /* how often sparse data turned dense; calls since the last such turn      */
    bool served;                /* the last event was LAC_SITE_SERVED                                       */
    bool stepped;               /* the call that is under way has had its event                             */
    bool pays;                  /* what the last look said; false before the first                         */
    bool probed;                /* in the call that is under way                                            */
    unsigned dense_epoch;       /* of the context, when dense_us was found                                 */
    unsigned learned;           /* counts the changes of the factors                                        */
    double tried_us;            /* time of trials                                                          */
    double lost_us;             /* by the first runs of routes, beyond what the dense one would have taken */
    lac_problem_t shape;        /* the first call's, for finding break-even again; without its metadata     */
    lac_decision_cache_t cache; /* of the call before                                                       */
    /* Per table row: measured over predicted time (0: not known), the factor that the break-even densities
     * rest on, the least one of the first runs while there are few. */
    float factor[LAC_ROUTES_MAX], break_even_factor[LAC_ROUTES_MAX], first[LAC_ROUTES_MAX];
    /* For the statistics at exit. */
    char symbol[24]; /* a copy: the caller's text need not live so long */
    uint64_t sparse_calls, probes;
    double sparse_us_predicted;
    double sparse_us_measured; /* by the host's clock */
} lac_site_t;

#define LAC_SITES_MAX   4096 /* bounded: some 3 MB a context, a page of it for each chunk that is needed */
#define LAC_SITES_CHUNK 32   /* sites that are allocated at once; a site never moves */

/* Sites by number of slot, and a hash table of them: it doubles as sites are added, up to LAC_SITES_MAX. */
typedef struct lac_sites {
    lac_site_t *chunk[LAC_SITES_MAX / LAC_SITES_CHUNK];
    struct lac_site_index {
        uint32_t hash, slot; /* slot + 1; 0: empty */
    } * index;
    uint32_t index_size, count; /* a power of 2, or 0; slots in use */
    uint32_t hand;              /* where the next search for a site to evict begins */
    uint64_t id, evicted;       /* sites, ever */
    bool used[LAC_SITES_MAX];   /* by slot: known to a call since the hand passed it */
    void (*on_evict)(void *arg, const lac_site_t *site); /* sees a site before it goes; NULL: nobody does */
    void *evict_arg;
} lac_sites_t;

/* The site of a key: found, or a new one; of LAC_SITES_MAX sites, one that was not used lately makes room.
 * *fresh tells which. NULL only where there is no memory. */
lac_site_t *lac_site_find(lac_sites_t *sites, const lac_site_key_t *key, bool *fresh);

/* The site of a key where it is known already; NULL otherwise. */
lac_site_t *lac_site_known(lac_sites_t *sites, const lac_site_key_t *key);

/* The same without a trace: the site does not count as used. */
const lac_site_t *lac_site_peek(const lac_sites_t *sites, const lac_site_key_t *key);

/* The site of an id (lac_site_t.born); NULL where it was evicted. */
lac_site_t *lac_site_numbered(lac_sites_t *sites, uint64_t id);

/* Site i of sites->count, in no particular order. */
lac_site_t *lac_site_at(const lac_sites_t *sites, uint32_t i);

/* Bytes that the table holds. */
size_t lac_sites_bytes(const lac_sites_t *sites);

#define LAC_SITE_WAIT_MAX 1024u /* calls between two probes of a dense site, at most */

/* The one table of transitions: the state that an event leads to, and with it the calls until the next probe.
 * `cheap`: a probe costs little beside a call; `min_wait`: calls between two probes at which probing costs no
 * more than its share. */
lac_site_state_t lac_site_next(lac_site_t *site, lac_site_event_t event, bool cheap, unsigned min_wait);

/* Forgets all sites; ids go on. */
void lac_sites_free(lac_sites_t *sites);

#endif

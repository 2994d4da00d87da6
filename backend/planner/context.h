/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The inside of a context. */
#ifndef LACUNA_PLANNER_CONTEXT_H
#define LACUNA_PLANNER_CONTEXT_H

#include "policy.h"
#include "operand/metadata.h"
#include "site.h"
#include "route/backend.h"

#define LAC_CHECKED_CALLS 4 /* of which a context knows that their operands are in order */

typedef struct lac_checked {
    lac_obj_t a, b, c; /* c.buf NULL: none */
} lac_checked_t;

/* Dense products of one kind: what they took over what was predicted of them. */
typedef struct lac_dense_class {
    float factor, applied; /* 0: never measured; the value that dense times were last found with */
    unsigned runs;
} lac_dense_class_t;

/* Constants whose repeated measurements lay further apart, as a fraction, are no better than another
 * machine's. */
#define LAC_NOISE_MAX 0.25

#define LAC_DENSE_CLASSES 9 /* vector, short or large, by three ranges of time */

/* What the calls of all sites taught. */
typedef struct lac_learned {
    lac_dense_class_t dense[LAC_DENSE_CLASSES];
    unsigned dense_epoch;        /* counts the changes of `applied`                                  */
    double spent_us, charged_us; /* by all calls; by trials: what each might lose, then what it lost */
    double charge_us;            /* of the trial that is under way, 0: none; what would serve instead */
    double instead_us;
} lac_learned_t;

struct lac_ctx {
    const lac_backend_t *backend;
    lac_exec_t *exec;
    int device;                       /* its ordinal; -1 on the host */
    const lac_route_t *const *routes; /* the backend's, from the route table */
    int route_count;
    lac_machine_t machine;
    char machine_source[512]; /* where the constants come from: "defaults", or a file */
    const char *device_name;  /* whose constants are kept under it; NULL on the host  */
    char device_source[512];  /* where those come from                                */
    bool tuned;               /* the constants of the host were measured on this kind of machine */
    lac_policy_t policy;
    lac_sites_t sites;
    lac_learned_t learned; /* by all sites together */
    lac_site_t *forwarded; /* whose declined call is being timed, or NULL ... */
    int forwarded_row;     /* ... and the row of the vendor's product there   */
    double forwarded_at_us;
    lac_checked_t checked[LAC_CHECKED_CALLS];
    struct lac_spmm_autotune *autotune; /* sites of lac_try_spmm; NULL before the first        */
    lac_timing_tag_t contender;         /* of a declined call of theirs that is being clocked; 0: none */
    double (*now_us)(void);             /* the clock that calls are timed by                        */
    uint64_t calls;                     /* for LACUNA_COMPARE's every N-th */
    struct lac_ctx *next;               /* in the list for the statistics at exit */
};

/* Where the context's operands lie. */
static inline lac_location_t lac_location_of(const lac_ctx_t *ctx)
{
    return (lac_location_t){ctx->backend->space, ctx->device};
}

#endif

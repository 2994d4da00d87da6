/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Autotuning of SpMM: the vendor's call and ours are both timed at each site,
 * since no model predicts which is faster, and the faster one serves. */
#ifndef LACUNA_PLANNER_SPMM_AUTOTUNE_H
#define LACUNA_PLANNER_SPMM_AUTOTUNE_H

#include "route/backend.h"

typedef enum lac_spmm_server { LAC_SPMM_VENDOR, LAC_SPMM_OURS } lac_spmm_server_t;

/* What makes calls alike. Compared whole, so every byte is set. */
typedef struct lac_spmm_autotune_key {
    lac_dim_t m, n, k, nnz; /* nnz: rounded */
    lac_inc_t rsb, csb, rsc, csc;
    const void *caller;
    uint64_t alg;
} lac_spmm_autotune_key_t;

typedef struct lac_spmm_autotune_site {
    lac_spmm_autotune_key_t key;
    uint64_t number; /* never 0, and never another site's */
    uint64_t used;
    uint64_t calls, served[2];
    double us[2];          /* as measured; 0: never */
    int runs[2], asked[2]; /* measured; under way or measured */
    uint64_t again_at;
    char symbol[24];
} lac_spmm_autotune_site_t;

typedef struct lac_spmm_autotune lac_spmm_autotune_t;

#define LAC_SPMM_AUTOTUNE_ROW 1000 /* rows of timing tags from here on are its own */

/* The site of a call, found or begun; NULL without memory. *autotune is made on first use. */
lac_spmm_autotune_site_t *lac_spmm_autotune_find(lac_spmm_autotune_t **autotune,
                                                 const lac_spmm_autotune_key_t *key, const char *symbol);

/* Who serves the next call; *clocked: its time is wanted. Ours has to be cheaper by the fraction `bias`. */
lac_spmm_server_t lac_spmm_autotune_choose(lac_spmm_autotune_site_t *site, double bias, bool *clocked);

/* That a clocked run is under way, and what came of it. */
void lac_spmm_autotune_asked(lac_spmm_autotune_site_t *site, lac_spmm_server_t who);
lac_timing_tag_t lac_spmm_autotune_tag(const lac_spmm_autotune_site_t *site, lac_spmm_server_t who);
void lac_spmm_autotune_learn(lac_spmm_autotune_t *autotune, const lac_timing_tag_t *mark, double us);

/* Each site that there is, in no order. */
void lac_spmm_autotune_visit(const lac_spmm_autotune_t *autotune,
                             void (*visit)(const lac_spmm_autotune_site_t *site));

/* NULL is accepted. */
void lac_spmm_autotune_free(lac_spmm_autotune_t *autotune);

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Event lists: the nonzeros of S in k-major order, from a scan or from metadata. */
#ifndef LACUNA_HOST_ROUTES_EVENT_H
#define LACUNA_HOST_ROUTES_EVENT_H

#include "host/runtime/exec.h"

#define LAC_FRAGMENTS_MAX 64

/* Lists that cover ascending, disjoint ranges of k; they live in the workspace until the next call. */
typedef struct lac_event_list {
    int fragments;
    int64_t active, count; /* over all fragments */
    lac_events_t fragment[LAC_FRAGMENTS_MAX];
} lac_event_list_t;

/* Where the events of S would come from. */
typedef enum lac_event_source {
    LAC_EVENTS_NOWHERE,
    LAC_EVENTS_BY_K,    /* CSC of S                   */
    LAC_EVENTS_BY_ROWS, /* CSR of S                   */
    LAC_EVENTS_ACTIVE,  /* an active list             */
    LAC_EVENTS_BITS,    /* the bits of a single row   */
    LAC_EVENTS_LISTED,  /* the list of a single row   */
    LAC_EVENTS_SCAN     /* the dense buffer           */
} lac_event_source_t;

lac_event_source_t lac_event_source(const lac_sided_t *s);

/* Fills the list. A scan that finds more than `limit` events (negative: no limit) stops there and sets
 * *exceeded; the list is then empty. `threads` serve a scan. Values are of the kernels' type. */
lac_status_t lac_events_gather(lac_exec_t *exec, const lac_host_kernels_t *kernels, const lac_sided_t *s,
                               int threads, int64_t limit, lac_event_list_t *list, bool *exceeded);

#endif

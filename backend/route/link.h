/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A link: what a backend offers to connect ranks, and to exchange events between them. */
#ifndef LACUNA_ROUTE_LINK_H
#define LACUNA_ROUTE_LINK_H

#include "operand/problem.h"
#include "route.h"
#include "lacuna/comm.h"

typedef struct lac_link lac_link_t;               /* the backend's end of a communicator */
typedef struct lac_link_events lac_link_events_t; /* the room of one exchange            */

/* One of id, nccl and callbacks is set. */
typedef struct lac_link_request {
    int ranks, rank; /* set by open where a communicator is wrapped */
    const lac_comm_id_t *id;
    void *nccl;
    const lac_comm_callbacks_t *callbacks; /* they live as long as the link */
    double timeout_s;
    const char *engine; /* "auto", or the only one that will do */
} lac_link_request_t;

typedef struct lac_link_hooks {
    lac_status_t (*make_id)(lac_comm_id_t *id); /* NULL: nobody does */
    lac_status_t (*open)(lac_exec_t *exec, lac_link_request_t *request, lac_link_t **link);
    void (*close)(lac_link_t *link);
    const char *(*engine)(const lac_link_t *link);
    lac_status_t (*gather)(lac_link_t *link, const void *mine, void *all, size_t bytes); /* waits */
    lac_status_t (*wait)(lac_link_t *link);
    lac_status_t (*status)(lac_link_t *link);
    lac_status_t (*abort)(lac_link_t *link); /* on any thread */
    /* columns[ranks]; *out is rows x all columns of bytes, by rows. Collective. */
    lac_status_t (*events_open)(lac_link_t *link, lac_dim_t rows, const lac_dim_t *columns,
                                lac_link_events_t **events, uint8_t **out);
    lac_status_t (*exchange)(lac_link_events_t *events,
                             const lac_operand_t *mine); /* checked; rows x columns */
    void (*events_close)(lac_link_events_t *events);
} lac_link_hooks_t;

#endif

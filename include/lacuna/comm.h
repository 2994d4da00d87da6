/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Ranks that share a network: communicators, and the exchange of events between products.
 *
 * A rank is a context with a communicator; ranks are processes, or threads of one. Calls marked collective
 * are made by all ranks, in the same order. Nothing waits longer than the communicator's time-out: what then
 * could not be done is LAC_ERR_TIMEOUT, and after lac_comm_abort LAC_ERR_ABORTED. A communicator that failed
 * once stays so. */
#ifndef LACUNA_COMM_H
#define LACUNA_COMM_H

#include "lacuna/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lac_comm lac_comm_t;     /* opaque: a rank's end of a communicator            */
typedef struct lac_events lac_events_t; /* opaque: the events of all ranks, and how they come */

/* What identifies a communicator that is being made: rank 0 makes it, the program brings it to the others. */
typedef struct lac_comm_id {
    unsigned char bytes[128];
} lac_comm_id_t;

/* Set size to sizeof(lac_comm_opts_t) and leave unknown members zero. NULL in its place: all of them zero. */
typedef struct lac_comm_opts {
    size_t size;
    double timeout_s;   /* seconds that anything waits; 0: 30                                      */
    const char *engine; /* "auto", "peer" or "nccl" on a device; NULL: auto. docs/user/multi_device.md */
} lac_comm_opts_t;

/* How bytes get from rank to rank where the program knows: by MPI, sockets, shared memory. Both functions
 * return at once. `mine` and `all` stay where they are until the request is done; after a time-out that is
 * for ever. */
typedef struct lac_comm_callbacks {
    size_t size;
    int rank, ranks;
    void *arg; /* handed to both */
    /* Begins to gather `bytes` of each rank into all[ranks * bytes], in the order of the ranks; *request is
     * handed to test. Every rank begins the same gathers in the same order. 0: begun. */
    int (*gather)(void *arg, const void *mine, void *all, size_t bytes, void **request);
    /* 1: done, and the request is gone; 0: not yet; negative: it failed. */
    int (*test)(void *arg, void *request);
} lac_comm_callbacks_t;

/* A new identity, by NCCL. Errors: NULL; UNAVAILABLE: NCCL is not found; VENDOR. */
LAC_API lac_status_t lac_comm_make_id(lac_comm_id_t *id);

/* Collective. A communicator by NCCL on the context's device, of so many ranks, each on a device of its own.
 * *comm is NULL on failure. Errors: NULL, VALUE, UNAVAILABLE (a host context, or no NCCL), VENDOR, TIMEOUT,
 * MEMORY. Free it before the context. */
LAC_API lac_status_t lac_comm_create(lac_ctx_t *ctx, lac_comm_t **comm, const lac_comm_id_t *id, int ranks,
                                     int rank, const lac_comm_opts_t *opts);

/* Collective. The caller's ncclComm_t, which must be of the context's device, stays the caller's, and lives
 * longer than *comm. It is never aborted: after a time-out, what is queued waits until its owner does so.
 * Errors as above. */
LAC_API lac_status_t lac_comm_wrap(lac_ctx_t *ctx, lac_comm_t **comm, void *nccl_comm,
                                   const lac_comm_opts_t *opts);

/* Collective. A communicator of host contexts; or of contexts on devices, to which the callbacks bring NCCL's
 * identity or the addresses of each other's memory. Errors as above. */
LAC_API lac_status_t lac_comm_from_callbacks(lac_ctx_t *ctx, lac_comm_t **comm,
                                             const lac_comm_callbacks_t *callbacks,
                                             const lac_comm_opts_t *opts);

/* NULL is accepted. Free its events first. */
LAC_API void lac_comm_free(lac_comm_t *comm);

/* Which rank this is; -1 for NULL. */
LAC_API int lac_comm_rank(const lac_comm_t *comm);

/* How many ranks there are; 0 for NULL. */
LAC_API int lac_comm_ranks(const lac_comm_t *comm);

/* "peer", "nccl" or "host": what exchanges events. "" for NULL. */
LAC_API const char *lac_comm_engine(const lac_comm_t *comm);

/* Waits until all that is queued on the context's stream is done, at most for the time-out. Errors: NULL,
 * VENDOR; TIMEOUT: another rank did not come; ABORTED. */
LAC_API lac_status_t lac_comm_wait(lac_comm_t *comm);

/* The same without waiting: what is known to have failed. */
LAC_API lac_status_t lac_comm_status(lac_comm_t *comm);

/* Ends what waits for other ranks, here; they find out by their time-outs. Any thread may call it. Recordings
 * that hold an exchange by NCCL must not be launched again. Errors: NULL, VENDOR. */
LAC_API lac_status_t lac_comm_abort(lac_comm_t *comm);

/* Collective. Room for the events of all ranks: `rows` of a batch, of which this rank brings `columns`; ranks
 * may bring different numbers, or none. Waits. *events is NULL on failure. Errors: NULL, EXTENT (the ranks'
 * rows differ, too), MEMORY, VENDOR, TIMEOUT, ABORTED. */
LAC_API lac_status_t lac_events_create(lac_comm_t *comm, lac_events_t **events, lac_dim_t rows,
                                       lac_dim_t columns);

/* Collective. What is nonzero in `mine` (rows x columns, any strides) is an event of this rank;
 * the events of all are then in the operand of lac_events_operand. Its type is f32, u8 or, on the host, f64.
 * On a device it is queued on the context's stream, may be captured, and neither allocates nor waits; on the
 * host it waits. Errors: NULL, TYPE, EXTENT, STRIDE, SPACE, EMPTY; TIMEOUT, ABORTED, VENDOR, of earlier
 * exchanges too. */
LAC_API lac_status_t lac_events_allgather(lac_events_t *events, const lac_obj_t *mine);

/* The events of all ranks, in order of the ranks: u8, rows x all columns, by rows; the left side of lac_gemm.
 * Each lac_events_allgather writes it anew. It belongs to `events`. Errors: NULL. */
LAC_API lac_status_t lac_events_operand(const lac_events_t *events, lac_obj_t *operand);

/* Which columns of the operand a rank brings. Errors: NULL, VALUE. */
LAC_API lac_status_t lac_events_columns(const lac_events_t *events, int rank, lac_dim_t *first,
                                        lac_dim_t *count);

/* Collective: nobody may write to a rank's memory any more. NULL is accepted. */
LAC_API void lac_events_free(lac_events_t *events);

#ifdef __cplusplus
}
#endif
#endif

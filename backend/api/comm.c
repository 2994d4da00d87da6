/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Communicators and the exchange of events: checked here, done by the context's backend. */
#include "entry.h"
#include "base/gather.h"
#include "base/status.h"
#include "operand/check.h"
#include "planner/backends.h"
#include "route/link.h"
#include "lacuna/comm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_S 30.0 /* where the caller names none */

struct lac_comm {
    lac_ctx_t *ctx;
    const lac_link_hooks_t *hooks;
    lac_link_t *link;
    int ranks, rank;
    lac_comm_callbacks_t callbacks;
};

struct lac_events {
    lac_comm_t *comm;
    lac_link_events_t *inside;
    lac_dim_t rows, *first; /* [ranks + 1] columns before each rank's */
    uint8_t *out;
};

lac_status_t lac_comm_make_id(lac_comm_id_t *id)
{
    const char *why;
    lac_clear_error();
    if (!id) return lac_fail(LAC_ERR_NULL, "id: is NULL");
    const lac_backend_t *cuda = lac_backend_cuda(&why);
    if (!cuda || !cuda->link || !cuda->link->make_id)
        return lac_fail(LAC_ERR_UNAVAILABLE, "id: no CUDA backend: %s", cuda ? "it connects no ranks" : why);
    return cuda->link->make_id(id);
}

/* The members of a caller's options that its size says are there, checked. */
static lac_status_t read_opts(const lac_comm_opts_t *opts, lac_link_request_t *request)
{
    lac_comm_opts_t copy = {.size = sizeof copy};
    if (opts && opts->size < offsetof(lac_comm_opts_t, engine) + sizeof opts->engine)
        return lac_fail(LAC_ERR_VALUE, "opts.size: is %zu; set it to sizeof(lac_comm_opts_t)", opts->size);
    if (opts) copy = *opts;
    request->timeout_s = copy.timeout_s == 0.0 ? TIMEOUT_S : copy.timeout_s;
    request->engine = copy.engine ? copy.engine : "auto";
    if (!(request->timeout_s > 0.0 && request->timeout_s < 1e9))
        return lac_fail(LAC_ERR_VALUE, "opts.timeout_s: is %g; expected seconds above 0", copy.timeout_s);
    if (strcmp(request->engine, "auto") && strcmp(request->engine, "peer") && strcmp(request->engine, "nccl"))
        return lac_fail(LAC_ERR_VALUE, "opts.engine: '%.64s' is none of: auto, peer, nccl", request->engine);
    return LAC_OK;
}

static lac_status_t check_ranks(const char *of, int ranks, int rank)
{
    if (ranks < 1) return lac_fail(LAC_ERR_VALUE, "%sranks: %d is below 1", of, ranks);
    if (rank < 0 || rank >= ranks)
        return lac_fail(LAC_ERR_VALUE, "%srank: %d is outside [0, %d)", of, rank, ranks);
    return LAC_OK;
}

static lac_status_t begin(lac_ctx_t *ctx, lac_comm_t **comm)
{
    lac_clear_error();
    if (!comm) return lac_fail(LAC_ERR_NULL, "comm: is NULL");
    *comm = NULL;
    if (!ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    return ctx->backend->link
               ? LAC_OK
               : lac_fail(LAC_ERR_UNAVAILABLE, "ctx: the %s backend connects no ranks", ctx->backend->name);
}

static lac_status_t open_comm(lac_ctx_t *ctx, lac_comm_t **comm, lac_link_request_t *request)
{
    lac_comm_t *made = calloc(1, sizeof *made);
    if (!made) return lac_fail(LAC_ERR_MEMORY, "communicator: out of memory");
    made->ctx = ctx;
    made->hooks = ctx->backend->link;
    if (request->callbacks) {
        made->callbacks = *request->callbacks;
        request->callbacks = &made->callbacks;
    }
    int token = lac_enter(ctx);
    lac_status_t status = made->hooks->open(ctx->exec, request, &made->link);
    lac_leave(ctx, token);
    made->ranks = request->ranks, made->rank = request->rank;
    if (status)
        free(made);
    else
        *comm = made;
    return status;
}

lac_status_t lac_comm_create(lac_ctx_t *ctx, lac_comm_t **comm, const lac_comm_id_t *id, int ranks, int rank,
                             const lac_comm_opts_t *opts)
{
    lac_link_request_t request = {.ranks = ranks, .rank = rank, .id = id};
    lac_status_t status = begin(ctx, comm);
    if (!status && !id) status = lac_fail(LAC_ERR_NULL, "id: is NULL");
    if (!status) status = check_ranks("", ranks, rank);
    if (!status) status = read_opts(opts, &request);
    return status ? status : open_comm(ctx, comm, &request);
}

lac_status_t lac_comm_wrap(lac_ctx_t *ctx, lac_comm_t **comm, void *nccl_comm, const lac_comm_opts_t *opts)
{
    lac_link_request_t request = {.nccl = nccl_comm};
    lac_status_t status = begin(ctx, comm);
    if (!status && !nccl_comm) status = lac_fail(LAC_ERR_NULL, "nccl_comm: is NULL");
    if (!status) status = read_opts(opts, &request);
    return status ? status : open_comm(ctx, comm, &request);
}

lac_status_t lac_comm_from_callbacks(lac_ctx_t *ctx, lac_comm_t **comm, const lac_comm_callbacks_t *callbacks,
                                     const lac_comm_opts_t *opts)
{
    lac_link_request_t request = {.callbacks = callbacks};
    lac_status_t status = begin(ctx, comm);
    if (status) return status;
    if (!callbacks) return lac_fail(LAC_ERR_NULL, "callbacks: is NULL");
    if (callbacks->size < sizeof *callbacks)
        return lac_fail(LAC_ERR_VALUE, "callbacks.size: is %zu; set it to sizeof(lac_comm_callbacks_t)",
                        callbacks->size);
    if (!callbacks->gather) return lac_fail(LAC_ERR_NULL, "callbacks.gather: is NULL");
    if (!callbacks->test) return lac_fail(LAC_ERR_NULL, "callbacks.test: is NULL");
    request.ranks = callbacks->ranks, request.rank = callbacks->rank;
    status = check_ranks("callbacks.", request.ranks, request.rank);
    if (!status) status = read_opts(opts, &request);
    return status ? status : open_comm(ctx, comm, &request);
}

void lac_comm_free(lac_comm_t *comm)
{
    if (!comm) return;
    int token = lac_enter(comm->ctx);
    comm->hooks->close(comm->link);
    lac_leave(comm->ctx, token);
    free(comm);
}

int lac_comm_rank(const lac_comm_t *comm)
{
    return comm ? comm->rank : -1;
}

int lac_comm_ranks(const lac_comm_t *comm)
{
    return comm ? comm->ranks : 0;
}

const char *lac_comm_engine(const lac_comm_t *comm)
{
    return comm ? comm->hooks->engine(comm->link) : "";
}

static lac_status_t ask(lac_comm_t *comm, lac_status_t (*of)(lac_link_t *link))
{
    int token = lac_enter(comm->ctx);
    lac_status_t status = of(comm->link);
    lac_leave(comm->ctx, token);
    return status;
}

static lac_status_t is_comm(const lac_comm_t *comm)
{
    lac_clear_error();
    return comm ? LAC_OK : lac_fail(LAC_ERR_NULL, "comm: is NULL");
}

lac_status_t lac_comm_wait(lac_comm_t *comm)
{
    lac_status_t status = is_comm(comm);
    return status ? status : ask(comm, comm->hooks->wait);
}

lac_status_t lac_comm_status(lac_comm_t *comm)
{
    lac_status_t status = is_comm(comm);
    return status ? status : ask(comm, comm->hooks->status);
}

lac_status_t lac_comm_abort(lac_comm_t *comm)
{
    lac_status_t status = is_comm(comm);
    return status ? status : ask(comm, comm->hooks->abort);
}

/* Events ----------------------------------------------------------------------------------------------- */

/* A share, as its rank sends it to the others. */
typedef struct share {
    int64_t rows, columns;
} share_t;

/* All ranks' shares, and that they fit each other; every rank comes to the same answer. */
static lac_status_t gather_shares(lac_comm_t *comm, lac_dim_t rows, lac_dim_t columns, lac_dim_t *count)
{
    size_t ranks = (size_t)comm->ranks;
    share_t *block = calloc(ranks + 1, sizeof *block);
    lac_dim_t sum = 0, cells;
    if (!block) return lac_fail(LAC_ERR_MEMORY, "events: out of memory for %d ranks", comm->ranks);
    share_t *all = block + 1;
    *block = (share_t){rows, columns};
    lac_status_t status = comm->hooks->gather(comm->link, block, all, sizeof *all);
    if (status) {
        lac_gather_abandon(block);
        return status;
    }
    for (size_t r = 0; !status && r < ranks; r++) {
        count[r] = all[r].columns;
        if (all[r].rows != rows)
            status = lac_fail(LAC_ERR_EXTENT, "rows: %" PRId64 ", and rank %zu has %" PRId64, rows, r,
                              all[r].rows);
        else if (__builtin_add_overflow(sum, count[r], &sum))
            status = lac_fail(LAC_ERR_EXTENT, "columns: those of all ranks overflow");
    }
    if (!status && (__builtin_mul_overflow(rows, sum, &cells) || cells > INT64_C(1) << 46))
        status = lac_fail(LAC_ERR_EXTENT, "rows, columns: %" PRId64 " x %" PRId64 " events overflow memory",
                          rows, sum);
    free(block);
    return status;
}

static lac_status_t open_events(lac_events_t *made, lac_dim_t columns)
{
    lac_comm_t *comm = made->comm;
    lac_dim_t *count = calloc((size_t)comm->ranks, sizeof *count);
    made->first = calloc((size_t)comm->ranks + 1, sizeof *made->first);
    if (!count || !made->first) {
        free(count);
        return lac_fail(LAC_ERR_MEMORY, "events: out of memory");
    }
    lac_status_t status = gather_shares(comm, made->rows, columns, count);
    for (int r = 0; !status && r < comm->ranks; r++) made->first[r + 1] = made->first[r] + count[r];
    if (!status) status = comm->hooks->events_open(comm->link, made->rows, count, &made->inside, &made->out);
    free(count);
    return status;
}

lac_status_t lac_events_create(lac_comm_t *comm, lac_events_t **events, lac_dim_t rows, lac_dim_t columns)
{
    lac_status_t status = is_comm(comm);
    if (status) return status;
    if (!events) return lac_fail(LAC_ERR_NULL, "events: is NULL");
    *events = NULL;
    if (rows < 0 || columns < 0)
        return lac_fail(LAC_ERR_EXTENT, "rows, columns: %" PRId64 " x %" PRId64 " is negative", rows,
                        columns);
    lac_events_t *made = calloc(1, sizeof *made);
    if (!made) return lac_fail(LAC_ERR_MEMORY, "events: out of memory");
    made->comm = comm, made->rows = rows;
    int token = lac_enter(comm->ctx);
    status = open_events(made, columns);
    lac_leave(comm->ctx, token);
    if (status) {
        free(made->first);
        free(made);
        return status;
    }
    *events = made;
    return LAC_OK;
}

static lac_status_t check_mine(const lac_events_t *events, const lac_obj_t *mine)
{
    const lac_comm_t *comm = events->comm;
    const lac_ctx_t *ctx = comm->ctx;
    lac_dim_t columns = events->first[comm->rank + 1] - events->first[comm->rank];
    if (!mine) return lac_fail(LAC_ERR_NULL, "mine: is NULL");
    if (lac_obj_rows(mine) != events->rows || lac_obj_cols(mine) != columns)
        return lac_fail(LAC_ERR_EXTENT,
                        "mine: is %" PRId64 " x %" PRId64 ", and this rank brings %" PRId64 " x %" PRId64,
                        lac_obj_rows(mine), lac_obj_cols(mine), events->rows, columns);
    lac_status_t status = lac_check_operand("mine", mine, false, lac_location_of(ctx));
    if (status || !events->rows || !columns) return status;
    if (!mine->buf) return lac_fail(LAC_ERR_EMPTY, "mine.buf: is NULL");
    lac_obj_t out = lac_view_array(events->out, events->rows * events->first[comm->ranks], 1);
    out.space = mine->space;
    if (lac_share_memory(mine, &out))
        return lac_fail(LAC_ERR_ALIAS, "mine: overlaps the operand of all ranks");
    return ctx->backend->check ? ctx->backend->check(ctx->exec, "mine", mine->buf) : LAC_OK;
}

lac_status_t lac_events_allgather(lac_events_t *events, const lac_obj_t *mine)
{
    lac_clear_error();
    if (!events) return lac_fail(LAC_ERR_NULL, "events: is NULL");
    lac_status_t status = check_mine(events, mine);
    if (status) return status;
    lac_operand_t x = lac_operand_describe(mine);
    int token = lac_enter(events->comm->ctx);
    status = events->comm->hooks->exchange(events->inside, &x);
    lac_leave(events->comm->ctx, token);
    return status;
}

lac_status_t lac_events_operand(const lac_events_t *events, lac_obj_t *operand)
{
    lac_clear_error();
    if (!events) return lac_fail(LAC_ERR_NULL, "events: is NULL");
    if (!operand) return lac_fail(LAC_ERR_NULL, "operand: is NULL");
    lac_dim_t all = events->first[events->comm->ranks];
    *operand = lac_obj_rowmajor(LAC_U8, events->rows, all, events->out, all);
    operand->space = events->comm->ctx->backend->space;
    return LAC_OK;
}

lac_status_t lac_events_columns(const lac_events_t *events, int rank, lac_dim_t *first, lac_dim_t *count)
{
    lac_clear_error();
    if (!events) return lac_fail(LAC_ERR_NULL, "events: is NULL");
    if (!first || !count) return lac_fail(LAC_ERR_NULL, "%s: is NULL", first ? "count" : "first");
    lac_status_t status = check_ranks("", events->comm->ranks, rank);
    if (status) return status;
    *first = events->first[rank];
    *count = events->first[rank + 1] - *first;
    return LAC_OK;
}

void lac_events_free(lac_events_t *events)
{
    if (!events) return;
    int token = lac_enter(events->comm->ctx);
    events->comm->hooks->events_close(events->inside);
    lac_leave(events->comm->ctx, token);
    free(events->first);
    free(events);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Ranks on the host: events as bits, one gather by the program's callbacks for each exchange. */
#include "link.h"
#include "base/gather.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdlib.h>

struct lac_link {
    int ranks, rank;
    double timeout_s;
    const lac_comm_callbacks_t *callbacks;
    atomic_bool stop;
    _Atomic lac_status_t failed; /* the first failure */
};

struct lac_link_events {
    lac_link_t *link;
    lac_dim_t rows, all, *first; /* [ranks + 1] columns before each rank's     */
    size_t stride;               /* words of the largest share: each rank's    */
    uint32_t *mine, *words;      /* [stride], [ranks * stride]                 */
    uint8_t *out;
};

static lac_status_t note(lac_link_t *link, lac_status_t status)
{
    lac_status_t none = LAC_OK;
    if (status) atomic_compare_exchange_strong(&link->failed, &none, status);
    return status;
}

static lac_status_t status_of(lac_link_t *link)
{
    lac_status_t failed = atomic_load(&link->failed);
    if (failed == LAC_ERR_ABORTED) return lac_fail(failed, "communicator: was aborted");
    return failed ? lac_fail(failed, "communicator: an earlier call failed; make another") : LAC_OK;
}

static lac_status_t gather(lac_link_t *link, const void *mine, void *all, size_t bytes)
{
    lac_status_t status = status_of(link);
    return status ? status
                  : note(link, lac_gather(link->callbacks, mine, all, bytes, link->timeout_s, &link->stop));
}

static lac_status_t open_link(lac_exec_t *exec, lac_link_request_t *request, lac_link_t **link)
{
    (void)exec;
    *link = NULL;
    if (!request->callbacks)
        return lac_fail(LAC_ERR_UNAVAILABLE,
                        "ctx: NCCL connects devices; a host context takes lac_comm_from_callbacks");
    lac_link_t *made = calloc(1, sizeof *made);
    if (!made) return lac_fail(LAC_ERR_MEMORY, "communicator: out of memory");
    made->ranks = request->ranks, made->rank = request->rank;
    made->timeout_s = request->timeout_s, made->callbacks = request->callbacks;
    *link = made;
    return LAC_OK;
}

static void close_link(lac_link_t *link)
{
    free(link);
}

static const char *engine(const lac_link_t *link)
{
    (void)link;
    return "host";
}

static lac_status_t abort_link(lac_link_t *link)
{
    note(link, LAC_ERR_ABORTED);
    atomic_store(&link->stop, true);
    return LAC_OK;
}

static size_t words_of(lac_dim_t rows, lac_dim_t columns)
{
    return (size_t)rows * (size_t)((columns + 31) / 32);
}

static void close_events(lac_link_events_t *events)
{
    if (!events) return;
    void (*give_back)(void *) = events->link->failed ? lac_gather_abandon : free;
    give_back(events->mine);
    give_back(events->words);
    free(events->out);
    free(events->first);
    free(events);
}

static lac_status_t open_events(lac_link_t *link, lac_dim_t rows, const lac_dim_t *columns,
                                lac_link_events_t **events, uint8_t **out)
{
    lac_link_events_t *made = *events = calloc(1, sizeof *made);
    if (!made) return lac_fail(LAC_ERR_MEMORY, "events: out of memory");
    made->link = link, made->rows = rows;
    made->first = calloc((size_t)link->ranks + 1, sizeof *made->first);
    for (int r = 0; made->first && r < link->ranks; r++) {
        made->first[r + 1] = made->first[r] + columns[r];
        if (words_of(rows, columns[r]) > made->stride) made->stride = words_of(rows, columns[r]);
    }
    size_t room = made->stride ? made->stride : 1;
    made->all = made->first ? made->first[link->ranks] : 0;
    made->mine = calloc(room, sizeof *made->mine);
    made->words = calloc((size_t)link->ranks * room, sizeof *made->words);
    made->out = calloc((size_t)rows * (size_t)made->all + 1, 1);
    *out = made->out;
    if (made->first && made->mine && made->words && made->out) return LAC_OK;
    close_events(made);
    *events = NULL;
    return lac_fail(LAC_ERR_MEMORY, "events: out of memory for %d ranks", link->ranks);
}

static bool is_event(const lac_operand_t *x, lac_dim_t i, lac_dim_t j)
{
    lac_inc_t at = i * x->rs + j * x->cs;
    if (x->dt == LAC_U8) return ((const uint8_t *)x->buf)[at] != 0;
    return x->dt == LAC_F64 ? ((const double *)x->buf)[at] != 0.0 : ((const float *)x->buf)[at] != 0.0f;
}

static void pack(const lac_link_events_t *e, const lac_operand_t *x)
{
    lac_dim_t columns = e->first[e->link->rank + 1] - e->first[e->link->rank];
    uint32_t *word = e->mine;
    for (lac_dim_t i = 0; i < e->rows; i++)
        for (lac_dim_t j0 = 0; j0 < columns; j0 += 32, word++) {
            *word = 0;
            for (lac_dim_t j = j0; j < columns && j < j0 + 32; j++)
                *word |= (uint32_t)is_event(x, i, j) << (j - j0);
        }
}

static void unpack(const lac_link_events_t *e)
{
    for (int r = 0; r < e->link->ranks; r++) {
        const uint32_t *word = e->words + (size_t)r * e->stride;
        for (lac_dim_t i = 0; i < e->rows; i++) {
            uint8_t *to = e->out + i * e->all;
            for (lac_dim_t j0 = e->first[r]; j0 < e->first[r + 1]; j0 += 32, word++)
                for (lac_dim_t j = j0; j < e->first[r + 1] && j < j0 + 32; j++)
                    to[j] = (uint8_t)(*word >> (j - j0) & 1u);
        }
    }
}

static lac_status_t exchange(lac_link_events_t *e, const lac_operand_t *mine)
{
    lac_status_t status = status_of(e->link);
    if (status) return status;
    pack(e, mine);
    if (e->stride) status = gather(e->link, e->mine, e->words, e->stride * sizeof *e->mine);
    if (!status) unpack(e);
    return status;
}

const lac_link_hooks_t lac_host_link = {.open = open_link,
                                        .close = close_link,
                                        .engine = engine,
                                        .gather = gather,
                                        .wait = status_of,
                                        .status = status_of,
                                        .abort = abort_link,
                                        .events_open = open_events,
                                        .exchange = exchange,
                                        .events_close = close_events};

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A sharded network, its ranks as threads: events of all ranks and products, bitwise those of one device, by
 * each engine, eager and captured. */
#include "comm_checks.h"
#include "rank_board.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, STEPS = 6 };

/* One network: whoever computes it, in however many shards, must come to the same bits. */
typedef struct net {
    int ranks;
    lac_dim_t rows, columns[RANKS];
    const char *engine;
    const int *device; /* of each rank */
    bool captured;
    bool sparse; /* W as CSR */
    double timeout_s;
} net_t;

typedef struct rank {
    pthread_t thread;
    pthread_barrier_t *together;
    const net_t *net;
    rank_board_t *board; /* callbacks; NULL: NCCL's identity */
    const lac_comm_id_t *id;
    unsigned char *seen; /* [STEPS][rows][all]: the operand after each step */
    float *c;            /* [STEPS][rows][all]: this rank's columns         */
    const char *engine;  /* out */
    int rank;
    bool unavailable; /* out: there is no such engine here */
    bool done;
} rank_t;

static lac_dim_t all_columns(const net_t *net)
{
    lac_dim_t all = 0;
    for (int r = 0; r < net->ranks; r++) all += net->columns[r];
    return all;
}

static void spikes_of(float *x, const net_t *net, int t, lac_dim_t first, lac_dim_t count)
{
    for (lac_dim_t i = 0; i < net->rows; i++)
        for (lac_dim_t j = 0; j < count; j++)
            x[i * count + j] =
                hash((unsigned)(t * 7919 + i * 104729 + (first + j) * 31)) % 16 == 0 ? 1.0f : 0.0f;
}

typedef struct step {
    lac_ctx_t *ctx;
    lac_events_t *events;
    lac_obj_t mine, s, w, c;
} step_t;

static lac_status_t queue_step(void *arg)
{
    step_t *x = arg;
    lac_status_t status = lac_events_allgather(x->events, &x->mine);
    lac_call_opts_t call = {.size = sizeof call};
    return status || !x->c.n ? status : lac_gemm_ex(x->ctx, NULL, &x->s, &x->w, NULL, &x->c, &call);
}

static lac_comm_t *connect(lac_ctx_t *ctx, rank_t *self)
{
    lac_comm_t *comm;
    lac_comm_opts_t opts = {
        .size = sizeof opts, .timeout_s = self->net->timeout_s, .engine = self->net->engine};
    lac_status_t status;
    if (self->board) {
        lac_comm_callbacks_t callbacks = rank_board_callbacks(self->board, self->rank);
        status = lac_comm_from_callbacks(ctx, &comm, &callbacks, &opts);
    } else
        status = lac_comm_create(ctx, &comm, self->id, self->net->ranks, self->rank, &opts);
    self->unavailable = status == LAC_ERR_UNAVAILABLE;
    if (self->unavailable)
        printf("%s: %s: %s\n", running, self->net->engine ? self->net->engine : "auto", lac_last_error());
    else
        expect(status, LAC_OK, "communicator");
    return comm;
}

static void *run_rank(void *arg)
{
    rank_t *self = arg;
    const net_t *net = self->net;
    lac_dim_t all = all_columns(net), first = 0, count = net->columns[self->rank];
    for (int r = 0; r < self->rank; r++) first += net->columns[r];
    step_t x = {.ctx = NULL};
    lac_graph_t *graph = NULL;
    void *owned[3] = {NULL};
    if (!expect(lac_ctx_create_cuda(&x.ctx, net->device[self->rank], LAC_STREAM_NEW), LAC_OK, "ctx"))
        return NULL;
    expect(lac_ctx_set(x.ctx, "sums", "fixed"), LAC_OK, "sums");
    expect(lac_ctx_set(x.ctx, "backend", "event"), LAC_OK, "backend");
    lac_comm_t *comm = connect(x.ctx, self);
    if (comm && expect(lac_events_create(comm, &x.events, net->rows, count), LAC_OK, "events")) {
        float *spikes = malloc((size_t)(net->rows * count) * sizeof *spikes + 1);
        self->engine = lac_comm_engine(comm);
        x.mine = on_device(x.ctx, LAC_F32, net->rows, count, NULL);
        x.c = on_device(x.ctx, LAC_F32, net->rows, count, NULL);
        x.w = shard_of_w(x.ctx, all, net->sparse, first, count, owned);
        expect(lac_events_operand(x.events, &x.s), LAC_OK, "operand");
        spikes_of(spikes, net, 99, first, count);
        if (count)
            expect(lac_device_upload(x.ctx, x.mine.buf, spikes, (size_t)(net->rows * count) * 4), LAC_OK,
                   "upload");
        /* What waits for a whole device (allocations, the first launch of a kernel) comes before the
         * exchanges: ranks that share a device would wait for each other. */
        bool good = !count || (expect(lac_gemm(x.ctx, NULL, &x.s, &x.w, NULL, &x.c), LAC_OK, "a product") &&
                               expect(lac_device_wait(x.ctx), LAC_OK, "a product"));
        pthread_barrier_wait(self->together);
        good =
            good && expect(queue_step(&x), LAC_OK, "a step") && expect(lac_comm_wait(comm), LAC_OK, "wait");
        pthread_barrier_wait(self->together);
        if (good && net->captured)
            good = expect(lac_graph_capture(x.ctx, queue_step, &x, 1, &graph), LAC_OK, "capture");
        pthread_barrier_wait(self->together);
        for (int t = 0; good && t < STEPS; t++) {
            spikes_of(spikes, net, t, first, count);
            if (count) lac_device_upload(x.ctx, x.mine.buf, spikes, (size_t)(net->rows * count) * 4);
            /* twice, so that both sets of places are met at every step */
            for (int again = 0; good && again < 1 + t % 2; again++)
                good = expect(graph ? lac_graph_launch(graph, 1, NULL) : queue_step(&x), LAC_OK, "a step");
            good = good && expect(lac_comm_wait(comm), LAC_OK, "wait");
            lac_device_download(x.ctx, self->seen + t * net->rows * all, x.s.buf, (size_t)(net->rows * all));
            float *c = malloc((size_t)(net->rows * count) * sizeof *c + 1);
            if (count) lac_device_download(x.ctx, c, x.c.buf, (size_t)(net->rows * count) * sizeof *c);
            for (lac_dim_t i = 0; i < net->rows; i++)
                memcpy(self->c + (t * net->rows + i) * all + first, c + i * count, (size_t)count * sizeof *c);
            free(c);
        }
        pthread_barrier_wait(self->together);
        self->done = good;
        lac_graph_free(graph);
        free(spikes);
        lac_events_free(x.events);
        lac_meta_free(x.w.meta);
        for (int i = 0; i < 3; i++) lac_device_free(x.ctx, owned[i]);
        lac_device_free(x.ctx, x.mine.buf);
        lac_device_free(x.ctx, x.c.buf);
    }
    lac_comm_free(comm);
    lac_ctx_free(x.ctx);
    return NULL;
}

/* False where the engine is not to be had. Results of all ranks are put together in seen and c. */
static bool run_net(const net_t *net, bool by_board, unsigned char *seen, float *c)
{
    rank_t rank[RANKS];
    lac_comm_id_t id;
    bool there = true;
    size_t cells = (size_t)(STEPS * net->rows * all_columns(net));
    pthread_barrier_t together;
    rank_board_t *board = by_board ? rank_board_new(net->ranks) : NULL;
    pthread_barrier_init(&together, NULL, (unsigned)net->ranks);
    if (!by_board && lac_comm_make_id(&id)) {
        printf("%s: %s\n", running, lac_last_error());
        return false;
    }
    for (int r = 0; r < net->ranks; r++) {
        rank[r] = (rank_t){.net = net,
                           .rank = r,
                           .board = board,
                           .id = &id,
                           .seen = calloc(cells, 1),
                           .c = c,
                           .together = &together};
        pthread_create(&rank[r].thread, NULL, run_rank, &rank[r]);
    }
    for (int r = 0; r < net->ranks; r++) {
        pthread_join(rank[r].thread, NULL);
        there = there && !rank[r].unavailable;
        if (!rank[r].unavailable && !rank[r].done) failed("rank %d of %d did not end well", r, net->ranks);
        if (r && rank[r].done && memcmp(rank[r].seen, rank[0].seen, cells))
            failed("rank %d saw other events", r);
        if (r == 0) memcpy(seen, rank[0].seen, cells);
    }
    for (int r = 0; r < net->ranks; r++) free(rank[r].seen);
    pthread_barrier_destroy(&together);
    return there;
}

/* The same network on one device as one rank, and in shards on these devices. */
static void compare(const net_t *net, bool by_board)
{
    static const int first[RANKS];
    size_t cells = (size_t)(STEPS * net->rows * all_columns(net));
    net_t whole = *net;
    whole.ranks = 1, whole.columns[0] = all_columns(net), whole.device = first, whole.captured = false,
    whole.engine = NULL;
    unsigned char *seen[2] = {calloc(cells, 1), calloc(cells, 1)};
    float *c[2] = {calloc(cells, sizeof(float)), calloc(cells, sizeof(float))};
    float *spikes = calloc(cells + 1, sizeof *spikes);
    lac_dim_t all = all_columns(net);
    if (run_net(&whole, true, seen[0], c[0]) && run_net(net, by_board, seen[1], c[1])) {
        if (memcmp(seen[0], seen[1], cells)) failed("other events than on one device");
        if (memcmp(c[0], c[1], cells * sizeof(float))) failed("other sums than on one device");
        for (int t = 0; t < STEPS; t++) {
            spikes_of(spikes, net, t, 0, all);
            for (lac_dim_t e = 0; e < net->rows * all; e++)
                if (seen[1][t * net->rows * all + e] != (spikes[e] != 0.0f)) {
                    failed("step %d: event %d is %d", t, (int)e, seen[1][t * net->rows * all + e]);
                    break;
                }
        }
    }
    for (int i = 0; i < 2; i++) free(seen[i]), free(c[i]);
    free(spikes);
}

static void each_net(const char *engine, const int *device, int ranks, bool by_board)
{
    static const struct {
        int ranks;
        lac_dim_t rows, columns[RANKS];
    } shapes[] = {{2, 1, {1000, 1000}},
                  {2, 4, {2333, 1700}},
                  {2, 3, {0, 257}},
                  {3, 2, {64, 31, 500}},
                  {4, 1, {1, 2000, 0, 47}}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (shapes[i].ranks > ranks || (getenv("LACUNA_TEST_QUICK") && i % 2)) continue;
        net_t net = {.ranks = shapes[i].ranks,
                     .rows = shapes[i].rows,
                     .engine = engine,
                     .device = device,
                     .timeout_s = 4.0};
        memcpy(net.columns, shapes[i].columns, sizeof net.columns);
        for (int sparse = 0; sparse < 2; sparse++)
            for (int captured = 0; captured < 2; captured++) {
                net.sparse = sparse, net.captured = captured;
                compare(&net, by_board);
            }
    }
}

void test_one_device(void)
{
    static const int same[RANKS];
    each_net("peer", same, RANKS, true);
}

void test_peers(void)
{
    static const int turns[RANKS] = {0, 1};
    each_net("peer", turns, 2, true);
    each_net(NULL, turns, 2, true);
}

void test_nccl(void)
{
    static const int turns[RANKS] = {0, 1};
    each_net("nccl", turns, 2, false);
    each_net("nccl", turns, 2, true);
    each_net("peer", turns, 2, false);
}

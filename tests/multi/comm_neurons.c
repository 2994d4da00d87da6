/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Integrate-and-fire neurons on several devices, each rank with its columns: the spikes of one device. */
#include "comm_checks.h"
#include "rank_board.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* On sparse weights; sums of weights are exact. */
enum { LIF_STEPS = 40, LIF_ROWS = 2, LIF_ALL = 3000 };

typedef struct lif_rank {
    pthread_t thread;
    int ranks, rank, device;
    const char *engine;
    const lac_dim_t *columns;
    bool captured, done;
    rank_board_t *board;
    pthread_barrier_t *together;
    unsigned char *seen; /* [LIF_STEPS][LIF_ROWS][LIF_ALL] */
} lif_rank_t;

typedef struct lif_step {
    lac_ctx_t *ctx;
    lac_events_t *events;
    lac_lif_t lif;
    lac_lif_input_t input;
    lac_obj_t mine;
} lif_step_t;

static lac_status_t queue_lif(void *arg)
{
    lif_step_t *x = arg;
    lac_status_t status = lac_lif_step(x->ctx, &x->lif);
    return status ? status : lac_events_allgather(x->events, &x->mine);
}

/* State and inputs of the neurons [first, first + count), as when the network begins. */
static void begin_lif(lif_step_t *x, lac_dim_t first, lac_dim_t count)
{
    size_t cells = (size_t)(LIF_ROWS * count);
    float *current = malloc((size_t)count * sizeof *current), *v = malloc(cells * sizeof *v),
          *zero = calloc(cells, sizeof *zero);
    for (lac_dim_t j = 0; j < count; j++) current[j] = 1.05f + 0.01f * (float)((first + j) % 17);
    for (int i = 0; i < LIF_ROWS; i++)
        for (lac_dim_t j = 0; j < count; j++) v[i * count + j] = 0.125f * (float)((first + j + 3 * i) % 8);
    expect(lac_device_upload(x->ctx, (void *)(uintptr_t)x->lif.current, current,
                             (size_t)count * sizeof *current),
           LAC_OK, "current");
    expect(lac_device_upload(x->ctx, x->lif.v, v, cells * sizeof *v), LAC_OK, "v");
    expect(lac_device_upload(x->ctx, x->input.g, zero, cells * sizeof *zero), LAC_OK, "g");
    expect(lac_device_upload(x->ctx, x->lif.spikes, zero, cells), LAC_OK, "spikes");
    free(current), free(v), free(zero);
}

static void *run_lif(void *arg)
{
    lif_rank_t *self = arg;
    lac_dim_t first = 0, count = self->columns[self->rank];
    for (int r = 0; r < self->rank; r++) first += self->columns[r];
    lif_step_t x = {.ctx = NULL};
    lac_graph_t *graph = NULL;
    lac_comm_t *comm = NULL;
    void *owned[3] = {NULL};
    lac_comm_callbacks_t callbacks = rank_board_callbacks(self->board, self->rank);
    lac_comm_opts_t opts = {.size = sizeof opts, .timeout_s = 4.0, .engine = self->engine};
    bool good = expect(lac_ctx_create_cuda(&x.ctx, self->device, LAC_STREAM_NEW), LAC_OK, "ctx") &&
                expect(lac_comm_from_callbacks(x.ctx, &comm, &callbacks, &opts), LAC_OK, "communicator") &&
                expect(lac_events_create(comm, &x.events, LIF_ROWS, count), LAC_OK, "events");
    if (!good) return NULL; /* the alarm ends the others */
    x.input = (lac_lif_input_t){
        .w = shard_of_w(x.ctx, LIF_ALL, true, first, count, owned), .weight = 0.25f, .decay = 0.75f};
    expect(lac_events_operand(x.events, &x.input.events), LAC_OK, "operand");
    x.input.g = on_device(x.ctx, LAC_F32, LIF_ROWS, count, NULL).buf;
    x.input.received = on_device(x.ctx, LAC_F32, LIF_ROWS, count, NULL).buf;
    x.mine = on_device(x.ctx, LAC_U8, LIF_ROWS, count, NULL);
    x.lif = (lac_lif_t){.size = sizeof x.lif,
                        .m = LIF_ROWS,
                        .n = count,
                        .dt = 0.1f,
                        .tau = 1.0f,
                        .v_threshold = 1.0f,
                        .inputs = 1};
    x.lif.input = &x.input, x.lif.spikes = x.mine.buf;
    x.lif.current = on_device(x.ctx, LAC_F32, 1, count, NULL).buf;
    x.lif.v = on_device(x.ctx, LAC_F32, LIF_ROWS, count, NULL).buf;
    begin_lif(&x, first, count);
    good = expect(lac_lif_step(x.ctx, &x.lif), LAC_OK, "lac_lif_step") &&
           expect(lac_device_wait(x.ctx), LAC_OK, "wait");
    pthread_barrier_wait(self->together);
    begin_lif(&x, first, count); /* nobody has fired: the operand is as it was in the beginning */
    good = good && expect(lac_events_allgather(x.events, &x.mine), LAC_OK, "exchange") &&
           expect(lac_comm_wait(comm), LAC_OK, "wait");
    pthread_barrier_wait(self->together);
    if (good && self->captured)
        good = expect(lac_graph_capture(x.ctx, queue_lif, &x, 1, &graph), LAC_OK, "capture");
    pthread_barrier_wait(self->together);
    for (int t = 0; good && t < LIF_STEPS; t++) {
        good = expect(graph ? lac_graph_launch(graph, 1, NULL) : queue_lif(&x), LAC_OK, "a step") &&
               expect(lac_comm_wait(comm), LAC_OK, "wait");
        lac_device_download(x.ctx, self->seen + t * LIF_ROWS * LIF_ALL, x.input.events.buf,
                            LIF_ROWS * LIF_ALL);
    }
    pthread_barrier_wait(self->together);
    self->done = good;
    lac_graph_free(graph);
    lac_events_free(x.events);
    lac_meta_free(x.input.w.meta);
    void *const memory[] = {owned[0],
                            owned[1],
                            owned[2],
                            x.input.g,
                            x.input.received,
                            x.mine.buf,
                            (void *)(uintptr_t)x.lif.current,
                            x.lif.v};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) lac_device_free(x.ctx, memory[i]);
    lac_comm_free(comm);
    lac_ctx_free(x.ctx);
    return NULL;
}

static void lif_world(int ranks, const lac_dim_t *columns, const char *engine, bool captured,
                      unsigned char *seen)
{
    lif_rank_t rank[2];
    pthread_barrier_t together;
    rank_board_t *board = rank_board_new(ranks);
    size_t bytes = (size_t)LIF_STEPS * LIF_ROWS * LIF_ALL;
    pthread_barrier_init(&together, NULL, (unsigned)ranks);
    for (int r = 0; r < ranks; r++) {
        rank[r] = (lif_rank_t){.ranks = ranks,
                               .rank = r,
                               .device = r,
                               .engine = engine,
                               .columns = columns,
                               .captured = captured,
                               .board = board,
                               .together = &together,
                               .seen = r ? calloc(bytes, 1) : seen};
        pthread_create(&rank[r].thread, NULL, run_lif, &rank[r]);
    }
    for (int r = 0; r < ranks; r++) {
        pthread_join(rank[r].thread, NULL);
        if (!rank[r].done) failed("rank %d of %d did not end well", r, ranks);
    }
    for (int r = 1; r < ranks; r++) {
        if (memcmp(rank[r].seen, seen, bytes)) failed("rank %d saw other events", r);
        free(rank[r].seen);
    }
    pthread_barrier_destroy(&together);
}

void test_lif(void)
{
    static const lac_dim_t whole[] = {LIF_ALL}, shards[] = {1000, 2000};
    static unsigned char want[LIF_STEPS * LIF_ROWS * LIF_ALL], got[LIF_STEPS * LIF_ROWS * LIF_ALL];
    long spikes = 0;
    lif_world(1, whole, "peer", false, want);
    for (size_t e = 0; e < sizeof want; e++) spikes += want[e];
    printf("%s: %ld spikes in %d steps\n", running, spikes, LIF_STEPS);
    if (spikes < LIF_ALL || spikes > (long)sizeof want / 2) failed("%ld spikes", spikes);
    for (int nccl = 0; nccl < 2; nccl++)
        for (int captured = 0; captured < 2; captured++) {
            lif_world(2, shards, nccl ? "nccl" : "peer", captured, got);
            if (memcmp(got, want, sizeof want))
                failed("%s: other spikes than on one device", nccl ? "nccl" : "peer");
        }
}

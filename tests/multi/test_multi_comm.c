/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A sharded network on devices: events of all ranks and products, bitwise those of one device, by each
 * engine, eager and captured; ranks as threads of a process and as processes; ranks that die, lag, or are
 * aborted. What two ranks can do on one device is tested there too. usage: test_multi_comm [test...] */
#include "lacuna/lacuna.h"
#include "rank_board.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SKIP = 77, RANKS = 4, STEPS = 6 };

static const char *running = "";
static _Atomic int failures;

__attribute__((format(printf, 1, 2))) static void failed(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    printf("FAILED %s: %s\n", running, text);
    fflush(stdout);
    failures++;
}

static bool expect(lac_status_t got, lac_status_t want, const char *what)
{
    if (got == want) return true;
    failed("%s: status %d (%s), not %d", what, (int)got, lac_last_error(), (int)want);
    return false;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static unsigned hash(unsigned x)
{
    x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu;
    return x ^ x >> 16;
}

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

/* Nothing here may hang a machine: the program ends where a test takes longer. */
enum { LONGEST_S = 45 };

static void give_up(int signal)
{
    static const char text[] =
        "FAILED: a test takes too long; the last line says which one ended before it\n";
    (void)signal;
    if (write(1, text, sizeof text - 1) < 0) _exit(2);
    _exit(1);
}

static lac_dim_t all_columns(const net_t *net)
{
    lac_dim_t all = 0;
    for (int r = 0; r < net->ranks; r++) all += net->columns[r];
    return all;
}

static float weight(lac_dim_t k, lac_dim_t j)
{
    unsigned x = hash((unsigned)(k * 40503 + j));
    return x % 4 ? (float)((int)(x >> 8 & 1023) - 512) / 512.0f : 0.0f;
}

static lac_obj_t on_device(lac_ctx_t *ctx, lac_dt_t dt, lac_dim_t m, lac_dim_t n, const void *from)
{
    lac_obj_t x = lac_obj_rowmajor(dt, m, n, NULL, n > 0 ? n : 1);
    size_t bytes = (size_t)(m * n) * (dt == LAC_F32 ? 4 : 1);
    x.space = LAC_DEVICE;
    expect(lac_device_alloc(ctx, bytes, &x.buf), LAC_OK, "alloc");
    if (from && bytes) expect(lac_device_upload(ctx, x.buf, from, bytes), LAC_OK, "upload");
    return x;
}

/* The shard of W, columns [first, first + count), dense or CSR on the device. */
static lac_obj_t shard_of_w(lac_ctx_t *ctx, const net_t *net, lac_dim_t first, lac_dim_t count,
                            void *owned[3])
{
    lac_dim_t all = all_columns(net);
    float *w = malloc((size_t)(all * count) * sizeof *w + 1),
          *val = malloc((size_t)(all * count) * sizeof *val + 1);
    int32_t *idx = malloc((size_t)(all * count) * sizeof *idx + 1),
            *ptr = malloc((size_t)(all + 1) * sizeof *ptr), nnz = 0;
    for (lac_dim_t k = 0; k < all; k++) {
        ptr[k] = nnz;
        for (lac_dim_t j = 0; j < count; j++) {
            float x = w[k * count + j] = weight(k, first + j);
            if (x != 0.0f && hash((unsigned)(k * 31 + first + j)) % 8 == 0)
                idx[nnz] = (int32_t)j, val[nnz++] = x;
        }
    }
    ptr[all] = nnz;
    lac_obj_t b;
    if (!net->sparse) {
        b = on_device(ctx, LAC_F32, all, count, w);
        owned[0] = b.buf;
    } else {
        lac_obj_t arrays[3] = {on_device(ctx, LAC_F32, 1, all + 1, ptr), on_device(ctx, LAC_F32, 1, nnz, idx),
                               on_device(ctx, LAC_F32, 1, nnz, val)};
        for (int i = 0; i < 3; i++) owned[i] = arrays[i].buf;
        b = lac_obj_rowmajor(LAC_F32, all, count, NULL, count > 0 ? count : 1);
        b.space = LAC_DEVICE;
        expect(lac_meta_create_for(ctx, &b.meta, all, count), LAC_OK, "meta");
        expect(lac_meta_attach_csr(b.meta, LAC_I32, owned[0], owned[1], owned[2]), LAC_OK, "attach");
        expect(lac_meta_freeze(b.meta), LAC_OK, "freeze");
    }
    free(w), free(val), free(idx), free(ptr);
    return b;
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
        x.w = shard_of_w(x.ctx, net, first, count, owned);
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

static int devices;

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

static void test_one_device(void)
{
    static const int same[RANKS];
    each_net("peer", same, RANKS, true);
}

static void test_peers(void)
{
    static const int turns[RANKS] = {0, 1};
    each_net("peer", turns, 2, true);
    each_net(NULL, turns, 2, true);
}

static void test_nccl(void)
{
    static const int turns[RANKS] = {0, 1};
    each_net("nccl", turns, 2, false);
    each_net("nccl", turns, 2, true);
    each_net("peer", turns, 2, false);
}

/* Integrate-and-fire neurons on sparse weights, each rank with its columns; sums of weights are exact. */
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
    net_t net = {.ranks = 1, .columns = {LIF_ALL}, .sparse = true};
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
    x.input =
        (lac_lif_input_t){.w = shard_of_w(x.ctx, &net, first, count, owned), .weight = 0.25f, .decay = 0.75f};
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

static void test_lif(void)
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

/* Ranks as processes ------------------------------------------------------------------------------------ */

typedef enum fate { LIVES, DIES, LAGS } fate_t;

static lac_comm_t *open_comm(lac_ctx_t **ctx, rank_board_t *board, int rank, int device, const char *engine,
                             double timeout_s)
{
    lac_comm_t *comm = NULL;
    lac_comm_callbacks_t callbacks = rank_board_callbacks(board, rank);
    lac_comm_opts_t opts = {.size = sizeof opts, .timeout_s = timeout_s, .engine = engine};
    if (!expect(lac_ctx_create_cuda(ctx, device, LAC_STREAM_NEW), LAC_OK, "ctx")) return NULL;
    lac_status_t status = lac_comm_from_callbacks(*ctx, &comm, &callbacks, &opts);
    if (status == LAC_ERR_UNAVAILABLE)
        printf("%s: %s\n", running, lac_last_error());
    else
        expect(status, LAC_OK, "communicator");
    return comm;
}

/* Some exchanges; the columns of each rank are full in turns. */
static int steps_of(lac_ctx_t *ctx, lac_comm_t *comm, lac_events_t *events, int rank, int steps)
{
    enum { COLUMNS = 40 };
    float full[COLUMNS];
    unsigned char got[2 * COLUMNS];
    lac_obj_t mine = on_device(ctx, LAC_F32, 1, COLUMNS, NULL), s;
    int bad = 0;
    lac_events_operand(events, &s);
    for (int t = 0; t < steps && !bad; t++) {
        for (int j = 0; j < COLUMNS; j++) full[j] = (float)(t % 2 == rank);
        lac_device_upload(ctx, mine.buf, full, sizeof full);
        bad |= !expect(lac_events_allgather(events, &mine), LAC_OK, "exchange");
        bad |= !expect(lac_comm_wait(comm), LAC_OK, "wait");
        lac_device_download(ctx, got, s.buf, sizeof got);
        for (int j = 0; j < 2 * COLUMNS; j++) bad |= got[j] != (t % 2 == j / COLUMNS);
    }
    lac_device_free(ctx, mine.buf);
    return bad;
}

/* Runs before this process has touched CUDA, in a child of its own: so may fork again. */
static int pair(const char *engine, fate_t fate, int second_device)
{
    rank_board_t *board = rank_board_new(2);
    lac_ctx_t *ctx = NULL;
    lac_events_t *events = NULL;
    int how = 0;
    double limit = fate == LIVES ? 20.0 : 1.0;
    pid_t child = fork();
    int rank = child == 0;
    alarm(20);
    lac_comm_t *comm = open_comm(&ctx, board, rank, rank ? second_device : 0, engine, rank ? 20.0 : limit);
    if (!comm) _exit(failures ? 1 : SKIP);
    if (!expect(lac_events_create(comm, &events, 1, 40), LAC_OK, "events")) _exit(1);
    if (steps_of(ctx, comm, events, rank, 9)) failed("rank %d: other events", rank);
    if (rank && fate == DIES) raise(SIGKILL);
    if (rank && fate == LAGS) {
        usleep(4000000);
        _exit(failures != 0);
    }
    if (fate == LIVES) {
        lac_events_free(events);
        lac_comm_free(comm);
        lac_ctx_free(ctx);
        if (rank) _exit(failures != 0);
        waitpid(child, &how, 0);
        return failures || how;
    }
    lac_obj_t mine = on_device(ctx, LAC_F32, 1, 40, NULL);
    double begin = now_s();
    lac_status_t status = lac_events_allgather(events, &mine);
    if (!status) status = lac_comm_wait(comm);
    double took = now_s() - begin;
    if (status != LAC_ERR_TIMEOUT && status != LAC_ERR_VENDOR)
        failed("a rank that %s: status %d", fate == DIES ? "died" : "lags", status);
    printf("%s: by %s, a rank that %s: %s after %.2f s\n", running, lac_comm_engine(comm),
           fate == DIES ? "died" : "lags", lac_status_text(status), took);
    if (took > 5.0) failed("it took %.1f s", took);
    expect(lac_comm_status(comm), status, "it stays so");
    /* The device goes on: a new communicator, of this rank alone. */
    lac_ctx_t *other = NULL;
    lac_comm_t *alone = open_comm(&other, rank_board_new(1), 0, 0, NULL, 5.0);
    lac_events_t *rest = NULL;
    lac_obj_t x = on_device(other, LAC_F32, 1, 40, NULL);
    if (alone && expect(lac_events_create(alone, &rest, 1, 40), LAC_OK, "alone"))
        expect(lac_events_allgather(rest, &x), LAC_OK, "alone"),
            expect(lac_comm_wait(alone), LAC_OK, "alone");
    lac_events_free(rest);
    lac_comm_free(alone);
    lac_events_free(events);
    lac_comm_free(comm);
    waitpid(child, &how, 0);
    fflush(stdout);
    return failures != 0;
}

static void pairs(int second_device)
{
    static const char *const engines[] = {"peer", "nccl"};
    for (int e = 0; e < 2; e++)
        for (int fate = LIVES; fate <= LAGS; fate++) {
            if (e == 1 && second_device == 0) continue; /* NCCL wants a device for each */
            int how = 0;
            fflush(stdout);
            pid_t child = fork();
            if (!child) {
                int code = pair(engines[e], (fate_t)fate, second_device);
                fflush(stdout);
                _exit(code);
            }
            for (double end = now_s() + 20.0; waitpid(child, &how, WNOHANG) == 0; usleep(10000))
                if (now_s() > end) {
                    kill(child, SIGKILL);
                    failed("%s, fate %d: hangs", engines[e], fate);
                }
            if (!WIFEXITED(how) || (WEXITSTATUS(how) && WEXITSTATUS(how) != SKIP))
                failed("%s, fate %d: %#x", engines[e], fate, how);
        }
}

static void test_processes_one_device(void)
{
    pairs(0);
}

static void test_processes(void)
{
    pairs(1);
}

/* Aborted from another thread while it waits. */
static void *abort_soon(void *arg)
{
    usleep(200000);
    expect(lac_comm_abort(arg), LAC_OK, "abort");
    return NULL;
}

typedef struct half {
    rank_board_t *board;
    const char *engine;
    int device, rank;
    pthread_barrier_t *both;
} half_t;

static void *abort_rank(void *arg)
{
    const half_t *self = arg;
    lac_ctx_t *ctx = NULL;
    lac_events_t *events = NULL;
    pthread_t other;
    lac_comm_t *comm = open_comm(&ctx, self->board, self->rank, self->device, self->engine, 20.0);
    if (comm && expect(lac_events_create(comm, &events, 1, 40), LAC_OK, "events")) {
        lac_obj_t mine = on_device(ctx, LAC_F32, 1, 40, NULL);
        if (self->rank == 0) {
            double begin = now_s();
            pthread_create(&other, NULL, abort_soon, comm);
            /* To which nobody comes; NCCL connects in its first, and waits for the others in the call. */
            lac_status_t status = lac_events_allgather(events, &mine);
            if (!status) status = lac_comm_wait(comm);
            expect(status, LAC_ERR_ABORTED, "aborted");
            pthread_join(other, NULL);
            expect(lac_events_allgather(events, &mine), LAC_ERR_ABORTED, "it stays so");
            if (now_s() - begin > 5.0) failed("it took %.1f s", now_s() - begin);
        }
    }
    pthread_barrier_wait(self->both);
    if (self->rank == 1) lac_comm_abort(comm);
    lac_events_free(events);
    lac_comm_free(comm);
    lac_ctx_free(ctx);
    return NULL;
}

static void abort_by(const char *engine, int second_device)
{
    pthread_t thread[2];
    pthread_barrier_t both;
    rank_board_t *board = rank_board_new(2);
    half_t half[2] = {{board, engine, 0, 0, &both}, {board, engine, second_device, 1, &both}};
    pthread_barrier_init(&both, NULL, 2);
    for (int r = 0; r < 2; r++) pthread_create(&thread[r], NULL, abort_rank, &half[r]);
    for (int r = 0; r < 2; r++) pthread_join(thread[r], NULL);
    pthread_barrier_destroy(&both);
}

static void test_abort(void)
{
    abort_by("peer", devices > 1);
    printf("%s: peer ended\n", running);
    fflush(stdout);
    if (devices > 1) abort_by("nccl", 1);
}

typedef struct test {
    const char *name;
    void (*run)(void);
    int devices;
} test_t;

static int count_devices(void)
{
    int count = 0;
    for (lac_ctx_t *ctx; count < 2 && !lac_ctx_create_cuda(&ctx, count, LAC_STREAM_NEW); count++)
        lac_ctx_free(ctx);
    return count;
}

/* In a child: CUDA and fork do not go together. */
static int ask_devices(void)
{
    int how = 0;
    pid_t child = fork();
    if (!child) _exit(count_devices());
    waitpid(child, &how, 0);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 0;
}

int main(int argc, char **argv)
{
    static const test_t tests[] = {
        {"processes_one_device", test_processes_one_device, 1}, /* these fork: before CUDA is used */
        {"processes", test_processes, 2},
        {"one_device", test_one_device, 1},
        {"peers", test_peers, 2},
        {"nccl", test_nccl, 2},
        {"lif", test_lif, 2},
        {"abort", test_abort, 1}};
    int ran = 0;
    signal(SIGALRM, give_up);
    /* A queue for each stream of all ranks that share a device: an exchange that waits in a queue that two
     * share would be waited for by the rank that it waits for. */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
    devices = ask_devices();
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        bool wanted = argc < 2;
        for (int a = 1; a < argc; a++) wanted |= !strcmp(argv[a], tests[i].name);
        if (!wanted) continue;
        if (devices < tests[i].devices) {
            printf("skipped: %s: %d devices, and it wants %d\n", tests[i].name, devices, tests[i].devices);
            continue;
        }
        running = tests[i].name;
        int before = failures;
        double begin = now_s();
        alarm(LONGEST_S);
        tests[i].run();
        alarm(0);
        printf("%s %s (%.1f s)\n", failures == before ? "right:" : "WRONG:", running, now_s() - begin);
        fflush(stdout);
        ran++;
    }
    return failures ? 1 : ran ? 0 : SKIP;
}

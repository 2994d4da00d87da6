/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Ranks on the host: the events of all, as one device would have them, whatever the shards; and every way in
 * which another rank can fail to come, as a status within the time-out. */
#include "unit_support.h"
#include "rank_board.h"
#include "lacuna/lacuna.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 3, STEPS = 5, NEURONS = 150 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static lac_comm_t *open_comm(lac_ctx_t *ctx, rank_board_t *board, int rank, double timeout_s)
{
    lac_comm_t *comm;
    lac_comm_callbacks_t callbacks = rank_board_callbacks(board, rank);
    lac_comm_opts_t opts = {.size = sizeof opts, .timeout_s = timeout_s};
    unit_expect(lac_comm_from_callbacks(ctx, &comm, &callbacks, &opts), LAC_OK, "lac_comm_from_callbacks");
    return comm;
}

/* The network: column j of all neurons spikes in row i at step t where this says so. */
static bool spikes(int t, int i, lac_dim_t j)
{
    unsigned x = (unsigned)(t * 7919 + i * 104729) + (unsigned)j * 2654435761u;
    x ^= x >> 13, x *= 0x5bd1e995u, x ^= x >> 15;
    return x % 9 == 0;
}

/* How a rank's share lies in memory. */
typedef enum layout { BY_ROWS, BY_COLUMNS, PADDED, BYTES, DOUBLES, TRANSPOSED, LAYOUTS } layout_t;

typedef struct world {
    rank_board_t *board;
    const lac_dim_t *columns; /* [ranks] */
    int ranks;
    layout_t layout;
} world_t;

typedef struct rank {
    pthread_t thread;
    const world_t *world;
    int rank;
    float *sums; /* of the last step's product */
} rank_t;

static lac_obj_t share(layout_t layout, lac_dim_t columns, void *memory)
{
    lac_obj_t x = lac_obj_rowmajor(layout == BYTES     ? LAC_U8
                                   : layout == DOUBLES ? LAC_F64
                                                       : LAC_F32,
                                   ROWS, columns, memory, columns);
    if (layout == BY_COLUMNS) x.rs = 1, x.cs = ROWS;
    if (layout == PADDED) x.rs = 2 * columns + 3, x.cs = 2;
    if (layout == TRANSPOSED) x.m = columns, x.n = ROWS, x.rs = ROWS, x.cs = 1, x.trans = LAC_TRANS;
    return x;
}

static void set(const lac_obj_t *x, lac_dim_t i, lac_dim_t j, bool event)
{
    lac_inc_t at = x->trans ? j * x->rs + i * x->cs : i * x->rs + j * x->cs;
    if (x->dt == LAC_U8)
        ((unsigned char *)x->buf)[at] = event ? 200 : 0;
    else if (x->dt == LAC_F64)
        ((double *)x->buf)[at] = event ? 1e-300 : -0.0;
    else
        ((float *)x->buf)[at] = event ? -0.5f : (i + j) % 2 ? 0.0f : -0.0f;
}

static void *run_rank(void *arg)
{
    rank_t *self = arg;
    const world_t *world = self->world;
    lac_dim_t mine = world->columns[self->rank], all = 0, before = 0, first, count;
    lac_ctx_t *ctx;
    lac_events_t *events;
    lac_obj_t operand;
    for (int r = 0; r < world->ranks; r++) {
        if (r == self->rank) before = all;
        all += world->columns[r];
    }
    unit_expect(lac_ctx_create(&ctx), LAC_OK, "lac_ctx_create");
    lac_comm_t *comm = open_comm(ctx, world->board, self->rank, 20.0);
    assert_int_equal(lac_comm_rank(comm), self->rank);
    assert_int_equal(lac_comm_ranks(comm), world->ranks);
    assert_string_equal(lac_comm_engine(comm), "host");
    unit_expect(lac_events_create(comm, &events, ROWS, mine), LAC_OK, "lac_events_create");
    unit_expect(lac_events_columns(events, self->rank, &first, &count), LAC_OK, "lac_events_columns");
    assert_int_equal(first, before);
    assert_int_equal(count, mine);
    unit_expect(lac_events_operand(events, &operand), LAC_OK, "lac_events_operand");
    assert_int_equal(operand.n, all);
    void *memory = calloc((size_t)(ROWS * (2 * mine + 4) + 1), sizeof(double));
    float *w = malloc((size_t)(all * 4) * sizeof *w + 1);
    assert_non_null(memory);
    assert_non_null(w);
    for (lac_dim_t e = 0; e < all * 4; e++) w[e] = (float)(e % 17) - 8.0f;
    lac_obj_t x = share(world->layout, mine, memory), weight = lac_obj_rowmajor(LAC_F32, all, 4, w, 4),
              c = lac_obj_rowmajor(LAC_F32, ROWS, 4, self->sums, 4);
    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < ROWS; i++)
            for (lac_dim_t j = 0; j < mine; j++) set(&x, i, j, spikes(t, i, before + j));
        unit_expect(lac_events_allgather(events, &x), LAC_OK, "lac_events_allgather");
        for (int i = 0; i < ROWS; i++)
            for (lac_dim_t j = 0; j < all; j++)
                if (((unsigned char *)operand.buf)[i * all + j] != spikes(t, i, j))
                    fail_msg("rank %d step %d: (%d, %d) is %d", self->rank, t, i, (int)j,
                             ((unsigned char *)operand.buf)[i * all + j]);
        unit_expect(lac_gemm(ctx, NULL, &operand, &weight, NULL, &c), LAC_OK, "lac_gemm");
    }
    unit_expect(lac_comm_wait(comm), LAC_OK, "lac_comm_wait");
    lac_events_free(events);
    lac_comm_free(comm);
    lac_ctx_free(ctx);
    free(memory);
    free(w);
    return NULL;
}

static void run_world(int ranks, const lac_dim_t *columns, layout_t layout)
{
    world_t world = {rank_board_new(ranks), columns, ranks, layout};
    rank_t rank[BOARD_RANKS];
    float sums[BOARD_RANKS][ROWS * 4];
    assert_non_null(world.board);
    for (int r = 0; r < ranks; r++) {
        rank[r] = (rank_t){.world = &world, .rank = r, .sums = sums[r]};
        assert_int_equal(pthread_create(&rank[r].thread, NULL, run_rank, &rank[r]), 0);
    }
    for (int r = 0; r < ranks; r++) pthread_join(rank[r].thread, NULL);
    for (int r = 1; r < ranks; r++) assert_memory_equal(sums[r], sums[0], sizeof sums[0]);
}

static void test_shards(void **state)
{
    static const struct {
        int ranks;
        lac_dim_t columns[4];
    } worlds[] = {{1, {NEURONS}},   {2, {75, 75}},        {2, {1, 149}},     {2, {0, 33}},
                  {3, {32, 0, 64}}, {4, {31, 33, 1, 65}}, {4, {0, 0, 0, 2}}, {4, {64, 32, 32, 0}}};
    (void)state;
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++)
        for (int layout = 0; layout < LAYOUTS; layout++)
            run_world(worlds[i].ranks, worlds[i].columns, (layout_t)layout);
}

/* A network of integrate-and-fire neurons on sparse weights, each rank with its columns: the spikes of one
 * rank. Weights are such that sums of them are exact. */
enum { LIF_STEPS = 60 };

/* The columns [first, first + count) of W as CSR: a tenth of them, of either sign. */
typedef struct synapses {
    int32_t *ptr, *idx;
    float *val;
} synapses_t;

static synapses_t synapses_of(lac_dim_t all, lac_dim_t first, lac_dim_t count)
{
    size_t most = (size_t)(all * count) + 1;
    synapses_t s = {calloc((size_t)all + 1, sizeof *s.ptr), calloc(most, sizeof *s.idx),
                    calloc(most, sizeof *s.val)};
    int32_t entries = 0;
    assert_true(s.ptr && s.idx && s.val);
    for (lac_dim_t k = 0; k < all; k++) {
        for (lac_dim_t j = 0; j < count; j++) {
            unsigned x = (unsigned)(k * 40503 + (first + j) * 9973) * 2654435761u;
            x ^= x >> 15, x *= 0x2c1b3c6du, x ^= x >> 13;
            if (x % 10 == 0)
                s.idx[entries] = (int32_t)j, s.val[entries++] = (float)((int)(x >> 8 & 63) - 20) / 64.0f;
        }
        s.ptr[k + 1] = entries;
    }
    return s;
}

typedef struct lif_rank {
    pthread_t thread;
    rank_board_t *board;
    const lac_dim_t *columns;
    int ranks, rank;
    unsigned char *seen; /* [LIF_STEPS][ROWS][all] */
} lif_rank_t;

static void *run_lif(void *arg)
{
    lif_rank_t *self = arg;
    lac_dim_t all = 0, first = 0, count = self->columns[self->rank];
    lac_ctx_t *ctx;
    lac_events_t *events;
    lac_meta_t *meta;
    lac_obj_t operand, mine;
    for (int r = 0; r < self->ranks; r++) {
        if (r == self->rank) first = all;
        all += self->columns[r];
    }
    size_t cells = (size_t)(ROWS * count);
    float *v = calloc(cells, sizeof *v), *g = calloc(cells, sizeof *g),
          *received = calloc(cells, sizeof *received), *current = calloc((size_t)count, sizeof *current);
    unsigned char *spikes = calloc(cells, 1);
    assert_true(v && g && received && current && spikes);
    synapses_t s = synapses_of(all, first, count);
    unit_expect(lac_ctx_create(&ctx), LAC_OK, "ctx");
    lac_comm_t *comm = open_comm(ctx, self->board, self->rank, 20.0);
    unit_expect(lac_events_create(comm, &events, ROWS, count), LAC_OK, "events");
    unit_expect(lac_events_operand(events, &operand), LAC_OK, "operand");
    unit_expect(lac_meta_create(&meta, all, count), LAC_OK, "meta");
    unit_expect(lac_meta_attach_csr(meta, LAC_I32, s.ptr, s.idx, s.val), LAC_OK, "attach");
    lac_lif_input_t input = {.events = operand,
                             .w = lac_obj_rowmajor(LAC_F32, all, count, NULL, count),
                             .weight = 0.5f,
                             .decay = 0.75f,
                             .g = g,
                             .received = received};
    input.w.meta = meta;
    for (lac_dim_t j = 0; j < count; j++) current[j] = 1.05f + 0.01f * (float)((first + j) % 17);
    for (int i = 0; i < ROWS; i++)
        for (lac_dim_t j = 0; j < count; j++) v[i * count + j] = 0.125f * (float)((first + j + 3 * i) % 8);
    lac_lif_t lif = {.size = sizeof lif,
                     .m = ROWS,
                     .n = count,
                     .dt = 0.1f,
                     .tau = 1.0f,
                     .v_threshold = 1.0f,
                     .current = current,
                     .v = v,
                     .spikes = spikes,
                     .inputs = 1,
                     .input = &input};
    mine = lac_obj_rowmajor(LAC_U8, ROWS, count, spikes, count);
    for (int t = 0; t < LIF_STEPS; t++) {
        unit_expect(lac_lif_step(ctx, &lif), LAC_OK, "lac_lif_step");
        unit_expect(lac_events_allgather(events, &mine), LAC_OK, "lac_events_allgather");
        memcpy(self->seen + t * ROWS * all, operand.buf, (size_t)(ROWS * all));
    }
    lac_events_free(events);
    lac_comm_free(comm);
    lac_meta_free(meta);
    lac_ctx_free(ctx);
    free(v), free(g), free(received), free(current), free(spikes);
    free(s.ptr), free(s.idx), free(s.val);
    return NULL;
}

static void lif_world(int ranks, const lac_dim_t *columns, unsigned char *seen)
{
    lif_rank_t rank[BOARD_RANKS];
    rank_board_t *board = rank_board_new(ranks);
    for (int r = 0; r < ranks; r++) {
        rank[r] = (lif_rank_t){.board = board, .columns = columns, .ranks = ranks, .rank = r};
        rank[r].seen = r ? calloc((size_t)LIF_STEPS * ROWS * NEURONS, 1) : seen;
        assert_int_equal(pthread_create(&rank[r].thread, NULL, run_lif, &rank[r]), 0);
    }
    for (int r = 0; r < ranks; r++) pthread_join(rank[r].thread, NULL);
    for (int r = 1; r < ranks; r++) {
        assert_memory_equal(rank[r].seen, seen, (size_t)LIF_STEPS * ROWS * NEURONS);
        free(rank[r].seen);
    }
}

static void test_integrate_and_fire(void **state)
{
    static const lac_dim_t whole[] = {NEURONS}, halves[] = {75, 75}, uneven[] = {1, 100, 17, 32};
    static unsigned char want[LIF_STEPS * ROWS * NEURONS], got[LIF_STEPS * ROWS * NEURONS];
    long spikes = 0;
    (void)state;
    lif_world(1, whole, want);
    for (size_t e = 0; e < sizeof want; e++) spikes += want[e];
    assert_in_range(spikes, LIF_STEPS, (long)sizeof want / 2);
    lif_world(2, halves, got);
    assert_memory_equal(got, want, sizeof want);
    lif_world(4, uneven, got);
    assert_memory_equal(got, want, sizeof want);
}

/* One rank of two whose other one never comes. */
static void test_nobody_comes(void **state)
{
    lac_ctx_t *ctx;
    lac_events_t *events;
    (void)state;
    unit_expect(lac_ctx_create(&ctx), LAC_OK, "ctx");
    lac_comm_t *comm = open_comm(ctx, rank_board_new(2), 0, 0.1);
    double begin = now_s();
    unit_expect(lac_events_create(comm, &events, 1, 5), LAC_ERR_TIMEOUT, "nobody comes");
    assert_null(events);
    assert_true(now_s() - begin >= 0.1 && now_s() - begin < 5.0);
    begin = now_s();
    unit_expect(lac_events_create(comm, &events, 1, 5), LAC_ERR_TIMEOUT, "and again");
    unit_expect(lac_comm_status(comm), LAC_ERR_TIMEOUT, "status");
    unit_expect(lac_comm_wait(comm), LAC_ERR_TIMEOUT, "wait");
    assert_true(now_s() - begin < 0.1); /* nobody is waited for twice */
    lac_comm_free(comm);
    lac_ctx_free(ctx);
}

/* What becomes of the second rank, a child process, after some exchanges. */
typedef enum fate { DIES, LAGS, STOPS, FATES } fate_t;

static lac_events_t *open_events(lac_comm_t *comm, lac_dim_t columns)
{
    lac_events_t *events;
    unit_expect(lac_events_create(comm, &events, 1, columns), LAC_OK, "events");
    return events;
}

static void second_rank(rank_board_t *board, fate_t fate)
{
    lac_ctx_t *ctx;
    float x[5] = {1, 0, 1, 0, 1};
    lac_obj_t mine = lac_obj_rowmajor(LAC_F32, 1, 5, x, 5);
    if (lac_ctx_create(&ctx)) _exit(3);
    lac_comm_t *comm = open_comm(ctx, board, 1, 5.0);
    lac_events_t *events = open_events(comm, 5);
    for (int t = 0; t < 3; t++)
        if (lac_events_allgather(events, &mine)) _exit(4);
    if (fate == DIES) raise(SIGKILL);
    if (fate == LAGS) usleep(600000);
    if (fate == STOPS) raise(SIGSTOP);
    lac_status_t late = lac_events_allgather(events, &mine);
    _exit(late == LAC_OK || late == LAC_ERR_TIMEOUT ? 0 : 5);
}

static void test_a_rank_fails(void **state)
{
    (void)state;
    for (int fate = 0; fate < FATES; fate++) {
        rank_board_t *board = rank_board_new(2);
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child) second_rank(board, (fate_t)fate);
        lac_ctx_t *ctx;
        float x[3] = {0, 1, 1};
        lac_obj_t mine = lac_obj_rowmajor(LAC_F32, 1, 3, x, 3), operand;
        unit_expect(lac_ctx_create(&ctx), LAC_OK, "ctx");
        lac_comm_t *comm = open_comm(ctx, board, 0, 0.25);
        lac_events_t *events = open_events(comm, 3);
        for (int t = 0; t < 3; t++)
            unit_expect(lac_events_allgather(events, &mine), LAC_OK, "while it lives");
        double begin = now_s();
        unit_expect(lac_events_allgather(events, &mine), LAC_ERR_TIMEOUT, "once it does not");
        assert_true(now_s() - begin < 3.0);
        unit_expect(lac_events_allgather(events, &mine), LAC_ERR_TIMEOUT, "it stays so");
        /* Without it, the others go on by themselves. */
        lac_comm_t *alone = open_comm(ctx, rank_board_new(1), 0, 1.0);
        lac_events_t *rest = open_events(alone, 3);
        unit_expect(lac_events_allgather(rest, &mine), LAC_OK, "alone");
        unit_expect(lac_events_operand(rest, &operand), LAC_OK, "operand");
        assert_memory_equal(operand.buf, "\0\1\1", 3);
        lac_events_free(rest);
        lac_comm_free(alone);
        lac_events_free(events);
        lac_comm_free(comm);
        lac_ctx_free(ctx);
        int how;
        if (fate == STOPS) kill(child, SIGKILL);
        waitpid(child, &how, 0);
        if (fate == LAGS) assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    }
}

static void *abort_soon(void *arg)
{
    usleep(50000);
    lac_comm_abort(arg);
    return NULL;
}

static void test_abort(void **state)
{
    lac_ctx_t *ctx;
    lac_events_t *events;
    pthread_t other;
    (void)state;
    unit_expect(lac_ctx_create(&ctx), LAC_OK, "ctx");
    lac_comm_t *comm = open_comm(ctx, rank_board_new(2), 0, 30.0);
    assert_int_equal(pthread_create(&other, NULL, abort_soon, comm), 0);
    double begin = now_s();
    unit_expect(lac_events_create(comm, &events, 1, 5), LAC_ERR_ABORTED, "aborted meanwhile");
    assert_true(now_s() - begin < 10.0);
    pthread_join(other, NULL);
    unit_expect(lac_comm_status(comm), LAC_ERR_ABORTED, "it stays so");
    lac_comm_free(comm);
    lac_ctx_free(ctx);
}

static void test_callbacks_fail(void **state)
{
    (void)state;
    for (int test = 0; test < 2; test++) {
        lac_ctx_t *ctx;
        lac_comm_t *comm;
        lac_events_t *events;
        lac_comm_callbacks_t callbacks = rank_board_callbacks(rank_board_new(1), 0);
        unit_expect(lac_ctx_create(&ctx), LAC_OK, "ctx");
        unit_expect(lac_comm_from_callbacks(ctx, &comm, &callbacks, NULL), LAC_OK, "comm");
        rank_board_fail(&callbacks, !test, test);
        unit_expect(lac_events_create(comm, &events, 1, 5), LAC_ERR_VENDOR, "a callback fails");
        assert_non_null(strstr(lac_last_error(), test ? "callbacks.test" : "callbacks.gather"));
        unit_expect(lac_comm_status(comm), LAC_ERR_VENDOR, "it stays so");
        lac_comm_free(comm);
        lac_ctx_free(ctx);
    }
}

#define REFUSED(call, status, word)                                                                          \
    do {                                                                                                     \
        unit_expect(call, status, #call);                                                                    \
        if (!strstr(lac_last_error(), word)) fail_msg("%s: '%s' lacks '%s'", #call, lac_last_error(), word); \
    } while (0)

static void test_arguments(void **state)
{
    lac_ctx_t *ctx;
    lac_comm_t *comm;
    lac_events_t *events;
    lac_dim_t first, count;
    lac_comm_id_t id = {{0}};
    float x[8] = {0};
    (void)state;
    unit_expect(lac_ctx_create(&ctx), LAC_OK, "ctx");
    lac_comm_callbacks_t good = rank_board_callbacks(rank_board_new(1), 0), bad = good;
    lac_comm_opts_t opts = {.size = 3};
    REFUSED(lac_comm_make_id(NULL), LAC_ERR_NULL, "id");
    REFUSED(lac_comm_create(ctx, NULL, &id, 1, 0, NULL), LAC_ERR_NULL, "comm");
    REFUSED(lac_comm_create(NULL, &comm, &id, 1, 0, NULL), LAC_ERR_NULL, "ctx");
    REFUSED(lac_comm_create(ctx, &comm, NULL, 1, 0, NULL), LAC_ERR_NULL, "id");
    REFUSED(lac_comm_create(ctx, &comm, &id, 0, 0, NULL), LAC_ERR_VALUE, "ranks");
    REFUSED(lac_comm_create(ctx, &comm, &id, 2, 2, NULL), LAC_ERR_VALUE, "rank");
    REFUSED(lac_comm_create(ctx, &comm, &id, 2, -1, NULL), LAC_ERR_VALUE, "rank");
    REFUSED(lac_comm_create(ctx, &comm, &id, 2, 0, &opts), LAC_ERR_VALUE, "opts.size");
    opts = (lac_comm_opts_t){.size = sizeof opts, .timeout_s = -1.0};
    REFUSED(lac_comm_create(ctx, &comm, &id, 2, 0, &opts), LAC_ERR_VALUE, "opts.timeout_s");
    opts = (lac_comm_opts_t){.size = sizeof opts, .engine = "mail"};
    REFUSED(lac_comm_create(ctx, &comm, &id, 2, 0, &opts), LAC_ERR_VALUE, "opts.engine");
    REFUSED(lac_comm_create(ctx, &comm, &id, 2, 0, NULL), LAC_ERR_UNAVAILABLE, "host context");
    REFUSED(lac_comm_wrap(ctx, &comm, NULL, NULL), LAC_ERR_NULL, "nccl_comm");
    REFUSED(lac_comm_wrap(ctx, &comm, x, NULL), LAC_ERR_UNAVAILABLE, "host context");
    assert_null(comm);
    REFUSED(lac_comm_from_callbacks(ctx, &comm, NULL, NULL), LAC_ERR_NULL, "callbacks");
    bad.size = 8;
    REFUSED(lac_comm_from_callbacks(ctx, &comm, &bad, NULL), LAC_ERR_VALUE, "callbacks.size");
    bad = good, bad.gather = NULL;
    REFUSED(lac_comm_from_callbacks(ctx, &comm, &bad, NULL), LAC_ERR_NULL, "callbacks.gather");
    bad = good, bad.test = NULL;
    REFUSED(lac_comm_from_callbacks(ctx, &comm, &bad, NULL), LAC_ERR_NULL, "callbacks.test");
    bad = good, bad.rank = 1;
    REFUSED(lac_comm_from_callbacks(ctx, &comm, &bad, NULL), LAC_ERR_VALUE, "callbacks.rank");
    unit_expect(lac_comm_from_callbacks(ctx, &comm, &good, NULL), LAC_OK, "good");
    REFUSED(lac_events_create(NULL, &events, 1, 1), LAC_ERR_NULL, "comm");
    REFUSED(lac_events_create(comm, NULL, 1, 1), LAC_ERR_NULL, "events");
    REFUSED(lac_events_create(comm, &events, -1, 1), LAC_ERR_EXTENT, "negative");
    REFUSED(lac_events_create(comm, &events, INT64_C(1) << 40, INT64_C(1) << 40), LAC_ERR_EXTENT, "overflow");
    unit_expect(lac_events_create(comm, &events, 2, 3), LAC_OK, "events");
    lac_obj_t mine = lac_obj_rowmajor(LAC_F32, 2, 3, x, 3), operand, other = mine;
    REFUSED(lac_events_allgather(NULL, &mine), LAC_ERR_NULL, "events");
    REFUSED(lac_events_allgather(events, NULL), LAC_ERR_NULL, "mine");
    other.n = 2;
    REFUSED(lac_events_allgather(events, &other), LAC_ERR_EXTENT, "mine");
    other = mine, other.buf = NULL;
    REFUSED(lac_events_allgather(events, &other), LAC_ERR_EMPTY, "mine");
    other = mine, other.space = LAC_DEVICE;
    REFUSED(lac_events_allgather(events, &other), LAC_ERR_SPACE, "mine");
    other = mine, other.rs = 2;
    REFUSED(lac_events_allgather(events, &other), LAC_ERR_STRIDE, "mine");
    unit_expect(lac_events_operand(events, &operand), LAC_OK, "operand");
    REFUSED(lac_events_allgather(events, &operand), LAC_ERR_ALIAS, "mine");
    REFUSED(lac_events_operand(NULL, &operand), LAC_ERR_NULL, "events");
    REFUSED(lac_events_operand(events, NULL), LAC_ERR_NULL, "operand");
    REFUSED(lac_events_columns(events, 1, &first, &count), LAC_ERR_VALUE, "rank");
    REFUSED(lac_events_columns(events, 0, NULL, &count), LAC_ERR_NULL, "first");
    REFUSED(lac_comm_wait(NULL), LAC_ERR_NULL, "comm");
    REFUSED(lac_comm_status(NULL), LAC_ERR_NULL, "comm");
    REFUSED(lac_comm_abort(NULL), LAC_ERR_NULL, "comm");
    assert_int_equal(lac_comm_rank(NULL), -1);
    assert_int_equal(lac_comm_ranks(NULL), 0);
    assert_string_equal(lac_comm_engine(NULL), "");
    lac_events_free(NULL);
    lac_comm_free(NULL);
    lac_events_free(events);
    lac_comm_free(comm);
    lac_ctx_free(ctx);
}

/* Rows that differ from rank to rank: every rank says so. */
static void *other_rows(void *arg)
{
    rank_t *self = arg;
    lac_ctx_t *ctx;
    lac_events_t *events;
    unit_expect(lac_ctx_create(&ctx), LAC_OK, "ctx");
    lac_comm_t *comm = open_comm(ctx, self->world->board, self->rank, 10.0);
    REFUSED(lac_events_create(comm, &events, 1 + self->rank, 4), LAC_ERR_EXTENT, "rows");
    unit_expect(lac_events_create(comm, &events, 1, 4), LAC_OK, "the same rows");
    lac_events_free(events);
    lac_comm_free(comm);
    lac_ctx_free(ctx);
    return NULL;
}

static void test_other_rows(void **state)
{
    world_t world = {.board = rank_board_new(2), .ranks = 2};
    rank_t rank[2];
    (void)state;
    for (int r = 0; r < 2; r++) {
        rank[r] = (rank_t){.world = &world, .rank = r};
        assert_int_equal(pthread_create(&rank[r].thread, NULL, other_rows, &rank[r]), 0);
    }
    for (int r = 0; r < 2; r++) pthread_join(rank[r].thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shards),       cmocka_unit_test(test_integrate_and_fire),
        cmocka_unit_test(test_nobody_comes), cmocka_unit_test(test_a_rank_fails),
        cmocka_unit_test(test_abort),        cmocka_unit_test(test_callbacks_fail),
        cmocka_unit_test(test_arguments),    cmocka_unit_test(test_other_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

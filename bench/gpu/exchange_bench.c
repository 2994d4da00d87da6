/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A step of a sharded network: the exchange of events by each engine, the product of each rank's columns of
 * W, and both, in a graph; beside them one device with all of W, and whether the sums are bitwise its own.
 *
 * usage: exchange_bench [result.json [large]]. Ranks are threads, one for each device (two at most). Times
 * are medians over rounds of graphs of many steps, of the slower rank; the events are random and fixed.
 * Where one device is, both ranks share it: the bits say what they say on two, the times do not. */
#include "lacuna/lacuna.h"
#include "rank_board.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 2, STEPS = 50, ROUNDS = 15, TABLE = 1 << 24, SKIP = 77 };

typedef struct size {
    lac_dim_t neurons, batch;
    double density, target_us;
} net_size_t;

/* The last one's W has 230 GB: two devices hold it, one does not. It is run where "large" is asked for. */
static const net_size_t sizes[] = {
    {20000, 1, 0.01, 16.0}, {40000, 4, 0.005, 32.0}, {5000, 1, 0.01, 0.0}, {240000, 1, 0.002, 0.0}};

enum { LARGE = 3, SIZES = 4, LONGEST = 1 << 18 }; /* LONGEST: columns of W */

enum { EXCHANGE, PRODUCT, BOTH, KINDS };
static const char *const kinds[KINDS] = {"exchange", "product", "exchange and product"};

typedef struct rank {
    pthread_t thread;
    const net_size_t *size;
    int rank, ranks;
    const char *engine;
    bool fixed; /* sums */
    rank_board_t *board;
    pthread_barrier_t *all;
    double us[KINDS][ROUNDS];
    float *c; /* [batch][columns]: what came out */
    bool good;
    char why[256];
} rank_t;

static int devices;  /* 1 or 2 */
static float *table; /* what W is made of: element (k, j) is at k * 7919 + j, by remainder */

typedef struct step {
    lac_ctx_t *ctx;
    lac_events_t *events;
    lac_obj_t mine, s, w, c;
} step_t;

static lac_status_t exchange(void *arg)
{
    step_t *x = arg;
    return lac_events_allgather(x->events, &x->mine);
}

static lac_status_t product(void *arg)
{
    step_t *x = arg;
    return lac_gemm(x->ctx, NULL, &x->s, &x->w, NULL, &x->c);
}

static lac_status_t both(void *arg)
{
    lac_status_t status = exchange(arg);
    return status ? status : product(arg);
}

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        if (call) {                                                                                          \
            snprintf(self->why, sizeof self->why, "%.60s: %.180s", #call, lac_last_error());                 \
            goto done;                                                                                       \
        }                                                                                                    \
    } while (0)

static lac_status_t make(lac_ctx_t *ctx, lac_obj_t *x, lac_dim_t m, lac_dim_t n)
{
    *x = lac_obj_rowmajor(LAC_F32, m, n, NULL, n);
    x->space = LAC_DEVICE;
    return lac_device_alloc(ctx, (size_t)(m * n) * sizeof(float), &x->buf);
}

static lac_status_t fill_w(lac_ctx_t *ctx, const lac_obj_t *w, lac_dim_t first)
{
    lac_status_t status = LAC_OK;
    for (lac_dim_t k = 0; !status && k < w->m; k++)
        status =
            lac_device_upload(ctx, (float *)w->buf + k * w->n, table + k * 7919 % (TABLE - LONGEST) + first,
                              (size_t)w->n * sizeof(float));
    return status;
}

static unsigned hash(unsigned x)
{
    x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu;
    return x ^ x >> 16;
}

static lac_status_t fill_spikes(lac_ctx_t *ctx, const lac_obj_t *mine, const net_size_t *size,
                                lac_dim_t first)
{
    float *x = malloc((size_t)(mine->m * mine->n) * sizeof *x);
    if (!x) return LAC_ERR_MEMORY;
    for (lac_dim_t i = 0; i < mine->m; i++)
        for (lac_dim_t j = 0; j < mine->n; j++)
            x[i * mine->n + j] = hash((unsigned)(i * 1000003 + first + j)) < size->density * 4294967296.0;
    lac_status_t status = lac_device_upload(ctx, mine->buf, x, (size_t)(mine->m * mine->n) * sizeof *x);
    free(x);
    return status;
}

static void *run_rank(void *arg)
{
    static const lac_work_fn works[KINDS] = {exchange, product, both};
    rank_t *self = arg;
    const net_size_t *size = self->size;
    lac_dim_t first = size->neurons * self->rank / self->ranks,
              count = size->neurons * (self->rank + 1) / self->ranks - first;
    step_t x = {.ctx = NULL};
    lac_comm_t *comm = NULL;
    lac_graph_t *graph[KINDS] = {NULL};
    lac_comm_callbacks_t callbacks = rank_board_callbacks(self->board, self->rank);
    lac_comm_opts_t opts = {.size = sizeof opts, .timeout_s = 10.0, .engine = self->engine};
    TRY(lac_ctx_create_cuda(&x.ctx, self->rank % devices, LAC_STREAM_NEW));
    if (self->fixed) TRY(lac_ctx_set(x.ctx, "sums", "fixed"));
    if (self->fixed) TRY(lac_ctx_set(x.ctx, "backend", "event"));
    TRY(lac_comm_from_callbacks(x.ctx, &comm, &callbacks, &opts));
    TRY(lac_events_create(comm, &x.events, size->batch, count));
    TRY(lac_events_operand(x.events, &x.s));
    TRY(make(x.ctx, &x.mine, size->batch, count));
    TRY(make(x.ctx, &x.w, size->neurons, count));
    TRY(make(x.ctx, &x.c, size->batch, count));
    TRY(fill_w(x.ctx, &x.w, first));
    TRY(fill_spikes(x.ctx, &x.mine, size, first));
    TRY(product(&x)); /* what is allocated at first: not while another rank's exchange waits on this device */
    pthread_barrier_wait(self->all);
    for (int i = 0; i < 20; i++) TRY(both(&x));
    TRY(lac_comm_wait(comm));
    for (int kind = 0; kind < KINDS; kind++)
        TRY(lac_graph_capture(x.ctx, works[kind], &x, STEPS, &graph[kind]));
    for (int kind = 0; kind < KINDS; kind++)
        for (int round = -2; round < ROUNDS; round++) {
            double us;
            pthread_barrier_wait(self->all);
            TRY(lac_graph_launch(graph[kind], 2, &us));
            if (round >= 0) self->us[kind][round] = us;
        }
    TRY(lac_comm_wait(comm));
    TRY(lac_device_download(x.ctx, self->c, x.c.buf, (size_t)(size->batch * count) * sizeof(float)));
    self->good = true;
done:
    if (!self->good)
        fprintf(stderr, "rank %d: %s\n", self->rank, self->why), exit(1); /* others wait at the barrier */
    for (int kind = 0; kind < KINDS; kind++) lac_graph_free(graph[kind]);
    lac_events_free(x.events);
    lac_device_free(x.ctx, x.mine.buf);
    lac_device_free(x.ctx, x.w.buf);
    lac_device_free(x.ctx, x.c.buf);
    lac_comm_free(comm);
    lac_ctx_free(x.ctx);
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct result {
    double us[KINDS], low[KINDS], high[KINDS];
    bool good;
} result_t;

typedef struct way {
    int ranks;
    const char *engine;
    bool fixed; /* sums split alike for any columns, by the route event */
} way_t;

static result_t run(const net_size_t *size, const way_t *way, float *c)
{
    rank_t rank[RANKS];
    pthread_barrier_t all;
    result_t result = {.good = true};
    int ranks = way->ranks;
    rank_board_t *board = rank_board_new(ranks);
    pthread_barrier_init(&all, NULL, (unsigned)ranks);
    for (int r = 0; r < ranks; r++) {
        rank[r] = (rank_t){.size = size,
                           .rank = r,
                           .ranks = ranks,
                           .engine = way->engine,
                           .fixed = way->fixed,
                           .board = board,
                           .all = &all};
        rank[r].c = malloc((size_t)(size->batch * size->neurons) * sizeof(float));
        pthread_create(&rank[r].thread, NULL, run_rank, &rank[r]);
    }
    for (int r = 0; r < ranks; r++) {
        lac_dim_t first = size->neurons * r / ranks, count = size->neurons * (r + 1) / ranks - first;
        pthread_join(rank[r].thread, NULL);
        for (lac_dim_t i = 0; i < size->batch; i++)
            memcpy(c + i * size->neurons + first, rank[r].c + i * count, (size_t)count * sizeof *c);
        free(rank[r].c);
        for (int kind = 0; kind < KINDS; kind++) {
            qsort(rank[r].us[kind], ROUNDS, sizeof(double), by_size);
            if (rank[r].us[kind][ROUNDS / 2] < result.us[kind]) continue;
            result.us[kind] = rank[r].us[kind][ROUNDS / 2];
            result.low[kind] = rank[r].us[kind][ROUNDS / 4],
            result.high[kind] = rank[r].us[kind][3 * ROUNDS / 4];
        }
    }
    pthread_barrier_destroy(&all);
    return result;
}

/* In this order, all sizes by each: what NCCL cannot do must not cost the others' figures. */
static const way_t ways[] = {{1, "peer", false}, {2, "peer", false}, {1, "peer", true},
                             {2, "peer", true},  {2, "nccl", true},  {2, "nccl", false}};
enum { WAYS = sizeof ways / sizeof *ways };

static FILE *json;
static const char *separator = "";

static void end_json(void)
{
    if (json) fprintf(json, "\n]}\n"), fclose(json);
}

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

/* `same` is "yes", "no", or why that is not known. */
static void report(const net_size_t *size, const way_t *way, const result_t *x, const char *same)
{
    printf("%8d %6d %5.1f%% %6d %-6s %-5s | %9.2f us %9.2f us %9.2f us", (int)size->neurons, (int)size->batch,
           100.0 * size->density, way->ranks, way->engine, way->fixed ? "fixed" : "fast", x->us[EXCHANGE],
           x->us[PRODUCT], x->us[BOTH]);
    if (size->target_us > 0.0 && way->ranks > 1 && devices > 1) printf(" (target %2.0f)", size->target_us);
    printf(" | %s\n", same);
    fflush(stdout);
    for (int kind = 0; json && kind < KINDS; kind++, separator = ",\n")
        fprintf(json,
                "%s{\"neurons\": %d, \"batch\": %d, \"density\": %g, \"ranks\": %d, \"devices\": %d, "
                "\"engine\": \"%s\", "
                "\"sums\": \"%s\", "
                "\"what\": \"%s\", "
                "\"us\": %.3f, \"q1\": %.3f, \"q3\": %.3f, \"same_bits\": %s}",
                separator, (int)size->neurons, (int)size->batch, size->density, way->ranks,
                devices < way->ranks ? devices : way->ranks, way->engine, way->fixed ? "fixed" : "fast",
                kinds[kind], x->us[kind], x->low[kind], x->high[kind],
                *same == 'y'   ? "true"
                : *same == 'n' ? "false"
                               : "null");
}

static bool has_device(int device)
{
    lac_ctx_t *ctx;
    if (lac_ctx_create_cuda(&ctx, device, LAC_STREAM_NEW)) return false;
    lac_ctx_free(ctx);
    return true;
}

int main(int argc, char **argv)
{
    float *first[2][SIZES] = {{NULL}};
    while (devices < RANKS && has_device(devices)) devices++;
    if (!devices) {
        printf("skipped: a device is needed: %s\n", lac_last_error());
        return SKIP;
    }
    if (devices < RANKS)
        printf("one device, shared by both ranks: their times are not those of two devices\n");
    table = malloc(TABLE * sizeof *table);
    if (!table) return 1;
    for (unsigned i = 0; i < TABLE; i++) table[i] = (float)hash(i) / 4294967296.0f - 0.5f;
    json = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (json)
        fprintf(json, "{\"commit\": \"%s\", \"date\": \"%s\", \"driver\": \"%s\", \"rows\": [\n",
                setting("LACUNA_COMMIT"), setting("LACUNA_DATE"), setting("LACUNA_DRIVER"));
    atexit(end_json);
    printf("%8s %6s %6s %6s %-6s %-5s | %12s %12s %22s | bits of one device\n", "neurons", "batch", "events",
           "ranks", "engine", "sums", kinds[0], kinds[1], kinds[2]);
    for (int w = 0; w < WAYS; w++) {
        if (devices < RANKS && !strcmp(ways[w].engine, "nccl"))
            continue; /* NCCL: one rank a device, at most */
        for (int i = 0; i < (argc > 2 ? SIZES : LARGE); i++) {
            size_t bytes = (size_t)(sizes[i].batch * sizes[i].neurons) * sizeof(float);
            float *c = malloc(bytes);
            if (!c) return 1;
            float **whole = &first[ways[w].fixed][i];
            if (i < LARGE || ways[w].ranks > 1) {
                result_t x = run(&sizes[i], &ways[w], c);
                if (ways[w].ranks == 1) *whole = c;
                report(&sizes[i], &ways[w], &x,
                       !*whole                    ? "one device cannot hold it"
                       : memcmp(c, *whole, bytes) ? "no"
                                                  : "yes");
            }
            if (c != *whole) free(c);
        }
    }
    for (int i = 0; i < SIZES; i++) free(first[0][i]), free(first[1][i]);
    free(table);
    return 0;
}

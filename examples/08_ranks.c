/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A network of neurons that is shared among ranks: each has the synapses onto its own neurons.
 *
 * Every step a rank multiplies the spikes of all neurons by its columns of W, integrates and fires its own
 * neurons, and sends its spikes to the others as bits. Ranks are threads here; processes exchange by MPI or
 * NCCL in the same way (docs/user/multi_device.md). The network fires the same spikes on any number of ranks.
 *
 * usage: 08_ranks [ranks [neurons [connections [cuda]]]]; cuda: rank r on device r */
#include <lacuna/lacuna.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANKS_MAX = 16, MESSAGE = 1 << 20, STEPS = 200 };

static int neurons = 4000, connections = 100, on_device;

static void must(lac_status_t status)
{
    if (status == LAC_OK) return;
    fprintf(stderr, "%s: %s\n", lac_status_text(status), lac_last_error());
    exit(EXIT_FAILURE);
}

static void *room(size_t bytes)
{
    void *memory = calloc(1, bytes + 1);
    if (!memory) exit(EXIT_FAILURE);
    return memory;
}

/* What ranks bring to each other. Nobody can be two messages ahead: two places each are enough. ---------- */

static struct board {
    int ranks;
    atomic_uint sent[RANKS_MAX];
    unsigned char data[2][RANKS_MAX][MESSAGE];
} board;

typedef struct rank {
    pthread_t thread;
    int rank, ranks, held_count;
    unsigned messages;
    unsigned char *all; /* where the message that is under way goes */
    size_t bytes;
    long spikes;
    unsigned long raster; /* a fingerprint of who fired when */
    double us;
    void *held[8]; /* memory of its context */
} rank_t;

static int gather(void *arg, const void *mine, void *all, size_t bytes, void **request)
{
    rank_t *self = arg;
    if (bytes > MESSAGE) return 1;
    memcpy(board.data[self->messages % 2][self->rank], mine, bytes);
    self->all = all, self->bytes = bytes;
    atomic_store(&board.sent[self->rank], ++self->messages);
    *request = self;
    return 0;
}

static int is_done(void *arg, void *request)
{
    rank_t *self = request;
    (void)arg;
    for (int r = 0; r < self->ranks; r++)
        if (atomic_load(&board.sent[r]) < self->messages) return 0;
    for (int r = 0; r < self->ranks; r++)
        memcpy(self->all + (size_t)r * self->bytes, board.data[(self->messages - 1) % 2][r], self->bytes);
    return 1;
}

/* A rank ----------------------------------------------------------------------------------------------- */

/* Memory of the rank's context, with what is at `from`, which it takes over. */
static void *place(rank_t *self, lac_ctx_t *ctx, void *from, size_t bytes)
{
    void *there = from;
    if (on_device) {
        must(lac_device_alloc(ctx, bytes, &there));
        must(lac_device_upload(ctx, there, from, bytes));
        free(from);
    }
    return self->held[self->held_count++] = there;
}

static unsigned hash(unsigned x)
{
    x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu;
    return x ^ x >> 16;
}

/* The connections of all neurons onto neurons [first, first + count), by rows; each has the same weight. */
static lac_obj_t synapses(rank_t *self, lac_ctx_t *ctx, int first, int count)
{
    int32_t *ptr = room((size_t)(neurons + 1) * sizeof *ptr), held = 0;
    int32_t *idx = room((size_t)neurons * (size_t)connections * sizeof *idx);
    for (int i = 0; i < neurons; ptr[++i] = held)
        for (int e = 0; e < connections; e++) { /* one in each share of the neurons: ascending, none twice */
            long begin = (long)e * neurons / connections, end = (long)(e + 1) * neurons / connections;
            long to = begin + (long)hash((unsigned)(i * connections + e)) % (end - begin);
            if (to >= first && to < first + count) idx[held++] = (int32_t)(to - first);
        }
    lac_obj_t w = lac_obj_rowmajor(LAC_F32, neurons, count, NULL, count);
    w.space = on_device ? LAC_DEVICE : LAC_HOST;
    must(lac_meta_create_for(ctx, &w.meta, neurons, count));
    must(lac_meta_attach_csr(w.meta, LAC_I32, place(self, ctx, ptr, (size_t)(neurons + 1) * sizeof *ptr),
                             place(self, ctx, idx, (size_t)held * sizeof *idx), NULL));
    return w;
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void count_spikes(rank_t *self, lac_ctx_t *ctx, const uint8_t *spikes, uint8_t *here, int step,
                         int first, int count)
{
    if (on_device) must(lac_device_download(ctx, here, spikes, (size_t)count));
    for (int j = 0; j < count; j++) {
        if (!(on_device ? here : spikes)[j]) continue;
        self->spikes++;
        self->raster += hash((unsigned)(step * neurons + first + j));
    }
}

static void *run_rank(void *arg)
{
    rank_t *self = arg;
    int first = (int)((long)neurons * self->rank / self->ranks),
        count = (int)((long)neurons * (self->rank + 1) / self->ranks) - first;
    size_t floats = (size_t)count * sizeof(float);
    lac_ctx_t *ctx;
    lac_comm_t *comm;
    lac_events_t *events;
    lac_comm_callbacks_t callbacks = {.size = sizeof callbacks,
                                      .rank = self->rank,
                                      .ranks = self->ranks,
                                      .arg = self,
                                      .gather = gather,
                                      .test = is_done};
    must(on_device ? lac_ctx_create_cuda(&ctx, self->rank, LAC_STREAM_NEW) : lac_ctx_create(&ctx));
    must(lac_ctx_set(ctx, "threads", "1"));
    must(lac_comm_from_callbacks(ctx, &comm, &callbacks, NULL));
    must(lac_events_create(comm, &events, 1, count));

    float *v = room(floats), *current = room(floats);
    for (int j = 0; j < count; j++) {
        v[j] = (float)(hash((unsigned)(first + j)) % 1000) / 1000.0f;
        current[j] = 1.05f + 0.0001f * (float)((first + j) % 100);
    }
    uint8_t *spikes = place(self, ctx, room((size_t)count), (size_t)count), *here = room((size_t)count);
    lac_lif_input_t input = {.w = synapses(self, ctx, first, count),
                             .weight = -0.02f, /* they inhibit */
                             .g = place(self, ctx, room(floats), floats),
                             .received = place(self, ctx, room(floats), floats)};
    must(lac_events_operand(events, &input.events)); /* of all neurons */
    lac_lif_t neuron = {.size = sizeof neuron,
                        .m = 1,
                        .n = count,
                        .dt = 1.0f,
                        .tau = 20.0f,
                        .v_threshold = 1.0f,
                        .current = place(self, ctx, current, floats),
                        .v = place(self, ctx, v, floats),
                        .spikes = spikes,
                        .inputs = 1,
                        .input = &input};
    lac_obj_t mine = lac_obj_rowmajor(LAC_U8, 1, count, spikes, count);
    mine.space = input.w.space;

    must(lac_events_allgather(events, &mine)); /* nobody has fired yet */
    double begin = now_us();
    for (int step = 0; step < STEPS; step++) {
        must(lac_lif_step(ctx, &neuron));
        must(lac_events_allgather(events, &mine));
        count_spikes(self, ctx, spikes, here, step, first, count);
    }
    must(lac_comm_wait(comm));
    self->us = (now_us() - begin) / STEPS;

    lac_events_free(events);
    lac_comm_free(comm);
    lac_meta_free(input.w.meta);
    for (int i = 0; i < self->held_count; i++)
        if (on_device)
            must(lac_device_free(ctx, self->held[i]));
        else
            free(self->held[i]);
    lac_ctx_free(ctx);
    free(here);
    return NULL;
}

/* The same network on so many ranks. */
static rank_t simulate(int ranks)
{
    static rank_t all[RANKS_MAX];
    rank_t sum = {.ranks = ranks};
    memset(&board, 0, sizeof board);
    for (int r = 0; r < ranks; r++) {
        all[r] = (rank_t){.rank = r, .ranks = ranks};
        if (pthread_create(&all[r].thread, NULL, run_rank, &all[r])) exit(EXIT_FAILURE);
    }
    for (int r = 0; r < ranks; r++) {
        pthread_join(all[r].thread, NULL);
        sum.spikes += all[r].spikes, sum.raster += all[r].raster;
        if (all[r].us > sum.us) sum.us = all[r].us;
    }
    printf("%2d %s: %ld spikes in %d steps, %.0f us a step\n", ranks, ranks == 1 ? "rank " : "ranks",
           sum.spikes, STEPS, sum.us);
    return sum;
}

int main(int argc, char **argv)
{
    int ranks = argc > 1 ? atoi(argv[1]) : 3;
    if (argc > 2) neurons = atoi(argv[2]);
    if (argc > 3) connections = atoi(argv[3]);
    on_device = argc > 4 && !strcmp(argv[4], "cuda");
    if (ranks < 1 || ranks > RANKS_MAX || neurons < ranks || connections < 1 || connections > neurons ||
        (long)neurons * connections > INT32_MAX || argc > 5 || (argc > 4 && !on_device)) {
        fprintf(stderr, "usage: 08_ranks [ranks, at most %d [neurons [connections [cuda]]]]\n", RANKS_MAX);
        return 2;
    }
    rank_t alone = simulate(1), together = simulate(ranks);
    int same = alone.spikes == together.spikes && alone.raster == together.raster;
    puts(same ? "the same neurons fired in the same steps" : "OTHER SPIKES");
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}

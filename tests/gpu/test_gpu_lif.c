/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Steps of a network on a device, eager and in a graph: the host's bits, step after step. */
#include "gpu_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 2, EXCITATORY = 0, INHIBITORY = 1 };

/* The network of Vogels and Abbott (demo/coba_network.h) in units of the leak conductance: four of five
 * neurons excite. The same arrays on the host and on a device. */
typedef struct network {
    int64_t m, n, k[KINDS], each;
    int32_t *idx[KINDS];
    float *val[KINDS], *g[KINDS], *received[KINDS], *v;
    int32_t *wait, *list, *count;
    uint8_t *spikes;
    uint64_t *bits;
    enum read_as { SCAN, LISTS, BITS } read_as; /* what products read of the spikes */
    lac_lif_input_t input[KINDS];
    lac_lif_t lif;
    lac_ctx_t *ctx; /* NULL: on the host */
} network_t;

static void *room(size_t bytes)
{
    void *memory = calloc(1, bytes + 1);
    if (!memory) abort();
    return memory;
}

/* Memory of the network's space that holds what is at `from`, which is freed. */
static void *settle(const network_t *x, void *from, size_t bytes)
{
    if (!x->ctx) return from;
    void *there = gpu_upload(x->ctx, from, bytes);
    free(from);
    return there;
}

static void make(network_t *x, lac_ctx_t *ctx, int64_t m, int64_t n, int64_t each, bool ones,
                 enum read_as read_as)
{
    uint64_t seed = 41;
    size_t neurons = (size_t)(m * n), floats = neurons * sizeof(float);
    lac_space_t space = ctx ? LAC_DEVICE : LAC_HOST;
    *x = (network_t){.m = m, .n = n, .each = each, .read_as = read_as, .ctx = ctx, .k = {n - n / 5, n / 5}};
    x->v = room(floats), x->wait = room(neurons * sizeof(int32_t)), x->spikes = room(neurons);
    x->bits = room((size_t)(m * ((n + 63) / 64)) * sizeof(uint64_t));
    for (int q = 0; q < KINDS; q++) {
        int64_t count = x->k[q] * each;
        x->idx[q] = room((size_t)count * sizeof(int32_t)), x->val[q] = room((size_t)count * sizeof(float));
        x->g[q] = room(floats), x->received[q] = room(floats);
        for (int64_t e = 0; e < count; e++) {
            int64_t begin = e % each * n / each, end = (e % each + 1) * n / each;
            x->idx[q][e] = (int32_t)(begin + (int64_t)(gpu_random(&seed) % (uint64_t)(end - begin)));
            x->val[q][e] = ones ? 1.0f : (float)(1 + gpu_random(&seed) % 4);
        }
        for (size_t i = 0; i < neurons; i++)
            x->g[q][i] = (float)(gpu_random(&seed) % 1000) * (q == EXCITATORY ? 0.0008f : 0.004f);
    }
    for (size_t i = 0; i < neurons; i++) x->v[i] = -65.0f + (float)(gpu_random(&seed) % 1000) * 0.015f;
    x->v = settle(x, x->v, floats), x->wait = settle(x, x->wait, neurons * sizeof(int32_t));
    x->spikes = settle(x, x->spikes, neurons);
    x->bits = settle(x, x->bits, (size_t)(m * ((n + 63) / 64)) * sizeof(uint64_t));
    x->list = settle(x, room(neurons * sizeof(int32_t)), neurons * sizeof(int32_t));
    x->count = settle(x, room((size_t)m * sizeof(int32_t)), (size_t)m * sizeof(int32_t));
    for (int q = 0; q < KINDS; q++) {
        size_t count = (size_t)(x->k[q] * each);
        lac_obj_t events =
                      lac_obj_rowmajor(LAC_U8, m, x->k[q], x->spikes + (q == INHIBITORY ? x->k[0] : 0), n),
                  w = lac_obj_rowmajor(LAC_F32, x->k[q], n, NULL, n);
        x->idx[q] = settle(x, x->idx[q], count * sizeof(int32_t));
        x->val[q] = settle(x, x->val[q], count * sizeof(float));
        x->g[q] = settle(x, x->g[q], floats), x->received[q] = settle(x, x->received[q], floats);
        events.space = w.space = space;
        gpu_expect(ctx ? lac_meta_create_for(ctx, &w.meta, w.m, w.n) : lac_meta_create(&w.meta, w.m, w.n),
                   LAC_OK, "metadata");
        if (read_as != SCAN) {
            gpu_expect(ctx ? lac_meta_create_for(ctx, &events.meta, m, x->k[q])
                           : lac_meta_create(&events.meta, m, x->k[q]),
                       LAC_OK, "metadata");
            lac_dim_t first = q == INHIBITORY ? x->k[0] : 0;
            gpu_expect(read_as == LISTS
                           ? lac_meta_attach_event_lists(events.meta, n, x->list, x->count, first)
                           : lac_meta_attach_event_bits(events.meta, (n + 63) / 64, x->bits, first),
                       LAC_OK, "events");
        }
        gpu_expect(lac_meta_attach_ell(w.meta, LAC_I32, each, x->idx[q], ones ? NULL : x->val[q]), LAC_OK,
                   "fan-out");
        x->input[q] = (lac_lif_input_t){.events = events,
                                        .w = w,
                                        .weight = q == EXCITATORY ? 0.6f : 6.7f,
                                        .decay = expf(q == EXCITATORY ? -0.1f / 5.0f : -0.1f / 10.0f),
                                        .conductance = 1,
                                        .reversal = q == EXCITATORY ? 0.0f : -80.0f,
                                        .g = x->g[q],
                                        .received = x->received[q]};
    }
    x->lif = (lac_lif_t){.size = sizeof x->lif,
                         .m = m,
                         .n = n,
                         .dt = 0.1f,
                         .tau = 20.0f,
                         .v_rest = -49.0f, /* driven, so that it goes on */
                         .v_threshold = -50.0f,
                         .v_reset = -60.0f,
                         .refractory = 50,
                         .v = x->v,
                         .wait = x->wait,
                         .spikes = x->spikes,
                         .bits = x->bits,
                         .list = read_as == LISTS ? x->list : NULL,
                         .count = x->count,
                         .inputs = KINDS,
                         .input = x->input};
}

static void drop(network_t *x)
{
    void *memory[] = {x->v,      x->wait, x->spikes, x->bits, x->idx[0],      x->idx[1],      x->val[0],
                      x->val[1], x->g[0], x->g[1],   x->list, x->received[0], x->received[1], x->count};
    for (int q = 0; q < KINDS; q++) lac_meta_free(x->input[q].w.meta), lac_meta_free(x->input[q].events.meta);
    for (size_t i = 0; i < GPU_COUNT(memory); i++)
        if (x->ctx)
            lac_device_free(x->ctx, memory[i]);
        else
            free(memory[i]);
}

static void same(const network_t *there, const void *at, const void *want, size_t bytes, const char *what,
                 int step)
{
    void *got = room(bytes);
    gpu_expect(lac_device_download(there->ctx, got, at, bytes), LAC_OK, what);
    if (memcmp(got, want, bytes)) gpu_fail("step %d: %s differs from the host's", step, what);
    free(got);
}

static void compare(const network_t *there, const network_t *here, int step)
{
    size_t neurons = (size_t)(here->m * here->n);
    same(there, there->spikes, here->spikes, neurons, "spikes", step);
    same(there, there->bits, here->bits, (size_t)(here->m * ((here->n + 63) / 64)) * sizeof(uint64_t), "bits",
         step);
    same(there, there->count, here->count, (size_t)here->m * sizeof(int32_t), "count", step);
    for (int64_t i = 0; i < here->m; i++)
        same(there, there->list + i * here->n, here->list + i * here->n,
             (size_t)here->count[i] * sizeof(int32_t), "list", step);
    same(there, there->v, here->v, neurons * sizeof(float), "v", step);
    same(there, there->wait, here->wait, neurons * sizeof(int32_t), "wait", step);
    for (int q = 0; q < KINDS; q++) same(there, there->g[q], here->g[q], neurons * sizeof(float), "g", step);
}

static lac_status_t step(void *arg)
{
    const network_t *x = arg;
    return lac_lif_step(x->ctx, &x->lif);
}

/* Returns how many spikes there were. */
static long run(lac_ctx_t *ctx, int64_t m, int64_t n, int64_t each, bool ones, bool graph,
                enum read_as read_as)
{
    network_t here, there;
    lac_ctx_t *host;
    lac_graph_t *recording = NULL;
    long fired = 0;
    int steps = gpu_quick() ? 20 : 200;
    if (!gpu_expect(lac_ctx_create(&host), LAC_OK, "host")) return 0;
    make(&here, NULL, m, n, each, ones, read_as);
    make(&there, ctx, m, n, each, ones, read_as);
    for (int t = 0; t < steps; t++) {
        gpu_expect(lac_lif_step(host, &here.lif), LAC_OK, "host");
        if (!graph || t == 0) { /* the first step makes what a recording finds */
            gpu_expect(step(&there), LAC_OK, "device");
        } else {
            if (!recording)
                gpu_expect(lac_graph_capture(ctx, step, &there, 1, &recording), LAC_OK, "capture");
            gpu_expect(lac_graph_launch(recording, 1, NULL), LAC_OK, "replay");
        }
        for (int64_t i = 0; i < m * n; i++) fired += here.spikes[i];
        if (t % 20 == 0 || t == steps - 1) compare(&there, &here, t);
    }
    if (recording) {
        double us = 0.0;
        gpu_expect(lac_graph_launch(recording, gpu_quick() ? 3 : 1000, &us), LAC_OK, "replay");
        printf("%lld copies of %lld neurons, %lld connections each%s: %.2f us a step\n", (long long)m,
               (long long)n, (long long)each,
               read_as == BITS    ? ", bits"
               : read_as == LISTS ? ", listed"
                                  : "",
               us);
    }
    lac_graph_free(recording);
    lac_ctx_free(host);
    drop(&here);
    drop(&there);
    return fired;
}

/* A network that is silent would show nothing. All to all, a few inhibitory spikes silence the rest. */
static void expect_spikes(long fired)
{
    if (!gpu_quick() && fired < 1000) gpu_fail("only %ld spikes", fired);
}

static void test_eager(lac_ctx_t *ctx)
{
    for (int read_as = SCAN; read_as <= BITS; read_as++) {
        expect_spikes(run(ctx, 1, 4000, 80, false, false, (enum read_as)read_as));
        expect_spikes(run(ctx, 3, 1003, 40, false, false, (enum read_as)read_as));
        run(ctx, 1, 700, 700, true, false, (enum read_as)read_as);
    }
    run(ctx, 600, 300, 20, true, false, LISTS); /* a block has a whole copy */
    run(ctx, 1, 80000, 20, true, false, BITS);  /* events are counted */
}

static void test_graph(lac_ctx_t *ctx)
{
    for (int read_as = SCAN; read_as <= BITS; read_as++) {
        expect_spikes(run(ctx, 1, 4000, 80, true, true, (enum read_as)read_as) +
                      run(ctx, 1, 4000, 80, false, true, (enum read_as)read_as));
        expect_spikes(run(ctx, 4, 2005, 80, false, true, (enum read_as)read_as));
    }
    run(ctx, 2, 40000, 20, true, true, BITS); /* events are counted */
}

/* Delays of single connections (docs/user/operators.md), on the host or a device. */
enum { DELAYS = 5, DELAYED = 1003, FAN = 40, WORDS = (DELAYED + 63) / 64, PITCH = 64 * WORDS };

typedef struct delayed {
    network_t net;
    uint8_t *ring;
    uint64_t *bits;
    lac_meta_t *events[DELAYS][KINDS];
    void *parted[KINDS][3]; /* row pointers, columns and values by delay */
    int step;
} delayed_t;

static void make_delayed(delayed_t *x, lac_ctx_t *ctx, lac_ctx_t *host, bool ones)
{
    uint64_t seed = 5;
    network_t *net = &x->net;
    make(net, ctx, 1, DELAYED, FAN, ones, SCAN);
    x->step = 0;
    x->ring = settle(net, room(2 * DELAYS * PITCH), 2 * DELAYS * PITCH);
    x->bits = settle(net, room(2 * DELAYS * WORDS * 8), 2 * DELAYS * WORDS * 8);
    for (int q = 0; q < KINDS; q++) {
        lac_dim_t rows = (DELAYS - 1) * PITCH + net->k[q], entries = net->k[q] * FAN;
        lac_dim_t first = q == INHIBITORY ? net->k[0] : 0;
        size_t bytes[] = {(size_t)(rows + 1) * 4, (size_t)entries * 4, (size_t)entries * 4};
        int32_t *delay = room((size_t)entries * 4);
        for (int64_t e = 0; e < entries; e++) delay[e] = (int32_t)(1 + gpu_random(&seed) % DELAYS);
        for (int i = 0; i < 3; i++) x->parted[q][i] = settle(net, room(bytes[i]), bytes[i]);
        delay = settle(net, delay, (size_t)entries * 4);
        lac_csr_t a = {.size = sizeof a,
                       .m = net->k[q],
                       .n = DELAYED,
                       .nnz = entries,
                       .idx = net->idx[q],
                       .val = net->val[q]};
        gpu_expect(lac_csr_by_delay(ctx ? ctx : host, &a, delay, DELAYS, PITCH, x->parted[q][0],
                                    x->parted[q][1], x->parted[q][2], NULL),
                   LAC_OK, "by delay");
        if (ctx)
            lac_device_free(ctx, delay);
        else
            free(delay);
        lac_lif_input_t *in = &net->input[q];
        lac_meta_free(in->w.meta);
        in->w.m = rows, in->events.n = rows, in->events.rs = 2 * DELAYS * PITCH;
        gpu_expect(ctx ? lac_meta_create_for(ctx, &in->w.meta, rows, DELAYED)
                       : lac_meta_create(&in->w.meta, rows, DELAYED),
                   LAC_OK, "metadata");
        gpu_expect(lac_meta_attach_csr(in->w.meta, LAC_I32, x->parted[q][0], x->parted[q][1],
                                       ones ? NULL : x->parted[q][2]),
                   LAC_OK, "csr");
        for (int slot = 0; slot < DELAYS; slot++) {
            lac_meta_t **meta = &x->events[slot][q];
            gpu_expect(ctx ? lac_meta_create_for(ctx, meta, 1, rows) : lac_meta_create(meta, 1, rows), LAC_OK,
                       "metadata");
            gpu_expect(
                lac_meta_attach_event_bits(*meta, 2 * DELAYS * WORDS, x->bits, (slot + 1) * PITCH + first),
                LAC_OK, "bits");
        }
    }
}

static lac_status_t delayed_step(delayed_t *x, lac_ctx_t *ctx)
{
    int slot = DELAYS - 1 - x->step++ % DELAYS;
    lac_lif_t *lif = &x->net.lif;
    lif->spikes = x->ring + slot * PITCH, lif->spikes_twin = lif->spikes + DELAYS * PITCH;
    lif->bits = x->bits + slot * WORDS, lif->bits_twin = lif->bits + DELAYS * WORDS;
    for (int q = 0; q < KINDS; q++) {
        lac_obj_t *events = &x->net.input[q].events;
        events->buf = x->ring + (slot + 1) * PITCH + (q == INHIBITORY ? x->net.k[0] : 0);
        events->meta = x->events[slot][q];
    }
    return lac_lif_step(ctx, lif);
}

static lac_status_t delayed_round(void *arg)
{
    delayed_t *x = arg;
    lac_status_t status = LAC_OK;
    for (int i = 0; !status && i < DELAYS; i++) status = delayed_step(x, x->net.ctx);
    return status;
}

static void drop_delayed(delayed_t *x)
{
    for (int q = 0; q < KINDS; q++) {
        for (int slot = 0; slot < DELAYS; slot++) lac_meta_free(x->events[slot][q]);
        x->net.input[q].events.meta = NULL;
    }
    drop(&x->net);
    void *memory[] = {x->ring,         x->bits,         x->parted[0][0], x->parted[0][1],
                      x->parted[0][2], x->parted[1][0], x->parted[1][1], x->parted[1][2]};
    for (size_t i = 0; i < GPU_COUNT(memory); i++)
        if (x->net.ctx)
            lac_device_free(x->net.ctx, memory[i]);
        else
            free(memory[i]);
}

/* The host's spikes, bits and potentials round after round, the first one eager, the others in a graph. */
static void test_delays(lac_ctx_t *ctx)
{
    for (int ones = 0; ones < 2; ones++) {
        delayed_t here, there;
        lac_ctx_t *host;
        lac_graph_t *recording = NULL;
        long fired = 0;
        if (!gpu_expect(lac_ctx_create(&host), LAC_OK, "host")) return;
        make_delayed(&here, NULL, host, ones);
        make_delayed(&there, ctx, host, ones);
        for (int round = 0; round < (gpu_quick() ? 4 : 120); round++) {
            for (int i = 0; i < DELAYS; i++) gpu_expect(delayed_step(&here, host), LAC_OK, "host");
            if (round == 0)
                gpu_expect(delayed_round(&there), LAC_OK, "device");
            else if (recording || gpu_expect(lac_graph_capture(ctx, delayed_round, &there, 1, &recording),
                                             LAC_OK, "capture"))
                gpu_expect(lac_graph_launch(recording, 1, NULL), LAC_OK, "replay");
            same(&there.net, there.ring, here.ring, 2 * DELAYS * PITCH, "ring", round);
            same(&there.net, there.bits, here.bits, 2 * DELAYS * WORDS * 8, "bits", round);
            same(&there.net, there.net.v, here.net.v, DELAYED * sizeof(float), "v", round);
            for (int i = 0; i < DELAYS * PITCH; i++) fired += here.ring[i];
        }
        expect_spikes(fired);
        lac_graph_free(recording);
        lac_ctx_free(host);
        drop_delayed(&here), drop_delayed(&there);
    }
}

/* Arrays of the host in a device's step are named. */
static void test_space(lac_ctx_t *ctx)
{
    network_t there;
    float here[700] = {0};
    make(&there, ctx, 1, 700, 10, false, SCAN);
    there.lif.v = here;
    gpu_expect_error(lac_lif_step(ctx, &there.lif), LAC_ERR_SPACE, "lif.v", "v on the host");
    there.lif.v = there.v;
    gpu_expect(lac_lif_step(ctx, &there.lif), LAC_OK, "step");
    drop(&there);
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_eager), GPU_TEST(test_graph), GPU_TEST(test_delays),
                                       GPU_TEST(test_space)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}

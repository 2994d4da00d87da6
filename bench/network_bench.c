/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A network of excitatory and inhibitory neurons with conductances (COBA), each with so many connections,
 * step after step by lac_lif_step: microseconds a step on the host, or on a device in graphs of 100 steps,
 * and its state beside the host's to the bit. bench/brainevent_coba.py has this network by brainevent.
 *
 * network_bench NEURONS CONNECTIONS STEPS [host|cuda] [scan|list|bits]      (steps: a multiple of 100; what
 * the products of a step read of the spikes: all of them, lists, or bits, as by default) */
#include <lacuna/lacuna.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KINDS = 2, STEPS_OF_GRAPH = 100, COMPARED_MAX = 20000 /* neurons, that the host simulates as well */ };

typedef struct network {
    lac_ctx_t *ctx;
    bool device;
    enum read_as { SCAN, LIST, BITS } read_as;
    int64_t neurons, each, of_kind[KINDS];
    float *v, *current, *g[KINDS], *received[KINDS];
    int32_t *wait, *idx[KINDS], *list, *count;
    uint8_t *spikes;
    uint64_t *bits;
    lac_lif_input_t input[KINDS];
    lac_lif_t lif;
} network_t;

static void must(lac_status_t status, const char *what)
{
    if (!status) return;
    fprintf(stderr, "%s: %s\n", what, lac_last_error());
    exit(2);
}

static void *room(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count, size);
    if (!memory) abort();
    return memory;
}

static uint64_t draw(uint64_t *seed)
{
    uint64_t x = *seed += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* The array where the network lives, which then has it. */
static void *settle(const network_t *x, void *from, size_t bytes)
{
    void *there;
    if (!x->device) return from;
    must(lac_device_alloc(x->ctx, bytes, &there), "memory");
    must(lac_device_upload(x->ctx, there, from, bytes), "upload");
    free(from);
    return there;
}

static void connect(network_t *x, int q, uint64_t *seed)
{
    int64_t rows = x->of_kind[q], count = rows * x->each;
    lac_space_t space = x->device ? LAC_DEVICE : LAC_HOST;
    int32_t *idx = room(count, sizeof *idx);
    for (int64_t e = 0; e < count; e++) {
        int64_t begin = e % x->each * x->neurons / x->each, end = (e % x->each + 1) * x->neurons / x->each;
        idx[e] = (int32_t)(begin + (int64_t)(draw(seed) % (uint64_t)(end - begin)));
    }
    x->idx[q] = settle(x, idx, (size_t)count * sizeof *idx);
    size_t floats = (size_t)x->neurons * sizeof(float);
    x->g[q] = settle(x, room(x->neurons, sizeof(float)), floats);
    x->received[q] = settle(x, room(x->neurons, sizeof(float)), floats);
    lac_obj_t events = lac_obj_rowmajor(LAC_U8, 1, rows, x->spikes + (q ? x->of_kind[0] : 0), x->neurons),
              w = lac_obj_rowmajor(LAC_F32, rows, x->neurons, NULL, x->neurons);
    events.space = w.space = space;
    must(x->device ? lac_meta_create_for(x->ctx, &w.meta, rows, x->neurons)
                   : lac_meta_create(&w.meta, rows, x->neurons),
         "metadata");
    must(lac_meta_attach_ell(w.meta, LAC_I32, x->each, x->idx[q], NULL), "connections");
    if (x->read_as != SCAN) {
        must(x->device ? lac_meta_create_for(x->ctx, &events.meta, 1, rows)
                       : lac_meta_create(&events.meta, 1, rows),
             "metadata");
        lac_dim_t first = q ? x->of_kind[0] : 0;
        must(x->read_as == LIST
                 ? lac_meta_attach_event_lists(events.meta, x->neurons, x->list, x->count, first)
                 : lac_meta_attach_event_bits(events.meta, (x->neurons + 63) / 64, x->bits, first),
             "spikes");
    }
    x->input[q] = (lac_lif_input_t){.events = events,
                                    .w = w,
                                    .weight = q ? 6.7f : 0.6f,
                                    .decay = expf(q ? -0.1f / 10.0f : -0.1f / 5.0f),
                                    .conductance = 1,
                                    .reversal = q ? -80.0f : 0.0f,
                                    .g = x->g[q],
                                    .received = x->received[q]};
}

static void make(network_t *x, bool device, enum read_as read_as, int64_t neurons, int64_t each)
{
    uint64_t seed = 7;
    *x = (network_t){.device = device, .read_as = read_as, .neurons = neurons, .each = each};
    x->of_kind[0] = neurons - neurons / 5, x->of_kind[1] = neurons / 5;
    must(device ? lac_ctx_create_cuda(&x->ctx, 0, LAC_STREAM_NEW) : lac_ctx_create(&x->ctx), "context");
    float *v = room(neurons, sizeof *v), *current = room(neurons, sizeof *current);
    for (int64_t i = 0; i < neurons; i++)
        v[i] = -55.0f + (float)(draw(&seed) % 1000) * 0.01f - 5.0f, current[i] = 20.0f;
    x->v = settle(x, v, (size_t)neurons * sizeof *v);
    x->current = settle(x, current, (size_t)neurons * sizeof *current);
    x->wait = settle(x, room(neurons, sizeof(int32_t)), (size_t)neurons * sizeof(int32_t));
    x->spikes = settle(x, room(neurons, 1), (size_t)neurons);
    size_t words = (size_t)(neurons + 63) / 64;
    if (read_as == BITS)
        x->bits = settle(x, room((int64_t)words, sizeof(uint64_t)), words * sizeof(uint64_t));
    if (read_as == LIST) {
        x->list = settle(x, room(neurons, sizeof(int32_t)), (size_t)neurons * sizeof(int32_t));
        x->count = settle(x, room(1, sizeof(int32_t)), sizeof(int32_t));
    }
    for (int q = 0; q < KINDS; q++) connect(x, q, &seed);
    x->lif = (lac_lif_t){.size = sizeof x->lif,
                         .m = 1,
                         .n = neurons,
                         .dt = 0.1f,
                         .tau = 20.0f,
                         .v_rest = -60.0f,
                         .v_threshold = -50.0f,
                         .v_reset = -60.0f,
                         .refractory = 50,
                         .current = x->current,
                         .v = x->v,
                         .wait = x->wait,
                         .spikes = x->spikes,
                         .bits = x->bits,
                         .list = x->list,
                         .count = x->count,
                         .inputs = KINDS,
                         .input = x->input};
}

static void drop(network_t *x)
{
    void *memory[] = {x->v,    x->current,     x->wait,        x->spikes, x->idx[0], x->idx[1], x->g[0],
                      x->g[1], x->received[0], x->received[1], x->list,   x->count,  x->bits};
    for (int q = 0; q < KINDS; q++) lac_meta_free(x->input[q].w.meta), lac_meta_free(x->input[q].events.meta);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (x->device)
            lac_device_free(x->ctx, memory[i]);
        else
            free(memory[i]);
    lac_ctx_free(x->ctx);
}

static lac_status_t step(void *arg)
{
    network_t *x = arg;
    return lac_lif_step(x->ctx, &x->lif);
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* Microseconds a step of so many steps. On a device the first ones are eager: they make what a recording
 * finds. */
static double run(network_t *x, int steps)
{
    double us = 0.0, begin = now_us();
    lac_graph_t *graph = NULL;
    if (!x->device) {
        for (int t = 0; t < steps; t++) must(step(x), "step");
        return (now_us() - begin) / steps;
    }
    for (int t = 0; t < STEPS_OF_GRAPH; t++) must(step(x), "step");
    must(lac_graph_capture(x->ctx, step, x, STEPS_OF_GRAPH, &graph), "capture");
    if (steps > STEPS_OF_GRAPH) must(lac_graph_launch(graph, steps / STEPS_OF_GRAPH - 1, &us), "replay");
    must(lac_device_wait(x->ctx), "wait");
    lac_graph_free(graph);
    return us;
}

static bool same(const network_t *there, const void *at, const void *want, size_t bytes)
{
    void *got = room((int64_t)bytes, 1);
    must(lac_device_download(there->ctx, got, at, bytes), "download");
    bool equal = !memcmp(got, want, bytes);
    free(got);
    return equal;
}

/* Whether the network there is as it is here. */
static bool equals(const network_t *there, const network_t *here)
{
    size_t floats = (size_t)here->neurons * sizeof(float);
    bool equal = same(there, there->v, here->v, floats) &&
                 same(there, there->wait, here->wait, (size_t)here->neurons * sizeof(int32_t)) &&
                 same(there, there->spikes, here->spikes, (size_t)here->neurons);
    for (int q = 0; q < KINDS; q++) equal = equal && same(there, there->g[q], here->g[q], floats);
    return equal;
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    int64_t neurons = atoll(argv[1]), each = atoll(argv[2]), resting = 0;
    int steps = atoi(argv[3]) / STEPS_OF_GRAPH * STEPS_OF_GRAPH;
    bool device = argc > 4 && !strcmp(argv[4], "cuda"), both = neurons <= COMPARED_MAX, good = true;
    enum read_as read_as = argc < 6 || !strcmp(argv[5], "bits") ? BITS
                           : !strcmp(argv[5], "list")           ? LIST
                                                                : SCAN;
    if (neurons < 5 || each < 1 || each > neurons || steps < STEPS_OF_GRAPH) return 2;
    printf("%lld neurons, %lld connections each, %d steps%s:\n", (long long)neurons, (long long)each, steps,
           read_as == BITS   ? ""
           : read_as == LIST ? ", by lists of spikes"
                             : ", spikes scanned");
    network_t here = {0}, there = {0};
    if (!device || both) {
        make(&here, false, read_as, neurons, each);
        printf("  host %.2f us a step\n", run(&here, steps));
        for (int64_t i = 0; i < neurons; i++) resting += here.wait[i] > 0; /* a spike in the last 5 ms */
        printf("  %.2f spikes a neuron and second at the end\n", (double)resting / (double)neurons / 5e-3);
    }
    if (device) {
        make(&there, true, read_as, neurons, each);
        printf("  cuda %.2f us a step, %d of them in a graph\n", run(&there, steps), STEPS_OF_GRAPH);
        if (both) good = equals(&there, &here), printf("  its state %s the host's\n", good ? "is" : "IS NOT");
        drop(&there);
    }
    if (here.ctx) drop(&here);
    return good ? 0 : 1;
}

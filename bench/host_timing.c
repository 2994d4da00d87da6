/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the benches of operators on the host share. */
#include "host_timing.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void *bench_need(int64_t bytes)
{
    void *p = aligned_alloc(64, ((size_t)bytes + 63) / 64 * 64 + 64);
    if (!p) abort();
    memset(p, 1, (size_t)bytes);
    return p;
}

uint64_t bench_random(void)
{
    static uint64_t state = 1;
    uint64_t z = (state += 0x9E3779B97F4A7C15U);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
}

typedef struct share {
    void (*run)(int part, int parts);
    int part, parts;
} share_t;

static void *run_share(void *arg)
{
    const share_t *s = arg;
    s->run(s->part, s->parts);
    return NULL;
}

void bench_on_threads(int threads, void (*share)(int part, int parts))
{
    pthread_t id[BENCH_THREADS];
    share_t each[BENCH_THREADS];
    for (int t = 1; t < threads; t++) {
        each[t] = (share_t){share, t, threads};
        if (pthread_create(id + t, NULL, run_share, each + t)) abort();
    }
    share(0, threads);
    for (int t = 1; t < threads; t++) pthread_join(id[t], NULL);
}

static char *copy_from, *copy_to;
static int64_t copy_bytes;

static void copy_share(int part, int parts)
{
    int64_t from = copy_bytes * part / parts, to = copy_bytes * (part + 1) / parts;
    memcpy(copy_to + from, copy_from + from, (size_t)(to - from));
}

void bench_copy(int threads, int64_t bytes)
{
    static int64_t room;
    copy_bytes = bytes / 2;
    if (copy_bytes > room) {
        free(copy_from), free(copy_to);
        room = copy_bytes, copy_from = bench_need(room), copy_to = bench_need(room);
    }
    bench_on_threads(threads, copy_share);
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_value(const void *x, const void *y)
{
    double d = *(const double *)x - *(const double *)y;
    return d < 0 ? -1 : d > 0;
}

void bench_in_turns(bench_way_t *ways, int count, int repeats)
{
    for (int r = -1; r < repeats; r++)
        for (int w = 0; w < count; w++) {
            if (ways[w].prepare) ways[w].prepare();
            double from = now_us();
            ways[w].run();
            if (r >= 0) ways[w].us[r] = now_us() - from;
        }
    for (int w = 0; w < count; w++) qsort(ways[w].us, (size_t)repeats, sizeof ways[w].us[0], by_value);
}

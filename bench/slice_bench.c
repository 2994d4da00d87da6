/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times row slices on the host: the slice, memset and scatter, and what the memory allows, in one run.
 *
 * usage: slice_bench [-t threads] [-r repeats] [-m rows] [-n columns] [-z entries-per-row] [-c count]
 * Medians, the ways taken in turns. The bytes are those that must move: 8 per entry and 4 per element of the
 * output. "floor" is that of a copy of as many bytes read and written by non-temporal stores (glibc's memcpy
 * of a large block), on as many threads, scaled to them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lacuna/lacuna.h"

enum { MAX_THREADS = 64, MAX_REPEATS = 64 };

static int threads = 2, repeats = 15;
static int64_t m = 10000, n = 10000, per_row = 1000, picked = 5000;

static lac_ctx_t *ctx;
static int64_t *ptr, *rows;
static int32_t *idx;
static float *val, *out, *grad, *other;
static lac_obj_t a, dense;

static void *need(int64_t bytes)
{
    void *p = aligned_alloc(64, ((size_t)bytes + 63) / 64 * 64 + 64);
    if (!p) abort();
    memset(p, 1, (size_t)bytes);
    return p;
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static uint64_t next_random(void)
{
    static uint64_t state = 1;
    uint64_t z = (state += 0x9E3779B97F4A7C15U);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
}

/* per_row columns of each row, spread evenly with a random place in each stretch. */
static void build(void)
{
    ptr = need((m + 1) * 8), idx = need(m * per_row * 4), val = need(m * per_row * 4);
    for (int64_t i = 0; i <= m; i++) ptr[i] = i * per_row;
    for (int64_t e = 0; e < m * per_row; e++) {
        int64_t from = e % per_row * n / per_row, to = (e % per_row + 1) * n / per_row;
        idx[e] = (int32_t)(from + (int64_t)(next_random() % (uint64_t)(to - from)));
        val[e] = (float)(next_random() >> 40) * 0x1p-24F + 0.25F;
    }
    rows = need(picked * 8);
    for (int64_t i = 0; i < picked; i++) rows[i] = (int64_t)(next_random() % (uint64_t)m);
    out = need(picked * n * 4), other = need(picked * n * 4), grad = need(m * per_row * 4);
    int32_t *narrow = need((m + 1) * 4);
    for (int64_t i = 0; i <= m; i++) narrow[i] = (int32_t)ptr[i];
    a = lac_obj_rowmajor(LAC_F32, m, n, NULL, n);
    dense = lac_obj_rowmajor(LAC_F32, picked, n, out, n);
    if (lac_meta_create(&a.meta, m, n) || lac_meta_attach_csr(a.meta, LAC_I32, narrow, idx, val)) abort();
}

/* The same work on so many threads, each with its share of the slices. */
static void on_threads(void *(*part)(void *))
{
    pthread_t id[MAX_THREADS];
    for (int t = 1; t < threads; t++)
        if (pthread_create(id + t, NULL, part, (void *)(intptr_t)t)) abort();
    part((void *)0);
    for (int t = 1; t < threads; t++) pthread_join(id[t], NULL);
}

static void *scatter_part(void *arg)
{
    int64_t t = (intptr_t)arg, i0 = picked * t / threads, i1 = picked * (t + 1) / threads;
    memset(out + i0 * n, 0, (size_t)((i1 - i0) * n) * 4);
    for (int64_t i = i0; i < i1; i++)
        for (int64_t e = ptr[rows[i]]; e < ptr[rows[i] + 1]; e++) out[i * n + idx[e]] = val[e];
    return NULL;
}

static void *row_scatter_part(void *arg)
{
    int64_t t = (intptr_t)arg, i0 = picked * t / threads, i1 = picked * (t + 1) / threads;
    for (int64_t i = i0; i < i1; i++) {
        memset(out + i * n, 0, (size_t)n * 4);
        for (int64_t e = ptr[rows[i]]; e < ptr[rows[i] + 1]; e++) out[i * n + idx[e]] = val[e];
    }
    return NULL;
}

static void *copy_part(void *arg)
{
    int64_t t = (intptr_t)arg, i0 = picked * t / threads, i1 = picked * (t + 1) / threads;
    memcpy(other + i0 * n, out + i0 * n, (size_t)((i1 - i0) * n) * 4);
    return NULL;
}

static void *clear_part(void *arg)
{
    int64_t t = (intptr_t)arg, i0 = picked * t / threads, i1 = picked * (t + 1) / threads;
    memset(other + i0 * n, 0, (size_t)((i1 - i0) * n) * 4);
    return NULL;
}

static void slice(void)
{
    if (lac_slice_rows(ctx, &a, LAC_I64, picked, rows, &dense, NULL)) abort();
}
static void adjoint(void)
{
    if (lac_slice_rows_grad(ctx, &a, LAC_I64, picked, rows, &dense, grad, NULL)) abort();
}
static void scatter(void)
{
    on_threads(scatter_part);
}
static void row_scatter(void)
{
    on_threads(row_scatter_part);
}
static void copy(void)
{
    on_threads(copy_part);
}
static void clear(void)
{
    on_threads(clear_part);
}

static int by_value(const void *x, const void *y)
{
    double d = *(const double *)x - *(const double *)y;
    return d < 0 ? -1 : d > 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"lac_slice_rows", slice},
                {"memset, then scatter", scatter},
                {"memset and scatter by rows", row_scatter},
                {"lac_slice_rows_grad", adjoint},
                {"copy of the output", copy},
                {"memset of the output", clear}};
    enum { WAYS = sizeof ways / sizeof *ways };
    static double us[WAYS][MAX_REPEATS];
    for (int o; (o = getopt(argc, argv, "t:r:m:n:z:c:")) != -1;) {
        if (o == 't') threads = atoi(optarg);
        if (o == 'r') repeats = atoi(optarg);
        if (o == 'm') m = atoll(optarg);
        if (o == 'n') n = atoll(optarg);
        if (o == 'z') per_row = atoll(optarg);
        if (o == 'c') picked = atoll(optarg);
        if (o == '?') return 2;
    }
    if (threads < 1 || threads > MAX_THREADS || repeats < 1 || repeats > MAX_REPEATS || per_row > n) return 2;
    char number[16];
    snprintf(number, sizeof number, "%d", threads);
    if (lac_ctx_create(&ctx) || lac_ctx_set(ctx, "threads", number)) return 1;
    build();
    for (int r = -1; r < repeats; r++) /* the first round warms up */
        for (int w = 0; w < WAYS; w++) {
            double from = now_us();
            ways[w].run();
            if (r >= 0) us[w][r] = now_us() - from;
        }
    for (int w = 0; w < WAYS; w++) qsort(us[w], (size_t)repeats, sizeof us[w][0], by_value);
    double bytes = 8.0 * (double)(picked * per_row) + 4.0 * (double)(picked * n);
    double floor_us = us[4][repeats / 2] * bytes / (8.0 * (double)(picked * n));
    printf("# %ld of %ld rows x %ld columns, %ld entries each, %d threads; floor %.0f us\n", (long)picked,
           (long)m, (long)n, (long)per_row, threads, floor_us);
    for (int w = 0; w < WAYS; w++)
        printf("%-28s %10.0f us  (%.0f to %.0f)\n", ways[w].name, us[w][repeats / 2], us[w][0],
               us[w][repeats - 1]);
    return 0;
}

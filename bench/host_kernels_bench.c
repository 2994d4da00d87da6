/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times the host kernels alone, each against the dense sgemm of a BLAS in the same process.
 *
 * usage: host_kernels_bench [-t threads] [-i isa] [-r repeats] [-b libblas.so] [-s] [name-prefix...]
 * One line per case: median (-s: smallest) microseconds of the kernel with its scan, of the dense call, their
 * ratio, the bytes of W that the kernel must touch per microsecond. Column ranges (or row ranges) are shared
 * among threads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host_kernels.h"

enum kind { EVENT_ROWS, EVENT_COLS, CSR_ROWS, CSR_COLS, BITMASK, DENSE, TRANSPOSE, SCAN, COUNT, FILL, PROBE };

typedef struct bench_case {
    const char *name;
    enum kind kind;
    int64_t m, kk, n;
    double density;
    bool s_by_k;   /* S k-major (rs == 1), else row-major */
    bool out_by_j; /* out column-major (rs == 1), else row-major */
} bench_case_t;

static const bench_case_t cases[] = {
    {"rows.1x5000x5000:0.001", EVENT_ROWS, 1, 5000, 5000, 0.001, false, false},
    {"rows.10x5000x5000:0.001", EVENT_ROWS, 10, 5000, 5000, 0.001, false, false},
    {"rows.10x5000x5000:0.01", EVENT_ROWS, 10, 5000, 5000, 0.01, false, false},
    {"rows.10x5000x5000:0.1", EVENT_ROWS, 10, 5000, 5000, 0.1, false, false},
    {"rows.10x5000x5000:0.1:outT", EVENT_ROWS, 10, 5000, 5000, 0.1, true, true},
    {"rows.10x10000x10000:0.01", EVENT_ROWS, 10, 10000, 10000, 0.01, false, false},
    {"rows.50x10000x10000:0.001", EVENT_ROWS, 50, 10000, 10000, 0.001, false, false},
    {"rows.50x10000x10000:0.01", EVENT_ROWS, 50, 10000, 10000, 0.01, false, false},
    {"rows.128x4096x4096:0.05", EVENT_ROWS, 128, 4096, 4096, 0.05, false, false},
    {"cols.10x5000x5000:0.001", EVENT_COLS, 10, 5000, 5000, 0.001, true, true},
    {"cols.50x5000x5000:0.01", EVENT_COLS, 50, 5000, 5000, 0.01, true, true},
    {"cols.50x5000x5000:0.01:rowmajor", EVENT_COLS, 50, 5000, 5000, 0.01, false, false},
    {"cols.10x5000x5000:0.01", EVENT_COLS, 10, 5000, 5000, 0.01, true, true},
    {"cols.10x10000x10000:0.001", EVENT_COLS, 10, 10000, 10000, 0.001, true, true},
    {"csr.128x4096x4096:0.05", CSR_ROWS, 128, 4096, 4096, 0.05, false, false},
    {"csr.50x10000x10000:0.01", CSR_ROWS, 50, 10000, 10000, 0.01, false, false},
    {"csr.2048x2048x2048:0.1", CSR_ROWS, 2048, 2048, 2048, 0.1, false, false},
    {"csr.2048x2048x2048:0.01", CSR_ROWS, 2048, 2048, 2048, 0.01, false, false},
    {"csr.4096x4096x4096:0.1", CSR_ROWS, 4096, 4096, 4096, 0.1, false, false},
    {"csr.10000x10000x100:0.01", CSR_ROWS, 10000, 10000, 100, 0.01, false, false},
    {"csr.5000x5000x10:0.05", CSR_ROWS, 5000, 5000, 10, 0.05, false, false},
    {"csrcols.5000x5000x1:0.05", CSR_COLS, 5000, 5000, 1, 0.05, false, false},
    {"csrcols.5000x5000x10:0.05", CSR_COLS, 5000, 5000, 10, 0.05, false, true},
    {"bitmask.5000x5000x1:0.5", BITMASK, 5000, 5000, 1, 0.5, false, true},
    {"bitmask.5000x5000x10:0.5", BITMASK, 5000, 5000, 10, 0.5, false, true},
    {"bitmask.5000x5000x10:0.1", BITMASK, 5000, 5000, 10, 0.1, false, true},
    {"bitmask.5000x5000x32:0.3", BITMASK, 5000, 5000, 32, 0.3, false, true},
    {"dense.1024x1024x1024", DENSE, 1024, 1024, 1024, 1, false, false},
    {"transpose.5000x5000", TRANSPOSE, 1, 5000, 5000, 1, false, false},
    {"scan.1x5000:0.001", SCAN, 1, 5000, 1, 0.001, false, false},
    {"scan.10x5000:0.001:rows", SCAN, 10, 5000, 1, 0.001, false, false},
    {"scan.10x5000:0.001:kmajor", SCAN, 10, 5000, 1, 0.001, true, false},
    {"scan.10x5000:0.1:rows", SCAN, 10, 5000, 1, 0.1, false, false},
    {"scan.10x5000:0.1:kmajor", SCAN, 10, 5000, 1, 0.1, true, false},
    {"scan.128x10000:0.01:rows", SCAN, 128, 10000, 1, 0.01, false, false},
    {"scan.128x10000:0.01:kmajor", SCAN, 128, 10000, 1, 0.01, true, false},
    {"count.2048x2048:rows", COUNT, 2048, 2048, 1, 0.1, false, false},
    {"count.2048x2048:kmajor", COUNT, 2048, 2048, 1, 0.1, true, false},
    {"fill.2048x2048:0.1:rows", FILL, 2048, 2048, 1, 0.1, false, false},
    {"fill.2048x2048:0.5:rows", FILL, 2048, 2048, 1, 0.5, false, false},
    {"fill.2048x2048:0.1:kmajor", FILL, 2048, 2048, 1, 0.1, true, false},
    {"probe.2048x2048", PROBE, 2048, 2048, 1, 0.1, false, false},
};

enum { MAX_THREADS = 64, LONGEST_US = 1000000 /* of one measurement, once it has three repeats */ };

/* Everything that one case owns, shared by its threads. */
typedef struct work {
    const bench_case_t *c;
    const lac_host_kernels_t *k;
    int threads;
    float *s, *w, *out;
    int64_t s_rs, s_cs, o_rs, o_cs;
    lac_events_t ev[MAX_THREADS];
    lac_rows_t rows;
    lac_bits_t bits;
    float *scratch[MAX_THREADS];
} work_t;

static void *need(int64_t bytes)
{
    void *p = aligned_alloc(64, ((size_t)bytes + 63) / 64 * 64 + 64);
    if (!p) abort();
    return p;
}

static clockid_t clock_used = CLOCK_MONOTONIC;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(clock_used, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15U);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
}

static float uniform(uint64_t *state)
{
    return (float)(next_random(state) >> 40) * 0x1p-24F;
}

/* Threads that spin between jobs: what a pool that stays warm does. */
static struct pool {
    atomic_int start, done;
    int threads;
    void (*job)(work_t *, int);
    work_t *work;
} pool;

static void *helper(void *arg)
{
    int id = (int)(intptr_t)arg;
    for (int seen = 0;;) {
        while (atomic_load_explicit(&pool.start, memory_order_acquire) == seen) __builtin_ia32_pause();
        seen = atomic_load_explicit(&pool.start, memory_order_acquire);
        if (!pool.job) return NULL;
        pool.job(pool.work, id);
        atomic_fetch_add_explicit(&pool.done, 1, memory_order_release);
    }
}

static void run_all(void (*job)(work_t *, int), work_t *work)
{
    pool.job = job;
    pool.work = work;
    atomic_store_explicit(&pool.done, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&pool.start, 1, memory_order_release);
    if (job) job(work, 0);
    while (job && atomic_load_explicit(&pool.done, memory_order_acquire) < pool.threads - 1)
        __builtin_ia32_pause();
}

static int64_t part(int64_t total, int id, int threads, int64_t grain)
{
    return id >= threads ? total : total * id / threads / grain * grain;
}

static void scan_job(work_t *x, int id)
{
    const bench_case_t *c = x->c;
    lac_events_t *ev = x->ev + id;
    ev->active = ev->count = 0;
    ev->first[0] = 0;
    if (!x->k->scan_events_f32(x->s, c->m, part(c->kk, id, x->threads, 64),
                               part(c->kk, id + 1, x->threads, 64), x->s_rs, x->s_cs, ev))
        abort();
}

static void product_job(work_t *x, int id)
{
    const bench_case_t *c = x->c;
    const lac_host_kernels_t *k = x->k;
    int64_t j0 = part(c->n, id, x->threads, 16);
    int64_t j1 = part(c->n, id + 1, x->threads, 16);
    int64_t i0 = part(c->m, id, x->threads, 1);
    int64_t i1 = part(c->m, id + 1, x->threads, 1);
    float *acc = x->scratch[id];
    switch (c->kind) {
    case EVENT_ROWS:
        k->event_rows(x->ev, x->threads, c->m, x->w, c->n, j0, j1, 1, 0, x->out, x->o_rs, x->o_cs, acc);
        break;
    case EVENT_COLS:
        k->event_cols(x->ev, x->threads, c->m, x->w, c->kk, j0, j1, 1, 0, x->out, x->o_rs, x->o_cs, acc);
        break;
    case CSR_ROWS:
        if (c->n >= 64 * x->threads)
            k->csr_rows(&x->rows, 0, c->m, x->w, c->n, j0, j1, 1, 0, x->out, x->o_rs, x->o_cs, acc);
        else
            k->csr_rows(&x->rows, i0, i1, x->w, c->n, 0, c->n, 1, 0, x->out, x->o_rs, x->o_cs, acc);
        break;
    case CSR_COLS:
        k->csr_cols(&x->rows, i0, i1, x->w, c->kk, 0, c->n, 1, 0, x->out, x->o_rs, x->o_cs);
        break;
    case BITMASK:
        k->bitmask_cols(&x->bits, i0, i1, x->w, c->kk, c->n, 1, 0, x->out, x->o_rs, x->o_cs);
        break;
    case DENSE:
        k->dense_f32(x->s, x->s_rs, x->s_cs, x->w, c->n, 1, i0, i1, c->n, c->kk, 1, 0, x->out, x->o_rs,
                     x->o_cs, acc);
        break;
    case TRANSPOSE:
        k->transpose_f32(x->w, c->kk, j0, j1, c->n, 1, x->out, c->kk);
        break;
    case COUNT:
        k->count_rows_f32(x->s, i0, i1, c->kk, x->s_rs, x->s_cs, (int64_t *)(void *)acc);
        break;
    case FILL:
        k->fill_rows_f32(x->s, i0, i1, c->kk, x->s_rs, x->s_cs, x->rows.ptr + i0, (int32_t *)x->rows.idx,
                         (float *)x->rows.val);
        break;
    case PROBE:
        if (k->probe_f32(x->s, c->m, c->kk, x->s_rs, x->s_cs, 64, 3) < 0) abort();
        break;
    case SCAN:
        break;
    }
}

static void run_kernel(work_t *x)
{
    enum kind kind = x->c->kind;
    if (kind == EVENT_ROWS || kind == EVENT_COLS || kind == SCAN) run_all(scan_job, x);
    if (kind != SCAN) run_all(product_job, x);
}

static void build_sparse(work_t *x)
{
    const bench_case_t *c = x->c;
    int64_t *ptr = need((c->m + 1) * 8);
    int64_t *first = need(c->m * 8);
    int64_t words = (c->kk + 63) / 64;
    uint64_t *bits = need(c->m * words * 8);
    x->k->count_rows_f32(x->s, 0, c->m, c->kk, x->s_rs, x->s_cs, first);
    ptr[0] = 0;
    for (int64_t i = 0; i < c->m; i++) ptr[i + 1] = ptr[i] + first[i];
    memcpy(first, ptr, (size_t)c->m * 8);
    int32_t *idx = need((ptr[c->m] + 16) * 4);
    float *val = need((ptr[c->m] + 16) * 4);
    memset(val, 0, (size_t)(ptr[c->m] + 16) * 4);
    x->k->fill_rows_f32(x->s, 0, c->m, c->kk, x->s_rs, x->s_cs, ptr, idx, val);
    x->k->fill_bits_f32(x->s, 0, c->m, c->kk, x->s_rs, x->s_cs, bits);
    x->rows = (lac_rows_t){c->m, c->kk, ptr, idx, val};
    x->bits = (lac_bits_t){c->m, c->kk, words, bits, first, val};
}

static void build(work_t *x)
{
    const bench_case_t *c = x->c;
    uint64_t state = 1;
    x->s_rs = c->s_by_k ? 1 : c->kk;
    x->s_cs = c->s_by_k ? c->m : 1;
    x->o_rs = c->out_by_j ? 1 : c->n;
    x->o_cs = c->out_by_j ? c->m : 1;
    x->s = need(c->m * c->kk * 4);
    x->w = need(c->kk * c->n * 4);
    x->out = need((c->kind == TRANSPOSE ? c->kk * c->n : c->m * c->n) * 4);
    memset(x->out, 0, (size_t)(c->kind == TRANSPOSE ? c->kk * c->n : c->m * c->n) * 4);
    for (int64_t p = 0; p < c->kk * c->n; p++) x->w[p] = uniform(&state) - 0.5F;
    for (int64_t p = 0; p < c->m * c->kk; p++) {
        float value = uniform(&state) + 0.25F;
        x->s[p] = (double)uniform(&state) < c->density ? value : 0;
    }
    int64_t capacity = c->kind <= EVENT_COLS || c->kind == SCAN ? c->m * c->kk : 1;
    for (int t = 0; t < x->threads; t++) {
        x->ev[t] = (lac_events_t){.capacity = capacity};
        x->ev[t].first = need((capacity + 1) * 8);
        x->ev[t].k = need(capacity * 4);
        x->ev[t].row = need(capacity * 4);
        x->ev[t].val = need(capacity * 4);
        int64_t floats = lac_event_scratch(c->m) + lac_csr_scratch(c->kk) + lac_dense_scratch() + 2 * c->m;
        x->scratch[t] = need(floats * 4);
    }
    if (c->kind != EVENT_ROWS && c->kind != EVENT_COLS) build_sparse(x);
}

static void destroy(work_t *x)
{
    free(x->s);
    free(x->w);
    free(x->out);
    for (int t = 0; t < x->threads; t++) {
        free(x->ev[t].first);
        free(x->ev[t].k);
        free(x->ev[t].row);
        free(x->ev[t].val);
        free(x->scratch[t]);
    }
    free((void *)x->rows.ptr);
    free((void *)x->rows.idx);
    free((void *)x->rows.val);
    free((void *)x->bits.bits);
    free((void *)x->bits.first);
}

typedef void gemm_fn(int, int, int, int, int, int, float, const float *, int, const float *, int, float,
                     float *, int);
static gemm_fn *gemm;

/* The dense call on the same memory: CblasRowMajor 101, ColMajor 102, NoTrans 111, Trans 112. */
static void run_dense(work_t *x)
{
    const bench_case_t *c = x->c;
    bool w_by_k = c->kind == EVENT_COLS || c->kind == CSR_COLS || c->kind == BITMASK;
    gemm(101, c->s_by_k ? 112 : 111, w_by_k ? 112 : 111, (int)c->m, (int)c->n, (int)c->kk, 1, x->s,
         (int)(c->s_by_k ? c->m : c->kk), x->w, (int)(w_by_k ? c->kk : c->n), 0, x->out, (int)c->n);
}

static int by_value(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}

static bool smallest; /* for a machine with other work: the best repeat, and of one thread its own time */

static double time_us(void (*run)(work_t *), work_t *x, int repeats, int inner)
{
    double t[64];
    double begin = now_us();
    int done = 0;
    run(x);
    while (done < repeats && (done < 3 || now_us() - begin < LONGEST_US)) {
        double from = now_us();
        for (int i = 0; i < inner; i++) run(x);
        t[done++] = (now_us() - from) / inner;
    }
    qsort(t, (size_t)done, sizeof t[0], by_value);
    return smallest ? t[0] : t[done / 2];
}

/* Bytes of the large operand that must be touched. */
static double touched(const work_t *x)
{
    const bench_case_t *c = x->c;
    double active = 0;
    double nnz = c->kind == EVENT_ROWS || c->kind == EVENT_COLS ? 0 : (double)x->rows.ptr[c->m];
    for (int t = 0; t < x->threads; t++) active += (double)x->ev[t].active;
    switch (c->kind) {
    case EVENT_ROWS:
        return 4 * active * (double)c->n;
    case EVENT_COLS:
        return 64 * (active < (double)c->kk / 16 ? active : (double)c->kk / 16) * (double)c->n;
    case CSR_ROWS:
        return 4 * nnz * (double)c->n;
    case CSR_COLS:
        return 8 * nnz;
    case BITMASK:
        return 4 * nnz + (double)(c->m * c->kk) / 8;
    case DENSE:
        return 4.0 * (double)(c->kk * c->n);
    case TRANSPOSE:
        return 8.0 * (double)(c->kk * c->n);
    default:
        return 4.0 * (double)(c->m * c->kk);
    }
}

static void bench(const bench_case_t *c, const lac_host_kernels_t *k, int threads, int repeats)
{
    work_t x = {.c = c, .k = k, .threads = threads};
    bool with_dense = gemm && c->kind <= DENSE;
    build(&x);
    double once = time_us(run_kernel, &x, 3, 1);
    int inner = once > 500 ? 1 : (int)(500 / once) + 1;
    double sparse = time_us(run_kernel, &x, repeats, inner);
    double dense = with_dense ? time_us(run_dense, &x, repeats < 7 ? repeats : 7, 1) : 0;
    printf("%-34s %10.2f us  dense %9.0f us  x%-8.1f %7.1f GB/s\n", c->name, sparse, dense,
           with_dense ? dense / sparse : 0, touched(&x) / sparse * 1e-3);
    fflush(stdout);
    destroy(&x);
}

static bool wanted(const char *name, char **prefixes, int count)
{
    for (int p = 0; p < count; p++)
        if (strncmp(name, prefixes[p], strlen(prefixes[p])) == 0) return true;
    return count == 0;
}

int main(int argc, char **argv)
{
    int threads = 2;
    int repeats = 15;
    const char *isa = lac_host_kernels()->isa;
    const char *blas = "libopenblas.so.0";
    for (int o; (o = getopt(argc, argv, "t:i:r:b:s")) != -1;) {
        if (o == 't') threads = atoi(optarg);
        if (o == 'i') isa = optarg;
        if (o == 'r') repeats = atoi(optarg);
        if (o == 'b') blas = optarg;
        if (o == 's') smallest = true;
        if (o == '?') return 2;
    }
    const lac_host_kernels_t *k = lac_host_kernels_named(isa);
    if (!k || threads < 1 || threads > MAX_THREADS || repeats < 1 || repeats > 64) return 2;
    if (smallest && threads == 1) clock_used = CLOCK_THREAD_CPUTIME_ID;
    void *lib = dlopen(blas, RTLD_NOW | RTLD_LOCAL);
    if (lib) *(void **)&gemm = dlsym(lib, "cblas_sgemm");
    printf("# %s, %d threads, dense: %s\n", k->isa, threads, gemm ? blas : "none");
    pool.threads = threads;
    pthread_t id[MAX_THREADS];
    for (int t = 1; t < threads; t++)
        if (pthread_create(id + t, NULL, helper, (void *)(intptr_t)t) != 0) abort();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (wanted(cases[i].name, argv + optind, argc - optind)) bench(cases + i, k, threads, repeats);
    run_all(NULL, NULL);
    for (int t = 1; t < threads; t++) pthread_join(id[t], NULL);
    return 0;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times the host kernels alone, each against the dense sgemm (-d: dgemm) of a BLAS in the same process.
 *
 * usage: host_kernels_bench [-t threads] [-i isa] [-r repeats] [-b libblas.so] [-d] [-s] [name-prefix...]
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

#include "host_kernels_cases.h"

enum { LONGEST_US = 1000000 /* of one measurement, once it has three repeats */ };

static clockid_t clock_used = CLOCK_MONOTONIC;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(clock_used, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Threads that spin between jobs: what a pool that stays warm does. */
static struct pool {
    atomic_int start, done;
    int threads;
    void (*job)(kernel_work_t *, int);
    kernel_work_t *work;
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

static void run_all(void (*job)(kernel_work_t *, int), kernel_work_t *work)
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

static void scan_job(kernel_work_t *x, int id)
{
    const kernel_case_t *c = x->c;
    lac_events_t *ev = x->ev + id;
    ev->active = ev->count = 0;
    ev->first[0] = 0;
    if (!x->k->scan.events(x->s, c->m, part(c->kk, id, x->threads, 64), part(c->kk, id + 1, x->threads, 64),
                           x->s_rs, x->s_cs, ev))
        abort();
}

static void product_job(kernel_work_t *x, int id)
{
    const kernel_case_t *c = x->c;
    const lac_host_kernels_t *k = x->k;
    int64_t j0 = part(c->n, id, x->threads, 16);
    int64_t j1 = part(c->n, id + 1, x->threads, 16);
    int64_t i0 = part(c->m, id, x->threads, 1);
    int64_t i1 = part(c->m, id + 1, x->threads, 1);
    void *acc = x->scratch[id];
    lac_host_output_t out = {lac_host_scalar(k->type, 1), lac_host_scalar(k->type, 0), x->out, x->o_rs,
                             x->o_cs};
    lac_host_matrix_t s = {x->s, x->s_rs, x->s_cs};
    lac_host_matrix_t w = {x->w, c->n, 1};
    switch (c->kind) {
    case EVENT_ROWS:
        k->event_rows(x->ev, x->threads, c->m, x->w, c->n, j0, j1, &out, acc);
        break;
    case EVENT_COLS:
        k->event_cols(x->ev, x->threads, c->m, x->w, c->kk, j0, j1, &out, acc);
        break;
    case CSR_ROWS:
        if (c->n >= 64 * x->threads)
            k->csr_rows(&x->rows, 0, c->m, x->w, c->n, j0, j1, &out, acc);
        else
            k->csr_rows(&x->rows, i0, i1, x->w, c->n, 0, c->n, &out, acc);
        break;
    case CSR_COLS:
        k->csr_cols(&x->rows, i0, i1, x->w, c->kk, 0, c->n, &out);
        break;
    case BITMASK:
        k->bitmask_cols(&x->bits, i0, i1, x->w, c->kk, c->n, &out);
        break;
    case DENSE:
        k->dense(&s, &w, i0, i1, c->n, c->kk, &out, acc);
        break;
    case TRANSPOSE:
        k->transpose_values(x->w, c->kk, j0, j1, c->n, 1, x->out, c->kk);
        break;
    case COUNT:
        k->scan.count_rows(x->s, i0, i1, c->kk, x->s_rs, x->s_cs, acc);
        break;
    case FILL:
        k->scan.fill_rows(x->s, i0, i1, c->kk, x->s_rs, x->s_cs, x->rows.ptr + i0, (int32_t *)x->rows.idx,
                          (void *)x->rows.val);
        break;
    case PROBE:
        if (k->scan.probe(x->s, c->m, c->kk, x->s_rs, x->s_cs, 64, 3) < 0) abort();
        break;
    case SCAN:
        break;
    }
}

static void run_kernel(kernel_work_t *x)
{
    enum kernel_kind kind = x->c->kind;
    if (kind == EVENT_ROWS || kind == EVENT_COLS || kind == SCAN) run_all(scan_job, x);
    if (kind != SCAN) run_all(product_job, x);
}

typedef void sgemm_fn(int, int, int, int, int, int, float, const float *, int, const float *, int, float,
                      float *, int);
typedef void dgemm_fn(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                      double *, int);
static sgemm_fn *sgemm;
static dgemm_fn *dgemm;

/* The dense call on the same memory: CblasRowMajor 101, ColMajor 102, NoTrans 111, Trans 112. */
static void run_dense(kernel_work_t *x)
{
    const kernel_case_t *c = x->c;
    bool w_by_k = c->kind == EVENT_COLS || c->kind == CSR_COLS || c->kind == BITMASK;
    int op_s = c->s_by_k ? 112 : 111, op_w = w_by_k ? 112 : 111;
    int lds = (int)(c->s_by_k ? c->m : c->kk), ldw = (int)(w_by_k ? c->kk : c->n);
    if (x->k->type == LAC_HOST_F64)
        dgemm(101, op_s, op_w, (int)c->m, (int)c->n, (int)c->kk, 1, x->s, lds, x->w, ldw, 0, x->out,
              (int)c->n);
    else
        sgemm(101, op_s, op_w, (int)c->m, (int)c->n, (int)c->kk, 1, x->s, lds, x->w, ldw, 0, x->out,
              (int)c->n);
}

static int by_value(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}

static bool smallest; /* for a machine with other work: the best repeat, and of one thread its own time */

static double time_us(void (*run)(kernel_work_t *), kernel_work_t *x, int repeats, int inner)
{
    double t[64];
    double begin = now_us();
    int done = 0;
    run(x);
    do {
        double from = now_us();
        for (int i = 0; i < inner; i++) run(x);
        t[done++] = (now_us() - from) / inner;
    } while (done < repeats && (done < 3 || now_us() - begin < LONGEST_US));
    qsort(t, (size_t)done, sizeof t[0], by_value);
    return smallest ? t[0] : t[done / 2];
}

static void bench(const kernel_case_t *c, const lac_host_kernels_t *k, int threads, int repeats)
{
    kernel_work_t x = {.c = c, .k = k, .threads = threads};
    bool with_dense = (sgemm || dgemm) && c->kind <= DENSE;
    kernel_case_build(&x);
    double once = time_us(run_kernel, &x, 3, 1);
    int inner = once > 500 ? 1 : (int)(500 / once) + 1;
    double sparse = time_us(run_kernel, &x, repeats, inner);
    double dense = with_dense ? time_us(run_dense, &x, repeats < 7 ? repeats : 7, 1) : 0;
    printf("%-34s %10.2f us  dense %9.0f us  x%-8.1f %7.1f GB/s\n", c->name, sparse, dense,
           with_dense ? dense / sparse : 0, kernel_case_touched(&x) / sparse * 1e-3);
    fflush(stdout);
    kernel_case_free(&x);
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
    const char *isa = lac_host_kernels(LAC_HOST_F32)->isa;
    lac_host_type_t type = LAC_HOST_F32;
    const char *blas = "libopenblas.so.0";
    for (int o; (o = getopt(argc, argv, "t:i:r:b:ds")) != -1;) {
        if (o == 't') threads = atoi(optarg);
        if (o == 'i') isa = optarg;
        if (o == 'r') repeats = atoi(optarg);
        if (o == 'b') blas = optarg;
        if (o == 'd') type = LAC_HOST_F64;
        if (o == 's') smallest = true;
        if (o == '?') return 2;
    }
    const lac_host_kernels_t *k = lac_host_kernels_named(isa, type);
    if (!k || threads < 1 || threads > KERNEL_THREADS || repeats < 1 || repeats > 64) return 2;
    if (smallest && threads == 1) clock_used = CLOCK_THREAD_CPUTIME_ID;
    void *lib = dlopen(blas, RTLD_NOW | RTLD_LOCAL);
    if (lib && type == LAC_HOST_F32) *(void **)&sgemm = dlsym(lib, "cblas_sgemm");
    if (lib && type == LAC_HOST_F64) *(void **)&dgemm = dlsym(lib, "cblas_dgemm");
    printf("# %s, %s, %d threads, dense: %s\n", k->isa, k->size == sizeof(float) ? "floats" : "doubles",
           threads, sgemm || dgemm ? blas : "none");
    pool.threads = threads;
    pthread_t id[KERNEL_THREADS];
    for (int t = 1; t < threads; t++)
        if (pthread_create(id + t, NULL, helper, (void *)(intptr_t)t) != 0) abort();
    for (int i = 0; i < kernel_case_count; i++)
        if (wanted(kernel_cases[i].name, argv + optind, argc - optind))
            bench(kernel_cases + i, k, threads, repeats);
    run_all(NULL, NULL);
    for (int t = 1; t < threads; t++) pthread_join(id[t], NULL);
    return 0;
}

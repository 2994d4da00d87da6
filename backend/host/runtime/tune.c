/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One small experiment per constant, all on one large matrix that is never zero. */
#include "exec.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/vendor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Extents that are no powers of two: those put every row on the same cache sets, which is not the rule. */
#define SIDE     4000 /* the large matrix: SIDE x SIDE floats, 61 MB */
#define EDGE     1000 /* of a product or copy                        */
#define SHORT    16   /* rows of the sparse operand                  */
#define REPEAT   7
#define APART_US 200.0 /* shorter measurements lie apart on a quiet machine too */

typedef struct bench {
    lac_exec_t *exec;
    lac_machine_t *machine;
    int threads;
    float *w, *s, *out, *acc;
    double *out64;
    lac_events_t events;
    int64_t acc_stride;
    double apart; /* the most that the median of runs was above the least of them, as a fraction */
    bool fits;
} bench_t;

/* All but the dense rate is measured on floats: what is moved costs a double twice as much, by its bytes. */
static const lac_host_kernels_t *kernels_of(const bench_t *b)
{
    return lac_kernels(b->exec, LAC_F32);
}

#define WRITES(b, rs, cs) ((lac_host_output_t){{.f32 = 1.0f}, {.f32 = 0.0f}, (b)->out, rs, cs})

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* The least of several runs in microseconds: whatever else the machine does only adds. */
static double min_us(void (*task)(bench_t *), bench_t *b)
{
    double took[REPEAT];
    task(b);
    for (int i = 0; i < REPEAT; i++) {
        double begin = lac_now_us();
        task(b);
        took[i] = lac_now_us() - begin;
    }
    qsort(took, REPEAT, sizeof *took, by_value);
    double apart = took[REPEAT / 2] / took[0] - 1.0;
    if (took[0] >= APART_US && apart > b->apart) b->apart = apart;
    return took[0];
}

/* What is left of a time when a known part is taken off; never less than a tenth of it. */
static double above(double us, double part_us)
{
    return us - part_us > 0.1 * us ? us - part_us : 0.1 * us;
}

/* Nonzeros spread evenly: every `every`-th element of the SHORT x SIDE operand. */
static void fill_sparse(bench_t *b, int64_t every)
{
    for (int64_t i = 0; i < SHORT * (int64_t)SIDE; i++)
        b->s[i] = i * 7919 % every == 0 ? 1.0f + (float)(i % 5) : 0.0f;
}

/* Events at every `every`-th k, each in `rows` rows. */
static void make_events(bench_t *b, int64_t every, int32_t rows)
{
    lac_events_t *ev = &b->events;
    ev->active = ev->count = 0;
    for (int64_t k = 0; k < SIDE; k += every) {
        ev->k[ev->active] = (int32_t)k;
        ev->first[ev->active++] = ev->count;
        for (int32_t i = 0; i < rows; i++, ev->count++) {
            ev->row[ev->count] = i;
            ((float *)ev->val)[ev->count] = 1.5f;
        }
    }
    ev->first[ev->active] = ev->count;
}

static void dense(bench_t *b, int64_t m, int64_t n, int64_t k)
{
    float one = 1.0f, zero = 0.0f;
    int64_t ld = SIDE;
    b->exec->blas->gemm[0]("N", "N", &n, &m, &k, &one, b->w, &ld, b->s, &k, &zero, b->out, &n, 1, 1);
}

static void dense_square(bench_t *b)
{
    float one = 1.0f, zero = 0.0f;
    int64_t side = EDGE, ld = SIDE;
    b->exec->blas->gemm[0]("N", "N", &side, &side, &side, &one, b->w, &ld, b->w + EDGE, &ld, &zero, b->out,
                           &side, 1, 1);
}

/* The same square of doubles, over the same memory: what its floats are as doubles costs nothing more. */
static void dense_square_f64(bench_t *b)
{
    double one = 1.0, zero = 0.0;
    int64_t side = EDGE;
    b->exec->blas->gemm[1]("N", "N", &side, &side, &side, &one, b->w, &side, b->w + 2 * EDGE * EDGE, &side,
                           &zero, b->out64, &side, 1, 1);
}

static void dense_short(bench_t *b)
{
    dense(b, 2, SIDE, SIDE);
}
static void dense_outer(bench_t *b)
{
    dense(b, EDGE, EDGE, 2);
}
static void dense_nothing(bench_t *b)
{
    dense(b, 4, 4, 4);
}

static void dense_vector(bench_t *b)
{
    float one = 1.0f, zero = 0.0f;
    int64_t side = SIDE, inc = 1;
    b->exec->blas->gemv[0]("N", &side, &side, &one, b->w, &side, b->s, &inc, &zero, b->out, &inc, 1);
}

static void native_square(bench_t *b)
{
    lac_host_matrix_t a = {b->w, SIDE, 1}, w = {b->w + 512, SIDE, 1};
    kernels_of(b)->dense(&a, &w, 0, 256, 256, 256, &WRITES(b, 256, 1), b->acc);
}

static void scan(bench_t *b)
{
    b->events.active = b->events.count = 0;
    b->events.first[0] = 0;
    b->fits &= kernels_of(b)->scan.events(b->s, SHORT, 0, SIDE, SIDE, 1, &b->events);
}

static void count_far(bench_t *b)
{
    kernels_of(b)->scan.count_rows(b->w, 0, SIDE, SIDE, SIDE, 1, b->events.first);
}

static void gather_part(void *arg, int part, int parts)
{
    bench_t *b = arg;
    long long j0, j1;
    lac_share(SIDE, 16, part, parts, &j0, &j1);
    kernels_of(b)->event_rows(&b->events, 1, SHORT, b->w, SIDE, j0, j1, &WRITES(b, SIDE, 1),
                              b->acc + part * b->acc_stride);
}

static void gather_alone(bench_t *b)
{
    gather_part(b, 0, 1);
}
static void gather_all(bench_t *b)
{
    lac_parallel(b->threads, gather_part, b);
}

/* A panel small enough for the second-level cache: what remains is arithmetic. */
static void gather_cached(bench_t *b)
{
    kernels_of(b)->event_rows(&b->events, 1, SHORT, b->w, SIDE, 0, 64, &WRITES(b, SIDE, 1), b->acc);
}

static void gather_columns(bench_t *b)
{
    kernels_of(b)->event_cols(&b->events, 1, SHORT, b->w, SIDE, 0, SIDE, &WRITES(b, 1, SHORT), b->acc);
}

static void gather_near_columns(bench_t *b)
{
    kernels_of(b)->event_cols(&b->events, 1, SHORT, b->w, SIDE, 0, 64, &WRITES(b, 1, SHORT), b->acc);
}

/* No events at all: what remains is writing the output. */
static void write_rows(bench_t *b)
{
    kernels_of(b)->event_rows(&b->events, 1, 64, b->w, SIDE, 0, SIDE, &WRITES(b, SIDE, 1), b->acc);
}

static void write_across(bench_t *b)
{
    kernels_of(b)->event_rows(&b->events, 1, 64, b->w, SIDE, 0, SIDE, &WRITES(b, 1, 64), b->acc);
}

/* CSR with one nonzero in ten; built once in the event arrays. */
static lac_rows_t some_rows(bench_t *b)
{
    lac_events_t *ev = &b->events;
    int64_t count = 0;
    for (int64_t i = 0; i < 256; i++) {
        ev->first[i] = count;
        for (int64_t k = i % 10; k < EDGE; k += 10)
            ev->k[count] = (int32_t)k, ((float *)ev->val)[count++] = 1.5f;
    }
    ev->first[256] = count;
    return (lac_rows_t){256, EDGE, ev->first, ev->k, ev->val};
}

static void csr_product(bench_t *b)
{
    lac_rows_t rows = {256, EDGE, b->events.first, b->events.k, b->events.val};
    kernels_of(b)->csr_rows(&rows, 0, 256, b->w, SIDE, 0, 512, &WRITES(b, 512, 1), b->acc);
}

static void bits_product(bench_t *b)
{
    static uint64_t words[64 * 16];
    static int64_t first[64];
    memset(words, 0x11, sizeof words); /* a quarter set */
    for (int i = 0; i < 64; i++) first[i] = i * 256;
    lac_bits_t bits = {64, 1024, 16, words, first, b->w};
    kernels_of(b)->bitmask_cols(&bits, 0, 64, b->w + SIDE * 64, SIDE, 8, &WRITES(b, 8, 1));
}

static void transpose(bench_t *b)
{
    kernels_of(b)->transpose_values(b->w, EDGE, 0, EDGE, SIDE, 1, b->out, EDGE);
}

static void nothing_part(void *arg, int part, int parts)
{
    (void)arg, (void)part, (void)parts;
}
static void wake(bench_t *b)
{
    lac_parallel(b->threads, nothing_part, b);
}

typedef struct dense_rates {
    double gflops, gbps, out_gbps, vector_gbps;
} dense_rates_t;

/* The three parts one after the other: each problem is nearly all of one kind, and the rest is taken off. */
static dense_rates_t dense_rates(bench_t *b)
{
    dense_rates_t rates;
    rates.gflops = 2.0 * EDGE * EDGE * EDGE / min_us(dense_square, b) * 1e-3;
    double flops_us = 2.0 * 2.0 * SIDE * SIDE / rates.gflops * 1e-3;
    rates.gbps = 4.0 * SIDE * SIDE / above(min_us(dense_short, b), flops_us) * 1e-3;
    flops_us = 2.0 * 2.0 * EDGE * EDGE / rates.gflops * 1e-3;
    rates.out_gbps = 4.0 * EDGE * EDGE / above(min_us(dense_outer, b), flops_us) * 1e-3;
    rates.vector_gbps = 4.0 * SIDE * SIDE / min_us(dense_vector, b) * 1e-3;
    return rates;
}

/* How many threads the BLAS uses, and the call that changes that; both NULL where it cannot be asked. */
typedef struct blas_threads {
    int (*get)(void);
    void (*set)(int threads);
} blas_threads_t;

static blas_threads_t blas_threads(void)
{
    static const char *const names[][2] = {{"openblas_get_num_threads", "openblas_set_num_threads"},
                                           {"MKL_Get_Max_Threads", "MKL_Set_Num_Threads"}};
    blas_threads_t found = {NULL, NULL};
    for (size_t i = 0; i < sizeof names / sizeof *names && !found.set; i++) {
        void *get = lac_blas_symbol(names[i][0]), *set = lac_blas_symbol(names[i][1]);
        if (!get || !set) continue;
        memcpy(&found.get, &get, sizeof get);
        memcpy(&found.set, &set, sizeof set);
    }
    return found;
}

/* With all of its threads, and with one. */
static void measure_dense(bench_t *b)
{
    lac_machine_t *machine = b->machine;
    if (!lac_exec_blas(b->exec)->gemm[0]) return;
    blas_threads_t control = blas_threads();
    int threads = control.get ? control.get() : b->threads;
    machine->dense_call_us = min_us(dense_nothing, b);
    dense_rates_t all = dense_rates(b);
    dense_rates_t one = {all.gflops / threads, all.gbps / threads, all.out_gbps / threads,
                         all.vector_gbps / threads};
    if (control.set && threads > 1) {
        control.set(1);
        one = dense_rates(b);
        control.set(threads);
    }
    machine->dense_threads = threads;
    if (b->exec->blas->gemm[1])
        machine->dense64_share = 2.0 * EDGE * EDGE * EDGE / min_us(dense_square_f64, b) * 1e-3 / all.gflops;
    machine->dense_gflops = all.gflops, machine->dense_gflops_one = one.gflops;
    machine->dense_gbps = all.gbps, machine->dense_gbps_one = one.gbps;
    machine->dense_out_gbps = all.out_gbps, machine->dense_out_gbps_one = one.out_gbps;
    machine->dense_vector_gbps = all.vector_gbps, machine->dense_vector_gbps_one = one.vector_gbps;
}

static void measure_native(bench_t *b)
{
    b->machine->native_gflops = 2.0 * 256.0 * 256.0 * 256.0 / min_us(native_square, b) * 1e-3;
}

static void measure_scan(bench_t *b)
{
    fill_sparse(b, 5003);
    double few = min_us(scan, b);
    fill_sparse(b, 4);
    double many = min_us(scan, b);
    b->machine->scan_cached_gbps = 4.0 * SHORT * SIDE / few * 1e-3;
    b->machine->scan_gbps = 4.0 * SIDE * SIDE / min_us(count_far, b) * 1e-3;
    b->machine->scan_event_ns = (many > few ? many - few : 0.01) / (SHORT * SIDE / 4.0) * 1e3;
}

static void measure_rows(bench_t *b)
{
    make_events(b, 3, 1);
    double bytes = 4.0 * SIDE * (double)b->events.active;
    b->machine->row_gbps = bytes / min_us(gather_alone, b) * 1e-3;
    b->machine->row_gbps_all = b->threads > 1 ? bytes / min_us(gather_all, b) * 1e-3 : b->machine->row_gbps;
    make_events(b, 1, SHORT);
    b->machine->axpy_ns = min_us(gather_cached, b) * 1e3 / ((double)b->events.count * 4.0);
}

static void measure_columns(bench_t *b)
{
    make_events(b, 64, 1);
    b->machine->line_ns = min_us(gather_columns, b) * 1e3 / ((double)b->events.active * SIDE);
    b->machine->cached_line_ns = min_us(gather_near_columns, b) * 1e3 / ((double)b->events.active * 64.0);
}

static void measure_output(bench_t *b)
{
    make_events(b, 2 * SIDE, 0);
    b->events.active = b->events.count = b->events.first[0] = 0;
    b->machine->out_gbps = 4.0 * 64.0 * SIDE / min_us(write_rows, b) * 1e-3;
    b->machine->out_strided_gbps = 4.0 * 64.0 * SIDE / min_us(write_across, b) * 1e-3;
}

static void measure_compressed(bench_t *b)
{
    lac_rows_t rows = some_rows(b);
    double vectors = 512.0 / 16.0, nonzeros = (double)rows.ptr[256];
    b->machine->pack_gbps = 4.0 * EDGE * EDGE / min_us(transpose, b) * 1e-3;
    double rows_us = 256.0 * vectors * b->machine->csr_row_ns * 1e-3,
           pack_us = 4.0 * EDGE * 512.0 / (b->machine->pack_gbps * 1e3);
    b->machine->csr_ns = above(min_us(csr_product, b), rows_us + pack_us) * 1e3 / (nonzeros * vectors);
    b->machine->bits_ns = min_us(bits_product, b) * 1e3 / (64.0 * 1024.0 / 16.0 * 8.0);
}

/* Two second-level caches' worth: half of it is what the gather itself does not evict. */
static void measure_caches(bench_t *b)
{
    long level2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    if (level2 > 0) b->machine->cache_mb = 2.0 * (double)level2 * 1e-6;
}

static void measure_threads(bench_t *b)
{
    b->machine->fork_join_us = b->threads > 1 ? min_us(wake, b) + 1.0 : 1.0;
}

static const struct {
    const char *name;
    void (*measure)(bench_t *);
} steps[] = {{"dense products of the BLAS", measure_dense},
             {"native dense kernel", measure_native},
             {"compaction", measure_scan},
             {"row gather", measure_rows},
             {"caches", measure_caches},
             {"output", measure_output},
             {"column gather", measure_columns},
             {"CSR and bitmask products", measure_compressed},
             {"threads", measure_threads}};

static bool allocate(bench_t *b)
{
    int64_t capacity = SHORT * (int64_t)SIDE;
    b->acc_stride = lac_event_scratch(64, sizeof(float)) + 64;
    int64_t acc = b->acc_stride * b->threads, csr = lac_csr_scratch(SIDE, sizeof(float)),
            dense = lac_dense_scratch();
    acc = acc > csr ? acc : csr;
    b->w = lac_alloc(sizeof(float) * SIDE * SIDE);
    b->s = lac_alloc(sizeof(float) * (size_t)capacity);
    b->out = lac_alloc(sizeof(float) * 1024 * 1024);
    b->out64 = lac_alloc(sizeof(double) * EDGE * EDGE);
    b->acc = lac_alloc(sizeof(float) * (size_t)(acc > dense ? acc : dense));
    b->events.capacity = capacity;
    b->events.first = lac_alloc(sizeof(int64_t) * (size_t)(capacity + 1));
    b->events.k = lac_alloc(sizeof(int32_t) * (size_t)capacity);
    b->events.row = lac_alloc(sizeof(int32_t) * (size_t)capacity);
    b->events.val = lac_alloc(sizeof(float) * (size_t)capacity);
    return b->w && b->s && b->out && b->out64 && b->acc && b->events.first && b->events.k && b->events.row &&
           b->events.val;
}

static void release(bench_t *b)
{
    lac_free(b->w), lac_free(b->s), lac_free(b->out), lac_free(b->out64), lac_free(b->acc);
    lac_free(b->events.first), lac_free(b->events.k), lac_free(b->events.row), lac_free(b->events.val);
}

lac_status_t lac_host_tune(lac_exec_t *exec, int threads, lac_machine_t *machine, lac_info_fn progress,
                           void *arg)
{
    bench_t b = {.exec = exec, .machine = machine, .threads = threads, .fits = true};
    int count = (int)(sizeof steps / sizeof *steps);
    char done[32];
    for (int i = 0; i < lac_constant_count; i++)
        if (!lac_constant_of_device(i)) *lac_machine_value(machine, i) = lac_constants[i].value;
    if (!allocate(&b)) {
        release(&b);
        return lac_fail(LAC_ERR_MEMORY, "tune: out of memory");
    }
    for (int64_t i = 0; i < (int64_t)SIDE * SIDE; i++)
        b.w[i] = 0.5f + (float)(i * 2654435761 % 1024) / 1024.0f;
    fill_sparse(&b, 2);
    lac_cpu_use_t before = lac_cpu_use();
    for (int i = 0; i < count; i++) {
        snprintf(done, sizeof done, "%d/%d", i + 1, count);
        if (progress) progress(arg, steps[i].name, done);
        steps[i].measure(&b);
    }
    double waited = lac_cpu_waited(&before);
    machine->noise = fmax(0.001, fmax(b.apart, waited)); /* the store takes no 0 */
    release(&b);
    return b.fits ? LAC_OK
                  : lac_fail(LAC_ERR_INTERNAL, "tune: a compaction found more events than it was given");
}

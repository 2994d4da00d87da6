/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times recorded calls: replays leave out what the host takes to queue them. */
#include "exec.h"
#include "machine.h"
#include "cuda/routes/routes.h"
#include "base/status.h"

#include <stdlib.h>

#define CALLS     20 /* of a recording, in which each finds the caches as the call before it left them */
#define FEW_CALLS 3
#define LONG_US   1e3 /* a call of which a few are enough */
#define REPLAYS   9   /* of which the shortest counts     */

typedef struct work {
    lac_exec_t *exec;
    const lac_route_t *route;
    const lac_problem_t *p;
} work_t;

typedef struct tuning {
    lac_exec_t *exec;
    float *host; /* LAC_CUDA_TUNE_A elements */
} tuning_t;

static lac_status_t run(void *arg)
{
    work_t *w = arg;
    lac_outcome_t out = {false, -1.0, -1.0, NULL};
    if (w->route) return w->route->run(w->route, w->exec, w->p, &out);
    size_t bytes = (size_t)w->p->m * (size_t)w->p->n * sizeof(float);
    return lac_cuda_check_error(cudaMemsetAsync(w->p->c, 0x3f, bytes, w->exec->stream), "tune");
}

static uint64_t scramble(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* That share of them, spread without a pattern, is nonzero. */
static void fill(float *x, int64_t count, double density)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t word = scramble((uint64_t)i);
        double place = (double)(word >> 11) / 9007199254740992.0; /* 2^53 */
        x[i] = place < density ? 0.5f + (float)(word % 1024) / 1024.0f : 0.0f;
    }
}

static lac_status_t shortest(work_t *w, int calls, double *us)
{
    void *recording = NULL;
    double took;
    *us = -1.0;
    lac_status_t status = lac_cuda_device.record(w->exec, run, w, calls, &recording);
    for (int i = 0; !status && i < REPLAYS; i++) {
        status = lac_cuda_device.replay(w->exec, recording, 1, &took);
        if (*us < 0.0 || took < *us) *us = took;
    }
    lac_cuda_device.forget(recording);
    *us /= calls;
    return status;
}

/* The first call grows the workspace, which a recording may not do, and says how long one is. */
static lac_status_t measure(void *arg, const lac_route_t *route, const lac_problem_t *p, double *us)
{
    tuning_t *t = arg;
    work_t w = {t->exec, route, p};
    int64_t elements = p->m * p->k;
    fill(t->host, elements, p->a.density);
    void *a = (void *)(uintptr_t)p->a.buf;
    lac_status_t status = lac_cuda_device.upload(t->exec, a, t->host, (size_t)elements * sizeof(float));
    for (int i = 0; !status && i < 2; i++) status = lac_cuda_device.time(t->exec, run, &w, 1, us);
    return status ? status : shortest(&w, *us > LONG_US ? FEW_CALLS : CALLS, us);
}

static lac_status_t fill_b(tuning_t *t, float *b)
{
    lac_status_t status = LAC_OK;
    fill(t->host, LAC_CUDA_TUNE_A, 1.0);
    for (int64_t i = 0; !status && i < LAC_CUDA_TUNE_B; i += LAC_CUDA_TUNE_A) {
        int64_t count = LAC_CUDA_TUNE_B - i < LAC_CUDA_TUNE_A ? LAC_CUDA_TUNE_B - i : LAC_CUDA_TUNE_A;
        status = lac_cuda_device.upload(t->exec, b + i, t->host, (size_t)count * sizeof(float));
    }
    return status;
}

static lac_status_t allocate(tuning_t *t, lac_cuda_bench_t *bench)
{
    float **const buffer[] = {&bench->a, &bench->b, &bench->c};
    static const int64_t elements[] = {LAC_CUDA_TUNE_A, LAC_CUDA_TUNE_B, LAC_CUDA_TUNE_C};
    lac_status_t status = LAC_OK;
    t->host = malloc((size_t)LAC_CUDA_TUNE_A * sizeof(float));
    if (!t->host) return lac_fail(LAC_ERR_MEMORY, "tune: out of memory");
    for (int i = 0; !status && i < 3; i++)
        status =
            lac_cuda_check_error(cudaMalloc((void **)buffer[i], (size_t)elements[i] * sizeof(float)), "tune");
    return status ? status : fill_b(t, bench->b);
}

lac_status_t lac_cuda_tune(lac_exec_t *exec, int threads, lac_machine_t *machine, lac_info_fn progress,
                           void *arg)
{
    (void)threads;
    int count;
    const lac_route_t *const *table = lac_cuda_routes(&count);
    tuning_t t = {exec, NULL};
    lac_cuda_bench_t bench = {.measure = measure, .arg = &t};
    for (int i = 0; i < lac_constant_count; i++)
        if (lac_constant_of_device(i)) *lac_machine_value(machine, i) = lac_constants[i].value;
    lac_cuda_estimate(exec, machine);
    lac_status_t status = allocate(&t, &bench);
    if (!status) status = lac_cuda_calibrate(machine, table, count, &bench, progress, arg);
    cudaStreamSynchronize(exec->stream);
    cudaFree(bench.a), cudaFree(bench.b), cudaFree(bench.c);
    free(t.host);
    return status;
}

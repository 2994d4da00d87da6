/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One problem for each constant; what they have in common is settled in turns. */
#include "cuda_calibrate.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define REACH  16.0 /* what an estimate is wrong by at most                 */
#define PASSES 4    /* each problem takes a little of what others tell more of */
#define HALVES 40

typedef struct step {
    const char *name;
    size_t constant;   /* where it lies in lac_machine_t */
    const char *route; /* NULL: writing C                */
    bool by_columns;   /* B                              */
    lac_dim_t m, k, n;
    double density; /* of A */
} step_t;

#define CONSTANT(name) offsetof(lac_machine_t, name)

static const step_t steps[] = {
    {"memory", CONSTANT(cuda_dram_gbps), NULL, false, 8192, 1, 8192, 1.0},
    {"a launch", CONSTANT(cuda_launch_us), "native", false, 16, 16, 16, 1.0},
    {"a chained launch", CONSTANT(cuda_pdl_us), "event", false, 10, 512, 512, 0.002},
    {"output of a gather", CONSTANT(cuda_gather_out_gbps), "event", false, 1024, 64, 4096, 1e-3},
    {"cache", CONSTANT(cuda_l2_gbps), "event", false, 1024, 8192, 128, 1e-5},
    {"gathered rows", CONSTANT(cuda_gather_gbps), "event", false, 10, 5000, 5000, 0.1},
    {"sectors of columns", CONSTANT(cuda_sector_gbps), "event", true, 10, 5000, 5000, 0.001},
    {"pieces of columns", CONSTANT(cuda_active_gbps), "event", true, 10, 5000, 5000, 0.01},
    {"streamed columns", CONSTANT(cuda_stream_gbps), "event", true, 10, 5000, 5000, 0.1},
    {"dense, nothing", CONSTANT(cuda_dense_call_us), "dense", false, 64, 64, 64, 1.0},
    {"dense, one vector", CONSTANT(cuda_dense_vector_gbps), "dense", false, 1, 5000, 5000, 1.0},
    {"dense, arithmetic", CONSTANT(cuda_dense_tflops), "dense", false, 4096, 4096, 4096, 1.0},
    {"dense, few rows", CONSTANT(cuda_dense_gbps), "dense", false, 10, 5000, 5000, 1.0},
    {"tiles", CONSTANT(cuda_tiles_tflops), "tiles", false, 4096, 4096, 4096, 1.0},
};
#define STEPS ((int)(sizeof steps / sizeof *steps))

static void describe(const step_t *step, const lac_cuda_bench_t *bench, lac_problem_t *p)
{
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, step->m, step->k, bench->a, step->k),
              b = step->by_columns ? lac_obj_colmajor(LAC_F32, step->k, step->n, bench->b, step->k)
                                   : lac_obj_rowmajor(LAC_F32, step->k, step->n, bench->b, step->n),
              c = lac_obj_rowmajor(LAC_F32, step->m, step->n, bench->c, step->n);
    a.space = b.space = c.space = LAC_DEVICE;
    lac_problem_describe(p, 1.0f, &a, &b, 0.0f, &c);
    p->a.density = step->density;
}

/* The route of a step, on the left where it has sides; NULL where it does not serve here. */
static const lac_route_t *route_of(const step_t *step, const lac_route_t *const *table, int count,
                                   const lac_problem_t *p)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(table[i]->name, step->route) && table[i]->side != LAC_SIDE_RIGHT &&
            table[i]->applicable(table[i], p) == LAC_FITS)
            return table[i];
    return NULL;
}

static double predicted_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    double bytes = 4.0 * (double)p->m * (double)p->n;
    return route ? route->cost_us(route, p, machine) : bytes / (machine->cuda_dram_gbps * 1e3);
}

/* A problem that was measured. */
typedef struct sight {
    const lac_route_t *route;
    lac_problem_t p;
    double us; /* 0: not measured */
} sight_t;

/* Costs rise or fall with a constant and never turn: the interval about its `estimate` is halved, by ratio.
 */
static void solve(lac_machine_t *machine, size_t constant, double estimate, const sight_t *seen)
{
    double *value = (double *)(void *)((char *)machine + constant);
    double low = estimate / REACH, high = estimate * REACH;
    *value = low;
    double at_low = predicted_us(seen->route, &seen->p, machine);
    *value = high;
    bool rises = predicted_us(seen->route, &seen->p, machine) > at_low;
    for (int i = 0; i < HALVES; i++) {
        *value = sqrt(low * high);
        bool too_much = predicted_us(seen->route, &seen->p, machine) > seen->us;
        if (too_much == rises)
            high = *value;
        else
            low = *value;
    }
}

static lac_status_t see(const step_t *step, sight_t *seen, const lac_route_t *const *table, int count,
                        const lac_cuda_bench_t *bench)
{
    describe(step, bench, &seen->p);
    seen->route = step->route ? route_of(step, table, count, &seen->p) : NULL;
    seen->us = 0.0;
    if (step->route && !seen->route) return LAC_OK;
    return bench->measure(bench->arg, seen->route, &seen->p, &seen->us);
}

lac_status_t lac_cuda_calibrate(lac_machine_t *machine, const lac_route_t *const *table, int count,
                                const lac_cuda_bench_t *bench, lac_info_fn progress, void *arg)
{
    sight_t seen[STEPS];
    lac_machine_t estimate = *machine;
    for (int i = 0; i < STEPS; i++) {
        char done[32];
        snprintf(done, sizeof done, "%d/%d", i + 1, STEPS);
        if (progress) progress(arg, steps[i].name, done);
        lac_status_t status = see(&steps[i], &seen[i], table, count, bench);
        if (status) return status;
    }
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < STEPS; i++) {
            const char *from = (const char *)&estimate + steps[i].constant;
            if (seen[i].us > 0.0)
                solve(machine, steps[i].constant, *(const double *)(const void *)from, &seen[i]);
        }
    return LAC_OK;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A roofline estimate: rates of memory go with its bandwidth, rates of caches and arithmetic with the
 * multiprocessors and their clock, times of launches stay. */
#include "machine.h"

#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const lac_cuda_shape_t h200 = {132, 128, 2048, 1.98, 4917.0};

static const size_t by_memory[] = {
    offsetof(lac_machine_t, cuda_dram_gbps),       offsetof(lac_machine_t, cuda_sector_gbps),
    offsetof(lac_machine_t, cuda_active_gbps),     offsetof(lac_machine_t, cuda_stream_gbps),
    offsetof(lac_machine_t, cuda_dense_gbps),      offsetof(lac_machine_t, cuda_dense_vector_gbps),
    offsetof(lac_machine_t, cuda_gather_out_gbps), offsetof(lac_machine_t, cuda_spmm_out_gbps),
    offsetof(lac_machine_t, cuda_tiles_pack_gbps), offsetof(lac_machine_t, cuda_wide_out_gbps)};
static const size_t by_processors[] = {
    offsetof(lac_machine_t, cuda_l2_gbps),       offsetof(lac_machine_t, cuda_gather_gbps),
    offsetof(lac_machine_t, cuda_narrow_gbps),   offsetof(lac_machine_t, cuda_stream_sums),
    offsetof(lac_machine_t, cuda_stream_events), offsetof(lac_machine_t, cuda_spmm_events),
    offsetof(lac_machine_t, cuda_wide_gbps)};

static double rate(const lac_cuda_shape_t *x)
{
    return x->processors * x->clock_ghz;
}

static void scale(lac_machine_t *machine, const lac_machine_t *shipped, size_t at, double factor)
{
    double *value = (double *)(void *)((char *)machine + at);
    if (*value == *(const double *)(const void *)((const char *)shipped + at)) *value *= factor;
}

/* Warpgroup products run at 2048 on 9.0, products of a warp at 1024 on an A100. Elsewhere 256, what the
 * consumer's devices have with sums in f32, is taken for granted and no more: others have up to four times
 * that, and newer ones more by other instructions, but a route of which too much is expected is worse than
 * one that waits to be measured. */
void lac_cuda_machine_cores(int major, int minor, lac_cuda_shape_t *shape)
{
    bool a100 = major == 8 && minor == 0;
    shape->lanes = a100 ? 64 : 128;
    shape->tensor = major == 9 ? h200.tensor : a100 ? 1024 : 256;
}

void lac_cuda_machine_scale(lac_machine_t *machine, const lac_cuda_shape_t *shape)
{
    lac_machine_t shipped;
    lac_machine_default(&shipped);
    double core = rate(shape) / rate(&h200), memory = shape->memory_gbps / h200.memory_gbps;
    for (size_t i = 0; i < sizeof by_memory / sizeof *by_memory; i++)
        scale(machine, &shipped, by_memory[i], memory);
    for (size_t i = 0; i < sizeof by_processors / sizeof *by_processors; i++)
        scale(machine, &shipped, by_processors[i], core);
    scale(machine, &shipped, offsetof(lac_machine_t, cuda_dense_tflops), core * shape->lanes / h200.lanes);
    scale(machine, &shipped, offsetof(lac_machine_t, cuda_tiles_tflops), core * shape->tensor / h200.tensor);
    scale(machine, &shipped, offsetof(lac_machine_t, cuda_processors),
          (double)shape->processors / h200.processors);
}

/* One problem for each constant; what they have in common is settled in turns. */

#define REACH  16.0 /* what an estimate is wrong by at most                 */
#define PASSES 4    /* each problem also contains a little of the constants of others */
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
    {"a chained launch", CONSTANT(cuda_pdl_us), "event", false, 16, 512, 512, 0.002},
    {"output of a gather", CONSTANT(cuda_gather_out_gbps), "event", false, 1024, 64, 4096, 1e-3},
    {"cache", CONSTANT(cuda_l2_gbps), "event", false, 1024, 8192, 128, 1e-5},
    {"gathered rows", CONSTANT(cuda_gather_gbps), "event", false, 16, 5000, 5000, 0.1},
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
 * Where the cost does not depend on it, since the route takes another way here, the estimate stays. */
static void solve(lac_machine_t *machine, size_t constant, double estimate, const sight_t *seen)
{
    double *value = (double *)(void *)((char *)machine + constant);
    double low = estimate / REACH, high = estimate * REACH;
    *value = low;
    double at_low = predicted_us(seen->route, &seen->p, machine);
    *value = high;
    double at_high = predicted_us(seen->route, &seen->p, machine);
    bool rises = at_high > at_low;
    if (at_low <= at_high && at_low >= at_high) {
        *value = estimate;
        return;
    }
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

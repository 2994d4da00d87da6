/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Statistics of samples, the load of the machine, and interleaved timing on host and device. */
#include "timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <stdbool.h>

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Ascending, in place. */
static void sort_doubles(double *values, size_t count)
{
    if (count > 1) qsort(values, count, sizeof *values, ascending);
}

/* The quantile q in [0, 1] of sorted values, linear between neighbours; 0 when there is none. */
static double sample_quantile(const double *sorted, size_t count, double q)
{
    if (count == 0) return 0.0;
    double at = q * (double)(count - 1);
    size_t below = (size_t)at;
    if (below + 1 >= count) return sorted[count - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

sample_stats_t sample_stats(const double *samples, size_t count)
{
    sample_stats_t stats = {0};
    double *sorted = count > 0 ? malloc(count * sizeof *sorted) : NULL;
    if (!sorted) return stats;
    memcpy(sorted, samples, count * sizeof *sorted);
    sort_doubles(sorted, count);
    stats.min = sorted[0];
    stats.p25 = sample_quantile(sorted, count, 0.25);
    stats.median = sample_quantile(sorted, count, 0.5);
    stats.p75 = sample_quantile(sorted, count, 0.75);
    stats.p95 = sample_quantile(sorted, count, 0.95);
    stats.max = sorted[count - 1];
    stats.count = count;
    free(sorted);
    return stats;
}

/* What other programs took of the processors. */

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

/* All fields of the first line of /proc/stat but idle and iowait; guest time is in user time already. */
static double busy_seconds(void)
{
    double f[8] = {0};
    FILE *file = fopen("/proc/stat", "r");
    if (!file) return -1.0;
    int read = fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &f[0], &f[1], &f[2], &f[3], &f[4], &f[5],
                      &f[6], &f[7]);
    fclose(file);
    if (read != 8) return -1.0;
    return (f[0] + f[1] + f[2] + f[5] + f[6] + f[7]) / (double)sysconf(_SC_CLK_TCK);
}

machine_load_t machine_load_now(void)
{
    struct rusage own;
    getrusage(RUSAGE_SELF, &own);
    return (machine_load_t){busy_seconds(), seconds(own.ru_utime) + seconds(own.ru_stime), clock_us() * 1e-6};
}

double machine_load_of_others(const machine_load_t *since)
{
    machine_load_t now = machine_load_now();
    double wall = now.wall_s - since->wall_s, processors = (double)sysconf(_SC_NPROCESSORS_ONLN);
    if (since->busy_s < 0.0 || now.busy_s < 0.0 || wall <= 0.0) return -1.0;
    double others = ((now.busy_s - since->busy_s) - (now.own_s - since->own_s)) / (wall * processors);
    return others < 0.0 ? 0.0 : others;
}

double machine_load_wait(double share, double wait_idle_s)
{
    const struct timespec second = {1, 0};
    double begin = clock_us() * 1e-6, waited = 0.0;
    while (waited < wait_idle_s) {
        machine_load_t load = machine_load_now();
        nanosleep(&second, NULL);
        waited = clock_us() * 1e-6 - begin;
        if (machine_load_of_others(&load) < share) break;
    }
    return waited;
}

/* Interleaved timing. */

/* A sample is as many calls as fill this time, so that the clock's own grain does not show. */
#define SAMPLE_US 400.0
#define INNER_MAX 4096
#define WARMUP_US 2e5 /* enough for a fast contender's warm-up calls, a bound for a slow one's */
/* Untimed calls before each warm sample last this long (one call at least): the caches, the clock of the
 * processor and the branch predictor forget while others run. */
#define SETTLE_US 1000.0
/* OpenBLAS's threads look for work for 2^26 cycles before they sleep, and take processors from whoever comes
 * next; once they sleep, they have to be woken, and to find processors. So whoever comes between the BLAS and
 * others, or the reverse, settles for so long. A call shorter than WAKES_FROM has not woken them (OpenBLAS
 * takes two threads from 2^19 multiply-adds on). */
#define LINGER_US   30000.0
#define WAKES_FROM  10.0
#define VISIT_MAX   16 /* samples of one visit, where settling takes longer than sampling */
#define COLD_ROUNDS 15
#define FIRST_INNER 4 /* calls of the sample from which a contender that measures itself is calibrated */

/* How long a contender has to settle behind the one `before` it. */
static double settle_us(const timed_contender_t *before, const timed_contender_t *contender)
{
    if (contender->measure) return 0.0;
    return before->wakes != contender->wakes ? LINGER_US : SETTLE_US;
}

static bool warm_up(timed_contender_t *contender, const timing_plan_t *plan)
{
    double spent = 0.0;
    double most_us = contender->warmup_us > 0.0 ? contender->warmup_us : WARMUP_US;
    int calls = contender->warmup > plan->warmup ? contender->warmup : plan->warmup;
    if (contender->reset) contender->reset(contender->arg);
    for (int i = 0; i < calls && (i < 3 || spent < most_us); i++) {
        double begin = clock_us();
        if (!contender->run(contender->arg)) return false;
        double took = clock_us() - begin;
        if (contender->first <= 0.0) contender->first = took;
        spent += took;
    }
    return true;
}

/* Microseconds per call over `calls` calls; negative when one failed. */
static double sample_once(timed_contender_t *contender, int calls)
{
    if (contender->measure) return contender->measure(contender->measured, calls);
    double begin = clock_us();
    for (int i = 0; i < calls; i++)
        if (!contender->run(contender->arg)) return -1.0;
    return (clock_us() - begin) / calls;
}

static void drop(timed_contender_t *contender, bool failed)
{
    contender->dropped = true;
    contender->failed = failed;
    free(contender->sample);
    contender->sample = NULL;
    contender->count = 0;
}

static int calls_to_fill(const timing_plan_t *plan, double us)
{
    int most = plan->max_inner > 0 ? plan->max_inner : INNER_MAX;
    double calls = plan->cache || us >= SAMPLE_US ? 1.0 : SAMPLE_US / (us > 0.0 ? us : 0.01);
    return calls > most ? most : calls < 1.0 ? 1 : (int)calls;
}

/* Microseconds of one call, roughly; negative when one failed. */
static double try_out(timed_contender_t *contender, const timing_plan_t *plan)
{
    if (!warm_up(contender, plan)) return -1.0;
    double us = sample_once(contender, contender->measure ? FIRST_INNER : 1);
    bool again = !contender->measure && !plan->cache && us >= 0.0 && us < SAMPLE_US;
    return again ? sample_once(contender, us < 1.0 ? 64 : 8) : us;
}

/* The contenders that are timed in the order in which they are visited, and what a round of visits takes. */
typedef struct tour {
    timed_contender_t **stop;
    int count;
    double sampling_us, settling_us; /* of a round of one sample each; besides */
    int visit;                       /* samples of one visit */
} tour_t;

/* Fills inner and wakes. */
static void calibrate(timed_contender_t *contenders, int count, const timing_plan_t *plan, tour_t *tour)
{
    for (int i = 0; i < count; i++) {
        timed_contender_t *contender = &contenders[i];
        if (contender->dropped) continue;
        double us = try_out(contender, plan);
        if (us < 0.0) {
            drop(contender, true);
            continue;
        }
        contender->inner = calls_to_fill(plan, us);
        contender->wakes = us >= WAKES_FROM && contender->in_blas && contender->in_blas(contender->arg);
        int untimed = contender->measure ? contender->inner : 1;
        tour->sampling_us += us * (contender->inner + untimed);
    }
}

static void plan_tour(timed_contender_t *contenders, int count, const timing_plan_t *plan, tour_t *tour)
{
    for (int wakes = 1; wakes >= 0; wakes--)
        for (int i = 0; i < count; i++)
            if (!contenders[i].dropped && contenders[i].wakes == wakes)
                tour->stop[tour->count++] = &contenders[i];
    for (int i = 0; i < tour->count; i++)
        tour->settling_us += settle_us(tour->stop[i ? i - 1 : 0], tour->stop[i]);
    double samples = plan->repeat > 0 || plan->cache ? 1.0 : tour->settling_us / fmax(tour->sampling_us, 1.0);
    tour->visit = samples < 1.0 ? 1 : samples > VISIT_MAX ? VISIT_MAX : (int)samples;
}

static int choose_rounds(const timing_plan_t *plan, int contenders, const tour_t *tour)
{
    if (plan->repeat > 0) return plan->repeat;
    if (plan->cache) return COLD_ROUNDS;
    double round_us = fmax(tour->visit * tour->sampling_us + tour->settling_us, 1.0);
    double rounds = plan->min_time_s * 1e6 * contenders / round_us;
    return rounds < ROUNDS_MIN ? ROUNDS_MIN : rounds > ROUNDS_MAX ? ROUNDS_MAX : (int)rounds;
}

static bool settle(timed_contender_t *contender, double us)
{
    double begin = clock_us();
    do
        if (!contender->run(contender->arg)) return false;
    while (clock_us() - begin < us);
    return true;
}

static void take_sample(timed_contender_t *contender, const timing_plan_t *plan, double untimed_us)
{
    if (contender->reset) contender->reset(contender->arg);
    if (plan->cache) cache_flush_run(plan->cache);
    bool ready = plan->cache || contender->measure || settle(contender, untimed_us);
    double us = ready ? sample_once(contender, contender->inner) : -1.0;
    if (us < 0.0)
        drop(contender, true);
    else
        contender->sample[contender->count++] = us;
}

/* The samples of one visit: behind the first, a call that is not timed is enough. */
static void visit(timed_contender_t *contender, const timing_plan_t *plan, const timed_contender_t *before,
                  int samples)
{
    for (int i = 0; i < samples && !contender->dropped; i++)
        take_sample(contender, plan, i ? 0.0 : settle_us(before, contender));
}

static void drop_slow(timed_contender_t *contenders, int count, double factor)
{
    double best = 0.0;
    for (int i = 0; i < count; i++)
        if (contenders[i].count > 0 && (best <= 0.0 || contenders[i].sample[0] < best))
            best = contenders[i].sample[0];
    for (int i = 0; i < count; i++)
        if (contenders[i].count > 0 && !contenders[i].keep && contenders[i].sample[0] > factor * best)
            drop(&contenders[i], false);
}

/* There and back, so that none always follows the same one; one sample each in the first round, which drops
 * what is slow. */
static void time_tour(timed_contender_t *contenders, int count, const timing_plan_t *plan, const tour_t *tour,
                      int rounds)
{
    const timed_contender_t *before = tour->stop[0];
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < tour->count; i++) {
            timed_contender_t *contender = tour->stop[round % 2 == 0 ? i : tour->count - 1 - i];
            if (contender->dropped) continue;
            visit(contender, plan, before, round ? tour->visit : 1);
            before = contender;
        }
        if (round == 0 && plan->drop_factor > 0.0) drop_slow(contenders, count, plan->drop_factor);
    }
}

/* For so many samples of each; false: out of memory. */
static bool make_room(timed_contender_t *contenders, int count, size_t samples)
{
    for (int i = 0; i < count; i++) {
        contenders[i].count = 0;
        free(contenders[i].sample);
        contenders[i].sample = contenders[i].dropped ? NULL : malloc(samples * sizeof(double));
        if (!contenders[i].sample && !contenders[i].dropped) return false;
    }
    return true;
}

bool time_contenders(timed_contender_t *contenders, int count, const timing_plan_t *plan)
{
    tour_t tour = {.stop = calloc((size_t)count, sizeof *tour.stop)};
    if (!tour.stop) return false;
    calibrate(contenders, count, plan, &tour);
    plan_tour(contenders, count, plan, &tour);
    int rounds = choose_rounds(plan, count, &tour);
    bool ok = make_room(contenders, count, 1 + (size_t)(rounds - 1) * (size_t)tour.visit);
    if (ok) time_tour(contenders, count, plan, &tour, rounds);
    free(tour.stop);
    return ok;
}

double paired_speedup(const timed_contender_t *base, const timed_contender_t *contender)
{
    size_t count = base->count < contender->count ? base->count : contender->count;
    double *ratio = count > 0 ? malloc(count * sizeof *ratio) : NULL;
    if (!ratio) return 0.0;
    for (size_t i = 0; i < count; i++) ratio[i] = base->sample[i] / contender->sample[i];
    double median = sample_stats(ratio, count).median;
    free(ratio);
    return median;
}

/* Timing one thing on a device. */

#define US_MIN 1e-3 /* of a call, after the sweeps have been taken off */
/* Calls between two waits when the host's time is taken: short of the 1024 launches that a device queues. */
#define HOST_BATCH     64
#define HOST_BATCH_US  4000.0
#define HOST_BATCHES   15
#define QUEUED_UNTIMED 4 /* calls that keep the device busy while the host begins to queue */

static bool record(const device_contender_t *contender, lac_work_fn work, void *arg, int calls,
                   lac_graph_t **recording)
{
    if (*recording && contender->recorded == calls) return true;
    lac_graph_free(*recording);
    *recording = NULL;
    return lac_graph_capture(contender->ctx, work, arg, calls, recording) == LAC_OK;
}

static double replayed(lac_graph_t *recording)
{
    double us;
    bool ran =
        lac_graph_launch(recording, 1, NULL) == LAC_OK && lac_graph_launch(recording, 1, &us) == LAC_OK;
    return ran ? us : -1.0;
}

double device_contender_replayed(void *timed, int calls)
{
    device_contender_t *contender = timed;
    if (!record(contender, contender->queue, contender->arg, calls, &contender->recording)) return -1.0;
    contender->recorded = calls;
    return replayed(contender->recording);
}

static lac_status_t queue_sweep(void *arg)
{
    const device_contender_t *contender = arg;
    return l2_flush_queue(contender->sweep, contender->ctx);
}

static lac_status_t queue_swept(void *arg)
{
    const device_contender_t *contender = arg;
    lac_status_t status = l2_flush_queue(contender->sweep, contender->ctx);
    return status != LAC_OK ? status : contender->queue(contender->arg);
}

double device_contender_cold(void *timed, int calls)
{
    device_contender_t *contender = timed;
    /* The first sweep on a context makes its BLAS handle, which a recording may not do. */
    if (!contender->sweeps && (queue_sweep(contender) != LAC_OK || lac_device_wait(contender->ctx) != LAC_OK))
        return -1.0;
    if (!record(contender, queue_swept, contender, calls, &contender->recording) ||
        !record(contender, queue_sweep, contender, calls, &contender->sweeps))
        return -1.0;
    contender->recorded = calls;
    double both = replayed(contender->recording), alone = replayed(contender->sweeps);
    if (both < 0.0 || alone < 0.0) return -1.0;
    return both - alone > US_MIN ? both - alone : US_MIN;
}

double device_contender_queued(void *timed, int calls)
{
    device_contender_t *contender = timed;
    double us;
    for (int i = 0; i < QUEUED_UNTIMED; i++)
        if (contender->queue(contender->arg) != LAC_OK) return -1.0;
    return lac_device_time(contender->ctx, contender->queue, contender->arg, calls, &us) == LAC_OK ? us
                                                                                                   : -1.0;
}

double device_contender_host_us(const device_contender_t *contender, double call_us)
{
    double took[HOST_BATCHES], calls = HOST_BATCH_US / (call_us > 1.0 ? call_us : 1.0);
    int batch = calls > HOST_BATCH ? HOST_BATCH : calls < 1.0 ? 1 : (int)calls;
    for (int b = 0; b < HOST_BATCHES; b++) {
        if (lac_device_wait(contender->ctx) != LAC_OK) return -1.0;
        double begin = clock_us();
        for (int i = 0; i < batch; i++)
            if (contender->queue(contender->arg) != LAC_OK) return -1.0;
        took[b] = (clock_us() - begin) / batch;
    }
    return lac_device_wait(contender->ctx) == LAC_OK ? sample_stats(took, HOST_BATCHES).median : -1.0;
}

void device_contender_forget(device_contender_t *contender)
{
    lac_graph_free(contender->recording);
    lac_graph_free(contender->sweeps);
    contender->recording = contender->sweeps = NULL;
    contender->recorded = 0;
}

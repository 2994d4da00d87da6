/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * How time is measured: the clock, statistics of samples, the load of the machine, and contenders that are
 * timed in turn. */
#ifndef LACUNA_TOOLS_LACUNA_TIMING_H
#define LACUNA_TOOLS_LACUNA_TIMING_H

#include "cache_flush.h"
#include "lacuna/lacuna.h"

#include <time.h>
#include <stddef.h>
#include <stdbool.h>

/* Microseconds from some fixed moment. */
static inline double clock_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Order statistics of timings: medians and quartiles, because the mean of a noisy clock means little. */

typedef struct sample_stats {
    double min, p25, median, p75, p95, max; /* 0 when there is no sample */
    size_t count;
} sample_stats_t;

/* Sorts a copy; the order of the samples is kept. All fields 0 when count is 0 or memory is out. */
sample_stats_t sample_stats(const double *samples, size_t count);

/* What other programs took of the processors while something was timed: the doubt that belongs to a figure.
 */

typedef struct machine_load {
    double busy_s; /* of all processors, all programs, and what a host took from this guest */
    double own_s;  /* of this process                                                       */
    double wall_s;
} machine_load_t;

machine_load_t machine_load_now(void);

/* The share, 0 to 1, of all processors' time that others used since then; negative where the system does not
 * report it. The kernel counts in ticks of 10 ms: intervals below half a second say little. */
double machine_load_of_others(const machine_load_t *since);

/* Waits until others use less than `share` for a second, at most so many seconds. Returns the seconds waited.
 */
double machine_load_wait(double share, double wait_idle_s);

/* Interleaved timing: every contender is visited once per round (A B C, C B A, ...), so that a machine that
 * slows down slows all of them, and ratios within one round stay true. Those that run in the BLAS come before
 * the others, whatever their order: each of them follows another of them, or itself, or has as long to
 * settle. */

/* One thing to be timed. run returns false when it failed, and the contender is then dropped. reset, which is
 * not timed, comes before every sample and may be NULL. */
typedef struct timed_contender {
    bool (*run)(void *arg);
    void (*reset)(void *arg);
    /* Microseconds per call over so many calls, caches and all; negative: failed. NULL: run, by the host's
     * clock. Needed where calls return before they are done. */
    double (*measure)(void *measured, int calls);
    void *measured;
    void *arg;
    /* Asked behind the warm-up: true where it runs in a BLAS, whose threads go on spinning. NULL: it does
     * not. */
    bool (*in_blas)(void *arg);
    int warmup;       /* calls before its first sample, where those are more than the plan's        */
    double warmup_us; /* that they may take; 0: as others                                        */
    bool keep;        /* never dropped for being slow                                     */
    bool dropped;     /* out: failed, or slower than drop_factor times the fastest        */
    bool failed;      /* out                                                              */
    bool wakes;       /* out: calls of it wake the threads of a BLAS                      */
    int inner;        /* out: calls per sample                                            */
    double first;     /* out: microseconds of the very first call (set once, when 0)      */
    double *sample;   /* out: microseconds per call; the caller frees                     */
    size_t count;     /* out: samples                                                     */
} timed_contender_t;

typedef struct timing_plan {
    double min_time_s;    /* time to spend on every contender, about                                  */
    int repeat;           /* rounds; 0: as many as min_time_s allows, ROUNDS_MIN at least      */
    int warmup;           /* calls before anything is timed: the dispatcher's steady state       */
    int max_inner;        /* calls in one sample; 0: as many as fill it                          */
    double drop_factor;   /* contenders slower than this many times the fastest are dropped; 0: never */
    cache_flush_t *cache; /* flushed before every sample, which is then one call; NULL: warm     */
} timing_plan_t;

#define ROUNDS_MIN 9
#define ROUNDS_MAX 201

/* Times the contenders. False: out of memory. Samples of one round of all contenders that were not dropped
 * lie at the same indices. */
bool time_contenders(timed_contender_t *contenders, int count, const timing_plan_t *plan);

/* Median over the samples of base.sample / contender.sample: how many times faster the contender is. 0
 * without samples.
 */
double paired_speedup(const timed_contender_t *base, const timed_contender_t *contender);

/* Timing one thing on a device: recorded and replayed, with its caches emptied, call by call, and on the
 * host's clock alone. */

typedef struct device_contender {
    lac_ctx_t *ctx;
    lac_work_fn queue; /* queues one call on ctx */
    void *arg;
    const l2_flush_t *sweep; /* for device_contender_cold                      */
    lac_graph_t *recording;  /* of `recorded` calls, or NULL              */
    lac_graph_t *sweeps;     /* of as many sweeps alone, or NULL          */
    int recorded;
} device_contender_t;

/* The next three give microseconds per call over `calls` calls, negative where one failed (lac_last_error
 * says why). They have the type of timed_contender_t.measure: timed is a device_contender_t. */

/* The calls recorded once and replayed as one, behind a replay that is not timed, so that nothing of the host
 * shows. */
double device_contender_replayed(void *timed, int calls);

/* The same with a sweep through the device's memory before each call, less the time of the sweeps alone. */
double device_contender_cold(void *timed, int calls);

/* Queued by the host one after the other: what takes longer shows, the device's work or the host's. */
double device_contender_queued(void *timed, int calls);

/* Microseconds of the host for one call while the device's queue is not full; negative where one failed.
 * call_us is what a call takes on the device. */
double device_contender_host_us(const device_contender_t *contender, double call_us);

/* Frees the recordings; the contender can be timed again. */
void device_contender_forget(device_contender_t *contender);

#endif

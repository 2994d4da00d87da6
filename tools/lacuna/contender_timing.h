/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Interleaved timing: every lane gives one sample per round (A B C, A B C, ...), so that a machine that
 * slows down slows all of them, and ratios within one round stay true. */
#ifndef TOOL_CONTENDER_TIMING_H
#define TOOL_CONTENDER_TIMING_H

#include <stdbool.h>
#include <stddef.h>

#include "cache_flush.h"

/* One thing to be timed. run returns false when it failed, and the lane is then dropped. reset, which is not
 * timed, comes before every sample and may be NULL. */
typedef struct timed_contender {
    bool (*run)(void *arg);
    void (*reset)(void *arg);
    /* Microseconds per call over so many calls, caches and all; negative: failed. NULL: run, by the host's
     * clock. Needed where calls return before they are done. */
    double (*measure)(void *measured, int calls);
    void *measured;
    void *arg;
    bool lingers;   /* runs in a BLAS whose threads go on spinning for a while: the next lane waits that out
                     */
    int warmup;     /* calls before its first sample, where those are more than the plan's        */
    bool keep;      /* never dropped for being slow                                     */
    bool dropped;   /* out: failed, or slower than drop_factor times the fastest        */
    bool failed;    /* out                                                              */
    int inner;      /* out: calls per sample                                            */
    double first;   /* out: microseconds of the very first call (set once, when 0)      */
    double *sample; /* out: microseconds per call; the caller frees                     */
    size_t count;   /* out: samples                                                     */
} timed_contender_t;

typedef struct timing_plan {
    double min_time_s;    /* time to spend on every lane, about                                  */
    int repeat;           /* rounds; 0: as many as min_time_s allows, ROUNDS_MIN at least      */
    int warmup;           /* calls before anything is timed: the dispatcher's steady state       */
    int max_inner;        /* calls in one sample; 0: as many as fill it                          */
    double drop_factor;   /* lanes slower than this many times the fastest are dropped; 0: never */
    cache_flush_t *cache; /* flushed before every sample, which is then one call; NULL: warm     */
} timing_plan_t;

#define ROUNDS_MIN 9
#define ROUNDS_MAX 201

/* Times the lanes. False: out of memory. Samples of round r of all lanes that were not dropped lie at the
 * same index. */
bool time_contenders(timed_contender_t *contenders, int count, const timing_plan_t *plan);

/* Median over the rounds of base.sample / lane.sample: how many times faster the lane is. 0 without samples.
 */
double paired_speedup(const timed_contender_t *base, const timed_contender_t *contender);

#endif

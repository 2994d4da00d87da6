/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A small pool: workers spin briefly for the next task, then sleep.

OpenMP would serve as well, but its run time keeps idle threads spinning against the BLAS's own pool, cannot
be used in a forked child, and is opaque to the thread sanitizer; this library lives inside other people's
programs and needs all three. */
#include "threads.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#define MAX_WORKERS 255
#define SPINS       2000 /* about 20 us: longer than the gap between two calls of one hot loop */

static pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER; /* held by the caller whose task runs */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;  /* guards sleeping on `wake`          */
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

static int workers;          /* threads started; only the owner changes it  */
static atomic_uint round_no; /* a new value releases the workers            */
static atomic_int sleepers;
static atomic_int pending;     /* workers that have not finished this round   */
static lac_task_fn round_task; /* written before round_no, read after it     */
static void *round_arg;
static int round_parts;
static unsigned first_round[MAX_WORKERS + 1]; /* the round before a worker's first */

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static unsigned wait_for_round(unsigned seen)
{
    for (int spin = 0; spin < SPINS; spin++) {
        unsigned now = atomic_load_explicit(&round_no, memory_order_acquire);
        if (now != seen) return now;
        relax();
    }
    pthread_mutex_lock(&gate);
    atomic_fetch_add(&sleepers, 1);
    unsigned now;
    while ((now = atomic_load(&round_no)) == seen) pthread_cond_wait(&wake, &gate);
    atomic_fetch_sub(&sleepers, 1);
    pthread_mutex_unlock(&gate);
    return now;
}

static void *work(void *arg)
{
    int part = (int)(long)arg;
    unsigned seen = first_round[part];
    for (;;) {
        seen = wait_for_round(seen);
        if (part < round_parts) round_task(round_arg, part, round_parts);
        atomic_fetch_sub_explicit(&pending, 1, memory_order_release);
    }
    return NULL;
}

/* A forked child has none of the workers: it begins again. */
static void before_fork(void)
{
    pthread_mutex_lock(&owner), pthread_mutex_lock(&gate);
}
static void in_parent(void)
{
    pthread_mutex_unlock(&gate), pthread_mutex_unlock(&owner);
}
static void in_child(void)
{
    workers = 0;
    atomic_store(&sleepers, 0);
    atomic_store(&pending, 0);
    pthread_cond_init(&wake, NULL);
    in_parent();
}

static void prepare(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}

/* Starts workers until `count` are there; signals stay with the program's own threads. */
static void start_workers(int count)
{
    sigset_t all, old;
    pthread_attr_t attr;
    if (count > MAX_WORKERS) count = MAX_WORKERS;
    if (workers >= count || pthread_attr_init(&attr)) return;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    while (workers < count) {
        pthread_t thread;
        first_round[workers + 1] = atomic_load(&round_no);
        if (pthread_create(&thread, &attr, work, (void *)(long)(workers + 1))) break;
        workers++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
}

static void run_round(int parts, lac_task_fn task, void *arg)
{
    round_task = task;
    round_arg = arg;
    round_parts = parts;
    atomic_store(&pending, workers);
    atomic_fetch_add(&round_no, 1);
    if (atomic_load(&sleepers)) {
        pthread_mutex_lock(&gate);
        pthread_cond_broadcast(&wake);
        pthread_mutex_unlock(&gate);
    }
    task(arg, 0, parts);
    for (int spin = 0; atomic_load_explicit(&pending, memory_order_acquire); spin++) {
        if (spin < SPINS)
            relax();
        else
            sched_yield();
    }
}

void lac_parallel(int parts, lac_task_fn task, void *arg)
{
    if (parts > 1) pthread_once(&prepared, prepare);
    if (parts <= 1 || pthread_mutex_trylock(&owner)) {
        for (int part = 0; part < parts; part++) task(arg, part, parts);
        return;
    }
    start_workers(parts - 1);
    if (workers >= parts - 1)
        run_round(parts, task, arg);
    else
        for (int part = 0; part < parts; part++) task(arg, part, parts);
    pthread_mutex_unlock(&owner);
}

int lac_processors(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count;
}

void lac_share(long long extent, long long grain, int part, int parts, long long *begin, long long *end)
{
    long long grains = (extent + grain - 1) / grain;
    *begin = grains * part / parts * grain;
    *end = grains * (part + 1) / parts * grain;
    if (*begin > extent) *begin = extent;
    if (*end > extent) *end = extent;
}

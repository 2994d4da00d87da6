/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A small pool: workers spin briefly for the next task, then sleep. Parts are claimed one by one, by the
 * caller too, so that nobody waits for a worker that is still asleep: it finds nothing left.
 *
 * OpenMP would serve as well, but its run time keeps idle threads spinning against the BLAS's own pool,
 * cannot be used in a forked child, and is opaque to the thread sanitizer; this library lives inside other
 * people's programs and needs all three. */
#include "threads.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define MAX_WORKERS 255
#define SPINS       2000 /* about 20 us: longer than the gap between two calls of one hot loop */

static pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER; /* held by the caller whose task runs */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;  /* guards sleeping on `wake`          */
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
/* Shared by those who hold a lock that a child would find locked for ever. Taken before the pool's, which
 * they may use meanwhile; a fork that waits comes before those who ask after it. */
static const pthread_rwlock_t nobody = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_rwlock_t forkable = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static _Thread_local int defers;

static int workers; /* threads started; only the owner changes it */
static atomic_int sleepers;

/* The round, how many parts it has, and the next of them that nobody has claimed: all in one word, since a
 * part is claimed by raising it. Whoever does that has read this round's task, for the next one's is not set
 * before every part of this one is done; how many parts there are must not be read beside the word, or the
 * next round's count would open this round again before its ticket is out. */
#define PART_BITS 12
#define PART_MASK ((1u << PART_BITS) - 1)
_Static_assert(MAX_WORKERS + 1 <= PART_MASK, "a ticket has room for every part");
static _Atomic uint64_t ticket;
static atomic_int done; /* parts of this round that workers have finished */
static _Atomic lac_task_fn round_task;
static void *_Atomic round_arg;
static _Atomic uint64_t round_mode; /* the caller's rounding: a result must not depend on who computed it */
static atomic_int round_processor;  /* the caller's */
static uint64_t first_round[MAX_WORKERS + 1]; /* the round before a worker's first */

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static uint64_t round_of(uint64_t t)
{
    return t >> 2 * PART_BITS;
}

static uint64_t first_ticket(uint64_t round, int parts)
{
    return round << 2 * PART_BITS | (uint64_t)parts << PART_BITS | 1; /* part 0 is the caller's */
}

static uint64_t wait_for_round(uint64_t seen)
{
    uint64_t now;
    for (int spin = 0; spin < SPINS; spin++) {
        now = round_of(atomic_load_explicit(&ticket, memory_order_acquire));
        if (now != seen) return now;
        relax();
    }
    pthread_mutex_lock(&gate);
    atomic_fetch_add(&sleepers, 1);
    while ((now = round_of(atomic_load(&ticket))) == seen) pthread_cond_wait(&wake, &gate);
    atomic_fetch_sub(&sleepers, 1);
    pthread_mutex_unlock(&gate);
    return now;
}

/* Runs parts of a round that nobody has claimed until there are none; returns how many. */
static int run_unclaimed(uint64_t round)
{
    int ran = 0;
    uint64_t t = atomic_load_explicit(&ticket, memory_order_acquire);
    while (round_of(t) == round) {
        lac_task_fn task = atomic_load_explicit(&round_task, memory_order_relaxed);
        void *arg = atomic_load_explicit(&round_arg, memory_order_relaxed);
        uint64_t mode = atomic_load_explicit(&round_mode, memory_order_relaxed);
        int parts = (int)(t >> PART_BITS & PART_MASK), part = (int)(t & PART_MASK);
        if (part >= parts) break;
        if (!atomic_compare_exchange_weak_explicit(&ticket, &t, t + 1, memory_order_acquire,
                                                   memory_order_acquire))
            continue;
        lac_enter_arithmetic_mode(mode);
        task(arg, part, parts);
        ran++;
        t = atomic_load_explicit(&ticket, memory_order_acquire);
    }
    return ran;
}

/* Some kernels wake a thread where it slept, be that where its waker runs: the parts of a round then follow
 * one another. Between calls of a BLAS with threads, those of more than half of all rounds did (Linux 6.18 in
 * a virtual machine of two processors, 2026-11-27), and of one in thirty where a worker that finds itself
 * there moves. */
static void leave_processor(int processor)
{
    cpu_set_t all, others;
    if (processor < 0 || processor >= CPU_SETSIZE || sched_getaffinity(0, sizeof all, &all)) return;
    others = all;
    CPU_CLR((size_t)processor, &others);
    if (!CPU_COUNT(&others) || sched_setaffinity(0, sizeof others, &others)) return;
    sched_setaffinity(0, sizeof all, &all);
}

static void *work(void *arg)
{
    uint64_t seen = first_round[(long)arg];
    for (;;) {
        seen = wait_for_round(seen);
        int ran = run_unclaimed(seen), callers = atomic_load_explicit(&round_processor, memory_order_relaxed);
        atomic_fetch_add_explicit(&done, ran, memory_order_release);
        if (sched_getcpu() == callers) leave_processor(callers);
    }
    return NULL;
}

/* A forked child has none of the workers: it begins again. */
static void before_fork(void)
{
    if (!defers) pthread_rwlock_wrlock(&forkable); /* nobody waits for itself */
    pthread_mutex_lock(&owner), pthread_mutex_lock(&gate);
}
static void release_pool(void)
{
    pthread_mutex_unlock(&gate), pthread_mutex_unlock(&owner);
}
static void in_parent(void)
{
    release_pool();
    if (!defers) pthread_rwlock_unlock(&forkable);
}
static void in_child(void)
{
    workers = 0;
    atomic_store(&sleepers, 0);
    atomic_store(&done, 0);
    pthread_cond_init(&wake, NULL);
    release_pool();
    memcpy(&forkable, &nobody, sizeof forkable);
    if (defers) pthread_rwlock_rdlock(&forkable);
}

static void prepare(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}

void lac_defer_forks(void)
{
    pthread_once(&prepared, prepare);
    if (!defers) pthread_rwlock_rdlock(&forkable);
    defers++;
}

void lac_allow_forks(void)
{
    if (--defers == 0) pthread_rwlock_unlock(&forkable);
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
        first_round[workers + 1] = round_of(atomic_load(&ticket));
        if (pthread_create(&thread, &attr, work, (void *)(long)(workers + 1))) break;
        workers++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
}

static void run_round(int parts, lac_task_fn task, void *arg)
{
    uint64_t round = round_of(atomic_load_explicit(&ticket, memory_order_relaxed)) + 1;
    atomic_store_explicit(&round_task, task, memory_order_relaxed);
    atomic_store_explicit(&round_arg, arg, memory_order_relaxed);
    atomic_store_explicit(&round_mode, lac_arithmetic_mode(), memory_order_relaxed);
    atomic_store_explicit(&round_processor, sched_getcpu(), memory_order_relaxed);
    atomic_store_explicit(&done, 0, memory_order_relaxed);
    atomic_store(&ticket, first_ticket(round, parts));
    if (atomic_load(&sleepers)) {
        pthread_mutex_lock(&gate);
        pthread_cond_broadcast(&wake);
        pthread_mutex_unlock(&gate);
    }
    task(arg, 0, parts);
    int others = parts - 1 - run_unclaimed(round);
    for (int spin = 0; atomic_load_explicit(&done, memory_order_acquire) < others; spin++) {
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

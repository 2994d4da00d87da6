/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One pool of threads for the process, and how each of its threads rounds. */
#ifndef LACUNA_BASE_THREADS_H
#define LACUNA_BASE_THREADS_H

#include <stdint.h>

/* Runs task(arg, part, parts) for part = 0 .. parts - 1 and returns when all are done; part 0 runs on the
 * calling thread, and after it whatever no worker has claimed. Where the pool is busy with another caller's
 * work, or cannot be started, that is every part: their results must not depend on who runs them, or in what
 * order, and none may wait for another. Each is run with the caller's rounding mode.
 * Allocates only when the pool first grows to `parts` threads. */
typedef void (*lac_task_fn)(void *arg, int part, int parts);
void lac_parallel(int parts, lac_task_fn task, void *arg);

/* Between these no other thread of the process forks; for whoever holds a lock, or loads a library, that a
 * child, which has only the thread that forked, would find locked or half loaded for ever. May be nested. */
void lac_defer_forks(void);
void lac_allow_forks(void);

/* Processors that this process may run on. */
int lac_processors(void);

/* The cut of [0, extent) for one part: [*begin, *end), each cut at a multiple of `grain`. */
void lac_share(long long extent, long long grain, int part, int parts, long long *begin, long long *end);

/* How a thread rounds, and whether subnormal numbers count as zero: each thread has its own setting. */

/* This thread's mode: what its results follow from. Traps and the flags of past exceptions are left out. */
static inline uint64_t lac_arithmetic_mode(void)
{
#if defined(__SSE__)
    return __builtin_ia32_stmxcsr() & 0xE040u; /* FTZ, rounding; DAZ */
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr & ~UINT64_C(0x9F00);
#else
    return 0;
#endif
}

/* Gives this thread that mode. Where it has another, its traps are switched off: one of a thread of the
 * library's would end the program. */
static inline void lac_enter_arithmetic_mode(uint64_t mode)
{
    if (mode == lac_arithmetic_mode()) return;
#if defined(__SSE__)
    __builtin_ia32_ldmxcsr((unsigned)mode | 0x1F80u);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#endif
}

#endif

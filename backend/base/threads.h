/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One pool of threads for the process. */
#ifndef LACUNA_BASE_THREADS_H
#define LACUNA_BASE_THREADS_H

/* Runs task(arg, part, parts) for part = 0 .. parts - 1 and returns when all are done; part 0 runs on the
 * calling thread, and after it whatever no worker has claimed. Where the pool is busy with another caller's
 * work, or cannot be started, that is every part: their results must not depend on who runs them, or in what
 * order, and none may wait for another. Each is run with the caller's rounding mode.
 * Allocates only when the pool first grows to `parts` threads. */
typedef void (*lac_task_fn)(void *arg, int part, int parts);
void lac_parallel(int parts, lac_task_fn task, void *arg);

/* Between these no other thread of the process forks; for whoever holds a lock that a child, which has only
 * the thread that forked, would find locked for ever. Not to be nested. */
void lac_defer_forks(void);
void lac_allow_forks(void);

/* Processors that this process may run on. */
int lac_processors(void);

/* The cut of [0, extent) for one part: [*begin, *end), each cut at a multiple of `grain`. */
void lac_share(long long extent, long long grain, int part, int parts, long long *begin, long long *end);

#endif

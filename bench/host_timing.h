/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the benches of operators on the host share: memory, random numbers, a copy as the floor, ways timed in
 * turns. */
#ifndef HOST_TIMING_H
#define HOST_TIMING_H

#include <stdint.h>

enum { BENCH_THREADS = 64, BENCH_REPEATS = 64, BENCH_WAYS = 12 };

/* One way to do the work, and what each of its turns took. */
typedef struct bench_way {
    const char *name;
    void (*run)(void);
    void (*prepare)(void); /* before each turn, not timed; may be NULL */
    double us[BENCH_REPEATS];
} bench_way_t;

/* Aligned memory that has been written to; ends the program where there is none. */
void *bench_need(int64_t bytes);

uint64_t bench_random(void);

/* Runs share(part, parts) once on each of so many threads. */
void bench_on_threads(int threads, void (*share)(int part, int parts));

/* Copies bytes / 2, so that `bytes` are moved: read and written, by non-temporal stores where the C library's
 * memcpy of a large block uses them. */
void bench_copy(int threads, int64_t bytes);

/* Takes the ways in turns, once to warm up and `repeats` times, and sorts what each took. */
void bench_in_turns(bench_way_t *ways, int count, int repeats);

#endif

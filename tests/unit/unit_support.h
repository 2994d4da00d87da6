/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the unit tests of the core share: a clean environment, the log, child processes, statuses. */
#ifndef UNIT_SUPPORT_H
#define UNIT_SUPPORT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "lacuna/lacuna.h"

/* Call first in main: forgets every LACUNA_ variable and the user's configuration, gives the process a home
 * folder of its own (removed at exit) and sends the library's lines to a file in it. */
void unit_begin(void);

/* A path in that folder; valid until the next call but three. */
const char *unit_path(const char *name);

/* What the library has logged since the last call, as text that is valid until the next. */
const char *unit_log(void);

/* Lines in a text; and whether a text holds a word; where it does not, both are printed. */
int unit_lines(const char *text);
void unit_expect_text(const char *text, const char *word);

/* Writes a file. */
void unit_write(const char *path, const char *text);

/* Runs this program again with "--child <scenario>" and the given "NAME=value" settings (ended by NULL); the
 * child's standard error, as text that is valid until the next call. Fails unless it exits with 0. */
const char *unit_child(const char *scenario, const char *const *settings);

/* The scenario that this process was started for, or NULL. */
const char *unit_scenario(int argc, char **argv);

/* True under valgrind and sanitizers: loop over less. */
bool unit_quick(void);

/* Fails, printing `what` and the library's message, unless the status is the expected one. */
void unit_expect(lac_status_t got, lac_status_t want, const char *what);

/* A context, or a failed test. */
lac_ctx_t *unit_ctx(void);

/* One of them as the state of a group of tests, and its end. */
int unit_setup(void **state);
int unit_teardown(void **state);

/* A generator for tests: the same numbers each time. */
static inline uint64_t unit_random(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = *state;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* In [low, high]. */
static inline int64_t unit_between(uint64_t *state, int64_t low, int64_t high)
{
    return low + (int64_t)(unit_random(state) % (uint64_t)(high - low + 1));
}

#endif

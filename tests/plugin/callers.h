/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Callers that are loaded as Python loads its extensions, and two of them that call from two threads at once.
 */
#ifndef LACUNA_CALLERS_H
#define LACUNA_CALLERS_H

#include "fake_calls.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static inline void *open_local(const char *name)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) fail_msg("%s", dlerror());
    return handle;
}

/* A symbol of a caller, loaded if it is not yet. */
static inline void *caller_symbol(const char *caller, const char *symbol)
{
    return dlsym(open_local(caller), symbol);
}

enum { CALLER_CALLS = 2000 };

typedef struct caller_thread {
    const char *caller, *library; /* the library is loaded with its caller, in its thread */
    void (*call)(void *symbol);   /* the caller's caller_sgemm */
    int reached;
} caller_thread_t;

static inline void *caller_work(void *arg)
{
    caller_thread_t *t = arg;
    void *handle = dlopen(t->caller, RTLD_NOW | RTLD_LOCAL);
    void *symbol = handle ? dlsym(handle, "caller_sgemm") : NULL;
    for (int i = 0; symbol && i < CALLER_CALLS; i++) t->call(symbol);
    t->reached = fake_taken(t->library).calls;
    return NULL;
}

/* Each caller reaches its own library with every call. */
static inline void expect_two_threads(caller_thread_t thread[2])
{
    pthread_t id[2];
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&id[i], NULL, caller_work, &thread[i]), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(id[i], NULL), 0);
        assert_int_equal(thread[i].reached, CALLER_CALLS);
    }
}

#endif

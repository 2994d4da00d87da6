/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The pool: every part runs once, from several callers at once, nested, and in a forked child. */
#include "unit_support.h"
#include "base/clock.h"
#include "base/threads.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#    define UNDER_TSAN 1
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define UNDER_TSAN 1
#    endif
#endif

enum { PARTS_MAX = 300 };

typedef struct tally {
    int runs[PARTS_MAX]; /* plain on purpose: what a part wrote is seen when lac_parallel returns */
    int wrong;
} tally_t;

static void count(void *arg, int part, int parts)
{
    tally_t *t = arg;
    if (part < 0 || part >= parts || parts > PARTS_MAX)
        t->wrong = 1;
    else
        t->runs[part]++;
}

static bool ran_once(const tally_t *t, int parts)
{
    for (int p = 0; p < PARTS_MAX; p++)
        if (t->runs[p] != (p < parts)) return false;
    return !t->wrong;
}

static void test_every_part_once(void **state)
{
    (void)state;
    static const int parts[] = {1, 2, 3, 2, 7, 16, 5, 64, 256, 257, 300, 2};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (int again = 0; again < (unit_quick() ? 3 : 200); again++) {
            if (unit_quick() && parts[i] > 16) continue; /* hundreds of threads take minutes there */
            tally_t t = {0};
            lac_parallel(parts[i], count, &t);
            if (!ran_once(&t, parts[i])) fail_msg("%d parts, round %d", parts[i], again);
        }
    tally_t none = {0};
    lac_parallel(0, count, &none);
    lac_parallel(-3, count, &none);
    assert_true(ran_once(&none, 0));
}

/* A worker that finds a round used up must not take a part of the next one before that is given out. What it
 * would run is then run twice, the second time perhaps when its caller has gone. Rare: many short rounds. */
static void test_rounds_of_changing_size(void **state)
{
    (void)state;
    int rounds = unit_quick() ? 2000 : 1000000;
#ifdef UNDER_TSAN
    rounds = 20000;
#endif
    for (int i = 0; i < rounds; i++) {
        int parts = i % 2 ? 2 : 3 + i % 3;
        tally_t t = {0};
        lac_parallel(parts, count, &t);
        if (!ran_once(&t, parts)) fail_msg("%d parts, round %d", parts, i);
    }
}

/* After a pause the workers sleep; they are woken. */
static void test_after_sleep(void **state)
{
    (void)state;
    for (int i = 0; i < (unit_quick() ? 3 : 20); i++) {
        tally_t t = {0};
        usleep(3000);
        lac_parallel(3, count, &t);
        assert_true(ran_once(&t, 3));
    }
}

static void *call_often(void *arg)
{
    int *failures = arg;
    for (int i = 0; i < (unit_quick() ? 50 : 2000); i++) {
        tally_t t = {0};
        int parts = 1 + i % 5;
        lac_parallel(parts, count, &t);
        *failures += !ran_once(&t, parts);
    }
    return NULL;
}

static void test_several_callers(void **state)
{
    (void)state;
    pthread_t threads[4];
    int failures[4] = {0};
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &failures[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(failures[i], 0);
    }
}

static void nest(void *arg, int part, int parts)
{
    tally_t *inner = arg;
    (void)parts;
    lac_parallel(3, count, &inner[part]);
}

static void test_nested(void **state)
{
    (void)state;
    for (int i = 0; i < (unit_quick() ? 5 : 100); i++) {
        static tally_t inner[4];
        memset(inner, 0, sizeof inner);
        lac_parallel(4, nest, inner);
        for (int p = 0; p < 4; p++) assert_true(ran_once(&inner[p], 3));
    }
}

typedef struct modes {
    uint64_t seen[4];
    bool others[4]; /* ran on a thread that is not the caller's */
    pthread_t caller;
} modes_t;

static void see_mode(void *arg, int part, int parts)
{
    modes_t *m = arg;
    (void)parts;
    m->seen[part] = lac_arithmetic_mode();
    m->others[part] = !pthread_equal(pthread_self(), m->caller);
    for (volatile int i = 0; i < 20000; i++) {
    }
}

/* The workers are there before the caller rounds otherwise, and so they have modes of their own. */
static void test_mode_of_the_caller(void **state)
{
    (void)state;
    static const int modes[] = {FE_UPWARD, FE_TONEAREST};
    modes_t m = {.caller = pthread_self()};
    lac_parallel(4, see_mode, &m);
    for (int i = 0, helped = 0; i < (unit_quick() ? 20 : 2000) && helped < 20; i++) {
        assert_int_equal(fesetround(modes[i % 2]), 0);
        uint64_t mine = lac_arithmetic_mode();
        lac_parallel(4, see_mode, &m);
        assert_int_equal(fesetround(FE_TONEAREST), 0);
        for (int p = 0; p < 4; p++) {
            assert_int_equal(m.seen[p], mine);
            helped += m.others[p];
        }
    }
}

/* 0 where a child's parts all ran. */
static int child_status(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        int bad = 0;
        for (int i = 0; i < 20; i++) {
            tally_t t = {0};
            lac_parallel(3, count, &t);
            bad |= !ran_once(&t, 3);
        }
        _exit(bad);
    }
    int status = -1;
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void test_fork(void **state)
{
    (void)state;
#ifdef UNDER_TSAN
    skip(); /* it cannot start threads in the child of a process that has some */
#endif
    tally_t t = {0};
    lac_parallel(4, count, &t);
    assert_int_equal(child_status(), 0);
    usleep(3000); /* with sleeping workers */
    assert_int_equal(child_status(), 0);
    memset(&t, 0, sizeof t);
    lac_parallel(4, count, &t);
    assert_true(ran_once(&t, 4));
}

static atomic_bool stop;

static void *call_until_stopped(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop)) {
        tally_t t = {0};
        lac_parallel(3, count, &t);
    }
    return NULL;
}

/* A fork while another thread's round runs. */
static void test_fork_beside_a_caller(void **state)
{
    (void)state;
#ifdef UNDER_TSAN
    skip();
#endif
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, call_until_stopped, NULL), 0);
    for (int i = 0; i < (unit_quick() ? 3 : 30); i++) assert_int_equal(child_status(), 0);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
}

/* Who took the part that the caller did not, and where. */
typedef struct meeting {
    pid_t caller, worker;
    int processor;
    const cpu_set_t *to, *all; /* where the worker is to be when its part ends, once; NULL: anywhere */
} meeting_t;

static void meet(void *arg, int part, int parts)
{
    meeting_t *m = arg;
    (void)parts;
    double until = lac_now_us() + 200.0; /* the other one has time to wake */
    while (lac_now_us() < until) continue;
    if (part == 0 || gettid() == m->caller) return;
    m->worker = gettid(), m->processor = sched_getcpu();
    if (!m->to) return;
    sched_setaffinity(0, sizeof *m->to, m->to);
    sched_setaffinity(0, sizeof *m->all, m->all);
    m->to = NULL;
}

/* A worker that the kernel woke on the caller's processor goes to another one, and may run everywhere as
 * before. */
static void test_leaves_the_callers_processor(void **state)
{
    (void)state;
    enum { ROUNDS = 20000 };
    cpu_set_t all, here, its;
    meeting_t m = {.caller = gettid(), .all = &all};
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2 || unit_quick()) skip();
    lac_parallel(2, meet, &m); /* the worker that begins now may run everywhere */
    size_t first = 0;
    while (!CPU_ISSET(first, &all)) first++;
    CPU_ZERO(&here);
    CPU_SET(first, &here);
    assert_int_equal(sched_setaffinity(0, sizeof here, &here), 0);
    m.to = &here;
    for (int i = 0; i < ROUNDS && m.to; i++) lac_parallel(2, meet, &m);
    m.processor = (int)first;
    for (int i = 0; i < ROUNDS && m.processor == (int)first; i++) lac_parallel(2, meet, &m);
    assert_int_equal(sched_getaffinity(m.worker, sizeof its, &its), 0);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_not_equal(m.processor, first);
    assert_true(CPU_EQUAL(&its, &all));
}

static void test_shares(void **state)
{
    (void)state;
    static const long long extents[] = {0, 1, 15, 16, 17, 100, 1000, 1LL << 40};
    static const long long grains[] = {1, 8, 16, 64};
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
        for (size_t g = 0; g < 4; g++)
            for (int parts = 1; parts <= 256; parts = parts * 3 / 2 + 1) {
                long long at = 0, begin, end;
                for (int part = 0; part < parts; part++) {
                    lac_share(extents[e], grains[g], part, parts, &begin, &end);
                    assert_true(begin == at && end >= begin);
                    assert_true(end % grains[g] == 0 || end == extents[e]);
                    at = end;
                }
                assert_true(at == extents[e]);
            }
    assert_true(lac_processors() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaves_the_callers_processor), /* one worker yet */
        cmocka_unit_test(test_every_part_once),
        cmocka_unit_test(test_rounds_of_changing_size),
        cmocka_unit_test(test_after_sleep),
        cmocka_unit_test(test_several_callers),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_mode_of_the_caller),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_fork_beside_a_caller),
        cmocka_unit_test(test_shares)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a process may do around a running product: fork, take signals all the time, unload the library. */
#include "../route_names.h"
#include "../unit/unit_support.h"
#include "../interpose_calls.h"
#include "lacuna/register.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#    define UNDER_TSAN
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define UNDER_TSAN
#    endif
#endif

enum { M = 32, K = 256, N = 128 };

static float a[M * K], b[K * N], expected[M * N];

static void make_operands(void)
{
    for (int i = 0; i < M * K; i++) a[i] = i % 13 ? 0.0f : 1.0f;
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 7 - 3);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < K; k++) expected[i * N + j] += a[i * K + k] * b[k * N + j];
}

/* By every way of computing that the library has of its own; false where one is wrong. */
static bool products_are_right(lac_ctx_t *ctx)
{
    const route_names_t routes = host_route_names(WITHOUT_BLAS);
    float c[M * N];
    lac_obj_t oa = lac_obj_rowmajor(LAC_F32, M, K, a, K), ob = lac_obj_rowmajor(LAC_F32, K, N, b, N);
    lac_obj_t oc = lac_obj_rowmajor(LAC_F32, M, N, c, N);
    for (int r = 0; r < routes.count; r++) {
        lac_call_opts_t call = {.size = sizeof call, .route = routes.name[r]};
        memset(c, 0x7f, sizeof c);
        if (lac_gemm_ex(ctx, NULL, &oa, &ob, NULL, &oc, &call) || memcmp(c, expected, sizeof c)) return false;
    }
    return true;
}

static bool fresh_context_is_right(void)
{
    lac_ctx_t *ctx;
    bool right = !lac_ctx_create(&ctx) && products_are_right(ctx);
    lac_ctx_free(ctx);
    return right;
}

static atomic_bool ended;

static void *keep_computing(void *arg)
{
    atomic_long *rounds = arg;
    lac_ctx_t *ctx;
    bool right = !lac_ctx_create(&ctx);
    for (; right && !atomic_load(&ended); atomic_fetch_add(rounds, 1)) right = products_are_right(ctx);
    lac_ctx_free(ctx);
    return right ? arg : NULL;
}

/* ---- fork ---- */

/* With an inherited context and a new one; a child that hangs is ended by the alarm. */
static int child_status(lac_ctx_t *ctx)
{
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(200);
        bool right = products_are_right(ctx) && fresh_context_is_right();
        lac_ctx_free(ctx);
        _exit(!right);
    }
    int status = -1;
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void test_fork_after_init(void **state)
{
    (void)state;
#ifdef UNDER_TSAN
    skip(); /* it cannot start threads in the child of a process that has some */
#endif
    lac_ctx_t *ctx = unit_ctx();
    assert_true(products_are_right(ctx));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(child_status(ctx), 0);
        assert_true(products_are_right(ctx));
    }
    lac_ctx_free(ctx);
}

/* The fork falls anywhere into another thread's products: in its waits, its locks, its pool. */
static void test_fork_while_others_compute(void **state)
{
    (void)state;
#ifdef UNDER_TSAN
    skip();
#endif
    pthread_t thread;
    void *right;
    atomic_long rounds = 0;
    lac_ctx_t *ctx = unit_ctx();
    atomic_store(&ended, false);
    assert_int_equal(pthread_create(&thread, NULL, keep_computing, &rounds), 0);
    for (int i = 0; i < (unit_quick() ? 5 : 100); i++) {
        usleep((useconds_t)(i * 37 % 500));
        assert_int_equal(child_status(ctx), 0);
    }
    assert_true(products_are_right(ctx));
    atomic_store(&ended, true);
    assert_int_equal(pthread_join(thread, &right), 0);
    assert_non_null(right);
    assert_true(atomic_load(&rounds) > 0);
    lac_ctx_free(ctx);
}

static bool dense_product_is_right(void)
{
    static float c[M * N];
    lac_ctx_t *ctx;
    lac_obj_t oa = lac_obj_rowmajor(LAC_F32, M, K, a, K), ob = lac_obj_rowmajor(LAC_F32, K, N, b, N);
    lac_obj_t oc = lac_obj_rowmajor(LAC_F32, M, N, c, N);
    lac_call_opts_t call = {.size = sizeof call, .route = "dense"};
    bool right = !lac_ctx_create(&ctx) && !lac_gemm_ex(ctx, NULL, &oa, &ob, NULL, &oc, &call) &&
                 !memcmp(c, expected, sizeof c);
    lac_ctx_free(ctx);
    return right;
}

static void *compute_once(void *arg)
{
    return dense_product_is_right() ? arg : NULL;
}

/* In a process of its own, which has not loaded the BLAS yet (slow_blas.c): a thread's first call does, and
 * meanwhile the process forks. */
static int fork_while_the_blas_is_loaded(void)
{
    int ends[2], status = -1;
    char begun, number[16];
    pthread_t thread;
    void *right = NULL;
    if (pipe(ends)) return 1;
    snprintf(number, sizeof number, "%d", ends[1]);
    setenv("SLOW_BLAS_PIPE", number, 1);
    if (pthread_create(&thread, NULL, compute_once, ends) || read(ends[0], &begun, 1) != 1) return 2;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        _exit(dense_product_is_right() ? 0 : 1);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status) return 3;
    return pthread_join(thread, &right) || !right ? 4 : 0;
}

static void test_fork_while_the_blas_is_loaded(void **state)
{
    (void)state;
#ifdef UNDER_TSAN
    skip();
#endif
    static const char *const settings[] = {"LACUNA_BLAS=" SLOW_BLAS, NULL};
    unit_child("loading", settings);
}

/* What threads share beside the pool: metadata that one of them measures, and operands known by address. */
typedef struct shared {
    lac_obj_t measured, registered;
} shared_t;

static void multiply_registered(lac_ctx_t *ctx, const shared_t *s)
{
    float c[M * N] = {0};
    try_sgemm(ctx, LAC_TRANS, LAC_NO_TRANS, M, N, K, 1.0f, s->registered.buf, K, b, K, 0.0f, c, M, "test",
              NULL);
}

static void *keep_measuring(void *arg)
{
    const shared_t *s = arg;
    lac_ctx_t *ctx = unit_ctx();
    while (!atomic_load(&ended)) {
        lac_meta_touch(s->measured.meta);
        lac_meta_scan(ctx, &s->measured, LAC_META_CSR);
    }
    lac_ctx_free(ctx);
    return NULL;
}

static void *keep_multiplying(void *arg)
{
    lac_ctx_t *ctx = unit_ctx();
    while (!atomic_load(&ended)) multiply_registered(ctx, arg);
    lac_ctx_free(ctx);
    return NULL;
}

/* Whatever the others held when the process forked, nobody holds it in the child. */
static int use_what_was_shared(lac_ctx_t *ctx, const shared_t *s)
{
    signal(SIGALRM, SIG_DFL);
    alarm(200);
    multiply_registered(ctx, s);
    return lac_meta_freeze(s->measured.meta) || lac_unregister(s->registered.buf);
}

static void test_fork_beside_shared_operands(void **state)
{
    (void)state;
#if defined(UNDER_TSAN) || defined(__SANITIZE_ADDRESS__)
    skip(); /* their allocators keep locks that a child finds locked, and the others allocate all the time */
#endif
    enum { OTHERS = 3 };
    pthread_t thread[OTHERS];
    shared_t s;
    lac_ctx_t *ctx = unit_ctx();
    s.measured = lac_obj_rowmajor(LAC_F32, M, K, a, K);
    s.registered = lac_obj_rowmajor(LAC_F32, M, K, a, K);
    unit_expect(lac_meta_create(&s.measured.meta, M, K), LAC_OK, "create");
    unit_expect(lac_meta_create(&s.registered.meta, M, K), LAC_OK, "create");
    unit_expect(lac_meta_freeze(s.registered.meta), LAC_OK, "freeze");
    unit_expect(lac_register(ctx, &s.registered), LAC_OK, "register");
    atomic_store(&ended, false);
    for (int i = 0; i < OTHERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, i ? keep_multiplying : keep_measuring, &s), 0);
    for (int i = 0; i < (unit_quick() ? 5 : 300); i++) {
        int status = -1;
        usleep((useconds_t)(i * 37 % 500));
        pid_t pid = fork();
        if (pid == 0) _exit(use_what_was_shared(ctx, &s));
        assert_true(pid > 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    atomic_store(&ended, true);
    for (int i = 0; i < OTHERS; i++) assert_int_equal(pthread_join(thread[i], NULL), 0);
    unit_expect(lac_unregister(a), LAC_OK, "unregister");
    lac_meta_free(s.measured.meta);
    lac_meta_free(s.registered.meta);
    lac_ctx_free(ctx);
}

/* ---- signals ---- */

static volatile sig_atomic_t alarms;
static atomic_int strangers; /* signals that one of the library's own threads was given */
static pthread_t owner;

static void on_alarm(int signal)
{
    (void)signal;
    int saved = errno;
    alarms++;
    if (!pthread_equal(pthread_self(), owner)) atomic_fetch_add(&strangers, 1);
    (void)write(-1, "", 0); /* leaves EBADF behind, as careless handlers do */
    errno = saved;
}

/* Without SA_RESTART: every wait of ours ends with EINTR. */
static void test_signals_all_the_time(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval every = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    lac_ctx_t *ctx = unit_ctx();
    owner = pthread_self();
    alarms = 0;
    sigemptyset(&action.sa_mask);
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
    bool right = true;
    for (int i = 0; right && alarms < (unit_quick() ? 20 : 1000); i++) {
        lac_ctx_t *other;
        right = products_are_right(ctx) && !lac_ctx_create(&other);
        if (right) right = products_are_right(other); /* reads files and constants, looks for a BLAS */
        if (right) lac_ctx_free(other);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_IGN); /* one may still be on its way */
    assert_true(right);
    assert_int_equal(atomic_load(&strangers), 0);
    lac_ctx_free(ctx);
}

/* A line that is being written when a signal comes is written all the same: the reader is slow, so that the
 * pipe is full and the writer waits. */
static void *read_slowly(void *arg)
{
    static char buffer[4096];
    long *lines = arg;
    ssize_t got;
    while ((got = read((int)lines[0], buffer, sizeof buffer)) != 0) {
        for (ssize_t i = 0; i < got; i++) lines[1] += buffer[i] == '\n';
        usleep(50000);
    }
    return NULL;
}

static int log_many_lines(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval every = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    owner = pthread_self();
    sigemptyset(&action.sa_mask);
    lac_ctx_t *ctx;
    if (lac_ctx_create(&ctx) || lac_ctx_set(ctx, "verbose", "exec")) return 2;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    bool right = true;
    for (int i = 0; right && i < 500; i++) right = products_are_right(ctx);
    setitimer(ITIMER_REAL, &never, NULL);
    lac_ctx_free(ctx);
    return right && alarms > 0 ? 0 : 1;
}

static void test_no_line_is_lost_to_a_signal(void **state)
{
    (void)state;
#ifdef UNDER_TSAN
    skip(); /* fork, as above */
#endif
    int ends[2], status;
    long read_of[2] = {0, 0};
    pthread_t reader;
    assert_int_equal(pipe(ends), 0);
    fcntl(ends[1], F_SETPIPE_SZ, 4096); /* soon full */
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]), close(ends[1]);
        char *argv[] = {(char[]){"test_faults_process"}, (char[]){"--child"}, (char[]){"log"}, NULL};
        unsetenv("LACUNA_LOG");
        execv("/proc/self/exe", argv);
        _exit(3);
    }
    close(ends[1]);
    read_of[0] = ends[0];
    assert_int_equal(pthread_create(&reader, NULL, read_slowly, read_of), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(pthread_join(reader, NULL), 0);
    close(ends[0]);
    assert_int_equal(read_of[1], 500 * host_route_names(WITHOUT_BLAS).count); /* a line for each product */
}

/* ---- unloading ---- */

typedef lac_status_t sgemm_call(lac_ctx_t *, lac_trans_t, lac_trans_t, lac_dim_t, lac_dim_t, lac_dim_t, float,
                                const float *, lac_inc_t, lac_inc_t, const float *, lac_inc_t, lac_inc_t,
                                float, float *, lac_inc_t, lac_inc_t);
typedef struct opened {
    lac_status_t (*create)(lac_ctx_t **);
    void (*release)(lac_ctx_t *);
    sgemm_call *sgemm;
    atomic_int started;
    bool right;
} opened_t;

static void *call_opened(void *arg)
{
    static float c[M * N];
    opened_t *o = arg;
    lac_ctx_t *ctx;
    o->right = !o->create(&ctx);
    for (int i = 0; o->right && !(atomic_load(&ended) && i > 50); i++) {
        o->right =
            !o->sgemm(ctx, LAC_NO_TRANS, LAC_NO_TRANS, M, N, K, 1.0f, a, K, 1, b, N, 1, 0.0f, c, N, 1) &&
            !memcmp(c, expected, sizeof c);
        atomic_store(&o->started, 1);
    }
    o->release(ctx);
    return NULL;
}

/* The program lets go of the library while a thread is inside it, and while its workers sleep: it stays. */
static void test_unload_while_a_thread_calls(void **state)
{
    (void)state;
    opened_t o = {0};
    pthread_t thread;
    void *library = dlopen(LACUNA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail_msg("%s", dlerror());
    *(void **)&o.create = dlsym(library, "lac_ctx_create");
    *(void **)&o.release = dlsym(library, "lac_ctx_free");
    *(void **)&o.sgemm = dlsym(library, "lac_sgemm");
    assert_true(o.create && o.release && o.sgemm);
    assert_true((void *)o.create != (void *)lac_ctx_create); /* another copy than the one under test above */
    atomic_store(&ended, false);
    assert_int_equal(pthread_create(&thread, NULL, call_opened, &o), 0);
    while (!atomic_load(&o.started)) usleep(100);
    assert_int_equal(dlclose(library), 0);
    assert_non_null(dlopen(LACUNA_LIBRARY, RTLD_NOW | RTLD_NOLOAD));
    atomic_store(&ended, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(o.right);
}

static void test_drop_in_library_stays(void **state)
{
    (void)state;
    void *library = dlopen(LACUNA_BLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail_msg("%s", dlerror());
    void *sgemm = dlsym(library, "sgemm_");
    assert_non_null(sgemm);
    assert_int_equal(dlclose(library), 0);
    library = dlopen(LACUNA_BLAS_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(library);
    assert_ptr_equal(dlsym(library, "sgemm_"), sgemm);
}

int main(int argc, char **argv)
{
    unit_begin();
    make_operands();
    const char *scenario = unit_scenario(argc, argv);
    if (scenario) return strcmp(scenario, "loading") ? log_many_lines() : fork_while_the_blas_is_loaded();
    /* Constants that make even these small products worth several threads. */
    unit_write(unit_path("tune"), "# lacuna tuning 2\nfork_join_us = 0.001\n");
    setenv("LACUNA_TUNE_CACHE", unit_path("tune"), 1);
    setenv("LACUNA_THREADS", "3", 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fork_after_init),
        cmocka_unit_test(test_fork_while_others_compute),
        cmocka_unit_test(test_fork_while_the_blas_is_loaded),
        cmocka_unit_test(test_fork_beside_shared_operands),
        cmocka_unit_test(test_signals_all_the_time),
        cmocka_unit_test(test_no_line_is_lost_to_a_signal),
        cmocka_unit_test(test_unload_while_a_thread_calls),
        cmocka_unit_test(test_drop_in_library_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

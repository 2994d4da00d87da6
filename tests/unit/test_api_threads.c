/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Several threads: on operands whose metadata they share, with contexts that come and go; and more sites than
 * a context keeps. */
#include "unit_support.h"
#include "../route_names.h"
#include "api/interpose.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { M = 24, K = 300, N = 96, THREADS = 4 };

static float s[M * K], w[N * K], want[M * N];
static lac_meta_t *meta_s, *meta_w;
static atomic_int wrong;

/* S frozen, W frozen and stored by columns: scans, k-major copies and bitmasks are all built on demand. */
static lac_status_t multiply(lac_ctx_t *ctx, const char *route, float *out)
{
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, M, K, s, K), b = lac_obj_rowmajor(LAC_F32, N, K, w, K),
              c = lac_obj_rowmajor(LAC_F32, M, N, out, N);
    lac_call_opts_t call = {.size = sizeof call, .route = route};
    b.trans = LAC_TRANS;
    a.meta = meta_s;
    b.meta = meta_w;
    return lac_gemm_ex(ctx, NULL, &a, &b, NULL, &c, &call);
}

static void *work(void *arg)
{
    const route_names_t routes = host_route_names(WITHOUT_BLAS); /* whose threads are its own affair */
    int first = *(int *)arg;
    float out[M * N];
    lac_ctx_t *own, *dropin = lac_thread_ctx();
    if (lac_ctx_create(&own) || !dropin || dropin != lac_thread_ctx()) {
        atomic_fetch_add(&wrong, 1);
        return NULL;
    }
    lac_ctx_set(own, "threads", "3");
    for (int i = 0; i < (unit_quick() ? 5 : 40); i++) {
        lac_ctx_t *ctx = i % 2 ? own : dropin;
        memset(out, 0x7f, sizeof out);
        if (multiply(ctx, routes.name[(first + i) % routes.count], out) || memcmp(out, want, sizeof out))
            atomic_fetch_add(&wrong, 1);
        (void)lac_meta_density(meta_s);
        (void)lac_meta_bytes(meta_w);
    }
    lac_ctx_free(own);
    return NULL;
}

static void test_shared_metadata(void **state)
{
    (void)state;
    for (int i = 0; i < M * K; i++) s[i] = i % 17 ? 0.0f : (float)(i % 5 - 2);
    for (int i = 0; i < N * K; i++) w[i] = (float)(i % 7 - 3); /* small integers: exact in any order */
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            want[i * N + j] = 0.0f;
            for (int k = 0; k < K; k++) want[i * N + j] += s[i * K + k] * w[j * K + k];
        }
    for (int round = 0; round < (unit_quick() ? 2 : 10); round++) {
        pthread_t threads[THREADS];
        int number[THREADS];
        lac_ctx_t *ctx = unit_ctx();
        lac_obj_t x = lac_obj_rowmajor(LAC_F32, M, K, s, K);
        unit_expect(lac_meta_create(&meta_s, M, K), LAC_OK, "create");
        unit_expect(lac_meta_create(&meta_w, N, K), LAC_OK, "create");
        x.meta = meta_s;
        unit_expect(lac_meta_freeze(meta_s), LAC_OK, "freeze");
        unit_expect(lac_meta_freeze(meta_w), LAC_OK, "freeze");
        unit_expect(lac_meta_scan(ctx, &x, LAC_META_DENSITY), LAC_OK, "scan");
        for (int t = 0; t < THREADS; t++) {
            number[t] = t;
            assert_int_equal(pthread_create(&threads[t], NULL, work, &number[t]), 0);
        }
        for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
        assert_int_equal(atomic_load(&wrong), 0);
        lac_meta_free(meta_s);
        lac_meta_free(meta_w);
        lac_ctx_free(ctx);
    }
}

/* C := A B of small integers, exact in any order, of an extent that makes it a site of its own. */
static bool product_is_right(lac_ctx_t *ctx, int m, int k, int n)
{
    float x[40 * 40], y[40 * 40], z[40 * 40], sum;
    for (int i = 0; i < m * k; i++) x[i] = i % 11 ? 0.0f : (float)(i % 5 - 2);
    for (int i = 0; i < k * n; i++) y[i] = (float)(i % 7 - 3);
    memset(z, 0x7f, sizeof z);
    if (lac_sgemm(ctx, LAC_NO_TRANS, LAC_NO_TRANS, m, n, k, 1.0f, x, k, 1, y, n, 1, 0.0f, z, n, 1))
        return false;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            sum = 0.0f;
            for (int l = 0; l < k; l++) sum += x[i * k + l] * y[l * n + j];
            if (z[i * n + j] != sum) return false;
        }
    return true;
}

/* A thread that ends takes its own context with it. */
static void *short_life(void *arg)
{
    int first = *(int *)arg;
    lac_ctx_t *ctx = lac_thread_ctx();
    for (int i = 0; i < 4; i++)
        if (!ctx || !product_is_right(ctx, 5 + (first + i) % 30, 20, 17)) atomic_fetch_add(&wrong, 1);
    return NULL;
}

static void *come_and_go(void *arg)
{
    int first = *(int *)arg;
    for (int i = 0; i < (unit_quick() ? 4 : 40); i++) {
        lac_ctx_t *one, *two;
        pthread_t other;
        int number = first + i;
        bool started = !pthread_create(&other, NULL, short_life, &number);
        bool made = !lac_ctx_create(&one);
        made = !lac_ctx_create(&two) && made;
        if (!started || !made || lac_ctx_set(two, "threads", i % 2 ? "2" : "3") ||
            !product_is_right(one, 3 + number % 30, 30, 9) || !product_is_right(two, 40, 40, 1 + number % 40))
            atomic_fetch_add(&wrong, 1);
        if (started) pthread_join(other, NULL);
        lac_ctx_free(i % 3 ? one : two);
        lac_ctx_free(i % 3 ? two : one);
    }
    return NULL;
}

static void run_threads(void *(*function)(void *), int count)
{
    pthread_t threads[16];
    int number[16];
    for (int t = 0; t < count; t++) {
        number[t] = 7 * t;
        assert_int_equal(pthread_create(&threads[t], NULL, function, &number[t]), 0);
    }
    for (int t = 0; t < count; t++) pthread_join(threads[t], NULL);
    assert_int_equal(atomic_load(&wrong), 0);
}

static void test_contexts_come_and_go(void **state)
{
    (void)state;
    run_threads(come_and_go, 8);
}

/* Bytes that the process has from malloc; 0 where libc does not report it. */
static size_t from_malloc(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

/* What a site remembers replaces what another remembered: memory does not grow with the shapes. Without
 * trials, whose workspace comes when the machine's noise makes one. */
static void test_more_sites_than_are_kept(void **state)
{
    (void)state;
    size_t held = 0;
    int shapes = 0;
    lac_ctx_t *ctx = unit_ctx();
    lac_ctx_set(ctx, "threads", "1");
    lac_ctx_set(ctx, "learn", "off");
    for (int m = 1; m <= 40; m++)
        for (int k = 1; k <= 40; k++)
            for (int n = 1; n <= 40; n += unit_quick() ? 13 : 5) {
                if (!product_is_right(ctx, m, k, n)) fail_msg("%d x %d x %d", m, k, n);
                if (++shapes == 5000) held = from_malloc();
            }
    assert_true(shapes > 6000);
    assert_true(from_malloc() <= held + 4096);
    lac_ctx_free(ctx);
}

static void *meet_many_sites(void *arg)
{
    int first = *(int *)arg;
    for (int i = 0; i < (unit_quick() ? 300 : 3000);
         i++) /* extents that come again before and after they are forgotten */
        if (!product_is_right(lac_thread_ctx(), 1 + (first + i) % 37, 1 + i % 31, 1 + i % 23))
            atomic_fetch_add(&wrong, 1);
    return NULL;
}

static void test_many_sites_in_many_threads(void **state)
{
    (void)state;
    run_threads(meet_many_sites, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_metadata), cmocka_unit_test(test_contexts_come_and_go),
        cmocka_unit_test(test_more_sites_than_are_kept), cmocka_unit_test(test_many_sites_in_many_threads)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Several threads, each with a context of its own, on operands whose metadata they share. */
#include "unit_support.h"

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
    lac_call_t call = {.size = sizeof call, .route = route};
    b.trans = LAC_TRANS;
    a.meta = meta_s;
    b.meta = meta_w;
    return lac_gemm_ex(ctx, NULL, &a, &b, NULL, &c, &call);
}

static void *work(void *arg)
{
    static const char *const routes[] = {"auto", "event", "csr", "bitmask", "plain"};
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
        if (multiply(ctx, routes[(first + i) % 5], out) || memcmp(out, want, sizeof out))
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shared_metadata)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operands known by their address. What is registered here is a lie, ten times what the buffer holds, so that
 * a result shows which of the two was multiplied. */
#include "fake_device.h"
#include "operand/registry.h"

#include "lacuna/register.h"
#include "../interpose_calls.h"

#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

enum { M = 6, K = 8, N = 5, LDW = K + 3, FURTHER = 2 };

static float w[M * LDW + FURTHER], b[K * N], c[M * N]; /* W by rows, with gaps; B and C by columns */
static float val[M * K];
static int32_t ptr[M + 1], idx[M * K];

static void fill(void)
{
    int nnz = 0;
    memset(w, 0, sizeof w);
    for (int i = 0; i < M; i++) {
        for (int k = 0; k < K; k++) {
            if ((i + k) % 3) continue;
            w[i * LDW + k] = (float)(1 + k % 4);
            val[nnz] = 10.0f * w[i * LDW + k];
            idx[nnz++] = k;
        }
        ptr[i + 1] = nnz;
    }
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 7 - 3);
}

static lac_obj_t weight(lac_space_t space, lac_meta_t *meta)
{
    lac_obj_t x = lac_obj_rowmajor(LAC_F32, M, K, w, LDW);
    x.space = space;
    x.meta = meta;
    return x;
}

static lac_meta_t *lie(void)
{
    lac_meta_t *meta;
    unit_expect(lac_meta_create(&meta, M, K), LAC_OK, "create");
    unit_expect(lac_meta_attach_csr(meta, LAC_I32, ptr, idx, val), LAC_OK, "attach");
    return meta;
}

/* C := W B through the entry of the drop-in libraries, W by rows being its transpose by columns. How many
 * times W it was; 0: declined. */
static int times(lac_ctx_t *ctx, const float *from, lac_inc_t ld)
{
    double got = 0.0, once = 0.0;
    if (!try_sgemm(ctx, LAC_TRANS, LAC_NO_TRANS, M, N, K, 1.0f, from, ld, b, K, 0.0f, c, M, "sgemm_", NULL))
        return 0;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) {
            double sum = 0.0;
            for (int k = 0; k < K; k++) sum += (double)from[i * ld + k] * (double)b[k + j * K];
            got += (i + 2 * j + 1) * (double)c[i + j * M];
            once += (i + 2 * j + 1) * sum;
        }
    assert_true(got == once || got == 10.0 * once);
    return got == once ? 1 : 10;
}

static lac_ctx_t *host(void)
{
    lac_ctx_t *ctx = unit_ctx();
    unit_expect(lac_ctx_set(ctx, "backend", "csr"), LAC_OK, "backend");
    return ctx;
}

static lac_ctx_t *device(void)
{
    lac_ctx_t *ctx = fake_device_ctx();
    unit_expect(lac_ctx_set(ctx, "backend", "csr"), LAC_OK, "backend");
    fake.allocation = 7;
    return ctx;
}

static int setup(void **state)
{
    (void)state;
    fill();
    return 0;
}

static void test_known_by_address(void **state)
{
    (void)state;
    lac_ctx_t *ctx = host();
    lac_meta_t *meta = lie();
    lac_obj_t x = weight(LAC_HOST, meta);
    unit_expect(lac_register(ctx, &x), LAC_OK, "register");
    assert_int_equal(times(ctx, w, LDW), 10);
    assert_int_equal(times(ctx, w, LDW), 10);
    unit_expect(lac_ctx_set(ctx, "detect", "off"), LAC_OK, "detect");
    assert_int_equal(times(ctx, w, LDW), 1);
    unit_expect(lac_ctx_set(ctx, "detect", "registered"), LAC_OK, "detect");
    assert_int_equal(times(ctx, w, LDW), 10);
    unit_expect(lac_unregister(w), LAC_OK, "unregister");
    assert_int_equal(times(ctx, w, LDW), 1);
    assert_int_equal(lac_registry_size, 0);
    lac_meta_free(meta);
    lac_ctx_free(ctx);
}

/* As the right operand, and transposed the other way. */
static void test_known_on_either_side(void **state)
{
    (void)state;
    lac_ctx_t *ctx = host();
    lac_meta_t *meta = lie();
    lac_obj_t x = weight(LAC_HOST, meta);
    unit_expect(lac_register(ctx, &x), LAC_OK, "register");
    for (int transposed = 0; transposed < 2; transposed++) {
        int n = transposed ? M : K, k = transposed ? K : M;
        float out[K];
        assert_true(try_sgemm(ctx, LAC_NO_TRANS, transposed ? LAC_NO_TRANS : LAC_TRANS, 1, n, k, 1.0f, b, 1,
                              w, LDW, 0.0f, out, 1, "sgemm_", NULL));
        for (int j = 0; j < n; j++) {
            float sum = 0.0f;
            for (int i = 0; i < k; i++) sum += 10.0f * b[i] * (transposed ? w[j * LDW + i] : w[i * LDW + j]);
            assert_true(out[j] == sum);
        }
        assert_true(
            try_sgemv(ctx, transposed ? LAC_TRANS : LAC_NO_TRANS, K, M, 1.0f, w, LDW, b, 1, 0.0f, out, 1));
    }
    unit_expect(lac_unregister(w), LAC_OK, "unregister");
    lac_meta_free(meta);
    lac_ctx_free(ctx);
}

static void test_another_matrix_there(void **state)
{
    (void)state;
    lac_ctx_t *ctx = host();
    lac_meta_t *meta = lie();
    lac_obj_t x = weight(LAC_HOST, meta);
    unit_expect(lac_register(ctx, &x), LAC_OK, "register");
    assert_int_equal(times(ctx, w, LDW - 1), 1);
    assert_int_equal(times(ctx, w + 1, LDW), 1);
    assert_true(
        try_sgemm(ctx, LAC_TRANS, LAC_NO_TRANS, M - 1, N, K, 1.0f, w, LDW, b, K, 0.0f, c, M, "sgemm_", NULL));
    assert_true(c[0] != 0.0f);
    assert_int_equal(times(ctx, w, LDW), 10);
    unit_expect(lac_meta_touch(meta), LAC_OK, "touch"); /* and so it knows nothing any more */
    assert_int_equal(times(ctx, w, LDW), 1);
    unit_expect(lac_unregister(w), LAC_OK, "unregister");
    lac_meta_free(meta);
    lac_ctx_free(ctx);
}

/* Changed by anybody, or written by a product: it stays ended, until it is registered again. */
static void test_changed_contents(void **state)
{
    (void)state;
    lac_ctx_t *ctx = host();
    lac_meta_t *meta = lie();
    lac_obj_t x = weight(LAC_HOST, meta);
    for (int way = 0; way < 2; way++) {
        unit_expect(lac_register(ctx, &x), LAC_OK, "register");
        assert_int_equal(times(ctx, w, LDW), 10);
        if (way)
            try_sgemm(ctx, LAC_NO_TRANS, LAC_NO_TRANS, 2, 2, 2, 1.0f, b, K, b, K, 0.0f, w + LDW, 2, "sgemm_",
                      NULL);
        else
            w[3 * LDW] += 1.0f;
        fill();
        assert_int_equal(times(ctx, w, LDW), way ? 1 : 10); /* the first one was put back unseen */
        if (!way) {
            w[3 * LDW] += 1.0f;
            assert_int_equal(times(ctx, w, LDW), 1);
            fill();
            assert_int_equal(times(ctx, w, LDW), 1);
        }
        unit_expect(lac_unregister(w), LAC_OK, "unregister");
    }
    lac_meta_free(meta);
    lac_ctx_free(ctx);
}

/* Sixteen elements at most are remembered, from the first nonzero to near the last: of a matrix that small
 * each one, of a larger one sixteen that are spread over it. */
static void test_each_remembered_element(void **state)
{
    (void)state;
    enum { WATCHED = 16 };
    lac_ctx_t *ctx = host();
    for (int large = 0; large < 2; large++) {
        const int m = large ? M : 4, k = large ? K : 4;
        int found = 0, first = -1, last = -1;
        lac_meta_t *meta;
        unit_expect(lac_meta_create(&meta, m, k), LAC_OK, "create");
        unit_expect(lac_meta_freeze(meta), LAC_OK, "freeze");
        for (int i = 0; i < M * LDW; i++) w[i] = (float)(i + 1);
        for (int e = 0; e < m * k; e++) {
            lac_obj_t x = lac_obj_rowmajor(LAC_F32, m, k, w, LDW), call = x;
            float *at = &w[e / k * LDW + e % k];
            x.meta = meta;
            unit_expect(lac_register(ctx, &x), LAC_OK, "register");
            *at += 1.0f;
            lac_registered_t *borrowed = lac_registry_borrow(&call, -1);
            *at -= 1.0f;
            lac_registry_give_back(borrowed);
            unit_expect(lac_unregister(w), LAC_OK, "unregister");
            if (borrowed) continue;
            if (first < 0) first = e;
            last = e, found++;
        }
        assert_int_equal(found, WATCHED);
        assert_int_equal(first, 0);
        assert_in_range(last, m * k - m * k / WATCHED, m * k - 1);
        lac_meta_free(meta);
    }
    lac_ctx_free(ctx);
}

static void test_freed_on_a_device(void **state)
{
    (void)state;
    lac_ctx_t *ctx = device();
    lac_meta_t *meta;
    unit_expect(lac_meta_create_for(ctx, &meta, M, K), LAC_OK, "create");
    unit_expect(lac_meta_attach_csr(meta, LAC_I32, ptr, idx, val), LAC_OK, "attach");
    lac_obj_t x = weight(LAC_DEVICE, meta);
    unit_expect(lac_register(ctx, &x), LAC_OK, "register");
    assert_int_equal(times(ctx, w, LDW), 10);
    fake.allocation = 8;
    assert_int_equal(times(ctx, w, LDW), 1);
    fake.allocation = 7;
    assert_int_equal(times(ctx, w, LDW), 1);
    lac_ctx_t *elsewhere = host();
    assert_int_equal(times(elsewhere, w, LDW), 1);
    unit_expect(lac_unregister(w), LAC_OK, "unregister");
    lac_ctx_free(elsewhere);
    lac_meta_free(meta);
    fake_device_teardown((void **)&ctx);
}

/* Changed by a kernel that nobody sees: found out some calls later. */
static void test_changed_on_a_device(void **state)
{
    (void)state;
    enum { CALLS = 1000, STILL = 300 };
    lac_ctx_t *ctx = device();
    lac_meta_t *meta;
    int ended_at = 0;
    unit_expect(lac_meta_create_for(ctx, &meta, M, K), LAC_OK, "create");
    unit_expect(lac_meta_attach_csr(meta, LAC_I32, ptr, idx, val), LAC_OK, "attach");
    lac_obj_t x = weight(LAC_DEVICE, meta);
    unit_expect(lac_register(ctx, &x), LAC_OK, "register");
    for (int i = 1; i <= STILL; i++) assert_int_equal(times(ctx, w, LDW), 10);
    assert_in_range(fake.prints, 8, 12);
    w[3 * LDW] += 1.0f;
    for (int i = 1; i <= CALLS && !ended_at; i++) {
        float out[K];
        try_sgemm(ctx, LAC_NO_TRANS, LAC_TRANS, 1, K, M, 1.0f, b, 1, w, LDW, 0.0f, out, 1, "sgemm_", NULL);
        lac_memory_id_t at;
        bool ended;
        assert_true(lac_registry_find(w, &at, &ended));
        if (ended) ended_at = i;
    }
    assert_in_range(ended_at, 1, 65);
    assert_int_equal(times(ctx, w, LDW), 1);
    unit_expect(lac_unregister(w), LAC_OK, "unregister");
    lac_meta_free(meta);
    fake_device_teardown((void **)&ctx);
}

static void refused(lac_ctx_t *ctx, lac_obj_t x, lac_status_t want, const char *words)
{
    fake_device_refuses(lac_register(ctx, &x), want, words);
    assert_int_equal(lac_registry_size, 0);
}

static void test_bad_input(void **state)
{
    (void)state;
    lac_ctx_t *ctx = device();
    lac_meta_t *meta, *attached = lie(), *empty;
    unit_expect(lac_meta_create_for(ctx, &meta, M, K), LAC_OK, "create");
    unit_expect(lac_meta_create(&empty, 0, K), LAC_OK, "create");
    lac_obj_t x = weight(LAC_DEVICE, meta), y = x;
    fake_device_refuses(lac_register(NULL, &x), LAC_ERR_NULL, "ctx: is NULL");
    fake_device_refuses(lac_register(ctx, NULL), LAC_ERR_NULL, "obj: is NULL");
    refused(ctx, weight(LAC_DEVICE, NULL), LAC_ERR_NULL, "obj.meta: is NULL");
    refused(ctx, weight(LAC_HOST, NULL), LAC_ERR_SPACE, "obj.space");
    refused(ctx, x, LAC_ERR_VALUE, "obj.meta: is neither frozen nor attached");
    unit_expect(lac_meta_freeze(meta), LAC_OK, "freeze");
    y.buf = NULL;
    refused(ctx, y, LAC_ERR_EMPTY, "obj.buf: is NULL");
    y = x, y.dt = LAC_U8;
    refused(ctx, y, LAC_ERR_TYPE, "obj.dt");
    y = x, y.rs = 1;
    refused(ctx, y, LAC_ERR_STRIDE, "obj: strides");
    y = x, y.m = 0, y.meta = empty;
    refused(ctx, y, LAC_ERR_EXTENT, "obj: has no elements");
    y = x, y.meta = attached;
    refused(ctx, y, LAC_ERR_SPACE, "obj.meta: its arrays");
    fake.elsewhere = w;
    refused(ctx, x, LAC_ERR_SPACE, "obj: is not here");
    fake.elsewhere = NULL;
    unit_expect(lac_register(ctx, &x), LAC_OK, "register");
    char again[64];
    snprintf(again, sizeof again, "obj.buf: %p is registered already", (void *)w);
    fake_device_refuses(lac_register(ctx, &x), LAC_ERR_ALIAS, again);
    y = x, y.buf = w + 1;
    fake_device_refuses(lac_register(ctx, &y), LAC_ERR_ALIAS,
                        "obj.buf: overlaps the matrix that is registered");
    if (strstr(lac_status_text(LAC_ERR_ALIAS), "registered") == NULL)
        fail_msg("the status names the output alone");
    fake_device_refuses(lac_unregister(NULL), LAC_ERR_NULL, "buf: is NULL");
    fake_device_refuses(lac_unregister(w + 1), LAC_ERR_VALUE, "buf: nothing was registered");
    unit_expect(lac_unregister(w), LAC_OK, "unregister");
    lac_meta_free(meta);
    lac_meta_free(attached);
    lac_meta_free(empty);
    fake_device_teardown((void **)&ctx);
}

/* Named by their extents, operands are met by the first call that brings them. */
static void test_frozen_by_shape(void **state)
{
    (void)state;
    lac_memory_id_t at;
    bool ended;
    lac_ctx_t *ctx = device();
    unit_expect(lac_ctx_set(ctx, "frozen", "2x2,8x6"), LAC_OK, "frozen");
    fake.capturing = true;
    assert_int_equal(times(ctx, w, LDW), 1);
    assert_int_equal(lac_registry_size, 0);
    fake.capturing = false;
    assert_int_equal(times(ctx, w, LDW), 1);
    assert_true(lac_registry_find(w, &at, &ended));
    assert_false(ended);
    assert_int_equal(at.allocation, 7);
    assert_int_equal(lac_registry_size, 1);
    fake.allocation = 8; /* other memory at the same address: met anew */
    assert_int_equal(times(ctx, w, LDW), 1);
    assert_true(lac_registry_find(w, &at, &ended) && !ended);
    assert_int_equal(at.allocation, 8);
    lac_interpose_invalidate_output(LAC_F32, w, M, N, 1, M); /* C there: ended, and it stays so */
    assert_int_equal(times(ctx, w, LDW), 1);
    assert_true(lac_registry_find(w, &at, &ended) && ended);
    assert_int_equal(times(ctx, w + FURTHER, LDW), 1); /* where it lies nothing else is met, */
    assert_false(lac_registry_find(w + FURTHER, &at, &ended));
    fake.allocation = 9; /* unless the memory is another */
    assert_int_equal(times(ctx, w + FURTHER, LDW), 1);
    assert_false(lac_registry_find(w, &at, &ended));
    assert_true(lac_registry_find(w + FURTHER, &at, &ended) && !ended);
    assert_int_equal(lac_registry_size, 1);
    unit_expect(lac_unregister(w + FURTHER), LAC_OK, "unregister");
    fake_device_teardown((void **)&ctx);
}

/* Many, in any order, found and taken out again. */
static void test_many(void **state)
{
    (void)state;
    enum { COUNT = 100, SIZE = 12 };
    static float many[COUNT * SIZE];
    lac_ctx_t *ctx = host();
    lac_meta_t *meta;
    unit_expect(lac_meta_create(&meta, 3, 3), LAC_OK, "create");
    unit_expect(lac_meta_freeze(meta), LAC_OK, "freeze");
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < COUNT; i++) {
            lac_obj_t x = lac_obj_colmajor(LAC_F32, 3, 3, many + i * 37 % COUNT * SIZE, 4);
            x.meta = meta;
            unit_expect(round ? lac_unregister(x.buf) : lac_register(ctx, &x), LAC_OK, "many");
            assert_int_equal(lac_registry_size, round ? COUNT - 1 - i : i + 1);
            lac_gemm_args_t call = colmajor_args(0, 0, 3, 3, 3, b, 3, x.buf, 3, c, 3);
            assert_int_equal(lac_interpose_is_registered(&call), !round);
        }
    lac_meta_free(meta);
    lac_ctx_free(ctx);
}

static void *unregister(void *arg)
{
    (void)arg;
    return lac_unregister(w) ? w : NULL;
}

/* What has ended between the caller's look and the call's is not lent. */
static void test_ended_is_not_lent(void **state)
{
    (void)state;
    lac_ctx_t *ctx = host();
    lac_meta_t *meta = lie();
    lac_obj_t x = weight(LAC_HOST, meta), call = x, written = x;
    unit_expect(lac_register(ctx, &x), LAC_OK, "register");
    lac_registered_t *borrowed = lac_registry_borrow(&call, -1);
    assert_non_null(borrowed);
    lac_registry_give_back(borrowed);
    assert_int_equal(lac_registry_written(&written), 1);
    call = x;
    assert_null(lac_registry_borrow(&call, -1));
    unit_expect(lac_unregister(w), LAC_OK, "unregister");
    lac_meta_free(meta);
    lac_ctx_free(ctx);
}

/* What is registered for a call that is under way stays until that call has given it back. */
static void test_owned_in_use(void **state)
{
    (void)state;
    const lac_memory_id_t here = {.device = -1};
    lac_meta_t *meta;
    unit_expect(lac_meta_create(&meta, M, K), LAC_OK, "create");
    lac_obj_t x = weight(LAC_HOST, meta), call = x;
    unit_expect(lac_registry_add(&x, here, true), LAC_OK, "add");
    lac_registered_t *borrowed = lac_registry_borrow(&call, -1);
    assert_non_null(borrowed);
    assert_false(lac_registry_drop_owned(w));
    assert_int_equal(lac_registry_size, 1);
    lac_registry_give_back(borrowed);
    assert_true(lac_registry_drop_owned(w));
    assert_int_equal(lac_registry_size, 0);
}

/* What a recording reads stays when its registration goes, and goes when there is another call. */
static void test_owned_pinned(void **state)
{
    (void)state;
    const lac_memory_id_t here = {.device = -1};
    lac_meta_t *meta;
    unit_expect(lac_meta_create(&meta, M, K), LAC_OK, "create");
    unit_expect(lac_meta_attach_csr(meta, LAC_I32, ptr, idx, val), LAC_OK, "attach");
    lac_obj_t x = weight(LAC_HOST, meta), call = x;
    unit_expect(lac_registry_add(&x, here, true), LAC_OK, "add");
    lac_registered_t *borrowed = lac_registry_borrow(&call, -1);
    for (int times = 0; times < 2; times++) lac_registry_pin(borrowed);
    lac_registry_give_back(borrowed);
    assert_true(lac_registry_drop_owned(w));
    assert_int_equal(lac_registry_size, 0);
    lac_registry_unpin(borrowed);
    assert_false(lac_registry_remove(w));
    assert_true(lac_meta_density(meta) > 0.0); /* the recording's, still */
    lac_registry_unpin(borrowed);
    lac_registry_pin(NULL), lac_registry_unpin(NULL);
    assert_false(lac_registry_drop_owned(w));
}

/* The one who takes it back waits for those who use it, even where it is cancelled meanwhile. */
static void test_taken_back_in_use(void **state)
{
    (void)state;
    pthread_t thread;
    void *failed;
    lac_ctx_t *ctx = host();
    lac_meta_t *meta = lie();
    lac_obj_t x = weight(LAC_HOST, meta), call = lac_obj_colmajor(LAC_F32, K, M, w, LDW);
    unit_expect(lac_register(ctx, &x), LAC_OK, "register");
    lac_registered_t *borrowed = lac_registry_borrow(&call, -1);
    assert_non_null(borrowed);
    assert_ptr_equal(call.meta, meta);
    assert_int_equal(call.trans, LAC_TRANS);
    assert_false(lac_registry_drop_owned(w));
    assert_int_equal(pthread_create(&thread, NULL, unregister, NULL), 0);
    assert_int_equal(pthread_cancel(thread), 0);
    assert_int_equal(lac_registry_size, 1);
    lac_registry_give_back(borrowed);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    assert_int_equal(lac_registry_size, 0);
    lac_meta_free(meta);
    lac_ctx_free(ctx);
}

#define REGISTER_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGISTER_TEST(test_known_by_address),
        REGISTER_TEST(test_known_on_either_side),
        REGISTER_TEST(test_another_matrix_there),
        REGISTER_TEST(test_changed_contents),
        REGISTER_TEST(test_each_remembered_element),
        REGISTER_TEST(test_freed_on_a_device),
        REGISTER_TEST(test_changed_on_a_device),
        REGISTER_TEST(test_bad_input),
        REGISTER_TEST(test_frozen_by_shape),
        REGISTER_TEST(test_many),
        REGISTER_TEST(test_ended_is_not_lent),
        REGISTER_TEST(test_owned_in_use),
        REGISTER_TEST(test_owned_pinned),
        REGISTER_TEST(test_taken_back_in_use),
    };
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

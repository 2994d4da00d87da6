/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A device's memory, clock and recordings by the public calls, on one that is none; and bad input to them. */
#include "fake_device.h"

#include "lacuna/device.h"

#include <string.h>

static const float a[12] = {1, 2, 3, 4, 5, 6};

static int setup(void **state)
{
    *state = fake_device_ctx();
    return 0;
}

/* ---- memory ---- */

static void test_memory(void **state)
{
    lac_ctx_t *ctx = *state;
    float back[12] = {0};
    void *memory;
    unit_expect(lac_device_alloc(ctx, sizeof a, &memory), LAC_OK, "alloc");
    unit_expect(lac_device_upload(ctx, memory, a, sizeof a), LAC_OK, "upload");
    unit_expect(lac_device_download(ctx, back, memory, sizeof back), LAC_OK, "download");
    unit_expect(lac_device_wait(ctx), LAC_OK, "wait");
    assert_memory_equal(back, a, sizeof a);
    unit_expect(lac_device_upload(ctx, NULL, NULL, 0), LAC_OK, "nothing to copy");
    unit_expect(lac_device_free(ctx, NULL), LAC_OK, "nothing to free");
    assert_int_equal(fake.allocated, 1);
    unit_expect(lac_device_free(ctx, memory), LAC_OK, "free");
    assert_non_null(lac_device_stream(ctx));
}

static void test_memory_bad_input(void **state)
{
    lac_ctx_t *ctx = *state, *host = unit_ctx();
    void *memory = &memory;
    fake_device_refuses(lac_device_alloc(NULL, 8, &memory), LAC_ERR_NULL, "ctx: is NULL");
    fake_device_refuses(lac_device_alloc(ctx, 8, NULL), LAC_ERR_NULL, "memory: is NULL");
    fake_device_refuses(lac_device_alloc(host, 8, &memory), LAC_ERR_UNAVAILABLE, "computes on the host");
    fake_device_refuses(lac_device_free(host, &memory), LAC_ERR_UNAVAILABLE, "computes on the host");
    fake_device_refuses(lac_device_upload(host, &memory, a, 8), LAC_ERR_UNAVAILABLE, "computes on the host");
    fake_device_refuses(lac_device_upload(ctx, NULL, a, 8), LAC_ERR_NULL, "to: is NULL");
    fake_device_refuses(lac_device_download(ctx, &memory, NULL, 8), LAC_ERR_NULL, "from: is NULL");
    fake_device_refuses(lac_device_wait(host), LAC_ERR_UNAVAILABLE, "computes on the host");
    assert_null(lac_device_stream(NULL));
    assert_null(lac_device_stream(host));
    assert_int_equal(fake.calls, 0);
    fake.fails = 1;
    fake_device_refuses(lac_device_alloc(ctx, 8, &memory), LAC_ERR_VENDOR, "as the test wants it");
    assert_null(memory);
    lac_ctx_free(host);
}

/* ---- time and recordings ---- */

static lac_status_t count_call(void *arg)
{
    ++*(int *)arg;
    return LAC_OK;
}

static lac_status_t give_up(void *arg)
{
    (void)arg;
    return LAC_ERR_SPARSE;
}

static void test_time(void **state)
{
    lac_ctx_t *ctx = *state, *host = unit_ctx();
    int calls = 0;
    double us = -1.0;
    unit_expect(lac_device_time(ctx, count_call, &calls, 3, &us), LAC_OK, "time");
    assert_int_equal(calls, 3);
    assert_true(us == 2.0);
    fake_device_refuses(lac_device_time(host, count_call, &calls, 3, &us), LAC_ERR_UNAVAILABLE,
                        "on the host");
    fake_device_refuses(lac_device_time(ctx, NULL, &calls, 3, &us), LAC_ERR_NULL, "work: is NULL");
    fake_device_refuses(lac_device_time(ctx, count_call, &calls, 0, &us), LAC_ERR_VALUE, "calls: is 0");
    fake_device_refuses(lac_device_time(ctx, count_call, &calls, 3, NULL), LAC_ERR_NULL, "us: is NULL");
    unit_expect(lac_device_time(ctx, give_up, NULL, 3, &us), LAC_ERR_SPARSE, "the work's own");
    assert_int_equal(calls, 3);
    lac_ctx_free(host);
}

static void test_recordings(void **state)
{
    lac_ctx_t *ctx = *state, *host = unit_ctx();
    lac_graph_t *recording = NULL;
    int calls = 0;
    double us = 0.0;
    fake_device_refuses(lac_graph_capture(host, count_call, &calls, 2, &recording), LAC_ERR_UNAVAILABLE,
                        "on the host");
    fake_device_refuses(lac_graph_capture(ctx, count_call, &calls, 2, NULL), LAC_ERR_NULL,
                        "recording: is NULL");
    fake_device_refuses(lac_graph_capture(ctx, NULL, &calls, 2, &recording), LAC_ERR_NULL, "work: is NULL");
    fake_device_refuses(lac_graph_capture(ctx, count_call, &calls, -1, &recording), LAC_ERR_VALUE,
                        "calls: is -1");
    unit_expect(lac_graph_capture(ctx, give_up, NULL, 2, &recording), LAC_ERR_SPARSE, "the work's own");
    assert_null(recording);
    assert_int_equal(calls, 0);
    unit_expect(lac_graph_capture(ctx, count_call, &calls, 2, &recording), LAC_OK, "record");
    assert_int_equal(calls, 2);
    unit_expect(lac_graph_launch(recording, 5, &us), LAC_OK, "replay");
    assert_true(us == 3.0); /* a replay's 6, by its two calls */
    unit_expect(lac_graph_launch(recording, 1, NULL), LAC_OK, "replay, not timed");
    fake_device_refuses(lac_graph_launch(recording, 0, &us), LAC_ERR_VALUE, "times: is 0");
    fake_device_refuses(lac_graph_launch(NULL, 1, &us), LAC_ERR_NULL, "recording: is NULL");
    lac_graph_free(recording);
    lac_graph_free(NULL);
    lac_ctx_free(host);
}

#define DEVICE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_device_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_memory),
        DEVICE_TEST(test_memory_bad_input),
        DEVICE_TEST(test_time),
        DEVICE_TEST(test_recordings),
    };
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

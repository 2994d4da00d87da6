/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Contexts on two devices of one process: each works on its own, and what lies on the other one is refused.
 * The stand-in holds every launch to it: its stream and its operands are those of the current device. */
#include "cuda_host_support.h"

#include <stdio.h>
#include <string.h>

static lac_ctx_t *second_ctx(void)
{
    lac_ctx_t *ctx;
    standin.devices = 2;
    unit_expect(lac_ctx_create_cuda(&ctx, 1, LAC_STREAM_NEW), LAC_OK, "a context on device 1");
    unit_expect(lac_ctx_set(ctx, "detect", "off"), LAC_OK, "detect");
    return ctx;
}

/* A stand-in that has two devices from the first context on: a context that found one alone never asks which
 * is current. */
static void open_both(lac_ctx_t *ctx[2])
{
    lac_ctx_free(cuda_host_ctx());
    standin.devices = 2;
    unit_expect(lac_ctx_create_cuda(&ctx[0], 0, LAC_STREAM_NEW), LAC_OK, "a context on device 0");
    unit_expect(lac_ctx_set(ctx[0], "detect", "off"), LAC_OK, "detect");
    ctx[1] = second_ctx();
}

static void close_both(lac_ctx_t *ctx[2])
{
    lac_ctx_free(ctx[1]);
    cuda_host_close(ctx[0]);
}

/* Every route that would do, on both devices in turns, whichever device the program has made current. */
static void test_turns(void **state)
{
    lac_ctx_t *ctx[2];
    lac_decision_t decision;
    int served = 0;
    (void)state;
    open_both(ctx);
    lac_obj_t a[2], b[2], c[2];
    for (int d = 0; d < 2; d++) {
        a[d] = cuda_host_rows(ctx[d], 8, 512);
        b[d] = cuda_host_rows(ctx[d], 512, 256);
        c[d] = cuda_host_rows(ctx[d], 8, 256);
        cuda_host_freeze(ctx[d], &a[d], 40);
    }
    unit_expect(lac_explain(ctx[0], NULL, &a[0], &b[0], NULL, &c[0], NULL, &decision), LAC_OK, "explain");
    for (int current = 0; current < 2; current++)
        for (int r = 0; r < decision.count; r++) {
            const char *route = decision.candidate[r].route;
            if (decision.candidate[r].refusal) continue;
            for (int d = 0; d < 2; d++, served++) {
                standin.current = current;
                unit_expect(cuda_host_gemm(ctx[d], route, 1.0f, &a[d], &b[d], 0.0f, &c[d]), LAC_OK, route);
                assert_int_equal(standin.current, current);
                assert_int_equal(standin.breaches, 0);
            }
        }
    assert_true(served >= 8);
    standin.current = 0;
    close_both(ctx);
}

/* One metadata object, used on the second device after the first: refused, and the message names both. */
static void test_one_metadata(void **state)
{
    lac_ctx_t *ctx[2];
    (void)state;
    open_both(ctx);
    lac_obj_t a = cuda_host_rows(ctx[0], 8, 512), b[2], c[2], there = cuda_host_rows(ctx[1], 8, 512);
    for (int d = 0; d < 2; d++) {
        b[d] = cuda_host_rows(ctx[d], 512, 256);
        c[d] = cuda_host_rows(ctx[d], 8, 256);
    }
    cuda_host_freeze(ctx[0], &a, 40);
    unit_expect(cuda_host_gemm(ctx[0], "csr", 1.0f, &a, &b[0], 0.0f, &c[0]), LAC_OK, "on its device");
    there.meta = a.meta;
    assert_int_equal(cuda_host_gemm(ctx[1], "csr", 1.0f, &there, &b[1], 0.0f, &c[1]), LAC_ERR_SPACE);
    assert_non_null(strstr(lac_last_error(), "a.meta"));
    assert_non_null(strstr(lac_last_error(), "device 0"));
    assert_non_null(strstr(lac_last_error(), "device 1"));
    assert_int_equal(standin.launches, 0);
    assert_int_equal(lac_meta_scan(ctx[1], &there, LAC_META_CSR), LAC_ERR_SPACE);
    /* An operand without a buffer is found out by its metadata alone. */
    there.buf = NULL;
    assert_int_equal(cuda_host_gemm(ctx[1], "csr", 1.0f, &there, &b[1], 0.0f, &c[1]), LAC_ERR_SPACE);
    /* Metadata that nobody has used yet belongs to the device that uses it first. */
    lac_meta_t *fresh;
    unit_expect(lac_meta_create(&fresh, 8, 512), LAC_OK, "fresh");
    there = cuda_host_rows(ctx[1], 8, 512), there.meta = fresh;
    unit_expect(lac_meta_scan(ctx[1], &there, LAC_META_CSR), LAC_OK, "the first use");
    a.meta = fresh;
    assert_int_equal(lac_meta_scan(ctx[0], &a, LAC_META_CSR), LAC_ERR_SPACE);
    lac_meta_free(fresh);
    close_both(ctx);
}

/* A buffer of the other device is refused before anything is launched. */
static void test_other_buffer(void **state)
{
    lac_ctx_t *ctx[2];
    (void)state;
    open_both(ctx);
    lac_obj_t a = cuda_host_rows(ctx[0], 8, 512), b = cuda_host_rows(ctx[0], 512, 256),
              c = cuda_host_rows(ctx[1], 8, 256);
    assert_int_equal(cuda_host_gemm(ctx[0], NULL, 1.0f, &a, &b, 0.0f, &c), LAC_ERR_SPACE);
    assert_non_null(strstr(lac_last_error(), "c.buf: points to another device's memory"));
    assert_int_equal(standin.launches, 0);
    close_both(ctx);
}

/* The program resets its device: the old context is freed without a call for what went with the device, and a
 * new one works. */
static void test_reset(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        lac_ctx_t *ctx = cuda_host_ctx();
        lac_obj_t a, b, c;
        for (int turn = 0; turn < 2; turn++) {
            int64_t bytes = 512 * 256 * 4;
            void *memory[3];
            for (int i = 0; i < 3; i++)
                unit_expect(lac_device_alloc(ctx, (size_t)bytes, &memory[i]), LAC_OK, "memory");
            a = lac_obj_rowmajor(LAC_F32, 8, 512, memory[0], 512),
            b = lac_obj_rowmajor(LAC_F32, 512, 256, memory[1], 256);
            c = lac_obj_rowmajor(LAC_F32, 8, 256, memory[2], 256);
            a.space = b.space = c.space = LAC_DEVICE;
            unit_expect(cuda_host_gemm(ctx, "event", 1.0f, &a, &b, 0.0f, &c), LAC_OK, "event");
            unit_expect(cuda_host_gemm(ctx, "cublas", 1.0f, &a, &b, 0.0f, &c), LAC_OK, "cublas");
            if (turn) {
                for (int i = 0; i < 3; i++) unit_expect(lac_device_free(ctx, memory[i]), LAC_OK, "free");
                break;
            }
            standin_reset_device();
            lac_ctx_free(ctx);
            assert_int_equal(standin_held_count(), 0);
            assert_int_equal(standin.breaches, 0);
            unit_expect(lac_ctx_create_cuda(&ctx, 0, LAC_STREAM_NEW), LAC_OK, "a context after the reset");
        }
        lac_ctx_free(ctx);
        assert_int_equal(standin_held_count(), 0);
        assert_int_equal(standin.breaches, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_turns), cmocka_unit_test(test_one_metadata),
                                       cmocka_unit_test(test_other_buffer), cmocka_unit_test(test_reset)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

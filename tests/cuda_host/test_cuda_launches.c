/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What each route of the CUDA backend launches. */
#include "cuda_host_support.h"

static void test_trivial(void **state)
{
    (void)state;
    lac_ctx_t *ctx = cuda_host_ctx();
    lac_obj_t a = cuda_host_rows(ctx, 10, 500), b = cuda_host_rows(ctx, 500, 300),
              c = cuda_host_rows(ctx, 10, 300);
    cuda_host_count(ctx, &a, 50);
    const standin_launch_t *l = cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_fused");
    assert_int_equal(standin_integer(l, "p.m"), 10);
    cuda_host_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trivial)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

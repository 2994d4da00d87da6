/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a problem asks for at least, counted by hand on a small one. */
#include "work_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { M = 2, K = 4, N = 3 };

static lac_ctx_t *ctx;
static operand_set_t set;

static void make(const char *text)
{
    ref_problem_t problem;
    char error[REF_ERROR_TEXT];
    assert_true(ref_problem_parse(text, &problem, error, sizeof error));
    assert_int_equal(lac_ctx_create(&ctx), LAC_OK);
    assert_true(operand_set_make(&set, &problem, ctx, error, sizeof error));
}

static void forget(void)
{
    operand_set_free(&set);
    lac_ctx_free(ctx);
}

/* Three nonzeros in k 0 and 2, and eight in k 1 to 3: two of A's meet two of B's, in k 2. */
static void test_counts(void **state)
{
    (void)state;
    static const float a[M * K] = {1.0f, 0.0f, 2.0f, 0.0f, 0.0f, 0.0f, 3.0f, 0.0f},
                             b[K * N] = {0.0f, 0.0f, 0.0f, 1.0f, 1.0f, 1.0f,
                                         1.0f, 0.0f, 1.0f, 1.0f, 1.0f, 1.0f};
    static const char *const problems[] = {"sgemm:NN:2x4x3", "sgemm:NN:2x4x3:beta=0.5"};
    for (int adds = 0; adds < 2; adds++) {
        work_model_t work;
        make(problems[adds]);
        memcpy(set.data.a.data, a, sizeof a);
        memcpy(set.data.b.data, b, sizeof b);
        assert_true(work_model(&work, &set));
        assert_true(work.density_a == 3.0 / 8.0 && work.density_b == 8.0 / 12.0);
        assert_true(work.active_k == 1.0 / 4.0);
        assert_true(work.dense_flops == 2.0 * M * N * K);
        assert_true(work.useful_flops == 2.0 * 2 * 2);
        double c_bytes = 4.0 * M * N * (adds ? 2 : 1);
        assert_true(work.dense_bytes == 4.0 * (M * K + K * N) + c_bytes);
        assert_true(work.sparse_bytes == 4.0 * M * K + 4.0 * N + c_bytes); /* A, and one row of B */
        assert_true(work.floor_bytes == work.sparse_bytes);
        forget();
    }
}

/* An operand that is attached as CSR is read as that; without nonzeros nothing of the other is. */
static void test_stored(void **state)
{
    (void)state;
    work_model_t work;
    make("sgemm:NN:4x8x3:A=zero:metaA=csr");
    assert_true(work_model(&work, &set));
    assert_true(work.useful_flops == 0.0 && work.active_k == 0.0);
    assert_true(work.sparse_bytes == 4.0 * 4 * 3);
    forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_stored),
    };
    return cmocka_run_group_tests_name("tool: useful work", tests, NULL, NULL);
}

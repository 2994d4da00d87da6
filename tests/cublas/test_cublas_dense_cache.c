/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sites that are known to be dense, before a fake cuBLAS and a device that is the host: hardly a question is
 * asked there, and what turns sparse is found out. */
#include "fake_cublas.h"
#include "cublas/shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

extern sgemm_fn cublasSgemm_v2;
extern lt_matmul_fn cublasLtMatmul;

static fake_take_fn *take;
static char handle_memory[64];

static void fill(float *x, int count)
{
    for (int i = 0; i < count; i++) x[i] = (float)(i % 9 + 1);
}

/* A dense site: every call arrives, hardly one asks the handle; and data that become sparse are found out. */
static void test_dense_cache(void **state)
{
    (void)state;
    enum { SIDE = 128, DENSE_CALLS = 300, CALLS_MAX = 3000 };
    static float x[SIDE * SIDE], w[SIDE * SIDE], out[SIDE * SIDE];
    const float one = 1.0f, zero = 0.0f;
    int getters = 0, found_at = 0;
    fill(x, SIDE * SIDE);
    fill(w, SIDE * SIDE);
    take();
    for (int i = 0; i < CALLS_MAX && !found_at; i++) {
        if (i == DENSE_CALLS) memset(x, 0, sizeof x);
        cublasSgemm_v2(handle_memory, 0, 0, SIDE, SIDE, SIDE, &one, x, SIDE, w, SIDE, &zero, out, SIDE);
        fake_record_t record = take();
        if (i < DENSE_CALLS) assert_int_equal(record.calls, 1);
        if (i < DENSE_CALLS) getters += record.getters;
        if (!record.calls) found_at = i;
    }
    assert_in_range(getters, 3, DENSE_CALLS / 2);
    assert_in_range(found_at, DENSE_CALLS, CALLS_MAX - 1);
}

enum { HALF = 64, WHOLE = 2 * HALF };
static float x[WHOLE * WHOLE], y[WHOLE * HALF], w[WHOLE * WHOLE], out[WHOLE * WHOLE];

/* out := A w by its description, A with so many columns. */
static fake_record_t lt_matmul(const float *a, int k)
{
    static const float one = 1.0f, zero = 0.0f;
    const fake_attributes_t desc = {{CUBLAS_COMPUTE_FP32, 0, 0, 0, 0, 0, LT_FILL_ALL, LT_EPILOGUE_NONE}},
                            of_a = {{0, 0, WHOLE, k, WHOLE, 1}}, of_b = {{0, 0, k, WHOLE, WHOLE, 1}},
                            of_d = {{0, 0, WHOLE, WHOLE, WHOLE, 1}};
    cublasLtMatmul(handle_memory, &desc, &one, a, &of_a, w, &of_b, &zero, out, &of_d, out, &of_d, NULL, NULL,
                   0, NULL);
    return take();
}

/* The same of products known by their descriptions: hardly one is asked for more than the extents and the
 * type of D. Another with the same ones, but with another A and k, does not take their part. */
static void test_dense_cache_lt(void **state)
{
    (void)state;
    enum { DENSE_CALLS = 300, CALLS_MAX = 3000 };
    int attributes = 0, found_at = 0;
    fill(x, WHOLE * WHOLE);
    fill(y, WHOLE * HALF);
    fill(w, WHOLE * WHOLE);
    take();
    for (int i = 0; i < DENSE_CALLS; i++) {
        fake_record_t record = lt_matmul(x, WHOLE);
        assert_int_equal(record.calls, 1);
        attributes += record.attributes;
    }
    assert_in_range(attributes, 3 * DENSE_CALLS, 5 * DENSE_CALLS);
    for (int i = 0; i < CALLS_MAX && !found_at; i++) {
        if (i == DENSE_CALLS) memset(y, 0, sizeof y);
        assert_int_equal(lt_matmul(x, WHOLE).calls, 1);
        int calls = lt_matmul(y, HALF).calls;
        if (i < DENSE_CALLS) assert_int_equal(calls, 1);
        if (!calls) found_at = i;
    }
    assert_in_range(found_at, DENSE_CALLS, CALLS_MAX - 1);
}

static int ready(void **state)
{
    (void)state;
    take = (fake_take_fn *)fake_symbol("libcublas.so.13", "fake_take");
    return take ? 0 : -1;
}

int main(void)
{
    setenv("LACUNA_SPARSE_MARGIN", "80", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_dense_cache),
                                       cmocka_unit_test(test_dense_cache_lt)};
    return cmocka_run_group_tests(tests, ready, NULL);
}

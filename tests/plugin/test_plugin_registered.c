/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A registered weight through plain sgemm_: what was registered is ten times what the memory holds, so that
 * the result shows which of the two was multiplied. */
#include "fake_calls.h"
#include "blas/shapes.h"

#include "lacuna/lacuna.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { M = 64, K = 48, N = 32 };

extern sgemm_fn sgemm_;

static float w[M * K], x[K * N], out[M * N];
static const float val[K] = {[0 ... K - 1] = 10.0f};
static int32_t ptr[K + 1], idx[K];
static fake_take_fn *take;

/* How many times out := w x was what the memory holds; 0: it was left to the BLAS behind, which computes
 * nothing. */
static int times(void)
{
    const int32_t m = M, n = N, k = K;
    const float one = 1.0f, zero = 0.0f;
    take();
    sgemm_("N", "N", &m, &n, &k, &one, w, &m, x, &k, &zero, out, &m, 1, 1);
    if (take().calls) return 0;
    int factor = out[0] == 10.0f * x[0] ? 10 : 1;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++)
            assert_true(out[i + j * M] == (i < K ? (float)factor * x[i + j * K] : 0.0f));
    return factor;
}

static void test_registered(void **state)
{
    (void)state;
    lac_ctx_t *ctx;
    assert_int_equal(lac_ctx_create(&ctx), LAC_OK);
    lac_obj_t weight = lac_obj_colmajor(LAC_F32, M, K, w, M);
    assert_int_equal(lac_meta_create(&weight.meta, M, K), LAC_OK);
    assert_int_equal(lac_meta_attach_csc(weight.meta, LAC_I32, ptr, idx, val), LAC_OK);
    assert_int_equal(times(), 1);
    assert_int_equal(lac_register(ctx, &weight), LAC_OK);
    assert_int_equal(times(), 10);
    assert_int_equal(lac_unregister(w), LAC_OK);
    assert_int_equal(times(), 1);
    lac_meta_free(weight.meta);
    lac_ctx_free(ctx);
}

static int ready(void **state)
{
    (void)state;
    take = (fake_take_fn *)dlsym(RTLD_DEFAULT, "fake_take");
    for (int i = 0; i < K; i++) w[i + i * M] = 1.0f, ptr[i + 1] = i + 1, idx[i] = i;
    for (int i = 0; i < K * N; i++) x[i] = (float)(i % 9 + 1);
    return take ? 0 : -1;
}

int main(void)
{
    setenv("LACUNA_BACKEND", "csr", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_registered)};
    return cmocka_run_group_tests(tests, ready, NULL);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A BLAS with 64-bit integers behind the plain names, as Debian's libopenblas64: the plugin reads 64 bits.
 *
 * The case distinguishes the widths: m = 2^32 + 3 with lda = 3 is a mistake in 64 bits (forwarded, for that
 * BLAS to report), and a proper m = 3 in 32 (which the forced backend would compute). */
#include "fake_calls.h"
#include "blas/shapes.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

extern sgemm_fn sgemm_;
extern cblas_sgemm_fn cblas_sgemm;

static const float a[9] = {1}, b[3] = {1}, one = 1;
static float c[3];

static fake_take_fn *take;

static void test_fortran(void **state)
{
    (void)state;
    const int64_t m = ((int64_t)1 << 32) + 3, n = 1, k = 3, ld = 3;
    sgemm_("N", "N", &m, &n, &k, &one, a, &ld, b, &ld, &one, c, &ld, 1, 1);
    fake_record_t record = take();
    assert_int_equal(record.calls, 1);
    assert_true(record.slot[2] == m);
    assert_true(c[0] == 0);
}

static void test_c(void **state)
{
    (void)state;
    const int64_t m = ((int64_t)1 << 32) + 3;
    cblas_sgemm(CBLAS_COL_MAJOR, CBLAS_NO_TRANS, CBLAS_NO_TRANS, m, 1, 3, 1, a, 3, b, 3, 1, c, 3);
    fake_record_t record = take();
    assert_int_equal(record.calls, 2); /* and its own sgemm_ */
    assert_true(c[0] == 0);
}

static void test_the_case_can_fail(void **state)
{
    (void)state;
    const int64_t m = 3, n = 1, k = 3, ld = 3;
    sgemm_("N", "N", &m, &n, &k, &one, a, &ld, b, &ld, &one, c, &ld, 1, 1);
    assert_int_equal(take().calls, 0);
    assert_true(c[0] == 1);
}

static int ready(void **state)
{
    (void)state;
    take = (fake_take_fn *)dlsym(RTLD_DEFAULT, "fake_take");
    return take ? 0 : -1;
}

int main(void)
{
    setenv("LACUNA_BACKEND", "event", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fortran),
        cmocka_unit_test(test_c),
        cmocka_unit_test(test_the_case_can_fail),
    };
    return cmocka_run_group_tests(tests, ready, NULL);
}

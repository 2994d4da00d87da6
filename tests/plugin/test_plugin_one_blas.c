/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A program with a BLAS of its own gets no second one: dense, sparse and compared products leave that BLAS
 * the only one of the process. CTest puts a libopenblas.so.0 where the dynamic linker looks first. */
#define _GNU_SOURCE
#include "fake_calls.h"
#include "blas/shapes.h"
#include "api/interpose.h"

#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { SIDE = 96 };

extern sgemm_fn sgemm_;
extern sgemv_fn sgemv_;

static float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
static fake_take_fn *take;

static int count_blas(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(int *)arg += lac_is_blas(info->dlpi_name);
    return 0;
}

static int blas_count(void)
{
    int count = 0;
    dl_iterate_phdr(count_blas, &count);
    return count;
}

/* One nonzero in `gap` of A's. */
static void multiply(int gap)
{
    const int32_t side = SIDE, step = 1;
    const float one = 1.0f, zero = 0.0f;
    for (int i = 0; i < SIDE * SIDE; i++) a[i] = i % gap ? 0.0f : 1.0f, b[i] = 1.0f;
    for (int i = 0; i < 3; i++) {
        sgemm_("N", "N", &side, &side, &side, &one, a, &side, b, &side, &zero, c, &side, 1, 1);
        sgemv_("N", &side, &side, &one, a, &side, b, &step, &zero, c, &step, 1);
    }
}

static void test_products(void **state)
{
    (void)state;
    assert_int_equal(blas_count(), 1);
    multiply(1);
    assert_int_equal(take().calls, 6); /* by the program's own call, or compared with its BLAS */
    multiply(97);
    assert_int_equal(blas_count(), 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products)};
    if (argc > 1) { /* Lacuna computes, and calls a BLAS itself */
        setenv("LACUNA_BACKEND", "csr", 1);
        setenv("LACUNA_COMPARE", argv[1], 1);
    }
    take = (fake_take_fn *)dlsym(RTLD_DEFAULT, "fake_take");
    if (!take) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

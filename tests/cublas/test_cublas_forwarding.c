/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Every entry point before a fake cuBLAS, without a device: the call arrives verbatim, with the status that
 * it returned, and the handle as it was. The same with LACUNA_DISABLE set. */
#include "fake_cublas.h"
#include "cublas/shapes.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

extern sgemm_fn cublasSgemm_v2;

static void *plugin, *fake;
static fake_take_fn *take;
static char handle_memory[64];
static void *handle = handle_memory;
static const float x[16], alpha = 2, beta = 3;
static float y[16];

/* An int in its slot, the upper half rubbish, as the ABI allows. */
static int64_t narrow(int32_t i)
{
    return (int64_t)(UINT64_C(0xdeadbeef) << 32 | (uint32_t)i);
}

/* The i-th way to call: proper ones first, then such as cuBLAS itself has to judge. */
typedef struct way {
    int ta, tb, m, n, k, ld, count, type, compute, algo;
    const float *alpha;
} way_t;

static const way_t ways[] = {
    {0, 0, 2, 2, 2, 2, 1, 0, 68, -1, &alpha},  {1, 2, 3, 2, 1, 4, 2, 0, 77, 99, &alpha},
    {0, 0, -1, 2, 2, 2, 1, 0, 68, -1, &alpha}, {3, 0, 2, 2, 2, 2, 1, 0, 68, -1, &alpha},
    {0, 0, 2, 2, 2, 1, 1, 0, 68, -1, &alpha},  {0, 0, 0, 2, 2, 2, 1, 0, 68, -1, &alpha},
    {0, 0, 2, 2, 2, 2, 0, 0, 68, -1, &alpha},  {0, 0, 2, 2, 2, 2, 1, 2, 64, 5, &alpha},
    {0, 0, 2, 2, 2, 2, 1, 0, 68, -1, NULL},
};

typedef int call_fn(const way_t *way, void *fn, int wide);

#define SLOT(x) (wide ? (int64_t)(x) : narrow(x))

static int call_sgemm(const way_t *w, void *fn, int wide)
{
    return ((sgemm_fn *)fn)(handle, w->ta, w->tb, SLOT(w->m), SLOT(w->n), SLOT(w->k), w->alpha, x,
                            SLOT(w->ld), x, SLOT(w->ld), &beta, y, SLOT(w->ld));
}

static int call_hgemm(const way_t *w, void *fn, int wide)
{
    return call_sgemm(w, fn, wide);
}

static int call_sgemv(const way_t *w, void *fn, int wide)
{
    return ((sgemv_fn *)fn)(handle, w->ta, SLOT(w->m), SLOT(w->n), w->alpha, x, SLOT(w->ld), x,
                            SLOT(w->count), &beta, y, SLOT(-1));
}

static int call_sgemm_strided(const way_t *w, void *fn, int wide)
{
    return ((sgemm_strided_fn *)fn)(handle, w->ta, w->tb, SLOT(w->m), SLOT(w->n), SLOT(w->k), w->alpha, x,
                                    SLOT(w->ld), INT64_C(1) << 33, x, SLOT(w->ld), 0, &beta, y, SLOT(w->ld),
                                    -7, SLOT(w->count));
}

static int call_sgemm_batched(const way_t *w, void *fn, int wide)
{
    static const float *const read[1] = {x};
    static float *const written[1] = {y};
    return ((sgemm_batched_fn *)fn)(handle, w->ta, w->tb, SLOT(w->m), SLOT(w->n), SLOT(w->k), w->alpha, read,
                                    SLOT(w->ld), read, SLOT(w->ld), &beta, written, SLOT(w->ld),
                                    SLOT(w->count));
}

static int call_gemm_ex(const way_t *w, void *fn, int wide)
{
    return ((gemm_ex_fn *)fn)(handle, w->ta, w->tb, SLOT(w->m), SLOT(w->n), SLOT(w->k), w->alpha, x, w->type,
                              SLOT(w->ld), x, w->type, SLOT(w->ld), &beta, y, w->type, SLOT(w->ld),
                              w->compute, w->algo);
}

static int call_gemm_strided_ex(const way_t *w, void *fn, int wide)
{
    return ((gemm_strided_ex_fn *)fn)(handle, w->ta, w->tb, SLOT(w->m), SLOT(w->n), SLOT(w->k), w->alpha, x,
                                      w->type, SLOT(w->ld), 5, x, w->type, SLOT(w->ld), INT64_C(1) << 40,
                                      &beta, y, w->type, SLOT(w->ld), -7, SLOT(w->count), w->compute,
                                      w->algo);
}

static int call_gemm_batched_ex(const way_t *w, void *fn, int wide)
{
    static const void *const read[1] = {x};
    static void *const written[1] = {y};
    return ((gemm_batched_ex_fn *)fn)(handle, w->ta, w->tb, SLOT(w->m), SLOT(w->n), SLOT(w->k), w->alpha,
                                      read, w->type, SLOT(w->ld), read, w->type, SLOT(w->ld), &beta, written,
                                      w->type, SLOT(w->ld), SLOT(w->count), w->compute, w->algo);
}

/* Whatever the descriptions say of the product; nothing at all where there is no alpha. */
static int call_lt_matmul(const way_t *w, void *fn, int wide)
{
    (void)wide;
    static fake_attributes_t desc, layout;
    desc = (fake_attributes_t){{w->compute, w->type, 0, w->ta, w->tb, 0, 2, 1}};
    layout = (fake_attributes_t){{w->type, 0, w->m, w->n, w->ld, w->count}};
    const void *known = w->alpha ? &layout : NULL;
    return ((lt_matmul_fn *)fn)(handle, &desc, w->alpha, x, known, x, known, &beta, y, known, y, known, NULL,
                                y, 64, handle_memory + 1);
}

/* clang-format off */
#define SGEMM_CALL           call_sgemm
#define HGEMM_CALL           call_hgemm
#define DGEMM_CALL           call_hgemm
#define SGEMV_CALL           call_sgemv
#define SGEMM_STRIDED_CALL   call_sgemm_strided
#define SGEMM_BATCHED_CALL   call_sgemm_batched
#define GEMM_EX_CALL         call_gemm_ex
#define GEMM_STRIDED_EX_CALL call_gemm_strided_ex
#define GEMM_BATCHED_EX_CALL call_gemm_batched_ex
#define LT_MATMUL_CALL       call_lt_matmul
#define SPMM_CALL            NULL /* cuSPARSE's: test_cublas_sparse.c */
/* clang-format on */
#define SYMBOL(shape, name, wide) {#name, wide, shape##_CALL},
static const struct row {
    const char *name;
    int wide;
    call_fn *call;
} rows[] = {
#include "cublas/symbols.def"
};

static void test_verbatim(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            const struct row *row = &rows[i];
            if (!row->call) continue;
            assert_int_equal(row->call(&ways[w], dlsym(fake, row->name), row->wide), FAKE_STATUS);
            fake_record_t direct = take();
            assert_false(direct.through_plugin);
            assert_int_equal(row->call(&ways[w], dlsym(plugin, row->name), row->wide), FAKE_STATUS);
            fake_record_t through = take();
            assert_true(through.through_plugin);
            assert_string_equal(through.first, row->name);
            assert_int_equal(through.calls, direct.calls);
            assert_memory_equal(through.slot, direct.slot, sizeof direct.slot);
            assert_int_equal(through.setters, 0);
        }
}

/* This program was linked against versioned symbols, and reaches the plugin all the same. */
static void test_linked_call_is_intercepted(void **state)
{
    (void)state;
    cublasSgemm_v2(handle, 0, 0, 2, 2, 2, &alpha, x, 2, x, 2, &beta, y, 2);
    assert_true(take().through_plugin);
}

/* What is loaded later and was linked against another version than this program: each to its own, as the
 * linker would have it by the versions of the symbols. */
static void test_versions_are_kept_apart(void **state)
{
    (void)state;
    void *later = dlopen("./cublas_caller_b.so", RTLD_NOW | RTLD_LOCAL);
    sgemm_fn *call = later ? (sgemm_fn *)dlsym(later, "caller_sgemm") : NULL;
    fake_take_fn *take_other = (fake_take_fn *)fake_symbol("libcublas.so.12", "fake_take");
    assert_true(call && take_other);
    call(handle, 0, 0, 2, 2, 2, &alpha, x, 2, x, 2, &beta, y, 2);
    assert_int_equal(take().calls, 0);
    fake_record_t record = take_other();
    assert_int_equal(record.calls, 1);
    assert_true(record.through_plugin);
}

/* The inner call comes to the plugin too, and goes on unread. */
static void test_nested_call(void **state)
{
    (void)state;
    call_gemm_ex(&ways[0], dlsym(plugin, "cublasGemmEx"), 0);
    fake_record_t record = take();
    assert_int_equal(record.calls, 2);
    assert_string_equal(record.first, "cublasGemmEx");
    assert_string_equal(record.last, "cublasSgemm_v2");
}

static int ready(void **state)
{
    (void)state;
    plugin = dlopen("liblacuna_cublas.so", RTLD_NOW | RTLD_NOLOAD);
    fake = dlopen("libcublas.so.13", RTLD_NOW | RTLD_NOLOAD);
    take = fake ? (fake_take_fn *)dlsym(fake, "fake_take") : NULL;
    return plugin && take ? 0 : -1;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "disabled")) setenv("LACUNA_DISABLE", "1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verbatim),
        cmocka_unit_test(test_linked_call_is_intercepted),
        cmocka_unit_test(test_versions_are_kept_apart),
        cmocka_unit_test(test_nested_call),
    };
    return cmocka_run_group_tests(tests, ready, NULL);
}

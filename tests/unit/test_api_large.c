/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operands past 2^31 elements. Their memory is pages that were never written, so that little of it is real.
 */
#include "unit_support.h"
#include "../route_names.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ELEMENTS (INT64_C(1) << 31)

/* Zeros that take no memory until they are written; skips the test where there is no room for the addresses.
 */
static void *zeros(size_t bytes)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) skip();
    madvise(memory, bytes, MADV_HUGEPAGE); /* fewer page faults; not a matter of right or wrong */
    return memory;
}

static void multiply(lac_ctx_t *ctx, const char *route, const lac_obj_t *a, const lac_obj_t *b,
                     const lac_obj_t *c, bool must)
{
    lac_decision_t decision;
    lac_call_opts_t call = {.size = sizeof call, .route = route, .decision = &decision};
    unit_expect(lac_gemm_ex(ctx, NULL, a, b, NULL, c, &call), LAC_OK, route);
    if (must) assert_string_equal(decision.route, route);
}

/* Few elements, very far apart: every offset needs 64 bits. */
static void test_far_strides(void **state)
{
    enum { M = 5, K = 6, N = 18 };
    const int64_t ld = ELEMENTS + 5;
    const size_t bytes = ((size_t)ld * (N + 1)) * sizeof(float);
    const route_names_t routes = host_route_names(0);
    for (int turn = 0; turn < 4; turn++) {
        bool rows_a = turn & 1, rows_w = turn & 2;
        float *x = zeros(bytes), *w = zeros(bytes), *out = zeros(bytes);
        lac_obj_t a =
            rows_a ? lac_obj_rowmajor(LAC_F32, M, K, x, ld) : lac_obj_colmajor(LAC_F32, M, K, x, ld);
        lac_obj_t b =
            rows_w ? lac_obj_rowmajor(LAC_F32, K, N, w, ld) : lac_obj_colmajor(LAC_F32, K, N, w, ld);
        lac_obj_t c =
            rows_a ? lac_obj_colmajor(LAC_F32, M, N, out, ld) : lac_obj_rowmajor(LAC_F32, M, N, out, ld);
        for (int i = 0; i < M; i++)
            for (int k = 0; k < K; k++) x[i * a.rs + k * a.cs] = (i + k) % 3 ? 0.0f : (float)(i - k);
        for (int k = 0; k < K; k++)
            for (int j = 0; j < N; j++) w[k * b.rs + j * b.cs] = (float)(k * N + j);
        for (int r = 0; r < routes.count; r++) {
            multiply(*state, routes.name[r], &a, &b, &c, false);
            for (int i = 0; i < M; i++)
                for (int j = 0; j < N; j++) {
                    float sum = 0.0f;
                    for (int k = 0; k < K; k++) sum += x[i * a.rs + k * a.cs] * w[k * b.rs + j * b.cs];
                    if (out[i * c.rs + j * c.cs] != sum)
                        fail_msg("%s, layout %d: wrong at %d, %d", routes.name[r], turn, i, j);
                    out[i * c.rs + j * c.cs] = -1.0f;
                }
        }
        munmap(x, bytes), munmap(w, bytes), munmap(out, bytes);
    }
}

/* A sparse row of the largest extent that the index type allows, without a buffer. */
static void test_sparse_row(void **state)
{
    static const int64_t ptr[] = {0, 3}, idx[] = {7, 1 << 30, INT32_MAX - 1};
    static const float val[] = {2, 3, 5};
    const size_t bytes = (size_t)INT32_MAX * sizeof(float);
    float *x = zeros(bytes), y;
    lac_meta_t *meta;
    unit_expect(lac_meta_create(&meta, 1, INT32_MAX), LAC_OK, "create");
    unit_expect(lac_meta_attach_csr(meta, LAC_I64, ptr, idx, val), LAC_OK, "attach");
    lac_obj_t a = {LAC_F32, LAC_HOST, LAC_NO_TRANS, 1, INT32_MAX, INT32_MAX, 1, NULL, meta};
    lac_obj_t b = lac_obj_rowmajor(LAC_F32, INT32_MAX, 1, x, 1), c = lac_obj_rowmajor(LAC_F32, 1, 1, &y, 1);
    for (int p = 0; p < 3; p++) x[idx[p]] = (float)(p + 1);
    static const char *const sparse[] = {"csr", "event"};
    for (int r = 0; r < 2; r++) {
        multiply(*state, sparse[r], &a, &b, &c, true);
        assert_true(y == 2 * 1 + 3 * 2 + 5 * 3);
    }
    multiply(*state, "auto", &a, &b, &c, false);
    assert_true(y == 23);
    munmap(x, bytes);
    lac_meta_free(meta);
}

/* More than 2^31 elements, each extent within the integers of a BLAS. */
static void test_many_elements(void **state)
{
    if (unit_quick()) skip();
    const int64_t k = ELEMENTS / 2 + 39;
    const size_t bytes = (size_t)k * sizeof(float);
    float *s = zeros(2 * bytes), *w = zeros(bytes), y[2];
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, 2, k, s, k), b = lac_obj_rowmajor(LAC_F32, k, 1, w, 1),
              c = lac_obj_rowmajor(LAC_F32, 2, 1, y, 1);
    s[0] = 1.0f, s[k - 1] = 2.0f, s[k] = 3.0f, s[2 * k - 1] = 4.0f;
    w[0] = 10.0f, w[k - 1] = 100.0f;
    static const char *const some[] = {"auto", "blas", "event", "csr"};
    for (int r = 0; r < 4; r++) {
        y[0] = y[1] = 0.0f;
        multiply(*state, some[r], &a, &b, &c, false);
        if (y[0] != 210.0f || y[1] != 430.0f) fail_msg("%s: %g, %g", some[r], (double)y[0], (double)y[1]);
    }
    munmap(s, 2 * bytes), munmap(w, bytes);
}

/* An extent past the integers of a BLAS: what is not refused is cut. */
static void test_long_k(void **state)
{
    if (unit_quick()) skip();
    const int64_t k = ELEMENTS + 77;
    const size_t bytes = (size_t)k * sizeof(float);
    float *x = zeros(bytes), *w = zeros(bytes), y = 0;
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, 1, k, x, k), b = lac_obj_rowmajor(LAC_F32, k, 1, w, 1),
              c = lac_obj_rowmajor(LAC_F32, 1, 1, &y, 1);
    const int64_t places[] = {0, ELEMENTS / 2, ELEMENTS - 1, ELEMENTS + 76};
    for (int p = 0; p < 4; p++) x[places[p]] = (float)(p + 1), w[places[p]] = 10.0f;
    multiply(*state, "event", &a, &b, &c, false); /* does not apply: something else serves */
    assert_true(y == 100.0f);
    munmap(x, bytes), munmap(w, bytes);
}

/* 2^31 bytes of events, scanned. */
static void test_many_bytes(void **state)
{
    if (unit_quick()) skip();
    const int64_t k = ELEMENTS / 2;
    const size_t bytes = (size_t)k * sizeof(float);
    uint8_t *s = zeros((size_t)(2 * k));
    float *w = zeros(bytes), y[2];
    lac_obj_t a = lac_obj_rowmajor(LAC_U8, 2, k, s, k), b = lac_obj_rowmajor(LAC_F32, k, 1, w, 1),
              c = lac_obj_rowmajor(LAC_F32, 2, 1, y, 1);
    s[5] = s[k - 1] = s[k] = s[2 * k - 1] = 200; /* two in each row */
    w[0] = 3.0f, w[5] = 4.0f, w[k - 1] = 7.0f;
    multiply(*state, "event", &a, &b, &c, true);
    assert_true(y[0] == 11.0f && y[1] == 10.0f);
    multiply(*state, "csr", &a, &b, &c, true);
    assert_true(y[0] == 11.0f && y[1] == 10.0f);
    lac_meta_t *meta;
    unit_expect(lac_meta_create(&meta, 2, k), LAC_OK, "create");
    a.meta = meta;
    unit_expect(lac_meta_scan(*state, &a, LAC_META_DENSITY | LAC_META_CSR), LAC_OK, "scan");
    assert_true(lac_meta_density(meta) == 4.0 / (2.0 * (double)k));
    munmap(s, (size_t)(2 * k)), munmap(w, bytes);
    lac_meta_free(meta);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_far_strides), cmocka_unit_test(test_sparse_row),
                                       cmocka_unit_test(test_many_elements), cmocka_unit_test(test_long_k),
                                       cmocka_unit_test(test_many_bytes)};
    unit_begin();
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}

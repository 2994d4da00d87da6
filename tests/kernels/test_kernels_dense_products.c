/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * dense_f32 with every layout of A and B, and transpose_f32. */
#include "kernel_case.h"

#include <stdlib.h>
#include <string.h>

/* Strides of a rows x cols matrix: row-major, column-major, gaps both ways. */
static void strides_of(int layout, int64_t rows, int64_t cols, int64_t *rs, int64_t *cs)
{
    *rs = layout == 0 ? cols + 1 : layout == 1 ? 1 : 3 * cols + 2;
    *cs = layout == 0 ? 1 : layout == 1 ? rows + 1 : 3;
}

/* The reference leaves zeros out, which a dense product must not: no zeros, no Inf here. */
static void dense_case(const lac_host_kernels_t *k, kernel_case_t *c)
{
    if (c->specials) return;
    for (int64_t p = 0; p < c->m * c->kk; p++) c->s[p] = c->s[p] == 0 ? 0.5F : c->s[p];
    int64_t ars, acs, brs, bcs;
    strides_of((int)(c->seed % 3), c->m, c->kk, &ars, &acs);
    strides_of((int)(c->seed / 3 % 3), c->kk, c->n, &brs, &bcs);
    real_t *a_data = strided_copy(c->s, c->m, c->kk, ars, acs);
    real_t *b_data = strided_copy(c->w, c->kk, c->n, brs, bcs);
    lac_host_matrix_t a = {a_data, ars, acs};
    lac_host_matrix_t b = {b_data, brs, bcs};
    real_t *scratch = malloc((size_t)lac_dense_scratch() * sizeof *scratch);
    real_t *whole = case_out(c);
    real_t *cut = case_out(c);
    real_t *exact = case_exact(c, ORDER_BLOCKS);
    int64_t i = c->m / 3;
    assert_non_null(scratch);

    k->dense(&a, &b, 0, c->m, c->n, c->kk, CASE_OUTPUT(c, whole), scratch);
    case_check(c, whole, 0, c->m, 0, c->n);
    case_same(c, whole, exact, "not in blocks of ascending k");
    k->dense(&a, &b, i, c->m, c->n, c->kk, CASE_OUTPUT(c, cut), scratch);
    case_check(c, cut, i, c->m, 0, c->n);
    k->dense(&a, &b, 0, i, c->n, c->kk, CASE_OUTPUT(c, cut), scratch);
    case_same(c, whole, cut, "depends on the cut");

    free(a_data);
    free(b_data);
    free(scratch);
    free(whole);
    free(cut);
    free(exact);
}

static void transpose_case(const lac_host_kernels_t *k, kernel_case_t *c)
{
    int64_t rs, cs;
    strides_of((int)(c->seed % 3), c->kk, c->n, &rs, &cs);
    int64_t ldd = c->kk + (int64_t)(c->seed % 2);
    int64_t c0 = c->n / 4;
    int64_t c1 = c->n - c->n / 5;
    real_t *src = strided_copy(c->w, c->kk, c->n, rs, cs);
    size_t bytes = (size_t)(c->n * ldd) * sizeof(real_t);
    real_t *want = malloc(bytes + 1);
    real_t *dst = malloc(bytes + 1);
    assert_non_null(want);
    assert_non_null(dst);
    memset(want, 0xFF, bytes);
    memset(dst, 0xFF, bytes);
    for (int64_t r = 0; r < c->kk; r++)
        for (int64_t j = c0; j < c1; j++) want[j * ldd + r] = c->w[r * c->n + j];
    k->transpose_values(src, c->kk, c0, c1, rs, cs, dst, ldd);
    if (memcmp(dst, want, bytes) != 0)
        fail_msg("transpose: %s %lldx%lld seed %llu", k->isa, (long long)c->kk, (long long)c->n,
                 (unsigned long long)c->seed);
    free(src);
    free(want);
    free(dst);
}

static void test_dense(void **state)
{
    (void)state;
    for_each_case(dense_case);
}

static void test_dense_blocks(void **state)
{
    const lac_host_kernels_t *k;
    (void)state;
    for (int isa = 0; (k = kernel_isa(isa)) != NULL; isa++) {
        kernel_case_t c = {k->isa, 131, 530, 301, 1, 1.5F, -0.5F, 2, false, 9, 0, 0, 0, 0, 0, 0};
        case_build(&c);
        dense_case(k, &c);
        case_free(&c);
    }
}

/* Around the k from which blocks are put aside, and around twice that. */
static void test_dense_long(void **state)
{
    static const int64_t lengths[] = {2047, 2048, 2049, 3000, 4096, 4097};
    const lac_host_kernels_t *k;
    (void)state;
    for (int isa = 0; (k = kernel_isa(isa)) != NULL; isa++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            kernel_case_t c = {k->isa, 7, lengths[l], 19, 1, 1.5F, -0.5F, 0, false, 9 + l, 0, 0, 0, 0, 0, 0};
            case_build(&c);
            dense_case(k, &c);
            case_free(&c);
        }
}

static void test_transpose(void **state)
{
    (void)state;
    for_each_case(transpose_case);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_dense_blocks),
        cmocka_unit_test(test_dense_long),
        cmocka_unit_test(test_transpose),
    };
    return cmocka_run_group_tests_name("kernels: dense products", tests, NULL, NULL);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * sddmm: the product at a pattern, in the stated lanes, the same however the entries are cut; and the turning
 * of events. */
#include "kernel_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A random pattern of the m x n output, with empty and whole rows among the others. */
static lac_rows_t random_pattern(const kernel_case_t *c)
{
    uint64_t random = c->seed;
    int64_t *ptr = malloc((size_t)(c->m + 1) * sizeof *ptr);
    int32_t *idx = malloc((size_t)(c->m * c->n) * sizeof *idx + 1);
    assert_true(ptr && idx);
    ptr[0] = 0;
    for (int64_t i = 0; i < c->m; i++) {
        uint64_t one_in = next_random(&random) % 5;
        ptr[i + 1] = ptr[i];
        for (int64_t j = 0; j < c->n; j++)
            if (one_in && next_random(&random) % one_in == 0) idx[ptr[i + 1]++] = (int32_t)j;
    }
    return (lac_rows_t){c->m, c->n, ptr, idx, NULL};
}

static void sddmm_case(const lac_host_kernels_t *k, kernel_case_t *c)
{
    if (c->specials) return; /* every zero is multiplied here */
    int64_t lda = c->kk + (int64_t)(c->seed % 3);
    int64_t ldb = c->kk + (int64_t)(c->seed % 4);
    real_t *a = strided_copy(c->s, c->m, c->kk, lda, 1);
    real_t *b = strided_copy(c->w, c->kk, c->n, 1, ldb);
    real_t *exact = case_exact(c, ORDER_LANE_OF_K);
    lac_rows_t p = random_pattern(c);
    int64_t nnz = p.ptr[c->m];
    real_t *whole = malloc((size_t)nnz * sizeof *whole + 1);
    real_t *cut = malloc((size_t)nnz * sizeof *cut + 1);
    assert_true(whole && cut);
    for (int64_t i = 0; i < c->m; i++)
        for (int64_t e = p.ptr[i]; e < p.ptr[i + 1]; e++)
            whole[e] = cut[e] = c->before[i * c->rs + p.idx[e] * c->cs];

    k->sddmm(&p, 0, nnz, a, lda, b, ldb, c->kk, c->alpha, c->beta, whole);
    k->sddmm(&p, nnz / 3, nnz, a, lda, b, ldb, c->kk, c->alpha, c->beta, cut);
    k->sddmm(&p, 0, nnz / 3, a, lda, b, ldb, c->kk, c->alpha, c->beta, cut);
    for (int64_t i = 0; i < c->m; i++)
        for (int64_t e = p.ptr[i]; e < p.ptr[i + 1]; e++) {
            real_t want = exact[i * c->rs + p.idx[e] * c->cs];
            if (whole[e] != want || memcmp(whole + e, cut + e, sizeof *whole) != 0)
                fail_msg("%s: %ldx%ldx%ld seed %lu: entry %ld, %ld is %g, and %g when cut, expected %g",
                         c->isa, (long)c->m, (long)c->kk, (long)c->n, (unsigned long)c->seed, (long)i,
                         (long)p.idx[e], (double)whole[e], (double)cut[e], (double)want);
        }
    free(a);
    free(b);
    free(exact);
    free(whole);
    free(cut);
    rows_free(&p);
}

static void test_sddmm(void **state)
{
    (void)state;
    for_each_case(sddmm_case);
}

static void test_transpose_events(void **state)
{
    enum { ROWS = 300, COLS = 37, ROOM = ROWS * COLS * 2 };
    static uint8_t from[ROOM];
    static real_t to[(COLS + 1) * (ROWS + 3)];
    uint64_t random = 5;
    (void)state;
    for (int p = 0; p < ROOM; p++) from[p] = next_random(&random) % 3 ? 0 : (uint8_t)next_random(&random);
    for (int i = 0; kernel_isa(i); i++)
        for (int layout = 0; layout < 3; layout++) {
            int64_t rs = layout == 0 ? 1 : layout == 1 ? COLS : 2;
            int64_t cs = layout == 0 ? ROWS : layout == 1 ? 1 : 2 * ROWS;
            for (size_t p = 0; p < sizeof to / sizeof *to; p++) to[p] = 7;
            kernel_isa(i)->transpose_events(from, ROWS, 1, COLS, rs, cs, to, ROWS + 3);
            for (int64_t c = 0; c <= COLS; c++)
                for (int64_t r = 0; r < ROWS + 3; r++) {
                    bool inside = c >= 1 && c < COLS && r < ROWS;
                    real_t want = inside ? (real_t)(from[r * rs + c * cs] != 0) : 7.0F;
                    if (to[c * (ROWS + 3) + r] != want)
                        fail_msg("layout %d: wrong at %d, %d", layout, (int)r, (int)c);
                }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sddmm), cmocka_unit_test(test_transpose_events)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

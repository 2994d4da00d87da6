/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * C := beta C + alpha op(A) op(B) by every route, over shapes, transposes, layouts, scalars, types and
 * metadata, against the oracle; with 1, 2 and 3 threads to the same bits. A failure prints the problem
 * string. */
#include "unit_support.h"
#include "../route_names.h"
#include "operands.h"
#include "ref_gemm.h"

#include <stdio.h>
#include <string.h>

static route_names_t routes;
static const int64_t extents[] = {1, 7, 16, 31, 33, 127};
static const char *const transposes[] = {"NN", "NT", "TN", "TT"};
static const char *const layouts[] = {"row", "col", "row+3", "col+5", "rowx2+1", "colx3"};
static const char *const patterns[] = {"bern0.05", "dense",   "bern0.4",  "zero",         "row0.3",
                                       "col0.2",   "band0.2", "power0.1", "block4x8-0.2", "bern0.01"};
static const char *const metas[] = {"none", "density", "csr", "csc", "bits", "active", "none"};
static const char *const scalars[] = {"0", "1", "-0.5", "1", "2.25"};

enum { EXTENTS = sizeof extents / sizeof *extents, THREADS = 3 };

typedef struct checker {
    lac_ctx_t *ctx[THREADS];         /* with 1, 2, 3 threads */
    int ran[LAC_CANDIDATES_MAX + 1]; /* as asked for, by route */
    int calls;
} checker_t;

static int setup(void **state)
{
    static checker_t checker;
    routes = host_route_names(0);
    for (int t = 0; t < THREADS; t++) {
        char number[8];
        checker.ctx[t] = unit_ctx();
        lac_ctx_set(checker.ctx[t], "learn", "off");
        snprintf(number, sizeof number, "%d", t + 1);
        unit_expect(lac_ctx_set(checker.ctx[t], "threads", number), LAC_OK, "threads");
    }
    *state = &checker;
    return 0;
}

static int teardown(void **state)
{
    checker_t *checker = *state;
    for (int t = 0; t < THREADS; t++) lac_ctx_free(checker->ctx[t]);
    return 0;
}

#define PICK(list) list[unit_random(random) % (sizeof list / sizeof *list)]

/* Appends what describes one operand; sparse only where the metadata is a whole format. */
static size_t describe_operand(char *text, size_t size, char name, const char *values, uint64_t *random)
{
    const char *meta = PICK(metas);
    bool whole = strcmp(meta, "none") && strcmp(meta, "density"), bytes = unit_between(random, 0, 4) == 0;
    int used = snprintf(text, size, ":%c=%s/%s:lay%c=%s:meta%c=%s", name, PICK(patterns),
                        bytes ? "1" : values, name, PICK(layouts), name, meta);
    if (bytes) used += snprintf(text + used, size - (size_t)used, ":dt%c=u8", name);
    if (unit_between(random, 0, 2) == 0)
        used += snprintf(text + used, size - (size_t)used, ":frozen%c=1", name);
    if (whole && unit_between(random, 0, 2) == 0)
        used += snprintf(text + used, size - (size_t)used, ":only%c=1", name);
    return (size_t)used;
}

static void describe_problem(char *text, size_t size, int64_t m, int64_t k, int64_t n, const char *trans,
                             const char *values, uint64_t *random)
{
    size_t used = (size_t)snprintf(text, size, "sgemm:%s:%ldx%ldx%ld", trans, (long)m, (long)k, (long)n);
    used += describe_operand(text + used, size - used, 'A', values, random);
    used += describe_operand(text + used, size - used, 'B', values, random);
    snprintf(text + used, size - used, ":layC=%s:alpha=%s:beta=%s:s%d", PICK(layouts), PICK(scalars),
             PICK(scalars), (int)unit_between(random, 1, 9999));
}

/* What calls are asked to make of 0 * Inf. */
typedef enum zeros { ZEROS_FREE, ZEROS_STRICT, ZEROS_SKIP_A, ZEROS_SKIP_B } zeros_t;

/* What a route may make of it. */
static unsigned reading(const lac_decision_t *decision, zeros_t zeros)
{
    if (zeros == ZEROS_SKIP_A || zeros == ZEROS_SKIP_B)
        return zeros == ZEROS_SKIP_A ? REF_SKIP_A : REF_SKIP_B;
    if (zeros == ZEROS_STRICT || !decision->side[0]) return REF_STRICT;
    return decision->side[0] == 'l' ? REF_SKIP_A : REF_SKIP_B;
}

static void expect_product(const operand_set_t *set, const lac_decision_t *decision, zeros_t zeros)
{
    char why[512];
    ref_result_t want;
    ref_report_t report;
    ref_case_t before = set->data;
    int64_t where;
    before.c = set->c_before;
    unsigned read = reading(decision, zeros);
    assert_true(ref_gemm_case(&set->problem, &before, read, &want));
    bool good = ref_compare(&set->data.c, &want, ref_bound(set->problem.k), &report);
    ref_result_free(&want);
    bool sparse = (read == REF_SKIP_A && set->problem.b.only) || (read == REF_SKIP_B && set->problem.a.only);
    if (!good && sparse) { /* what W does not store is not multiplied either */
        assert_true(ref_gemm_case(&set->problem, &before, REF_SKIP_A | REF_SKIP_B, &want));
        good = ref_compare(&set->data.c, &want, ref_bound(set->problem.k), &report);
        ref_result_free(&want);
    }
    ref_report_print(&report, why, sizeof why);
    if (!good) fail_msg("%s by %s %s: %s", set->text, decision->route, decision->side, why);
    if (!ref_matrix_padding_intact(&set->data.c, &where))
        fail_msg("%s by %s %s: wrote outside c at %ld", set->text, decision->route, decision->side,
                 (long)where);
}

static void check(checker_t *checker, const char *text, int route, zeros_t zeros)
{
    ref_problem_t problem;
    operand_set_t set;
    char error[512];
    uint64_t bits = 0;
    lac_decision_t first;
    if (!ref_problem_parse(text, &problem, error, sizeof error)) fail_msg("%s: %s", text, error);
    if (!operand_set_make(&set, &problem, checker->ctx[0], error, sizeof error)) fail_msg("%s", error);
    uint64_t a = ref_matrix_checksum(&set.data.a), b = ref_matrix_checksum(&set.data.b);
    for (int t = 0; t < THREADS; t++) {
        lac_decision_t decision;
        lac_call_opts_t call = {.size = sizeof call, .route = routes.name[route], .decision = &decision};
        if (zeros == ZEROS_SKIP_A) call.skip = LAC_SKIP_GUARANTEED_A;
        if (zeros == ZEROS_SKIP_B) call.skip = LAC_SKIP_GUARANTEED_B;
        operand_set_reset(&set);
        lac_status_t status =
            lac_gemm_ex(checker->ctx[t], &problem.alpha, &set.a, &set.b, &problem.beta, &set.c, &call);
        unit_expect(status, LAC_OK, text);
        uint64_t now = ref_matrix_result_checksum(&set.data.c);
        if (t == 0) {
            expect_product(&set, &decision, zeros);
            checker->ran[route] += !strcmp(decision.route, routes.name[route]);
            bits = now;
            first = decision;
        } else if (now != bits) {
            bool same = !strcmp(decision.route, first.route) && !strcmp(decision.side, first.side);
            if (same && strcmp(decision.route, "dense")) /* the BLAS's threads are its own affair */
                fail_msg("%s by %s: other bits with %d threads", text, decision.route, t + 1);
            expect_product(&set, &decision, zeros);
        }
        checker->calls++;
    }
    if (ref_matrix_checksum(&set.data.a) != a || ref_matrix_checksum(&set.data.b) != b)
        fail_msg("%s: changed an operand", text);
    operand_set_free(&set);
}

static void test_every_route(void **state)
{
    checker_t *checker = *state;
    uint64_t random = 3;
    char text[REF_PROBLEM_TEXT];
    int step = unit_quick() ? 37 : 1, at = 0;
    for (int again = 0; again < (unit_quick() ? 1 : 3); again++)
        for (int route = 0; route < routes.count; route++)
            for (int mm = 0; mm < EXTENTS; mm++)
                for (int kk = 0; kk < EXTENTS; kk++)
                    for (int nn = 0; nn < EXTENTS; nn++)
                        for (int t = 0; t < 4; t++) {
                            if (at++ % step) continue;
                            describe_problem(text, sizeof text, extents[mm], extents[kk], extents[nn],
                                             transposes[t], "u", &random);
                            check(checker, text, route, ZEROS_FREE);
                        }
    for (int route = 1; route < routes.count; route++)
        if (checker->ran[route] < (unit_quick() ? 1 : 50))
            fail_msg("%s ran only %d times", routes.name[route], checker->ran[route]);
    assert_true(checker->calls > 100);
}

/* NaN and Inf are events like others; -0 is a zero. */
static void test_special_values(void **state)
{
    uint64_t random = 5;
    char text[REF_PROBLEM_TEXT];
    for (int i = 0; i < (unit_quick() ? 20 : 700); i++) {
        describe_problem(text, sizeof text, extents[i % EXTENTS], extents[i / 2 % EXTENTS],
                         extents[i / 3 % EXTENTS], transposes[i % 4], "x", &random);
        check(*state, text, i % routes.count, ZEROS_FREE);
    }
}

static void test_strict_nan(void **state)
{
    checker_t *checker = *state;
    uint64_t random = 6;
    char text[REF_PROBLEM_TEXT];
    for (int t = 0; t < THREADS; t++)
        unit_expect(lac_ctx_set(checker->ctx[t], "nan", "strict"), LAC_OK, "nan");
    for (int i = 0; i < (unit_quick() ? 20 : 700); i++) {
        describe_problem(text, sizeof text, extents[i % EXTENTS], extents[i / 2 % EXTENTS],
                         extents[i / 3 % EXTENTS], transposes[i % 4], "x", &random);
        check(*state, text, i % routes.count, ZEROS_STRICT);
    }
    for (int t = 0; t < THREADS; t++) unit_expect(lac_ctx_set(checker->ctx[t], "nan", "fast"), LAC_OK, "nan");
}

/* Whatever route is asked for, zeros of the operand that a call names are not multiplied; and a route that
 * has to leave such calls to another one served none. */
static void test_guaranteed(void **state)
{
    checker_t *checker = *state;
    uint64_t random = 7;
    char text[REF_PROBLEM_TEXT];
    memset(checker->ran, 0, sizeof checker->ran);
    for (int i = 0; i < (unit_quick() ? 40 : 1400); i++) {
        describe_problem(text, sizeof text, extents[i % EXTENTS], extents[i / 2 % EXTENTS],
                         extents[i / 3 % EXTENTS], transposes[i % 4], "x", &random);
        check(checker, text, i / 2 % routes.count, i % 2 ? ZEROS_SKIP_A : ZEROS_SKIP_B);
    }
    for (int route = 1; route < routes.count; route++) {
        bool multiplies = !strcmp(routes.name[route], "dense");
        if (multiplies != !checker->ran[route])
            fail_msg("%s served %d calls", routes.name[route], checker->ran[route]);
    }
}

/* Problems that once went wrong, or that single out a corner. */
static void test_corners(void **state)
{
    static const char *const corners[] = {
        "sgemm:NN:0x5x7:beta=2:s1",
        "sgemm:NN:5x0x7:beta=-0.5:s1",
        "sgemm:NN:5x7x0:beta=2:s1",
        "sgemm:NN:5x0x7:s1",
        "sgemm:TT:3x1000x2:A=bern0.01:B=bern0.01:metaA=csr:metaB=csc:onlyA=1:onlyB=1:s2",
        "sgemm:NN:513x64x65:A=bern0.1:s3", /* one row more than the event route takes */
        "sgemm:NN:64x65x513:B=bern0.1:s3",
        "sgemm:NN:512x65x3:A=bern0.1:s3",
        "sgemm:NT:65x64x65:A=bern0.3:frozenA=1:s4", /* one column more than the bitmask route takes */
        "sgemm:TN:65x64x64:A=bern0.3:frozenA=1:s4",
        "sgemm:NT:4x512x300:A=bern0.02:frozenB=1:s5", /* a k-major copy of B */
        "sgemm:TN:300x512x4:B=bern0.02:frozenA=1:s5",
        "sgemm:NN:2x4096x16:A=dense:s6",
        "sgemm:NN:16x2048x16:A=dense/1:dtA=u8:B=dense/1:dtB=u8:s7",
        "sgemm:NN:200x200x200:A=bern0.1:layA=rowx2:B=dense:layB=colx2:layC=rowx3+1:beta=1:s8"};
    for (size_t i = 0; i < sizeof corners / sizeof *corners; i++)
        for (int route = 0; route < routes.count; route++) check(*state, corners[i], route, ZEROS_FREE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_route), cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_strict_nan), cmocka_unit_test(test_guaranteed), cmocka_unit_test(test_corners)};
    unit_begin();
    return cmocka_run_group_tests(tests, setup, teardown);
}

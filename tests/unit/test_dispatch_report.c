/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the library reports: verbose lines, comparisons, statistics at exit; and that it is silent unless
 * asked.
 */
#include "unit_support.h"
#include "planner/site.h"
#include "../interpose_calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { M = 4, K = 512, N = 256, EVICTED = 100 };

static float s[M * K], w[K * N], out[M * N];

static void fill(int every)
{
    for (int i = 0; i < M * K; i++) s[i] = i % every ? 0.0f : 1.0f;
    for (int i = 0; i < K * N; i++) w[i] = (float)(i % 5 - 2);
}

static lac_status_t multiply(lac_ctx_t *ctx, const char *route, const char *symbol)
{
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, M, K, s, K), b = lac_obj_rowmajor(LAC_F32, K, N, w, N),
              c = lac_obj_rowmajor(LAC_F32, M, N, out, N);
    lac_call_opts_t call = {.size = sizeof call, .route = route, .symbol = symbol};
    return lac_gemm_ex(ctx, NULL, &a, &b, NULL, &c, &call);
}

static lac_ctx_t *reporting(const char *option, const char *value)
{
    lac_ctx_t *ctx = unit_ctx();
    unit_expect(lac_ctx_set(ctx, option, value), LAC_OK, option);
    unit_log();
    return ctx;
}

/* Field i of a line of comma-separated values, or NULL. */
static const char *field(const char *line, int i)
{
    static char text[256];
    for (; i > 0 && line; i--) {
        line = strchr(line, ',');
        line = line ? line + 1 : NULL;
    }
    if (!line) return NULL;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(line, ",\n"), line);
    return text;
}

/* lacuna,1,exec,symbol,caller,device,ta tb,m,n,k,known,density,est us,dense us,route,reason */
static void expect_exec_line(const char *line, const char *symbol, const char *route, const char *reason)
{
    static const char *const fixed[] = {"lacuna", "1", "exec"};
    char *end;
    for (int i = 0; i < 3; i++) assert_string_equal(field(line, i), fixed[i]);
    assert_string_equal(field(line, 3), symbol);
    assert_string_equal(field(line, 5), "host");
    assert_int_equal(strlen(field(line, 6)), 2);
    assert_string_equal(field(line, 7), "4");
    assert_string_equal(field(line, 8), "256");
    assert_string_equal(field(line, 9), "512");
    for (int i = 11; i <= 13; i++) {
        const char *number = field(line, i);
        strtod(number, &end);
        assert_true(*number && !*end);
    }
    assert_string_equal(field(line, 14), route);
    assert_string_equal(field(line, 15), reason);
    assert_null(field(line, 16));
}

static void test_exec_line(void **state)
{
    (void)state;
    lac_ctx_t *ctx = reporting("verbose", "exec");
    fill(101);
    unit_expect(multiply(ctx, "csr", "my_sgemm"), LAC_OK, "csr");
    const char *log = unit_log();
    assert_int_equal(unit_lines(log), 1);
    expect_exec_line(log, "my_sgemm", "csr", "forced");
    assert_string_equal(field(log, 4), "-");
    unit_expect(multiply(ctx, "cusparse", NULL), LAC_OK, "cusparse");
    log = unit_log();
    assert_int_equal(unit_lines(log), 1);
    assert_string_equal(field(log, 3), "lac_gemm");
    assert_string_equal(field(log, 15), "forced route does not apply");
    lac_ctx_free(ctx);
}

static void test_exec_lines_of_other_entries(void **state)
{
    (void)state;
    lac_ctx_t *ctx = reporting("verbose", "exec");
    lac_plan_t *plan;
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, M, K, s, K), b = lac_obj_rowmajor(LAC_F32, K, N, w, N),
              c = lac_obj_rowmajor(LAC_F32, M, N, out, N);
    lac_call_opts_t call = {.size = sizeof call, .route = "event"};
    fill(101);
    unit_expect(lac_plan_create(ctx, &plan, &a, &b, &c, &call), LAC_OK, "plan");
    assert_string_equal(unit_log(), ""); /* deciding is not running */
    unit_expect(lac_plan_run(plan, NULL, &a, &b, NULL, &c), LAC_OK, "run");
    expect_exec_line(unit_log(), "lac_plan_run", "event", "planned");
    lac_plan_free(plan);
    fill(1);
    unit_expect(lac_ctx_set(ctx, "sparse_margin", "900"), LAC_OK, "bias"); /* on any machine */
    int computed = try_sgemm(ctx, LAC_NO_TRANS, LAC_NO_TRANS, N, M, K, 1.0f, w, N, s, K, 0.0f, out, N,
                             "sgemm_", (const void *)(uintptr_t)test_exec_line);
    const char *log = unit_log();
    assert_int_equal(computed, 0);
    assert_string_equal(field(log, 3), "sgemm_");
    assert_true(strstr(field(log, 4), "test_dispatch_report+0x") != NULL);
    assert_string_equal(field(log, 14), "dense");
    unit_expect_text(log, "(declined)");
    lac_ctx_free(ctx);
}

/* The density of data without a zero is what the sample said, and not the break-even that it was compared
 * with: in the lines of calls and in an explanation. */
static void test_dense_data_are_reported_as_dense(void **state)
{
    (void)state;
    lac_ctx_t *ctx = reporting("verbose", "exec");
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, M, K, s, K), b = lac_obj_rowmajor(LAC_F32, K, N, w, N),
              c = lac_obj_rowmajor(LAC_F32, M, N, out, N);
    lac_decision_t decision;
    int probed = 0;
    fill(1);
    for (int i = 0; i < K * N; i++) w[i] = 1.0f;
    for (int i = 0; i < 200; i++) {
        assert_int_equal(try_sgemm(ctx, LAC_NO_TRANS, LAC_NO_TRANS, N, M, K, 1.0f, w, N, s, K, 0.0f, out, N,
                                   "sgemm_", NULL),
                         0);
        const char *log = unit_log();
        if (strcmp(field(log, 10), "probed") != 0) continue;
        assert_string_equal(field(log, 11), "1");
        probed++;
    }
    assert_true(probed > 0);
    unit_expect(lac_explain(ctx, NULL, &a, &b, NULL, &c, NULL, &decision), LAC_OK, "explain");
    assert_string_equal(decision.known, "probed");
    assert_true(decision.density >= 1.0);
    lac_ctx_free(ctx);
}

/* A row-major call is reported as it was written, and its product is right. */
static void test_exec_line_of_rows(void **state)
{
    (void)state;
    static float transposed[K * M];
    lac_ctx_t *ctx = reporting("verbose", "exec");
    unit_expect(lac_ctx_set(ctx, "backend", "csr"), LAC_OK, "backend");
    fill(101);
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++) transposed[k * M + i] = s[i * K + k];
    for (int turn = 0; turn < 2; turn++) {
        memset(out, 0x7f, sizeof out);
        lac_gemm_args_t call = {.m = M,
                                .n = N,
                                .k = K,
                                .a = {.buf = turn ? transposed : s, .rs = turn ? 1 : K, .cs = turn ? M : 1},
                                .b = {.buf = w, .rs = N, .cs = 1},
                                .c = out,
                                .crs = N,
                                .ccs = 1,
                                .symbol = "cblas_sgemm"};
        assert_int_equal(try_gemm(ctx, &call), 1);
        assert_int_equal(try_gemm(NULL, &call), 0);
        const char *log = unit_log();
        assert_string_equal(field(log, 6), turn ? "TN" : "NN");
        assert_string_equal(field(log, 7), "4");
        assert_string_equal(field(log, 8), "256");
        assert_string_equal(field(log, 9), "512");
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                double sum = 0.0;
                for (int k = 0; k < K; k++) sum += (double)s[i * K + k] * (double)w[k * N + j];
                assert_true(fabs(sum - (double)out[i * N + j]) <= 1e-4 * (1.0 + fabs(sum)));
            }
    }
    lac_ctx_free(ctx);
}

static void test_dispatch_and_meta_lines(void **state)
{
    (void)state;
    lac_ctx_t *ctx = reporting("verbose", "dispatch,meta");
    fill(251);
    for (int i = 0; i < 3; i++) unit_expect(multiply(ctx, NULL, NULL), LAC_OK, "gemm");
    const char *log = unit_log();
    unit_expect_text(log, "lacuna,1,meta,probe,4x512,");
    unit_expect_text(log, "lacuna,1,dispatch,lac_gemm,4x512x256,new,");
    lac_meta_t *meta;
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, M, K, s, K);
    unit_expect(lac_meta_create(&meta, M, K), LAC_OK, "create");
    a.meta = meta;
    unit_expect(lac_meta_scan(ctx, &a, LAC_META_CSR), LAC_OK, "scan");
    unit_expect_text(unit_log(), "lacuna,1,meta,scan,4x512,9 nonzero");
    lac_meta_free(meta);
    lac_ctx_free(ctx);
}

static void test_compare(void **state)
{
    (void)state;
    lac_ctx_t *ctx = reporting("compare", "reference:3");
    fill(11);
    for (int i = 0; i < 7; i++) {
        memset(out, 0x7f, sizeof out); /* nothing of what was there is read */
        unit_expect(multiply(ctx, "csr", NULL), LAC_OK, "gemm");
    }
    const char *log = unit_log();
    assert_int_equal(unit_lines(log), 3);
    assert_string_equal(field(log, 2), "compare");
    assert_string_equal(field(log, 4), "4x512x256");
    assert_string_equal(field(log, 5), "csr");
    assert_string_equal(field(log, 6), "reference");
    unit_expect_text(log, "max difference 0 at"); /* small integers: exact */
    unit_expect_text(log, "time ratio");
    lac_ctx_free(ctx);
}

/* A difference is reported, and a NaN on one side is one. */
static void test_compare_reports_differences(void **state)
{
    (void)state;
    lac_ctx_t *ctx = reporting("compare", "reference");
    fill(11);
    w[N * 3 + 7] = INFINITY; /* meets zeros of s only: csr drops the product, the reference does not */
    unit_expect(multiply(ctx, "csr", NULL), LAC_OK, "gemm");
    unit_expect_text(unit_log(), "max difference inf at (");
    float before[M * N], beta = 2.0f;
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, M, K, s, K), b = lac_obj_rowmajor(LAC_F32, K, N, w, N),
              c = lac_obj_rowmajor(LAC_F32, M, N, out, N);
    fill(11);
    for (int i = 0; i < M * N; i++) out[i] = before[i] = (float)i;
    unit_expect(lac_gemm(ctx, NULL, &a, &b, &beta, &c), LAC_OK, "beta");
    unit_expect_text(unit_log(), "max difference 0 at"); /* the second run saw c as it was */
    lac_ctx_free(ctx);
}

/* One call of each of so many shapes. */
static void multiply_shapes(lac_ctx_t *ctx, int count)
{
    for (int i = 0; i < count; i++) {
        lac_dim_t m = 1 + i % 4, n = 1 + i / 4 % 64, k = 1 + i / 256;
        lac_obj_t a = lac_obj_rowmajor(LAC_F32, m, k, s, K), b = lac_obj_rowmajor(LAC_F32, k, n, w, N),
                  c = lac_obj_rowmajor(LAC_F32, m, n, out, N);
        if (lac_gemm(ctx, NULL, &a, &b, NULL, &c)) exit(6);
    }
}

static void child(const char *scenario)
{
    lac_ctx_t *ctx;
    fill(101);
    if (lac_ctx_create(&ctx)) exit(3);
    if (!strcmp(scenario, "shapes"))
        multiply_shapes(ctx, LAC_SITES_MAX + EVICTED);
    else if (strcmp(scenario, "idle"))
        for (int i = 0; i < 4; i++)
            if (multiply(ctx, "event", "child_sgemm") || multiply(ctx, "blas", "child_sgemm")) exit(4);
    if (!strcmp(scenario, "options")) { /* touching options reports nothing twice */
        if (lac_ctx_set(ctx, "verbose", "off") || lac_ctx_set(ctx, "nan", "strict")) exit(5);
        if (lac_ctx_set(ctx, "stats", "0") || lac_ctx_set(ctx, "stats", "1")) exit(5);
    }
    if (strcmp(scenario, "alive")) lac_ctx_free(ctx);
    exit(0);
}

static void test_silent_unless_asked(void **state)
{
    (void)state;
    static const char *const nothing[] = {NULL};
    assert_string_equal(unit_child("freed", nothing), "");
}

static void test_statistics(void **state)
{
    (void)state;
    static const char *const asked[] = {"LACUNA_STATS=1", NULL};
    assert_string_equal(unit_child("idle", asked), ""); /* only where it was called */
    static const char *const scenarios[] = {"freed", "alive", "options"};
    for (int i = 0; i < 3; i++) {
        const char *text = unit_child(scenarios[i], asked);
        unit_expect_text(text, "lacuna: 4 calls by sparse routes, 4 by the dense one, at 1 sites");
        unit_expect_text(text, "4x512x256");
        unit_expect_text(text, "child_sgemm");
        unit_expect_text(text, "n <= 16"); /* the class of its shape */
        unit_expect_text(text, "of best");
        assert_int_equal(unit_lines(text), 5);
    }
}

/* More shapes than the table holds: each that had to go is counted, and no call of it is lost to the sums. */
static void test_evictions_are_counted(void **state)
{
    (void)state;
    static const char *const asked[] = {"LACUNA_STATS=1", "LACUNA_BLAS=none", NULL};
    char words[100];
    const char *text = unit_child("shapes", asked);
    snprintf(words, sizeof words, "lacuna: %d sites were evicted for want of room; 0 calls", EVICTED);
    unit_expect_text(text, words);
    snprintf(words, sizeof words, ", at %d sites", LAC_SITES_MAX + EVICTED);
    unit_expect_text(text, words);
    text = unit_child("alive", asked);
    assert_null(strstr(text, "evicted"));
}

static void test_log_file(void **state)
{
    (void)state;
    char setting[600], path[600], line[512] = "";
    snprintf(setting, sizeof setting, "LACUNA_LOG=%s", unit_path("told-%p"));
    const char *const asked[] = {"LACUNA_STATS=1", setting, NULL};
    assert_string_equal(unit_child("freed", asked), "");
    snprintf(path, sizeof path, "cat %s", unit_path("told-*"));
    FILE *file = popen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    pclose(file);
    unit_expect_text(line, "4 calls by sparse routes");
    const char *const nowhere[] = {"LACUNA_STATS=1", "LACUNA_LOG=/nonexistent/log", NULL};
    const char *text = unit_child("freed", nowhere);
    unit_expect_text(text, "cannot open /nonexistent/log");
    unit_expect_text(text, "4 calls by sparse routes");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exec_line),
                                       cmocka_unit_test(test_exec_lines_of_other_entries),
                                       cmocka_unit_test(test_exec_line_of_rows),
                                       cmocka_unit_test(test_dispatch_and_meta_lines),
                                       cmocka_unit_test(test_compare),
                                       cmocka_unit_test(test_compare_reports_differences),
                                       cmocka_unit_test(test_silent_unless_asked),
                                       cmocka_unit_test(test_statistics),
                                       cmocka_unit_test(test_log_file),
                                       cmocka_unit_test(test_evictions_are_counted),
                                       cmocka_unit_test(test_dense_data_are_reported_as_dense)};
    unit_begin();
    if (unit_scenario(argc, argv)) child(unit_scenario(argc, argv));
    return cmocka_run_group_tests(tests, NULL, NULL);
}

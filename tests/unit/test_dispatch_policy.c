/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Options: every good and bad value, where they come from and which source wins. */
#include "unit_support.h"
#include "planner/policy.h"
#include "route/route.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *option, *value, *text; /* text: as printed again; NULL: not accepted */
} values[] = {
    {"backend", "auto", "auto"},
    {"backend", "cublas", "dense"},
    {"backend", "blas", "dense"},
    {"backend", "event!", "event!"},
    {"backend", "auto!", "auto!"},
    {"backend", "", NULL},
    {"backend", "!", NULL},
    {"backend", "event!!", NULL},
    {"backend", "Event", NULL},
    {"backend", "event ", NULL},
    {"backend", "a-name-that-is-longer-than-any-backend-there-is", NULL},
    {"detect", "off", "off"},
    {"detect", "registered", "registered"},
    {"detect", "probe", "probe"},
    {"detect", "on", NULL},
    {"sparse_margin", "0", "0"},
    {"sparse_margin", "12.5", "12.5"},
    {"sparse_margin", "1000", "1000"},
    {"sparse_margin", "1000.1", NULL},
    {"sparse_margin", "-1", NULL},
    {"sparse_margin", "nan", NULL},
    {"sparse_margin", "inf", NULL},
    {"sparse_margin", "5%", NULL},
    {"sparse_margin", "", NULL},
    {"sparse_margin", "12,5", NULL},
    {"frozen", "off", "off"},
    {"frozen", "4096x1024", "4096x1024"},
    {"frozen", "1x1,2x3,999999999999999999x7", "1x1,2x3,999999999999999999x7"},
    {"frozen", "", NULL},
    {"frozen", "4096", NULL},
    {"frozen", "x4096", NULL},
    {"frozen", "4096x", NULL},
    {"frozen", "0x5", NULL},
    {"frozen", "-4x5", NULL},
    {"frozen", "4x-5", NULL},
    {"frozen", "4 x5", NULL},
    {"frozen", "4x5,", NULL},
    {"frozen", "4x5;6x7", NULL},
    {"frozen", "1999999999999999999x7", NULL},
    {"frozen", "1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1,1x1", NULL},
    {"math", "pedantic", "pedantic"},
    {"math", "fp32", "fp32"},
    {"math", "tf32", "tf32"},
    {"math", "fp16", NULL},
    {"nan", "strict", "strict"},
    {"nan", "fast", "fast"},
    {"nan", "1", NULL},
    {"skip", "guaranteed", "guaranteed"},
    {"skip", "a", "a"},
    {"skip", "b", "b"},
    {"skip", "fast", "fast"},
    {"skip", "A", NULL},
    {"skip", "c", NULL},
    {"sums", "fixed", "fixed"},
    {"sums", "fast", "fast"},
    {"sums", "exact", NULL},
    {"compare", "off", "off"},
    {"compare", "blas", "dense:1"},
    {"compare", "reference", "reference:1"},
    {"compare", "cusparse:10", "cusparse:10"},
    {"compare", "cublas:1000000000", "dense:1000000000"},
    {"compare", "reference:0", NULL},
    {"compare", "reference:-1", NULL},
    {"compare", "reference:1.5", NULL},
    {"compare", "reference:", NULL},
    {"compare", "reference:2x", NULL},
    {"compare", "reference:1e10", NULL},
    {"compare", ":2", NULL},
    {"compare", "auto", NULL},
    {"compare", "a name that is longer than any backend's", NULL},
    {"compare", "nothing", NULL},
    {"verbose", "off", "off"},
    {"verbose", "0", "off"},
    {"verbose", "exec", "exec "},
    {"verbose", "meta,dispatch", "dispatch meta "},
    {"verbose", "dispatch,exec,meta", "dispatch exec meta "},
    {"verbose", "exec,exec", "exec "},
    {"verbose", "exec,", NULL},
    {"verbose", ",exec", NULL},
    {"verbose", "", NULL},
    {"verbose", "exec, meta", NULL},
    {"verbose", "all", NULL},
    {"verbose",
     "exec,exec,exec,exec,exec,exec,exec,exec,exec,exec,exec,exec,exec,exec,exec,exec,exec,exec,exec,exec,"
     "exec,exec,exec,exec,exec,exec",
     NULL},
    {"threads", "1", "1"},
    {"threads", "256", "256"},
    {"threads", "0", NULL},
    {"threads", "257", NULL},
    {"threads", "1.5", NULL},
    {"threads", "two", NULL},
    {"prepack", "on", "on"},
    {"prepack", "off", "off"},
    {"prepack", "1", NULL},
    {"learn", "on", "on"},
    {"learn", "off", "off"},
    {"learn", "yes", NULL},
    {"stats", "0", "0"},
    {"stats", "1", "1"},
    {"stats", "2", NULL},
};

static int index_of(const char *option)
{
    for (int i = 0; i < lac_policy_count(); i++)
        if (!strcmp(lac_policy_name(i), option)) return i;
    fail_msg("there is no option '%s'", option);
    return -1;
}

static const char *text_of(const lac_policy_t *policy, const char *option)
{
    static char text[256];
    lac_policy_text(policy, index_of(option), text, sizeof text);
    return text;
}

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        lac_policy_t policy, before;
        bool known;
        lac_policy_load(&policy);
        before = policy;
        const char *accepted = lac_policy_set(&policy, values[i].option, values[i].value, "function", &known);
        assert_true(known);
        if (!accepted != !!values[i].text)
            fail_msg("%s=%s was%s accepted", values[i].option, values[i].value, accepted ? " not" : "");
        if (accepted) {
            assert_true(accepted[0]);
            assert_memory_equal(&policy, &before, sizeof policy);
            continue;
        }
        assert_string_equal(text_of(&policy, values[i].option), values[i].text);
        assert_string_equal(policy.origin[index_of(values[i].option)], "function");
    }
}

/* Each route's name forces it, whatever backend has it, but for the one that no call asks for. */
static void test_every_route(void **state)
{
    (void)state;
    int count = 0;
    for (const lac_route_entry_t *entry; (entry = lac_route_entry(count)); count++) {
        lac_policy_t policy;
        bool known, forced = entry->role != LAC_ROLE_TRIVIAL;
        lac_policy_load(&policy);
        const char *accepted = lac_policy_set(&policy, "backend", entry->name, "function", &known);
        assert_true(forced == !accepted);
        if (forced) unit_expect_text(text_of(&policy, "backend"), entry->name);
        accepted = lac_policy_set(&policy, "backend", "none", "function", &known);
        assert_non_null(accepted);
        assert_true(forced == (strstr(accepted, entry->name) != NULL));
    }
    assert_true(count > 4);
}

static void test_every_option_is_tried(void **state)
{
    (void)state;
    for (int o = 0; o < lac_policy_count(); o++) {
        int good = 0, bad = 0;
        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
            if (!strcmp(values[i].option, lac_policy_name(o)))
                good += !!values[i].text, bad += !values[i].text;
        if (!good || !bad) fail_msg("option '%s' has no good or no bad value here", lac_policy_name(o));
        unit_expect_text(lac_policy_names(), lac_policy_name(o));
    }
}

static void test_functions(void **state)
{
    (void)state;
    lac_ctx_t *ctx = unit_ctx();
    unit_expect(lac_ctx_set(NULL, "nan", "fast"), LAC_ERR_NULL, "ctx");
    unit_expect(lac_ctx_set(ctx, NULL, "fast"), LAC_ERR_NULL, "option");
    unit_expect(lac_ctx_set(ctx, "nan", NULL), LAC_ERR_NULL, "value");
    unit_expect(lac_ctx_set(ctx, "nun", "fast"), LAC_ERR_VALUE, "unknown option");
    unit_expect_text(lac_last_error(), "option: 'nun'");
    unit_expect_text(lac_last_error(), "backend ");
    unit_expect(lac_ctx_set(ctx, "", "fast"), LAC_ERR_VALUE, "empty option");
    unit_expect(lac_ctx_set(ctx, "nan", "slow"), LAC_ERR_VALUE, "unknown value");
    unit_expect_text(lac_last_error(), "value: 'slow'");
    unit_expect_text(lac_last_error(), "strict or fast");
    lac_ctx_free(ctx);
}

typedef struct fact {
    const char *key;
    char value[256];
} fact_t;

static void keep_fact(void *arg, const char *key, const char *value)
{
    fact_t *wanted = arg;
    if (!strcmp(key, wanted->key)) snprintf(wanted->value, sizeof wanted->value, "%s", value);
}

static const char *fact_of(lac_ctx_t *ctx, const char *key)
{
    static fact_t fact;
    fact = (fact_t){.key = key};
    unit_expect(lac_ctx_info(ctx, keep_fact, &fact), LAC_OK, "info");
    return fact.value;
}

/* Function over environment over config file over default; a pinned backend over all. */
static void test_precedence(void **state)
{
    (void)state;
    unit_write(unit_path("settings"), "# a comment\n\n  backend = csr # another\nthreads=3\nnan = strict\n");
    setenv("LACUNA_CONFIG", unit_path("settings"), 1);
    setenv("LACUNA_THREADS", "2", 1);
    setenv("LACUNA_NAN", "", 1); /* empty counts as unset */
    lac_ctx_t *ctx = unit_ctx();
    assert_string_equal(fact_of(ctx, "option backend"), "csr (config)");
    assert_string_equal(fact_of(ctx, "option threads"), "2 (environment)");
    assert_string_equal(fact_of(ctx, "option nan"), "strict (config)");
    assert_string_equal(fact_of(ctx, "option prepack"), "on (default)");
    unit_expect(lac_ctx_set(ctx, "threads", "1"), LAC_OK, "threads");
    assert_string_equal(fact_of(ctx, "option threads"), "1 (function)");
    lac_ctx_free(ctx);

    setenv("LACUNA_BACKEND", "native!", 1);
    ctx = unit_ctx();
    unit_expect(lac_ctx_set(ctx, "backend", "csr"), LAC_OK, "a pinned backend");
    assert_string_equal(fact_of(ctx, "option backend"), "native! (environment)");
    lac_ctx_free(ctx);

    setenv("LACUNA_BACKEND", "native", 1);
    ctx = unit_ctx();
    unit_expect(lac_ctx_set(ctx, "backend", "csr"), LAC_OK, "a backend");
    assert_string_equal(fact_of(ctx, "option backend"), "csr (function)");
    lac_ctx_free(ctx);
    unsetenv("LACUNA_BACKEND");
    unsetenv("LACUNA_CONFIG");
    unsetenv("LACUNA_THREADS");
    unsetenv("LACUNA_NAN");
    assert_string_equal(unit_log(), "");
}

/* The backend of a call: below a pin, above the context. */
static void test_backend_of_a_call(void **state)
{
    (void)state;
    float x[4] = {1, 2, 3, 4}, out[4];
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, 2, 2, x, 2), c = lac_obj_rowmajor(LAC_F32, 2, 2, out, 2);
    const struct {
        const char *env, *option, *call, *want;
    } cases[] = {{"native!", "csr", "event", "native"},
                 {"native", "csr", "event", "event"},
                 {"native", "csr", NULL, "csr"},
                 {"native", NULL, NULL, "native"},
                 {"event", "auto", "reference", "reference"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lac_decision_t decision;
        lac_call_opts_t call = {.size = sizeof call, .route = cases[i].call, .decision = &decision};
        setenv("LACUNA_BACKEND", cases[i].env, 1);
        lac_ctx_t *ctx = unit_ctx();
        if (cases[i].option) unit_expect(lac_ctx_set(ctx, "backend", cases[i].option), LAC_OK, "set");
        unit_expect(lac_gemm_ex(ctx, NULL, &a, &a, NULL, &c, &call), LAC_OK, "gemm");
        assert_string_equal(decision.route, cases[i].want);
        assert_string_equal(decision.reason, "forced");
        unit_expect(lac_explain(ctx, NULL, &a, &a, NULL, &c, &call, &decision), LAC_OK, "explain");
        assert_string_equal(decision.route, cases[i].want);
        lac_ctx_free(ctx);
    }
    unsetenv("LACUNA_BACKEND");
}

/* One warning that names the accepted values, however many contexts come upon it; then the default. */
static void test_bad_values_warn_once(void **state)
{
    (void)state;
    setenv("LACUNA_NAN", "loose", 1);
    for (int i = 0; i < 5; i++) {
        lac_ctx_t *ctx = unit_ctx();
        assert_string_equal(fact_of(ctx, "option nan"), "fast (default)");
        lac_ctx_free(ctx);
    }
    unsetenv("LACUNA_NAN");
    const char *log = unit_log();
    assert_string_equal(log, "lacuna: LACUNA_NAN: 'loose' is not accepted; expected strict or fast\n");
}

/* A line is read as one however long it is, and what is behind a long one too. */
static void test_long_lines_of_config(void **state)
{
    (void)state;
    char text[8192], comment[1400];
    memset(comment, ' ', sizeof comment);
    memcpy(comment + 1100, "threads = 3", 11);
    comment[sizeof comment - 1] = '\0';
    snprintf(text, sizeof text, "#%s\nnan = strict #%s\nprepack = %s off\nlearn = off\n", comment, comment,
             comment);
    unit_write(unit_path("long"), text);
    setenv("LACUNA_CONFIG", unit_path("long"), 1);
    lac_ctx_t *ctx = unit_ctx();
    const char *log = unit_log();
    unit_expect_text(log, "long:3: is too long");
    assert_int_equal(unit_lines(log), 1);
    assert_string_equal(fact_of(ctx, "option nan"), "strict (config)");
    assert_string_equal(fact_of(ctx, "option learn"), "off (config)");
    lac_ctx_free(ctx);
    for (size_t used = 0, i = 0; i < 1000; i++) used += (size_t)snprintf(text + used, 3, "\n");
    unit_write(unit_path("thousand"), text);
    setenv("LACUNA_CONFIG", unit_path("thousand"), 1);
    lac_ctx_free(unit_ctx());
    assert_string_equal(unit_log(), ""); /* nothing is left out */
    unsetenv("LACUNA_CONFIG");
}

static void test_config_file(void **state)
{
    (void)state;
    static const struct {
        const char *line, *word;
    } bad[] = {{"threads", "option = value"},
               {"= 2", "option = value"},
               {"threads =", "option = value"},
               {"colour = blue", "no such option"},
               {"nan = loose", "strict or fast"},
               {"THREADS = 2", "option = value"},
               {"verbose = exec, meta", "option = value"},
               {"threads = 2 4", "option = value"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[128], slot[32], name[32];
        snprintf(text, sizeof text, "#%d\n%s\nprepack = off\n", (int)i, bad[i].line);
        snprintf(slot, sizeof slot, "settings%d:2:", (int)i);
        snprintf(name, sizeof name, "settings%d", (int)i);
        unit_write(unit_path(name), text);
        setenv("LACUNA_CONFIG", unit_path(name), 1);
        lac_ctx_t *ctx = unit_ctx();
        const char *log = unit_log();
        unit_expect_text(log, slot);
        unit_expect_text(log, bad[i].word);
        assert_int_equal(unit_lines(log), 1);
        assert_string_equal(fact_of(ctx, "option prepack"), "off (config)"); /* the rest is read */
        lac_ctx_free(ctx);
    }
    setenv("LACUNA_CONFIG", unit_path("nowhere"), 1);
    lac_ctx_free(unit_ctx());
    unit_expect_text(unit_log(), "LACUNA_CONFIG: cannot read");
    unsetenv("LACUNA_CONFIG");
    lac_ctx_free(unit_ctx()); /* no default file: nothing to say */
    assert_string_equal(unit_log(), "");
}

static void test_default_threads(void **state)
{
    (void)state;
    lac_policy_t policy;
    setenv("OMP_NUM_THREADS", "1", 1);
    lac_policy_load(&policy);
    assert_int_equal(policy.threads, 1);
    setenv("OMP_NUM_THREADS", "100000", 1);
    lac_policy_load(&policy);
    assert_in_range(policy.threads, 1, 256);
    setenv("OMP_NUM_THREADS", "many", 1);
    lac_policy_load(&policy);
    assert_in_range(policy.threads, 1, 256);
    unsetenv("OMP_NUM_THREADS");
}

/* Numbers are read and written the same where the program's decimal point is a comma. */
static void test_decimal_comma(void **state)
{
    (void)state;
    char command[512];
    lac_policy_t policy;
    bool known;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s >/dev/null 2>&1",
             unit_path("de_DE.UTF-8"));
    int made = system(command);
    setenv("LOCPATH", unit_path("."), 1);
    if (made || !setlocale(LC_ALL, "de_DE.UTF-8") || strcmp(localeconv()->decimal_point, ",")) {
        unsetenv("LOCPATH");
        skip();
    }
    lac_policy_load(&policy);
    const char *accepted = lac_policy_set(&policy, "sparse_margin", "12.5", "function", &known);
    char *text = strdup(text_of(&policy, "sparse_margin"));
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    assert_null(accepted);
    assert_string_equal(text, "12.5");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_every_route),
                                       cmocka_unit_test(test_every_option_is_tried),
                                       cmocka_unit_test(test_functions),
                                       cmocka_unit_test(test_precedence),
                                       cmocka_unit_test(test_backend_of_a_call),
                                       cmocka_unit_test(test_bad_values_warn_once),
                                       cmocka_unit_test(test_config_file),
                                       cmocka_unit_test(test_long_lines_of_config),
                                       cmocka_unit_test(test_default_threads),
                                       cmocka_unit_test(test_decimal_comma)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Every bad operand: its status, a message that names the argument, and nothing written. */
#include "unit_support.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { M = 3, N = 4, K = 5, SLOTS = 64 };

/* One good call of which each test spoils something. */
typedef struct invalid_args {
    lac_ctx_t *ctx;
    float a[SLOTS], b[SLOTS], c[SLOTS], before[SLOTS];
    lac_obj_t op[3]; /* a, b, c */
    const lac_obj_t *pass[3];
} invalid_args_t;

static const char *const names[] = {"a", "b", "c"};

static void make(invalid_args_t *t)
{
    for (int i = 0; i < SLOTS; i++) t->a[i] = t->b[i] = 1.0f, t->c[i] = t->before[i] = (float)i + 0.5f;
    t->op[0] = lac_obj_rowmajor(LAC_F32, M, K, t->a, K);
    t->op[1] = lac_obj_rowmajor(LAC_F32, K, N, t->b, N);
    t->op[2] = lac_obj_rowmajor(LAC_F32, M, N, t->c, N);
    for (int i = 0; i < 3; i++) t->pass[i] = &t->op[i];
}

static void expect_bad(invalid_args_t *t, lac_status_t want, const char *word, const char *what)
{
    lac_decision_t decision;
    lac_plan_t *plan = (lac_plan_t *)t;
    const lac_obj_t *a = t->pass[0], *b = t->pass[1], *c = t->pass[2];
    unit_expect(lac_gemm(t->ctx, NULL, a, b, NULL, c), want, what);
    unit_expect_text(lac_last_error(), word);
    unit_expect(lac_gemm_ex(t->ctx, NULL, a, b, NULL, c, NULL), want, what);
    unit_expect_text(lac_last_error(), word);
    unit_expect(lac_explain(t->ctx, NULL, a, b, NULL, c, NULL, &decision), want, what);
    unit_expect_text(lac_last_error(), word);
    unit_expect(lac_plan_create(t->ctx, &plan, a, b, c, NULL), want, what);
    unit_expect_text(lac_last_error(), word);
    assert_null(plan);
    if (memcmp(t->c, t->before, sizeof t->c)) fail_msg("%s: c was written", what);
}

static void corrupt_null(lac_obj_t *x)
{
    x->buf = NULL;
}
static void corrupt_type(lac_obj_t *x)
{
    x->dt = (lac_dt_t)7;
}
static void corrupt_trans(lac_obj_t *x)
{
    x->trans = (lac_trans_t)2;
}
static void corrupt_device(lac_obj_t *x)
{
    x->space = LAC_DEVICE;
}
static void corrupt_space(lac_obj_t *x)
{
    x->space = (lac_space_t)9;
}
static void corrupt_rows(lac_obj_t *x)
{
    x->m = -1;
}
static void corrupt_columns(lac_obj_t *x)
{
    x->n = INT64_MIN;
}
static void corrupt_overflow(lac_obj_t *x)
{
    x->m = INT64_MAX, x->rs = 4;
}
static void corrupt_bytes(lac_obj_t *x)
{
    x->m = INT64_C(1) << 59, x->rs = 4;
}
static void corrupt_stride_least(lac_obj_t *x)
{
    x->cs = INT64_MIN;
}
static void corrupt_ld(lac_obj_t *x)
{
    x->rs = x->n - 1;
}
static void corrupt_ld_negative(lac_obj_t *x)
{
    x->rs = 1 - x->n;
}
static void corrupt_rs_zero(lac_obj_t *x)
{
    x->rs = 0;
}
static void corrupt_cs_zero(lac_obj_t *x)
{
    x->cs = 0;
}

static void test_operand_alone(void **state)
{
    static const struct {
        const char *what;
        void (*corrupt)(lac_obj_t *);
        lac_status_t input, output; /* of a and b, of c */
    } cases[] = {
        {"buf NULL", corrupt_null, LAC_ERR_EMPTY, LAC_ERR_NULL},
        {"dt 7", corrupt_type, LAC_ERR_TYPE, LAC_ERR_TYPE},
        {"trans 2", corrupt_trans, LAC_ERR_VALUE, LAC_ERR_VALUE},
        {"space device", corrupt_device, LAC_ERR_SPACE, LAC_ERR_SPACE},
        {"space 9", corrupt_space, LAC_ERR_SPACE, LAC_ERR_SPACE},
        {"m -1", corrupt_rows, LAC_ERR_EXTENT, LAC_ERR_EXTENT},
        {"n least", corrupt_columns, LAC_ERR_EXTENT, LAC_ERR_EXTENT},
        {"m overflows elements", corrupt_overflow, LAC_ERR_EXTENT, LAC_ERR_EXTENT},
        {"m overflows bytes", corrupt_bytes, LAC_ERR_EXTENT, LAC_ERR_EXTENT},
        {"cs least", corrupt_stride_least, LAC_ERR_EXTENT, LAC_ERR_EXTENT},
        {"rs too small", corrupt_ld, LAC_ERR_STRIDE, LAC_ERR_STRIDE},
        {"rs too small, negative", corrupt_ld_negative, LAC_ERR_STRIDE, LAC_ERR_STRIDE},
        {"rs 0", corrupt_rs_zero, LAC_ERR_STRIDE, LAC_ERR_STRIDE},
        {"cs 0", corrupt_cs_zero, LAC_ERR_STRIDE, LAC_ERR_STRIDE},
    };
    invalid_args_t t = {.ctx = *state};
    char what[128], word[8];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int x = 0; x < 3; x++) {
            make(&t); /* a good call before, whose views are remembered */
            unit_expect(lac_gemm(t.ctx, NULL, &t.op[0], &t.op[1], NULL, &t.op[2]), LAC_OK, "good");
            make(&t);
            cases[i].corrupt(&t.op[x]);
            snprintf(what, sizeof what, "%s of %s", cases[i].what, names[x]);
            snprintf(word, sizeof word, "%s", names[x]);
            expect_bad(&t, x == 2 ? cases[i].output : cases[i].input, word, what);
        }
}

static void test_null_pointers(void **state)
{
    invalid_args_t t = {.ctx = *state};
    lac_decision_t decision;
    for (int x = 0; x < 3; x++) {
        char word[8];
        make(&t);
        t.pass[x] = NULL;
        snprintf(word, sizeof word, "%s:", names[x]);
        expect_bad(&t, LAC_ERR_NULL, word, names[x]);
    }
    make(&t);
    t.ctx = NULL;
    expect_bad(&t, LAC_ERR_NULL, "ctx:", "ctx");
    t.ctx = *state;
    lac_status_t status = lac_explain(t.ctx, NULL, &t.op[0], &t.op[1], NULL, &t.op[2], NULL, NULL);
    unit_expect(status, LAC_ERR_NULL, "decision");
    unit_expect_text(lac_last_error(), "decision:");
    unit_expect(lac_plan_create(t.ctx, NULL, &t.op[0], &t.op[1], &t.op[2], NULL), LAC_ERR_NULL, "plan");
    unit_expect(lac_plan_run(NULL, NULL, &t.op[0], &t.op[1], NULL, &t.op[2]), LAC_ERR_NULL, "plan");
    unit_expect(lac_plan_explain(NULL, &decision), LAC_ERR_NULL, "plan");
    unit_expect(lac_ctx_create(NULL), LAC_ERR_NULL, "ctx");
    unit_expect(lac_ctx_info(t.ctx, NULL, NULL), LAC_ERR_NULL, "fact");
    unit_expect(lac_tune(NULL, NULL, NULL, NULL), LAC_ERR_NULL, "ctx");
    lac_plan_free(NULL);
    lac_ctx_free(NULL);
    assert_int_equal(lac_ctx_bytes(NULL), 0);
}

static void test_c_is_f32(void **state)
{
    invalid_args_t t = {.ctx = *state};
    make(&t);
    t.op[2].dt = LAC_U8;
    expect_bad(&t, LAC_ERR_TYPE, "c.dt", "c u8");
    for (int x = 0; x < 3; x++) { /* which a device alone computes */
        static const char *const starts[] = {"a.dt: LAC_BF16", "b.dt: LAC_BF16", "c.dt: LAC_BF16"};
        make(&t);
        t.op[x].dt = LAC_BF16;
        expect_bad(&t, LAC_ERR_TYPE, starts[x], "bf16");
    }
}

/* A view may be good for itself, and the call good but for where its output lies. */
static void test_overlap_after_a_good_call(void **state)
{
    invalid_args_t t = {.ctx = *state};
    make(&t);
    unit_expect(lac_gemm(t.ctx, NULL, &t.op[0], &t.op[1], NULL, &t.op[2]), LAC_OK, "good");
    make(&t);
    t.op[0].buf = t.c;
    expect_bad(&t, LAC_ERR_ALIAS, "c", "a in c");
    make(&t);
    t.op[1].buf = t.c + 1;
    expect_bad(&t, LAC_ERR_ALIAS, "c", "b in c");
}

static void test_extents_that_do_not_fit(void **state)
{
    invalid_args_t t = {.ctx = *state};
    make(&t);
    t.op[0].m--;
    expect_bad(&t, LAC_ERR_EXTENT, "a:", "m of a");
    make(&t);
    t.op[0].n--;
    expect_bad(&t, LAC_ERR_EXTENT, "op(a)", "k of a");
    make(&t);
    t.op[1].m--;
    expect_bad(&t, LAC_ERR_EXTENT, "b:", "k of b");
    make(&t);
    t.op[1].n--;
    expect_bad(&t, LAC_ERR_EXTENT, "b:", "n of b");
    make(&t);
    t.op[1].trans = LAC_TRANS;
    expect_bad(&t, LAC_ERR_EXTENT, "b:", "b turned");
    make(&t);
    t.op[2].trans = LAC_TRANS;
    expect_bad(&t, LAC_ERR_EXTENT, "a:", "c turned");
}

static void test_metadata_of_another_matrix(void **state)
{
    for (int x = 0; x < 2; x++) {
        invalid_args_t t = {.ctx = *state};
        lac_meta_t *meta;
        char word[16];
        make(&t);
        unit_expect(lac_meta_create(&meta, t.op[x].m, t.op[x].n + 1), LAC_OK, "create");
        t.op[x].meta = meta;
        snprintf(word, sizeof word, "%s.meta", names[x]);
        expect_bad(&t, LAC_ERR_EXTENT, word, "meta with other extents");
        lac_meta_free(meta);
    }
}

static void test_sparse_only(void **state)
{
    static const int32_t ptr[M + 1] = {0, 1, 1, 2}, idx[] = {4, 0};
    invalid_args_t t = {.ctx = *state};
    lac_meta_t *meta;
    make(&t);
    unit_expect(lac_meta_create(&meta, M, K), LAC_OK, "create");
    t.op[0].buf = NULL;
    t.op[0].meta = meta;
    expect_bad(&t, LAC_ERR_EMPTY, "a.meta", "nothing attached");
    unit_expect(lac_meta_attach_csr(meta, LAC_I32, ptr, idx, NULL), LAC_OK, "attach");
    t.op[0].rs = t.op[0].cs = 0; /* there is no buffer for strides to speak of */
    unit_expect(lac_gemm(t.ctx, NULL, &t.op[0], &t.op[1], NULL, &t.op[2]), LAC_OK, "sparse only");
    memcpy(t.c, t.before, sizeof t.c);
    unit_expect(lac_meta_touch(meta), LAC_OK, "touch");
    expect_bad(&t, LAC_ERR_STALE, "a.meta", "touched");
    lac_meta_free(meta);
}

/* A scanned format may be out of date: it does not stand for an operand that is not frozen. */
static void test_scanned_is_no_answer(void **state)
{
    invalid_args_t t = {.ctx = *state};
    lac_meta_t *meta;
    make(&t);
    unit_expect(lac_meta_create(&meta, M, K), LAC_OK, "create");
    t.op[0].meta = meta;
    unit_expect(lac_meta_scan(t.ctx, &t.op[0], LAC_META_CSR), LAC_OK, "scan");
    t.op[0].buf = NULL;
    expect_bad(&t, LAC_ERR_EMPTY, "a.", "scanned, not frozen");
    unit_expect(lac_meta_freeze(meta), LAC_OK, "freeze");
    unit_expect(lac_gemm(t.ctx, NULL, &t.op[0], &t.op[1], NULL, &t.op[2]), LAC_OK, "frozen");
    lac_meta_free(meta);
}

/* Extents of which the product of rows and stride overflows are no fault where there is no buffer. */
static void test_sparse_only_is_not_measured_by_strides(void **state)
{
    static const int64_t ptr[2] = {0, 1}, idx[1] = {INT32_MAX - 1};
    float c[1] = {0};
    lac_meta_t *row, *column;
    unit_expect(lac_meta_create(&row, 1, INT32_MAX), LAC_OK, "create");
    unit_expect(lac_meta_create(&column, INT32_MAX, 1), LAC_OK, "create");
    unit_expect(lac_meta_attach_csr(row, LAC_I64, ptr, idx, NULL), LAC_OK, "csr");
    unit_expect(lac_meta_attach_csc(column, LAC_I64, ptr, idx, NULL), LAC_OK, "csc");
    lac_obj_t a = {LAC_F32, LAC_HOST, LAC_NO_TRANS, 1, INT32_MAX, 1, INT64_C(1) << 40, NULL, row};
    lac_obj_t x = {LAC_F32, LAC_HOST, LAC_NO_TRANS, INT32_MAX, 1, INT64_C(1) << 40, 1, NULL, column};
    lac_obj_t y = lac_obj_rowmajor(LAC_F32, 1, 1, c, 1);
    lac_decision_t decision;
    unit_expect(lac_explain(*state, NULL, &a, &x, NULL, &y, NULL, &decision), LAC_OK, "explain");
    lac_meta_free(row);
    lac_meta_free(column);
}

static void test_empty_operands_need_no_buffer(void **state)
{
    float c[2] = {1.0f, 2.0f}, beta = 2.0f;
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, 1, 0, NULL, 1), b = lac_obj_rowmajor(LAC_F32, 0, 2, NULL, 2);
    lac_obj_t out = lac_obj_rowmajor(LAC_F32, 1, 2, c, 2), none = lac_obj_rowmajor(LAC_F32, 0, 2, NULL, 2);
    lac_obj_t rows = lac_obj_rowmajor(LAC_F32, 0, 0, NULL, 1);
    unit_expect(lac_gemm(*state, NULL, &a, &b, &beta, &out), LAC_OK, "k = 0");
    assert_true(c[0] == 2.0f && c[1] == 4.0f);
    unit_expect(lac_gemm(*state, NULL, &rows, &b, &beta, &none), LAC_OK, "m = 0");
    unit_expect(lac_gemm(*state, NULL, &a, &b, NULL, &out), LAC_OK, "k = 0, beta = 0");
    assert_true(c[0] == 0.0f && c[1] == 0.0f);
}

static void test_call_settings(void **state)
{
    invalid_args_t t = {.ctx = *state};
    static const struct {
        size_t size;
        const char *route;
        lac_status_t want;
        const char *word;
    } cases[] = {{0, NULL, LAC_ERR_VALUE, "call.size"},
                 {8, NULL, LAC_ERR_VALUE, "call.size"},
                 {15, "event", LAC_ERR_VALUE, "call.size"},
                 {sizeof(lac_call_opts_t), "evnt", LAC_ERR_VALUE, "call.route"},
                 {sizeof(lac_call_opts_t), "", LAC_ERR_VALUE, "call.route"},
                 {sizeof(lac_call_opts_t), "event!", LAC_ERR_VALUE, "call.route"},
                 {sizeof(lac_call_opts_t), "auto", LAC_OK, ""},
                 {16, "native", LAC_OK, ""},
                 {20, "native", LAC_OK, ""}, /* half of the next member: it is not there */
                 {sizeof(lac_call_opts_t) + 64, "csr", LAC_OK, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        union {
            lac_call_opts_t call;
            unsigned char room[sizeof(lac_call_opts_t) + 64];
        } u;
        memset(&u, 0x5a, sizeof u); /* what a size leaves out is not read */
        if (cases[i].size >= sizeof(lac_call_opts_t)) memset(&u, 0, sizeof u);
        u.call.size = cases[i].size;
        u.call.route = cases[i].route;
        make(&t);
        lac_status_t status = lac_gemm_ex(t.ctx, NULL, &t.op[0], &t.op[1], NULL, &t.op[2], &u.call);
        unit_expect(status, cases[i].want, cases[i].route ? cases[i].route : "size");
        unit_expect_text(lac_last_error(), cases[i].word);
        assert_int_equal(!memcmp(t.c, t.before, sizeof t.c), cases[i].want != LAC_OK);
    }
}

static void test_message_is_forgotten(void **state)
{
    invalid_args_t t = {.ctx = *state};
    make(&t);
    unit_expect(lac_gemm(t.ctx, NULL, NULL, &t.op[1], NULL, &t.op[2]), LAC_ERR_NULL, "a");
    assert_true(lac_last_error()[0]);
    unit_expect(lac_gemm(t.ctx, NULL, &t.op[0], &t.op[1], NULL, &t.op[2]), LAC_OK, "good");
    assert_string_equal(lac_last_error(), "");
}

static void test_status_texts(void **state)
{
    (void)state;
    for (int i = -1; i < 100; i++) {
        const char *text = lac_status_text((lac_status_t)i);
        assert_non_null(text);
        assert_true(text[0]);
    }
    assert_string_equal(lac_status_text(LAC_OK), "success");
    assert_string_equal(lac_status_text((lac_status_t)77), "unknown status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_operand_alone),
                                       cmocka_unit_test(test_null_pointers),
                                       cmocka_unit_test(test_c_is_f32),
                                       cmocka_unit_test(test_overlap_after_a_good_call),
                                       cmocka_unit_test(test_extents_that_do_not_fit),
                                       cmocka_unit_test(test_metadata_of_another_matrix),
                                       cmocka_unit_test(test_sparse_only),
                                       cmocka_unit_test(test_scanned_is_no_answer),
                                       cmocka_unit_test(test_sparse_only_is_not_measured_by_strides),
                                       cmocka_unit_test(test_empty_operands_need_no_buffer),
                                       cmocka_unit_test(test_call_settings),
                                       cmocka_unit_test(test_message_is_forgotten),
                                       cmocka_unit_test(test_status_texts)};
    unit_begin();
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}

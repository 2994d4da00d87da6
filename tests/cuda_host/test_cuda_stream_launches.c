/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What stream and adaptive launch on a device, which operand they take for S, what they refuse, and what the
 * ways to write an output are predicted to take. */
#include "launch_checks.h"
#include "cuda_support.h"

#include <string.h>

/* What the workspace is for, as far as W and the extents say. */
static lac_cuda_product_t product_of(lac_dim_t m, lac_dim_t n, lac_dim_t k, const lac_obj_t *w,
                                     lac_cuda_order_t order)
{
    return (lac_cuda_product_t){
        .m = m, .n = n, .k = k, .w = w->buf, .ldw = order == LAC_CUDA_ROWS ? w->rs : w->cs, .order = order};
}

/* The shorter side is S, whichever it is; W lies by rows, which begin anywhere unless S has more than 1024,
 * or by columns, which do where the product is small. */
static void test_stream(void **state)
{
    (void)state;
    lac_dim_t m = 20, k = 500, n = 3000, large = 40000;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n), c = cuda_host_rows(ctx, m, n),
              bt = cuda_host_columns(ctx, k, n), w = cuda_host_rows(ctx, n, k),
              s = cuda_host_columns(ctx, k, m), d = cuda_host_rows(ctx, n, m);
    lac_cuda_product_t p = product_of(m, n, k, &b, LAC_CUDA_ROWS);
    expect_bytes("stream", "", &a, &b, &c, cuda_host_piece(lac_cuda_stream_bytes(&p)));
    const standin_launch_t *l = cuda_host_launch(ctx, "stream", &a, &b, &c, "lac_cuda_stream");
    EXPECT(l, "p.m p.n p.k p.order p.ldw p.rs p.cs s.rs s.cs", m, n, k, LAC_CUDA_ROWS, n, n, 1, k, 1);
    expect_pointer(l, "p.w", b.buf), expect_pointer(l, "s.data", a.buf), expect_pointer(l, "p.out", c.buf);
    l = cuda_host_launch(ctx, "stream", &a, &bt, &c, "lac_cuda_stream");
    EXPECT(l, "p.order p.ldw", LAC_CUDA_COLS, k);
    l = cuda_host_launch(ctx, "stream", &w, &s, &d, "lac_cuda_stream");
    EXPECT(l, "p.m p.n p.k p.order p.ldw p.rs p.cs s.rs s.cs", m, n, k, LAC_CUDA_COLS, k, 1, m, k, 1);
    expect_pointer(l, "p.w", w.buf), expect_pointer(l, "s.data", s.buf), expect_pointer(l, "p.out", d.buf);
    for (int i = 0; i < 6; i++) {
        lac_dim_t columns = i < 2 ? n : large, rows = i < 2 ? k : 501;
        lac_obj_t off = i < 4 ? cuda_host_matrix(ctx, LAC_F32, k, columns, columns + i % 2, 1, !(i % 2))
                              : cuda_host_matrix(ctx, LAC_F32, k, columns, 1, rows, i % 2),
                  out = cuda_host_rows(ctx, m, columns);
        lac_decision_t decision;
        lac_call_opts_t call = {.size = sizeof call, .route = "stream"};
        float one = 1.0f;
        unit_expect(lac_explain(ctx, &one, &a, &off, &one, &out, &call, &decision), LAC_OK, "explain");
        assert_int_equal(strcmp(decision.route, "stream") == 0, i < 4);
    }
}

/* The adaptive route by name: W by rows and by columns; refused where the zeros of S are known, S is not the
 * short side, sums are fixed or NaN is strict. */
static void test_adaptive(void **state)
{
    (void)state;
    lac_dim_t m = 10, k = 500, n = 3000;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n), c = cuda_host_rows(ctx, m, n),
              bt = cuda_host_columns(ctx, k, n), w = cuda_host_rows(ctx, n, k),
              s = cuda_host_columns(ctx, k, m), d = cuda_host_rows(ctx, n, m),
              known = cuda_host_rows(ctx, m, k), long_a = cuda_host_rows(ctx, 1100, k),
              long_c = cuda_host_rows(ctx, 1100, n), more = cuda_host_rows(ctx, 12, k),
              more_c = cuda_host_rows(ctx, 12, n);
    lac_cuda_product_t p = product_of(m, n, k, &b, LAC_CUDA_ROWS),
                       twelve = product_of(12, n, k, &bt, LAC_CUDA_COLS);
    expect_bytes("adaptive", "", &a, &b, &c, cuda_host_piece(lac_cuda_adaptive_bytes(&p)));
    const standin_launch_t *l = cuda_host_launch(ctx, "adaptive", &a, &b, &c, "lac_cuda_adaptive");
    EXPECT(l, "p.m p.n p.k p.order p.ldw p.rs p.cs s.rs s.cs", m, n, k, LAC_CUDA_ROWS, n, n, 1, k, 1);
    expect_pointer(l, "p.w", b.buf), expect_pointer(l, "s.data", a.buf), expect_pointer(l, "p.out", c.buf);
    l = cuda_host_launch(ctx, "adaptive", &a, &bt, &c, "lac_cuda_adaptive");
    EXPECT(l, "p.order p.ldw", LAC_CUDA_COLS, k);
    l = cuda_host_launch(ctx, "adaptive", &w, &s, &d, "lac_cuda_adaptive");
    EXPECT(l, "p.m p.n p.k p.order p.ldw p.rs p.cs s.rs s.cs", m, n, k, LAC_CUDA_COLS, k, 1, m, k, 1);
    expect_pointer(l, "p.w", w.buf), expect_pointer(l, "s.data", s.buf), expect_pointer(l, "p.out", d.buf);
    assert_true(cuda_host_bytes(ctx, "adaptive", "", &more, &b, &more_c) > 0);
    assert_int_equal(cuda_host_bytes(ctx, "adaptive", "", &more, &bt, &more_c),
                     cuda_host_piece(lac_cuda_adaptive_bytes(&twelve)));
    cuda_host_count(ctx, &known, 100);
    assert_int_equal(cuda_host_bytes(ctx, "adaptive", "", &known, &b, &c), -1);
    assert_int_equal(cuda_host_bytes(ctx, "adaptive", "", &long_a, &b, &long_c), -1);
    unit_expect(lac_ctx_set(ctx, "sums", "fixed"), LAC_OK, "sums");
    assert_int_equal(cuda_host_bytes(ctx, "adaptive", "", &a, &b, &c), -1);
    unit_expect(lac_ctx_set(ctx, "sums", "fast"), LAC_OK, "sums");
    unit_expect(lac_ctx_set(ctx, "nan", "strict"), LAC_OK, "nan");
    assert_int_equal(cuda_host_bytes(ctx, "adaptive", "", &a, &b, &c), -1);
}

static bool streams(const lac_obj_t *a, const lac_obj_t *b, const lac_obj_t *c)
{
    return cuda_host_bytes(ctx, "stream", "", a, b, c) >= 0;
}

/* Where adaptive applies, both of its ways multiply the same operands: of a short k stream takes the longer
 * one for S if the output's rows lie together, which adaptive has no kernels for. */
static void expect_one_product(lac_obj_t *a, lac_obj_t *b, lac_obj_t *c)
{
    if (cuda_host_bytes(ctx, "adaptive", "", a, b, c) < 0) return;
    const standin_launch_t *l = cuda_host_launch(ctx, "adaptive", a, b, c, "lac_cuda_adaptive");
    bool right = standin_pointer(l, "s.data") == b->buf;
    EXPECT(l, "p.m p.n", right ? c->n : c->m, right ? c->m : c->n);
    EXPECT(l, "s.rs s.cs", right ? b->cs : a->rs, right ? b->rs : a->cs);
    expect_pointer(l, "p.w", right ? a->buf : b->buf);
}

static void test_adaptive_one_product(void **state)
{
    (void)state;
    static const lac_dim_t sizes[][3] = {{1414, 658, 19}, {5988, 83, 32}, {3677, 817, 16}, {450, 1517, 64}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        lac_dim_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
        lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n),
                  at = cuda_host_columns(ctx, m, k), bt = cuda_host_columns(ctx, k, n),
                  c = cuda_host_rows(ctx, m, n), ct = cuda_host_columns(ctx, m, n);
        for (int j = 0; j < 8; j++) expect_one_product(j & 1 ? &at : &a, j & 2 ? &bt : &b, j & 4 ? &ct : &c);
    }
    assert_true(standin_count("lac_cuda_adaptive") > 0);
}

/* It does not apply, and says why in these words. */
static void stream_refuses(const lac_obj_t *a, const lac_obj_t *b, const lac_obj_t *c, const char *words)
{
    lac_decision_t decision;
    const char *why = NULL;
    unit_expect(lac_explain(ctx, NULL, a, b, NULL, c, NULL, &decision), LAC_OK, "explain");
    for (int i = 0; i < decision.count; i++)
        if (!strcmp(decision.candidate[i].route, "stream")) why = decision.candidate[i].refusal;
    if (!why || !strstr(why, words)) fail_msg("'%s' does not say '%s'", why ? why : "", words);
}

static double predicted_us(const lac_obj_t *a, const lac_obj_t *b, const lac_obj_t *c, float beta)
{
    lac_decision_t decision;
    unit_expect(lac_explain(ctx, NULL, a, b, &beta, c, NULL, &decision), LAC_OK, "explain");
    for (int i = 0; i < decision.count; i++)
        if (!strcmp(decision.candidate[i].route, "stream")) return decision.candidate[i].cost_us;
    fail_msg("no stream");
    return 0.0;
}

/* Of a middle size S is the longer operand where the output's rows lie together and S along k, so that the
 * parts of a tile are a cluster, which is predicted to be faster; where it does not, the shorter one. */
static void test_stream_clusters(void **state)
{
    (void)state;
    lac_dim_t m = 1000, n = 800, k = 2000;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n), at = cuda_host_columns(ctx, m, k),
              c = cuda_host_rows(ctx, m, n), ct = cuda_host_columns(ctx, m, n);
    EXPECT(cuda_host_launch(ctx, "stream", &a, &b, &c, "lac_cuda_stream"), "p.m p.n s.rs s.cs", m, n, k, 1);
    EXPECT(cuda_host_launch(ctx, "stream", &at, &b, &c, "lac_cuda_stream"), "p.m p.n s.rs s.cs", n, m, 1, n);
    EXPECT(cuda_host_launch(ctx, "stream", &a, &b, &ct, "lac_cuda_stream"), "p.m p.n s.rs s.cs", n, m, 1, n);
    assert_true(predicted_us(&a, &b, &c, 0.0f) < predicted_us(&at, &b, &c, 0.0f));
}

/* What stream is predicted to take for 4096 x k x 4096: written whole, added to, with rows of the output that
 * are no pieces of 16 bytes, and both of a W along k. */
typedef struct thin_us {
    double whole, added, odd, along, odd_along;
} thin_us_t;

static thin_us_t thin_us(lac_dim_t k)
{
    lac_dim_t m = 4096, n = 4096;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n), bt = cuda_host_columns(ctx, k, n),
              c = cuda_host_rows(ctx, m, n), odd = cuda_host_matrix(ctx, LAC_F32, m, n, n + 2, 1, 0);
    return (thin_us_t){predicted_us(&a, &b, &c, 0.0f), predicted_us(&a, &b, &c, 1.0f),
                       predicted_us(&a, &b, &odd, 0.0f), predicted_us(&a, &bt, &c, 0.0f),
                       predicted_us(&a, &bt, &odd, 0.0f)};
}

/* An output of a k of up to 512 that is written element by element takes more than twice as long; one whose
 * rows are no pieces of 16 bytes, half as long again, unless lanes are columns, which lie apart anyway. */
static void test_stream_thin_costs(void **state)
{
    (void)state;
    const thin_us_t us = thin_us(200);
    assert_true(us.odd > 1.5 * us.whole && us.odd < 2.5 * us.whole);
    assert_true(us.added > 2.0 * us.whole);
    assert_true(us.odd_along < 1.1 * us.whole);
}

/* Of a k of up to 128 one that is added to is read as well, and one whose rows are no pieces of 16 bytes
 * takes four times as long. */
static void test_rank_k_costs(void **state)
{
    (void)state;
    const thin_us_t us = thin_us(64);
    assert_true(us.added > 1.3 * us.whole && us.added < 1.8 * us.whole);
    assert_true(us.odd > 3.0 * us.whole && us.odd_along == us.odd);
    assert_true(us.along == us.whole);
}

/* Both sides long and k short: W is the operand along whose columns the output lies together, unless its own
 * strides forbid that. */
static void test_stream_thin(void **state)
{
    (void)state;
    lac_dim_t m = 2000, k = 40, n = 1500;
    lac_obj_t a = cuda_host_rows(ctx, m, k), at = cuda_host_columns(ctx, m, k), b = cuda_host_rows(ctx, k, n),
              c = cuda_host_rows(ctx, m, n), ct = cuda_host_columns(ctx, m, n),
              gaps = cuda_host_matrix(ctx, LAC_F32, k, n, 2 * n, 2, 0);
    const standin_launch_t *l = cuda_host_launch(ctx, "stream", &a, &b, &c, "lac_cuda_stream");
    EXPECT(l, "p.m p.n p.k p.order p.ldw p.rs p.cs s.rs s.cs", m, n, k, LAC_CUDA_ROWS, n, n, 1, k, 1);
    l = cuda_host_launch(ctx, "stream", &a, &b, &ct, "lac_cuda_stream");
    EXPECT(l, "p.m p.n p.order p.ldw p.rs p.cs s.rs s.cs p.epilogue.of_rows", n, m, LAC_CUDA_COLS, k, m, 1, 1,
           n, 0); /* no bias, so none of rows: that would be 147 us for 44 (4096 x 64 x 4096, H200) */
    l = cuda_host_launch(ctx, "stream", &at, &gaps, &c, "lac_cuda_stream");
    EXPECT(l, "p.m p.n p.order p.ldw p.rs p.cs s.rs s.cs", n, m, LAC_CUDA_ROWS, m, 1, n, 2, 2 * n);
}

/* The short side, on either side of the product, and k. */
static void test_stream_bounds(void **state)
{
    (void)state;
    static const struct {
        lac_dim_t m, k, n;
        bool fits;
    } cases[] = {{1024, 513, 1100, true},     {1025, 513, 1100, false}, {1100, 513, 1024, true},
                 {1100, 513, 1028, false},    {1025, 512, 1100, true},  {1100, 1, 1028, true},
                 {4, 15, 8, false},           {4, 16, 8, true},         {4, 1 << 18, 8, true},
                 {4, (1 << 18) + 1, 8, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lac_dim_t m = cases[i].m, k = cases[i].k, n = cases[i].n, wide = (k + 3) / 4 * 4;
        lac_obj_t a = cuda_host_matrix(ctx, LAC_F32, m, k, wide, 1, 0), b = cuda_host_rows(ctx, k, n),
                  c = cuda_host_rows(ctx, m, n);
        assert_int_equal(streams(&a, &b, &c), cases[i].fits);
    }
}

/* Operands that it does not read: a W of bytes, without a buffer, or whose rows or columns do not lie one
 * behind the other, and an S without a buffer. An S of bytes it takes. */
static void test_stream_operands(void **state)
{
    (void)state;
    lac_dim_t m = 8, k = 64, n = 128;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n), c = cuda_host_rows(ctx, m, n),
              events = cuda_host_matrix(ctx, LAC_U8, m, k, k, 1, 0),
              bytes = cuda_host_matrix(ctx, LAC_U8, k, n, n, 1, 0),
              gaps = cuda_host_matrix(ctx, LAC_F32, k, n, 2 * n, 2, 0), no_w = cuda_host_rows(ctx, k, n),
              no_s = cuda_host_rows(ctx, m, k);
    cuda_host_csr(ctx, &no_w, 2), cuda_host_csr(ctx, &no_s, 2);
    assert_true(streams(&a, &b, &c) && streams(&events, &b, &c));
    stream_refuses(&a, &bytes, &c, "not f32");
    stream_refuses(&a, &gaps, &c, "contiguous along neither");
    lac_obj_t backwards = b; /* its last row first */
    backwards.rs = -n, backwards.buf = (float *)b.buf + (k - 1) * n;
    stream_refuses(&a, &backwards, &c, "contiguous along neither");
    stream_refuses(&a, &no_w, &c, "no dense buffer");
    stream_refuses(&no_s, &b, &c, "no dense buffer");
    EXPECT(cuda_host_launch(ctx, "stream", &events, &b, &c, "lac_cuda_stream"), "s.dt p.m", LAC_U8, m);
}

/* Products of pieces are not plain multiply-adds; where TF32 is allowed the vendor's own is faster, and ours
 * serves by name alone. */
static void test_stream_math(void **state)
{
    (void)state;
    lac_obj_t a = cuda_host_rows(ctx, 8, 64), b = cuda_host_rows(ctx, 64, 128),
              c = cuda_host_rows(ctx, 8, 128);
    unit_expect(lac_ctx_set(ctx, "math", "pedantic"), LAC_OK, "math");
    assert_false(streams(&a, &b, &c));
    unit_expect(cuda_host_gemm(ctx, "stream", 1.5f, &a, &b, 0.25f, &c), LAC_OK, "another one serves");
    assert_int_equal(standin_count("lac_cuda_stream"), 0);
    unit_expect(lac_ctx_set(ctx, "math", "tf32"), LAC_OK, "math");
    unit_expect(cuda_host_gemm(ctx, NULL, 1.5f, &a, &b, 0.25f, &c), LAC_OK, "chosen");
    assert_int_equal(standin_count("lac_cuda_stream"), 0);
    cuda_host_launch(ctx, "stream", &a, &b, &c, "lac_cuda_stream");
}

/* A plan that is made has its workspace, and computes nothing yet. */
static void test_stream_plan(void **state)
{
    (void)state;
    lac_obj_t a = cuda_host_rows(ctx, 8, 64), b = cuda_host_rows(ctx, 64, 128),
              c = cuda_host_rows(ctx, 8, 128);
    lac_call_opts_t call = {.size = sizeof call, .route = "stream"};
    const float one = 1.0f, zero = 0.0f;
    lac_plan_t *plan;
    standin_forget();
    unit_expect(lac_plan_create(ctx, &plan, &a, &b, &c, &call), LAC_OK, "plan");
    assert_int_equal(standin.launches, 0);
    int mallocs = standin.mallocs;
    unit_expect(lac_plan_run(plan, &one, &a, &b, &zero, &c), LAC_OK, "run");
    assert_int_equal(standin_count("lac_cuda_stream"), 1);
    assert_int_equal(standin.mallocs, mallocs);
    lac_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(stream),          TEST(adaptive),      TEST(adaptive_one_product),
                                       TEST(stream_clusters), TEST(stream_thin),   TEST(stream_thin_costs),
                                       TEST(rank_k_costs),    TEST(stream_bounds), TEST(stream_operands),
                                       TEST(stream_math),     TEST(stream_plan)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

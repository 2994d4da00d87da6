/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The choice between the caller's call and ours: first as numbers, then through lac_try_spmm before a
 * device whose clock says what the test wants. */
#include "fake_device.h"
#include "planner/spmm_autotune.h"

#include "api/interpose.h"

#include <stdlib.h>
#include <string.h>

/* ---- the choice alone ---- */

typedef struct tally {
    int served[2], clocked[2];
    double spent_us;
} tally_t;

/* So many calls that take so long, each answer there before the next call. */
static tally_t play(lac_spmm_autotune_t **autotune, const lac_spmm_autotune_key_t *key, int calls,
                    double theirs, double ours)
{
    tally_t t = {{0}, {0}, 0.0};
    for (int i = 0; i < calls; i++) {
        bool clocked;
        lac_spmm_autotune_site_t *site = lac_spmm_autotune_find(autotune, key, "spmm");
        assert_non_null(site);
        lac_spmm_server_t who = lac_spmm_autotune_choose(site, 0.05, &clocked);
        double us = who == LAC_SPMM_OURS ? ours : theirs;
        t.served[who]++;
        t.clocked[who] += clocked;
        t.spent_us += us;
        if (!clocked) continue;
        lac_timing_tag_t mark = lac_spmm_autotune_tag(site, who);
        lac_spmm_autotune_asked(site, who);
        lac_spmm_autotune_learn(*autotune, &mark, us);
    }
    return t;
}

static void test_the_faster_serves(void **state)
{
    (void)state;
    static const struct {
        double theirs, ours;
        int few; /* whose calls are few: of 4000 */
    } games[] = {{100, 50, LAC_SPMM_VENDOR},
                 {100, 94, LAC_SPMM_VENDOR},
                 {100, 97, LAC_SPMM_OURS},
                 {100, 150, LAC_SPMM_OURS},
                 {100, 100000, LAC_SPMM_OURS}};
    for (size_t i = 0; i < sizeof games / sizeof *games; i++) {
        lac_spmm_autotune_t *autotune = NULL;
        lac_spmm_autotune_key_t key = {.m = 5};
        tally_t t = play(&autotune, &key, 4000, games[i].theirs, games[i].ours);
        assert_in_range(t.served[games[i].few], 2, 10);
        assert_in_range(t.clocked[0] + t.clocked[1], 6, 20);
        double best = games[i].ours < games[i].theirs ? games[i].ours : games[i].theirs;
        assert_true(t.spent_us - 4000 * best < 4000 * 6.0 + 3 * games[i].ours);
        lac_spmm_autotune_free(autotune);
    }
}

/* What changes is found out, both ways. */
static void test_the_tide_turns(void **state)
{
    (void)state;
    lac_spmm_autotune_t *autotune = NULL;
    lac_spmm_autotune_key_t key = {.m = 5};
    assert_in_range(play(&autotune, &key, 300, 100, 50).served[LAC_SPMM_OURS], 280, 300);
    assert_in_range(play(&autotune, &key, 30000, 100, 200).served[LAC_SPMM_OURS], 0, 29000);
    assert_in_range(play(&autotune, &key, 1000, 100, 200).served[LAC_SPMM_OURS], 0, 10);
    lac_spmm_autotune_free(autotune);
}

/* Many sites at once: some forget, and none is mistaken for another. */
static void test_many_sites(void **state)
{
    (void)state;
    lac_spmm_autotune_t *autotune = NULL;
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < 200; i++) {
            lac_spmm_autotune_key_t key = {.m = i, .n = i % 3, .nnz = 100 - i};
            play(&autotune, &key, 1, 10, 5);
        }
    lac_spmm_autotune_key_t key = {.m = 7};
    assert_in_range(play(&autotune, &key, 50, 10, 5).served[LAC_SPMM_OURS], 40, 47);
    lac_spmm_autotune_free(autotune);
    lac_spmm_autotune_free(NULL);
}

/* While nothing comes back, theirs serves, and no more than a few are clocked. */
static void test_no_answers(void **state)
{
    (void)state;
    lac_spmm_autotune_t *autotune = NULL;
    lac_spmm_autotune_key_t key = {.m = 5};
    int asked = 0;
    for (int i = 0; i < 1000; i++) {
        bool clocked;
        lac_spmm_autotune_site_t *site = lac_spmm_autotune_find(&autotune, &key, "spmm");
        assert_int_equal(lac_spmm_autotune_choose(site, 0.05, &clocked), LAC_SPMM_VENDOR);
        if (clocked) lac_spmm_autotune_asked(site, LAC_SPMM_VENDOR);
        asked += clocked;
    }
    assert_int_equal(asked, 3);
    lac_spmm_autotune_free(autotune);
}

/* ---- calls ---- */

enum { M = 3, K = 4, N = 2 };
static const int32_t ptr[M + 1] = {0, 2, 2, 3}, idx[3] = {3, 1, 0};
static const float val[3] = {1, 2, 3}, one = 1.0f, zero = 0.0f;
static float b[K * N], c[M * N];

static struct {
    lac_timing_tag_t mark;
    bool open, closed, fails;
    int runs, spans;
    double us[2];
} fake_clock;

static bool clock_begin(lac_exec_t *exec)
{
    (void)exec;
    assert_false(fake_clock.open);
    fake_clock.spans++;
    return fake_clock.open = true;
}

static void clock_end(lac_exec_t *exec, const lac_timing_tag_t *mark)
{
    (void)exec;
    assert_true(fake_clock.open);
    fake_clock.open = false;
    fake_clock.closed = true;
    fake_clock.mark = *mark;
}

static bool clock_done(lac_exec_t *exec, lac_timing_tag_t *mark, double *us)
{
    (void)exec;
    if (!fake_clock.closed) return false;
    fake_clock.closed = false;
    *mark = fake_clock.mark;
    *us = fake_clock.us[mark->row - LAC_SPMM_AUTOTUNE_ROW];
    return mark->site != 0;
}

static lac_status_t spmm(lac_exec_t *exec, const lac_spmm_t *call)
{
    (void)exec, (void)call;
    fake_clock.runs++;
    return fake_clock.fails ? LAC_ERR_MEMORY : LAC_OK;
}

static lac_ctx_t *clocked_ctx(double theirs, double ours)
{
    static const lac_event_timer_t event_timer = {clock_begin, clock_end, clock_done};
    lac_ctx_t *ctx = fake_device_ctx();
    lac_backend_t *backend = fake_device_backend();
    memset(&fake_clock, 0, sizeof fake_clock);
    fake_clock.us[LAC_SPMM_VENDOR] = theirs, fake_clock.us[LAC_SPMM_OURS] = ours;
    backend->clock = &event_timer;
    backend->spmm = spmm;
    backend->asynchronous = true;
    return ctx;
}

static int call_of(lac_ctx_t *ctx, int alg, lac_dim_t nnz)
{
    const lac_spmm_t x = {.m = M,
                          .n = N,
                          .k = K,
                          .nnz = nnz,
                          .ptr_type = LAC_I32,
                          .idx_type = LAC_I32,
                          .ptr = ptr,
                          .idx = idx,
                          .val = val,
                          .b = b,
                          .rsb = N,
                          .csb = 1,
                          .c = c,
                          .rsc = N,
                          .csc = 1,
                          .alpha = &one,
                          .beta = &zero,
                          .alg = alg};
    int done = lac_try_spmm(ctx, &x, "cusparseSpMM", NULL);
    assert_false(done && lac_interpose_timing_pending(ctx));
    if (!done) lac_interpose_timing_end(ctx);
    assert_false(lac_interpose_timing_pending(ctx));
    assert_false(fake_clock.open);
    return done;
}

static int call(lac_ctx_t *ctx, int alg)
{
    return call_of(ctx, alg, 3);
}

static int served(lac_ctx_t *ctx, int calls)
{
    int count = 0;
    for (int i = 0; i < calls; i++) count += call(ctx, 4);
    return count;
}

static void test_calls_are_clocked(void **state)
{
    (void)state;
    lac_ctx_t *ctx = clocked_ctx(20.0, 10.0);
    assert_int_equal(served(ctx, 3), 0);
    assert_int_equal(served(ctx, 97), 97);
    assert_int_equal(fake_clock.spans, 6);
    assert_int_equal(call(ctx, 5), 0); /* another algorithm is another site */
    fake_device_teardown((void **)&ctx);
    ctx = clocked_ctx(10.0, 20.0);
    assert_in_range(served(ctx, 100), 2, 3);
    assert_int_equal(call(NULL, 4), 0);
    fake_device_teardown((void **)&ctx);
}

static int sites;

static void count_site(const lac_spmm_autotune_site_t *site)
{
    (void)site;
    sites++;
}

static int sites_of(const lac_dim_t *nnz, int count)
{
    lac_ctx_t *ctx = clocked_ctx(20.0, 10.0);
    sites = 0;
    for (int i = 0; i < count; i++) call_of(ctx, 4, nnz[i]);
    lac_spmm_autotune_visit(ctx->autotune, count_site);
    fake_device_teardown((void **)&ctx);
    return sites;
}

/* Counts of entries within a sixteenth are one site, so that not every matrix is measured anew; others are
 * not, whatever powers of two lie between them. */
static void test_alike_counts_are_one_site(void **state)
{
    static const lac_dim_t alike[] = {992, 1000, 1007, 1023},
                           others[] = {15, 30, 31, 62, 124, 1023, 1024, 1100};
    (void)state;
    assert_int_equal(sites_of(alike, 4), 1);
    assert_int_equal(sites_of(others, 8), 8);
}

static void test_settings(void **state)
{
    (void)state;
    lac_ctx_t *ctx = clocked_ctx(20.0, 10.0);
    unit_expect(lac_ctx_set(ctx, "backend", "csr"), LAC_OK, "backend");
    assert_int_equal(served(ctx, 10), 10);
    unit_expect(lac_ctx_set(ctx, "backend", "cusparse"), LAC_OK, "backend");
    assert_int_equal(served(ctx, 10), 0);
    unit_expect(lac_ctx_set(ctx, "backend", "auto"), LAC_OK, "backend");
    unit_expect(lac_ctx_set(ctx, "learn", "off"), LAC_OK, "learn");
    assert_int_equal(served(ctx, 10), 0);
    assert_int_equal(fake_clock.spans, 0);
    fake_device_teardown((void **)&ctx);
}

/* Where ours cannot be queued, theirs serves, and no error is left behind. */
static void test_ours_fails(void **state)
{
    (void)state;
    lac_ctx_t *ctx = clocked_ctx(20.0, 10.0);
    fake_clock.fails = true;
    assert_int_equal(served(ctx, 100), 0);
    assert_in_range(fake_clock.runs, 1, 5);
    assert_string_equal(lac_last_error(), "");
    fake_device_teardown((void **)&ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_faster_serves),
        cmocka_unit_test(test_the_tide_turns),
        cmocka_unit_test(test_many_sites),
        cmocka_unit_test(test_no_answers),
        cmocka_unit_test(test_calls_are_clocked),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_alike_counts_are_one_site),
        cmocka_unit_test(test_ours_fails),
    };
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A dispatcher in front of a made-up device whose clock answers late: wrong predictions are mended, few runs
 * are clocked, nothing is tried while a stream is captured, and an answer to a site that is gone is no
 * answer. */
#include "unit_support.h"
#include "base/clock.h"
#include "planner/device_timing.h"
#include "planner/timing.h"
#include "planner/dispatch.h"

#include <string.h>
#include <sys/stat.h>

enum { SPARSE, CONTENDER, DENSE, FAST, ROUTES, OWED = 4 };
#define LATE_US 0.5 /* that the vendor's product starts later in a stream than in a graph */
enum { CALM = 16 }; /* the first call of a short product that may be clocked or a trial */

static double truth_us[ROUTES];          /* what a run takes                          */
static int bad_runs;                     /* so many first ones of a sparse route take longer */
static int ran[ROUTES], clocked, probes; /* runs in all, and those between two events */
static bool capturing, open_span;
static bool no_memory;   /* for routes of our own */
static lac_dim_t slices; /* k */
static struct {
    lac_timing_tag_t mark;
    double us;
} owed[OWED];
static int owed_count, last_row;

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    return route->side != LAC_SIDE_NONE && p->a.density < 0 ? LAC_REFUSED_DENSITY_UNKNOWN : LAC_FITS;
}

static double length = 1.0; /* of all predictions */

/* The model: sparse 2, its rival 3, dense 4 microseconds, and a dense kernel of our own 3. */
static int row_of(const lac_route_t *route)
{
    static const char first[] = "srdf";
    return (int)(strchr(first, route->name[0]) - first);
}
static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)p, (void)machine;
    return length * (row_of(route) == FAST ? 3.0 : 2.0 + row_of(route));
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route, (void)p;
    return 0;
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    (void)exec;
    last_row = row_of(route);
    if (no_memory && route->role != LAC_ROLE_DENSE) return LAC_ERR_MEMORY;
    ran[last_row]++;
    out->density = p->a.density;
    return LAC_OK;
}

#define ROUTE(name, role, side)                                                                              \
    {                                                                                                        \
        name, role, side, applicable, cost_us, bytes, run, NULL, false                                       \
    }
static const lac_route_t sparse = ROUTE("sparse", LAC_ROLE_SPARSE, LAC_SIDE_LEFT),
                         contender = ROUTE("rival", LAC_ROLE_SPARSE, LAC_SIDE_LEFT),
                         dense = ROUTE("dense", LAC_ROLE_DENSE, LAC_SIDE_NONE),
                         fast = ROUTE("fast", LAC_ROLE_FAST, LAC_SIDE_NONE);
static const lac_route_t *const table[] = {&sparse, &contender, &dense, &fast};
enum { WITHOUT_FAST = FAST };

/* Bytes of the log so far. */
static long logged(void)
{
    struct stat file;
    return stat(unit_path("log"), &file) ? 0 : (long)file.st_size;
}

static long logged_before; /* the span that is open */

static bool clock_begin(lac_exec_t *exec)
{
    (void)exec;
    assert_false(open_span);
    logged_before = logged();
    return open_span = !capturing && owed_count < OWED;
}

static void clock_end(lac_exec_t *exec, const lac_timing_tag_t *mark)
{
    (void)exec;
    assert_true(open_span);
    assert_int_equal(logged(), logged_before); /* the device waits in a span: nobody writes meanwhile */
    open_span = false;
    clocked++;
    owed[owed_count].mark = *mark;
    bool bad = last_row != DENSE && ran[last_row] <= bad_runs;
    owed[owed_count++].us = bad ? 2.0 * (truth_us[DENSE] - LATE_US) : truth_us[last_row];
}

/* The oldest, once two are owed: an answer comes after the next call. */
static bool clock_done(lac_exec_t *exec, lac_timing_tag_t *mark, double *us)
{
    (void)exec;
    if (owed_count < 2) return false;
    *mark = owed[0].mark;
    *us = owed[0].us - (owed[0].mark.late ? LATE_US : 0.0);
    memmove(owed, owed + 1, (size_t)--owed_count * sizeof *owed);
    return true;
}

static bool is_capturing(const lac_exec_t *exec)
{
    (void)exec;
    return capturing;
}

static int sampled; /* of 1000 that a probe looks at: not zero */

/* A probe, whose answer is there at once. */
static int64_t sample(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                      lac_sample_t *out, uint64_t seed, const void *tag, bool first)
{
    (void)exec, (void)x, (void)rows, (void)cols, (void)seed, (void)tag, (void)first;
    probes++;
    out->looked = 1000, out->lines = -1.0;
    return sampled;
}

static const lac_event_timer_t made_up_clock = {clock_begin, clock_end, clock_done};
static const lac_device_t device = {.capturing = is_capturing};
static const lac_backend_t backend = {
    .name = "made up", .asynchronous = true, .clock = &made_up_clock, .device = &device, .sample = sample};

static lac_ctx_t context(double sparse_us, double contender_us, double dense_us)
{
    lac_ctx_t ctx = {.backend = &backend, .routes = table, .route_count = WITHOUT_FAST};
    ctx.policy.learn = true;
    ctx.policy.detect = LAC_DETECT_OFF;
    truth_us[SPARSE] = sparse_us, truth_us[CONTENDER] = contender_us, truth_us[DENSE] = dense_us;
    memset(ran, 0, sizeof ran);
    clocked = owed_count = probes = bad_runs = 0;
    capturing = open_span = no_memory = false;
    sampled = 100, slices = 4;
    return ctx;
}

static void call_by(lac_ctx_t *ctx, lac_dim_t m, int times, bool drop_in)
{
    static float c[64];
    for (int i = 0; i < times; i++) {
        lac_request_t request = {.symbol = "test", .may_decline = drop_in, .followed = drop_in};
        lac_problem_t p = {.m = m, .n = 4, .k = slices, .alpha = 1.0f, .c = c, .crs = 4, .ccs = 1};
        bool reported = ctx->policy.detect == LAC_DETECT_OFF;
        p.a.density = reported ? 0.1 : -1.0;
        p.a.known = reported ? LAC_KNOWN_ATTACHED : LAC_KNOWN_NOT;
        p.a.buf = p.b.buf = c;
        p.b.density = p.a.k_active = p.b.k_active = -1.0;
        unit_expect(lac_dispatch(ctx, &p, &request), LAC_OK, "dispatch");
        if (request.declined) last_row = DENSE;
        if (ctx->forwarded) lac_dispatch_forwarded(ctx);
    }
}

static void call_at(lac_ctx_t *ctx, lac_dim_t m, int times)
{
    call_by(ctx, m, times, false);
}

static int served(lac_ctx_t *ctx, int row)
{
    int before = ran[row];
    call_at(ctx, 4, 1000);
    return ran[row] - before;
}

/* The cheapest by the model is the slowest by far: a dozen calls that are clocked are enough to see it. */
static void test_wrong_prediction(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(200.0, 90.0, 4.0);
    call_at(&ctx, 4, CALM + 11);
    assert_true(ran[SPARSE] <= CALM + 7);
    assert_true(served(&ctx, DENSE) >= 980);
    lac_sites_free(&ctx.sites);
}

/* Short products are left alone in their first calls: nothing is clocked or tried. Long ones are not. */
static void test_first_calls_are_left_alone(void **state)
{
    (void)state;
    for (int is_long = 0; is_long < 2; is_long++) {
        lac_ctx_t ctx = context(200.0, 90.0, 4.0);
        length = is_long ? 100.0 : 1.0;
        ctx.learned.spent_us = 1e6; /* trials could be paid for */
        call_at(&ctx, 4, CALM - 1);
        assert_int_equal(clocked > 0, is_long);
        if (!is_long) assert_int_equal(ran[SPARSE], CALM - 1);
        call_at(&ctx, 4, 1);
        assert_true(clocked > 0);
        length = 1.0;
        lac_sites_free(&ctx.sites);
    }
}

/* A caller with a vendor's product of its own: that is the one to be timed, and to serve. */
static void test_the_callers_product_is_timed(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(200.0, 90.0, 4.0);
    call_by(&ctx, 4, 1000, true);
    assert_int_equal(ran[DENSE], 0);
    assert_true(ran[SPARSE] + ran[CONTENDER] <= CALM + 15);
    assert_false(open_span);
    lac_sites_free(&ctx.sites);
}

/* One that the model puts second is found by trials. */
static void test_better_contender(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(2.0, 1.0, 4.0);
    call_at(&ctx, 4, 4000);
    assert_true(served(&ctx, CONTENDER) >= 980);
    lac_sites_free(&ctx.sites);
}

/* Of two that are close the vendor's product is found to be the faster one, and serves, though the other one
 * served first. */
static void test_close_to_the_vendor(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(3.7, 9.0, 3.6);
    call_at(&ctx, 4, 512);
    assert_true(served(&ctx, DENSE) >= 980);
    lac_sites_free(&ctx.sites);
}

/* The vendor's product is slower in a stream, and would be faster in a graph: it serves. */
static void test_times_are_those_of_a_graph(void **state)
{
    (void)state;
    for (int slower = 0; slower < 2; slower++) {
        lac_ctx_t ctx = context(3.7, 9.0, 3.7 + (slower ? 1.2 : 0.8) * LATE_US);
        call_at(&ctx, 4, 512);
        int now = served(&ctx, DENSE);
        assert_true(slower ? now <= 20 : now >= 980);
        lac_sites_free(&ctx.sites);
    }
}

/* A sparse route slower than predicted loses to a dense prediction, and the dense product is twice as slow as
 * predicted too: it is measured before the sparse route is given up, which then serves. */
static void test_no_route_is_given_up_for_a_prediction(void **state)
{
    (void)state;
    for (int drop_in = 0; drop_in < 2; drop_in++) {
        lac_ctx_t ctx = context(5.0, 30.0, 8.0);
        ctx.policy.detect = LAC_DETECT_PROBE;
        call_by(&ctx, 4, 40, drop_in);
        int before = ran[SPARSE];
        call_by(&ctx, 4, 1000, drop_in);
        if (ran[SPARSE] - before < 950)
            fail_msg("drop-in %d: served %d times", drop_in, ran[SPARSE] - before);
        lac_sites_free(&ctx.sites);
    }
}

/* An operand that a sample finds nearly full takes no route that pays by zeros alone, whatever is predicted
 * of it: but for products of few slices. */
static void test_nearly_full_is_not_tried(void **state)
{
    (void)state;
    static const lac_dim_t depths[] = {512, 513, 5000};
    for (int count = 600; count <= 1000; count += 200)
        for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
            lac_ctx_t ctx = context(2.0, 3.0, 4.0);
            ctx.policy.detect = LAC_DETECT_PROBE;
            sampled = count, slices = depths[i];
            call_at(&ctx, 4, 1000);
            assert_true(probes > 0);
            assert_int_equal(ran[SPARSE] + ran[CONTENDER] > 0, count < 700 || slices <= 512);
            lac_sites_free(&ctx.sites);
        }
}

/* A dense kernel of our own serves a drop-in call, too; where it lacks memory, the vendor's product serves.
 */
static void test_a_fast_route_without_memory(void **state)
{
    (void)state;
    for (int drop_in = 0; drop_in < 2; drop_in++) {
        lac_ctx_t ctx = context(50.0, 50.0, 8.0);
        truth_us[FAST] = 5.0;
        ctx.route_count = ROUTES;
        ctx.policy.detect = LAC_DETECT_PROBE;
        ctx.policy.learn = false;
        static float c[64];
        for (int turn = 0; turn < 2; turn++) {
            no_memory = turn;
            lac_request_t request = {.symbol = "test", .may_decline = drop_in};
            lac_problem_t p = {.m = 4, .n = 4, .k = 4, .alpha = 1.0f, .c = c, .crs = 4, .ccs = 1};
            p.a.density = p.b.density = p.a.k_active = p.b.k_active = -1.0; /* no buffer: nothing to probe */
            unit_expect(lac_dispatch(&ctx, &p, &request), LAC_OK, "dispatch");
            assert_int_equal(request.declined, drop_in && turn);
            assert_int_equal(last_row, turn && !drop_in ? DENSE : FAST);
        }
        lac_sites_free(&ctx.sites);
    }
}

/* One product of a batch of ten, which costs 1 us more where they are made one after the other. */
static void call_batch(lac_ctx_t *ctx, int times)
{
    static float c[64];
    for (int i = 0; i < times; i++) {
        lac_decision_t decision;
        lac_request_t request = {
            .symbol = "test", .may_decline = true, .followed = true, .untried = true, .decision = &decision};
        lac_problem_t p = {.m = 4, .n = 4, .k = 4, .alpha = 1.0f, .c = c, .crs = 4, .ccs = 1};
        p.a.buf = p.b.buf = c;
        p.a.density = p.b.density = p.a.k_active = p.b.k_active = -1.0;
        p.account.site_bits = LAC_SITE_BATCH(10);
        p.account.extra_us = 1.0;
        unit_expect(lac_dispatch(ctx, &p, &request), LAC_OK, "dispatch");
        if (request.declined) last_row = DENSE;
        if (ctx->forwarded) lac_dispatch_forwarded(ctx);
    }
}

/* The caller's one call for a batch is timed before single products are given up for it, and counts for a
 * tenth. */
static void test_a_batch_is_measured_too(void **state)
{
    (void)state;
    static const struct {
        double batch_us;
        bool sparse_serves;
    } cases[] = {{80.0, true}, {30.0, false}}; /* a product: 8, 3; by the sparse route 5 */
    for (int i = 0; i < 2; i++) {
        lac_ctx_t ctx = context(5.0, 30.0, cases[i].batch_us);
        ctx.policy.detect = LAC_DETECT_PROBE;
        call_batch(&ctx, 60);
        const lac_site_t *site = lac_site_at(&ctx.sites, 0);
        assert_int_equal(lac_site_batch_count(&site->key), 10);
        assert_true(lac_timing_is_known(site, DENSE));
        double alone = 4.0 * (double)site->factor[DENSE], want = (cases[i].batch_us - LATE_US) / 10.0 + 1.0;
        assert_true(alone > 0.99 * want && alone < 1.01 * want);
        int before = ran[SPARSE];
        call_batch(&ctx, 500);
        if (ran[SPARSE] - before < 450 && cases[i].sparse_serves)
            fail_msg("a batch of %g us: %d served", cases[i].batch_us, ran[SPARSE] - before);
        if (ran[SPARSE] - before > 10 && !cases[i].sparse_serves)
            fail_msg("a batch of %g us: %d served", cases[i].batch_us, ran[SPARSE] - before);
        lac_sites_free(&ctx.sites);
    }
}

/* A capture, in which nothing can be timed, does not give the sparse route up for a prediction either. */
static void test_a_capture_gives_nothing_up(void **state)
{
    (void)state;
    for (int drop_in = 0; drop_in < 2; drop_in++) {
        lac_ctx_t ctx = context(5.0, 30.0, 8.0);
        ctx.policy.detect = LAC_DETECT_PROBE;
        call_by(&ctx, 4, 1, drop_in);
        const lac_site_t *site = lac_site_at(&ctx.sites, 0);
        for (int i = 0; i < 40 && !lac_timing_is_known(site, CONTENDER); i++) call_by(&ctx, 4, 1, drop_in);
        assert_true(lac_timing_is_known(site, SPARSE) && lac_timing_is_known(site, CONTENDER));
        assert_false(lac_timing_is_known(site, DENSE));
        capturing = true;
        call_by(&ctx, 4, 3, drop_in);
        assert_int_equal(site->state, LAC_SITE_SPARSE);
        capturing = false;
        call_by(&ctx, 4, 40, drop_in);
        int before = ran[SPARSE];
        call_by(&ctx, 4, 1000, drop_in);
        if (ran[SPARSE] - before < 950)
            fail_msg("drop-in %d: served %d times", drop_in, ran[SPARSE] - before);
        lac_sites_free(&ctx.sites);
    }
}

/* Where the dense product is as fast as predicted the same route is given up, once that is measured. */
static void test_a_measured_product_wins(void **state)
{
    (void)state;
    for (int drop_in = 0; drop_in < 2; drop_in++) {
        lac_ctx_t ctx = context(5.0, 30.0, 4.0);
        ctx.policy.detect = LAC_DETECT_PROBE;
        call_by(&ctx, 4, 40, drop_in);
        const lac_site_t *site = lac_site_at(&ctx.sites, 0);
        assert_true(lac_timing_is_known(site, DENSE));
        assert_int_equal(site->state, LAC_SITE_DENSE);
        int before = ran[SPARSE];
        call_by(&ctx, 4, 1000, drop_in);
        assert_true(ran[SPARSE] - before <= 10);
        lac_sites_free(&ctx.sites);
    }
}

/* Where the vendor's product serves, nothing reports a density. A route whose first runs fell into a bad
 * moment is found all the same, by trials behind looks. */
static void test_probes_lead_to_trials(void **state)
{
    (void)state;
    for (int drop_in = 0; drop_in < 2; drop_in++) {
        lac_ctx_t ctx = context(9.0, 1.5, 3.0);
        ctx.policy.detect = LAC_DETECT_PROBE;
        bad_runs = 6;
        call_by(&ctx, 4, 8000, drop_in);
        int before = ran[CONTENDER];
        call_by(&ctx, 4, 1000, drop_in);
        assert_true(ran[CONTENDER] - before >= 950);
        lac_sites_free(&ctx.sites);
    }
}

/* Where none pays there are few looks, and fewer trials. */
static void test_vain_trials_are_few(void **state)
{
    (void)state;
    for (int drop_in = 0; drop_in < 2; drop_in++) {
        lac_ctx_t ctx = context(4.0, 4.0, 2.5);
        ctx.policy.detect = LAC_DETECT_PROBE;
        call_by(&ctx, 4, 1000, drop_in);
        int before = ran[SPARSE] + ran[CONTENDER];
        call_by(&ctx, 4, 9000, drop_in);
        assert_true(ran[SPARSE] + ran[CONTENDER] - before <= 9000 / 400);
        assert_true(probes <= 40);
        lac_sites_free(&ctx.sites);
    }
}

/* The verbose line of a call is written outside of the span in which the device waits for the host, also
 * where the caller's product is what is timed. */
static void test_a_log_does_not_hold_the_device(void **state)
{
    (void)state;
    for (int drop_in = 0; drop_in < 2; drop_in++) {
        lac_ctx_t ctx = context(200.0, 90.0, 4.0);
        long before = logged();
        ctx.policy.verbose = LAC_VERBOSE_EXEC;
        ctx.now_us = lac_now_us;
        call_by(&ctx, 4, 100, drop_in);
        assert_true(clocked > 3);
        assert_true(logged() > before);
        lac_sites_free(&ctx.sites);
    }
}

static void test_few_are_clocked(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(2.0, 3.0, 4.0);
    call_at(&ctx, 4, 10000);
    assert_true(ran[SPARSE] > 9900);
    assert_true(clocked >= 10000 / 1024 && clocked < 50);
    lac_sites_free(&ctx.sites);
}

/* A dense site: so many calls are granted that need not ask, and no more are counted than were made. */
static void test_granted_calls_count_when_made(void **state)
{
    (void)state;
    enum { GRANTED = 64 };
    lac_ctx_t ctx = context(200.0, 90.0, 4.0);
    ctx.policy.detect = LAC_DETECT_PROBE;
    sampled = 1000, slices = 1000;
    call_by(&ctx, 4, 2, true);
    lac_site_t *site = lac_site_at(&ctx.sites, 0);
    uint64_t before = site->calls, declined = site->declined_calls;
    assert_true(site->countdown >= 3 * GRANTED);
    unsigned wait = site->countdown;
    double spent = ctx.learned.spent_us;
    for (unsigned i = 0; i < 10; i++) { /* a caller that forgets what it was granted, each time */
        assert_int_equal(lac_dispatch_dense_streak(&ctx, &site->key, GRANTED, 0), GRANTED);
        assert_int_equal(site->calls, before + i + 1);
        assert_int_equal(site->declined_calls, declined + i + 1);
        assert_int_equal(site->countdown, wait - i - GRANTED);
        assert_true(ctx.learned.spent_us == spent + (i + 1) * site->dense_us);
    }
    assert_int_equal(lac_dispatch_dense_streak(&ctx, &site->key, GRANTED, GRANTED - 1), GRANTED);
    assert_int_equal(site->calls, before + 10 + GRANTED); /* all that were granted last, and this one */
    assert_int_equal(site->countdown, wait - 9 - 2 * GRANTED);
    assert_int_equal(lac_dispatch_dense_streak(&ctx, &site->key, 1, 3 * GRANTED), 1);
    assert_int_equal(site->calls, before + 10 + 2 * GRANTED); /* no more than there were */
    lac_site_next(site, LAC_SITE_COMPARED, false, 1);
    assert_int_equal(lac_dispatch_dense_streak(&ctx, &site->key, GRANTED, 0), 0); /* a probe is due */
    lac_sites_free(&ctx.sites);
}

/* A sparse run that could not have its memory was followed by the dense product in the same span: that time
 * is nobody's. */
static void test_a_run_that_gave_up_teaches_no_time(void **state)
{
    (void)state;
    for (int drop_in = 0; drop_in < 2; drop_in++) {
        lac_ctx_t ctx = context(2.0, 3.0, 4.0);
        no_memory = true;
        call_by(&ctx, 4, CALM + 2, drop_in);
        no_memory = false;
        assert_true(clocked > 0);
        for (int i = 0; i < owed_count; i++) assert_int_equal(owed[i].mark.site, 0);
        lac_device_timing_collect(&ctx);
        const lac_site_t *site = lac_site_at(&ctx.sites, 0);
        for (int row = 0; row < ROUTES; row++) assert_int_equal(site->runs[row], 0);
        lac_sites_free(&ctx.sites);
    }
}

static void test_nothing_is_tried_in_a_capture(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(2.0, 1.0, 4.0);
    capturing = true;
    call_at(&ctx, 4, 4000);
    assert_int_equal(ran[SPARSE], 4000);
    assert_int_equal(clocked, 0);
    lac_sites_free(&ctx.sites);
}

static void test_learning_off(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(200.0, 90.0, 4.0);
    ctx.policy.learn = false;
    call_at(&ctx, 4, 1000);
    assert_int_equal(ran[SPARSE], 1000);
    assert_int_equal(clocked, 0);
    lac_sites_free(&ctx.sites);
}

static lac_site_t *site_of(lac_ctx_t *ctx, uint64_t number)
{
    lac_site_t *site = lac_site_numbered(&ctx->sites, number);
    assert_non_null(site);
    return site;
}

/* The slot of a site that was evicted while the device owed it an answer belongs to another one. */
static void test_evicted_site(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(2.0, 3.0, 4.0);
    call_at(&ctx, 4, CALM);
    assert_int_equal(owed_count, 1);
    lac_site_t *site = site_of(&ctx, owed[0].mark.site);
    site->id = 1000;
    call_at(&ctx, 5, 1);
    lac_device_timing_collect(&ctx);
    assert_int_equal(owed_count, 1);
    assert_int_equal(site->runs[SPARSE], 0);
    lac_sites_free(&ctx.sites);
}

/* So does the slot of one that was forgotten with all others, as a changed option has it: the sites that
 * come after have other numbers. */
static void test_forgotten_sites(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(2.0, 3.0, 4.0);
    call_at(&ctx, 4, CALM);
    uint64_t before = owed[0].mark.site;
    lac_sites_free(&ctx.sites);
    lac_device_timing_collect(&ctx);
    call_at(&ctx, 4, CALM); /* owed twice now: the older answer comes */
    lac_device_timing_collect(&ctx);
    assert_int_equal(owed_count, 1);
    assert_true(owed[0].mark.site > before);
    assert_int_equal(site_of(&ctx, owed[0].mark.site)->runs[SPARSE], 0);
    assert_null(lac_site_numbered(&ctx.sites, before));
    lac_sites_free(&ctx.sites);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_wrong_prediction),
                                       cmocka_unit_test(test_first_calls_are_left_alone),
                                       cmocka_unit_test(test_the_callers_product_is_timed),
                                       cmocka_unit_test(test_better_contender),
                                       cmocka_unit_test(test_close_to_the_vendor),
                                       cmocka_unit_test(test_times_are_those_of_a_graph),
                                       cmocka_unit_test(test_nearly_full_is_not_tried),
                                       cmocka_unit_test(test_no_route_is_given_up_for_a_prediction),
                                       cmocka_unit_test(test_a_fast_route_without_memory),
                                       cmocka_unit_test(test_a_measured_product_wins),
                                       cmocka_unit_test(test_a_capture_gives_nothing_up),
                                       cmocka_unit_test(test_a_batch_is_measured_too),
                                       cmocka_unit_test(test_probes_lead_to_trials),
                                       cmocka_unit_test(test_vain_trials_are_few),
                                       cmocka_unit_test(test_a_log_does_not_hold_the_device),
                                       cmocka_unit_test(test_few_are_clocked),
                                       cmocka_unit_test(test_nothing_is_tried_in_a_capture),
                                       cmocka_unit_test(test_a_run_that_gave_up_teaches_no_time),
                                       cmocka_unit_test(test_granted_calls_count_when_made),
                                       cmocka_unit_test(test_learning_off),
                                       cmocka_unit_test(test_evicted_site),
                                       cmocka_unit_test(test_forgotten_sites)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

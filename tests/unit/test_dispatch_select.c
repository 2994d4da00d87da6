/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Selection over a table of made-up routes. */
#include "unit_support.h"
#include "planner/select.h"

#include <stdio.h>
#include <string.h>

/* Costs base + slope times the density of its side. */
typedef struct fake {
    lac_route_t route;
    double base, slope;
    lac_refusal_t refusal;
    bool unmeasured; /* at any density */
} fake_t;

static const fake_t *fake_of(const lac_route_t *route)
{
    return (const fake_t *)(const void *)route;
}

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    const lac_operand_t *x = route->side == LAC_SIDE_RIGHT ? &p->b : &p->a;
    if (route->side != LAC_SIDE_NONE && x->density < 0) return LAC_REFUSED_DENSITY_UNKNOWN;
    if (p->terms.any_density && fake_of(route)->unmeasured) return LAC_REFUSED_DENSITY_UNKNOWN;
    return fake_of(route)->refusal;
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)machine;
    const lac_operand_t *x = route->side == LAC_SIDE_RIGHT ? &p->b : &p->a;
    return fake_of(route)->base + (route->side ? fake_of(route)->slope * x->density : 0.0);
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    (void)p;
    return (size_t)fake_of(route)->base;
}

/* Of the role EITHER: 1 to 9 us by the density of A, the shorter side's; 5 where that is not known. */
static double either_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)machine;
    if (p->a.density < 0) return fake_of(route)->base;
    return p->a.density < 0.25 ? 1.0 + 32.0 * p->a.density : 9.0;
}

#define FAKE(name, role, side, base, slope)                                                                  \
    {                                                                                                        \
        {name, role, side, applicable, cost_us, bytes, NULL, NULL, false}, base, slope, LAC_FITS, false      \
    }

static fake_t left = FAKE("one", LAC_ROLE_SPARSE, LAC_SIDE_LEFT, 1.0, 100.0);
static fake_t right = FAKE("one", LAC_ROLE_SPARSE, LAC_SIDE_RIGHT, 1.0, 100.0);
static fake_t other = FAKE("two", LAC_ROLE_SPARSE, LAC_SIDE_LEFT, 5.0, 10.0);
static fake_t oracle = FAKE("truth", LAC_ROLE_ORACLE, LAC_SIDE_NONE, 0.001, 0.0);
static fake_t dense = FAKE("dense", LAC_ROLE_DENSE, LAC_SIDE_NONE, 10.0, 0.0);
static fake_t fast = FAKE("fast", LAC_ROLE_FAST, LAC_SIDE_NONE, 20.0, 0.0);
static fake_t either = {
    {"either", LAC_ROLE_EITHER, LAC_SIDE_NONE, applicable, either_us, bytes, NULL, NULL, true},
    5.0,
    0.0,
    LAC_FITS,
    false};
static fake_t native = FAKE("native", LAC_ROLE_NATIVE, LAC_SIDE_NONE, 40.0, 0.0);

static const lac_route_t *const table[] = {&left.route,  &right.route, &other.route,  &oracle.route,
                                           &dense.route, &fast.route,  &either.route, &native.route};
enum { DENSE = 4, FAST, EITHER, NATIVE, COUNT };
_Static_assert(COUNT == sizeof table / sizeof *table, "a row for each route");

static fake_t left_finds = FAKE("row", LAC_ROLE_SPARSE, LAC_SIDE_LEFT, 20.0, 1.0),
              right_finds = FAKE("row", LAC_ROLE_SPARSE, LAC_SIDE_RIGHT, 20.0, 1.0);
static const lac_route_t *const finding[] = {&left_finds.route, &right_finds.route, &dense.route};
enum { FINDING = 3 };

static int reset(void **state)
{
    (void)state;
    fake_t *all[] = {&left, &right, &other, &oracle, &dense, &fast, &either, &native};
    for (int i = 0; i < COUNT; i++) all[i]->refusal = LAC_FITS;
    left_finds.route.traits = right_finds.route.traits = LAC_ROUTE_FINDS_ZEROS;
    dense.base = 10.0, fast.refusal = LAC_REFUSED_W_ALIGNMENT, either.base = 5.0;
    return 0;
}

static lac_choice_t choose(double a, double b, const lac_preference_t *preference)
{
    static const lac_machine_t machine;
    static const lac_preference_t none;
    lac_problem_t p = {.m = 1, .n = 1, .k = 1};
    p.a.density = a;
    p.b.density = b;
    return lac_select(table, COUNT, &p, &machine, preference ? preference : &none);
}

static void expect_route(lac_choice_t choice, const fake_t *want, lac_why_t why)
{
    if (choice.route != &want->route || choice.why != why)
        fail_msg("%s (%s), expected %s (%s)", choice.route ? choice.route->name : "nothing",
                 lac_why_text(choice.why), want->route.name, lac_why_text(why));
}

static void test_cheapest(void **state)
{
    (void)state;
    expect_route(choose(0.01, -1, NULL), &left, LAC_WHY_CHEAPEST);
    expect_route(choose(-1, 0.01, NULL), &right, LAC_WHY_CHEAPEST);
    expect_route(choose(0.02, 0.01, NULL), &right, LAC_WHY_CHEAPEST);
    expect_route(choose(0.2, -1, NULL), &other, LAC_WHY_CHEAPEST); /* 21, 7 */
    expect_route(choose(0.9, -1, NULL), &dense, LAC_WHY_CHEAPEST);
    expect_route(choose(-1, -1, NULL), &dense, LAC_WHY_CHEAPEST);
    lac_choice_t choice = choose(0.01, -1, NULL);
    assert_true(choice.cost_us == 2.0 && choice.dense_us == 10.0);
}

/* Our faster dense kernel serves beside a vendor's where it was measured to be faster, or is predicted to be
 * by more than the prediction's error; a sparse route has to beat it then. */
static void test_fast(void **state)
{
    (void)state;
    float factor[LAC_ROUTES_MAX] = {0};
    lac_preference_t measured = {.factor = factor};
    fast.refusal = LAC_FITS, fast.base = 9.0;
    expect_route(choose(-1, -1, NULL), &dense, LAC_WHY_CHEAPEST);
    factor[FAST] = 1.0f;
    expect_route(choose(-1, -1, &measured), &fast, LAC_WHY_CHEAPEST);
    factor[DENSE] = 1.0f; /* both known: by more than timing is wrong by, whoever served last */
    expect_route(choose(-1, -1, &measured), &fast, LAC_WHY_CHEAPEST);
    fast.base = 9.8;
    expect_route(choose(-1, -1, &measured), &dense, LAC_WHY_CHEAPEST);
    factor[FAST] = 0.0f; /* the vendor's known alone: by less than two predictions are wrong by */
    expect_route(choose(-1, -1, &measured), &dense, LAC_WHY_CHEAPEST);
    fast.base = 9.0;
    expect_route(choose(-1, -1, &measured), &fast, LAC_WHY_CHEAPEST);
    factor[FAST] = 1.0f, fast.base = 9.8;
    measured.incumbent = (const lac_route_t *)&fast, measured.hysteresis = 0.1;
    expect_route(choose(-1, -1, &measured), &dense, LAC_WHY_CHEAPEST);
    measured.incumbent = NULL, factor[DENSE] = 0.0f, fast.base = 9.0;
    factor[FAST] = 1.2f;
    expect_route(choose(-1, -1, &measured), &dense, LAC_WHY_CHEAPEST);
    fast.base = 8.0;
    expect_route(choose(-1, -1, NULL), &fast, LAC_WHY_CHEAPEST);
    fast.base = 3.0;
    expect_route(choose(0.03, -1, NULL), &fast, LAC_WHY_CHEAPEST); /* 4 by the sparse one */
    assert_true(choose(0.01, -1, NULL).dense_us == 3.0);
    dense.refusal = LAC_REFUSED_NO_BLAS, fast.base = 39.0;
    expect_route(choose(-1, -1, NULL), &fast, LAC_WHY_CHEAPEST);
}

/* Where our dense kernel serves and nothing is known, a route that finds out on the device serves in its
 * place, if that is wanted and predicted to gain; never otherwise but by name. */
static void test_on_device(void **state)
{
    (void)state;
    static const lac_machine_t machine;
    lac_preference_t wanted = {.on_device = true}, named = {.forced = "either"};
    lac_problem_t p = {.m = 1, .n = 1, .k = 1};
    lac_decision_t record;
    expect_route(choose(-1, -1, &wanted), &dense, LAC_WHY_CHEAPEST);
    fast.refusal = LAC_FITS, fast.base = 8.0;
    expect_route(choose(-1, -1, NULL), &fast, LAC_WHY_CHEAPEST);
    lac_choice_t choice = choose(-1, -1, &wanted);
    expect_route(choice, &either, LAC_WHY_ON_DEVICE);
    assert_true(choice.row == EITHER && choice.cost_us == 5.0 && choice.dense_us == 8.0);
    expect_route(choose(0.9, -1, &wanted), &fast, LAC_WHY_CHEAPEST);
    expect_route(choose(-1, 0.9, &wanted), &fast, LAC_WHY_CHEAPEST);
    p.a.density = p.b.density = -1.0;
    lac_select_record(table, COUNT, &p, &machine, &choice, &record);
    assert_string_equal(record.reason, "decided on the device");
    assert_true(record.break_even > 0.249 && record.break_even <= 0.25);
    choice = choose(-1, -1, NULL);
    lac_select_record(table, COUNT, &p, &machine, &choice, &record);
    assert_true(record.break_even < 0.0);
    either.base = 8.0;
    expect_route(choose(-1, -1, &wanted), &fast, LAC_WHY_CHEAPEST);
    either.base = 5.0, dense.base = 9.0, fast.base = 7.0; /* 9 of a full operand */
    expect_route(choose(-1, -1, &wanted), &fast, LAC_WHY_CHEAPEST);
    dense.base = 10.0;
    expect_route(choose(-1, -1, &wanted), &either, LAC_WHY_ON_DEVICE);
    either.base = 5.0, either.refusal = LAC_REFUSED_W_ALIGNMENT;
    expect_route(choose(-1, -1, &wanted), &fast, LAC_WHY_CHEAPEST);
    either.refusal = LAC_FITS;
    expect_route(choose(0.01, -1, &named), &either, LAC_WHY_FORCED);
}

/* Where nothing is known of an operand: a route that finds its zeros in every run, if a full one is known to
 * cost no more than is promised beside the vendor's product, and it is wanted. */
static void test_full_row(void **state)
{
    (void)state;
    static const lac_machine_t machine;
    lac_preference_t wanted = {.on_device = true}, counted = {.on_device = true, .counted_density = 0.05};
    for (int on_right = 0; on_right < 2; on_right++) {
        fake_t *route = on_right ? &right_finds : &left_finds;
        lac_problem_t p = {.m = on_right ? 2 : 1, .n = on_right ? 1 : 2, .k = 1, .dt = LAC_BF16};
        lac_operand_t *x = on_right ? &p.b : &p.a;
        p.a.dt = p.b.dt = LAC_BF16;
        p.a.density = p.b.density = -1.0;
        left_finds.refusal = right_finds.refusal = LAC_REFUSED_INDEX_RANGE;
        route->refusal = LAC_FITS;
        route->base = 1.5, route->slope = 10.0; /* 11.5 of a full one, 10 by the vendor */
        lac_choice_t choice = lac_select(finding, FINDING, &p, &machine, &wanted);
        expect_route(choice, route, LAC_WHY_ON_DEVICE);
        assert_true(choice.cost_us == 0.5 * (1.6 + 11.5) && choice.dense_us == 10.0);
        assert_true(lac_select(finding, FINDING, &p, &machine, &counted).cost_us == 2.0);
        lac_problem_t settled = p;
        lac_select_settle(&choice, &settled);
        assert_true((on_right ? settled.b : settled.a).density == 1.0);
        assert_true((on_right ? settled.a : settled.b).density == -1.0);
        route->base = 1.6; /* beyond what is promised */
        choice = lac_select(finding, FINDING, &p, &machine, &wanted);
        expect_route(choice, &dense, LAC_WHY_ONLY);
        lac_select_settle(&choice, &settled);
        assert_true((on_right ? settled.a : settled.b).density == -1.0);
        dense.base = 100.0, route->base = 91.9; /* 2 % of it */
        choice = lac_select(finding, FINDING, &p, &machine, &wanted);
        expect_route(choice, route, LAC_WHY_ON_DEVICE);
        route->base = 92.1;
        expect_route(lac_select(finding, FINDING, &p, &machine, &wanted), &dense, LAC_WHY_ONLY);
        dense.base = 10.0, route->base = 1.0;
        static const lac_preference_t none;
        expect_route(lac_select(finding, FINDING, &p, &machine, &none), &dense, LAC_WHY_ONLY);
        route->route.traits = 0; /* it may be wrong when it is replayed */
        expect_route(lac_select(finding, FINDING, &p, &machine, &wanted), &dense, LAC_WHY_ONLY);
        route->route.traits = LAC_ROUTE_FINDS_ZEROS, route->unmeasured = true;
        expect_route(lac_select(finding, FINDING, &p, &machine, &wanted), &dense, LAC_WHY_ONLY);
        route->unmeasured = false;
        x->density = 0.95; /* it is known: by costs */
        expect_route(lac_select(finding, FINDING, &p, &machine, &wanted), &dense, LAC_WHY_CHEAPEST);
        x->density = -1.0, route->refusal = LAC_REFUSED_W_ALIGNMENT;
        expect_route(lac_select(finding, FINDING, &p, &machine, &wanted), &dense, LAC_WHY_ONLY);
    }
}

static void test_only(void **state)
{
    (void)state;
    dense.refusal = LAC_REFUSED_NO_BLAS;
    expect_route(choose(-1, -1, NULL), &native, LAC_WHY_ONLY);
    assert_true(choose(0.01, -1, NULL).dense_us == 40.0);
    native.refusal = LAC_REFUSED_TRIVIAL;
    lac_choice_t nothing = choose(-1, -1, NULL);
    assert_null(nothing.route);
    assert_true(nothing.dense_us < 0 && nothing.cost_us < 0);
}

static void test_ties_go_to_the_first(void **state)
{
    (void)state;
    expect_route(choose(0.01, 0.01, NULL), &left, LAC_WHY_CHEAPEST);
    dense.base = 40.0;
    expect_route(choose(-1, -1, NULL), &dense, LAC_WHY_CHEAPEST);
}

static void test_native_stands_back_until_measured(void **state)
{
    (void)state;
    float factor[COUNT] = {0};
    lac_preference_t preference = {.factor = factor};
    dense.base = 50.0; /* native costs 40 */
    expect_route(choose(-1, -1, NULL), &dense, LAC_WHY_CHEAPEST);
    expect_route(choose(-1, -1, &preference), &dense, LAC_WHY_CHEAPEST);
    factor[NATIVE] = 1.0f;
    expect_route(choose(-1, -1, &preference), &native, LAC_WHY_CHEAPEST);
    factor[NATIVE] = 1.5f;
    expect_route(choose(-1, -1, &preference), &dense, LAC_WHY_CHEAPEST);
}

static void test_bias_is_for_dense(void **state)
{
    (void)state;
    lac_preference_t preference = {.sparse_margin = 0.5};
    expect_route(choose(0.055, -1, NULL), &other, LAC_WHY_CHEAPEST);        /* 6.5, 5.55 against 10 */
    expect_route(choose(0.055, -1, &preference), &other, LAC_WHY_CHEAPEST); /* 8.3 */
    expect_route(choose(0.2, -1, &preference), &dense, LAC_WHY_CHEAPEST);   /* 7 becomes 10.5 */
    preference.sparse_margin = 10.0 / 7.0 - 1.0;
    assert_true(choose(0.2, -1, &preference).cost_us > 0.0); /* the reported cost is without the margin */
    preference.sparse_margin = 0.1;
    assert_true(choose(0.2, -1, &preference).cost_us == 7.0);
}

static void test_hysteresis_is_for_the_incumbent(void **state)
{
    (void)state;
    lac_preference_t sparse = {.incumbent = &other.route, .hysteresis = 0.1},
                     vendor = {.incumbent = &dense.route, .hysteresis = 0.1};
    expect_route(choose(0.55, -1, NULL), &dense, LAC_WHY_CHEAPEST);    /* 10.5 against 10 */
    expect_route(choose(0.55, -1, &sparse), &other, LAC_WHY_CHEAPEST); /* 9.45 */
    expect_route(choose(0.62, -1, &sparse), &dense, LAC_WHY_CHEAPEST); /* 10.08 */
    expect_route(choose(0.45, -1, NULL), &other, LAC_WHY_CHEAPEST);    /* 9.5 against 10 */
    expect_route(choose(0.45, -1, &vendor), &dense, LAC_WHY_CHEAPEST); /* against 9 */
    expect_route(choose(0.35, -1, &vendor), &other, LAC_WHY_CHEAPEST); /* 8.5 */
    /* No density flips back and forth: what one side has won it keeps. */
    for (double d = 0.0; d <= 1.0; d += 0.01) {
        lac_preference_t stay = {.incumbent = choose(d, -1, NULL).route, .hysteresis = 0.1};
        assert_ptr_equal(choose(d, -1, &stay).route, stay.incumbent);
    }
}

/* What was measured to be slower than the vendor's product does not stay, though it served last; what is as
 * fast does, bias or not. */
static void test_hysteresis_ends_where_the_vendor_was_measured(void **state)
{
    (void)state;
    float factor[COUNT] = {0};
    lac_preference_t stay = {
        .incumbent = &other.route, .hysteresis = 0.1, .sparse_margin = 0.05, .factor = factor};
    expect_route(choose(0.55, -1, &stay), &other, LAC_WHY_CHEAPEST); /* 10.5 counts for 9.9 against 10 */
    factor[DENSE] = 1.0f;
    expect_route(choose(0.55, -1, &stay), &dense, LAC_WHY_CHEAPEST);
    expect_route(choose(0.49, -1, &stay), &other, LAC_WHY_CHEAPEST); /* 9.9 */
    stay.incumbent = &dense.route;
    expect_route(choose(0.49, -1, &stay), &dense, LAC_WHY_CHEAPEST); /* 10.4 against 9 */
    expect_route(choose(0.35, -1, &stay), &other, LAC_WHY_CHEAPEST); /* 8.9 */
}

static bool always(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route, (void)p;
    return true;
}

/* A pass behind the product counts for those that leave one to be done. */
static void test_epilogue_counts(void **state)
{
    (void)state;
    static const lac_machine_t machine;
    static const lac_preference_t none;
    lac_problem_t p = {.m = 1, .n = 1, .k = 1, .account.epilogue_us = 3.0};
    p.a.density = 0.7, p.b.density = -1.0;
    other.route.fuses_epilogue = always;
    expect_route(lac_select(table, COUNT, &p, &machine, &none), &dense, LAC_WHY_CHEAPEST); /* 12 against 10 */
    p.epilogue.any = true;
    lac_choice_t choice = lac_select(table, COUNT, &p, &machine, &none); /* against 13 */
    expect_route(choice, &other, LAC_WHY_CHEAPEST);
    assert_true(choice.cost_us == 12.0 && choice.dense_us == 13.0);
    assert_true(lac_route_fuses_epilogue(&other.route, &p) && !lac_route_fuses_epilogue(&dense.route, &p));
    other.route.fuses_epilogue = NULL;
    expect_route(lac_select(table, COUNT, &p, &machine, &none), &dense, LAC_WHY_CHEAPEST);
}

static void test_forced(void **state)
{
    (void)state;
    lac_preference_t one = {.forced = "one"}, truth = {.forced = "truth"}, unknown = {.forced = "three"};
    expect_route(choose(0.9, 0.8, &one), &right, LAC_WHY_FORCED); /* the cheaper of its sides */
    expect_route(choose(0.9, -1, &one), &left, LAC_WHY_FORCED);
    assert_true(choose(0.9, -1, &one).dense_us == 10.0);
    expect_route(choose(-1, -1, &truth), &oracle, LAC_WHY_FORCED);
    expect_route(choose(-1, -1, &one), &dense, LAC_WHY_UNFIT);
    expect_route(choose(0.01, -1, &unknown), &left, LAC_WHY_UNFIT);
    left.refusal = right.refusal = LAC_REFUSED_STRICT_NAN;
    expect_route(choose(0.2, 0.2, &one), &other, LAC_WHY_UNFIT);
}

static void test_oracle_is_never_free(void **state)
{
    (void)state;
    for (double d = -1.0; d <= 1.0; d += 0.1) assert_ptr_not_equal(choose(d, d, NULL).route, &oracle.route);
    lac_preference_t incumbent = {.incumbent = &oracle.route, .hysteresis = 0.99};
    assert_ptr_not_equal(choose(0.5, 0.5, &incumbent).route, &oracle.route);
    assert_true(choose(0.5, 0.5, NULL).dense_us == 10.0);
}

static void test_record(void **state)
{
    (void)state;
    static const lac_machine_t machine;
    lac_decision_t record;
    lac_problem_t p = {.m = 1, .n = 1, .k = 1};
    p.a.density = 0.01, p.a.known = LAC_KNOWN_SCANNED, p.b.density = -1.0;
    lac_choice_t choice = choose(0.01, -1, NULL);
    lac_select_record(table, COUNT, &p, &machine, &choice, &record);
    assert_string_equal(record.route, "one");
    assert_string_equal(record.side, "left");
    assert_string_equal(record.known, "scanned");
    assert_true(record.density == 0.01 && record.cost_us == 2.0 && record.dense_us == 10.0);
    assert_int_equal(record.count, COUNT);
    for (int i = 0; i < COUNT; i++) { /* each has a cost or a reason, never both */
        const lac_candidate_t *line = &record.candidate[i];
        assert_string_equal(line->route, table[i]->name);
        assert_true((line->refusal != NULL) == (line->cost_us < 0));
    }
    assert_string_equal(record.candidate[1].refusal, lac_refusal_text(LAC_REFUSED_DENSITY_UNKNOWN));
    assert_int_equal(record.candidate[2].bytes, 5);
}

static void test_long_tables_are_cut(void **state)
{
    (void)state;
    static const lac_machine_t machine;
    const lac_route_t *many[LAC_CANDIDATES_MAX + 5];
    static const lac_preference_t none;
    lac_decision_t record;
    lac_problem_t p = {.m = 1, .n = 1, .k = 1};
    for (int i = 0; i < LAC_CANDIDATES_MAX + 5; i++) many[i] = &dense.route;
    lac_choice_t choice = lac_select(many, LAC_CANDIDATES_MAX + 5, &p, &machine, &none);
    lac_select_record(many, LAC_CANDIDATES_MAX + 5, &p, &machine, &choice, &record);
    assert_int_equal(record.count, LAC_CANDIDATES_MAX);
}

/* What a site learned of a table's rows, and the array that lies behind it there. */
static void test_rows_beyond_the_last_are_not_measured(void **state)
{
    (void)state;
    static const lac_machine_t machine;
    struct {
        float factor[LAC_ROUTES_MAX], behind[4];
    } site = {.behind = {100.0f, 100.0f, 0.001f, 100.0f}};
    const lac_route_t *many[LAC_ROUTES_MAX + 4];
    lac_preference_t preference = {.factor = site.factor};
    lac_problem_t p = {.m = 1, .n = 1, .k = 1};
    p.a.density = 0.5, p.b.density = -1.0;
    for (int i = 0; i < LAC_ROUTES_MAX; i++) many[i] = &oracle.route; /* none of them unless it is forced */
    many[LAC_ROUTES_MAX] = &dense.route;
    many[LAC_ROUTES_MAX + 1] = &left.route;
    many[LAC_ROUTES_MAX + 2] = &native.route; /* beside the vendor's only where it was seen to be faster */
    many[LAC_ROUTES_MAX + 3] = &other.route;
    lac_choice_t choice = lac_select(many, LAC_ROUTES_MAX + 4, &p, &machine, &preference);
    assert_ptr_equal(choice.route, &dense.route);
    assert_true(choice.cost_us == 10.0 && choice.dense_us == 10.0);
    double free_of_it =
        lac_break_even(many, LAC_ROUTES_MAX + 4, &p, &machine, site.factor, LAC_SIDE_LEFT, 11.0);
    assert_true(free_of_it > 0.598 && free_of_it <= 0.6);
}

static double break_even(lac_side_t side, double than)
{
    static const lac_machine_t machine;
    lac_problem_t p = {.m = 1, .n = 1, .k = 1};
    p.a.density = p.b.density = -1.0;
    double d = lac_break_even(table, COUNT, &p, &machine, NULL, side, than);
    assert_true(p.a.density == -1.0 && p.b.density == -1.0); /* tried on a copy */
    return d;
}

static void test_break_even(void **state)
{
    (void)state;
    assert_true(break_even(LAC_SIDE_LEFT, 0.5) == 0.0);  /* never */
    assert_true(break_even(LAC_SIDE_LEFT, 16.0) == 1.0); /* always: the second route costs 15 at most */
    double right_side = break_even(LAC_SIDE_RIGHT, 11.0), left_side = break_even(LAC_SIDE_LEFT, 11.0);
    assert_true(right_side > 0.098 && right_side <= 0.1);
    assert_true(left_side > 0.598 && left_side <= 0.6);
    double last = 0.0;
    for (double than = 0.0; than < 120.0; than += 0.25) {
        double d = break_even(LAC_SIDE_RIGHT, than);
        if (d < last) fail_msg("break-even falls from %g to %g at %g us", last, d, than);
        assert_true(d >= 0.0 && d <= 1.0);
        last = d;
    }
    assert_true(last == 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_cheapest, reset),
        cmocka_unit_test_setup(test_fast, reset),
        cmocka_unit_test_setup(test_on_device, reset),
        cmocka_unit_test_setup(test_full_row, reset),
        cmocka_unit_test_setup(test_only, reset),
        cmocka_unit_test_setup(test_ties_go_to_the_first, reset),
        cmocka_unit_test_setup(test_native_stands_back_until_measured, reset),
        cmocka_unit_test_setup(test_bias_is_for_dense, reset),
        cmocka_unit_test_setup(test_hysteresis_is_for_the_incumbent, reset),
        cmocka_unit_test_setup(test_hysteresis_ends_where_the_vendor_was_measured, reset),
        cmocka_unit_test_setup(test_epilogue_counts, reset),
        cmocka_unit_test_setup(test_forced, reset),
        cmocka_unit_test_setup(test_oracle_is_never_free, reset),
        cmocka_unit_test_setup(test_record, reset),
        cmocka_unit_test_setup(test_rows_beyond_the_last_are_not_measured, reset),
        cmocka_unit_test_setup(test_long_tables_are_cut, reset),
        cmocka_unit_test_setup(test_break_even, reset)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The site table: what makes a site, that it is bounded, who has to go, and the back-off. */
#include "unit_support.h"
#include "planner/site.h"

#include <string.h>

static lac_site_key_t key_of(int64_t n)
{
    return (lac_site_key_t){.m = 3, .n = n, .k = 5, .ars = 5, .acs = 1, .brs = n, .bcs = 1};
}

static void test_same_key(void **state)
{
    (void)state;
    lac_sites_t sites = {0};
    bool fresh;
    lac_site_key_t base = key_of(7);
    lac_site_t *first = lac_site_find(&sites, &base, &fresh);
    assert_non_null(first);
    assert_true(fresh && first->left.density < 0 && first->right.density < 0 && !first->route &&
                !first->calls);
    first->calls = 42;
    assert_ptr_equal(lac_site_find(&sites, &base, &fresh), first);
    assert_false(fresh);
    lac_site_key_t others[10];
    int64_t *fields[] = {&others[0].m,   &others[1].n,   &others[2].k,  &others[3].ars,
                         &others[4].acs, &others[5].brs, &others[6].bcs};
    for (int i = 0; i < 10; i++) others[i] = base;
    for (int i = 0; i < 7; i++) ++*fields[i];
    others[7].caller = &sites;
    others[8].types = 1;
    others[9].types = 8;
    for (int i = 0; i < 10; i++) {
        lac_site_t *site = lac_site_find(&sites, &others[i], &fresh);
        if (!fresh || site->calls == 42) fail_msg("field %d does not tell sites apart", i);
    }
    lac_sites_free(&sites);
    assert_int_equal(sites.count, 0);
}

static uint64_t evicted_calls;

static void count_evicted(void *arg, const lac_site_t *site)
{
    assert_ptr_equal(arg, &evicted_calls);
    evicted_calls += site->calls;
}

/* The table grows with the sites there are, up to its bound; from there on each new one takes the room of one
 * that is reported, and every site that is left is found, by its key and by its id. */
static void test_grows_and_is_bounded(void **state)
{
    enum { ALL = 3 * LAC_SITES_MAX };
    (void)state;
    lac_sites_t sites = {.on_evict = count_evicted, .evict_arg = &evicted_calls};
    bool fresh;
    uint64_t all_calls = 0, kept_calls = 0;
    evicted_calls = 0;
    for (int64_t n = 1; n <= ALL; n++) {
        lac_site_key_t key = key_of(n);
        lac_site_t *site = lac_site_find(&sites, &key, &fresh);
        assert_true(fresh);
        all_calls += site->calls = (uint64_t)n;
        assert_int_equal(sites.count, n < LAC_SITES_MAX ? n : LAC_SITES_MAX);
        assert_int_equal(sites.evicted, n < LAC_SITES_MAX ? 0 : n - LAC_SITES_MAX);
        assert_true(2 * sites.count <= sites.index_size);
        assert_ptr_equal(lac_site_numbered(&sites, site->id), site);
    }
    for (uint32_t i = 0; i < sites.count; i++) {
        const lac_site_t *site = lac_site_at(&sites, i);
        kept_calls += site->calls;
        assert_ptr_equal(lac_site_peek(&sites, &site->key), site);
        assert_ptr_equal(lac_site_numbered(&sites, site->id), site);
    }
    assert_int_equal(kept_calls + evicted_calls, all_calls);
    assert_true(lac_sites_bytes(&sites) > 100 * sizeof(lac_site_t));
    lac_sites_free(&sites);
    assert_int_equal(lac_sites_bytes(&sites), 0);
}

/* Sites that are called again stay, however many shapes come by once. */
static void test_sites_in_use_stay(void **state)
{
    enum { IN_USE = 100, BETWEEN = 1000 };
    (void)state;
    lac_sites_t sites = {0};
    bool fresh;
    for (int64_t n = 1; n <= IN_USE; n++) {
        lac_site_key_t key = key_of(n);
        lac_site_find(&sites, &key, &fresh);
    }
    for (int64_t n = IN_USE + 1; n <= 5 * LAC_SITES_MAX; n++) {
        lac_site_key_t key = key_of(n);
        lac_site_find(&sites, &key, &fresh);
        for (int64_t used = 1; n % BETWEEN == 0 && used <= IN_USE; used++) {
            key = key_of(used);
            assert_non_null(lac_site_known(&sites, &key));
        }
    }
    assert_int_equal(sites.evicted, 4 * LAC_SITES_MAX);
    lac_sites_free(&sites);
}

/* An id of a site that was evicted names nobody, though its slot is in use again. */
static void test_ids_end(void **state)
{
    (void)state;
    lac_sites_t sites = {0};
    bool fresh;
    uint64_t first[LAC_SITES_MAX];
    for (int64_t n = 0; n < LAC_SITES_MAX; n++) {
        lac_site_key_t key = key_of(n + 1);
        first[n] = lac_site_find(&sites, &key, &fresh)->id;
    }
    for (int64_t n = 0; n < 2 * LAC_SITES_MAX; n++) {
        lac_site_key_t key = key_of(LAC_SITES_MAX + n + 1);
        lac_site_find(&sites, &key, &fresh);
    }
    for (int n = 0; n < LAC_SITES_MAX; n++) assert_null(lac_site_numbered(&sites, first[n]));
    lac_sites_free(&sites);
}

/* Sparse and dense data in turns make a site whose every call is probed; data that stay alike end that. */
static void test_states(void **state)
{
    (void)state;
    lac_site_t site = {0};
    assert_int_equal(lac_site_next(&site, LAC_SITE_COMPARED, true, 1), LAC_SITE_DENSE);
    assert_int_equal(lac_site_next(&site, LAC_SITE_NOT_PAYING, true, 1), LAC_SITE_DENSE);
    assert_int_equal(lac_site_next(&site, LAC_SITE_SERVED, true, 1), LAC_SITE_SPARSE);
    assert_int_equal(lac_site_next(&site, LAC_SITE_GAVE_UP, true, 1), LAC_SITE_DENSE);
    assert_int_equal(lac_site_next(&site, LAC_SITE_SERVED, true, 1), LAC_SITE_SPARSE);
    assert_int_equal(lac_site_next(&site, LAC_SITE_GAVE_UP, true, 1), LAC_SITE_PROBED);
    assert_int_equal(lac_site_next(&site, LAC_SITE_SERVED, true, 1), LAC_SITE_PROBED);
    assert_int_equal(lac_site_next(&site, LAC_SITE_NOT_PAYING, true, 1), LAC_SITE_PROBED);
    assert_int_equal(lac_site_next(&site, LAC_SITE_SERVED, false, 1),
                     LAC_SITE_SPARSE); /* a probe costs too much */
    assert_int_equal(lac_site_next(&site, LAC_SITE_NOT_PAYING, true, 1), LAC_SITE_PROBED);
    int calls = 0;
    while (lac_site_next(&site, LAC_SITE_SERVED, true, 1) == LAC_SITE_PROBED && calls < 1000) calls++;
    assert_in_range(calls, 30, 100);
    assert_int_equal(site.state, LAC_SITE_SPARSE);
    assert_int_equal(lac_site_next(&site, LAC_SITE_LOST, true, 1), LAC_SITE_DENSE);
    assert_int_equal(lac_site_next(&site, LAC_SITE_PROMISES, false, 1), LAC_SITE_DENSE);
    assert_int_equal(lac_site_next(&site, LAC_SITE_PROMISES, true, 1), LAC_SITE_PROBED);
    for (calls = 0; lac_site_next(&site, LAC_SITE_PROMISES, true, 1) == LAC_SITE_PROBED && calls < 1000;)
        calls++;
    assert_in_range(calls, 30, 100); /* what promises and never delivers is left alone */
}

/* What never delivers is probed less and less often, though each probe promises anew. */
static void test_promises_wear_off(void **state)
{
    (void)state;
    lac_site_t site = {0};
    int probes = 0;
    lac_site_next(&site, LAC_SITE_COMPARED, true, 2);
    for (int call = 0; call < 100000; call++) {
        if (site.countdown > 0 && site.countdown--) continue;
        lac_site_next(&site, LAC_SITE_PROMISES, true, 2);
        probes += call >= 50000;
    }
    assert_in_range(probes, 1000, 50000 / 10);
    lac_site_next(&site, LAC_SITE_SERVED, true, 2);
    lac_site_next(&site, LAC_SITE_PROMISES, true, 2);
    assert_true(site.state == LAC_SITE_PROBED && site.wait == 1); /* it did deliver */
}

/* A site that is in use stays, whatever else comes and goes. */
static void test_hot_sites_stay(void **state)
{
    (void)state;
    lac_sites_t sites = {0};
    bool fresh;
    lac_site_key_t hot = key_of(1000000);
    lac_site_find(&sites, &hot, &fresh)->calls = 1;
    for (int64_t n = 1; n <= 20000; n++) {
        lac_site_key_t key = key_of(n);
        lac_site_find(&sites, &key, &fresh);
        lac_site_t *site = lac_site_find(&sites, &hot, &fresh);
        if (fresh) fail_msg("the hot site was evicted after %d others", (int)n);
        assert_int_equal(site->calls++, n);
    }
    lac_sites_free(&sites);
}

/* Each probe in vain doubles the wait for the next, between the least that pays and a bound. */
static void test_back_off(void **state)
{
    (void)state;
    lac_site_t site = {0};
    static const unsigned wanted[] = {60, 120, 240, 480, 960, LAC_SITE_WAIT_MAX, LAC_SITE_WAIT_MAX};
    for (int i = 0; i < 7; i++) {
        assert_int_equal(lac_site_next(&site, LAC_SITE_NOT_PAYING, true, 60), LAC_SITE_DENSE);
        assert_int_equal(site.wait, wanted[i]);
        assert_int_equal(site.countdown, wanted[i]);
    }
    lac_site_next(&site, LAC_SITE_NOT_PAYING, true, 2 * LAC_SITE_WAIT_MAX); /* a least beyond the bound */
    assert_int_equal(site.wait, LAC_SITE_WAIT_MAX);
    site.wait = 1;
    lac_site_next(&site, LAC_SITE_NOT_PAYING, true, 60); /* a new least */
    assert_int_equal(site.wait, 60);
    lac_site_next(&site, LAC_SITE_PROMISES, false, 7); /* another probe soon, as nothing was in vain */
    assert_true(site.wait == 7 && site.countdown == 7);
    lac_site_next(&site, LAC_SITE_SERVED, true, 60);
    assert_true(site.wait == 0 && site.countdown == 0);
    lac_site_next(&site, LAC_SITE_GAVE_UP, true, 60); /* the next call but one */
    assert_true(site.wait == 1 && site.countdown == 1);
    lac_site_next(&site, LAC_SITE_LOST, true, 60); /* the next call probes */
    assert_true(site.wait == 0 && site.countdown == 0);
    lac_site_next(&site, LAC_SITE_PROMISES, true, 60); /* every call does */
    assert_true(site.state == LAC_SITE_PROBED && site.countdown == 0);
}

/* How long sparse routes have served is counted from the first call of a run, whatever ended the run before.
 */
static void test_serving_is_counted(void **state)
{
    (void)state;
    static const lac_site_event_t ends[] = {LAC_SITE_PROMISES, LAC_SITE_NOT_PAYING, LAC_SITE_GAVE_UP,
                                            LAC_SITE_LOST};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        lac_site_t site = {.calls = 100};
        lac_site_next(&site, LAC_SITE_SERVED, true, 1);
        site.calls = 300;
        lac_site_next(&site, LAC_SITE_SERVED, true, 1);
        assert_int_equal(site.sparse_from, 100);
        lac_site_next(&site, ends[i], true, 1);
        assert_int_equal(site.sparse_from, 0);
        site.calls = 5000;
        lac_site_next(&site, LAC_SITE_SERVED, true, 1);
        assert_int_equal(site.sparse_from, 5000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_key),
                                       cmocka_unit_test(test_grows_and_is_bounded),
                                       cmocka_unit_test(test_sites_in_use_stay),
                                       cmocka_unit_test(test_ids_end),
                                       cmocka_unit_test(test_states),
                                       cmocka_unit_test(test_promises_wear_off),
                                       cmocka_unit_test(test_hot_sites_stay),
                                       cmocka_unit_test(test_back_off),
                                       cmocka_unit_test(test_serving_is_counted)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

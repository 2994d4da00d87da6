/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The site table: what makes a site, that it is bounded, who has to go, and the back-off. */
#include "unit_support.h"
#include "dispatch/site.h"

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
    assert_null(sites.place);
}

static void test_bounded(void **state)
{
    (void)state;
    lac_sites_t sites = {0};
    bool fresh;
    for (int64_t n = 1; n <= 5000; n++) {
        lac_site_key_t key = key_of(n);
        lac_site_t *site = lac_site_find(&sites, &key, &fresh);
        assert_true(fresh);
        assert_in_range(site - sites.place, 0, LAC_SITES - 1);
        site->calls = (uint64_t)n;
    }
    assert_true(sites.evicted >= 5000 - LAC_SITES);
    int kept = 0;
    for (int i = 0; i < LAC_SITES; i++) kept += sites.place[i].stamp != 0;
    assert_int_equal(kept + (int)sites.evicted, 5000);
    assert_true(kept > LAC_SITES * 9 / 10); /* the hash spreads shapes that differ in one extent */
    lac_sites_free(&sites);
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

static void test_back_off(void **state)
{
    (void)state;
    lac_site_t site = {0};
    unsigned wanted[] = {3, 6, 12, 24, 48, 50, 50};
    for (int i = 0; i < 7; i++) {
        lac_site_back_off(&site, 3, 50);
        assert_int_equal(site.wait, wanted[i]);
        assert_int_equal(site.countdown, wanted[i]);
    }
    lac_site_back_off(&site, 60, 100); /* a new least */
    assert_int_equal(site.wait, 100);
    site.wait = 1;
    lac_site_back_off(&site, 60, 100);
    assert_int_equal(site.wait, 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_key), cmocka_unit_test(test_bounded),
                                       cmocka_unit_test(test_hot_sites_stay),
                                       cmocka_unit_test(test_back_off)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

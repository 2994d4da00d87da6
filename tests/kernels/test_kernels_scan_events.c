/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * scan_events: the same list as plain loops make, for every layout, element type and cut; capacity is kept.
 */
#include "kernel_case.h"

#include <stdlib.h>
#include <string.h>

static lac_events_t empty_events(int64_t capacity)
{
    lac_events_t ev = {.capacity = capacity};
    ev.first = malloc((size_t)(capacity + 1) * sizeof *ev.first);
    ev.k = malloc((size_t)capacity * sizeof *ev.k + 1);
    ev.row = malloc((size_t)capacity * sizeof *ev.row + 1);
    ev.val = malloc((size_t)capacity * sizeof(real_t) + 1);
    assert_true(ev.first && ev.k && ev.row && ev.val);
    ev.first[0] = 0;
    return ev;
}

static void drop_events(lac_events_t *ev)
{
    free(ev->first);
    free(ev->k);
    free(ev->row);
    free(ev->val);
}

static bool same_events(const lac_events_t *a, const lac_events_t *b)
{
    return a->active == b->active && a->count == b->count &&
           memcmp(a->first, b->first, (size_t)(a->active + 1) * sizeof *a->first) == 0 &&
           memcmp(a->k, b->k, (size_t)a->active * sizeof *a->k) == 0 &&
           memcmp(a->row, b->row, (size_t)a->count * sizeof *a->row) == 0 &&
           memcmp(a->val, b->val, (size_t)a->count * sizeof(real_t)) == 0;
}

/* u8: events of any nonzero byte, of value 1. */
static uint8_t *bytes_of(const real_t *s, int64_t count)
{
    uint8_t *b = malloc((size_t)count + 1);
    assert_non_null(b);
    for (int64_t p = 0; p < count; p++) b[p] = s[p] != 0 ? (uint8_t)(1 + p % 255) : 0;
    return b;
}

static bool scan(const lac_host_kernels_t *k, const void *s, bool bytes, int64_t m, int64_t k0, int64_t k1,
                 int64_t rs, int64_t cs, lac_events_t *ev)
{
    return (bytes ? &k->scan_u8 : &k->scan)->events(s, m, k0, k1, rs, cs, ev);
}

static void check_layout(const lac_host_kernels_t *k, const kernel_case_t *c, const lac_events_t *want,
                         const void *s, bool bytes, int64_t rs, int64_t cs)
{
    lac_events_t ev = empty_events(want->count);
    int64_t a = c->kk / 3;
    bool fits = scan(k, s, bytes, c->m, 0, a, rs, cs, &ev) && scan(k, s, bytes, c->m, a, a, rs, cs, &ev) &&
                scan(k, s, bytes, c->m, a, c->kk, rs, cs, &ev);
    if (!fits || !same_events(&ev, want))
        fail_msg("scan_events: %s %s %lldx%lld strides %lld %lld density %g seed %llu: %s", k->isa,
                 bytes ? "u8" : "f32", (long long)c->m, (long long)c->kk, (long long)rs, (long long)cs,
                 c->density, (unsigned long long)c->seed, fits ? "another list" : "does not fit");
    drop_events(&ev);
    if (want->count == 0) return;
    lac_events_t small = empty_events(want->count - 1);
    assert_false(scan(k, s, bytes, c->m, 0, c->kk, rs, cs, &small));
    drop_events(&small);
}

static void scan_case(const lac_host_kernels_t *k, kernel_case_t *c)
{
    const int64_t strides[][2] = {{c->kk, 1}, {c->kk + 5, 1}, {1, c->m}, {1, c->m + 3}, {2 * c->kk + 1, 2}};
    lac_events_t *want = case_events(c, 1);
    lac_events_t ones = *want;
    real_t *one = ones.val = malloc((size_t)want->count * sizeof *one + 1);
    assert_non_null(one);
    for (int64_t e = 0; e < want->count; e++) one[e] = 1;
    for (int l = 0; l < 5; l++) {
        int64_t rs = strides[l][0];
        int64_t cs = strides[l][1];
        int64_t extent = c->m && c->kk ? (c->m - 1) * rs + (c->kk - 1) * cs + 1 : 0;
        real_t *s = strided_copy(c->s, c->m, c->kk, rs, cs);
        uint8_t *b = bytes_of(s, extent);
        check_layout(k, c, want, s, false, rs, cs);
        check_layout(k, c, &ones, b, true, rs, cs);
        free(s);
        free(b);
    }
    free(ones.val);
    events_free(want, 1);
}

static void test_scan(void **state)
{
    (void)state;
    for_each_case(scan_case);
}

static void test_many_rows(void **state)
{
    const lac_host_kernels_t *k;
    (void)state;
    for (int isa = 0; (k = kernel_isa(isa)) != NULL; isa++)
        for (int64_t m = 1023; m <= 1025; m++) {
            kernel_case_t c = {k->isa, m, 150, 1, 0.03, 1, 0, 0, true, 3, 0, 0, 0, 0, 0, 0};
            case_build(&c);
            scan_case(k, &c);
            case_free(&c);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan),
        cmocka_unit_test(test_many_rows),
    };
    return cmocka_run_group_tests_name("kernels: scan_events", tests, NULL, NULL);
}

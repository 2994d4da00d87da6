/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One event list from every source, cut for any number of threads, and a limit that does not depend on the
 * cut. */
#include "unit_support.h"
#include "host/routes/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 5, K = 3000, EVERY = 7 };

typedef struct fixture {
    lac_exec_t exec;
    lac_machine_t machine;
    lac_ctx_t *ctx;
    float s[M * K], w[K];
    lac_obj_t a, b, c;
    lac_problem_t p;
    lac_sided_t sided;
    int64_t nnz;
} fixture_t;

static int setup(void **state)
{
    fixture_t *t = calloc(1, sizeof *t);
    static float out[M];
    t->ctx = unit_ctx();
    lac_machine_default(&t->machine);
    t->exec = (lac_exec_t){.kernels = {lac_host_kernels(LAC_HOST_F32)}, .machine = &t->machine};
    for (int i = 0; i < M * K; i++) t->s[i] = i % EVERY && i > K / 3 ? 0.0f : (float)(i + 1);
    for (int i = 0; i < M * K; i++) t->nnz += t->s[i] != 0;
    t->a = lac_obj_rowmajor(LAC_F32, M, K, t->s, K);
    t->b = lac_obj_rowmajor(LAC_F32, K, 1, t->w, 1);
    t->c = lac_obj_rowmajor(LAC_F32, M, 1, out, 1);
    unit_expect(lac_meta_create(&t->a.meta, M, K), LAC_OK, "create");
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    fixture_t *t = *state;
    for (int i = 0; i < LAC_WORK_COUNT; i++) lac_buffer_free(&t->exec.work[i]);
    lac_meta_free(t->a.meta);
    lac_ctx_free(t->ctx);
    free(t);
    return 0;
}

static bool gather(fixture_t *t, int threads, int64_t limit, lac_event_list_t *list)
{
    bool exceeded;
    lac_problem_describe(&t->p, 1.0f, &t->a, &t->b, 0.0f, &t->c);
    t->sided = lac_sided(&t->p, LAC_SIDE_LEFT);
    unit_expect(lac_events_gather(&t->exec, lac_kernels(&t->exec, LAC_F32), &t->sided, threads, limit, list,
                                  &exceeded),
                LAC_OK, "gather");
    return exceeded;
}

/* Every nonzero once, k ascending over all fragments, rows ascending within one k. */
static void expect_list(const fixture_t *t, const lac_event_list_t *list, const char *what)
{
    int64_t count = 0, active = 0, last = -1;
    for (int f = 0; f < list->fragments; f++) {
        const lac_events_t *ev = &list->fragment[f];
        for (int64_t x = 0; x < ev->active; x++) {
            int64_t k = ev->k[x], row = -1;
            if (k <= last || ev->first[x + 1] <= ev->first[x])
                fail_msg("%s: k %ld out of order", what, (long)k);
            for (int64_t e = ev->first[x]; e < ev->first[x + 1]; e++) {
                if (ev->row[e] <= row || ((const float *)ev->val)[e] != t->s[ev->row[e] * K + k])
                    fail_msg("%s: wrong event at k %ld", what, (long)k);
                row = ev->row[e];
                count++;
            }
            last = k;
            active++;
        }
    }
    if (count != t->nnz || list->count != count || list->active != active)
        fail_msg("%s: %ld events, expected %ld", what, (long)count, (long)t->nnz);
}

static void test_scan_for_any_threads(void **state)
{
    fixture_t *t = *state;
    lac_event_list_t list;
    for (int threads = 1; threads <= 80; threads += threads < 8 ? 1 : 24) {
        char what[32];
        snprintf(what, sizeof what, "%d threads", threads);
        assert_false(gather(t, threads, -1, &list));
        expect_list(t, &list, what);
    }
}

/* The answer is the operand's, however the nonzeros lie in the parts: here mostly in the first. */
static void test_limit(void **state)
{
    fixture_t *t = *state;
    lac_event_list_t list;
    const int64_t limits[] = {0, 1, 100, t->nnz / 2, t->nnz - 1, t->nnz, t->nnz + 1, M * K, 10 * M * K};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (int threads = 1; threads <= 6; threads++) {
            bool exceeded = gather(t, threads, limits[i], &list);
            if (exceeded != (t->nnz > limits[i]))
                fail_msg("limit %ld of %ld, %d threads", (long)limits[i], (long)t->nnz, threads);
            if (!exceeded) expect_list(t, &list, "within the limit");
        }
}

static void test_formats(void **state)
{
    static const struct {
        unsigned what;
        lac_event_source_t want;
    } cases[] = {{LAC_META_CSC, LAC_EVENTS_BY_K},
                 {LAC_META_CSR, LAC_EVENTS_BY_ROWS},
                 {LAC_META_ACTIVE, LAC_EVENTS_ACTIVE}};
    fixture_t *t = *state;
    lac_event_list_t list;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unit_expect(lac_meta_touch(t->a.meta), LAC_OK, "touch");
        t->a.buf = t->s;
        unit_expect(lac_meta_scan(t->ctx, &t->a, cases[i].what), LAC_OK, "scan");
        unit_expect(lac_meta_freeze(t->a.meta), LAC_OK, "freeze");
        t->a.buf = NULL;                      /* so that this format alone can serve */
        assert_false(gather(t, 2, 1, &list)); /* a format is not counted again: no limit */
        assert_int_equal(lac_event_source(&t->sided), cases[i].want);
        expect_list(t, &list, "a format");
    }
}

/* The list of a row that is a part of a longer one, beside its buffer: neither what lies outside is listed,
 * nor what is behind the list's length or its room. */
static void test_listed(void **state)
{
    enum { FIRST = 100 };
    fixture_t *t = *state;
    lac_event_list_t list;
    static uint8_t bytes[K];
    static int32_t idx[2 * K], count;
    int64_t within;
    memset(bytes, 0, sizeof bytes);
    count = 0, t->nnz = 0;
    for (int k = 0; k < FIRST; k += 34) idx[count++] = k;
    for (int k = 0; k < K; k++) {
        t->s[k] = k % EVERY == 2 ? 1.0f : 0.0f;
        if (t->s[k] != 0.0f) bytes[k] = (uint8_t)(1 + k % 250), idx[count++] = FIRST + k, t->nnz++;
    }
    within = count;
    for (int k = 0; k < 50; k++) idx[count++] = FIRST + K + 2 * k;
    for (int k = count; k < 2 * K; k++) idx[k] = FIRST; /* whatever lies there */
    lac_meta_t *meta;
    unit_expect(lac_meta_create(&meta, 1, K), LAC_OK, "create");
    lac_meta_free(t->a.meta);
    t->a = lac_obj_rowmajor(LAC_U8, 1, K, bytes, K), t->a.meta = meta, t->c.m = 1;
    const int64_t rooms[] = {2 * K, within, within - 2}; /* a length that leaves the room is cut */
    for (int r = 0; r < 3; r++) {
        unit_expect(lac_meta_attach_event_lists(meta, rooms[r], idx, &count, FIRST), LAC_OK, "lists");
        if (rooms[r] < within) t->nnz -= within - rooms[r];
        assert_false(gather(t, 3, -1, &list));
        assert_int_equal(lac_event_source(&t->sided), LAC_EVENTS_LISTED);
        expect_list(t, &list, "a list");
    }
    count = -1; /* no event */
    t->nnz = 0;
    assert_false(gather(t, 3, -1, &list));
    expect_list(t, &list, "none");
    unit_expect(lac_meta_touch(meta), LAC_OK, "touch");
    assert_false(gather(t, 3, -1, &list));
    assert_int_equal(lac_event_source(&t->sided), LAC_EVENTS_SCAN);
}

/* The same as bits, wherever they begin and end in a word. */
static void test_event_bits(void **state)
{
    static const int64_t cases[][2] = {{0, K},   {1, K},   {63, 130}, {64, 64},
                                       {70, 58}, {70, 59}, {5, 0},    {64, 0}};
    fixture_t *t = *state;
    lac_event_list_t list;
    static uint8_t bytes[K];
    static uint64_t bits[K / 64 + 3];
    lac_meta_free(t->a.meta), t->a.meta = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t first = cases[i][0], k = cases[i][1], words = (first + k + 63) / 64;
        lac_meta_t *meta;
        memset(bits, 0xff, sizeof bits);
        memset(t->s, 0, sizeof t->s);
        t->nnz = 0;
        for (int64_t j = 0; j < k; j++) {
            bool event = j % EVERY == 2 || j == 0 || j == k - 1;
            t->s[j] = event ? 1.0f : 0.0f, bytes[j] = event, t->nnz += event;
            if (!event) bits[(first + j) / 64] &= ~(UINT64_C(1) << (first + j) % 64);
        }
        unit_expect(lac_meta_create(&meta, 1, k), LAC_OK, "create");
        unit_expect(lac_meta_attach_event_bits(meta, words, bits, first), LAC_OK, "bits");
        t->a = lac_obj_rowmajor(LAC_U8, 1, k, bytes, K), t->a.meta = meta, t->c.m = 1, t->b.m = k;
        assert_false(gather(t, 3, -1, &list));
        assert_int_equal(lac_event_source(&t->sided), LAC_EVENTS_BITS);
        expect_list(t, &list, "bits");
        lac_meta_free(meta), t->a.meta = NULL;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_scan_for_any_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_formats, setup, teardown),
        cmocka_unit_test_setup_teardown(test_listed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_event_bits, setup, teardown)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Generations, trust, bytes, and metadata that several threads fill at once. */
#include "unit_support.h"
#include "../route_names.h"
#include "operand/metadata.h"
#include "host/formats/formats.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { M = 40, N = 70, THREADS = 4 };

static const int32_t ptr[3] = {0, 1, 2}, idx[2] = {1, 0};

static lac_meta_t *fresh(int64_t m, int64_t n)
{
    lac_meta_t *meta;
    unit_expect(lac_meta_create(&meta, m, n), LAC_OK, "create");
    return meta;
}

static void test_create(void **state)
{
    (void)state;
    lac_meta_t *meta;
    unit_expect(lac_meta_create(NULL, 1, 1), LAC_ERR_NULL, "meta");
    unit_expect(lac_meta_create(&meta, -1, 1), LAC_ERR_EXTENT, "m");
    assert_null(meta);
    unit_expect(lac_meta_create(&meta, 1, -1), LAC_ERR_EXTENT, "n");
    unit_expect(lac_meta_freeze(NULL), LAC_ERR_NULL, "freeze");
    unit_expect(lac_meta_touch(NULL), LAC_ERR_NULL, "touch");
    lac_meta_free(NULL);
    assert_true(lac_meta_density(NULL) < 0);
    assert_int_equal(lac_meta_generation(NULL), 0);
    assert_int_equal(lac_meta_bytes(NULL), 0);
    assert_int_equal(lac_meta_trusted(NULL), 0);
    assert_null(lac_meta_format(NULL, LAC_FORMAT_CSR));
    meta = fresh(0, 5);
    assert_int_equal(lac_meta_generation(meta), 1);
    assert_true(lac_meta_density(meta) < 0);
    lac_meta_free(meta);
}

static void test_attach_then_touch(void **state)
{
    (void)state;
    lac_meta_t *meta = fresh(2, 2);
    size_t empty = lac_meta_bytes(meta);
    unit_expect(lac_meta_attach_csr(meta, LAC_I32, ptr, idx, NULL), LAC_OK, "csr");
    assert_int_equal(lac_meta_trusted(meta), 1u << LAC_FORMAT_CSR);
    assert_true(lac_meta_density(meta) == 0.5);
    assert_true(lac_meta_bytes(meta) == empty + 3 * sizeof(int64_t)); /* the widened pointers */
    unit_expect(lac_meta_touch(meta), LAC_OK, "touch");
    assert_int_equal(lac_meta_trusted(meta), 0);
    assert_null(lac_meta_format(meta, LAC_FORMAT_CSR));
    assert_int_equal(lac_meta_generation(meta), 2);
    assert_true(lac_meta_bytes(meta) == empty);
    assert_true(lac_meta_density(meta) == 0.5);                      /* as last attached */
    assert_int_not_equal(meta->density_origin, LAC_ORIGIN_ATTACHED); /* but no longer anyone's word */
    unit_expect(lac_meta_attach_csc(meta, LAC_I32, ptr, idx, NULL), LAC_OK, "csc");
    assert_int_equal(lac_meta_trusted(meta), 1u << LAC_FORMAT_CSC);
    assert_int_equal(lac_meta_format(meta, LAC_FORMAT_CSC)->generation, 2);
    lac_meta_free(meta);
}

static void test_attach_again_replaces(void **state)
{
    (void)state;
    static const int64_t none[3] = {0};
    lac_meta_t *meta = fresh(2, 2);
    unit_expect(lac_meta_attach_csr(meta, LAC_I32, ptr, idx, NULL), LAC_OK, "first");
    unit_expect(lac_meta_attach_csr(meta, LAC_I64, none, NULL, NULL), LAC_OK, "second");
    assert_true(lac_meta_density(meta) == 0.0);
    assert_ptr_equal(lac_meta_format(meta, LAC_FORMAT_CSR)->ptr, none);
    lac_meta_free(meta);
}

typedef struct matrix {
    float data[M * N];
    lac_obj_t obj;
} matrix_t;

static void fill(matrix_t *x, lac_meta_t *meta)
{
    uint64_t random = 7;
    for (int i = 0; i < M * N; i++) x->data[i] = unit_between(&random, 0, 9) ? 0.0f : (float)(i + 1);
    x->obj = lac_obj_rowmajor(LAC_F32, M, N, x->data, N);
    x->obj.meta = meta;
}

static void test_scan_is_trusted_while_frozen(void **state)
{
    matrix_t x;
    lac_meta_t *meta = fresh(M, N);
    fill(&x, meta);
    const unsigned all = LAC_META_DENSITY | LAC_META_BITMASK | LAC_META_CSR | LAC_META_CSC | LAC_META_ACTIVE;
    unit_expect(lac_meta_scan(*state, &x.obj, all), LAC_OK, "scan");
    int nonzeros = 0;
    for (int i = 0; i < M * N; i++) nonzeros += x.data[i] != 0;
    assert_true(lac_meta_density(meta) == (double)nonzeros / (M * N));
    assert_int_equal(lac_meta_trusted(meta), 0);
    unit_expect(lac_meta_freeze(meta), LAC_OK, "freeze");
    assert_int_equal(lac_meta_trusted(meta), 1u << LAC_FORMAT_CSR | 1u << LAC_FORMAT_CSC |
                                                 1u << LAC_FORMAT_BITS | 1u << LAC_FORMAT_ACTIVE);
    unit_expect(lac_meta_touch(meta), LAC_OK, "touch");
    assert_int_equal(lac_meta_trusted(meta), 0);
    unit_expect(lac_meta_freeze(meta), LAC_OK, "freeze after touch");
    assert_int_equal(lac_meta_trusted(meta), 0); /* nothing old comes back */
    lac_meta_free(meta);
}

/* What was scanned before a format was attached, of contents that nobody promised to keep, is not used:
 * neither by routes that expand the operand, nor where rows are picked of its columns. */
static void test_attach_outdates_a_scan(void **state)
{
    const route_names_t routes = host_route_names(0);
    static const int32_t at[] = {0};
    static const int64_t starts[] = {0, 1, 1}, first[] = {0};
    static const float two[] = {2.0f, 0.0f}, unit[] = {1.0f, 0.0f, 0.0f, 1.0f};
    float x[4] = {5.0f, 5.0f, 5.0f, 5.0f}, c[4], identity[4], picked[2];
    memcpy(identity, unit, sizeof unit);
    lac_meta_t *meta = fresh(2, 2);
    lac_obj_t obj = lac_obj_rowmajor(LAC_F32, 2, 2, x, 2), ob = lac_obj_rowmajor(LAC_F32, 2, 2, identity, 2),
              oc = lac_obj_rowmajor(LAC_F32, 2, 2, c, 2), out = lac_obj_rowmajor(LAC_F32, 1, 2, picked, 2);
    obj.meta = meta;
    unit_expect(lac_meta_scan(*state, &obj, LAC_META_CSR | LAC_META_CSC), LAC_OK, "scan");
    obj.buf = NULL;
    unit_expect(lac_meta_attach_active(meta, 1, at, two), LAC_OK, "active");
    for (int r = 0; r < routes.count; r++) {
        lac_call_opts_t call = {.size = sizeof call, .route = routes.name[r]};
        unit_expect(lac_gemm_ex(*state, NULL, &obj, &ob, NULL, &oc, &call), LAC_OK, routes.name[r]);
        assert_true(c[0] == 2.0f && c[1] == 0.0f && c[2] == 0.0f && c[3] == 0.0f);
    }
    unit_expect(lac_meta_touch(meta), LAC_OK, "touch");
    obj.buf = x;
    unit_expect(lac_meta_scan(*state, &obj, LAC_META_CSR), LAC_OK, "scan");
    obj.buf = NULL;
    unit_expect(lac_meta_attach_csc(meta, LAC_I64, starts, first, two), LAC_OK, "csc");
    unit_expect(lac_slice_rows(*state, &obj, LAC_I32, 1, at, &out, NULL), LAC_OK, "slice");
    assert_true(picked[0] == 2.0f && picked[1] == 0.0f);
    lac_meta_free(meta);
}

/* The promise holds for what was scanned, too: it stays. */
static void test_attach_beside_a_frozen_scan(void **state)
{
    matrix_t x;
    lac_meta_t *meta = fresh(M, N);
    int64_t starts[N + 1] = {0};
    memset(x.data, 0, sizeof x.data);
    x.obj = lac_obj_rowmajor(LAC_F32, M, N, x.data, N);
    x.obj.meta = meta;
    unit_expect(lac_meta_scan(*state, &x.obj, LAC_META_CSR), LAC_OK, "scan");
    unit_expect(lac_meta_freeze(meta), LAC_OK, "freeze");
    unit_expect(lac_meta_attach_csc(meta, LAC_I64, starts, NULL, NULL), LAC_OK, "csc");
    assert_int_equal(lac_meta_trusted(meta), 1u << LAC_FORMAT_CSR | 1u << LAC_FORMAT_CSC);
    lac_meta_free(meta);
}

static void test_scan_arguments(void **state)
{
    matrix_t x;
    lac_meta_t *meta = fresh(M, N), *other = fresh(N, M);
    fill(&x, meta);
    unit_expect(lac_meta_scan(NULL, &x.obj, LAC_META_CSR), LAC_ERR_NULL, "ctx");
    unit_expect(lac_meta_scan(*state, NULL, LAC_META_CSR), LAC_ERR_NULL, "obj");
    unit_expect(lac_meta_scan(*state, &x.obj, 0), LAC_ERR_VALUE, "what 0");
    unit_expect(lac_meta_scan(*state, &x.obj, 0x80), LAC_ERR_VALUE, "what 0x80");
    x.obj.meta = NULL;
    unit_expect(lac_meta_scan(*state, &x.obj, LAC_META_CSR), LAC_ERR_NULL, "obj.meta");
    x.obj.meta = other;
    unit_expect(lac_meta_scan(*state, &x.obj, LAC_META_CSR), LAC_ERR_EXTENT, "another matrix's");
    x.obj.meta = meta;
    x.obj.rs = 1;
    unit_expect(lac_meta_scan(*state, &x.obj, LAC_META_CSR), LAC_ERR_STRIDE, "rs");
    x.obj.rs = N;
    x.obj.buf = NULL;
    unit_expect(lac_meta_scan(*state, &x.obj, LAC_META_CSR), LAC_ERR_EMPTY, "buf");
    assert_true(lac_meta_density(meta) < 0 && lac_meta_trusted(meta) == 0);
    lac_meta_free(meta);
    lac_meta_free(other);
}

/* Every format of one scan, element by element, for a view of any strides. */
static void expect_formats(const lac_meta_t *meta, const lac_obj_t *obj)
{
    const lac_format_data_t *csr = lac_meta_format(meta, LAC_FORMAT_CSR),
                            *csc = lac_meta_format(meta, LAC_FORMAT_CSC),
                            *bits = lac_meta_format(meta, LAC_FORMAT_BITS),
                            *active = lac_meta_format(meta, LAC_FORMAT_ACTIVE);
    const float *buf = obj->buf;
    int64_t words = (obj->n + 63) / 64, seen = 0, p = 0;
    assert_true(csr && csc && bits && active);
    for (int64_t i = 0; i < obj->m; i++)
        for (int64_t j = 0; j < obj->n; j++) {
            float x = buf[i * obj->rs + j * obj->cs];
            assert_int_equal(bits->bits[i * words + j / 64] >> (j % 64) & 1, x != 0);
            if (x == 0) continue;
            assert_true(csr->idx[seen] == j && ((const float *)csr->val)[seen] == x &&
                        ((const float *)bits->val)[seen] == x);
            seen++;
            assert_int_equal(csr->ptr[i + 1] >= seen, 1);
        }
    assert_true(csr->count == seen && csc->count == seen && bits->count == seen && csr->ptr[obj->m] == seen);
    for (int64_t j = 0, a = 0; j < obj->n; j++) {
        bool any = false;
        for (int64_t i = 0; i < obj->m; i++) {
            float x = buf[i * obj->rs + j * obj->cs];
            if (x == 0) continue;
            assert_true(csc->idx[p] == i && ((const float *)csc->val)[p] == x && active->idx[a] == j);
            assert_true(((const float *)active->val)[a * obj->m + i] == x);
            any = true;
            p++;
        }
        assert_int_equal(csc->ptr[j + 1], p);
        a += any;
    }
}

static void test_formats_of_any_strides(void **state)
{
    static float room[4 * M * N];
    const unsigned all = LAC_META_BITMASK | LAC_META_CSR | LAC_META_CSC | LAC_META_ACTIVE;
    const struct {
        int64_t rs, cs, at;
    } views[] = {{N, 1, 0},           {1, M, 0}, {N + 5, 1, 0}, {2 * N, 2, 0}, {-N, 1, (M - 1) * N},
                 {1, -M, (N - 1) * M}};
    uint64_t random = 9;
    for (int i = 0; i < 4 * M * N; i++) room[i] = unit_between(&random, 0, 7) ? 0.0f : (float)(i + 1);
    for (size_t v = 0; v < sizeof views / sizeof *views; v++) {
        lac_meta_t *meta = fresh(M, N);
        lac_obj_t x = {LAC_F32,     LAC_HOST,    LAC_TRANS,          M,   N,
                       views[v].rs, views[v].cs, room + views[v].at, meta};
        unit_expect(lac_meta_scan(*state, &x, all), LAC_OK, "scan");
        expect_formats(meta, &x);
        lac_meta_free(meta);
    }
}

static void test_empty_matrices(void **state)
{
    static const int64_t extents[][2] = {{0, 0}, {0, 5}, {5, 0}};
    float one[1] = {1};
    for (int i = 0; i < 3; i++) {
        lac_meta_t *meta = fresh(extents[i][0], extents[i][1]);
        lac_obj_t x = lac_obj_rowmajor(LAC_F32, extents[i][0], extents[i][1], i ? one : NULL, 5);
        x.meta = meta;
        unit_expect(lac_meta_scan(*state, &x, 0x1f), LAC_OK, "scan of nothing");
        assert_true(lac_meta_density(meta) == 0.0);
        lac_meta_free(meta);
    }
}

typedef struct racer {
    const lac_obj_t *obj;
    const lac_format_data_t *got[LAC_FORMAT_COUNT];
    lac_status_t status;
    int offset;
} racer_t;

/* Each thread wants every format of one frozen operand, beginning with another one. */
static void *race(void *arg)
{
    racer_t *r = arg;
    lac_ctx_t *ctx;
    lac_exec_t exec = {.kernels = {lac_host_kernels(LAC_HOST_F32)}};
    if ((r->status = lac_ctx_create(&ctx))) return NULL;
    lac_operand_t x = {.dt = LAC_F32, .frozen = true, .rs = r->obj->rs, .cs = r->obj->cs};
    x.buf = r->obj->buf;
    x.meta = r->obj->meta;
    for (int i = 0; i < LAC_FORMAT_COUNT && !r->status; i++) {
        lac_format_t format = (lac_format_t)((i + r->offset) % LAC_FORMAT_COUNT);
        x.formats = lac_meta_trusted(x.meta);
        (void)lac_meta_bytes(x.meta);
        if (lac_meta_density(x.meta) > 1.0) r->status = LAC_ERR_INTERNAL;
        if (!r->status) r->status = lac_format_ensure(&exec, &x, 2, format, &r->got[format]);
    }
    lac_ctx_free(ctx);
    for (int i = 0; i < LAC_WORK_COUNT; i++) lac_buffer_free(&exec.work[i]);
    return NULL;
}

static void test_threads_ensure_formats(void **state)
{
    int rounds = unit_quick() ? 5 : 50;
    (void)state;
    for (int round = 0; round < rounds; round++) {
        matrix_t x;
        racer_t racers[THREADS] = {{0}};
        pthread_t threads[THREADS];
        lac_meta_t *meta = fresh(M, N);
        fill(&x, meta);
        unit_expect(lac_meta_freeze(meta), LAC_OK, "freeze");
        for (int t = 0; t < THREADS; t++) {
            racers[t] = (racer_t){.obj = &x.obj, .offset = t};
            assert_int_equal(pthread_create(&threads[t], NULL, race, &racers[t]), 0);
        }
        for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
        for (int t = 0; t < THREADS; t++) {
            assert_int_equal(racers[t].status, LAC_OK);
            for (int f = 0; f < LAC_FORMAT_COUNT; f++) { /* everyone got the one that was built */
                assert_non_null(racers[t].got[f]);
                assert_ptr_equal(racers[t].got[f], racers[0].got[f]);
            }
        }
        expect_formats(meta, &x.obj);
        lac_meta_free(meta);
    }
}

/* What was made of an attached format is believed like it, and goes when another is attached. */
static void test_derived_formats(void **state)
{
    (void)state;
    lac_meta_t *meta = fresh(2, 2), *other = fresh(2, 2);
    const int64_t starts[3] = {0, 1, 2};
    lac_format_data_t derived = {.origin = LAC_ORIGIN_DERIVED, .count = 1, .ptr = starts, .idx = idx};
    unit_expect(lac_meta_attach_csr(meta, LAC_I32, ptr, idx, NULL), LAC_OK, "csr");
    lac_meta_install(meta, LAC_FORMAT_CSC, &derived);
    assert_int_equal(lac_meta_trusted(meta), 1u << LAC_FORMAT_CSR | 1u << LAC_FORMAT_CSC);
    assert_int_equal(meta->nnz, 2); /* as attached */
    assert_int_equal(meta->density_origin, LAC_ORIGIN_ATTACHED);
    uint64_t first = lac_meta_format(meta, LAC_FORMAT_CSR)->format_id,
             second = lac_meta_format(meta, LAC_FORMAT_CSC)->format_id;
    assert_int_not_equal(first, second);
    assert_int_not_equal(meta->serial, other->serial);
    unit_expect(lac_meta_attach_csr(meta, LAC_I32, ptr, idx, NULL), LAC_OK, "csr again");
    assert_int_equal(lac_meta_trusted(meta), 1u << LAC_FORMAT_CSR);
    assert_true(lac_meta_format(meta, LAC_FORMAT_CSR)->format_id > second);
    lac_meta_install(meta, LAC_FORMAT_CSC, &derived);
    unit_expect(lac_meta_touch(meta), LAC_OK, "touch");
    assert_int_equal(lac_meta_trusted(meta), 0);
    lac_meta_free(other);
    lac_meta_free(meta);
}

/* What is kept of a format: how often it was made, of which rows, and whether that fails. */
typedef struct maker {
    int made;
    uint64_t made_of;
    lac_status_t status;
} maker_t;

static lac_status_t make(void *arg, lac_format_data_t *data)
{
    maker_t *m = arg;
    m->made++;
    *data = (lac_format_data_t){.origin = LAC_ORIGIN_DERIVED, .made_of = m->made_of};
    return m->status;
}

/* Made once, again of other rows, and not there where making fails. */
static void test_kept_formats(void **state)
{
    (void)state;
    lac_meta_t *meta = fresh(2, 2);
    const lac_format_data_t *first, *format;
    maker_t m = {.made_of = 5, .status = LAC_ERR_MEMORY};
    unit_expect(lac_meta_ensure(meta, LAC_FORMAT_SCHEDULE, 5, make, &m, &first), LAC_ERR_MEMORY, "fails");
    assert_null(first);
    m.status = LAC_OK;
    unit_expect(lac_meta_ensure(meta, LAC_FORMAT_SCHEDULE, 5, make, &m, &first), LAC_OK, "made");
    assert_non_null(first);
    unit_expect(lac_meta_ensure(meta, LAC_FORMAT_SCHEDULE, 5, make, &m, &format), LAC_OK, "kept");
    assert_ptr_equal(format, first);
    assert_int_equal(m.made, 2);
    m = (maker_t){.made = 2, .made_of = 6, .status = LAC_ERR_MEMORY};
    unit_expect(lac_meta_ensure(meta, LAC_FORMAT_SCHEDULE, 6, make, &m, &format), LAC_ERR_MEMORY,
                "other rows");
    assert_null(format);
    m.status = LAC_OK;
    unit_expect(lac_meta_ensure(meta, LAC_FORMAT_SCHEDULE, 6, make, &m, &format), LAC_OK, "replaced");
    assert_true(format && format->made_of == 6);
    assert_int_equal(m.made, 4);
    lac_meta_free(meta);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_create),
                                       cmocka_unit_test(test_attach_then_touch),
                                       cmocka_unit_test(test_attach_again_replaces),
                                       cmocka_unit_test(test_derived_formats),
                                       cmocka_unit_test(test_scan_is_trusted_while_frozen),
                                       cmocka_unit_test(test_attach_outdates_a_scan),
                                       cmocka_unit_test(test_attach_beside_a_frozen_scan),
                                       cmocka_unit_test(test_scan_arguments),
                                       cmocka_unit_test(test_formats_of_any_strides),
                                       cmocka_unit_test(test_empty_matrices),
                                       cmocka_unit_test(test_kept_formats),
                                       cmocka_unit_test(test_threads_ensure_formats)};
    unit_begin();
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Row slices on a device against those of the host, to the bit: shapes, layouts, types, long lists, rows that
 * there are not, recordings, CSR. */
#include "csr_pair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 11;

/* A list of rows on both sides. */
typedef struct list {
    lac_index_t it;
    int64_t count;
    void *here, *there;
} list_t;

static list_t make_list(lac_ctx_t *ctx, const int64_t *rows, int64_t count)
{
    list_t l = {gpu_random(&seed) & 1 ? LAC_I64 : LAC_I32, count, csr_pair_poison((size_t)count * 8), NULL};
    for (int64_t i = 0; i < count; i++)
        if (l.it == LAC_I64)
            ((int64_t *)l.here)[i] = rows[i];
        else
            ((int32_t *)l.here)[i] = (int32_t)rows[i];
    l.there = gpu_upload(ctx, l.here, (size_t)count * (l.it == LAC_I64 ? 8 : 4));
    return l;
}

/* Any of the operand's rows; where `strays` is set, some that it has not. */
static list_t random_list(const csr_pair_t *x, int64_t count, bool strays)
{
    int64_t *rows = csr_pair_poison((size_t)count * 8);
    for (int64_t i = 0; i < count; i++) {
        rows[i] = x->m ? (int64_t)(gpu_random(&seed) % (uint64_t)x->m) : 0;
        if (strays && (gpu_random(&seed) % 5 == 0 || !x->m))
            rows[i] = gpu_random(&seed) & 1 ? -1 - rows[i] : x->m + rows[i];
    }
    list_t l = make_list(x->device, rows, count);
    free(rows);
    return l;
}

static void free_list(const csr_pair_t *x, list_t *l)
{
    lac_device_free(x->device, l->there);
    free(l->here);
}

/* Strides of a count x n matrix, by layout; the buffer begins `offset` elements into `size`. */
typedef struct layout {
    int64_t rs, cs, offset, size;
} layout_t;

enum { LAYOUTS = 6 };

static layout_t layout_of(int which, int64_t count, int64_t n)
{
    int64_t room = 3 * (count + 4) * (n + 4);
    const layout_t all[LAYOUTS] = {{n, 1, 0, room},
                                   {n + 3, 1, 1, room},
                                   {1, count + 2, 0, room},
                                   {2 * n + 3, 2, 2, room},
                                   {-(n + 1), 1, count * (n + 1), room},
                                   {n + 1, -1, n, room}};
    return all[which];
}

static lac_slice_opts_t options_of(const csr_pair_t *x, int kind, bool zero_rows, bool device)
{
    lac_slice_opts_t o = {.size = sizeof o, .zero_rows = zero_rows};
    o.homogeneous = kind > 1;
    if (kind == 1 || kind == 2) o.val = device ? x->there[2] : x->val;
    return o;
}

static void same(const void *got, const void *want, size_t bytes, const char *what, const csr_pair_t *x,
                 int64_t count, int layout)
{
    if (memcmp(got, want, bytes))
        gpu_fail("%s: %lld rows of %lld x %lld, %lld entries, layout %d", what, (long long)count,
                 (long long)x->m, (long long)x->n, (long long)x->nnz, layout);
}

static void check_rows(const csr_pair_t *x, const list_t *l, int layout, int kind, bool zero_rows)
{
    layout_t at = layout_of(layout, l->count, x->n);
    size_t bytes = (size_t)at.size * 4;
    float *want = csr_pair_poison(bytes), *got = csr_pair_poison(bytes),
          *there = gpu_upload(x->device, got, bytes);
    lac_obj_t o = {LAC_F32, LAC_HOST, LAC_NO_TRANS, l->count, x->n, at.rs, at.cs, want + at.offset, NULL};
    lac_slice_opts_t here = options_of(x, kind, zero_rows, false), far = options_of(x, kind, zero_rows, true);
    gpu_expect(lac_slice_rows(x->host, &x->on_host, l->it, l->count, l->here, &o, &here), LAC_OK, "host");
    o.space = LAC_DEVICE;
    o.buf = there + at.offset;
    gpu_expect(lac_slice_rows(x->device, &x->on_device, l->it, l->count, l->there, &o, &far), LAC_OK,
               "device");
    csr_pair_fetch(x->device, there, got, bytes);
    same(got, want, bytes, "slice", x, l->count, layout);
    free(want), free(got);
}

static void check_gradient(const csr_pair_t *x, const list_t *l, int layout, bool zero_rows, bool one)
{
    layout_t at = layout_of(layout, l->count, x->n);
    size_t bytes = (size_t)(one ? 1 : x->nnz) * 4;
    float *g = csr_pair_poison((size_t)at.size * 4), *want = csr_pair_poison(bytes),
          *got = csr_pair_poison(bytes);
    for (int64_t p = 0; p < at.size; p++) g[p] = csr_pair_value(&seed);
    float *g_there = gpu_upload(x->device, g, (size_t)at.size * 4),
          *there = gpu_upload(x->device, got, bytes);
    lac_obj_t o = {LAC_F32, LAC_HOST, LAC_NO_TRANS, l->count, x->n, at.rs, at.cs, g + at.offset, NULL};
    lac_slice_opts_t options = {.size = sizeof options, .zero_rows = zero_rows, .homogeneous = one};
    gpu_expect(lac_slice_rows_grad(x->host, &x->on_host, l->it, l->count, l->here, &o, want, &options),
               LAC_OK, "host");
    o.space = LAC_DEVICE;
    o.buf = g_there + at.offset;
    gpu_expect(lac_slice_rows_grad(x->device, &x->on_device, l->it, l->count, l->there, &o, there, &options),
               LAC_OK, "device");
    csr_pair_fetch(x->device, there, got, bytes);
    if (one && !(fabs((double)got[0] - (double)want[0]) <= 1e-6 * (1.0 + fabs((double)want[0]))))
        gpu_fail("sum: %g, expected %g", (double)got[0], (double)want[0]);
    if (!one) same(got, want, bytes, "gradient", x, l->count, layout);
    lac_device_free(x->device, g_there);
    free(g), free(want), free(got);
}

static void check_csr(const csr_pair_t *x, const list_t *l, lac_index_t it, bool values, bool zero_rows)
{
    size_t wide = it == LAC_I64 ? 8 : 4, pointers = (size_t)(l->count + 1) * wide;
    lac_slice_opts_t o = {.size = sizeof o, .zero_rows = zero_rows};
    void *ptr = csr_pair_poison(pointers), *got = csr_pair_poison(pointers),
         *there = gpu_upload(x->device, got, pointers);
    gpu_expect(lac_slice_rows_count(x->host, &x->on_host, l->it, l->count, l->here, it, ptr, &o), LAC_OK,
               "host");
    gpu_expect(lac_slice_rows_count(x->device, &x->on_device, l->it, l->count, l->there, it, there, &o),
               LAC_OK, "device");
    gpu_expect(lac_device_download(x->device, got, there, pointers), LAC_OK, "download");
    same(got, ptr, pointers, "row pointers", x, l->count, 0);
    size_t entries = (size_t)(it == LAC_I64 ? ((int64_t *)ptr)[l->count] : ((int32_t *)ptr)[l->count]);
    void *idx = csr_pair_poison(entries * wide + 8), *idx_got = csr_pair_poison(entries * wide + 8);
    float *val = csr_pair_poison(entries * 4 + 8), *val_got = csr_pair_poison(entries * 4 + 8);
    void *idx_there = gpu_upload(x->device, idx, entries * wide + 8);
    float *val_there = gpu_upload(x->device, val, entries * 4 + 8);
    gpu_expect(lac_slice_rows_csr(x->host, &x->on_host, l->it, l->count, l->here, it, ptr, idx,
                                  values ? val : NULL, &o),
               LAC_OK, "host");
    gpu_expect(lac_slice_rows_csr(x->device, &x->on_device, l->it, l->count, l->there, it, there, idx_there,
                                  values ? val_there : NULL, &o),
               LAC_OK, "device");
    csr_pair_fetch(x->device, idx_there, idx_got, entries * wide + 8);
    csr_pair_fetch(x->device, val_there, val_got, entries * 4 + 8);
    same(idx_got, idx, entries * wide + 8, "indices", x, l->count, 0);
    same(val_got, val, entries * 4 + 8, "values", x, l->count, 0);
    lac_device_free(x->device, there);
    free(ptr), free(got), free(idx), free(idx_got), free(val), free(val_got);
}

/* Everything on one operand and one list. */
static void check_all(const csr_pair_t *x, int64_t count, bool strays)
{
    list_t l = random_list(x, count, strays);
    int layouts = count * x->n > 400000 ? 2 : LAYOUTS;
    for (int layout = 0; layout < layouts; layout++) {
        check_rows(x, &l, layout, (int)(gpu_random(&seed) % 4), strays);
        check_gradient(x, &l, layout, strays, false);
    }
    check_gradient(x, &l, 0, strays, true);
    check_csr(x, &l, LAC_I32, true, strays);
    check_csr(x, &l, LAC_I64, false, strays);
    free_list(x, &l);
}

static void on_shapes(lac_ctx_t *ctx, const int64_t (*shapes)[3], const double *densities, size_t count)
{
    lac_ctx_t *host;
    gpu_expect(lac_ctx_create(&host), LAC_OK, "host");
    for (size_t s = 0; s < count; s++) {
        csr_pair_t x;
        if (gpu_quick() && shapes[s][0] * shapes[s][1] + shapes[s][2] * shapes[s][1] > 100000) continue;
        csr_pair_make(&x, ctx, host, shapes[s][0], shapes[s][1], densities[s], s % 3 != 1, &seed);
        check_all(&x, shapes[s][2], s % 2 || !x.m);
        csr_pair_free(&x);
    }
    lac_ctx_free(host);
}

/* m, n, count */
static void test_shapes(lac_ctx_t *ctx)
{
    static const int64_t shapes[][3] = {{1, 1, 1},      {3, 1, 70},      {5, 64, 65},    {40, 63, 129},
                                        {17, 4097, 9},  {3, 9000, 5},    {300, 250, 40}, {2, 70000, 3},
                                        {9, 1024, 30},  {9, 1025, 31},   {7, 11264, 20}, {7, 11265, 21},
                                        {60, 5000, 50}, {100, 2500, 90}, {0, 7, 5}};
    static const double densities[] = {1, .5, .2, .1, .05, .01, .1, .001, .3, .3, .1, .1, .4, .5, 0};
    on_shapes(ctx, shapes, densities, GPU_COUNT(shapes));
}

/* Lists that are sorted, and one row over and over. */
static void test_long_lists(lac_ctx_t *ctx)
{
    static const int64_t shapes[][3] = {{500, 40, 8192},   {500, 40, 8193}, {3, 30, 20000},
                                        {60000, 8, 30000}, {1, 16, 9000},   {1, 3000, 400}};
    static const double densities[] = {.2, .2, .5, .3, 1, .5};
    on_shapes(ctx, shapes, densities, GPU_COUNT(shapes));
}

/* The first out-of-range row is reported by the next call or by waiting, once. */
static void test_strays_are_reported(lac_ctx_t *ctx)
{
    static const int64_t rows[] = {4, 1, 10, -3, 99};
    lac_ctx_t *host;
    csr_pair_t x;
    gpu_expect(lac_ctx_create(&host), LAC_OK, "host");
    csr_pair_make(&x, ctx, host, 10, 33, 0.4, true, &seed);
    list_t l = make_list(ctx, rows, 5);
    float out[5 * 33], *there = gpu_upload(ctx, out, sizeof out);
    lac_obj_t o = lac_obj_rowmajor(LAC_F32, 5, 33, there, 33);
    o.space = LAC_DEVICE;
    gpu_expect(lac_slice_rows(ctx, &x.on_device, l.it, 5, l.there, &o, NULL), LAC_OK, "queued");
    gpu_expect_error(lac_device_wait(ctx), LAC_ERR_VALUE, "rows[2]: was 10", "waited");
    gpu_expect(lac_device_wait(ctx), LAC_OK, "told once");
    gpu_expect(lac_device_download(ctx, out, there, sizeof out), LAC_OK, "download");
    for (int j = 0; j < 3 * 33; j++)
        if (out[2 * 33 + j] != 0.0f) gpu_fail("row %d is not zero", 2 + j / 33);
    gpu_expect(lac_slice_rows_grad(ctx, &x.on_device, l.it, 5, l.there, &o, x.there[2], NULL), LAC_ERR_ALIAS,
               "alias");
    float grad[10 * 33], *g = gpu_upload(ctx, grad, sizeof grad);
    gpu_expect(lac_slice_rows_grad(ctx, &x.on_device, l.it, 5, l.there, &o, g, NULL), LAC_OK, "queued");
    gpu_expect_error(lac_device_wait(ctx), LAC_ERR_VALUE, "rows[2]", "gradient");
    int32_t ptr[6] = {0, 0, 0, 0, 0, 7};
    void *p = gpu_upload(ctx, ptr, sizeof ptr);
    lac_slice_opts_t zeros = {.size = sizeof zeros, .zero_rows = 1};
    gpu_expect(lac_slice_rows_csr(ctx, &x.on_device, l.it, 5, l.there, LAC_I32, p, g, NULL, &zeros), LAC_OK,
               "queued");
    gpu_expect_error(lac_device_wait(ctx), LAC_ERR_SPARSE, "ptr[", "row pointers");
    lac_device_free(ctx, p), lac_device_free(ctx, g), lac_device_free(ctx, there);
    free_list(&x, &l);
    csr_pair_free(&x);
    lac_ctx_free(host);
}

/* An operand without columns has rows all the same: one that there is not is reported. */
static void test_no_columns(lac_ctx_t *ctx)
{
    static const int64_t rows[] = {0, 4, 5}, ptr[6] = {0};
    float value = 0.0f;
    lac_meta_t *meta = NULL;
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, 5, 0, NULL, 1), o = lac_obj_rowmajor(LAC_F32, 2, 0, NULL, 1);
    void *list = gpu_upload(ctx, rows, sizeof rows), *starts = gpu_upload(ctx, ptr, sizeof ptr),
         *none = gpu_upload(ctx, &value, sizeof value);
    a.space = o.space = LAC_DEVICE;
    gpu_expect(lac_meta_create_for(ctx, &meta, 5, 0), LAC_OK, "metadata");
    gpu_expect(lac_meta_attach_csr(meta, LAC_I64, starts, none, none), LAC_OK, "attach");
    a.meta = meta;
    gpu_expect(lac_slice_rows(ctx, &a, LAC_I64, 2, list, &o, NULL), LAC_OK, "rows that there are");
    gpu_expect(lac_device_wait(ctx), LAC_OK, "nothing to tell");
    o.m = 3;
    gpu_expect(lac_slice_rows(ctx, &a, LAC_I64, 3, list, &o, NULL), LAC_OK, "queued");
    gpu_expect_error(lac_device_wait(ctx), LAC_ERR_VALUE, "rows[2]: was 5", "waited");
    lac_meta_free(meta);
    lac_device_free(ctx, list), lac_device_free(ctx, starts), lac_device_free(ctx, none);
}

/* A bitmask alone is no compressed rows, here as on the host, though products may make some of it. */
static void test_bits_are_no_rows(lac_ctx_t *ctx)
{
    const int64_t row = 0;
    const uint64_t bits = 5;
    const float values[] = {1.0f, 2.0f};
    float out[3] = {0};
    lac_meta_t *meta = NULL;
    void *list = gpu_upload(ctx, &row, sizeof row), *words = gpu_upload(ctx, &bits, sizeof bits),
         *val = gpu_upload(ctx, values, sizeof values), *there = gpu_upload(ctx, out, sizeof out);
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, 1, 3, NULL, 3), o = lac_obj_rowmajor(LAC_F32, 1, 3, there, 3);
    a.space = o.space = LAC_DEVICE;
    gpu_expect(lac_meta_create_for(ctx, &meta, 1, 3), LAC_OK, "metadata");
    gpu_expect(lac_meta_attach_bitmask(meta, words, val), LAC_OK, "attach");
    a.meta = meta;
    gpu_expect_error(lac_slice_rows(ctx, &a, LAC_I64, 1, list, &o, NULL), LAC_ERR_EMPTY,
                     "a.meta: holds no format", "bits");
    gpu_expect(lac_meta_convert(ctx, &a, LAC_META_CSR), LAC_OK, "derive");
    gpu_expect(lac_slice_rows(ctx, &a, LAC_I64, 1, list, &o, NULL), LAC_OK, "with rows");
    gpu_expect(lac_device_download(ctx, out, there, sizeof out), LAC_OK, "download");
    if (out[0] != 1.0f || out[1] != 0.0f || out[2] != 2.0f) gpu_fail("not the row");
    lac_meta_free(meta);
    lac_device_free(ctx, list), lac_device_free(ctx, words), lac_device_free(ctx, val),
        lac_device_free(ctx, there);
}

/* A recorded slice and gradient, replayed on other rows. */
typedef struct recorded {
    const csr_pair_t *x;
    const list_t *l;
    lac_obj_t out;
    float *grad;
} recorded_t;

static lac_status_t slice_and_back(void *arg)
{
    const recorded_t *r = arg;
    lac_status_t status =
        lac_slice_rows(r->x->device, &r->x->on_device, r->l->it, r->l->count, r->l->there, &r->out, NULL);
    if (status) return status;
    return lac_slice_rows_grad(r->x->device, &r->x->on_device, r->l->it, r->l->count, r->l->there, &r->out,
                               r->grad, NULL);
}

static void test_recorded(lac_ctx_t *ctx)
{
    enum { M = 50, N = 300, COUNT = 20 };
    lac_ctx_t *host;
    csr_pair_t x;
    lac_graph_t *recording;
    gpu_expect(lac_ctx_create(&host), LAC_OK, "host");
    csr_pair_make(&x, ctx, host, M, N, 0.1, true, &seed);
    list_t l = random_list(&x, COUNT, false), other = random_list(&x, COUNT, false);
    while (other.it != l.it) free_list(&x, &other), other = random_list(&x, COUNT, false);
    float *out = csr_pair_poison(COUNT * N * 4), *want = csr_pair_poison(COUNT * N * 4),
          *grad = csr_pair_poison((size_t)x.nnz * 4);
    recorded_t r = {&x, &l, lac_obj_rowmajor(LAC_F32, COUNT, N, gpu_upload(ctx, out, COUNT * N * 4), N),
                    gpu_upload(ctx, grad, (size_t)x.nnz * 4)};
    r.out.space = LAC_DEVICE;
    gpu_expect(slice_and_back(&r), LAC_OK, "once before");
    if (gpu_expect(lac_graph_capture(ctx, slice_and_back, &r, 2, &recording), LAC_OK, "record")) {
        gpu_expect(lac_device_upload(ctx, l.there, other.here, COUNT * (l.it == LAC_I64 ? 8 : 4)), LAC_OK,
                   "other rows");
        gpu_expect(lac_graph_launch(recording, 1, NULL), LAC_OK, "replay");
        gpu_expect(lac_device_download(ctx, out, r.out.buf, COUNT * N * 4), LAC_OK, "download");
        lac_obj_t o = lac_obj_rowmajor(LAC_F32, COUNT, N, want, N);
        gpu_expect(lac_slice_rows(host, &x.on_host, other.it, COUNT, other.here, &o, NULL), LAC_OK, "host");
        same(out, want, COUNT * N * 4, "replayed slice", &x, COUNT, 0);
        float *grad_want = csr_pair_poison((size_t)x.nnz * 4);
        gpu_expect(lac_slice_rows_grad(host, &x.on_host, other.it, COUNT, other.here, &o, grad_want, NULL),
                   LAC_OK, "host");
        gpu_expect(lac_device_download(ctx, grad, r.grad, (size_t)x.nnz * 4), LAC_OK, "download");
        same(grad, grad_want, (size_t)x.nnz * 4, "replayed gradient", &x, COUNT, 0);
        free(grad_want);
        lac_graph_free(recording);
    }
    lac_device_free(ctx, r.out.buf), lac_device_free(ctx, r.grad);
    free(out), free(want), free(grad);
    free_list(&x, &l), free_list(&x, &other);
    csr_pair_free(&x);
    lac_ctx_free(host);
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {
        GPU_TEST(test_shapes),     GPU_TEST(test_long_lists),       GPU_TEST(test_strays_are_reported),
        GPU_TEST(test_no_columns), GPU_TEST(test_bits_are_no_rows), GPU_TEST(test_recorded)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}

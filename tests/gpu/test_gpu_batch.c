/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Batched products on a device against the host's: strides, types, alignment, densities that make either
 * launch the cheaper one, views of their own, recordings. */
#include "csr_pair.h"
#include "ref_half.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 41;

/* A batch of one operand on both sides; rows x cols each, `offset` elements into the memory. What is of two
 * bytes there are the same numbers as floats here. */
typedef struct side {
    lac_obj_t here, there;
    lac_inc_t stride;
    size_t count, offset;
} side_t;

static size_t bytes_of(const lac_obj_t *x, size_t count)
{
    return count * lac_dt_size(x->dt);
}

static void *first_of(const side_t *x, const lac_obj_t *obj)
{
    return (char *)obj->buf - bytes_of(obj, x->offset);
}

/* The device's memory as it begins. */
static void *upload(lac_ctx_t *ctx, void *here, size_t count, lac_dt_t dt)
{
    if (!ref_is_half(dt)) return gpu_upload(ctx, here, count * lac_dt_size(dt));
    uint16_t *halves = csr_pair_poison(count * sizeof *halves);
    float *values = here;
    for (size_t p = 0; p < count; p++) {
        halves[p] = ref_half_nearest(dt, (double)values[p]);
        values[p] = (float)ref_half_value(dt, halves[p]);
    }
    void *there = gpu_upload(ctx, halves, count * sizeof *halves);
    free(halves);
    return there;
}

/* layout 0: one after the other; 1: by columns; 2: padded and off alignment; 3: trials side by side. */
static side_t make(lac_ctx_t *ctx, int64_t rows, int64_t cols, int64_t count, int layout, bool transposed,
                   bool shared, lac_dt_t dt, double density)
{
    int64_t m = transposed ? cols : rows, n = transposed ? rows : cols, size = count * (m * (n + 1) + 3) + 8;
    bool events = dt == LAC_U8;
    size_t width = events ? 1 : 4;
    side_t x = {.stride = m * n, .count = (size_t)size, .offset = layout == 2};
    void *here = csr_pair_poison(x.count * width);
    for (int64_t p = 0; p < size; p++) {
        bool there = (double)(gpu_random(&seed) % 1000000) < density * 1e6;
        if (events)
            ((uint8_t *)here)[p] = there ? (uint8_t)(1 + gpu_random(&seed) % 255) : 0;
        else
            ((float *)here)[p] = there ? csr_pair_value(&seed) : 0.0f;
    }
    x.here = lac_obj_rowmajor(events ? LAC_U8 : LAC_F32, m, n, (char *)here + x.offset * width, n);
    x.here.trans = transposed ? LAC_TRANS : LAC_NO_TRANS;
    if (layout == 1) x.here.rs = 1, x.here.cs = m;
    if (layout == 2) x.here.rs = n + 1, x.stride = m * (n + 1) + 3;
    if (layout == 3) x.here.rs = n * count, x.stride = n;
    if (shared) x.stride = 0;
    x.there = x.here;
    x.there.space = LAC_DEVICE, x.there.dt = dt;
    x.there.buf = (char *)upload(ctx, here, x.count, dt) + bytes_of(&x.there, x.offset);
    return x;
}

static void drop(lac_ctx_t *ctx, side_t *x)
{
    lac_device_free(ctx, first_of(x, &x->there));
    free(first_of(x, &x->here));
}

/* The whole memory of C, so that what lies between is seen to be untouched. */
static void compare(lac_ctx_t *ctx, const side_t *c, int64_t k, const char *what)
{
    size_t bytes = bytes_of(&c->there, c->count);
    void *memory = csr_pair_poison(bytes);
    const float *want = first_of(c, &c->here);
    lac_dt_t dt = c->there.dt;
    gpu_expect(lac_device_download(ctx, memory, first_of(c, &c->there), bytes), LAC_OK, "download");
    for (size_t p = 0; p < c->count; p++) {
        bool half = ref_is_half(dt);
        double got = half ? ref_half_value(dt, ((uint16_t *)memory)[p]) : (double)((float *)memory)[p],
               most = fmax(fabs(got), fabs((double)want[p])),
               rounding = half ? ldexp(0.5, ref_half_unit(dt, most)) : 0.0;
        if (!(fabs(got - (double)want[p]) <= rounding + 1e-5 * (double)(k + 8))) {
            gpu_fail("%s: %g at %zu, expected %g", what, got, p, (double)want[p]);
            break;
        }
    }
    free(memory);
}

typedef struct shape {
    int64_t count, m, n, k;
    double a, b; /* densities */
} shape_t;

static lac_obj_t *views(const lac_obj_t *first, lac_inc_t stride, int64_t count)
{
    lac_obj_t *v = csr_pair_poison((size_t)count * sizeof *v);
    for (int64_t q = 0; q < count; q++) {
        v[q] = *first;
        v[q].buf = (char *)first->buf + q * stride * (int64_t)lac_dt_size(first->dt);
    }
    return v;
}

/* The types of a round: of floats or of two bytes, with events on a side now and then, and C of floats. */
typedef struct types {
    lac_dt_t a, b, c;
} types_t;

static types_t types_of(int round, lac_dt_t dt)
{
    types_t t = {dt, dt, round % 13 < 5 ? LAC_F32 : dt};
    bool numbers = dt == LAC_F32;
    if (round % 7 == 2) t.a = LAC_U8;
    if (round % 11 == 3 && (numbers || t.a != LAC_U8)) t.b = LAC_U8;
    if (round % 7 == 4 && t.b == dt && t.c == LAC_F32) t.a = LAC_F32;
    return t;
}

static void check_shape(lac_ctx_t *ctx, lac_ctx_t *host, const shape_t *s, int round, lac_dt_t dt)
{
    char what[128];
    const types_t types = types_of(round, dt);
    side_t a = make(ctx, s->m, s->k, s->count, round % 4, round % 5 == 1, round % 3 == 1, types.a, s->a),
           b = make(ctx, s->k, s->n, s->count, round / 2 % 4, round % 5 == 2, round % 3 == 2, types.b, s->b),
           c = make(ctx, s->m, s->n, s->count, round / 3 % 4, round % 5 == 3, false, types.c, 1.0);
    float alpha = 1.25f, beta = round % 2 ? -0.5f : 0.0f;
    snprintf(what, sizeof what, "round %d of type %d: %lld x %lld x %lld x %lld", round, (int)dt,
             (long long)s->count, (long long)s->m, (long long)s->n, (long long)s->k);
    gpu_expect(lac_gemm_batched(host, s->count, &alpha, &a.here, a.stride, &b.here, b.stride, &beta, &c.here,
                                c.stride),
               LAC_OK, "host");
    if (round % 4 == 3) {
        lac_obj_t *va = views(&a.there, a.stride, s->count), *vb = views(&b.there, b.stride, s->count),
                  *vc = views(&c.there, c.stride, s->count);
        gpu_expect(
            lac_gemm_batched_array(ctx, s->count, &alpha, va, a.stride != 0, vb, b.stride != 0, &beta, vc),
            LAC_OK, what);
        free(va), free(vb), free(vc);
    } else
        gpu_expect(lac_gemm_batched(ctx, s->count, &alpha, &a.there, a.stride, &b.there, b.stride, &beta,
                                    &c.there, c.stride),
                   LAC_OK, what);
    compare(ctx, &c, s->k, what);
    drop(ctx, &a), drop(ctx, &b), drop(ctx, &c);
}

static const lac_dt_t number_types[] = {LAC_F32, LAC_BF16, LAC_F16};

static void test_random(lac_ctx_t *ctx)
{
    static const double densities[] = {0.01, 0.1, 1.0};
    lac_ctx_t *host;
    gpu_expect(lac_ctx_create(&host), LAC_OK, "host");
    for (int round = 0; round < (gpu_quick() ? 16 : 150); round++) {
        uint64_t most = gpu_quick() ? 40 : 150;
        shape_t s = {1 + (int64_t)(gpu_random(&seed) % 9),
                     1 + (int64_t)(gpu_random(&seed) % most),
                     1 + (int64_t)(gpu_random(&seed) % most),
                     1 + (int64_t)(gpu_random(&seed) % (3 * most)),
                     GPU_PICK(densities, &seed),
                     GPU_PICK(densities, &seed)};
        for (size_t i = 0; i < GPU_COUNT(number_types); i++)
            check_shape(ctx, host, &s, round, number_types[i]);
    }
    lac_ctx_free(host);
}

static void test_shapes(lac_ctx_t *ctx)
{
    static const shape_t shapes[] = {{300, 1, 64, 100, 0.02, 1},  {3, 5, 2000, 1000, 0.01, 1},
                                     {2, 2, 100, 4096, 0.01, 1},  {2, 2, 100, 4097, 0.01, 1},
                                     {7, 40, 1, 300, 1, 0.05},    {5, 1, 1, 1000, 0.1, 0.1},
                                     {130, 4, 132, 128, 0.05, 1}, {2, 2, 1100, 3072, 0.01, 1}};
    lac_ctx_t *host;
    gpu_expect(lac_ctx_create(&host), LAC_OK, "host");
    for (size_t i = 0; i < GPU_COUNT(shapes); i++)
        for (int round = 0; round < (gpu_quick() ? 2 : 12); round++)
            for (size_t t = 0; t < GPU_COUNT(number_types); t++)
                check_shape(ctx, host, &shapes[i], round, number_types[t]);
    lac_ctx_free(host);
}

typedef struct recorded {
    lac_ctx_t *ctx;
    const shape_t *s;
    const side_t *a, *b, *c;
} recorded_t;

static lac_status_t multiply(void *arg)
{
    const recorded_t *r = arg;
    return lac_gemm_batched(r->ctx, r->s->count, NULL, &r->a->there, r->a->stride, &r->b->there, r->b->stride,
                            NULL, &r->c->there, r->c->stride);
}

static void test_recorded(lac_ctx_t *ctx)
{
    static const shape_t s = {20, 6, 200, 300, 0.02, 1};
    lac_ctx_t *host;
    lac_graph_t *recording;
    gpu_expect(lac_ctx_create(&host), LAC_OK, "host");
    side_t a = make(ctx, s.m, s.k, s.count, 0, false, false, LAC_F32, s.a),
           b = make(ctx, s.k, s.n, s.count, 0, false, false, LAC_F32, s.b),
           c = make(ctx, s.m, s.n, s.count, 0, false, false, LAC_F32, 1.0);
    recorded_t r = {ctx, &s, &a, &b, &c};
    gpu_expect(multiply(&r), LAC_OK, "once before");
    if (gpu_expect(lac_graph_capture(ctx, multiply, &r, 2, &recording), LAC_OK, "record")) {
        float *values = a.here.buf;
        for (size_t p = 0; p < a.count; p++)
            values[p] = gpu_random(&seed) % 30 ? 0.0f : csr_pair_value(&seed);
        gpu_expect(lac_device_upload(ctx, a.there.buf, values, bytes_of(&a.there, a.count)), LAC_OK,
                   "other events");
        gpu_expect(lac_graph_launch(recording, 1, NULL), LAC_OK, "replay");
        gpu_expect(lac_gemm_batched(host, s.count, NULL, &a.here, a.stride, &b.here, b.stride, NULL, &c.here,
                                    c.stride),
                   LAC_OK, "host");
        compare(ctx, &c, s.k, "replayed");
        lac_graph_free(recording);
    }
    drop(ctx, &a), drop(ctx, &b), drop(ctx, &c);
    lac_ctx_free(host);
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_random), GPU_TEST(test_shapes), GPU_TEST(test_recorded)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operands and outputs of more than 2^31 elements on the device. Their contents are products of small
 * integers, so that every sum is exact and is known without an oracle. A device with too little memory skips.
 */
#include "gpu_support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 50000 }; /* SIDE * SIDE floats are 10 GB */

/* 5 * 63 * SIDE < 2^24: exact in any order, whichever elements are events of value 1 or -1. */
static int left(int64_t i)
{
    return (int)(i * 7919 % 11) - 5;
}
static int right(int64_t j)
{
    return (int)(j * 104729 % 127) - 63;
}

static int event(int64_t k, int every)
{
    return k % every == every - 1 ? (k / every % 2 ? -1 : 1) : 0;
}

static lac_obj_t matrix(void *buf, int64_t m, int64_t n)
{
    lac_obj_t x = lac_obj_rowmajor(LAC_F32, m, n, buf, n);
    x.space = LAC_DEVICE;
    return x;
}

/* Device memory, or NULL where there is too little. */
static void *room_for(lac_ctx_t *ctx, size_t bytes)
{
    void *memory;
    if (lac_device_alloc(ctx, bytes, &memory) == LAC_OK) return memory;
    printf("     left out: no %zu bytes of device memory\n", bytes);
    return NULL;
}

static float *vector(lac_ctx_t *ctx, int64_t count, int (*value)(int64_t))
{
    float *host = malloc((size_t)count * sizeof *host);
    for (int64_t i = 0; i < count; i++) host[i] = (float)value(i);
    float *there = gpu_upload(ctx, host, (size_t)count * sizeof *host);
    free(host);
    return there;
}

/* W = left(i) right(j), made by a product with k = 1; some of its rows are compared. */
static bool make_weight(lac_ctx_t *ctx, const char *route, float *w)
{
    static const int64_t rows[] = {0, 1, 21474, 21475, 42949, 42950, SIDE - 1}; /* around 2^30 and 2^31 */
    float *u = vector(ctx, SIDE, left), *v = vector(ctx, SIDE, right), *row = malloc(SIDE * sizeof *row);
    lac_obj_t a = matrix(u, SIDE, 1), b = matrix(v, 1, SIDE), c = matrix(w, SIDE, SIDE);
    lac_call_opts_t call = {.size = sizeof call, .route = route};
    bool good = gpu_expect(lac_gemm_ex(ctx, NULL, &a, &b, NULL, &c, &call), LAC_OK, route);
    for (size_t r = 0; good && r < GPU_COUNT(rows); r++) {
        lac_device_download(ctx, row, w + rows[r] * SIDE, SIDE * sizeof *row);
        for (int64_t j = 0; good && j < SIDE; j++)
            if (!(good = row[j] == (float)(left(rows[r]) * right(j))))
                gpu_fail("%s: element %" PRId64 ", %" PRId64 " is %g", route, rows[r], j, row[j]);
    }
    lac_device_free(ctx, u);
    lac_device_free(ctx, v);
    free(row);
    return good;
}

typedef struct weight {
    float *w;
    lac_meta_t *meta; /* or NULL */
} weight_t;

/* Short times W or W times short, W stored as it is or read transposed. Row i of the short side has an event
 * in every `every` + i elements. */
static void multiply(lac_ctx_t *ctx, const weight_t *x, const char *route, int length, int every,
                     bool by_right, bool transposed)
{
    const size_t count = (size_t)length * SIDE;
    float *s = malloc(count * sizeof *s), *out = malloc(count * sizeof *out);
    bool outer_left = by_right != transposed; /* the output runs along W's rows */
    int64_t dot[16] = {0};
    for (int i = 0; i < length; i++)
        for (int64_t k = 0; k < SIDE; k++) {
            int value = event(k, every + i);
            s[by_right ? k * length + i : i * SIDE + k] = (float)value;
            dot[i] += value * (outer_left ? right(k) : left(k));
        }
    float *there = gpu_upload(ctx, s, count * sizeof *s), *result = gpu_upload(ctx, s, count * sizeof *s);
    lac_obj_t w = matrix(x->w, SIDE, SIDE),
              shorter = by_right ? matrix(there, SIDE, length) : matrix(there, length, SIDE);
    lac_obj_t c = by_right ? matrix(result, SIDE, length) : matrix(result, length, SIDE);
    lac_decision_t decision;
    lac_call_opts_t call = {.size = sizeof call, .route = route, .decision = &decision};
    w.trans = transposed ? LAC_TRANS : LAC_NO_TRANS;
    w.meta = x->meta;
    lac_status_t status = by_right ? lac_gemm_ex(ctx, NULL, &w, &shorter, NULL, &c, &call)
                                   : lac_gemm_ex(ctx, NULL, &shorter, &w, NULL, &c, &call);
    if (!status) status = lac_device_download(ctx, out, result, count * sizeof *out);
    bool good = gpu_expect(status, LAC_OK, route);
    for (int64_t at = 0; good && at < (int64_t)count; at++) {
        int64_t j = by_right ? at / length : at % SIDE, i = by_right ? at % length : at / SIDE;
        float want = (float)(dot[i] * (outer_left ? left(j) : right(j)));
        if (!(good = out[at] == want))
            gpu_fail("%s, served by %s %s: %d %s W%s, an event in %d: output %" PRId64 ", %" PRId64
                     " is %g, expected %g",
                     route, decision.route, decision.side, length, by_right ? "behind" : "before",
                     transposed ? "'" : "", every, i, j, out[at], want);
    }
    lac_device_free(ctx, there);
    lac_device_free(ctx, result);
    free(s);
    free(out);
}

static void multiply_all(lac_ctx_t *ctx, const weight_t *x)
{
    static const struct {
        int length, every;
    } shorts[] = {{1, 997}, {3, 400}, {5, 20}, {2, 1}};
    const gpu_routes_t routes = gpu_routes_of(ctx, "sparse dense native");
    for (size_t r = 0; r < routes.count; r++)
        for (size_t s = 0; s < GPU_COUNT(shorts); s++)
            for (int turn = 0; turn < 4; turn++)
                multiply(ctx, x, routes.name[r], shorts[s].length, shorts[s].every, turn & 1, turn & 2);
}

/* Its density counts past 2^31; frozen, its formats have more entries than 32 bits count. */
static void check_metadata(lac_ctx_t *ctx, weight_t *x)
{
    int64_t rows = 0, cols = 0;
    lac_obj_t w = matrix(x->w, SIDE, SIDE);
    for (int64_t i = 0; i < SIDE; i++) rows += left(i) != 0, cols += right(i) != 0;
    if (!gpu_expect(lac_meta_create_for(ctx, &x->meta, SIDE, SIDE), LAC_OK, "metadata")) return;
    w.meta = x->meta;
    gpu_expect(lac_meta_scan(ctx, &w, LAC_META_DENSITY), LAC_OK, "density");
    double want = (double)(rows * cols) / ((double)SIDE * SIDE), got = lac_meta_density(x->meta);
    if (got != want) gpu_fail("density %.12g, expected %.12g", got, want);
    gpu_expect(lac_meta_freeze(x->meta), LAC_OK, "freeze");
    lac_status_t status = lac_meta_scan(ctx, &w, LAC_META_BITMASK);
    if (status == LAC_ERR_MEMORY)
        printf("     left out: no memory for a bitmask\n");
    else if (gpu_expect(status, LAC_OK, "bitmask") && lac_meta_density(x->meta) != want)
        gpu_fail("bitmask: density %.12g, expected %.12g", lac_meta_density(x->meta), want);
    multiply(ctx, x, "bitmask", 2, 400, true, false);
    multiply(ctx, x, "auto", 2, 1, true, false);
    multiply(ctx, x, "event", 2, 400, false, true); /* by a k-major copy */
}

static void test_weight(lac_ctx_t *ctx)
{
    static const char *const makers[] = {"native", "cublas"};
    weight_t x = {room_for(ctx, sizeof(float) * SIDE * (size_t)SIDE), NULL};
    if (!x.w) return;
    bool good = true;
    for (size_t i = 0; i < GPU_COUNT(makers); i++) good &= make_weight(ctx, makers[i], x.w);
    if (good) multiply_all(ctx, &x);
    if (good) check_metadata(ctx, &x);
    lac_meta_free(x.meta);
    lac_device_free(ctx, x.w);
}

/* Events of one byte each, 4000 x 600000 of them, and outputs of as many floats ------------------------ */

enum { ROWS = 4000, LENGTH = 600000, WIDTH = 8, PERIOD = 4001 };

/* Row i has an event wherever k leaves this modulo PERIOD. */
static int64_t residue(int64_t i)
{
    return i * 17 % PERIOD;
}

static uint8_t *make_events(lac_ctx_t *ctx)
{
    enum { CHUNK = 50 };
    uint8_t *s = room_for(ctx, (size_t)ROWS * LENGTH), *chunk = malloc((size_t)CHUNK * LENGTH);
    for (int64_t i = 0; s && i < ROWS; i += CHUNK) {
        memset(chunk, 0, (size_t)CHUNK * LENGTH);
        for (int64_t r = 0; r < CHUNK; r++)
            for (int64_t k = residue(i + r); k < LENGTH; k += PERIOD) chunk[r * LENGTH + k] = 3;
        gpu_expect(lac_device_upload(ctx, s + i * LENGTH, chunk, (size_t)CHUNK * LENGTH), LAC_OK, "upload");
    }
    free(chunk);
    return s;
}

static int weight_at(int64_t k, int64_t j)
{
    return (int)(k % 13) - 6 + (int)j;
}

static int weight_of(int64_t at)
{
    return weight_at(at / WIDTH, at % WIDTH);
}

static void test_byte_events(lac_ctx_t *ctx)
{
    uint8_t *s = make_events(ctx);
    if (!s) return;
    float *w = vector(ctx, (int64_t)LENGTH * WIDTH, weight_of), *out = malloc(sizeof(float) * ROWS * WIDTH);
    void *result = gpu_upload(ctx, out, sizeof(float) * ROWS * WIDTH);
    lac_obj_t a = {LAC_U8, LAC_DEVICE, LAC_NO_TRANS, ROWS, LENGTH, LENGTH, 1, s, NULL};
    lac_obj_t b = matrix(w, LENGTH, WIDTH), c = matrix(result, ROWS, WIDTH);
    const gpu_routes_t routes = gpu_routes_of(ctx, "sparse dense native");
    for (size_t r = 0; r < routes.count; r++) {
        lac_call_opts_t call = {.size = sizeof call, .route = routes.name[r]};
        lac_status_t status = lac_gemm_ex(ctx, NULL, &a, &b, NULL, &c, &call);
        if (!status) status = lac_device_download(ctx, out, result, sizeof(float) * ROWS * WIDTH);
        bool good = gpu_expect(status, LAC_OK, routes.name[r]);
        for (int64_t at = 0; good && at < ROWS * WIDTH; at++) {
            int want = 0;
            for (int64_t k = residue(at / WIDTH); k < LENGTH; k += PERIOD) want += weight_at(k, at % WIDTH);
            if (!(good = out[at] == (float)want))
                gpu_fail("%s: output %" PRId64 " is %g, expected %d", routes.name[r], at, out[at], want);
        }
    }
    lac_device_free(ctx, s);
    lac_device_free(ctx, w);
    lac_device_free(ctx, result);
    free(out);
}

static void test_large_output(lac_ctx_t *ctx)
{
    static const int64_t rows[] = {0, 1789, 1790, 3579, 3580, ROWS - 1}; /* around 2^30 and 2^31 */
    float *c_buf = room_for(ctx, sizeof(float) * ROWS * (size_t)LENGTH), *row = malloc(LENGTH * sizeof *row);
    if (!c_buf) return free(row);
    float *s = vector(ctx, (int64_t)ROWS * WIDTH, left), *w = vector(ctx, (int64_t)WIDTH * LENGTH, right);
    lac_obj_t a = matrix(s, ROWS, WIDTH), b = matrix(w, WIDTH, LENGTH), c = matrix(c_buf, ROWS, LENGTH);
    const gpu_routes_t routes = gpu_routes_of(ctx, "sparse dense native");
    for (size_t r = 0; r < routes.count; r++) {
        lac_call_opts_t call = {.size = sizeof call, .route = routes.name[r]};
        bool good = gpu_expect(lac_gemm_ex(ctx, NULL, &a, &b, NULL, &c, &call), LAC_OK, routes.name[r]);
        for (size_t i = 0; good && i < GPU_COUNT(rows); i++) {
            lac_device_download(ctx, row, c_buf + rows[i] * LENGTH, LENGTH * sizeof *row);
            for (int64_t j = 0; good && j < LENGTH; j++) {
                int want = 0;
                for (int64_t k = 0; k < WIDTH; k++) want += left(rows[i] * WIDTH + k) * right(k * LENGTH + j);
                if (!(good = row[j] == (float)want))
                    gpu_fail("%s: output %" PRId64 ", %" PRId64 " is %g, expected %d", routes.name[r],
                             rows[i], j, row[j], want);
            }
        }
    }
    lac_device_free(ctx, c_buf);
    lac_device_free(ctx, s);
    lac_device_free(ctx, w);
    free(row);
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_weight), GPU_TEST(test_byte_events),
                                       GPU_TEST(test_large_output)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}

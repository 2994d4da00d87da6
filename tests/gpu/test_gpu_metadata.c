/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Metadata on the device: every format measured and attached, shown by products of the format alone;
 * generations; what is derived from frozen operands, counted and switched off. */
#include "gpu_case.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned bit;
} formats[] = {
    {"csr", LAC_META_CSR}, {"csc", LAC_META_CSC}, {"bits", LAC_META_BITMASK}, {"active", LAC_META_ACTIVE}};

static const char *const shapes[] = {"1x1",    "1x5000",  "31x33",   "127x127", "5000x1",  "64x64",
                                     "9x6401", "4097x31", "129x300", "2x65",    "70001x17"};
static const char *const fillings[] = {"zero",    "bern1e-4", "bern0.01/x", "bern0.3",
                                       "dense/x", "row0.3",   "col0.2"};
static const char *const layouts[] = {"row", "col", "row+3", "rowx2+1", "colx3"};

/* The stored A of a problem, m x k with three columns on the other side. */
static void describe(char text[REF_PROBLEM_TEXT], size_t shape, size_t filling, const char *more, int seed)
{
    snprintf(text, REF_PROBLEM_TEXT, "sgemm:%s:%sx3:A=%s:layA=%s:%s%ss%d", seed % 5 == 0 ? "TN" : "NN",
             shapes[shape], fillings[filling], layouts[(shape + filling) % GPU_COUNT(layouts)], more,
             *more ? ":" : "", seed);
}

static double true_density(const ref_matrix_t *x)
{
    return (double)ref_matrix_nonzeros(x) / ((double)x->m * (double)x->n);
}

static void expect_density(const gpu_case_t *x, const lac_meta_t *meta, const char *what)
{
    double want = true_density(&x->host.a), got = lac_meta_density(meta);
    if (!(got > want - 1e-12 && got < want + 1e-12))
        gpu_fail("%s: %s: density %.9g, expected %.9g", x->text, what, got, want);
}

/* The product from the format alone is the product: so the format is what it should be. */
static void check_without_buffer(gpu_case_t *x, const char *what)
{
    const char *routes[GPU_ROUTES_MAX];
    int count = gpu_routes(x->ctx, routes);
    void *buf = x->a.buf;
    x->a.buf = NULL;
    for (int r = 0; r < count; r++) {
        lac_decision_t decision;
        if (r && !gpu_case_takes(x, routes[r])) continue;
        gpu_case_reset(x);
        if (gpu_expect(gpu_case_run(x, routes[r], &decision), LAC_OK, what))
            gpu_case_check(x, &decision, false);
    }
    x->a.buf = buf;
}

/* Each format measured from the buffer, in metadata that was made for the device and in some that was not. */
static void test_scanned_formats(lac_ctx_t *ctx)
{
    int seed = 1;
    for (size_t s = 0; s < GPU_COUNT(shapes); s += gpu_quick() ? 3 : 1)
        for (size_t f = 0; f < GPU_COUNT(fillings); f += gpu_quick() ? 4 : 1)
            for (size_t k = 0; k < GPU_COUNT(formats); k++, seed++) {
                char text[REF_PROBLEM_TEXT];
                gpu_case_t x;
                bool bytes = seed % 7 == 0 && !strchr(fillings[f], '/');
                describe(text, s, f, bytes ? "frozenA=1:dtA=u8" : "frozenA=1", seed);
                if (gpu_case_make(&x, ctx, text)) {
                    lac_status_t status = lac_meta_scan(ctx, &x.a, formats[k].bit);
                    if (gpu_expect(status, LAC_OK, text)) {
                        expect_density(&x, x.know_a.meta, formats[k].name);
                        check_without_buffer(&x, text);
                    }
                }
                gpu_case_free(&x);
            }
}

/* Each format attached, with indices of either type, and without the buffer. */
static void test_attached_formats(lac_ctx_t *ctx)
{
    int seed = 1;
    for (size_t s = 0; s < GPU_COUNT(shapes); s += gpu_quick() ? 3 : 1)
        for (size_t f = 0; f < GPU_COUNT(fillings); f += gpu_quick() ? 4 : 1)
            for (size_t k = 0; k < GPU_COUNT(formats); k++, seed++) {
                char text[REF_PROBLEM_TEXT], more[64];
                gpu_case_t x;
                snprintf(more, sizeof more, "metaA=%s", formats[k].name);
                describe(text, s, f, more, seed);
                if (gpu_case_make(&x, ctx, text)) check_without_buffer(&x, text);
                gpu_case_free(&x);
            }
}

/* Bytes that the library holds are those of the format: pointers of 64 bits, indices of 32, values, bits. */
static void test_bytes(lac_ctx_t *ctx)
{
    gpu_case_t x;
    if (gpu_case_make(&x, ctx, "sgemm:NN:200x500x3:A=bern0.1:frozenA=1:s4")) {
        const size_t nnz = (size_t)ref_matrix_nonzeros(&x.host.a), before = lac_meta_bytes(x.know_a.meta);
        const size_t m = (size_t)x.host.a.m, n = (size_t)x.host.a.n, words = m * ((n + 63) / 64);
        const size_t want[] = {(m + 1) * 8 + nnz * 8, (n + 1) * 8 + nnz * 8,
                               (m + 1) * 8 + nnz * 4 + words * 8};
        size_t sum = before;
        for (size_t k = 0; k < GPU_COUNT(want); k++) {
            gpu_expect(lac_meta_scan(ctx, &x.a, formats[k].bit), LAC_OK, formats[k].name);
            sum += want[k];
            if (lac_meta_bytes(x.know_a.meta) != sum)
                gpu_fail("%s: %zu bytes in all, expected %zu", formats[k].name, lac_meta_bytes(x.know_a.meta),
                         sum);
        }
        gpu_expect(lac_meta_scan(ctx, &x.a, LAC_META_CSR | LAC_META_CSC), LAC_OK, "again");
        if (lac_meta_bytes(x.know_a.meta) != sum) gpu_fail("a second scan keeps the first");
        gpu_expect(lac_meta_touch(x.know_a.meta), LAC_OK, "touch");
        if (lac_meta_bytes(x.know_a.meta) > sum) gpu_fail("a touch does not grow");
    }
    gpu_case_free(&x);
}

/* A frozen operand of which no more than the bits along its columns were derived: they stand for it in what
 * is asked of it then. */
static void test_bits_of_columns(lac_ctx_t *ctx)
{
    gpu_case_t x;
    const uint64_t nothing[2] = {0, 0};
    uint64_t got[2], *there = gpu_upload(ctx, nothing, sizeof nothing); /* a count, one tile */
    if (gpu_case_make(&x, ctx, "sgemm:TN:300x700x9:A=bern0.4:frozenA=1:metaA=density:s13") &&
        gpu_expect(gpu_case_run(&x, "bitmask", NULL), LAC_OK, "product")) {
        gpu_case_check(&x, NULL, false);
        gpu_expect(lac_count_nonzeros(ctx, &x.a, (int64_t *)there), LAC_OK, "count");
        gpu_expect(lac_tile_occupancy(ctx, &x.a, 1000, 1000, there + 1, NULL), LAC_OK, "tiles");
        gpu_expect(lac_device_download(ctx, got, there, sizeof got), LAC_OK, "download");
        if (got[0] != (uint64_t)ref_matrix_nonzeros(&x.host.a) || got[1] != 1)
            gpu_fail("%llu nonzeros, tile %llx", (unsigned long long)got[0], (unsigned long long)got[1]);
    }
    lac_device_free(ctx, there);
    gpu_case_free(&x);
}

/* What was measured of an operand that is not frozen is a hint: the product follows the buffer. */
static void test_hints(lac_ctx_t *ctx)
{
    const char *routes[GPU_ROUTES_MAX];
    int count = gpu_routes(ctx, routes);
    gpu_case_t x;
    lac_meta_t *meta = NULL;
    if (gpu_case_make(&x, ctx, "sgemm:NN:10x700x300:A=bern0.01:s4") &&
        gpu_expect(lac_meta_create_for(ctx, &meta, x.host.a.m, x.host.a.n), LAC_OK, "create")) {
        x.a.meta = meta;
        gpu_expect(lac_meta_scan(ctx, &x.a, LAC_META_CSR | LAC_META_ACTIVE | LAC_META_BITMASK), LAC_OK,
                   "scan");
        gpu_case_change(&x, "sgemm:NN:10x700x300:A=bern0.4:s8");
        for (int r = 0; r < count; r++) {
            lac_decision_t decision;
            if (r && !gpu_case_takes(&x, routes[r])) continue;
            gpu_case_reset(&x);
            if (gpu_expect(gpu_case_run(&x, routes[r], &decision), LAC_OK, x.text))
                gpu_case_check(&x, &decision, false);
        }
    }
    lac_meta_free(meta);
    gpu_case_free(&x);
}

/* Frozen, changed, touched, frozen again: everything that was derived is made anew. */
static void test_generations(lac_ctx_t *ctx)
{
    static const char *const contents[] = {"bern0.4:s4", "bern0.5:s8", "zero:s12", "dense:s16"};
    const char *routes[GPU_ROUTES_MAX];
    int count = gpu_routes(ctx, routes);
    gpu_case_t x;
    char text[REF_PROBLEM_TEXT];
    if (gpu_case_make(&x, ctx, "sgemm:NT:10x700x300:A=bern0.02:B=bern0.4:frozenB=1:metaB=density:s4"))
        for (size_t g = 0; g < GPU_COUNT(contents); g++) {
            snprintf(text, sizeof text, "sgemm:NT:10x700x300:A=bern0.02:B=%s", contents[g]);
            if (g) {
                uint64_t before = lac_meta_generation(x.know_b.meta);
                gpu_expect(lac_meta_touch(x.know_b.meta), LAC_OK, "touch");
                if (lac_meta_generation(x.know_b.meta) <= before) gpu_fail("a touch starts no generation");
                gpu_case_change(&x, text);
                gpu_expect(lac_meta_freeze(x.know_b.meta), LAC_OK, "freeze");
                gpu_expect(lac_meta_scan(ctx, &x.b, LAC_META_DENSITY), LAC_OK, "scan");
            }
            for (int r = 0; r < count; r++) {
                lac_decision_t decision;
                if (r && !gpu_case_takes(&x, routes[r])) continue;
                gpu_case_reset(&x);
                if (gpu_expect(gpu_case_run(&x, routes[r], &decision), LAC_OK, text))
                    gpu_case_check(&x, &decision, false);
            }
        }
    gpu_case_free(&x);
}

/* A weight by columns gets a copy by rows where it is frozen: made once, counted, freed by a touch. It has
 * more rows than the event route takes on the right, so that it is taken for the weight. */
static void test_k_major_copy(lac_ctx_t *ctx)
{
    static const char text[] = "sgemm:NT:10x300x5000:A=bern0.02:frozenB=1:s4";
    const size_t copy = sizeof(float) * 300 * 5000;
    if (gpu_quick()) return;
    for (int off = 0; off < 2; off++) {
        gpu_case_t x;
        lac_decision_t decision;
        gpu_expect(lac_ctx_set(ctx, "prepack", off ? "off" : "on"), LAC_OK, "prepack");
        if (gpu_case_make(&x, ctx, text)) {
            size_t before = lac_meta_bytes(x.know_b.meta), want = before + (off ? 0 : copy);
            for (int again = 0; again < 2; again++) {
                gpu_case_reset(&x);
                if (gpu_expect(gpu_case_run(&x, "event", &decision), LAC_OK, text))
                    gpu_case_check(&x, &decision, false);
                if (lac_meta_bytes(x.know_b.meta) != want)
                    gpu_fail("prepack %s: %zu bytes held, expected %zu", off ? "off" : "on",
                             lac_meta_bytes(x.know_b.meta), want);
            }
            gpu_expect(lac_meta_touch(x.know_b.meta), LAC_OK, "touch");
            if (gpu_expect(gpu_case_run(&x, "event", &decision), LAC_OK, "touched"))
                gpu_case_check(&x, &decision, false);
        }
        gpu_case_free(&x);
    }
    gpu_expect(lac_ctx_set(ctx, "prepack", "on"), LAC_OK, "prepack");
}

/* What the product by tiles makes of a frozen operand, on either side: made once, counted, freed by a touch;
 * not made where copies are switched off. */
static void test_kept_tiles(lac_ctx_t *ctx)
{
    static const char *const texts[] = {"sgemm:NN:300x500x200:A=bern0.3:frozenA=1:metaA=density:s4",
                                        "sgemm:TN:300x500x200:A=col0.3:frozenA=1:metaA=density:s8",
                                        "sgemm:NT:200x300x500:B=row0.1:frozenB=1:metaB=density:s12"};
    for (size_t t = 0; t < GPU_COUNT(texts); t++)
        for (int off = 0; off < 2; off++) {
            gpu_case_t x;
            lac_decision_t decision;
            gpu_expect(lac_ctx_set(ctx, "prepack", off ? "off" : "on"), LAC_OK, "prepack");
            if (gpu_case_make(&x, ctx, texts[t]) && gpu_case_takes(&x, "tiles")) {
                lac_meta_t *meta = x.know_a.meta ? x.know_a.meta : x.know_b.meta;
                size_t before = lac_meta_bytes(meta), held = 0;
                for (int again = 0; again < 2; again++) {
                    gpu_case_reset(&x);
                    if (gpu_expect(gpu_case_run(&x, "tiles", &decision), LAC_OK, texts[t]))
                        gpu_case_check(&x, &decision, false);
                    if (again && lac_meta_bytes(meta) != held) gpu_fail("%s: made twice", texts[t]);
                    held = lac_meta_bytes(meta);
                }
                if ((held == before) != off)
                    gpu_fail("%s: prepack %s: %zu bytes held, %zu before", texts[t], off ? "off" : "on", held,
                             before);
                gpu_expect(lac_meta_touch(meta), LAC_OK, "touch");
                if (lac_meta_bytes(meta) != before) gpu_fail("%s: a touch keeps the tiles", texts[t]);
            }
            gpu_case_free(&x);
        }
    gpu_expect(lac_ctx_set(ctx, "prepack", "on"), LAC_OK, "prepack");
}

static void test_density_and_mistakes(lac_ctx_t *ctx)
{
    gpu_case_t x;
    lac_meta_t *meta = NULL;
    if (gpu_case_make(&x, ctx, "sgemm:NN:33x300x3:A=bern0.1/x:layA=rowx2+1:s4") &&
        gpu_expect(lac_meta_create_for(ctx, &meta, x.host.a.m, x.host.a.n), LAC_OK, "create")) {
        lac_obj_t a = x.a;
        if (lac_meta_density(meta) >= 0) gpu_fail("fresh metadata knows a density");
        gpu_expect_error(lac_meta_scan(ctx, &a, LAC_META_CSR), LAC_ERR_NULL, "obj.meta", "no metadata");
        a.meta = meta;
        gpu_expect_error(lac_meta_scan(ctx, &a, 0), LAC_ERR_VALUE, "what", "nothing");
        gpu_expect_error(lac_meta_scan(ctx, &a, 0x100), LAC_ERR_VALUE, "what", "unknown bits");
        gpu_expect(lac_meta_scan(ctx, &a, LAC_META_DENSITY), LAC_OK, "density");
        expect_density(&x, meta, "scan");
        a.buf = NULL;
        gpu_expect_error(lac_meta_scan(ctx, &a, LAC_META_CSR), LAC_ERR_EMPTY, "obj.buf", "no buffer");
        a = x.a;
        a.meta = meta;
        a.m = 32;
        gpu_expect_error(lac_meta_scan(ctx, &a, LAC_META_CSR), LAC_ERR_EXTENT, "obj.meta", "other extents");
    }
    lac_meta_free(meta);
    gpu_case_free(&x);
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_density_and_mistakes),
                                       GPU_TEST(test_scanned_formats),
                                       GPU_TEST(test_attached_formats),
                                       GPU_TEST(test_bytes),
                                       GPU_TEST(test_bits_of_columns),
                                       GPU_TEST(test_hints),
                                       GPU_TEST(test_generations),
                                       GPU_TEST(test_k_major_copy),
                                       GPU_TEST(test_kept_tiles)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}

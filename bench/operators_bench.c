/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times the operators beside the product on the host, large cases, each in turns with a copy that moves as
 * many bytes as must move; JSON to a file.
 *
 * usage: operators_bench out.json [-t threads] [-r repeats] [-o name] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_timing.h"
#include "lacuna/lacuna.h"

enum { ROWS = 10000, COLS = 10000, PICKED = 5000, EACH = 1000, ENTRIES = ROWS * EACH };
enum { WIDE = 400000, LINES = 1000, SAMPLED = 200 * LINES, DEPTH = 128 };
enum { TRIALS = 32, STEPS = 10, SIDE = 2000, STRIDE = STEPS * SIDE };

static int threads = 2;
static lac_ctx_t *ctx;
static int64_t moved;  /* bytes that must move in the case at hand        */
static lac_obj_t s, d; /* ROWS x COLS: in CSR alone, and a dense buffer of few nonzeros */
static int32_t *ptr, *idx;
static int64_t *rows, *count;
static float *val, *out, *values, *few;
static lac_obj_t a, b, pattern;      /* of a sampled product                      */
static lac_obj_t events, weights, c; /* of a batch: the first of each             */
static lac_meta_t *made;
static lac_obj_t masked; /* d as a bitmask alone */

static void must(lac_status_t status)
{
    if (!status) return;
    fprintf(stderr, "%s\n", lac_last_error());
    exit(1);
}

/* `each` columns of every row, one in each of as many stretches. */
static void fill_csr(int64_t m, int64_t n, int64_t each, int32_t *to_ptr, int32_t *to_idx)
{
    for (int64_t i = 0; i <= m; i++) to_ptr[i] = (int32_t)(i * each);
    for (int64_t e = 0; e < m * each; e++) {
        int64_t from = e % each * n / each, to = (e % each + 1) * n / each;
        to_idx[e] = (int32_t)(from + (int64_t)(bench_random() % (uint64_t)(to - from)));
    }
}

static float *random_floats(int64_t n)
{
    float *x = bench_need(n * 4);
    for (int64_t e = 0; e < n; e++) x[e] = (float)(bench_random() >> 40) * 0x1p-24F + 0.25F;
    return x;
}

static void build_sparse(void)
{
    ptr = bench_need((ROWS + 1) * 4), idx = bench_need((int64_t)ENTRIES * 4), val = random_floats(ENTRIES);
    fill_csr(ROWS, COLS, EACH, ptr, idx);
    rows = bench_need(PICKED * 8);
    for (int64_t i = 0; i < PICKED; i++) rows[i] = i * 7919 % ROWS;
    out = bench_need((int64_t)ROWS * COLS * 4), values = bench_need((int64_t)ENTRIES * 8);
    count = bench_need(8);
    s = lac_obj_rowmajor(LAC_F32, ROWS, COLS, NULL, COLS);
    must(lac_meta_create(&s.meta, ROWS, COLS));
    must(lac_meta_attach_csr(s.meta, LAC_I32, ptr, idx, val));
}

/* A hundredth of the elements, in a buffer and as a bitmask. */
static void build_dense(void)
{
    lac_format_view_t view;
    few = bench_need((int64_t)ROWS * COLS * 4);
    memset(few, 0, (size_t)ROWS * COLS * 4);
    for (int64_t e = 0; e < (int64_t)ROWS * COLS / 100; e++)
        few[e * 100 + (int64_t)(bench_random() % 100)] = 1.5F;
    d = lac_obj_rowmajor(LAC_F32, ROWS, COLS, few, COLS);
    must(lac_meta_create(&d.meta, ROWS, COLS));
    lac_meta_t *bits;
    must(lac_meta_create(&bits, ROWS, COLS));
    masked = d, d.meta = bits;
    must(lac_meta_scan(ctx, &d, LAC_META_BITMASK));
    must(lac_meta_freeze(bits));
    must(lac_meta_view(bits, LAC_META_BITMASK, &view));
    d.meta = masked.meta, masked.buf = NULL;
    must(lac_meta_create(&masked.meta, ROWS, COLS));
    must(lac_meta_attach_bitmask(masked.meta, view.bits, view.val));
}

static void build_sampled(void)
{
    int32_t *p = bench_need((LINES + 1) * 4), *i = bench_need(SAMPLED * 4);
    fill_csr(LINES, WIDE, SAMPLED / LINES, p, i);
    pattern = lac_obj_rowmajor(LAC_F32, LINES, WIDE, NULL, WIDE);
    must(lac_meta_create(&pattern.meta, LINES, WIDE));
    must(lac_meta_attach_csr(pattern.meta, LAC_I32, p, i, NULL));
    a = lac_obj_rowmajor(LAC_F32, LINES, DEPTH, random_floats(LINES * DEPTH), DEPTH);
    b = lac_obj_rowmajor(LAC_F32, DEPTH, WIDE, random_floats((int64_t)WIDE * DEPTH), 1);
    b.rs = 1, b.cs = DEPTH;
}

static void build_batch(void)
{
    uint8_t *spikes = bench_need((int64_t)TRIALS * STRIDE);
    for (int64_t e = 0; e < (int64_t)TRIALS * STRIDE; e++) spikes[e] = bench_random() % 100 == 0;
    events = lac_obj_rowmajor(LAC_U8, STEPS, SIDE, spikes, SIDE);
    weights = lac_obj_rowmajor(LAC_F32, SIDE, SIDE, random_floats((int64_t)TRIALS * SIDE * SIDE), SIDE);
    c = lac_obj_rowmajor(LAC_F32, STEPS, SIDE, out, SIDE);
    int64_t slices = 0;
    for (int64_t t = 0; t < TRIALS; t++)
        for (int64_t k = 0; k < SIDE; k++) {
            int any = 0;
            for (int64_t i = 0; i < STEPS; i++) any |= spikes[t * STRIDE + i * SIDE + k];
            slices += any;
        }
    moved = slices * SIDE * 4 + (int64_t)TRIALS * STRIDE * 5;
}

static void slice(void)
{
    lac_obj_t o = lac_obj_rowmajor(LAC_F32, PICKED, COLS, out, COLS);
    must(lac_slice_rows(ctx, &s, LAC_I64, PICKED, rows, &o, NULL));
}
static void slice_grad(void)
{
    lac_obj_t o = lac_obj_rowmajor(LAC_F32, PICKED, COLS, out, COLS);
    must(lac_slice_rows_grad(ctx, &s, LAC_I64, PICKED, rows, &o, values, NULL));
}
static void slice_csr(void)
{
    int32_t *to = (int32_t *)(void *)out;
    must(lac_slice_rows_count(ctx, &s, LAC_I64, PICKED, rows, LAC_I32, to, NULL));
    must(lac_slice_rows_csr(ctx, &s, LAC_I64, PICKED, rows, LAC_I32, to, to + PICKED + 1, values, NULL));
}
static void sddmm(void)
{
    must(lac_sddmm(ctx, NULL, &a, &b, NULL, &pattern, values));
}
/* dL/dA at the entries of a CSR A of LINES x WIDE, C = A B with B by rows: G B' is sampled. */
static void grad_entries(void)
{
    lac_obj_t by_rows = b, g = a;
    by_rows.m = WIDE, by_rows.n = DEPTH, by_rows.rs = DEPTH, by_rows.cs = 1;
    must(lac_gemm_grad_a(ctx, NULL, &g, &by_rows, NULL, &pattern, values));
}
/* dL/dW of trials x neurons events: the rows of W whose neuron spiked, and zeros. */
static void grad_weights(void)
{
    lac_obj_t e = lac_obj_rowmajor(LAC_U8, STEPS, TRIALS * SIDE, events.buf, TRIALS * SIDE),
              g = lac_obj_rowmajor(LAC_F32, STEPS, 1000, few, 1000),
              w = lac_obj_rowmajor(LAC_F32, TRIALS * SIDE, 1000, out, 1000);
    must(lac_gemm_grad_b(ctx, NULL, &e, &g, NULL, &w, NULL));
}
static void batch(void)
{
    must(lac_gemm_batched(ctx, TRIALS, NULL, &events, STRIDE, &weights, (int64_t)SIDE * SIDE, NULL, &c,
                          STRIDE));
}

static lac_obj_t derived; /* what a conversion works on: metadata of its own in each turn */
static void from_csr(void)
{
    lac_meta_free(made);
    derived = s;
    must(lac_meta_create(&derived.meta, ROWS, COLS));
    must(lac_meta_attach_csr(derived.meta, LAC_I32, ptr, idx, val));
    made = derived.meta;
}
static void from_dense(void)
{
    must(lac_meta_touch(d.meta));
}
static void csr_to_csc(void)
{
    must(lac_meta_convert(ctx, &derived, LAC_META_CSC));
}
static void csr_to_dense(void)
{
    lac_obj_t o = lac_obj_rowmajor(LAC_F32, ROWS, COLS, out, COLS);
    must(lac_to_dense(ctx, &s, &o));
}
/* Of the same elements as 16 rows, a seventh of whose columns are active. */
static void dense_to_active(void)
{
    lac_obj_t flat = lac_obj_rowmajor(LAC_F32, 16, ROWS * COLS / 16, few, ROWS * COLS / 16);
    flat.meta = made;
    must(lac_meta_scan(ctx, &flat, LAC_META_ACTIVE));
}
static void flat_meta(void)
{
    lac_meta_free(made);
    must(lac_meta_create(&made, 16, ROWS * COLS / 16));
}
static void bits_to_dense(void)
{
    lac_obj_t o = lac_obj_rowmajor(LAC_F32, ROWS, COLS, out, COLS);
    must(lac_to_dense(ctx, &masked, &o));
}
static void dense_to_csr(void)
{
    must(lac_meta_scan(ctx, &d, LAC_META_CSR));
}
static void dense_to_csc(void)
{
    must(lac_meta_scan(ctx, &d, LAC_META_CSC));
}
static void dense_to_bits(void)
{
    must(lac_meta_scan(ctx, &d, LAC_META_BITMASK));
}
static void count_dense(void)
{
    lac_obj_t plain = d;
    plain.meta = NULL;
    must(lac_count_nonzeros(ctx, &plain, count));
}
static void copy(void)
{
    bench_copy(threads, moved);
}

#define MATRIX (4.0 * ROWS * COLS)

static const struct {
    const char *name, *what;
    void (*run)(void), (*prepare)(void);
    double bytes; /* that must move; 0: found when the case was built */
} cases[] = {
    {"slice", "5000 of 10000 x 10000, 1000 each: rows to dense", slice, NULL,
     MATRIX / 2 + 8.0 * PICKED *EACH},
    {"slice_grad", "the same: gradient to the values", slice_grad, NULL,
     MATRIX / 2 + 4.0 * PICKED *EACH + 4.0 * ENTRIES},
    {"slice_csr", "the same: rows to CSR", slice_csr, NULL, 16.0 * PICKED *EACH},
    {"sddmm", "1000 x 128 x 400000 at 200 entries a row: sampled product", sddmm, NULL,
     (4.0 * DEPTH + 8) * SAMPLED},
    {"grad_entries", "the same: gradient to a CSR operand's values", grad_entries, NULL,
     (4.0 * DEPTH + 8) * SAMPLED},
    {"grad_weights", "10 x 64000 x 1000, 1 % events: gradient to the weights", grad_weights, NULL,
     4.0 * TRIALS *SIDE * 1000},
    {"batch", "32 of 10 x 2000 x 2000, 1 % events: batch, a weight each", batch, NULL, 0},
    {"csr_to_csc", "10000 x 10000, 10 %: CSR to CSC", csr_to_csc, from_csr, 16.0 * ENTRIES},
    {"csr_to_dense", "the same: CSR to dense", csr_to_dense, NULL, MATRIX + 8.0 * ENTRIES},
    {"dense_to_csr", "10000 x 10000, 1 %: dense to CSR", dense_to_csr, from_dense, MATRIX * 1.02},
    {"dense_to_csc", "the same: dense to CSC", dense_to_csc, from_dense, MATRIX * 1.02},
    {"dense_to_bits", "the same: dense to bitmask", dense_to_bits, from_dense, MATRIX * 1.04125},
    {"dense_to_active", "as 16 rows, 15 % of columns active: dense to active list", dense_to_active,
     flat_meta, MATRIX + 0.15 * (17.0 / 16.0) * MATRIX},
    {"bits_to_dense", "the same: bitmask to dense", bits_to_dense, NULL, MATRIX * 1.04125},
    {"count", "the same: count of nonzeros", count_dense, NULL, MATRIX},
};

static void report(FILE *json, int *first, const char *what, const bench_way_t *way, int repeats)
{
    fprintf(json, "%s\n  {\"problem\": \"%s\", \"route\": \"%s\", \"us\": %.1f, \"min_us\": %.1f}",
            *first ? "" : ",", what, way->name, way->us[repeats / 2], way->us[0]);
    *first = 0;
}

int main(int argc, char **argv)
{
    int repeats = 11, first = 1;
    const char *only = NULL;
    for (int o; (o = getopt(argc, argv, "t:r:o:")) != -1;) {
        if (o == 't') threads = atoi(optarg);
        if (o == 'r') repeats = atoi(optarg);
        if (o == 'o') only = optarg;
        if (o == '?') return 2;
    }
    if (threads < 1 || threads > BENCH_THREADS || repeats < 1 || repeats > BENCH_REPEATS || optind >= argc)
        return 2;
    FILE *json = fopen(argv[optind], "w");
    char number[16];
    snprintf(number, sizeof number, "%d", threads);
    if (!json || lac_ctx_create(&ctx) || lac_ctx_set(ctx, "threads", number)) return 1;
    build_sparse(), build_dense(), build_sampled(), build_batch();
    int64_t batch_bytes = moved;
    const char *about[] = {getenv("LACUNA_MACHINE"), getenv("LACUNA_DATE"), getenv("LACUNA_COMMIT")};
    for (int i = 0; i < 3; i++) about[i] = about[i] ? about[i] : "";
    fprintf(json,
            "{\"schema\": \"lacuna-operators-1\", \"processor\": \"%s\", \"threads\": %d, \"date\": \"%s\", "
            "\"commit\": "
            "\"%s\", \"repeats\": %d, \"results\": [",
            about[0], threads, about[1], about[2], repeats);
    for (size_t q = 0; q < sizeof cases / sizeof *cases; q++) {
        bench_way_t ways[] = {{.name = "lacuna", .run = cases[q].run, .prepare = cases[q].prepare},
                              {.name = "copy of as many bytes", .run = copy}};
        if (only && strcmp(only, cases[q].name)) continue;
        moved = cases[q].bytes > 0 ? (int64_t)cases[q].bytes : batch_bytes;
        bench_in_turns(ways, 2, repeats);
        double ours = ways[0].us[repeats / 2], floor_us = ways[1].us[repeats / 2];
        printf("%-62s %8.0f us, floor %8.0f us, %.2f times (least %.2f)\n", cases[q].what, ours, floor_us,
               ours / floor_us, ways[0].us[0] / ways[1].us[0]);
        fflush(stdout);
        for (int w = 0; w < 2; w++) report(json, &first, cases[q].what, ways + w, repeats);
    }
    fprintf(json, "\n]}\n");
    return fclose(json) != 0;
}

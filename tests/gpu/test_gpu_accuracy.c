/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The accuracy contract on a device: the error of every route against fp64, relative to |A||B|, is at most
 * twice that of cuBLAS on the same data, mean and max. Prints the ratios. */
#include "gpu_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST    2.0
#define SAMPLES 4096 /* elements of C that are compared, at most */

typedef struct error_stats {
    double mean, max; /* units of 2^-24 |A||B| */
} error_stats_t;

/* Elements of C, evenly spread over it, with the product in double. */
typedef struct sample {
    int count;
    int64_t row[SAMPLES], col[SAMPLES];
    double value[SAMPLES], magnitude[SAMPLES];
} sample_t;

static sample_t sample;
static double worst_mean, worst_max;
static int compared;

static void take_sample(const gpu_case_t *x)
{
    const ref_problem_t *p = &x->problem;
    int64_t all = p->m * p->n, step = all / SAMPLES + 1, last = -1, held = 0;
    int64_t *where = malloc((size_t)p->k * sizeof *where);
    double *value = malloc((size_t)p->k * sizeof *value);
    while (p->n % step == 0 && step > 1) step++; /* not always the same columns */
    sample.count = 0;
    for (int64_t e = 0; where && value && e < all; e += step, sample.count++) {
        int64_t i = e / p->n, j = e % p->n;
        double sum = 0, magnitude = 0;
        if (i != last) {
            held = 0;
            for (int64_t k = 0; k < p->k; k++) {
                double v = ref_matrix_at(&x->host.a, i, k);
                if (v != 0) where[held] = k, value[held++] = v;
            }
        }
        last = i;
        for (int64_t h = 0; h < held; h++) {
            double b = p->trans_b == LAC_TRANS ? ref_matrix_at(&x->host.b, j, where[h])
                                               : ref_matrix_at(&x->host.b, where[h], j);
            double term = value[h] * b;
            sum += term, magnitude += fabs(term);
        }
        sample.row[sample.count] = i, sample.col[sample.count] = j;
        sample.value[sample.count] = sum, sample.magnitude[sample.count] = magnitude;
    }
    free(where);
    free(value);
}

/* Not finite where C is not, and where the call failed. */
static error_stats_t error_of(gpu_case_t *x, const char *route, lac_decision_t *decision)
{
    error_stats_t e = {0, 0};
    gpu_case_reset(x);
    if (!gpu_expect(gpu_case_run(x, route, decision), LAC_OK, x->text)) return (error_stats_t){NAN, NAN};
    gpu_case_checksum(x); /* waits, and fetches C */
    for (int s = 0; s < sample.count; s++) {
        double got = ref_matrix_at(&x->host.c, sample.row[s], sample.col[s]);
        double error = fabs(got - sample.value[s]) / (sample.magnitude[s] * 0x1p-24 + 1e-300);
        e.mean += error / sample.count;
        if (!(error <= e.max)) e.max = error;
    }
    return e;
}

static void compare_routes(lac_ctx_t *ctx, const char *text)
{
    const char *names[GPU_ROUTES_MAX];
    int count = gpu_routes(ctx, names);
    gpu_case_t x;
    if (gpu_case_make(&x, ctx, text) && gpu_case_takes(&x, "dense")) {
        lac_decision_t decision;
        take_sample(&x);
        error_stats_t vendor = error_of(&x, "dense", &decision);
        printf("     %s: cuBLAS %.2f mean, %.1f max\n", text, vendor.mean, vendor.max);
        for (int r = 0; r < count; r++) {
            const char *route = names[r];
            bool chosen = !strcmp(route, "auto");
            /* cuSPARSE's sums are its own */
            if (!strcmp(route, "dense") || !strcmp(route, "cusparse") ||
                (!chosen && !gpu_case_takes(&x, route)))
                continue;
            error_stats_t ours = error_of(&x, chosen ? NULL : route, &decision);
            double mean = ours.mean / vendor.mean, max = ours.max / vendor.max;
            printf("       %-10s %-10s %-6s mean %5.2f max %5.2f%s\n", route, decision.route, decision.side,
                   mean, max, mean <= MOST && max <= MOST ? "" : "  OVER");
            bool vendors = chosen && !strcmp(decision.route, "cusparse");
            if (!vendors && !(mean <= MOST && max <= MOST))
                gpu_fail("%s by %s: error %.2f times that of cuBLAS in the mean, %.2f at most", text,
                         decision.route, mean, max);
            if (!vendors && mean > worst_mean) worst_mean = mean;
            if (!vendors && max > worst_max) worst_max = max;
            compared++;
        }
    }
    gpu_case_free(&x);
    fflush(stdout);
}

/* A shape on the five kinds of data: of either sign, exponents spread over 2^+-8 and 2^+-30, positive, and
 * half and half. */
static void compare_kinds(lac_ctx_t *ctx, const char *format)
{
    static const char *const kinds[][2] = {
        {"", ""}, {"/e8", "/e8"}, {"/e30", "/e30"}, {"/p", "/p"}, {"/p", ""}};
    char text[REF_PROBLEM_TEXT];
    for (size_t i = 0; i < GPU_COUNT(kinds); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof text, format, kinds[i][0], kinds[i][1]);
#pragma GCC diagnostic pop
        compare_routes(ctx, text);
    }
}

static void test_short_sums(lac_ctx_t *ctx)
{
    compare_kinds(ctx, "sgemm:NN:8x16x64:A=bern0.5%s:B=dense%s:metaA=csr:s1");
    compare_kinds(ctx, "sgemm:NN:64x200x96:A=bern0.2%s:B=dense%s:metaA=csr:s4");
}

static void test_few_rows(lac_ctx_t *ctx)
{
    compare_kinds(ctx, "sgemm:NN:96x4096x4096:A=bern0.03%s:B=dense%s:metaA=density:s1");
    compare_kinds(ctx, "sgemm:NN:96x4096x4096:A=bern0.03%s:B=dense%s:metaA=csr:s1");
    compare_kinds(ctx, "sgemm:NN:10x5000x5000:A=bern0.1%s:B=dense%s:metaA=density:s5");
    compare_kinds(ctx, "sgemm:NN:10x5000x5000:A=bern0.01%s:B=dense%s:metaA=csr:s4");
    compare_kinds(ctx, "sgemm:NT:10x5000x3000:A=bern0.3%s:B=dense%s:metaA=density:s1"); /* W by columns */
    compare_kinds(ctx, "sgemm:NT:4x20000x2000:A=bern0.01%s:B=dense%s:metaA=csr:s4");
}

static void test_many_rows(lac_ctx_t *ctx)
{
    compare_kinds(ctx, "sgemm:NN:256x2048x1024:A=bern0.2%s:B=dense%s:metaA=density:s1");
    compare_kinds(ctx, "sgemm:NN:512x4096x512:A=bern0.1%s:B=dense%s:metaA=csr:s4");
    compare_kinds(ctx, "sgemm:NN:2048x4096x64:A=bern0.05%s:B=dense%s:metaA=csr:s5");
    compare_kinds(ctx, "sgemm:NN:2048x4096x4:A=bern0.3%s:B=dense%s:frozenA=1:metaA=density:s1");
}

static void test_long_sums(lac_ctx_t *ctx)
{
    compare_kinds(ctx, "sgemm:NN:64x100000x256:A=bern0.05%s:B=dense%s:metaA=csr:s4");
    compare_kinds(ctx, "sgemm:NN:8x1000000x64:A=bern0.1%s:B=dense%s:metaA=density:s1");
    compare_kinds(ctx, "sgemm:NN:8x1000000x64:A=bern0.1%s:B=dense%s:metaA=csr:s4");
    compare_kinds(ctx, "sgemm:NT:4x400000x64:A=bern0.1%s:B=dense%s:metaA=density:s5"); /* W by columns */
    compare_kinds(ctx, "sgemm:NN:1x1000000x32:A=bern0.01%s:B=dense%s:metaA=density:s1");
}

int main(int argc, char **argv)
{
    static const gpu_test_t quick[] = {GPU_TEST(test_short_sums)};
    static const gpu_test_t tests[] = {GPU_TEST(test_short_sums), GPU_TEST(test_few_rows),
                                       GPU_TEST(test_many_rows), GPU_TEST(test_long_sums)};
    int status = gpu_quick() ? gpu_run(quick, GPU_COUNT(quick), argc, argv)
                             : gpu_run(tests, GPU_COUNT(tests), argc, argv);
    if (status) return status;
    printf("%d errors compared: at most %.2f times that of cuBLAS in the mean, %.2f in the max\n", compared,
           worst_mean, worst_max);
    if (compared) return 0;
    printf("skipped: no cuBLAS\n");
    return 77;
}

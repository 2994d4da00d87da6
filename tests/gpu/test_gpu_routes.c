/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * C := beta C + alpha op(A) op(B) on the device by every route that applies, over shapes, transposes,
 * layouts, alignment, scalars, types, densities, patterns and metadata, against the oracle. A failure prints
 * the problem string; `test_gpu_routes -p <route> <problem>` repeats it. */
#include "gpu_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t short_extents[] = {1, 31, 33, 127};
static const int64_t long_extents[] = {5000, 10007};
static const char *const transposes[] = {"NN", "NT", "TN", "TT"};
static const char *const layouts[] = {"row", "col", "row+3", "col+5", "row+1", "rowx2+1", "colx3"};
static const char *const patterns[] = {"zero",    "bern1e-4", "bern0.001",   "bern0.01", "bern0.1",
                                       "bern0.5", "dense",    "dense",       "row0.3",   "col0.2",
                                       "band0.2", "power0.1", "block4x8-0.2"};
static const char *const metas[] = {"none", "none", "none", "density", "csr", "csc", "bits", "active"};
static const char *const scalars[] = {"0", "1", "1", "2.25", "-0.5"};
static const char *const positive_scalars[] = {"1", "1", "2.25", "0"};

enum { ROWS_MAX = 2 * GPU_ROUTES_MAX };

/* How often each row of the route table ran. */
static struct {
    const char *route, *side;
    int ran;
} tally[ROWS_MAX];
static int rows;

static void count(const char *route, const char *side, int runs)
{
    int i = 0;
    while (i < rows && (strcmp(tally[i].route, route) || strcmp(tally[i].side, side))) i++;
    if (i == ROWS_MAX) return;
    if (i == rows) tally[rows++].route = route, tally[i].side = side;
    tally[i].ran += runs;
}

/* One problem by every route that takes it. */
static void check_problem(lac_ctx_t *ctx, const char *text, const char *only_route, bool strict)
{
    const char *routes[GPU_ROUTES_MAX];
    int known = gpu_routes(ctx, routes);
    gpu_case_t x;
    bool made = gpu_case_make(&x, ctx, text);
    for (int r = 0; made && r < known; r++) {
        lac_decision_t decision;
        if (only_route ? strcmp(routes[r], only_route) != 0 : r && !gpu_case_takes(&x, routes[r])) continue;
        gpu_case_reset(&x);
        if (!gpu_expect(gpu_case_run(&x, routes[r], &decision), LAC_OK, text)) continue;
        gpu_case_check(&x, &decision, strict);
        count(decision.route, decision.side, 1);
        for (int i = 0; i < decision.count; i++)
            count(decision.candidate[i].route, decision.candidate[i].side, 0);
    }
    gpu_case_free(&x);
}

/* Appends what describes one operand; sparse only where the metadata is a whole format. */
static size_t describe_operand(char *text, size_t size, char name, const char *values, uint64_t *random)
{
    const char *meta = GPU_PICK(metas, random);
    bool whole = strcmp(meta, "none") && strcmp(meta, "density");
    bool bytes = gpu_random(random) % 5 == 0 && strcmp(values, "p");
    int used = snprintf(text, size, ":%c=%s/%s:lay%c=%s:meta%c=%s", name, GPU_PICK(patterns, random),
                        bytes ? "1" : values, name, GPU_PICK(layouts, random), name, meta);
    if (bytes) used += snprintf(text + used, size - (size_t)used, ":dt%c=u8", name);
    if (gpu_random(random) % 3 == 0) used += snprintf(text + used, size - (size_t)used, ":frozen%c=1", name);
    if (whole && gpu_random(random) % 3 == 0)
        used += snprintf(text + used, size - (size_t)used, ":only%c=1", name);
    return (size_t)used;
}

static void describe_problem(char text[REF_PROBLEM_TEXT], int64_t m, int64_t k, int64_t n, const char *trans,
                             const char *values, uint64_t *random)
{
    bool positive = !strcmp(values, "p");
    size_t size = REF_PROBLEM_TEXT, used = (size_t)snprintf(text, size, "sgemm:%s:%lldx%lldx%lld", trans,
                                                            (long long)m, (long long)k, (long long)n);
    used += describe_operand(text + used, size - used, 'A', values, random);
    used += describe_operand(text + used, size - used, 'B', values, random);
    snprintf(text + used, size - used, ":C=dense/%s:layC=%s:alpha=%s:beta=%s:s%d", positive ? "p" : "u",
             GPU_PICK(layouts, random),
             positive ? GPU_PICK(positive_scalars, random) : GPU_PICK(scalars, random),
             positive ? GPU_PICK(positive_scalars, random) : GPU_PICK(scalars, random),
             (int)(gpu_random(random) % 9999) + 1);
}

/* Every triple of short extents with every transpose. */
static void test_short_shapes(lac_ctx_t *ctx)
{
    char text[REF_PROBLEM_TEXT];
    uint64_t random = 3;
    size_t at = 0, step = gpu_quick() ? 29 : 1;
    for (size_t mm = 0; mm < GPU_COUNT(short_extents); mm++)
        for (size_t kk = 0; kk < GPU_COUNT(short_extents); kk++)
            for (size_t nn = 0; nn < GPU_COUNT(short_extents); nn++)
                for (size_t t = 0; t < GPU_COUNT(transposes); t++) {
                    describe_problem(text, short_extents[mm], short_extents[kk], short_extents[nn],
                                     transposes[t], "u", &random);
                    if (at++ % step == 0) check_problem(ctx, text, NULL, false);
                }
}

/* One long extent, as each of m, n and k. */
static void test_one_long_extent(lac_ctx_t *ctx)
{
    char text[REF_PROBLEM_TEXT];
    uint64_t random = 4;
    size_t at = 0, step = gpu_quick() ? 41 : 1;
    for (size_t place = 0; place < 3; place++)
        for (size_t l = 0; l < GPU_COUNT(long_extents); l++)
            for (size_t i = 0; i < GPU_COUNT(short_extents); i++)
                for (size_t j = 0; j < GPU_COUNT(short_extents); j++) {
                    int64_t e[3];
                    e[place] = long_extents[l];
                    e[(place + 1) % 3] = short_extents[i];
                    e[(place + 2) % 3] = short_extents[j];
                    describe_problem(text, e[0], e[1], e[2], transposes[(at + l) % 4], "p", &random);
                    if (at++ % step == 0) check_problem(ctx, text, NULL, false);
                }
}

/* Two long extents: a weight times a short side, which the library is about, and outputs of two long sides.
 */
static void test_two_long_extents(lac_ctx_t *ctx)
{
    char text[REF_PROBLEM_TEXT];
    uint64_t random = 5;
    if (gpu_quick()) return;
    for (size_t i = 0; i < 16; i++) {
        int64_t length = short_extents[i % 4], k = long_extents[i / 4 % 2], other = long_extents[i / 2 % 2];
        bool left = i < 8;
        describe_problem(text, left ? length : other, k, left ? other : length, transposes[(i + i / 4) % 4],
                         "p", &random);
        check_problem(ctx, text, NULL, false);
    }
    for (size_t i = 0; i < 2; i++) {
        describe_problem(text, 5000, i ? 33 : 1, 10007, transposes[2 * i], "p", &random);
        check_problem(ctx, text, NULL, false);
    }
}

/* NaN and Inf are events like others, -0 is a zero; and where NaN is strict, nothing is dropped. */
static void test_special_values(lac_ctx_t *ctx)
{
    char text[REF_PROBLEM_TEXT];
    uint64_t random = 6;
    for (int strict = 0; strict < 2; strict++) {
        gpu_expect(lac_ctx_set(ctx, "nan", strict ? "strict" : "fast"), LAC_OK, "nan");
        for (size_t i = 0; i < (gpu_quick() ? 8 : 250); i++) {
            describe_problem(text, short_extents[i % 4], short_extents[i / 4 % 4], short_extents[i / 16 % 4],
                             transposes[gpu_random(&random) % 4], "x", &random);
            check_problem(ctx, text, NULL, strict);
        }
    }
}

/* Exponents spread over 2^+-30, and shapes that are empty or that single out a corner. */
static void test_corners(lac_ctx_t *ctx)
{
    static const char *const corners[] = {
        "sgemm:NN:0x5x7:beta=2:s1",
        "sgemm:NN:5x0x7:beta=-0.5:s1",
        "sgemm:NN:5x7x0:beta=2:s1",
        "sgemm:NN:5x0x7:layC=colx2+1:s1",
        "sgemm:NN:5x7x3:alpha=0:beta=0:A=dense/x:B=dense/x:s4",
        "sgemv:N:127x5000:A=bern0.3:frozenA=1:metaA=density:beta=1:s4",
        "sgemv:T:5000x127:B=bern0.01:layB=row+2:layC=row+1:s5",
        "sgemm:TT:3x1000x2:A=bern0.01:B=bern0.01:metaA=csr:metaB=csc:onlyA=1:onlyB=1:s2",
        "sgemm:NN:4097x64x3:A=bern0.1:s3", /* one row more than the event route takes */
        "sgemm:NN:3x64x4097:B=bern0.1:s3",
        "sgemm:NN:4096x65x3:A=bern0.1:s3",
        "sgemm:NT:65x64x65:A=bern0.3:frozenA=1:s4", /* one column more than the bitmask route takes */
        "sgemm:TN:65x64x64:A=bern0.3:frozenA=1:s4",
        "sgemm:NT:4x512x300:A=bern0.02:frozenB=1:s5", /* a k-major copy of B */
        "sgemm:TN:300x512x4:B=bern0.02:frozenA=1:s5",
        "sgemm:NN:2x4096x16:A=dense:s6",
        "sgemm:NN:16x2048x16:A=dense/1:dtA=u8:B=dense/1:dtB=u8:s7",
        "sgemm:NN:64x300x64:A=bern0.1/e30:B=dense/e30:s8",
        "sgemm:NT:64x300x64:A=bern0.1/e8:B=dense/e8:beta=1:C=dense/e8:s9",
        "sgemm:NN:512x64x1024:A=bern0.1:metaA=csr:s1", /* both sides long enough for csr's steps */
        "sgemm:NT:520x61x1032:A=power0.1:metaA=csr:frozenB=1:alpha=-0.75:beta=0.5:s2",
        "sgemm:NT:520x61x1030:A=power0.1:metaA=csr:beta=1:s3",
        "sgemm:TN:1030x61x520:layA=row+2:B=bern0.1:metaB=csc:layC=col+1:s4",
        "sgemm:NN:2048x512x2048:A=bern0.15/p:B=dense/p:metaA=density:s5",
        "sgemm:NN:520x61x1032:A=bern0.1/x:B=dense/x:metaA=csr:s6",
        "sgemm:NN:1500x1024x900:A=power0.005/p:B=dense/p:metaA=csr:s9", /* wide slices, and long rows
                                                                         */
        "sgemm:NT:900x1028x1500:A=bern0.003/p:B=dense/p:metaA=csr:s10",
        "sgemm:NN:200x200x200:A=bern0.1:layA=rowx2:B=dense:layB=colx2:layC=rowx3+1:beta=1:s8"};
    for (size_t i = 0; i < GPU_COUNT(corners); i++) check_problem(ctx, corners[i], NULL, false);
}

/* Stands last: each row of the table must have had its turn. */
static void test_every_row_ran(lac_ctx_t *ctx)
{
    (void)ctx;
    for (int i = 0; i < rows; i++) {
        printf("     %-10s %-6s %d\n", tally[i].route, tally[i].side, tally[i].ran);
        if (!tally[i].ran && !gpu_quick()) gpu_fail("%s %s never ran", tally[i].route, tally[i].side);
    }
}

static const char *repeated_route, *repeated_problem;

static void test_repeated(lac_ctx_t *ctx)
{
    check_problem(ctx, repeated_problem, repeated_route, false);
}

int main(int argc, char **argv)
{
    static const gpu_test_t again[] = {GPU_TEST(test_repeated)};
    static const gpu_test_t tests[] = {GPU_TEST(test_short_shapes),     GPU_TEST(test_corners),
                                       GPU_TEST(test_special_values),   GPU_TEST(test_one_long_extent),
                                       GPU_TEST(test_two_long_extents), GPU_TEST(test_every_row_ran)};
    if (argc == 4 && !strcmp(argv[1], "-p")) {
        repeated_route = argv[2];
        repeated_problem = argv[3];
        return gpu_run(again, 1, 1, argv);
    }
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}

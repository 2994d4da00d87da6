/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lacuna bench: its command line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accuracy.h"
#include "bench_case.h"
#include "bench_report.h"
#include "command.h"
#include "timing.h"
#include "problems.h"
#include "output.h"

enum {
    KEY_BASELINE = 256,
    KEY_JSON,
    KEY_CSV,
    KEY_COLD,
    KEY_WARM,
    KEY_BOTH,
    KEY_REPEAT,
    KEY_MIN_TIME,
    KEY_SEED,
    KEY_ACCURACY,
    KEY_WAIT_IDLE
};

#define QUIET 0.03 /* of the processors: what others may use while something is timed patiently */

typedef struct bench_arguments {
    bench_options_t bench;
    problem_list_t problems;
    const char *routes, *json, *csv;
    int64_t seed; /* negative: each problem's own */
    bool accuracy;
} bench_arguments_t;

static const struct argp_option bench_table[] = {
    {"file", 'f', "LIST", 0,
     "read problems from LIST, one a line, '#' begins a comment ('-': standard input)", 1},
    {"route", 'r', "NAMES", 0,
     "time these routes, set apart by commas; 'auto' is the dispatcher in steady state, "
     "'vendor' the BLAS called directly (on a device: the route cublas), 'all' every route but reference "
     "(default auto)",
     1},
    {"baseline", KEY_BASELINE, "NAME", 0,
     "compare with this: 'vendor' (default; where BLAS cannot make the "
     "call, the dense route), or a route; it gets plain dense operands",
     1},
    {"warm", KEY_WARM, NULL, 0, "operands in cache (default)", 2},
    {"cold", KEY_COLD, NULL, 0,
     "caches emptied before each call (on a device: by another product, whose time is taken off)", 2},
    {"both", KEY_BOTH, NULL, 0, "warm, then cold", 2},
    {"repeat", KEY_REPEAT, "N", 0, "exactly N rounds (default: as --min-time allows)", 2},
    {"min-time", KEY_MIN_TIME, "SECONDS", 0, "about this long for each route (default 0.3)", 2},
    {"seed", KEY_SEED, "S", 0, "generate all operands with seed S (default: the problem's own, or 1)", 2},
    {"wait-idle", KEY_WAIT_IDLE, "SECONDS", 0,
     "wait so long in all for a machine that nobody else uses, and time again what was disturbed (default 0)",
     2},
    {"json", KEY_JSON, "FILE", 0, "write everything to FILE ('-': standard output)", 3},
    {"csv", KEY_CSV, "FILE", 0, "write rows to FILE ('-': standard output)", 3},
    {"accuracy", KEY_ACCURACY, NULL, 0,
     "no times: the error of every route beside that of the vendor's sgemm, on five kinds of data in place "
     "of the problem's values",
     4},
    {0},
};

static error_t parse_bench(int key, char *arg, struct argp_state *state)
{
    bench_arguments_t *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->bench.common;
        return 0;
    case 'f':
        problem_list_file(&a->problems, arg, state);
        return 0;
    case 'r':
        a->routes = arg;
        return 0;
    case KEY_BASELINE:
        a->bench.baseline = arg;
        return 0;
    case KEY_WARM:
        a->bench.cache[BENCH_WARM] = true;
        return 0;
    case KEY_COLD:
        a->bench.cache[BENCH_COLD] = true;
        return 0;
    case KEY_BOTH:
        a->bench.cache[BENCH_WARM] = a->bench.cache[BENCH_COLD] = true;
        return 0;
    case KEY_REPEAT:
        a->bench.repeat = (int)parse_integer(state, "--repeat", arg, 1, 100000);
        return 0;
    case KEY_MIN_TIME:
        a->bench.min_time_s = parse_real(state, "--min-time", arg, 1e-4, 3600.0);
        return 0;
    case KEY_WAIT_IDLE:
        a->bench.wait_idle_s = parse_real(state, "--wait-idle", arg, 0.0, 1e6);
        return 0;
    case KEY_SEED:
        a->seed = parse_integer(state, "--seed", arg, 0, INT64_MAX);
        return 0;
    case KEY_JSON:
        a->json = arg;
        return 0;
    case KEY_CSV:
        a->csv = arg;
        return 0;
    case KEY_ACCURACY:
        a->accuracy = true;
        return 0;
    case ARGP_KEY_ARG:
        problem_list_argument(&a->problems, arg, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] = "Times routes on problems as ratios to a baseline that runs in the same rounds (A "
                          "B A B), and checks each "
                          "result that it times. A PROBLEM is a line of text such as "
                          "sgemm:NN:10x5000x5000:A=bern0.001 (m x k x n); "
                          "without any, a few are built in.\v"
                          "The columns: median and quartiles of the time of one call, in microseconds; its "
                          "best; how many times faster "
                          "than the baseline (median over the rounds); GFLOP/s and GB/s of the work that "
                          "cannot be left out (for routes "
                          "that skip zeros: pairs of nonzeros that meet, active slices).\n\n" EXIT_CODES_TEXT;

/* All zeros, NaN and Inf are for correctness: a time taken on them says nothing. */
static int check_problems(bench_arguments_t *a, const char *command)
{
    static const char *const built_in[] = {
        "sgemm:NN:1x2000x2000:A=bern0.001",         "sgemm:NN:10x2000x2000:A=bern0.01",
        "sgemm:NN:2000x2000x10:B=bern0.001",        "sgemm:NN:2000x2000x10:B=bern0.001:frozenA=1",
        "sgemm:NN:512x512x512:A=bern0.1:metaA=csr", "sgemm:NN:256x256x256",
    };
    char error[2 * REF_PROBLEM_TEXT];
    size_t missing = a->problems.count == 0 ? sizeof built_in / sizeof *built_in : 0;
    for (size_t i = 0; i < missing; i++)
        if (!problem_list_add(&a->problems, built_in[i], error, sizeof error)) {
            complain(command, "%s", error);
            return EXIT_UNAVAILABLE;
        }
    for (size_t i = 0; i < a->problems.count; i++) {
        ref_problem_t *p = &a->problems.problem[i];
        const ref_pattern_t *x = &p->a.pattern, *y = &p->b.pattern;
        if (a->seed >= 0) p->seed = (uint64_t)a->seed;
        bool zero = x->density <= 0.0 || y->density <= 0.0 || p->m == 0 || p->n == 0 || p->k == 0;
        if (!zero && x->values != REF_SPECIAL && y->values != REF_SPECIAL) continue;
        char text[REF_PROBLEM_TEXT];
        ref_problem_print(p, text, sizeof text);
        complain(command, "problem '%s': expected operands with nonzero, finite elements to time", text);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

static void swap(bench_case_t **x, bench_case_t **y)
{
    bench_case_t *z = *x;
    *x = *y;
    *y = z;
}

/* Times a problem; with patience, until nobody disturbed it, and keeps the attempt that was disturbed least.
 */
static int bench_patiently(bench_case_t **bench, bench_case_t **spare, const ref_problem_t *problem,
                           const bench_options_t *options, double *wait_idle_s, cache_flush_t *cache,
                           const char *command)
{
    *wait_idle_s -= machine_load_wait(QUIET, *wait_idle_s);
    int code = bench_case_run(*bench, problem, options, cache, command);
    while (code == EXIT_OK && (*bench)->others > QUIET && *wait_idle_s > 0.0) {
        double begin = clock_us();
        machine_load_wait(QUIET, *wait_idle_s);
        code = bench_case_run(*spare, problem, options, cache, command);
        if (code != EXIT_OK) {
            bench_case_free(*bench);
            break;
        }
        if ((*spare)->others < (*bench)->others) swap(bench, spare);
        bench_case_free(*spare);
        *wait_idle_s -= (clock_us() - begin) * 1e-6;
    }
    return code;
}

static int bench_problems(const bench_arguments_t *a, cache_flush_t *cache, const char *command)
{
    bench_report_t report;
    bench_case_t *bench = malloc(sizeof *bench), *spare = malloc(sizeof *spare);
    double wait_idle_s = a->bench.wait_idle_s;
    int bad = 0, code = bench_report_open(&report, a->json, a->csv, &a->bench, command);
    if (code == EXIT_OK && (!bench || !spare)) {
        complain(command, "out of memory");
        code = EXIT_UNAVAILABLE;
    }
    for (size_t i = 0; code == EXIT_OK && i < a->problems.count; i++) {
        progress("bench: %zu of %zu", i + 1, a->problems.count);
        code =
            bench_patiently(&bench, &spare, &a->problems.problem[i], &a->bench, &wait_idle_s, cache, command);
        if (code != EXIT_OK) break;
        bench_report_case(&report, bench);
        bad += bench_case_complain(bench, command);
        bench_case_free(bench);
    }
    if (!bench_report_close(&report) && code == EXIT_OK) {
        complain(command, "the report could not be written: %s", strerror(errno));
        code = EXIT_UNAVAILABLE;
    }
    free(bench);
    free(spare);
    return code == EXIT_OK && bad > 0 ? EXIT_WRONG : code;
}

static int run_bench(bench_arguments_t *a, const char *command)
{
    const char *routes = a->routes ? a->routes : a->accuracy ? "all" : ROUTE_AUTO;
    int code = bench_options_routes(&a->bench, routes, command);
    if (code == EXIT_OK) code = check_problems(a, command);
    if (code != EXIT_OK) return code;
    if (a->accuracy) {
        accuracy_options_t options = {.common = a->bench.common, .routes = a->bench.routes};
        options.json = a->json;
        accuracy_drop_others(&options.routes, routes);
        return accuracy_run(&a->problems, &options, command);
    }
    bool flushes = a->bench.cache[BENCH_COLD] && !a->bench.common.on_device;
    cache_flush_t *cache = flushes ? cache_flush_new() : NULL;
    if (flushes && !cache) {
        complain(command, "--cold: out of memory");
        return EXIT_UNAVAILABLE;
    }
    code = bench_problems(a, cache, command);
    cache_flush_free(cache);
    return code;
}

int command_bench(int argc, char **argv)
{
    static const struct argp_child children[] = {{&common_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {bench_table, parse_bench, "[PROBLEM...]", doc, children, NULL, NULL};
    bench_arguments_t a = {.bench = {.baseline = ROUTE_VENDOR, .min_time_s = 0.3}, .seed = -1};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (!a.bench.cache[BENCH_COLD]) a.bench.cache[BENCH_WARM] = true;
    a.bench.cache[BENCH_QUEUED] = a.bench.common.on_device && a.bench.cache[BENCH_WARM];
    progress_begin(a.bench.common.quiet);
    int code = run_bench(&a, argv[0]);
    progress_clear();
    problem_list_free(&a.problems);
    return code;
}

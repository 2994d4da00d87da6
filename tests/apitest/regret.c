/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * apitest regret: how far the dispatcher's choice is from the best route, over random problems. */
#include "bench_case.h"
#include "ref_problem.h"
#include "problems.h"
#include "bench_report.h"
#include "output.h"
#include "regret_again.h"
#include "regret_judge.h"
#include "timing.h"
#include "apitest.h"
#include "command.h"

#include <stdint.h>
#include <math.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What the products are of. */
typedef struct regret_type {
    const char *name; /* of the option and in the report */
    ref_op_t op;
    lac_dt_t dt;
} regret_type_t;

static const regret_type_t types[] = {{"f32", REF_SGEMM, LAC_F32}, {"f64", REF_DGEMM, LAC_F64}};

typedef struct regret_options {
    const regret_type_t *type;
    int count;
    uint64_t seed;
    int64_t max_extent;
    double max_flops; /* of one dense product */
    const char *json; /* or NULL */
    double again;     /* of what the promise allows: what took more is timed again    */
    int64_t only;     /* the number of the one problem that is timed; negative: count */
    int hand_to;      /* where that is handed to; negative: nobody asked              */
    char **argv;
} regret_options_t;

/* The random problems of the regret runs, the same for the same seed. */

/* Two significant digits, so that a printed problem stays short and reads back as itself. */
static double short_density(double d)
{
    if (d <= 0.0) return 0.0;
    double scale = pow(10.0, 1.0 - floor(log10(d)));
    double v = floor(d * scale + 0.5) / scale;
    return v > 1.0 ? 1.0 : v;
}

static ref_operand_t bench_operand(rng_t *rng, lac_dt_t dt, bool sparse)
{
    static const ref_structure_t structure[] = {REF_BERNOULLI, REF_BLOCK, REF_ROW, REF_COLUMN, REF_POWER};
    ref_operand_t x = {.dt = dt, .layout = {.step = 1}, .pattern = {.density = 1.0}};
    if (!sparse) return x;
    double density = short_density(exp(log(1e-4) * rng_unit(rng)));
    x.pattern =
        problem_random_pattern(rng, structure[rng_below(rng, sizeof structure / sizeof *structure)], density);
    return x;
}

/* Problem number `index`: extents log-uniform in 1 .. max_extent with at most max_flops in the dense product,
 * densities log-uniform in 1e-4 .. 1, one or both sides sparse; the same for each type but for that. */
static ref_problem_t regret_problem(const regret_options_t *options, uint64_t index)
{
    const regret_type_t *type = options->type;
    rng_t rng = {.stream = ref_stream(options->seed, index)};
    ref_problem_t p = {.op = type->op, .alpha = 1.0f, .seed = 1 + index};
    p.trans_a = rng_below(&rng, 2) == 0 ? LAC_NO_TRANS : LAC_TRANS;
    p.trans_b = rng_below(&rng, 2) == 0 ? LAC_NO_TRANS : LAC_TRANS;
    do {
        p.m = rng_log_uniform(&rng, options->max_extent);
        p.k = rng_log_uniform(&rng, options->max_extent);
        p.n = rng_log_uniform(&rng, options->max_extent);
    } while (2.0 * (double)p.m * (double)p.k * (double)p.n > options->max_flops);
    uint64_t sides = rng_below(&rng, 5);
    p.a = bench_operand(&rng, type->dt, sides != 1 && sides != 2);
    p.b = bench_operand(&rng, type->dt, sides != 0 && sides != 3);
    p.c = bench_operand(&rng, type->dt, false);
    return p;
}

/* apitest regret: times the dispatcher and every route on random problems, and reports the ratios. */

#define WORST        10
#define CONFIRM_TIME 8.0 /* times as long, where the promise seems broken: the two lie close together */

typedef struct regret_run {
    regret_t *found;
    size_t count, confirmed; /* problems, and how many of them were timed again */
    double *ratio;           /* scratch */
    int wrong;
} regret_run_t;

/* Times one problem and judges it, where there is something to compare. */
static int time_one(regret_run_t *run, bench_case_t *bench, const ref_problem_t *p,
                    const bench_options_t *options, const char *command)
{
    int code = bench_case_run(bench, p, options, NULL, command);
    if (code != EXIT_OK) return code;
    bool zero = bench->work.density_a <= 0.0 || bench->work.density_b <= 0.0;
    run->wrong += bench_case_complain(bench, command);
    if (!zero && regret_judge(&run->found[run->count], bench)) run->count++;
    bench_case_free(bench);
    return EXIT_OK;
}

/* The last problem, whose number is `index`, again in fresh processes, in place of what was found. */
static void confirm(regret_run_t *run, uint64_t index, const bench_options_t *bench,
                    const regret_options_t *options, const char *command)
{
    char only[32], min_time[32];
    static char quiet[] = "--quiet";
    regret_t found[REGRET_AGAIN];
    snprintf(only, sizeof only, "--only=%llu", (unsigned long long)index);
    snprintf(min_time, sizeof min_time, "--min-time=%g", CONFIRM_TIME * bench->min_time_s);
    char *last[] = {only, min_time, quiet, NULL};
    run->confirmed++;
    if (regret_run_again(options->argv, last, found))
        run->found[run->count - 1] = regret_middle(found);
    else
        complain(command, "problem %llu could not be timed again: what was found first stands",
                 (unsigned long long)index);
}

static int time_all(regret_run_t *run, const bench_options_t *bench_options, const regret_options_t *options,
                    const char *command)
{
    bench_case_t *bench = malloc(sizeof *bench);
    int code = bench ? EXIT_OK : EXIT_UNAVAILABLE;
    uint64_t index = 0;
    /* All-zero operands are skipped; the bound is for parameters that give hardly anything else. */
    while (code == EXIT_OK && run->count < (size_t)options->count && index < 10 * (uint64_t)options->count) {
        ref_problem_t p = regret_problem(options, index++);
        progress("regret: %zu of %d", run->count + 1, options->count);
        size_t before = run->count;
        code = time_one(run, bench, &p, bench_options, command);
        if (code == EXIT_OK && run->count > before && run->found[before].over_promise > options->again)
            confirm(run, index - 1, bench_options, options, command);
    }
    progress_clear();
    free(bench);
    return code;
}

/* One problem alone, for whoever asked. */
static int time_only(regret_run_t *run, const bench_options_t *bench_options, const regret_options_t *options,
                     const char *command)
{
    bench_case_t *bench = malloc(sizeof *bench);
    ref_problem_t p = regret_problem(options, (uint64_t)options->only);
    int code = bench ? time_one(run, bench, &p, bench_options, command) : EXIT_UNAVAILABLE;
    free(bench);
    if (code != EXIT_OK || options->hand_to < 0) return code;
    return run->count && regret_hand_to(options->hand_to, run->found) ? EXIT_OK : EXIT_UNAVAILABLE;
}

static int worse_first(const void *x, const void *y)
{
    const regret_t *a = x, *b = y;
    return (a->over_best < b->over_best) - (a->over_best > b->over_best);
}

static int promise_broken_first(const void *x, const void *y)
{
    const regret_t *a = x, *b = y;
    return (a->over_promise < b->over_promise) - (a->over_promise > b->over_promise);
}

static sample_stats_t ratios(regret_run_t *run, bool of_best, double *mean)
{
    for (size_t i = 0; i < run->count; i++)
        run->ratio[i] = of_best ? run->found[i].over_best : run->found[i].over_base;
    *mean = geometric_mean(run->ratio, run->count);
    return sample_stats(run->ratio, run->count);
}

static void print_worst(const regret_run_t *run)
{
    static const char *const heads[] = {">auto/best", ">auto/base", ">auto/allowed", ">auto us", ">best us",
                                        ">base us",   "best",       "chosen",        "problem"};
    text_table_t *table = text_table_new(9, heads);
    if (!table) return;
    for (size_t i = 0; i < run->count && i < WORST; i++) {
        const regret_t *r = &run->found[i];
        text_table_cell(table, "%.3f", r->over_best);
        text_table_cell(table, "%.3f", r->over_base);
        text_table_cell(table, "%.3f", r->over_promise);
        text_table_cell(table, "%.2f", r->auto_us);
        text_table_cell(table, "%.2f", r->best_us);
        text_table_cell(table, "%.2f", r->base_us);
        text_table_cell(table, "%s", r->best);
        text_table_cell(table, "%s", r->decided);
        text_table_cell(table, "%s", r->problem);
    }
    text_table_print(table, stdout, 2);
    text_table_free(table);
}

static void print_summary(regret_run_t *run, bool quiet)
{
    double mean;
    sample_stats_t s = ratios(run, true, &mean);
    printf("%zu problems\n", run->count);
    printf("auto / best:     geometric mean %.3f, median %.3f, 95th percentile %.3f, worst %.3f\n", mean,
           s.median, s.p95, s.max);
    s = ratios(run, false, &mean);
    printf("auto / baseline: geometric mean %.3f, median %.3f, 95th percentile %.3f, worst %.3f\n", mean,
           s.median, s.p95, s.max);
    printf("slower than the baseline by more than 2 %% and by more than 1.5 us: %zu\n",
           regret_promise_broken(run->found, run->count));
    printf("(timed again, %g times as long, in %d fresh processes, of which the median counts: %zu)\n",
           CONFIRM_TIME, REGRET_AGAIN, run->confirmed);
    if (quiet) return;
    printf("\nfarthest from the best route\n");
    qsort(run->found, run->count, sizeof *run->found, worse_first);
    print_worst(run);
    printf("\nmost over what the baseline allows (2 %% or 1.5 us, the larger)\n");
    qsort(run->found, run->count, sizeof *run->found, promise_broken_first);
    print_worst(run);
}

static void json_summary(json_writer_t *json, const char *key, regret_run_t *run, bool of_best)
{
    double mean;
    sample_stats_t s = ratios(run, of_best, &mean);
    json_begin(json, key, '{');
    json_number(json, "geometric_mean", mean);
    json_number(json, "median", s.median);
    json_number(json, "p95", s.p95);
    json_number(json, "worst", s.max);
    json_end(json, '}');
}

static void json_problem(json_writer_t *json, const regret_t *r)
{
    json_begin(json, NULL, '{');
    json_text(json, "problem", r->problem);
    json_text(json, "best", r->best);
    json_text(json, "chosen", r->decided);
    json_number(json, "auto_us", r->auto_us);
    json_number(json, "best_us", r->best_us);
    json_number(json, "baseline_us", r->base_us);
    json_number(json, "auto_over_best", r->over_best);
    json_number(json, "auto_over_baseline", r->over_base);
    json_number(json, "auto_over_allowed", r->over_promise);
    if (r->agains > 0) json_begin(json, "allowed_again", '[');
    for (int i = 0; i < r->agains; i++) json_number(json, NULL, r->again[i]);
    if (r->agains > 0) json_end(json, ']');
    json_begin(json, "routes", '[');
    for (int i = 0; i < r->contenders; i++) {
        json_begin(json, NULL, '{');
        json_text(json, "route", r->contender[i].route);
        json_number(json, "us", r->contender[i].us);
        json_number(json, "predicted_us", r->contender[i].predicted_us);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_end(json, '}');
}

static int write_json(regret_run_t *run, const regret_options_t *options, lac_ctx_t *ctx, const char *command)
{
    json_writer_t json;
    bool ok = json_open(&json, options->json) != NULL;
    if (ok) {
        report_json_head(&json, "lacuna-regret-1", ctx);
        json_text(&json, "type", options->type->name);
        json_integer(&json, "seed", (int64_t)options->seed);
        json_integer(&json, "max_extent", options->max_extent);
        json_number(&json, "max_flops", options->max_flops);
        json_summary(&json, "auto_over_best", run, true);
        json_summary(&json, "auto_over_baseline", run, false);
        json_integer(&json, "promise_broken", (int64_t)regret_promise_broken(run->found, run->count));
        json_integer(&json, "timed_again", (int64_t)run->confirmed);
        json_integer(&json, "processes_again", REGRET_AGAIN);
        json_begin(&json, "problems", '[');
        for (size_t i = 0; i < run->count; i++) json_problem(&json, &run->found[i]);
        json_end(&json, ']');
        json_end(&json, '}');
        ok = json_close(&json);
    }
    if (ok) return EXIT_OK;
    complain(command, "--json: cannot write '%s': %s", options->json, strerror(errno));
    return EXIT_UNAVAILABLE;
}

/* Times every route that applies to each problem and prints the geometric mean, the 95th percentile and the
 * worst of time(auto) / time(best), and the same against the baseline. Returns an exit code; EXIT_WRONG when
 * a route gave a wrong result. */
static int bench_regret_run(const bench_options_t *bench, const regret_options_t *options,
                            const char *command)
{
    regret_run_t run = {.found = calloc((size_t)options->count, sizeof(regret_t)),
                        .ratio = calloc((size_t)options->count, sizeof(double))};
    lac_ctx_t *ctx = NULL;
    int code = common_context(&bench->common, command, &ctx);
    if (code == EXIT_OK && (!run.found || !run.ratio)) {
        complain(command, "out of memory");
        code = EXIT_UNAVAILABLE;
    }
    bool handed = options->hand_to >= 0, to_stdout = options->json && strcmp(options->json, "-") == 0;
    if (code == EXIT_OK)
        code = options->only >= 0 ? time_only(&run, bench, options, command)
                                  : time_all(&run, bench, options, command);
    if (code == EXIT_OK && options->json && !handed) code = write_json(&run, options, ctx, command);
    if (code == EXIT_OK && !to_stdout && !handed) print_summary(&run, bench->common.quiet);
    if (code == EXIT_OK && run.wrong > 0) code = EXIT_WRONG;
    lac_ctx_free(ctx);
    free(run.found);
    free(run.ratio);
    return code;
}

/* apitest regret: its command line. */

enum {
    KEY_BASELINE = 256,
    KEY_JSON,
    KEY_REPEAT,
    KEY_MIN_TIME,
    KEY_SEED,
    KEY_TYPE,
    KEY_COUNT,
    KEY_MAX_DIM,
    KEY_MAX_FLOPS,
    KEY_AGAIN,
    KEY_ONLY,
    KEY_HAND_TO
};

typedef struct regret_arguments {
    bench_options_t bench;
    regret_options_t regret;
    const char *routes;
} regret_arguments_t;

static const struct argp_option regret_table[] = {
    {"route", 'r', "NAMES", 0, "time these routes, set apart by commas, besides auto (default all)", 1},
    {"baseline", KEY_BASELINE, "NAME", 0, "compare with this: 'vendor' (default), or a route", 1},
    {"count", KEY_COUNT, "N", 0, "N problems (default 300)", 2},
    {"seed", KEY_SEED, "S", 0, "the seed of the problems (default 1)", 2},
    {"type", KEY_TYPE, "TYPE", 0, "products of f32 (default) or f64", 2},
    {"max-dim", KEY_MAX_DIM, "N", 0, "extents up to N (default 2048; on a device 8192)", 2},
    {"max-flops", KEY_MAX_FLOPS, "F", 0,
     "at most F flops in the dense product (default 1e9; on a device 2e10)", 2},
    {"only", KEY_ONLY, "N", 0, "problem number N of these alone, counted from 0", 2},
    {"again-above", KEY_AGAIN, "RATIO", 0,
     "time again what took more than RATIO of what the promise allows (default 1)", 3},
    {"hand-to", KEY_HAND_TO, "FD", OPTION_HIDDEN, "of a process that times a problem again", 3},
    {"repeat", KEY_REPEAT, "N", 0, "exactly N rounds (default: as --min-time allows)", 3},
    {"min-time", KEY_MIN_TIME, "SECONDS", 0, "about this long for each route (default 0.04)", 3},
    {"json", KEY_JSON, "FILE", 0, "write everything to FILE ('-': standard output)", 4},
    {0},
};

static const regret_type_t *parse_type(struct argp_state *state, const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(name, types[i].name) == 0) return &types[i];
    argp_error(state, "--type: expected f32 or f64, found '%s'", name);
    return types;
}

static error_t parse_regret(int key, char *arg, struct argp_state *state)
{
    regret_arguments_t *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->bench.common;
        return 0;
    case 'r':
        a->routes = arg;
        return 0;
    case KEY_BASELINE:
        a->bench.baseline = arg;
        return 0;
    case KEY_JSON:
        a->regret.json = arg;
        return 0;
    case KEY_REPEAT:
        a->bench.repeat = (int)parse_integer(state, "--repeat", arg, 1, 100000);
        return 0;
    case KEY_MIN_TIME:
        a->bench.min_time_s = parse_real(state, "--min-time", arg, 1e-4, 3600.0);
        return 0;
    case KEY_SEED:
        a->regret.seed = (uint64_t)parse_integer(state, "--seed", arg, 0, INT64_MAX);
        return 0;
    case KEY_TYPE:
        a->regret.type = parse_type(state, arg);
        return 0;
    case KEY_COUNT:
        a->regret.count = (int)parse_integer(state, "--count", arg, 1, 1000000);
        return 0;
    case KEY_MAX_DIM:
        a->regret.max_extent = parse_integer(state, "--max-dim", arg, 1, 1 << 20);
        return 0;
    case KEY_MAX_FLOPS:
        a->regret.max_flops = parse_real(state, "--max-flops", arg, 2.0, 1e15);
        return 0;
    case KEY_AGAIN:
        a->regret.again = parse_real(state, "--again-above", arg, 0.0, 1e9);
        return 0;
    case KEY_ONLY:
        a->regret.only = parse_integer(state, "--only", arg, 0, INT64_MAX);
        return 0;
    case KEY_HAND_TO:
        a->regret.hand_to = (int)parse_integer(state, "--hand-to", arg, 0, 1 << 20);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Times the dispatcher and every route on random problems, checks each result that it times, and prints "
    "how "
    "far the dispatcher is from the best route and from the baseline.\v" EXIT_CODES_TEXT;

/* Products on a device are worth measuring at larger extents. */
static void set_limits(regret_arguments_t *a)
{
    bool device = a->bench.common.on_device;
    if (a->regret.max_extent <= 0) a->regret.max_extent = device ? 8192 : 2048;
    if (a->regret.max_flops <= 0.0) a->regret.max_flops = device ? 2e10 : 1e9;
}

int apitest_regret(int argc, char **argv)
{
    static const struct argp_child children[] = {{&common_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {regret_table, parse_regret, NULL, doc, children, NULL, NULL};
    regret_arguments_t a = {
        .bench = {.baseline = ROUTE_VENDOR,
                  .min_time_s = 0.04,
                  .drop_factor = 3.0,
                  .cache[BENCH_WARM] = true},
        .regret =
            {.type = types, .count = 300, .seed = 1, .again = 1.0, .only = -1, .hand_to = -1, .argv = argv},
        .routes = "all",
    };
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    set_limits(&a);
    progress_begin(a.bench.common.quiet);
    int code = bench_options_routes(&a.bench, a.routes, argv[0]);
    if (code != EXIT_OK) return code;
    if (!route_set_has(&a.bench.routes, ROUTE_AUTO)) route_set_add(&a.bench.routes, ROUTE_AUTO);
    code = bench_regret_run(&a.bench, &a.regret, argv[0]);
    progress_clear();
    return code;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * apitest regret: times the dispatcher and every route on random problems, and reports the ratios. */
#include "bench_regret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench_report.h"
#include "progress.h"
#include "regret_judge.h"
#include "regret_problem.h"
#include "sample_stats.h"
#include "text_table.h"

#define WORST 10

typedef struct regret_run {
    regret_t *found;
    size_t count;
    double *ratio; /* scratch */
    int wrong;
} regret_run_t;

static int time_all(regret_run_t *run, const bench_options_t *bench_options, const regret_options_t *options,
                    const char *command)
{
    bench_case_t *bench = malloc(sizeof *bench);
    int code = bench ? EXIT_OK : EXIT_UNAVAILABLE;
    uint64_t index = 0;
    /* All-zero operands are skipped; the bound is for parameters that give hardly anything else. */
    while (code == EXIT_OK && run->count < (size_t)options->count && index < 10 * (uint64_t)options->count) {
        ref_problem_t p = regret_problem(options->seed, index++, options->max_extent, options->max_flops);
        progress("regret: %zu of %d", run->count + 1, options->count);
        code = bench_case_run(bench, &p, bench_options, NULL, command);
        if (code != EXIT_OK) break;
        bool zero = bench->work.density_a <= 0.0 || bench->work.density_b <= 0.0;
        run->wrong += bench_case_complain(bench, command);
        if (!zero && regret_judge(&run->found[run->count], bench)) run->count++;
        bench_case_free(bench);
    }
    progress_clear();
    free(bench);
    return code;
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
        json_integer(&json, "seed", (int64_t)options->seed);
        json_integer(&json, "max_extent", options->max_extent);
        json_number(&json, "max_flops", options->max_flops);
        json_summary(&json, "auto_over_best", run, true);
        json_summary(&json, "auto_over_baseline", run, false);
        json_integer(&json, "promise_broken", (int64_t)regret_promise_broken(run->found, run->count));
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

int bench_regret_run(const bench_options_t *bench, const regret_options_t *options, const char *command)
{
    regret_run_t run = {.found = calloc((size_t)options->count, sizeof(regret_t)),
                        .ratio = calloc((size_t)options->count, sizeof(double))};
    lac_ctx_t *ctx = NULL;
    int code = common_context(&bench->common, command, &ctx);
    if (code == EXIT_OK && (!run.found || !run.ratio)) {
        complain(command, "out of memory");
        code = EXIT_UNAVAILABLE;
    }
    if (code == EXIT_OK) code = time_all(&run, bench, options, command);
    if (code == EXIT_OK && options->json) code = write_json(&run, options, ctx, command);
    bool to_stdout = options->json && strcmp(options->json, "-") == 0;
    if (code == EXIT_OK && !to_stdout) print_summary(&run, bench->common.quiet);
    if (code == EXIT_OK && run.wrong > 0) code = EXIT_WRONG;
    lac_ctx_free(ctx);
    free(run.found);
    free(run.ratio);
    return code;
}

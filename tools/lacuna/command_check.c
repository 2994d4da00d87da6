/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lacuna check: routes against the oracle. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_case.h"
#include "command.h"
#include "parse_number.h"
#include "problem_list.h"
#include "problem_random.h"
#include "progress.h"

enum { KEY_FUZZ = 256, KEY_SEED, KEY_CORRUPT, KEY_REPEAT };

typedef struct check_arguments {
    check_options_t check;
    problem_list_t problems;
    const char *routes;
    int64_t fuzz;
    uint64_t seed;
} check_arguments_t;

typedef struct check_tally {
    bool quiet;
    const common_options_t *common;
    long passed, refused, failed;
    double worst;
    char worst_problem[REF_PROBLEM_TEXT], worst_route[ROUTE_NAME];
    char heading[REF_PROBLEM_TEXT]; /* the problem whose lines are being printed */
} check_tally_t;

static const struct argp_option check_table[] = {
    {"file", 'f', "LIST", 0,
     "read problems from LIST, one a line, '#' begins a comment ('-': standard input)", 1},
    {"route", 'r', "NAMES", 0,
     "check these routes, set apart by commas (default all; 'auto' includes the entry "
     "points lac_sgemm, lac_sgemv and plans)",
     1},
    {"repeat", KEY_REPEAT, "N", 0, "run each route N times, for the same bits (default 2)", 1},
    {"fuzz", KEY_FUZZ, "N", 0, "add N random small problems from the whole grammar", 1},
    {"seed", KEY_SEED, "S", 0, "the seed of --fuzz (default 1)", 1},
    {"self-test-corrupt", KEY_CORRUPT, NULL, OPTION_HIDDEN,
     "spoil one element of each result: the check must fail", 1},
    {0},
};

static void add_problem(check_arguments_t *a, const char *text, bool is_file, struct argp_state *state)
{
    char error[3 * REF_PROBLEM_TEXT];
    bool ok = is_file ? problem_list_read(&a->problems, text, error, sizeof error)
                      : problem_list_add(&a->problems, text, error, sizeof error);
    if (!ok) argp_error(state, "%s", error);
}

static error_t parse_check(int key, char *arg, struct argp_state *state)
{
    check_arguments_t *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->check.common;
        return 0;
    case 'f':
        add_problem(a, arg, true, state);
        return 0;
    case 'r':
        a->routes = arg;
        return 0;
    case KEY_FUZZ:
        a->fuzz = parse_integer(state, "--fuzz", arg, 1, 100000000);
        return 0;
    case KEY_REPEAT:
        a->check.runs = (int)parse_integer(state, "--repeat", arg, 2, 1000000);
        return 0;
    case KEY_SEED:
        a->seed = (uint64_t)parse_integer(state, "--seed", arg, 0, INT64_MAX);
        return 0;
    case KEY_CORRUPT:
        a->check.corrupt = true;
        return 0;
    case ARGP_KEY_ARG:
        add_problem(a, arg, false, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Runs every route that applies to a problem and compares its result with a product in double, element by "
    "element; errors are in units of 2^-24 |A||B|. C's padding must stay untouched, a further run and a run "
    "with one "
    "thread (on a device: on another stream) must give the same bits. A route that refuses is shown with its "
    "reason and is not counted as "
    "passed. "
    "Without a PROBLEM a few are built in.\v" EXIT_CODES_TEXT;

static void print_line(check_tally_t *tally, const check_line_t *line)
{
    static const char *const word[] = {"ok", "refused", "FAILED"};
    if (tally->quiet && line->status != CHECK_FAILED) return;
    progress_clear();
    if (strcmp(tally->heading, line->problem) != 0) {
        snprintf(tally->heading, sizeof tally->heading, "%s", line->problem);
        printf("%s   (against %s)\n", line->problem, line->oracle);
    }
    printf("  %-8s %-13s", word[line->status], line->route);
    if (line->status == CHECK_REFUSED)
        printf(" %s\n", line->why);
    else
        printf(" %-13s max %-9.3g mean %-9.3g %s\n", line->ran, line->max_error, line->mean_error, line->why);
    if (line->status != CHECK_FAILED) return;
    bool entry = strncmp(line->route, "lac_", 4) == 0 || line->route[0] == '(';
    printf("           repeat: lacuna check ");
    if (tally->common->on_device) printf("--device cuda:%d ", tally->common->device);
    printf("--route %s '%s'\n", entry ? ROUTE_AUTO : line->route, line->problem);
}

static void count_line(void *arg, const check_line_t *line)
{
    check_tally_t *tally = arg;
    print_line(tally, line);
    if (line->status == CHECK_PASSED) tally->passed++;
    if (line->status == CHECK_REFUSED) tally->refused++;
    if (line->status == CHECK_FAILED) tally->failed++;
    if (line->status != CHECK_PASSED || !(line->max_error > tally->worst)) return;
    tally->worst = line->max_error;
    snprintf(tally->worst_problem, sizeof tally->worst_problem, "%s", line->problem);
    snprintf(tally->worst_route, sizeof tally->worst_route, "%s", line->route);
}

/* A random problem goes through its own text, so that what is checked is what the report lets one repeat. */
static bool fuzz_problem(const check_arguments_t *a, uint64_t index, ref_problem_t *problem,
                         const char *command)
{
    char text[REF_PROBLEM_TEXT], error[REF_ERROR_TEXT];
    ref_problem_t random = problem_random_check(a->seed, index);
    ref_problem_print(&random, text, sizeof text);
    if (ref_problem_parse(text, problem, error, sizeof error)) return true;
    complain(command, "fuzz %llu of seed %llu: '%s' does not read back: %s", (unsigned long long)index,
             (unsigned long long)a->seed, text, error);
    return false;
}

static int check_problems(const check_arguments_t *a, check_tally_t *tally, const char *command)
{
    size_t all = a->problems.count + (size_t)a->fuzz;
    for (size_t i = 0; i < all; i++) {
        ref_problem_t problem;
        progress("check: %zu of %zu", i + 1, all);
        if (i < a->problems.count)
            problem = a->problems.problem[i];
        else if (!fuzz_problem(a, i - a->problems.count, &problem, command))
            return EXIT_WRONG;
        int code = check_case_run(&problem, &a->check, count_line, tally, command);
        if (code != EXIT_OK) return code;
    }
    return EXIT_OK;
}

static bool add_built_in(problem_list_t *list)
{
    static const char *const built_in[] = {
        "sgemm:NN:1x300x200:A=bern0.01",
        "sgemm:NN:10x500x300:A=bern0.01",
        "sgemm:NT:33x127x65:A=bern0.3:beta=0.5",
        "sgemm:NN:300x200x10:B=bern0.02:frozenA=1",
        "sgemm:TN:65x64x33:A=block8x4-0.2:layC=col:metaA=csr",
        "sgemm:NN:100x130x20:A=bern0.1:metaA=bits:frozenA=1",
        "sgemm:NN:20x300x40:A=col0.05:metaA=active",
        "sgemm:NN:64x64x64:A=power0.2:B=bern0.2",
        "sgemm:TT:31x33x127:layA=col+3:layB=row+5:layC=colx2:alpha=-1:beta=2",
        "sgemv:T:200x100:B=bern0.1",
    };
    char error[2 * REF_PROBLEM_TEXT];
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
        if (!problem_list_add(list, built_in[i], error, sizeof error)) return false;
    return true;
}

static void find_nan(void *arg, const char *key, const char *value)
{
    bool *strict = arg;
    if (strcmp(key, "option nan") == 0) *strict = strncmp(value, "strict", 6) == 0;
}

/* Contexts and routes. */
static int prepare(check_arguments_t *a, const char *command)
{
    char error[512];
    int code = common_context(&a->check.common, command, &a->check.ctx);
    if (code == EXIT_OK) code = common_context(&a->check.common, command, &a->check.one);
    if (code != EXIT_OK) return code;
    if (lac_ctx_set(a->check.one, "threads", "1") != LAC_OK) {
        complain(command, "threads: %s", lac_last_error());
        return EXIT_UNAVAILABLE;
    }
    lac_ctx_info(a->check.ctx, find_nan, &a->check.strict_nan);
    if (!route_set_parse(&a->check.routes, a->routes, a->check.ctx, error, sizeof error)) {
        complain(command, "%s", error);
        return EXIT_USAGE;
    }
    if (a->problems.count > 0 || a->fuzz > 0 || add_built_in(&a->problems)) return EXIT_OK;
    complain(command, "the built-in problems cannot be read");
    return EXIT_UNAVAILABLE;
}

static int run_check(check_arguments_t *a, const char *command)
{
    check_tally_t tally = {.quiet = a->check.common.quiet, .common = &a->check.common};
    int code = check_problems(a, &tally, command);
    progress_clear();
    printf("%zu problems: %ld passed, %ld refused, %ld failed", a->problems.count + (size_t)a->fuzz,
           tally.passed, tally.refused, tally.failed);
    if (tally.passed > 0 && tally.worst > 0.0)
        printf("; largest error %.3g (route %s, %s)", tally.worst, tally.worst_route, tally.worst_problem);
    printf("\n");
    if (code == EXIT_OK && tally.failed > 0) return EXIT_WRONG;
    if (code == EXIT_OK && tally.passed == 0) {
        complain(command, "nothing was checked: every route refused");
        return EXIT_WRONG;
    }
    return code;
}

int command_check(int argc, char **argv)
{
    static const struct argp_child children[] = {{&common_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {check_table, parse_check, "[PROBLEM...]", doc, children, NULL, NULL};
    check_arguments_t a = {.check.runs = 2, .routes = "all", .seed = 1};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    progress_begin(a.check.common.quiet);
    int code = prepare(&a, argv[0]);
    if (code == EXIT_OK) code = run_check(&a, argv[0]);
    lac_ctx_free(a.check.ctx);
    lac_ctx_free(a.check.one);
    problem_list_free(&a.problems);
    return code;
}

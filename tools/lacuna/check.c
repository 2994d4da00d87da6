/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lacuna check: routes against the oracle. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "accuracy.h"
#include "command.h"
#include "problems.h"
#include "output.h"

enum { KEY_FUZZ = 256, KEY_SEED, KEY_REPEAT, KEY_ACCURACY, KEY_MATCH };

static const struct argp_option check_table[] = {
    {"file", 'f', "LIST", 0,
     "read problems from LIST, one a line, '#' begins a comment ('-': standard input)", 1},
    {"route", 'r', "NAMES", 0,
     "check these routes, set apart by commas (default all; 'auto' includes the entry "
     "points lac_sgemm, lac_sgemv, lac_gemm_batched and plans)",
     1},
    {"repeat", KEY_REPEAT, "N", 0, "run each route N times, for the same bits (default 2)", 1},
    {"jobs", 'j', "N", 0, "check N problems at a time, each with contexts of its own (default 1)", 1},
    {"fuzz", KEY_FUZZ, "N", 0, "add N random small problems from the whole grammar", 1},
    {"seed", KEY_SEED, "S", 0, "the seed of --fuzz (default 1)", 1},
    {"match", KEY_MATCH, "REGEX", 0,
     "of --fuzz: draw problems until their string matches this extended regular expression", 1},
    {"accuracy", KEY_ACCURACY, NULL, 0,
     "hold every route to the accuracy contract instead: at most twice the error of the BLAS (on a device: "
     "of cuBLAS), mean and max, on five kinds of data in place of the problem's values",
     1},
    {0},
};

static error_t parse_check(int key, char *arg, struct argp_state *state)
{
    check_arguments_t *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->check.common;
        return 0;
    case 'f':
        problem_list_file(&a->problems, arg, state);
        return 0;
    case 'r':
        a->routes = arg;
        return 0;
    case 'j':
        a->jobs = (int)parse_integer(state, "--jobs", arg, 1, CHECK_JOBS_MAX);
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
    case KEY_MATCH:
        if (a->match) argp_error(state, "--match: given twice");
        if (regcomp(&a->matching, arg, REG_EXTENDED | REG_NOSUB))
            argp_error(state, "--match: '%s' is no regular expression", arg);
        a->match = arg;
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

static const struct argp_child check_children[] = {{&common_argp, 0, NULL, 0}, {0}};

const struct argp check_argp = {
    .options = check_table, .parser = parse_check, .args_doc = "[PROBLEM...]", .children = check_children};

static const char doc[] =
    "Tests GEMM on this machine: runs every route that applies to a problem and compares its result with a "
    "product in double (of doubles: in long double), element by element; errors are in units of 2^-24 |A||B| "
    "(2^-53). C's padding must stay "
    "untouched, a further run and a run with one thread (on a device: on another stream) must give the same "
    "bits. A sparse route must report the density that it counted, and give up beyond a limit of it, C "
    "untouched. A route that refuses is shown with its reason and is not counted as passed. "
    "Without a PROBLEM a few are built in." EXIT_CODES_TEXT;

/* A problem that is drawn again has an index beyond those of all first draws. */
#define DRAWS_MAX  (1 << 20)
#define DRAW_SHIFT 32

/* A random problem goes through its own text, so that what is checked is what the report lets one repeat. */
static bool fuzz_problem(const check_arguments_t *a, uint64_t index, ref_problem_t *problem)
{
    char text[REF_PROBLEM_TEXT], error[REF_ERROR_TEXT];
    uint64_t draw = 0;
    do {
        ref_problem_t random = problem_random_check(a->seed, index + (draw << DRAW_SHIFT), a->halves);
        ref_problem_print(&random, text, sizeof text);
    } while (a->match && regexec(&a->matching, text, 0, NULL, 0) && ++draw < DRAWS_MAX);
    if (draw == DRAWS_MAX) {
        complain(a->command, "--match: none of %d random problems matches '%s'", DRAWS_MAX, a->match);
        return false;
    }
    if (ref_problem_parse(text, problem, error, sizeof error)) return true;
    complain(a->command, "fuzz %llu of seed %llu: '%s' does not read back: %s", (unsigned long long)index,
             (unsigned long long)a->seed, text, error);
    return false;
}

/* Those that were named, then the random ones. */
static bool problem_of(const void *arguments, size_t index, ref_problem_t *problem)
{
    const check_arguments_t *a = arguments;
    if (index >= a->problems.count) return fuzz_problem(a, index - a->problems.count, problem);
    *problem = a->problems.problem[index];
    return true;
}

static bool add_all(problem_list_t *list, const char *const *text, size_t count)
{
    char error[2 * REF_PROBLEM_TEXT];
    for (size_t i = 0; i < count; i++)
        if (!problem_list_add(list, text[i], error, sizeof error)) return false;
    return true;
}

static bool add_built_in(problem_list_t *list, bool accuracy, bool device)
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
    static const char *const of_doubles[] = {
        "dgemm:NN:10x500x300:A=bern0.01",
        "dgemm:NT:33x127x65:A=bern0.3:beta=0.5",
        "dgemm:TN:65x64x33:A=block8x4-0.2:layC=col:metaA=csr",
        "dgemm:NN:100x130x20:A=bern0.1:metaA=bits:frozenA=1",
        "dgemv:T:200x100:B=bern0.1",
    };
    static const char *const of_halves[] = {
        "bgemm:NN:1x500x300:A=bern0.1",
        "hgemm:NN:10x500x300:A=bern0.01:dtA=u8",
        "hgemm:NT:8x500x300:A=bern0.05:frozenB=1:beta=0.5",
        "bgemm:NN:33x127x65:A=bern0.3:dtC=f32",
        "bgemm:NN:3x500x304:A=bern0.1:dtA=f32:dtC=f32",
        "hgemm:NN:300x500x8:B=bern0.05:dtB=f32:dtC=f32:layC=col",
    };
    static const char *const long_half_sums[] = {
        "bgemm:NN:10x5000x1000:A=bern0.1",
        "hgemm:NN:1x5000x1000:A=bern0.5",
    };
    static const char *const long_sums[] = {
        "sgemm:NN:64x16x256:A=bern0.5",
        "sgemm:NN:10x5000x1000:A=bern0.1",
        "sgemm:NT:10x5000x1000:A=bern0.3:frozenB=1",
        "sgemm:NN:1000x5000x10:A=bern0.5:metaA=bits:frozenA=1",
        "sgemm:NN:8x100000x64:A=bern0.1:metaA=csr",
    };
    if (accuracy)
        return add_all(list, long_sums, sizeof long_sums / sizeof *long_sums) &&
               (!device || add_all(list, long_half_sums, sizeof long_half_sums / sizeof *long_half_sums));
    return add_all(list, built_in, sizeof built_in / sizeof *built_in) &&
           add_all(list, of_doubles, sizeof of_doubles / sizeof *of_doubles) &&
           (!device || add_all(list, of_halves, sizeof of_halves / sizeof *of_halves));
}

static void read_info(void *arg, const char *key, const char *value)
{
    check_arguments_t *a = arg;
    check_options_t *options = &a->check;
    if (strcmp(key, "cublas") == 0) a->halves = strcmp(value, "none") != 0;
    if (strcmp(key, "option nan") == 0) options->strict_nan = strncmp(value, "strict", 6) == 0;
    if (strcmp(key, "option skip") == 0) options->skip = value[0];
}

/* What the library has to say: its routes, and how it takes zeros. */
static int ask_library(check_arguments_t *a)
{
    char error[512];
    check_options_t asking = a->check;
    int code = check_contexts_make(&asking, a->command);
    if (code == EXIT_OK) {
        a->device = computes_on_device(asking.ctx);
        lac_ctx_info(asking.ctx, read_info, a);
        if (!route_set_parse(&a->check.routes, a->routes, asking.ctx, error, sizeof error)) {
            complain(a->command, "%s", error);
            code = EXIT_USAGE;
        }
    }
    check_contexts_free(&asking);
    return code;
}

/* Routes whose error is that of Lacuna's own sums; what the vendor computes is the measure. */
static int run_accuracy(const check_arguments_t *a)
{
    accuracy_options_t options = {.common = a->check.common, .routes = a->check.routes};
    accuracy_drop_others(&options.routes, a->routes);
    return accuracy_run(&a->problems, &options, a->command);
}

static int run_check(check_arguments_t *a)
{
    if (a->accuracy) return run_accuracy(a);
    check_summary_t summary = {.out = stdout, .common = &a->check.common};
    check_work_t work = {.check = a->check, .jobs = a->jobs, .problem = problem_of, .list = a};
    work.problems = a->problems.count + (size_t)a->fuzz;
    work.check_one = a->check_one;
    work.command = a->command;
    int code = check_pool_run(&work, &summary);
    progress_clear();
    check_summary_print(&summary, work.problems);
    if (code == EXIT_OK && summary.failed > 0) return EXIT_WRONG;
    if (code == EXIT_OK && summary.passed == 0) {
        complain(a->command, "nothing was checked: every route refused");
        return EXIT_WRONG;
    }
    return code;
}

int check_arguments_run(check_arguments_t *a)
{
    progress_begin(a->check.common.quiet);
    int code = ask_library(a);
    if (code == EXIT_OK && a->problems.count == 0 && a->fuzz == 0 &&
        !add_built_in(&a->problems, a->accuracy, a->device)) {
        complain(a->command, "the built-in problems cannot be read");
        code = EXIT_UNAVAILABLE;
    }
    if (code == EXIT_OK) code = run_check(a);
    problem_list_free(&a->problems);
    if (a->match) regfree(&a->matching);
    return code;
}

static int check_one(const void *arguments, const ref_problem_t *problem, const check_options_t *options,
                     check_line_fn report, void *arg)
{
    const check_arguments_t *a = arguments;
    return check_case_run(problem, options, report, arg, a->command);
}

int command_check(int argc, char **argv)
{
    const struct argp argp = {check_table, parse_check, "[PROBLEM...]", doc, check_children, NULL, NULL};
    check_arguments_t a = {CHECK_DEFAULTS, .command = argv[0], .check_one = check_one};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    return check_arguments_run(&a);
}

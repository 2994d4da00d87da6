/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * apitest regret: its command line. */
#include "apitest.h"
#include "bench_regret.h"
#include "parse_number.h"
#include "progress.h"

enum {
    KEY_BASELINE = 256,
    KEY_JSON,
    KEY_REPEAT,
    KEY_MIN_TIME,
    KEY_SEED,
    KEY_COUNT,
    KEY_MAX_DIM,
    KEY_MAX_FLOPS
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
    {"max-dim", KEY_MAX_DIM, "N", 0, "extents up to N (default 2048; on a device 8192)", 2},
    {"max-flops", KEY_MAX_FLOPS, "F", 0,
     "at most F flops in the dense product (default 1e9; on a device 2e10)", 2},
    {"repeat", KEY_REPEAT, "N", 0, "exactly N rounds (default: as --min-time allows)", 3},
    {"min-time", KEY_MIN_TIME, "SECONDS", 0, "about this long for each route (default 0.04)", 3},
    {"json", KEY_JSON, "FILE", 0, "write everything to FILE ('-': standard output)", 4},
    {0},
};

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
    case KEY_COUNT:
        a->regret.count = (int)parse_integer(state, "--count", arg, 1, 1000000);
        return 0;
    case KEY_MAX_DIM:
        a->regret.max_extent = parse_integer(state, "--max-dim", arg, 1, 1 << 20);
        return 0;
    case KEY_MAX_FLOPS:
        a->regret.max_flops = parse_real(state, "--max-flops", arg, 2.0, 1e15);
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
        .regret = {.count = 300, .seed = 1},
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

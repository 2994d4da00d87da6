/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lacuna explain: what the dispatcher thinks of a problem. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "operands.h"
#include "problems.h"
#include "route_set.h"
#include "output.h"

typedef struct explain_arguments {
    common_options_t common;
    problem_list_t problems;
    const char *route;
    int after;
} explain_arguments_t;

static const struct argp_option explain_table[] = {
    {"route", 'r', "NAME", 0, "force this route (default auto)", 1},
    {"after", 'n', "N", 0, "make N calls first: what the dispatcher then remembers (default 0)", 1},
    {0},
};

static error_t parse_explain(int key, char *arg, struct argp_state *state)
{
    explain_arguments_t *a = state->input;
    char error[2 * REF_PROBLEM_TEXT];
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->common;
        return 0;
    case 'r':
        a->route = arg;
        return 0;
    case 'n':
        a->after = (int)parse_integer(state, "--after", arg, 0, 1000000);
        return 0;
    case ARGP_KEY_ARG:
        if (!problem_list_add(&a->problems, arg, error, sizeof error)) argp_error(state, "%s", error);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "expected a PROBLEM, such as sgemm:NN:10x5000x5000:A=bern0.001");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_bytes(text_table_t *table, size_t bytes)
{
    if (bytes < (size_t)10 << 10)
        text_table_cell(table, "%zu B", bytes);
    else if (bytes < (size_t)10 << 20)
        text_table_cell(table, "%.1f KiB", (double)bytes / 1024.0);
    else
        text_table_cell(table, "%.1f MiB", (double)bytes / 1048576.0);
}

static void print_candidates(const lac_decision_t *d)
{
    static const char *const heads[] = {"",          "route",   "side",           ">predicted us",
                                        ">of dense", ">memory", "refused because"};
    text_table_t *table = text_table_new(7, heads);
    if (!table) return;
    for (int i = 0; i < d->count; i++) {
        const lac_candidate_t *c = &d->candidate[i];
        bool chosen = strcmp(c->route, d->route) == 0 && strcmp(c->side, d->side) == 0;
        text_table_cell(table, chosen ? "*" : "");
        text_table_cell(table, "%s", c->route);
        text_table_cell(table, "%s", c->side);
        if (c->refusal) {
            text_table_cell(table, "-");
            text_table_cell(table, "-");
            text_table_cell(table, "-");
        } else {
            text_table_cell(table, "%.2f", c->cost_us);
            if (d->dense_us > 0.0)
                text_table_cell(table, "%.3f", c->cost_us / d->dense_us);
            else
                text_table_cell(table, "-");
            print_bytes(table, c->bytes);
        }
        text_table_cell(table, "%s", c->refusal ? c->refusal : "");
    }
    text_table_print(table, stdout, 2);
    text_table_free(table);
}

#define SOURCE_TEXT 600

/* The origin of the constants that the predictions rest on: on a device its own, which are reported last. */
static void keep_source(void *arg, const char *key, const char *value)
{
    if (!strcmp(key, "constants") || !strcmp(key, "device constants"))
        snprintf(arg, SOURCE_TEXT, "%s: %s", key, value);
}

static void print_source(lac_ctx_t *ctx)
{
    char text[SOURCE_TEXT] = "";
    if (lac_ctx_info(ctx, keep_source, text) == LAC_OK) printf("  %s\n", text);
}

static void print_decision(const char *problem, const lac_decision_t *d)
{
    printf("%s\n  chosen: %s%s%s (%s), predicted %.2f us", problem, d->route, *d->side ? " " : "", d->side,
           d->reason, d->cost_us);
    if (d->dense_us >= 0.0) printf(", dense %.2f us", d->dense_us);
    printf("; zeros known: %s", d->known);
    if (d->density >= 0.0) printf(", density %.4g", d->density);
    if (d->break_even >= 0.0) printf("; zeros are skipped up to density %.4g", d->break_even);
    printf("\n");
    print_candidates(d);
}

static int explain_one(const explain_arguments_t *a, const ref_problem_t *problem, const char *command)
{
    lac_ctx_t *ctx;
    char error[2 * REF_PROBLEM_TEXT];
    operand_set_t set;
    int code = common_context(&a->common, command, &ctx);
    if (code != EXIT_OK) return code;
    if (!operand_set_make(&set, problem, ctx, error, sizeof error)) {
        complain(command, "%s", error);
        lac_ctx_free(ctx);
        return EXIT_UNAVAILABLE;
    }
    lac_call_opts_t call = {.size = sizeof call,
                            .route = strcmp(a->route, ROUTE_AUTO) == 0 ? NULL : a->route};
    lac_status_t status = LAC_OK;
    for (int i = 0; i < a->after && status == LAC_OK; i++)
        status =
            lac_gemm_ex(ctx, operand_set_alpha(&set), &set.a, &set.b, operand_set_beta(&set), &set.c, &call);
    route_verdict_t verdict = {.status = status};
    if (status == LAC_OK)
        route_ask(&verdict, ctx, &set, a->route);
    else
        snprintf(verdict.why, sizeof verdict.why, "%s", lac_last_error());
    if (verdict.status == LAC_OK) {
        print_decision(set.text, &verdict.decision);
        print_source(ctx);
        if (!verdict.applies) printf("  %s was asked for, and refused: %s\n", a->route, verdict.why);
    } else {
        complain(command, "%s: %s: %s", set.text, lac_status_text(verdict.status), verdict.why);
        code = EXIT_UNAVAILABLE;
    }
    operand_set_free(&set);
    lac_ctx_free(ctx);
    return code;
}

static int check_route(const explain_arguments_t *a, const char *command)
{
    lac_ctx_t *ctx;
    route_set_t set;
    char error[512];
    int code = common_context(&a->common, command, &ctx);
    if (code != EXIT_OK) return code;
    if (!route_set_parse(&set, a->route, ctx, error, sizeof error)) {
        complain(command, "%s", error);
        code = EXIT_USAGE;
    }
    lac_ctx_free(ctx);
    return code;
}

int command_explain(int argc, char **argv)
{
    static const struct argp_child children[] = {{&common_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .options = explain_table,
        .parser = parse_explain,
        .args_doc = "PROBLEM...",
        .doc = "Prints, for each problem, every route of the library: its predicted time, the memory that it "
               "needs "
               "beyond the operands, or why it does not apply; and the route that would run now, and why. "
               "Nothing "
               "is run unless --after asks for it.\v" EXIT_CODES_TEXT,
        .children = children,
    };
    explain_arguments_t a = {.route = ROUTE_AUTO};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    int code = check_route(&a, argv[0]);
    for (size_t i = 0; code == EXIT_OK && i < a.problems.count; i++) {
        if (i > 0) printf("\n");
        code = explain_one(&a, &a.problems.problem[i], argv[0]);
    }
    problem_list_free(&a.problems);
    return code;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * apitest check: the check of GEMM, and every other public call on the same operands. */
#include "check_case.h"
#include "call.h"
#include "api/interpose.h"
#include "apitest.h"
#include "check.h"
#include "ref_half.h"

#include <string.h>

/* The trials of one problem. */

/* Above so many multiply-adds the oracle of a trial takes longer than all routes together. */
#define MULTIPLY_ADDS_MAX 2e7

/* The call of a trial names it in the report. */
static const struct {
    const char *call;
    apitest_fn make;
} trials[] = {{"lac_to_dense", apitest_to_dense},
              {"lac_count_nonzeros", apitest_count},
              {"lac_tile_occupancy", apitest_occupancy},
              {"lac_slice_rows", apitest_slice_rows},
              {"lac_slice_rows_csr", apitest_slice_csr},
              {"lac_slice_rows_grad", apitest_slice_grad},
              {"lac_meta_convert", apitest_derive},
              {"lac_meta_attach", apitest_attach},
              {"lac_sddmm", apitest_sddmm},
              {"lac_gemm_grad_a", apitest_grad_a},
              {"lac_gemm_grad_b", apitest_grad_b},
              {"lac_gemm_epilogue", apitest_layer},
              {"lac_gemm_batched_array", apitest_batch},
              {"(increments)", apitest_vector},
              {"lac_register", apitest_register},
              {"(residual)", apitest_added},
              {"(strided batch)", apitest_strided},
              {"lac_try_spmm", apitest_spmm},
              {"(costs)", apitest_costs},
              {"(bad input)", apitest_bad_input}};

static const char all_calls[] = "all";

static bool covers(const char *corrupt, size_t which)
{
    return corrupt && (strcmp(corrupt, all_calls) == 0 || strcmp(corrupt, trials[which].call) == 0);
}

/* Whether corrupt may have that value. */
static bool check_trials_has(const char *call)
{
    bool known = false;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) known |= covers(call, i);
    return known;
}

static apitest_end_t make(apitest_t *t, size_t which, operand_set_t *set, lac_ctx_t *ctx,
                          const check_options_t *options, const char *corrupt)
{
    *t = (apitest_t){.ctx = ctx, .set = set, .corrupt = covers(corrupt, which)};
    t->readings = options->strict_nan ? 1 : APITEST_READINGS;
    t->may_force = options->common.settings == 0;
    t->routes = &options->routes;
    t->rng.stream = ref_stream(set->problem.seed, UINT64_C(0x747269616c) + which);
    return trials[which].make(t);
}

static void check_one(size_t which, operand_set_t *set, const check_options_t *options, const char *corrupt,
                      check_line_fn report, void *arg)
{
    static const check_status_t as_reported[] = {CHECK_PASSED, CHECK_REFUSED, CHECK_FAILED};
    apitest_t first, again;
    apitest_end_t end = make(&first, which, set, options->ctx, options, corrupt);
    if (end == APITEST_PASSED && make(&again, which, set, options->one, options, corrupt) == APITEST_FAILED)
        end = apitest_fail(&first, "in the other context: %.400s", again.why);
    else if (end == APITEST_PASSED && again.bits != first.bits)
        end = apitest_fail(&first, "the other context gave other bits");
    check_line_t line = {.problem = set->text, .oracle = "a product in double", .route = trials[which].call};
    line.ran = "";
    line.status = as_reported[end];
    line.max_error = first.max_error;
    line.mean_error = first.mean_error;
    line.why = first.why;
    report(arg, &line);
}

/* Makes each trial on the operands and reports it, by one line. Those whose bits are promised are made again
 * with options->one, for the same bits. A and B stay as they are; their metadata gains formats. corrupt: the
 * call whose results are corrupted before they are compared, "all" of them, or NULL. */
static void check_apitests(operand_set_t *set, const check_options_t *options, const char *corrupt,
                           check_line_fn report, void *arg)
{
    const ref_problem_t *p = &set->problem;
    if ((double)p->m * (double)p->k * (double)p->n > MULTIPLY_ADDS_MAX) return;
    bool doubles = p->c.dt == LAC_F64 && computes_on_device(options->ctx);
    if (doubles || ref_is_half(p->a.dt) || ref_is_half(p->b.dt))
        return; /* of products alone, which are checked already */
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        check_one(i, set, options, corrupt, report, arg);
}

/* apitest check: the check of GEMM, and every other public call on the same operands. */

#define KEY_CORRUPT 256

typedef struct apitest_arguments {
    check_arguments_t check; /* the first, for check_problem is given its address */
    const char *corrupt;     /* a call whose results are corrupted, "all" or NULL */
} apitest_arguments_t;

static const struct argp_option apitest_table[] = {
    {"corrupt", KEY_CORRUPT, "CALL", 0,
     "corrupt what this call wrote before it is compared ('all': what every call but GEMM wrote): the check "
     "must fail",
     2},
    {0},
};

static error_t parse_apitest(int key, char *arg, struct argp_state *state)
{
    apitest_arguments_t *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->check;
        return 0;
    case KEY_CORRUPT:
        if (!check_trials_has(arg)) argp_error(state, "--corrupt: unknown call '%s'", arg);
        a->corrupt = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The calls come between the products and what is checked after all of them. */
static int check_problem(const void *arguments, const ref_problem_t *problem, const check_options_t *options,
                         check_line_fn report, void *arg)
{
    const apitest_arguments_t *a = arguments;
    check_run_t run;
    int code = check_case_make(&run, problem, options, report, arg, a->check.command);
    if (code != EXIT_OK) return code;
    check_case_products(&run);
    if (route_set_has(&options->routes, ROUTE_AUTO))
        check_apitests(&run.set, options, a->corrupt, report, arg);
    check_case_contents(&run);
    check_case_free(&run);
    return EXIT_OK;
}

static const char doc[] =
    "Checks problems as lacuna check does, and with the route auto tries every other public call on the same "
    "operands: conversions, slices, sampled products, gradients, layers, batches, registered operands, "
    "attached formats that are wrong, and invalid arguments.\v" EXIT_CODES_TEXT;

int apitest_check(int argc, char **argv)
{
    static const struct argp_child children[] = {{&check_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {apitest_table, parse_apitest, NULL, doc, children, NULL, NULL};
    apitest_arguments_t a = {.check = {CHECK_DEFAULTS, .command = argv[0], .check_one = check_problem}};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    return check_arguments_run(&a.check);
}

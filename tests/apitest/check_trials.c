/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The trials of one problem. */
#include "check_trials.h"

#include <string.h>

#include "trial.h"
#include "lacuna/interpose.h"

/* Above so many multiply-adds the oracle of a trial takes longer than all routes together. */
#define MULTIPLY_ADDS_MAX 2e7

/* The call of a trial names it in the report. */
static const struct {
    const char *call;
    trial_fn make;
} trials[] = {{"lac_to_dense", trial_to_dense},
              {"lac_count_nonzeros", trial_count},
              {"lac_tile_occupancy", trial_occupancy},
              {"lac_slice_rows", trial_slice_rows},
              {"lac_slice_rows_csr", trial_slice_csr},
              {"lac_slice_rows_grad", trial_slice_grad},
              {"lac_meta_convert", trial_derive},
              {"lac_meta_attach", trial_attach},
              {"lac_sddmm", trial_sddmm},
              {"lac_gemm_grad_a", trial_grad_a},
              {"lac_gemm_grad_b", trial_grad_b},
              {"lac_gemm_epilogue", trial_layer},
              {"lac_gemm_batched_array", trial_batch},
              {"(increments)", trial_vector},
              {"lac_register", trial_register},
              {"lac_try_sgemm_residual", trial_added},
              {"lac_try_sgemm_strided", trial_strided},
              {"lac_try_spmm", trial_spmm},
              {"(bad input)", trial_bad_input}};

static const char all_calls[] = "all";

static bool covers(const char *corrupt, size_t which)
{
    return corrupt && (strcmp(corrupt, all_calls) == 0 || strcmp(corrupt, trials[which].call) == 0);
}

bool check_trials_has(const char *call)
{
    bool known = false;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) known |= covers(call, i);
    return known;
}

static trial_end_t make(trial_t *t, size_t which, operand_set_t *set, lac_ctx_t *ctx,
                        const check_options_t *options, const char *corrupt)
{
    *t = (trial_t){.ctx = ctx, .set = set, .corrupt = covers(corrupt, which)};
    t->readings = options->strict_nan ? 1 : TRIAL_READINGS;
    t->may_force = options->common.settings == 0;
    t->dice.stream = ref_stream(set->problem.seed, UINT64_C(0x747269616c) + which);
    return trials[which].make(t);
}

static void check_one(size_t which, operand_set_t *set, const check_options_t *options, const char *corrupt,
                      check_line_fn report, void *arg)
{
    static const check_status_t as_reported[] = {CHECK_PASSED, CHECK_REFUSED, CHECK_FAILED};
    trial_t first, again;
    trial_end_t end = make(&first, which, set, options->ctx, options, corrupt);
    if (end == TRIAL_PASSED && make(&again, which, set, options->one, options, corrupt) == TRIAL_FAILED)
        end = trial_fail(&first, "in the other context: %.400s", again.why);
    else if (end == TRIAL_PASSED && again.bits != first.bits)
        end = trial_fail(&first, "the other context gave other bits");
    check_line_t line = {.problem = set->text, .oracle = "a product in double", .route = trials[which].call};
    line.ran = "";
    line.status = as_reported[end];
    line.max_error = first.max_error;
    line.mean_error = first.mean_error;
    line.why = first.why;
    report(arg, &line);
}

void check_trials(operand_set_t *set, const check_options_t *options, const char *corrupt,
                  check_line_fn report, void *arg)
{
    const ref_problem_t *p = &set->problem;
    if ((double)p->m * (double)p->k * (double)p->n > MULTIPLY_ADDS_MAX) return;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        check_one(i, set, options, corrupt, report, arg);
}

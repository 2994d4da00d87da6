/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One lane of the bench. */
#include "bench_contender.h"

#include <stdio.h>

const char *bench_status_name(bench_status_t status)
{
    static const char *const names[] = {"ok", "refused", "wrong", "failed", "slow"};
    return names[status];
}

lac_status_t bench_contender_queue(void *arg)
{
    bench_contender_t *contender = arg;
    const operand_set_t *set = contender->set;
    const float *alpha = &set->problem.alpha, *beta = &set->problem.beta;
    if (!contender->call.route && !contender->call.decision)
        return lac_gemm(contender->ctx, alpha, contender->a, contender->b, beta, &set->c);
    return lac_gemm_ex(contender->ctx, alpha, contender->a, contender->b, beta, &set->c, &contender->call);
}

bool bench_contender_run(void *arg)
{
    bench_contender_t *contender = arg;
    if (!contender->ctx) {
        vendor_call_run(&contender->vendor);
        return true;
    }
    if (bench_contender_queue(contender) != LAC_OK) return false;
    return !computes_on_device(contender->ctx) || lac_device_wait(contender->ctx) == LAC_OK;
}

void bench_contender_reset(void *arg)
{
    const bench_contender_t *contender = arg;
    if (contender->set->problem.beta != 0.0f) operand_set_reset((operand_set_t *)contender->set);
}

void bench_contender_give_up(bench_contender_t *contender, bench_status_t status, const char *why)
{
    contender->status = status;
    snprintf(contender->why, sizeof contender->why, "%s", why);
}

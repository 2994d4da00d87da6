/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One lane of the bench. */
#include "bench_lane.h"

#include <stdio.h>

const char *bench_status_name(bench_status_t status)
{
    static const char *const names[] = {"ok", "refused", "wrong", "failed", "slow"};
    return names[status];
}

lac_status_t bench_lane_queue(void *arg)
{
    bench_lane_t *lane = arg;
    const operand_set_t *set = lane->set;
    const float *alpha = &set->problem.alpha, *beta = &set->problem.beta;
    if (!lane->call.route && !lane->call.decision)
        return lac_gemm(lane->ctx, alpha, lane->a, lane->b, beta, &set->c);
    return lac_gemm_ex(lane->ctx, alpha, lane->a, lane->b, beta, &set->c, &lane->call);
}

bool bench_lane_run(void *arg)
{
    bench_lane_t *lane = arg;
    if (!lane->ctx) {
        vendor_call_run(&lane->vendor);
        return true;
    }
    if (bench_lane_queue(lane) != LAC_OK) return false;
    return !computes_on_device(lane->ctx) || lac_device_wait(lane->ctx) == LAC_OK;
}

void bench_lane_reset(void *arg)
{
    const bench_lane_t *lane = arg;
    if (lane->set->problem.beta != 0.0f) operand_set_reset((operand_set_t *)lane->set);
}

void bench_lane_give_up(bench_lane_t *lane, bench_status_t status, const char *why)
{
    lane->status = status;
    snprintf(lane->why, sizeof lane->why, "%s", why);
}

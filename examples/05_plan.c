/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A plan: decide once, print why, and run the same product again and again without deciding. */
#include <lacuna/lacuna.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 8, INPUTS = 512, OUTPUTS = 256, STEPS = 100 };

static float spikes[ROWS * INPUTS], weight[INPUTS * OUTPUTS], out[ROWS * OUTPUTS];

static void must(lac_status_t status)
{
    if (status == LAC_OK) return;
    fprintf(stderr, "%s: %s\n", lac_status_text(status), lac_last_error());
    exit(EXIT_FAILURE);
}

static void print_decision(const lac_decision_t *d)
{
    printf("route %s: %s, %.1f us predicted against %.1f us dense\n", d->route, d->reason, d->cost_us,
           d->dense_us);
    for (int i = 0; i < d->count; i++) {
        const lac_candidate_t *c = &d->candidate[i];
        if (c->refusal)
            printf("  %-9s %-5s refused: %s\n", c->route, c->side, c->refusal);
        else
            printf("  %-9s %-5s %8.1f us\n", c->route, c->side, c->cost_us);
    }
}

int main(void)
{
    lac_ctx_t *ctx;
    lac_plan_t *plan;
    lac_decision_t decision;
    for (int i = 0; i < INPUTS * OUTPUTS; i++) weight[i] = (float)(i % 9 - 4);
    lac_obj_t vs = lac_obj_rowmajor(LAC_F32, ROWS, INPUTS, spikes, INPUTS);
    lac_obj_t vw = lac_obj_rowmajor(LAC_F32, INPUTS, OUTPUTS, weight, OUTPUTS);
    lac_obj_t vo = lac_obj_rowmajor(LAC_F32, ROWS, OUTPUTS, out, OUTPUTS);
    must(lac_ctx_create(&ctx));

    /* The route is ours to choose: these rows are events. Leave it out, and the cost model decides from what
     * it can see now. The plan keeps extents, strides and types; buffers and contents may change. */
    lac_call_opts_t call = {.size = sizeof call, .route = "event"};
    must(lac_plan_create(ctx, &plan, &vs, &vw, &vo, &call));
    must(lac_plan_explain(plan, &decision));
    print_decision(&decision);

    /* The first run grows the workspace; later ones allocate nothing. */
    size_t grown = 0;
    for (int step = 0; step < STEPS; step++) {
        int row = step % ROWS, input = step * 37 % INPUTS;
        const float gain = (float)(step + 1);
        spikes[row * INPUTS + input] = 1.0f;
        must(lac_plan_run(plan, &gain, &vs, &vw, NULL, &vo));
        spikes[row * INPUTS + input] = 0.0f;
        for (int j = 0; j < OUTPUTS; j++) /* one spike: one row of the weight */
            if (out[row * OUTPUTS + j] != gain * weight[input * OUTPUTS + j]) {
                printf("wrong at step %d, output %d\n", step, j);
                return EXIT_FAILURE;
            }
        if (step == 0) grown = lac_ctx_bytes(ctx);
    }
    printf("%d runs, %zu bytes in the context after the first and %zu after the last\n", STEPS, grown,
           lac_ctx_bytes(ctx));

    int steady = lac_ctx_bytes(ctx) == grown;
    lac_plan_free(plan); /* before its context */
    lac_ctx_free(ctx);
    return steady ? EXIT_SUCCESS : EXIT_FAILURE;
}

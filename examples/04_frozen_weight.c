/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A frozen weight: nine of ten entries were pruned, and it will not change for a long time.
 *
 * A weight that is scanned and frozen is stored a second time without its zeros, so that each product reads
 * less memory than the dense one would. */
#include <lacuna/lacuna.h>
#include <stdio.h>
#include <stdlib.h>

enum { OUTPUTS = 1024, INPUTS = 1024, COLUMNS = 4, KEPT_OF = 10 };

static float weight[OUTPUTS * INPUTS], x[INPUTS * COLUMNS], y[OUTPUTS * COLUMNS];

static void must(lac_status_t status)
{
    if (status == LAC_OK) return;
    fprintf(stderr, "%s: %s\n", lac_status_text(status), lac_last_error());
    exit(EXIT_FAILURE);
}

/* Whole numbers: sums are exact, whichever route adds them. */
static void expect_product(void)
{
    for (int i = 0; i < OUTPUTS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            float sum = 0.0f;
            for (int k = 0; k < INPUTS; k++) sum += weight[i * INPUTS + k] * x[k * COLUMNS + j];
            if (y[i * COLUMNS + j] == sum) continue;
            printf("wrong at %d, %d\n", i, j);
            exit(EXIT_FAILURE);
        }
}

int main(void)
{
    for (int i = 0; i < OUTPUTS * INPUTS; i++)
        weight[i] = i % 1009 * 7919 % KEPT_OF ? 0.0f : (float)(i % 13 - 6) + 0.5f;
    for (int i = 0; i < INPUTS * COLUMNS; i++) x[i] = (float)(i % 5 - 2);
    lac_ctx_t *ctx;
    lac_meta_t *meta;
    lac_decision_t decision = {.route = ""}; /* the library fills it */
    lac_call_opts_t call = {.size = sizeof call, .decision = &decision};
    must(lac_ctx_create(&ctx));
    must(lac_meta_create(&meta, OUTPUTS, INPUTS));
    lac_obj_t vw = lac_obj_rowmajor(LAC_F32, OUTPUTS, INPUTS, weight, INPUTS);
    lac_obj_t vx = lac_obj_rowmajor(LAC_F32, INPUTS, COLUMNS, x, COLUMNS);
    lac_obj_t vy = lac_obj_rowmajor(LAC_F32, OUTPUTS, COLUMNS, y, COLUMNS);
    vw.meta = meta;

    /* Measure once, and promise that it stays so. A scan alone is a hint about cost; a scan of a frozen
     * operand is the operand. */
    must(lac_meta_scan(ctx, &vw, LAC_META_BITMASK | LAC_META_CSR));
    must(lac_meta_freeze(meta));
    printf("density %.3f, %zu bytes of metadata beside %zu of weight\n", lac_meta_density(meta),
           lac_meta_bytes(meta), sizeof weight);

    for (int step = 0; step < 10; step++) {
        x[step] += 1.0f; /* the activations change from step to step; the weight does not */
        must(lac_gemm_ex(ctx, NULL, &vw, &vx, NULL, &vy, &call));
        expect_product();
    }
    printf("ran as %s: %s, density %s\n", decision.route, decision.reason, decision.known);

    /* An update of the weight: touch, change, scan, freeze. Without the touch the products would go on with
     * the old weight: that was the promise. */
    must(lac_meta_touch(meta));
    for (int i = 0; i < OUTPUTS * INPUTS; i++) weight[i] *= 2.0f;
    must(lac_meta_scan(ctx, &vw, LAC_META_BITMASK | LAC_META_CSR));
    must(lac_meta_freeze(meta));
    must(lac_gemm(ctx, NULL, &vw, &vx, NULL, &vy));
    expect_product();
    printf("generation %llu\n", (unsigned long long)lac_meta_generation(meta));

    lac_meta_free(meta);
    lac_ctx_free(ctx);
    return EXIT_SUCCESS;
}

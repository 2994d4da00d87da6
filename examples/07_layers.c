/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Two layers: the first one's output, with the metadata of its zeros, is the second one's sparse operand.
 *
 * A ReLU makes zeros, and who applies it may as well record them: the next product then has their metadata,
 * and probes nothing. */
#include <lacuna/lacuna.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRIALS = 16, INPUTS = 256, HIDDEN = 512, OUTPUTS = 256 };

static float input[TRIALS * INPUTS], first[INPUTS * HIDDEN], second[HIDDEN * OUTPUTS], bias[HIDDEN];
static float hidden[TRIALS * HIDDEN], output[TRIALS * OUTPUTS];

static void must(lac_status_t status)
{
    if (status == LAC_OK) return;
    fprintf(stderr, "%s: %s\n", lac_status_text(status), lac_last_error());
    exit(EXIT_FAILURE);
}

/* A whole number of `many` around 0. Of these sums are exact, whichever route adds them. */
static float number(int many)
{
    static unsigned state;
    state = state * 1664525u + 1013904223u;
    int low = many / 2, x = (int)(state >> 16) % many - low;
    return (float)x;
}

static float sum_of(const float *a, const float *b, int i, int j, int depth, int columns)
{
    float sum = 0.0f;
    for (int k = 0; k < depth; k++) sum += a[i * depth + k] * b[k * columns + j];
    return sum;
}

static void expect(bool right, const char *what)
{
    if (right) return;
    printf("wrong: %s\n", what);
    exit(EXIT_FAILURE);
}

static void expect_layers(void)
{
    for (int i = 0; i < TRIALS; i++)
        for (int j = 0; j < HIDDEN; j++) {
            float x = sum_of(input, first, i, j, INPUTS, HIDDEN) + bias[j];
            expect(hidden[i * HIDDEN + j] == (x > 0.0f ? x : 0.0f), "the hidden layer");
        }
    for (int i = 0; i < TRIALS; i++)
        for (int j = 0; j < OUTPUTS; j++)
            expect(output[i * OUTPUTS + j] == sum_of(hidden, second, i, j, HIDDEN, OUTPUTS), "the output");
}

int main(void)
{
    for (int i = 0; i < TRIALS * INPUTS; i++) input[i] = number(5);
    for (int i = 0; i < INPUTS * HIDDEN; i++) first[i] = number(7);
    for (int i = 0; i < HIDDEN * OUTPUTS; i++) second[i] = number(3);
    for (int i = 0; i < HIDDEN; i++) bias[i] = -100.0f;
    lac_obj_t vi = lac_obj_rowmajor(LAC_F32, TRIALS, INPUTS, input, INPUTS);
    lac_obj_t v1 = lac_obj_rowmajor(LAC_F32, INPUTS, HIDDEN, first, HIDDEN);
    lac_obj_t vh = lac_obj_rowmajor(LAC_F32, TRIALS, HIDDEN, hidden, HIDDEN);
    lac_obj_t v2 = lac_obj_rowmajor(LAC_F32, HIDDEN, OUTPUTS, second, OUTPUTS);
    lac_obj_t vo = lac_obj_rowmajor(LAC_F32, TRIALS, OUTPUTS, output, OUTPUTS);
    lac_ctx_t *ctx;
    must(lac_ctx_create(&ctx));
    must(lac_meta_create(&vh.meta, TRIALS, HIDDEN));

    /* The formats are measured from what was written, and stand for it until the next layer into hidden. */
    lac_epilogue_t relu = {.size = sizeof relu, .bias = bias, .act = LAC_ACT_RELU, .formats = LAC_META_CSR};
    lac_decision_t decision = {.route = ""}; /* the library fills it */
    lac_call_opts_t call = {.size = sizeof call, .decision = &decision};
    for (int step = 0; step < 3; step++) {
        input[step] += 1.0f;
        must(lac_gemm_epilogue(ctx, NULL, &vi, &v1, NULL, &vh, &relu, NULL));
        must(lac_gemm_epilogue(ctx, NULL, &vh, &v2, NULL, &vo, NULL, &call));
        expect_layers();
    }
    printf("hidden: density %.3f; its product ran as %s, density %s\n", lac_meta_density(vh.meta),
           decision.route, decision.known);

    lac_meta_free(vh.meta);
    lac_ctx_free(ctx);
    return EXIT_SUCCESS;
}

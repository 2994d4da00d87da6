/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The object API: an operand is a view of memory that is yours, and one call serves every layout. */
#include <lacuna/lacuna.h>
#include <stdio.h>
#include <stdlib.h>

/* Every call returns a status; lac_last_error() names the argument that it is about. */
static void must(lac_status_t status)
{
    if (status == LAC_OK) return;
    fprintf(stderr, "%s: %s\n", lac_status_text(status), lac_last_error());
    exit(EXIT_FAILURE);
}

static void expect(const char *what, const float *c, const float *expected, int count)
{
    printf("%s:", what);
    for (int i = 0; i < count; i++) printf(" %g", (double)c[i]);
    printf("\n");
    for (int i = 0; i < count; i++)
        if (c[i] != expected[i]) exit(EXIT_FAILURE);
}

int main(void)
{
    float a[2 * 3] = {1, 0, 2, /**/ 0, 3, 0};
    float b[3 * 2] = {1, 2, /**/ 3, 4, /**/ 5, 6};
    float c[2 * 2] = {0};

    /* A context holds the workspace, the settings, and what was learned at each call site. Make one per
     * thread, and keep it: it is what makes the next call cheap. */
    lac_ctx_t *ctx;
    must(lac_ctx_create(&ctx));

    /* Views by rows: extents, buffer, and the distance from one row to the next. */
    lac_obj_t va = lac_obj_rowmajor(LAC_F32, 2, 3, a, 3);
    lac_obj_t vb = lac_obj_rowmajor(LAC_F32, 3, 2, b, 2);
    lac_obj_t vc = lac_obj_rowmajor(LAC_F32, 2, 2, c, 2);
    must(lac_gemm(ctx, NULL, &va, &vb, NULL, &vc)); /* NULL scalars: alpha = 1, beta = 0 */
    expect("A B", c, (float[]){11, 14, 9, 12}, 4);

    /* C := 2 C - A B. With beta = 0, as above, C is never read, whatever it held. */
    const float minus_one = -1.0f, two = 2.0f;
    must(lac_gemm(ctx, &minus_one, &va, &vb, &two, &vc));
    expect("2 C - A B", c, (float[]){11, 14, 9, 12}, 4);

    /* Transposed: the view says so, the memory stays as it is. Here B' (2 x 3) times A' (3 x 2). */
    lac_obj_t at = va, bt = vb;
    at.trans = bt.trans = LAC_TRANS;
    must(lac_gemm(ctx, NULL, &bt, &at, NULL, &vc));
    expect("B' A'", c, (float[]){11, 9, 14, 12}, 4);

    /* Any two strides do: the first and the last column of A, without a copy. */
    lac_obj_t columns = va;
    columns.n = 2;
    columns.cs = 2;
    lac_obj_t top = vb;
    top.m = 2;
    must(lac_gemm(ctx, NULL, &columns, &top, NULL, &vc));
    expect("columns 0 and 2 of A, times the top of B", c, (float[]){7, 10, 0, 0}, 4);

    /* Binary events, one byte each: any byte but 0 is an event of value 1. */
    unsigned char spikes[2 * 3] = {1, 0, 1, /**/ 0, 0, 0};
    lac_obj_t vs = lac_obj_rowmajor(LAC_U8, 2, 3, spikes, 3);
    must(lac_gemm(ctx, NULL, &vs, &vb, NULL, &vc));
    expect("spikes times B", c, (float[]){6, 8, 0, 0}, 4);

    /* What would run, and why not something else? Costs are microseconds. */
    lac_decision_t decision;
    must(lac_explain(ctx, NULL, &va, &vb, NULL, &vc, NULL, &decision));
    printf("would run: %s (%s)\n", decision.route, decision.reason);
    for (int i = 0; i < decision.count; i++)
        printf("  %-9s %-5s %s\n", decision.candidate[i].route, decision.candidate[i].side,
               decision.candidate[i].refusal ? decision.candidate[i].refusal : "applies");

    /* A mistake is a status and a sentence; C is not touched. */
    vb.m = 2;
    lac_status_t status = lac_gemm(ctx, NULL, &va, &vb, NULL, &vc);
    printf("a mistake: %s\n  %s\n", lac_status_text(status), lac_last_error());

    lac_ctx_free(ctx);
    return status == LAC_OK;
}

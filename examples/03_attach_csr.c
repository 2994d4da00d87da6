/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Attach CSR: the program has its sparse matrix in compressed rows, and no dense copy of it. */
#include <lacuna/lacuna.h>
#include <stdio.h>
#include <stdlib.h>

static void must(lac_status_t status)
{
    if (status == LAC_OK) return;
    fprintf(stderr, "%s: %s\n", lac_status_text(status), lac_last_error());
    exit(EXIT_FAILURE);
}

static int is(const float *c, const float *expected)
{
    printf("%g %g / %g %g / %g %g\n", (double)c[0], (double)c[1], (double)c[2], (double)c[3], (double)c[4],
           (double)c[5]);
    for (int i = 0; i < 6; i++)
        if (c[i] != expected[i]) return 0;
    return 1;
}

int main(void)
{
    /*      0 5 0 0       */
    /* A =  0 0 0 0       the second row is empty: ptr[1] == ptr[2] */
    /*      1 0 0 2       */
    const int32_t ptr[3 + 1] = {0, 1, 1, 3};
    const int32_t idx[3] = {1, 0, 3}; /* ascending within a row */
    float val[3] = {5, 1, 2};
    float b[4 * 2] = {1, 2, /**/ 3, 4, /**/ 5, 6, /**/ 7, 8};
    float c[3 * 2];
    lac_ctx_t *ctx;
    lac_meta_t *meta;
    must(lac_ctx_create(&ctx));

    /* Metadata describes the stored matrix of one operand. The arrays are checked here, once, in linear time,
     * and stay ours: they have to live, unchanged, until they are replaced. */
    must(lac_meta_create(&meta, 3, 4));
    must(lac_meta_attach_csr(meta, LAC_I32, ptr, idx, val));
    printf("density %g\n", lac_meta_density(meta));

    /* No buffer: the attached format is the operand. With one, it is what is known of the zeros in it. */
    lac_obj_t va = lac_obj_rowmajor(LAC_F32, 3, 4, NULL, 4);
    va.meta = meta;
    lac_obj_t vb = lac_obj_rowmajor(LAC_F32, 4, 2, b, 2);
    lac_obj_t vc = lac_obj_rowmajor(LAC_F32, 3, 2, c, 2);
    must(lac_gemm(ctx, NULL, &va, &vb, NULL, &vc));
    if (!is(c, (float[]){15, 20, 0, 0, 15, 18})) return EXIT_FAILURE;

    /* The values change: say so first. From the touch on nothing old is used, and this operand is nothing
     * until something is attached again. */
    must(lac_meta_touch(meta));
    val[0] = -5;
    lac_status_t stale = lac_gemm(ctx, NULL, &va, &vb, NULL, &vc);
    printf("after the touch: %s\n", lac_last_error());
    must(lac_meta_attach_csr(meta, LAC_I32, ptr, idx, val));
    must(lac_gemm(ctx, NULL, &va, &vb, NULL, &vc));
    if (!is(c, (float[]){-15, -20, 0, 0, 15, 18})) return EXIT_FAILURE;

    /* Arrays that break the rules of the format are refused, and the message says where. */
    const int32_t twice[3] = {1, 3, 3};
    lac_status_t refused = lac_meta_attach_csr(meta, LAC_I32, ptr, twice, val);
    printf("a duplicate: %s\n", lac_last_error());

    lac_meta_free(meta);
    lac_ctx_free(ctx);
    return stale == LAC_OK || refused != LAC_ERR_SPARSE;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A fully static executable: no context, and a message that says why; or, without a BLAS, right products.
 *
 * usage: static_program refused | works */
#include "lacuna/lacuna.h"

#include <stdio.h>
#include <string.h>

enum { M = 8, N = 40, K = 60 };

static void pass_over(void *arg, const char *key, const char *value)
{
    *(int *)arg += strlen(key) && strlen(value);
}

static int fail(const char *what)
{
    fprintf(stderr, "%s; last error: '%s'\n", what, lac_last_error());
    return 1;
}

static int expect_refusal(void)
{
    lac_ctx_t *ctx;
    if (lac_ctx_create(&ctx) != LAC_ERR_UNAVAILABLE || ctx) return fail("a context was made");
    if (!strstr(lac_last_error(), "a fully static executable can load no BLAS"))
        return fail("another message");
    if (lac_ctx_create_cuda(&ctx, 0, NULL) != LAC_ERR_UNAVAILABLE) return fail("a device context was made");
    return 0;
}

/* Every route that the product of a nearly empty and of a full A takes. */
static int expect_products(void)
{
    static float a[M * K], b[K * N], c[M * N];
    lac_ctx_t *ctx;
    int facts = 0;
    if (lac_ctx_create(&ctx) != LAC_OK) return fail("no context");
    if (lac_ctx_info(ctx, pass_over, &facts) != LAC_OK || !facts) return fail("no facts");
    lac_obj_t oa = lac_obj_rowmajor(LAC_F32, M, K, a, K), ob = lac_obj_rowmajor(LAC_F32, K, N, b, N),
              oc = lac_obj_rowmajor(LAC_F32, M, N, c, N);
    for (int full = 0; full < 2; full++) {
        for (int i = 0; i < M * K; i++) a[i] = full || i % 31 == 0 ? 1.0f : 0.0f;
        for (int i = 0; i < K * N; i++) b[i] = (float)(i % 5);
        if (lac_gemm(ctx, NULL, &oa, &ob, NULL, &oc) != LAC_OK) return fail("no product");
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                float sum = 0.0f;
                for (int k = 0; k < K; k++) sum += a[i * K + k] * b[k * N + j];
                if (c[i * N + j] != sum) return fail("a wrong product");
            }
    }
    lac_ctx_free(ctx);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    return strcmp(argv[1], "works") ? expect_refusal() : expect_products();
}

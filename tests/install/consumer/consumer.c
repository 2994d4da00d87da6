/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One product through the installed library, with an answer that is known. */
#include <lacuna/lacuna.h>
#include <stdio.h>

int main(void)
{
    const float a[2 * 3] = {1, 0, 2, 0, 3, 0};
    const float b[3 * 2] = {1, 2, 3, 4, 5, 6};
    const float expected[2 * 2] = {11, 14, 9, 12};
    float c[2 * 2] = {-1, -1, -1, -1};
    lac_ctx_t *ctx = NULL;
    lac_status_t status = lac_ctx_create(&ctx);
    if (!status)
        status = lac_sgemm(ctx, LAC_NO_TRANS, LAC_NO_TRANS, 2, 2, 3, 1.0f, a, 3, 1, b, 2, 1, 0.0f, c, 2, 1);
    lac_ctx_free(ctx);
    printf("lacuna %s: %s\n", lac_version(), lac_status_text(status));
    for (int i = 0; i < 4; i++)
        if (!(c[i] == expected[i])) {
            printf("element %d is %g, expected %g\n", i, (double)c[i], (double)expected[i]);
            return 1;
        }
    return status != LAC_OK;
}

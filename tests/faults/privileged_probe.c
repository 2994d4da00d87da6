/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Prints whether this process runs with another's rights, and the facts of a context: see set_uid.py. */
#include "api/interpose.h"
#include "lacuna/lacuna.h"

#include <stdio.h>
#include <sys/auxv.h>

static void print(void *arg, const char *key, const char *value)
{
    (void)arg;
    printf("%s: %s\n", key, value);
}

int main(void)
{
    static float a[64 * 64], c[64 * 64];
    lac_ctx_t *ctx;
    printf("secure: %lu\n", getauxval(AT_SECURE));
    if (lac_ctx_create(&ctx) || lac_ctx_info(ctx, print, NULL)) return 1;
    lac_status_t status =
        lac_sgemm(ctx, LAC_NO_TRANS, LAC_NO_TRANS, 64, 64, 64, 1.0f, a, 64, 1, a, 64, 1, 0.0f, c, 64, 1);
    lac_ctx_free(ctx);
    printf("disabled: %d\n", lac_thread_ctx() == NULL);
    return status != LAC_OK;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A BLAS that takes its time to be loaded, says through the pipe SLOW_BLAS_PIPE that it has begun, and does
 * not work before it is. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static bool loaded;

__attribute__((constructor)) static void load(void)
{
    const char *pipe = getenv("SLOW_BLAS_PIPE");
    if (pipe && write(atoi(pipe), "", 1) == 1) usleep(300000);
    loaded = true;
}

EXPORT void sgemm_(const char *ta, const char *tb, const int32_t *m, const int32_t *n, const int32_t *k,
                   const float *alpha, const float *a, const int32_t *lda, const float *b, const int32_t *ldb,
                   const float *beta, float *c, const int32_t *ldc);
void sgemm_(const char *ta, const char *tb, const int32_t *m, const int32_t *n, const int32_t *k,
            const float *alpha, const float *a, const int32_t *lda, const float *b, const int32_t *ldb,
            const float *beta, float *c, const int32_t *ldc)
{
    if (!loaded) abort();
    for (int64_t j = 0; j < *n; j++)
        for (int64_t i = 0; i < *m; i++) {
            float sum = 0.0f;
            for (int64_t l = 0; l < *k; l++)
                sum +=
                    a[*ta == 'N' ? i + l * *lda : l + i * *lda] * b[*tb == 'N' ? l + j * *ldb : j + l * *ldb];
            c[i + j * *ldc] = *alpha * sum + (*beta != 0.0f ? *beta * c[i + j * *ldc] : 0.0f);
        }
}

/* The library wants both; no test here has it called. */
EXPORT void sgemv_(void);
void sgemv_(void)
{
    abort();
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Drop in: a program that has never heard of Lacuna and calls cblas_sgemm with many zeros.
 *
 *   ./01_drop_in                                          its own BLAS
 *   LD_PRELOAD=liblacuna_blas.so ./01_drop_in             the same numbers, sooner
 *   LD_PRELOAD=liblacuna_blas.so LACUNA_STATS=1 ./01_drop_in      and a table of what was skipped
 *
 * Each step multiplies a few rows of spikes, of which one in a thousand is not zero, by a dense weight. The
 * BLAS multiplies all the zeros. Lacuna samples a few elements, and skips the zeros. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROWS = 10, INPUTS = 2000, OUTPUTS = 2000, STEPS = 200, SPIKES = ROWS * INPUTS / 1000 };

/* Reproducible, and the same everywhere. */
static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

int main(void)
{
    static float spikes[ROWS * INPUTS], weight[INPUTS * OUTPUTS], out[ROWS * OUTPUTS];
    unsigned state = 1;
    double sum = 0.0;
    struct timespec begin, end;

    /* Small whole numbers: their sums are exact in any order, so that two runs can be compared to the bit. */
    for (int i = 0; i < INPUTS * OUTPUTS; i++) weight[i] = (float)(next_random(&state) % 17) - 8.0f;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int step = 0; step < STEPS; step++) {
        int at[SPIKES];
        for (int s = 0; s < SPIKES; s++) {
            at[s] = (int)(next_random(&state) % (ROWS * INPUTS));
            spikes[at[s]] = 1.0f;
        }
        /* out = spikes x weight, all of them by rows */
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, ROWS, OUTPUTS, INPUTS, 1.0f, spikes, INPUTS,
                    weight, OUTPUTS, 0.0f, out, OUTPUTS);
        for (int i = 0; i < ROWS * OUTPUTS; i++) sum += (double)out[i] * (i % 7 - 3);
        for (int s = 0; s < SPIKES; s++) spikes[at[s]] = 0.0f;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);

    printf("%d steps, sum %.0f\n", STEPS, sum);
    fprintf(stderr, "%.1f ms\n",
            (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) * 1e-6);
    return EXIT_SUCCESS;
}

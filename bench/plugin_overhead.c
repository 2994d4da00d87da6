/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the drop-in BLAS costs where it has nothing to gain: dense calls of one BLAS, direct and through it.
 * And what it gains where one triangle of A A' is asked for and A has zeros.
 *
 * Both are called in one process on the same operands, in short blocks whose order alternates. Times are
 * medians of the blocks; the difference is the median of the paired differences, which an interruption of the
 * machine does not move. usage: plugin_overhead liblacuna_blas.so libopenblas.so.0
 * tiny|square|skinny|vector|rank_k|rank_k_sparse
 */
#include "blas/shapes.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct shape {
    const char *group;
    char ta, tb; /* tb is ' ' for sgemv, U or L for ssyrk */
    int m, n, k;
    double zeros; /* fraction of A */
} shape_t;

static const shape_t shapes[] = {
    {"tiny", 'N', 'N', 1, 1, 1, 0},
    {"tiny", 'N', 'N', 2, 2, 2, 0},
    {"tiny", 'N', 'N', 4, 4, 4, 0},
    {"tiny", 'N', 'N', 7, 7, 7, 0},
    {"tiny", 'N', 'N', 8, 8, 8, 0},
    {"tiny", 'N', 'N', 16, 16, 16, 0},
    {"tiny", 'N', 'N', 31, 31, 31, 0},
    {"tiny", 'N', 'N', 32, 32, 32, 0},
    {"tiny", 'N', 'N', 33, 33, 33, 0},
    {"tiny", 'T', 'N', 48, 48, 48, 0},
    {"square", 'N', 'N', 64, 64, 64, 0},
    {"square", 'N', 'T', 100, 100, 100, 0},
    {"square", 'N', 'N', 128, 128, 128, 0},
    {"square", 'N', 'N', 255, 255, 255, 0},
    {"square", 'N', 'N', 256, 256, 256, 0},
    {"square", 'T', 'N', 500, 500, 500, 0},
    {"square", 'N', 'N', 512, 512, 512, 0},
    {"square", 'N', 'N', 1024, 1024, 1024, 0},
    {"square", 'N', 'N', 2048, 2048, 2048, 0},
    {"square", 'N', 'N', 4096, 4096, 4096, 0},
    {"skinny", 'N', 'N', 1, 1000, 1000, 0},
    {"skinny", 'N', 'N', 1000, 1, 1000, 0},
    {"skinny", 'N', 'N', 1000, 1000, 1, 0},
    {"skinny", 'N', 'N', 1, 5000, 5000, 0},
    {"skinny", 'N', 'N', 10, 5000, 5000, 0},
    {"skinny", 'N', 'T', 10, 5000, 5000, 0},
    {"skinny", 'N', 'N', 5000, 10, 5000, 0},
    {"skinny", 'T', 'N', 5000, 10, 5000, 0},
    {"skinny", 'N', 'N', 128, 4096, 4096, 0},
    {"skinny", 'N', 'N', 64, 64, 5000, 0},
    {"vector", 'N', ' ', 10, 10, 0, 0},
    {"vector", 'N', ' ', 100, 100, 0, 0},
    {"vector", 'T', ' ', 200, 200, 0, 0},
    {"vector", 'N', ' ', 1000, 1000, 0, 0},
    {"vector", 'T', ' ', 1000, 1000, 0, 0},
    {"vector", 'N', ' ', 5000, 5000, 0, 0},
    {"vector", 'T', ' ', 5000, 5000, 0, 0},
    {"rank_k", 'N', 'U', 4, 4, 4, 0},
    {"rank_k", 'N', 'L', 32, 32, 32, 0},
    {"rank_k", 'T', 'U', 64, 64, 64, 0}, /* as LAPACK's panels */
    {"rank_k", 'N', 'L', 64, 64, 500, 0},
    {"rank_k", 'N', 'L', 1000, 1000, 64, 0},
    {"rank_k", 'T', 'U', 256, 256, 256, 0},
    {"rank_k", 'N', 'U', 1024, 1024, 1024, 0},
    {"rank_k", 'T', 'L', 2048, 2048, 2048, 0},
    {"rank_k_sparse", 'N', 'U', 100, 100, 5000, 0.98},
    {"rank_k_sparse", 'T', 'U', 100, 100, 5000, 0.98},
    {"rank_k_sparse", 'N', 'U', 2048, 2048, 2048, 0.9},
    {"rank_k_sparse", 'T', 'U', 2048, 2048, 2048, 0.9},
    {"rank_k_sparse", 'T', 'L', 2048, 2048, 2048, 0.99},
    {"rank_k_sparse", 'N', 'L', 4000, 4000, 1000, 0.95},
    {"rank_k_sparse", 'T', 'L', 1000, 1000, 4000, 0.95},
};

enum { BLOCKS_MAX = 401, WARM_CALLS = 50 };

static const float one = 1, zero = 0;
static const int step = 1;
static float *a, *b, *c;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void call(const shape_t *s, void *fn)
{
    if (s->tb == 'U' || s->tb == 'L') {
        ((ssyrk_fn *)fn)(&s->tb, &s->ta, &s->n, &s->k, &one, a, s->ta == 'N' ? &s->n : &s->k, &zero, c, &s->n,
                         1, 1);
        return;
    }
    int lda = s->tb == ' ' || s->ta == 'N' ? s->m : s->k, ldb = s->tb == 'N' ? s->k : s->n;
    if (s->tb == ' ')
        ((sgemv_fn *)fn)(&s->ta, &s->m, &s->n, &one, a, &lda, b, &step, &zero, c, &step, 1);
    else
        ((sgemm_fn *)fn)(&s->ta, &s->tb, &s->m, &s->n, &s->k, &one, a, &lda, b, &ldb, &zero, c, &s->m, 1, 1);
}

/* Nanoseconds a call, over a block of calls. */
static double block(const shape_t *s, void *fn, int calls)
{
    double start = now();
    for (int i = 0; i < calls; i++) call(s, fn);
    return (now() - start) / calls;
}

static int ascending(const void *x, const void *y)
{
    double d = *(const double *)x - *(const double *)y;
    return (d > 0) - (d < 0);
}

static double median(double *x, int count)
{
    qsort(x, (size_t)count, sizeof *x, ascending);
    return x[count / 2];
}

/* Apart from that fraction of zeros there are none, and no value repeats so that it could be mistaken for
 * one. */
static float *random_matrix(size_t count, double zeros, uint64_t state)
{
    float *x = malloc(count * sizeof *x);
    if (!x) exit(EXIT_FAILURE);
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = (float)((state >> 40) + 1) / (float)(1 << 24);
        state = state * 6364136223846793005u + 1442695040888963407u;
        if ((double)(state >> 40) / (double)(1 << 24) < zeros) x[i] = 0;
    }
    return x;
}

static int measure(const shape_t *s, void *direct, void *through)
{
    static double t_direct[BLOCKS_MAX], t_through[BLOCKS_MAX], difference[BLOCKS_MAX];
    size_t k = s->tb == ' ' ? (size_t)s->n : (size_t)s->k;
    a = random_matrix((size_t)s->m * k, s->zeros, 1);
    b = random_matrix(k * (size_t)s->n, 0, 2);
    c = random_matrix((size_t)s->m * (size_t)s->n, 0, 3);
    double warm = now();
    for (int i = 0; i < WARM_CALLS && now() - warm < 2e9; i++) call(s, direct), call(s, through);
    double once = block(s, direct, 1);
    int calls = once < 2e4 ? (int)(4e4 / once) + 1 : 1;
    int blocks = (int)(3e8 / (once * calls));
    blocks = blocks < 7 ? 7 : blocks > BLOCKS_MAX ? BLOCKS_MAX : blocks;
    for (int i = 0; i < blocks; i++) {
        if (i % 2) t_through[i] = block(s, through, calls);
        t_direct[i] = block(s, direct, calls);
        if (i % 2 == 0) t_through[i] = block(s, through, calls);
        difference[i] = t_through[i] - t_direct[i];
    }
    double d = median(t_direct, blocks), t = median(t_through, blocks), more = median(difference, blocks);
    int holds = more <= 0.02 * d || (d < 5000 && more <= 100);
    printf("%c%c %5d %5d %5d  %13.0f %13.0f  %+9.1f  %6.3f  %5d  %s\n", s->ta, s->tb, s->m, s->n, s->k, d, t,
           more, 1 + more / d, blocks, holds ? "" : "above 1.02 and 100 ns");
    free(a), free(b), free(c);
    return holds;
}

static void *symbol_of(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *symbol = handle ? dlsym(handle, name) : NULL;
    if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        exit(EXIT_FAILURE);
    }
    return symbol;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(
            stderr,
            "usage: %s liblacuna_blas.so libopenblas.so.0 tiny|square|skinny|vector|rank_k|rank_k_sparse\n",
            argv[0]);
        return EXIT_FAILURE;
    }
    int missed = 0, tried = 0;
    printf("          m     n     k      direct ns    through ns  more ns   ratio  blocks\n");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (strcmp(shapes[i].group, argv[3]) != 0) continue;
        char tb = shapes[i].tb;
        const char *name = tb == ' ' ? "sgemv_" : tb == 'U' || tb == 'L' ? "ssyrk_" : "sgemm_";
        tried++;
        missed += !measure(&shapes[i], symbol_of(argv[2], name), symbol_of(argv[1], name));
        fflush(stdout);
    }
    printf("%d of %d within 1.02 of the direct call, or 100 ns where it takes under 5 us\n", tried - missed,
           tried);
    return tried ? EXIT_SUCCESS : EXIT_FAILURE;
}

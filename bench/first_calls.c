/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the first calls of a program take: many shapes, ten calls each in interleaved order, in one process,
 * by the symbol as the linker binds it, so that LD_PRELOAD decides what is measured. first_calls.py runs it.
 *
 * usage: first_calls LIBRARY first SHAPES SPARSE MAX_EXTENT MAX_FLOPS SEED
 *        first_calls LIBRARY small SHAPES EXTENT ROUNDS
 * first: random shapes, one in two with a sparse operand where SPARSE is 1; a JSON line for each shape.
 * small: products of about EXTENT^3 in rotation, past the intercepted symbol and through it in turns, one
 * pass over all shapes each; a JSON line: ns a call, of the first pass (all shapes are new) and of the later
 * ones. */
#include "first_calls.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CALLS = 10, SHAPES_MAX = 10000, ROUNDS_MAX = 1001 };

typedef enum pattern { DENSE, BERNOULLI, SLICES, BLOCKS } pattern_t;

static const char *const pattern_name[] = {"dense", "bernoulli", "slices", "blocks"};

typedef struct shape {
    product_t product;
    pattern_t pattern;
    double density;
    bool right; /* B is the sparse operand */
    double us[CALLS];
} shape_t;

static shape_t shapes[SHAPES_MAX];
static uint64_t state;

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t next(void)
{
    uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static double uniform(void)
{
    return (double)(next() >> 11) * 0x1p-53;
}

static int log_uniform(int most)
{
    int extent = (int)exp(uniform() * log((double)most + 1.0));
    return extent > most ? most : extent;
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void *need(void *memory)
{
    if (memory) return memory;
    fprintf(stderr, "no memory\n");
    exit(EXIT_FAILURE);
}

/* Values without a zero, both signs. */
static float *random_values(size_t count)
{
    float *x = need(malloc(count * sizeof *x));
    for (size_t i = 0; i < count; i++) {
        uint64_t r = next();
        x[i] = (0.5f + (float)(r >> 40) * 0x1p-24f) * (r & 1 ? 1.0f : -1.0f);
    }
    return x;
}

/* A share of ones; `of` groups, a group of the same values each. */
static bool *random_bits(size_t of, double share)
{
    bool *bits = need(malloc(of ? of : 1));
    for (size_t i = 0; i < of; i++) bits[i] = uniform() < share;
    return bits;
}

/* Puts zeros into op(X) of rows x cols; `k_rows`: k runs along its rows (op(B)). */
static void put_zeros(float *x, int rows, int cols, bool transposed, bool k_rows, pattern_t pattern,
                      double density)
{
    enum { BLOCK = 8 };
    size_t blocks = ((size_t)rows + BLOCK - 1) / BLOCK, across = ((size_t)cols + BLOCK - 1) / BLOCK;
    size_t groups = pattern == BLOCKS ? blocks * across : (size_t)(k_rows ? rows : cols);
    bool *bits = pattern == BERNOULLI ? NULL : random_bits(groups, density);
    for (int j = 0; j < cols; j++)
        for (int i = 0; i < rows; i++) {
            size_t at =
                transposed ? (size_t)i * (size_t)cols + (size_t)j : (size_t)j * (size_t)rows + (size_t)i;
            bool kept = pattern == BERNOULLI ? uniform() < density
                        : pattern == BLOCKS  ? bits[(size_t)(j / BLOCK) * blocks + (size_t)(i / BLOCK)]
                                             : bits[k_rows ? i : j];
            if (!kept) x[at] = 0.0f;
        }
    free(bits);
}

static bool same_extents(const product_t *p, const product_t *q)
{
    return p->m == q->m && p->n == q->n && p->k == q->k;
}

/* Shapes are distinguished by their extents. */
static bool is_new(int index)
{
    for (int i = 0; i < index; i++)
        if (same_extents(&shapes[i].product, &shapes[index].product)) return false;
    return true;
}

static void make_shape(int index, bool sparse, int most, double flops)
{
    shape_t *s = &shapes[index];
    product_t *p = &s->product;
    do {
        p->m = log_uniform(most), p->n = log_uniform(most), p->k = log_uniform(most);
    } while (2.0 * p->m * p->n * p->k > flops || !is_new(index));
    p->ta = next() & 1, p->tb = next() & 1;
    s->right = next() & 1;
    s->density = 1.0;
    if (sparse && index % 2) {
        s->pattern = (pattern_t)(BERNOULLI + next() % 3);
        s->density = pow(10.0, -3.0 + uniform() * log10(300.0)); /* 0.001 to 0.3 */
    } else if (index % 5 == 0) {                                 /* some zeros, and far too few */
        s->pattern = BERNOULLI;
        s->density = 0.7;
    }
}

/* Operands of one size share their values as long as they have no zeros. */
static void fill_shapes(int count)
{
    size_t most[3] = {1, 1, 1};
    for (int i = 0; i < count; i++) {
        const product_t *p = &shapes[i].product;
        size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k, size[3] = {m * k, k * n, m * n};
        for (int x = 0; x < 3; x++)
            if (size[x] > most[x]) most[x] = size[x];
    }
    float *values[2] = {random_values(most[0]), random_values(most[1])};
    const float *a = need(blas_array(values[0], most[0])), *b = need(blas_array(values[1], most[1]));
    float *c = need(blas_array(NULL, most[2]));
    for (int i = 0; i < count; i++) {
        shape_t *s = &shapes[i];
        product_t *p = &s->product;
        p->a = a, p->b = b, p->c = c;
        if (s->pattern == DENSE) continue;
        int rows = s->right ? p->k : p->m, cols = s->right ? p->n : p->k;
        size_t size = (size_t)rows * (size_t)cols;
        float *x = need(malloc(size * sizeof *x));
        memcpy(x, values[s->right], size * sizeof *x);
        put_zeros(x, rows, cols, s->right ? p->tb : p->ta, s->right, s->pattern, s->density);
        const float *there = need(blas_array(x, size));
        if (s->right)
            p->b = there;
        else
            p->a = there;
        free(x);
    }
    free(values[0]), free(values[1]);
}

static void shuffle(int *order, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int j = (int)(next() % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static void print_shape(const shape_t *s)
{
    const product_t *p = &s->product;
    double all = 0.0;
    for (int i = 0; i < CALLS; i++) all += s->us[i];
    printf("{\"m\": %d, \"n\": %d, \"k\": %d, \"trans\": \"%c%c\", \"sparse\": \"%s\", \"pattern\": \"%s\", "
           "\"density\": %.4g, \"total_us\": %.3f, \"first_us\": %.3f, \"tenth_us\": %.3f, \"calls_us\": [",
           p->m, p->n, p->k, p->ta ? 'T' : 'N', p->tb ? 'T' : 'N',
           s->pattern == DENSE ? ""
           : s->right          ? "B"
                               : "A",
           pattern_name[s->pattern], s->density, all, s->us[0], s->us[CALLS - 1]);
    for (int i = 0; i < CALLS; i++) printf("%s%.3f", i ? ", " : "", s->us[i]);
    printf("]}\n");
}

static int first_calls(int count, bool sparse, int most, double flops, uint64_t seed)
{
    static int order[SHAPES_MAX];
    state = seed;
    for (int i = 0; i < count; i++) make_shape(i, sparse, most, flops), order[i] = i;
    fill_shapes(count);
    for (int turn = 0; turn < CALLS; turn++) {
        shuffle(order, count);
        for (int i = 0; i < count; i++) {
            shape_t *s = &shapes[order[i]];
            double begin = now_us();
            blas_call(&s->product, THROUGH);
            s->us[turn] = now_us() - begin;
        }
    }
    for (int i = 0; i < count; i++) print_shape(&shapes[i]);
    return EXIT_SUCCESS;
}

static double pass_ns(int count, int way)
{
    double begin = now_us();
    for (int i = 0; i < count; i++) blas_call(&shapes[i].product, way);
    return 1e3 * (now_us() - begin) / (double)count;
}

static int by_size(const void *x, const void *y)
{
    double p = *(const double *)x, q = *(const double *)y;
    return (p > q) - (p < q);
}

static double median(double *x, int count)
{
    qsort(x, (size_t)count, sizeof *x, by_size);
    return x[count / 2];
}

static int small_calls(int count, int extent, int rounds)
{
    static double direct[ROUNDS_MAX], more[ROUNDS_MAX];
    int side = (int)ceil(cbrt((double)count));
    for (int i = 0; i < count; i++) {
        product_t *p = &shapes[i].product;
        p->m = extent + i % side, p->n = extent + i / side % side, p->k = extent + i / side / side;
    }
    state = 1;
    fill_shapes(count);
    blas_call(&shapes[0].product, DIRECT); /* opens the library's context, and wakes the BLAS's threads */
    blas_call(&(product_t){.m = 1024,
                           .n = 1,
                           .k = 1,
                           .a = shapes[0].product.a,
                           .b = shapes[0].product.b,
                           .c = shapes[0].product.c},
              THROUGH);
    pass_ns(count, DIRECT);
    double first = pass_ns(count, THROUGH) - pass_ns(count, DIRECT);
    for (int r = 0; r < rounds; r++) {
        double through = r % 2 ? pass_ns(count, THROUGH) : 0.0;
        direct[r] = pass_ns(count, DIRECT);
        if (r % 2 == 0) through = pass_ns(count, THROUGH);
        more[r] = through - direct[r];
    }
    printf("{\"shapes\": %d, \"extent\": %d, \"rounds\": %d, \"direct_ns\": %.1f, \"more_ns\": %.1f, "
           "\"first_more_ns\": %.1f}\n",
           count, extent, rounds, median(direct, rounds), median(more, rounds), first);
    return EXIT_SUCCESS;
}

static int number(const char *text, int most)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (!*end && value >= 0 && value <= most) return (int)value;
    fprintf(stderr, "expected a number up to %d, not '%s'\n", most, text);
    exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    bool first = argc == 8 && !strcmp(argv[2], "first"), small = argc == 6 && !strcmp(argv[2], "small");
    if (!first && !small) {
        fprintf(stderr, "usage: %s LIBRARY first SHAPES SPARSE MAX_EXTENT MAX_FLOPS SEED\n", argv[0]);
        fprintf(stderr, "       %s LIBRARY small SHAPES EXTENT ROUNDS\n", argv[0]);
        return EXIT_FAILURE;
    }
    if (!blas_open(argv[1])) return 77;
    int count = number(argv[3], SHAPES_MAX);
    if (small) return small_calls(count, number(argv[4], 1000), number(argv[5], ROUNDS_MAX));
    return first_calls(count, number(argv[4], 1), number(argv[5], 1 << 20), strtod(argv[6], NULL),
                       (uint64_t)number(argv[7], 1 << 30));
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operands, reference and comparisons for the tests of the host kernels. */
#include "kernel_case.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const lac_host_kernels_t *kernel_isa(int i)
{
    static const char *const names[] = {"avx512", "avx2", "portable"};
    for (int n = 0; n < 3; n++) {
        const lac_host_kernels_t *k = lac_host_kernels_named(names[n], REAL_TYPE);
        if (k && i-- == 0) return k;
    }
    return NULL;
}

uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15U);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
}

static double uniform(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

/* malloc(0) may be NULL; a test that gets no memory must not pass. */
static void *need(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    assert_non_null(p);
    return p;
}

static real_t *reals(int64_t count)
{
    return need((size_t)count * sizeof(real_t));
}

static int64_t reach(int64_t rows, int64_t cols, int64_t rs, int64_t cs)
{
    return rows > 0 && cols > 0 ? (rows - 1) * rs + (cols - 1) * cs + 1 : 0;
}

void case_build(kernel_case_t *c)
{
    uint64_t state = c->seed;
    c->rs = c->layout == 0 ? c->n : c->layout == 1 ? 1 : 2 * c->n + 3;
    c->cs = c->layout == 0 ? 1 : c->layout == 1 ? c->m + 2 : 2;
    c->extent = reach(c->m, c->n, c->rs, c->cs);
    c->s = reals(c->m * c->kk);
    c->w = reals(c->kk * c->n);
    c->before = reals(c->extent);
    for (int64_t p = 0; p < c->m * c->kk; p++) {
        bool event = uniform(&state) < c->density;
        double value = 0.25 + uniform(&state);
        real_t zero = next_random(&state) & 1 ? 0.0F : -0.0F;
        c->s[p] = event ? (real_t)(next_random(&state) & 1 ? value : -value) : zero;
    }
    if (c->specials && c->m * c->kk > 3) c->s[c->m * c->kk / 2] = NAN;
    for (int64_t k = 0; k < c->kk; k++) {
        bool active = false;
        for (int64_t i = 0; i < c->m; i++) active = active || c->s[i * c->kk + k] != 0;
        for (int64_t j = 0; j < c->n; j++) {
            real_t value = (real_t)(2 * uniform(&state) - 1);
            c->w[k * c->n + j] = c->specials && (!active || k == c->kk / 3) ? INFINITY : value;
        }
    }
    for (int64_t p = 0; p < c->extent; p++)
        c->before[p] = c->beta == 0 ? NAN : (real_t)(2 * uniform(&state) - 1);
}

void case_free(kernel_case_t *c)
{
    free(c->s);
    free(c->w);
    free(c->before);
}

real_t *case_out(const kernel_case_t *c)
{
    real_t *out = reals(c->extent);
    memcpy(out, c->before, (size_t)c->extent * sizeof *out);
    return out;
}

static void fail_case(const kernel_case_t *c, const char *what, int64_t i, int64_t j, double got, double want)
{
    fail_msg("%s: %s %lldx%lldx%lld density %g alpha %g beta %g layout %d specials %d seed %llu: "
             "element (%lld, %lld) is %.17g, not %.17g",
             what, c->isa, (long long)c->m, (long long)c->kk, (long long)c->n, c->density, (double)c->alpha,
             (double)c->beta, c->layout, c->specials, (unsigned long long)c->seed, (long long)i, (long long)j,
             got, want);
}

static void check_element(const kernel_case_t *c, const real_t *out, int64_t i, int64_t j)
{
    long double sum = 0;
    long double size = 0;
    int64_t events = 0;
    int64_t at = i * c->rs + j * c->cs;
    for (int64_t k = 0; k < c->kk; k++) {
        long double s = c->s[i * c->kk + k];
        if (s == 0) continue;
        sum += s * (long double)c->w[k * c->n + j];
        size += fabsl(s * (long double)c->w[k * c->n + j]);
        events++;
    }
    long double old = c->beta == 0 ? 0 : (long double)c->beta * (long double)c->before[at];
    long double want = (long double)c->alpha * sum + old;
    long double slack = (REAL_TYPE == LAC_HOST_F64 ? (long double)DBL_EPSILON : (long double)FLT_EPSILON) *
                        (long double)(events + 3) * (fabsl((long double)c->alpha) * size + fabsl(old));
    long double got = out[at];
    bool close = isfinite((double)want) ? fabsl(got - want) <= slack : got == want;
    if (isnan((double)want) ? !isnan((double)got) : !close)
        fail_case(c, "value", i, j, (double)got, (double)want);
}

void case_check(const kernel_case_t *c, const real_t *out, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    unsigned char *written = need((size_t)c->extent);
    memset(written, 0, (size_t)c->extent);
    for (int64_t i = i0; i < i1; i++)
        for (int64_t j = j0; j < j1; j++) {
            written[i * c->rs + j * c->cs] = 1;
            check_element(c, out, i, j);
        }
    for (int64_t p = 0; p < c->extent; p++)
        if (!written[p] && memcmp(out + p, c->before + p, sizeof *out) != 0)
            fail_case(c, "written outside of the range", p, 0, (double)out[p], (double)c->before[p]);
    free(written);
}

/* The order fixes every bit of a number; of a NaN it fixes only that it is one. */
void case_same(const kernel_case_t *c, const real_t *a, const real_t *b, const char *what)
{
    for (int64_t p = 0; p < c->extent; p++)
        if (memcmp(a + p, b + p, sizeof *a) != 0 && !(isnan(a[p]) && isnan(b[p])))
            fail_case(c, what, p, 0, (double)a[p], (double)b[p]);
}

/* x86 without FMA rounds twice; every other instruction set that is built here fuses. */
static real_t multiply_add(const kernel_case_t *c, real_t a, real_t b, real_t d)
{
#if defined(__x86_64__)
    if (strcmp(c->isa, "portable") == 0) return a * b + d;
#elif !defined(REAL_FAST_FMA)
    return a * b + d;
#endif
    (void)c;
    return FMA_OF(a, b, d);
}

/* The products of one element that are not zero, in ascending k. */
typedef struct terms {
    const kernel_case_t *c;
    int64_t i, j, count;
    int32_t *k;
} terms_t;

static terms_t terms_of(const kernel_case_t *c, int64_t i, int64_t j)
{
    terms_t t = {c, i, j, 0, need((size_t)c->kk * sizeof(int32_t))};
    for (int64_t k = 0; k < c->kk; k++)
        if (c->s[i * c->kk + k] != 0) t.k[t.count++] = (int32_t)k;
    return t;
}

static real_t add_term(const terms_t *t, int64_t nth, real_t sum)
{
    const kernel_case_t *c = t->c;
    return multiply_add(c, c->s[t->i * c->kk + t->k[nth]], c->w[t->k[nth] * c->n + t->j], sum);
}

/* Terms [first, end): `span` of them one by one, or the sums of parts of a sixteenth of it. */
static real_t sum_runs(const terms_t *t, int64_t first, int64_t end, int64_t span)
{
    real_t sum = 0;
    if (span == 16) {
        for (; first < end; first++) sum = add_term(t, first, sum);
        return sum;
    }
    for (int64_t part = span / 16; first < end; first += part)
        sum += sum_runs(t, first, first + part < end ? first + part : end, part);
    return sum;
}

/* Blocks of 128 k, sixteen of which are added up. */
static real_t sum_blocks(const terms_t *t)
{
    real_t all = 0, sixteen = 0, sum = 0;
    for (int64_t nth = 0; nth < t->count; nth++) {
        int64_t k = t->k[nth], last = nth > 0 ? t->k[nth - 1] : k;
        if (k / 128 != last / 128) sixteen += sum, sum = 0;
        if (k / 2048 != last / 2048) all += sixteen, sixteen = 0;
        sum = add_term(t, nth, sum);
    }
    return all + (sixteen + sum);
}

/* CHUNK lanes, each of which is put aside after 256 terms or k. */
static real_t sum_lanes(const terms_t *t, bool by_k)
{
    real_t lane[CHUNK] = {0}, total[CHUNK] = {0};
    int64_t begun = 0;
    for (int64_t nth = 0; nth < t->count; nth++) {
        int64_t at = by_k ? t->k[nth] : nth;
        for (; begun < at / (256 * CHUNK); begun++)
            for (int l = 0; l < CHUNK; l++) total[l] += lane[l], lane[l] = 0;
        lane[at % CHUNK] = add_term(t, nth, lane[at % CHUNK]);
    }
    for (int l = 0; l < CHUNK; l++) lane[l] += total[l];
    for (int half = CHUNK / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) lane[l] += lane[l + half];
    return lane[0];
}

static real_t exact_sum(const kernel_case_t *c, enum case_order order, int64_t i, int64_t j)
{
    terms_t t = terms_of(c, i, j);
    real_t sum = order == ORDER_RUNS     ? sum_runs(&t, 0, t.count, 16 * 16 * 16 * 16 * 16)
                 : order == ORDER_BLOCKS ? sum_blocks(&t)
                                         : sum_lanes(&t, order == ORDER_LANE_OF_K);
    free(t.k);
    return sum;
}

real_t *case_exact(const kernel_case_t *c, enum case_order order)
{
    real_t *out = case_out(c);
    for (int64_t i = 0; i < c->m; i++)
        for (int64_t j = 0; j < c->n; j++) {
            real_t *o = out + i * c->rs + j * c->cs;
            real_t sum = exact_sum(c, order, i, j);
            *o = c->beta == 0 ? c->alpha * sum : multiply_add(c, c->alpha, sum, c->beta * *o);
        }
    return out;
}

real_t *strided_copy(const real_t *from, int64_t rows, int64_t cols, int64_t rs, int64_t cs)
{
    int64_t extent = reach(rows, cols, rs, cs);
    real_t *to = reals(extent);
    for (int64_t p = 0; p < extent; p++) to[p] = NAN;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) to[r * rs + c * cs] = from[r * cols + c];
    return to;
}

lac_events_t *case_events(const kernel_case_t *c, int64_t fragments)
{
    lac_events_t *list = need((size_t)fragments * sizeof *list);
    for (int64_t f = 0; f < fragments; f++) {
        lac_events_t *ev = list + f;
        ev->capacity = c->m * c->kk;
        ev->active = ev->count = 0;
        ev->first = need((size_t)(ev->capacity + 1) * sizeof *ev->first);
        ev->k = need((size_t)ev->capacity * sizeof *ev->k);
        ev->row = need((size_t)ev->capacity * sizeof *ev->row);
        real_t *val = ev->val = reals(ev->capacity);
        for (int64_t k = c->kk * f / fragments; k < c->kk * (f + 1) / fragments; k++) {
            int64_t before = ev->count;
            for (int64_t i = 0; i < c->m; i++) {
                if (c->s[i * c->kk + k] == 0) continue;
                ev->row[ev->count] = (int32_t)i;
                val[ev->count++] = c->s[i * c->kk + k];
            }
            if (ev->count == before) continue;
            ev->k[ev->active] = (int32_t)k;
            ev->first[ev->active++] = before;
        }
        ev->first[ev->active] = ev->count;
    }
    return list;
}

void events_free(lac_events_t *ev, int64_t fragments)
{
    for (int64_t f = 0; f < fragments; f++) {
        free(ev[f].first);
        free(ev[f].k);
        free(ev[f].row);
        free(ev[f].val);
    }
    free(ev);
}

lac_rows_t case_rows(const kernel_case_t *c)
{
    int64_t *ptr = need((size_t)(c->m + 1) * sizeof *ptr);
    int32_t *idx = need((size_t)(c->m * c->kk) * sizeof *idx);
    real_t *val = reals(c->m * c->kk);
    int64_t e = 0;
    for (int64_t i = 0; i < c->m; i++) {
        ptr[i] = e;
        for (int64_t k = 0; k < c->kk; k++) {
            if (c->s[i * c->kk + k] == 0) continue;
            idx[e] = (int32_t)k;
            val[e++] = c->s[i * c->kk + k];
        }
    }
    ptr[c->m] = e;
    return (lac_rows_t){.rows = c->m, .cols = c->kk, .ptr = ptr, .idx = idx, .val = val};
}

void rows_free(lac_rows_t *r)
{
    free((void *)r->ptr);
    free((void *)r->idx);
    free((void *)r->val);
}

lac_bits_t case_bits(const kernel_case_t *c)
{
    int64_t words = (c->kk + 63) / 64;
    uint64_t *bits = need((size_t)(c->m * words) * sizeof *bits);
    int64_t *first = need((size_t)c->m * sizeof *first);
    int64_t nnz = 0;
    for (int64_t p = 0; p < c->m * c->kk; p++) nnz += c->s[p] != 0;
    real_t *val = reals(nnz + 16);
    for (int p = 0; p < 16; p++) val[nnz + p] = NAN;
    memset(bits, 0, (size_t)(c->m * words) * sizeof *bits);
    nnz = 0;
    for (int64_t i = 0; i < c->m; i++) {
        first[i] = nnz;
        for (int64_t k = 0; k < c->kk; k++) {
            if (c->s[i * c->kk + k] == 0) continue;
            bits[i * words + k / 64] |= (uint64_t)1 << k % 64;
            val[nnz++] = c->s[i * c->kk + k];
        }
    }
    return (lac_bits_t){
        .rows = c->m, .cols = c->kk, .words = words, .bits = bits, .first = first, .val = val};
}

void bits_free(lac_bits_t *b)
{
    free((void *)b->bits);
    free((void *)b->first);
    free((void *)b->val);
}

void for_each_case(void (*body)(const lac_host_kernels_t *, kernel_case_t *))
{
    static const int64_t sizes[] = {0, 1, 2, 7, 15, 16, 17, 31, 33, 65, 127, 300};
    static const double densities[] = {0, 0.01, 0.1, 0.5, 1};
    static const real_t alphas[] = {1, 1, -2.5F, 0};
    static const real_t betas[] = {0, 1, 0.5F, -1};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    const uint64_t cases = getenv("LACUNA_TEST_QUICK") ? 40 : 400;
    const lac_host_kernels_t *k;
    for (int isa = 0; (k = kernel_isa(isa)) != NULL; isa++)
        for (uint64_t seed = 1; seed <= cases; seed++) {
            uint64_t state = seed * 77;
            kernel_case_t c = {.isa = k->isa, .seed = seed};
            c.m = sizes[next_random(&state) % (SIZES - 1)];
            c.kk = sizes[next_random(&state) % SIZES];
            c.n = sizes[next_random(&state) % SIZES];
            c.density = densities[next_random(&state) % 5];
            c.alpha = alphas[next_random(&state) % 4];
            c.beta = betas[next_random(&state) % 4];
            c.layout = (int)(next_random(&state) % 3);
            c.specials = next_random(&state) % 4 == 0;
            case_build(&c);
            body(k, &c);
            case_free(&c);
        }
    /* Enough terms for the third level of the runs, and for the second of the lanes. */
    static const double long_densities[] = {0.01, 0.1, 1};
    for (int isa = 0; (k = kernel_isa(isa)) != NULL; isa++)
        for (int d = 0; d < 3; d++) {
            kernel_case_t c = {.isa = k->isa, .seed = 900 + (uint64_t)d, .m = 5, .kk = 9000, .n = 67};
            c.density = long_densities[d];
            c.alpha = 1;
            c.layout = d;
            case_build(&c);
            body(k, &c);
            case_free(&c);
        }
}

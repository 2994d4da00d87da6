/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Calls through any entry point of the drop-in BLAS, checked against the definition. */
#include "plugin_case.h"
#include "blas/shapes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SYMBOL(shape, name, wide) {#name, SHAPE_##shape, wide},
const plugin_symbol_t plugin_symbols[] = {
#include "blas/symbols.def"
};
const int plugin_symbol_count = sizeof plugin_symbols / sizeof *plugin_symbols;

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void fill(double *x, int gap, uint64_t *state)
{
    for (int i = 0; i < CASE_MAX; i++) {
        double value = (double)((int)(next_random(state) % 17) - 8) / 8;
        x[i] = next_random(state) % (uint64_t)gap == 0 ? value : 0;
    }
}

static bool transposed(char letter)
{
    return letter != 'N' && letter != 'n';
}

/* Element (i, j) of the stored matrix. */
static int64_t at(const plugin_case_t *p, int64_t i, int64_t j, int64_t ld)
{
    return p->order == CBLAS_ROW_MAJOR ? i * ld + j : i + j * ld;
}

static int64_t vector_at(int64_t i, int64_t count, int64_t inc)
{
    return inc < 0 ? (i - count + 1) * inc : i * inc;
}

/* One element of the result: what it is to become. With beta = 0 it is never read, so it starts as NaN. */
static void want(plugin_case_t *p, int64_t place, double sum)
{
    p->want[place] = p->alpha * sum + (p->beta == 0 ? 0 : p->beta * p->c[place]);
    if (p->beta == 0) p->c[place] = (double)NAN;
}

static void want_gemm(plugin_case_t *p)
{
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < p->k; l++)
                sum += p->a[transposed(p->ta) ? at(p, l, i, p->lda) : at(p, i, l, p->lda)] *
                       p->b[transposed(p->tb) ? at(p, j, l, p->ldb) : at(p, l, j, p->ldb)];
            want(p, at(p, i, j, p->ldc), sum);
        }
}

static void want_gemv(plugin_case_t *p)
{
    bool t = transposed(p->ta);
    int64_t rows = t ? p->n : p->m, cols = t ? p->m : p->n;
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (int64_t l = 0; l < cols; l++)
            sum += p->a[t ? at(p, l, i, p->lda) : at(p, i, l, p->lda)] * p->b[vector_at(l, cols, p->ldb)];
        want(p, vector_at(i, rows, p->ldc), sum);
    }
}

/* Random operands with about one element in `gap` a nonzero, and the answer in want. Extents and steps are
 * the caller's and must fit; elements of C outside the result are to stay as they are. */
static void plugin_case_fill(plugin_case_t *p, const plugin_symbol_t *symbol, int gap, uint64_t seed)
{
    uint64_t state = seed * 2654435761u + 1;
    fill(p->a, gap, &state);
    fill(p->b, 1, &state);
    fill(p->c, 1, &state);
    memcpy(p->want, p->c, sizeof p->c);
    if (plugin_is_gemv(symbol))
        want_gemv(p);
    else
        want_gemm(p);
}

int plugin_case_wrong(const plugin_case_t *p)
{
    int wrong = 0;
    for (int i = 0; i < CASE_MAX; i++) wrong += !(p->c[i] == p->want[i]);
    return wrong;
}

/* Fortran integers of either width, in memory, with rubbish behind the narrow ones. */
typedef struct fortran_integer {
    int64_t wide;
    int32_t narrow, rubbish;
} fortran_integer_t;

static fortran_integer_t fortran(int64_t value)
{
    return (fortran_integer_t){value, (int32_t)value, 0x5a5a5a5a};
}

static const void *address(const fortran_integer_t *x, bool wide)
{
    return wide ? (const void *)&x->wide : (const void *)&x->narrow;
}

static int64_t slot(int64_t value, bool wide)
{
    return wide ? value : (int64_t)(0x5a5a5a5a00000000u | (uint32_t)value);
}

static int cblas_letter(char letter)
{
    return letter == 'N' || letter == 'n'   ? CBLAS_NO_TRANS
           : letter == 'T' || letter == 't' ? CBLAS_TRANS
           : letter == 'C' || letter == 'c' ? CBLAS_CONJ_TRANS
                                            : letter;
}

/* The operands of a call of floats: at the same addresses each time, as those of a call of doubles are. */
static struct {
    float a[CASE_MAX], b[CASE_MAX], c[CASE_MAX];
} floats;

static void call_float(plugin_case_t *p, const plugin_symbol_t *symbol, void *fn)
{
    bool w = symbol->wide;
    float alpha = (float)p->alpha, beta = (float)p->beta;
    fortran_integer_t m = fortran(p->m), n = fortran(p->n), k = fortran(p->k), lda = fortran(p->lda),
                      ldb = fortran(p->ldb), ldc = fortran(p->ldc);
    for (int i = 0; i < CASE_MAX; i++)
        floats.a[i] = (float)p->a[i], floats.b[i] = (float)p->b[i], floats.c[i] = (float)p->c[i];
    if (symbol->shape == SHAPE_SGEMM)
        ((sgemm_fn *)fn)(&p->ta, &p->tb, address(&m, w), address(&n, w), address(&k, w), &alpha, floats.a,
                         address(&lda, w), floats.b, address(&ldb, w), &beta, floats.c, address(&ldc, w), 1,
                         1);
    else if (symbol->shape == SHAPE_SGEMV)
        ((sgemv_fn *)fn)(&p->ta, address(&m, w), address(&n, w), &alpha, floats.a, address(&lda, w), floats.b,
                         address(&ldb, w), &beta, floats.c, address(&ldc, w), 1);
    else if (symbol->shape == SHAPE_CBLAS_SGEMM)
        ((cblas_sgemm_fn *)fn)(p->order, cblas_letter(p->ta), cblas_letter(p->tb), slot(p->m, w),
                               slot(p->n, w), slot(p->k, w), alpha, floats.a, slot(p->lda, w), floats.b,
                               slot(p->ldb, w), beta, floats.c, slot(p->ldc, w));
    else
        ((cblas_sgemv_fn *)fn)(p->order, cblas_letter(p->ta), slot(p->m, w), slot(p->n, w), alpha, floats.a,
                               slot(p->lda, w), floats.b, slot(p->ldb, w), beta, floats.c, slot(p->ldc, w));
    for (int i = 0; i < CASE_MAX; i++) p->c[i] = (double)floats.c[i];
}

void plugin_case_call(plugin_case_t *p, const plugin_symbol_t *symbol, void *fn)
{
    bool w = symbol->wide;
    fortran_integer_t m = fortran(p->m), n = fortran(p->n), k = fortran(p->k), lda = fortran(p->lda),
                      ldb = fortran(p->ldb), ldc = fortran(p->ldc);
    if (!plugin_is_double(symbol))
        call_float(p, symbol, fn);
    else if (symbol->shape == SHAPE_DGEMM)
        ((dgemm_fn *)fn)(&p->ta, &p->tb, address(&m, w), address(&n, w), address(&k, w), &p->alpha, p->a,
                         address(&lda, w), p->b, address(&ldb, w), &p->beta, p->c, address(&ldc, w), 1, 1);
    else if (symbol->shape == SHAPE_DGEMV)
        ((dgemv_fn *)fn)(&p->ta, address(&m, w), address(&n, w), &p->alpha, p->a, address(&lda, w), p->b,
                         address(&ldb, w), &p->beta, p->c, address(&ldc, w), 1);
    else if (symbol->shape == SHAPE_CBLAS_DGEMM)
        ((cblas_dgemm_fn *)fn)(p->order, cblas_letter(p->ta), cblas_letter(p->tb), slot(p->m, w),
                               slot(p->n, w), slot(p->k, w), p->alpha, p->a, slot(p->lda, w), p->b,
                               slot(p->ldb, w), p->beta, p->c, slot(p->ldc, w));
    else
        ((cblas_dgemv_fn *)fn)(p->order, cblas_letter(p->ta), slot(p->m, w), slot(p->n, w), p->alpha, p->a,
                               slot(p->lda, w), p->b, slot(p->ldb, w), p->beta, p->c, slot(p->ldc, w));
}

bool plugin_case_make(plugin_case_t *p, const plugin_symbol_t *symbol, int i)
{
    static const char letters[] = "NTCntc";
    static const int64_t extents[][3] = {{1, 1, 1},   {5, 3, 7},   {1, 9, 30},
                                         {17, 1, 33}, {2, 40, 16}, {31, 29, 37}};
    static const double scalars[][2] = {{1, 0}, {1, 1}, {-0.5, 2}, {0, 0.5}};
    const int count = 6 * 6 * 4;
    if (i >= (plugin_is_fortran(symbol) ? count : 2 * count)) return false;
    p->order = i < count ? CBLAS_COL_MAJOR : CBLAS_ROW_MAJOR;
    p->ta = letters[i % 6];
    p->tb = letters[(i + i / 6 + 1) % 6];
    p->m = extents[i / 6 % 6][0];
    p->n = extents[i / 6 % 6][1];
    p->k = extents[i / 6 % 6][2];
    p->alpha = scalars[i / 36 % 4][0];
    p->beta = scalars[i / 36 % 4][1];
    bool rows = p->order == CBLAS_ROW_MAJOR;
    p->lda = 2 + (plugin_is_gemv(symbol) ? (rows ? p->n : p->m) : transposed(p->ta) == rows ? p->m : p->k);
    p->ldb = !plugin_is_gemv(symbol) ? 3 + (transposed(p->tb) == rows ? p->k : p->n)
             : i % 5 - 2             ? i % 5 - 2
                                     : 3;
    p->ldc = !plugin_is_gemv(symbol) ? 1 + (rows ? p->n : p->m) : i % 7 - 3 ? i % 7 - 3 : 4;
    plugin_case_fill(p, symbol, i % 3 == 0 ? 1 : 6, (uint64_t)i);
    return true;
}

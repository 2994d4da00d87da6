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

static bool is_upper(char letter)
{
    return letter == 'U' || letter == 'u';
}

/* The other triangle stays as it is. */
static void want_syrk(plugin_case_t *p)
{
    bool t = transposed(p->tb);
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0;
            if (is_upper(p->ta) ? i > j : i < j) continue;
            for (int64_t l = 0; l < p->k; l++)
                sum += p->a[t ? at(p, l, i, p->lda) : at(p, i, l, p->lda)] *
                       p->a[t ? at(p, l, j, p->lda) : at(p, j, l, p->lda)];
            want(p, at(p, i, j, p->ldc), sum);
        }
}

static bool is_right(const plugin_case_t *p)
{
    return p->ta == 'R' || p->ta == 'r';
}

/* Element (i, j) of the symmetric matrix. */
static double symmetric(const plugin_case_t *p, int64_t i, int64_t j)
{
    return p->a[is_upper(p->tb) == (i <= j) ? at(p, i, j, p->lda) : at(p, j, i, p->lda)];
}

/* The triangle of A that does not count is NaN. */
static void want_symm(plugin_case_t *p)
{
    int64_t order = is_right(p) ? p->n : p->m;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < order; l++)
                sum += is_right(p) ? p->b[at(p, i, l, p->ldb)] * symmetric(p, l, j)
                                   : symmetric(p, i, l) * p->b[at(p, l, j, p->ldb)];
            want(p, at(p, i, j, p->ldc), sum);
        }
    for (int64_t i = 0; i < order; i++)
        for (int64_t j = 0; j < order; j++)
            if (i != j && is_upper(p->tb) != (i < j)) p->a[at(p, i, j, p->lda)] = (double)NAN;
}

/* Random operands with about one element in `gap` a nonzero, and the answer in want. Extents and steps are
 * the caller's and must fit; elements of C outside the result are to stay as they are. */
static void plugin_case_fill(plugin_case_t *p, const plugin_symbol_t *symbol, int gap, uint64_t seed)
{
    static void (*const wants[])(plugin_case_t *) = {
        [KIND_GEMM] = want_gemm, [KIND_GEMV] = want_gemv, [KIND_SYRK] = want_syrk, [KIND_SYMM] = want_symm};
    uint64_t state = seed * 2654435761u + 1;
    fill(p->a, gap, &state);
    fill(p->b, 1, &state);
    fill(p->c, 1, &state);
    memcpy(p->want, p->c, sizeof p->c);
    wants[plugin_kind(symbol)](p);
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

static int cblas_uplo(char letter)
{
    return is_upper(letter) ? CBLAS_UPPER : letter == 'L' || letter == 'l' ? CBLAS_LOWER : letter;
}

static int cblas_side(char letter)
{
    return letter == 'L' || letter == 'l'   ? CBLAS_LEFT
           : letter == 'R' || letter == 'r' ? CBLAS_RIGHT
                                            : letter;
}

/* The operands and scalars of a call, of its type. */
typedef struct values {
    const void *alpha, *beta, *a, *b;
    void *c;
} values_t;

/* The names of arguments, here and below, are those of GEMM_ARGS and its kin. */
static void call_fortran(const plugin_case_t *p, const plugin_symbol_t *symbol, const values_t *v, void *fn)
{
    bool w = symbol->wide;
    fortran_integer_t em = fortran(p->m), en = fortran(p->n), ek = fortran(p->k), la = fortran(p->lda),
                      lb = fortran(p->ldb), lc = fortran(p->ldc);
    const void *m = address(&em, w), *n = address(&en, w), *k = address(&ek, w), *lda = address(&la, w),
               *ldb = address(&lb, w), *incx = ldb, *ldc = address(&lc, w), *incy = ldc;
    const void *alpha = v->alpha, *beta = v->beta, *a = v->a, *b = v->b, *x = b;
    const char *ta = &p->ta, *side = ta, *tb = &p->tb, *trans = tb;
    const char *uplo = plugin_kind(symbol) == KIND_SYRK ? ta : tb;
    void *c = v->c, *y = c;
    if (plugin_kind(symbol) == KIND_GEMM) ((gemm_fn *)fn)(GEMM_ARGS, 1, 1);
    if (plugin_kind(symbol) == KIND_GEMV) ((gemv_fn *)fn)(GEMV_ARGS, 1);
    if (plugin_kind(symbol) == KIND_SYRK) ((syrk_fn *)fn)(SYRK_ARGS, 1, 1);
    if (plugin_kind(symbol) == KIND_SYMM) ((symm_fn *)fn)(SYMM_ARGS, 1, 1);
}

static void call_cblas(const plugin_case_t *p, const plugin_symbol_t *symbol, const values_t *v, void *fn)
{
    bool w = symbol->wide;
    int order = p->order, ta = cblas_letter(p->ta), tb = cblas_letter(p->tb), trans = tb,
        side = cblas_side(p->ta), uplo = cblas_uplo(plugin_kind(symbol) == KIND_SYRK ? p->ta : p->tb);
    int64_t m = slot(p->m, w), n = slot(p->n, w), k = slot(p->k, w), lda = slot(p->lda, w),
            ldb = slot(p->ldb, w), incx = ldb, ldc = slot(p->ldc, w), incy = ldc;
    double alpha = p->alpha, beta = p->beta;
    float falpha = (float)alpha, fbeta = (float)beta;
    const void *a = v->a, *b = v->b, *x = b;
    void *c = v->c, *y = c;
    switch (symbol->shape) {
    case SHAPE_CBLAS_SGEMM:
        ((cblas_sgemm_fn *)fn)(CBLAS_GEMM_ARGS(falpha, fbeta));
        return;
    case SHAPE_CBLAS_DGEMM:
        ((cblas_dgemm_fn *)fn)(CBLAS_GEMM_ARGS(alpha, beta));
        return;
    case SHAPE_CBLAS_SGEMV:
        ((cblas_sgemv_fn *)fn)(CBLAS_GEMV_ARGS(falpha, fbeta));
        return;
    case SHAPE_CBLAS_DGEMV:
        ((cblas_dgemv_fn *)fn)(CBLAS_GEMV_ARGS(alpha, beta));
        return;
    case SHAPE_CBLAS_SSYRK:
        ((cblas_ssyrk_fn *)fn)(CBLAS_SYRK_ARGS(falpha, fbeta));
        return;
    case SHAPE_CBLAS_DSYRK:
        ((cblas_dsyrk_fn *)fn)(CBLAS_SYRK_ARGS(alpha, beta));
        return;
    case SHAPE_CBLAS_SSYMM:
        ((cblas_ssymm_fn *)fn)(CBLAS_SYMM_ARGS(falpha, fbeta));
        return;
    default:
        ((cblas_dsymm_fn *)fn)(CBLAS_SYMM_ARGS(alpha, beta));
    }
}

void plugin_case_call(plugin_case_t *p, const plugin_symbol_t *symbol, void *fn)
{
    /* Of floats at the same addresses each time, as those of doubles are. */
    static struct {
        float a[CASE_MAX], b[CASE_MAX], c[CASE_MAX];
    } floats;
    bool floating = !plugin_is_double(symbol);
    float alpha = (float)p->alpha, beta = (float)p->beta;
    values_t v = {&p->alpha, &p->beta, p->a, p->b, p->c};
    if (floating) v = (values_t){&alpha, &beta, floats.a, floats.b, floats.c};
    for (int i = 0; floating && i < CASE_MAX; i++)
        floats.a[i] = (float)p->a[i], floats.b[i] = (float)p->b[i], floats.c[i] = (float)p->c[i];
    if (plugin_is_fortran(symbol))
        call_fortran(p, symbol, &v, fn);
    else
        call_cblas(p, symbol, &v, fn);
    for (int i = 0; floating && i < CASE_MAX; i++) p->c[i] = (double)floats.c[i];
}

/* The least leading dimensions: of what is stored, by columns or by rows. */
static void set_steps(plugin_case_t *p, plugin_kind_t kind, int i)
{
    bool rows = p->order == CBLAS_ROW_MAJOR;
    int64_t along = rows ? p->n : p->m; /* of C, and of symm's B */
    switch (kind) {
    case KIND_GEMM:
        p->lda = 2 + (transposed(p->ta) == rows ? p->m : p->k);
        p->ldb = 3 + (transposed(p->tb) == rows ? p->k : p->n);
        p->ldc = 1 + along;
        return;
    case KIND_GEMV:
        p->lda = 2 + along;
        p->ldb = i % 5 - 2 ? i % 5 - 2 : 3;
        p->ldc = i % 7 - 3 ? i % 7 - 3 : 4;
        return;
    case KIND_SYRK:
        p->lda = 2 + (transposed(p->tb) == rows ? p->n : p->k);
        p->ldc = 1 + p->n;
        return;
    default:
        p->lda = 2 + (is_right(p) ? p->n : p->m);
        p->ldb = 3 + along;
        p->ldc = 1 + along;
    }
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
    if (plugin_kind(symbol) == KIND_SYRK) p->ta = "ULul"[i % 4];
    if (plugin_kind(symbol) == KIND_SYMM) {
        p->ta = "LRlr"[i % 4];
        p->tb = "ULul"[(i / 2 + i / 36) % 4];
    }
    p->m = extents[i / 6 % 6][0];
    p->n = extents[i / 6 % 6][1];
    p->k = extents[i / 6 % 6][2];
    p->alpha = scalars[i / 36 % 4][0];
    p->beta = scalars[i / 36 % 4][1];
    set_steps(p, plugin_kind(symbol), i);
    plugin_case_fill(p, symbol, i % 3 == 0 ? 1 : 6, (uint64_t)i);
    return true;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The operand of a slice, made by plain loops. */
#include "slice_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

lac_ctx_t *slice_ctx(int i)
{
    static lac_ctx_t *ctx[SLICE_CONTEXTS];
    char number[16];
    if (i < 0) {
        for (int t = 0; t < SLICE_CONTEXTS; t++) lac_ctx_free(ctx[t]), ctx[t] = NULL;
        return NULL;
    }
    if (ctx[i]) return ctx[i];
    ctx[i] = unit_ctx();
    snprintf(number, sizeof number, "%d", i + 1);
    unit_expect(lac_ctx_set(ctx[i], "threads", number), LAC_OK, "threads");
    return ctx[i];
}

void slice_ctx_free(void)
{
    slice_ctx(-1);
}

static void *need(int64_t bytes)
{
    void *p = malloc((size_t)bytes + 1);
    assert_non_null(p);
    return p;
}

static float value(uint64_t *random)
{
    return (float)unit_between(random, 1, 1000) / 256.0f * (unit_between(random, 0, 1) ? 1.0f : -1.0f);
}

float *slice_poison(int64_t count)
{
    float *p = need(count * 4);
    memset(p, 0x7f, (size_t)count * 4);
    return p;
}

float *slice_random(int64_t count, uint64_t *random)
{
    float *p = need(count * 4);
    for (int64_t i = 0; i < count; i++) p[i] = value(random);
    return p;
}

void *slice_list(lac_index_t it, const int64_t *rows, int64_t count)
{
    int64_t *wide = need(count * 8);
    int32_t *narrow = (int32_t *)(void *)wide;
    for (int64_t i = 0; i < count; i++)
        if (it == LAC_I64)
            wide[i] = rows[i];
        else
            narrow[i] = (int32_t)rows[i];
    return wide;
}

static void fill_dense(slice_case_t *c, double density, uint64_t *random)
{
    int64_t full = c->m ? unit_between(random, 0, c->m - 1) : 0;
    for (int64_t i = 0; i < c->m; i++) {
        bool empty = i != full && unit_between(random, 0, 5) == 0;
        for (int64_t j = 0; j < c->n; j++) {
            bool there = i == full || (!empty && (double)unit_between(random, 0, 999999) < density * 1e6);
            c->dense[i * c->n + j] = there ? value(random) : 0.0f;
        }
    }
}

void slice_case_make(slice_case_t *c, int64_t m, int64_t n, double density, lac_index_t it, bool values,
                     uint64_t *random)
{
    *c = (slice_case_t){.m = m, .n = n, .it = it};
    c->dense = need(m * n * 4);
    fill_dense(c, density, random);
    c->first = need((m + 1) * 8), c->column = need(m * n * 4), c->val = need(m * n * 4);
    c->first[0] = 0;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            if (c->dense[i * n + j] == 0.0f) continue;
            if (!values) c->dense[i * n + j] = 1.0f;
            c->column[c->nnz] = (int32_t)j;
            c->val[c->nnz++] = c->dense[i * n + j];
        }
        c->first[i + 1] = c->nnz;
    }
    c->ptr = slice_list(it, c->first, m + 1);
    c->idx = need(c->nnz * 8);
    for (int64_t e = 0; e < c->nnz; e++)
        if (it == LAC_I64)
            ((int64_t *)c->idx)[e] = c->column[e];
        else
            ((int32_t *)c->idx)[e] = c->column[e];
    c->a = lac_obj_rowmajor(LAC_F32, m, n, NULL, n);
    unit_expect(lac_meta_create(&c->a.meta, m, n), LAC_OK, "lac_meta_create");
    unit_expect(lac_meta_attach_csr(c->a.meta, it, c->ptr, c->idx, values ? c->val : NULL), LAC_OK,
                "lac_meta_attach_csr");
}

void slice_case_free(slice_case_t *c)
{
    lac_meta_free(c->a.meta);
    free(c->ptr), free(c->idx), free(c->first), free(c->column), free(c->val), free(c->dense);
}

void slice_reference(const slice_case_t *c, const double *val, const int64_t *rows, int64_t count,
                     double *out)
{
    for (int64_t p = 0; p < count * c->n; p++) out[p] = 0.0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t e = c->first[rows[i]]; e < c->first[rows[i] + 1]; e++)
            out[i * c->n + c->column[e]] = val[e];
}

void slice_expect_rows(const slice_case_t *c, const int64_t *rows, int64_t count, const char *what)
{
    for (int t = 0; t < SLICE_CONTEXTS; t++)
        for (int type = LAC_I32; type <= LAC_I64; type++) {
            lac_index_t it = (lac_index_t)type;
            void *list = slice_list(it, rows, count);
            float *out = slice_poison(count * c->n);
            lac_obj_t o = lac_obj_rowmajor(LAC_F32, count, c->n, out, c->n);
            unit_expect(lac_slice_rows(slice_ctx(t), &c->a, it, count, list, &o, NULL), LAC_OK, what);
            for (int64_t i = 0; i < count; i++)
                if (memcmp(out + i * c->n, c->dense + rows[i] * c->n, (size_t)c->n * 4))
                    fail_msg("%s: row %ld of the slice is not row %ld (%d threads)", what, (long)i,
                             (long)rows[i], t + 1);
            free(out), free(list);
        }
}

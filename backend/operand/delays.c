/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Parts connections by their delays: a counting sort, which leaves the entries of a row in their order. */
#include "delays.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* Element i of indices of either type. */
static int64_t at(lac_index_t it, const void *x, int64_t i)
{
    return it == LAC_I64 ? ((const int64_t *)x)[i] : ((const int32_t *)x)[i];
}

static void put(lac_index_t it, void *x, int64_t i, int64_t value)
{
    if (it == LAC_I64)
        ((int64_t *)x)[i] = value;
    else
        ((int32_t *)x)[i] = (int32_t)value;
}

static int64_t row_begin(const lac_csr_t *a, int64_t i)
{
    if (a->ptr) return at(a->it, a->ptr, i);
    return a->m ? i * (a->nnz / a->m) : 0;
}

static float value_of(const lac_csr_t *a, int64_t e)
{
    if (!a->val) return 1.0f;
    if (a->homogeneous) return a->val[0];
    return a->val[a->perm ? at(a->it, a->perm, e) : e];
}

static lac_status_t out_of_range(const char *name, int64_t place, int64_t value, int64_t low, int64_t high)
{
    return lac_fail(LAC_ERR_VALUE, "%s[%" PRId64 "]: %" PRId64 " is outside [%" PRId64 ", %" PRId64 "]", name,
                    place, value, low, high);
}

static lac_status_t check_contents(const lac_delays_t *x)
{
    const lac_csr_t *a = x->a;
    for (int64_t i = 0, before = 0; a->ptr && i <= a->m; i++) {
        int64_t begin = at(a->it, a->ptr, i), low = i == a->m ? a->nnz : before, high = i ? a->nnz : 0;
        if (begin < low || begin > high) return out_of_range("a.ptr", i, begin, low, high);
        before = begin;
    }
    bool permuted = a->perm && a->val && !a->homogeneous;
    for (int64_t e = 0; e < a->nnz; e++) {
        int64_t column = at(a->it, a->idx, e), from = permuted ? at(a->it, a->perm, e) : 0;
        if (column < 0 || column >= a->n) return out_of_range("a.idx", e, column, 0, a->n - 1);
        if (from < 0 || from >= a->nnz) return out_of_range("a.perm", e, from, 0, a->nnz - 1);
        if (x->delay[e] < 1 || x->delay[e] > x->delays)
            return out_of_range("delay", e, x->delay[e], 1, x->delays);
    }
    return LAC_OK;
}

/* The row that entry e of row i goes to. */
static int64_t row_of(const lac_delays_t *x, int64_t i, int64_t e)
{
    return (x->delay[e] - 1) * x->pitch + i;
}

lac_status_t lac_split_delays(const lac_delays_t *x)
{
    const lac_csr_t *a = x->a;
    const int64_t rows = (x->delays - 1) * x->pitch + a->m;
    lac_status_t status = check_contents(x);
    if (status) return status;
    memset(x->ptr, 0, (size_t)(rows + 1) * (a->it == LAC_I64 ? sizeof(int64_t) : sizeof(int32_t)));
    for (int64_t i = 0; i < a->m; i++)
        for (int64_t e = row_begin(a, i); e < row_begin(a, i + 1); e++) {
            int64_t after = row_of(x, i, e) + 1;
            put(a->it, x->ptr, after, at(a->it, x->ptr, after) + 1);
        }
    for (int64_t r = 0; r < rows; r++)
        put(a->it, x->ptr, r + 1, at(a->it, x->ptr, r) + at(a->it, x->ptr, r + 1));
    /* ptr[r] goes on with each entry of row r, and so ends where row r + 1 begins. */
    for (int64_t i = 0; i < a->m; i++)
        for (int64_t e = row_begin(a, i); e < row_begin(a, i + 1); e++) {
            int64_t row = row_of(x, i, e), to = at(a->it, x->ptr, row);
            put(a->it, x->ptr, row, to + 1);
            if (x->idx) put(a->it, x->idx, to, at(a->it, a->idx, e));
            if (x->order) put(a->it, x->order, to, e);
            if (x->val) x->val[to] = value_of(a, e);
        }
    for (int64_t r = rows; r > 0; r--) put(a->it, x->ptr, r, at(a->it, x->ptr, r - 1));
    put(a->it, x->ptr, 0, 0);
    return LAC_OK;
}

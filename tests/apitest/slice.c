/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Row slices tried: dense, as CSR, and the gradient to the values. Values are copied and sums have one order,
 * so that all but the gradient to one value for all is compared to the bit. */
#include <math.h>
#include <stdlib.h>

#include "call.h"
#include "problems.h"

#define ROWS_MAX 50

typedef struct slice {
    apitest_operand_t x;
    ref_compressed_t rows_of; /* the compressed rows of op(X) */
    int64_t m, n, count, row[ROWS_MAX];
    lac_index_t it;
    bool stands;  /* a format that the rows can be taken from */
    bool outside; /* a row that there is not, and no leave for it */
    lac_slice_opts_t options, *options_at;
    guarded_buffer_t rows;
    guarded_matrix_t val;         /* options.val, where it is given */
    guarded_matrix_t dense, grad; /* of the gather, or of its adjoint */
    guarded_buffer_t ptr, idx;    /* of the CSR                       */
    ref_matrix_t want;
    lac_dt_t values; /* of the formats */
} slice_t;

static void throw_rows(rng_t *rng, slice_t *s)
{
    bool anywhere = rng_below(rng, 4) == 0;
    s->count = s->m > 0 || anywhere ? (int64_t)rng_below(rng, ROWS_MAX + 1) : 0;
    s->it = rng_below(rng, 2) == 0 ? LAC_I32 : LAC_I64;
    s->options = (lac_slice_opts_t){.size = sizeof s->options, .zero_rows = rng_below(rng, 2) == 0};
    for (int64_t i = 0; i < s->count; i++) {
        s->row[i] = anywhere ? (int64_t)rng_below(rng, (uint64_t)s->m + 4) - 2
                             : (int64_t)rng_below(rng, (uint64_t)s->m);
        s->outside |= !s->options.zero_rows && (s->row[i] < 0 || s->row[i] >= s->m);
    }
}

static lac_status_t lay_out_rows(apitest_t *t, slice_t *s)
{
    int64_t list[ROWS_MAX];
    for (int64_t i = 0; i < s->count; i++) index_store(list, s->it, i, s->row[i]);
    return guarded_buffer_make(&s->rows, t->ctx, (size_t)s->count * index_width(s->it), list);
}

/* Now and then values of the call's own, or one for all. */
static lac_status_t copy_values(apitest_t *t, slice_t *s)
{
    const ref_pattern_t pattern = {.structure = REF_DENSE, .density = 1.0};
    const ref_layout_t line = {.step = 1};
    bool own = rng_below(&t->rng, 3) == 0;
    s->options.homogeneous = rng_below(&t->rng, 4) == 0;
    int64_t count = s->options.homogeneous ? 1 : s->rows_of.nnz;
    s->options_at = &s->options;
    if (!own) return LAC_OK;
    lac_status_t status =
        guarded_matrix_make(&s->val, t->ctx, s->values, 1, count, &line, &pattern, t->rng.stream);
    s->options.val = s->val.obj.buf;
    return status;
}

static lac_status_t begin(apitest_t *t, slice_t *s)
{
    *s = (slice_t){.x = apitest_operand(t)};
    s->values = apitest_values(t, &s->x.obj);
    const lac_obj_t *x = &s->x.obj;
    ref_matrix_t op = ref_matrix_op(s->x.stored, x->trans);
    if (!ref_csr_make(&s->rows_of, &op)) return LAC_ERR_MEMORY;
    s->m = op.m;
    s->n = op.n;
    s->stands = apitest_stands(x, LAC_META_CSR) || apitest_stands(x, LAC_META_CSC) ||
                (x->meta && s->x.said->frozen && x->buf);
    throw_rows(&t->rng, s);
    lac_status_t status = lay_out_rows(t, s);
    return status != LAC_OK ? status : copy_values(t, s);
}

static void end(slice_t *s)
{
    ref_compressed_free(&s->rows_of);
    ref_matrix_free(&s->want);
    guarded_buffer_free(&s->rows);
    guarded_buffer_free(&s->ptr);
    guarded_buffer_free(&s->idx);
    guarded_matrix_free(&s->val);
    guarded_matrix_free(&s->dense);
    guarded_matrix_free(&s->grad);
}

/* The value of an entry, as the options have it. */
static double value_of(const slice_t *s, int64_t entry)
{
    bool own = s->options.val, wide = s->x.stored->dt == LAC_F64;
    if (s->options.homogeneous) return own ? ref_matrix_at(&s->val.host, 0, 0) : 1.0;
    if (own) return ref_matrix_at(&s->val.host, 0, entry);
    return wide ? ((const double *)s->rows_of.val)[entry] : (double)((const float *)s->rows_of.val)[entry];
}

/* Entries of the i-th row of the slice: [*from, *to) of those of op(X). */
static void entries_of(const slice_t *s, int64_t i, int64_t *from, int64_t *to)
{
    bool inside = s->row[i] >= 0 && s->row[i] < s->m;
    *from = inside ? s->rows_of.ptr[s->row[i]] : 0;
    *to = inside ? s->rows_of.ptr[s->row[i] + 1] : 0;
}

/* False where the call went as it must and there is more to compare; true with the trial's end. */
static bool settled(apitest_t *t, const slice_t *s, lac_status_t status, apitest_end_t *result)
{
    bool nothing = s->m == 0 || s->n == 0; /* which the call may find out first */
    if (!s->stands && (!nothing || status == LAC_ERR_EMPTY))
        *result = apitest_expect_refusal(t, status, LAC_ERR_EMPTY, "a");
    else if (s->outside)
        *result = apitest_expect_refusal(t, status, LAC_ERR_VALUE, "rows");
    else if (status != LAC_OK)
        *result = apitest_stop(t, status, "the call");
    else
        return false;
    return true;
}

/* What a refused call was to write; on a device a row outside is reported after the others are written. */
static apitest_end_t unwritten(apitest_t *t, const slice_t *s, const ref_matrix_t *x, uint64_t before,
                               apitest_end_t result)
{
    bool late = computes_on_device(t->ctx) && s->outside;
    if (result != APITEST_REFUSED || late || ref_matrix_checksum(x) == before) return result;
    return apitest_fail(t, "the call was refused and has written");
}

static void put(ref_matrix_t *x, int64_t at, double value)
{
    if (x->dt == LAC_F64)
        ((double *)x->data)[at] = value;
    else
        ((float *)x->data)[at] = (float)value;
}

static lac_status_t expect_dense(slice_t *s)
{
    const ref_layout_t rows = {.step = 1};
    if (!ref_matrix_alloc(&s->want, s->values, s->count, s->n, &rows, 0)) return LAC_ERR_MEMORY;
    int64_t from, to;
    for (int64_t at = 0; at < s->count * s->n; at++) put(&s->want, at, 0.0);
    for (int64_t i = 0; i < s->count; i++)
        for (entries_of(s, i, &from, &to); from < to; from++)
            put(&s->want, i * s->n + s->rows_of.idx[from], value_of(s, from));
    return LAC_OK;
}

static apitest_end_t judge_dense(apitest_t *t, slice_t *s, lac_status_t status, uint64_t before)
{
    apitest_end_t result;
    lac_status_t fetched = apitest_fetch_matrix(t, &s->dense);
    if (settled(t, s, status, &result)) return unwritten(t, s, &s->dense.host, before, result);
    if (fetched == LAC_OK) fetched = expect_dense(s);
    if (fetched != LAC_OK) return apitest_stop(t, fetched, "out");
    result = apitest_padding(t, &s->dense.host, "out");
    return result != APITEST_PASSED ? result : apitest_same(t, &s->dense.host, &s->want, "out");
}

apitest_end_t apitest_slice_rows(apitest_t *t)
{
    slice_t s;
    lac_status_t status = begin(t, &s);
    ref_layout_t layout = problem_random_layout(&t->rng);
    if (status == LAC_OK)
        status = guarded_matrix_make(&s.dense, t->ctx, s.values, s.count, s.n, &layout, NULL, 0);
    apitest_end_t result;
    if (status != LAC_OK) {
        result = apitest_stop(t, status, "what the call is given");
    } else {
        uint64_t before = ref_matrix_checksum(&s.dense.host);
        status = lac_slice_rows(t->ctx, &s.x.obj, s.it, s.count, guarded_buffer_at(&s.rows), &s.dense.obj,
                                s.options_at);
        result = judge_dense(t, &s, apitest_call(t, status), before);
    }
    end(&s);
    return result;
}

/* The sums in the type of the values, in the order of the list; that to one value for all more exactly, and
 * of how many terms: it is taken in double, which for values in double rounds each time. */
static lac_status_t expect_gradient(slice_t *s, ref_result_t *one, int64_t *terms)
{
    const ref_layout_t line = {.step = 1};
    int64_t from, to;
    long double sum = 0.0L;
    if (!ref_matrix_alloc(&s->want, s->values, 1, s->rows_of.nnz, &line, 0)) return LAC_ERR_MEMORY;
    for (int64_t e = 0; e < s->rows_of.nnz; e++) put(&s->want, e, 0.0);
    for (int64_t i = 0; i < s->count; i++)
        for (entries_of(s, i, &from, &to); from < to; from++) {
            double g = ref_matrix_at(&s->dense.host, i, s->rows_of.idx[from]);
            put(&s->want, from, ref_matrix_at(&s->want, 0, from) + g); /* rounded once */
            sum += g;
            *one->magnitude += fabs(g);
            ++*terms;
        }
    *one->value = (double)sum;
    return LAC_OK;
}

static apitest_end_t judge_gradient(apitest_t *t, slice_t *s, lac_status_t status, uint64_t before)
{
    double sum = 0.0, magnitude = 0.0;
    int64_t terms = 0;
    ref_result_t one = {.m = 1, .n = 1, .k = 0, .value = &sum, .magnitude = &magnitude};
    apitest_end_t result;
    lac_status_t fetched = apitest_fetch_matrix(t, &s->grad);
    if (settled(t, s, status, &result)) return unwritten(t, s, &s->grad.host, before, result);
    if (fetched == LAC_OK) fetched = expect_gradient(s, &one, &terms);
    if (fetched != LAC_OK) return apitest_stop(t, fetched, "grad_val");
    result = apitest_padding(t, &s->grad.host, "grad_val");
    if (result != APITEST_PASSED) return result;
    if (!s->options.homogeneous) return apitest_same(t, &s->grad.host, &s->want, "grad_val");
    t->bits = ref_matrix_result_checksum(&s->grad.host);
    return apitest_compare(t, &s->grad.host, &one, s->values == LAC_F64 ? terms : 0);
}

apitest_end_t apitest_slice_grad(apitest_t *t)
{
    const ref_layout_t line = {.step = 1};
    const ref_pattern_t pattern = {.structure = REF_BERNOULLI, .density = 0.7};
    slice_t s;
    lac_status_t status = begin(t, &s);
    ref_layout_t layout = problem_random_layout(&t->rng);
    int64_t entries = s.options.homogeneous ? 1 : s.rows_of.nnz;
    if (status == LAC_OK)
        status = guarded_matrix_make(&s.dense, t->ctx, s.values, s.count, s.n, &layout, &pattern,
                                     t->rng.stream + 1);
    if (status == LAC_OK) status = guarded_matrix_make(&s.grad, t->ctx, s.values, 1, entries, &line, NULL, 0);
    apitest_end_t result;
    if (status != LAC_OK) {
        result = apitest_stop(t, status, "what the call is given");
    } else {
        uint64_t before = ref_matrix_checksum(&s.grad.host);
        status = lac_slice_rows_grad(t->ctx, &s.x.obj, s.it, s.count, guarded_buffer_at(&s.rows),
                                     &s.dense.obj, s.grad.obj.buf, s.options_at);
        result = judge_gradient(t, &s, apitest_call(t, status), before);
    }
    end(&s);
    return result;
}

/* The pointers are those of the slice, and say how many entries there are. */
static apitest_end_t judge_pointers(apitest_t *t, slice_t *s, lac_index_t it, lac_status_t status,
                                    int64_t *entries)
{
    apitest_end_t result;
    int64_t from, to;
    lac_status_t fetched = apitest_fetch_array(t, &s->ptr);
    bool refused = settled(t, s, status, &result);
    if (refused && result == APITEST_REFUSED && !guarded_buffer_untouched(&s->ptr) &&
        !computes_on_device(t->ctx))
        return apitest_fail(t, "the call was refused and has written");
    if (refused) return result;
    if (fetched != LAC_OK) return apitest_stop(t, fetched, "ptr");
    *entries = 0;
    for (int64_t i = 0; i <= s->count; i++) {
        int64_t got = index_load(guarded_buffer_host(&s->ptr), it, i);
        if (got != *entries)
            return apitest_fail(t, "ptr[%lld] is %lld and must be %lld", (long long)i, (long long)got,
                                (long long)*entries);
        if (i < s->count) entries_of(s, i, &from, &to);
        if (i < s->count) *entries += to - from;
    }
    return guarded_buffer_overrun(&s->ptr) ? APITEST_PASSED : apitest_fail(t, "wrote outside ptr");
}

static lac_status_t expect_entries(slice_t *s, int64_t entries)
{
    const ref_layout_t line = {.step = 1};
    int64_t from, to, at = 0;
    if (!ref_matrix_alloc(&s->want, s->values, 1, entries, &line, 0)) return LAC_ERR_MEMORY;
    for (int64_t i = 0; i < s->count; i++)
        for (entries_of(s, i, &from, &to); from < to; from++) put(&s->want, at++, value_of(s, from));
    return LAC_OK;
}

static apitest_end_t judge_entries(apitest_t *t, slice_t *s, lac_index_t it, bool valued)
{
    int64_t from, to, at = 0;
    for (int64_t i = 0; i < s->count; i++)
        for (entries_of(s, i, &from, &to); from < to; from++, at++) {
            int64_t got = index_load(guarded_buffer_host(&s->idx), it, at);
            if (got != s->rows_of.idx[from])
                return apitest_fail(t, "idx[%lld] is %lld and must be %lld", (long long)at, (long long)got,
                                    (long long)s->rows_of.idx[from]);
        }
    if (!guarded_buffer_overrun(&s->idx)) return apitest_fail(t, "wrote outside idx");
    apitest_end_t result = apitest_padding(t, &s->dense.host, "val");
    return result == APITEST_PASSED && valued ? apitest_same(t, &s->dense.host, &s->want, "val") : result;
}

/* The second call, with room for so many entries. */
static apitest_end_t fill_entries(apitest_t *t, slice_t *s, lac_index_t it, int64_t entries)
{
    const ref_layout_t line = {.step = 1};
    bool valued = rng_below(&t->rng, 4) != 0;
    lac_status_t status = guarded_buffer_make(&s->idx, t->ctx, (size_t)entries * index_width(it), NULL);
    if (status == LAC_OK)
        status = guarded_matrix_make(&s->dense, t->ctx, s->values, 1, entries, &line, NULL, 0);
    if (status == LAC_OK)
        status = lac_slice_rows_csr(t->ctx, &s->x.obj, s->it, s->count, guarded_buffer_at(&s->rows), it,
                                    guarded_buffer_at(&s->ptr), guarded_buffer_at(&s->idx),
                                    valued ? s->dense.obj.buf : NULL, s->options_at);
    status = apitest_call(t, status);
    if (status == LAC_OK) status = apitest_fetch_array(t, &s->idx);
    if (status == LAC_OK) status = apitest_fetch_matrix(t, &s->dense);
    if (status == LAC_OK) status = expect_entries(s, entries);
    return status != LAC_OK ? apitest_stop(t, status, "the second call") : judge_entries(t, s, it, valued);
}

apitest_end_t apitest_slice_csr(apitest_t *t)
{
    slice_t s;
    int64_t entries = -1;
    lac_status_t status = begin(t, &s);
    lac_index_t it = rng_below(&t->rng, 2) == 0 ? LAC_I32 : LAC_I64;
    if (status == LAC_OK)
        status = guarded_buffer_make(&s.ptr, t->ctx, (size_t)(s.count + 1) * index_width(it), NULL);
    apitest_end_t result;
    if (status != LAC_OK) {
        result = apitest_stop(t, status, "what the call is given");
    } else {
        status = lac_slice_rows_count(t->ctx, &s.x.obj, s.it, s.count, guarded_buffer_at(&s.rows), it,
                                      guarded_buffer_at(&s.ptr), s.options_at);
        result = judge_pointers(t, &s, it, apitest_call(t, status), &entries);
        if (result == APITEST_PASSED && entries >= 0) result = fill_entries(t, &s, it, entries);
    }
    end(&s);
    return result;
}

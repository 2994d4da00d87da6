/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the trials of calls share. */
#include "call.h"
#include "ref_generate.h"
#include "ref_gemm.h"

#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { GUARD = 64, POISON = 0xa5 };

lac_status_t guarded_buffer_make(guarded_buffer_t *array, lac_ctx_t *ctx, size_t bytes, const void *from)
{
    *array = (guarded_buffer_t){.ctx = ctx, .bytes = bytes};
    array->base = malloc(bytes + 2 * GUARD);
    if (!array->base) return LAC_ERR_MEMORY;
    memset(array->base, POISON, bytes + 2 * GUARD);
    if (from && bytes) memcpy(array->base + GUARD, from, bytes);
    return computes_on_device(ctx) ? device_array(ctx, array->base, bytes + 2 * GUARD, &array->device)
                                   : LAC_OK;
}

void *guarded_buffer_at(const guarded_buffer_t *array)
{
    return (array->device ? (unsigned char *)array->device : array->base) + GUARD;
}

void *guarded_buffer_host(const guarded_buffer_t *array)
{
    return array->base + GUARD;
}

/* Brings the contents to the host. Waits. Errors: those of lac_device_download. */
static lac_status_t guarded_buffer_fetch(guarded_buffer_t *array)
{
    if (!array->device) return LAC_OK;
    return lac_device_download(array->ctx, array->base, array->device, array->bytes + 2 * GUARD);
}

static bool is_poison(const unsigned char *from, size_t bytes)
{
    size_t i = 0;
    while (i < bytes && from[i] == POISON) i++;
    return i == bytes;
}

bool guarded_buffer_overrun(const guarded_buffer_t *array)
{
    return is_poison(array->base, GUARD) && is_poison(array->base + GUARD + array->bytes, GUARD);
}

bool guarded_buffer_untouched(const guarded_buffer_t *array)
{
    return is_poison(array->base, array->bytes + 2 * GUARD);
}

void guarded_buffer_free(guarded_buffer_t *array)
{
    if (array->device) lac_device_free(array->ctx, array->device);
    free(array->base);
    *array = (guarded_buffer_t){0};
}

lac_status_t guarded_matrix_make(guarded_matrix_t *x, lac_ctx_t *ctx, lac_dt_t dt, int64_t m, int64_t n,
                                 const ref_layout_t *layout, const ref_pattern_t *pattern, uint64_t seed)
{
    *x = (guarded_matrix_t){0};
    if (!ref_matrix_alloc(&x->host, dt, m, n, layout, GUARD)) return LAC_ERR_MEMORY;
    if (pattern && !ref_fill(&x->host, pattern, seed)) return LAC_ERR_MEMORY;
    x->obj = ref_matrix_obj(&x->host, LAC_NO_TRANS);
    return computes_on_device(ctx) ? device_copy_make(&x->copy, ctx, &x->host, &x->obj) : LAC_OK;
}

static lac_status_t guarded_matrix_fetch(guarded_matrix_t *x)
{
    return device_copy_fetch(&x->copy, &x->host);
}

void guarded_matrix_free(guarded_matrix_t *x)
{
    device_copy_free(&x->copy);
    ref_matrix_free(&x->host);
}

/* What the trials of calls share. */

const unsigned apitest_reading[APITEST_READINGS] = {REF_STRICT, REF_SKIP_A, REF_SKIP_B,
                                                    REF_SKIP_A | REF_SKIP_B};

static void say(apitest_t *t, const char *format, va_list args)
{
    vsnprintf(t->why, sizeof t->why, format, args);
}

apitest_end_t apitest_fail(apitest_t *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(t, format, args);
    va_end(args);
    return APITEST_FAILED;
}

apitest_end_t apitest_refuse(apitest_t *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(t, format, args);
    va_end(args);
    return APITEST_REFUSED;
}

lac_status_t apitest_call(apitest_t *t, lac_status_t status)
{
    if (status == LAC_OK && computes_on_device(t->ctx)) status = lac_device_wait(t->ctx);
    snprintf(t->message, sizeof t->message, "%s", status == LAC_OK ? "" : lac_last_error());
    return status;
}

apitest_end_t apitest_stop(apitest_t *t, lac_status_t status, const char *what)
{
    const char *message = t->message[0] ? t->message : status == LAC_ERR_MEMORY ? "" : lac_last_error();
    if (status == LAC_ERR_UNAVAILABLE) return apitest_refuse(t, "%s", message);
    return apitest_fail(t, "%s: %s: %s", what, lac_status_text(status), message);
}

/* "a" begins "a: is NULL", "a.dt: ..", "a[2]: .." and not "alpha: ..". */
static bool names(const char *message, const char *argument)
{
    size_t length = strlen(argument);
    return strncmp(message, argument, length) == 0 && message[length] && strchr(":.[,", message[length]);
}

apitest_end_t apitest_expect(apitest_t *t, lac_status_t status, lac_status_t want, const char *argument)
{
    if (status == LAC_ERR_UNAVAILABLE) return apitest_refuse(t, "%s", t->message);
    if (status != want)
        return apitest_fail(t, "%s: returned \"%s\" (%.300s), and not \"%s\"", argument,
                            lac_status_text(status), t->message, lac_status_text(want));
    if (names(t->message, argument)) return APITEST_PASSED;
    return apitest_fail(t, "the message does not begin with \"%s\": %.400s", argument, t->message);
}

apitest_end_t apitest_expect_refusal(apitest_t *t, lac_status_t status, lac_status_t want,
                                     const char *argument)
{
    apitest_end_t end = apitest_expect(t, status, want, argument);
    return end == APITEST_PASSED ? apitest_refuse(t, "%s", t->message) : end;
}

static void corrupt_element(ref_matrix_t *x)
{
    if (x->m == 0 || x->n == 0) return;
    int64_t place = x->m / 2 * x->rs + x->n / 2 * x->cs;
    double was = ref_matrix_at(x, x->m / 2, x->n / 2), is = isnan(was) ? 0.0 : was * 2.0 + 1.0;
    if (x->dt == LAC_F64)
        ((double *)x->data)[place] = is;
    else
        ((float *)x->data)[place] = (float)is;
}

lac_status_t apitest_fetch_matrix(const apitest_t *t, guarded_matrix_t *x)
{
    lac_status_t status = guarded_matrix_fetch(x);
    if (t->corrupt) corrupt_element(&x->host);
    return status;
}

lac_status_t apitest_fetch_array(const apitest_t *t, guarded_buffer_t *array)
{
    lac_status_t status = guarded_buffer_fetch(array);
    if (t->corrupt && array->bytes) *(unsigned char *)guarded_buffer_host(array) ^= 1;
    return status;
}

lac_status_t apitest_fetch_c(const apitest_t *t)
{
    lac_status_t status = operand_set_fetch(t->set);
    if (t->corrupt) corrupt_element(&t->set->data.c);
    return status;
}

lac_dt_t apitest_type(const apitest_t *t)
{
    return t->set->problem.c.dt;
}

lac_dt_t apitest_values(const apitest_t *t, const lac_obj_t *x)
{
    return x->dt == LAC_U8 && !x->meta ? LAC_F32 : apitest_type(t);
}

apitest_operand_t apitest_operand(apitest_t *t)
{
    operand_set_t *set = t->set;
    if (rng_below(&t->rng, 2) == 0) return (apitest_operand_t){set->a, &set->data.a, &set->problem.a};
    return (apitest_operand_t){set->b, &set->data.b, &set->problem.b};
}

bool apitest_stands(const lac_obj_t *obj, unsigned wanted)
{
    lac_format_view_t view;
    return obj->meta && lac_meta_view(obj->meta, wanted, &view) == LAC_OK;
}

apitest_end_t apitest_compare(apitest_t *t, const ref_matrix_t *got, const ref_result_t *want, int64_t k)
{
    ref_report_t report;
    bool ok = ref_compare(got, want, ref_bound(k), &report);
    t->max_error = report.max_error;
    t->mean_error = report.mean_error;
    t->why[0] = '\0';
    if (!ok) ref_report_print(&report, t->why, sizeof t->why);
    return ok ? APITEST_PASSED : APITEST_FAILED;
}

apitest_end_t apitest_product(apitest_t *t, const ref_matrix_t *got, const ref_matrix_t *x,
                              const ref_matrix_t *y, const ref_matrix_t *before)
{
    const ref_problem_t *p = &t->set->problem;
    apitest_end_t end = APITEST_FAILED;
    for (int i = 0; i < t->readings && end == APITEST_FAILED; i++) {
        ref_result_t want;
        if (!ref_gemm(x, y, before, p->alpha, p->beta, apitest_reading[i], &want))
            return apitest_fail(t, "the oracle is out of memory");
        end = apitest_compare(t, got, &want, want.k);
        ref_result_free(&want);
    }
    return end;
}

apitest_end_t apitest_padding(apitest_t *t, const ref_matrix_t *x, const char *name)
{
    int64_t where;
    if (ref_matrix_padding_intact(x, &where)) return APITEST_PASSED;
    return apitest_fail(t, "wrote outside %s, %lld elements from its first", name, (long long)where);
}

apitest_end_t apitest_same(apitest_t *t, const ref_matrix_t *got, const ref_matrix_t *want, const char *name)
{
    t->bits = ref_matrix_result_checksum(got);
    for (int64_t i = 0; i < want->m; i++)
        for (int64_t j = 0; j < want->n; j++) {
            double x = ref_matrix_at(got, i, j), y = ref_matrix_at(want, i, j);
            if (x == y || (isnan(x) && isnan(y))) continue;
            return apitest_fail(t, "%s(%lld, %lld) is %.17g and must be %.17g", name, (long long)i,
                                (long long)j, x, y);
        }
    return APITEST_PASSED;
}

/* A problem's product as a column-major BLAS takes it. */

bool blas_takes(const lac_obj_t *x)
{
    return x->dt != LAC_U8 && x->buf && x->m > 0 && x->n > 0;
}

/* Stored by columns, or the transpose of a matrix that is. */
static bool as_columns(const lac_obj_t *x, lac_trans_t *trans, lac_inc_t *ld)
{
    bool by_columns = x->rs == 1 && x->cs >= x->m, by_rows = x->cs == 1 && x->rs >= x->n;
    *ld = by_columns ? x->cs : x->rs;
    *trans = (x->trans == LAC_TRANS) == by_columns ? LAC_TRANS : LAC_NO_TRANS;
    return blas_takes(x) && (by_columns || by_rows);
}

static lac_trans_t transposed(lac_trans_t trans)
{
    return trans == LAC_TRANS ? LAC_NO_TRANS : LAC_TRANS;
}

bool blas_view(blas_view_t *view, const operand_set_t *set)
{
    const ref_problem_t *p = &set->problem;
    lac_trans_t ta, tb, tc;
    lac_inc_t lda, ldb, ldc;
    if (!as_columns(&set->a, &ta, &lda) || !as_columns(&set->b, &tb, &ldb) || !as_columns(&set->c, &tc, &ldc))
        return false;
    *view = (blas_view_t){ta, tb, p->m, p->n, p->k, set->a.buf, set->b.buf, set->c.buf, lda, ldb, ldc, false};
    if (tc == LAC_TRANS)
        *view = (blas_view_t){transposed(tb), transposed(ta), p->n, p->m, p->k, set->b.buf,
                              set->a.buf,     set->c.buf,     ldb,  lda,  ldc,  true};
    return true;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the trials of calls share. */
#include "apitest_call.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ref_compare.h"

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
    float *at = (float *)x->data + x->m / 2 * x->rs + x->n / 2 * x->cs;
    *at = isnan(*at) ? 0.0f : *at * 2.0f + 1.0f;
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
            float x = ref_matrix_at(got, i, j), y = ref_matrix_at(want, i, j);
            if (x == y || (isnan(x) && isnan(y))) continue;
            return apitest_fail(t, "%s(%lld, %lld) is %.9g and must be %.9g", name, (long long)i,
                                (long long)j, (double)x, (double)y);
        }
    return APITEST_PASSED;
}

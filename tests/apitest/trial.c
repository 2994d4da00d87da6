/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the trials of calls share. */
#include "trial.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ref_compare.h"

const unsigned trial_reading[TRIAL_READINGS] = {REF_STRICT, REF_SKIP_A, REF_SKIP_B, REF_SKIP_A | REF_SKIP_B};

static void say(trial_t *t, const char *format, va_list args)
{
    vsnprintf(t->why, sizeof t->why, format, args);
}

trial_end_t trial_fail(trial_t *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(t, format, args);
    va_end(args);
    return TRIAL_FAILED;
}

trial_end_t trial_refuse(trial_t *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(t, format, args);
    va_end(args);
    return TRIAL_REFUSED;
}

lac_status_t trial_call(trial_t *t, lac_status_t status)
{
    if (status == LAC_OK && computes_on_device(t->ctx)) status = lac_device_wait(t->ctx);
    snprintf(t->message, sizeof t->message, "%s", status == LAC_OK ? "" : lac_last_error());
    return status;
}

trial_end_t trial_stop(trial_t *t, lac_status_t status, const char *what)
{
    const char *message = t->message[0] ? t->message : status == LAC_ERR_MEMORY ? "" : lac_last_error();
    if (status == LAC_ERR_UNAVAILABLE) return trial_refuse(t, "%s", message);
    return trial_fail(t, "%s: %s: %s", what, lac_status_text(status), message);
}

/* "a" begins "a: is NULL", "a.dt: ..", "a[2]: .." and not "alpha: ..". */
static bool names(const char *message, const char *argument)
{
    size_t length = strlen(argument);
    return strncmp(message, argument, length) == 0 && message[length] && strchr(":.[,", message[length]);
}

trial_end_t trial_expect(trial_t *t, lac_status_t status, lac_status_t want, const char *argument)
{
    if (status == LAC_ERR_UNAVAILABLE) return trial_refuse(t, "%s", t->message);
    if (status != want)
        return trial_fail(t, "%s: returned \"%s\" (%.300s), and not \"%s\"", argument,
                          lac_status_text(status), t->message, lac_status_text(want));
    if (names(t->message, argument)) return TRIAL_PASSED;
    return trial_fail(t, "the message does not begin with \"%s\": %.400s", argument, t->message);
}

trial_end_t trial_expect_refusal(trial_t *t, lac_status_t status, lac_status_t want, const char *argument)
{
    trial_end_t end = trial_expect(t, status, want, argument);
    return end == TRIAL_PASSED ? trial_refuse(t, "%s", t->message) : end;
}

static void spoil(ref_matrix_t *x)
{
    if (x->m == 0 || x->n == 0) return;
    float *at = (float *)x->data + x->m / 2 * x->rs + x->n / 2 * x->cs;
    *at = isnan(*at) ? 0.0f : *at * 2.0f + 1.0f;
}

lac_status_t trial_fetch_matrix(const trial_t *t, placed_matrix_t *x)
{
    lac_status_t status = placed_matrix_fetch(x);
    if (t->corrupt) spoil(&x->host);
    return status;
}

lac_status_t trial_fetch_array(const trial_t *t, placed_array_t *array)
{
    lac_status_t status = placed_array_fetch(array);
    if (t->corrupt && array->bytes) *(unsigned char *)placed_array_host(array) ^= 1;
    return status;
}

lac_status_t trial_fetch_c(const trial_t *t)
{
    lac_status_t status = operand_set_fetch(t->set);
    if (t->corrupt) spoil(&t->set->data.c);
    return status;
}

trial_operand_t trial_operand(trial_t *t)
{
    operand_set_t *set = t->set;
    if (dice_below(&t->dice, 2) == 0) return (trial_operand_t){set->a, &set->data.a, &set->problem.a};
    return (trial_operand_t){set->b, &set->data.b, &set->problem.b};
}

bool trial_stands(const lac_obj_t *obj, unsigned wanted)
{
    lac_format_view_t view;
    return obj->meta && lac_meta_view(obj->meta, wanted, &view) == LAC_OK;
}

trial_end_t trial_compare(trial_t *t, const ref_matrix_t *got, const ref_result_t *want, int64_t k)
{
    ref_report_t report;
    bool ok = ref_compare(got, want, ref_bound(k), &report);
    t->max_error = report.max_error;
    t->mean_error = report.mean_error;
    t->why[0] = '\0';
    if (!ok) ref_report_print(&report, t->why, sizeof t->why);
    return ok ? TRIAL_PASSED : TRIAL_FAILED;
}

trial_end_t trial_product(trial_t *t, const ref_matrix_t *got, const ref_matrix_t *x, const ref_matrix_t *y,
                          const ref_matrix_t *before)
{
    const ref_problem_t *p = &t->set->problem;
    trial_end_t end = TRIAL_FAILED;
    for (int i = 0; i < t->readings && end == TRIAL_FAILED; i++) {
        ref_result_t want;
        if (!ref_gemm(x, y, before, p->alpha, p->beta, trial_reading[i], &want))
            return trial_fail(t, "the oracle is out of memory");
        end = trial_compare(t, got, &want, want.k);
        ref_result_free(&want);
    }
    return end;
}

trial_end_t trial_padding(trial_t *t, const ref_matrix_t *x, const char *name)
{
    int64_t where;
    if (ref_matrix_padding_intact(x, &where)) return TRIAL_PASSED;
    return trial_fail(t, "wrote outside %s, %lld elements from its first", name, (long long)where);
}

trial_end_t trial_same(trial_t *t, const ref_matrix_t *got, const ref_matrix_t *want, const char *name)
{
    t->bits = ref_matrix_result_checksum(got);
    for (int64_t i = 0; i < want->m; i++)
        for (int64_t j = 0; j < want->n; j++) {
            float x = ref_matrix_at(got, i, j), y = ref_matrix_at(want, i, j);
            if (x == y || (isnan(x) && isnan(y))) continue;
            return trial_fail(t, "%s(%lld, %lld) is %.9g and must be %.9g", name, (long long)i, (long long)j,
                              (double)x, (double)y);
        }
    return TRIAL_PASSED;
}

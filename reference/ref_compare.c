/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Judging a float product element by element: class first, then the error in units of |A||B|. */
#include "ref_compare.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define UNIT 0x1p-24 /* half an ulp of 1.0f */

double ref_bound(int64_t k)
{
    double n = (double)k + 2.0;
    return n * UNIT < 1.0 ? n / (1.0 - n * UNIT) : INFINITY;
}

static bool is_poison(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits == REF_POISON_F32_BITS;
}

struct verdict {
    double error;
    bool averaged;      /* finite on both sides: counts in the mean */
    const char *reason; /* "" unless the class is wrong             */
};

static struct verdict wrong_class(const char *reason)
{
    return (struct verdict){INFINITY, false, reason};
}

static struct verdict judge(float got, double want, double magnitude)
{
    const struct verdict right = {0.0, false, ""};

    if (is_poison(got)) return wrong_class("not written, or poison was read");
    if (isnan(want)) return isnan(got) ? right : wrong_class("must be NaN");
    if (isinf(want)) return (double)got == want ? right : wrong_class("must be this infinity");
    if (!isfinite(got)) return magnitude >= (double)FLT_MAX ? right : wrong_class("must be finite");
    if (magnitude == 0.0) return got == 0.0f ? right : wrong_class("must be 0: no term is nonzero");
    /* The smallest float keeps products below the normal range from counting as large relative errors. */
    double error = fabs((double)got - want) / (UNIT * magnitude + 0x1p-149);
    return (struct verdict){error, true, ""};
}

bool ref_compare(const ref_matrix_t *got, const ref_result_t *want, double bound, ref_report_t *report)
{
    int64_t averaged = 0;
    double sum = 0.0;

    *report = (ref_report_t){.bound = bound, .row = -1, .col = -1, .reason = "", .max_error = 0.0};
    if (got->dt != LAC_F32 || got->m != want->m || got->n != want->n) {
        report->reason = "type or extents differ";
        return false;
    }
    for (int64_t i = 0; i < want->m; i++)
        for (int64_t j = 0; j < want->n; j++) {
            double value = want->value[i * want->n + j], magnitude = want->magnitude[i * want->n + j];
            float x = ref_matrix_at(got, i, j);
            struct verdict v = judge(x, value, magnitude);
            bool wrong = !(v.error <= bound) || v.reason[0] != '\0';

            report->elements++;
            report->wrong += wrong;
            report->nonfinite += !isfinite(value) && !wrong;
            if (v.averaged) {
                averaged++;
                sum += v.error;
            }
            if (report->row >= 0 && !(v.error > report->max_error)) continue;
            report->row = i;
            report->col = j;
            report->got = x;
            report->want = value;
            report->magnitude = magnitude;
            report->max_error = v.error;
            report->reason = !wrong ? "" : v.reason[0] != '\0' ? v.reason : "error above the bound";
        }
    report->mean_error = averaged > 0 ? sum / (double)averaged : 0.0;
    report->ok = report->wrong == 0;
    return report->ok;
}

size_t ref_report_print(const ref_report_t *r, char *text, size_t size)
{
    int n = snprintf(text, size,
                     "%s: %" PRId64 " of %" PRId64
                     " wrong, max error %.3g, mean %.3g (bound %.4g, unit 2^-24 |A||B|)"
                     "; worst (%" PRId64 ",%" PRId64 ") got %.9g want %.17g%s%s",
                     r->ok ? "ok" : "WRONG", r->wrong, r->elements, r->max_error, r->mean_error, r->bound,
                     r->row, r->col, (double)r->got, r->want, r->reason[0] != '\0' ? ": " : "", r->reason);
    return n > 0 ? (size_t)n : 0;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A format as the metadata shows it, against the format of the contents. */
#include "apitest_call.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A copy on the host of an array of a format; NULL with a status other than LAC_OK where there is none. */
static void *copied(const apitest_t *t, const void *array, size_t bytes, lac_status_t *status)
{
    void *copy = calloc(1, bytes ? bytes : 1);
    if (!copy) *status = LAC_ERR_MEMORY;
    if (!copy || !bytes || *status != LAC_OK) return copy;
    if (!array)
        *status = LAC_ERR_INTERNAL;
    else if (computes_on_device(t->ctx))
        *status = lac_device_download(t->ctx, copy, array, bytes);
    else
        memcpy(copy, array, bytes);
    if (t->corrupt) *(unsigned char *)copy ^= 1;
    return copy;
}

/* An array of the format, byte by byte. */
static apitest_end_t compare_array(apitest_t *t, const char *name, const void *array, const void *want,
                                   size_t bytes)
{
    lac_status_t status = LAC_OK;
    void *got = copied(t, array, bytes, &status);
    apitest_end_t end = APITEST_PASSED;
    if (status != LAC_OK)
        end = apitest_fail(t, "%s cannot be read: %s", name, lac_status_text(status));
    else if (bytes && memcmp(got, want, bytes) != 0)
        end = apitest_fail(t, "%s is not that of the contents", name);
    free(got);
    return end;
}

/* Its values: NULL stands for ones. */
static apitest_end_t compare_values(apitest_t *t, const char *name, const float *array, const float *want,
                                    int64_t count)
{
    lac_status_t status = LAC_OK;
    float *got = array ? copied(t, array, (size_t)count * sizeof *got, &status) : NULL;
    apitest_end_t end = APITEST_PASSED;
    if (status != LAC_OK) end = apitest_fail(t, "%s cannot be read: %s", name, lac_status_text(status));
    for (int64_t e = 0; end == APITEST_PASSED && e < count; e++) {
        float x = got ? got[e] : 1.0f;
        if (x != want[e] && !(isnan(x) && isnan(want[e])))
            end = apitest_fail(t, "%s[%lld] is %.9g and must be %.9g", name, (long long)e, (double)x,
                               (double)want[e]);
    }
    free(got);
    return end;
}

static apitest_end_t compare_compressed(apitest_t *t, const lac_format_view_t *view, const ref_matrix_t *x,
                                        bool by_rows)
{
    ref_compressed_t want;
    bool made = by_rows ? ref_csr_make(&want, x) : ref_csc_make(&want, x);
    if (!made) return apitest_fail(t, "out of memory");
    apitest_end_t end = APITEST_PASSED;
    if (view->count != want.nnz)
        end = apitest_fail(t, "%s has %lld entries and must have %lld", by_rows ? "CSR" : "CSC",
                           (long long)view->count, (long long)want.nnz);
    if (end == APITEST_PASSED)
        end = compare_array(t, "ptr", view->ptr, want.ptr, (size_t)(want.lines + 1) * sizeof *want.ptr);
    if (end == APITEST_PASSED)
        end = compare_array(t, "idx", view->idx, want.idx, (size_t)want.nnz * sizeof *want.idx);
    if (end == APITEST_PASSED) end = compare_values(t, "val", view->val, want.val, want.nnz);
    ref_compressed_free(&want);
    return end;
}

static apitest_end_t compare_bits(apitest_t *t, const lac_format_view_t *view, const ref_matrix_t *x)
{
    ref_bits_t want;
    if (!ref_bits_make(&want, x)) return apitest_fail(t, "out of memory");
    apitest_end_t end = APITEST_PASSED;
    if (view->count != want.nnz)
        end = apitest_fail(t, "the bitmask has %lld values and must have %lld", (long long)view->count,
                           (long long)want.nnz);
    if (end == APITEST_PASSED)
        end = compare_array(t, "bits", view->bits, want.bits,
                            (size_t)(want.rows * want.words) * sizeof *want.bits);
    if (end == APITEST_PASSED)
        end = compare_array(t, "ptr", view->ptr, want.first, (size_t)want.rows * sizeof *want.first);
    if (end == APITEST_PASSED) end = compare_values(t, "val", view->val, want.val, want.nnz);
    ref_bits_free(&want);
    return end;
}

static apitest_end_t compare_active(apitest_t *t, const lac_format_view_t *view, const ref_matrix_t *x)
{
    ref_active_t want;
    if (!ref_active_make(&want, x)) return apitest_fail(t, "out of memory");
    apitest_end_t end = APITEST_PASSED;
    if (view->count != want.active)
        end = apitest_fail(t, "%lld columns are active and %lld must be", (long long)view->count,
                           (long long)want.active);
    if (end == APITEST_PASSED)
        end = compare_array(t, "idx", view->idx, want.k, (size_t)want.active * sizeof *want.k);
    if (end == APITEST_PASSED) end = compare_values(t, "val", view->val, want.slots, want.active * want.rows);
    ref_active_free(&want);
    return end;
}

apitest_end_t apitest_format(apitest_t *t, const lac_meta_t *meta, unsigned format,
                             const ref_matrix_t *stored)
{
    lac_format_view_t view;
    lac_status_t status = lac_meta_view(meta, format, &view);
    if (status != LAC_OK) return apitest_stop(t, status, "lac_meta_view");
    if (format == LAC_META_BITMASK) return compare_bits(t, &view, stored);
    if (format == LAC_META_ACTIVE) return compare_active(t, &view, stored);
    return compare_compressed(t, &view, stored, format == LAC_META_CSR);
}

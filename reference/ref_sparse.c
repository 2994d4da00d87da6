/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sparse formats in two passes, count and fill, over plain element access. */
#include "ref_sparse.h"

#include <stdlib.h>
#include <string.h>

static bool indexable(const ref_matrix_t *x)
{
    return x->m <= INT32_MAX && x->n <= INT32_MAX;
}

/* Zeroed memory for count elements; never NULL for a count of 0. */
static void *allocate(int64_t count, size_t size)
{
    return calloc((size_t)count + 1, size);
}

static size_t value_size(const ref_matrix_t *x)
{
    return x->dt == LAC_F64 ? sizeof(double) : sizeof(float);
}

static void put_value(const ref_matrix_t *x, void *values, int64_t at, double value)
{
    if (x->dt == LAC_F64)
        ((double *)values)[at] = value;
    else
        ((float *)values)[at] = (float)value;
}

/* CSR of x: ptr counts, then idx and val along each row. */
bool ref_csr_make(ref_compressed_t *out, const ref_matrix_t *x)
{
    *out = (ref_compressed_t){.lines = x->m, .width = x->n};
    if (indexable(x)) out->ptr = allocate(x->m, sizeof *out->ptr);
    if (out->ptr == NULL) goto fail;
    for (int64_t i = 0; i < x->m; i++) {
        for (int64_t j = 0; j < x->n; j++) out->nnz += ref_matrix_at(x, i, j) != 0.0;
        out->ptr[i + 1] = out->nnz;
    }
    out->idx = allocate(out->nnz, sizeof *out->idx);
    out->val = allocate(out->nnz, value_size(x));
    if (out->idx == NULL || out->val == NULL) goto fail;
    for (int64_t i = 0, at = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) {
            double value = ref_matrix_at(x, i, j);
            if (value == 0.0) continue;
            out->idx[at] = (int32_t)j;
            put_value(x, out->val, at++, value);
        }
    return true;

fail:
    ref_compressed_free(out);
    return false;
}

bool ref_csc_make(ref_compressed_t *out, const ref_matrix_t *x)
{
    ref_matrix_t transposed = ref_matrix_op(x, LAC_TRANS);
    return ref_csr_make(out, &transposed);
}

void ref_compressed_free(ref_compressed_t *format)
{
    if (format == NULL) return;
    free(format->ptr);
    free(format->idx);
    free(format->val);
    memset(format, 0, sizeof *format);
}

bool ref_bits_make(ref_bits_t *out, const ref_matrix_t *x)
{
    *out = (ref_bits_t){.rows = x->m, .cols = x->n, .words = (x->n + 63) / 64};
    if (indexable(x)) {
        out->nnz = ref_matrix_nonzeros(x);
        out->bits = allocate(out->rows * out->words, sizeof *out->bits);
        out->first = allocate(out->rows, sizeof *out->first);
        out->val = allocate(out->nnz + REF_BITS_PAD, value_size(x));
    }
    if (out->bits == NULL || out->first == NULL || out->val == NULL) {
        ref_bits_free(out);
        return false;
    }
    int64_t at = 0;
    for (int64_t i = 0; i < x->m; i++) {
        for (int64_t j = 0; j < x->n; j++) {
            double value = ref_matrix_at(x, i, j);
            if (value == 0.0) continue;
            out->bits[i * out->words + j / 64] |= UINT64_C(1) << (j % 64);
            put_value(x, out->val, at++, value);
        }
        out->first[i + 1] = at;
    }
    return true;
}

void ref_bits_free(ref_bits_t *format)
{
    if (format == NULL) return;
    free(format->bits);
    free(format->first);
    free(format->val);
    memset(format, 0, sizeof *format);
}

bool ref_active_make(ref_active_t *out, const ref_matrix_t *x)
{
    ref_compressed_t csc;

    *out = (ref_active_t){.rows = x->m, .cols = x->n};
    if (!ref_csc_make(&csc, x)) return false; /* and *out holds nothing to free */
    for (int64_t j = 0; j < x->n; j++) out->active += csc.ptr[j + 1] > csc.ptr[j];
    out->nnz = csc.nnz;
    out->k = allocate(out->active, sizeof *out->k);
    out->slots = allocate(out->active * out->rows, value_size(x));
    out->first = allocate(out->active, sizeof *out->first);
    out->row = csc.idx;
    out->val = csc.val;
    csc.idx = NULL;
    csc.val = NULL;
    bool good = out->k != NULL && out->slots != NULL && out->first != NULL;
    for (int64_t j = 0, a = 0; good && j < x->n; j++) {
        if (csc.ptr[j + 1] == csc.ptr[j]) continue;
        for (int64_t e = csc.ptr[j]; e < csc.ptr[j + 1]; e++)
            put_value(x, out->slots, a * out->rows + out->row[e], ref_matrix_at(x, out->row[e], j));
        out->k[a] = (int32_t)j;
        out->first[++a] = csc.ptr[j + 1];
    }
    ref_compressed_free(&csc);
    if (!good) ref_active_free(out);
    return good;
}

void ref_active_free(ref_active_t *format)
{
    if (format == NULL) return;
    free(format->k);
    free(format->slots);
    free(format->first);
    free(format->row);
    free(format->val);
    memset(format, 0, sizeof *format);
}

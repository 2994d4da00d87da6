/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Allocation, views, poison and checksums of strided host matrices. */
#include "ref_matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref_random.h"

static int64_t allocated(const ref_matrix_t *x)
{
    return x->slots + 2 * x->guard;
}

static size_t bytes(const ref_matrix_t *x)
{
    return (size_t)allocated(x) * lac_dt_size(x->dt);
}

static void poison(ref_matrix_t *x)
{
    const uint64_t bits = ref_poison_bits(x->dt);
    const size_t size = lac_dt_size(x->dt);
    for (int64_t i = 0; i < allocated(x); i++) memcpy((char *)x->base + (size_t)i * size, &bits, size);
}

/* An empty matrix gets one byte, so that data is never NULL. */
static bool allocate(ref_matrix_t *x)
{
    size_t size = bytes(x) > 0 ? bytes(x) : 1;
    if (posix_memalign(&x->base, 64, size) != 0) {
        memset(x, 0, sizeof *x);
        return false;
    }
    x->data = (char *)x->base + (size_t)x->guard * lac_dt_size(x->dt);
    return true;
}

bool ref_matrix_alloc(ref_matrix_t *out, lac_dt_t dt, int64_t m, int64_t n, const ref_layout_t *layout,
                      int64_t guard)
{
    int64_t slots = ref_layout_slots(layout, m, n), width = layout->by_columns ? m : n;

    memset(out, 0, sizeof *out);
    if (slots < 0) return false;
    int64_t ld = (width * layout->step > 1 ? width * layout->step : 1) + layout->pad;
    *out = (ref_matrix_t){.dt = dt, .m = m, .n = n, .guard = guard, .slots = slots};
    out->rs = layout->by_columns ? layout->step : ld;
    out->cs = layout->by_columns ? ld : layout->step;
    if (!allocate(out)) return false;
    poison(out);
    return true;
}

bool ref_matrix_copy(ref_matrix_t *out, const ref_matrix_t *from)
{
    *out = *from;
    if (!allocate(out)) return false;
    memcpy(out->base, from->base, bytes(from));
    return true;
}

void ref_matrix_restore(ref_matrix_t *to, const ref_matrix_t *from)
{
    memcpy(to->base, from->base, bytes(from));
}

void ref_matrix_free(ref_matrix_t *matrix)
{
    if (matrix == NULL) return;
    free(matrix->base);
    memset(matrix, 0, sizeof *matrix);
}

ref_matrix_t ref_matrix_op(const ref_matrix_t *matrix, lac_trans_t trans)
{
    ref_matrix_t view = *matrix;
    if (trans == LAC_NO_TRANS) return view;
    view.m = matrix->n;
    view.n = matrix->m;
    view.rs = matrix->cs;
    view.cs = matrix->rs;
    return view;
}

lac_obj_t ref_matrix_obj(const ref_matrix_t *x, lac_trans_t trans)
{
    return (lac_obj_t){x->dt, LAC_HOST, trans, x->m, x->n, x->rs, x->cs, x->data, NULL};
}

int64_t ref_matrix_nonzeros(const ref_matrix_t *matrix)
{
    ref_matrix_t x = ref_matrix_op(matrix, matrix->rs < matrix->cs ? LAC_TRANS : LAC_NO_TRANS);
    int64_t count = 0;
    for (int64_t i = 0; i < x.m; i++)
        for (int64_t j = 0; j < x.n; j++) count += ref_matrix_at(&x, i, j) != 0.0;
    return count;
}

/* x has its longer stride in rs: slot `at` is element (at / rs, at % rs / cs) or padding. */
static bool is_element(const ref_matrix_t *x, int64_t at)
{
    if (at < 0 || at >= x->slots) return false;
    return at % x->rs % x->cs == 0 && at % x->rs / x->cs < x->n;
}

bool ref_matrix_padding_intact(const ref_matrix_t *matrix, int64_t *where)
{
    ref_matrix_t x = ref_matrix_op(matrix, matrix->rs < matrix->cs ? LAC_TRANS : LAC_NO_TRANS);
    bool tight = x.cs == 1 && x.rs == x.n;

    for (int64_t at = -x.guard; at < x.slots + x.guard; at++) {
        if (at == 0 && tight) at = x.slots; /* nothing but elements */
        if (at >= x.slots + x.guard) break;
        if (is_element(&x, at)) continue;
        const uint64_t poison = ref_poison_bits(x.dt);
        const char *slot = (const char *)x.data + at * (int64_t)lac_dt_size(x.dt);
        if (!memcmp(slot, &poison, lac_dt_size(x.dt))) continue;
        if (where != NULL) *where = at;
        return false;
    }
    return true;
}

static uint64_t checksum(const ref_matrix_t *x, bool one_nan)
{
    uint64_t sum = ref_stream((uint64_t)x->m, (uint64_t)x->n);
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) {
            int64_t at = i * x->rs + j * x->cs;
            uint64_t bits = 0;
            memcpy(&bits, (const char *)x->data + (size_t)at * lac_dt_size(x->dt), lac_dt_size(x->dt));
            if (one_nan && isnan(ref_matrix_at(x, i, j))) bits = UINT32_C(0x7fc00000);
            sum = ref_mix(sum ^ bits) + UINT64_C(0x9e3779b97f4a7c15);
        }
    return sum;
}

uint64_t ref_matrix_checksum(const ref_matrix_t *x)
{
    return checksum(x, false);
}

uint64_t ref_matrix_result_checksum(const ref_matrix_t *x)
{
    return checksum(x, true);
}

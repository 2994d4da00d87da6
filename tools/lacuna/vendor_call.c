/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The same product straight from the system BLAS. */
#include "vendor_call.h"
#include "api/interpose.h"

#include <string.h>

/* Of values of either type. */
typedef void (*gemm_fn)(const char *ta, const char *tb, const int32_t *m, const int32_t *n, const int32_t *k,
                        const void *alpha, const void *a, const int32_t *lda, const void *b,
                        const int32_t *ldb, const void *beta, void *c, const int32_t *ldc, size_t, size_t);
typedef void (*gemv_fn)(const char *ta, const int32_t *m, const int32_t *n, const void *alpha, const void *a,
                        const int32_t *lda, const void *x, const int32_t *incx, const void *beta, void *y,
                        const int32_t *incy, size_t);

static void *function_of(const ref_problem_t *p, bool gemv)
{
    bool f64 = p->c.dt == LAC_F64;
    return lac_blas_symbol(gemv ? (f64 ? "dgemv_" : "sgemv_") : f64 ? "dgemm_" : "sgemm_");
}

/* op(X), rows x cols, element (i, j) at data[i * rs + j * cs]. */
typedef struct view {
    const void *data;
    int64_t rows, cols, rs, cs;
} view_t;

static view_t view_of(const lac_obj_t *obj, bool transposed)
{
    bool swap = (obj->trans == LAC_TRANS) != transposed;
    view_t v = {obj->buf, obj->m, obj->n, obj->rs, obj->cs};
    if (swap) v = (view_t){obj->buf, obj->n, obj->m, obj->cs, obj->rs};
    return v;
}

/* Says a view as BLAS does: a letter and a leading dimension. False when neither stride is 1. */
static bool as_column_major(const view_t *v, char *trans, int32_t *ld)
{
    int64_t step;
    if (v->rs == 1 && (v->cs >= v->rows || v->cols <= 1)) {
        *trans = 'N';
        step = v->cs > v->rows ? v->cs : v->rows;
    } else if (v->cs == 1 && (v->rs >= v->cols || v->rows <= 1)) {
        *trans = 'T';
        step = v->rs > v->cols ? v->rs : v->cols;
    } else
        return false;
    *ld = (int32_t)(step > 0 ? step : 1);
    return step <= INT32_MAX;
}

static bool describe_gemm(vendor_call_t *call, const operand_set_t *set)
{
    /* A row-major C is the transposed product, column-major. */
    bool swap = !(set->c.rs == 1 && set->c.cs >= set->c.m);
    view_t left = view_of(swap ? &set->plain_b : &set->plain_a, swap);
    view_t right = view_of(swap ? &set->plain_a : &set->plain_b, swap);
    view_t out = view_of(&set->c, swap);
    char trans_c = 'N';
    if (!as_column_major(&left, &call->ta, &call->lda) || !as_column_major(&right, &call->tb, &call->ldb) ||
        !as_column_major(&out, &trans_c, &call->ldc) || trans_c != 'N')
        return false;
    call->m = (int32_t)left.rows;
    call->n = (int32_t)right.cols;
    call->k = (int32_t)left.cols;
    call->a = left.data;
    call->b = right.data;
    return true;
}

static bool describe_gemv(vendor_call_t *call, const operand_set_t *set)
{
    view_t a = view_of(&set->plain_a, false);
    if (!as_column_major(&a, &call->ta, &call->lda)) return false;
    call->m = (int32_t)(call->ta == 'N' ? a.rows : a.cols);
    call->n = (int32_t)(call->ta == 'N' ? a.cols : a.rows);
    call->ldb = (int32_t)set->plain_b.rs;
    call->ldc = (int32_t)set->c.rs;
    call->a = a.data;
    call->b = set->plain_b.buf;
    return true;
}

const char *vendor_call_make(vendor_call_t *call, const operand_set_t *set)
{
    const ref_problem_t *p = &set->problem;
    *call = (vendor_call_t){.gemv = ref_is_vector(p), .set = set, .c = set->c.buf};
    call->function = function_of(p, call->gemv);
    if (!call->function) return "no BLAS library was found";
    if (p->m > INT32_MAX || p->n > INT32_MAX || p->k > INT32_MAX) return "an extent overflows 32 bits";
    if (call->gemv ? describe_gemv(call, set) : describe_gemm(call, set)) return NULL;
    return "BLAS cannot say these strides";
}

/* C[m, 1] := op(A) op(B)[:, 0], or C[1, n]' := op(B)' op(A)[0, :]'. */
const char *vendor_call_make_gemv(vendor_call_t *call, const operand_set_t *set)
{
    const ref_problem_t *p = &set->problem;
    bool column = p->n == 1;
    if (ref_is_vector(p) || (!column && p->m != 1)) return "C is no vector";
    view_t a = column ? view_of(&set->plain_a, false) : view_of(&set->plain_b, true);
    view_t x = column ? view_of(&set->plain_b, false) : view_of(&set->plain_a, true);
    view_t y = view_of(&set->c, !column);
    *call = (vendor_call_t){.gemv = true, .set = set, .c = set->c.buf};
    call->function = function_of(p, true);
    if (!call->function) return "no BLAS library was found";
    bool fits =
        p->m <= INT32_MAX && p->n <= INT32_MAX && p->k <= INT32_MAX && x.rs <= INT32_MAX && y.rs <= INT32_MAX;
    if (!fits) return "an extent overflows 32 bits";
    if (x.rs < 1 || y.rs < 1 || !as_column_major(&a, &call->ta, &call->lda))
        return "BLAS cannot say these strides";
    call->m = (int32_t)(call->ta == 'N' ? a.rows : a.cols);
    call->n = (int32_t)(call->ta == 'N' ? a.cols : a.rows);
    call->ldb = (int32_t)x.rs;
    call->ldc = (int32_t)y.rs;
    call->a = a.data;
    call->b = x.data;
    return NULL;
}

void vendor_call_run(const vendor_call_t *v)
{
    const void *alpha = operand_set_alpha(v->set), *beta = operand_set_beta(v->set);
    if (v->gemv) {
        gemv_fn gemv;
        memcpy(&gemv, &v->function, sizeof gemv);
        gemv(&v->ta, &v->m, &v->n, alpha, v->a, &v->lda, v->b, &v->ldb, beta, v->c, &v->ldc, 1);
        return;
    }
    gemm_fn gemm;
    memcpy(&gemm, &v->function, sizeof gemm);
    gemm(&v->ta, &v->tb, &v->m, &v->n, &v->k, alpha, v->a, &v->lda, v->b, &v->ldb, beta, v->c, &v->ldc, 1, 1);
}

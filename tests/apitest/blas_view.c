/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A problem's product as a column-major BLAS takes it. */
#include "blas_view.h"

bool blas_takes(const lac_obj_t *x)
{
    return x->dt == LAC_F32 && x->buf && x->m > 0 && x->n > 0;
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

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What devices that are none compute by plain loops. */
#include "reference_loops.h"
#include "api/interpose.h"

lac_status_t reference_loops_add(lac_exec_t *exec, lac_dim_t m, lac_dim_t n, const float *x, lac_inc_t xrs,
                                 lac_inc_t xcs, float beta, float *to, lac_inc_t rs, lac_inc_t cs)
{
    (void)exec;
    for (lac_dim_t i = 0; i < m; i++)
        for (lac_dim_t j = 0; j < n; j++) {
            float *at = &to[i * rs + j * cs];
            *at = (beta != 0.0f ? beta * *at : 0.0f) + x[i * xrs + j * xcs];
        }
    return LAC_OK;
}

static int64_t index_at(const void *list, lac_index_t type, int64_t i)
{
    return type == LAC_I64 ? ((const int64_t *)list)[i] : ((const int32_t *)list)[i];
}

/* The sum over the entries of row i of A, wherever they are stored. */
static double sparse_row(const lac_spmm_t *x, lac_dim_t i, lac_dim_t j)
{
    bool transposed = x->trans == LAC_TRANS;
    double sum = 0.0;
    for (lac_dim_t r = transposed ? 0 : i; r < (transposed ? x->k : i + 1); r++) {
        int64_t end = index_at(x->ptr, x->ptr_type, r + 1);
        for (int64_t e = index_at(x->ptr, x->ptr_type, r); e < end; e++) {
            int64_t at = index_at(x->idx, x->idx_type, e), k = transposed ? r : at;
            if (!transposed || at == i) sum += (double)x->val[e] * (double)x->b[k * x->rsb + j * x->csb];
        }
    }
    return sum;
}

lac_status_t reference_loops_spmm(lac_exec_t *exec, const lac_spmm_t *x)
{
    (void)exec;
    for (lac_dim_t i = 0; i < x->m; i++)
        for (lac_dim_t j = 0; j < x->n; j++) {
            float *c = x->c + i * x->rsc + j * x->csc;
            double before = *x->beta != 0.0f ? (double)(*x->beta * *c) : 0.0;
            double sum = *x->alpha != 0.0f ? (double)*x->alpha * sparse_row(x, i, j) : 0.0;
            *c = (float)(sum + before);
        }
    return LAC_OK;
}

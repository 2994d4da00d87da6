/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Keys, views and sums of column-major products. */
#include "column_product.h"

#include <string.h>

lac_site_key_t lac_column_key(lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n, lac_dim_t k,
                              lac_inc_t lda, lac_inc_t ldb, uint64_t site_bits, const void *caller)
{
    lac_site_key_t at = {.m = m, .n = n, .k = k, .caller = caller, .types = site_bits};
    at.ars = ta == LAC_TRANS ? lda : 1, at.acs = ta == LAC_TRANS ? 1 : lda;
    at.brs = tb == LAC_TRANS ? ldb : 1, at.bcs = tb == LAC_TRANS ? 1 : ldb;
    return at;
}

lac_obj_t lac_column_obj(lac_space_t space, lac_trans_t trans, lac_dim_t rows, lac_dim_t cols,
                         const float *buf, lac_inc_t rs, lac_inc_t ld)
{
    bool swapped = trans == LAC_TRANS;
    lac_obj_t x = {LAC_F32, space, trans, swapped ? cols : rows, swapped ? rows : cols, rs, ld, NULL, NULL};
    memcpy(&x.buf, &buf, sizeof buf);
    return x;
}

lac_status_t lac_residual_queue(const lac_ctx_t *ctx, const lac_residual_t *residual, const lac_problem_t *p)
{
    const lac_device_t *device = ctx->backend->device;
    lac_status_t status = LAC_OK;
    if (residual->d)
        status =
            device->add(ctx->exec, p->m, p->n, residual->d, 1, residual->ldd, 1.0f, p->c, p->crs, p->ccs);
    if (!status && residual->bias)
        status = device->add(ctx->exec, p->m, p->n, residual->bias, 1, 0, 1.0f, p->c, p->crs, p->ccs);
    return status;
}

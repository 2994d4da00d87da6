/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Scanning metadata from an operand's buffer. */
#include "entry.h"
#include "../base/log.h"
#include "../base/status.h"
#include "../data/check.h"
#include "../data/metadata.h"
#include "../dispatch/ctx_state.h"

#define SCANS (LAC_META_DENSITY | LAC_META_BITMASK | LAC_META_CSR | LAC_META_CSC | LAC_META_ACTIVE)

lac_status_t lac_meta_create_for(lac_ctx_t *ctx, lac_meta_t **meta, lac_dim_t m, lac_dim_t n)
{
    lac_clear_error();
    if (!ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    lac_status_t status = lac_meta_create(meta, m, n);
    if (status) return status;
    (*meta)->memory = ctx->backend->memory;
    (*meta)->device = ctx->device;
    lac_meta_settle(*meta, ctx->backend->space);
    return LAC_OK;
}

lac_status_t lac_meta_scan(lac_ctx_t *ctx, const lac_obj_t *obj, unsigned what)
{
    lac_clear_error();
    if (!ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    if (!obj) return lac_fail(LAC_ERR_NULL, "obj: is NULL");
    if (!obj->meta) return lac_fail(LAC_ERR_NULL, "obj.meta: is NULL");
    if (!obj->buf && obj->m && obj->n)
        return lac_fail(LAC_ERR_EMPTY, "obj.buf: is NULL, there is nothing to scan");
    if (!what || what & ~SCANS)
        return lac_fail(LAC_ERR_VALUE, "what: 0x%x is not made of LAC_META_ bits", what);
    lac_status_t status = lac_check_operand("obj", obj, false, ctx->backend->space);
    if (status) return status;
    if (obj->buf && ctx->backend->check) status = ctx->backend->check(ctx->exec, "obj", obj->buf);
    if (status) return status;
    int token = lac_enter(ctx);
    lac_meta_lock(obj->meta);
    status = ctx->backend->scan(ctx->exec, obj, what, ctx->policy.threads);
    lac_meta_unlock(obj->meta);
    lac_leave(ctx, token);
    if (!status && ctx->policy.verbose & LAC_VERBOSE_META)
        lac_log("lacuna,1,meta,scan,%lldx%lld,%lld nonzero", (long long)obj->m, (long long)obj->n,
                (long long)obj->meta->nnz);
    return status;
}

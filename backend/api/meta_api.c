/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Scanning metadata from an operand's buffer. */
#include "../base/status.h"
#include "../data/check.h"
#include "../data/metadata.h"
#include "../dispatch/ctx_state.h"
#include "../host/forms.h"

#define SCANS (LAC_META_DENSITY | LAC_META_BITMASK | LAC_META_CSR | LAC_META_CSC | LAC_META_ACTIVE)

static const struct {
    unsigned bit;
    lac_form_t form;
} scans[] = {{LAC_META_CSR, LAC_FORM_CSR},
             {LAC_META_CSC, LAC_FORM_CSC},
             {LAC_META_BITMASK, LAC_FORM_BITS},
             {LAC_META_ACTIVE, LAC_FORM_ACTIVE}};

static lac_status_t scan_density(lac_ctx_t *ctx, const lac_stored_t *x, lac_meta_t *meta)
{
    int64_t nnz = lac_count_nonzeros(&ctx->exec, x, ctx->policy.threads);
    if (nnz < 0) return LAC_ERR_MEMORY;
    meta->nnz = nnz;
    meta->density_origin = LAC_ORIGIN_SCANNED;
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
    lac_status_t status = lac_check_operand("obj", obj, false);
    if (status) return status;
    lac_stored_t x = {obj->dt, obj->m, obj->n, obj->rs, obj->cs, obj->buf};
    pthread_mutex_lock(&obj->meta->build);
    for (size_t i = 0; !status && i < sizeof scans / sizeof *scans; i++) {
        lac_form_data_t data;
        if (!(what & scans[i].bit)) continue;
        status = lac_form_build(&ctx->exec, &x, ctx->policy.threads, scans[i].form, &data);
        if (!status) lac_meta_install(obj->meta, scans[i].form, &data);
    }
    /* CSR, CSC and the bitmask count as they are built. */
    bool counted = what & (LAC_META_CSR | LAC_META_CSC | LAC_META_BITMASK);
    if (!status && !counted) status = scan_density(ctx, &x, obj->meta);
    pthread_mutex_unlock(&obj->meta->build);
    return status;
}

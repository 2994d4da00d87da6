/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operands by their address: registered by the program, or by a shape that its user has named. */
#include "entry.h"
#include "base/log.h"
#include "base/status.h"
#include "operand/check.h"
#include "lacuna/register.h"

enum { BY_SHAPE_MAX = 1024 }; /* operands that are registered by their shape, in the whole process */

static lac_memory_id_t memory_of(const lac_ctx_t *ctx, const void *buf)
{
    bool numbered = ctx->backend->allocation != NULL;
    return (lac_memory_id_t){ctx->backend->space == LAC_HOST ? -1 : ctx->device,
                             numbered ? ctx->backend->allocation(ctx->exec, buf) : 0};
}

static void tell(const lac_ctx_t *ctx, const lac_obj_t *x, const char *what)
{
    if (ctx->policy.verbose & LAC_VERBOSE_META)
        lac_log("lacuna,1,meta,%s,%lldx%lld,%p", what, (long long)x->m, (long long)x->n, x->buf);
}

static lac_status_t check(const lac_ctx_t *ctx, const lac_obj_t *obj)
{
    lac_status_t status = lac_check_any_operand("obj", obj, false, lac_location_of(ctx));
    if (status) return status;
    if (!obj->meta) return lac_fail(LAC_ERR_NULL, "obj.meta: is NULL, and nothing else is registered");
    if (!obj->buf) return lac_fail(LAC_ERR_EMPTY, "obj.buf: is NULL, and calls would know it by that");
    if (obj->dt == LAC_U8) return lac_fail(LAC_ERR_TYPE, "obj.dt: is LAC_U8, as no drop-in call is");
    if (!obj->m || !obj->n) return lac_fail(LAC_ERR_EXTENT, "obj: has no elements");
    if (!obj->meta->frozen && !lac_meta_trusted(obj->meta))
        return lac_fail(LAC_ERR_VALUE,
                        "obj.meta: is neither frozen nor attached: nothing says that it will be true");
    return ctx->backend->check ? ctx->backend->check(ctx->exec, "obj", obj->buf) : LAC_OK;
}

lac_status_t lac_register(lac_ctx_t *ctx, const lac_obj_t *obj)
{
    lac_clear_error();
    if (!ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    lac_status_t status = check(ctx, obj);
    if (status) return status;
    int token = lac_enter(ctx);
    lac_memory_id_t at = memory_of(ctx, obj->buf);
    lac_leave(ctx, token);
    status = lac_registry_add(obj, at, false);
    if (!status) tell(ctx, obj, "registered");
    return status;
}

lac_status_t lac_unregister(const void *buf)
{
    lac_clear_error();
    if (!buf) return lac_fail(LAC_ERR_NULL, "buf: is NULL");
    return lac_registry_remove(buf) ? LAC_OK
                                    : lac_fail(LAC_ERR_VALUE, "buf: nothing was registered at %p", buf);
}

/* A metadata that knows nothing yet but that the contents stay: looks and copies then pay for long. */
static void add_by_shape(lac_ctx_t *ctx, const lac_obj_t *x, lac_memory_id_t at)
{
    lac_obj_t obj = *x;
    obj.trans = LAC_NO_TRANS;
    if (lac_registry_size >= BY_SHAPE_MAX || lac_meta_create(&obj.meta, x->m, x->n)) return;
    lac_meta_settle(obj.meta, lac_location_of(ctx));
    if (lac_meta_freeze(obj.meta) || lac_registry_add(&obj, at, true))
        lac_meta_free(obj.meta);
    else
        tell(ctx, &obj, "frozen by shape");
    lac_clear_error();
}

/* What was frozen by its shape, and lay anywhere here, gives way where that memory is another now. */
static void meet_by_shape(lac_ctx_t *ctx, const lac_obj_t *x)
{
    const lac_device_t *device = ctx->backend->device;
    const void *there;
    lac_memory_id_t then;
    if (device && device->capturing(ctx->exec)) return;
    while (lac_registry_meets(x, &there, &then))
        if (memory_of(ctx, there).allocation == then.allocation || !lac_registry_drop_owned(there)) return;
    add_by_shape(ctx, x, memory_of(ctx, x->buf));
}

/* A device answers later: until then the owner's word counts. */
static bool is_unchanged(const lac_ctx_t *ctx, lac_registered_t *found, const lac_obj_t *x)
{
    bool asks;
    uint64_t fingerprint;
    lac_operand_t stored = {.dt = x->dt, .buf = x->buf, .rs = x->rs, .cs = x->cs};
    if (!ctx->backend->fingerprint || !lac_registered_watch(found, &asks)) return true;
    if (!ctx->backend->fingerprint(ctx->exec, &stored, x->m, x->n, found, asks, &fingerprint)) return true;
    return lac_registered_compare(found, fingerprint);
}

static lac_registered_t *take(lac_ctx_t *ctx, lac_obj_t *x)
{
    lac_obj_t call = *x;
    lac_memory_id_t at = {ctx->backend->space == LAC_HOST ? -1 : ctx->device, 0};
    lac_registered_t *found = lac_registry_borrow(x, at.device);
    if (!found || !ctx->backend->allocation) return found;
    bool there = ctx->backend->allocation(ctx->exec, x->buf) == lac_registered_allocation(found);
    if (there && is_unchanged(ctx, found, x)) return found;
    if (!there) lac_registered_end(found);
    lac_registry_give_back(found);
    tell(ctx, &call, there ? "changed since it was registered" : "freed since it was registered");
    *x = call;
    return NULL;
}

static lac_registered_t *take_or_meet(lac_ctx_t *ctx, lac_obj_t *x)
{
    lac_registered_t *found = take(ctx, x);
    if (found || !lac_policy_freezes(&ctx->policy, x->m, x->n)) return found;
    meet_by_shape(ctx, x);
    return take(ctx, x);
}

lac_known_t lac_known_take(lac_ctx_t *ctx, lac_obj_t *a, lac_obj_t *b)
{
    lac_known_t known = {NULL, NULL};
    if (ctx->policy.detect == LAC_DETECT_OFF || (!lac_registry_size && !ctx->policy.frozen_count))
        return known;
    known.a = take_or_meet(ctx, a);
    known.b = take_or_meet(ctx, b);
    return known;
}

void lac_known_give_back(const lac_known_t *known)
{
    lac_registry_give_back(known->a);
    lac_registry_give_back(known->b);
}

lac_known_t lac_known_of_call(lac_ctx_t *ctx, const lac_gemm_args_t *args, lac_obj_t *a, lac_obj_t *b,
                              lac_problem_t *p)
{
    lac_known_t known = {NULL, NULL};
    if (args->batch.count > 1 || !(args->registered || ctx->policy.frozen_count)) return known;
    /* Metadata describes all that a buffer holds: of a symmetric operand, more than counts. */
    lac_obj_t nothing = {.dt = args->dt};
    known = lac_known_take(ctx, p->a.triangle ? &nothing : a, p->b.triangle ? &nothing : b);
    if (known.a) p->a = lac_operand_describe(a);
    if (known.b) p->b = lac_operand_describe(b);
    return known;
}

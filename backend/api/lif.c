/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lac_lif_step: what a caller's arrays must be; a product for each input, and the backend's neurons. */
#include "entry.h"
#include "base/status.h"
#include "operand/check.h"
#include "lacuna/lif.h"

#include <inttypes.h>
#include <stdio.h>

/* One array of the caller's. */
typedef struct array {
    char name[32];
    const void *memory;
    int64_t count;
    size_t width;
    bool written;
} array_t;

enum { ARRAYS_MAX = 10 + 2 * LAC_LIF_INPUTS_MAX };

typedef struct arrays {
    int count;
    array_t at[ARRAYS_MAX];
} arrays_t;

static void add(arrays_t *arrays, const char *name, const void *memory, int64_t count, size_t width,
                bool written)
{
    array_t *x = &arrays->at[arrays->count++];
    *x = (array_t){.memory = memory, .count = count, .width = width, .written = written};
    snprintf(x->name, sizeof x->name, "%s", name);
}

static void input_name(char *text, size_t size, int q, const char *member)
{
    snprintf(text, size, "lif.input[%d].%s", q, member);
}

/* All but the operands of products. */
static void list_arrays(const lac_lif_t *lif, arrays_t *arrays)
{
    int64_t neurons = lif->m * lif->n;
    arrays->count = 0;
    add(arrays, "lif.v", lif->v, neurons, sizeof *lif->v, true);
    add(arrays, "lif.spikes", lif->spikes, neurons, sizeof *lif->spikes, true);
    if (lif->spikes_twin)
        add(arrays, "lif.spikes_twin", lif->spikes_twin, neurons, sizeof *lif->spikes, true);
    if (lif->refractory) add(arrays, "lif.wait", lif->wait, neurons, sizeof *lif->wait, true);
    int64_t words = lif->m * ((lif->n + 63) / 64);
    if (lif->bits) add(arrays, "lif.bits", lif->bits, words, sizeof *lif->bits, true);
    if (lif->bits_twin) add(arrays, "lif.bits_twin", lif->bits_twin, words, sizeof *lif->bits, true);
    if (lif->list) {
        add(arrays, "lif.list", lif->list, neurons, sizeof *lif->list, true);
        add(arrays, "lif.count", lif->count, lif->m, sizeof *lif->count, true);
    }
    if (lif->current) add(arrays, "lif.current", lif->current, lif->n, sizeof *lif->current, false);
    for (int q = 0; q < lif->inputs; q++) {
        char name[32];
        input_name(name, sizeof name, q, "g");
        add(arrays, name, lif->input[q].g, neurons, sizeof(float), true);
        input_name(name, sizeof name, q, "received");
        add(arrays, name, lif->input[q].received, neurons, sizeof(float), true);
    }
}

static lac_status_t check_values(const lac_lif_t *lif)
{
    if (lif->size < sizeof *lif)
        return lac_fail(LAC_ERR_VALUE, "lif.size: is %zu; set it to sizeof(lac_lif_t)", lif->size);
    if (lif->m < 0 || lif->n < 0)
        return lac_fail(LAC_ERR_EXTENT, "lif.m, lif.n: %" PRId64 " x %" PRId64 " is negative", lif->m,
                        lif->n);
    int64_t neurons;
    if (__builtin_mul_overflow(lif->m, lif->n, &neurons) || neurons > PTRDIFF_MAX / (int64_t)sizeof(float))
        return lac_fail(LAC_ERR_EXTENT, "lif.m, lif.n: %" PRId64 " x %" PRId64 " overflows memory", lif->m,
                        lif->n);
    if (lif->list && lif->n > INT32_MAX)
        return lac_fail(LAC_ERR_EXTENT, "lif.n: %" PRId64 " overflows the 32-bit indices of lif.list",
                        lif->n);
    if (!(lif->dt > 0.0f)) return lac_fail(LAC_ERR_VALUE, "lif.dt: %g is not above 0", (double)lif->dt);
    if (!(lif->tau > 0.0f)) return lac_fail(LAC_ERR_VALUE, "lif.tau: %g is not above 0", (double)lif->tau);
    if (lif->refractory < 0)
        return lac_fail(LAC_ERR_VALUE, "lif.refractory: %d is negative", (int)lif->refractory);
    if (lif->inputs < 0 || lif->inputs > LAC_LIF_INPUTS_MAX)
        return lac_fail(LAC_ERR_VALUE, "lif.inputs: %d is outside [0, %d]", lif->inputs, LAC_LIF_INPUTS_MAX);
    if (lif->bits_twin && !lif->bits) return lac_fail(LAC_ERR_NULL, "lif.bits: is NULL beside lif.bits_twin");
    if (lif->inputs && !lif->input) return lac_fail(LAC_ERR_NULL, "lif.input: is NULL");
    return LAC_OK;
}

/* Each array is there, lies in the context's space, and shares no memory with another that is written. */
static lac_status_t check_arrays(const lac_ctx_t *ctx, const arrays_t *arrays)
{
    for (int i = 0; i < arrays->count; i++) {
        const array_t *x = &arrays->at[i];
        if (!x->count) continue;
        if (!x->memory) return lac_fail(LAC_ERR_NULL, "%s: is NULL", x->name);
        lac_status_t status =
            ctx->backend->check ? ctx->backend->check(ctx->exec, x->name, x->memory) : LAC_OK;
        if (status) return status;
        for (int j = 0; j < i; j++) {
            const array_t *y = &arrays->at[j];
            lac_obj_t one = lac_view_array(x->memory, x->count, x->width),
                      other = lac_view_array(y->memory, y->count, y->width);
            if ((x->written || y->written) && y->count && lac_share_memory(&one, &other))
                return lac_fail(LAC_ERR_ALIAS, "%s: overlaps %s", x->name, y->name);
        }
    }
    return LAC_OK;
}

static lac_status_t check_operand(const lac_ctx_t *ctx, const lac_lif_t *lif, const char *name,
                                  const lac_obj_t *obj, const arrays_t *arrays, bool may_be_spikes)
{
    lac_status_t status = lac_check_operand(name, obj, false, lac_location_of(ctx));
    if (!status && obj->buf && ctx->backend->check) status = ctx->backend->check(ctx->exec, name, obj->buf);
    for (int i = 0; !status && obj->buf && i < arrays->count; i++) {
        const array_t *x = &arrays->at[i];
        lac_obj_t array = lac_view_array(x->memory, x->count, x->width);
        bool spikes = x->memory == lif->spikes || x->memory == lif->spikes_twin;
        if (!x->written || !x->count || (may_be_spikes && spikes)) continue;
        if (lac_share_memory(obj, &array)) return lac_fail(LAC_ERR_ALIAS, "%s: overlaps %s", name, x->name);
    }
    return status;
}

static lac_status_t check_input(const lac_ctx_t *ctx, const lac_lif_t *lif, int q, const arrays_t *arrays)
{
    const lac_lif_input_t *x = &lif->input[q];
    char events[32], w[32];
    lac_status_t status;
    input_name(events, sizeof events, q, "events");
    input_name(w, sizeof w, q, "w");
    if ((status = check_operand(ctx, lif, events, &x->events, arrays, true))) return status;
    if ((status = check_operand(ctx, lif, w, &x->w, arrays, false))) return status;
    if (lac_obj_rows(&x->events) != lif->m)
        return lac_fail(LAC_ERR_EXTENT, "%s: has %" PRId64 " rows, lif.m is %" PRId64, events,
                        lac_obj_rows(&x->events), lif->m);
    if (lac_obj_cols(&x->events) != lac_obj_rows(&x->w))
        return lac_fail(LAC_ERR_EXTENT, "%s: has %" PRId64 " rows, %s has %" PRId64 " columns", w,
                        lac_obj_rows(&x->w), events, lac_obj_cols(&x->events));
    if (lac_obj_cols(&x->w) != lif->n)
        return lac_fail(LAC_ERR_EXTENT, "%s: has %" PRId64 " columns, lif.n is %" PRId64, w,
                        lac_obj_cols(&x->w), lif->n);
    return LAC_OK;
}

static lac_status_t check(const lac_ctx_t *ctx, const lac_lif_t *lif)
{
    arrays_t arrays;
    lac_status_t status;
    if (!ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    if (!lif) return lac_fail(LAC_ERR_NULL, "lif: is NULL");
    if ((status = check_values(lif))) return status;
    if (ctx->policy.strict_nan)
        return lac_fail(LAC_ERR_VALUE,
                        "ctx: the option nan is strict, and a step never multiplies zeros of its events");
    if (!ctx->backend->lif)
        return lac_fail(LAC_ERR_UNAVAILABLE, "ctx: the %s backend has no neurons", ctx->backend->name);
    list_arrays(lif, &arrays);
    if ((status = check_arrays(ctx, &arrays))) return status;
    for (int q = 0; !status && q < lif->inputs; q++) status = check_input(ctx, lif, q, &arrays);
    return status;
}

lac_status_t lac_lif_step(lac_ctx_t *ctx, const lac_lif_t *lif)
{
    lac_clear_error();
    lac_status_t status = check(ctx, lif);
    if (status || !lif->m || !lif->n) return status;
    for (int q = 0; !status && q < lif->inputs; q++) {
        const lac_lif_input_t *x = &lif->input[q];
        if (ctx->backend->chain) ctx->backend->chain(ctx->exec, q > 0);
        lac_call_opts_t call = {.size = sizeof call, .symbol = "lac_lif_step", .skip = LAC_SKIP_GUARANTEED_A};
        lac_obj_t received = lac_view(LAC_F32, ctx->backend->space, lif->m, lif->n, x->received, lif->n, 1);
        status = lac_gemm_ex(ctx, NULL, &x->events, &x->w, NULL, &received, &call);
    }
    if (ctx->backend->chain) ctx->backend->chain(ctx->exec, false);
    if (status) return status;
    int token = lac_enter(ctx);
    status = ctx->backend->lif(ctx->exec, lif, ctx->policy.threads);
    lac_leave(ctx, token);
    return status;
}

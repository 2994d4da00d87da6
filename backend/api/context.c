/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Life of a context, its options and its facts. */
#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "base/threads.h"
#include "base/vendor.h"
#include "planner/context.h"
#include "planner/backends.h"
#include "planner/spmm_autotune.h"
#include "planner/statistics.h"
#include "planner/tune_file.h"
#include "host/runtime/backend.h"
#include "lacuna/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRING(x)  #x
#define TEXT_OF(x) STRING(x)

const char *lac_version(void)
{
    return TEXT_OF(LACUNA_VERSION);
}

static lac_status_t create(lac_ctx_t **ctx, const lac_backend_t *backend, lac_device_request_t request)
{
    lac_ctx_t *made = calloc(1, sizeof *made);
    if (!made) return lac_fail(LAC_ERR_MEMORY, "context: out of memory");
    lac_policy_load(&made->policy);
    lac_tune_load(&made->machine, made->policy.threads, made->machine_source, sizeof made->machine_source);
    made->tuned = made->machine.noise < LAC_NOISE_MAX;
    made->now_us = lac_now_us;
    request.threads = made->policy.threads;
    lac_status_t status = backend->open(&made->exec, &request, &made->machine);
    if (status) {
        free(made);
        return status;
    }
    const char *estimated = backend->estimate ? backend->estimate(made->exec, &made->machine) : "as shipped";
    snprintf(made->device_source, sizeof made->device_source, "%s", estimated);
    made->device_name = request.name;
    if (request.name)
        lac_tune_load_device(&made->machine, request.name, made->device_source, sizeof made->device_source);
    made->backend = backend;
    made->device = request.device;
    made->routes = backend->routes(&made->route_count);
    lac_statistics_enlist(made);
    *ctx = made;
    return LAC_OK;
}

lac_status_t lac_ctx_create_cuda(lac_ctx_t **ctx, int device, void *stream)
{
    const char *why;
    lac_clear_error();
    if (!ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    *ctx = NULL;
    const lac_backend_t *cuda = lac_backend_cuda(&why);
    if (!cuda) return lac_fail(LAC_ERR_UNAVAILABLE, "device: no CUDA backend: %s", why);
    return create(ctx, cuda, (lac_device_request_t){.device = device, .stream = stream});
}

lac_status_t lac_ctx_create(lac_ctx_t **ctx)
{
    lac_clear_error();
    if (!ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    *ctx = NULL;
    if (!lac_blas_can_load())
        return lac_fail(LAC_ERR_UNAVAILABLE,
                        "context: a fully static executable can load no BLAS; link the C "
                        "library dynamically, or set LACUNA_BLAS=none to do without");
    return create(ctx, &lac_backend_host, (lac_device_request_t){.device = -1});
}

void lac_ctx_free(lac_ctx_t *ctx)
{
    if (!ctx) return;
    lac_statistics_retire(ctx);
    ctx->backend->close(ctx->exec);
    lac_sites_free(&ctx->sites);
    lac_spmm_autotune_free(ctx->autotune);
    free(ctx);
}

/* What was found of the sites rests on constants or options that change; what was counted there is told at
 * exit all the same. */
static void forget_sites(lac_ctx_t *ctx)
{
    lac_statistics_retire(ctx);
    ctx->forwarded = NULL;
    lac_sites_free(&ctx->sites);
}

lac_status_t lac_ctx_set(lac_ctx_t *ctx, const char *option, const char *value)
{
    lac_clear_error();
    if (!ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    if (!option) return lac_fail(LAC_ERR_NULL, "option: is NULL");
    if (!value) return lac_fail(LAC_ERR_NULL, "value: is NULL");
    lac_policy_t changed = ctx->policy;
    bool known;
    const char *accepted = lac_policy_set(&changed, option, value, "function", &known);
    if (!known) return lac_fail(LAC_ERR_VALUE, "option: '%.64s' is none of: %s", option, lac_policy_names());
    if (accepted)
        return lac_fail(LAC_ERR_VALUE, "value: '%.64s' is not accepted for %s; expected %s", value, option,
                        accepted);
    if (ctx->policy.backend_pinned) lac_policy_keep_backend(&changed, &ctx->policy);
    bool anew = lac_policy_decides_otherwise(&ctx->policy, &changed) || ctx->policy.stats != changed.stats;
    if (anew) forget_sites(ctx);
    ctx->policy = changed;
    if (anew) lac_statistics_enlist(ctx);
    return LAC_OK;
}

size_t lac_ctx_bytes(const lac_ctx_t *ctx)
{
    if (!ctx) return 0;
    return sizeof *ctx + lac_sites_bytes(&ctx->sites) + ctx->backend->bytes(ctx->exec);
}

lac_status_t lac_ctx_info(lac_ctx_t *ctx, lac_info_fn fact, void *arg)
{
    char key[64], text[512];
    const char *why;
    lac_clear_error();
    if (!ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    if (!fact) return lac_fail(LAC_ERR_NULL, "fact: is NULL");
    fact(arg, "version", lac_version());
    lac_processor_name(text, sizeof text);
    fact(arg, "processor", text);
    snprintf(text, sizeof text, "%d", lac_processors());
    fact(arg, "processors", text);
    fact(arg, "backend host", "built in");
    const lac_backend_t *cuda = lac_backend_cuda(&why);
    if (cuda) cuda->describe(text, sizeof text);
    fact(arg, "backend cuda", cuda ? text : why);
    fact(arg, "backend", ctx->backend->name);
    ctx->backend->info(ctx->exec, fact, arg);
    for (int i = 0; i < ctx->route_count; i++) { /* the sides of one route are neighbours */
        const lac_route_entry_t *entry = lac_route_named(ctx->routes[i]->name);
        if (!entry || (i > 0 && !strcmp(ctx->routes[i - 1]->name, entry->name))) continue;
        snprintf(key, sizeof key, "route %s", entry->name);
        snprintf(text, sizeof text, "%s: %s", lac_role_name(entry->role), entry->text);
        fact(arg, key, text);
    }
    for (int i = 0; i < lac_policy_count(); i++) {
        size_t used;
        lac_policy_text(&ctx->policy, i, text, sizeof text - 32);
        for (used = 0; text[used]; used++) {
        }
        snprintf(text + used, sizeof text - used, " (%s)", ctx->policy.origin[i]);
        snprintf(key, sizeof key, "option %s", lac_policy_name(i));
        fact(arg, key, text);
    }
    lac_tune_shown_path(ctx->machine_source, text, sizeof text);
    fact(arg, "constants", text);
    if (ctx->device_name) {
        lac_tune_shown_path(ctx->device_source, text, sizeof text);
        fact(arg, "device constants", text);
    }
    for (int i = 0; i < lac_constant_count; i++) {
        snprintf(key, sizeof key, "constant %s", lac_constants[i].name);
        snprintf(text, sizeof text, "%.4g %s: %s", *lac_machine_value(&ctx->machine, i),
                 lac_constants[i].unit, lac_constants[i].text);
        fact(arg, key, text);
    }
    return LAC_OK;
}

lac_status_t lac_tune(lac_ctx_t *ctx, const char *path, lac_info_fn progress, void *arg)
{
    char written[sizeof ctx->machine_source], *source;
    lac_clear_error();
    if (!ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    lac_machine_t measured = ctx->machine;
    lac_tune_key_t key = {ctx->policy.threads, ctx->device_name};
    lac_status_t status = lac_tune_try(&key, path); /* before seconds are spent on it */
    if (!status) status = ctx->backend->tune(ctx->exec, ctx->policy.threads, &measured, progress, arg);
    if (!status) status = lac_tune_save(&measured, &key, path, written, sizeof written);
    if (status) return status;
    if (!ctx->device_name && measured.noise >= LAC_NOISE_MAX)
        lac_warn(
            "tune: noisy machine: repeated measurements differ by %.0f %%; the stored constants are trusted "
            "like the defaults; run 'lacuna tune' again when nothing else runs",
            100.0 * measured.noise);
    ctx->machine = measured;
    source = ctx->device_name ? ctx->device_source : ctx->machine_source;
    snprintf(source, sizeof written, "%s", written);
    ctx->tuned = measured.noise < LAC_NOISE_MAX;
    ctx->learned = (lac_learned_t){0};
    forget_sites(ctx);
    lac_statistics_enlist(ctx);
    return LAC_OK;
}

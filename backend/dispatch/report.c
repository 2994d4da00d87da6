/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Verbose lines in a versioned form, and one table at exit over all contexts and their sites. */
#include "report.h"
#include "../base/log.h"
#include "../base/memory.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOP_SITES 20

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static lac_ctx_t *live;     /* contexts whose sites will be told of    */
static lac_site_t *retired; /* sites of contexts that are gone already */
static size_t retired_count, retired_room;
static bool registered;

bool lac_report_wanted(const lac_policy_t *policy)
{
    return policy->stats || policy->verbose & LAC_VERBOSE_EXEC;
}

static char letter(lac_inc_t rs, lac_inc_t cs)
{
    return cs == 1 ? 'N' : rs == 1 ? 'T' : 'G';
}

/* The module and offset of the calling instruction. */
static void name_caller(const void *caller, char *text, size_t size)
{
    Dl_info info;
    if (!caller || !dladdr(caller, &info) || !info.dli_fname) {
        snprintf(text, size, "-");
        return;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(text, size, "%s+0x%lx", slash ? slash + 1 : info.dli_fname,
             (unsigned long)((const char *)caller - (const char *)info.dli_fbase));
}

static void log_call(const char *device, const lac_problem_t *p, const lac_request_t *request,
                     const lac_choice_t *choice)
{
    char caller[256];
    const lac_operand_t *x = choice->route->side == LAC_SIDE_RIGHT ? &p->b : &p->a;
    name_caller(request->caller, caller, sizeof caller);
    lac_log("lacuna,1,exec,%s,%s,%s,%c%c,%lld,%lld,%lld,%s,%.4g,%.4g,%.4g,%s,%s%s", request->symbol, caller,
            device, letter(p->a.rs, p->a.cs), letter(p->b.rs, p->b.cs), (long long)p->m, (long long)p->n,
            (long long)p->k, lac_source_name(x->known), x->density, choice->cost_us, choice->dense_us,
            request->declined ? "dense" : choice->route->name, choice->reason,
            request->declined ? " (declined)" : "");
}

void lac_report_call(lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p, const lac_request_t *request,
                     const lac_choice_t *choice, double took_us)
{
    if (ctx->policy.verbose & LAC_VERBOSE_EXEC) log_call(ctx->backend->name, p, request, choice);
    if (!site) return;
    if (request->declined) return; /* counted as it was declined */
    if (choice->route->role != LAC_ROLE_SPARSE) {
        site->declined_calls++;
        return;
    }
    site->sparse_calls++;
    site->sparse_us_predicted += choice->cost_us;
    site->sparse_us_measured += took_us;
}

/* Keeps the sites of a context that ends; called with the guard held. Without memory they are forgotten. */
static void keep_sites(const lac_sites_t *sites)
{
    for (int i = 0; sites->place && i < LAC_SITES; i++) {
        if (!sites->place[i].stamp) continue;
        if (retired_count == retired_room) {
            size_t room = retired_room ? retired_room * 2 : 64;
            lac_site_t *grown = realloc(retired, room * sizeof *grown);
            if (!grown) return;
            retired = grown;
            retired_room = room;
        }
        retired[retired_count++] = sites->place[i];
    }
}

static double dense_spent(const lac_site_t *site)
{
    return (double)(site->sparse_calls + site->declined_calls) * site->dense_us;
}

static int by_time(const void *x, const void *y)
{
    double a = dense_spent(x), b = dense_spent(y);
    return a < b ? 1 : a > b ? -1 : 0;
}

static void print_site(const lac_site_t *site)
{
    double n = (double)site->sparse_calls;
    const lac_seen_t *seen = site->left.density >= 0 ? &site->left : &site->right;
    char shape[64], density[16] = "-";
    snprintf(shape, sizeof shape, "%lldx%lldx%lld", (long long)site->key.m, (long long)site->key.k,
             (long long)site->key.n);
    if (seen->density >= 0) snprintf(density, sizeof density, "%.3f%%", seen->density * 100.0);
    lac_log("%-18s %-14.14s %9llu %9llu %9s %10.1f %10.1f %10.1f  %s", shape, site->symbol,
            (unsigned long long)site->sparse_calls, (unsigned long long)site->declined_calls, density,
            site->dense_us, n > 0 ? site->sparse_us_predicted / n : 0.0,
            n > 0 ? site->sparse_us_measured / n : 0.0, site->route ? site->route->name : "dense");
}

/* At exit: every context's sites, the ones that stand for most time first. */
static void print_statistics(void)
{
    uint64_t sparse = 0, dense = 0;
    double gained = 0.0;
    pthread_mutex_lock(&guard);
    for (const lac_ctx_t *ctx = live; ctx; ctx = ctx->next) keep_sites(&ctx->sites);
    for (size_t i = 0; i < retired_count; i++) {
        sparse += retired[i].sparse_calls;
        dense += retired[i].declined_calls;
        gained += (double)retired[i].sparse_calls * retired[i].dense_us - retired[i].sparse_us_measured;
    }
    if (sparse + dense) {
        qsort(retired, retired_count, sizeof *retired, by_time);
        lac_log(
            "lacuna: %llu calls by sparse routes, %llu by the dense one, at %zu sites; predicted gain %.3f s",
            (unsigned long long)sparse, (unsigned long long)dense, retired_count, gained * 1e-6);
        lac_log("%-18s %-14s %9s %9s %9s %10s %10s %10s  %s", "m x k x n", "symbol", "sparse", "dense",
                "density", "dense us", "predicted", "measured", "route");
        for (size_t i = 0; i < retired_count && i < TOP_SITES; i++) print_site(&retired[i]);
        if (retired_count > TOP_SITES) lac_log("(%zu more sites)", retired_count - TOP_SITES);
    }
    free(retired);
    retired = NULL;
    retired_count = retired_room = 0;
    pthread_mutex_unlock(&guard);
}

void lac_report_enlist(lac_ctx_t *ctx)
{
    if (!ctx->policy.stats) return;
    pthread_mutex_lock(&guard);
    ctx->next = live;
    live = ctx;
    if (!registered) registered = !atexit(print_statistics);
    pthread_mutex_unlock(&guard);
}

void lac_report_retire(lac_ctx_t *ctx)
{
    if (!ctx->policy.stats) return;
    pthread_mutex_lock(&guard);
    for (lac_ctx_t **at = &live; *at; at = &(*at)->next)
        if (*at == ctx) {
            *at = ctx->next;
            keep_sites(&ctx->sites);
            break;
        }
    pthread_mutex_unlock(&guard);
}

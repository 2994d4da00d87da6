/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Statistics of sites, kept when their contexts end, and printed once at exit. */
#include "statistics.h"
#include "spmm_autotune.h"
#include "../base/log.h"
#include "../base/c_locale.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SYMBOLS = 32, AUTOTUNE_SHOWN = 20, EVICTED_KEPT = 16384 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static lac_ctx_t *live;        /* contexts whose sites will be reported    */
static lac_site_stats_t *kept; /* of contexts that are gone already        */
static size_t kept_count, kept_room;
static lac_spmm_autotune_site_t *met; /* the same of autotuned SpMM */
static size_t met_count, met_room;
static struct {
    uint64_t sites, calls;
} evicted;
static bool registered;

static const char *const reasons[] = {
    [LAC_PASS_VENDOR] = "a vendor library's own",
    [LAC_PASS_TYPE] = "type, arithmetic or layout",
    [LAC_PASS_ARGUMENTS] = "nothing to multiply, or an error",
    [LAC_PASS_BATCH] = "a batch of separate products",
    [LAC_PASS_SMALL] = "small",
    [LAC_PASS_HANDLE] = "scalars on the device, or math mode",
    [LAC_PASS_CAPTURED] = "captured",
    [LAC_PASS_STREAM] = "per-thread stream, or too many streams",
    [LAC_PASS_CONTEXT] = "no context",
    [LAC_PASS_GRAPH] = "recorded both ways",
    [LAC_PASS_DEVICE_POINTERS] = "addresses on the device",
};
enum { REASONS = sizeof reasons / sizeof *reasons };

static struct forwarded {
    const char *symbol;
    uint64_t calls[REASONS];
} forwarded[SYMBOLS];

void lac_statistics_forwarded(const char *symbol, lac_pass_t why)
{
    pthread_mutex_lock(&guard);
    for (int i = 0; i < SYMBOLS; i++) {
        if (!forwarded[i].symbol) forwarded[i].symbol = symbol;
        if (strcmp(forwarded[i].symbol, symbol) != 0) continue;
        forwarded[i].calls[why]++;
        break;
    }
    pthread_mutex_unlock(&guard);
}

/* The array with room for one more; NULL without memory, and then it stays as it is. */
static void *with_room(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room) return array;
    size_t more = *room ? *room * 2 : 64;
    void *grown = realloc(array, more * size);
    if (grown) *room = more;
    return grown;
}

/* Called with the guard held. Without memory a site is forgotten. */
static void keep_site(const lac_ctx_t *ctx, const lac_site_t *site)
{
    lac_site_stats_t *grown = with_room(kept, kept_count, &kept_room, sizeof *kept);
    if (!grown) return;
    kept = grown;
    kept[kept_count++] = lac_site_stats(ctx, site);
}

/* A site that makes room for another. Past EVICTED_KEPT its calls are counted, and no more. */
static void keep_evicted(void *arg, const lac_site_t *site)
{
    pthread_mutex_lock(&guard);
    evicted.sites++;
    if (kept_count < EVICTED_KEPT)
        keep_site(arg, site);
    else
        evicted.calls += site->sparse_calls + site->declined_calls;
    pthread_mutex_unlock(&guard);
}

static void print_evicted(void)
{
    if (!evicted.sites) return;
    lac_log("lacuna: %llu sites were evicted for want of room; %llu calls of theirs are in no table",
            (unsigned long long)evicted.sites, (unsigned long long)evicted.calls);
}

static void keep_sites(const lac_ctx_t *ctx)
{
    for (uint32_t i = 0; i < ctx->sites.count; i++) keep_site(ctx, lac_site_at(&ctx->sites, i));
}

static void keep_autotune(const lac_spmm_autotune_site_t *site)
{
    lac_spmm_autotune_site_t *grown = with_room(met, met_count, &met_room, sizeof *met);
    if (!grown) return;
    met = grown;
    met[met_count++] = *site;
}

static void keep(const lac_ctx_t *ctx)
{
    keep_sites(ctx);
    lac_spmm_autotune_visit(ctx->autotune, keep_autotune);
}

static void print_time(char *text, size_t size, const lac_spmm_autotune_site_t *site, lac_spmm_server_t who)
{
    locale_t before = lac_enter_c_locale();
    if (site->us[who] > 0.0)
        snprintf(text, size, "%.1f us", site->us[who]);
    else
        snprintf(text, size, "not measured");
    lac_leave_c_locale(before);
}

static int by_calls(const void *x, const void *y)
{
    const lac_spmm_autotune_site_t *a = x, *b = y;
    uint64_t of_a = a->served[0] + a->served[1], of_b = b->served[0] + b->served[1];
    return (of_a < of_b) - (of_a > of_b);
}

static void print_autotune(void)
{
    if (met_count) qsort(met, met_count, sizeof *met, by_calls);
    if (met_count > AUTOTUNE_SHOWN)
        lac_log("lacuna: the most frequent %d of %zu places that call cuSPARSE:", AUTOTUNE_SHOWN, met_count);
    for (size_t i = 0; i < met_count && i < AUTOTUNE_SHOWN; i++) {
        const lac_spmm_autotune_site_t *site = &met[i];
        char ours[32], theirs[32];
        print_time(ours, sizeof ours, site, LAC_SPMM_OURS);
        print_time(theirs, sizeof theirs, site, LAC_SPMM_VENDOR);
        lac_log("lacuna: %s %lldx%lldx%lld, about %lld entries: %llu by csr (%s), %llu passed on (%s)",
                site->symbol, (long long)site->key.m, (long long)site->key.k, (long long)site->key.n,
                (long long)site->key.nnz, (unsigned long long)site->served[LAC_SPMM_OURS], ours,
                (unsigned long long)site->served[LAC_SPMM_VENDOR], theirs);
    }
    free(met);
    met = NULL;
    met_count = met_room = 0;
}

static void print_forwarded(void)
{
    for (int i = 0; i < SYMBOLS && forwarded[i].symbol; i++) {
        char text[512];
        int used = 0;
        for (int why = 0; why < REASONS; why++)
            if (forwarded[i].calls[why])
                used += snprintf(text + used, sizeof text - (size_t)used, "%s%llu %s", used ? "; " : "",
                                 (unsigned long long)forwarded[i].calls[why], reasons[why]);
        lac_log("lacuna: %s not probed: %s", forwarded[i].symbol, text);
    }
}

static void print_statistics(void)
{
    pthread_mutex_lock(&guard);
    for (const lac_ctx_t *ctx = live; ctx; ctx = ctx->next) keep(ctx);
    lac_statistics_print_sites(kept, kept_count);
    print_evicted();
    print_autotune();
    print_forwarded();
    free(kept);
    kept = NULL;
    kept_count = kept_room = 0;
    memset(forwarded, 0, sizeof forwarded);
    memset(&evicted, 0, sizeof evicted);
    pthread_mutex_unlock(&guard);
}

static void before_fork(void)
{
    pthread_mutex_lock(&guard);
}
static void after_fork(void)
{
    pthread_mutex_unlock(&guard);
}

static void prepare(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

void lac_statistics_begin(void)
{
    pthread_once(&prepared, prepare);
    pthread_mutex_lock(&guard);
    if (!registered) registered = !atexit(print_statistics);
    pthread_mutex_unlock(&guard);
}

void lac_statistics_enlist(lac_ctx_t *ctx)
{
    if (!ctx->policy.stats) return;
    lac_statistics_begin();
    ctx->sites.on_evict = keep_evicted;
    ctx->sites.evict_arg = ctx;
    pthread_mutex_lock(&guard);
    ctx->next = live;
    live = ctx;
    pthread_mutex_unlock(&guard);
}

void lac_statistics_retire(lac_ctx_t *ctx)
{
    if (!ctx->policy.stats) return;
    pthread_mutex_lock(&guard);
    for (lac_ctx_t **at = &live; *at; at = &(*at)->next)
        if (*at == ctx) {
            *at = ctx->next;
            keep(ctx);
            break;
        }
    ctx->sites.on_evict = NULL;
    pthread_mutex_unlock(&guard);
}

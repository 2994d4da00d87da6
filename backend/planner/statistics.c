/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Statistics of sites: what became of a site's calls, and of all sites by the class of their shapes and their
 * density; kept when their contexts end, and printed once at exit. */
#include "statistics.h"
#include "base/log.h"
#include "base/environment.h"
#include "spmm_autotune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <stdatomic.h>

enum { TOP_SITES = 20 };

#define NOT_KNOWN (-1.0)

static bool is_measured(const lac_site_t *site, int row)
{
    return row >= 0 && row < LAC_ROUTES_MAX && site->factor[row] > 0.0f;
}

/* A call by the route in `row` at a density as it was last seen, as it was measured; negative: it was not. */
static double measured_at(const lac_ctx_t *ctx, const lac_site_t *site, int row)
{
    lac_problem_t p = site->shape;
    p.a.density = site->left.density, p.b.density = site->right.density;
    if (!is_measured(site, row) || ctx->routes[row]->applicable(ctx->routes[row], &p) != LAC_FITS)
        return NOT_KNOWN;
    return ctx->routes[row]->cost_us(ctx->routes[row], &p, &ctx->machine) * (double)site->factor[row] +
           lac_route_extra_us(ctx->routes[row], &p);
}

/* A call by the cheapest route that was measured, the dense one among them. */
static double best_at(const lac_ctx_t *ctx, const lac_site_t *site)
{
    double best = site->dense_us;
    for (int i = 0; i < ctx->route_count; i++) {
        if (ctx->routes[i]->role != LAC_ROLE_SPARSE) continue;
        double cost = measured_at(ctx, site, i);
        if (cost >= 0.0 && cost < best) best = cost;
    }
    return best;
}

static int row_of(const lac_ctx_t *ctx, const lac_route_t *route)
{
    for (int i = 0; i < ctx->route_count; i++)
        if (ctx->routes[i] == route) return i;
    return -1;
}

/* What all sparse calls took. On the host each was timed. A device's calls return before they are done: the
 * host's clock says nothing of them, and the few that the device timed stand for all. */
static double measured_us(const lac_ctx_t *ctx, const lac_site_t *site)
{
    if (!site->sparse_calls) return 0.0;
    if (!ctx->backend->asynchronous) return site->sparse_us_measured;
    double each = measured_at(ctx, site, row_of(ctx, site->sparse_route));
    return each < 0.0 ? NOT_KNOWN : each * (double)site->sparse_calls;
}

/* Gain, best and regret, where all that they compare was measured. */
static void compare(const lac_ctx_t *ctx, const lac_site_t *site, lac_site_stats_t *stats)
{
    stats->best_us = stats->regret_us = NOT_KNOWN;
    if (!stats->dense_timed || stats->measured_us < 0.0) return;
    double spent = stats->measured_us + (double)stats->dense * stats->dense_us;
    stats->gained_us = (double)stats->sparse * stats->dense_us - stats->measured_us;
    stats->best_us = (double)(stats->sparse + stats->dense) * best_at(ctx, site);
    stats->regret_us = spent > stats->best_us ? spent - stats->best_us : 0.0;
}

static double last_seen(const lac_seen_t *seen)
{
    return seen->density >= 0 ? seen->density : seen->sampled;
}

/* The side whose operand was last seen to be the sparser one, and its density; neither: negative. */
static lac_side_t sparser_side(const lac_site_t *site, double *density)
{
    double left = last_seen(&site->left), right = last_seen(&site->right);
    bool is_right = right >= 0 && (left < 0 || right < left);
    *density = is_right ? right : left;
    if (*density < 0) return LAC_SIDE_NONE;
    return is_right ? LAC_SIDE_RIGHT : LAC_SIDE_LEFT;
}

static const char *why_dense(const lac_ctx_t *ctx, const lac_site_t *site, double density)
{
    if (site->route && site->route->role == LAC_ROLE_SPARSE) return "";
    if (ctx->policy.backend && site->route && !strcmp(site->route->name, ctx->policy.backend))
        return "forced";
    if (ctx->policy.backend) return "the forced route does not apply";
    if (site->left.break_even <= 0.0 && site->right.break_even <= 0.0) return "pays at no density";
    if (ctx->policy.detect != LAC_DETECT_PROBE && !site->probes) return "not probed";
    return density < 0 ? "nothing seen yet" : "too dense";
}

enum { WEIGHTS_MAX = 8 };
#define WEIGHT_GAIN    2.0  /* so many times faster a frozen weight has to be predicted to be named */
#define WEIGHT_DENSITY 0.01 /* of the other operand, where nothing was seen of it                   */

/* The cheapest sparse route of a side, by the model alone; negative: none. */
static double cheapest_on(const lac_ctx_t *ctx, const lac_problem_t *p, lac_side_t side)
{
    double best = -1.0;
    for (int i = 0; i < ctx->route_count; i++) {
        const lac_route_t *route = ctx->routes[i];
        if (route->role != LAC_ROLE_SPARSE || route->side != side) continue;
        if (route->applicable(route, p) != LAC_FITS) continue;
        double cost = route->cost_us(route, p, &ctx->machine);
        if (best < 0 || cost < best) best = cost;
    }
    return best;
}

/* A dense operand whose slices along k lie strided is gathered slowly, unless it is frozen and copied once.
 * The other operand is the one of lower density; the shorter one where none was seen. */
static void find_weight(const lac_ctx_t *ctx, const lac_site_t *site, lac_site_stats_t *stats)
{
    lac_problem_t p = site->shape;
    double density;
    lac_side_t side = sparser_side(site, &density);
    if (side == LAC_SIDE_NONE) side = p.n < p.m ? LAC_SIDE_RIGHT : LAC_SIDE_LEFT;
    bool right = side == LAC_SIDE_RIGHT;
    lac_operand_t *s = right ? &p.b : &p.a, *w = right ? &p.a : &p.b;
    if (site->key.types & (LAC_SITE_FROZEN_A | LAC_SITE_FROZEN_B) || !w->buf) return;
    s->density = density < 0 ? WEIGHT_DENSITY : density;
    w->density = w->k_active = w->blocks_active = -1.0;
    double strided = cheapest_on(ctx, &p, side);
    w->frozen = true;
    double frozen = cheapest_on(ctx, &p, side);
    bool gains = frozen >= 0 && WEIGHT_GAIN * frozen < site->dense_us &&
                 (strided < 0 || WEIGHT_GAIN * frozen < strided);
    if (!gains) return;
    lac_dim_t rows = right ? p.m : p.k, cols = right ? p.k : p.n;
    bool by_rows = w->cs == 1;
    snprintf(stats->weight, sizeof stats->weight, "%lldx%lld", (long long)(by_rows ? rows : cols),
             (long long)(by_rows ? cols : rows));
    stats->weight_us = frozen;
}

/* What LACUNA_FROZEN may be set to, each once. A site's own line stands above. */
static void print_weights(const lac_site_stats_t *stats, size_t count)
{
    char setting[WEIGHTS_MAX * 48] = "";
    const lac_site_stats_t *named[WEIGHTS_MAX];
    int weights = 0;
    for (size_t i = 0; i < count && weights < WEIGHTS_MAX; i++) {
        bool fresh = *stats[i].weight != '\0';
        for (int j = 0; fresh && j < weights; j++) fresh = strcmp(named[j]->weight, stats[i].weight) != 0;
        if (fresh) named[weights++] = &stats[i];
    }
    for (int i = 0; i < weights; i++) {
        const lac_site_stats_t *w = named[i];
        size_t used = strlen(setting);
        double calls = (double)(w->sparse + w->dense),
               spent = fmax(w->measured_us, 0.0) + (double)w->dense * w->dense_us;
        snprintf(setting + used, sizeof setting - used, "%s%s", i ? "," : "", w->weight);
        lac_log(
            "lacuna: a dense operand of %s lies along k, which is slow to skip in: %s takes %.1f us a call, "
            "with it frozen some %.1f%s",
            w->weight, w->shape, calls > 0 && w->measured_us >= 0.0 ? spent / calls : w->dense_us,
            w->weight_us, w->density < 0 ? " if 1 % of the other is nonzero" : "");
    }
    if (weights)
        lac_log(
            "lacuna: if all operands of such extents are weights that stay as they are, try LACUNA_FROZEN=%s",
            setting);
}

lac_site_stats_t lac_site_stats(const lac_ctx_t *ctx, const lac_site_t *site)
{
    lac_site_stats_t stats = {
        .sparse = site->sparse_calls, .dense = site->declined_calls, .dense_us = site->dense_us};
    lac_dim_t m = site->key.m, n = site->key.n;
    snprintf(stats.shape, sizeof stats.shape, "%lldx%lldx%lld", (long long)m, (long long)site->key.k,
             (long long)n);
    snprintf(stats.symbol, sizeof stats.symbol, "%s", site->symbol);
    snprintf(stats.route, sizeof stats.route, "%s", site->route ? site->route->name : "dense");
    stats.min_extent = (double)(m < n ? m : n);
    sparser_side(site, &stats.density);
    stats.why_dense = why_dense(ctx, site, stats.density);
    stats.predicted_us = site->sparse_us_predicted;
    stats.measured_us = measured_us(ctx, site);
    stats.dense_timed = is_measured(site, site->dense_row);
    compare(ctx, site, &stats);
    find_weight(ctx, site, &stats);
    return stats;
}

static double dense_spent(const lac_site_stats_t *stats)
{
    return (double)(stats->sparse + stats->dense) * stats->dense_us;
}

static int by_time(const void *x, const void *y)
{
    double a = dense_spent(x), b = dense_spent(y);
    return (a < b) - (a > b);
}

typedef struct number {
    char text[32];
} number_t;

/* A number as the table has it; "-" where it is not known. */
static number_t or_dash(double value, int decimals, const char *unit, bool known)
{
    number_t number = {"-"};
    locale_t before = lac_enter_c_locale();
    if (known) snprintf(number.text, sizeof number.text, "%.*f%s", decimals, value, unit);
    lac_leave_c_locale(before);
    return number;
}

static void print_site(const lac_site_stats_t *stats)
{
    double calls = (double)stats->sparse;
    bool served = stats->sparse > 0;
    number_t density = or_dash(stats->density * 100.0, 3, "%", stats->density >= 0),
             predicted = or_dash(stats->predicted_us / calls, 1, "", served),
             measured = or_dash(stats->measured_us / calls, 1, "", served && stats->measured_us >= 0),
             regret = or_dash(stats->regret_us / 1e3, 1, "", stats->regret_us >= 0);
    lac_log("%-18s %-14.14s %9llu %9llu %9s %10.1f %10s %10s %10s  %s%s%s", stats->shape, stats->symbol,
            (unsigned long long)stats->sparse, (unsigned long long)stats->dense, density.text,
            stats->dense_us, predicted.text, measured.text, regret.text, stats->route,
            *stats->why_dense ? ": " : "", stats->why_dense);
}

static const struct class
{
    const char *name;
    double most; /* of the smaller of m and n */
} classes[] = {{"n = 1", 1.0}, {"n <= 16", 16.0}, {"n <= 128", 128.0}, {"n large", 1e30}};
static const struct bin {
    const char *name;
    double below;
} bins[] = {{"not seen", 0.0}, {"< 0.1 %", 0.001}, {"< 1 %", 0.01},
            {"< 10 %", 0.1},   {"< 50 %", 0.5},    {"dense", 2.0}};
enum { CLASSES = sizeof classes / sizeof *classes, BINS = sizeof bins / sizeof *bins };

static int class_of(const lac_site_stats_t *stats)
{
    int i = 0;
    while (i < CLASSES - 1 && stats->min_extent > classes[i].most) i++;
    return i;
}

static int bin_of(const lac_site_stats_t *stats)
{
    int i = 0;
    while (i < BINS - 1 && stats->density >= bins[i].below) i++;
    return i;
}

/* The times of a sum are those that are known. */
static void add(lac_site_stats_t *sum, const lac_site_stats_t *stats)
{
    sum->sparse += stats->sparse, sum->dense += stats->dense;
    sum->predicted_us += stats->predicted_us, sum->gained_us += stats->gained_us;
    sum->measured_us += fmax(stats->measured_us, 0.0);
    sum->regret_us += fmax(stats->regret_us, 0.0), sum->best_us += fmax(stats->best_us, 0.0);
}

/* What every call of a class would have taken, and what it did: in milliseconds. */
static void print_classes(const lac_site_stats_t *stats, size_t count)
{
    lac_site_stats_t sum[CLASSES][BINS] = {0};
    for (size_t i = 0; i < count; i++) add(&sum[class_of(&stats[i])][bin_of(&stats[i])], &stats[i]);
    lac_log("%-14s %-10s %9s %9s %12s %12s %10s %10s %9s", "min(m, n)", "density", "sparse", "dense",
            "predicted ms", "measured ms", "gained ms", "regret ms", "of best");
    for (int c = 0; c < CLASSES; c++)
        for (int b = 0; b < BINS; b++) {
            const lac_site_stats_t *s = &sum[c][b];
            if (!s->sparse && !s->dense) continue;
            lac_log("%-14s %-10s %9llu %9llu %12.3f %12.3f %10.3f %10.3f %9.3f", classes[c].name,
                    bins[b].name, (unsigned long long)s->sparse, (unsigned long long)s->dense,
                    s->predicted_us / 1e3, s->measured_us / 1e3, s->gained_us / 1e3, s->regret_us / 1e3,
                    s->best_us > 0 ? 1.0 + s->regret_us / s->best_us : 1.0);
        }
}

void lac_statistics_print_sites(lac_site_stats_t *stats, size_t count)
{
    lac_site_stats_t all = {0};
    size_t timed = 0;
    for (size_t i = 0; i < count; i++) add(&all, &stats[i]), timed += stats[i].regret_us >= 0;
    if (!all.sparse && !all.dense) return;
    qsort(stats, count, sizeof *stats, by_time);
    lac_log(
        "lacuna: %llu calls by sparse routes, %llu by the dense one, at %zu sites; measured gain %.3f s, at "
        "the %zu of them where both were timed",
        (unsigned long long)all.sparse, (unsigned long long)all.dense, count, all.gained_us * 1e-6, timed);
    lac_log("%-18s %-14s %9s %9s %9s %10s %10s %10s %10s  %s", "m x k x n", "symbol", "sparse", "dense",
            "density", "dense us", "predicted", "measured", "regret ms", "route");
    for (size_t i = 0; i < count && i < TOP_SITES; i++) print_site(&stats[i]);
    if (count > TOP_SITES) lac_log("(%zu more sites)", count - TOP_SITES);
    print_classes(stats, count);
    print_weights(stats, count);
}

/* Statistics of sites, kept when their contexts end, and printed once at exit. */

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

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The options: what each accepts, its value as text, and where it comes from. */
#include "policy.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/threads.h"
#include "route/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
#define LAC_OPTION(name, variable, accepted) OPTION_##name,
#include "options.def"
    OPTION_COUNT
};

/* The routes that a name can force. */
static const char backend_names[] =
#define NAMED_SPARSE(name)                      #name ", "
#define NAMED_DENSE(name)                       #name ", "
#define NAMED_FAST(name)                        #name ", "
#define NAMED_EITHER(name)                      #name ", "
#define NAMED_NATIVE(name)                      #name ", "
#define NAMED_ORACLE(name)                      #name ", "
#define NAMED_TRIVIAL(name)                     ""
#define LAC_ROUTE(name, role, host, cuda, text) NAMED_##role(name)
#include "route/routes.def"
#undef LAC_ROUTE
    "blas, cublas or auto, with ! to pin it";

static const struct {
    const char *name, *variable, *accepted;
} options[] = {
#define LAC_OPTION(name, variable, accepted) {#name, variable, accepted},
#include "options.def"
};

_Static_assert(OPTION_COUNT <= sizeof(((lac_policy_t *)0)->origin) / sizeof(char *),
               "lac_policy_t.origin holds every option");

/* Names that stand for another. */
static const struct {
    const char *backend, *route;
} aliases[] = {{"auto", NULL}, {"cublas", "dense"}, {"blas", "dense"}};

/* A route name is known here also where the context's backend lacks the route. */
const char *lac_policy_backend(const char *name, bool *accepted)
{
    const lac_route_entry_t *entry = lac_route_named(name);
    *accepted = entry && entry->role != LAC_ROLE_TRIVIAL;
    if (*accepted) return entry->name;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if ((*accepted = !strcmp(name, aliases[i].backend))) return aliases[i].route;
    return NULL;
}

/* Index of `value` in a list of words, or -1. */
static int one_of(const char *value, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(value, words[i])) return i;
    return -1;
}

static bool set_backend(lac_policy_t *policy, const char *value)
{
    char name[32];
    size_t length = strlen(value);
    bool pinned = length > 1 && value[length - 1] == '!', accepted;
    if (length >= sizeof name) return false;
    snprintf(name, sizeof name, "%.*s", (int)(length - pinned), value);
    const char *route = lac_policy_backend(name, &accepted);
    if (!accepted) return false;
    policy->backend = route;
    policy->backend_pinned = pinned;
    return true;
}

static bool set_number(const char *value, double low, double high, double *out)
{
    char *end;
    locale_t before = lac_enter_c_locale();
    double number = strtod(value, &end);
    lac_leave_c_locale(before);
    if (end == value || *end || !(number >= low && number <= high)) return false;
    *out = number;
    return true;
}

static bool set_count(const char *value, double low, double high, double *out)
{
    return set_number(value, low, high, out) && *out == (double)(long)*out;
}

static bool set_compare(lac_policy_t *policy, const char *value)
{
    char name[32];
    const char *colon = strchr(value, ':');
    size_t length = colon ? (size_t)(colon - value) : strlen(value);
    double every = 1;
    if (length >= sizeof name || (colon && !set_count(colon + 1, 1, 1e9, &every))) return false;
    snprintf(name, sizeof name, "%.*s", (int)length, value);
    bool off = !strcmp(name, "off"), accepted = off;
    const char *route = off ? NULL : lac_policy_backend(name, &accepted);
    if (!accepted || (!off && !route)) return false;
    policy->compare = route;
    policy->compare_every = (long)every;
    return true;
}

static bool set_verbose(lac_policy_t *policy, const char *value)
{
    static const char *const words[] = {"dispatch", "exec", "meta"};
    unsigned flags = 0;
    char list[128];
    if (!strcmp(value, "off") || !strcmp(value, "0")) {
        policy->verbose = 0;
        return true;
    }
    if (strlen(value) >= sizeof list) return false;
    strcpy(list, value);
    for (char *rest = list, *word; (word = strsep(&rest, ","));) {
        int i = one_of(word, words, 3);
        if (i < 0) return false;
        flags |= 1u << i;
    }
    policy->verbose = flags;
    return true;
}

/* "4096x1024,512x512", or "off". */
static bool set_frozen(lac_policy_t *policy, const char *value)
{
    lac_policy_t read = {.frozen_count = 0};
    const char *at = value;
    for (bool more = strcmp(value, "off") != 0; more; at += *at == ',') {
        long long extent[2];
        int used = 0;
        if (read.frozen_count == LAC_FROZEN_MAX) return false;
        if (*at < '0' || *at > '9' || sscanf(at, "%18lldx%n", &extent[0], &used) != 1 || !used) return false;
        at += used;
        if (*at < '0' || *at > '9' || sscanf(at, "%18lld%n", &extent[1], &used) != 1) return false;
        at += used;
        if (extent[0] < 1 || extent[1] < 1 || (*at && *at != ',')) return false;
        for (int i = 0; i < 2; i++) read.frozen[read.frozen_count][i] = extent[i];
        read.frozen_count++;
        more = *at == ',';
    }
    memcpy(policy->frozen, read.frozen, sizeof read.frozen);
    policy->frozen_count = read.frozen_count;
    return true;
}

bool lac_policy_freezes(const lac_policy_t *policy, lac_dim_t m, lac_dim_t n)
{
    for (int i = 0; i < policy->frozen_count; i++) {
        const lac_dim_t *extent = policy->frozen[i];
        if ((extent[0] == m && extent[1] == n) || (extent[0] == n && extent[1] == m)) return true;
    }
    return false;
}

static bool set_word(const char *value, const char *const *words, int count, int *out)
{
    int i = one_of(value, words, count);
    if (i >= 0) *out = i;
    return i >= 0;
}

/* In the order of lac_skip_t, from LAC_SKIP_FAST on. */
static const char *const skips[] = {"fast", "guaranteed", "a", "b"};
static const char *const sums[] = {"fast", "fixed"};

static bool set_option(lac_policy_t *policy, int option, const char *value)
{
    static const char *const detects[] = {"off", "registered", "probe"}, *const maths[] = {"fp32", "pedantic",
                                                                                           "tf32"};
    static const char *const nans[] = {"fast", "strict"}, *const switches[] = {"off", "on"},
                             *const digits[] = {"0", "1"};
    double number;
    int word = 0;
    switch (option) {
    case OPTION_backend:
        return set_backend(policy, value);
    case OPTION_compare:
        return set_compare(policy, value);
    case OPTION_verbose:
        return set_verbose(policy, value);
    case OPTION_sparse_margin:
        if (!set_number(value, 0, 1000, &number)) return false;
        policy->sparse_margin = number / 100.0;
        return true;
    case OPTION_frozen:
        return set_frozen(policy, value);
    case OPTION_threads:
        if (!set_count(value, 1, 256, &number)) return false;
        policy->threads = (int)number;
        return true;
    case OPTION_detect:
        if (!set_word(value, detects, 3, &word)) return false;
        policy->detect = (lac_detect_t)word;
        return true;
    case OPTION_math:
        if (!set_word(value, maths, 3, &word)) return false;
        policy->math = (lac_math_t)word;
        return true;
    case OPTION_nan:
        if (!set_word(value, nans, 2, &word)) return false;
        policy->strict_nan = word;
        return true;
    case OPTION_skip:
        if (!set_word(value, skips, 4, &word)) return false;
        policy->skip = (lac_skip_t)(LAC_SKIP_FAST + word);
        return true;
    case OPTION_sums:
        if (!set_word(value, sums, 2, &word)) return false;
        policy->fixed_sums = word;
        return true;
    case OPTION_prepack:
        if (!set_word(value, switches, 2, &word)) return false;
        policy->may_copy = word;
        return true;
    case OPTION_learn:
        if (!set_word(value, switches, 2, &word)) return false;
        policy->learn = word;
        return true;
    case OPTION_stats:
        if (!set_word(value, digits, 2, &word)) return false;
        policy->stats = word;
        return true;
    default:
        return false;
    }
}

const char *lac_policy_set(lac_policy_t *policy, const char *option, const char *value, const char *origin,
                           bool *known)
{
    *known = false;
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (strcmp(option, options[i].name)) continue;
        *known = true;
        lac_policy_t before = *policy;
        if (!set_option(policy, i, value)) return options[i].accepted;
        if (policy->strict_nan &&
            lac_policy_guarantees(policy)) { /* products of zeros kept, and never made */
            *policy = before;
            return i == OPTION_nan ? "fast where skip is not" : "fast where nan is strict";
        }
        policy->origin[i] = origin;
        return NULL;
    }
    return NULL;
}

void lac_policy_keep_backend(lac_policy_t *policy, const lac_policy_t *from)
{
    policy->backend = from->backend;
    policy->backend_pinned = from->backend_pinned;
    policy->origin[OPTION_backend] = from->origin[OPTION_backend];
}

int lac_policy_blas_threads(const lac_policy_t *policy)
{
    bool pretends = policy->threads > policy->processors; /* cost models are asked about other machines so */
    return pretends && policy->blas_threads < policy->threads ? policy->threads : policy->blas_threads;
}

bool lac_policy_decides_otherwise(const lac_policy_t *x, const lac_policy_t *y)
{
    return x->detect != y->detect || x->sparse_margin != y->sparse_margin || x->math != y->math ||
           x->strict_nan != y->strict_nan || x->skip != y->skip || x->fixed_sums != y->fixed_sums ||
           x->threads != y->threads || x->may_copy != y->may_copy || x->learn != y->learn ||
           x->frozen_count != y->frozen_count || memcmp(x->frozen, y->frozen, sizeof x->frozen) != 0;
}

int lac_policy_count(void)
{
    return OPTION_COUNT;
}
const char *lac_policy_name(int i)
{
    return options[i].name;
}

const char *lac_policy_variable(int i)
{
    return options[i].variable;
}

const char *lac_policy_names(void)
{
    return ""
#define LAC_OPTION(name, variable, accepted) #name " "
#include "options.def"
        ;
}

static void print_percentage(double fraction, char *text, size_t size)
{
    locale_t before = lac_enter_c_locale();
    snprintf(text, size, "%g", fraction * 100.0);
    lac_leave_c_locale(before);
}

static void print_frozen(const lac_policy_t *policy, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s", policy->frozen_count ? "" : "off");
    for (int i = 0; i < policy->frozen_count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lldx%lld", i ? "," : "",
                                 (long long)policy->frozen[i][0], (long long)policy->frozen[i][1]);
}

void lac_policy_text(const lac_policy_t *policy, int i, char *text, size_t size)
{
    static const char *const detects[] = {"off", "registered", "probe"}, *const maths[] = {"fp32", "pedantic",
                                                                                           "tf32"};
    unsigned v = policy->verbose;
    switch (i) {
    case OPTION_backend:
        snprintf(text, size, "%s%s", policy->backend ? policy->backend : "auto",
                 policy->backend_pinned ? "!" : "");
        break;
    case OPTION_detect:
        snprintf(text, size, "%s", detects[policy->detect]);
        break;
    case OPTION_sparse_margin:
        print_percentage(policy->sparse_margin, text, size);
        break;
    case OPTION_math:
        snprintf(text, size, "%s", maths[policy->math]);
        break;
    case OPTION_nan:
        snprintf(text, size, "%s", policy->strict_nan ? "strict" : "fast");
        break;
    case OPTION_skip:
        snprintf(text, size, "%s", skips[policy->skip - LAC_SKIP_FAST]);
        break;
    case OPTION_sums:
        snprintf(text, size, "%s", sums[policy->fixed_sums]);
        break;
    case OPTION_compare:
        if (policy->compare)
            snprintf(text, size, "%s:%ld", policy->compare, policy->compare_every);
        else
            snprintf(text, size, "off");
        break;
    case OPTION_verbose:
        snprintf(text, size, "%s%s%s%s", v ? "" : "off", v & 1 ? "dispatch " : "", v & 2 ? "exec " : "",
                 v & 4 ? "meta " : "");
        break;
    case OPTION_threads:
        snprintf(text, size, "%d", policy->threads);
        break;
    case OPTION_prepack:
        snprintf(text, size, "%s", policy->may_copy ? "on" : "off");
        break;
    case OPTION_learn:
        snprintf(text, size, "%s", policy->learn ? "on" : "off");
        break;
    case OPTION_frozen:
        print_frozen(policy, text, size);
        break;
    case OPTION_stats:
        snprintf(text, size, "%d", policy->stats);
        break;
    default:
        snprintf(text, size, "?");
    }
}

/* Where a policy comes from: what is usual, the user's file of settings, the environment, in this order. */

#define CONFIG_LINES_MAX 1000

static void set_or_warn(lac_policy_t *policy, const char *shown, const char *option, const char *value,
                        const char *origin)
{
    bool known;
    const char *accepted = lac_policy_set(policy, option, value, origin, &known);
    if (!known)
        lac_warn("%s: no such option; accepted: %s", shown, lac_policy_names());
    else if (accepted)
        lac_warn("%s: '%s' is not accepted; expected %s", shown, value, accepted);
}

/* One "option = value" line; '#' begins a comment. */
static void read_line(lac_policy_t *policy, const char *path, int number, char *line)
{
    char option[64], value[256], shown[512];
    int used = 0;
    line[strcspn(line, "#\r\n")] = '\0';
    if (line[strspn(line, " \t")] == '\0') return;
    snprintf(shown, sizeof shown, "%.400s:%d", path, number);
    bool whole = sscanf(line, " %63[a-z_] = %255[^ \t] %n", option, value, &used) == 2 && !line[used];
    if (whole)
        set_or_warn(policy, shown, option, value, "config");
    else
        lac_warn("%s: expected 'option = value'", shown);
}

/* What does not fit into `line` is no line of its own. A cut line counts where its comment was cut. */
static void read_lines(lac_policy_t *policy, const char *path, FILE *file)
{
    char line[1024] = "";
    int number = 0;
    bool cut = false;
    for (int pieces = 0; fgets(line, sizeof line, file); pieces++) {
        if (pieces == CONFIG_LINES_MAX) {
            lac_warn("%s: the lines behind line %d are left out", path, number);
            return;
        }
        bool begins = !cut;
        cut = !memchr(line, '\n', sizeof line) && !feof(file);
        number += begins;
        if (begins && cut && !strchr(line, '#'))
            lac_warn("%.400s:%d: is too long; expected 'option = value'", path, number);
        else if (begins)
            read_line(policy, path, number, line);
        memset(line, 0, sizeof line); /* so that zeros in the next one hide no end */
    }
}

static void read_config(lac_policy_t *policy)
{
    char path[4096];
    const char *named = lac_env("LACUNA_CONFIG");
    if (named ? (size_t)snprintf(path, sizeof path, "%s", named) >= sizeof path
              : !lac_settings_path("XDG_CONFIG_HOME", ".config", "config", path, sizeof path))
        return;
    FILE *file = lac_settings_open(path);
    if (!file) {
        if (named) lac_warn("LACUNA_CONFIG: cannot read %s", path);
        return;
    }
    read_lines(policy, path, file);
    fclose(file);
}

/* What a BLAS reads: its own variable, or OpenMP's. */
static int default_blas_threads(int processors)
{
    static const char *const variables[] = {"OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS",
                                            "OMP_NUM_THREADS"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = lac_env(variables[i]);
        int asked = value ? atoi(value) : 0;
        if (asked > 0) return asked < processors ? asked : processors;
    }
    return processors;
}

/* LACUNA_THREADS, or the number that the program gives to OpenMP, or every processor. */
static int default_threads(void)
{
    const char *omp = lac_env("OMP_NUM_THREADS");
    int processors = lac_processors(), asked = omp ? atoi(omp) : 0;
    if (asked > 0 && asked < processors) return asked;
    return processors < 256 ? processors : 256;
}

void lac_policy_load(lac_policy_t *policy)
{
    *policy = (lac_policy_t){.detect = LAC_DETECT_PROBE,
                             .sparse_margin = 0.05,
                             .skip = LAC_SKIP_FAST,
                             .compare_every = 1,
                             .may_copy = true,
                             .learn = true};
    policy->threads = default_threads();
    policy->processors = lac_processors();
    policy->blas_threads = default_blas_threads(policy->processors);
    for (int i = 0; i < lac_policy_count(); i++) policy->origin[i] = "default";
    read_config(policy);
    for (int i = 0; i < lac_policy_count(); i++) {
        const char *value = lac_env(lac_policy_variable(i));
        if (value) set_or_warn(policy, lac_policy_variable(i), lac_policy_name(i), value, "environment");
    }
}

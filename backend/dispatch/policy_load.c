/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Where a policy comes from: what is usual, the user's file of settings, the environment, in this order. */
#include "policy.h"
#include "../base/env.h"
#include "../base/log.h"
#include "../base/settings_file.h"
#include "../base/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
            lac_warn("%s: what follows line %d is left out", path, number);
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

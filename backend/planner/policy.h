/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Policy: what the user asked for, from the config file, the environment and function settings. */
#ifndef LACUNA_PLANNER_POLICY_H
#define LACUNA_PLANNER_POLICY_H

#include "operand/problem.h"

typedef enum lac_detect { LAC_DETECT_OFF = 0, LAC_DETECT_REGISTERED, LAC_DETECT_PROBE } lac_detect_t;

#define LAC_VERBOSE_DISPATCH 1u /* a line when a site's route changes   */
#define LAC_VERBOSE_EXEC     2u /* a line for every call                */
#define LAC_VERBOSE_META     4u /* a line for every scan and probe      */

#define LAC_FROZEN_MAX 16 /* extents that the option "frozen" names */

typedef struct lac_policy {
    const char *backend; /* a route name, or NULL: auto                                   */
    bool backend_pinned; /* the environment's value ended in '!': no function changes it  */
    lac_detect_t detect;
    double sparse_margin; /* fraction                                                      */
    lac_math_t math;
    bool strict_nan;
    lac_skip_t skip;     /* excludes strict_nan where it guarantees anything                      */
    bool fixed_sums;     /* sums are split in a way that W's columns and densities do not change      */
    const char *compare; /* the route to shadow calls with, or NULL                       */
    long compare_every;
    unsigned verbose;
    int threads;
    int processors;
    int blas_threads; /* that the environment gives the BLAS, or the processors there are where it says
                         nothing */
    bool may_copy;
    bool stats;
    lac_dim_t frozen[LAC_FROZEN_MAX][2]; /* extents of operands that stay as they are */
    int frozen_count;
    bool learn;             /* measured times correct the predicted ones, site by site */
    const char *origin[16]; /* per option of options.def: "default", "config", "environment", "function" */
} lac_policy_t;

/* Defaults, then the config file, then the environment. A value that is not understood is warned of once,
 * naming the accepted ones, and left out. */
void lac_policy_load(lac_policy_t *policy);

/* Sets one option. Returns NULL, or the accepted values when `value` is not one of them. *known tells whether
 * the option exists. */
const char *lac_policy_set(lac_policy_t *policy, const char *option, const char *value, const char *origin,
                           bool *known);

/* Whether an operand of these extents, or of their transpose, is one that option "frozen" names. */
bool lac_policy_freezes(const lac_policy_t *policy, lac_dim_t m, lac_dim_t n);

/* Puts the backend of `from`, with its pin and origin, into `policy`. */
void lac_policy_keep_backend(lac_policy_t *policy, const lac_policy_t *from);

/* True where zeros of an operand must not be multiplied in any call, so that none may be passed on unseen. */
static inline bool lac_policy_guarantees(const lac_policy_t *policy)
{
    return policy->skip >= LAC_SKIP_GUARANTEED;
}

/* Threads that the caller's BLAS is taken to use: more than its processors only where `threads` says so. */
int lac_policy_blas_threads(const lac_policy_t *policy);

/* True where two policies may decide differently on the same call, backends aside. */
bool lac_policy_decides_otherwise(const lac_policy_t *x, const lac_policy_t *y);

/* The value of option i as text, for printing; option names and environment variables; their number. */
int lac_policy_count(void);
const char *lac_policy_name(int i);
const char *lac_policy_variable(int i);
void lac_policy_text(const lac_policy_t *policy, int i, char *text, size_t size);

/* A backend name as the environment spells it ("blas", "cublas", "event", ...) as a route name; *accepted is
 * false where it is none. NULL stands for auto. */
const char *lac_policy_backend(const char *name, bool *accepted);

/* All option names on one line. */
const char *lac_policy_names(void);

#endif

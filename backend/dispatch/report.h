/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Reports calls to people, line by line. Nothing is written unless it was asked for. */
#ifndef LACUNA_DISPATCH_REPORT_H
#define LACUNA_DISPATCH_REPORT_H

#include "dispatch.h"
#include "select.h"

/* True where every call must be seen, timed and reported. */
bool lac_report_wanted(const lac_policy_t *policy);

/* One call that was served or declined. */
void lac_report_call(lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p, const lac_request_t *request,
                     const lac_choice_t *choice, double took_us);

#endif

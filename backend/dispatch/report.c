/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Verbose lines in a versioned format. */
#include "report.h"
#include "../base/log.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

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
            request->declined ? "dense" : choice->route->name, lac_why_text(choice->why),
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

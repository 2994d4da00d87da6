/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the check counts and prints. */
#include "check_summary.h"

#include <string.h>

static void print_line(check_summary_t *summary, const check_line_t *line)
{
    static const char *const word[] = {"ok", "refused", "FAILED"};
    FILE *out = summary->out;
    if (summary->common->quiet && line->status != CHECK_FAILED) return;
    if (!summary->headed) fprintf(out, "%s   (against %s)\n", line->problem, line->oracle);
    summary->headed = true;
    fprintf(out, "  %-8s %-22s", word[line->status], line->route);
    if (line->status == CHECK_REFUSED)
        fprintf(out, " %s\n", line->why);
    else
        fprintf(out, " %-13s max %-9.3g mean %-9.3g %s\n", line->ran, line->max_error, line->mean_error,
                line->why);
    if (line->status != CHECK_FAILED) return;
    bool entry = strncmp(line->route, "lac_", 4) == 0 || line->route[0] == '(';
    fprintf(out, "           repeat: %s ", summary->command);
    if (summary->common->on_device) fprintf(out, "--device cuda:%d ", summary->common->device);
    fprintf(out, "--route %s '%s'\n", entry ? ROUTE_AUTO : line->route, line->problem);
}

void check_summary_line(void *arg, const check_line_t *line)
{
    check_summary_t *summary = arg;
    print_line(summary, line);
    if (line->status == CHECK_PASSED) summary->passed++;
    if (line->status == CHECK_REFUSED) summary->refused++;
    if (line->status == CHECK_FAILED) summary->failed++;
    if (line->status != CHECK_PASSED || !(line->max_error > summary->worst)) return;
    summary->worst = line->max_error;
    snprintf(summary->worst_problem, sizeof summary->worst_problem, "%s", line->problem);
    snprintf(summary->worst_route, sizeof summary->worst_route, "%s", line->route);
}

void check_summary_add(check_summary_t *sum, const check_summary_t *one)
{
    sum->passed += one->passed;
    sum->refused += one->refused;
    sum->failed += one->failed;
    if (!(one->worst > sum->worst)) return;
    sum->worst = one->worst;
    memcpy(sum->worst_problem, one->worst_problem, sizeof sum->worst_problem);
    memcpy(sum->worst_route, one->worst_route, sizeof sum->worst_route);
}

void check_summary_print(const check_summary_t *sum, size_t problems)
{
    fprintf(sum->out, "%zu problems: %ld passed, %ld refused, %ld failed", problems, sum->passed,
            sum->refused, sum->failed);
    if (sum->passed > 0 && sum->worst > 0.0)
        fprintf(sum->out, "; largest error %.3g (route %s, %s)", sum->worst, sum->worst_route,
                sum->worst_problem);
    fprintf(sum->out, "\n");
}

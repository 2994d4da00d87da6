/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the check counts and prints. */
#include "check_tally.h"

#include <string.h>

static void print_line(check_tally_t *tally, const check_line_t *line)
{
    static const char *const word[] = {"ok", "refused", "FAILED"};
    FILE *out = tally->out;
    if (tally->common->quiet && line->status != CHECK_FAILED) return;
    if (!tally->headed) fprintf(out, "%s   (against %s)\n", line->problem, line->oracle);
    tally->headed = true;
    fprintf(out, "  %-8s %-22s", word[line->status], line->route);
    if (line->status == CHECK_REFUSED)
        fprintf(out, " %s\n", line->why);
    else
        fprintf(out, " %-13s max %-9.3g mean %-9.3g %s\n", line->ran, line->max_error, line->mean_error,
                line->why);
    if (line->status != CHECK_FAILED) return;
    bool entry = strncmp(line->route, "lac_", 4) == 0 || line->route[0] == '(';
    fprintf(out, "           repeat: %s ", tally->command);
    if (tally->common->on_device) fprintf(out, "--device cuda:%d ", tally->common->device);
    fprintf(out, "--route %s '%s'\n", entry ? ROUTE_AUTO : line->route, line->problem);
}

void check_tally_line(void *arg, const check_line_t *line)
{
    check_tally_t *tally = arg;
    print_line(tally, line);
    if (line->status == CHECK_PASSED) tally->passed++;
    if (line->status == CHECK_REFUSED) tally->refused++;
    if (line->status == CHECK_FAILED) tally->failed++;
    if (line->status != CHECK_PASSED || !(line->max_error > tally->worst)) return;
    tally->worst = line->max_error;
    snprintf(tally->worst_problem, sizeof tally->worst_problem, "%s", line->problem);
    snprintf(tally->worst_route, sizeof tally->worst_route, "%s", line->route);
}

void check_tally_add(check_tally_t *sum, const check_tally_t *one)
{
    sum->passed += one->passed;
    sum->refused += one->refused;
    sum->failed += one->failed;
    if (!(one->worst > sum->worst)) return;
    sum->worst = one->worst;
    memcpy(sum->worst_problem, one->worst_problem, sizeof sum->worst_problem);
    memcpy(sum->worst_route, one->worst_route, sizeof sum->worst_route);
}

void check_tally_print(const check_tally_t *sum, size_t problems)
{
    fprintf(sum->out, "%zu problems: %ld passed, %ld refused, %ld failed", problems, sum->passed,
            sum->refused, sum->failed);
    if (sum->passed > 0 && sum->worst > 0.0)
        fprintf(sum->out, "; largest error %.3g (route %s, %s)", sum->worst, sum->worst_route,
                sum->worst_problem);
    fprintf(sum->out, "\n");
}

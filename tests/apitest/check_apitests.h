/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The trials of one problem: every public call beside the product. */
#ifndef TOOL_CHECK_APITESTS_H
#define TOOL_CHECK_APITESTS_H

#include "check_case.h"

/* Makes each trial on the operands and reports it, by one line. Those whose bits are promised are made again
 * with options->one, for the same bits. A and B stay as they are; their metadata gains formats. corrupt: the
 * call whose results are corrupted before they are compared, "all" of them, or NULL. */
void check_apitests(operand_set_t *set, const check_options_t *options, const char *corrupt,
                    check_line_fn report, void *arg);

/* Whether corrupt may have that value. */
bool check_trials_has(const char *call);

#endif

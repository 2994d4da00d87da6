/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The entry points that the check goes through. */
#ifndef TOOL_CHECK_CALLS_H
#define TOOL_CHECK_CALLS_H

#include "operand_set.h"

/* lac_gemm_ex, and those beside it, which decide for themselves: lac_sgemm or lac_sgemv (dense f32 operands),
 * a plan, and the rows of C as a batch (no value is special: each member may be computed in another way). */
typedef enum entry { ENTRY_EX, ENTRY_BARE, ENTRY_PLAN, ENTRY_BATCHED } entry_t;

/* C := beta C + alpha A B of the set. route: NULL, or a name that ENTRY_EX and ENTRY_PLAN force. The decision
 * is left alone where the entry point does not tell it. Queues only, on a device. */
lac_status_t check_call(lac_ctx_t *ctx, const operand_set_t *set, entry_t entry, const char *route,
                        lac_decision_t *decision);

#endif

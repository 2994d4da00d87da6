/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The oracle for products that would take the host seconds: the device's own product in double.
 *
 * The route "reference" of a device sums in double and rounds once. It is run twice: on the operands, and on
 * their magnitudes, which give the |A||B| that errors are measured by. Some elements are summed again on the
 * host, so that it is not only the device that vouches for itself. */
#ifndef TOOL_DEVICE_ORACLE_H
#define TOOL_DEVICE_ORACLE_H

#include <stdbool.h>

#include "operand_set.h"
#include "ref_gemm.h"

/* What the one rounding adds to an error, in the units of ref_compare. */
#define DEVICE_ORACLE_UNITS 1.0

/* True where the set lies on a device and the host's oracle would take long. */
bool device_oracle_serves(const operand_set_t *set);

/* out := beta C + alpha A B for a set with finite operands, C as it is before a call. ctx computes on the
 * set's device. False, with one line in why: memory, a call that failed, or the host's elements disagree. */
bool device_oracle(const operand_set_t *set, lac_ctx_t *ctx, ref_result_t *out, char *why, size_t size);

#endif

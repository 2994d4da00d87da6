/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The operands of one problem as the library takes them: generated contents and the metadata attached as the
 * problem string says. */
#ifndef TOOL_OPERAND_SET_H
#define TOOL_OPERAND_SET_H

#include <stdbool.h>

#include "attachment.h"
#include "device_copy.h"
#include "lacuna/lacuna.h"
#include "ref_generate.h"
#include "ref_problem.h"

typedef struct operand_set {
    ref_problem_t problem;
    char text[REF_PROBLEM_TEXT];
    ref_case_t data;           /* on the host; C as operand_set_fetch found it                        */
    ref_matrix_t c_before;     /* C as it is before a call, padding and guards included               */
    ref_matrix_t a_f32, b_f32; /* floats of a binary operand for a caller without Lacuna; or empty    */
    device_copy_t copy_a, copy_b, copy_c, copy_a_f32, copy_b_f32; /* empty on the host                */
    attachment_t know_a, know_b;
    lac_obj_t a, b, c;          /* as the problem says                                                 */
    lac_obj_t plain_a, plain_b; /* dense f32 without metadata: what a caller without Lacuna would pass */
} operand_set_t;

#define OPERAND_SET_GUARD 64 /* poisoned elements around C */

/* Generates and attaches, where ctx computes; ctx must outlive the set. False, with one line in error:
 * memory, or the library did not take the metadata. *set is then empty. An attached CSR or CSC has indices of
 * 32 bits for odd seeds, of 64 bits for even ones, so that a list of problems meets both. */
bool operand_set_make(operand_set_t *set, const ref_problem_t *problem, lac_ctx_t *ctx, char *error,
                      size_t error_size);
void operand_set_free(operand_set_t *set);

/* C as it was before any call. Waits. Errors: those of lac_device_upload. */
lac_status_t operand_set_reset(operand_set_t *set);

/* Brings C, padding and guards included, into data.c. Waits. Errors: those of lac_device_download. */
lac_status_t operand_set_fetch(operand_set_t *set);

/* The same of A and B, to see whether a call wrote to them. */
lac_status_t operand_set_fetch_inputs(operand_set_t *set);

/* Other contents in the same buffers, and a new generation of what is known of them. An operand without a
 * buffer stays as it is. Waits. Errors: MEMORY, those of lac_device_upload. */
lac_status_t operand_set_renew(operand_set_t *set);

/* What the problem attaches, measured by the library from what the buffers hold now, and frozen where the
 * problem says so. Errors: those of lac_meta_scan. */
lac_status_t operand_set_scan(operand_set_t *set);

#endif

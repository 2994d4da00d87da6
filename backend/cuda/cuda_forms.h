/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Forms of metadata on the device: built by kernels, kept with the operand. */
#ifndef LACUNA_CUDA_FORMS_H
#define LACUNA_CUDA_FORMS_H

#include "cuda_exec.h"

/* True where lac_cuda_form_ensure would find or build it. Pure. */
bool lac_cuda_form_at_hand(const lac_operand_t *x, lac_form_t which);

/* The form that may stand for an operand's contents: the one that is there, or, for a frozen operand with a
 * buffer, one built now and kept; *form is NULL where there is neither. Building waits for the stream, uses
 * the workspace, and is not possible while the stream is captured. Errors: MEMORY, VENDOR. */
lac_status_t lac_cuda_form_ensure(lac_exec_t *exec, const lac_operand_t *x, lac_form_t which,
                                  const lac_form_data_t **form);

#endif

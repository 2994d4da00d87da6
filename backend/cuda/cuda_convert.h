/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A compressed form from an operand's other sparse forms. */
#ifndef LACUNA_CUDA_CONVERT_H
#define LACUNA_CUDA_CONVERT_H

#include "cuda_exec.h"

/* Whether that can be, and doing it. */
bool lac_cuda_form_converts(const lac_operand_t *x, lac_form_t which);
lac_status_t lac_cuda_form_convert(lac_exec_t *exec, const lac_operand_t *x, lac_form_t which,
                                   lac_form_data_t *data);

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A compressed format from an operand's other sparse formats. */
#ifndef LACUNA_CUDA_CONVERT_H
#define LACUNA_CUDA_CONVERT_H

#include "cuda_exec.h"

/* Whether that can be, and doing it. */
bool lac_cuda_format_converts(const lac_operand_t *x, lac_format_t which);
lac_status_t lac_cuda_format_convert(lac_exec_t *exec, const lac_operand_t *x, lac_format_t which,
                                     lac_format_data_t *data);

#endif

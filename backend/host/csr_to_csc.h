/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * CSR from CSC and the reverse. */
#ifndef LACUNA_HOST_CSR_TO_CSC_H
#define LACUNA_HOST_CSR_TO_CSC_H

#include "host_exec.h"

/* The compressed format `which` (CSR or CSC) of the other, which stands for the operand. */
bool lac_csr_to_csc_applies(const lac_operand_t *x, lac_format_t which);

/* `from` has `majors` lines of indices below `minors`; *to gets memory of its own and origin derived. Entries
 * of value 0 stay entries. Errors: MEMORY. */
lac_status_t lac_csr_to_csc(lac_exec_t *exec, const lac_format_data_t *from, int64_t majors, int64_t minors,
                            int threads, lac_format_data_t *to);

#endif

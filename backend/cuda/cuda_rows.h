/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The sparse operand by rows (CSR), as the routes csr and cusparse read it: its format, or one built for the
 * call. */
#ifndef LACUNA_CUDA_ROWS_H
#define LACUNA_CUDA_ROWS_H

#include "cuda_formats.h"

/* Where the rows of S come from. */
typedef enum lac_cuda_rows_source {
    LAC_CUDA_ROWS_FORMAT, /* metadata has or makes them, once         */
    LAC_CUDA_ROWS_BUILT,  /* from the buffer, in every call           */
    LAC_CUDA_ROWS_NOWHERE
} lac_cuda_rows_source_t;

lac_cuda_rows_source_t lac_cuda_rows_source(const lac_sided_t *s);

/* Workspace that building takes: room for every element, since nothing is counted on the host. */
size_t lac_cuda_rows_bytes(const lac_sided_t *s);

/* Microseconds that building takes. */
double lac_cuda_rows_us(const lac_sided_t *s, const lac_machine_t *machine);

/* Builds the rows of S's buffer at `memory`; csr->nnz is what is expected. Waits for nothing. */
lac_status_t lac_cuda_rows_build(lac_exec_t *exec, const lac_sided_t *s, char *memory, lac_cuda_csr_t *csr);

#endif

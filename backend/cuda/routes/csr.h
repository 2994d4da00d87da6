/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The sparse operand by rows, as the routes csr and cusparse read it, and the steps made of it where both
 * sides are long. */
#ifndef LACUNA_CUDA_ROUTES_CSR_H
#define LACUNA_CUDA_ROUTES_CSR_H

#include "cuda/formats/formats.h"
#include "route/sided.h"
#include "cuda/runtime/exec.h"

/* Where the rows of S come from. */
typedef enum lac_cuda_rows_source {
    LAC_CUDA_ROWS_FORMAT, /* metadata has or makes them, once         */
    LAC_CUDA_ROWS_BUILT,  /* from the buffer, in every call           */
    LAC_CUDA_ROWS_NOWHERE
} lac_cuda_rows_source_t;

lac_cuda_rows_source_t lac_cuda_rows_source(const lac_sided_t *s);

/* Workspace that building takes: room for every element, since nothing is counted on the host. packed: as a
 * CSR in the narrow sense, for which S is read twice; else rows are apart. */
size_t lac_cuda_rows_bytes(const lac_sided_t *s, bool packed);

/* Microseconds that building takes. */
double lac_cuda_rows_us(const lac_sided_t *s, bool packed, const lac_machine_t *machine);

/* Builds the rows of S's buffer at `memory`; csr->nnz is what is expected. Waits for nothing. */
lac_status_t lac_cuda_rows_build(lac_exec_t *exec, const lac_sided_t *s, bool packed, char *memory,
                                 lac_cuda_csr_t *csr);

/* True where the product by lists of an S that may change is possible; the microseconds of it, without what
 * reading S takes. Pure. */
bool lac_cuda_staged_serves(const lac_sided_t *s);
double lac_cuda_staged_us(const lac_sided_t *s, const lac_machine_t *machine);

/* Steps: the rows of S made ready for the product with both sides long. Where the rows are metadata, so are
 * they. */

/* True where the product by steps is possible for such extents; once: the steps are made for the one call.
 * Pure. */
bool lac_cuda_schedule_serves(const lac_sided_t *s, bool once);

/* Microseconds of the product, and of making the steps where it is once. */
double lac_cuda_schedule_us(const lac_sided_t *s, bool once, const lac_machine_t *machine);

/* Workspace of making them for the one call: room for as many as S has elements, since nothing is counted on
 * the host; and device memory that kept ones take, or will. */
size_t lac_cuda_schedule_work(const lac_sided_t *s);
size_t lac_cuda_schedule_kept(const lac_sided_t *s);

/* The kept steps of S, made now where they are not there; *steps stays NULL where that cannot be, since the
 * stream is captured. Making them uses the workspace and waits for the stream. */
lac_status_t lac_cuda_schedule_now(lac_exec_t *exec, const lac_sided_t *s, const lac_format_data_t *rows,
                                   const void **steps);

/* Steps for the one call, at `memory`. Waits for nothing. */
lac_status_t lac_cuda_schedule_once(lac_exec_t *exec, const lac_sided_t *s, const lac_cuda_csr_t *rows,
                                    char *memory, const void **steps);

#endif

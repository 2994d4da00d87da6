/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Steps: the rows of S made ready for the product with both sides long. Where the rows are metadata, so are
 * they. */
#ifndef LACUNA_CUDA_SCHEDULE_H
#define LACUNA_CUDA_SCHEDULE_H

#include "../model/sided.h"
#include "cuda_exec.h"

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

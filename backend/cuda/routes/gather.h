/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What gathering slices of W costs: by rows, and by columns, where one of three kernels serves. */
#ifndef LACUNA_CUDA_ROUTES_GATHER_H
#define LACUNA_CUDA_ROUTES_GATHER_H

#include "route/sided.h"

/* Microseconds, the output included, launches and what finds the events not. Pure. */
double lac_cuda_gather_us(const lac_sided_t *s, const lac_machine_t *machine);

/* The same for few rows whose blocks list their events (lac_cuda_event_lists_rows), which are found by that.
 */
double lac_cuda_few_us(const lac_sided_t *s, const lac_machine_t *machine);

/* The same by lac_cuda_spmm_wide: for many rows of few nonzeros each. */
double lac_cuda_wide_us(const lac_sided_t *s, const lac_machine_t *machine);

/* Whether that is the faster of the two; of extents and nonzeros, and whether the output lies `across`: its
 * rows do not lie together. */
bool lac_cuda_wide_wins(double m, double n, double k, double nnz, bool across, const lac_machine_t *machine);

/* Which kernel multiplies events with a W that lies by columns, and what each would cost. */

typedef enum lac_cuda_columns {
    LAC_CUDA_COLUMNS_EVENTS, /* one element per event: few events, or given as CSR      */
    LAC_CUDA_COLUMNS_ACTIVE, /* the active elements of each column, for several rows    */
    LAC_CUDA_COLUMNS_STREAM  /* all of W, once                                          */
} lac_cuda_columns_t;

/* Where the events are given as CSR: whether one of the others, from the dense buffer, is faster still. Pure.
 */
bool lac_cuda_columns_beat_given(const lac_sided_t *s, const lac_machine_t *machine);

/* Of those that take S from a dense buffer. Pure: the same for the same extents, density and constants. */
lac_cuda_columns_t lac_cuda_columns_best(const lac_sided_t *s, const lac_machine_t *machine);

/* Microseconds, the output included, launches and what finds the events not. Pure. */
double lac_cuda_columns_us(const lac_sided_t *s, lac_cuda_columns_t how, const lac_machine_t *machine);

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What happens when a program calls a BLAS routine and no BLAS is behind us: Lacuna's own product.
 *
 * Arguments are checked as the netlib BLAS does. A bad one is reported to the program's xerbla_ (cblas_xerbla
 * for the C calls), or to stderr where it has none, and the call returns with nothing written. */
#ifndef LACUNA_PLUGIN_BLAS_FALLBACK_H
#define LACUNA_PLUGIN_BLAS_FALLBACK_H

#include "args.h"

typedef enum blas_routine { BLAS_GEMM, BLAS_GEMV, BLAS_SYRK, BLAS_SYMM } blas_routine_t;

/* verdict is the reader's; order is that of a C call, 0 for a Fortran call. */
void last_resort(const lac_gemm_args_t *g, int verdict, blas_routine_t routine, int order);

#endif

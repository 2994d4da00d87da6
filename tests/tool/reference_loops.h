/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What stub devices compute by plain loops, for the members of a backend that the host's leaves empty. */
#ifndef REFERENCE_LOOPS_H
#define REFERENCE_LOOPS_H

#include "route/backend.h"
#include "api/interpose.h"

/* to := beta to + x. */
lac_status_t reference_loops_add(lac_exec_t *exec, lac_dim_t m, lac_dim_t n, const float *x, lac_inc_t xrs,
                                 lac_inc_t xcs, float beta, float *to, lac_inc_t rs, lac_inc_t cs);

/* Somebody else's CSR product. */
lac_status_t reference_loops_spmm(lac_exec_t *exec, const lac_spmm_t *x);

#endif

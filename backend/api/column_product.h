/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Products in a BLAS's column-major terms: what the entries for drop-in libraries share. */
#ifndef LACUNA_API_COLUMN_PRODUCT_H
#define LACUNA_API_COLUMN_PRODUCT_H

#include "../dispatch/ctx_state.h"
#include "lacuna/interpose.h"

/* The site of a product that a drop-in library brings, from its shape alone. */
lac_site_key_t lac_column_key(lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n, lac_dim_t k,
                              lac_inc_t lda, lac_inc_t ldb, uint64_t site_bits, const void *caller);

/* op(X), rows x cols; rs is 1 but for a vector. */
lac_obj_t lac_column_obj(lac_space_t space, lac_trans_t trans, lac_dim_t rows, lac_dim_t cols,
                         const float *buf, lac_inc_t rs, lac_inc_t ld);

/* Queues the sums that follow a product. */
lac_status_t lac_residual_queue(const lac_ctx_t *ctx, const lac_residual_t *residual, const lac_problem_t *p);

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A batch of products: at once where the backend can, one by one otherwise. */
#ifndef LACUNA_DISPATCH_DISPATCH_BATCH_H
#define LACUNA_DISPATCH_DISPATCH_BATCH_H

#include "dispatch.h"
#include "../model/batched.h"

/* Serves the whole batch, or leaves all of it (*served false). p is the first product's, without metadata of
 * matrices that differ. */
lac_status_t lac_dispatch_batch(lac_ctx_t *ctx, lac_problem_t *p, lac_batch_t *batch, const char *symbol,
                                bool *served);

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Products on streams that are being captured.
 *
 * A CUDA graph outlives its capture and may be replayed beside eager work, so what Lacuna records has a
 * context of its own: one for each capture and stream, given back when the last graph that came of it is
 * destroyed. */
#ifndef LACUNA_GRAPH_CONTEXT_H
#define LACUNA_GRAPH_CONTEXT_H

#include "lacuna/interpose.h"

/* Records both ways of the product where one that was computed before showed it sparse. 1: done. 0: to be
 * forwarded, and why. Negative: the capture is spoilt. */
int capture_product(void *stream, int math, const lac_captured_gemm_t *product, lac_pass_t *why);

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A layer: a product with bias and activation, whose output comes back with the metadata of its zeros, so
 * that it is the next layer's sparse operand as it stands. */
#ifndef LACUNA_LAYER_H
#define LACUNA_LAYER_H

#include "lacuna/gemm.h"
#include "lacuna/meta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which elements an activation leaves alone; the others become 0. NaN stays NaN. */
typedef enum lac_act {
    LAC_ACT_NONE = 0,      /* all                          */
    LAC_ACT_RELU = 1,      /* x > 0                        */
    LAC_ACT_THRESHOLD = 2, /* x > threshold, which is any number */
    LAC_ACT_MAGNITUDE = 3  /* |x| > threshold, which is not negative */
} lac_act_t;

/* Epilogue of a product. Set size to sizeof(lac_epilogue_t) and leave unknown members zero. */
typedef struct lac_epilogue {
    size_t size;
    const void *bias; /* of C's type, in the context's space, added to the product; NULL: none */
    int bias_per_row; /* 0: bias[n], one for each column of C; nonzero: bias[m], one for each row */
    lac_act_t act;
    double threshold;
    unsigned formats; /* LAC_META_ bits: what C's metadata holds afterwards; 0: nothing */
} lac_epilogue_t;

/* C := act(beta C + alpha op(A) op(B) + bias).
 *
 * Where c has metadata, a new generation of it begins, and the formats are measured from what was written.
 * They stand for C's contents as attached ones do: until the next touch, or the next layer into C. Whoever
 * changes C in another way touches it first. A format other than the density waits for a device, once.
 *
 * call and epilogue may be NULL. A call that declines (call->may_decline) leaves C and its metadata alone.
 * Errors: those of lac_gemm_ex, with nothing written; NULL (formats, and c has no metadata); VALUE (no such
 * activation, bits of no format, a threshold that is NaN or, of magnitudes, negative); ALIAS (bias and c
 * share memory; c has the metadata of a or b); UNAVAILABLE (formats, while a device's stream is captured).
 * Where formats lack MEMORY, C is written and its metadata is empty. */
LAC_API lac_status_t lac_gemm_epilogue(lac_ctx_t *ctx, const void *alpha, const lac_obj_t *a,
                                       const lac_obj_t *b, const void *beta, const lac_obj_t *c,
                                       const lac_epilogue_t *epilogue, lac_call_opts_t *call);

#ifdef __cplusplus
}
#endif
#endif

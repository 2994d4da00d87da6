/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Many products of one shape at once: C_q := beta C_q + alpha op(A_q) op(B_q) for q < count.
 *
 * Products that can be laid together into one are (trials that share a weight are more rows of one product);
 * small ones on a device are one launch; all others are as many calls of lac_gemm. Whether one launch skips
 * zeros or is the vendor's strided batch is decided by the density of the first matrix, known or sampled as
 * that of lac_gemm: a batch of very different densities is better given in parts.
 *
 * Types are those of lac_gemm, f16 and bf16 on a device included. alpha and beta point at one number of C's
 * type, of f32 where that is of two bytes; NULL stands for alpha = 1 and beta = 0. beta = 0 never reads C;
 * alpha = 0 never reads A or B. The C_q share no element with each other, nor with any A_q or B_q. On any
 * error that is found before the work is queued nothing is written; products that are called one by one may
 * leave those before the failing one done. */
#ifndef LACUNA_BATCH_H
#define LACUNA_BATCH_H

#include "lacuna/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The views describe the first matrices; element (i, j) of the q-th of X lies q * stride_x elements behind
 * that of the first. stride_a or stride_b 0: one matrix for all, with all that its metadata says (frozen,
 * attached, sparse only). Otherwise metadata, which describes one matrix,
 * is ignored, and a buffer is needed. Errors: those of lac_gemm; EXTENT (a negative count, strides that
 * overflow); STRIDE (stride_c makes the C_q overlap); EMPTY (no buffer under a stride that is not 0). */
LAC_API lac_status_t lac_gemm_batched(lac_ctx_t *ctx, lac_dim_t count, const void *alpha, const lac_obj_t *a,
                                      lac_inc_t stride_a, const lac_obj_t *b, lac_inc_t stride_b,
                                      const void *beta, const lac_obj_t *c, lac_inc_t stride_c);

/* The same with a view for each matrix, anywhere: a[q * step_a], b[q * step_b] and c[q]; step 0: one for all,
 * 1: count views, each with metadata of its own or none. All op(A) have one shape, and all op(B), and all C.
 * Errors: those of lac_gemm, the argument's place in brackets; VALUE (a step that is neither 0 nor 1). */
LAC_API lac_status_t lac_gemm_batched_array(lac_ctx_t *ctx, lac_dim_t count, const void *alpha,
                                            const lac_obj_t *a, lac_dim_t step_a, const lac_obj_t *b,
                                            lac_dim_t step_b, const void *beta, const lac_obj_t *c);

#ifdef __cplusplus
}
#endif
#endif

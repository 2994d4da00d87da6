/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sampled products (SDDMM), and with them the gradients of a product to its operands.
 *
 * Of L, a number that depends on C = alpha op(A) op(B), let G = dL/dC. Then
 *
 *     dL/d op(A) = alpha G op(B)'        dL/d op(B) = alpha op(A)' G
 *
 * Where the operand is dense that is a product again, in which the zeros of the other operand are skipped.
 * Where the operand is sparse only its entries may change, and their gradient is the same product at the
 * entries: a sampled product. (Textbook rules of reverse differentiation; the sampled format is that of the
 * SDDMM of Sputnik and cuSPARSE.) Everything here is linear in each operand: forward mode is lac_gemm or
 * lac_sddmm on the tangents (the tangent of a CSR operand is one more lac_meta_attach_csr of the same row
 * pointers and indices), and gradients of gradients are the same calls again.
 *
 * alpha and beta point at one float; NULL stands for alpha = 1 and beta = 0. beta = 0 never reads what is
 * written; alpha = 0 never reads the operands. Arrays lie in the context's space and stay the caller's. On
 * any error nothing is written. */
#ifndef LACUNA_SDDMM_H
#define LACUNA_SDDMM_H

#include "lacuna/meta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For each entry e = (i, j) of op(pattern), m x n,
 *     values[e] := beta values[e] + alpha sum over k of op(A)[i, k] op(B)[k, j]
 * with op(A) m x k and op(B) k x n, f32 or u8 events with any strides (a sparse-only one is expanded first).
 *
 * The entries are those of the CSR format of the pattern's stored matrix, in its order (row by row, ascending
 * columns; the pattern's trans changes what an entry means, not the order): attached, or scanned while the
 * metadata is frozen. values is [nnz], nnz being the format's ptr[pattern.m], which is also
 * lac_meta_density * pattern.m * pattern.n. The pattern's own values and buffer are not read; values may be
 * the very array of values that was attached to it (touch the metadata then). Each value is summed by one
 * thread in a fixed order: the same bits whatever the number of threads. Every element along k is multiplied,
 * zeros too.
 *
 * Errors: NULL; EXTENT; STRIDE; TYPE; VALUE; SPACE; ALIAS (values overlaps an array that is read); EMPTY (the
 * pattern has no CSR format that stands for it); STALE (it was touched); MEMORY; UNAVAILABLE (a context whose
 * device has no sampled products). */
LAC_API lac_status_t lac_sddmm(lac_ctx_t *ctx, const void *alpha, const lac_obj_t *a, const lac_obj_t *b,
                               const void *beta, const lac_obj_t *pattern, void *values);

/* The gradient to A: grad_a := beta grad_a + alpha grad_c op(B)', where grad_a has the shape and trans of A
 * (op(grad_a) is m x k), grad_c is m x n and op(B) k x n; grad_c and b are any operands of lac_gemm.
 *   values NULL   to the whole of grad_a, f32 with a buffer: a lac_gemm. A binary operand's gradient is f32
 * too. values [nnz]  to the entries of grad_a's CSR format, as lac_sddmm with grad_a as its pattern: pass A
 * itself for the gradient to the values of a CSR operand. Errors: those of lac_gemm or lac_sddmm, by the
 * names of these arguments. */
LAC_API lac_status_t lac_gemm_grad_a(lac_ctx_t *ctx, const void *alpha, const lac_obj_t *grad_c,
                                     const lac_obj_t *b, const void *beta, const lac_obj_t *grad_a,
                                     void *values);

/* The gradient to B: grad_b := beta grad_b + alpha op(A)' grad_c, where op(grad_b) is k x n. An A of events
 * makes it the transposed event product. Otherwise as lac_gemm_grad_a. */
LAC_API lac_status_t lac_gemm_grad_b(lac_ctx_t *ctx, const void *alpha, const lac_obj_t *a,
                                     const lac_obj_t *grad_c, const void *beta, const lac_obj_t *grad_b,
                                     void *values);

#ifdef __cplusplus
}
#endif
#endif

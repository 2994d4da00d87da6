/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A context on the stand-in's device, operands that lie there, and what a call launched. */
#ifndef CUDA_HOST_SUPPORT_H
#define CUDA_HOST_SUPPORT_H

#include "unit_support.h"
#include "standin.h"

/* A context on a stream of its own, on a device as at the start; free it with cuda_host_close. */
lac_ctx_t *cuda_host_ctx(void);

/* Frees the context and all operands; expects that nothing is held any more, no rule was broken, and no error
 * is left behind. */
void cuda_host_close(lac_ctx_t *ctx);

/* A dense matrix by rows (by columns) on the device; `shift` elements off alignment. */
lac_obj_t cuda_host_rows(lac_ctx_t *ctx, lac_dim_t m, lac_dim_t n);
lac_obj_t cuda_host_columns(lac_ctx_t *ctx, lac_dim_t m, lac_dim_t n);
lac_obj_t cuda_host_matrix(lac_ctx_t *ctx, lac_dt_t dt, lac_dim_t m, lac_dim_t n, lac_inc_t rs, lac_inc_t cs,
                           lac_dim_t shift);
void *cuda_host_memory(lac_ctx_t *ctx, size_t bytes);

/* Makes it known that so many elements of x are nonzero. */
void cuda_host_count(lac_ctx_t *ctx, lac_obj_t *x, int64_t nnz);
/* The same, and frozen. */
void cuda_host_freeze(lac_ctx_t *ctx, lac_obj_t *x, int64_t nnz);
/* x without a buffer, with CSR attached that has `each` entries in each row. */
void cuda_host_csr(lac_ctx_t *ctx, lac_obj_t *x, int64_t each);

/* C := beta C + alpha A B by a route; launches are forgotten before. */
lac_status_t cuda_host_gemm(lac_ctx_t *ctx, const char *route, float alpha, const lac_obj_t *a,
                            const lac_obj_t *b, float beta, const lac_obj_t *c);

/* Expects that the product succeeded and was one launch (behind others), whose record it returns. */
const standin_launch_t *cuda_host_launch(lac_ctx_t *ctx, const char *route, const lac_obj_t *a,
                                         const lac_obj_t *b, const lac_obj_t *c, const char *name);

/* What the route says that it needs beyond the operands; -1 where it does not apply. */
int64_t cuda_host_bytes(lac_ctx_t *ctx, const char *route, const char *side, const lac_obj_t *a,
                        const lac_obj_t *b, const lac_obj_t *c);
/* Its predicted time. */
double cuda_host_cost(lac_ctx_t *ctx, const char *route, const char *side, const lac_obj_t *a,
                      const lac_obj_t *b, const lac_obj_t *c);

/* Rounded up as pieces of a workspace are. */
static inline int64_t cuda_host_piece(int64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

#endif

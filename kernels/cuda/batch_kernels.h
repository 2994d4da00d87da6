/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Many small event products in one launch. The contract is that of cuda_kernels.h. */
#ifndef LACUNA_BATCH_KERNELS_H
#define LACUNA_BATCH_KERNELS_H

#include "cuda_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LAC_CUDA_BATCH_K   4096 /* the longest k                      */
#define LAC_CUDA_BATCH_SET 128  /* matrices that one launch can name */

/* out_q := beta out_q + alpha S_q W_q for q < count: the picture of cuda_kernels.h, count times over. Element
 * (k, j) of W lies at w[k * wks + j * wjs]. */
typedef struct lac_cuda_batch {
    int64_t count, m, n, k;
    float alpha, beta;
    lac_dt_t dt; /* of S */
    int64_t srs, scs, wks, wjs, rs, cs;
    /* Where the matrices begin, in elements behind the first; or, for up to LAC_CUDA_BATCH_SET of them, one
     * by one, in arrays of the host. NULL: the steps count. */
    const void *s;
    const float *w;
    float *out;
    int64_t s_step, w_step, out_step;
    const void *const *s_each;
    const float *const *w_each;
    float *const *out_each;
} lac_cuda_batch_t;

/* One block for each row of S and up to 1024 columns. k <= LAC_CUDA_BATCH_K (LAC_ERR_EXTENT otherwise). */
lac_status_t lac_cuda_batch_events(const lac_cuda_batch_t *b, lac_cuda_stream_t stream);

#ifdef __cplusplus
}
#endif
#endif

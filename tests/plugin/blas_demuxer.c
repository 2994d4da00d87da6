/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A BLAS that only passes calls on, to the function that it is given. It calls, as FlexiBLAS does, or with
 * BLAS_DEMUXER_JUMPS it jumps, as libblastrampoline does (optimised, the call in the tail becomes a jump). */
#include "blas/shapes.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void blas_demuxer_set(void *sgemm);
EXPORT int blas_demuxer_calls(void);
EXPORT sgemm_fn sgemm_;

static sgemm_fn *target;
static volatile int calls;

void blas_demuxer_set(void *sgemm)
{
    target = (sgemm_fn *)sgemm;
}

int blas_demuxer_calls(void)
{
    return calls;
}

void sgemm_(SGEMM_PARAMS, size_t ta_len, size_t tb_len)
{
#ifdef BLAS_DEMUXER_JUMPS
    calls++;
    target(GEMM_ARGS, ta_len, tb_len);
#else
    target(GEMM_ARGS, ta_len, tb_len);
    calls++;
#endif
}

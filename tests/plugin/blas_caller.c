/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A shared object that calls a BLAS, as a Python extension does: loaded with RTLD_LOCAL, linked against one
 * BLAS or another. The tail of each function keeps the call from becoming a jump, which would hide it. */
#include "blas/shapes.h"

#define EXPORT __attribute__((visibility("default")))

extern sgemm_fn sgemm_;
EXPORT int caller_sgemm(SGEMM_PARAMS);
EXPORT int caller_through(void *fn, SGEMM_PARAMS);

static volatile int returned;

int caller_sgemm(SGEMM_PARAMS)
{
    sgemm_(GEMM_ARGS, 1, 1);
    return ++returned;
}

/* The same through an address that it was handed. */
int caller_through(void *fn, SGEMM_PARAMS)
{
    ((sgemm_fn *)fn)(GEMM_ARGS, 1, 1);
    return ++returned;
}

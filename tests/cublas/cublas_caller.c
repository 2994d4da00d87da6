/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A shared object that calls cuBLAS, as a Python extension does: loaded with RTLD_LOCAL, linked against one
 * or another, or none. The tail of each function keeps the call from becoming a jump, which would hide it. */
#include "cublas/shapes.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int caller_through(void *fn, SGEMM_PARAMS);

static volatile int returned;

int caller_through(void *fn, SGEMM_PARAMS)
{
    int status = ((sgemm_fn *)fn)(SGEMM_ARGS);
    returned++;
    return status;
}

#ifndef CALLER_LINKS_NOTHING
extern sgemm_fn cublasSgemm_v2;
EXPORT int caller_sgemm(SGEMM_PARAMS);

int caller_sgemm(SGEMM_PARAMS)
{
    int status = cublasSgemm_v2(SGEMM_ARGS);
    returned++;
    return status;
}
#endif

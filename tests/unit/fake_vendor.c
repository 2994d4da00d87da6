/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Fake BLASes, to be found by their names: with both routines and a version as BLIS reports it; FAKE_HALF,
 * with one; FAKE_WIDE, as the wheels of NumPy bring it: prefixed names, 64-bit integers, and a product that
 * only it makes. */
#include "blas/shapes.h"

#define EXPORT __attribute__((visibility("default")))

#ifdef FAKE_WIDE
EXPORT void scipy_sgemv_64_(void);
void scipy_sgemv_64_(void) {}

EXPORT sgemm_fn scipy_sgemm_64_;

/* C := 1000 + its extents, each in a digit of its own. */
void scipy_sgemm_64_(SGEMM_PARAMS, size_t ta_len, size_t tb_len)
{
    const int64_t rows = *(const int64_t *)m, cols = *(const int64_t *)n, depth = *(const int64_t *)k;
    (void)ta, (void)tb, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb, (void)beta;
    (void)ta_len, (void)tb_len;
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++)
            c[i + j * *(const int64_t *)ldc] = (float)(1000 + 100 * rows + 10 * cols + depth);
}
#else
EXPORT void sgemm_(void);
void sgemm_(void) {}

#    ifndef FAKE_HALF
EXPORT void sgemv_(void);
void sgemv_(void) {}

EXPORT const char *bli_info_get_version_str(void);
const char *bli_info_get_version_str(void)
{
    return "of a test";
}
#    endif
#endif

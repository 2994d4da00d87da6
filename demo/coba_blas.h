/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The one BLAS call that the demo makes, declared here so that a run-time BLAS alone is enough to build it.
 */
#ifndef COBA_BLAS_H
#define COBA_BLAS_H

/* The CBLAS enumerations are passed as int on every ABI in use. */
enum { COBA_ROW_MAJOR = 101, COBA_NO_TRANS = 111 };

/* C := alpha op(A) op(B) + beta C, from whichever BLAS the dynamic linker finds. */
void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc);

#endif

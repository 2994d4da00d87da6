/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A cublasLtMatmul read into the terms of sgemm, attribute by attribute: each costs 8 ns (H200 host,
 * 2026-11).
 */
#ifndef LACUNA_CUBLAS_LT_ARGS_H
#define LACUNA_CUBLAS_LT_ARGS_H

#include "cublas_args.h"
#include "cublas_resolve.h"

#include "lacuna/interpose.h"

typedef struct lt_args {
    gemm_args_t gemm; /* c is D; beta is 0 where C lies apart from it */
    lac_residual_t residual;
    bool adds; /* a bias, or a C apart from D */
    float alpha, beta;
} lt_args_t;

/* The extents of D, and whether its type is f32. False where they cannot be read. */
bool read_lt_result(const getters_t *get, const void *d_layout, int64_t *m, int64_t *n, bool *f32);

/* The shape of a product: its extents, leading dimensions and transposes, and whether something is added to
 * it beside D. All that a place which is known to be dense needs. False where it is none for us. */
bool read_lt_shape(lt_args_t *args, const getters_t *get, LT_MATMUL_PARAMS);

/* The rest of one whose shape was read. True where it is a f32 product by columns of single matrices whose
 * scalars lie on the host, with the default epilogue or a bias, and where what it adds is D itself, or a C
 * apart from D as it is. */
bool read_lt_rest(lt_args_t *args, const getters_t *get, LT_MATMUL_PARAMS);

#endif

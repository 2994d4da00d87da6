/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A cublasLtMatmul read into the terms of sgemm, attribute by attribute. */
#ifndef LACUNA_CUBLAS_LT_ARGS_H
#define LACUNA_CUBLAS_LT_ARGS_H

#include "cublas_args.h"
#include "cublas_resolve.h"

#include "lacuna/dropin.h"

typedef struct lt_args {
    gemm_args_t gemm; /* c is D; beta is 0 where C lies apart from it */
    lac_addend_t addend;
    float alpha, beta;
} lt_args_t;

/* Reads a product, up to the first thing that is not understood. True where it is a f32 product by columns of
 * single matrices whose scalars lie on the host, with the default epilogue or a bias, and where what it adds
 * is D itself, or a C apart from D as it is. */
bool read_lt_matmul(lt_args_t *args, const getters_t *get, LT_MATMUL_PARAMS);

#endif

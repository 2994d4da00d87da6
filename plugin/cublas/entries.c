/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The exported cuBLAS symbols, made from symbols.def. They carry no version: a tagged definition would
 * not intercept, whatever version cuBLAS gives its own. */
#include "entry.h"

/* clang-format off */
#define SGEMM_ENTER           enter_sgemm
#define SGEMV_ENTER           enter_sgemv
#define SGEMM_STRIDED_ENTER   enter_sgemm_strided
#define SGEMM_BATCHED_ENTER   enter_sgemm_batched
#define GEMM_EX_ENTER         enter_gemm_ex
#define GEMM_STRIDED_EX_ENTER enter_gemm_strided_ex
#define LT_MATMUL_ENTER       enter_lt_matmul
#define SPMM_ENTER            enter_spmm
#define SYMBOL(shape, name, wide) \
    __attribute__((visibility("default"))) int name(shape##_PARAMS); \
    int name(shape##_PARAMS) \
    { \
        static exported_symbol_t symbol = {#name, wide, NULL}; \
        return shape##_ENTER(&symbol, __builtin_return_address(0), shape##_ARGS); \
    }
#include "symbols.def"
/* clang-format on */

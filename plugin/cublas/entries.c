/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The exported cuBLAS symbols, made from symbols.def. They carry no version: a tagged definition would
 * not intercept, whatever version cuBLAS gives its own. */
#include "entry.h"

#define EXPORT __attribute__((visibility("default")))

/* clang-format off */
#define SGEMM(name, wide)           EXPORT int name(SGEMM_PARAMS);
#define SGEMV(name, wide)           EXPORT int name(SGEMV_PARAMS);
#define SGEMM_STRIDED(name, wide)   EXPORT int name(SGEMM_STRIDED_PARAMS);
#define SGEMM_BATCHED(name, wide)   EXPORT int name(SGEMM_BATCHED_PARAMS);
#define GEMM_EX(name, wide)         EXPORT int name(GEMM_EX_PARAMS);
#define GEMM_STRIDED_EX(name, wide) EXPORT int name(GEMM_STRIDED_EX_PARAMS);
#define LT_MATMUL(name, wide)       EXPORT int name(LT_MATMUL_PARAMS);
#define SPMM(name, wide)            EXPORT int name(SPMM_PARAMS);
#include "symbols.def"
#undef SGEMM
#undef SGEMV
#undef SGEMM_STRIDED
#undef SGEMM_BATCHED
#undef GEMM_EX
#undef GEMM_STRIDED_EX
#undef LT_MATMUL
#undef SPMM

#define CALLER __builtin_return_address(0)
#define ENTRY(name, wide, params, handler, ...) \
    int name(params) \
    { \
        static exported_symbol_t symbol = {#name, wide, NULL}; \
        return handler(&symbol, CALLER, __VA_ARGS__); \
    }
#define SGEMM(name, wide)           ENTRY(name, wide, SGEMM_PARAMS, enter_sgemm, SGEMM_ARGS)
#define SGEMV(name, wide)           ENTRY(name, wide, SGEMV_PARAMS, enter_sgemv, SGEMV_ARGS)
#define SGEMM_STRIDED(name, wide)   ENTRY(name, wide, SGEMM_STRIDED_PARAMS, enter_sgemm_strided, SGEMM_STRIDED_ARGS)
#define SGEMM_BATCHED(name, wide)   ENTRY(name, wide, SGEMM_BATCHED_PARAMS, enter_sgemm_batched, SGEMM_BATCHED_ARGS)
#define GEMM_EX(name, wide)         ENTRY(name, wide, GEMM_EX_PARAMS, enter_gemm_ex, GEMM_EX_ARGS)
#define GEMM_STRIDED_EX(name, wide) ENTRY(name, wide, GEMM_STRIDED_EX_PARAMS, enter_gemm_strided_ex, GEMM_STRIDED_EX_ARGS)
#define LT_MATMUL(name, wide)       ENTRY(name, wide, LT_MATMUL_PARAMS, enter_lt_matmul, LT_MATMUL_ARGS)
#define SPMM(name, wide)            ENTRY(name, wide, SPMM_PARAMS, enter_spmm, SPMM_ARGS)
#include "symbols.def"
/* clang-format on */

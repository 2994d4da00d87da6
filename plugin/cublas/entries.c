/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The cuBLAS calls: one handler per shape of call, and the exported symbols, which symbols.def makes.
 *
 * Every handler does the same: find the cuBLAS behind; where the call is the program's own (neither a cuBLAS
 * calling itself nor cuSOLVER), read the arguments and ask Lacuna; where it declines, or something was not
 * understood, forward verbatim. Now and then what cuBLAS takes for a declined call is timed. */
#include "entry.h"

/* The handlers are part of each exported symbol: to hand more than a dozen arguments on costs more than the
 * whole way of a call that is passed on. */
#define HANDLER static inline __attribute__((always_inline)) int

HANDLER enter_sgemm(exported_symbol_t *symbol, const void *caller, SGEMM_PARAMS)
{
    call_t call;
    cublas_args_t x;
    if (call_begin(&call, symbol, caller)) {
        read_sgemm(&x, symbol->wide, SGEMM_ARGS);
        if (lacuna_gemm(&call, handle, &x)) return CUBLAS_SUCCESS;
    }
    return FORWARD(&call, sgemm_fn, SGEMM_ARGS);
}

HANDLER enter_hgemm(exported_symbol_t *symbol, const void *caller, HGEMM_PARAMS)
{
    call_t call;
    cublas_args_t x;
    if (call_begin(&call, symbol, caller)) {
        read_hgemm(&x, symbol->wide, HGEMM_ARGS);
        if (lacuna_gemm(&call, handle, &x)) return CUBLAS_SUCCESS;
    }
    return FORWARD(&call, hgemm_fn, HGEMM_ARGS);
}

HANDLER enter_dgemm(exported_symbol_t *symbol, const void *caller, DGEMM_PARAMS)
{
    call_t call;
    cublas_args_t x;
    if (call_begin(&call, symbol, caller)) {
        read_dgemm(&x, symbol->wide, DGEMM_ARGS);
        if (lacuna_gemm(&call, handle, &x)) return CUBLAS_SUCCESS;
    }
    return FORWARD(&call, dgemm_fn, DGEMM_ARGS);
}

HANDLER enter_sgemv(exported_symbol_t *symbol, const void *caller, SGEMV_PARAMS)
{
    call_t call;
    cublas_args_t v;
    if (call_begin(&call, symbol, caller)) {
        read_sgemv(&v, symbol->wide, SGEMV_ARGS);
        if (lacuna_gemm(&call, handle, &v)) return CUBLAS_SUCCESS;
    }
    return FORWARD(&call, sgemv_fn, SGEMV_ARGS);
}

HANDLER enter_sgemm_strided(exported_symbol_t *symbol, const void *caller, SGEMM_STRIDED_PARAMS)
{
    call_t call;
    cublas_args_t x;
    if (call_begin(&call, symbol, caller)) {
        read_sgemm_strided(&x, symbol->wide, SGEMM_STRIDED_ARGS);
        if (lacuna_gemm(&call, handle, &x)) return CUBLAS_SUCCESS;
    }
    return FORWARD(&call, sgemm_strided_fn, SGEMM_STRIDED_ARGS);
}

/* The addresses of the matrices lie on the device, here and below: to read them would be to wait for it. */
HANDLER enter_sgemm_batched(exported_symbol_t *symbol, const void *caller, SGEMM_BATCHED_PARAMS)
{
    call_t call;
    if (call_begin(&call, symbol, caller)) (void)passed_on(&call, LAC_PASS_DEVICE_POINTERS);
    return FORWARD(&call, sgemm_batched_fn, SGEMM_BATCHED_ARGS);
}

HANDLER enter_gemm_ex(exported_symbol_t *symbol, const void *caller, GEMM_EX_PARAMS)
{
    call_t call;
    cublas_args_t x;
    if (call_begin(&call, symbol, caller)) {
        read_gemm_ex(&x, symbol->wide, GEMM_EX_ARGS);
        if (lacuna_gemm(&call, handle, &x)) return CUBLAS_SUCCESS;
    }
    return FORWARD(&call, gemm_ex_fn, GEMM_EX_ARGS);
}

HANDLER enter_gemm_strided_ex(exported_symbol_t *symbol, const void *caller, GEMM_STRIDED_EX_PARAMS)
{
    call_t call;
    cublas_args_t x;
    if (call_begin(&call, symbol, caller)) {
        read_gemm_strided_ex(&x, symbol->wide, GEMM_STRIDED_EX_ARGS);
        if (lacuna_gemm(&call, handle, &x)) return CUBLAS_SUCCESS;
    }
    return FORWARD(&call, gemm_strided_ex_fn, GEMM_STRIDED_EX_ARGS);
}

HANDLER enter_gemm_batched_ex(exported_symbol_t *symbol, const void *caller, GEMM_BATCHED_EX_PARAMS)
{
    call_t call;
    if (call_begin(&call, symbol, caller)) (void)passed_on(&call, LAC_PASS_DEVICE_POINTERS);
    return FORWARD(&call, gemm_batched_ex_fn, GEMM_BATCHED_EX_ARGS);
}

HANDLER enter_lt_matmul(exported_symbol_t *symbol, const void *caller, LT_MATMUL_PARAMS)
{
    call_t call;
    const lt_call_t lt = {LT_MATMUL_ARGS};
    if (call_begin(&call, symbol, caller) && lacuna_lt_matmul(&call, &lt)) return CUBLAS_SUCCESS;
    return FORWARD(&call, lt_matmul_fn, LT_MATMUL_ARGS);
}

HANDLER enter_spmm(exported_symbol_t *symbol, const void *caller, SPMM_PARAMS)
{
    call_t call;
    const spmm_call_t spmm = {SPMM_ARGS};
    if (call_begin(&call, symbol, caller) && lacuna_spmm(&call, &spmm)) return CUBLAS_SUCCESS;
    return FORWARD(&call, spmm_fn, SPMM_ARGS);
}

/* The exported cuBLAS symbols, made from symbols.def. They carry no version: a tagged definition would not
 * intercept, whatever version cuBLAS gives its own. */

/* clang-format off */
#define SGEMM_ENTER           enter_sgemm
#define HGEMM_ENTER           enter_hgemm
#define DGEMM_ENTER           enter_dgemm
#define SGEMV_ENTER           enter_sgemv
#define SGEMM_STRIDED_ENTER   enter_sgemm_strided
#define SGEMM_BATCHED_ENTER   enter_sgemm_batched
#define GEMM_EX_ENTER         enter_gemm_ex
#define GEMM_STRIDED_EX_ENTER enter_gemm_strided_ex
#define GEMM_BATCHED_EX_ENTER enter_gemm_batched_ex
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

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One handler per shape of call; cublas_entries.c makes the exported symbols from cublas_symbols.def and
 * calls these.
 *
 * Every handler does the same: find the cuBLAS behind; where the call is the program's own (neither a cuBLAS
 * calling itself nor cuSOLVER), read the arguments and ask Lacuna; where it declines, or something was not
 * understood, forward verbatim. */
#ifndef LACUNA_CUBLAS_ENTRY_H
#define LACUNA_CUBLAS_ENTRY_H

#include "cublas_args.h"
#include "cublas_resolve.h"

int enter_sgemm(cublas_symbol_t *symbol, const void *caller, SGEMM_PARAMS);
int enter_sgemv(cublas_symbol_t *symbol, const void *caller, SGEMV_PARAMS);
int enter_sgemm_strided(cublas_symbol_t *symbol, const void *caller, SGEMM_STRIDED_PARAMS);
int enter_gemm_ex(cublas_symbol_t *symbol, const void *caller, GEMM_EX_PARAMS);
int enter_gemm_strided_ex(cublas_symbol_t *symbol, const void *caller, GEMM_STRIDED_EX_PARAMS);
int enter_lt_matmul(cublas_symbol_t *symbol, const void *caller, LT_MATMUL_PARAMS);

/* This thread's calls in progress through this library; above 0, a call is a cuBLAS's own. A call that is
 * left by longjmp would never be counted back: from then on that thread's calls are forwarded. */
extern _Thread_local int calls_in_progress __attribute__((tls_model("initial-exec")));

static inline bool is_programs_own(const behind_t *behind)
{
    return calls_in_progress == 0 && behind->fn && !behind->forward_only;
}

/* FORWARD(type, arguments): the call as it came. */
#define FORWARD(type, ...)                                                                                   \
    (calls_in_progress++, forwarded(behind->fn ? ((type *)behind->fn)(__VA_ARGS__) : CUBLAS_NOT_INITIALIZED))
static inline int forwarded(int status)
{
    calls_in_progress--;
    return status;
}

/* True where Lacuna has queued the product. */
bool lacuna_gemm(const behind_t *behind, void *handle, gemm_args_t g, const char *symbol, const void *caller);

#endif

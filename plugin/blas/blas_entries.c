/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The exported BLAS symbols, made from blas_symbols.def. They carry no version: a tagged definition would not
 * intercept the untagged references of programs linked before it existed. */
#include "blas_entry.h"

#define EXPORT __attribute__((visibility("default")))

/* clang-format off */
#define SGEMM(name, wide)       EXPORT void name(SGEMM_PARAMS);
#define SGEMV(name, wide)       EXPORT void name(SGEMV_PARAMS);
#define CBLAS_SGEMM(name, wide) EXPORT void name(CBLAS_SGEMM_PARAMS);
#define CBLAS_SGEMV(name, wide) EXPORT void name(CBLAS_SGEMV_PARAMS);
#include "blas_symbols.def"
#undef SGEMM
#undef SGEMV
#undef CBLAS_SGEMM
#undef CBLAS_SGEMV

#define SYMBOL(name, wide)      static exported_symbol_t symbol_##name = {#name, wide, NULL};
#define SGEMM(name, wide)       SYMBOL(name, wide)
#define SGEMV(name, wide)       SYMBOL(name, wide)
#define CBLAS_SGEMM(name, wide) SYMBOL(name, wide)
#define CBLAS_SGEMV(name, wide) SYMBOL(name, wide)
#include "blas_symbols.def"
#undef SGEMM
#undef SGEMV
#undef CBLAS_SGEMM
#undef CBLAS_SGEMV

#define CALLER __builtin_return_address(0)
#define SGEMM(name, wide)       void name(SGEMM_PARAMS) { enter_sgemm(&symbol_##name, CALLER, SGEMM_ARGS); }
#define SGEMV(name, wide)       void name(SGEMV_PARAMS) { enter_sgemv(&symbol_##name, CALLER, SGEMV_ARGS); }
#define CBLAS_SGEMM(name, wide) void name(CBLAS_SGEMM_PARAMS) { enter_cblas_sgemm(&symbol_##name, CALLER, CBLAS_SGEMM_ARGS); }
#define CBLAS_SGEMV(name, wide) void name(CBLAS_SGEMV_PARAMS) { enter_cblas_sgemv(&symbol_##name, CALLER, CBLAS_SGEMV_ARGS); }
#include "blas_symbols.def"
/* clang-format on */

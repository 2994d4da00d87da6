/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The cuBLAS behind a symbol: the function that a caller would have reached without this library. */
#ifndef LACUNA_PLUGIN_CUBLAS_RESOLVE_H
#define LACUNA_PLUGIN_CUBLAS_RESOLVE_H

#include "common/symbols.h"

/* What is asked of a handle of cuSPARSE, and of its descriptions. */
typedef struct sparse_getters {
    int (*stream)(void *handle, void **stream);
    int (*pointer_mode)(void *handle, int *mode);
    int (*format)(const void *desc, int *format);
    int (*sparse_batch)(const void *desc, int *count);
    int (*csr)(const void *desc, int64_t *rows, int64_t *cols, int64_t *nnz, const void **ptr,
               const void **idx, const void **val, int *ptr_type, int *idx_type, int *base, int *type);
    int (*dense_batch)(const void *desc, int *count, int64_t *stride);
    int (*dense)(const void *desc, int64_t *rows, int64_t *cols, int64_t *ld, const void **values, int *type,
                 int *order);
} sparse_getters_t;

/* What is asked of a handle, a description or a layout. Nothing of it is ever set. */
typedef struct getters {
    int (*stream)(void *handle, void **stream);
    int (*pointer_mode)(void *handle, int *mode);
    int (*math_mode)(void *handle, int *mode);
    int (*lt_product)(const void *desc, int attribute, void *value, size_t bytes, size_t *written);
    int (*lt_layout)(const void *layout, int attribute, void *value, size_t bytes, size_t *written);
    sparse_getters_t sparse;
} getters_t;

typedef struct cublas_fn {
    next_fn_t found;
    getters_t get; /* of the same library; NULL where it lacks one */
} cublas_fn_t;

extern const finder_t cublas_finder;

static inline const cublas_fn_t *cublas_fn_of(exported_symbol_t *symbol, const void *caller)
{
    const next_fn_t *b = next_fn_known(symbol, caller);
    return (const cublas_fn_t *)(b ? b : next_fn_search(&cublas_finder, symbol, caller));
}

/* A function of the CUDA driver that this process has loaded; NULL where it has loaded none. */
void *driver_symbol(const char *name);

/* Present in every library that Lacuna puts in front of cuBLAS: none of them is what stands behind. */
void lacuna_cublas_marker(void);

#endif

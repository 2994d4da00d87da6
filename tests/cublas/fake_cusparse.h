/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The descriptions and the handles of a fake cuSPARSE. */
#ifndef LACUNA_FAKE_CUSPARSE_H
#define LACUNA_FAKE_CUSPARSE_H

#include "../plugin/fake_calls.h"

#include <stdbool.h>
#include <stdint.h>

/* A sparse matrix, or a dense one, whose getters may fail. */
typedef struct fake_sparse_matrix {
    bool fails;
    int format, batch;
    int64_t rows, cols, nnz;
    const void *ptr, *idx, *val;
    int ptr_type, idx_type, base, type;
} fake_sparse_matrix_t;

typedef struct fake_dense_matrix {
    bool fails;
    int batch;
    int64_t stride, rows, cols, ld;
    void *values;
    int type, order;
} fake_dense_matrix_t;

typedef struct fake_sparse_handle {
    bool fails;
    void *stream;
    int scalars;
} fake_sparse_handle_t;

#endif

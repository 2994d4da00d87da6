/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a fake cuSPARSE remembers of the product that reached it, and what its descriptions and its handle
 * say.
 */
#ifndef LACUNA_FAKE_CUSPARSE_H
#define LACUNA_FAKE_CUSPARSE_H

#include <stdbool.h>
#include <stdint.h>

enum { FAKE_SPARSE_SLOTS = 11, FAKE_SPARSE_STATUS = 9 };

/* Calls since the last fake_sparse_take. */
typedef struct fake_sparse_record {
    int calls;
    bool through_plugin;
    int64_t slot[FAKE_SPARSE_SLOTS]; /* of the last one, in the order of its parameters */
} fake_sparse_record_t;

typedef fake_sparse_record_t fake_sparse_take_fn(void);

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

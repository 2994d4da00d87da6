/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Arrays and matrices that lie where a context computes, with guards that show a stray write. */
#ifndef TOOL_PLACED_ARRAY_H
#define TOOL_PLACED_ARRAY_H

#include <stdbool.h>

#include "device_copy.h"
#include "lacuna/lacuna.h"
#include "ref_matrix.h"

/* Bytes between two guards. All zero: there is none yet. */
typedef struct placed_array {
    lac_ctx_t *ctx;
    size_t bytes;
    unsigned char *base; /* on the host: guard, contents, guard                */
    void *device;        /* the same on a device; NULL: the host's is the array */
} placed_array_t;

/* With these contents, or poison where from is NULL. ctx must outlive the array, which is to be freed also
 * where an error is returned. Errors: MEMORY, those of lac_device_alloc and lac_device_upload. */
lac_status_t placed_array_make(placed_array_t *array, lac_ctx_t *ctx, size_t bytes, const void *from);

/* What a call is given: its first byte in the context's space. Never NULL. */
void *placed_array_at(const placed_array_t *array);

/* The contents on the host, as they were last fetched. */
void *placed_array_host(const placed_array_t *array);

/* Brings the contents to the host. Waits. Errors: those of lac_device_download. */
lac_status_t placed_array_fetch(placed_array_t *array);

/* Whether the guards are as they were made; and the contents, of an array that was made of poison. */
bool placed_array_guarded(const placed_array_t *array);
bool placed_array_untouched(const placed_array_t *array);

/* Accepts an empty array; leaves an empty one. */
void placed_array_free(placed_array_t *array);

/* An f32 matrix. */
typedef struct placed_matrix {
    ref_matrix_t host;
    device_copy_t copy;
    lac_obj_t obj; /* what a call is given, not transposed */
} placed_matrix_t;

/* m x n elements of that pattern, or poison where pattern is NULL. As placed_array_make otherwise. */
lac_status_t placed_matrix_make(placed_matrix_t *x, lac_ctx_t *ctx, int64_t m, int64_t n,
                                const ref_layout_t *layout, const ref_pattern_t *pattern, uint64_t seed);
lac_status_t placed_matrix_fetch(placed_matrix_t *x);
void placed_matrix_free(placed_matrix_t *x);

#endif

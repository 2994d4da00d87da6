/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Arrays and matrices that lie where a context computes, with guards that show a stray write. */
#ifndef TOOL_GUARDED_BUFFER_H
#define TOOL_GUARDED_BUFFER_H

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
} guarded_buffer_t;

/* With these contents, or poison where from is NULL. ctx must outlive the array, which is to be freed also
 * where an error is returned. Errors: MEMORY, those of lac_device_alloc and lac_device_upload. */
lac_status_t guarded_buffer_make(guarded_buffer_t *array, lac_ctx_t *ctx, size_t bytes, const void *from);

/* What a call is given: its first byte in the context's space. Never NULL. */
void *guarded_buffer_at(const guarded_buffer_t *array);

/* The contents on the host, as they were last fetched. */
void *guarded_buffer_host(const guarded_buffer_t *array);

/* Brings the contents to the host. Waits. Errors: those of lac_device_download. */
lac_status_t guarded_buffer_fetch(guarded_buffer_t *array);

/* Whether the guards are as they were made; and the contents, of an array that was made of poison. */
bool guarded_buffer_overrun(const guarded_buffer_t *array);
bool guarded_buffer_untouched(const guarded_buffer_t *array);

/* Accepts an empty array; leaves an empty one. */
void guarded_buffer_free(guarded_buffer_t *array);

/* An f32 matrix. */
typedef struct guarded_matrix {
    ref_matrix_t host;
    device_copy_t copy;
    lac_obj_t obj; /* what a call is given, not transposed */
} guarded_matrix_t;

/* m x n elements of that pattern, or poison where pattern is NULL. As guarded_buffer_make otherwise. */
lac_status_t guarded_matrix_make(guarded_matrix_t *x, lac_ctx_t *ctx, int64_t m, int64_t n,
                                 const ref_layout_t *layout, const ref_pattern_t *pattern, uint64_t seed);
lac_status_t guarded_matrix_fetch(guarded_matrix_t *x);
void guarded_matrix_free(guarded_matrix_t *x);

#endif

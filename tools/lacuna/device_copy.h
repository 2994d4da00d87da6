/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A host matrix's copy on a device, padding and guards included, and arrays that lie where a context
 * computes.
 */
#ifndef TOOL_DEVICE_COPY_H
#define TOOL_DEVICE_COPY_H

#include <stdbool.h>

#include "lacuna/lacuna.h"
#include "ref_matrix.h"

/* Empty: there is no copy, and the host's matrix is the operand. ctx must outlive the copy. */
typedef struct device_copy {
    lac_ctx_t *ctx;
    void *memory;
} device_copy_t;

/* True where the context computes on a device (on a stream of its own, as every context of this tool does).
 */
bool computes_on_device(const lac_ctx_t *ctx);

/* Copies the matrix and points obj at the copy. Errors: those of lac_device_alloc and lac_device_upload. */
lac_status_t device_copy_make(device_copy_t *copy, lac_ctx_t *ctx, const ref_matrix_t *x, lac_obj_t *obj);

/* Contents of a matrix of the same geometry to the copy, and back. Both wait, and do nothing without a copy.
 */
lac_status_t device_copy_put(const device_copy_t *copy, const ref_matrix_t *x);
lac_status_t device_copy_fetch(const device_copy_t *copy, ref_matrix_t *x);

/* Accepts an empty copy; leaves an empty one. */
void device_copy_free(device_copy_t *copy);

/* Memory of the device with these contents. Free with lac_device_free. */
lac_status_t device_array(lac_ctx_t *ctx, const void *from, size_t bytes, void **array);

#endif

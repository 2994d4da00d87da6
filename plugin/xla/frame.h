/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What every handler does with XLA's call frame: introduce itself, read operands and attributes, report
 * errors. */
#ifndef LACUNA_XLA_FRAME_H
#define LACUNA_XLA_FRAME_H

#include "xla/ffi_abi.h"
#include "lacuna/lacuna.h"

#include <stdatomic.h>
#include <stdbool.h>

/* What lacuna_blas.jax registers; the last has no name. */
typedef struct xla_handler {
    const char *name;
    xla_error_t *(*host)(xla_frame_t *frame);
    xla_error_t *(*cuda)(xla_frame_t *frame);
    const atomic_llong *calls; /* that it computed */
} xla_handler_t;
extern const xla_handler_t lacuna_xla_handlers[];

/* True where XLA only asks what the handler is: then *answer is what to return. traits: XLA_TRAIT_CAPTURABLE
 * where what it queues depends on extents and attributes alone, so that it may be recorded into a command
 * buffer. */
bool xla_frame_introduces(const xla_frame_t *frame, uint32_t traits, xla_error_t **answer);

/* An error for XLA of a status and the library's message; NULL for LAC_OK. */
xla_error_t *xla_frame_status(const xla_frame_t *frame, lac_status_t status);

/* An error of this text. */
xla_error_t *xla_frame_invalid(const xla_frame_t *frame, const char *text);

/* An argument or a result; NULL where there is none, or of another rank (rank < 0: any). */
const xla_buffer_t *xla_frame_argument(const xla_frame_t *frame, int64_t number, int64_t rank);
const xla_buffer_t *xla_frame_result(const xla_frame_t *frame, int64_t number, int64_t rank);

/* An attribute of type int64; `missing` where there is none. */
int64_t xla_frame_integer(const xla_frame_t *frame, const char *name, int64_t missing);

/* Elements of a buffer. */
int64_t xla_buffer_size(const xla_buffer_t *buffer);

/* A row-major view of a buffer's last two dimensions, on the host or a device; false where its type has none.
 */
bool xla_buffer_view(const xla_buffer_t *buffer, lac_space_t space, lac_obj_t *view);

/* The index type of a buffer of integers; false where it is none. Unsigned ones are read as signed: what does
 * not fit is negative, and out of range. */
bool xla_buffer_index(const xla_buffer_t *buffer, lac_index_t *it);

/* The calling thread's context on the host, or that of XLA's stream on a device. Errors: those of
 * lac_ctx_create_cuda. */
lac_status_t xla_host_context(lac_ctx_t **ctx);
lac_status_t xla_stream_context(const xla_frame_t *frame, lac_ctx_t **ctx);

/* A device context serves one thread at a time: between these it is the caller's. */
void xla_stream_lock(void);
void xla_stream_unlock(void);

#endif

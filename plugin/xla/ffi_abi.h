/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The part of XLA's foreign function interface that the handlers use, as its C ABI lays it out.
 *
 * XLA keeps this ABI stable: structs only grow at their end and begin with their size (xla/ffi/api/c_api.h,
 * version 0.x). Declared here, so that neither XLA nor JAX is needed to build; tests/python/test_xla_abi.py
 * compares it with the header that jaxlib brings. */
#ifndef LACUNA_XLA_FFI_ABI_H
#define LACUNA_XLA_FFI_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef enum xla_dtype {
    XLA_PRED = 1,
    XLA_S32 = 4,
    XLA_S64 = 5,
    XLA_U8 = 6,
    XLA_U32 = 8,
    XLA_U64 = 9,
    XLA_F32 = 11
} xla_dtype_t;

typedef enum xla_stage { XLA_EXECUTE = 3 } xla_stage_t;

typedef enum xla_code {
    XLA_INVALID_ARGUMENT = 3,
    XLA_RESOURCE_EXHAUSTED = 8,
    XLA_UNIMPLEMENTED = 12,
    XLA_INTERNAL = 13
} xla_code_t;

enum {
    XLA_EXTENSION_METADATA = 1,
    XLA_KIND_BUFFER = 1,
    XLA_ATTR_SCALAR = 3,
    XLA_API_MAJOR = 0,
    XLA_TRAIT_CAPTURABLE = 1
};

typedef struct xla_error xla_error_t;
typedef struct xla_context xla_context_t;

typedef struct xla_extension {
    size_t struct_size;
    int type;
    struct xla_extension *next;
} xla_extension_t;

typedef struct xla_version {
    size_t struct_size;
    xla_extension_t *extension;
    int major, minor;
} xla_version_t;

typedef struct xla_metadata {
    size_t struct_size;
    xla_version_t version;
    uint32_t traits;
} xla_metadata_t;

typedef struct xla_metadata_extension {
    xla_extension_t base;
    xla_metadata_t *metadata;
} xla_metadata_extension_t;

typedef struct xla_error_args {
    size_t struct_size;
    xla_extension_t *extension;
    const char *message;
    int code;
} xla_error_args_t;

typedef struct xla_stream_args {
    size_t struct_size;
    xla_extension_t *extension;
    xla_context_t *context;
    void *stream;
} xla_stream_args_t;

typedef struct xla_api {
    size_t struct_size;
    xla_extension_t *extension;
    xla_version_t version;
    const void *internal;
    xla_error_t *(*error_create)(xla_error_args_t *args);
    void (*error_details)(void *args);
    void (*error_destroy)(void *args);
    xla_error_t *(*handler_register)(void *args);
    xla_error_t *(*stream_get)(xla_stream_args_t *args);
} xla_api_t;

typedef struct xla_buffer {
    size_t struct_size;
    xla_extension_t *extension;
    int dtype;
    void *data;
    int64_t rank;
    int64_t *dims;
} xla_buffer_t;

/* Arguments and results alike. */
typedef struct xla_list {
    size_t struct_size;
    xla_extension_t *extension;
    int64_t size;
    int *types;
    void **items;
} xla_list_t;

typedef struct xla_text {
    const char *data;
    size_t size;
} xla_text_t;

typedef struct xla_scalar {
    int dtype;
    void *value;
} xla_scalar_t;

typedef struct xla_attributes {
    size_t struct_size;
    xla_extension_t *extension;
    int64_t size;
    int *types;
    xla_text_t **names;
    void **items;
} xla_attributes_t;

typedef struct xla_frame {
    size_t struct_size;
    xla_extension_t *extension;
    const xla_api_t *api;
    xla_context_t *context;
    int stage;
    xla_list_t arguments, results;
    xla_attributes_t attributes;
} xla_frame_t;

#endif

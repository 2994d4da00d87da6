/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What every handler does with XLA's call frame, and the contexts that their calls run in. */
#include "xla/frame.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

bool xla_frame_introduces(const xla_frame_t *frame, uint32_t traits, xla_error_t **answer)
{
    *answer = NULL;
    if (frame->extension && frame->extension->type == XLA_EXTENSION_METADATA) {
        xla_metadata_t *metadata = ((xla_metadata_extension_t *)(void *)frame->extension)->metadata;
        metadata->version.major = XLA_API_MAJOR;
        metadata->version.minor = frame->api ? frame->api->version.minor : 0;
        metadata->traits = traits;
        return true;
    }
    return frame->stage != XLA_EXECUTE;
}

static xla_error_t *make_error(const xla_frame_t *frame, const char *text, xla_code_t code)
{
    xla_error_args_t args = {.struct_size = sizeof args, .message = text, .code = (int)code};
    /* It keeps no pointer to args. */
    // cppcheck-suppress returnDanglingLifetime
    return frame->api->error_create(&args);
}

xla_error_t *xla_frame_status(const xla_frame_t *frame, lac_status_t status)
{
    if (status == LAC_OK) return NULL;
    const char *text = lac_last_error();
    xla_code_t code = status == LAC_ERR_MEMORY        ? XLA_RESOURCE_EXHAUSTED
                      : status == LAC_ERR_UNAVAILABLE ? XLA_UNIMPLEMENTED
                      : status < LAC_ERR_MEMORY       ? XLA_INVALID_ARGUMENT
                                                      : XLA_INTERNAL;
    return make_error(frame, text && *text ? text : lac_status_text(status), code);
}

xla_error_t *xla_frame_invalid(const xla_frame_t *frame, const char *text)
{
    return make_error(frame, text, XLA_INVALID_ARGUMENT);
}

static const xla_buffer_t *item(const xla_list_t *list, int64_t number, int64_t rank)
{
    if (number >= list->size || list->types[number] != XLA_KIND_BUFFER) return NULL;
    const xla_buffer_t *buffer = list->items[number];
    return rank < 0 || buffer->rank == rank ? buffer : NULL;
}

const xla_buffer_t *xla_frame_argument(const xla_frame_t *frame, int64_t number, int64_t rank)
{
    return item(&frame->arguments, number, rank);
}

const xla_buffer_t *xla_frame_result(const xla_frame_t *frame, int64_t number, int64_t rank)
{
    return item(&frame->results, number, rank);
}

int64_t xla_frame_integer(const xla_frame_t *frame, const char *name, int64_t missing)
{
    const xla_attributes_t *attributes = &frame->attributes;
    size_t length = strlen(name);
    for (int64_t i = 0; i < attributes->size; i++) {
        const xla_text_t *text = attributes->names[i];
        if (text->size != length || memcmp(text->data, name, length) != 0) continue;
        const xla_scalar_t *scalar = attributes->items[i];
        bool integer = attributes->types[i] == XLA_ATTR_SCALAR && scalar->dtype == XLA_S64;
        return integer ? *(const int64_t *)scalar->value : missing;
    }
    return missing;
}

int64_t xla_buffer_size(const xla_buffer_t *buffer)
{
    int64_t size = 1;
    for (int64_t i = 0; i < buffer->rank; i++) size *= buffer->dims[i];
    return size;
}

bool xla_buffer_view(const xla_buffer_t *buffer, lac_space_t space, lac_obj_t *view)
{
    bool bytes = buffer->dtype == XLA_PRED || buffer->dtype == XLA_U8;
    if ((!bytes && buffer->dtype != XLA_F32) || buffer->rank < 2) return false;
    lac_dim_t m = buffer->dims[buffer->rank - 2], n = buffer->dims[buffer->rank - 1];
    *view = lac_obj_rowmajor(bytes ? LAC_U8 : LAC_F32, m, n, buffer->data, n > 1 ? n : 1);
    view->space = space;
    return true;
}

bool xla_buffer_index(const xla_buffer_t *buffer, lac_index_t *it)
{
    *it = buffer->dtype == XLA_S64 || buffer->dtype == XLA_U64 ? LAC_I64 : LAC_I32;
    return *it == LAC_I64 || buffer->dtype == XLA_S32 || buffer->dtype == XLA_U32;
}

/* XLA calls handlers from threads of its own, several at a time: each has a context, freed when the thread
 * ends. */
static pthread_key_t host_key;
static pthread_once_t host_once = PTHREAD_ONCE_INIT;

static void free_context(void *ctx)
{
    lac_ctx_free(ctx);
}

static void make_key(void)
{
    pthread_key_create(&host_key, free_context);
}

lac_status_t xla_host_context(lac_ctx_t **ctx)
{
    pthread_once(&host_once, make_key);
    *ctx = pthread_getspecific(host_key);
    if (*ctx) return LAC_OK;
    lac_status_t status = lac_ctx_create(ctx);
    if (!status) pthread_setspecific(host_key, *ctx);
    return status;
}

/* On a device, one context for each stream, for as long as the process lives: what it holds may be in use. */
typedef struct stream_context {
    void *stream;
    lac_ctx_t *ctx;
    struct stream_context *next;
} stream_context_t;

static stream_context_t *streams;
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;

void xla_stream_lock(void)
{
    pthread_mutex_lock(&streams_lock);
}

void xla_stream_unlock(void)
{
    pthread_mutex_unlock(&streams_lock);
}

lac_status_t xla_stream_context(const xla_frame_t *frame, lac_ctx_t **ctx)
{
    xla_stream_args_t args = {.struct_size = sizeof args, .context = frame->context};
    xla_error_t *error = frame->api->stream_get(&args);
    if (error) return LAC_ERR_INTERNAL;
    for (stream_context_t *each = streams; each; each = each->next)
        if (each->stream == args.stream) {
            *ctx = each->ctx;
            return LAC_OK;
        }
    stream_context_t *made = calloc(1, sizeof *made);
    if (!made) return LAC_ERR_MEMORY;
    made->stream = args.stream;
    lac_status_t status = lac_ctx_create_cuda(&made->ctx, -1, args.stream);
    if (status) {
        free(made);
        return status;
    }
    made->next = streams;
    streams = made;
    *ctx = made->ctx;
    return LAC_OK;
}

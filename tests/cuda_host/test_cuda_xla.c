/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * XLA's handlers on a stream of XLA's: what they say of themselves, what they launch there, eager and while
 * the stream is captured, and the errors that they hand back. */
#include "cuda_host_support.h"
#include "xla/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const xla_handler_t *handler(const char *name)
{
    for (const xla_handler_t *e = lacuna_xla_handlers; e->name; e++)
        if (!strcmp(e->name, name)) return e;
    fail_msg("there is no handler %s", name);
    return NULL;
}

/* XLA, as far as a handler sees it. */

struct xla_error {
    char message[256];
    int code;
};
static struct xla_error last;
static void *stream;

static xla_error_t *create_error(xla_error_args_t *args)
{
    snprintf(last.message, sizeof last.message, "%s", args->message);
    last.code = args->code;
    return &last;
}

static xla_error_t *get_stream(xla_stream_args_t *args)
{
    args->stream = stream;
    return NULL;
}

static const xla_api_t api = {.struct_size = sizeof api,
                              .version = {.minor = 3},
                              .error_create = create_error,
                              .stream_get = get_stream};

/* A call frame that is put together. */
enum { MOST = 8 };
typedef struct call {
    xla_frame_t frame;
    xla_buffer_t buffer[2 * MOST];
    int64_t dims[2 * MOST][2];
    int argument_types[MOST], result_types[MOST], attribute_types[MOST];
    void *arguments[MOST], *results[MOST], *attributes[MOST];
    xla_text_t name[MOST], *names[MOST];
    xla_scalar_t scalar[MOST];
    int64_t value[MOST];
} call_t;

static void begin(call_t *c)
{
    *c = (call_t){.frame = {.struct_size = sizeof c->frame, .api = &api, .stage = XLA_EXECUTE}};
    c->frame.arguments = (xla_list_t){.types = c->argument_types, .items = c->arguments};
    c->frame.results = (xla_list_t){.types = c->result_types, .items = c->results};
    c->frame.attributes =
        (xla_attributes_t){.types = c->attribute_types, .names = c->names, .items = c->attributes};
}

static void add_buffer(call_t *c, bool result, xla_dtype_t dtype, void *data, int64_t rank, int64_t m,
                       int64_t n)
{
    xla_list_t *list = result ? &c->frame.results : &c->frame.arguments;
    int64_t at = list->size++;
    int64_t *dims = c->dims[at + (result ? MOST : 0)];
    xla_buffer_t *buffer = &c->buffer[at + (result ? MOST : 0)];
    dims[0] = m, dims[1] = n;
    *buffer = (xla_buffer_t){
        .struct_size = sizeof *buffer, .dtype = (int)dtype, .data = data, .rank = rank, .dims = dims};
    list->types[at] = XLA_KIND_BUFFER;
    list->items[at] = buffer;
}

static void add_attribute(call_t *c, const char *name, int64_t value)
{
    int64_t at = c->frame.attributes.size++;
    c->value[at] = value;
    c->scalar[at] = (xla_scalar_t){XLA_S64, &c->value[at]};
    c->name[at] = (xla_text_t){name, strlen(name)};
    c->attribute_types[at] = XLA_ATTR_SCALAR;
    c->names[at] = &c->name[at];
    c->attributes[at] = &c->scalar[at];
}

static void expect_fine(xla_error_t *error)
{
    if (error) fail_msg("%s", error->message);
}

static void expect_wrong(xla_error_t *error, int code, const char *word)
{
    assert_non_null(error);
    assert_int_equal(error->code, code);
    unit_expect_text(error->message, word);
}

/* A context whose memory the frames use, and whose stream stands for XLA's; handlers make contexts of their
 * own on it. */
static lac_ctx_t *ctx;

enum { M = 40, N = 70, EACH = 5, COLUMNS = 3, SUMS = 16 * N * COLUMNS + 2048 };

static void scatter(call_t *c, float *val, int64_t values, xla_dtype_t dtype, bool sums)
{
    begin(c);
    add_buffer(c, false, XLA_F32, val, 1, values, 0);
    add_buffer(c, false, XLA_S32, cuda_host_memory(ctx, M * EACH * 4), 2, M, EACH);
    add_buffer(c, false, dtype, cuda_host_memory(ctx, M * COLUMNS * 4), 2, M, COLUMNS);
    add_buffer(c, true, XLA_F32, cuda_host_memory(ctx, N * COLUMNS * 4), 2, N, COLUMNS);
    if (sums) add_buffer(c, true, XLA_U8, cuda_host_memory(ctx, SUMS), 1, SUMS, 0);
    add_attribute(c, "m", M), add_attribute(c, "n", N), add_attribute(c, "fan", 1),
        add_attribute(c, "trans", 1);
}

static void test_traits(void **state)
{
    (void)state;
    for (const xla_handler_t *e = lacuna_xla_handlers; e->name; e++)
        for (int cuda = 0; cuda < 2; cuda++) {
            xla_metadata_t metadata = {.struct_size = sizeof metadata, .traits = 77};
            xla_metadata_extension_t extension = {{sizeof extension, XLA_EXTENSION_METADATA, NULL},
                                                  &metadata};
            xla_frame_t frame = {.struct_size = sizeof frame, .extension = &extension.base};
            assert_null((cuda ? e->cuda : e->host)(&frame));
            assert_int_equal(metadata.traits, cuda && strcmp(e->name, "gemm") ? XLA_TRAIT_CAPTURABLE : 0);
        }
    assert_int_equal(standin.launches, 0);
}

static void test_eager(void **state)
{
    (void)state;
    call_t c;
    float *val = cuda_host_memory(ctx, M * EACH * sizeof *val);
    const xla_handler_t *e = handler("csr_gemm");
    long long before = atomic_load(e->calls);
    scatter(&c, val, M * EACH, XLA_F32, true);
    expect_fine(e->cuda(&c.frame));
    const standin_launch_t *l = standin_find("lac_cuda_loose_scatter", 0);
    assert_ptr_equal(l->stream, stream);
    assert_ptr_equal(standin_pointer(l, "workspace"), c.buffer[MOST + 1].data);
    assert_ptr_equal(standin_pointer(l, "out"), c.buffer[MOST].data);
    assert_int_equal(standin_integer(l, "a.fan_out"), EACH);
    assert_int_equal(atomic_load(e->calls), before + 1);
    /* without the second result, the context's own */
    scatter(&c, val, M * EACH, XLA_F32, false);
    standin_forget();
    expect_fine(e->cuda(&c.frame));
    assert_int_equal(
        (int64_t)standin_extent(standin_pointer(standin_find("lac_cuda_loose_scatter", 0), "workspace")),
        SUMS);
    scatter(&c, val, 1, XLA_PRED, false);
    standin_forget();
    expect_fine(e->cuda(&c.frame));
    assert_null(standin_pointer(standin_find("lac_cuda_loose_scatter", 0), "workspace"));
    /* other operators */
    scatter(&c, val, 0, XLA_PRED, false);
    c.frame.arguments.items++, c.frame.arguments.types++, c.frame.arguments.size--; /* without values */
    c.buffer[MOST].dtype = XLA_S32;
    expect_fine(handler("csr_count")->cuda(&c.frame));
    assert_ptr_equal(standin_pointer(standin_find("lac_cuda_loose_count", 0), "out"), c.buffer[MOST].data);
    c.dims[MOST][0]--;
    expect_wrong(handler("csr_count")->cuda(&c.frame), XLA_INVALID_ARGUMENT, "lacuna csr count");
    begin(&c);
    add_buffer(&c, false, XLA_F32, val, 1, 1, 0);
    add_buffer(&c, false, XLA_S64, cuda_host_memory(ctx, M * EACH * 8), 2, M, EACH);
    add_buffer(&c, false, XLA_S32, cuda_host_memory(ctx, 24), 1, 6, 0);
    add_buffer(&c, true, XLA_F32, cuda_host_memory(ctx, 6 * N * 4), 2, 6, N);
    add_attribute(&c, "m", M), add_attribute(&c, "n", N), add_attribute(&c, "fan", 1);
    expect_fine(handler("csr_slice_rows")->cuda(&c.frame));
    assert_int_equal(standin_integer(standin_find("lac_cuda_loose_slice", 0), "rows.count"), 6);
    begin(&c);
    add_buffer(&c, false, XLA_S32, cuda_host_memory(ctx, M * EACH * 4), 2, M, EACH);
    add_buffer(&c, false, XLA_S32, cuda_host_memory(ctx, 24), 1, 6, 0);
    add_buffer(&c, false, XLA_F32, cuda_host_memory(ctx, 6 * N * 4), 2, 6, N);
    add_buffer(&c, true, XLA_F32, val, 1, M * EACH, 0);
    add_attribute(&c, "m", M), add_attribute(&c, "n", N), add_attribute(&c, "fan", 1);
    expect_fine(handler("csr_slice_rows_grad")->cuda(&c.frame));
    assert_ptr_equal(standin_pointer(standin_find("lac_cuda_loose_grad", 0), "grad"), val);
    begin(&c);
    add_buffer(&c, false, XLA_S32, cuda_host_memory(ctx, M * EACH * 4), 1, M * EACH, 0);
    add_buffer(&c, false, XLA_S32, cuda_host_memory(ctx, (M + 1) * 4), 1, M + 1, 0);
    add_buffer(&c, false, XLA_F32, cuda_host_memory(ctx, M * 9 * 4), 2, M, 9);
    add_buffer(&c, false, XLA_F32, cuda_host_memory(ctx, 9 * N * 4), 2, 9, N);
    add_buffer(&c, true, XLA_F32, val, 1, M * EACH, 0);
    add_attribute(&c, "m", M), add_attribute(&c, "n", N);
    expect_fine(handler("csr_sddmm")->cuda(&c.frame));
    assert_int_equal(standin_integer(standin_find("lac_cuda_loose_sddmm", 0), "depth"), 9);
    begin(&c);
    add_buffer(&c, false, XLA_PRED, cuda_host_memory(ctx, 8 * 64), 2, 8, 64);
    add_buffer(&c, false, XLA_F32, cuda_host_memory(ctx, 64 * 48 * 4), 2, 64, 48);
    add_buffer(&c, true, XLA_F32, cuda_host_memory(ctx, 8 * 48 * 4), 2, 8, 48);
    add_attribute(&c, "events", 1);
    standin_forget();
    expect_fine(handler("gemm")->cuda(&c.frame));
    assert_true(standin.launches > 0);
    assert_ptr_equal(standin.launch[0].stream, stream);
}

/* XLA traces on a stream of its own, where nothing was called before: the context is made, and nothing of the
 * device's memory is allocated. */
static void test_recorded(void **state)
{
    (void)state;
    call_t c;
    lac_ctx_t *tracing;
    unit_expect(lac_ctx_create_cuda(&tracing, 0, LAC_STREAM_NEW), LAC_OK, "another stream");
    void *before = stream;
    stream = lac_device_stream(tracing);
    float *val = cuda_host_memory(ctx, M * EACH * sizeof *val);
    scatter(&c, val, M * EACH, XLA_F32, true);
    int held = standin_held().memory;
    standin_forget();
    standin_capture(stream, true);
    for (int i = 0; i < 2; i++) expect_fine(handler("csr_gemm")->cuda(&c.frame));
    standin_capture(stream, false);
    assert_int_equal(standin_count("lac_cuda_loose_scatter"), 2);
    assert_true(standin_find("lac_cuda_loose_scatter", 1)->captured);
    assert_int_equal(standin_held().memory, held);
    assert_int_equal(standin.breaches, 0);
    stream = before;
    lac_ctx_free(tracing);
}

static void test_errors(void **state)
{
    (void)state;
    call_t c;
    float *val = cuda_host_memory(ctx, M * EACH * sizeof *val);
    const xla_handler_t *e = handler("csr_gemm");
    long long before = atomic_load(e->calls);
    scatter(&c, val, M * EACH - 1, XLA_F32, true);
    expect_wrong(e->cuda(&c.frame), XLA_INVALID_ARGUMENT, "values of another type or number");
    scatter(&c, val, M * EACH, XLA_S32, true);
    expect_wrong(e->cuda(&c.frame), XLA_INVALID_ARGUMENT, "operands of other types or ranks");
    scatter(&c, val, M * EACH, XLA_F32, true);
    c.dims[MOST + 1][0]--;
    expect_wrong(e->cuda(&c.frame), XLA_RESOURCE_EXHAUSTED, "needs 5408 bytes");
    float here[M * EACH];
    scatter(&c, here, M * EACH, XLA_F32, true);
    expect_wrong(e->cuda(&c.frame), XLA_INVALID_ARGUMENT, "a.val");
    scatter(&c, val, M * EACH, XLA_F32, true);
    standin.launch_fails = 1;
    expect_wrong(e->cuda(&c.frame), XLA_INTERNAL, "csr product");
    assert_int_equal(atomic_load(e->calls), before);
    begin(&c);
    expect_wrong(handler("gemm")->cuda(&c.frame), XLA_INVALID_ARGUMENT, "lacuna gemm");
    c.frame.stage = XLA_EXECUTE - 1; /* nothing to prepare */
    expect_fine(handler("gemm")->cuda(&c.frame));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_traits), cmocka_unit_test(test_eager),
                                       cmocka_unit_test(test_recorded), cmocka_unit_test(test_errors)};
    unit_begin();
    ctx = cuda_host_ctx();
    stream = lac_device_stream(ctx);
    standin_forget();
    return cmocka_run_group_tests(tests, NULL, NULL); /* contexts of handlers live as long as the process */
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Handlers for XLA's foreign function interface: Lacuna's operators as custom calls of JAX.
 *
 * Buffers are row-major. Attributes are int64. Each handler counts the calls that it computed,
 * in its row of lacuna_xla_handlers. */
#include "xla/frame.h"

#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

typedef enum handler {
    GEMM,
    CSR_GEMM,
    CSR_COUNT,
    CSR_SLICE_ROWS,
    CSR_SLICE_ROWS_GRAD,
    CSR_SDDMM,
    HANDLERS
} handler_t;

static atomic_llong calls[HANDLERS];

/* What a handler does in a context: NULL and the status, or what is wrong with its arguments. */
typedef const char *(*serve_t)(const xla_frame_t *frame, lac_space_t space, lac_ctx_t *ctx,
                               lac_status_t *status);

static xla_error_t *finish(const xla_frame_t *frame, handler_t which, lac_status_t status)
{
    if (status == LAC_OK) atomic_fetch_add_explicit(&calls[which], 1, memory_order_relaxed);
    return xla_frame_status(frame, status);
}

static xla_error_t *on_host(const xla_frame_t *frame, handler_t which, serve_t serve)
{
    xla_error_t *answer;
    lac_ctx_t *ctx;
    if (xla_frame_introduces(frame, 0, &answer)) return answer;
    lac_status_t status = xla_host_context(&ctx);
    const char *wrong = status ? NULL : serve(frame, LAC_HOST, ctx, &status);
    return wrong ? xla_frame_invalid(frame, wrong) : finish(frame, which, status);
}

/* The same on XLA's stream. */
static xla_error_t *on_stream(const xla_frame_t *frame, handler_t which, uint32_t traits, serve_t serve)
{
    xla_error_t *answer;
    lac_ctx_t *ctx;
    if (xla_frame_introduces(frame, traits, &answer)) return answer;
    xla_stream_lock();
    lac_status_t status = xla_stream_context(frame, &ctx);
    const char *wrong = status ? NULL : serve(frame, LAC_DEVICE, ctx, &status);
    xla_stream_unlock();
    return wrong ? xla_frame_invalid(frame, wrong) : finish(frame, which, status);
}

/* Dense products
 * ----------------------------------------------------------------------------------------------------
 *
 * out[.., m, n] := op(a)[.., m, k] op(b)[.., k, n], f32, or events of one byte. Attributes: trans_a, trans_b;
 * events: 1 or 2, the operand (a or b) whose zeros are never multiplied, whatever meets them; 0: whichever
 * way is fastest. */

typedef struct product {
    lac_obj_t a, b, c;
    int64_t batch, events;
} product_t;

static bool read_product(const xla_frame_t *frame, lac_space_t space, product_t *p)
{
    const xla_buffer_t *a = xla_frame_argument(frame, 0, -1), *b = xla_frame_argument(frame, 1, -1),
                       *c = xla_frame_result(frame, 0, -1);
    if (!a || !b || !c || !xla_buffer_view(a, space, &p->a) || !xla_buffer_view(b, space, &p->b) ||
        !xla_buffer_view(c, space, &p->c))
        return false;
    if (xla_frame_integer(frame, "trans_a", 0)) p->a.trans = LAC_TRANS;
    if (xla_frame_integer(frame, "trans_b", 0)) p->b.trans = LAC_TRANS;
    p->events = xla_frame_integer(frame, "events", 0);
    p->batch = 1;
    for (int64_t i = 0; i + 2 < c->rank; i++) p->batch *= c->dims[i];
    return a->rank == c->rank && b->rank == c->rank && xla_buffer_size(a) == p->batch * p->a.m * p->a.n &&
           xla_buffer_size(b) == p->batch * p->b.m * p->b.n;
}

static lac_status_t multiply_events(lac_ctx_t *ctx, const product_t *p)
{
    lac_call_opts_t options = {.size = sizeof options,
                               .symbol = "xla",
                               .skip = p->events == 1 ? LAC_SKIP_GUARANTEED_A : LAC_SKIP_GUARANTEED_B};
    return lac_gemm_ex(ctx, NULL, &p->a, &p->b, NULL, &p->c, &options);
}

static lac_status_t multiply(lac_ctx_t *ctx, product_t *p)
{
    if (!p->c.m || !p->c.n || !p->batch) return LAC_OK;
    if (p->batch == 1)
        return p->events ? multiply_events(ctx, p) : lac_gemm(ctx, NULL, &p->a, &p->b, NULL, &p->c);
    return lac_gemm_batched(ctx, p->batch, NULL, &p->a, p->a.m * p->a.n, &p->b, p->b.m * p->b.n, NULL, &p->c,
                            p->c.m * p->c.n);
}

static const char *serve_gemm(const xla_frame_t *frame, lac_space_t space, lac_ctx_t *ctx,
                              lac_status_t *status)
{
    product_t p;
    if (!read_product(frame, space, &p)) return "lacuna gemm: operands of other types or ranks";
    *status = multiply(ctx, &p);
    return NULL;
}

/* Compressed rows
 * ---------------------------------------------------------------------------------------------------
 *
 * Arguments: values [nnz] or [1], indices [nnz] (or [m, fan_out]), ptr [m + 1] (absent with fixed fan-out),
 * perm [nnz] (where the attribute says so), then the dense operand. Attributes: m, n; fan (1: no ptr); perm
 * (1: there is one); trans; binary. */

typedef struct rows {
    lac_csr_t csr;
    int64_t next; /* the argument after them */
} rows_t;

static const char *read_rows(const xla_frame_t *frame, bool values, rows_t *r)
{
    int64_t at = 0, fan = xla_frame_integer(frame, "fan", 0), m = xla_frame_integer(frame, "m", -1);
    const xla_buffer_t *val = values ? xla_frame_argument(frame, at++, -1) : NULL,
                       *idx = xla_frame_argument(frame, at++, -1),
                       *ptr = fan ? NULL : xla_frame_argument(frame, at++, 1),
                       *perm =
                           xla_frame_integer(frame, "perm", 0) ? xla_frame_argument(frame, at++, -1) : NULL;
    lac_index_t it, other;
    if ((values && !val) || !idx || (!fan && !ptr) || !xla_buffer_index(idx, &it))
        return "lacuna csr: arguments are missing";
    if (ptr && (!xla_buffer_index(ptr, &other) || other != it || xla_buffer_size(ptr) != m + 1))
        return "lacuna csr: row pointers of another type or number";
    int64_t nnz = xla_buffer_size(idx), given = val ? xla_buffer_size(val) : 0;
    if (perm && (!xla_buffer_index(perm, &other) || other != it || xla_buffer_size(perm) != nnz))
        return "lacuna csr: a permutation of another type or number";
    bool homogeneous = val && given == 1;
    if (val && (val->dtype != XLA_F32 || (!homogeneous && given != nnz)))
        return "lacuna csr: values of another type or number";
    r->next = at;
    r->csr = (lac_csr_t){.size = sizeof r->csr,
                         .m = m,
                         .n = xla_frame_integer(frame, "n", -1),
                         .nnz = nnz,
                         .it = it,
                         .trans = xla_frame_integer(frame, "trans", 0) ? LAC_TRANS : LAC_NO_TRANS,
                         .ptr = ptr ? ptr->data : NULL,
                         .idx = idx->data,
                         .val = val ? val->data : NULL,
                         .perm = perm ? perm->data : NULL,
                         .homogeneous = homogeneous};
    return NULL;
}

/* On a device, a second result is the workspace of the product. */
static const char *serve_csr_gemm(const xla_frame_t *frame, lac_space_t space, lac_ctx_t *ctx,
                                  lac_status_t *status)
{
    rows_t r;
    lac_obj_t b, c;
    const char *wrong = read_rows(frame, true, &r);
    if (wrong) return wrong;
    const xla_buffer_t *dense = xla_frame_argument(frame, r.next, 2), *out = xla_frame_result(frame, 0, 2),
                       *sums = xla_frame_result(frame, 1, 1);
    if (!dense || !out || !xla_buffer_view(dense, space, &b) || !xla_buffer_view(out, space, &c) ||
        (sums && sums->dtype != XLA_U8))
        return "lacuna csr gemm: operands of other types or ranks";
    *status = lac_csr_workspace(ctx, sums ? sums->data : NULL, sums ? (size_t)xla_buffer_size(sums) : 0);
    if (!*status) *status = lac_csr_gemm(ctx, &r.csr, &b, (int)xla_frame_integer(frame, "binary", 0), &c);
    return NULL;
}

/* Its result is int32. */
static const char *serve_csr_count(const xla_frame_t *frame, lac_space_t space, lac_ctx_t *ctx,
                                   lac_status_t *status)
{
    rows_t r;
    lac_obj_t b;
    const char *wrong = read_rows(frame, false, &r);
    if (wrong) return wrong;
    const xla_buffer_t *dense = xla_frame_argument(frame, r.next, 2), *out = xla_frame_result(frame, 0, 2);
    if (!dense || !out || !xla_buffer_view(dense, space, &b) || out->dtype != XLA_S32 ||
        out->dims[0] != r.csr.n || out->dims[1] != b.n)
        return "lacuna csr count: operands of other types, ranks or extents";
    *status = lac_csr_count(ctx, &r.csr, &b, out->data);
    return NULL;
}

static const char *serve_csr_slice_rows(const xla_frame_t *frame, lac_space_t space, lac_ctx_t *ctx,
                                        lac_status_t *status)
{
    rows_t r;
    lac_obj_t out;
    lac_index_t it;
    const char *wrong = read_rows(frame, true, &r);
    if (wrong) return wrong;
    const xla_buffer_t *list = xla_frame_argument(frame, r.next, 1), *result = xla_frame_result(frame, 0, 2);
    if (!list || !result || !xla_buffer_index(list, &it) || !xla_buffer_view(result, space, &out))
        return "lacuna csr slice: operands of other types or ranks";
    *status = lac_csr_slice_rows(ctx, &r.csr, it, xla_buffer_size(list), list->data, &out);
    return NULL;
}

/* Arguments: indices, ptr, rows, grad_out. */
static const char *serve_csr_slice_rows_grad(const xla_frame_t *frame, lac_space_t space, lac_ctx_t *ctx,
                                             lac_status_t *status)
{
    rows_t r;
    lac_obj_t grad;
    lac_index_t it;
    const char *wrong = read_rows(frame, false, &r);
    if (wrong) return wrong;
    const xla_buffer_t *list = xla_frame_argument(frame, r.next, 1),
                       *dense = xla_frame_argument(frame, r.next + 1, 2),
                       *out = xla_frame_result(frame, 0, 1);
    if (!list || !dense || !out || !xla_buffer_index(list, &it) || !xla_buffer_view(dense, space, &grad) ||
        out->dtype != XLA_F32 || xla_buffer_size(out) != r.csr.nnz)
        return "lacuna csr slice gradient: operands of other types or ranks";
    *status = lac_csr_slice_rows_grad(ctx, &r.csr, it, xla_buffer_size(list), list->data, &grad, out->data);
    return NULL;
}

/* Arguments: indices, ptr, x, y. */
static const char *serve_csr_sddmm(const xla_frame_t *frame, lac_space_t space, lac_ctx_t *ctx,
                                   lac_status_t *status)
{
    rows_t r;
    lac_obj_t x, y;
    const char *wrong = read_rows(frame, false, &r);
    if (wrong) return wrong;
    const xla_buffer_t *left = xla_frame_argument(frame, r.next, 2),
                       *right = xla_frame_argument(frame, r.next + 1, 2),
                       *out = xla_frame_result(frame, 0, 1);
    if (!left || !right || !out || !xla_buffer_view(left, space, &x) || !xla_buffer_view(right, space, &y) ||
        out->dtype != XLA_F32 || xla_buffer_size(out) != r.csr.nnz)
        return "lacuna csr sddmm: operands of other types or ranks";
    *status = lac_csr_sddmm(ctx, &x, &y, &r.csr, out->data);
    return NULL;
}

/* What XLA calls. Dense products are not recorded into command buffers: which kernels serve is decided anew,
 * from what earlier calls found in the operands, and cuBLAS and the context allocate at the first call. */

#define ENTRIES(name, NAME, traits)                                                                          \
    static xla_error_t *name##_host(xla_frame_t *frame)                                                      \
    {                                                                                                        \
        return on_host(frame, NAME, serve_##name);                                                           \
    }                                                                                                        \
    static xla_error_t *name##_cuda(xla_frame_t *frame)                                                      \
    {                                                                                                        \
        return on_stream(frame, NAME, traits, serve_##name);                                                 \
    }
ENTRIES(gemm, GEMM, 0)
ENTRIES(csr_gemm, CSR_GEMM, XLA_TRAIT_CAPTURABLE)
ENTRIES(csr_count, CSR_COUNT, XLA_TRAIT_CAPTURABLE)
ENTRIES(csr_slice_rows, CSR_SLICE_ROWS, XLA_TRAIT_CAPTURABLE)
ENTRIES(csr_slice_rows_grad, CSR_SLICE_ROWS_GRAD, XLA_TRAIT_CAPTURABLE)
ENTRIES(csr_sddmm, CSR_SDDMM, XLA_TRAIT_CAPTURABLE)

EXPORT const xla_handler_t lacuna_xla_handlers[] = {
    {"gemm", gemm_host, gemm_cuda, &calls[GEMM]},
    {"csr_gemm", csr_gemm_host, csr_gemm_cuda, &calls[CSR_GEMM]},
    {"csr_count", csr_count_host, csr_count_cuda, &calls[CSR_COUNT]},
    {"csr_slice_rows", csr_slice_rows_host, csr_slice_rows_cuda, &calls[CSR_SLICE_ROWS]},
    {"csr_slice_rows_grad", csr_slice_rows_grad_host, csr_slice_rows_grad_cuda, &calls[CSR_SLICE_ROWS_GRAD]},
    {"csr_sddmm", csr_sddmm_host, csr_sddmm_cuda, &calls[CSR_SDDMM]},
    {NULL, NULL, NULL, NULL}};

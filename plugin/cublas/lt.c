/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A cublasLtMatmul read into the terms of sgemm, attribute by attribute: each costs 8 ns (H200 host,
 * 2026-11). */
#include "args.h"
#include "resolve.h"
#include "api/interpose.h"
#include "entry.h"

typedef struct lt_args {
    gemm_args_t gemm; /* c is D; beta is 0 where C lies apart from it */
    lac_residual_t residual;
    bool adds; /* a bias, or a C apart from D */
    float alpha, beta;
} lt_args_t;

/* The extents of D, and whether its type is f32. False where they cannot be read. */
bool read_lt_result(const getters_t *get, const void *d_layout, int64_t *m, int64_t *n, bool *f32);

/* The shape of a product: its extents, leading dimensions and transposes, and whether something is added to
 * it beside D. All that a place which is known to be dense needs. False where it is none for us. */
bool read_lt_shape(lt_args_t *args, const getters_t *get, LT_MATMUL_PARAMS);

/* The rest of one whose shape was read. True where it is a f32 product by columns of single matrices whose
 * scalars lie on the host, with the default epilogue or a bias, and where what it adds is D itself, or a C
 * apart from D as it is. */
bool read_lt_rest(lt_args_t *args, const getters_t *get, LT_MATMUL_PARAMS);

/* A product asked for its attributes: those that can rule it out first. */

/* -1, which no attribute here may have, where it cannot be read. */
static int product_attribute(const getters_t *get, const void *desc, int attribute)
{
    int value = -1;
    size_t written;
    return get->lt_product(desc, attribute, &value, sizeof value, &written) ? -1 : value;
}

/* NULL also where it cannot be read: older versions have no word for some. */
static const void *product_pointer(const getters_t *get, const void *desc, int attribute)
{
    const void *value = NULL;
    size_t written;
    return get->lt_product(desc, attribute, &value, sizeof value, &written) ? NULL : value;
}

static int layout_attribute(const getters_t *get, const void *layout, int attribute)
{
    int value = -1;
    size_t written;
    return get->lt_layout(layout, attribute, &value, sizeof value, &written) ? -1 : value;
}

static int64_t layout_extent(const getters_t *get, const void *layout, int attribute)
{
    int64_t value = -1;
    size_t written;
    return get->lt_layout(layout, attribute, &value, sizeof value, &written) ? -1 : value;
}

/* One f32 matrix by columns, at the address given; older versions know of no other mode, and have no word for
 * it. */
static bool is_plain_layout(const getters_t *get, const void *layout)
{
    return layout_attribute(get, layout, LT_TYPE) == CUDA_TYPE_F32 &&
           layout_attribute(get, layout, LT_ORDER) == LT_ORDER_COLUMNS &&
           layout_attribute(get, layout, LT_BATCH) == 1 && layout_attribute(get, layout, LT_BATCH_MODE) <= 0;
}

static int read_math(int compute)
{
    return compute == CUBLAS_COMPUTE_FP32            ? CUBLAS_MATH_DEFAULT
           : compute == CUBLAS_COMPUTE_FP32_PEDANTIC ? CUBLAS_MATH_PEDANTIC
           : compute == CUBLAS_COMPUTE_TF32          ? CUBLAS_MATH_TF32
                                                     : MATH_OF_HANDLE;
}

bool read_lt_result(const getters_t *get, const void *d_layout, int64_t *m, int64_t *n, bool *f32)
{
    *f32 = false;
    if (!get->lt_layout || !d_layout) return false;
    *m = layout_extent(get, d_layout, LT_ROWS);
    *n = layout_extent(get, d_layout, LT_COLS);
    *f32 = layout_attribute(get, d_layout, LT_TYPE) == CUDA_TYPE_F32;
    return *m > 0 && *n > 0;
}

bool read_lt_shape(lt_args_t *args, const getters_t *get, LT_MATMUL_PARAMS)
{
    (void)handle, (void)b, (void)algo, (void)workspace, (void)workspace_bytes, (void)stream;
    if (!get->lt_product || !get->lt_layout || !desc || !a_layout || !b_layout || !c_layout || !d_layout)
        return false;
    *args = (lt_args_t){0};
    gemm_args_t *g = &args->gemm;
    int epilogue = product_attribute(get, desc, LT_EPILOGUE);
    g->math = read_math(product_attribute(get, desc, LT_COMPUTE));
    if (g->math == MATH_OF_HANDLE ||
        product_attribute(get, desc, LT_POINTER_MODE) != CUBLAS_SCALARS_ON_HOST ||
        (epilogue != LT_EPILOGUE_NONE && epilogue != LT_EPILOGUE_BIAS) || !alpha || !beta ||
        product_attribute(get, desc, LT_SCALE_TYPE) != CUDA_TYPE_F32)
        return false;
    g->ta = read_trans(product_attribute(get, desc, LT_TRANS_A));
    g->tb = read_trans(product_attribute(get, desc, LT_TRANS_B));
    g->m = layout_extent(get, d_layout, LT_ROWS), g->n = layout_extent(get, d_layout, LT_COLS);
    g->k = layout_extent(get, a_layout, g->ta ? LT_ROWS : LT_COLS);
    g->lda = layout_extent(get, a_layout, LT_LD), g->ldb = layout_extent(get, b_layout, LT_LD);
    g->a = a, g->b = b, g->c = d;
    args->alpha = *(const float *)alpha, args->beta = *(const float *)beta;
    args->adds = epilogue == LT_EPILOGUE_BIAS || (args->beta != 0.0f && c != d);
    return true;
}

/* All of D, as the product gives it: no matrix has a factor of its own, and nothing is asked of the result.
 */
static bool is_plain_product(const getters_t *get, const void *desc)
{
    static const int beside[] = {LT_SCALE_A,   LT_SCALE_B,   LT_SCALE_C,  LT_SCALE_D,
                                 LT_LARGEST_D, LT_SCALE_OUT, LT_EMULATION};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        if (product_pointer(get, desc, beside[i])) return false;
    return product_attribute(get, desc, LT_FILL) == LT_FILL_ALL &&
           product_attribute(get, desc, LT_TRANS_C) == CUBLAS_OP_N;
}

/* Where the bias lies, if there is one. Its type is D's unless it is said. */
static bool read_bias(lt_args_t *args, const getters_t *get, const void *desc)
{
    if (product_attribute(get, desc, LT_EPILOGUE) != LT_EPILOGUE_BIAS) return true;
    int type = product_attribute(get, desc, LT_BIAS_TYPE);
    args->residual.bias = product_pointer(get, desc, LT_BIAS);
    return args->residual.bias && (type == -1 || type == CUDA_TYPE_F32);
}

/* Where beta C comes from; C has to fit even where beta is 0. A bias on top of D as it was could not be taken
 * back. */
static bool read_addend(lt_args_t *args, const getters_t *get, const void *c, const void *c_layout)
{
    int64_t ld = layout_extent(get, c_layout, LT_LD), rows = layout_extent(get, c_layout, LT_ROWS);
    if (!is_plain_layout(get, c_layout) || rows != args->gemm.m ||
        layout_extent(get, c_layout, LT_COLS) != args->gemm.n || ld < rows)
        return false;
    if (args->beta == 0.0f) return true;
    if (!c) return false;
    if (c == args->gemm.c) return ld == args->gemm.ldc && !args->residual.bias;
    args->residual.d = c;
    args->residual.ldd = ld;
    bool as_it_is = args->beta == 1.0f;
    args->beta = 0.0f;
    return as_it_is;
}

bool read_lt_rest(lt_args_t *args, const getters_t *get, LT_MATMUL_PARAMS)
{
    (void)handle, (void)alpha, (void)a, (void)b, (void)beta, (void)d;
    (void)algo, (void)workspace, (void)workspace_bytes, (void)stream;
    gemm_args_t *g = &args->gemm;
    if (!is_plain_layout(get, a_layout) || !is_plain_layout(get, b_layout) || !is_plain_layout(get, d_layout))
        return false;
    if (layout_extent(get, a_layout, g->ta ? LT_COLS : LT_ROWS) != g->m ||
        layout_extent(get, b_layout, g->tb ? LT_COLS : LT_ROWS) != g->k ||
        layout_extent(get, b_layout, g->tb ? LT_ROWS : LT_COLS) != g->n)
        return false;
    if (!is_plain_product(get, desc) || !read_bias(args, get, desc)) return false;
    g->ldc = layout_extent(get, d_layout, LT_LD);
    g->alpha = &args->alpha, g->beta = &args->beta;
    g->count = 1;
    g->f32 = true;
    bool c_is_d = c_layout == d_layout && args->beta == 0.0f; /* read already */
    return (c_is_d || read_addend(args, get, c, c_layout)) && gemm_is_proper(g);
}

/* The matrix product of cuBLASLt, which PyTorch calls for a linear layer with a bias. */

_Thread_local uint64_t dense_cache_lt[DENSE_CACHE_SIZE] __attribute__((tls_model("initial-exec")));

static int try_lt(const call_t *call, lac_ctx_t *ctx, lt_args_t *args, bool registered, LT_MATMUL_PARAMS)
{
    const gemm_args_t *g = &args->gemm;
    lac_trans_t ta = (lac_trans_t)g->ta, tb = (lac_trans_t)g->tb;
    unsigned calls = registered ? 0
                                : lac_interpose_dense_streak(ctx, ta, tb, g->m, g->n, g->k, g->lda, g->ldb,
                                                             args->adds, call->caller, DENSE_CACHE_GRANT_MAX);
    if (calls) dense_cache_grant(stream, call->caller, g, args->adds, calls - 1);
    if (calls) return 0;
    if (!read_lt_rest(args, &call->next_fn->get, LT_MATMUL_ARGS)) return passed_on(call, LAC_PASS_TYPE);
    return lac_try_sgemm_residual(ctx, ta, tb, g->m, g->n, g->k, args->alpha, g->a, g->lda, g->b, g->ldb,
                                  args->beta, g->c, g->ldc, &args->residual, call->symbol, call->caller);
}

static bool lacuna_lt_matmul(call_t *call, LT_MATMUL_PARAMS)
{
    lt_args_t args;
    const gemm_args_t *g = &args.gemm;
    dense_lt_key_t like = {stream, call->caller, a, 0, 0};
    if (!handle) return passed_on(call, LAC_PASS_ARGUMENTS);
    /* What is frozen by its shape never settles, so that k does not matter. */
    bool f32;
    if (read_lt_result(&call->next_fn->get, d_layout, &like.m, &like.n, &f32) &&
        !lac_interpose_is_registered(like.m, like.n, -1, a, b, f32 ? d : NULL, like.m) &&
        dense_lt_take(&like))
        return false;
    if (!read_lt_shape(&args, &call->next_fn->get, LT_MATMUL_ARGS)) return passed_on(call, LAC_PASS_TYPE);
    if ((g->ta | g->tb) < 0 || g->m <= 0 || g->n <= 0 || g->k <= 0)
        return passed_on(call, LAC_PASS_ARGUMENTS);
    if ((double)g->m * (double)g->n * (double)g->k < lac_interpose_min_macs())
        return passed_on(call, LAC_PASS_SMALL);
    /* Where D's lines lie is not read yet: at least one behind the other. */
    bool registered = lac_interpose_is_registered(g->m, g->n, g->k, g->a, g->b, f32 ? g->c : NULL, g->m);
    if (!registered && dense_cache_take(stream, call->caller, g, args.adds)) {
        dense_lt_keep(&like, g);
        return false;
    }
    lac_pass_t why;
    stream_context_t *sc = call_enter(stream, g->math, &why);
    if (sc) return call_leave(call, sc, try_lt(call, sc->ctx, &args, registered, LT_MATMUL_ARGS));
    if (!read_lt_rest(&args, &call->next_fn->get, LT_MATMUL_ARGS)) return passed_on(call, LAC_PASS_TYPE);
    return call_capture(call, stream, g->math, g, &args.residual, why);
}

int enter_lt_matmul(exported_symbol_t *symbol, const void *caller, LT_MATMUL_PARAMS)
{
    call_t call;
    if (call_begin(&call, symbol, caller) && lacuna_lt_matmul(&call, LT_MATMUL_ARGS)) return CUBLAS_SUCCESS;
    return FORWARD(&call, lt_matmul_fn, LT_MATMUL_ARGS);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A cublasLtMatmul read into the terms of sgemm, attribute by attribute: each costs 8 ns (H200 host,
 * 2026-11). */
#include "entry.h"

/* A product asked for its attributes: those that can rule it out first. */

/* What was read of one; gemm.alpha and gemm.beta point into it. */
typedef struct lt_args {
    lac_gemm_args_t gemm; /* c is D; beta is 0 where C lies apart from it */
    int math;
    int type, d_type; /* of A and B, of C and D */
    int ta, tb;
    float alpha, beta;
} lt_args_t;

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

/* One matrix of the type by columns, at the address given; older versions know of no other mode, and have no
 * word for it. */
static bool is_plain_layout(const getters_t *get, const void *layout, int type)
{
    return layout_attribute(get, layout, LT_TYPE) == type &&
           layout_attribute(get, layout, LT_ORDER) == LT_ORDER_COLUMNS &&
           layout_attribute(get, layout, LT_BATCH) == 1 && layout_attribute(get, layout, LT_BATCH_MODE) <= 0;
}

static int read_math(int compute)
{
    switch (compute) {
    case CUBLAS_COMPUTE_FP32:
        return CUBLAS_MATH_DEFAULT;
    case CUBLAS_COMPUTE_FP32_PEDANTIC:
        return CUBLAS_MATH_PEDANTIC;
    case CUBLAS_COMPUTE_TF32:
        return CUBLAS_MATH_TF32;
    default:
        return MATH_OF_HANDLE;
    }
}

/* The extents of D, and its type: -1 where that cannot be read. False where they cannot be. */
static bool read_result(const getters_t *get, const void *d_layout, int64_t *m, int64_t *n, int *type)
{
    *type = -1;
    if (!get->lt_layout || !d_layout) return false;
    *m = layout_extent(get, d_layout, LT_ROWS);
    *n = layout_extent(get, d_layout, LT_COLS);
    *type = layout_attribute(get, d_layout, LT_TYPE);
    return *m > 0 && *n > 0;
}

/* The shape of a product: its extents, leading dimensions and transposes, and whether something is added to
 * it beside D. All that a site which is known to be dense needs. False where it is none for us. */
static bool read_shape(lt_args_t *x, const getters_t *get, const lt_call_t *lt)
{
    if (!get->lt_product || !get->lt_layout || !lt->desc || !lt->a_layout || !lt->b_layout || !lt->c_layout ||
        !lt->d_layout || !lt->alpha || !lt->beta)
        return false;
    int epilogue = product_attribute(get, lt->desc, LT_EPILOGUE);
    x->math = read_math(product_attribute(get, lt->desc, LT_COMPUTE));
    if (x->math == MATH_OF_HANDLE ||
        product_attribute(get, lt->desc, LT_POINTER_MODE) != CUBLAS_SCALARS_ON_HOST ||
        (epilogue != LT_EPILOGUE_NONE && epilogue != LT_EPILOGUE_BIAS) ||
        product_attribute(get, lt->desc, LT_SCALE_TYPE) != CUDA_TYPE_F32)
        return false;
    x->ta = read_trans(product_attribute(get, lt->desc, LT_TRANS_A));
    x->tb = read_trans(product_attribute(get, lt->desc, LT_TRANS_B));
    x->alpha = *(const float *)lt->alpha, x->beta = *(const float *)lt->beta;
    lac_gemm_args_t *g = &x->gemm;
    lac_dt_t type, d_type;
    x->type = layout_attribute(get, lt->a_layout, LT_TYPE);
    if (!read_type(x->type, &type) || !read_type(x->d_type, &d_type)) return false;
    set_product(g, type, layout_extent(get, lt->d_layout, LT_ROWS), layout_extent(get, lt->d_layout, LT_COLS),
                layout_extent(get, lt->a_layout, x->ta ? LT_ROWS : LT_COLS));
    g->dt = d_type;
    set_operand(&g->a, x->ta, lt->a, layout_extent(get, lt->a_layout, LT_LD));
    set_operand(&g->b, x->tb, lt->b, layout_extent(get, lt->b_layout, LT_LD));
    set_c(g, lt->d, 1, 0);
    set_scalars(g, &x->alpha, &x->beta);
    g->adds = epilogue == LT_EPILOGUE_BIAS || (x->beta != 0.0f && lt->c != lt->d);
    g->residual = (lac_residual_t){NULL, 0, NULL};
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

/* Where the bias lies, if there is one, of D's type. That is its type unless it is said. */
static bool read_bias(lt_args_t *x, const getters_t *get, const void *desc)
{
    lac_gemm_args_t *g = &x->gemm;
    if (product_attribute(get, desc, LT_EPILOGUE) != LT_EPILOGUE_BIAS) return true;
    int type = product_attribute(get, desc, LT_BIAS_TYPE);
    g->residual.bias = product_pointer(get, desc, LT_BIAS);
    return g->residual.bias && (type == -1 || type == x->d_type);
}

/* Where beta C comes from; C has to fit even where beta is 0. A bias on top of D as it was could not be taken
 * back. */
static bool read_addend(lt_args_t *x, const getters_t *get, const void *c, const void *c_layout)
{
    lac_gemm_args_t *g = &x->gemm;
    int64_t ld = layout_extent(get, c_layout, LT_LD), rows = layout_extent(get, c_layout, LT_ROWS);
    if (!is_plain_layout(get, c_layout, x->d_type) || rows != g->m ||
        layout_extent(get, c_layout, LT_COLS) != g->n || ld < rows)
        return false;
    if (x->beta == 0.0f) return true;
    if (!c) return false;
    if (c == g->c) return ld == g->ccs && !g->residual.bias;
    g->residual.d = c;
    g->residual.ldd = ld;
    bool as_it_is = x->beta == 1.0f && x->type == CUDA_TYPE_F32; /* else it would be rounded twice */
    x->beta = 0.0f;
    return as_it_is;
}

/* The rest of one whose shape was read. True where it is a product of f32, or of one type of two bytes, by
 * columns of single matrices whose scalars lie on the host, with the default epilogue or a bias, and where
 * what it adds is D itself, or a C apart from D as it is. */
static bool read_rest(lt_args_t *x, const getters_t *get, const lt_call_t *lt)
{
    lac_gemm_args_t *g = &x->gemm;
    bool half = x->type != CUDA_TYPE_F32;
    if (x->d_type != x->type && x->d_type != CUDA_TYPE_F32) return false;
    if (half && x->math == CUBLAS_MATH_TF32) return false;
    if (!is_plain_layout(get, lt->a_layout, x->type) || !is_plain_layout(get, lt->b_layout, x->type) ||
        !is_plain_layout(get, lt->d_layout, x->d_type))
        return false;
    if (layout_extent(get, lt->a_layout, x->ta ? LT_COLS : LT_ROWS) != g->m ||
        layout_extent(get, lt->b_layout, x->tb ? LT_COLS : LT_ROWS) != g->k ||
        layout_extent(get, lt->b_layout, x->tb ? LT_ROWS : LT_COLS) != g->n)
        return false;
    if (!is_plain_product(get, lt->desc) || !read_bias(x, get, lt->desc)) return false;
    g->ccs = layout_extent(get, lt->d_layout, LT_LD);
    bool c_is_d = lt->c_layout == lt->d_layout && x->beta == 0.0f; /* read already */
    if (!c_is_d && !read_addend(x, get, lt->c, lt->c_layout)) return false;
    int64_t lda = x->ta ? g->a.rs : g->a.cs, ldb = x->tb ? g->b.rs : g->b.cs;
    return judge_product(x->ta, x->tb, g->m, g->n, g->k, lda, ldb, g->ccs) == CALL_PROPER && g->a.buf &&
           g->b.buf && g->c;
}

/* The matrix product of cuBLASLt, which PyTorch calls for a linear layer with a bias. */

_Thread_local uint64_t dense_cache_lt[DENSE_CACHE_SIZE] __attribute__((tls_model("initial-exec")));

/* What is registered where D is to be is not as it was. How far apart D's columns lie need not be known: at
 * least one behind the other. Whether A or B may be registered: by their addresses, their shapes are not
 * known yet. */
static bool is_registered(const lt_call_t *lt, int64_t m, int64_t n, int type)
{
    const lac_gemm_args_t g = {.m = m, .n = n, .k = -1, .a = {.buf = lt->a}, .b = {.buf = lt->b}};
    lac_dt_t dt;
    if (read_type(type, &dt)) lac_interpose_invalidate_output(dt, lt->d, m, n, 1, m);
    return lac_interpose_is_registered(&g);
}

bool lacuna_lt_matmul(call_t *call, const lt_call_t *lt)
{
    lt_args_t x;
    lac_gemm_args_t *g = &x.gemm;
    const getters_t *get = &call->next_fn->get;
    dense_lt_key_t like = {lt->stream, call->caller, lt->a, 0, 0};
    if (!lt->handle) return passed_on(call, LAC_PASS_ARGUMENTS);
    /* What is frozen by its shape never settles, so that k does not matter. */
    if (read_result(get, lt->d_layout, &like.m, &like.n, &x.d_type) &&
        !is_registered(lt, like.m, like.n, x.d_type) && dense_lt_take(&like))
        return false;
    if (!read_shape(&x, get, lt)) return passed_on(call, LAC_PASS_TYPE);
    g->symbol = call->symbol, g->caller = call->caller;
    if ((x.ta | x.tb) < 0 || g->m <= 0 || g->n <= 0 || g->k <= 0) return passed_on(call, LAC_PASS_ARGUMENTS);
    if ((double)g->m * (double)g->n * (double)g->k < lac_interpose_min_macs())
        return passed_on(call, LAC_PASS_SMALL);
    g->registered = lac_interpose_is_registered(g);
    if (!g->registered && dense_cache_take(lt->stream, g)) {
        dense_lt_keep(&like, g);
        return false;
    }
    lac_pass_t why;
    stream_context_t *sc = call_enter(lt->stream, x.math, &why);
    if (!sc) {
        if (!read_rest(&x, get, lt)) return passed_on(call, LAC_PASS_TYPE);
        return call_capture(call, lt->stream, x.math, g, why);
    }
    unsigned calls =
        lac_interpose_dense_streak(sc->ctx, g, DENSE_CACHE_GRANT_MAX, dense_cache_made(lt->stream, g));
    if (calls) dense_cache_grant(lt->stream, g, calls - 1);
    if (calls) return call_leave(call, sc, 0);
    bool readable = read_rest(&x, get, lt);
    return call_leave(call, sc, readable ? lac_try_gemm(sc->ctx, g) : passed_on(call, LAC_PASS_TYPE));
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A product asked for its attributes: those that can rule it out first. */
#include "cublas_lt_args.h"

/* -1, which no attribute here may have, where it cannot be read. */
static int product_attribute(const getters_t *get, const void *desc, int attribute)
{
    int value = -1;
    size_t written;
    return get->lt_product(desc, attribute, &value, sizeof value, &written) ? -1 : value;
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

typedef struct matrix {
    int64_t rows, cols, ld;
} matrix_t;

/* One f32 matrix by columns, at the address given; older versions know of no other mode, and have no word for
 * it. */
static bool read_layout(const getters_t *get, const void *layout, matrix_t *matrix)
{
    matrix->rows = layout_extent(get, layout, LT_ROWS);
    matrix->cols = layout_extent(get, layout, LT_COLS);
    matrix->ld = layout_extent(get, layout, LT_LD);
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

/* How the product is made, and its bias. */
static bool read_product(lt_args_t *args, const getters_t *get, const void *desc)
{
    gemm_args_t *g = &args->gemm;
    size_t written;
    int epilogue = product_attribute(get, desc, LT_EPILOGUE);
    g->math = read_math(product_attribute(get, desc, LT_COMPUTE));
    g->ta = read_trans(product_attribute(get, desc, LT_TRANS_A));
    g->tb = read_trans(product_attribute(get, desc, LT_TRANS_B));
    if (g->math == MATH_OF_HANDLE || (epilogue != LT_EPILOGUE_NONE && epilogue != LT_EPILOGUE_BIAS))
        return false;
    if (epilogue == LT_EPILOGUE_BIAS &&
        (get->lt_product(desc, LT_BIAS, &args->addend.bias, sizeof args->addend.bias, &written) ||
         !args->addend.bias))
        return false;
    return product_attribute(get, desc, LT_SCALE_TYPE) == CUDA_TYPE_F32 &&
           product_attribute(get, desc, LT_POINTER_MODE) == CUBLAS_SCALARS_ON_HOST &&
           product_attribute(get, desc, LT_TRANS_C) == CUBLAS_OP_N;
}

/* Where beta C comes from. A bias on top of D as it was could not be taken back. */
static bool read_addend(lt_args_t *args, const getters_t *get, const void *c, const void *c_layout)
{
    matrix_t from;
    if (args->beta == 0.0f) return true;
    if (!c || !read_layout(get, c_layout, &from)) return false;
    if (from.rows != args->gemm.m || from.cols != args->gemm.n || from.ld < from.rows) return false;
    if (c == args->gemm.c) return from.ld == args->gemm.ldc && !args->addend.bias;
    args->addend.from = c;
    args->addend.ldf = from.ld;
    bool as_it_is = args->beta == 1.0f;
    args->beta = 0.0f;
    return as_it_is;
}

bool read_lt_matmul(lt_args_t *args, const getters_t *get, LT_MATMUL_PARAMS)
{
    (void)handle, (void)algo, (void)workspace, (void)workspace_bytes, (void)stream;
    matrix_t ma, mb, md;
    if (!get->lt_product || !get->lt_layout || !desc || !a_layout || !b_layout || !c_layout || !d_layout)
        return false;
    *args = (lt_args_t){0};
    gemm_args_t *g = &args->gemm;
    if (!read_layout(get, d_layout, &md) || !read_layout(get, a_layout, &ma)) return false;
    if (!read_layout(get, b_layout, &mb) || !read_product(args, get, desc) || !alpha || !beta) return false;
    g->m = md.rows, g->n = md.cols, g->ldc = md.ld;
    g->k = g->ta ? ma.rows : ma.cols;
    if ((g->ta ? ma.cols : ma.rows) != g->m || (g->tb ? mb.cols : mb.rows) != g->k ||
        (g->tb ? mb.rows : mb.cols) != g->n)
        return false;
    g->a = a, g->b = b, g->c = d;
    g->lda = ma.ld, g->ldb = mb.ld;
    g->count = 1;
    g->f32 = true;
    args->alpha = *(const float *)alpha, args->beta = *(const float *)beta;
    g->alpha = &args->alpha, g->beta = &args->beta;
    return read_addend(args, get, c, c_layout);
}

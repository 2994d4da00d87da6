/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * cuBLAS arguments read into Lacuna's, with what cuBLAS says beside them. */
#ifndef LACUNA_PLUGIN_CUBLAS_ARGS_H
#define LACUNA_PLUGIN_CUBLAS_ARGS_H

#include "shapes.h"
#include "common/colmajor_args.h"

enum { MATH_OF_HANDLE = -1 };

/* Of a call: Lacuna's arguments, whose scalars lie where the handle's pointer mode says, and what rules it
 * out. */
typedef struct cublas_args {
    lac_gemm_args_t gemm;
    int math;    /* of CUBLAS_MATH_, or MATH_OF_HANDLE                                      */
    bool proper; /* cuBLAS would accept it and do some work; anything else is its own business */
    bool types;  /* all are f32, f64, or those of two bytes with sums of f32, which C may be; and nothing asks
                    for an algorithm by name                                               */
    bool c_type; /* C's is one of these: gemm.dt                                            */
    bool vector; /* it is a matrix-vector product                                           */
    bool half_scalars; /* they are of binary16 */
} cublas_args_t;

/* False: none that we know of. */
static inline bool read_type(int type, lac_dt_t *dt)
{
    *dt = type == CUDA_TYPE_F16 ? LAC_F16 : type == CUDA_TYPE_BF16 ? LAC_BF16 : LAC_F32;
    return type == CUDA_TYPE_F32 || type == CUDA_TYPE_F16 || type == CUDA_TYPE_BF16;
}

/* Real data: the conjugate transpose is the transpose. */
static inline int read_trans(int trans)
{
    if (trans == CUBLAS_OP_N) return LAC_NO_TRANS;
    return trans == CUBLAS_OP_T || trans == CUBLAS_OP_C ? LAC_TRANS : BAD_TRANS;
}

static inline bool has_pointers(const lac_gemm_args_t *g)
{
    return g->alpha && g->beta && g->a.buf && g->b.buf && g->c;
}

static inline void read_sgemm_strided(cublas_args_t *x, bool wide, SGEMM_STRIDED_PARAMS)
{
    int op_a = read_trans(ta), op_b = read_trans(tb);
    int64_t ld_a = read_slot(lda, wide), ld_b = read_slot(ldb, wide), ld_c = read_slot(ldc, wide);
    lac_gemm_args_t *g = &x->gemm;
    (void)handle;
    set_product(g, LAC_F32, read_slot(m, wide), read_slot(n, wide), read_slot(k, wide));
    set_operand(&g->a, op_a, a, ld_a);
    set_operand(&g->b, op_b, b, ld_b);
    set_c(g, c, 1, ld_c);
    set_scalars(g, alpha, beta);
    g->batch = (lac_strides_t){stride_a, stride_b, stride_c, read_slot(count, wide)};
    x->math = MATH_OF_HANDLE;
    x->types = x->c_type = true;
    x->vector = x->half_scalars = false;
    x->proper = judge_product(op_a, op_b, g->m, g->n, g->k, ld_a, ld_b, ld_c) == CALL_PROPER &&
                g->batch.count > 0 && has_pointers(g);
}

static inline void read_sgemm(cublas_args_t *x, bool wide, SGEMM_PARAMS)
{
    read_sgemm_strided(x, wide, handle, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}

/* The extended calls name their types, the arithmetic and the algorithm. */
static inline void read_types(cublas_args_t *x, int a_type, int b_type, int c_type, int compute, int algo)
{
    bool known = compute == CUBLAS_COMPUTE_FP32 || compute == CUBLAS_COMPUTE_FP32_PEDANTIC ||
                 compute == CUBLAS_COMPUTE_TF32;
    bool free = algo == CUBLAS_ALGO_DEFAULT || algo == CUBLAS_ALGO_DEFAULT_TENSOR;
    lac_gemm_args_t *g = &x->gemm;
    bool ours = read_type(a_type, &g->a.dt) && read_type(b_type, &g->b.dt);
    x->c_type = read_type(c_type, &g->dt);
    if (g->a.dt != LAC_F32 && compute == CUBLAS_COMPUTE_TF32) known = false;
    x->types = known && free && ours && x->c_type && a_type == b_type &&
               (c_type == a_type || c_type == CUDA_TYPE_F32);
    if (compute == CUBLAS_COMPUTE_FP32_PEDANTIC) x->math = CUBLAS_MATH_PEDANTIC;
    if (compute == CUBLAS_COMPUTE_TF32) x->math = CUBLAS_MATH_TF32;
}

static inline void read_gemm_strided_ex(cublas_args_t *x, bool wide, GEMM_STRIDED_EX_PARAMS)
{
    read_sgemm_strided(x, wide, handle, ta, tb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c,
                       ldc, stride_c, count);
    read_types(x, a_type, b_type, c_type, compute, algo);
}

static inline void read_gemm_ex(cublas_args_t *x, bool wide, GEMM_EX_PARAMS)
{
    read_sgemm(x, wide, handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    read_types(x, a_type, b_type, c_type, compute, algo);
}

static inline void read_dgemm(cublas_args_t *x, bool wide, DGEMM_PARAMS)
{
    read_sgemm(x, wide, handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    x->gemm.dt = x->gemm.a.dt = x->gemm.b.dt = LAC_F64;
    x->math = CUBLAS_MATH_DEFAULT; /* modes are of f32 */
}

/* Its arithmetic is binary16, sums too: those of f32 are nearer. */
static inline void read_hgemm(cublas_args_t *x, bool wide, HGEMM_PARAMS)
{
    read_sgemm(x, wide, handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    x->gemm.dt = x->gemm.a.dt = x->gemm.b.dt = LAC_F16;
    x->half_scalars = true;
}

static inline void read_sgemv(cublas_args_t *v, bool wide, SGEMV_PARAMS)
{
    lac_gemm_args_t *g = &v->gemm;
    (void)handle;
    int verdict =
        read_vector_product(g, LAC_F32, read_trans(ta), read_slot(m, wide), read_slot(n, wide), a,
                            read_slot(lda, wide), x, read_slot(incx, wide), y, read_slot(incy, wide));
    set_scalars(g, alpha, beta);
    v->math = MATH_OF_HANDLE;
    v->types = v->c_type = v->vector = true;
    v->half_scalars = false;
    v->proper = verdict == CALL_PROPER && has_pointers(g);
}

/* A batch that is one product: it has one member, or its members share one operand and the rest of each lies
 * beside the one before. False where it is none. */
static inline bool gemm_batch_as_one(lac_gemm_args_t *g)
{
    const lac_strides_t *to = &g->batch;
    if (to->count == 1) return true;
    int64_t all_n = g->n * to->count, all_m = g->m * to->count;
    if (to->a == 0 && to->b == g->n * g->b.cs && to->c == g->n * g->ccs &&
        (g->b.cs != 1 || g->b.rs >= all_n)) {
        g->n = all_n; /* B and C stand side by side */
    } else if (to->b == 0 && to->a == g->m * g->a.rs && to->c == g->m && g->ccs >= all_m &&
               (g->a.rs != 1 || g->a.cs >= all_m)) {
        g->m = all_m; /* A and C stand one below the other */
    } else {
        return false;
    }
    g->batch.count = 1;
    return true;
}

/* A batch of products that may be made one after the other: no C begins before the last one ends. */
static inline bool gemm_batch_is_apart(const lac_gemm_args_t *g)
{
    return g->batch.a >= 0 && g->batch.b >= 0 && g->batch.c >= (g->n - 1) * g->ccs + g->m;
}

#endif

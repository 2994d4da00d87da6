/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * BLAS arguments read into Lacuna's, where row-major and column-major, transposed or not, are strides. Each
 * reader fills in all but who calls, and returns what a BLAS would say of the call: anything but CALL_PROPER
 * is the BLAS's own business, which has the quick returns, and the reports that the program may have
 * replaced. */
#ifndef LACUNA_PLUGIN_BLAS_ARGS_H
#define LACUNA_PLUGIN_BLAS_ARGS_H

#include "shapes.h"
#include "common/colmajor_args.h"

static inline int64_t read_integer(const void *p, bool wide)
{
    return wide ? *(const int64_t *)p : *(const int32_t *)p;
}

/* Real data: the conjugate transpose is the transpose. */
static inline int read_letter(char letter)
{
    switch (letter) {
    case 'N':
    case 'n':
        return LAC_NO_TRANS;
    case 'T':
    case 't':
    case 'C':
    case 'c':
        return LAC_TRANS;
    default:
        return BAD_TRANS;
    }
}

static inline int read_cblas_trans(int trans)
{
    if (trans == CBLAS_NO_TRANS) return LAC_NO_TRANS;
    return trans == CBLAS_TRANS || trans == CBLAS_CONJ_TRANS ? LAC_TRANS : BAD_TRANS;
}

static inline int read_gemm(lac_gemm_args_t *g, lac_dt_t dt, bool wide, GEMM_PARAMS(void))
{
    int op_a = read_letter(*ta), op_b = read_letter(*tb);
    int64_t ld_a = read_integer(lda, wide), ld_b = read_integer(ldb, wide), ld_c = read_integer(ldc, wide);
    set_product(g, dt, read_integer(m, wide), read_integer(n, wide), read_integer(k, wide));
    set_operand(&g->a, op_a, a, ld_a);
    set_operand(&g->b, op_b, b, ld_b);
    set_c(g, c, 1, ld_c);
    set_scalars(g, alpha, beta);
    return judge_product(op_a, op_b, g->m, g->n, g->k, ld_a, ld_b, ld_c);
}

static inline int read_gemv(lac_gemm_args_t *g, lac_dt_t dt, bool wide, GEMV_PARAMS(void))
{
    int verdict = read_vector_product(g, dt, read_letter(*ta), read_integer(m, wide), read_integer(n, wide),
                                      a, read_integer(lda, wide), x, read_integer(incx, wide), y,
                                      read_integer(incy, wide));
    set_scalars(g, alpha, beta);
    return verdict;
}

/* The C calls bring their scalars by value: the entry point says where they lie. netlib's C
 * interface passes a row-major product on as the column-major one of the transposes, C' = op(B)' op(A)', and
 * so finds its first bad parameter there. An order that is neither reads as a bad trans. */
static inline int read_cblas_gemm(lac_gemm_args_t *g, lac_dt_t dt, bool wide,
                                  CBLAS_GEMM_PARAMS(void, const void *))
{
    bool rows = order == CBLAS_ROW_MAJOR;
    bool known = rows || order == CBLAS_COL_MAJOR;
    int op_a = known ? read_cblas_trans(ta) : BAD_TRANS, op_b = read_cblas_trans(tb);
    int64_t ld_a = read_slot(lda, wide), ld_b = read_slot(ldb, wide), ld_c = read_slot(ldc, wide);
    set_product(g, dt, read_slot(m, wide), read_slot(n, wide), read_slot(k, wide));
    set_operand(&g->a, rows != (op_a != 0), a, ld_a);
    set_operand(&g->b, rows != (op_b != 0), b, ld_b);
    set_c(g, c, rows ? ld_c : 1, rows ? 1 : ld_c);
    set_scalars(g, alpha, beta);
    return rows ? judge_product(op_b, op_a, g->n, g->m, g->k, ld_b, ld_a, ld_c)
                : judge_product(op_a, op_b, g->m, g->n, g->k, ld_a, ld_b, ld_c);
}

static inline int read_cblas_gemv(lac_gemm_args_t *g, lac_dt_t dt, bool wide,
                                  CBLAS_GEMV_PARAMS(void, const void *))
{
    bool rows = order == CBLAS_ROW_MAJOR;
    bool known = rows || order == CBLAS_COL_MAJOR;
    int trans = known ? read_cblas_trans(ta) : BAD_TRANS;
    int verdict =
        read_vector_product(g, dt, rows && trans != BAD_TRANS ? !trans : trans, read_slot(rows ? n : m, wide),
                            read_slot(rows ? m : n, wide), a, read_slot(lda, wide), x, read_slot(incx, wide),
                            y, read_slot(incy, wide));
    set_scalars(g, alpha, beta);
    return verdict;
}

#endif

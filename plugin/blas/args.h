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

/* The readers are part of each exported symbol, as its handler is: called, they take a tenth of a small call.
 */
#define READER static inline __attribute__((always_inline)) int

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

enum { BAD_LETTER = -1 };

/* Which of two letters, of either case: the index of the one it is. */
static inline int read_choice(char letter, char first, char second)
{
    char capital = (char)(letter & ~0x20);
    return capital == first ? 0 : capital == second ? 1 : BAD_LETTER;
}

static inline int read_cblas_choice(int value, int first, int second)
{
    return value == first ? 0 : value == second ? 1 : BAD_LETTER;
}

/* Of C[n, n] := .. X X' with X = op(A), column-major and in netlib's order. */
static inline int judge_rank_k(int uplo, int trans, int64_t n, int64_t k, int64_t lda, int64_t ldc)
{
    if (uplo == BAD_LETTER) return 1;
    if (trans == BAD_TRANS) return 2;
    if (n < 0) return 3;
    if (k < 0) return 4;
    if (lda < at_least_one(trans ? k : n)) return 7;
    if (ldc < at_least_one(n)) return 10;
    return n > 0 && k > 0 ? CALL_PROPER : CALL_EMPTY;
}

/* Of C[m, n] := .. A B or .. B A with a symmetric A; the same. */
static inline int judge_symmetric(int side, int uplo, int64_t m, int64_t n, int64_t lda, int64_t ldb,
                                  int64_t ldc)
{
    if (side == BAD_LETTER) return 1;
    if (uplo == BAD_LETTER) return 2;
    if (m < 0) return 3;
    if (n < 0) return 4;
    if (lda < at_least_one(side ? n : m)) return 7;
    if (ldb < at_least_one(m)) return 9;
    if (ldc < at_least_one(m)) return 12;
    return m > 0 && n > 0 ? CALL_PROPER : CALL_EMPTY;
}

/* The column-major call as a product X X' of which one triangle is asked for. C is symmetric in what it is,
 * so that its transpose, by rows, is as good: rows are what kernels write. */
static inline int read_rank_k(lac_gemm_args_t *g, lac_dt_t dt, int uplo, int trans, int64_t n, int64_t k,
                              const void *a, int64_t lda, void *c, int64_t ldc)
{
    set_product(g, dt, n, n, k);
    set_operand(&g->a, trans > 0, a, lda);
    set_operand(&g->b, trans <= 0, a, lda);
    set_c(g, c, ldc, 1);
    g->triangles = LAC_TRIANGLES(uplo ? LAC_TRIANGLE_UPPER : LAC_TRIANGLE_LOWER, 0, 0);
    return judge_rank_k(uplo, trans, n, k, lda, ldc);
}

/* The column-major call as a product of which the left or, where `side`, the right operand is symmetric. */
static inline int read_symmetric(lac_gemm_args_t *g, lac_dt_t dt, int side, int uplo, int64_t m, int64_t n,
                                 const void *a, int64_t lda, const void *b, int64_t ldb, void *c, int64_t ldc)
{
    lac_triangle_t stored = uplo ? LAC_TRIANGLE_LOWER : LAC_TRIANGLE_UPPER;
    set_product(g, dt, m, n, side > 0 ? n : m);
    set_operand(side > 0 ? &g->b : &g->a, 0, a, lda);
    set_operand(side > 0 ? &g->a : &g->b, 0, b, ldb);
    set_c(g, c, 1, ldc);
    g->triangles = side > 0 ? LAC_TRIANGLES(0, 0, stored) : LAC_TRIANGLES(0, stored, 0);
    return judge_symmetric(side, uplo, m, n, lda, ldb, ldc);
}

static inline int read_cblas_trans(int trans)
{
    if (trans == CBLAS_NO_TRANS) return LAC_NO_TRANS;
    return trans == CBLAS_TRANS || trans == CBLAS_CONJ_TRANS ? LAC_TRANS : BAD_TRANS;
}

READER read_gemm(lac_gemm_args_t *g, lac_dt_t dt, bool wide, GEMM_PARAMS(void))
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

READER read_gemv(lac_gemm_args_t *g, lac_dt_t dt, bool wide, GEMV_PARAMS(void))
{
    int verdict = read_vector_product(g, dt, read_letter(*ta), read_integer(m, wide), read_integer(n, wide),
                                      a, read_integer(lda, wide), x, read_integer(incx, wide), y,
                                      read_integer(incy, wide));
    set_scalars(g, alpha, beta);
    return verdict;
}

READER read_syrk(lac_gemm_args_t *g, lac_dt_t dt, bool wide, SYRK_PARAMS(void))
{
    int verdict = read_rank_k(g, dt, read_choice(*uplo, 'U', 'L'), read_letter(*trans), read_integer(n, wide),
                              read_integer(k, wide), a, read_integer(lda, wide), c, read_integer(ldc, wide));
    set_scalars(g, alpha, beta);
    return verdict;
}

READER read_symm(lac_gemm_args_t *g, lac_dt_t dt, bool wide, SYMM_PARAMS(void))
{
    int verdict = read_symmetric(g, dt, read_choice(*side, 'L', 'R'), read_choice(*uplo, 'U', 'L'),
                                 read_integer(m, wide), read_integer(n, wide), a, read_integer(lda, wide), b,
                                 read_integer(ldb, wide), c, read_integer(ldc, wide));
    set_scalars(g, alpha, beta);
    return verdict;
}

/* The C calls bring their scalars by value: the entry point says where they lie. netlib's C
 * interface passes a row-major product on as the column-major one of the transposes, C' = op(B)' op(A)', and
 * so finds its first bad parameter there. An order that is neither reads as a bad trans. */
READER read_cblas_gemm(lac_gemm_args_t *g, lac_dt_t dt, bool wide, CBLAS_GEMM_PARAMS(void, const void *))
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

READER read_cblas_gemv(lac_gemm_args_t *g, lac_dt_t dt, bool wide, CBLAS_GEMV_PARAMS(void, const void *))
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

/* Row-major, the other triangle of the transposed operation is meant, and the other side of an exchanged m
 * and n. */
static inline int exchanged_choice(int choice, bool exchange)
{
    return choice != BAD_LETTER && exchange ? !choice : choice;
}

READER read_cblas_syrk(lac_gemm_args_t *g, lac_dt_t dt, bool wide, CBLAS_SYRK_PARAMS(void, const void *))
{
    bool rows = order == CBLAS_ROW_MAJOR, known = rows || order == CBLAS_COL_MAJOR;
    int which = known ? read_cblas_choice(uplo, CBLAS_UPPER, CBLAS_LOWER) : BAD_LETTER;
    int verdict =
        read_rank_k(g, dt, exchanged_choice(which, rows), exchanged_choice(read_cblas_trans(trans), rows),
                    read_slot(n, wide), read_slot(k, wide), a, read_slot(lda, wide), c, read_slot(ldc, wide));
    set_scalars(g, alpha, beta);
    return verdict;
}

READER read_cblas_symm(lac_gemm_args_t *g, lac_dt_t dt, bool wide, CBLAS_SYMM_PARAMS(void, const void *))
{
    bool rows = order == CBLAS_ROW_MAJOR, known = rows || order == CBLAS_COL_MAJOR;
    int left = known ? read_cblas_choice(side, CBLAS_LEFT, CBLAS_RIGHT) : BAD_LETTER;
    int which = read_cblas_choice(uplo, CBLAS_UPPER, CBLAS_LOWER);
    int verdict = read_symmetric(g, dt, exchanged_choice(left, rows), exchanged_choice(which, rows),
                                 read_slot(rows ? n : m, wide), read_slot(rows ? m : n, wide), a,
                                 read_slot(lda, wide), b, read_slot(ldb, wide), c, read_slot(ldc, wide));
    set_scalars(g, alpha, beta);
    return verdict;
}

#endif

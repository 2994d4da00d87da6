/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Problem strings: one line of text that says everything needed to repeat one GEMM or GEMV call.
 *
 *     sgemm:NT:10x5000x5000:A=bern0.001:s7
 *
 *     problem := "sgemm:" ta tb ":" m "x" k "x" n { ":" field }      also "dgemm:", of doubles, "hgemm:", of
 *                                                                    f16, and "bgemm:", of bf16
 *              | "sgemv:" ta    ":" m "x" k       { ":" field }      also "dgemv:"; B is the vector x[k], C
 * is y[m] ta, tb  := "N" | "T" field   := "A=" pattern | "B=" pattern | "C=" pattern         default dense/u
 *              | "dtA=" type | "dtB=" type                          that of the operation | u8
 *              | "dtC=" type                                        that of the operation | f32, of f16 or
 * bf16 | "lay=" layout | "layA=" layout | "layB=" layout | "layC=" layout    default row | "metaA=" meta |
 * "metaB=" meta                      none (default) | density | csr | csc | bits | active | ell | "frozenA="
 * flag | "frozenB=" flag                  0 (default) | 1 | "onlyA=" flag | "onlyB=" flag 1: no dense buffer,
 * the metadata alone | "alpha=" number | "beta=" number                   defaults 1 and 0 | "s" seed default
 * s1 pattern := structure [ "/" values ] structure := "dense" | "zero" | "bern" d | "block" h "x" w "-" d |
 * "row" d | "col" d | "band" d | "power" d | "fan" d values  := "u" | "p" | "e8" | "e30" | "1" | "i" | "x" |
 * "o"   default u layout  := ( "row" | "col" ) [ "x" step ] [ "+" pad ]
 *
 * THE ORDER OF THE EXTENTS IS m x k x n: C[m, n] = alpha op(A)[m, k] op(B)[k, n] + beta C. Not BLAS's m, n,
 * k. Fields come in any order, each at most once. Structure is that of op(A) and op(B) as the product uses
 * them, but for "fan"; it, layouts and metadata speak of the matrix as it is stored.
 * docs/dev/problem_strings.md is the manual.
 */
#ifndef REF_PROBLEM_H
#define REF_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lacuna/types.h"

typedef enum ref_op {
    REF_SGEMM = 0,
    REF_SGEMV = 1,
    REF_DGEMM = 2,
    REF_DGEMV = 3,
    REF_HGEMM = 4, /* of f16 */
    REF_BGEMM = 5  /* of bf16 */
} ref_op_t;

typedef enum ref_structure {
    REF_DENSE = 0,     /* every element is a nonzero                                                 */
    REF_ZERO = 1,      /* none is: for correctness alone, never for timing                           */
    REF_BERNOULLI = 2, /* each element by itself with probability d                                  */
    REF_BLOCK = 3,     /* each h x w block by itself with probability d; a block is full or empty    */
    REF_ROW = 4,       /* each row by itself with probability d; a row is full or empty              */
    REF_COLUMN = 5,    /* each column likewise                                                       */
    REF_BAND = 6,      /* round(d n) adjacent elements in each row, around the diagonal              */
    REF_POWER = 7,     /* Bernoulli, the row of rank r with probability min(1, c / (r + 1)), mean d  */
    REF_FAN = 8        /* round(d n) elements in each row of the stored matrix: a fixed fan-out      */
} ref_structure_t;

typedef enum ref_values {
    REF_UNIFORM = 0,   /* "u": uniform in (-1, 1)                                                    */
    REF_POSITIVE = 1,  /* "p": uniform in (0, 1]                                                     */
    REF_SPREAD_8 = 2,  /* "e8": uniform in (-1, 1) times 2^e, e uniform in -8 .. 8                   */
    REF_SPREAD_30 = 3, /* "e30": likewise, e in -30 .. 30                                            */
    REF_ONES = 4,      /* "1": 1                                                                     */
    REF_INTEGER = 5,   /* "i": +-1, +-2, +-3, +-4: sums in float are exact while k < 2^20            */
    REF_SPECIAL = 6,   /* "x": "u", but one nonzero in 64 is NaN, Inf or -Inf and every second zero is -0 */
    REF_OUTLIERS = 7   /* "o": "u", but one nonzero in 256 is 2^12 times as large                    */
} ref_values_t;

typedef enum ref_meta {
    REF_META_NONE = 0,
    REF_META_DENSITY = 1,
    REF_META_CSR = 2,
    REF_META_CSC = 3,
    REF_META_BITS = 4,
    REF_META_ACTIVE = 5,
    REF_META_ELL = 6, /* of a matrix whose stored rows have as many nonzeros each: dense, zero or fan */
    REF_META_EVENT_BITS = 7, /* of a u8 operand, beside its buffer: its events as bits,             */
    REF_META_EVENT_LISTS = 8 /* as lists                                                            */
} ref_meta_t;

/* Element (i, j) of the stored m x n matrix lies, for row order, at j * step + i * ld, where
 * ld = max(1, n * step) + pad; for column order at i * step + j * ld, ld = max(1, m * step) + pad. */
typedef struct ref_layout {
    bool by_columns;
    int64_t step; /* 1 .. REF_MAX_STEP */
    int64_t pad;  /* 0 .. REF_MAX_PAD  */
} ref_layout_t;

typedef struct ref_pattern {
    ref_structure_t structure;
    ref_values_t values;
    double density;                 /* in [0, 1]; 1 for dense, 0 for zero                           */
    int64_t block_rows, block_cols; /* REF_BLOCK: 1 .. REF_MAX_BLOCK; otherwise 0                   */
} ref_pattern_t;

typedef struct ref_operand {
    lac_dt_t dt; /* that of the operation; of A and B u8 too; f32 where that is f16 or bf16  */
    ref_pattern_t pattern;
    ref_layout_t layout;
    ref_meta_t meta; /* what is told to the library of the zeros; always none for C */
    bool frozen;     /* the caller promises that the contents stay                  */
    bool only;       /* sparse only: meta stands for the operand, buf is NULL       */
} ref_operand_t;

typedef struct ref_problem {
    ref_op_t op;
    lac_trans_t trans_a, trans_b; /* sgemv: trans_b is LAC_NO_TRANS */
    lac_dim_t m, k, n;            /* sgemv: n is 1                  */
    float alpha, beta;            /* finite, also of doubles        */
    ref_operand_t a, b, c;
    uint64_t seed;
} ref_problem_t;

static inline bool ref_is_vector(const ref_problem_t *p)
{
    return p->op == REF_SGEMV || p->op == REF_DGEMV;
}

#define REF_MAX_EXTENT ((int64_t)1 << 40)
#define REF_MAX_SLOTS  ((int64_t)1 << 44) /* elements and padding of one operand */
#define REF_MAX_STEP   ((int64_t)1 << 10)
#define REF_MAX_PAD    ((int64_t)1 << 20)
#define REF_MAX_BLOCK  ((int64_t)1 << 31)

#define REF_PROBLEM_TEXT 512 /* bytes that hold any canonical string, with its NUL  */
#define REF_ERROR_TEXT   256 /* bytes that hold any error message, with its NUL     */

/* Reads a problem string. True: *problem is complete. False: *problem is unspecified and error (which may be
 * NULL) holds one line that names the field, what was expected and what was found. Any bytes up to the NUL
 * are safe input; text NULL is an error like another. Numbers are read as in the C locale. */
bool ref_problem_parse(const char *text, ref_problem_t *problem, char *error, size_t error_size);

/* Writes the canonical string: fields in one order, defaults left out, the seed always last. Returns its
 * length without the NUL, as snprintf does; size REF_PROBLEM_TEXT is enough for any problem that was parsed,
 * and parsing the string gives the same problem back. */
size_t ref_problem_print(const ref_problem_t *problem, char *text, size_t size);

/* The words of the grammar, for messages and table heads ("bern", "e8", "csr"). */
const char *ref_structure_name(ref_structure_t structure);
const char *ref_values_name(ref_values_t values);
const char *ref_meta_name(ref_meta_t meta);

/* Elements and padding of a stored rows x cols matrix, from its first element to its last; -1 when that
 * is more than REF_MAX_SLOTS. 0 for an empty matrix. */
int64_t ref_layout_slots(const ref_layout_t *layout, int64_t rows, int64_t cols);

#endif

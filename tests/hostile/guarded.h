/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Matrices in pages of their own between pages that nobody may touch, and the contents that a hostile caller
 * would choose. */
#ifndef TESTS_HOSTILE_GUARDED_H
#define TESTS_HOSTILE_GUARDED_H

#include "ref_matrix.h"

#include <stdbool.h>
#include <stdint.h>

/* Numbers that depend on the seed alone. */
typedef struct draw {
    uint64_t stream, index;
} draw_t;

uint64_t draw_below(draw_t *draw, uint64_t limit);
/* True once in `in` times. */
bool draw_once(draw_t *draw, uint64_t in);

/* An f32 matrix as the product reads it, op(X). Its first or its last element touches a forbidden page; what
 * is left of its pages and what lies between its elements is poison. */
typedef struct guarded {
    ref_matrix_t view;
    unsigned char *map;
    size_t bytes; /* of its own pages */
} guarded_t;

/* Any layout: by rows or columns, with gaps, in either direction. False: no memory. */
bool guarded_make(guarded_t *x, int64_t rows, int64_t cols, draw_t *draw);
void guarded_free(guarded_t *x);

/* As a call takes it: as it is, or as the transpose of what is stored. */
lac_obj_t guarded_obj(const guarded_t *x, bool transposed);

/* Whether everything but the elements is as it was made. */
bool guarded_intact(const guarded_t *x);

/* After this every write to it ends the process; and until the other. */
void guarded_lock(guarded_t *x);
void guarded_unlock(guarded_t *x);

typedef enum contents {
    CONTENTS_SPARSE,     /* each element by itself, `density` of them                              */
    CONTENTS_FULL,       /* no zero                                                                */
    CONTENTS_EMPTY,      /* nothing else                                                           */
    CONTENTS_ONE_ROW,    /* full, the others empty                                                 */
    CONTENTS_ONE_COLUMN, /* likewise                                                               */
    CONTENTS_SAMPLED,    /* full where the library's samples of call `call` fall, empty elsewhere  */
    CONTENTS_UNSAMPLED,  /* the other way round                                                    */
    CONTENTS_COUNT
} contents_t;

extern const char *const contents_name[CONTENTS_COUNT];

void guarded_fill(guarded_t *x, contents_t contents, double density, uint64_t call, draw_t *draw);

#endif

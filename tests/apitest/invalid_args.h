/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Public calls with all their arguments in one place, so that one of them can be spoiled. */
#ifndef TOOL_INVALID_ARGS_H
#define TOOL_INVALID_ARGS_H

#include "apitest_call.h"

typedef enum bad_entry {
    BAD_GEMM,
    BAD_EXPLAIN,
    BAD_PLAN,
    BAD_BATCHED,
    BAD_LAYER,
    BAD_SDDMM,
    BAD_GRAD_A,
    BAD_GRAD_B,
    BAD_TO_DENSE,
    BAD_SLICE,
    BAD_COUNT,
    BAD_OCCUPANCY,
    BAD_DERIVE,
    BAD_REGISTER,
    BAD_SCAN,
    BAD_ENTRIES
} bad_entry_t;

/* The arguments of one of them: right ones, as invalid_args_make leaves them. */
typedef struct invalid_args {
    bad_entry_t entry;
    lac_ctx_t *ctx;
    int operands;           /* of this call, 1 to 3                                  */
    const char *name[3];    /* as the call names them                                */
    lac_obj_t x[3];         /* the last of three, and of two, is that which is written */
    const lac_obj_t *at[3]; /* x, or NULL                                            */
    const float *alpha, *beta;
    lac_call_opts_t call;
    lac_epilogue_t epilogue;
    lac_slice_opts_t slice;
    lac_decision_t decision, *decision_at;
    lac_dim_t count, tile_rows, tile_cols;
    lac_inc_t stride_a, stride_c;
    lac_index_t it;
    unsigned what;
    bool listed, written;           /* false: NULL for the rows, or for what is written      */
    guarded_matrix_t out;           /* what the call would write, where that is not C        */
    guarded_buffer_t list, scratch; /* rows of a slice; counts and bits                      */
    lac_meta_t *other;              /* metadata of another shape                             */
    lac_plan_t *plan;
} invalid_args_t;

/* The name of the entry point. */
const char *bad_entry_name(bad_entry_t entry);

/* Right arguments for that call on A and B of the trial, C and scratch for what it writes. To be freed also
 * where an error is returned. */
lac_status_t invalid_args_make(invalid_args_t *b, bad_entry_t entry, apitest_t *t);
lac_status_t invalid_args_run(invalid_args_t *b);

/* Whether nothing but C was written; of C the caller knows. Fetches. */
bool invalid_args_untouched(invalid_args_t *b, const apitest_t *t);
void invalid_args_free(invalid_args_t *b);

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bad input tried: public calls with all their arguments in one struct, so that one of them can be spoiled.
 */
#include "call.h"

#include <string.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

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
    const void *alpha, *beta;
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

/* Public calls with all their arguments in one struct. */

enum { ROWS = 2, SCRATCH = 64 }; /* of a slice; bytes, which no call comes to write */

static const struct {
    const char *entry;
    int operands;
    const char *name[3];
} calls[BAD_ENTRIES] = {
    [BAD_GEMM] = {"lac_gemm_ex", 3, {"a", "b", "c"}},
    [BAD_EXPLAIN] = {"lac_explain", 3, {"a", "b", "c"}},
    [BAD_PLAN] = {"lac_plan_create", 3, {"a", "b", "c"}},
    [BAD_BATCHED] = {"lac_gemm_batched", 3, {"a", "b", "c"}},
    [BAD_LAYER] = {"lac_gemm_epilogue", 3, {"a", "b", "c"}},
    [BAD_SDDMM] = {"lac_sddmm", 3, {"a", "b", "pattern"}},
    [BAD_GRAD_A] = {"lac_gemm_grad_a", 3, {"grad_c", "b", "grad_a"}},
    [BAD_GRAD_B] = {"lac_gemm_grad_b", 3, {"a", "grad_c", "grad_b"}},
    [BAD_TO_DENSE] = {"lac_to_dense", 2, {"a", "out"}},
    [BAD_SLICE] = {"lac_slice_rows", 2, {"a", "out"}},
    [BAD_COUNT] = {"lac_count_nonzeros", 1, {"a"}},
    [BAD_OCCUPANCY] = {"lac_tile_occupancy", 1, {"a"}},
    [BAD_DERIVE] = {"lac_meta_convert", 1, {"obj"}},
    [BAD_REGISTER] = {"lac_register", 1, {"obj"}},
    [BAD_SCAN] = {"lac_meta_scan", 1, {"obj"}},
};

/* The name of the entry point. */
static const char *bad_entry_name(bad_entry_t entry)
{
    return calls[entry].entry;
}

/* What is written beside C, shaped as the call wants it and transposed as the operand that it stands for. */
static lac_status_t make_output(invalid_args_t *b, const apitest_t *t, const lac_obj_t *a)
{
    const ref_layout_t rows = {.step = 1};
    const ref_problem_t *p = &t->set->problem;
    bool transposed = a->trans == LAC_TRANS;
    int64_t m = a->m, n = a->n;
    lac_trans_t trans = b->entry == BAD_GRAD_A   ? p->trans_a
                        : b->entry == BAD_GRAD_B ? p->trans_b
                                                 : LAC_NO_TRANS;
    if (b->entry == BAD_GRAD_B) m = t->set->b.m, n = t->set->b.n;
    if (b->entry == BAD_TO_DENSE && transposed) m = a->n, n = a->m;
    if (b->entry == BAD_SLICE) m = ROWS, n = transposed ? a->m : a->n;
    lac_status_t status = guarded_matrix_make(&b->out, t->ctx, apitest_type(t), m, n, &rows, NULL, 0);
    b->out.obj.trans = trans;
    return status;
}

static void choose_operands(invalid_args_t *b, const apitest_t *t, const lac_obj_t *one)
{
    const operand_set_t *set = t->set;
    b->x[0] = b->operands == 3 ? set->a : *one;
    b->x[1] = b->operands == 3 ? set->b : b->out.obj;
    b->x[2] = set->c;
    if (b->entry == BAD_GRAD_A) b->x[0] = set->c, b->x[2] = b->out.obj;
    if (b->entry == BAD_GRAD_B) b->x[1] = set->c, b->x[2] = b->out.obj;
    for (int q = 0; q < b->operands; q++) {
        b->at[q] = &b->x[q];
        b->name[q] = calls[b->entry].name[q];
    }
}

/* Right arguments for that call on A and B of the trial, C and scratch for what it writes. To be freed also
 * where an error is returned. */
static lac_status_t invalid_args_make(invalid_args_t *b, bad_entry_t entry, apitest_t *t)
{
    static const int64_t rows[ROWS] = {0, 0};
    lac_obj_t one = calls[entry].operands == 3 ? t->set->a : apitest_operand(t).obj;
    *b = (invalid_args_t){.entry = entry,
                          .ctx = t->ctx,
                          .operands = calls[entry].operands,
                          .alpha = operand_set_alpha(t->set),
                          .beta = operand_set_beta(t->set),
                          .call.size = sizeof b->call,
                          .epilogue.size = sizeof b->epilogue,
                          .slice.size = sizeof b->slice,
                          .decision_at = &b->decision,
                          .count = entry == BAD_SLICE ? ROWS : 1,
                          .tile_rows = 8,
                          .tile_cols = 8,
                          .it = LAC_I64,
                          .what = LAC_META_CSR,
                          .listed = true,
                          .written = true};
    lac_status_t status = make_output(b, t, &one);
    if (status == LAC_OK) status = guarded_buffer_make(&b->list, t->ctx, sizeof rows, rows);
    if (status == LAC_OK) status = guarded_buffer_make(&b->scratch, t->ctx, SCRATCH, NULL);
    choose_operands(b, t, &one);
    return status;
}

static lac_status_t run_one(invalid_args_t *b)
{
    void *scratch = b->written ? guarded_buffer_at(&b->scratch) : NULL;
    const void *rows = b->listed ? guarded_buffer_at(&b->list) : NULL;
    switch (b->entry) {
    case BAD_TO_DENSE:
        return lac_to_dense(b->ctx, b->at[0], b->at[1]);
    case BAD_SLICE:
        return lac_slice_rows(b->ctx, b->at[0], b->it, b->count, rows, b->at[1], &b->slice);
    case BAD_COUNT:
        return lac_count_nonzeros(b->ctx, b->at[0], scratch);
    case BAD_OCCUPANCY:
        return lac_tile_occupancy(b->ctx, b->at[0], b->tile_rows, b->tile_cols, scratch, NULL);
    case BAD_DERIVE:
        return lac_meta_convert(b->ctx, b->at[0], b->what);
    case BAD_REGISTER:
        return lac_register(b->ctx, b->at[0]);
    default:
        return lac_meta_scan(b->ctx, b->at[0], b->what);
    }
}

static lac_status_t invalid_args_run(invalid_args_t *b)
{
    void *values = guarded_buffer_at(&b->scratch);
    switch (b->entry) {
    case BAD_GEMM:
        return lac_gemm_ex(b->ctx, b->alpha, b->at[0], b->at[1], b->beta, b->at[2], &b->call);
    case BAD_EXPLAIN:
        return lac_explain(b->ctx, b->alpha, b->at[0], b->at[1], b->beta, b->at[2], &b->call, b->decision_at);
    case BAD_PLAN:
        return lac_plan_create(b->ctx, &b->plan, b->at[0], b->at[1], b->at[2], &b->call);
    case BAD_BATCHED:
        return lac_gemm_batched(b->ctx, b->count, b->alpha, b->at[0], b->stride_a, b->at[1], 0, b->beta,
                                b->at[2], b->stride_c);
    case BAD_LAYER:
        return lac_gemm_epilogue(b->ctx, b->alpha, b->at[0], b->at[1], b->beta, b->at[2], &b->epilogue,
                                 &b->call);
    case BAD_SDDMM:
        return lac_sddmm(b->ctx, b->alpha, b->at[0], b->at[1], b->beta, b->at[2], values);
    case BAD_GRAD_A:
        return lac_gemm_grad_a(b->ctx, b->alpha, b->at[0], b->at[1], b->beta, b->at[2], NULL);
    case BAD_GRAD_B:
        return lac_gemm_grad_b(b->ctx, b->alpha, b->at[0], b->at[1], b->beta, b->at[2], NULL);
    default:
        return run_one(b);
    }
}

/* Whether nothing but C was written; of C the caller knows. Fetches. */
static bool invalid_args_untouched(invalid_args_t *b, const apitest_t *t)
{
    apitest_fetch_array(t, &b->scratch);
    apitest_fetch_matrix(t, &b->out);
    for (int64_t i = 0; i < b->out.host.m; i++)
        for (int64_t j = 0; j < b->out.host.n; j++) {
            size_t size = lac_dt_size(b->out.host.dt);
            const char *first = b->out.host.data,
                       *at = first + (size_t)(i * b->out.host.rs + j * b->out.host.cs) * size;
            const uint32_t poison = REF_POISON_F32_BITS;
            const uint64_t wide = REF_POISON_F64_BITS;
            if (memcmp(at, size == sizeof wide ? (const void *)&wide : &poison, size) != 0) return false;
        }
    return guarded_buffer_untouched(&b->scratch) && ref_matrix_padding_intact(&b->out.host, NULL);
}

static void invalid_args_free(invalid_args_t *b)
{
    lac_meta_free(b->other);
    lac_plan_free(b->plan);
    guarded_matrix_free(&b->out);
    guarded_buffer_free(&b->list);
    guarded_buffer_free(&b->scratch);
}

/* Bad input tried: one argument of a call is spoiled, and the call must be refused with a message that names
 * it, and have written nothing. */

/* What a spoiled call must return, and the argument that its message begins with; "" where more than one of
 * its operands may be named. */
typedef struct fault {
    lac_status_t status;
    const char *argument;
} fault_t;

static bool bad(fault_t *fault, lac_status_t status, const char *argument)
{
    *fault = (fault_t){status, argument};
    return true;
}

static bool has_elements(const lac_obj_t *x)
{
    return x->m > 0 && x->n > 0;
}

static bool is_product(const invalid_args_t *b)
{
    return b->operands == 3;
}

static bool is_written(const invalid_args_t *b, int q)
{
    return b->operands > 1 && q == b->operands - 1 && b->entry != BAD_SDDMM;
}

enum {
    ABSENT,
    NO_TYPE,
    NO_TRANS,
    NO_SPACE,
    NEGATIVE,
    OVERLAPPING,
    ENDLESS,
    EMPTY,
    OTHER_METADATA,
    OTHER_EXTENT,
    ALIASED,
    OPERAND_FAULTS
};

/* Metadata of one row more. */
static bool corrupt_metadata(fault_t *fault, invalid_args_t *b, int q)
{
    lac_obj_t *x = &b->x[q];
    if (lac_meta_create(&b->other, x->m + 1, x->n) != LAC_OK) return false;
    x->meta = b->other;
    return bad(fault, LAC_ERR_EXTENT, b->name[q]);
}

/* False where this fault would be none: of an operand without elements, or in a call that has one operand. */
static bool corrupt_operand(fault_t *fault, invalid_args_t *b, int q, uint64_t kind)
{
    lac_obj_t *x = &b->x[q];
    const char *name = b->name[q];
    bool stored = x->buf && has_elements(x);
    switch (kind) {
    case ABSENT:
        b->at[q] = NULL;
        return bad(fault, LAC_ERR_NULL, name);
    case NO_TYPE:
        x->dt = (lac_dt_t)9;
        return bad(fault, LAC_ERR_TYPE, name);
    case NO_TRANS:
        x->trans = (lac_trans_t)7;
        return bad(fault, LAC_ERR_VALUE, name);
    case NO_SPACE:
        x->space = x->space == LAC_HOST ? LAC_DEVICE : LAC_HOST;
        return bad(fault, LAC_ERR_SPACE, name);
    case NEGATIVE:
        x->n = -1 - x->n;
        return bad(fault, LAC_ERR_EXTENT, name);
    case OVERLAPPING:
        x->rs = x->cs = 0;
        return stored && x->m * x->n > 1 && bad(fault, LAC_ERR_STRIDE, name);
    case ENDLESS:
        x->rs = INT64_MAX / 2;
        return stored && x->m > 1 && bad(fault, LAC_ERR_EXTENT, name);
    case EMPTY:
        x->buf = NULL;
        x->meta = NULL;
        return has_elements(x) && b->entry != BAD_SCAN &&
               bad(fault, is_written(b, q) ? LAC_ERR_NULL : LAC_ERR_EMPTY, name);
    case OTHER_METADATA:
        return corrupt_metadata(fault, b, q);
    case OTHER_EXTENT:
        x->m--;
        return x->m >= 0 && !x->meta && is_product(b) && bad(fault, LAC_ERR_EXTENT, "");
    default:
        if (!is_written(b, q) || b->entry == BAD_SLICE || !stored || !b->x[0].buf || !has_elements(&b->x[0]))
            return false;
        x->buf = b->x[0].buf;
        return bad(fault, LAC_ERR_ALIAS, name);
    }
}

static bool corrupt_settings(fault_t *fault, lac_call_opts_t *call, uint64_t kind)
{
    switch (kind % 3) {
    case 0:
        call->size = 1;
        break;
    case 1:
        call->route = "nonsense";
        break;
    default:
        call->scalars = (lac_space_t)5;
    }
    return bad(fault, LAC_ERR_VALUE, "call");
}

static bool corrupt_epilogue(fault_t *fault, invalid_args_t *b, uint64_t kind)
{
    lac_epilogue_t *e = &b->epilogue;
    switch (kind % 5) {
    case 0:
        e->size = 3;
        break;
    case 1:
        e->act = (lac_act_t)17;
        break;
    case 2:
        e->act = LAC_ACT_THRESHOLD;
        e->threshold = NAN;
        break;
    case 3:
        e->formats = 0x400;
        break;
    default:
        e->formats = LAC_META_CSR;
        return !b->x[2].meta && bad(fault, LAC_ERR_NULL, "c");
    }
    return bad(fault, LAC_ERR_VALUE, "epilogue");
}

static bool corrupt_batch(fault_t *fault, invalid_args_t *b, uint64_t kind)
{
    if (kind % 3 == 0) {
        b->count = -1;
        return bad(fault, LAC_ERR_EXTENT, "count");
    }
    b->count = 3;
    b->stride_c = b->x[2].m * b->x[2].n; /* checked after that of A */
    if (kind % 3 == 1) {
        b->stride_a = INT64_MAX;
        return bad(fault, LAC_ERR_EXTENT, "stride_a");
    }
    b->stride_c = 0;
    return has_elements(&b->x[2]) && bad(fault, LAC_ERR_STRIDE, "stride_c");
}

static bool corrupt_slice(fault_t *fault, invalid_args_t *b, uint64_t kind)
{
    switch (kind % 4) {
    case 0:
        b->count = -1 - b->count;
        return bad(fault, LAC_ERR_EXTENT, "count");
    case 1:
        b->it = (lac_index_t)9;
        return bad(fault, LAC_ERR_TYPE, "it");
    case 2:
        b->listed = false;
        return bad(fault, LAC_ERR_NULL, "rows");
    default:
        b->slice.size = 1;
        return bad(fault, LAC_ERR_VALUE, "options");
    }
}

static bool corrupt_tiles(fault_t *fault, invalid_args_t *b, uint64_t kind)
{
    if (kind % 3 == 0) {
        b->tile_rows = 0;
        return bad(fault, LAC_ERR_VALUE, "tile_rows");
    }
    if (kind % 3 == 1) {
        b->tile_cols = INT64_MIN;
        return bad(fault, LAC_ERR_VALUE, "tile_cols");
    }
    b->written = false;
    return bad(fault, LAC_ERR_NULL, "bits");
}

/* An argument that is no operand. False: the call has none, or it would be no fault. */
static bool corrupt_other(fault_t *fault, invalid_args_t *b, uint64_t kind)
{
    switch (b->entry) {
    case BAD_EXPLAIN:
        if (kind % 4 != 3) return corrupt_settings(fault, &b->call, kind);
        b->decision_at = NULL;
        return bad(fault, LAC_ERR_NULL, "decision");
    case BAD_GEMM:
    case BAD_PLAN:
        return corrupt_settings(fault, &b->call, kind);
    case BAD_LAYER:
        return kind % 2 ? corrupt_settings(fault, &b->call, kind / 2) : corrupt_epilogue(fault, b, kind / 2);
    case BAD_BATCHED:
        return corrupt_batch(fault, b, kind);
    case BAD_SLICE:
        return corrupt_slice(fault, b, kind);
    case BAD_OCCUPANCY:
        return corrupt_tiles(fault, b, kind);
    case BAD_COUNT:
        b->written = false;
        return bad(fault, LAC_ERR_NULL, "count");
    case BAD_DERIVE:
    case BAD_SCAN:
        b->what = kind % 2 ? 0x40 : 0;
        return b->x[0].meta && bad(fault, LAC_ERR_VALUE, "what");
    default:
        return false;
    }
}

static bool corrupt(fault_t *fault, invalid_args_t *b, rng_t *rng)
{
    uint64_t where = rng_below(rng, 8), kind = rng_below(rng, 60);
    if (b->entry == BAD_SCAN && !(b->x[0].meta && b->x[0].buf)) return false;
    if (where == 0) {
        b->ctx = NULL;
        return bad(fault, LAC_ERR_NULL, "ctx");
    }
    if (where < 3) return corrupt_other(fault, b, kind);
    return corrupt_operand(fault, b, (int)rng_below(rng, (uint64_t)b->operands), kind % OPERAND_FAULTS);
}

/* One of the operands is named. */
static apitest_end_t expect_any(apitest_t *t, lac_status_t status, const fault_t *fault,
                                const invalid_args_t *b)
{
    apitest_end_t end = APITEST_FAILED;
    for (int q = 0; q < b->operands && end == APITEST_FAILED; q++)
        end = apitest_expect(t, status, fault->status, b->name[q]);
    return end;
}

static bool same_bytes(const ref_matrix_t *x, const ref_matrix_t *y)
{
    return memcmp(x->base, y->base, (size_t)(x->slots + 2 * x->guard) * lac_dt_size(x->dt)) == 0;
}

static apitest_end_t try_call(apitest_t *t, invalid_args_t *b, const fault_t *fault)
{
    operand_set_t *set = t->set;
    lac_status_t status = operand_set_reset(set), returned = LAC_OK;
    if (status == LAC_OK) returned = apitest_call(t, invalid_args_run(b));
    apitest_end_t end = *fault->argument ? apitest_expect(t, returned, fault->status, fault->argument)
                                         : expect_any(t, returned, fault, b);
    if (end == APITEST_FAILED) {
        char why[APITEST_WHY];
        snprintf(why, sizeof why, "%s", t->why);
        return apitest_fail(t, "%s: %.400s", bad_entry_name(b->entry), why);
    }
    t->why[0] = '\0';
    if (status == LAC_OK) status = apitest_fetch_c(t);
    if (status != LAC_OK) return apitest_stop(t, status, "after a refused call");
    if (end == APITEST_PASSED &&
        (!same_bytes(&set->data.c, &set->c_before) || !invalid_args_untouched(b, t) || b->plan))
        return apitest_fail(t, "%s refused %s and has written", bad_entry_name(b->entry), fault->argument);
    return end;
}

/* A few calls, each with one fault; what turns out to be none is left out. */
apitest_end_t apitest_bad_input(apitest_t *t)
{
    apitest_end_t end = APITEST_PASSED;
    for (int i = 0; i < 6 && end == APITEST_PASSED; i++) {
        invalid_args_t b;
        fault_t fault;
        lac_status_t status = invalid_args_make(&b, (bad_entry_t)rng_below(&t->rng, BAD_ENTRIES), t);
        if (status != LAC_OK)
            end = apitest_stop(t, status, "arguments");
        else if (corrupt(&fault, &b, &t->rng))
            end = try_call(t, &b, &fault);
        if (end == APITEST_REFUSED) end = APITEST_PASSED; /* the backend has no such call */
        invalid_args_free(&b);
    }
    return end;
}

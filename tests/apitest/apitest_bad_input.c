/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bad input tried: one argument of a call is spoiled, and the call must be refused with a message that names
 * it, and have written nothing. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "invalid_args.h"

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
    b->stride_c = b->x[2].m * b->x[2].n; /* looked at after that of A */
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
    return memcmp(x->base, y->base, (size_t)(x->slots + 2 * x->guard) * sizeof(float)) == 0;
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

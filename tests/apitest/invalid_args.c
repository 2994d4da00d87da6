/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Public calls with all their arguments in one place. */
#include "invalid_args.h"

#include <string.h>

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

const char *bad_entry_name(bad_entry_t entry)
{
    return calls[entry].entry;
}

/* What is written beside C, shaped as the call wants it and turned as the operand that it stands for. */
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
    lac_status_t status = guarded_matrix_make(&b->out, t->ctx, m, n, &rows, NULL, 0);
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

lac_status_t invalid_args_make(invalid_args_t *b, bad_entry_t entry, apitest_t *t)
{
    static const int64_t rows[ROWS] = {0, 0};
    const ref_problem_t *p = &t->set->problem;
    lac_obj_t one = calls[entry].operands == 3 ? t->set->a : apitest_operand(t).obj;
    *b = (invalid_args_t){.entry = entry,
                          .ctx = t->ctx,
                          .operands = calls[entry].operands,
                          .alpha = &p->alpha,
                          .beta = &p->beta,
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

lac_status_t invalid_args_run(invalid_args_t *b)
{
    float *values = guarded_buffer_at(&b->scratch);
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

bool invalid_args_untouched(invalid_args_t *b, const apitest_t *t)
{
    apitest_fetch_array(t, &b->scratch);
    apitest_fetch_matrix(t, &b->out);
    for (int64_t i = 0; i < b->out.host.m; i++)
        for (int64_t j = 0; j < b->out.host.n; j++) {
            float x = ref_matrix_at(&b->out.host, i, j);
            const uint32_t poison = REF_POISON_F32_BITS;
            if (memcmp(&x, &poison, sizeof x) != 0) return false;
        }
    return guarded_buffer_untouched(&b->scratch) && ref_matrix_padding_intact(&b->out.host, NULL);
}

void invalid_args_free(invalid_args_t *b)
{
    lac_meta_free(b->other);
    lac_plan_free(b->plan);
    guarded_matrix_free(&b->out);
    guarded_buffer_free(&b->list);
    guarded_buffer_free(&b->scratch);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The products of the drop-in libraries tried, which are computed or declined: with operands that are
 * registered, and so known by their address alone; and with the CSR arrays of somebody else. */
#include <stdlib.h>

#include "index_list.h"
#include "trial.h"

enum { CALLS = 3 }; /* a site learns between them */

/* Small products are declined unless a backend is forced: mostly one is. */
static void force(const trial_t *t, dice_t *dice)
{
    static const char *const backend[] = {"event", "csr", "bitmask", "plain"};
    if (t->may_force && dice_below(dice, 4) != 0)
        lac_ctx_set(t->ctx, "backend", backend[dice_below(dice, 4)]);
}

static void unforce(const trial_t *t)
{
    if (t->may_force) lac_ctx_set(t->ctx, "backend", "auto");
}

/* A matrix as column-major BLAS takes it: stored by columns, or the transpose of one that is. */
typedef struct column {
    lac_trans_t trans;
    lac_inc_t ld;
} column_t;

/* False where it is none: no stride is 1, or it is none of BLAS's own leading dimensions. */
static bool as_columns(const lac_obj_t *x, column_t *out)
{
    bool by_columns = x->rs == 1 && x->cs >= x->m;
    if (!by_columns && !(x->cs == 1 && x->rs >= x->n)) return false;
    bool turned = (x->trans == LAC_TRANS) == by_columns;
    *out = (column_t){turned ? LAC_TRANS : LAC_NO_TRANS, by_columns ? x->cs : x->rs};
    return true;
}

static bool is_bare(const lac_obj_t *x)
{
    return x->dt == LAC_F32 && x->buf && x->m > 0 && x->n > 0;
}

static lac_trans_t flipped(lac_trans_t trans)
{
    return trans == LAC_TRANS ? LAC_NO_TRANS : LAC_TRANS;
}

/* 1 where C was computed, 0 where the call was declined; a C that is stored by rows is computed as C'. */
static int call(const trial_t *t, const column_t *a, const column_t *b, const column_t *c)
{
    const operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    if (c->trans == LAC_NO_TRANS)
        return lac_sgemm_or_decline(t->ctx, a->trans, b->trans, p->m, p->n, p->k, p->alpha, set->a.buf, a->ld,
                                    set->b.buf, b->ld, p->beta, set->c.buf, c->ld, "trial", NULL);
    return lac_sgemm_or_decline(t->ctx, flipped(b->trans), flipped(a->trans), p->n, p->m, p->k, p->alpha,
                                set->b.buf, b->ld, set->a.buf, a->ld, p->beta, set->c.buf, c->ld, "trial",
                                NULL);
}

/* C computed within the bound, or untouched. */
static trial_end_t judge_call(trial_t *t, lac_status_t status, int computed)
{
    operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    ref_matrix_t a = ref_matrix_op(&set->data.a, p->trans_a), b = ref_matrix_op(&set->data.b, p->trans_b);
    if (!computed) lac_forwarded(t->ctx);
    status = trial_call(t, status);
    if (status == LAC_OK) status = trial_fetch_c(t);
    if (status != LAC_OK) return trial_stop(t, status, "the product");
    trial_end_t end = trial_padding(t, &set->data.c, "c");
    if (end != TRIAL_PASSED) return end;
    if (computed) return trial_product(t, &set->data.c, &a, &b, &set->c_before);
    return ref_matrix_checksum(&set->data.c) == ref_matrix_checksum(&set->c_before)
               ? TRIAL_PASSED
               : trial_fail(t, "the call was declined and has written");
}

static trial_end_t try_products(trial_t *t)
{
    operand_set_t *set = t->set;
    column_t a, b, c;
    if (!as_columns(&set->a, &a) || !as_columns(&set->b, &b) || !as_columns(&set->c, &c))
        return trial_refuse(t, "BLAS has no such layout");
    trial_end_t end = TRIAL_PASSED;
    force(t, &t->dice);
    for (int i = 0; end == TRIAL_PASSED && i < CALLS; i++) {
        lac_status_t status = operand_set_reset(set);
        int computed = status == LAC_OK ? call(t, &a, &b, &c) : 0;
        end = judge_call(t, status, computed);
    }
    unforce(t);
    return end;
}

/* Registers the operand, or says why that is refused as it must be. True: it is registered. */
static bool registered(trial_t *t, const lac_obj_t *x, const ref_operand_t *said, trial_end_t *end)
{
    static const unsigned form[] = {LAC_META_CSR, LAC_META_CSC, LAC_META_BITMASK, LAC_META_ACTIVE};
    bool stands = said->frozen;
    for (int i = 0; i < 4; i++) stands |= trial_stands(x, form[i]);
    lac_status_t status = trial_call(t, lac_register(t->ctx, x));
    if (!x->meta)
        *end = trial_expect(t, status, LAC_ERR_NULL, "obj");
    else if (!stands)
        *end = trial_expect(t, status, LAC_ERR_VALUE, "obj");
    else if (status != LAC_OK)
        *end = trial_stop(t, status, "lac_register");
    return status == LAC_OK;
}

trial_end_t trial_register(trial_t *t)
{
    operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    if (!is_bare(&set->a) || !is_bare(&set->b) || !is_bare(&set->c))
        return trial_refuse(t, "only f32 matrices with elements are registered");
    trial_end_t end = TRIAL_PASSED;
    bool has_a = registered(t, &set->a, &p->a, &end), has_b = false;
    if (end == TRIAL_PASSED) has_b = registered(t, &set->b, &p->b, &end);
    if (end == TRIAL_PASSED && has_a && lac_register(t->ctx, &set->a) != LAC_ERR_ALIAS)
        end = trial_fail(t, "one address was registered twice");
    if (end == TRIAL_PASSED && (has_a || has_b)) end = try_products(t);
    if (has_a && lac_unregister(set->a.buf) != LAC_OK)
        end = trial_stop(t, LAC_ERR_INTERNAL, "lac_unregister");
    if (has_b && lac_unregister(set->b.buf) != LAC_OK)
        end = trial_stop(t, LAC_ERR_INTERNAL, "lac_unregister");
    if (end != TRIAL_PASSED) return end;
    if (!has_a && !has_b) return trial_refuse(t, "%s", t->message);
    const void *buf = has_a ? set->a.buf : set->b.buf;
    return trial_expect(t, trial_call(t, lac_unregister(buf)), LAC_ERR_VALUE, "buf");
}

/* The arrays of a CSR matrix as others have them: the entries of a row in any order, some of them in two
 * halves. */
typedef struct loose {
    lac_spmm_t call;
    placed_array_t ptr, idx, val;
} loose_t;

/* Each row of form: its entries, of which about one in four is halved, shuffled. */
static int64_t loosen(dice_t *dice, const ref_compressed_t *form, const loose_t *to, void *ptr, void *idx,
                      float *val)
{
    int64_t at = 0;
    for (int64_t i = 0; i < form->lines; i++) {
        int64_t begin = at;
        index_store(ptr, to->call.ptr_type, i, at);
        for (int64_t e = form->ptr[i]; e < form->ptr[i + 1]; e++) {
            int halves = dice_below(dice, 4) == 0 ? 2 : 1;
            for (int h = 0; h < halves; h++, at++) {
                int64_t place = begin + (int64_t)dice_below(dice, (uint64_t)(at - begin) + 1);
                index_store(idx, to->call.idx_type, at, index_load(idx, to->call.idx_type, place));
                val[at] = val[place];
                index_store(idx, to->call.idx_type, place, form->idx[e]);
                val[place] = form->val[e] / (float)halves;
            }
        }
    }
    index_store(ptr, to->call.ptr_type, form->lines, at);
    return at;
}

static lac_status_t place_loose(trial_t *t, loose_t *x, const ref_compressed_t *form)
{
    size_t most = 2 * (size_t)form->nnz + 1;
    x->call.ptr_type = dice_below(&t->dice, 2) == 0 ? LAC_I32 : LAC_I64;
    x->call.idx_type = dice_below(&t->dice, 2) == 0 ? LAC_I32 : LAC_I64;
    void *ptr = calloc((size_t)form->lines + 1, index_width(x->call.ptr_type)),
         *idx = calloc(most, index_width(x->call.idx_type));
    float *val = calloc(most, sizeof *val);
    lac_status_t status = ptr && idx && val ? LAC_OK : LAC_ERR_MEMORY;
    if (status == LAC_OK) x->call.nnz = loosen(&t->dice, form, x, ptr, idx, val);
    size_t nnz = (size_t)x->call.nnz;
    if (status == LAC_OK)
        status = placed_array_make(&x->ptr, t->ctx, ((size_t)form->lines + 1) * index_width(x->call.ptr_type),
                                   ptr);
    if (status == LAC_OK)
        status = placed_array_make(&x->idx, t->ctx, nnz * index_width(x->call.idx_type), idx);
    if (status == LAC_OK) status = placed_array_make(&x->val, t->ctx, nnz * sizeof *val, val);
    free(ptr);
    free(idx);
    free(val);
    return status;
}

static void describe_loose(const trial_t *t, loose_t *x)
{
    const operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    bool turned = p->trans_b == LAC_TRANS;
    x->call.m = p->m, x->call.n = p->n, x->call.k = p->k;
    x->call.trans = p->trans_a;
    x->call.ptr = placed_array_at(&x->ptr);
    x->call.idx = placed_array_at(&x->idx);
    x->call.val = placed_array_at(&x->val);
    x->call.b = set->b.buf;
    x->call.rsb = turned ? set->b.cs : set->b.rs;
    x->call.csb = turned ? set->b.rs : set->b.cs;
    x->call.c = set->c.buf;
    x->call.rsc = set->c.rs;
    x->call.csc = set->c.cs;
    x->call.alpha = &p->alpha;
    x->call.beta = &p->beta;
}

/* The sums have up to twice as many terms as k, which is within their bound: halves are exact. */
trial_end_t trial_spmm(trial_t *t)
{
    operand_set_t *set = t->set;
    const lac_obj_t *b = &set->b;
    loose_t x = {0};
    ref_compressed_t form;
    if (!is_bare(b) || !is_bare(&set->c) || set->data.a.m == 0 || set->data.a.n == 0 ||
        (b->rs != 1 && b->cs != 1))
        return trial_refuse(t, "cuSPARSE has no such matrices");
    if (!ref_csr_make(&form, &set->data.a)) return trial_stop(t, LAC_ERR_MEMORY, "CSR");
    lac_status_t status = place_loose(t, &x, &form);
    ref_compressed_free(&form);
    trial_end_t end = status == LAC_OK ? TRIAL_PASSED : trial_stop(t, status, "CSR");
    force(t, &t->dice);
    for (int i = 0; end == TRIAL_PASSED && i < CALLS; i++) {
        describe_loose(t, &x);
        status = operand_set_reset(set);
        int computed = status == LAC_OK ? lac_spmm_or_decline(t->ctx, &x.call, "trial", NULL) : 0;
        end = judge_call(t, status, computed);
    }
    unforce(t);
    placed_array_free(&x.ptr);
    placed_array_free(&x.idx);
    placed_array_free(&x.val);
    return end;
}

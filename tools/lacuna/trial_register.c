/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Registered operands tried: the product through the entry of the drop-in libraries, which knows them by
 * their address alone. */
#include "trial.h"

enum { CALLS = 3 }; /* a site learns between them */

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

/* 1 where C was computed, 0 where the call was declined; a C that is stored by rows is computed as C'. */
static int call(const trial_t *t, const lac_obj_t *a, const column_t *ca, const lac_obj_t *b,
                const column_t *cb, const column_t *cc)
{
    const ref_problem_t *p = &t->set->problem;
    lac_ctx_t *ctx = t->ctx;
    int computed;
    if (cc->trans == LAC_NO_TRANS) {
        computed = lac_sgemm_or_decline(ctx, ca->trans, cb->trans, p->m, p->n, p->k, p->alpha, a->buf, ca->ld,
                                        b->buf, cb->ld, p->beta, t->set->c.buf, cc->ld, "trial", NULL);
    } else {
        lac_trans_t ta = ca->trans == LAC_TRANS ? LAC_NO_TRANS : LAC_TRANS,
                    tb = cb->trans == LAC_TRANS ? LAC_NO_TRANS : LAC_TRANS;
        computed = lac_sgemm_or_decline(ctx, tb, ta, p->n, p->m, p->k, p->alpha, b->buf, cb->ld, a->buf,
                                        ca->ld, p->beta, t->set->c.buf, cc->ld, "trial", NULL);
    }
    if (!computed) lac_forwarded(ctx);
    return computed;
}

static trial_end_t judge_product(trial_t *t, uint64_t before, int computed)
{
    operand_set_t *set = t->set;
    ref_case_t operands = set->data;
    operands.c = set->c_before;
    trial_end_t end = trial_padding(t, &set->data.c, "c");
    if (end != TRIAL_PASSED) return end;
    if (!computed)
        return ref_matrix_checksum(&set->data.c) == before
                   ? TRIAL_PASSED
                   : trial_fail(t, "the call was declined and has written");
    for (int i = 0; i < TRIAL_READINGS; i++) {
        ref_result_t want;
        if (!ref_gemm_case(&set->problem, &operands, trial_reading[i], &want))
            return trial_fail(t, "the oracle is out of memory");
        end = trial_compare(t, &set->data.c, &want, want.k);
        ref_result_free(&want);
        if (end == TRIAL_PASSED) break;
    }
    return end;
}

static trial_end_t try_products(trial_t *t, const lac_obj_t *a, const lac_obj_t *b)
{
    operand_set_t *set = t->set;
    column_t ca, cb, cc;
    if (!as_columns(a, &ca) || !as_columns(b, &cb) || !as_columns(&set->c, &cc))
        return trial_refuse(t, "BLAS has no such layout");
    trial_end_t end = TRIAL_PASSED;
    uint64_t before = ref_matrix_checksum(&set->c_before);
    for (int i = 0; end == TRIAL_PASSED && i < CALLS; i++) {
        lac_status_t status = operand_set_reset(set);
        int computed = status == LAC_OK ? call(t, a, &ca, b, &cb, &cc) : 0;
        status = trial_call(t, status);
        if (status == LAC_OK) status = trial_fetch_c(t);
        end = status == LAC_OK ? judge_product(t, before, computed) : trial_stop(t, status, "the product");
    }
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
    if (end == TRIAL_PASSED && (has_a || has_b)) end = try_products(t, &set->a, &set->b);
    if (has_a && lac_unregister(set->a.buf) != LAC_OK)
        end = trial_stop(t, LAC_ERR_INTERNAL, "lac_unregister");
    if (has_b && lac_unregister(set->b.buf) != LAC_OK)
        end = trial_stop(t, LAC_ERR_INTERNAL, "lac_unregister");
    if (end != TRIAL_PASSED) return end;
    if (!has_a && !has_b) return trial_refuse(t, "%s", t->message);
    const void *buf = has_a ? set->a.buf : set->b.buf;
    return trial_expect(t, trial_call(t, lac_unregister(buf)), LAC_ERR_VALUE, "buf");
}

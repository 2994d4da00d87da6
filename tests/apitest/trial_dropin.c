/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The products of the drop-in libraries tried, which are computed or declined: with operands that are
 * registered, and so known by their address alone; with something added; and many at once. */
#include <math.h>

#include "blas_view.h"
#include "trial.h"
#include "lacuna/interpose.h"

void trial_force(trial_t *t)
{
    static const char *const backend[] = {"event", "csr", "bitmask", "native"};
    if (t->may_force && dice_below(&t->dice, 4) != 0)
        lac_ctx_set(t->ctx, "backend", backend[dice_below(&t->dice, 4)]);
}

void trial_unforce(const trial_t *t)
{
    if (t->may_force) lac_ctx_set(t->ctx, "backend", "auto");
}

trial_end_t trial_judge_product(trial_t *t, lac_status_t status, int computed)
{
    operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    ref_matrix_t a = ref_matrix_op(&set->data.a, p->trans_a), b = ref_matrix_op(&set->data.b, p->trans_b);
    if (!computed) lac_interpose_timing_end(t->ctx);
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
    const ref_problem_t *p = &t->set->problem;
    blas_view_t v;
    if (!blas_view(&v, t->set)) return trial_refuse(t, "BLAS has no such layout");
    trial_end_t end = TRIAL_PASSED;
    trial_force(t);
    for (int i = 0; end == TRIAL_PASSED && i < TRIAL_CALLS; i++) {
        lac_status_t status = operand_set_reset(t->set);
        int computed =
            status == LAC_OK && lac_try_sgemm(t->ctx, v.ta, v.tb, v.m, v.n, v.k, p->alpha, v.a, v.lda, v.b,
                                              v.ldb, p->beta, v.c, v.ldc, "trial", NULL);
        end = trial_judge_product(t, status, computed);
    }
    trial_unforce(t);
    return end;
}

/* Registers the operand, or says why that is refused as it must be. True: it is registered. */
static bool registered(trial_t *t, const lac_obj_t *x, const ref_operand_t *said, trial_end_t *end)
{
    static const unsigned format[] = {LAC_META_CSR, LAC_META_CSC, LAC_META_BITMASK, LAC_META_ACTIVE};
    bool stands = said->frozen;
    for (int i = 0; i < 4; i++) stands |= trial_stands(x, format[i]);
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
    if (!blas_takes(&set->a) || !blas_takes(&set->b) || !blas_takes(&set->c))
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

/* What is added to a product beside beta C, as that is laid out. */
typedef struct added {
    placed_matrix_t from, bias;
    lac_residual_t residual;
} added_t;

static lac_status_t throw_addend(trial_t *t, const blas_view_t *v, added_t *x)
{
    const ref_layout_t line = {.by_columns = true, .step = 1},
                       padded = {.by_columns = true, .step = 1, .pad = (int64_t)dice_below(&t->dice, 9)};
    const ref_pattern_t full = {.structure = REF_DENSE, .density = 1.0};
    uint64_t which = dice_below(&t->dice, 4);
    lac_status_t status = placed_matrix_make(&x->from, t->ctx, v->m, v->n, &padded, &full, t->dice.stream);
    if (status == LAC_OK)
        status = placed_matrix_make(&x->bias, t->ctx, v->m, 1, &line, &full, t->dice.stream + 1);
    x->residual = (lac_residual_t){which & 1 ? x->from.obj.buf : NULL, x->from.obj.cs,
                                   which & 2 ? x->bias.obj.buf : NULL};
    return status;
}

static void expect_added(const added_t *x, bool transposed, ref_result_t *want)
{
    for (int64_t i = 0; i < want->m; i++)
        for (int64_t j = 0; j < want->n; j++) {
            int64_t row = transposed ? j : i, column = transposed ? i : j;
            double from = x->residual.d ? (double)ref_matrix_at(&x->from.host, row, column) : 0.0,
                   bias = x->residual.bias ? (double)ref_matrix_at(&x->bias.host, row, 0) : 0.0;
            want->value[i * want->n + j] += from + bias;
            want->magnitude[i * want->n + j] += fabs(from) + fabs(bias);
        }
}

/* Where it was declined and beta is 0, C may hold anything. */
static trial_end_t judge_added(trial_t *t, const added_t *x, bool transposed, lac_status_t status,
                               int computed)
{
    operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    bool added = x->residual.d || x->residual.bias;
    if (!added || (!computed && p->beta != 0.0f)) return trial_judge_product(t, status, computed);
    if (!computed) lac_interpose_timing_end(t->ctx);
    status = trial_call(t, status);
    if (status == LAC_OK) status = trial_fetch_c(t);
    if (status != LAC_OK) return trial_stop(t, status, "the product");
    trial_end_t end = trial_padding(t, &set->data.c, "c");
    ref_case_t operands = set->data;
    operands.c = set->c_before;
    if (end != TRIAL_PASSED) return end;
    if (!computed) return trial_refuse(t, "declined, so that C may hold anything");
    end = TRIAL_FAILED;
    for (int i = 0; i < t->readings && end == TRIAL_FAILED; i++) {
        ref_result_t want;
        if (!ref_gemm_case(p, &operands, trial_reading[i], &want))
            return trial_fail(t, "the oracle is out of memory");
        expect_added(x, transposed, &want);
        end = trial_compare(t, &set->data.c, &want, p->k + 2);
        ref_result_free(&want);
    }
    return end;
}

trial_end_t trial_added(trial_t *t)
{
    const ref_problem_t *p = &t->set->problem;
    blas_view_t v;
    added_t x = {0};
    if (!blas_view(&v, t->set)) return trial_refuse(t, "BLAS has no such layout");
    lac_status_t status = throw_addend(t, &v, &x);
    trial_end_t end = status == LAC_OK ? TRIAL_PASSED : trial_stop(t, status, "what is added");
    trial_force(t);
    for (int i = 0; end != TRIAL_FAILED && i < TRIAL_CALLS; i++) {
        status = operand_set_reset(t->set);
        int computed = status == LAC_OK &&
                       lac_try_sgemm_residual(t->ctx, v.ta, v.tb, v.m, v.n, v.k, p->alpha, v.a, v.lda, v.b,
                                              v.ldb, p->beta, v.c, v.ldc, &x.residual, "trial", NULL);
        trial_end_t one = judge_added(t, &x, v.transposed, status, computed);
        if (i == 0 || one != TRIAL_REFUSED) end = one;
    }
    trial_unforce(t);
    placed_matrix_free(&x.from);
    placed_matrix_free(&x.bias);
    return end;
}

/* Columns of C, as BLAS has it, in equal parts with one A for all. */
trial_end_t trial_strided(trial_t *t)
{
    const ref_problem_t *p = &t->set->problem;
    blas_view_t v;
    if (!blas_view(&v, t->set)) return trial_refuse(t, "BLAS has no such layout");
    if (p->a.pattern.values == REF_SPECIAL || p->b.pattern.values == REF_SPECIAL)
        return trial_refuse(t, "each part may read 0 * Inf in a way of its own");
    lac_strides_t batch = {.count = 1 + (lac_dim_t)dice_below(&t->dice, 8)};
    while (v.n % batch.count != 0) batch.count--;
    lac_dim_t each = v.n / batch.count;
    batch.b = each * (v.tb == LAC_TRANS ? 1 : v.ldb);
    batch.c = each * v.ldc;
    trial_end_t end = TRIAL_PASSED;
    trial_force(t);
    for (int i = 0; end == TRIAL_PASSED && i < TRIAL_CALLS; i++) {
        lac_status_t status = operand_set_reset(t->set);
        int computed = status == LAC_OK &&
                       lac_try_sgemm_strided(t->ctx, v.ta, v.tb, v.m, each, v.k, p->alpha, v.a, v.lda, v.b,
                                             v.ldb, p->beta, v.c, v.ldc, &batch, "trial", NULL);
        end = trial_judge_product(t, status, computed);
    }
    trial_unforce(t);
    return end;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The products of the drop-in libraries tried, which are computed or declined: with operands that are
 * registered, and so known by their address alone; with something added; and many at once. */
#include "call.h"
#include "../interpose_calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *forced = ROUTE_AUTO; /* by the last apitest_force */

/* Small ones are declined unless a backend is forced: mostly one is, until unforced. */
static void apitest_force(apitest_t *t)
{
    forced = ROUTE_AUTO;
    if (!t->may_force || rng_below(&t->rng, 4) == 0 || t->routes->count == 0) return;
    const char *route = t->routes->name[rng_below(&t->rng, (uint64_t)t->routes->count)];
    const ref_problem_t *p = &t->set->problem;
    bool special = p->a.pattern.values == REF_SPECIAL || p->b.pattern.values == REF_SPECIAL;
    if (special && !strcmp(route, "cusparse")) return; /* of Inf and NaN nothing is promised */
    forced = route;
    if (strcmp(route, ROUTE_AUTO) != 0) lac_ctx_set(t->ctx, "backend", route);
}

static void apitest_unforce(const apitest_t *t)
{
    if (t->may_force) lac_ctx_set(t->ctx, "backend", "auto");
}

static apitest_end_t apitest_judge_product(apitest_t *t, lac_status_t status, int computed)
{
    operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    ref_matrix_t a = ref_matrix_op(&set->data.a, p->trans_a), b = ref_matrix_op(&set->data.b, p->trans_b);
    char error[256];
    snprintf(error, sizeof error, "%s", lac_last_error()); /* why it was declined, if something failed */
    if (!computed) lac_interpose_timing_end(t->ctx);
    status = apitest_call(t, status);
    if (status == LAC_OK) status = apitest_fetch_c(t);
    if (status != LAC_OK) return apitest_stop(t, status, "the product");
    apitest_end_t end = apitest_padding(t, &set->data.c, "c");
    if (end != APITEST_PASSED) return end;
    if (computed) return apitest_product(t, &set->data.c, &a, &b, &set->c_before);
    return ref_matrix_checksum(&set->data.c) == ref_matrix_checksum(&set->c_before)
               ? APITEST_PASSED
               : apitest_fail(t, "the call was declined and has written (backend %s; last error: %s)", forced,
                              error);
}

static lac_gemm_args_t described(const blas_view_t *v, const operand_set_t *set)
{
    lac_gemm_args_t call =
        colmajor_args((int)v->ta, (int)v->tb, v->m, v->n, v->k, v->a, v->lda, v->b, v->ldb, v->c, v->ldc);
    call.dt = call.a.dt = call.b.dt = set->problem.c.dt;
    call.alpha = operand_set_alpha(set), call.beta = operand_set_beta(set);
    return call;
}

static apitest_end_t try_products(apitest_t *t)
{
    blas_view_t v;
    if (!blas_view(&v, t->set)) return apitest_refuse(t, "BLAS has no such layout");
    apitest_end_t end = APITEST_PASSED;
    apitest_force(t);
    for (int i = 0; end == APITEST_PASSED && i < APITEST_CALLS; i++) {
        lac_status_t status = operand_set_reset(t->set);
        lac_gemm_args_t call = described(&v, t->set);
        int computed = status == LAC_OK && try_gemm(t->ctx, &call);
        end = apitest_judge_product(t, status, computed);
    }
    apitest_unforce(t);
    return end;
}

/* Registers the operand, or says why that is refused as it must be. True: it is registered. */
static bool registered(apitest_t *t, const lac_obj_t *x, const ref_operand_t *said, apitest_end_t *end)
{
    static const unsigned format[] = {LAC_META_CSR, LAC_META_CSC, LAC_META_BITMASK, LAC_META_ACTIVE};
    bool stands = said->frozen;
    for (int i = 0; i < 4; i++) stands |= apitest_stands(x, format[i]);
    lac_status_t status = apitest_call(t, lac_register(t->ctx, x));
    if (!x->meta)
        *end = apitest_expect(t, status, LAC_ERR_NULL, "obj");
    else if (!stands)
        *end = apitest_expect(t, status, LAC_ERR_VALUE, "obj");
    else if (status != LAC_OK)
        *end = apitest_stop(t, status, "lac_register");
    return status == LAC_OK;
}

apitest_end_t apitest_register(apitest_t *t)
{
    operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    if (!blas_takes(&set->a) || !blas_takes(&set->b) || !blas_takes(&set->c))
        return apitest_refuse(t, "only matrices of numbers with elements are registered");
    apitest_end_t end = APITEST_PASSED;
    bool has_a = registered(t, &set->a, &p->a, &end), has_b = false;
    if (end == APITEST_PASSED) has_b = registered(t, &set->b, &p->b, &end);
    if (end == APITEST_PASSED && has_a && lac_register(t->ctx, &set->a) != LAC_ERR_ALIAS)
        end = apitest_fail(t, "one address was registered twice");
    if (end == APITEST_PASSED && (has_a || has_b)) end = try_products(t);
    if (has_a && lac_unregister(set->a.buf) != LAC_OK)
        end = apitest_stop(t, LAC_ERR_INTERNAL, "lac_unregister");
    if (has_b && lac_unregister(set->b.buf) != LAC_OK)
        end = apitest_stop(t, LAC_ERR_INTERNAL, "lac_unregister");
    if (end != APITEST_PASSED) return end;
    if (!has_a && !has_b) return apitest_refuse(t, "%s", t->message);
    const void *buf = has_a ? set->a.buf : set->b.buf;
    return apitest_expect(t, apitest_call(t, lac_unregister(buf)), LAC_ERR_VALUE, "buf");
}

/* What is added to a product beside beta C, as that is laid out. */
typedef struct added {
    guarded_matrix_t from, bias;
    lac_residual_t residual;
} added_t;

static lac_status_t throw_addend(apitest_t *t, const blas_view_t *v, added_t *x)
{
    const ref_layout_t line = {.by_columns = true, .step = 1},
                       padded = {.by_columns = true, .step = 1, .pad = (int64_t)rng_below(&t->rng, 9)};
    const ref_pattern_t full = {.structure = REF_DENSE, .density = 1.0};
    uint64_t which = rng_below(&t->rng, 4);
    lac_status_t status =
        guarded_matrix_make(&x->from, t->ctx, apitest_type(t), v->m, v->n, &padded, &full, t->rng.stream);
    if (status == LAC_OK)
        status =
            guarded_matrix_make(&x->bias, t->ctx, apitest_type(t), v->m, 1, &line, &full, t->rng.stream + 1);
    x->residual = (lac_residual_t){which & 1 ? x->from.obj.buf : NULL, x->from.obj.cs,
                                   which & 2 ? x->bias.obj.buf : NULL};
    return status;
}

static void expect_added(const added_t *x, bool transposed, ref_result_t *want)
{
    for (int64_t i = 0; i < want->m; i++)
        for (int64_t j = 0; j < want->n; j++) {
            int64_t row = transposed ? j : i, column = transposed ? i : j;
            double from = x->residual.d ? ref_matrix_at(&x->from.host, row, column) : 0.0,
                   bias = x->residual.bias ? ref_matrix_at(&x->bias.host, row, 0) : 0.0;
            want->value[i * want->n + j] += from + bias;
            want->magnitude[i * want->n + j] += fabs(from) + fabs(bias);
        }
}

/* Where it was declined and beta is 0, C may hold anything. */
static apitest_end_t judge_added(apitest_t *t, const added_t *x, bool transposed, lac_status_t status,
                                 int computed)
{
    operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    bool added = x->residual.d || x->residual.bias;
    if (!added || (!computed && p->beta != 0.0f)) return apitest_judge_product(t, status, computed);
    if (!computed) lac_interpose_timing_end(t->ctx);
    status = apitest_call(t, status);
    if (status == LAC_OK) status = apitest_fetch_c(t);
    if (status != LAC_OK) return apitest_stop(t, status, "the product");
    apitest_end_t end = apitest_padding(t, &set->data.c, "c");
    ref_case_t operands = set->data;
    operands.c = set->c_before;
    if (end != APITEST_PASSED) return end;
    if (!computed) return apitest_refuse(t, "declined, so that C may hold anything");
    end = APITEST_FAILED;
    for (int i = 0; i < t->readings && end == APITEST_FAILED; i++) {
        ref_result_t want;
        if (!ref_gemm_case(p, &operands, apitest_reading[i], &want))
            return apitest_fail(t, "the oracle is out of memory");
        expect_added(x, transposed, &want);
        end = apitest_compare(t, &set->data.c, &want, p->k + 2);
        ref_result_free(&want);
    }
    return end;
}

apitest_end_t apitest_added(apitest_t *t)
{
    blas_view_t v;
    added_t x = {0};
    if (!blas_view(&v, t->set)) return apitest_refuse(t, "BLAS has no such layout");
    lac_status_t status = throw_addend(t, &v, &x);
    apitest_end_t end = status == LAC_OK ? APITEST_PASSED : apitest_stop(t, status, "what is added");
    apitest_force(t);
    for (int i = 0; end != APITEST_FAILED && i < APITEST_CALLS; i++) {
        status = operand_set_reset(t->set);
        lac_gemm_args_t call = described(&v, t->set);
        call.adds = x.residual.d || x.residual.bias;
        call.residual = x.residual;
        int computed = status == LAC_OK && try_gemm(t->ctx, &call);
        apitest_end_t one = judge_added(t, &x, v.transposed, status, computed);
        if (i == 0 || one != APITEST_REFUSED) end = one;
    }
    apitest_unforce(t);
    guarded_matrix_free(&x.from);
    guarded_matrix_free(&x.bias);
    return end;
}

/* Columns of C, as BLAS has it, in equal parts with one A for all. */
apitest_end_t apitest_strided(apitest_t *t)
{
    const ref_problem_t *p = &t->set->problem;
    blas_view_t v;
    if (!blas_view(&v, t->set)) return apitest_refuse(t, "BLAS has no such layout");
    if (p->a.pattern.values == REF_SPECIAL || p->b.pattern.values == REF_SPECIAL)
        return apitest_refuse(t, "each part may read 0 * Inf in a way of its own");
    lac_strides_t batch = {.count = 1 + (lac_dim_t)rng_below(&t->rng, 8)};
    while (v.n % batch.count != 0) batch.count--;
    lac_dim_t each = v.n / batch.count;
    batch.b = each * (v.tb == LAC_TRANS ? 1 : v.ldb);
    batch.c = each * v.ldc;
    apitest_end_t end = APITEST_PASSED;
    apitest_force(t);
    for (int i = 0; end == APITEST_PASSED && i < APITEST_CALLS; i++) {
        lac_status_t status = operand_set_reset(t->set);
        lac_gemm_args_t call = described(&v, t->set);
        call.n = each;
        call.batch = batch;
        int computed = status == LAC_OK && try_gemm(t->ctx, &call);
        end = apitest_judge_product(t, status, computed);
    }
    apitest_unforce(t);
    return end;
}

/* The CSR product of somebody else tried, as cuSPARSE would be called: computed or declined. */

/* The arrays of a CSR matrix as others have them: the entries of a row in any order, some of them in two
 * halves. */
typedef struct loose {
    lac_spmm_t call;
    guarded_buffer_t ptr, idx, val;
} loose_t;

/* Each row of format: its entries, of which about one in four is halved, shuffled. */
static int64_t loosen(rng_t *rng, const ref_compressed_t *format, const loose_t *to, void *ptr, void *idx,
                      float *val)
{
    int64_t at = 0;
    for (int64_t i = 0; i < format->lines; i++) {
        int64_t begin = at;
        index_store(ptr, to->call.ptr_type, i, at);
        for (int64_t e = format->ptr[i]; e < format->ptr[i + 1]; e++) {
            int halves = rng_below(rng, 4) == 0 ? 2 : 1;
            for (int h = 0; h < halves; h++, at++) {
                int64_t place = begin + (int64_t)rng_below(rng, (uint64_t)(at - begin) + 1);
                index_store(idx, to->call.idx_type, at, index_load(idx, to->call.idx_type, place));
                val[at] = val[place];
                index_store(idx, to->call.idx_type, place, format->idx[e]);
                val[place] = ((const float *)format->val)[e] / (float)halves;
            }
        }
    }
    index_store(ptr, to->call.ptr_type, format->lines, at);
    return at;
}

static lac_status_t copy_shuffled(apitest_t *t, loose_t *x, const ref_compressed_t *format)
{
    size_t most = 2 * (size_t)format->nnz + 1;
    x->call.ptr_type = rng_below(&t->rng, 2) == 0 ? LAC_I32 : LAC_I64;
    x->call.idx_type = rng_below(&t->rng, 2) == 0 ? LAC_I32 : LAC_I64;
    void *ptr = calloc((size_t)format->lines + 1, index_width(x->call.ptr_type)),
         *idx = calloc(most, index_width(x->call.idx_type));
    float *val = calloc(most, sizeof *val);
    lac_status_t status = ptr && idx && val ? LAC_OK : LAC_ERR_MEMORY;
    if (status == LAC_OK) x->call.nnz = loosen(&t->rng, format, x, ptr, idx, val);
    size_t nnz = (size_t)x->call.nnz;
    if (status == LAC_OK)
        status = guarded_buffer_make(&x->ptr, t->ctx,
                                     ((size_t)format->lines + 1) * index_width(x->call.ptr_type), ptr);
    if (status == LAC_OK)
        status = guarded_buffer_make(&x->idx, t->ctx, nnz * index_width(x->call.idx_type), idx);
    if (status == LAC_OK) status = guarded_buffer_make(&x->val, t->ctx, nnz * sizeof *val, val);
    free(ptr);
    free(idx);
    free(val);
    return status;
}

static void describe_loose(const apitest_t *t, loose_t *x)
{
    const operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    bool transposed = p->trans_b == LAC_TRANS;
    x->call.m = p->m, x->call.n = p->n, x->call.k = p->k;
    x->call.trans = p->trans_a;
    x->call.ptr = guarded_buffer_at(&x->ptr);
    x->call.idx = guarded_buffer_at(&x->idx);
    x->call.val = guarded_buffer_at(&x->val);
    x->call.b = set->b.buf;
    x->call.rsb = transposed ? set->b.cs : set->b.rs;
    x->call.csb = transposed ? set->b.rs : set->b.cs;
    x->call.c = set->c.buf;
    x->call.rsc = set->c.rs;
    x->call.csc = set->c.cs;
    x->call.alpha = &p->alpha;
    x->call.beta = &p->beta;
}

/* The sums have up to twice as many terms as k, which is within their bound: halves are exact. */
apitest_end_t apitest_spmm(apitest_t *t)
{
    operand_set_t *set = t->set;
    const lac_obj_t *b = &set->b;
    loose_t x = {0};
    ref_compressed_t format;
    if (!blas_takes(b) || !blas_takes(&set->c) || set->data.a.m == 0 || set->data.a.n == 0 ||
        apitest_type(t) != LAC_F32 || (b->rs != 1 && b->cs != 1))
        return apitest_refuse(t, "cuSPARSE has no such matrices");
    if (!ref_csr_make(&format, &set->data.a)) return apitest_stop(t, LAC_ERR_MEMORY, "CSR");
    lac_status_t status = copy_shuffled(t, &x, &format);
    ref_compressed_free(&format);
    apitest_end_t end = status == LAC_OK ? APITEST_PASSED : apitest_stop(t, status, "CSR");
    t->readings =
        APITEST_READINGS; /* what is not stored is not multiplied, whatever the context says of NaN */
    apitest_force(t);
    for (int i = 0; end == APITEST_PASSED && i < APITEST_CALLS; i++) {
        describe_loose(t, &x);
        status = operand_set_reset(set);
        int computed = status == LAC_OK ? lac_try_spmm(t->ctx, &x.call, "trial", NULL) : 0;
        end = apitest_judge_product(t, status, computed);
    }
    apitest_unforce(t);
    guarded_buffer_free(&x.ptr);
    guarded_buffer_free(&x.idx);
    guarded_buffer_free(&x.val);
    return end;
}

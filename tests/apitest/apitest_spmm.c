/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The CSR product of somebody else tried, as cuSPARSE would be called: computed or declined. */
#include <stdlib.h>

#include "blas_view.h"
#include "index_list.h"
#include "apitest_call.h"
#include "lacuna/interpose.h"

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
                val[place] = format->val[e] / (float)halves;
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
        (b->rs != 1 && b->cs != 1))
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

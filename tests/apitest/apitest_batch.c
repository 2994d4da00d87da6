/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A batch of views tried: the rows of C in equal parts, or its columns, each with views of its own. */
#include "apitest_call.h"

enum { PARTS_MAX = 9 };

typedef struct batch {
    lac_dim_t count, step_a, step_b;
    lac_obj_t a[PARTS_MAX], b[PARTS_MAX], c[PARTS_MAX];
} batch_t;

/* Lines from .. from + count of op(x), rows or columns, without the metadata of the whole. */
static lac_obj_t part(const lac_obj_t *x, bool rows, int64_t from, int64_t count)
{
    lac_obj_t p = *x;
    bool down = rows == (x->trans == LAC_NO_TRANS); /* along the stored rows */
    int64_t width = x->dt == LAC_U8 ? 1 : (int64_t)sizeof(float);
    if (x->m > 0 && x->n > 0) p.buf = (char *)x->buf + from * (down ? x->rs : x->cs) * width;
    p.meta = NULL;
    *(down ? &p.m : &p.n) = count;
    return p;
}

/* As many parts as divide the lines. */
static lac_dim_t throw_parts(rng_t *rng, int64_t lines)
{
    lac_dim_t parts = 1 + (lac_dim_t)rng_below(rng, PARTS_MAX);
    while (lines % parts != 0) parts--;
    return parts;
}

static void throw_batch(apitest_t *t, batch_t *batch)
{
    const operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    bool by_rows = set->a.buf && (!set->b.buf || rng_below(&t->rng, 2) == 0);
    int64_t lines = by_rows ? p->m : p->n;
    batch->count = throw_parts(&t->rng, lines);
    batch->step_a = by_rows ? batch->count > 1 || rng_below(&t->rng, 2) : rng_below(&t->rng, 2) == 0;
    batch->step_b = by_rows ? rng_below(&t->rng, 2) == 0 : batch->count > 1 || rng_below(&t->rng, 2);
    int64_t each = lines / batch->count;
    for (lac_dim_t q = 0; q < batch->count; q++) {
        batch->a[q] = by_rows ? part(&set->a, true, q * each, each) : set->a;
        batch->b[q] = by_rows ? set->b : part(&set->b, false, q * each, each);
        batch->c[q] = part(&set->c, by_rows, q * each, each);
    }
}

static apitest_end_t judge(apitest_t *t)
{
    operand_set_t *set = t->set;
    ref_case_t operands = set->data;
    ref_result_t want;
    operands.c = set->c_before;
    if (!ref_gemm_case(&set->problem, &operands, REF_STRICT, &want))
        return apitest_fail(t, "the oracle is out of memory");
    apitest_end_t end = apitest_padding(t, &set->data.c, "c");
    if (end == APITEST_PASSED) end = apitest_compare(t, &set->data.c, &want, want.k);
    ref_result_free(&want);
    return end;
}

/* By any routes, so that nothing is said of the bits. */
apitest_end_t apitest_batch(apitest_t *t)
{
    operand_set_t *set = t->set;
    const ref_problem_t *p = &set->problem;
    batch_t batch;
    if (!set->a.buf && !set->b.buf) return apitest_refuse(t, "neither operand has a buffer to take parts of");
    if (p->a.pattern.values == REF_SPECIAL || p->b.pattern.values == REF_SPECIAL)
        return apitest_refuse(t, "each part may read 0 * Inf in a way of its own");
    throw_batch(t, &batch);
    lac_status_t status = operand_set_reset(set);
    if (status == LAC_OK)
        status = lac_gemm_batched_array(t->ctx, batch.count, &p->alpha, batch.a, batch.step_a, batch.b,
                                        batch.step_b, &p->beta, batch.c);
    status = apitest_call(t, status);
    if (status == LAC_OK) status = apitest_fetch_c(t);
    return status == LAC_OK ? judge(t) : apitest_stop(t, status, "lac_gemm_batched_array");
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Batches: checked here, laid together where they can be, else served as a whole or one by one. */
#include "entry.h"
#include "base/status.h"
#include "operand/check.h"
#include "planner/dispatch.h"
#include "lacuna/batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define PAIRS_MAX 65536 /* pairs of matrices that are looked at where the spans of two batches meet */

/* What both calls bring. */
typedef struct call {
    lac_ctx_t *ctx;
    lac_dim_t count;
    const void *alpha, *beta;
    const char *symbol;
} call_t;

static lac_status_t begin(const call_t *c)
{
    lac_clear_error();
    if (!c->ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    if (c->count < 0) return lac_fail(LAC_ERR_EXTENT, "count: %" PRId64 " is negative", c->count);
    return LAC_OK;
}

static lac_status_t multiply(const call_t *c, const lac_obj_t *a, const lac_obj_t *b, const lac_obj_t *out)
{
    lac_call_opts_t settings = {.size = sizeof settings, .symbol = c->symbol};
    return lac_gemm_ex(c->ctx, c->alpha, a, b, c->beta, out, &settings);
}

/* Strided -------------------------------------------------------------------------------------------------
 */

static lac_obj_t nth(const lac_obj_t *first, lac_inc_t stride, lac_dim_t q)
{
    lac_obj_t x = *first;
    if (!stride) return x;
    int64_t width = (int64_t)lac_dt_size(x.dt);
    x.meta = NULL;
    if (x.buf) x.buf = (char *)x.buf + q * stride * width;
    return x;
}

static lac_status_t check_stride(const char *name, const lac_obj_t *x, lac_inc_t stride, lac_dim_t count)
{
    int64_t span;
    if (!stride || count <= 1) return LAC_OK;
    if (__builtin_mul_overflow(stride, count - 1, &span) || span > PTRDIFF_MAX / 8 ||
        span < -(PTRDIFF_MAX / 8))
        return lac_fail(LAC_ERR_EXTENT,
                        "stride_%s: %" PRId64 " times %" PRId64 " overflows the address space", name, stride,
                        count);
    if (!x->buf && x->m && x->n)
        return lac_fail(LAC_ERR_EMPTY,
                        "%s.buf: is NULL, and stride_%s is not 0: a sparse-only matrix is one for all", name,
                        name);
    return LAC_OK;
}

static int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

/* One extent of the batch of C, and how far its elements lie apart. */
typedef struct extent {
    int64_t stride, count;
} extent_t;

static int by_stride(const void *x, const void *y)
{
    const extent_t *a = x, *b = y;
    return (a->stride > b->stride) - (a->stride < b->stride);
}

/* Each extent's stride passes all elements of the nearer ones. */
static bool apart_from_each_other(const lac_obj_t *c, lac_inc_t stride, lac_dim_t count)
{
    extent_t e[3] = {{magnitude(c->rs), c->m}, {magnitude(c->cs), c->n}, {magnitude(stride), count}};
    int64_t span = 0; /* last element that the nearer extents reach */
    qsort(e, 3, sizeof *e, by_stride);
    for (int i = 0; i < 3; i++) {
        if (e[i].count <= 1) continue;
        if (e[i].stride <= span) return false;
        span += e[i].stride * (e[i].count - 1);
    }
    return true;
}

/* The whole of a batch as an array of bytes. */
static lac_obj_t whole(const lac_obj_t *x, lac_inc_t stride, lac_dim_t count)
{
    const int64_t width = (int64_t)lac_dt_size(x->dt);
    const int64_t reach[3] = {x->rs * (x->m - 1), x->cs * (x->n - 1), stride * (count - 1)};
    int64_t low = 0, high = 0;
    for (int i = 0; i < 3; i++) {
        if (reach[i] < 0) low += reach[i];
        if (reach[i] > 0) high += reach[i];
    }
    return lac_view_array((const char *)x->buf + low * width, high - low + 1, (size_t)width);
}

static lac_status_t check_apart(const char *name, const lac_obj_t *x, lac_inc_t stride, const lac_obj_t *c,
                                lac_inc_t stride_c, lac_dim_t count)
{
    if (!x->buf || !x->m || !x->n) return LAC_OK;
    lac_obj_t all_x = whole(x, stride, count), all_c = whole(c, stride_c, count);
    if (!lac_share_memory(&all_x, &all_c)) return LAC_OK;
    lac_dim_t of_x = stride ? count : 1;
    bool meet = of_x > PAIRS_MAX / count;
    for (lac_dim_t p = 0; !meet && p < of_x; p++)
        for (lac_dim_t q = 0; !meet && q < count; q++) {
            lac_obj_t one = nth(x, stride, p), out = nth(c, stride_c, q);
            meet = lac_share_memory(&one, &out);
        }
    return meet ? lac_fail(LAC_ERR_ALIAS, "c: the batch overlaps %s, or cannot be shown apart from it", name)
                : LAC_OK;
}

/* op(X), of which each matrix's rows follow those of the one before: one matrix of all rows. There are no
 * more of them than elements of the batch of C, whose span was checked. */
static bool rows_follow(const lac_obj_t *x, lac_inc_t stride, lac_dim_t count, lac_obj_t *all)
{
    bool swapped = x->trans == LAC_TRANS;
    lac_inc_t rs = swapped ? x->cs : x->rs, cs = swapped ? x->rs : x->cs;
    lac_dim_t rows = lac_obj_rows(x), cols = lac_obj_cols(x), total = rows * count;
    if (rows != 1 && stride != rows * rs) return false;
    *all = (lac_obj_t){x->dt, x->space, LAC_NO_TRANS, total, cols, rows == 1 ? stride : rs, cs, x->buf, NULL};
    return true;
}

static lac_obj_t swapped(const lac_obj_t *x)
{
    lac_obj_t t = *x;
    t.trans = x->trans == LAC_TRANS ? LAC_NO_TRANS : LAC_TRANS;
    return t;
}

/* One B for all and A, C that follow each other are one product; so are one A and columns of B, C. */
static bool lay_together(lac_dim_t count, lac_obj_t *a, lac_inc_t stride_a, lac_obj_t *b, lac_inc_t stride_b,
                         lac_obj_t *c, lac_inc_t stride_c)
{
    lac_obj_t all, all_c;
    if (!stride_b && stride_a && rows_follow(a, stride_a, count, &all) &&
        rows_follow(c, stride_c, count, &all_c)) {
        *a = all, *c = all_c;
        return true;
    }
    lac_obj_t b_transposed = swapped(b), c_transposed = swapped(c);
    if (stride_a || !stride_b || !rows_follow(&b_transposed, stride_b, count, &all) ||
        !rows_follow(&c_transposed, stride_c, count, &all_c))
        return false;
    *b = swapped(&all), *c = swapped(&all_c);
    return true;
}

lac_status_t lac_gemm_batched(lac_ctx_t *ctx, lac_dim_t count, const void *alpha, const lac_obj_t *a,
                              lac_inc_t stride_a, const lac_obj_t *b, lac_inc_t stride_b, const void *beta,
                              const lac_obj_t *c, lac_inc_t stride_c)
{
    const call_t call = {ctx, count, alpha, beta, "lac_gemm_batched"};
    lac_problem_t p;
    bool served = false;
    lac_status_t status = begin(&call);
    if (!status) status = lac_describe_call(ctx, LAC_HOST, alpha, a, b, beta, c, &p);
    if (!status) status = check_stride("a", a, stride_a, count);
    if (!status) status = check_stride("b", b, stride_b, count);
    if (!status) status = check_stride("c", c, stride_c, count);
    if (status) return status;
    if (!count || !p.m || !p.n) return LAC_OK;
    if (count > 1 && !apart_from_each_other(c, stride_c, count))
        return lac_fail(LAC_ERR_STRIDE, "stride_c: %" PRId64 " makes the matrices of c overlap", stride_c);
    if ((status = check_apart("a", a, stride_a, c, stride_c, count))) return status;
    if ((status = check_apart("b", b, stride_b, c, stride_c, count))) return status;
    lac_obj_t oa = nth(a, stride_a, 0), ob = nth(b, stride_b, 0), oc = *c;
    if (count == 1) return multiply(&call, a, b, c);
    if (lay_together(count, &oa, stride_a, &ob, stride_b, &oc, stride_c))
        return multiply(&call, &oa, &ob, &oc);
    lac_batch_t batch = {.count = count, .a_step = stride_a, .b_step = stride_b, .c_step = stride_c};
    lac_problem_describe(&p, lac_scalar(alpha, c->dt, 1.0), &oa, &ob, lac_scalar(beta, c->dt, 0.0), c);
    int token = lac_enter(ctx);
    status = lac_dispatch_batch(ctx, &p, &batch, call.symbol, &served);
    lac_leave(ctx, token);
    for (lac_dim_t q = 0; !status && !served && q < count; q++) {
        oa = nth(a, stride_a, q), ob = nth(b, stride_b, q), oc = nth(c, stride_c, q);
        status = multiply(&call, &oa, &ob, &oc);
    }
    return status;
}

/* A view for each --------------------------------------------------------------------------------------- */

/* The same matrix in memory but for where it begins. */
static bool alike(const lac_obj_t *x, const lac_obj_t *y)
{
    return x->dt == y->dt && x->trans == y->trans && x->rs == y->rs && x->cs == y->cs && !y->meta && y->buf;
}

static lac_status_t check_space(const lac_ctx_t *ctx, const char *name, const lac_obj_t *x)
{
    return x->buf && ctx->backend->check ? ctx->backend->check(ctx->exec, name, x->buf) : LAC_OK;
}

/* The q-th product's operands, and that their extents are those of the first. */
static lac_status_t check_views(const lac_ctx_t *ctx, lac_dim_t q, const lac_obj_t *a, const lac_obj_t *b,
                                const lac_obj_t *c, const lac_problem_t *first)
{
    char na[32], nb[32], nc[32];
    lac_status_t status;
    snprintf(na, sizeof na, "a[%" PRId64 "]", q);
    snprintf(nb, sizeof nb, "b[%" PRId64 "]", q);
    snprintf(nc, sizeof nc, "c[%" PRId64 "]", q);
    if ((status = lac_check_any_operand(na, a, false, lac_location_of(ctx)))) return status;
    if ((status = lac_check_any_operand(nb, b, false, lac_location_of(ctx)))) return status;
    if ((status = lac_check_any_operand(nc, c, true, lac_location_of(ctx)))) return status;
    if ((status = check_space(ctx, na, a)) || (status = check_space(ctx, nb, b)) ||
        (status = check_space(ctx, nc, c)))
        return status;
    if (lac_obj_rows(a) != first->m || lac_obj_cols(a) != first->k)
        return lac_fail(LAC_ERR_EXTENT, "%s: is not of the shape of a[0]", na);
    if (lac_obj_rows(b) != first->k || lac_obj_cols(b) != first->n)
        return lac_fail(LAC_ERR_EXTENT, "%s: is not of the shape of b[0]", nb);
    if (lac_obj_rows(c) != first->m || lac_obj_cols(c) != first->n)
        return lac_fail(LAC_ERR_EXTENT, "%s: is not of the shape of c[0]", nc);
    if (lac_share_memory(a, c)) return lac_fail(LAC_ERR_ALIAS, "%s: overlaps %s", nc, na);
    if (lac_share_memory(b, c)) return lac_fail(LAC_ERR_ALIAS, "%s: overlaps %s", nc, nb);
    return LAC_OK;
}

/* Up to LAC_BATCH_SET products from the q-th on: as a whole, where all matrices lie alike and no metadata
 * tells them apart; one by one otherwise. */
static lac_status_t serve_set(const call_t *call, lac_dim_t count, const lac_obj_t *a, lac_dim_t step_a,
                              const lac_obj_t *b, lac_dim_t step_b, const lac_obj_t *c)
{
    const void *views_a[LAC_BATCH_SET], *views_b[LAC_BATCH_SET];
    void *views_c[LAC_BATCH_SET];
    lac_batch_t batch = {count, step_a, step_b, 1, views_a, views_b, views_c, NULL, 0.0};
    bool all = count > 1, served = false;
    lac_status_t status = LAC_OK;
    for (lac_dim_t q = 0; all && q < count; q++) {
        all = alike(a, &a[q * step_a]) && alike(b, &b[q * step_b]) && alike(c, &c[q]);
        views_a[q] = a[q * step_a].buf, views_b[q] = b[q * step_b].buf, views_c[q] = c[q].buf;
    }
    if (all) {
        lac_problem_t p;
        lac_problem_describe(&p, lac_scalar(call->alpha, c->dt, 1.0), a, b,
                             lac_scalar(call->beta, c->dt, 0.0), c);
        int token = lac_enter(call->ctx);
        status = lac_dispatch_batch(call->ctx, &p, &batch, call->symbol, &served);
        lac_leave(call->ctx, token);
    }
    for (lac_dim_t q = 0; !status && !served && q < count; q++)
        status = multiply(call, &a[q * step_a], &b[q * step_b], &c[q]);
    return status;
}

lac_status_t lac_gemm_batched_array(lac_ctx_t *ctx, lac_dim_t count, const void *alpha, const lac_obj_t *a,
                                    lac_dim_t step_a, const lac_obj_t *b, lac_dim_t step_b, const void *beta,
                                    const lac_obj_t *c)
{
    const call_t call = {ctx, count, alpha, beta, "lac_gemm_batched_array"};
    lac_problem_t p;
    lac_status_t status = begin(&call);
    if (status || !count) return status;
    if (step_a & ~1) return lac_fail(LAC_ERR_VALUE, "step_a: %" PRId64 " is neither 0 nor 1", step_a);
    if (step_b & ~1) return lac_fail(LAC_ERR_VALUE, "step_b: %" PRId64 " is neither 0 nor 1", step_b);
    if ((status = lac_describe_call(ctx, LAC_HOST, alpha, a, b, beta, c, &p))) return status;
    for (lac_dim_t q = 1; q < count; q++)
        if ((status = check_views(ctx, q, &a[q * step_a], &b[q * step_b], &c[q], &p))) return status;
    if (!p.m || !p.n) return LAC_OK;
    for (lac_dim_t q = 0; !status && q < count; q += LAC_BATCH_SET)
        status = serve_set(&call, count - q < LAC_BATCH_SET ? count - q : LAC_BATCH_SET, &a[q * step_a],
                           step_a, &b[q * step_b], step_b, &c[q]);
    return status;
}

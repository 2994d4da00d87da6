/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Contexts, operands and calls of the tests on the stand-in's device. */
#include "cuda_host_support.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 64 };
static void *kept[KEPT];
static lac_meta_t *metas[KEPT];
static int kept_count, metas_count, held_before;

lac_ctx_t *cuda_host_ctx(void)
{
    lac_ctx_t *ctx;
    standin_reset();
    held_before = standin_held_count();
    unit_expect(lac_ctx_create_cuda(&ctx, 0, LAC_STREAM_NEW), LAC_OK, "lac_ctx_create_cuda");
    unit_expect(lac_ctx_set(ctx, "detect", "off"), LAC_OK, "detect");
    return ctx;
}

void cuda_host_close(lac_ctx_t *ctx)
{
    while (metas_count) lac_meta_free(metas[--metas_count]);
    while (kept_count) unit_expect(lac_device_free(ctx, kept[--kept_count]), LAC_OK, "lac_device_free");
    lac_ctx_free(ctx);
    assert_int_equal(standin_held_count(), held_before);
    assert_int_equal(standin.breaches, 0);
    assert_int_equal(standin_last_error(), 0);
}

void *cuda_host_memory(lac_ctx_t *ctx, size_t bytes)
{
    void *memory;
    assert_true(kept_count < KEPT);
    unit_expect(lac_device_alloc(ctx, bytes, &memory), LAC_OK, "lac_device_alloc");
    return kept[kept_count++] = memory;
}

lac_obj_t cuda_host_matrix(lac_ctx_t *ctx, lac_dt_t dt, lac_dim_t m, lac_dim_t n, lac_inc_t rs, lac_inc_t cs,
                           lac_dim_t shift)
{
    int64_t element = (int64_t)lac_dt_size(dt), last = m && n ? (m - 1) * rs + (n - 1) * cs + 1 : 0;
    char *memory = cuda_host_memory(ctx, (size_t)((last + shift) * element));
    return (lac_obj_t){dt, LAC_DEVICE, LAC_NO_TRANS, m, n, rs, cs, memory + shift * element, NULL};
}

lac_obj_t cuda_host_rows(lac_ctx_t *ctx, lac_dim_t m, lac_dim_t n)
{
    return cuda_host_matrix(ctx, LAC_F32, m, n, n, 1, 0);
}

lac_obj_t cuda_host_columns(lac_ctx_t *ctx, lac_dim_t m, lac_dim_t n)
{
    return cuda_host_matrix(ctx, LAC_F32, m, n, 1, m, 0);
}

static void give_meta(lac_ctx_t *ctx, lac_obj_t *x)
{
    assert_true(metas_count < KEPT);
    unit_expect(lac_meta_create_for(ctx, &x->meta, x->m, x->n), LAC_OK, "lac_meta_create_for");
    metas[metas_count++] = x->meta;
}

void cuda_host_count(lac_ctx_t *ctx, lac_obj_t *x, int64_t nnz)
{
    if (!x->meta) give_meta(ctx, x);
    standin.nnz = nnz;
    unit_expect(lac_meta_scan(ctx, x, LAC_META_DENSITY), LAC_OK, "lac_meta_scan");
}

void cuda_host_freeze(lac_ctx_t *ctx, lac_obj_t *x, int64_t nnz)
{
    cuda_host_count(ctx, x, nnz);
    unit_expect(lac_meta_freeze(x->meta), LAC_OK, "lac_meta_freeze");
}

void cuda_host_csr(lac_ctx_t *ctx, lac_obj_t *x, int64_t each)
{
    int64_t nnz = x->m * each, *ptr = malloc((size_t)(x->m + 1) * sizeof *ptr);
    int32_t *idx = malloc((size_t)(nnz ? nnz : 1) * sizeof *idx);
    assert_non_null(ptr);
    assert_non_null(idx);
    for (int64_t i = 0; i <= x->m; i++) ptr[i] = i * each;
    for (int64_t e = 0; e < nnz; e++) idx[e] = (int32_t)(e % each);
    /* both of one type of index: 64 bits for pointers and indices */
    int64_t *wide = malloc((size_t)(nnz ? nnz : 1) * sizeof *wide);
    assert_non_null(wide);
    for (int64_t e = 0; e < nnz; e++) wide[e] = idx[e];
    void *dptr = cuda_host_memory(ctx, (size_t)(x->m + 1) * sizeof *ptr),
         *didx = cuda_host_memory(ctx, (size_t)nnz * sizeof *wide),
         *dval = cuda_host_memory(ctx, (size_t)nnz * lac_dt_size(x->dt == LAC_F64 ? LAC_F64 : LAC_F32));
    unit_expect(lac_device_upload(ctx, dptr, ptr, (size_t)(x->m + 1) * sizeof *ptr), LAC_OK, "upload");
    unit_expect(lac_device_upload(ctx, didx, wide, (size_t)nnz * sizeof *wide), LAC_OK, "upload");
    if (!x->meta) give_meta(ctx, x);
    if (x->dt == LAC_F64) unit_expect(lac_meta_set_type(x->meta, LAC_F64), LAC_OK, "lac_meta_set_type");
    unit_expect(lac_meta_attach_csr(x->meta, LAC_I64, dptr, didx, dval), LAC_OK, "lac_meta_attach_csr");
    x->buf = NULL;
    free(ptr), free(idx), free(wide);
}

lac_status_t cuda_host_gemm(lac_ctx_t *ctx, const char *route, float alpha, const lac_obj_t *a,
                            const lac_obj_t *b, float beta, const lac_obj_t *c)
{
    lac_call_opts_t call = {.size = sizeof call, .route = route};
    const double wide[] = {(double)alpha, (double)beta};
    standin_forget();
    if (c->dt == LAC_F64) return lac_gemm_ex(ctx, wide, a, b, wide + 1, c, &call);
    return lac_gemm_ex(ctx, &alpha, a, b, &beta, c, &call);
}

const standin_launch_t *cuda_host_launch(lac_ctx_t *ctx, const char *route, const lac_obj_t *a,
                                         const lac_obj_t *b, const lac_obj_t *c, const char *name)
{
    unit_expect(cuda_host_gemm(ctx, route, 1.5f, a, b, 0.25f, c), LAC_OK, name);
    const standin_launch_t *found = standin_find(name, 0);
    if (!found) fail_msg("%s was not launched", name);
    return found;
}

static lac_candidate_t candidate(lac_ctx_t *ctx, const char *route, const char *side, const lac_obj_t *a,
                                 const lac_obj_t *b, const lac_obj_t *c)
{
    lac_decision_t decision;
    lac_call_opts_t call = {.size = sizeof call, .route = route};
    unit_expect(lac_explain(ctx, NULL, a, b, NULL, c, &call, &decision), LAC_OK, "lac_explain");
    for (int i = 0; i < decision.count; i++)
        if (!strcmp(decision.candidate[i].route, route) && !strcmp(decision.candidate[i].side, side))
            return decision.candidate[i];
    fail_msg("no route %s %s", route, side);
    return decision.candidate[0];
}

int64_t cuda_host_bytes(lac_ctx_t *ctx, const char *route, const char *side, const lac_obj_t *a,
                        const lac_obj_t *b, const lac_obj_t *c)
{
    lac_candidate_t x = candidate(ctx, route, side, a, b, c);
    return x.refusal ? -1 : (int64_t)x.bytes;
}

double cuda_host_cost(lac_ctx_t *ctx, const char *route, const char *side, const lac_obj_t *a,
                      const lac_obj_t *b, const lac_obj_t *c)
{
    return candidate(ctx, route, side, a, b, c).cost_us;
}

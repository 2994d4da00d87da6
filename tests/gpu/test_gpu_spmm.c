/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Products with CSR arrays of a caller's, whose entries are in no order and come more than once: whole
 * numbers, so that every way has the same bits. */
#include "gpu_support.h"
#include "api/interpose.h"

#include <stdlib.h>
#include <string.h>

enum { M_MAX = 700, K_MAX = 400, N_MAX = 300, NNZ_MAX = 40000 };

typedef struct operands {
    int m, n, k, nnz;
    int64_t ptr64[M_MAX + 1], idx64[NNZ_MAX];
    int32_t ptr32[M_MAX + 1], idx32[NNZ_MAX];
    float val[NNZ_MAX], b[M_MAX * N_MAX], c[M_MAX * N_MAX], got[M_MAX * N_MAX];
} operands_t;

static operands_t x;

static void make(uint64_t *state, int m, int k, int n)
{
    x.m = m, x.n = n, x.k = k, x.nnz = 0;
    for (int i = 0; i < m; i++) {
        int entries = i % 7 ? (int)(gpu_random(state) % 20) : i % 2 ? 0 : 300;
        for (int e = 0; e < entries; e++, x.nnz++) {
            x.idx64[x.nnz] = x.idx32[x.nnz] = (int32_t)(gpu_random(state) % (uint64_t)k);
            x.val[x.nnz] = (float)(gpu_random(state) % 5) - 2.0f;
        }
        x.ptr64[i + 1] = x.ptr32[i + 1] = x.nnz;
    }
    for (int i = 0; i < M_MAX * N_MAX; i++) x.b[i] = (float)(gpu_random(state) % 7) - 3.0f;
    for (int i = 0; i < M_MAX * N_MAX; i++) x.c[i] = (float)(gpu_random(state) % 9) - 4.0f;
}

/* The arrays hold A^T: C[k, n] from B[m, n], where m and k are theirs. */
static bool right_transposed(const lac_spmm_t *call, float alpha, float beta)
{
    static float sum[K_MAX * N_MAX];
    memset(sum, 0, sizeof sum);
    for (int r = 0; r < x.m; r++)
        for (int e = x.ptr32[r]; e < x.ptr32[r + 1]; e++)
            for (int j = 0; j < x.n; j++)
                sum[x.idx32[e] * x.n + j] += x.val[e] * x.b[r * call->rsb + j * call->csb];
    for (int i = 0; i < x.k; i++)
        for (int j = 0; j < x.n; j++) {
            int64_t at = i * call->rsc + j * call->csc;
            if (x.got[at] != alpha * sum[i * x.n + j] + beta * x.c[at]) return false;
        }
    return true;
}

static bool right(const lac_spmm_t *call, float alpha, float beta)
{
    if (call->trans == LAC_TRANS) return right_transposed(call, alpha, beta);
    for (int i = 0; i < x.m; i++)
        for (int j = 0; j < x.n; j++) {
            float sum = 0.0f;
            for (int e = x.ptr32[i]; e < x.ptr32[i + 1]; e++)
                sum += x.val[e] * x.b[x.idx32[e] * call->rsb + j * call->csb];
            int64_t at = i * call->rsc + j * call->csc;
            if (x.got[at] != alpha * sum + beta * x.c[at]) return false;
        }
    return true;
}

/* Every layout and index type of one product. */
static void product(lac_ctx_t *ctx, float alpha, float beta)
{
    const float scalars[2] = {alpha, beta};
    void *ptr[2] = {gpu_upload(ctx, x.ptr32, sizeof x.ptr32), gpu_upload(ctx, x.ptr64, sizeof x.ptr64)},
         *idx[2] = {gpu_upload(ctx, x.idx32, sizeof x.idx32), gpu_upload(ctx, x.idx64, sizeof x.idx64)},
         *val = gpu_upload(ctx, x.val, sizeof x.val), *b = gpu_upload(ctx, x.b, sizeof x.b),
         *c = gpu_upload(ctx, x.c, sizeof x.c), *both = gpu_upload(ctx, scalars, sizeof scalars);
    for (int way = 0; way < 64; way += gpu_quick() ? 5 : 1) {
        int b_rows = way & 1, c_rows = way >> 1 & 1, ptr_type = way >> 2 & 1, idx_type = way >> 3 & 1;
        const float *where = way & 16 ? both : scalars;
        int transposed = way >> 5, m = transposed ? x.k : x.m, k = transposed ? x.m : x.k;
        lac_spmm_t call = {.m = m, .n = x.n, .k = k, .nnz = x.nnz, .val = val, .b = b, .c = c};
        call.trans = transposed ? LAC_TRANS : LAC_NO_TRANS;
        call.ptr_type = ptr_type ? LAC_I64 : LAC_I32, call.idx_type = idx_type ? LAC_I64 : LAC_I32;
        call.ptr = ptr[ptr_type], call.idx = idx[idx_type];
        call.rsb = b_rows ? x.n : 1, call.csb = b_rows ? 1 : k;
        call.rsc = c_rows ? x.n : 1, call.csc = c_rows ? 1 : m;
        call.alpha = where, call.beta = where + 1, call.scalars = way & 16 ? LAC_DEVICE : LAC_HOST;
        gpu_expect(lac_device_upload(ctx, c, x.c, sizeof x.c), LAC_OK, "upload");
        if (!lac_try_spmm(ctx, &call, "cusparseSpMM", NULL))
            gpu_fail("%dx%dx%d, way %d: declined", x.m, x.k, x.n, way);
        gpu_expect(lac_device_download(ctx, x.got, c, sizeof x.got), LAC_OK, "download");
        if (!right(&call, alpha, beta)) gpu_fail("%dx%dx%d, way %d: wrong", x.m, x.k, x.n, way);
    }
    void *all[] = {ptr[0], ptr[1], idx[0], idx[1], val, b, c, both};
    for (size_t i = 0; i < GPU_COUNT(all); i++) lac_device_free(ctx, all[i]);
}

static void test_products(lac_ctx_t *ctx)
{
    static const int shapes[][3] = {{1, 300, 1},    {700, 400, 8},  {33, 5, 20},    {200, 100, 64},
                                    {100, 399, 65}, {10, 300, 131}, {400, 128, 300}};
    uint64_t state = 5;
    gpu_expect(lac_ctx_set(ctx, "backend", "csr"), LAC_OK, "backend");
    for (size_t i = 0; i < GPU_COUNT(shapes); i += gpu_quick() ? 3 : 1) {
        make(&state, shapes[i][0], shapes[i][1], shapes[i][2]);
        product(ctx, 1.0f, 0.0f);
        product(ctx, 2.0f, -1.0f);
    }
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_products)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}

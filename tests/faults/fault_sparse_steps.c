/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What is done with the entries of a sparse matrix, and batches: whole numbers, from plain loops. */
#include "fault_steps.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { M = 24, K = 40, N = 12, PICKED = 9, COUNT = 3, MOST = 4096, LARGE = 1050 };
#define POISON (-77.0f)

static float s[M * K], val[M * K];   /* the sparse matrix, and its values  */
static float x[M * N], y[N * K];     /* operands of a product to sample    */
static float out[MOST], right[MOST]; /* what a step wrote, and should have */
static int32_t ptr[M + 1], idx[M * K];
static int32_t slice_ptr[PICKED + 1], slice_idx[PICKED * K];
static const int64_t picked[PICKED] = {3, 0, M - 1, 3, 7, 8, 2, 2, 11};
static int size; /* of right */

static void make_operands(void)
{
    int nnz = 0;
    for (int i = 0; i < M * N; i++) x[i] = (float)(i % 5 - 2);
    for (int i = 0; i < N * K; i++) y[i] = (float)(i % 7 - 3);
    for (int i = 0; i < M; i++) {
        for (int k = 0; k < K; k++) {
            if ((i + 3 * k) % 11) continue;
            s[i * K + k] = val[nnz] = (float)(k % 3 + 1);
            idx[nnz++] = k;
        }
        ptr[i + 1] = nnz;
    }
}

/* An operand that is frozen and scanned, or attached and sparse only. */
static lac_status_t make_sparse(lac_ctx_t *ctx, bool frozen, lac_obj_t *obj)
{
    *obj = lac_obj_rowmajor(LAC_F32, M, K, frozen ? s : NULL, K);
    lac_status_t status = lac_meta_create(&obj->meta, M, K);
    if (status) return status;
    if (!frozen) return lac_meta_attach_csr(obj->meta, LAC_I32, ptr, idx, val);
    status = lac_meta_scan(ctx, obj, LAC_META_CSR);
    return status ? status : lac_meta_freeze(obj->meta);
}

static lac_status_t rows(lac_ctx_t *ctx, lac_obj_t *sparse)
{
    lac_obj_t to = lac_obj_rowmajor(LAC_F32, PICKED, K, out, K);
    size = PICKED * K;
    for (int i = 0; i < PICKED; i++) memcpy(right + i * K, s + picked[i] * K, K * sizeof *s);
    return lac_slice_rows(ctx, sparse, LAC_I64, PICKED, picked, &to, NULL);
}

static lac_status_t rows_gradient(lac_ctx_t *ctx, lac_obj_t *sparse)
{
    lac_obj_t from = lac_obj_rowmajor(LAC_F32, PICKED, K, s, K); /* any numbers */
    size = ptr[M];
    for (int r = 0; r < M; r++)
        for (int e = ptr[r]; e < ptr[r + 1]; e++)
            for (int i = 0; i < PICKED; i++)
                if (picked[i] == r) right[e] += s[i * K + idx[e]];
    return lac_slice_rows_grad(ctx, sparse, LAC_I64, PICKED, picked, &from, out, NULL);
}

static lac_status_t rows_as_csr(lac_ctx_t *ctx, lac_obj_t *sparse)
{
    for (int i = size = 0; i < PICKED; i++)
        for (int e = ptr[picked[i]]; e < ptr[picked[i] + 1]; e++) right[size++] = val[e];
    lac_status_t status =
        lac_slice_rows_count(ctx, sparse, LAC_I64, PICKED, picked, LAC_I32, slice_ptr, NULL);
    return status ? status
                  : lac_slice_rows_csr(ctx, sparse, LAC_I64, PICKED, picked, LAC_I32, slice_ptr, slice_idx,
                                       out, NULL);
}

/* The rows of x times the columns of y at the entries of the pattern, or at all positions. */
static void product_of_x_and_y(bool at_entries)
{
    for (int i = size = 0; i < M; i++)
        for (int k = 0; k < K; k++) {
            if (at_entries && s[i * K + k] == 0.0f) continue;
            right[size] = 0.0f;
            for (int j = 0; j < N; j++) right[size] += x[i * N + j] * y[j * K + k];
            size++;
        }
}

static lac_status_t sampled(lac_ctx_t *ctx, lac_obj_t *sparse)
{
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, M, N, x, N), b = lac_obj_rowmajor(LAC_F32, N, K, y, K);
    product_of_x_and_y(true);
    return lac_sddmm(ctx, NULL, &a, &b, NULL, sparse, out);
}

static lac_status_t gradient_of_all(lac_ctx_t *ctx, lac_obj_t *sparse)
{
    (void)sparse;
    lac_obj_t grad_c = lac_obj_rowmajor(LAC_F32, M, N, x, N), b = lac_obj_colmajor(LAC_F32, K, N, y, K);
    lac_obj_t grad_a = lac_obj_rowmajor(LAC_F32, M, K, out, K);
    product_of_x_and_y(false);
    return lac_gemm_grad_a(ctx, NULL, &grad_c, &b, NULL, &grad_a, NULL);
}

/* A left operand without a buffer is expanded first: the sparse matrix times its own rows at the entries. */
static lac_status_t sampled_of_sparse(lac_ctx_t *ctx, lac_obj_t *sparse)
{
    static float square[M * M];
    lac_obj_t b = lac_obj_rowmajor(LAC_F32, M, K, s, K), a = lac_obj_rowmajor(LAC_F32, M, M, square, M);
    for (int i = 0; i < M; i++) square[i * M + i] = 2.0f;
    for (int i = size = 0; i < ptr[M]; i++) right[size++] = 2.0f * val[i];
    return lac_sddmm(ctx, NULL, &a, sparse->buf ? &b : sparse, NULL, sparse, out);
}

/* The sparse matrix times COUNT dense ones, which do not lie together: C by columns, B by rows. */
static lac_status_t batch(lac_ctx_t *ctx, lac_obj_t *sparse)
{
    static float b[COUNT * K * N];
    lac_obj_t first = lac_obj_rowmajor(LAC_F32, K, N, b, N), to = lac_obj_rowmajor(LAC_F32, M, N, out, N);
    for (int i = 0; i < COUNT * K * N; i++) b[i] = (float)(i % 9 - 4);
    size = COUNT * M * N;
    for (int i = 0; i < size; i++)
        for (int k = 0; k < K; k++) right[i] += s[i / N % M * K + k] * b[i / (M * N) * K * N + k * N + i % N];
    return lac_gemm_batched(ctx, COUNT, NULL, sparse, 0, &first, K * N, NULL, &to, M * N);
}

/* Into every other format, and from one of them into a dense matrix. */
static lac_status_t converted(lac_ctx_t *ctx, lac_obj_t *sparse)
{
    int64_t count;
    uint64_t tiles[M];
    lac_obj_t to = lac_obj_rowmajor(LAC_F32, M, K, out, K);
    size = M * K;
    memcpy(right, s, sizeof s);
    lac_status_t status = lac_meta_convert(ctx, sparse, LAC_META_CSC | LAC_META_BITMASK | LAC_META_ACTIVE);
    if (!status) status = lac_count_nonzeros(ctx, sparse, &count);
    if (!status) status = lac_tile_occupancy(ctx, sparse, 1, 1, tiles, &count);
    return status ? status : lac_to_dense(ctx, sparse, &to);
}

/* A buffer that no cache holds, whose nonzeros are found in one reading, by lines and across them. */
static lac_status_t large(lac_ctx_t *ctx, lac_obj_t *sparse)
{
    static float buffer[LARGE * LARGE];
    lac_obj_t all = lac_obj_rowmajor(LAC_F32, LARGE, LARGE, buffer, LARGE);
    lac_format_view_t csr = {0}, csc = {0};
    size = 0;
    if (!sparse->buf) return LAC_OK; /* once is enough */
    size = 4;
    for (int i = 0; i < 3; i++) buffer[i * (LARGE + 1) * 100] = right[i] = (float)(i + 1);
    right[3] = 3.0f;
    lac_status_t status = lac_meta_create(&all.meta, LARGE, LARGE);
    if (!status) status = lac_meta_scan(ctx, &all, LAC_META_CSR | LAC_META_CSC);
    if (!status) status = lac_meta_freeze(all.meta);
    if (!status) status = lac_meta_view(all.meta, LAC_META_CSR, &csr);
    if (!status) status = lac_meta_view(all.meta, LAC_META_CSC, &csc);
    for (int i = 0; !status && i < 3; i++)
        out[i] =
            ((const float *)csr.val)[i] == ((const float *)csc.val)[i] ? ((const float *)csr.val)[i] : POISON;
    if (!status) out[3] = (float)csc.count;
    lac_meta_free(all.meta);
    return status;
}

/* One rank says to itself what it says to others. */
static int echo(void *arg, const void *mine, void *all, size_t bytes, void **request)
{
    *request = arg;
    memcpy(all, mine, bytes);
    return 0;
}

static int at_once(void *arg, void *request)
{
    (void)arg, (void)request;
    return 1;
}

/* The nonzeros of the sparse matrix as the events of the only rank. */
static lac_status_t exchanged(lac_ctx_t *ctx, lac_obj_t *sparse)
{
    lac_comm_callbacks_t callbacks = {.size = sizeof callbacks, .ranks = 1, .gather = echo, .test = at_once};
    lac_comm_t *comm = NULL;
    lac_events_t *events = NULL;
    lac_obj_t mine = lac_obj_rowmajor(LAC_F32, M, K, s, K), all;
    size = 0;
    if (!sparse->buf) return LAC_OK; /* once is enough */
    size = M * K;
    for (int i = 0; i < size; i++) right[i] = s[i] != 0.0f ? 1.0f : 0.0f;
    lac_status_t status = lac_comm_from_callbacks(ctx, &comm, &callbacks, NULL);
    if (!status) status = lac_events_create(comm, &events, M, K);
    if (!status) status = lac_events_allgather(events, &mine);
    if (!status) status = lac_events_operand(events, &all);
    for (int i = 0; !status && i < size; i++) out[i] = (float)((const unsigned char *)all.buf)[i];
    lac_events_free(events);
    lac_comm_free(comm);
    return status;
}

static lac_status_t (*const steps[])(lac_ctx_t *, lac_obj_t *) = {
    rows,  rows_gradient, rows_as_csr, sampled,  gradient_of_all, sampled_of_sparse,
    batch, converted,     large,       exchanged};
enum { STEPS = 2 * sizeof steps / sizeof *steps };

static int count_steps(void)
{
    return STEPS;
}

static lac_status_t run_step(lac_ctx_t *ctx, int i, const char **wrong)
{
    lac_obj_t sparse;
    for (int e = 0; e < MOST; e++) out[e] = POISON, right[e] = 0.0f;
    lac_status_t status = make_sparse(ctx, i % 2, &sparse);
    if (!status) status = steps[i / 2](ctx, &sparse);
    lac_meta_free(sparse.meta);
    for (int e = 0; !status && e < size; e++)
        if (out[e] != right[e]) *wrong = "a wrong result";
    if (status && steps[i / 2] == batch) return status; /* the products before the failing one are done */
    for (int e = status ? 0 : size; e < MOST; e++)
        if (out[e] != POISON) *wrong = status ? "an error, and the result was written" : "written too much";
    return status;
}

const fault_steps_t fault_sparse_steps = {make_operands, count_steps, run_step};

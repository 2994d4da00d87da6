/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Conversions tried: dense contents, counts, tiles, and one format of another. */
#include <stdlib.h>
#include <string.h>

#include "problems.h"
#include "call.h"

static apitest_end_t judge_dense(apitest_t *t, const guarded_matrix_t *out, const ref_matrix_t *want)
{
    ref_matrix_t got = ref_matrix_op(&out->host, out->obj.trans);
    apitest_end_t end = apitest_padding(t, &out->host, "out");
    return end == APITEST_PASSED ? apitest_same(t, &got, want, "out") : end;
}

apitest_end_t apitest_to_dense(apitest_t *t)
{
    apitest_operand_t x = apitest_operand(t);
    ref_matrix_t want = ref_matrix_op(x.stored, x.obj.trans);
    ref_layout_t layout = problem_random_layout(&t->rng);
    bool transposed = rng_below(&t->rng, 2) == 0;
    int64_t m = transposed ? want.n : want.m, n = transposed ? want.m : want.n;
    guarded_matrix_t out;
    lac_status_t status =
        guarded_matrix_make(&out, t->ctx, apitest_values(t, &x.obj), m, n, &layout, NULL, 0);
    out.obj.trans = transposed ? LAC_TRANS : LAC_NO_TRANS;
    if (status == LAC_OK) status = apitest_call(t, lac_to_dense(t->ctx, &x.obj, &out.obj));
    if (status == LAC_OK) status = apitest_fetch_matrix(t, &out);
    apitest_end_t end =
        status == LAC_OK ? judge_dense(t, &out, &want) : apitest_stop(t, status, "lac_to_dense");
    guarded_matrix_free(&out);
    return end;
}

apitest_end_t apitest_count(apitest_t *t)
{
    apitest_operand_t x = apitest_operand(t);
    int64_t want = ref_matrix_nonzeros(x.stored), got = -1;
    guarded_buffer_t count;
    lac_status_t status = guarded_buffer_make(&count, t->ctx, sizeof got, NULL);
    if (status == LAC_OK)
        status = apitest_call(t, lac_count_nonzeros(t->ctx, &x.obj, guarded_buffer_at(&count)));
    if (status == LAC_OK) status = apitest_fetch_array(t, &count);
    if (status == LAC_OK) memcpy(&got, guarded_buffer_host(&count), sizeof got);
    apitest_end_t end = APITEST_PASSED;
    if (status != LAC_OK)
        end = apitest_stop(t, status, "lac_count_nonzeros");
    else if (got != want)
        end = apitest_fail(t, "count is %lld and must be %lld", (long long)got, (long long)want);
    else if (!guarded_buffer_overrun(&count))
        end = apitest_fail(t, "wrote outside count");
    t->bits = (uint64_t)got;
    guarded_buffer_free(&count);
    return end;
}

/* Tiles of a matrix, and which of them are to be found occupied. */
typedef struct tiling {
    int64_t rows, cols, down, words, occupied;
    uint64_t *bits;
} tiling_t;

static lac_status_t expect_tiles(apitest_t *t, const ref_matrix_t *x, tiling_t *tiles)
{
    tiles->rows = rng_log_uniform(&t->rng, 140);
    tiles->cols = rng_log_uniform(&t->rng, 140);
    tiles->down = (x->m + tiles->rows - 1) / tiles->rows;
    tiles->words = ((x->n + tiles->cols - 1) / tiles->cols + 63) / 64;
    tiles->occupied = 0;
    tiles->bits = calloc((size_t)(tiles->down * tiles->words) + 1, sizeof *tiles->bits);
    if (!tiles->bits) return LAC_ERR_MEMORY;
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) {
            if (ref_matrix_at(x, i, j) == 0.0) continue;
            int64_t tile = j / tiles->cols;
            uint64_t *word = &tiles->bits[i / tiles->rows * tiles->words + tile / 64];
            uint64_t bit = UINT64_C(1) << tile % 64;
            tiles->occupied += !(*word & bit);
            *word |= bit;
        }
    return LAC_OK;
}

static apitest_end_t judge_tiles(apitest_t *t, const tiling_t *want, const guarded_buffer_t *bits,
                                 const guarded_buffer_t *count)
{
    int64_t occupied;
    memcpy(&occupied, guarded_buffer_host(count), sizeof occupied);
    if (bits->bytes && memcmp(guarded_buffer_host(bits), want->bits, bits->bytes) != 0)
        return apitest_fail(t, "bits of %lld x %lld tiles are not those of the contents",
                            (long long)want->rows, (long long)want->cols);
    if (occupied != want->occupied)
        return apitest_fail(t, "count is %lld and must be %lld", (long long)occupied,
                            (long long)want->occupied);
    if (!guarded_buffer_overrun(bits)) return apitest_fail(t, "wrote outside bits");
    return guarded_buffer_overrun(count) ? APITEST_PASSED : apitest_fail(t, "wrote outside count");
}

apitest_end_t apitest_occupancy(apitest_t *t)
{
    apitest_operand_t x = apitest_operand(t);
    ref_matrix_t op = ref_matrix_op(x.stored, x.obj.trans);
    tiling_t want;
    guarded_buffer_t bits = {0}, count = {0};
    lac_status_t status = expect_tiles(t, &op, &want);
    size_t bytes = (size_t)(want.down * want.words) * sizeof *want.bits;
    if (status == LAC_OK) status = guarded_buffer_make(&bits, t->ctx, bytes, NULL);
    if (status == LAC_OK) status = guarded_buffer_make(&count, t->ctx, sizeof(int64_t), NULL);
    if (status == LAC_OK)
        status = lac_tile_occupancy(t->ctx, &x.obj, want.rows, want.cols, guarded_buffer_at(&bits),
                                    guarded_buffer_at(&count));
    status = apitest_call(t, status);
    if (status == LAC_OK) status = apitest_fetch_array(t, &bits);
    if (status == LAC_OK) status = apitest_fetch_array(t, &count);
    apitest_end_t end = status == LAC_OK ? judge_tiles(t, &want, &bits, &count)
                                         : apitest_stop(t, status, "lac_tile_occupancy");
    free(want.bits);
    guarded_buffer_free(&bits);
    guarded_buffer_free(&count);
    return end;
}

/* Formats of the operand's own metadata, which are there for the trials that follow, too. */
apitest_end_t apitest_derive(apitest_t *t)
{
    static const unsigned format[] = {LAC_META_CSR, LAC_META_CSC, LAC_META_BITMASK, LAC_META_ACTIVE};
    apitest_operand_t x = apitest_operand(t);
    bool stands = x.said->frozen && x.obj.buf;
    unsigned what = 0;
    for (int i = 0; i < 4; i++) {
        stands |= apitest_stands(&x.obj, format[i]);
        if (rng_below(&t->rng, 2) == 0) what |= format[i];
    }
    lac_status_t status = apitest_call(t, lac_meta_convert(t->ctx, &x.obj, what));
    if (!x.obj.meta) return apitest_expect_refusal(t, status, LAC_ERR_NULL, "obj");
    if (!what) return apitest_expect_refusal(t, status, LAC_ERR_VALUE, "what");
    if (!stands) return apitest_expect_refusal(t, status, LAC_ERR_EMPTY, "obj");
    if (status != LAC_OK) return apitest_stop(t, status, "lac_meta_convert");
    apitest_end_t end = APITEST_PASSED;
    for (int i = 0; end == APITEST_PASSED && i < 4; i++)
        if (what & format[i]) end = apitest_format(t, x.obj.meta, format[i], x.stored);
    return end;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Conversions tried: dense contents, counts, tiles, and one format of another. */
#include <stdlib.h>
#include <string.h>

#include "problem_random.h"
#include "trial.h"

static trial_end_t judge_dense(trial_t *t, const placed_matrix_t *out, const ref_matrix_t *want)
{
    ref_matrix_t got = ref_matrix_op(&out->host, out->obj.trans);
    trial_end_t end = trial_padding(t, &out->host, "out");
    return end == TRIAL_PASSED ? trial_same(t, &got, want, "out") : end;
}

trial_end_t trial_to_dense(trial_t *t)
{
    trial_operand_t x = trial_operand(t);
    ref_matrix_t want = ref_matrix_op(x.stored, x.obj.trans);
    ref_layout_t layout = problem_random_layout(&t->dice);
    bool transposed = dice_below(&t->dice, 2) == 0;
    int64_t m = transposed ? want.n : want.m, n = transposed ? want.m : want.n;
    placed_matrix_t out;
    lac_status_t status = placed_matrix_make(&out, t->ctx, m, n, &layout, NULL, 0);
    out.obj.trans = transposed ? LAC_TRANS : LAC_NO_TRANS;
    if (status == LAC_OK) status = trial_call(t, lac_to_dense(t->ctx, &x.obj, &out.obj));
    if (status == LAC_OK) status = trial_fetch_matrix(t, &out);
    trial_end_t end = status == LAC_OK ? judge_dense(t, &out, &want) : trial_stop(t, status, "lac_to_dense");
    placed_matrix_free(&out);
    return end;
}

trial_end_t trial_count(trial_t *t)
{
    trial_operand_t x = trial_operand(t);
    int64_t want = ref_matrix_nonzeros(x.stored), got = -1;
    placed_array_t count;
    lac_status_t status = placed_array_make(&count, t->ctx, sizeof got, NULL);
    if (status == LAC_OK) status = trial_call(t, lac_count_nonzeros(t->ctx, &x.obj, placed_array_at(&count)));
    if (status == LAC_OK) status = trial_fetch_array(t, &count);
    if (status == LAC_OK) memcpy(&got, placed_array_host(&count), sizeof got);
    trial_end_t end = TRIAL_PASSED;
    if (status != LAC_OK)
        end = trial_stop(t, status, "lac_count_nonzeros");
    else if (got != want)
        end = trial_fail(t, "count is %lld and must be %lld", (long long)got, (long long)want);
    else if (!placed_array_guarded(&count))
        end = trial_fail(t, "wrote outside count");
    t->bits = (uint64_t)got;
    placed_array_free(&count);
    return end;
}

/* Tiles of a matrix, and which of them are to be found occupied. */
typedef struct tiling {
    int64_t rows, cols, down, words, occupied;
    uint64_t *bits;
} tiling_t;

static lac_status_t expect_tiles(trial_t *t, const ref_matrix_t *x, tiling_t *tiles)
{
    tiles->rows = dice_log_uniform(&t->dice, 140);
    tiles->cols = dice_log_uniform(&t->dice, 140);
    tiles->down = (x->m + tiles->rows - 1) / tiles->rows;
    tiles->words = ((x->n + tiles->cols - 1) / tiles->cols + 63) / 64;
    tiles->occupied = 0;
    tiles->bits = calloc((size_t)(tiles->down * tiles->words) + 1, sizeof *tiles->bits);
    if (!tiles->bits) return LAC_ERR_MEMORY;
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) {
            if (ref_matrix_at(x, i, j) == 0.0f) continue;
            int64_t tile = j / tiles->cols;
            uint64_t *word = &tiles->bits[i / tiles->rows * tiles->words + tile / 64];
            uint64_t bit = UINT64_C(1) << tile % 64;
            tiles->occupied += !(*word & bit);
            *word |= bit;
        }
    return LAC_OK;
}

static trial_end_t judge_tiles(trial_t *t, const tiling_t *want, const placed_array_t *bits,
                               const placed_array_t *count)
{
    int64_t occupied;
    memcpy(&occupied, placed_array_host(count), sizeof occupied);
    if (bits->bytes && memcmp(placed_array_host(bits), want->bits, bits->bytes) != 0)
        return trial_fail(t, "bits of %lld x %lld tiles are not those of the contents", (long long)want->rows,
                          (long long)want->cols);
    if (occupied != want->occupied)
        return trial_fail(t, "count is %lld and must be %lld", (long long)occupied,
                          (long long)want->occupied);
    if (!placed_array_guarded(bits)) return trial_fail(t, "wrote outside bits");
    return placed_array_guarded(count) ? TRIAL_PASSED : trial_fail(t, "wrote outside count");
}

trial_end_t trial_occupancy(trial_t *t)
{
    trial_operand_t x = trial_operand(t);
    ref_matrix_t op = ref_matrix_op(x.stored, x.obj.trans);
    tiling_t want;
    placed_array_t bits = {0}, count = {0};
    lac_status_t status = expect_tiles(t, &op, &want);
    size_t bytes = (size_t)(want.down * want.words) * sizeof *want.bits;
    if (status == LAC_OK) status = placed_array_make(&bits, t->ctx, bytes, NULL);
    if (status == LAC_OK) status = placed_array_make(&count, t->ctx, sizeof(int64_t), NULL);
    if (status == LAC_OK)
        status = lac_tile_occupancy(t->ctx, &x.obj, want.rows, want.cols, placed_array_at(&bits),
                                    placed_array_at(&count));
    status = trial_call(t, status);
    if (status == LAC_OK) status = trial_fetch_array(t, &bits);
    if (status == LAC_OK) status = trial_fetch_array(t, &count);
    trial_end_t end =
        status == LAC_OK ? judge_tiles(t, &want, &bits, &count) : trial_stop(t, status, "lac_tile_occupancy");
    free(want.bits);
    placed_array_free(&bits);
    placed_array_free(&count);
    return end;
}

/* Formats of the operand's own metadata, which are there for the trials that follow, too. */
trial_end_t trial_derive(trial_t *t)
{
    static const unsigned format[] = {LAC_META_CSR, LAC_META_CSC, LAC_META_BITMASK, LAC_META_ACTIVE};
    trial_operand_t x = trial_operand(t);
    bool stands = x.said->frozen && x.obj.buf;
    unsigned what = 0;
    for (int i = 0; i < 4; i++) {
        stands |= trial_stands(&x.obj, format[i]);
        if (dice_below(&t->dice, 2) == 0) what |= format[i];
    }
    lac_status_t status = trial_call(t, lac_meta_convert(t->ctx, &x.obj, what));
    if (!x.obj.meta) return trial_expect_refusal(t, status, LAC_ERR_NULL, "obj");
    if (!what) return trial_expect_refusal(t, status, LAC_ERR_VALUE, "what");
    if (!stands) return trial_expect_refusal(t, status, LAC_ERR_EMPTY, "obj");
    if (status != LAC_OK) return trial_stop(t, status, "lac_meta_convert");
    trial_end_t end = TRIAL_PASSED;
    for (int i = 0; end == TRIAL_PASSED && i < 4; i++)
        if (what & format[i]) end = trial_format(t, x.obj.meta, format[i], x.stored);
    return end;
}

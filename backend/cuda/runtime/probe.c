/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Samples of an operand's density: asked in one call, found in the pinned memory by a later one. */
#include "exec.h"

#include <time.h>

#define FIRST_WAIT_US 100.0 /* that a site's first look may wait for its answer */

_Static_assert(LAC_CUDA_PIECE_ACROSS == LAC_BLOCK_ACROSS && LAC_CUDA_PIECE_K == LAC_BLOCK_K,
               "the blocks that the planner asks for");

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static uint64_t *words_of(const lac_exec_t *exec, const lac_cuda_sample_t *sample)
{
    return exec->answers + (sample - exec->sample) * LAC_CUDA_PROBE_WORDS;
}

/* Of all blocks together; where the words are one number, that is `seen`. */
typedef struct sums {
    int64_t seen, lines, pieces;
} sums_t;

/* True once every block has written its word: then the sum of what lies behind the marks, as three numbers
 * or, where the words are not `parted`, as one. */
static bool answered(const lac_exec_t *exec, const lac_cuda_sample_t *sample, bool parted, sums_t *sum)
{
    const volatile uint64_t *words = words_of(exec, sample);
    *sum = (sums_t){0};
    for (int i = 0; i < LAC_CUDA_PROBE_WORDS; i++) {
        uint64_t word = words[i];
        if (word >> 32 != sample->mark) return false;
        sum->seen += (int64_t)(word & (parted ? UINT16_MAX : UINT32_MAX));
        sum->lines += (int64_t)(word >> 16 & UINT8_MAX);
        sum->pieces += (int64_t)(word >> 24 & UINT8_MAX);
    }
    return true;
}

/* A caller may never collect its answer: where all slots are taken, one that was answered is free. */
static lac_cuda_sample_t *find(lac_exec_t *exec, const void *tag)
{
    lac_cuda_sample_t *empty = NULL, *left = NULL;
    sums_t unread;
    for (int i = 0; i < LAC_CUDA_SAMPLES; i++) {
        if (exec->sample[i].tag == tag) return &exec->sample[i];
        if (!exec->sample[i].tag && !empty) empty = &exec->sample[i];
    }
    for (int i = 0; !empty && !left && i < LAC_CUDA_SAMPLES; i++)
        if (answered(exec, &exec->sample[i], false, &unread)) left = &exec->sample[i];
    if (left) left->tag = NULL;
    return empty ? empty : left;
}

/* Readies a slot for an answer about so many elements. */
static bool prepare(lac_exec_t *exec, lac_cuda_sample_t *sample, lac_dim_t rows, lac_dim_t cols)
{
    double elements = (double)rows * (double)cols;
    if (lac_cuda_capturing(exec)) return false;
    if (!++exec->mark) exec->mark = 1; /* 0 is what fresh memory holds */
    sample->mark = exec->mark;
    sample->rows = rows;
    sample->cols = cols;
    sample->sampled = elements < LAC_CUDA_PROBE_SAMPLES ? rows * cols : LAC_CUDA_PROBE_SAMPLES;
    return true;
}

static bool ask(lac_exec_t *exec, lac_cuda_sample_t *sample, const lac_operand_t *x, lac_dim_t rows,
                lac_dim_t cols, bool k_by_rows, uint64_t seed)
{
    lac_cuda_matrix_t matrix = {x->dt, x->buf, rows, cols, x->rs, x->cs};
    if (!prepare(exec, sample, rows, cols)) return false;
    return lac_cuda_probe_marked(&matrix, k_by_rows, seed, sample->mark, words_of(exec, sample),
                                 exec->stream) == LAC_OK;
}

int64_t lac_cuda_sample(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                        lac_sample_t *out, uint64_t seed, const void *tag, bool first)
{
    sums_t sum;
    lac_cuda_sample_t *sample = find(exec, tag);
    out->looked = 0;
    if (!sample) return 0; /* the device owes too much already */
    bool asked = sample->tag == tag && sample->rows == rows && sample->cols == cols;
    if (!asked && !ask(exec, sample, x, rows, cols, out->k_by_rows, seed)) {
        sample->tag = NULL;
        return 0;
    }
    sample->tag = tag;
    bool there = answered(exec, sample, true, &sum);
    for (double begin = now_us(); first && !there && now_us() - begin < FIRST_WAIT_US;)
        there = answered(exec, sample, true, &sum);
    if (!there) return 0;
    sample->tag = NULL;
    out->looked = sample->sampled;
    out->lines = (double)sum.lines / LAC_CUDA_PROBE_LINES;
    lac_dim_t across = out->k_by_rows ? cols : rows;
    out->each = across < LAC_CUDA_PROBE_LINE ? (int)across : LAC_CUDA_PROBE_LINE;
    out->blocks = (double)sum.pieces / LAC_CUDA_PROBE_PIECES;
    out->each_block = LAC_CUDA_PROBE_LINE;
    return sum.seen;
}

bool lac_cuda_operand_fingerprint(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                                  const void *tag, bool asks, uint64_t *fingerprint)
{
    lac_cuda_matrix_t matrix = {x->dt, x->buf, rows, cols, x->rs, x->cs};
    lac_cuda_sample_t *sample = find(exec, tag);
    sums_t sum;
    if (!sample || (!asks && sample->tag != tag)) return false;
    bool asked = sample->tag == tag && sample->rows == rows && sample->cols == cols;
    if (!asked) {
        sample->tag = NULL;
        if (!asks || !prepare(exec, sample, rows, cols)) return false;
        if (lac_cuda_fingerprint(&matrix, sample->mark, words_of(exec, sample), exec->stream)) return false;
        sample->tag = tag;
    }
    if (!answered(exec, sample, false, &sum)) return false;
    sample->tag = NULL;
    *fingerprint = (uint64_t)sum.seen;
    return true;
}

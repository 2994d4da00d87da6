/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The product by tiles on tensor cores, at the accuracy of fp32: its launchers and their workspace.
 *
 *     c[i, j] := beta c[i, j] + alpha * sum over k of a[i, k] * b[k, j]      i < m, j < n
 *
 * The conventions are those of cuda_kernels.h. Needs compute capability 9.0. */
#ifndef LACUNA_TILES_H
#define LACUNA_TILES_H

#include "cuda_kernels.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lac_cuda_tiles {
    int64_t m, n, k;
    lac_cuda_scalar_t alpha;
    const float *a; /* any strides; k where all rows of a tile are zero are skipped */
    int64_t ars, acs;
    const float *b; /* rows contiguous: element (k, j) at b[k * ldb + j] */
    int64_t ldb;
    lac_cuda_scalar_t beta;
    float *c;
    int64_t crs, ccs;
} lac_cuda_tiles_t;

/* True where the thread's current device has the instructions: compute capability 9. */
bool lac_cuda_tiles_here(void);
/* True where b can be read as it lies: rows of 16-byte pieces. */
bool lac_cuda_tiles_aligned(const float *b, int64_t ldb);

/* A tile of c is LAC_CUDA_TILES_SIDE square; LAC_CUDA_TILES_ROWS rows of a share a list of active k, which
 * are multiplied LAC_CUDA_TILES_STEP at a time. */
#define LAC_CUDA_TILES_SIDE 128
#define LAC_CUDA_TILES_ROWS 64
#define LAC_CUDA_TILES_STEP 32
/* Blocks that share the steps of a tile, so that all multiprocessors have work. */
int lac_cuda_tiles_splits(int64_t tiles, int64_t steps, int64_t processors);

int64_t lac_cuda_tiles_bytes(int64_t m, int64_t n, int64_t k);

/* The three steps on one workspace (256-byte aligned): lists and pieces of a, products on tensor cores, and
 * the tiles that these could not do (Inf, NaN, overflow), by fp32 multiply-adds. */
lac_status_t lac_cuda_tiles_run(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);
lac_status_t lac_cuda_tiles_pack(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);
lac_status_t lac_cuda_tiles_multiply(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);
lac_status_t lac_cuda_tiles_reduce(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);
lac_status_t lac_cuda_tiles_repair(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The product by tiles on tensor cores, at the accuracy of fp32: its launchers and their workspace.
 *
 *     c[i, j] := beta c[i, j] + alpha * sum over k of a[i, k] * b[k, j]      i < m, j < n
 *
 * The conventions are those of cuda_kernels.h. Needs compute capability 8.0. */
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
    const void *packed; /* what lac_cuda_tiles_pack made of a, or NULL: it is made in the workspace */
    int64_t room;       /* of packed */
    const float *b;     /* rows contiguous: element (k, j) at b[k * ldb + j] */
    int64_t ldb;
    lac_cuda_scalar_t beta;
    float *c;
    int64_t crs, ccs;
    lac_cuda_epilogue_t epilogue; /* what follows, done where c is written */
    bool portable;  /* by the kernel of other devices, also where there are warpgroup products: to test it */
    uint64_t *bits; /* NULL, or where the occupancy of what is written to c goes, as in lac_cuda_bits_t; NaN
                       is not zero */
    int64_t bits_words;   /* from one row of bits to the next: ceil(n / 64) */
    bool bits_transposed; /* a row of bits for each column of c, then of ceil(m / 64) words */
} lac_cuda_tiles_t;

/* True where the thread's current device has the instructions: compute capability 8.0. */
bool lac_cuda_tiles_here(void);
/* True where b can be read as it lies: rows of 16-byte pieces, less than 4 GiB from each other. */
bool lac_cuda_tiles_aligned(const float *b, int64_t ldb);

/* A tile of c is LAC_CUDA_TILES_SIDE square; LAC_CUDA_TILES_ROWS rows of a, a quarter, are active at a k or
 * not, and k are multiplied LAC_CUDA_TILES_STEP at a time. */
#define LAC_CUDA_TILES_SIDE 128
#define LAC_CUDA_TILES_ROWS 32
#define LAC_CUDA_TILES_STEP 32
/* Blocks that share the steps of a tile, so that all multiprocessors have work. */
int lac_cuda_tiles_splits(int64_t tiles, int64_t steps, int64_t processors);

/* Lists of active k and pieces of a, at `memory`, which has `room` steps for each quarter tile of rows: for
 * any a lac_cuda_tiles_room(k). All memory is aligned to 256 bytes. */
int64_t lac_cuda_tiles_room(int64_t k);
int64_t lac_cuda_tiles_packed_bytes(int64_t m, int64_t k, int64_t room);
lac_status_t lac_cuda_tiles_pack(const lac_cuda_tiles_t *p, int64_t room, void *memory,
                                 lac_cuda_stream_t stream);
/* *most := the room that what was packed needs; on the device. */
lac_status_t lac_cuda_tiles_max_room(int64_t m, int64_t k, int64_t room, const void *memory, int *most,
                                     lac_cuda_stream_t stream);
/* True where one packing serves the whole product: a few gigabytes at most. */
bool lac_cuda_tiles_whole(int64_t m, int64_t n, int64_t k);

/* The whole product, and its workspace: where a is not packed, that is part of both. */
int64_t lac_cuda_tiles_bytes(int64_t m, int64_t n, int64_t k, bool packed);
lac_status_t lac_cuda_tiles_run(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);
/* Its steps where a is packed: products on tensor cores, sums of shared tiles, and the tiles that tensor
 * cores could not do (Inf, NaN, overflow), by fp32 multiply-adds. */
lac_status_t lac_cuda_tiles_begin(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);
lac_status_t lac_cuda_tiles_multiply(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);
lac_status_t lac_cuda_tiles_reduce(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);
lac_status_t lac_cuda_tiles_fixup(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);
/* The bits, from what the steps above left of them in the workspace. */
lac_status_t lac_cuda_tiles_occupied(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);

#ifdef __cplusplus
}
#endif
#endif

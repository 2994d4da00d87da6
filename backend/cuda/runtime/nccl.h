/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * NCCL, found at run time: the program's own where it has loaded one. */
#ifndef LACUNA_CUDA_RUNTIME_NCCL_H
#define LACUNA_CUDA_RUNTIME_NCCL_H

#include "lacuna/comm.h"

#include <stdbool.h>
#include <stddef.h>

/* Values of nccl.h that are part of its binary interface. */
enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7, NCCL_UINT8 = 1 };
#define NCCL_UNSET (-2147483647 - 1)

/* ncclConfig_t as of 2.18; size and version tell NCCL how much of it is there. */
typedef struct lac_nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking, cga_cluster, min_blocks, max_blocks;
    const char *net;
    int split_share;
} lac_nccl_config_t;

#define LAC_NCCL_CONFIG                                                                                      \
    {                                                                                                        \
        sizeof(lac_nccl_config_t), 0xcafebeefu, 21800, 0, NCCL_UNSET, NCCL_UNSET, NCCL_UNSET, NULL,          \
            NCCL_UNSET                                                                                       \
    }

typedef struct lac_nccl {
    bool found;
    char missing[256]; /* why it was not */
    int (*unique_id)(lac_comm_id_t *id);
    int (*init)(void **comm, int ranks, lac_comm_id_t id, int rank, lac_nccl_config_t *config);
    int (*async_error)(void *comm, int *error);
    int (*abort)(void *comm);
    int (*destroy)(void *comm);
    int (*finalize)(void *comm);
    int (*count)(const void *comm, int *count);
    int (*rank)(const void *comm, int *rank);
    int (*device)(const void *comm, int *device);
    int (*all_gather)(const void *mine, void *all, size_t count, int type, void *comm, void *stream);
    const char *(*text)(int error);
} lac_nccl_t;

/* Searched for once. */
const lac_nccl_t *lac_nccl(void);

#endif

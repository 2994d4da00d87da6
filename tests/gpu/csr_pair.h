/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One random CSR operand twice: on the host, whose backend is the oracle here, and on the device. */
#ifndef CSR_PAIR_H
#define CSR_PAIR_H

#include "gpu_support.h"

typedef struct csr_pair {
    lac_ctx_t *device, *host; /* contexts */
    int64_t m, n, nnz;
    lac_index_t it;
    void *ptr, *idx; /* of type it  */
    float *val;
    void *there[3];    /* ptr, idx, val on the device */
    lac_obj_t on_host; /* sparse only                 */
    lac_obj_t on_device;
} csr_pair_t;

/* m x n with about this density, some rows empty, one of them full; ones where `values` is false. */
void csr_pair_make(csr_pair_t *x, lac_ctx_t *device, lac_ctx_t *host, int64_t m, int64_t n, double density,
                   bool values, uint64_t *random);
void csr_pair_free(csr_pair_t *x);

/* A value in [-4, 4], of few bits. */
float csr_pair_value(uint64_t *random);

/* Memory for `bytes`, every byte 0x7f; or the program ends. Free with free(). */
void *csr_pair_poison(size_t bytes);

/* A device array that is read back when it is given up. */
void csr_pair_fetch(lac_ctx_t *device, void *there, void *here, size_t bytes);

#endif

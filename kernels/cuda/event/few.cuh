/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The event product of a few rows in one launch: which products it takes, and the launch. */
#ifndef LACUNA_CUDA_EVENT_FEW_CUH
#define LACUNA_CUDA_EVENT_FEW_CUH

#include "gather.cuh"

namespace lacuna
{

/* Whether event_few computes this product: W of floats or of two bytes an element, by rows that are read 16
 * bytes at a time, clusters, and so few rows and k that a block lists the events of all at once; of more rows
 * than a few, where s->density says that these have more than few events. */
bool takes_few(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Device &device);

lac_status_t run_few(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Device &device,
                     cudaStream_t stream);

/* The same of floats whose zeros are multiplied, too, as any dense product does: where that is the fastest
 * one, and the slices of k are whole batches. */
bool takes_few_full(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, int sms);

lac_status_t run_few_full(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, cudaStream_t stream);

} // namespace lacuna

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The event products whose packer's count decides. Between their two launches the streamed product has its
 * second one: the first splits S for it, and where more than few were counted, the last gathers nothing, but
 * adds up its sums. */
#ifndef LACUNA_CUDA_EVENT_GATED_CUH
#define LACUNA_CUDA_EVENT_GATED_CUH

#include "stream/add.cuh"
#include "stream/split.cuh"

namespace lacuna
{

struct Gated {
    streamed::SplitArgs split;
    streamed::AddArgs add;
    Gate gate; /* the counts, and how many are few, by the first launch */
};

/* The two launches, W by rows; s->density is not read. The workspace is that of lac_cuda_event_slots. */
lac_status_t pack_gated_slots(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, Gated *gated,
                              void *workspace, cudaStream_t stream);
lac_status_t gather_gated_slots(const lac_cuda_product_t *p, const Gated &gated, void *workspace,
                                cudaStream_t stream);

/* The same, W by columns; that of lac_cuda_event_active. */
lac_status_t pack_gated_active(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, Gated *gated,
                               void *workspace, cudaStream_t stream);
lac_status_t gather_gated_active(const lac_cuda_product_t *p, const Gated &gated, void *workspace,
                                 cudaStream_t stream);

} // namespace lacuna
#endif

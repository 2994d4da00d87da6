/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The event products whose packer's count decides, and what they do for the streamed product where it is more
 * than few. */
#ifndef LACUNA_CUDA_EVENT_GATED_CUH
#define LACUNA_CUDA_EVENT_GATED_CUH

#include "stream/add.cuh"
#include "stream/pack.cuh"

namespace lacuna
{

struct Gated {
    double break_even; /* nonzeros of S, over its elements, that are few */
    streamed::PackArgs pack;
    streamed::AddArgs add;
    Gate gate; /* out: by what the packer counts */
};

/* W by rows: two chained launches, in front of the streamed product's; where many were counted, the second
 * gathers nothing, but packs S. s->density is not read. The workspace is that of lac_cuda_event_slots. */
lac_status_t gated_slots(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, Gated *gated,
                         void *workspace, cudaStream_t stream);

/* W by columns: two launches around the streamed product's second one. The first packs S, too; where many
 * were counted, the last gathers nothing, but adds up the sums. That of lac_cuda_event_active. */
lac_status_t pack_gated_active(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, Gated *gated,
                               void *workspace, cudaStream_t stream);
lac_status_t gather_gated_active(const lac_cuda_product_t *p, const Gated &gated, void *workspace,
                                 cudaStream_t stream);

} // namespace lacuna
#endif

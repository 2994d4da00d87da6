/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The event products whose packer's count decides: where it is more than few, their second launch gathers
 * nothing, but splits S for the streamed product that follows. */
#ifndef LACUNA_CUDA_EVENT_GATED_CUH
#define LACUNA_CUDA_EVENT_GATED_CUH

#include "stream/split.cuh"

namespace lacuna
{

struct Gated {
    double break_even; /* nonzeros of S, over its elements, that are few */
    streamed::SplitArgs split;
    Gate gate; /* out: by what the packer counts */
};

/* Two chained launches, W by rows; s->density is not read. The workspace is that of lac_cuda_event_slots. */
lac_status_t gated_slots(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, Gated *gated,
                         void *workspace, cudaStream_t stream);

/* The same, W by columns; that of lac_cuda_event_active. */
lac_status_t gated_active(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, Gated *gated,
                          void *workspace, cudaStream_t stream);

} // namespace lacuna
#endif

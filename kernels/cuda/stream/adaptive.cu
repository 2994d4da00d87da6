/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The adaptive product: what its first launch counts in S says whether the second streams or the third
 * gathers. */
#include "event/gated.cuh"
#include "event/gather.cuh"

namespace lacuna
{
namespace
{

constexpr int64_t kVerdictBytes = 256; /* in front: whether samples say that few is nonzero */

/* The event product's workspace, in front of the streamed one's. */
int64_t event_bytes(int64_t m, int64_t k, lac_cuda_order_t order)
{
    const int64_t bytes =
        order == LAC_CUDA_ROWS ? lac_cuda_event_slots_bytes(m, k) : lac_cuda_event_active_bytes(m, k);
    return round_up(bytes, 256);
}

} // namespace
} // namespace lacuna

extern "C" int64_t lac_cuda_adaptive_bytes(int64_t m, int64_t n, int64_t k, lac_cuda_order_t order)
{
    if (m == 0 || n == 0 || k == 0) return 0;
    return lacuna::kVerdictBytes + lacuna::event_bytes(m, k, order) + lac_cuda_stream_bytes(m, n, k);
}

extern "C" lac_status_t lac_cuda_adaptive(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                          double break_even, void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!extents_fit(p) || p->m * p->k > LAC_CUDA_ADAPTIVE_MOST || p->m > 65535) return LAC_ERR_EXTENT;
    if (!lac_cuda_stream_aligned(p)) return LAC_ERR_VALUE;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    if (p->k == 0) return LAC_ERR_EXTENT;
    const streamed::Shape shape = streamed::shape_of(p->m, p->n, p->k, current_device().sms);
    char *const events = (char *)workspace + kVerdictBytes;
    const streamed::Space space = streamed::space_of(shape, events + event_bytes(p->m, p->k, p->order));
    const cudaStream_t queue = (cudaStream_t)stream;
    const bool by_rows = p->order == LAC_CUDA_ROWS;
    Gated gated = {streamed::split_args(p, s, shape, space),
                   streamed::add_args(p, s, shape, space),
                   {nullptr, 0, 0, break_even, (int *)workspace}};
    lac_status_t status = by_rows ? pack_gated_slots(p, s, &gated, events, queue)
                                  : pack_gated_active(p, s, &gated, events, queue);
    if (status == LAC_OK) status = streamed::multiply(p, s, shape, space, gated.gate, queue);
    if (status) return status;
    return by_rows ? gather_gated_slots(p, gated, events, queue)
                   : gather_gated_active(p, gated, events, queue);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The adaptive product: what its first launch counts in S says whether the others gather or stream. */
#include "event/gated.cuh"
#include "event/gather.cuh"

namespace lacuna
{
namespace
{

/* The event product's workspace, in front of the streamed one's. */
int64_t event_bytes(int64_t m, int64_t k, lac_cuda_order_t order)
{
    const int64_t bytes = order == LAC_CUDA_ROWS ? lac_cuda_event_slots_bytes(m, k, LAC_F32)
                                                 : lac_cuda_event_active_bytes(m, k);
    return round_up(bytes, 256);
}

} // namespace
} // namespace lacuna

extern "C" int64_t lac_cuda_adaptive_bytes(const lac_cuda_product_t *p)
{
    if (p->m == 0 || p->n == 0 || p->k == 0) return 0;
    return lacuna::event_bytes(p->m, p->k, p->order) + lac_cuda_stream_bytes(p);
}

extern "C" lac_status_t lac_cuda_adaptive(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                          double break_even, void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!extents_fit(p) || p->m * p->k > LAC_CUDA_ADAPTIVE_MOST || p->m > 65535) return LAC_ERR_EXTENT;
    if (!lac_cuda_stream_aligned(p)) return LAC_ERR_VALUE;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    if (p->k == 0) return LAC_ERR_EXTENT;
    const streamed::Shape shape = streamed::shape_of(p, current_device().sms);
    const streamed::Space space =
        streamed::space_of(shape, (char *)workspace + event_bytes(p->m, p->k, p->order));
    const cudaStream_t queue = (cudaStream_t)stream;
    const bool by_rows = p->order == LAC_CUDA_ROWS;
    Gated gated = {
        break_even, streamed::pack_args(p, s, shape, space), streamed::add_args(p, s, shape, space), {}};
    lac_status_t status = by_rows ? gated_slots(p, s, &gated, workspace, queue)
                                  : pack_gated_active(p, s, &gated, workspace, queue);
    if (status == LAC_OK) status = streamed::multiply(p, s, shape, space, gated.gate, queue);
    if (status) return status;
    if (!by_rows) return gather_gated_active(p, gated, workspace, queue);
    return shape.direct ? LAC_OK : streamed::add_parts(gated.add, gated.gate, queue);
}

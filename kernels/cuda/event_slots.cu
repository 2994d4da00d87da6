/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Event product in two chained launches: pack S into slots, then gather from them. */
#include "event_pack.cuh"
#include "event_ranges.cuh"

namespace lacuna
{
namespace
{

/* Reads count and first events together: a slot's memory is there whether or not it holds events. */
struct SlotSource {
    static constexpr bool kParts = false; /* the gather would be 2 to 7 % slower (H200, 2026-11-22) */
    Slots from;

    __device__ Range open(int row, int part, int m, int lane) const
    {
        Range r = {0, 0, {0, 0.0f}};
        if (row >= m || part >= from.slots) return r;
        r.begin = (int64_t)row * from.pitch + (int64_t)part * from.slice;
        r.count = from.count[row * from.slots + part];
        r.mine = from.event[r.begin + lane];
        return r;
    }
    __device__ Event event(const Range &r, int e) const { return from.event[r.begin + e]; }
};

lac_status_t pack_and_gather(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const int32_t *list,
                             const lac_cuda_tile_t *tile, void *workspace, cudaStream_t stream)
{
    if (!extents_fit(p)) return LAC_ERR_EXTENT;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    const lac_cuda_tile_t zero = {},
                          t = choose_ranges(p, tile ? *tile : zero, s->density, false, current_device());
    const int64_t share = ceil_div(p->k, t.cluster * t.k_warps);
    const int64_t min_slice = max<int64_t>(128, round_up(ceil_div(p->k, slots_upper(p->k)), 128));
    const int slice = (int)max(min_slice, t.slice ? t.slice : round_up(share, 128));
    const Slots slots = make_slots(workspace, p->m, p->k, slice);
    if (s->data && slots.slots > 0) {
        lac_status_t status = pack_slots(s, p->m, p->k, slots, !has_many(p, s->density), stream, list);
        if (status != LAC_OK) return status;
    }
    RangeArgs<SlotSource> a = {make_gemm_args(p), {t.row_warps, t.k_warps, t.cluster}, {slots}, 0, false};
    a.per_warp = (int)ceil_div(slots.slots, t.cluster * t.k_warps);
    return run_ranges(a, wide_loads(p), s->data || begins_early(p, s->density), stream);
}

} // namespace
} // namespace lacuna

extern "C" int64_t lac_cuda_event_slots_bytes(int64_t m, int64_t k)
{
    return lacuna::slots_bytes(m, k);
}

extern "C" lac_status_t lac_cuda_event_slots(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                             const lac_cuda_tile_t *tile, void *workspace,
                                             lac_cuda_stream_t stream)
{
    return lacuna::pack_and_gather(p, s, nullptr, tile, workspace, (cudaStream_t)stream);
}

extern "C" lac_status_t lac_cuda_event_listed(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                              const int32_t *list, void *workspace, lac_cuda_stream_t stream)
{
    return lacuna::pack_and_gather(p, s, list, nullptr, workspace, (cudaStream_t)stream);
}

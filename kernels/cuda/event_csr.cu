/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Event product with the events of S given as CSR. */
#include "event_ranges.cuh"

namespace lacuna
{
namespace
{

/* Slice `part` of a row is an equal share of its events, whatever their k. */
struct CsrSource {
    static constexpr bool kParts = true;
    const int64_t *ptr;
    const int32_t *idx;
    const float *val;
    int parts;

    __device__ Range open(int row, int part, int m, int lane) const
    {
        Range r = {0, 0, {0, 0.0f}};
        if (row >= m) return r;
        const int64_t p0 = ptr[row], all = ptr[row + 1] - p0;
        const int64_t share = ceil_div(all, parts), first = min(all, part * share);
        r.begin = p0 + first;
        r.count = int(min(all, first + share) - first);
        if (lane < r.count) r.mine = event(r, lane);
        return r;
    }
    __device__ Event event(const Range &r, int e) const
    {
        return {idx[r.begin + e], val ? val[r.begin + e] : 1.0f};
    }
};

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_event_csr(const lac_cuda_product_t *p, const lac_cuda_csr_t *s,
                                           const lac_cuda_tile_t *tile, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!extents_fit(p)) return LAC_ERR_EXTENT;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    const double density = p->k ? (double)s->nnz / ((double)p->m * (double)p->k) : 0.0;
    const lac_cuda_tile_t zero = {},
                          t = choose_ranges(p, tile ? *tile : zero, density, true, current_device());
    const RangeArgs<CsrSource> a = {make_gemm_args(p),
                                    {t.row_warps, t.k_warps, t.cluster},
                                    {s->ptr, s->idx, s->val, t.cluster * t.k_warps},
                                    1,
                                    false};
    return run_ranges(a, wide_loads(p), begins_early(p, density), (cudaStream_t)stream);
}

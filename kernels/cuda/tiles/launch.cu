/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The product by tiles as a whole: where it can run, its workspace, and its steps, panel by panel of a. */
#include "tiles.cuh"

namespace lacuna
{
namespace
{

constexpr int64_t kPanelBytes = 1 << 30; /* of splits of a that the workspace holds at a time        */
constexpr int64_t kPanelTiles = 1 << 12, kPanelBlocks = 1 << 24; /* tiles of rows; tiles of c */

/* Rows of a that are prepared together. */
int64_t panel_rows(int64_t m, int64_t n, int64_t k)
{
    const int64_t bytes = (ceil_div(k, kStep) + 1) * kRowGroups * kStepBytes, across = ceil_div(n, kTileCols);
    const int64_t tiles = min(kPanelTiles, min(kPanelBytes / bytes, kPanelBlocks / max<int64_t>(1, across)));
    return min(m, max<int64_t>(1, tiles) * kTileRows);
}

/* Of any panel's product: the last one has fewer rows, and may share out its k instead. */
int64_t space_bytes(int64_t m, int64_t n, int64_t k)
{
    const int64_t rows = panel_rows(m, n, k), last = m % max<int64_t>(1, rows);
    return max(tiles_space(rows, n, k, nullptr).bytes, tiles_space(last, n, k, nullptr).bytes);
}

/* Of the thread's current device; 0 where that cannot be asked. */
int major_capability()
{
    constexpr int kKnown = 64;
    static std::atomic<int> majors[kKnown]; /* asked before: plus 1 */
    int id = 0, major = 0;
    cudaError_t error = cudaGetDevice(&id);
    const bool kept = error == cudaSuccess && id < kKnown;
    if (kept && majors[id].load(std::memory_order_relaxed))
        return majors[id].load(std::memory_order_relaxed) - 1;
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, id);
    if (error != cudaSuccess) cudaGetLastError(); /* cleared: the caller reports it */
    if (kept && error == cudaSuccess) majors[id].store(major + 1, std::memory_order_relaxed);
    return error == cudaSuccess ? major : 0;
}

} // namespace
} // namespace lacuna

extern "C" bool lac_cuda_tiles_here(void)
{
    return lacuna::major_capability() >= 8;
}

extern "C" lac_status_t lac_cuda_tiles_multiply(const lac_cuda_tiles_t *p, void *workspace,
                                                lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const bool warpgroups = major_capability() == 9 && !p->portable; /* wgmma went as it had come */
    return warpgroups ? multiply_by_wgmma(p, workspace, stream) : multiply_by_mma(p, workspace, stream);
}

extern "C" bool lac_cuda_tiles_whole(int64_t m, int64_t n, int64_t k)
{
    return lacuna::panel_rows(m, n, k) == m;
}

extern "C" int64_t lac_cuda_tiles_bytes(int64_t m, int64_t n, int64_t k, bool packed)
{
    using namespace lacuna;
    const int64_t rows = panel_rows(m, n, k);
    return space_bytes(m, n, k) + (packed ? 0 : lac_cuda_tiles_packed_bytes(rows, k, lac_cuda_tiles_room(k)));
}

extern "C" int lac_cuda_tiles_splits(int64_t tiles, int64_t steps, int64_t processors)
{
    using namespace lacuna;
    constexpr int kMost = 16;
    constexpr double kBlock = 6.0, kReduce = 6.0,
                     kGain = 0.95; /* in steps: a block beside its own; the sum */
    int best = 1;
    double best_steps = 1e300;
    for (int splits = 1; splits <= kMost && splits <= steps; splits++) {
        const double waves = (double)ceil_div(tiles * splits, processors),
                     took = waves * ((double)ceil_div(steps, splits) + kBlock) + (splits > 1 ? kReduce : 0.0);
        if (took < kGain * best_steps) best_steps = took, best = splits;
    }
    return best;
}

extern "C" bool lac_cuda_tiles_aligned(const float *b, int64_t ldb)
{
    return lacuna::aligned(b, 16) && ldb % 4 == 0 && ldb >= 0 && ldb <= UINT32_MAX / 4;
}

extern "C" lac_status_t lac_cuda_tiles_run(const lac_cuda_tiles_t *p, void *workspace,
                                           lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(p->m) || !fits(p->n) || !fits(p->k)) return LAC_ERR_EXTENT;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    const int64_t rows = panel_rows(p->m, p->n, p->k), room = lac_cuda_tiles_room(p->k);
    void *const made = (char *)workspace + space_bytes(p->m, p->n, p->k);
    lac_status_t status = p->packed && rows < p->m ? LAC_ERR_EXTENT : LAC_OK;
    for (int64_t i = 0; status == LAC_OK && i < p->m; i += rows) {
        lac_cuda_tiles_t panel = *p;
        panel.m = min(rows, p->m - i);
        panel.a += i * p->ars, panel.c += i * p->crs;
        if (p->epilogue.bias && p->epilogue.of_rows) panel.epilogue.bias += i;
        if (p->bits) panel.bits += p->bits_transposed ? i / 64 : i * p->bits_words;
        status = lac_cuda_tiles_begin(&panel, workspace, stream);
        if (status == LAC_OK && !p->packed) {
            status = lac_cuda_tiles_pack(&panel, room, made, stream);
            panel.packed = made, panel.room = room;
        }
        if (status == LAC_OK) status = lac_cuda_tiles_multiply(&panel, workspace, stream);
        if (status == LAC_OK) status = lac_cuda_tiles_reduce(&panel, workspace, stream);
        if (status == LAC_OK) status = lac_cuda_tiles_fixup(&panel, workspace, stream);
        if (status == LAC_OK) status = lac_cuda_tiles_occupied(&panel, workspace, stream);
    }
    return status;
}

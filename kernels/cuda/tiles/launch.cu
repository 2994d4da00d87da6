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

/* Rows of a that are prepared together, as many of any type. */
int64_t panel_rows(int64_t m, int64_t n, int64_t k)
{
    const int64_t bytes = (ceil_div(k, kStep) + 1) * kRowGroups * kStepBytes, across = ceil_div(n, kTileCols);
    const int64_t tiles = min(kPanelTiles, min(kPanelBytes / bytes, kPanelBlocks / max<int64_t>(1, across)));
    return min(m, max<int64_t>(1, tiles) * kTileRows);
}

/* Of any panel's product: the last one has fewer rows, and may share out its k instead. */
int64_t space_bytes(lac_dt_t dt, int64_t m, int64_t n, int64_t k)
{
    const int64_t rows = panel_rows(m, n, k), last = m % max<int64_t>(1, rows);
    return max(tiles_space(dt, rows, n, k, nullptr).bytes, tiles_space(dt, last, n, k, nullptr).bytes);
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

/* What is made of a panel of a, at `made` unless it was packed before, and the lines of either operand whose
 * scales are still to be found; b's are with the first panel. */
struct Lines {
    bool two_f16;
    TilesPacked a;
    const ScaledLines *of_a, *of_b;
};
Lines lines_of(const lac_cuda_tiles_t &panel, const TilesSpace &space, bool first, void *made, TilesPacked *a)
{
    const bool two_f16 = takes_two_f16(&panel, panel.packed) && space.planes.at;
    const int64_t room = panel.packed ? panel.room : lac_cuda_tiles_room(panel.k);
    *a = tiles_packed(panel.dt, panel.m, panel.k, room, panel.packed ? (void *)panel.packed : made);
    return {two_f16, *a, two_f16 && !panel.packed ? &a->scaled : nullptr,
            two_f16 && first ? &space.planes.scaled : nullptr};
}

/* A panel's packing and product by one side's zeros. */
lac_status_t run_panel(lac_cuda_tiles_t panel, const TilesSpace &space, const Lines &lines, void *workspace,
                       void *made, lac_cuda_stream_t stream)
{
    const bool packed = panel.packed;
    if (!packed) panel.packed = made, panel.room = lac_cuda_tiles_room(panel.k);
    void *const of_a = (void *)panel.packed;
    FormArgs form = {};
    lac_status_t status = LAC_OK;
    if (lines.of_a || lines.of_b) status = find_scales(&panel, lines.of_a, lines.of_b, stream);
    if (status == LAC_OK && !packed)
        status = mark_steps(&panel, lines.of_a || lines.of_b, panel.room, of_a, stream);
    if (status == LAC_OK && may_be_unpacked(&panel)) status = multiply_unpacked(&panel, workspace, stream);
    if (status == LAC_OK && panel.b_columns) status = transpose_b(&panel, lines.a, stream);
    if (status == LAC_OK && !packed) status = list_steps(&panel, panel.room, of_a, stream);
    if (status == LAC_OK && lines.of_b)
        status = packed ? pack_planes(&panel, space.planes, stream)
                        : pack_both(&panel, space.planes, panel.room, of_a, stream);
    else if (status == LAC_OK && !packed)
        status = pack_steps(&panel, lines.two_f16, panel.room, of_a, stream);
    if (status == LAC_OK && lines.two_f16) {
        /* over the f16 numbers, of which nobody has any use then, or beside those that are kept */
        unsigned char *const splits = packed ? (unsigned char *)made : lines.a.splits;
        form = {{lines.a.scaled, space.planes.scaled, fewest_nonzeros(&panel)}, splits};
        status = pack_bf16(&panel, form, panel.room, of_a, stream);
    }
    if (status != LAC_OK) return status;
    const bool warpgroups = major_capability() == 9 && !panel.portable; /* wgmma went as it had come */
    return warpgroups ? multiply_by_wgmma(&panel, form, workspace, stream)
                      : multiply_by_mma(&panel, workspace, stream);
}

} // namespace
} // namespace lacuna

extern "C" bool lac_cuda_tiles_here(void)
{
    return lacuna::major_capability() >= 8;
}

extern "C" bool lac_cuda_tiles_warpgroups_here(void)
{
    return lacuna::major_capability() == 9;
}

/* Planes take as long as a product of 650 rows gains by them, at 4096 columns and k; launches some 15 us; and
 * a short k little but the ends of tiles (sizes from 512 to 8192, H200, 2026-11-26). */
extern "C" bool lac_cuda_tiles_in_f16(int64_t m, int64_t n, int64_t k, bool packed)
{
    constexpr double kLeast = 5e9; /* multiply-adds */
    return lacuna::major_capability() == 9 && m >= 768 && k >= 512 &&
           (packed || (double)m * (double)n * (double)k >= kLeast);
}

bool lacuna::takes_two_f16(const lac_cuda_tiles_t *p, bool packed)
{
    if (p->dt != LAC_F32 || p->portable || major_capability() != 9) return false;
    return p->form == LAC_CUDA_FORM_AUTO ? lac_cuda_tiles_in_f16(p->m, p->n, p->k, packed)
                                         : p->form == LAC_CUDA_FORM_F16;
}

extern "C" bool lac_cuda_tiles_whole(int64_t m, int64_t n, int64_t k)
{
    return lacuna::panel_rows(m, n, k) == m;
}

extern "C" int64_t lac_cuda_tiles_bytes(lac_dt_t dt, int64_t m, int64_t n, int64_t k, bool packed)
{
    using namespace lacuna;
    const int64_t rows = panel_rows(m, n, k), room = lac_cuda_tiles_room(k);
    /* of floats that are packed: for bf16 splits, where two f16 numbers do not do */
    const bool made =
        !packed || has_planes(dt, rows, n, k) || (dt == LAC_F32 && lac_cuda_tiles_in_f16(m, n, k, true));
    return space_bytes(dt, m, n, k) + (made ? lac_cuda_tiles_packed_bytes(dt, rows, k, room) : 0);
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

extern "C" bool lac_cuda_tiles_aligned(lac_dt_t dt, const void *b, int64_t n, int64_t ldb)
{
    const int64_t size = (int64_t)lac_dt_size(dt), piece = 16 / size;
    const bool whole = dt == LAC_F32 || (n % piece == 0 && n > 0);
    return whole && lacuna::aligned(b, 16) && ldb % piece == 0 && ldb >= 0 && ldb <= UINT32_MAX / size;
}

extern "C" lac_status_t lac_cuda_tiles_run(const lac_cuda_tiles_t *p, void *workspace,
                                           lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const int64_t size = (int64_t)lac_dt_size(p->dt), out_size = (int64_t)lac_dt_size(p->out_dt);
    if (!fits(p->m) || !fits(p->n) || !fits(p->k)) return LAC_ERR_EXTENT;
    if (p->dt != LAC_F32 && (major_capability() != 9 || p->portable || p->bits)) return LAC_ERR_TYPE;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    const int64_t rows = panel_rows(p->m, p->n, p->k);
    void *const made = (char *)workspace + space_bytes(p->dt, p->m, p->n, p->k);
    lac_status_t status = p->packed && rows < p->m ? LAC_ERR_EXTENT : LAC_OK;
    for (int64_t i = 0; status == LAC_OK && i < p->m; i += rows) {
        lac_cuda_tiles_t panel = *p;
        panel.m = min(rows, p->m - i);
        panel.a = (const char *)p->a + i * p->ars * size, panel.c = (char *)p->c + i * p->crs * out_size;
        if (p->epilogue.bias && p->epilogue.of_rows)
            panel.epilogue.bias =
                (const float *)(const void *)((const char *)p->epilogue.bias + i * out_size);
        if (p->bits) panel.bits += p->bits_transposed ? i / 64 : i * p->bits_words;
        TilesPacked packed;
        const TilesSpace space = tiles_space(panel.dt, panel.m, panel.n, panel.k, workspace);
        if (panel.packed && takes_two_f16(&panel, true) && !space.planes.at)
            panel.packed = nullptr; /* two f16 numbers are no use without planes: once more, as bf16 ones */
        const Lines lines = lines_of(panel, space, i == 0, made, &packed);
        status =
            begin_tiles(&panel, &space, panel.packed ? nullptr : &packed, lines.of_a, lines.of_b, stream);
        if (status == LAC_OK) status = run_panel(panel, space, lines, workspace, made, stream);
        if (status == LAC_OK) status = lac_cuda_tiles_reduce(&panel, workspace, stream);
        if (status == LAC_OK) status = lac_cuda_tiles_fixup(&panel, workspace, stream);
        if (status == LAC_OK) status = lac_cuda_tiles_occupied(&panel, workspace, stream);
    }
    return status;
}

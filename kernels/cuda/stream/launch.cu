/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The streamed product: its first launch, which packs S, its last, which adds up the sums of the parts where
 * there are any, and the launcher of all three. */
#include "add.cuh"
#include "pack.cuh"

namespace lacuna
{
namespace streamed
{
namespace
{

constexpr int kThreads = 128;

/* Mapping   a thread packs sixteen k of a row of S; a warp has sixteen rows of a step.
 * Bytes     S once in, and once out. */
template <typename T>
__global__ __launch_bounds__(kThreads) void stream_pack(const __grid_constant__ PackArgs a)
{
    dependency_wait();
    dependents_launch(); /* behind the wait: the next kernel may read W at once */
    pack_piece<T>(a, (int64_t)blockIdx.x * kThreads + threadIdx.x);
}

struct GatedAddArgs {
    AddArgs add;
    Gate gate;
};

/* out := beta out + alpha sums, and the epilogue.
 *
 * Mapping   a thread has four columns of a row.
 * Order     parts ascending. */
__global__ __launch_bounds__(kThreads) void stream_add_parts(const __grid_constant__ GatedAddArgs a)
{
    dependents_launch();
    const bool none = a.gate.counts && !counted_many(a.gate);
    dependency_wait();
    if (none) return;
    add_four(a.add, (int64_t)blockIdx.x * kThreads + threadIdx.x, load_scalar(a.add.out.p.alpha),
             load_scalar(a.add.out.p.beta));
}

lac_status_t pack(const PackArgs &a, cudaStream_t stream)
{
    const Launch l = {
        dim3((unsigned)ceil_div(pack_pieces(a.shape), kThreads)), dim3(kThreads), 0, 1, true, stream};
    return a.bytes ? launch(stream_pack<uint8_t>, l, a) : launch(stream_pack<float>, l, a);
}

} // namespace

lac_status_t add_parts(const AddArgs &a, const Gate &gate, cudaStream_t stream)
{
    const Launch l = {dim3((unsigned)ceil_div(add_quads(a), kThreads)), dim3(kThreads), 0, 1, true, stream};
    return launch(stream_add_parts, l, GatedAddArgs{a, gate});
}

} // namespace streamed
} // namespace lacuna

extern "C" bool lac_cuda_stream_aligned(const lac_cuda_product_t *p)
{
    using namespace lacuna;
    const Device device = current_device();
    if (!device.hopper) return false;
    const streamed::Lines lines = streamed::lines_of(p);
    return lines == streamed::kAligned || streamed::is_single(p, device.sms) ||
           (lines == streamed::kApartRows && p->m <= streamed::kMostApart && p->k >= streamed::kApart);
}

extern "C" lac_cuda_writes_t lac_cuda_stream_writes(const lac_cuda_product_t *p)
{
    const lacuna::GemmArgs a = lacuna::make_gemm_args(p);
    if (!lacuna::streamed::writes_together(a)) return LAC_CUDA_WRITES_SINGLES;
    const bool any = p->order == LAC_CUDA_COLS && !lac_cuda_stream_is_rank_k(p->m, p->n, p->k);
    return any || lacuna::streamed::writes_fours(a) ? LAC_CUDA_WRITES_WHOLE : LAC_CUDA_WRITES_PIECES;
}

extern "C" bool lac_cuda_stream_is_rank_k(int64_t m, int64_t n, int64_t k)
{
    const lacuna::Device device = lacuna::current_device();
    return device.hopper && lacuna::streamed::takes_rank_k(m, n, k, device.sms);
}

extern "C" bool lac_cuda_stream_is_cluster(const lac_cuda_product_t *p, const lac_cuda_dense_t *s)
{
    using namespace lacuna;
    const Device device = current_device();
    streamed::Shape shape = streamed::shape_of(p, device.sms);
    return device.hopper && streamed::takes_cluster(shape, p, s, device.sms);
}

extern "C" int64_t lac_cuda_stream_bytes(const lac_cuda_product_t *p)
{
    using namespace lacuna;
    if (p->m == 0 || p->n == 0 || p->k == 0) return 0;
    return streamed::space_bytes(streamed::shape_of(p, current_device().sms));
}

extern "C" lac_cuda_stream_shape_t
lac_cuda_stream_cut(const lac_cuda_product_t *p, const lac_cuda_dense_t *of_s, bool gated, int processors)
{
    using namespace lacuna;
    streamed::Shape s = streamed::shape_of(p, processors);
    const streamed::Pieces pieces = streamed::pieces_of(p->m, p->n, p->k);
    lac_cuda_stream_kernel_t kernel = streamed::kernel_of(p, of_s, processors);
    if (!gated && streamed::takes_cluster(s, p, of_s, processors)) kernel = LAC_CUDA_STREAM_CLUSTER;
    if (kernel == LAC_CUDA_STREAM_GEMV)
        return {kernel, false, 1, 1, streamed::gemv_rounds(p, processors), 4 * p->n * p->k, 0, 0};
    if (kernel == LAC_CUDA_STREAM_FEW) return {kernel, false, 1, 1, 1, 4 * p->n * p->k, 0, 0};
    if (kernel == LAC_CUDA_STREAM_RANK_K) {
        const int64_t tiles = streamed::rank_k_tiles(p->m, p->n), blocks = min<int64_t>(tiles, processors);
        return {kernel, false, blocks, ceil_div(tiles, blocks), pieces.chunks, 4 * p->n * p->k, 0, 0};
    }
    if (kernel == LAC_CUDA_STREAM_SMALL)
        return {kernel,
                false,
                pieces.groups * pieces.tiles,
                pieces.groups * pieces.tiles * pieces.chunks,
                pieces.chunks,
                4 * p->n * p->k,
                0,
                0};
    const int64_t items = ceil_div((int64_t)s.tiles * s.parts, s.blocks);
    return {kernel,
            s.apart,
            s.blocks,
            items,
            items * ceil_div(s.steps, s.parts),
            4 * (int64_t)streamed::kStep * s.groups * streamed::kGroupColumns,
            streamed::step_bytes(s.rows),
            s.direct || s.cluster ? 0 : 4 * (int64_t)s.parts * s.passes * s.rows * streamed::width_of(s)};
}

extern "C" lac_status_t lac_cuda_stream(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                        void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!extents_fit(p)) return LAC_ERR_EXTENT;
    if (!lac_cuda_stream_aligned(p)) return LAC_ERR_VALUE;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    if (p->k == 0) return LAC_ERR_EXTENT;
    const int sms = current_device().sms;
    const cudaStream_t queue = (cudaStream_t)stream;
    streamed::Shape shape = streamed::shape_of(p, sms);
    if (streamed::takes_cluster(shape, p, s, sms)) return streamed::multiply_cluster(p, s, shape, queue);
    const streamed::Space space = streamed::space_of(shape, workspace);
    lac_status_t status =
        shape.single ? LAC_OK : streamed::pack(streamed::pack_args(p, s, shape, space), queue);
    if (status == LAC_OK) status = streamed::multiply(p, s, shape, space, {}, queue);
    return status || shape.direct ? status
                                  : streamed::add_parts(streamed::add_args(p, s, shape, space), {}, queue);
}

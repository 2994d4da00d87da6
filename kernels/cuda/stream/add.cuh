/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The sums of the parts of k of a streamed product, added up to the output. */
#ifndef LACUNA_CUDA_STREAM_ADD_CUH
#define LACUNA_CUDA_STREAM_ADD_CUH

#include "output.cuh"
#include "stream.cuh"

namespace lacuna
{
namespace streamed
{

struct AddArgs {
    Output out;
    Shape shape;
    const float *sums; /* NULL: there are none, and nothing is to be done */
    bool along_row;    /* of the output: neighbouring threads             */
    int shift[kApart]; /* columns, of the sums of each turn               */
};

inline AddArgs add_args(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Shape &shape,
                        const Space &space)
{
    AddArgs a = {output_of(p, s), shape, shape.direct ? nullptr : space.sums, p->cs <= p->rs, {}};
    for (int q = 0; q < kApart; q++) a.shift[q] = shape.apart ? elements_before(p, q) : 0;
    return a;
}

/* Fours of columns of the output. */
__host__ __device__ inline int64_t add_quads(const AddArgs &a)
{
    return a.out.p.m * ceil_div(a.out.p.n, 4);
}

/* The sums of four columns of a part, from its `at` on. */
__device__ inline float4 read_sums(const AddArgs &a, const float *at, int part)
{
    if (!a.shape.apart) return __ldcg((const float4 *)at);
    at += a.shift[part / (a.shape.parts / kApart)];
    return make_float4(__ldcg(at), __ldcg(at + 1), __ldcg(at + 2), __ldcg(at + 3));
}

/* out := beta out + alpha sums, and the epilogue, for quad t, if there is one. All lanes of a warp call it,
 * with neighbouring t. The sums of several parts are read before the first is added. */
__device__ __forceinline__ void add_four(const AddArgs &a, int64_t t, float alpha, float beta)
{
    constexpr int kPartsAtOnce = 8;
    const GemmArgs &p = a.out.p;
    const int quads = (int)ceil_div(p.n, 4), width = width_of(a.shape);
    const int i = (int)(a.along_row ? t / quads : t % p.m), j = 4 * (int)(a.along_row ? t % quads : t / p.m);
    const bool mine = t < (int64_t)quads * p.m;
    float x[4] = {};
    if (mine) {
        const float *from = a.sums + (int64_t)i * width + j;
        const int64_t next = (int64_t)a.shape.passes * a.shape.rows * width;
        for (int part = 0; part < a.shape.parts; part += kPartsAtOnce) {
            float4 more[kPartsAtOnce];
#pragma unroll
            for (int q = 0; q < kPartsAtOnce; q++)
                more[q] = part + q < a.shape.parts ? read_sums(a, from + (part + q) * next, part + q)
                                                   : make_float4(0, 0, 0, 0);
#pragma unroll
            for (int q = 0; q < kPartsAtOnce; q++)
                x[0] += more[q].x, x[1] += more[q].y, x[2] += more[q].z, x[3] += more[q].w;
        }
    }
    mend_sums<1>(a.out, x, i, j, mine);
    if (mine) store_quad(a.out, x, i, j, alpha, beta);
}

/* The whole output, by the blocks of a grid of two dimensions. */
__device__ inline __noinline__ void add_by_grid(const AddArgs &a)
{
    const int64_t step = (int64_t)gridDim.x * gridDim.y * blockDim.x;
    const float alpha = load_scalar(a.out.p.alpha), beta = load_scalar(a.out.p.beta);
    for (int64_t t = ((int64_t)blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
         t - threadIdx.x % kWarp < add_quads(a); t += step)
        add_four(a, t, alpha, beta);
}

/* The third launch, of a product that is not `direct`. With a gate, it has work where many were counted. */
lac_status_t add_parts(const AddArgs &a, const Gate &gate, cudaStream_t stream);

} // namespace streamed
} // namespace lacuna
#endif

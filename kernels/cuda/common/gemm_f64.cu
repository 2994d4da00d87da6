/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The dense product summed in double: a second opinion on the device, written for clarity. */
#include "cuda_support.h"
#include "device.cuh"

namespace lacuna
{
namespace
{

constexpr int kSide = 16;

struct DoubleArgs {
    int64_t m, n, k;
    lac_cuda_scalar_t alpha, beta;
    const void *a, *b;
    int64_t ars, acs, brs, bcs, rs, cs, across, tiles;
    void *c;
    lac_dt_t dt; /* of c */
    lac_cuda_skip_t skip;
};

template <typename T> __device__ inline double element(const void *x, int64_t at)
{
    return (double)event_value(((const T *)x)[at]);
}

template <typename T> __device__ inline void update(void *c, int64_t at, double sum, double beta)
{
    T *const x = (T *)c + at;
    *x = nearest<T>((Sum<T>)(sum + (beta == 0.0 ? 0.0 : beta * (double)event_value(*x))));
}

/* c := beta c + alpha a b by tiles of kSide x kSide, k in ascending order. Zeros are multiplied, and 0 * Inf
 * is NaN, but for those of the operand that g.skip names. */
template <typename A, typename B>
__global__ __launch_bounds__(kSide *kSide) void gemm_double(const DoubleArgs g)
{
    __shared__ double a[kSide][kSide + 1], b[kSide][kSide + 1];
    const int x = threadIdx.x, y = threadIdx.y;
    const bool wide = g.dt == LAC_F64;
    const double alpha = wide ? load_scalar<double>(g.alpha) : load_scalar(g.alpha),
                 beta = wide ? load_scalar<double>(g.beta) : load_scalar(g.beta);
    for (int64_t t = blockIdx.x; t < g.tiles; t += gridDim.x) {
        const int64_t i = t / g.across * kSide + y, j = t % g.across * kSide + x;
        double sum = 0.0;
        for (int64_t k0 = 0; k0 < g.k; k0 += kSide) {
            a[y][x] = i < g.m && k0 + x < g.k ? element<A>(g.a, i * g.ars + (k0 + x) * g.acs) : 0.0;
            b[y][x] = j < g.n && k0 + y < g.k ? element<B>(g.b, (k0 + y) * g.brs + j * g.bcs) : 0.0;
            __syncthreads();
            const int end = (int)min<int64_t>(kSide, g.k - k0);
            for (int l = 0; l < end; l++) {
                const double skips = g.skip == LAC_CUDA_SKIP_B ? b[l][x] : a[y][l];
                if (g.skip == LAC_CUDA_SKIP_NONE || skips != 0.0) sum = fma(a[y][l], b[l][x], sum);
            }
            __syncthreads();
        }
        if (i >= g.m || j >= g.n) continue;
        const int64_t at = i * g.rs + j * g.cs;
        const double product = alpha == 0.0 ? 0.0 : alpha * sum;
        if (wide)
            update<double>(g.c, at, product, beta);
        else if (g.dt == LAC_F16)
            update<F16>(g.c, at, product, beta);
        else if (g.dt == LAC_BF16)
            update<BF16>(g.c, at, product, beta);
        else
            update<float>(g.c, at, product, beta);
    }
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_gemm_f64(int64_t m, int64_t n, int64_t k, lac_cuda_skip_t skip,
                                          lac_cuda_scalar_t alpha, const lac_cuda_matrix_t *a,
                                          const lac_cuda_matrix_t *b, lac_cuda_scalar_t beta, lac_dt_t dt,
                                          void *c, int64_t rs, int64_t cs, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (m == 0 || n == 0) return LAC_OK;
    const int64_t across = ceil_div(n, kSide), tiles = across * ceil_div(m, kSide);
    const DoubleArgs g = {m,     n,     k,  alpha, beta,   a->data, b->data, a->rs, a->cs,
                          b->rs, b->cs, rs, cs,    across, tiles,   c,       dt,    skip};
    const Launch l = {
        dim3(unsigned(min<int64_t>(tiles, 1 << 20))), dim3(kSide, kSide), 0, 1, false, (cudaStream_t)stream};
    if (dt == LAC_F64) {
        if (a->dt == LAC_U8)
            return b->dt == LAC_U8 ? launch(gemm_double<uint8_t, uint8_t>, l, g)
                                   : launch(gemm_double<uint8_t, double>, l, g);
        return b->dt == LAC_U8 ? launch(gemm_double<double, uint8_t>, l, g)
                               : launch(gemm_double<double, double>, l, g);
    }
    return with_type(a->dt, [&](auto x) {
        return with_type(b->dt, [&](auto y) { return launch(gemm_double<decltype(x), decltype(y)>, l, g); });
    });
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Product of a CSR matrix with many rows and a short W: the lanes of a warp share out a row's nonzeros. */
#include "event/gather.cuh"

namespace lacuna
{
namespace
{

constexpr int kWarps = 8;  /* per block                          */
constexpr int kUnroll = 4; /* nonzeros that a lane has in flight */

template <typename T> struct ShortArgs {
    GemmArgsOf<T> p;
    lac_cuda_csr_t s;
    const T *val;  /* NULL: ones */
    int row_warps; /* rows per block; kWarps / row_warps warps share one */
};

/* Blocks of a multiprocessor: they hide the way to W. */
constexpr int resident(int vec, int lanes, bool wide, size_t element)
{
    if (element == 8) return vec < 4 ? 4 : 2;
    if (wide || vec < 4) return 8;
    return lanes == 1 ? 6 : 5;
}

/* Adds up to kUnroll nonzeros of a row, from e on and kGroups apart, to this lane's columns j .. of the row.
 */
template <int kVec, int kLanes, bool kWide, typename T>
__device__ inline void add_nonzeros(T (&acc)[kVec], const ShortArgs<T> &a, int64_t e, int64_t end, const T *w,
                                    int j)
{
    constexpr int kGroups = kWarp / kLanes;
    const GemmArgsOf<T> &p = a.p;
    int64_t at[kUnroll];
    T v[kUnroll], x[kUnroll][kVec];
#pragma unroll
    for (int u = 0; u < kUnroll; u++) {
        const bool live = e + u * kGroups < end;
        at[u] = live ? (int64_t)a.s.idx[e + u * kGroups] * p.wks : -1;
        v[u] = live && a.val ? a.val[e + u * kGroups] : T(1);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; u++) {
        if constexpr (kWide) {
            static_assert(kVec == 4, "loads of 16 bytes");
            Loaded<true, T> q;
            q.load(w + at[u], 0, at[u] >= 0 && j < p.n);
#pragma unroll
            for (int c = 0; c < kVec; c++) x[u][c] = q.at(c);
        } else {
#pragma unroll
            for (int c = 0; c < kVec; c++)
                x[u][c] = at[u] >= 0 && j + c < p.n ? __ldg(w + at[u] + (int64_t)c * p.wjs) : T(0);
        }
    }
#pragma unroll
    for (int u = 0; u < kUnroll; u++)
#pragma unroll
        for (int c = 0; c < kVec; c++)
            if (at[u] >= 0) acc[c] = multiply_add(v[u], x[u][c], acc[c]);
}

/* The block's rows: of each column the totals of the warps that share a row, in order. */
template <int kColumns, int kPitch, typename T>
__device__ inline void store_rows(const ShortArgs<T> &a, const T (&totals)[kWarps][kPitch], int shares)
{
    const GemmArgsOf<T> &p = a.p;
    const T alpha = load_scalar<T>(p.alpha), beta = load_scalar<T>(p.beta);
    for (int t = threadIdx.x; t < a.row_warps * kColumns; t += kWarps * kWarp) {
        const Cell<int> at = cell_of(t, a.row_warps, kColumns, p.cs <= p.rs);
        const int64_t i = (int64_t)blockIdx.x * a.row_warps + at.row;
        if (i >= p.m || at.column >= p.n) continue;
        T sum = 0;
        for (int w = 0; w < shares; w++) sum += totals[at.row * shares + w][at.column];
        store_sum(p, (int)i, at.column, sum, alpha, beta);
    }
}

/* out := beta out + alpha S W, S[m, k] as CSR, W[k, n] with any strides, n <= kLanes * kVec.
 *
 * Mapping   kLanes lanes hold the columns of one nonzero, kVec each, and 32 / kLanes such groups walk the
 *           row together; kWarps / row_warps warps take equal shares of it.
 * Layout    kWide: W by rows, its rows 16-byte aligned, n a multiple of kVec = 4.
 * Bytes     8 per nonzero, of doubles 12 (4 where all values are 1) once; W from cache, once per nonzero;
 *           out once.
 * Order     nonzeros of a lane ascending, in short runs that are added up, lanes by a butterfly, warps
 *           ascending: no atomics.
 * Limit     meant to be DRAM for S while W fits the cache. */
template <typename T, int kVec, int kLanes, bool kWide>
__global__ __launch_bounds__(kWarps *kWarp,
                             resident(kVec, kLanes, kWide,
                                      sizeof(T))) void spmm_narrow(const __grid_constant__ ShortArgs<T> a)
{
    constexpr int kGroups = kWarp / kLanes;
    __align__(16) __shared__ T totals[kWarps][kWarp * kVec]; /* of lanes, then of columns */
    const GemmArgsOf<T> &p = a.p;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, shares = kWarps / a.row_warps;
    const int64_t row = (int64_t)blockIdx.x * a.row_warps + warp / shares;
    const int j = lane % kLanes * kVec;
    T acc[kVec] = {}, *const total = totals[warp] + lane * kVec;
    dependency_wait();
#pragma unroll
    for (int c = 0; c < kVec; c++) total[c] = T(0);
    if (row < p.m) {
        const RowEntries entries = entries_of(a.s, row);
        const int64_t p0 = entries.begin, all = entries.end - p0, share = ceil_div(all, shares);
        const int64_t begin = p0 + min(all, warp % shares * share), end = min(p0 + all, begin + share);
        const T *w = p.w + (int64_t)j * p.wjs;
        const int run = run_length(share / kGroups) / kUnroll;
        int left = run;
        for (int64_t e = begin + lane / kLanes; e < end; e += kGroups * kUnroll, left--) {
            if (left == 0) {
                left = run;
#pragma unroll
                for (int c = 0; c < kVec; c++) total[c] += acc[c], acc[c] = T(0);
            }
            add_nonzeros<kVec, kLanes, kWide>(acc, a, e, end, w, j);
        }
    }
#pragma unroll
    for (int c = 0; c < kVec; c++) {
        acc[c] += total[c];
#pragma unroll
        for (int d = kLanes; d < kWarp; d *= 2) acc[c] += __shfl_xor_sync(kFull, acc[c], d);
    }
    __syncwarp();
    if (lane < kLanes)
#pragma unroll
        for (int c = 0; c < kVec; c++) totals[warp][j + c] = acc[c];
    __syncthreads();
    store_rows<kVec * kLanes>(a, totals, shares);
}

template <int kLanes, typename T> lac_status_t launch_lanes(const ShortArgs<T> &a, bool wide, const Launch &l)
{
    return wide ? launch(spmm_narrow<T, 4, kLanes, true>, l, a)
                : launch(spmm_narrow<T, 4, kLanes, false>, l, a);
}

template <typename T>
lac_status_t run_narrow(const lac_cuda_product_t *p, const lac_cuda_csr_t *s, lac_cuda_stream_t stream)
{
    const Device device = current_device();
    ShortArgs<T> a = {make_gemm_args<T>(p), *s, (const T *)s->val, kWarps};
    /* Few rows: more warps for each, until every multiprocessor has some. */
    while (a.row_warps > 1 && ceil_div(p->m, a.row_warps) < 4 * device.sms) a.row_warps /= 2;
    const Launch l = {
        dim3(unsigned(ceil_div(p->m, a.row_warps))), dim3(kWarps * kWarp), 0, 1, true, (cudaStream_t)stream};
    const bool wide = wide_loads(p);
    if (p->n == 1) return launch(spmm_narrow<T, 1, 1, false>, l, a);
    if (p->n == 2) return launch(spmm_narrow<T, 2, 1, false>, l, a);
    if (p->n <= 4) return launch_lanes<1>(a, wide, l);
    if (p->n <= 8) return launch_lanes<2>(a, wide, l);
    if (p->n <= 16) return launch_lanes<4>(a, wide, l);
    if (p->n <= 32) return launch_lanes<8>(a, wide, l);
    return launch_lanes<16>(a, wide, l);
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_spmm_narrow(const lac_cuda_product_t *p, const lac_cuda_csr_t *s,
                                             lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!extents_fit(p) || p->n > LAC_CUDA_NARROW_MAX) return LAC_ERR_EXTENT;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    return p->w_dt == LAC_F64 ? run_narrow<double>(p, s, stream) : run_narrow<float>(p, s, stream);
}

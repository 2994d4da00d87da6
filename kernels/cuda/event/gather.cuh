/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The parts that all event products share: events, packing, gathering slices of W, the fixed-order reduction.
 */
#ifndef LACUNA_CUDA_EVENT_GATHER_CUH
#define LACUNA_CUDA_EVENT_GATHER_CUH

#include "common/device.cuh"

#include <cfloat>

namespace lacuna
{

/* One nonzero of S in the row that owns the queue. */
template <typename V> struct alignas(2 * sizeof(V)) EventOf {
    int k;
    V v;
};
using Event = EventOf<float>;

/* Bits 32 w .. of row i of an S of k columns; those beyond are 0. */
__device__ inline uint32_t event_word(const lac_cuda_event_bits_t &bits, int64_t i, int64_t w, int64_t k)
{
    const int64_t at = bits.first / 32 + w, left = k - 32 * w;
    const int shift = int(bits.first % 32);
    const uint32_t *row = bits.words + i * bits.ld;
    const uint32_t low = load_if(left > 0, row + at, 0u),
                   high = load_if(left > 0 && shift && at + 1 < bits.ld, row + at + 1, 0u);
    const uint32_t word = uint32_t(((uint64_t)high << 32 | low) >> shift);
    return left >= 32 ? word : left > 0 ? word & ((1u << left) - 1u) : 0u;
}

template <typename T> struct OutputOf {
    using type = Output<T>;
};
template <> struct OutputOf<float> {
    using type = float *;
};
template <> struct OutputOf<double> {
    using type = double *;
};

/* The product without S; element (k, j) of W lies at w[k * wks + j * wjs]. */
template <typename T> struct GemmArgsOf {
    int m, n, k;
    lac_cuda_scalar_t alpha, beta;
    const T *w;
    int wks, wjs;
    typename OutputOf<T>::type out;
    int64_t rs, cs;
    lac_cuda_epilogue_t epilogue;
};
using GemmArgs = GemmArgsOf<float>;

/* How a launch is cut: a block holds row_warps x k_warps warps, a cluster of blocks one tile of out. */
struct Split {
    int row_warps, k_warps, cluster;
};

constexpr int kLaneColumns = 4; /* columns of W that a lane holds per unit of vec: 16 bytes of f32 */
constexpr int kTileColumns = kWarp * kLaneColumns;
constexpr int kInFlight =
    64; /* bytes of W that a lane has in flight; 128 cost more in registers than they gave */
constexpr int kMaxWarps = 32; /* per block: 64 registers a thread */

/* Packing ------------------------------------------------------------------------------------------------ */

/* A row of S as the scan sees it: element k at p[k * stride]. quads: contiguous, 4-element aligned, and the
 * end of every scanned range a multiple of 4. */
template <typename T> struct ScanRow {
    const T *p;
    int64_t stride;
    bool quads;
};

__device__ inline void load_quad(float (&x)[4], const float *p)
{
    float4 q = *(const float4 *)p;
    x[0] = q.x, x[1] = q.y, x[2] = q.z, x[3] = q.w;
}

__device__ inline void load_quad(double (&x)[4], const double *p)
{
    const double2 low = *(const double2 *)p, high = *((const double2 *)p + 1);
    x[0] = low.x, x[1] = low.y, x[2] = high.x, x[3] = high.y;
}

template <lac_dt_t kType> __device__ inline void load_quad(Half<kType> (&x)[4], const Half<kType> *p)
{
    const uint2 q = *(const uint2 *)p;
    x[0].bits = (uint16_t)q.x, x[1].bits = (uint16_t)(q.x >> 16);
    x[2].bits = (uint16_t)q.y, x[3].bits = (uint16_t)(q.y >> 16);
}

__device__ inline void load_quad(uint8_t (&x)[4], const uint8_t *p)
{
    uchar4 q = *(const uchar4 *)p;
    x[0] = q.x, x[1] = q.y, x[2] = q.z, x[3] = q.w;
}

/* This lane's four of the 128 elements from `base` on, zero from `end` on. */
template <typename T>
__device__ inline void scan_load(T (&x)[4], const ScanRow<T> &row, int base, int end, int lane)
{
    x[0] = x[1] = x[2] = x[3] = T(0);
    if (row.quads) {
        int k = base + 4 * lane;
        if (k < end) load_quad(x, row.p + k);
        return;
    }
#pragma unroll
    for (int c = 0; c < 4; c++) {
        int k = base + kWarp * c + lane;
        if (k < end) x[c] = row.p[k * row.stride];
    }
}

/* This lane's elements of kRounds times 128 from `from` on, all loads in flight; returns its nonzeros. */
template <typename T, int kRounds>
__device__ inline int scan_load_count(T (&x)[kRounds][4], const ScanRow<T> &row, int from, int end, int lane)
{
    int count = 0;
#pragma unroll
    for (int q = 0; q < kRounds; q++) scan_load(x[q], row, from + 128 * q, end, lane);
#pragma unroll
    for (int q = 0; q < kRounds; q++)
#pragma unroll
        for (int c = 0; c < 4; c++) count += x[q][c] != T(0);
    return count;
}

/* Appends the nonzeros of 128 elements to a queue, ascending in k; returns how many there were. list: the k
 * of each column of S, where those are packed. */
template <typename T, typename V>
__device__ inline int scan_pack(const T (&x)[4], bool quads, int base, EventOf<V> *queue, int lane,
                                const int32_t *list = nullptr)
{
    const auto k_of = [list](int column) { return list ? list[column] : column; };
    unsigned mask = 0;
#pragma unroll
    for (int c = 0; c < 4; c++) mask |= (x[c] != T(0)) << c;
    if (!__any_sync(kFull, mask)) return 0;
    const unsigned below = lanes_below(lane);
    if (quads) {
        const int mine = __popc(mask);
        const unsigned b0 = __ballot_sync(kFull, mine & 1), b1 = __ballot_sync(kFull, mine & 2),
                       b2 = __ballot_sync(kFull, mine & 4);
        int at = __popc(b0 & below) + 2 * __popc(b1 & below) + 4 * __popc(b2 & below);
#pragma unroll
        for (int c = 0; c < 4; c++)
            if (mask >> c & 1) queue[at++] = {k_of(base + 4 * lane + c), event_value(x[c])};
        return __popc(b0) + 2 * __popc(b1) + 4 * __popc(b2);
    }
    int total = 0;
#pragma unroll
    for (int c = 0; c < 4; c++) {
        const unsigned b = __ballot_sync(kFull, mask >> c & 1);
        if (mask >> c & 1)
            queue[total + __popc(b & below)] = {k_of(base + kWarp * c + lane), event_value(x[c])};
        total += __popc(b);
    }
    return total;
}

/* Gathering ---------------------------------------------------------------------------------------------- */

/* The columns of one lane. Wide: W by rows with loads of four elements, lane l holds columns 4 l .. 4 l + 3
 * of each 128. Otherwise: any strides, lane l holds columns l, l + 32, l + 64, l + 96 of each 128. */
template <int kVec, bool kWide, typename T> struct LaneColumns {
    const T *base;
    int j, n;
    int64_t step; /* narrow: distance of 32 columns, in elements */

    __device__ LaneColumns(const GemmArgsOf<T> &p, int j0, int lane)
        : j(j0 + (kWide ? 4 * lane : lane)), n(p.n), step((int64_t)kWarp * p.wjs)
    {
        base = p.w + (int64_t)j * (kWide ? 1 : p.wjs);
    }

    /* Columns outside W are zero. */
    __device__ void load(Loaded<kWide, T> (&x)[kVec], int64_t offset) const
    {
#pragma unroll
        for (int v = 0; v < kVec; v++)
            x[v].load(base + offset + v * (kWide ? kTileColumns : 4 * step), step, n - j - kTileColumns * v);
    }
};

/* acc += v * W[k, my columns] for `live` events, all their loads of W in flight before the first use. The
 * values are read from shared memory a second time rather than held: registers are what limits the loads in
 * flight. */
template <int kVec, bool kWide, int kUnroll, bool kAll, typename T>
__device__ inline void gather_batch(const EventOf<Sum<T>> *queue, int live,
                                    const LaneColumns<kVec, kWide, T> &columns, int wks,
                                    Sum<T> (&acc)[kLaneColumns * kVec])
{
    Loaded<kWide, T> w[kUnroll][kVec];
#pragma unroll
    for (int u = 0; u < kUnroll; u++)
        if (kAll || u < live) columns.load(w[u], (int64_t)queue[u].k * wks);
#pragma unroll
    for (int u = 0; u < kUnroll; u++)
        if (kAll || u < live) {
            const Sum<T> v = queue[u].v;
#pragma unroll
            for (int c = 0; c < kLaneColumns * kVec; c++)
                acc[c] = multiply_add(v, w[u][c / 4].at(c % 4), acc[c]);
        }
}

/* The same for a queue of any length, in order. */
template <int kVec, bool kWide, typename T>
__device__ inline void gather(const EventOf<Sum<T>> *queue, int count,
                              const LaneColumns<kVec, kWide, T> &columns, int wks,
                              Sum<T> (&acc)[kLaneColumns * kVec])
{
    /* One at a time, an element takes a register at least. */
    constexpr int kElement = kWide || sizeof(T) > 4 ? (int)sizeof(T) : 4;
    constexpr int kUnroll = kInFlight / (kLaneColumns * kElement) / kVec;
    int e = 0;
    for (; e + kUnroll <= count; e += kUnroll)
        gather_batch<kVec, kWide, kUnroll, true>(queue + e, kUnroll, columns, wks, acc);
    if (e < count) gather_batch<kVec, kWide, kUnroll, false>(queue + e, count - e, columns, wks, acc);
}

/* A lane's sums in short runs: the run in registers, the total of the runs before it in shared memory, of
 * which a warp has kTileColumns * kVec of type S. */
template <int kVec, bool kWide, typename S = float> struct RunSums {
    S run[kLaneColumns * kVec];
    S *total; /* this lane's first */

    __device__ RunSums(S *of_warp, int lane) : run{}, total(of_warp + (kWide ? 4 * lane : lane))
    {
        store_total(run);
    }

    __device__ void load_total(S (&x)[kLaneColumns * kVec]) const
    {
#pragma unroll
        for (int v = 0; v < kVec; v++)
            if (kWide) {
                S four[4];
                load_quad(four, (const S *)total + kTileColumns * v);
#pragma unroll
                for (int c = 0; c < 4; c++) x[4 * v + c] = four[c];
            } else {
#pragma unroll
                for (int c = 4 * v; c < 4 * v + 4; c++) x[c] = total[kWarp * c];
            }
    }

    __device__ void store_total(const S (&x)[kLaneColumns * kVec])
    {
#pragma unroll
        for (int v = 0; v < kVec; v++)
            if (kWide) {
                const S four[4] = {x[4 * v], x[4 * v + 1], x[4 * v + 2], x[4 * v + 3]};
                store_quad(total + kTileColumns * v, four);
            } else {
#pragma unroll
                for (int c = 4 * v; c < 4 * v + 4; c++) total[kWarp * c] = x[c];
            }
    }

    /* The sums so far, in `run`. */
    __device__ void add_total()
    {
        S x[kLaneColumns * kVec];
        load_total(x);
#pragma unroll
        for (int c = 0; c < kLaneColumns * kVec; c++) run[c] += x[c];
    }

    /* total += run. What rounding takes away there begins the next run, so that the sum of many runs is as
     * exact as a run (Knuth's TwoSum); nothing where that is no number, so that an Inf stays one. */
    __device__ void add_to_total(S &total_c, S &run_c)
    {
        const S sum = total_c + run_c, added = sum - total_c;
        const S lost = (total_c - (sum - added)) + (run_c - added);
        total_c = sum;
        run_c = fabs(lost) <= (sizeof(S) == sizeof(float) ? (S)FLT_MAX : (S)DBL_MAX) ? lost : S(0);
    }

    /* Begins another run. */
    __device__ void settle()
    {
        S x[kLaneColumns * kVec];
        load_total(x);
#pragma unroll
        for (int c = 0; c < kLaneColumns * kVec; c++) add_to_total(x[c], run[c]);
        store_total(x);
    }
};

/* gather() in runs of `length`, a power of two, events; `before` of them were gathered from this range. A run
 * may begin with what is left of the range before. */
template <int kVec, bool kWide, typename T>
__device__ inline void gather_runs(const EventOf<Sum<T>> *queue, int before, int count,
                                   const LaneColumns<kVec, kWide, T> &columns, int wks,
                                   RunSums<kVec, kWide, Sum<T>> &sums, int length)
{
#pragma unroll 1
    for (int e = 0; e < count; e += length) {
        if (before + e > 0 && ((before + e) & (length - 1)) == 0) sums.settle();
        gather<kVec, kWide>(queue + e, min(length, count - e), columns, wks, sums.run);
    }
}

/* Reduction ---------------------------------------------------------------------------------------------- */

/* Every block of a cluster owns kTileColumns * vec / cluster columns of the tile and receives, in its shared
 * memory, the partial sums [slice][row][column] of all slices of k: pushed, so that one barrier suffices. */
template <int kVec, bool kWide, typename S>
__device__ inline void push_partial(S *received, const S (&acc)[kLaneColumns * kVec], int slice, int row,
                                    int rows, int cluster, int lane)
{
    const int owned = kTileColumns * kVec / cluster; /* a power of two */
#pragma unroll
    for (int v = 0; v < kVec; v++) {
        if (kWide) {
            int column = kTileColumns * v + 4 * lane;
            const S *at = received + ((slice * rows + row) * owned + column % owned);
            const unsigned address = cluster_address(at, column / owned, cluster);
            if constexpr (sizeof(S) == sizeof(float))
                cluster_store(address,
                              make_float4(acc[4 * v], acc[4 * v + 1], acc[4 * v + 2], acc[4 * v + 3]));
            else
#pragma unroll
                for (int c = 0; c < 4; c++) cluster_store(address + c * (int)sizeof(S), acc[4 * v + c]);
        } else {
#pragma unroll
            for (int c = 4 * v; c < 4 * v + 4; c++) {
                int column = kWarp * c + lane;
                const S *at = received + ((slice * rows + row) * owned + column % owned);
                cluster_store(cluster_address(at, column / owned, cluster), acc[c]);
            }
        }
    }
}

/* What the epilogue adds to element (i, j), of the output's type. */
template <lac_dt_t kType> __device__ inline float bias_at(const GemmArgsOf<Half<kType>> &p, int i, int j)
{
    if (p.out.f32 || !p.epilogue.bias) return bias_at(p.epilogue, i, j);
    return event_value(((const Half<kType> *)p.epilogue.bias)[p.epilogue.of_rows ? i : j]);
}
__device__ inline float bias_at(const GemmArgs &p, int i, int j)
{
    return bias_at(p.epilogue, i, j);
}

/* out[i, j] := beta out[i, j] + alpha sum, and the epilogue. */
__device__ inline void store_sum(const GemmArgs &p, int i, int j, float sum, float alpha, float beta)
{
    store_with_epilogue(p.out + i * p.rs + j * p.cs, sum, alpha, beta, p.epilogue, i, j);
}
__device__ inline void store_sum(const GemmArgsOf<double> &p, int i, int j, double sum, double alpha,
                                 double beta)
{
    double *const at = p.out + i * p.rs + j * p.cs;
    *at = scaled(at, sum, alpha, beta);
}
template <lac_dt_t kType>
__device__ inline void store_sum(const GemmArgsOf<Half<kType>> &p, int i, int j, float sum, float alpha,
                                 float beta)
{
    const int64_t at = i * p.rs + j * p.cs;
    const float was = beta == 0.0f ? 0.0f : p.out.load(at), x = scaled(&was, sum, alpha, beta);
    p.out.store(at, with_epilogue(p.epilogue, x, bias_at(p, i, j)));
}

/* Whether four columns of the output are written at once: nothing is read, and they lie together. */
__device__ inline bool stores_fours(const GemmArgs &p, float alpha, float beta)
{
    return p.cs == 1 && p.rs % 4 == 0 && p.n % 4 == 0 && (uintptr_t)p.out % 16 == 0 && alpha != 0.0f &&
           beta == 0.0f;
}

/* The biases of the columns from j on, as far as there are columns; 0 where rows have them. */
template <int kCount> __device__ inline void read_biases(float *bias, const GemmArgs &p, int j)
{
#pragma unroll
    for (int q = 0; q < kCount; q++)
        bias[q] = p.epilogue.any && !p.epilogue.of_rows ? bias_at(p.epilogue, 0, min(j + q, p.n - 1)) : 0.0f;
}

/* out[i, j .. j + 3] := beta out + alpha sums, and the epilogue, as far as there are columns. fours: all at
 * once; kPast: past the caches then. */
template <bool kPast>
__device__ inline void store_four(const GemmArgs &p, int i, int j, const float *sum, const float *bias,
                                  bool fours, float alpha, float beta)
{
    float *const at = p.out + i * p.rs + j * p.cs;
    if (fours && j < p.n) {
        float x[4];
#pragma unroll
        for (int q = 0; q < 4; q++) x[q] = with_epilogue(p.epilogue, alpha * sum[q], bias[q]);
        const float4 four = make_float4(x[0], x[1], x[2], x[3]);
        if (kPast)
            __stcs((float4 *)at, four);
        else
            *(float4 *)at = four;
    }
    if (fours) return;
#pragma unroll
    for (int q = 0; q < 4; q++)
        if (j + q < p.n)
            at[q * p.cs] = with_epilogue(p.epilogue, scaled(at + q * p.cs, sum[q], alpha, beta), bias[q]);
}

/* at(first) + at(first + 1) + .., a power of two of them, by halves: an addition of two sums of n terms each
 * is the last of log2(n) roundings, and does not wait for n others. */
template <int kCount, typename At> __device__ inline auto sum_by_halves(At at, int first)
{
    if constexpr (kCount == 1)
        return at(first);
    else
        return sum_by_halves<kCount / 2>(at, first) + sum_by_halves<kCount / 2>(at, first + kCount / 2);
}

/* Sums the received partials [slice][row][column] in slice order, eights by halves, and writes out the rows
 * [i0, i1) that lie in [0, rows) and the columns from j0 on. */
template <typename T>
__device__ inline void store_sums(const GemmArgsOf<T> &p, const Sum<T> *received, int slices, int rows,
                                  int owned, int i0, int i1, int j0)
{
    const Sum<T> alpha = load_scalar<Sum<T>>(p.alpha), beta = load_scalar<Sum<T>>(p.beta);
    const bool along_row = p.cs <= p.rs;
    for (int t = threadIdx.x; t < rows * owned; t += blockDim.x) {
        const Cell<int> at = cell_of(t, rows, owned, along_row);
        const int i = i0 + at.row, j = j0 + at.column;
        if (i >= i1 || j >= p.n) continue;
        const auto part = [&](int s) { return received[(s * rows + at.row) * owned + at.column]; };
        Sum<T> sum = 0;
        int s = 0;
#pragma unroll 1
        for (; s + 8 <= slices; s += 8) sum += sum_by_halves<8>(part, s);
#pragma unroll 1
        for (; s < slices; s++) sum += part(s);
        store_sum(p, i, j, sum, alpha, beta);
    }
}

/* Launch-side helpers -------------------------------------------------------------------------------------
 */

inline float *output_of(const lac_cuda_product_t *p, float)
{
    return (float *)p->out;
}
inline double *output_of(const lac_cuda_product_t *p, double)
{
    return (double *)p->out;
}
template <typename T> Output<T> output_of(const lac_cuda_product_t *p, T)
{
    return {p->out, p->out_dt == LAC_F32};
}

template <typename T = float> inline GemmArgsOf<T> make_gemm_args(const lac_cuda_product_t *p)
{
    const bool by_rows = p->order == LAC_CUDA_ROWS;
    return {(int)p->m,
            (int)p->n,
            (int)p->k,
            p->alpha,
            p->beta,
            (const T *)p->w,
            by_rows ? (int)p->ldw : 1,
            by_rows ? 1 : (int)p->ldw,
            output_of(p, T()),
            p->rs,
            p->cs,
            p->epilogue};
}

/* Whether rows of k elements of S can be scanned four elements at a time. */
inline bool scans_quads(const lac_cuda_dense_t *s, int64_t k)
{
    const size_t bytes = lac_dt_size(s->dt);
    return s->cs == 1 && k % 4 == 0 && s->rs % 4 == 0 && aligned(s->data, 4 * bytes);
}

inline bool wide_loads(const lac_cuda_product_t *p)
{
    return p->order == LAC_CUDA_ROWS && p->n % 4 == 0 && p->ldw % 4 == 0 &&
           aligned(p->w, 4 * lac_dt_size(p->w_dt));
}

/* Whether most rows of S have an event at the same k, so that a slice of W serves several of them. density:
 * expected. */
inline bool shares_slices(const lac_cuda_product_t *p, double density)
{
    return (double)p->m * density > 0.8;
}

inline bool extents_fit(const lac_cuda_product_t *p)
{
    return fits(p->m) && fits(p->n) && fits(p->k) && fits(p->ldw);
}

/* What the event products for W by columns share: sums across the lanes of a warp. */

/* Adds x[c] over the lanes, for each c; returns the total of column lane / (kWarp / kCols), in one fixed
 * order of additions. kCols: a power of two. */
template <int kCols> __device__ inline float reduce_columns(float (&x)[kCols], int lane)
{
    int offset = kWarp / 2;
#pragma unroll
    for (int half = kCols / 2; half > 0; half /= 2, offset /= 2) {
        const bool upper = lane & offset;
#pragma unroll
        for (int c = 0; c < half; c++) {
            const float keep = upper ? x[c + half] : x[c], send = upper ? x[c] : x[c + half];
            x[c] = keep + __shfl_xor_sync(kFull, send, offset);
        }
    }
#pragma unroll
    for (; offset > 0; offset /= 2) x[0] += __shfl_xor_sync(kFull, x[0], offset);
    return x[0];
}

} // namespace lacuna

#endif

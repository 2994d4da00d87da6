/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the encoding of which k are active costs: one tile kernel of fp32 multiply-adds, which learns the
 * active k of 32 rows and 8 k from a bitmask, a count with offsets, packed offsets, or a list; JSON to a
 * file.
 *
 * The encodings of eight k are those that people compare: one byte with a bit for each; five bytes, a count
 * and eight offsets of four bits; two bytes, a count and up to four offsets of three bits, of what is active
 * or, where that is more, of what is not. Each once per 32 rows, and once per row, which makes the kernel
 * unite 32 of them. A list is what the library uses: the active k of the 32 rows, without groups. */
#include "graph_timing.cuh"

#include <cstring>

namespace
{

enum Encoding { kKnown, kBitmask, kCounted, kPacked, kListed, kEncodings };
constexpr int kBytes[kEncodings] = {0, 1, 5, 2, 4};
const char *const kNames[kEncodings] = {"known", "bitmask", "count and offsets", "packed offsets", "list"};
constexpr int kRows = 32, kCols = 128, kOctet = 8, kWarps = 4;

struct Args {
    const float *a; /* [tile][k][kRows] */
    const float *b; /* [k][n] */
    float *c;
    const uint8_t *meta;     /* [tile][k / 8] or [tile][k / 8][kRows] of the encoding's bytes */
    const int *list, *count; /* [tile][k]; [tile] */
    int k, n, known;         /* kKnown: the first `known` of each eight are active */
};

/* The bits of one group of eight k. */
template <int kEncoding> __device__ inline unsigned decode(const uint8_t *at)
{
    if (kEncoding == kBitmask) return *at;
    unsigned bits = 0;
    if (kEncoding == kCounted) {
        const int count = at[0];
        for (int i = 0; i < count; i++) bits |= 1u << (at[1 + i / 2] >> 4 * (i % 2) & 15);
        return bits;
    }
    const unsigned word = *(const uint16_t *)at;
    const int count = word & 7;
    for (int i = 0; i < count; i++) bits |= 1u << (word >> (4 + 3 * i) & 7);
    return word & 8 ? bits ^ 255u : bits;
}

/* sum += a[:, k] b[k, :] for 32 rows and this lane's four columns. */
__device__ inline void add_k(const Args &g, const float *a, int k, int column, float4 (&sum)[kRows])
{
    const float4 b = *(const float4 *)(g.b + (int64_t)k * g.n + column);
#pragma unroll
    for (int i = 0; i < kRows; i += 4) {
        const float4 x = __ldg((const float4 *)(a + (int64_t)k * kRows + i));
        const float each[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
        for (int r = 0; r < 4; r++) {
            sum[i + r].x = fmaf(each[r], b.x, sum[i + r].x), sum[i + r].y = fmaf(each[r], b.y, sum[i + r].y);
            sum[i + r].z = fmaf(each[r], b.z, sum[i + r].z), sum[i + r].w = fmaf(each[r], b.w, sum[i + r].w);
        }
    }
}

/* c := a b. A warp has 32 rows and 128 columns; the four of a block have four tiles of rows. */
template <int kEncoding, bool kPerRow>
__global__ __launch_bounds__(kWarps * 32) void multiply(const __grid_constant__ Args g)
{
    const int lane = threadIdx.x % 32, tile = blockIdx.y * kWarps + threadIdx.x / 32,
              column = blockIdx.x * kCols + lane * 4, groups = g.k / kOctet;
    const float *a = g.a + (int64_t)tile * g.k * kRows;
    float4 sum[kRows] = {};
    if (kEncoding == kListed) {
        const int count = g.count[tile];
        for (int i = 0; i < count; i += 32) { /* 32 at a time, as the library reads them */
            const int mine = i + lane < count ? g.list[(int64_t)tile * g.k + i + lane] : 0;
            for (int l = 0; l < 32 && i + l < count; l++)
                add_k(g, a, __shfl_sync(0xffffffffu, mine, l), column, sum);
        }
    }
    for (int o = 0; o < groups && kEncoding != kListed; o++) {
        const int64_t at = ((int64_t)tile * groups + o) * kBytes[kEncoding];
        unsigned bits = kEncoding == kKnown ? (1u << g.known) - 1
                        : kPerRow ? decode<kEncoding>(g.meta + at * kRows + lane * kBytes[kEncoding])
                                  : decode<kEncoding>(g.meta + at);
        if (kPerRow) bits = __reduce_or_sync(0xffffffffu, bits);
        for (; bits; bits &= bits - 1) add_k(g, a, o * kOctet + __ffs((int)bits) - 1, column, sum);
    }
#pragma unroll
    for (int i = 0; i < kRows; i++) *(float4 *)(g.c + ((int64_t)tile * kRows + i) * g.n + column) = sum[i];
}

void encode(int encoding, unsigned bits, uint8_t *at)
{
    const bool inverted = __builtin_popcount(bits) > 4;
    const unsigned listed = encoding == kPacked && inverted ? bits ^ 255u : bits;
    uint16_t word = (uint16_t)(__builtin_popcount(listed) | (inverted ? 8 : 0));
    int count = 0;
    if (encoding == kBitmask) at[0] = (uint8_t)bits;
    if (encoding == kCounted) memset(at, 0, 5), at[0] = (uint8_t)__builtin_popcount(bits);
    for (unsigned left = listed; left; left &= left - 1, count++) {
        const int offset = __builtin_ctz(left);
        if (encoding == kCounted) at[1 + count / 2] |= (uint8_t)(offset << 4 * (count % 2));
        if (encoding == kPacked) word = (uint16_t)(word | offset << (4 + 3 * count));
    }
    if (encoding == kPacked) memcpy(at, &word, 2);
}

template <typename T> T *upload(const std::vector<T> &x)
{
    T *there;
    CUDA_CHECK(cudaMalloc(&there, x.size() * sizeof(T)));
    CUDA_CHECK(cudaMemcpy(there, x.data(), x.size() * sizeof(T), cudaMemcpyHostToDevice));
    return there;
}

struct Bench {
    int m, n, k;
    std::vector<uint8_t> bits; /* [tile][k / 8] */
    Args g;
    std::vector<float> first; /* the first result of this density */
};

/* `known` k of each eight, at random positions in each 32 rows; A's inactive elements are zeros. */
void make(Bench &x, int known, uint64_t seed)
{
    const int tiles = x.m / kRows, groups = x.k / kOctet;
    std::vector<float> a((size_t)x.m * x.k), b((size_t)x.k * x.n);
    std::vector<int> list((size_t)tiles * x.k), count((size_t)tiles);
    x.bits.assign((size_t)tiles * groups, 0);
    for (size_t i = 0; i < x.bits.size(); i++)
        while (__builtin_popcount(x.bits[i]) < known) x.bits[i] |= (uint8_t)(1u << (mix(++seed) % kOctet));
    for (int t = 0; t < tiles; t++)
        for (int k = 0; k < x.k; k++) {
            const bool active = x.bits[(size_t)t * groups + k / kOctet] >> k % kOctet & 1;
            if (active) list[(size_t)t * x.k + count[t]++] = k;
            for (int r = 0; r < kRows; r++)
                a[((size_t)t * x.k + k) * kRows + r] = active ? (float)(int)(mix(++seed) % 17) - 8.0f : 0.0f;
        }
    for (float &v : b) v = (float)(int)(mix(++seed) % 17) - 8.0f;
    x.g = {upload(a), upload(b), nullptr, nullptr, upload(list), upload(count), x.k, x.n, known};
    CUDA_CHECK(cudaMalloc(&x.g.c, sizeof(float) * (size_t)x.m * x.n));
    x.first.clear();
}

/* All encodings name the same k in the same order: the same bits. */
bool same(Bench &x, int encoding)
{
    std::vector<float> got((size_t)x.m * x.n);
    CUDA_CHECK(cudaMemcpy(got.data(), x.g.c, got.size() * sizeof(float), cudaMemcpyDeviceToHost));
    if (encoding == kKnown) return true; /* other k */
    if (x.first.empty()) x.first = got;
    return !memcmp(got.data(), x.first.data(), got.size() * sizeof(float));
}

template <int kEncoding, bool kPerRow> void time_encoding(Bench &x, FILE *json, bool &first)
{
    const int copies = kPerRow ? kRows : 1, tiles = x.m / kRows;
    std::vector<uint8_t> meta(x.bits.size() * kBytes[kEncoding] * copies + 8);
    for (size_t i = 0; i < x.bits.size() && kEncoding != kListed; i++)
        for (int r = 0; r < copies; r++)
            encode(kEncoding, x.bits[i], meta.data() + (i * copies + r) * kBytes[kEncoding]);
    uint8_t *there = upload(meta);
    x.g.meta = there;
    const dim3 grid((unsigned)(x.n / kCols), (unsigned)(tiles / kWarps));
    const double us = time_graph(
        [&](int) {
            multiply<kEncoding, kPerRow><<<grid, kWarps * 32, 0, stream>>>(x.g);
            return cudaGetLastError() == cudaSuccess ? LAC_OK : LAC_ERR_VENDOR;
        },
        3, 1);
    const double once =
        kEncoding == kListed ? 0.5 * x.g.known * (double)(x.m / kRows) * x.k : (double)(meta.size() - 8);
    const bool good = same(x, kEncoding);
    printf("  %d of 8 active, %-18s %-8s %9.1f us, metadata %8.3f MB, read %8.1f MB%s\n", x.g.known,
           kNames[kEncoding], kPerRow ? "per row" : "", us, once * 1e-6, once * 1e-6 * grid.x,
           good ? "" : "  WRONG");
    fprintf(json,
            "%s\n  {\"problem\": \"%dx%dx%d %d of 8 active\", \"route\": \"%s%s\", \"us\": %.3f, "
            "\"metadata_bytes\": "
            "%.0f, \"metadata_read_bytes\": %.0f}",
            first ? "" : ",", x.m, x.k, x.n, x.g.known, kNames[kEncoding], kPerRow ? ", per row" : "", us,
            once, once * grid.x);
    first = false;
    cudaFree(there);
}

} // namespace

/* encoding_bench out.json */
int main(int argc, char **argv)
{
    FILE *json = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (!json) return 2;
    bool first = true;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    write_provenance(json, 0, kOperators);
    for (int known : {4, 2, 1}) {
        Bench x = {2048, 2048, 2048, {}, {}, {}};
        make(x, known, 5);
        time_encoding<kKnown, false>(x, json, first);
        time_encoding<kListed, false>(x, json, first);
        time_encoding<kBitmask, false>(x, json, first);
        time_encoding<kPacked, false>(x, json, first);
        time_encoding<kCounted, false>(x, json, first);
        time_encoding<kBitmask, true>(x, json, first);
        time_encoding<kPacked, true>(x, json, first);
        time_encoding<kCounted, true>(x, json, first);
        for (const void *p : {(const void *)x.g.a, (const void *)x.g.b, (const void *)x.g.c,
                              (const void *)x.g.list, (const void *)x.g.count})
            cudaFree((void *)p);
    }
    fprintf(json, "\n]}\n");
    fclose(json);
    return 0;
}

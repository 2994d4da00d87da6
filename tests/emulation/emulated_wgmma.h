/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The part of emulated_primitives.h that stands in for wgmma.cuh. The layouts of fragments and of matrices in
 * shared memory are those of the PTX manual. */
#ifndef LACUNA_EMULATED_WGMMA_H
#define LACUNA_EMULATED_WGMMA_H
#define LACUNA_CUDA_TILES_WGMMA_CUH

namespace lacuna
{

constexpr int kGroup = 128, kWgmmaRows = 64, kWgmmaDepth = 16;
struct TF32 {
    static constexpr int kDepth = 8;
};

inline uint64_t wgmma_matrix(unsigned address, unsigned next_k, unsigned next_columns)
{
    EMULATED_REQUIRE(address % 16 == 0 && next_k % 16 == 0 && next_columns % 16 == 0);
    return (uint64_t)(next_columns >> 4) << 32 | (uint64_t)(next_k >> 4) << 16 | (address >> 4);
}

constexpr int kStripCols = 64, kStripLine = 128;
inline uint64_t wgmma_strips(unsigned address, unsigned next_strip, unsigned next_eight)
{
    EMULATED_REQUIRE(address % 1024 == 0 && next_strip % 1024 == 0 && next_eight % 1024 == 0);
    return wgmma_matrix(address, next_strip, next_eight) | uint64_t(1) << 62;
}

inline uint64_t wgmma_lines(unsigned address)
{
    EMULATED_REQUIRE(address % 1024 == 0);
    return wgmma_matrix(address, 16, 1024) | uint64_t(1) << 62;
}

inline uint64_t wgmma_further(uint64_t matrix, int bytes)
{
    EMULATED_REQUIRE(bytes % 16 == 0);
    return matrix + (unsigned)(bytes >> 4);
}

inline void wgmma_fence() {}
inline void wgmma_commit() {}
template <int kLeft> inline void wgmma_wait() {}
template <int kCount> inline void keep(uint4 (&)[kCount]) {}
template <int kCount> inline void keep(float (&)[kCount]) {}
inline void keep(int &) {}
inline void keep(uint64_t &) {}
inline void keep(const char *&) {}

/* Element (k, column) of B in strips: bits 4 to 6 of the address as made are exchanged by those above. */
template <typename E> inline float wgmma_strip_element(uint64_t matrix, int k, int column)
{
    EMULATED_REQUIRE(matrix >> 62 == 1);
    const unsigned start = unsigned(matrix & 0x3fff) << 4, next_strip = unsigned(matrix >> 16 & 0x3fff) << 4,
                   next_k = unsigned(matrix >> 32 & 0x3fff) << 4,
                   at = start + unsigned(column / 64) * next_strip + unsigned(k / 8) * next_k +
                        unsigned(k % 8 * 128 + column % 64 * 2);
    E x;
    x.bits = *at_address<uint16_t>(at ^ (at >> 7 & 7) << 4);
    return event_value(x);
}

/* Element (k, column) of B. */
template <typename E> inline float wgmma_element(uint64_t matrix, int k, int column)
{
    const unsigned start = unsigned(matrix & 0x3fff) << 4, next_k = unsigned(matrix >> 16 & 0x3fff) << 4,
                   next_columns = unsigned(matrix >> 32 & 0x3fff) << 4;
    E x;
    x.bits = *at_address<uint16_t>(start + unsigned(k / 8) * next_k + unsigned(column / 8) * next_columns +
                                   unsigned(column % 8 * 16 + k % 8 * 2));
    return event_value(x);
}

/* A lane's sums: of rows lane / 4 and 8 further on, columns 2 (lane % 4) and the next of each eight.
 * `element` gives B's (k, column). */
template <int kSums, int kDepth, typename Element>
inline void add_products(float (&d)[kSums], const double (&rows)[2][kDepth], bool add, Element element)
{
    const int lane = emulated_lane();
    for (int eight = 0; eight < kSums / 4; eight++)
        for (int next = 0; next < 2; next++) {
            double b[kDepth], term[kDepth + 1];
            for (int k = 0; k < kDepth; k++) b[k] = (double)element(k, eight * 8 + lane % 4 * 2 + next);
            for (int h = 0; h < 2; h++) {
                float &sum = d[eight * 4 + h * 2 + next];
                term[0] = add ? (double)sum : 0.0;
                for (int k = 0; k < kDepth; k++) term[1 + k] = rows[h][k] * b[k];
                sum = truncated_sum(term, kDepth + 1);
            }
        }
}

template <typename E, int kSums> inline void wgmma(E, float (&d)[kSums], uint4 a, uint64_t b, bool add)
{
    const Lanes<uint64_t> low(uint64_t(a.y) << 32 | a.x), high(uint64_t(a.w) << 32 | a.z);
    const int lane = emulated_lane();
    double rows[2][16];
    for (int i = 0; i < 32; i++) {
        const int h = i / 16, k = i % 16;
        E x;
        x.bits = (uint16_t)((k < 8 ? low : high).of[lane / 4 * 4 + k % 8 / 2] >> (32 * h + 16 * (k % 2)));
        rows[h][k] = (double)event_value(x);
    }
    add_products(d, rows, add, [&](int k, int column) { return wgmma_element<E>(b, k, column); });
}

/* The ten bits of an f32 that count. */
inline double tf32_value(uint32_t bits)
{
    return (double)__uint_as_float(bits & 0xffffe000u);
}

template <int kSums> inline void wgmma(TF32, float (&d)[kSums], uint4 a, uint64_t b, bool add)
{
    const Lanes<uint64_t> low(uint64_t(a.y) << 32 | a.x), high(uint64_t(a.w) << 32 | a.z);
    const int lane = emulated_lane();
    const unsigned start = unsigned(b & 0x3fff) << 4, next_k = unsigned(b >> 16 & 0x3fff) << 4,
                   next_columns = unsigned(b >> 32 & 0x3fff) << 4;
    double rows[2][TF32::kDepth];
    for (int k = 0; k < TF32::kDepth; k++)
        for (int h = 0; h < 2; h++)
            rows[h][k] = tf32_value(uint32_t((k < 4 ? low : high).of[lane / 4 * 4 + k % 4] >> (32 * h)));
    add_products(d, rows, add, [&](int k, int column) {
        const unsigned core = start + unsigned(column / 8) * next_columns,
                       line = core + unsigned(column % 8 * 128 + k * 4);
        return tf32_value(*at_address<uint32_t>(b >> 62 == 1 ? line ^ (line >> 7 & 7) << 4
                                                             : core + unsigned(k / 4) * next_k +
                                                                   unsigned(column % 8 * 16 + k % 4 * 4)));
    });
}

inline int wgmma_row()
{
    return (int)threadIdx.x % kGroup / 32 * 16 + emulated_lane() / 4;
}

/* A by strips of k, B by columns. */
template <typename E, int kSums> inline void wgmma(E, float (&d)[kSums], uint64_t a, uint64_t b, bool add)
{
    const int row = wgmma_row();
    double rows[2][16];
    for (int i = 0; i < 32; i++)
        rows[i / 16][i % 16] = (double)wgmma_strip_element<E>(a, i % 16, row + i / 16 * 8);
    add_products(d, rows, add, [&](int k, int column) { return wgmma_element<E>(b, k, column); });
}

/* A by columns, B by strips of k. */
template <typename E> inline void wgmma(E, float (&d)[64], uint64_t a, uint64_t b)
{
    const int row = wgmma_row();
    double rows[2][16];
    for (int i = 0; i < 32; i++) rows[i / 16][i % 16] = (double)wgmma_element<E>(a, i % 16, row + i / 16 * 8);
    add_products(d, rows, true, [&](int k, int column) { return wgmma_strip_element<E>(b, k, column); });
}

/* Both by strips, of k, or of A's rows and B's columns. */
template <bool kAlongRows, bool kAlongColumns, typename E>
inline void wgmma(E, float (&low)[64], float (&high)[64], uint64_t a, uint64_t b)
{
    const int row = wgmma_row();
    double rows[2][16];
    for (int i = 0; i < 32; i++) {
        const int r = row + i / 16 * 8, k = i % 16;
        rows[i / 16][k] =
            (double)(kAlongRows ? wgmma_strip_element<E>(a, k, r) : wgmma_strip_element<E>(a, r, k));
    }
    const auto element = [&](int k, int column) {
        return kAlongColumns ? wgmma_strip_element<E>(b, k, column) : wgmma_strip_element<E>(b, column, k);
    };
    add_products(low, rows, true, element);
    add_products(high, rows, true, [&](int k, int column) { return element(k, 128 + column); });
}

template <int kRegisters> inline void registers_fewer() {}
template <int kRegisters> inline void registers_more() {}

template <int kThreads> inline bool any_of(int name, bool mine)
{
    static thread_local struct {
        int come;
        unsigned number;
        bool any[2];
    } meetings[16];
    auto &meeting = meetings[name];
    const unsigned number = meeting.number;
    if (meeting.come == 0) meeting.any[number % 2] = false;
    meeting.any[number % 2] |= mine;
    if (++meeting.come == kThreads)
        meeting.come = 0, meeting.number++;
    else
        emulated_wait([](const void *of, unsigned value) { return *(const unsigned *)of != value; },
                      &meeting.number, number);
    return meeting.any[number % 2];
}

template <int kThreads> inline void meet(int name)
{
    any_of<kThreads>(name, false);
}

} // namespace lacuna
#endif

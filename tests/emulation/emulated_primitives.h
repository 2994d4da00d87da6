/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Included before a kernel that is compiled for the host: stands in for primitives.cuh, async_copy.cuh
 * and mma.cuh; and, by emulated_wgmma.h, for wgmma.cuh. */
#ifndef LACUNA_EMULATED_PRIMITIVES_H
#define LACUNA_EMULATED_PRIMITIVES_H
#define LACUNA_CUDA_COMMON_PRIMITIVES_CUH
#define LACUNA_CUDA_COMMON_ASYNC_COPY_CUH
#define LACUNA_CUDA_TILES_MMA_CUH

#include <cuda_runtime.h>

#include <stdint.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#define LACUNA_DYNAMIC_SHARED(type, name) type *name = (type *)emulated_shared()

namespace lacuna
{

/* primitives.cuh: an address is an offset in the block's shared memory, and the block's rank in the cluster
 * above it. Barriers lie in static shared memory and are never addressed. */

constexpr int kRankShift = 24;

inline unsigned shared_address(const void *p)
{
    const ptrdiff_t at = (const char *)p - emulated_shared();
    EMULATED_REQUIRE(at >= 0 && at <= (ptrdiff_t)emulated_shared_bytes());
    return (unsigned)at;
}

inline unsigned cluster_address(const void *p, int rank, int cluster)
{
    EMULATED_REQUIRE(rank < cluster || cluster == 1);
    return shared_address(p) | (cluster > 1 ? unsigned(rank + 1) << kRankShift : 0u);
}

template <typename T> inline T *at_address(unsigned address)
{
    const int rank = int(address >> kRankShift) - 1;
    const size_t at = address & ((1u << kRankShift) - 1);
    EMULATED_REQUIRE(at % alignof(T) == 0 && at + sizeof(T) <= emulated_shared_bytes());
    return (T *)((rank < 0 ? emulated_shared() : emulated_shared_of(rank)) + at);
}

template <typename T> inline void cluster_store(unsigned address, T x)
{
    *at_address<T>(address) = x;
}

inline float4 cluster_load4(unsigned address)
{
    return *at_address<float4>(address);
}

inline void cluster_add(unsigned address,
                        unsigned long long x) /* blocks of a cluster are threads of the host */
{
    __atomic_fetch_add(at_address<unsigned long long>(address), x, __ATOMIC_RELAXED);
}

inline float4 read_now(unsigned address)
{
    return *at_address<float4>(address);
}

inline float2 read_two_now(unsigned address)
{
    return *at_address<float2>(address);
}

inline float load_shared(unsigned address)
{
    return *at_address<float>(address);
}

inline uint32_t load_shared_word(unsigned address)
{
    return *at_address<uint32_t>(address);
}
inline void store_shared_if(bool wanted, unsigned address, uint32_t x)
{
    if (wanted) *at_address<uint32_t>(address) = x;
}

template <int kAhead = 0, typename T = int, typename X = int>
inline X load_if(bool live, const T *p, X otherwise)
{
    return live ? X(p[kAhead]) : otherwise;
}

inline void load_four_if(bool live, const uint32_t *p, uint32_t *x)
{
    EMULATED_REQUIRE(!live || (uintptr_t)p % 16 == 0);
    for (int e = 0; e < 4; e++) x[e] = live ? p[e] : 0;
}

inline unsigned kept(unsigned x)
{
    return x;
}

struct LaneMasks {
    unsigned mine, below;
};
inline LaneMasks lane_masks()
{
    const unsigned mine = 1u << threadIdx.x % 32;
    return {mine, mine - 1};
}

inline int thread_here()
{
    return (int)threadIdx.x;
}

inline float load_once(const float *p)
{
    return *p;
}

inline float4 load_once4(const float *p)
{
    EMULATED_REQUIRE((uintptr_t)p % 16 == 0);
    return {p[0], p[1], p[2], p[3]};
}

inline void store_system(uint64_t *p, uint64_t x)
{
    EMULATED_REQUIRE((uintptr_t)p % 8 == 0);
    *p = x;
}
inline uint64_t load_system(const uint64_t *p)
{
    EMULATED_REQUIRE((uintptr_t)p % 8 == 0);
    return *(const volatile uint64_t *)p;
}

/* A microsecond passes with each look. */
inline unsigned long long now_ns()
{
    static std::atomic<unsigned long long> now;
    return now += 1000;
}

inline uint32_t bf16_of(float x)
{
    const uint32_t bits = __float_as_uint(x), odd = bits >> 16 & 1;
    return x == x ? (bits + 0x7fff + odd) >> 16 : 0x7fff;
}
inline uint32_t nearest_bf16(float lo, float hi)
{
    return bf16_of(hi) << 16 | bf16_of(lo);
}

inline float f16_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                       : exponent == 0
                           ? ldexpf((float)fraction, -24)
                           : __uint_as_float(unsigned(exponent + 112) << 23 | unsigned(fraction) << 13);
    return bits >> 15 ? -size : size;
}
inline uint16_t nearest_f16(float x)
{
    const uint16_t sign = (uint16_t)(__float_as_uint(x) >> 31 << 15);
    if (x != x) return 0x7fff;
    if (x == 0.0f) return sign;
    int exponent;
    frexpf(x, &exponent);
    const int unit = (exponent < -13 ? -13 : exponent) - 11;
    const float size = fabsf(x), whole = size > 65536.0f ? INFINITY : nearbyintf(ldexpf(size, -unit));
    if (!(ldexpf(whole, unit) < 65520.0f)) return sign | 0x7c00;
    const int fraction = (int)whole; /* 2048 where it was rounded up to a power of two */
    return sign | (uint16_t)((unit + 24) * 1024 + fraction);
}

inline uint32_t nearest_f16_pair(float lo, float hi)
{
    return (uint32_t)nearest_f16(hi) << 16 | nearest_f16(lo);
}

inline void cluster_sync(int cluster)
{
    if (cluster > 1)
        emulated_arrive_cluster(), emulated_wait_cluster();
    else
        emulated_sync_block();
}

inline void cluster_arrive_relaxed(int cluster)
{
    if (cluster > 1) emulated_arrive_cluster();
}
inline void cluster_arrive(int cluster)
{
    cluster_arrive_relaxed(cluster);
}
inline void cluster_wait(int cluster)
{
    if (cluster > 1) emulated_wait_cluster();
}

inline void dependents_launch() {}
inline void dependency_wait() {}

/* async_copy.cuh: what is copied arrives later. */

struct barrier_t {
    int arrivals, missing;
    int64_t bytes; /* promised and not yet come */
    unsigned phases;

    void settle()
    {
        if (missing > 0 || bytes > 0) return;
        missing = arrivals;
        phases++;
    }
};

inline void barrier_init(barrier_t *b, int arrivals)
{
    *b = {arrivals, arrivals, 0, 0};
}
inline void bulk_copy_fence() {}
inline bool one_lane()
{
    return emulated_lane() == 0;
}

inline void arrive_now(barrier_t *b)
{
    EMULATED_REQUIRE(b->missing > 0);
    b->missing--;
    b->settle();
}

/* Others may go on before the next statement is done. */
inline void let_others_go_on()
{
    emulated_wait([](const void *, unsigned) { return true; }, nullptr, 0);
}

inline void barrier_arrive(barrier_t *b)
{
    arrive_now(b);
    let_others_go_on();
}

inline void barrier_arrive_promise(barrier_t *b, unsigned bytes)
{
    b->bytes += bytes;
    barrier_arrive(b);
}

inline void barrier_promise(barrier_t *b, unsigned bytes)
{
    EMULATED_REQUIRE(b->missing > 0);
    b->bytes += bytes;
}

inline void barrier_wait(barrier_t *b, unsigned parity)
{
    const auto over = [](const void *object, unsigned value) {
        return ((const barrier_t *)object)->phases % 2 != value;
    };
    emulated_wait(over, b, parity);
}

/* Blocks of a cluster are threads of the host. */
inline void cluster_barrier_fence() {}
template <typename T> inline void cluster_push(unsigned address, T x, unsigned barrier)
{
    static std::mutex one_at_a_time;
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    barrier_t *b = at_address<barrier_t>(barrier);
    *at_address<T>(address) = x;
    EMULATED_REQUIRE(b->bytes >= (int64_t)sizeof x);
    b->bytes -= (int64_t)sizeof x;
    b->settle();
}
inline void barrier_wait_pushed(barrier_t *b)
{
    barrier_wait(b, 0);
}

inline void barrier_arrive_copied(barrier_t *b)
{
    emulated_later([b] { arrive_now(b); });
    let_others_go_on();
}

template <typename T> inline void copy_later(float *to, const float *from)
{
    EMULATED_REQUIRE((uintptr_t)from % sizeof(T) == 0);
    T *into = at_address<T>(shared_address(to));
    emulated_later([into, from] { memcpy((void *)into, from, sizeof(T)); });
}
inline void copy_async16(float *to, const float *from)
{
    copy_later<float4>(to, from);
}
inline void copy_async4(float *to, const float *from)
{
    copy_later<float>(to, from);
}
inline void copy_async4(float *to, const float *from, unsigned bytes)
{
    static const float zero = 0.0f;
    EMULATED_REQUIRE(bytes == 0 || bytes == 4);
    copy_later<float>(to, bytes ? from : &zero);
}

inline void copies_commit() {}
template <int kLater> inline void copies_wait()
{
    emulated_wait_for_later(); /* for more than it must */
}

inline void stores_commit() {}
inline void stores_wait_read()
{
    emulated_wait_for_later();
}

inline void copy_bulk(float *to, const float *from, unsigned bytes, barrier_t *done)
{
    EMULATED_REQUIRE((uintptr_t)from % 16 == 0 && bytes % 16 == 0);
    char *into = (char *)at_address<float4>(shared_address(to));
    EMULATED_REQUIRE(shared_address(to) + bytes <= emulated_shared_bytes());
    emulated_later([=] {
        memcpy(into, from, bytes);
        done->bytes -= bytes;
        done->settle();
    });
}

/* mma.cuh */

inline uint4 load_transposed(unsigned address)
{
    const Lanes<unsigned> rows(address);
    const int lane = emulated_lane();
    unsigned word[4];
    for (int i = 0; i < 4; i++) {
        const int row = 8 * i + lane % 4 * 2, column = lane / 4;
        const uint16_t *low = (const uint16_t *)at_address<uint4>(rows.of[row]),
                       *high = (const uint16_t *)at_address<uint4>(rows.of[row + 1]);
        word[i] = (unsigned)high[column] << 16 | low[column];
    }
    return {word[0], word[1], word[2], word[3]};
}

inline uint4 load_matrices(unsigned address)
{
    const Lanes<unsigned> rows(address);
    const int lane = emulated_lane();
    unsigned word[4];
    for (int i = 0; i < 4; i++)
        word[i] = ((const unsigned *)at_address<uint4>(rows.of[8 * i + lane / 4]))[lane % 4];
    return {word[0], word[1], word[2], word[3]};
}

inline void store_matrices(unsigned address, uint4 x)
{
    const Lanes<unsigned> rows(address);
    const int lane = emulated_lane();
    const unsigned word[4] = {x.x, x.y, x.z, x.w};
    for (int i = 0; i < 4; i++)
        ((unsigned *)at_address<uint4>(rows.of[8 * i + lane / 4]))[lane % 4] = word[i];
}

inline void store_transposed(unsigned address, uint4 x)
{
    const Lanes<unsigned> rows(address);
    const int lane = emulated_lane();
    const unsigned word[4] = {x.x, x.y, x.z, x.w};
    for (int i = 0; i < 4; i++)
        for (int next = 0; next < 2; next++)
            ((uint16_t *)at_address<uint4>(rows.of[8 * i + lane % 4 * 2 + next]))[lane / 4] =
                (uint16_t)(word[i] >> 16 * next);
}

/* Products are exact; of each term is cut off what lies two bits below the largest one's last as a float, as
 * tensor cores do in one way or another, and the sum is cut off to a float. */
inline float truncated_sum(const double *term, int count)
{
    double largest = 0.0;
    for (int i = 0; i < count; i++) {
        if (!std::isfinite(term[i]))
            return (float)(term[0] - term[0] + term[i]); /* Inf or NaN, in this test */
        largest = std::max(largest, fabs(term[i]));
    }
    if (largest == 0.0) return 0.0f;
    int exponent;
    frexp(largest, &exponent);
    const double units = ldexp(1.0, 26 - exponent);
    int64_t sum_in_units = 0; /* each term is less than 2^26 of them */
    for (int i = 0; i < count; i++) sum_in_units += (int32_t)(term[i] * units);
    const double sum = (double)sum_in_units / units;
    float rounded = (float)sum;
    if (std::isfinite(rounded) && fabs((double)rounded) > fabs(sum)) rounded = nextafterf(rounded, 0.0f);
    return rounded;
}

inline float bf16_at(uint64_t words, int word, int half)
{
    return __uint_as_float((unsigned)(words >> (32 * word + 16 * half) & 0xffff) << 16);
}

inline void mma_bf16(float (&d)[4], uint4 a, uint32_t b0, uint32_t b1)
{
    const Lanes<uint64_t> left((uint64_t)a.y << 32 | a.x), right((uint64_t)a.w << 32 | a.z),
        b((uint64_t)b1 << 32 | b0);
    const int lane = emulated_lane();
    for (int e = 0; e < 4; e++) {
        const int row = lane / 4, high = e / 2, column = lane % 4 * 2 + e % 2;
        double term[17] = {(double)d[e]};
        for (int k = 0; k < 16; k++) {
            const Lanes<uint64_t> &pieces = k < 8 ? left : right;
            term[1 + k] = (double)bf16_at(pieces.of[row * 4 + k % 8 / 2], high, k % 2) *
                          (double)bf16_at(b.of[column * 4 + k % 8 / 2], k / 8, k % 2);
        }
        d[e] = truncated_sum(term, 17);
    }
}

} // namespace lacuna

#include "emulated_wgmma.h"
#endif

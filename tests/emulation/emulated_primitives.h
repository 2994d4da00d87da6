/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Included before a kernel that is compiled for the host: stands in for primitives.cuh and async_copy.cuh. */
#ifndef LACUNA_EMULATED_PRIMITIVES_H
#define LACUNA_EMULATED_PRIMITIVES_H
#define LACUNA_PRIMITIVES_CUH
#define LACUNA_ASYNC_COPY_CUH

#include <cuda_runtime.h>

#include <stdint.h>

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

inline float4 read_now(unsigned address)
{
    return *at_address<float4>(address);
}

inline float load_once(const float *p)
{
    return *p;
}

inline void cluster_sync(int cluster)
{
    if (cluster > 1)
        emulated_sync_cluster();
    else
        emulated_sync_block();
}

/* An arrival that promises nothing to be seen, and the wait that goes with it: met by the whole barrier. */
inline void cluster_arrive_relaxed(int) {}
inline void cluster_wait(int cluster)
{
    if (cluster > 1) emulated_sync_cluster();
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
inline void barrier_init_fence() {}

inline void barrier_arrive(barrier_t *b)
{
    EMULATED_REQUIRE(b->missing > 0);
    b->missing--;
    b->settle();
}

inline void barrier_arrive_promise(barrier_t *b, unsigned bytes)
{
    b->bytes += bytes;
    barrier_arrive(b);
}

inline void barrier_wait(barrier_t *b, unsigned parity)
{
    const auto over = [](const void *object, unsigned value) {
        return ((const barrier_t *)object)->phases % 2 != value;
    };
    emulated_wait(over, b, parity);
}

inline void barrier_arrive_copied(barrier_t *b)
{
    emulated_later([b] { barrier_arrive(b); });
}

template <typename T> inline void copy_later(float *to, const float *from)
{
    EMULATED_REQUIRE((uintptr_t)from % sizeof(T) == 0);
    T *into = at_address<T>(shared_address(to));
    emulated_later([into, from] { memcpy(into, from, sizeof(T)); });
}
inline void copy_async16(float *to, const float *from)
{
    copy_later<float4>(to, from);
}
inline void copy_async4(float *to, const float *from)
{
    copy_later<float>(to, from);
}

inline void copies_commit() {}
template <int kLater> inline void copies_wait()
{
    emulated_wait_for_later(); /* for more than it must */
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

} // namespace lacuna
#endif

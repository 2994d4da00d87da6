/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Runs a grid of CUDA threads on the host, to test what a kernel computes where no device is. Blocks are
 * threads of the host, those of a cluster side by side, others one after the other; their CUDA threads are
 * fibers.
 *
 * It is there to find mistakes: warps go on in an order drawn at random, copies that a kernel starts arrive
 * as late as the kernel allows, shared memory holds NaN before it is written and once its block has ended,
 * and ends where the launch said; a vector that is read or written at once must be aligned. What it does not
 * have: time, memory that is seen late, warps whose lanes part. */
#ifndef LACUNA_EMULATOR_H
#define LACUNA_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#include <functional>

/* For what no device allows, or no kernel may do: ends the program. */
[[noreturn]] void emulated_fail(const char *what, const char *file, int line);
#define EMULATED_REQUIRE(x) ((x) ? (void)0 : emulated_fail(#x, __FILE__, __LINE__))

/* Fails unless an access of so many bytes at once is aligned. The compiler, which takes a type's alignment
 * for granted, does not see the address. */
inline void emulated_vector_at(const void *p, size_t bytes)
{
    uintptr_t address = (uintptr_t)p;
    __asm__("" : "+r"(address));
    if (address % bytes) emulated_fail("a vector access is aligned", __FILE__, __LINE__);
}

struct EmulatedIndex {
    unsigned x, y, z;
};

struct EmulatedDevice {
    int multiprocessors, major;
    size_t shared; /* bytes that a block may have */
};
enum {
    EMULATED_H200,
    EMULATED_SMALL_HOPPER,
    EMULATED_A100,
    EMULATED_L4,
    EMULATED_DEVICES,
    EMULATED_LEAST_HOPPER = EMULATED_DEVICES, /* of one multiprocessor, for which few products are small */
    EMULATED_MIDDLE_HOPPER,                   /* of eight: clusters of each size find room            */
    EMULATED_ALL
};
extern const EmulatedDevice kEmulatedDevices[EMULATED_ALL];
extern int emulated_device;        /* the current one            */
extern int emulated_meddling;      /* times that others ask for little shared memory before we launch */
extern uint64_t emulated_schedule; /* seed of the order of warps */

struct EmulatedGrid {
    EmulatedIndex grid, block;
    size_t shared;
    int cluster; /* blocks along x */
};

/* False where no device could: a block of too many threads, a cluster that does not divide the grid. */
bool emulated_run(const EmulatedGrid &grid, const std::function<void()> &kernel);

/* Of the calling CUDA thread. */
const EmulatedIndex &emulated_thread_index();
EmulatedIndex emulated_block_index();
EmulatedIndex emulated_block_dim();
EmulatedIndex emulated_grid_dim();

/* What each lane of the warp brings, once all have come; good until this thread's next exchange. */
const uint64_t *emulated_exchange(uint64_t mine);
void emulated_sync_block();
void emulated_arrive_cluster();
void emulated_wait_cluster();
/* Lets others go on until ready(object, value). */
void emulated_wait(bool (*ready)(const void *object, unsigned value), const void *object, unsigned value);

/* The shared memory of this block, and of one of the cluster. */
struct EmulatedShared {
    char *first;
    size_t bytes;
};
extern __thread EmulatedShared emulated_shared_memory;
inline char *emulated_shared()
{
    return emulated_shared_memory.first;
}
inline size_t emulated_shared_bytes()
{
    return emulated_shared_memory.bytes;
}
char *emulated_shared_of(int rank);

/* Runs `then` some time from now, after all that this CUDA thread left for later before. */
void emulated_later(std::function<void()> then);
void emulated_wait_for_later();

#endif

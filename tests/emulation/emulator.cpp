/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Fibers, blocks and clusters. */
#include "emulator.h"

#include <setjmp.h> /* with clang */
#include <ucontext.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

const EmulatedDevice kEmulatedDevices[EMULATED_ALL] = {
    {132, 9, 227 * 1024}, {4, 9, 227 * 1024}, {20, 8, 163 * 1024},
    {58, 8, 99 * 1024},   {1, 9, 227 * 1024}, {8, 9, 227 * 1024},
};
int emulated_device;
int emulated_meddling;
uint64_t emulated_schedule = 1;
__thread EmulatedShared emulated_shared_memory;

namespace
{

constexpr int kWarp = 32, kMostThreads = 1024;
constexpr size_t kStack = 64 * 1024;
constexpr int kTurns = 24; /* of a warp before another's, at most */

/* Where a fiber or the scheduler goes on. swapcontext would ask the system for the signal mask each time, and
 * the address sanitizer has the whole stack cleared by each longjmp that it knows of; but no frame is left
 * for good here. go_to must not be in the function of mark. */
#if defined(__GNUC__) && !defined(__clang__)
using Place = void *[5];
#    define mark(place) __builtin_setjmp(place)
[[noreturn]] __attribute__((noinline, no_sanitize("address"))) void go_to(Place &place)
{
    __builtin_longjmp(place, 1);
}
#else
using Place = jmp_buf;
#    define mark(place) _setjmp(place)
[[noreturn]] void go_to(Place &place)
{
    _longjmp(place, 1);
}
#endif

struct Fiber {
    ucontext_t start;
    Place place; /* once it has run */
    bool begun = false, done = true;
    std::unique_ptr<char[]> stack;
    unsigned thread;
    EmulatedIndex index;
    unsigned meeting;                                /* of the cluster, that it has arrived at */
    bool (*ready)(const void *, unsigned) = nullptr; /* what it waits for */
    const void *object;
    unsigned value;
    std::deque<std::function<void()>> later;

    bool may_run() const { return !done && (!ready || ready(object, value)); }
};

/* A meeting of `expected` threads; the number of the meeting tells who has been to which. */
struct Meeting {
    std::atomic<int> come{0};
    std::atomic<unsigned> number{0};

    /* The number of the meeting that this thread has come to, for leave(). */
    unsigned arrive(int expected)
    {
        const unsigned mine = number;
        if (++come == expected) {
            come = 0;
            number++;
        }
        return mine;
    }
    void leave(unsigned mine) const
    {
        const auto over = [](const void *object, unsigned value) {
            return ((const Meeting *)object)->number != value;
        };
        if (number == mine) emulated_wait(over, this, mine);
    }
    void attend(int expected) { leave(arrive(expected)); }
};

struct Warp {
    Meeting meeting;
    uint64_t words[2][kWarp]; /* of this exchange, and of the one before, which some still read */
    unsigned exchanges[kWarp] = {};
};

struct Cluster;

struct Block {
    const EmulatedGrid *grid;
    EmulatedIndex index;
    Cluster *cluster;
    std::unique_ptr<float[]> shared; /* its own allocation: a sanitizer sees what lies beyond */
    std::vector<Warp> warps;
    Meeting meeting;
};

struct Cluster {
    std::vector<std::unique_ptr<Block>> blocks;
    Meeting meeting;
};

thread_local Block *block;
thread_local Fiber *fiber;
thread_local Place scheduler;
thread_local const std::function<void()> *body;

int threads_of(const EmulatedGrid &g)
{
    return int(g.block.x * g.block.y * g.block.z);
}

/* Back to the scheduler, until it resumes this fiber. */
__attribute__((noinline, no_sanitize("address"))) void leave_fiber()
{
    if (!mark(fiber->place)) go_to(scheduler);
}

/* A fiber does a thread of one block, waits, and does one of a later block. */
void begin_fiber()
{
    for (;;) {
        (*body)();
        fiber->done = true;
        leave_fiber();
    }
}

[[noreturn]] __attribute__((noinline, no_sanitize("address"))) void go_on()
{
    if (fiber->begun) go_to(fiber->place);
    fiber->begun = true;
    setcontext(&fiber->start);
    abort();
}

/* Lets a fiber go on until it waits or ends. */
__attribute__((noinline, no_sanitize("address"))) void resume(Fiber &f)
{
    fiber = &f;
    if (!mark(scheduler)) go_on();
}

/* Does the oldest thing that a fiber left for later, if there is one. */
bool do_later(Fiber &f)
{
    if (f.later.empty()) return false;
    const std::function<void()> then = std::move(f.later.front());
    f.later.pop_front();
    then();
    return true;
}

/* Fibers for so many threads of a block. They stay: to make them anew for each block took most of the time.
 */
Fiber *prepare(const EmulatedGrid &g, size_t threads)
{
    static thread_local std::unique_ptr<Fiber[]> fibers(new Fiber[kMostThreads]);
    for (size_t thread = 0; thread < threads; thread++) {
        Fiber &f = fibers[thread];
        const unsigned t = f.thread = (unsigned)thread;
        f.index = {t % g.block.x, t / g.block.x % g.block.y, t / g.block.x / g.block.y};
        f.done = false, f.ready = nullptr;
        if (f.stack) continue;
        f.stack.reset(new char[kStack]);
        getcontext(&f.start);
        f.start.uc_stack.ss_sp = f.stack.get();
        f.start.uc_stack.ss_size = kStack;
        f.start.uc_link = nullptr;
        makecontext(&f.start, begin_fiber, 0);
    }
    return fibers.get();
}

/* Lets the lanes of a warp that may go on do so; whether there was one. */
bool run_lanes(Fiber *lanes)
{
    bool ran = false;
    for (int lane = 0; lane < kWarp; lane++)
        if (lanes[lane].may_run()) resume(lanes[lane]), ran = true;
    return ran;
}

/* Runs all threads of a block; `order` draws which warp goes on, for how long, and what of that which was
 * left for later comes now: mostly nothing, until nobody can go on without, or all. */
void run_block(Block &b, const std::function<void()> &kernel, uint64_t seed)
{
    std::mt19937_64 order(seed);
    const size_t threads = (size_t)threads_of(*b.grid), warps = b.warps.size();
    block = &b, body = &kernel;
    emulated_shared_memory = {(char *)b.shared.get(), b.grid->shared};
    Fiber *const fibers = prepare(*b.grid, threads); /* those of a short last warp are done */
    const auto running = [&] {
        for (size_t f = 0; f < threads; f++)
            if (!fibers[f].done) return true;
        return false;
    };
    const bool at_once = order() % 2; /* in one block of two, as soon as the warp waits */
    bool some = true;
    for (size_t idle = 0; some || running(); idle++) {
        const size_t warp = order() % warps;
        some = run_lanes(&fibers[warp * kWarp]);
        for (int turn = int(order() % kTurns); some && turn > 0 && run_lanes(&fibers[warp * kWarp]); turn--)
            continue;
        if (some) idle = 0;
        if (at_once)
            for (int lane = 0; lane < kWarp; lane++)
                while (do_later(fibers[warp * kWarp + (size_t)lane])) continue;
        else if (order() % 4 == 0)
            do_later(fibers[order() % threads]);
        if (idle < 4 * warps) continue;
        bool came = false; /* everybody waits: for copies, or for other blocks */
        for (size_t first = order() % threads, f = 0; f < threads && !came; f++)
            came = do_later(fibers[(first + f) % threads]);
        if (!came) std::this_thread::yield();
    }
    for (size_t f = 0; f < threads; f++)
        EMULATED_REQUIRE(fibers[f].later.empty()); /* what it copies is waited for */
    for (size_t f = 0; f < b.grid->shared / sizeof(float); f++) b.shared[f] = __builtin_nanf(""); /* gone */
}

/* Threads of the host for the blocks of a cluster but the first. They stay, and with them their fibers. */
class Helpers
{
  public:
    ~Helpers()
    {
        for (auto &helper : helpers_) helper->hand({});
        for (auto &helper : helpers_) helper->thread.join();
    }
    void start(size_t which, std::function<void()> work)
    {
        while (helpers_.size() <= which) helpers_.emplace_back(new Helper);
        helpers_[which]->hand(std::move(work));
    }
    void wait(size_t count)
    {
        for (size_t h = 0; h < count; h++) helpers_[h]->wait();
    }

  private:
    struct Helper {
        std::mutex lock;
        std::condition_variable turned;
        std::function<void()> work;
        bool busy = false;
        std::thread thread{[this] { serve(); }};

        void hand(std::function<void()> given)
        {
            const std::lock_guard<std::mutex> hold(lock);
            work = std::move(given), busy = true;
            turned.notify_all();
        }
        void wait()
        {
            std::unique_lock<std::mutex> hold(lock);
            turned.wait(hold, [this] { return !busy; });
        }
        void serve()
        {
            std::unique_lock<std::mutex> hold(lock);
            for (;;) {
                turned.wait(hold, [this] { return busy; });
                if (!work) return;
                hold.unlock();
                work();
                hold.lock();
                busy = false;
                turned.notify_all();
            }
        }
    };
    std::vector<std::unique_ptr<Helper>> helpers_;
};

} // namespace

void emulated_fail(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: block %u, thread %u: not so: %s\n", file, line, block ? block->index.x : 0,
            fiber ? fiber->thread : 0, what);
    abort();
}

bool emulated_run(const EmulatedGrid &g, const std::function<void()> &kernel)
{
    const int threads = threads_of(g);
    if (threads < 1 || threads > kMostThreads || g.grid.x % (unsigned)g.cluster || g.grid.y > 65535 ||
        g.grid.z > 65535 || g.shared > kEmulatedDevices[emulated_device].shared)
        return false;
    uint64_t seed = emulated_schedule;
    static Helpers helpers;
    for (unsigned z = 0; z < g.grid.z; z++)
        for (unsigned y = 0; y < g.grid.y; y++)
            for (unsigned x = 0; x < g.grid.x; x += (unsigned)g.cluster) {
                Cluster c;
                for (unsigned r = 0; r < (unsigned)g.cluster; r++) {
                    std::unique_ptr<Block> b(new Block);
                    b->grid = &g, b->index = {x + r, y, z}, b->cluster = &c;
                    b->shared.reset(new float[g.shared / sizeof(float) + 1]);
                    for (size_t f = 0; f < g.shared / sizeof(float); f++) b->shared[f] = __builtin_nanf("");
                    b->warps = std::vector<Warp>((size_t)((threads + kWarp - 1) / kWarp));
                    c.blocks.push_back(std::move(b));
                }
                const size_t others = (size_t)g.cluster - 1;
                for (size_t h = 0; h < others; h++)
                    helpers.start(h, [&, h, own = ++seed] { run_block(*c.blocks[h + 1], kernel, own); });
                run_block(*c.blocks[0], kernel, ++seed);
                helpers.wait(others);
            }
    return true;
}

void emulated_wait(bool (*ready)(const void *, unsigned), const void *object, unsigned value)
{
    fiber->ready = ready, fiber->object = object, fiber->value = value;
    leave_fiber();
    fiber->ready = nullptr;
}

const EmulatedIndex &emulated_thread_index()
{
    return fiber->index;
}

EmulatedIndex emulated_block_index()
{
    return block->index;
}

EmulatedIndex emulated_block_dim()
{
    return block->grid->block;
}

EmulatedIndex emulated_grid_dim()
{
    return block->grid->grid;
}

const uint64_t *emulated_exchange(uint64_t mine)
{
    Warp &w = block->warps[fiber->thread / kWarp];
    EMULATED_REQUIRE(threads_of(*block->grid) % kWarp == 0);
    const unsigned lane = fiber->thread % kWarp, now = w.exchanges[lane]++ % 2;
    w.words[now][lane] = mine;
    w.meeting.attend(kWarp);
    return w.words[now];
}

void emulated_sync_block()
{
    block->meeting.attend(threads_of(*block->grid));
}

void emulated_arrive_cluster()
{
    fiber->meeting = block->cluster->meeting.arrive(threads_of(*block->grid) * block->grid->cluster);
}

void emulated_wait_cluster()
{
    block->cluster->meeting.leave(fiber->meeting);
}

char *emulated_shared_of(int rank)
{
    return (char *)block->cluster->blocks[(size_t)rank]->shared.get();
}

void emulated_later(std::function<void()> then)
{
    fiber->later.push_back(std::move(then));
}

void emulated_wait_for_later()
{
    const auto none = [](const void *object, unsigned) { return ((const Fiber *)object)->later.empty(); };
    emulated_wait(none, fiber, 0);
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The exchange of events on the emulator: columns to bits and bits to bytes, whatever the shards and strides;
 * what a rank stores into the others' places, and where; words that do not come, and a host that wants an
 * end. */
#include "cuda_support.h"
#include "emulator.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace
{

int checks, failures;

void fail(const char *what, unsigned seed, int rank, int64_t at)
{
    if (failures++ < 20) printf("FAIL %s: seed %u rank %d at %lld\n", what, seed, rank, (long long)at);
}

/* Of exactly this many elements: a sanitizer sees what lies beyond. */
template <typename T> struct Buffer {
    std::unique_ptr<T, void (*)(void *)> memory;
    size_t count;
    explicit Buffer(int64_t n) : memory((T *)calloc((size_t)n + !n, sizeof(T)), free), count((size_t)n) {}
    T *data() const { return memory.get(); }
    T &operator[](int64_t i) const { return memory.get()[i]; }
};

struct World {
    unsigned seed;
    int ranks;
    int64_t rows, all, words, most;
    bool u8, by_columns;
    std::vector<lac_cuda_shard_t> shard;
    std::vector<uint8_t> event; /* [rows][all] */

    explicit World(unsigned s) : seed(s), all(0), words(0), most(0)
    {
        std::mt19937 random(seed);
        static const int64_t kColumns[] = {0, 1, 31, 32, 33, 64, 65, 200, 1000, 3000};
        ranks = 1 + (int)(random() % 5), rows = 1 + (int64_t)(random() % 4);
        u8 = random() % 2, by_columns = random() % 2;
        for (int r = 0; r < ranks; r++) {
            const int64_t count = kColumns[random() % 10], own = lac_cuda_shard_words(rows, count);
            shard.push_back({all, count, words});
            all += count, words += own;
            if (own > most) most = own;
        }
    }
    void draw(unsigned step)
    {
        std::mt19937 random(seed * 977 + step);
        event.assign((size_t)(rows * all), 0);
        for (auto &x : event) x = random() % 7 == 0;
    }
    uint32_t word(int r, int64_t w) const
    {
        const int64_t across = (shard[r].count + 31) / 32, i = w / across, j = w % across * 32;
        uint32_t bits = 0;
        for (int b = 0; b < 32 && j + b < shard[r].count; b++)
            bits |= (uint32_t)event[(size_t)(i * all + shard[r].first + j + b)] << b;
        return bits;
    }
    int64_t own_words(int r) const { return lac_cuda_shard_words(rows, shard[r].count); }
};

/* A rank's share in memory: by rows or by columns, any nonzero an event, -0 none. */
struct Share {
    Buffer<float> f;
    Buffer<uint8_t> b;
    lac_cuda_matrix_t x;
    Share(const World &w, int r)
        : f(w.u8 ? 0 : w.rows * w.shard[r].count), b(w.u8 ? w.rows * w.shard[r].count : 0)
    {
        const int64_t count = w.shard[r].count;
        x = {w.u8 ? LAC_U8 : LAC_F32,
             w.u8 ? (void *)b.data() : (void *)f.data(),
             w.rows,
             count,
             w.by_columns ? 1 : count,
             w.by_columns ? w.rows : 1};
        for (int64_t i = 0; i < w.rows; i++)
            for (int64_t j = 0; j < count; j++) {
                const bool event = w.event[(size_t)(i * w.all + w.shard[r].first + j)];
                const int64_t at = i * x.rs + j * x.cs;
                if (w.u8)
                    b[at] = event ? (uint8_t)(1 + (i + j) % 255) : 0;
                else
                    f[at] = event ? (j % 2 ? -3.0f : 1e-30f) : (j % 3 ? 0.0f : -0.0f);
            }
    }
};

void expect_events(const World &w, const uint8_t *out, int64_t ld, int rank, const char *what)
{
    for (int64_t i = 0; i < w.rows; i++)
        for (int64_t j = 0; j < w.all; j++)
            if (out[i * ld + j] != w.event[(size_t)(i * w.all + j)])
                return fail(what, w.seed, rank, i * w.all + j);
    checks++;
}

void check_pack(unsigned seed)
{
    World w(seed);
    w.draw(0);
    const int64_t stride = w.most + 3, ld = w.all + 5;
    Buffer<uint32_t> gathered(w.ranks * stride);
    Buffer<uint8_t> out(w.rows * ld);
    memset(out.data(), 9, out.count);
    for (int r = 0; r < w.ranks; r++) {
        const Share share(w, r);
        Buffer<uint32_t> words(w.own_words(r));
        if (lac_cuda_events_pack(&share.x, words.data(), nullptr)) fail("pack: status", seed, r, 0);
        for (int64_t t = 0; t < w.own_words(r); t++) {
            if (words[t] != w.word(r, t)) return fail("pack", seed, r, t);
            gathered[r * stride + t] = words[t];
        }
    }
    const lac_cuda_unpack_t u = {w.ranks, w.shard.data(),  w.rows,     stride,
                                 ld,      gathered.data(), out.data(), w.most};
    if (lac_cuda_events_unpack(&u, nullptr)) fail("unpack: status", seed, 0, 0);
    expect_events(w, out.data(), ld, 0, "unpack");
    for (int64_t i = 0; i < w.rows; i++)
        for (int64_t j = w.all; j < ld; j++)
            if (out[i * ld + j] != 9) fail("unpack: wrote beside the events", seed, 0, j);
}

struct Rank {
    Buffer<uint64_t> place;
    Buffer<uint8_t> out;
    Buffer<uint32_t> state;
    uint32_t failed, stop;
    explicit Rank(const World &w)
        : place(2 * w.words), out(w.rows * w.all), state(LAC_CUDA_EXCHANGE_STATE), failed(0), stop(0)
    {
    }
};

lac_status_t exchange(const World &w, std::vector<Rank> &rank, int r, const lac_cuda_matrix_t &mine)
{
    std::vector<uint64_t *> table;
    for (auto &x : rank) table.push_back(x.place.data());
    const lac_cuda_exchange_t x = {w.ranks,
                                   r,
                                   w.shard.data(),
                                   table.data(),
                                   w.words,
                                   mine,
                                   rank[r].out.data(),
                                   w.all,
                                   rank[r].state.data(),
                                   &rank[r].failed,
                                   &rank[r].stop,
                                   1000000};
    return lac_cuda_events_exchange(&x, nullptr);
}

/* Blocks run one after the other, and so do ranks: the words of ranks that have not run yet are put in place
 * as they will put them, and compared with what they then do put there. */
void check_exchange(unsigned seed)
{
    World w(seed);
    std::vector<Rank> rank;
    for (int r = 0; r < w.ranks; r++) rank.emplace_back(w);
    for (unsigned step = 1; step <= 5; step++) {
        w.draw(step);
        const int64_t set = step % 2 * w.words;
        for (int r = 0; r < w.ranks; r++) {
            const Share share(w, r);
            for (int s = r + 1; s < w.ranks; s++)
                for (int64_t t = 0; t < w.own_words(s); t++)
                    rank[r].place[set + w.shard[s].word + t] = (uint64_t)step << 32 | w.word(s, t);
            if (exchange(w, rank, r, share.x)) fail("exchange: status", seed, r, 0);
            expect_events(w, rank[r].out.data(), w.all, r, "exchange");
            for (int q = 0; q < w.ranks; q++)
                for (int64_t t = 0; q != r && t < w.own_words(r); t++)
                    if (rank[q].place[set + w.shard[r].word + t] != ((uint64_t)step << 32 | w.word(r, t)))
                        return fail("what was stored", seed, r, t);
            if (w.words &&
                (rank[r].state[0] != step || rank[r].state[1] || rank[r].state[2] || rank[r].failed))
                fail("state", seed, r, step);
        }
        checks++;
    }
}

/* The last rank with words never comes; or the host wants an end. */
void check_absent(unsigned seed, bool stopped)
{
    World w(seed);
    int absent = -1;
    for (int r = 1; r < w.ranks; r++)
        if (w.own_words(r)) absent = r;
    if (absent < 0) return;
    std::vector<Rank> rank;
    for (int r = 0; r < w.ranks; r++) rank.emplace_back(w);
    for (unsigned step = 1; step <= 3;
         step++) { /* what came two exchanges ago lies where this one's should */
        w.draw(step);
        for (int s = 1; s < w.ranks; s++)
            for (int64_t t = 0; t < w.own_words(s) && !(step == 3 && s == absent); t++)
                rank[0].place[step % 2 * w.words + w.shard[s].word + t] = (uint64_t)step << 32 | w.word(s, t);
        if (step < 3 && exchange(w, rank, 0, Share(w, 0).x)) fail("before: status", seed, 0, step);
    }
    if (rank[0].failed) fail("before: reported", seed, 0, rank[0].failed);
    const Share share(w, 0);
    rank[0].stop = stopped;
    if (exchange(w, rank, 0, share.x)) fail("absent: status", seed, 0, 0);
    if (rank[0].failed != 1u + (unsigned)absent || !rank[0].state[2])
        fail("absent: not reported", seed, 0, rank[0].failed);
    for (int64_t i = 0; i < w.rows; i++) /* what did not come counts as nothing */
        for (int64_t j = 0; j < w.shard[absent].count; j++)
            w.event[(size_t)(i * w.all + w.shard[absent].first + j)] = 0;
    expect_events(w, rank[0].out.data(), w.all, 0, "absent");
    rank[0].failed = 0; /* the next one neither waits nor reports again */
    exchange(w, rank, 0, share.x);
    if (rank[0].failed || rank[0].state[0] != 4) fail("absent: the next one", seed, 0, rank[0].state[0]);
    checks++;
}

void check_refused()
{
    lac_cuda_matrix_t x = {LAC_F64, nullptr, 1, 1, 1, 1};
    lac_cuda_exchange_t e = {};
    lac_cuda_unpack_t u = {};
    checks++;
    if (lac_cuda_events_pack(&x, nullptr, nullptr) == LAC_OK) fail("a type", 0, 0, 0);
    if (lac_cuda_events_unpack(&u, nullptr) == LAC_OK) fail("no ranks", 0, 0, 0);
    e.mine = {LAC_F32, nullptr, 1, 1, 1, 1}, e.ranks = 2, e.rank = 2;
    if (lac_cuda_events_exchange(&e, nullptr) == LAC_OK) fail("a rank outside", 0, 0, 0);
}

} // namespace

/* test_emulated_exchange [cases] [first seed] */
int main(int argc, char **argv)
{
    const bool quick = getenv("LACUNA_TEST_QUICK") != nullptr;
    const int cases = argc > 1 ? atoi(argv[1]) : quick ? 6 : 30;
    const unsigned first = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    for (int t = 0; t < cases; t++) {
        emulated_device = t % EMULATED_DEVICES;
        emulated_schedule = (uint64_t)t;
        check_pack(first + (unsigned)t);
        check_exchange(first + (unsigned)t);
        check_absent(first + (unsigned)t, t % 2);
    }
    check_refused();
    printf("test_emulated_exchange: %d checks, %d failures\n", checks, failures);
    return failures != 0 || checks == 0;
}

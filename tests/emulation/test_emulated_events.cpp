/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Event kernels on the emulator, against fp64: random shapes, orders, strides, scalars, densities and
 * devices; operands that are not aligned; poisoned outputs, of which nothing else is written; each product
 * twice, in two orders of its warps, for the same bits, and once with bias and activation. */
#include "cuda_kernels.h"
#include "emulator.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace
{

constexpr double kTolerance = 12.0;    /* units of 2^-24 |S||W|, elementwise worst */
constexpr double kMeanTolerance = 2.5; /* the same, mean, where thousands of positive terms are added up: an
                                          accumulator that takes them straight is off by 10 and more  */
int checks, failures;

struct Case {
    int64_t m, n, k;
    double density;
    bool u8, s_kmajor, w_cols, w_padded, out_transposed, device_scalars;
    float alpha, beta;
    int device;
    unsigned seed;
    bool positive;                      /* W: no term cancels another */
    int s_offset, w_offset, out_offset; /* elements behind an aligned address */
    int out_pad;                        /* between the lines of the output    */
};

/* 16-byte aligned, of exactly this many elements: a sanitizer sees what lies beyond. */
template <typename T> struct Buffer {
    std::unique_ptr<T, void (*)(void *)> memory;
    size_t count;
    explicit Buffer(int64_t n)
        : memory((T *)aligned_alloc(256, (sizeof(T) * (size_t)n + 255) / 256 * 256), free), count((size_t)n)
    {
    }
    T *data() const { return memory.get(); }
    T &operator[](int64_t i) const { return memory.get()[i]; }
};

struct Operands {
    Buffer<float> s, w, before, out, val;
    Buffer<uint8_t> bytes, workspace;
    Buffer<int64_t> ptr;
    Buffer<int32_t> idx;
    std::vector<double> sum, magnitude; /* of S W and |S||W| */
    float scalars[2];
    lac_cuda_product_t p;
    lac_cuda_dense_t dense;
    lac_cuda_csr_t csr, either; /* either: the same, or with rows apart */
    std::vector<int64_t> apart_ptr;
    std::vector<int32_t> apart_idx;
    std::vector<float> apart_val;
    std::vector<bool> inside; /* out: of the output, and not between its lines */

    float was(int64_t at) const { return before.data()[written() - out.data() + at]; }
    float *written() const { return (float *)p.out; }
};

std::string text(const Case &c, const char *what)
{
    char b[256];
    snprintf(b, sizeof b,
             "%s:%lldx%lldx%lld:d=%g:%s:s=%s:w=%s%s:out=%s+%d:at=%d,%d,%d:alpha=%g:beta=%g%s:"
             "device=%d:seed=%u",
             what, (long long)c.m, (long long)c.k, (long long)c.n, c.density, c.u8 ? "u8" : "f32",
             c.s_kmajor ? "kmajor" : "rows", c.w_cols ? "cols" : "rows", c.w_padded ? "+pad" : "",
             c.out_transposed ? "trans" : "rows", c.out_pad, c.s_offset, c.w_offset, c.out_offset, c.alpha,
             c.beta, c.device_scalars ? ":dev" : "", c.device, c.seed);
    return b;
}

int64_t workspace_bytes(int64_t m, int64_t k)
{
    int64_t most = 0;
    for (int64_t bytes : {lac_cuda_event_slots_bytes(m, k, LAC_F32), lac_cuda_event_stream_bytes(m, k),
                          lac_cuda_event_active_bytes(m, k)})
        most = bytes > most ? bytes : most;
    return most;
}

/* Rows with room for all k each, and nothing between them. */
void part_rows(const Case &c, Operands *o)
{
    o->apart_idx.assign((size_t)(c.m * c.k), -1), o->apart_val.assign((size_t)(c.m * c.k), NAN);
    for (int64_t i = 0; i < c.m; i++) {
        const int64_t from = o->ptr[i], count = o->ptr[i + 1] - from, to = i * c.k;
        for (int64_t e = 0; e < count; e++) {
            o->apart_idx[(size_t)(to + e)] = o->idx[from + e];
            o->apart_val[(size_t)(to + e)] = o->val[from + e];
        }
        o->apart_ptr.insert(o->apart_ptr.end(), {to, to + count});
    }
    o->either = {o->apart_ptr.data(), o->apart_idx.data(), c.u8 ? nullptr : o->apart_val.data(), o->csr.nnz,
                 true};
}

/* W is NaN in the rows that no row of S has an event for. */
std::unique_ptr<Operands> make(const Case &c)
{
    std::mt19937 random(c.seed);
    const auto uniform = [&random] { return (float)(random() % 20001) / 10000.0f - 1.0f; };
    const int64_t ldw = (c.w_cols ? c.k : c.n) + (c.w_padded ? 5 : 0), lines = c.w_cols ? c.n : c.k;
    const int64_t nnz_max = c.m * c.k, ldo = (c.out_transposed ? c.m : c.n) + c.out_pad;
    const int64_t room = c.out_offset + ldo * (c.out_transposed ? c.n : c.m);
    std::unique_ptr<Operands> o(new Operands{Buffer<float>(c.s_offset + c.m * c.k),
                                             Buffer<float>(c.w_offset + ldw * lines),
                                             Buffer<float>(room),
                                             Buffer<float>(room),
                                             Buffer<float>(nnz_max),
                                             Buffer<uint8_t>(c.s_offset + c.m * c.k),
                                             Buffer<uint8_t>(workspace_bytes(c.m, c.k)),
                                             Buffer<int64_t>(c.m + 1),
                                             Buffer<int32_t>(nnz_max),
                                             std::vector<double>((size_t)(c.m * c.n)),
                                             std::vector<double>((size_t)(c.m * c.n)),
                                             {c.alpha, c.beta},
                                             {},
                                             {},
                                             {},
                                             {},
                                             {},
                                             {},
                                             {},
                                             {}});
    const float *const w = o->w.data() + c.w_offset;
    const int64_t rs = c.s_kmajor ? 1 : c.k, cs = c.s_kmajor ? c.m : 1;
    const int64_t ks = c.w_cols ? 1 : ldw, js = c.w_cols ? ldw : 1;
    const bool full_rows = c.seed % 3 == 0; /* now and then */
    std::vector<bool> active((size_t)c.k);
    int64_t nnz = 0;
    o->ptr[0] = 0;
    for (int64_t i = 0; i < c.m; i++) {
        for (int64_t k = 0; k < c.k; k++) {
            const bool event = (full_rows && i % 7 == 3) || random() % 100000 < c.density * 100000;
            const float x = !event ? (random() % 2 ? 0.0f : -0.0f) : c.u8 ? 1.0f : uniform() + 2.0f;
            o->s[c.s_offset + i * rs + k * cs] = x, o->bytes[c.s_offset + i * rs + k * cs] =
                                                        event ? (uint8_t)(1 + random() % 255) : 0;
            if (event) o->idx[nnz] = (int32_t)k, o->val[nnz++] = x, active[(size_t)k] = true;
        }
        o->ptr[i + 1] = nnz;
    }
    for (size_t e = 0; e < o->w.count; e++) o->w.data()[e] = NAN;
    for (int64_t k = 0; k < c.k; k++)
        for (int64_t j = 0; j < c.n; j++)
            if (active[(size_t)k])
                o->w[c.w_offset + k * ks + j * js] = c.positive ? fabsf(uniform()) : uniform();
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t e = o->ptr[i]; e < o->ptr[i + 1]; e++)
            for (int64_t j = 0; j < c.n; j++) {
                const double x = (double)o->val[e] * (double)w[o->idx[e] * ks + j * js];
                o->sum[(size_t)(i * c.n + j)] += x, o->magnitude[(size_t)(i * c.n + j)] += fabs(x);
            }
    for (int64_t e = 0; e < room; e++) o->before[e] = c.beta == 0.0f ? NAN : uniform();
    o->p = {c.m,
            c.n,
            c.k,
            {nullptr, c.alpha},
            w,
            ldw,
            c.w_cols ? LAC_CUDA_COLS : LAC_CUDA_ROWS,
            {nullptr, c.beta},
            o->out.data() + c.out_offset,
            c.out_transposed ? 1 : ldo,
            c.out_transposed ? ldo : 1,
            {},
            LAC_F32,
            LAC_F32};
    o->inside.resize((size_t)room);
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t j = 0; j < c.n; j++)
            o->inside[(size_t)(c.out_offset + i * o->p.rs + j * o->p.cs)] = true;
    if (c.device_scalars) o->p.alpha = {o->scalars, 99.0f}, o->p.beta = {o->scalars + 1, 99.0f};
    o->dense = {c.u8 ? LAC_U8 : LAC_F32,
                c.u8 ? (const void *)(o->bytes.data() + c.s_offset) : o->s.data() + c.s_offset, rs, cs,
                c.seed % 2 ? c.density : 0.0};
    o->csr = o->either = {o->ptr.data(), o->idx.data(), c.u8 ? nullptr : o->val.data(), nnz, false};
    if (c.seed % 2) part_rows(c, o.get());
    return o;
}

/* The worst error of an element, and the mean of all. */
double worst_error(const Case &c, const Operands &o, double *mean)
{
    double worst = 0, sum = 0;
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t j = 0; j < c.n; j++) {
            const int64_t at = i * o.p.rs + j * o.p.cs;
            double expected = (double)c.alpha * o.sum[(size_t)(i * c.n + j)],
                   unit = fabs((double)c.alpha) * o.magnitude[(size_t)(i * c.n + j)];
            if (c.beta != 0.0f) {
                expected += (double)c.beta * (double)o.was(at);
                unit += fabs((double)c.beta * (double)o.was(at));
            }
            const double error = fabs((double)o.written()[at] - expected) / (unit * 0x1p-24 + 1e-30);
            if (!(error <= worst)) worst = error;
            sum += error;
        }
    *mean = sum / (double)(c.m * c.n);
    return worst;
}

/* Whether all but the output is as it was. */
bool padding_intact(const Operands &o)
{
    for (size_t e = 0; e < o.inside.size(); e++)
        if (!o.inside[e] && memcmp(o.out.data() + e, o.before.data() + e, sizeof(float))) return false;
    return true;
}

/* The same run with bias and activation: what these make of the plain result, bit by bit. */
void check_after(const Case &c, Operands &o, const char *what, const std::function<lac_status_t()> &run,
                 const std::vector<float> &plain)
{
    static const float limits[] = {NAN, 0.0f, -0.25f, 0.5f};
    const unsigned draw = c.seed + (unsigned)checks;
    const bool of_rows = draw % 2, magnitude = draw % 4 == 3;
    const Buffer<float> bias(of_rows ? c.m : c.n);
    for (size_t e = 0; e < bias.count; e++) bias.data()[e] = (float)((e * 37 + draw) % 101) / 50.0f - 1.0f;
    const lac_cuda_epilogue_t epilogue = {draw % 3 ? bias.data() : nullptr, true, of_rows, magnitude,
                                          limits[draw % 4]};
    memcpy(o.out.data(), o.before.data(), sizeof(float) * plain.size());
    o.p.epilogue = epilogue;
    const lac_status_t status = run();
    o.p.epilogue = {};
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t j = 0; j < c.n; j++) {
            const int64_t at = i * o.p.rs + j * o.p.cs;
            const float x =
                plain[(size_t)(c.out_offset + at)] + (epilogue.bias ? epilogue.bias[of_rows ? i : j] : 0.0f);
            const float want = (magnitude ? fabsf(x) : x) <= epilogue.limit ? 0.0f : x;
            if (status == LAC_OK && !memcmp(&o.written()[at], &want, sizeof want)) continue;
            printf("FAIL after: %g, not %g, at %lld,%lld %s\n", (double)o.written()[at], (double)want,
                   (long long)i, (long long)j, text(c, what).c_str());
            failures++;
            return;
        }
}

void check(const Case &c, Operands &o, const char *what, const std::function<lac_status_t()> &run)
{
    const size_t bytes = sizeof(float) * o.out.count;
    std::vector<float> first(o.out.count);
    for (int again = 0; again < 2; again++) {
        memcpy(o.out.data(), o.before.data(), bytes);
        emulated_schedule = c.seed * 1000003u + (unsigned)again;
        const lac_status_t status = run();
        if (status != LAC_OK) {
            printf("FAIL status %d %s\n", (int)status, text(c, what).c_str());
            failures++;
            return;
        }
        if (!again) memcpy(first.data(), o.out.data(), bytes);
    }
    double mean;
    const double error = worst_error(c, o, &mean);
    checks++;
    if (!(error <= kTolerance)) printf("FAIL error %g %s\n", error, text(c, what).c_str()), failures++;
    if (c.positive && !(mean <= kMeanTolerance))
        printf("FAIL mean error %g %s\n", mean, text(c, what).c_str()), failures++;
    if (getenv("LACUNA_TEST_VERBOSE")) printf("error %g, mean %g %s\n", error, mean, text(c, what).c_str());
    if (!padding_intact(o)) printf("FAIL padding %s\n", text(c, what).c_str()), failures++;
    if (memcmp(first.data(), o.out.data(), bytes))
        printf("FAIL repeat %s\n", text(c, what).c_str()), failures++;
    check_after(c, o, what, run, first);
}

lac_cuda_tile_t random_tile(unsigned seed, bool clusters)
{
    std::mt19937 random(seed * 77);
    lac_cuda_tile_t t = {};
    t.vec = 1 + int(random() % 2), t.row_warps = 1 + int(random() % 7), t.k_warps = 1 + int(random() % 2);
    t.cluster = clusters ? 1 << random() % 4 : 1, t.slice = 128 << random() % 3;
    return t;
}

/* Made into steps first. */
void check_steps(const Case &c, Operands &o)
{
    Buffer<uint8_t> steps(lac_cuda_schedule_bytes(c.m, c.k, o.csr.nnz)),
        scratch(lac_cuda_schedule_scratch(c.m)), partial(lac_cuda_csr_long_bytes(c.m, c.n, c.k));
    memset(steps.data(), 0x5a, steps.count);
    if (lac_cuda_schedule(c.m, c.k, &o.either, steps.data(), scratch.data(), nullptr) != LAC_OK) failures++;
    check(c, o, "long", [&] { return lac_cuda_csr_long(&o.p, steps.data(), partial.data(), nullptr); });
}

/* By lists of chunks of k, made in the call. */
void check_staged(const Case &c, Operands &o)
{
    Buffer<uint8_t> work(lac_cuda_spmm_staged_bytes(c.m, c.k));
    memset(work.data(), 0x5a, work.count);
    check(c, o, "staged", [&] { return lac_cuda_spmm_staged(&o.p, &o.dense, work.data(), nullptr); });
}

/* S as bits and packed values. */
void check_bits(const Case &c, Operands &o)
{
    const int64_t words = (c.k + 63) / 64;
    Buffer<uint64_t> bits(c.m * words);
    Buffer<float> ones(o.csr.nnz);
    for (int64_t w = 0; w < c.m * words; w++) bits[w] = 0;
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t e = o.ptr[i]; e < o.ptr[i + 1]; e++)
            bits[i * words + o.idx[e] / 64] |= UINT64_C(1) << o.idx[e] % 64;
    for (int64_t e = 0; e < o.csr.nnz; e++) ones[e] = 1.0f;
    const lac_cuda_bits_t s = {words, bits.data(), o.ptr.data(), c.u8 ? ones.data() : o.val.data()};
    check(c, o, "bitmask", [&] { return lac_cuda_bitmask(&o.p, &s, nullptr); });
}

void check_rows(const Case &c, Operands &o)
{
    const bool hopper = kEmulatedDevices[c.device].major >= 9;
    const lac_cuda_product_t *p = &o.p;
    const lac_cuda_tile_t tile = random_tile(c.seed, hopper);
    lac_cuda_dense_t packed = o.dense;
    packed.data = nullptr;
    void *work = o.workspace.data();
    check(c, o, "fused", [&] { return lac_cuda_event_fused(p, &o.dense, nullptr, nullptr); });
    check(c, o, "fused-tile", [&] { return lac_cuda_event_fused(p, &o.dense, &tile, nullptr); });
    check(c, o, "slots", [&] { return lac_cuda_event_slots(p, &o.dense, nullptr, work, nullptr); });
    check(c, o, "slots-tile", [&] { return lac_cuda_event_slots(p, &o.dense, &tile, work, nullptr); });
    check(c, o, "packed", [&] { return lac_cuda_event_slots(p, &packed, &tile, work, nullptr); });
    check(c, o, "csr", [&] { return lac_cuda_event_csr(p, &o.csr, nullptr, nullptr); });
    check(c, o, "csr-tile", [&] { return lac_cuda_event_csr(p, &o.either, &tile, nullptr); });
    if (c.n <= 12) check_bits(c, o);
    if (c.w_cols) return;
    const bool aligned = o.p.ldw % 4 == 0 && c.w_offset % 4 == 0;
    if (!aligned && (lac_cuda_spmm_wide(p, &o.csr, nullptr) != LAC_ERR_VALUE ||
                     lac_cuda_csr_long(p, work, work, nullptr) != LAC_ERR_VALUE ||
                     lac_cuda_spmm_staged(p, &o.dense, work, nullptr) != LAC_ERR_VALUE))
        printf("FAIL not refused %s\n", text(c, "wide, long, staged").c_str()), failures++;
    if (aligned && hopper) check_steps(c, o), check_staged(c, o);
    if (!aligned || o.p.n % 4) return;
    check(c, o, "wide", [&] { return lac_cuda_spmm_wide(p, &o.either, nullptr); });
}

void check_columns(const Case &c, Operands &o)
{
    lac_cuda_dense_t packed = o.dense;
    packed.data = nullptr;
    void *work = o.workspace.data();
    if (!c.w_cols) return;
    check(c, o, "stream", [&] { return lac_cuda_event_stream(&o.p, &o.dense, work, nullptr); });
    check(c, o, "stream-packed", [&] { return lac_cuda_event_stream(&o.p, &packed, work, nullptr); });
    check(c, o, "active", [&] { return lac_cuda_event_active(&o.p, &o.dense, work, nullptr); });
    check(c, o, "active-packed", [&] { return lac_cuda_event_active(&o.p, &packed, work, nullptr); });
}

/* Split as the backend splits where sums are fixed: columns from some on, and another density, and the bits
 * of the whole. */
void check_shards(const Case &c, Operands &o)
{
    const lac_cuda_tile_t tile = {0, (int)std::min<int64_t>(c.m, 5), 4, 1, 0}, row = {1, 1, 4, 4, 0};
    void *work = o.workspace.data();
    typedef std::function<lac_status_t(const lac_cuda_product_t &, const lac_cuda_dense_t &)> product_t;
    const product_t fused =
                        [&](const lac_cuda_product_t &p, const lac_cuda_dense_t &s) {
                            return lac_cuda_event_fused(&p, &s, &row, nullptr);
                        },
                    slots =
                        [&](const lac_cuda_product_t &p, const lac_cuda_dense_t &s) {
                            return lac_cuda_event_slots(&p, &s, &tile, work, nullptr);
                        },
                    csr = [&](const lac_cuda_product_t &p, const lac_cuda_dense_t &) {
                        return lac_cuda_event_csr(&p, &o.csr, &tile, nullptr);
                    };
    for (const product_t &product : {slots, csr, c.m == 1 ? fused : csr}) {
        const size_t bytes = sizeof(float) * o.out.count;
        memcpy(o.out.data(), o.before.data(), bytes);
        const lac_status_t whole = product(o.p, o.dense);
        const std::vector<float> want(o.out.data(), o.out.data() + o.out.count);
        memcpy(o.out.data(), o.before.data(), bytes);
        lac_status_t status = whole;
        const int64_t cuts[] = {0, o.p.n / 3, o.p.n};
        for (int shard = 0; shard < 2 && status == LAC_OK; shard++) {
            lac_cuda_product_t p = o.p;
            lac_cuda_dense_t s = o.dense;
            p.n = cuts[shard + 1] - cuts[shard], p.out = (float *)p.out + cuts[shard] * p.cs;
            p.w = (const float *)p.w + cuts[shard] * (p.order == LAC_CUDA_ROWS ? 1 : p.ldw);
            s.density = shard ? 0.9 : 0.001;
            status = product(p, s);
        }
        checks++;
        if (status != LAC_OK || memcmp(want.data(), o.out.data(), bytes))
            printf("FAIL shards, status %d %s\n", (int)status, text(c, "shards").c_str()), failures++;
    }
}

Case random_case(unsigned seed, unsigned largest)
{
    std::mt19937 random(seed);
    const double densities[] = {0.0, 0.002, 0.02, 0.1, 0.5, 1.0};
    Case c = {};
    c.m = 1 + random() % (seed % 3 ? 20 : 140), c.n = 1 + random() % largest,
    c.k = 1 + random() % (3 * largest);
    if (random() % 4) c.n = (c.n + 3) / 4 * 4, c.k = (c.k + 3) / 4 * 4;
    c.density = densities[random() % 6];
    c.u8 = random() % 2, c.s_kmajor = random() % 2, c.w_cols = random() % 3 == 0,
    c.w_padded = random() % 4 == 0;
    c.out_transposed = random() % 2, c.device_scalars = random() % 2;
    c.alpha = random() % 2 ? 1.0f : -0.75f, c.beta = random() % 2 ? 0.0f : 0.5f;
    c.device = int(random() % EMULATED_DEVICES), c.seed = seed;
    c.out_pad = random() % 2 ? 0 : 1 + int(random() % 4);
    c.out_offset = random() % 3 ? 0 : 1 + int(random() % 3),
    c.w_offset = random() % 4 ? 0 : 1 + int(random() % 3);
    c.s_offset = random() % 4 ? 0 : 1 + int(random() % 3);
    return c;
}

Case plain_case(int64_t m, int64_t n, int64_t k, double density, unsigned seed)
{
    Case c = {};
    c.m = m, c.n = n, c.k = k, c.density = density, c.seed = seed;
    c.alpha = 1.0f, c.device = EMULATED_H200;
    return c;
}

/* Slots that are not shared evenly among the warps and blocks of a row: fewer of them, and more. The same
 * warps and blocks with the entries of a CSR. */
void check_uneven_slots()
{
    for (int slots = 1; slots <= 7; slots += 2)
        for (int k_warps = 1; k_warps <= 4; k_warps++)
            for (int cluster = 1; cluster <= 2; cluster++) {
                const lac_cuda_tile_t tile = {1, 2, k_warps, cluster, 128};
                Case c =
                    plain_case(3, 8, 128 * slots - 5, 0.3, (unsigned)(100 * slots + 10 * k_warps + cluster));
                c.beta = 0.5f;
                emulated_device = c.device;
                std::unique_ptr<Operands> o = make(c);
                void *work = o->workspace.data();
                check(c, *o, "slots-uneven",
                      [&] { return lac_cuda_event_slots(&o->p, &o->dense, &tile, work, nullptr); });
                check(c, *o, "csr-uneven",
                      [&] { return lac_cuda_event_csr(&o->p, &o->either, &tile, nullptr); });
            }
}

/* Rows of as many entries as a warp takes alone, and of one more. */
void check_wide_rows()
{
    for (int64_t k = 63; k <= 66; k++) {
        const Case c = plain_case(5, 68, k, 1.0, 700 + (unsigned)k);
        emulated_device = c.device;
        std::unique_ptr<Operands> o = make(c);
        check(c, *o, "wide-rows", [&] { return lac_cuda_spmm_wide(&o->p, &o->either, nullptr); });
    }
}

/* Rows of S of one warp, of several, and of more than one block; a block's columns for four teams of lanes,
 * two and one; chunks that end with k or behind it; lists that are held, and that are not. */
void check_chunks()
{
    const struct {
        int64_t m, n, k;
        double density;
        int device;
    } all[] = {{30, 20, 257, 0.02, EMULATED_LEAST_HOPPER},
               {33, 32, 256, 0.3, EMULATED_LEAST_HOPPER},
               {70, 64, 700, 0.01, EMULATED_LEAST_HOPPER},
               {129, 96, 513, 0.03, EMULATED_LEAST_HOPPER},
               {256, 91, 255, 0.05, EMULATED_LEAST_HOPPER},
               {257, 60, 900, 0.02, EMULATED_SMALL_HOPPER},
               {300, 160, 600, 0.1, EMULATED_SMALL_HOPPER},
               {31, 63, 3000, 0.004, EMULATED_SMALL_HOPPER},
               {64, 300, 1100, 1.0, EMULATED_SMALL_HOPPER},
               {40, 600, 270, 0.03, EMULATED_H200},
               {40, 40, 1, 0.5, EMULATED_H200}};
    unsigned seed = 900;
    for (const auto &x : all)
        for (int way = 0; way < 3; way++) {
            Case c = plain_case(x.m, x.n, x.k, x.density, seed++);
            c.device = x.device, c.beta = way ? 0.5f : 0.0f, c.u8 = way == 1, c.out_transposed = way == 2;
            c.s_kmajor = way == 2, c.w_padded = x.n % 4 != 0; /* to whole pieces of 16 bytes */
            emulated_device = c.device;
            const std::unique_ptr<Operands> o = make(c);
            check_staged(c, *o);
        }
}

/* W as CSR, with all its entries. */
void check_pair(const Case &c, Operands &o)
{
    Buffer<int64_t> ptr(c.k + 1);
    Buffer<int32_t> idx(c.k * c.n);
    Buffer<uint8_t> partial(lac_cuda_event_pair_bytes(c.m, c.n, c.k) + 1);
    for (int64_t k = 0; k <= c.k; k++) ptr[k] = k * c.n;
    for (int64_t e = 0; e < c.k * c.n; e++) idx[e] = (int32_t)(e % c.n);
    const lac_cuda_csr_t w = {ptr.data(), idx.data(), (const float *)o.p.w, c.k * c.n, false};
    check(c, o, "pair",
          [&] { return lac_cuda_event_pair(&o.p, &o.dense, nullptr, &w, partial.data(), nullptr); });
    check(c, o, "pair-csr",
          [&] { return lac_cuda_event_pair(&o.p, nullptr, &o.csr, &w, partial.data(), nullptr); });
}

/* Operands where vectors would fit but for one thing: the place, the distance of lines, the extent. */
void check_alignment()
{
    for (int broken = 0; broken < 8; broken++) {
        Case c = plain_case(5, 64, 96, 0.3, (unsigned)(900 + broken));
        if (broken == 1) c.out_offset = 1;
        if (broken == 2) c.out_pad = 2;
        if (broken == 3) c.w_offset = 2;
        if (broken == 4) c.w_padded = true;
        if (broken == 5) c.n = 62;
        if (broken >= 6) c.s_offset = 1, c.u8 = broken == 7;
        for (int columns = 0; columns < 2; columns++) {
            c.w_cols = columns;
            emulated_device = c.device;
            std::unique_ptr<Operands> o = make(c);
            check_rows(c, *o);
            check_columns(c, *o);
            if (!c.w_cols && !c.w_padded) check_pair(c, *o);
        }
    }
}

/* Few rows whose events a block lists: each number of rows there is a kernel for, and fewer; blocks of 64 and
 * 128 columns, alone and in clusters, some of whose columns or k are not there; in one pass and several. */
void check_few_rows(unsigned first)
{
    static const struct {
        int64_t m, n, k;
        double density;
        int device;
    } cases[] = {{1, 1280, 300, 0.5, EMULATED_SMALL_HOPPER},  {1, 1276, 2300, 1.0, EMULATED_SMALL_HOPPER},
                 {2, 640, 1300, 0.3, EMULATED_SMALL_HOPPER},  {2, 264, 777, 1.0, EMULATED_SMALL_HOPPER},
                 {3, 132, 9000, 0.1, EMULATED_SMALL_HOPPER},  {4, 516, 1100, 1.0, EMULATED_SMALL_HOPPER},
                 {4, 64, 3000, 0.02, EMULATED_H200},          {5, 260, 700, 0.4, EMULATED_SMALL_HOPPER},
                 {7, 1028, 350, 0.05, EMULATED_SMALL_HOPPER}, {8, 120, 9001, 0.2, EMULATED_SMALL_HOPPER},
                 {8, 640, 1500, 1.0, EMULATED_SMALL_HOPPER},  {8, 4, 5, 0.5, EMULATED_H200},
                 {9, 192, 1027, 0.3, EMULATED_SMALL_HOPPER},  {10, 384, 600, 1.0, EMULATED_SMALL_HOPPER},
                 {10, 100, 4000, 0.0, EMULATED_H200},         {10, 68, 9, 0.1, EMULATED_H200},
                 {11, 384, 200, 0.5, EMULATED_SMALL_HOPPER}};
    unsigned seed = first;
    for (const auto &x : cases) {
        Case c = random_case(seed++, 200);
        c.m = x.m, c.n = x.n, c.k = x.k, c.density = x.density, c.device = emulated_device = x.device;
        c.w_cols = false, c.w_padded = false, c.w_offset = 0;
        std::unique_ptr<Operands> o = make(c);
        o->dense.density = c.density;
        check(c, *o, "few", [&] { return lac_cuda_event_fused(&o->p, &o->dense, nullptr, nullptr); });
        const bool lists = lac_cuda_event_lists_rows(&o->p, c.density);
        if (lists != (c.m <= (c.density >= 0.02 ? 10 : 4)))
            printf("FAIL lists %d %s\n", (int)lists, text(c, "few").c_str()), failures++;
    }
}

/* Rows of thousands of positive terms, of which as few accumulators as a launch can have take their shares.
 */
void check_long_sums()
{
    const lac_cuda_tile_t narrow = {1, 1, 1, 1, 0}, doubled = {2, 1, 1, 1, 0};
    Case c = plain_case(2, 64, 6000, 0.7, 1);
    c.device = EMULATED_SMALL_HOPPER, c.positive = true;
    emulated_device = c.device;
    std::unique_ptr<Operands> o = make(c);
    lac_cuda_product_t *p = &o->p;
    void *work = o->workspace.data();
    for (const lac_cuda_tile_t *tile : {&narrow, &doubled})
        check(c, *o, "fused", [&] { return lac_cuda_event_fused(p, &o->dense, tile, nullptr); });
    check(c, *o, "slots", [&] { return lac_cuda_event_slots(p, &o->dense, &narrow, work, nullptr); });
    check(c, *o, "csr", [&] { return lac_cuda_event_csr(p, &o->csr, &narrow, nullptr); });
    for (int64_t rows : {1, 2, 4, 8, 10}) { /* a block lists the events of all */
        c.m = rows, c.n = 4 * rows, o = make(c), p = &o->p, o->dense.density = c.density;
        check(c, *o, "few", [&] { return lac_cuda_event_fused(p, &o->dense, nullptr, nullptr); });
    }
    c.m = 8, c.n = 62, o = make(c), p = &o->p; /* no loads of 16 bytes; a block for each row */
    check(c, *o, "fused", [&] { return lac_cuda_event_fused(p, &o->dense, &doubled, nullptr); });
    check(c, *o, "csr", [&] { return lac_cuda_event_csr(p, &o->csr, &narrow, nullptr); });
    check_pair(c, *o);
    c.m = 128, c.k = 9000, c.n = 36, o = make(c), p = &o->p; /* a warp for each row */
    check(c, *o, "short", [&] { return lac_cuda_spmm_narrow(p, &o->either, nullptr); });
    c.m = 512, c.k = 8000, c.n = 4, o = make(c), p = &o->p; /* so many rows that k is not divided */
    check_steps(c, *o);
    for (int64_t n : {1, 2, 3, 13}) { /* rows per warp: 4, 2 and 1; columns: each number there is code for */
        c.m = 512 >> n % 4, c.k = 9001, c.n = n, o = make(c);
        check_bits(c, *o);
    }
    c.m = 3, c.k = 33000, c.n = 3, o = make(c); /* more than two runs of a warp's lanes */
    check_bits(c, *o);
    c.m = 2, c.k = 30000, c.n = 64, o = make(c), p = &o->p;
    check(c, *o, "wide", [&] { return lac_cuda_spmm_wide(p, &o->either, nullptr); });
    c.w_cols = true, o = make(c), p = &o->p, work = o->workspace.data();
    check(c, *o, "stream", [&] { return lac_cuda_event_stream(p, &o->dense, work, nullptr); });
    check(c, *o, "active", [&] { return lac_cuda_event_active(p, &o->dense, work, nullptr); });
    c.k = 190000, c.n = 4, o = make(c), p = &o->p, work = o->workspace.data(); /* two groups of segments */
    check(c, *o, "stream", [&] { return lac_cuda_event_stream(p, &o->dense, work, nullptr); });
}

} // namespace

/* test_emulated_events [cases] [largest n, a third of the largest k] [first seed] */
int main(int argc, char **argv)
{
    const bool quick = getenv("LACUNA_TEST_QUICK") != nullptr;
    const int cases = argc > 1 ? atoi(argv[1]) : quick ? 4 : 24;
    const unsigned largest = argc > 2 ? (unsigned)atoi(argv[2]) : 200;
    const unsigned first = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    for (int t = 0; t < cases; t++) {
        const Case c = random_case(first + (unsigned)t, largest);
        emulated_device = c.device;
        const std::unique_ptr<Operands> o = make(c);
        check_rows(c, *o);
        check_columns(c, *o);
        check_shards(c, *o);
    }
    check_alignment();
    check_few_rows(first);
    if (!quick) check_uneven_slots(), check_wide_rows(), check_chunks(), check_long_sums();
    printf("test_emulated_events: %d checks, %d failures\n", checks, failures);
    return failures != 0 || checks == 0;
}

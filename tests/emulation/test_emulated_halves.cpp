/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Kernels that take f16, bf16 and f64 on the emulator, against sums of more bits: gathers, CSR of doubles
 * times a short W, the product in double, copies and scaling. Sums are those of floats, rounded once: to f32,
 * or to the type; or those of doubles. */
#include "cuda_support.h"
#include "emulator.h"
#include "ref_half.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

namespace
{

constexpr double kTolerance =
    12.0; /* units of 2^-24 (f64: 2^-53) |S||W| beside the rounding, elementwise worst */
int checks, failures;

struct Case {
    int64_t m, n, k;
    double density;
    lac_dt_t dt;
    bool u8, f32_out, s_kmajor, w_cols, out_transposed;
    int pad; /* between the lines of W and of the output: 4 keeps loads of four together */
    float alpha, beta;
    int device;
    unsigned seed;
};

/* A matrix of any type, in memory of exactly its size. */
struct Matrix {
    lac_dt_t dt;
    int64_t rs, cs, lines, ld;
    std::vector<uint64_t> memory; /* aligned as the device's allocations are, to 8 bytes and more */
    Matrix(lac_dt_t dt_, int64_t m, int64_t n, bool by_cols, int pad)
        : dt(dt_), rs(by_cols ? 1 : n + pad), cs(by_cols ? m + pad : 1), lines(by_cols ? n : m),
          ld((by_cols ? m : n) + pad), memory((size_t)(lines * ld) * lac_dt_size(dt_) / 8 + 3)
    {
    }
    char *data() const
    {
        const uintptr_t at = (uintptr_t)memory.data();
        return (char *)(at + (16 - at % 16) % 16);
    }
    void *at(int64_t i, int64_t j) const { return data() + (i * rs + j * cs) * (int64_t)lac_dt_size(dt); }
    double get(int64_t i, int64_t j) const
    {
        const void *x = at(i, j);
        if (dt == LAC_U8) return *(const uint8_t *)x != 0;
        if (dt == LAC_F64) return *(const double *)x;
        return ref_is_half(dt) ? ref_half_value(dt, *(const uint16_t *)x) : (double)*(const float *)x;
    }
    void put(int64_t i, int64_t j, double value) const
    {
        void *x = at(i, j);
        if (dt == LAC_U8)
            *(uint8_t *)x = value != 0 ? 200 : 0;
        else if (dt == LAC_F64)
            *(double *)x = value;
        else if (ref_is_half(dt))
            *(uint16_t *)x = ref_half_nearest(dt, value);
        else
            *(float *)x = (float)value;
    }
    size_t bytes() const { return (size_t)(lines * ld) * lac_dt_size(dt); }
};

struct Problem {
    Matrix s, w, before, out;
    lac_cuda_product_t p;
    lac_cuda_dense_t dense;
    std::vector<int64_t> ptr;
    std::vector<int32_t> idx;
    std::vector<float> val;
    std::vector<double> wide; /* the same of doubles */
    lac_cuda_csr_t csr;
};

/* W is NaN in rows that no row of S has an event for; S has zeros of both signs. */
Problem make(const Case &c)
{
    const lac_dt_t out = c.f32_out ? LAC_F32 : c.dt;
    Problem q = {Matrix(c.u8 ? LAC_U8 : c.dt, c.m, c.k, c.s_kmajor, 0),
                 Matrix(c.dt, c.k, c.n, c.w_cols, c.pad),
                 Matrix(out, c.m, c.n, c.out_transposed, c.pad),
                 Matrix(out, c.m, c.n, c.out_transposed, c.pad),
                 {},
                 {},
                 {0},
                 {},
                 {},
                 {},
                 {}};
    std::mt19937 random(c.seed);
    const double least = c.dt == LAC_F64 ? 0x1p-40 : 0.0; /* what no float holds */
    const auto uniform = [&random, least] {
        return (double)(random() % 20001) / 10000.0 - 1.0 + least * (double)(random() % 1024);
    };
    std::vector<bool> active((size_t)c.k);
    for (int64_t i = 0; i < c.m; i++) {
        for (int64_t k = 0; k < c.k; k++) {
            const bool event = random() % 100000 < c.density * 100000;
            q.s.put(i, k, event ? uniform() + 2.0 : random() % 2 ? 0.0 : -0.0);
            if (!event) continue;
            q.idx.push_back((int32_t)k), q.val.push_back((float)q.s.get(i, k)),
                q.wide.push_back(q.s.get(i, k)), active[(size_t)k] = true;
        }
        q.ptr.push_back((int64_t)q.idx.size());
    }
    for (int64_t k = 0; k < c.k; k++)
        for (int64_t j = 0; j < c.n; j++) q.w.put(k, j, active[(size_t)k] ? uniform() : (double)NAN);
    memset(q.before.data(), 0xff, q.before.bytes()); /* NaN */
    for (int64_t i = 0; i < c.m && c.beta != 0.0f; i++)
        for (int64_t j = 0; j < c.n; j++) q.before.put(i, j, uniform());
    return q;
}

lac_cuda_scalar_t scalar_of(const Case &c, float x)
{
    lac_cuda_scalar_t scalar = {nullptr, {x}};
    if (c.dt == LAC_F64) scalar.f64 = x;
    return scalar;
}

/* The pointers, once the vectors lie where they stay. */
void describe(const Case &c, Problem &q)
{
    q.p = {c.m,
           c.n,
           c.k,
           scalar_of(c, c.alpha),
           q.w.data(),
           c.w_cols ? q.w.cs : q.w.rs,
           c.w_cols ? LAC_CUDA_COLS : LAC_CUDA_ROWS,
           scalar_of(c, c.beta),
           q.out.data(),
           q.out.rs,
           q.out.cs,
           {},
           c.dt,
           q.out.dt};
    q.dense = {q.s.dt, q.s.data(), q.s.rs, q.s.cs, c.seed % 2 ? c.density : 0.0};
    const float *val = c.dt == LAC_F64 ? (const float *)q.wide.data() : q.val.data();
    q.csr = {q.ptr.data(), q.idx.data(), val, (int64_t)q.idx.size(), false};
}

void fail(const Case &c, const char *what, const char *why, double x)
{
    printf("FAIL %s: %s %g: %lldx%lldx%lld d=%g %s %s%s%s%s%s pad=%d alpha=%g beta=%g device=%d seed=%u\n",
           what, why, x, (long long)c.m, (long long)c.k, (long long)c.n, c.density,
           c.dt == LAC_F64   ? "f64"
           : c.dt == LAC_F16 ? "f16"
                             : "bf16",
           c.u8 ? "u8 " : "", c.f32_out ? "f32out " : "", c.s_kmajor ? "kmajor " : "",
           c.w_cols ? "cols " : "", c.out_transposed ? "trans " : "", c.pad, c.alpha, c.beta, c.device,
           c.seed);
    failures++;
}

/* The error of an element beside its rounding, in units. */
double error_at(const Case &c, const Problem &q, int64_t i, int64_t j, double bias)
{
    long double sum = 0, was = c.beta == 0.0f ? 0.0L : (long double)c.beta * q.before.get(i, j);
    double size = 0;
    for (int64_t e = q.ptr[(size_t)i]; e < q.ptr[(size_t)i + 1]; e++) {
        const double event = c.dt == LAC_F64 ? q.wide[(size_t)e] : (double)q.val[(size_t)e];
        const long double x = (long double)event * q.w.get(q.idx[(size_t)e], j);
        sum += x, size += (double)fabsl(x);
    }
    const long double want = was + bias + (c.alpha == 0.0f ? 0.0L : c.alpha * sum);
    const double got = q.out.get(i, j), unit = c.dt == LAC_F64 ? 0x1p-53 : 0x1p-24;
    const double rounding = ref_is_half(q.out.dt)
                                ? ldexp(0.5, ref_half_unit(q.out.dt, fmax(fabs((double)want), fabs(got))))
                                : 0.0;
    const double apart = (double)fabsl(got - want);
    if (!(apart < INFINITY)) return INFINITY;
    return fmax(apart - rounding, 0.0) /
           (((double)fabsl(was) + fabs(bias) + fabs((double)c.alpha) * size) * unit + 1e-30);
}

bool padding_intact(const Case &c, const Problem &q)
{
    std::vector<bool> inside((size_t)(q.out.lines * q.out.ld));
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t j = 0; j < c.n; j++) inside[(size_t)(i * q.out.rs + j * q.out.cs)] = true;
    const size_t size = lac_dt_size(q.out.dt);
    for (size_t e = 0; e < inside.size(); e++)
        if (!inside[e] && memcmp(q.out.data() + e * size, q.before.data() + e * size, size)) return false;
    return true;
}

/* A bias of the output's type is added before the one rounding. */
void check_bias(const Case &c, Problem &q, const char *what, const std::function<lac_status_t()> &run)
{
    const bool of_rows = c.seed % 2;
    const Matrix bias(q.out.dt, 1, of_rows ? c.m : c.n, false, 0);
    for (int64_t e = 0; e < (of_rows ? c.m : c.n); e++) bias.put(0, e, (double)(e * 37 % 101) / 50.0 - 1.0);
    q.p.epilogue = {(const float *)bias.at(0, 0), true, of_rows, false, NAN};
    memcpy(q.out.data(), q.before.data(), q.out.bytes());
    const lac_status_t status = run();
    q.p.epilogue = {};
    if (status != LAC_OK) return fail(c, what, "status with a bias", status);
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t j = 0; j < c.n; j++)
            if (const double error = error_at(c, q, i, j, bias.get(0, of_rows ? i : j));
                !(error <= kTolerance))
                return fail(c, what, "error with a bias", error);
}

/* Twice, in two orders of its warps, for the same bits; then with a threshold, which keeps what is above it.
 */
void check(const Case &c, Problem &q, const char *what, const std::function<lac_status_t()> &run, bool after)
{
    std::vector<char> first(q.out.bytes());
    for (unsigned again = 0; again < 2; again++) {
        memcpy(q.out.data(), q.before.data(), q.out.bytes());
        emulated_schedule = c.seed * 1000003u + again;
        const lac_status_t status = run();
        if (status != LAC_OK) return fail(c, what, "status", status);
        if (!again) memcpy(first.data(), q.out.data(), q.out.bytes());
    }
    checks++;
    if (memcmp(first.data(), q.out.data(), first.size())) fail(c, what, "repeat", 0);
    if (!padding_intact(c, q)) fail(c, what, "padding", 0);
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t j = 0; j < c.n; j++)
            if (const double error = error_at(c, q, i, j, 0.0); !(error <= kTolerance))
                return fail(c, what, "error", error);
    if (!after) return;
    check_bias(c, q, what, run);
    q.p.epilogue.any = true, q.p.epilogue.limit = 0.25f;
    memcpy(q.out.data(), q.before.data(), q.out.bytes());
    if (run() != LAC_OK) fail(c, what, "epilogue", 0);
    q.p.epilogue = {};
    const Matrix &o = q.out;
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t j = 0; j < c.n; j++) {
            double plain;
            Matrix kept(o.dt, 1, 1, false, 0);
            memcpy(kept.data(), first.data() + ((char *)o.at(i, j) - o.data()), lac_dt_size(o.dt));
            plain = kept.get(0, 0);
            const bool near = fabs(plain - 0.25) < 0.01; /* what is rounded may fall on the other side */
            if (!near && o.get(i, j) != (plain <= 0.25 ? 0.0 : plain))
                return fail(c, what, "threshold", plain);
        }
}

/* The same numbers as f32, which all others are. */
Matrix as_floats(const Matrix &x, int64_t m, int64_t n, bool by_cols)
{
    const Matrix floats(LAC_F32, m, n, by_cols, 0);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) floats.put(i, j, x.get(i, j));
    return floats;
}

/* Of doubles the fused kernel has one unit of columns, and room for fewer warps. */
lac_cuda_tile_t random_tile(std::mt19937 &random, bool clusters, bool doubles)
{
    lac_cuda_tile_t t = {};
    t.vec = 1 + int(random() % 2), t.row_warps = 1 + int(random() % 7), t.k_warps = 1 + int(random() % 2);
    t.cluster = clusters ? 1 << random() % 4 : 1, t.slice = 128 << random() % 3;
    if (doubles) t.vec = 1, t.row_warps = 1 + t.row_warps % 4, t.k_warps = 1;
    return t;
}

void check_gathers(const Case &c, Problem &q)
{
    std::mt19937 random(c.seed * 77);
    const bool hopper = kEmulatedDevices[c.device].major >= 9;
    const bool doubles = c.dt == LAC_F64;
    const lac_cuda_tile_t tile = random_tile(random, hopper, doubles);
    std::vector<uint64_t> memory((size_t)lac_cuda_event_slots_bytes(c.m, c.k, c.dt) / 8 + 33);
    void *work = (void *)(((uintptr_t)memory.data() + 255) / 256 * 256);
    const lac_cuda_product_t *p = &q.p;
    for (const lac_cuda_tile_t *t : {(const lac_cuda_tile_t *)nullptr, &tile}) {
        check(
            c, q, "fused", [&] { return lac_cuda_event_fused(p, &q.dense, t, nullptr); }, !doubles);
        check(
            c, q, "slots", [&] { return lac_cuda_event_slots(p, &q.dense, t, work, nullptr); }, !doubles);
        check(
            c, q, "csr", [&] { return lac_cuda_event_csr(p, &q.csr, t, nullptr); }, !doubles);
    }
    if (doubles && c.n <= LAC_CUDA_NARROW_MAX)
        check(
            c, q, "narrow", [&] { return lac_cuda_spmm_narrow(p, &q.csr, nullptr); }, false);
    if (doubles) return;
    const Matrix floats = as_floats(q.s, c.m, c.k, c.s_kmajor); /* S as f32, beside W of two bytes */
    const lac_cuda_dense_t s = {LAC_F32, floats.data(), floats.rs, floats.cs, c.density};
    check(
        c, q, "slots of f32", [&] { return lac_cuda_event_slots(p, &s, nullptr, work, nullptr); }, false);
    check(
        c, q, "fused of f32", [&] { return lac_cuda_event_fused(p, &s, &tile, nullptr); }, false);
    if (!c.f32_out) return;
    const Matrix wide = as_floats(q.w, c.k, c.n, c.w_cols); /* and the other way round */
    lac_cuda_product_t widened = q.p;
    widened.w = wide.data(), widened.ldw = c.w_cols ? wide.cs : wide.rs, widened.w_dt = LAC_F32;
    check(
        c, q, "slots beside f32",
        [&] { return lac_cuda_event_slots(&widened, &q.dense, nullptr, work, nullptr); }, false);
}

void check_double(const Case &c, Problem &q)
{
    const lac_cuda_matrix_t s = {q.s.dt, q.s.data(), c.m, c.k, q.s.rs, q.s.cs},
                            w = {q.w.dt, q.w.data(), c.k, c.n, q.w.rs, q.w.cs};
    check(
        c, q, "double",
        [&] {
            return lac_cuda_gemm_f64(c.m, c.n, c.k, LAC_CUDA_SKIP_A, q.p.alpha, &s, &w, q.p.beta, q.out.dt,
                                     q.out.data(), q.out.rs, q.out.cs, nullptr);
        },
        false);
}

/* out := beta out + x, and out := beta out, of every type into every type of numbers. */
void check_copies(unsigned seed)
{
    std::mt19937 random(seed);
    const int64_t m = 1 + random() % 70, n = 1 + random() % 70;
    for (lac_dt_t from : {LAC_F32, LAC_U8, LAC_F16, LAC_BF16, LAC_F64})
        for (lac_dt_t to : {LAC_F32, LAC_F16, LAC_BF16, LAC_F64}) {
            const bool wide = to == LAC_F64;
            if ((from == LAC_F64 && !wide) || (wide && from != LAC_F64 && from != LAC_U8)) continue;
            const Matrix x(from, m, n, random() % 2, 3), out(to, m, n, random() % 2, 1), was = out;
            const float beta = random() % 2 ? 0.0f : 0.5f;
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < n; j++) {
                    x.put(i, j, (double)(random() % 2001) / 1000.0 - 1.0);
                    out.put(i, j, beta == 0.0f ? (double)NAN : (double)(random() % 101) / 100.0);
                    was.put(i, j, out.get(i, j));
                }
            Case typed = {};
            typed.dt = to;
            const lac_cuda_scalar_t three_quarters = scalar_of(typed, 0.75f);
            const lac_cuda_matrix_t matrix = {from, x.data(), m, n, x.rs, x.cs};
            bool good = !lac_cuda_copy(&matrix, beta, to, out.data(), out.rs, out.cs, nullptr);
            const Matrix want(to, m, n, false, 0);
            const auto compare = [&](float factor, bool add) {
                for (int64_t i = 0; i < m; i++)
                    for (int64_t j = 0; j < n; j++) {
                        const double old = factor == 0.0f ? 0.0 : was.get(i, j),
                                     added = add ? x.get(i, j) : 0.0;
                        want.put(i, j,
                                 wide ? fma((double)factor, old, added)
                                      : (double)fmaf(factor, (float)old, (float)added));
                        good = good && out.get(i, j) == want.get(i, j);
                    }
            };
            compare(beta, true);
            memcpy(was.data(), out.data(), out.bytes());
            good = good && !lac_cuda_scale(m, n, three_quarters, to, out.data(), out.rs, out.cs, nullptr);
            compare(0.75f, false);
            checks++;
            if (good) continue;
            printf("FAIL copy %d to %d, beta %g, seed %u\n", (int)from, (int)to, (double)beta, seed);
            failures++;
        }
}

Case random_case(unsigned seed)
{
    static const float factor[] = {1.0f, 1.0f, -0.5f, 0.0f};
    static const double density[] = {0.0, 0.01, 0.1, 0.5, 1.0};
    std::mt19937 random(seed);
    Case c = {};
    c.seed = seed, c.dt = random() % 2 ? LAC_F16 : LAC_BF16;
    c.m = 1 + random() % 17, c.n = 1 + random() % 300, c.k = random() % 600;
    if (random() % 2) c.n = (c.n + 3) / 4 * 4, c.k = (c.k + 3) / 4 * 4;
    c.density = density[random() % 5];
    c.u8 = random() % 4 == 0, c.f32_out = random() % 2, c.s_kmajor = random() % 4 == 0;
    c.w_cols = random() % 4 == 0, c.out_transposed = random() % 4 == 0;
    c.pad = random() % 3 == 0 ? 1 : random() % 2 ? 4 : 0;
    c.alpha = factor[random() % 4], c.beta = random() % 2 ? 0.0f : factor[random() % 3];
    c.device = (int)(random() % EMULATED_DEVICES);
    return c;
}

/* The same case of doubles; one in three has a W of few columns. */
Case of_doubles(Case c, int t)
{
    c.dt = LAC_F64, c.f32_out = false;
    if (t % 3 == 0) c.n = 1 + t % 40;
    return c;
}

/* A few rows whose events a block lists: in one pass or several, of one row, of rows apart and of two
 * together.
 */
void check_few_rows(unsigned first)
{
    static const struct {
        int64_t m, n, k;
        double density;
        int device;
    } cases[] = {{1, 8, 3, 0.5, EMULATED_H200},
                 {1, 264, 777, 0.5, EMULATED_SMALL_HOPPER},
                 {1, 520, 4100, 0.2, EMULATED_SMALL_HOPPER},
                 {1, 136, 20001, 0.1, EMULATED_SMALL_HOPPER},
                 {1, 128, 9000, 0.5, EMULATED_SMALL_HOPPER},
                 {1, 120, 33000, 0.2, EMULATED_SMALL_HOPPER},
                 {1, 264, 1500, 0.3, EMULATED_H200},
                 {2, 520, 2100, 0.5, EMULATED_SMALL_HOPPER},
                 {2, 136, 1200, 0.5, EMULATED_H200},
                 {3, 264, 777, 0.9, EMULATED_H200},
                 {4, 136, 40, 0.1, EMULATED_SMALL_HOPPER},
                 {5, 264, 600, 0.05, EMULATED_H200},
                 {8, 264, 400, 0.1, EMULATED_SMALL_HOPPER},
                 {2, 256, 1200, 0.01, EMULATED_H200},
                 {1, 256, 1200, 0.0, EMULATED_H200},
                 {1, 504, 1200, 1.0, EMULATED_H200}};
    unsigned seed = 2 * first + 1; /* odd: the density is expected */
    for (const auto &x : cases) {
        Case c = random_case(seed);
        c.m = x.m, c.n = x.n, c.k = x.k, c.density = x.density, c.device = emulated_device = x.device;
        c.w_cols = false, c.alpha = 1.0f, c.pad = seed % 4 == 1 ? 8 : 0;
        Problem q = make(c);
        describe(c, q);
        check(
            c, q, "few", [&] { return lac_cuda_event_fused(&q.p, &q.dense, nullptr, nullptr); }, true);
        const Matrix floats = as_floats(q.s, c.m, c.k, c.s_kmajor);
        const lac_cuda_dense_t s = {LAC_F32, floats.data(), floats.rs, floats.cs, c.density};
        check(
            c, q, "few of f32", [&] { return lac_cuda_event_fused(&q.p, &s, nullptr, nullptr); }, false);
        seed += 2;
    }
}

/* Sums of some 1500 positive terms: on average half a unit, of which the last rounding is most. */
void check_accuracy()
{
    Case c = {};
    c.seed = 3, c.dt = LAC_BF16, c.m = 8, c.n = 64, c.k = 5000, c.density = 0.3;
    c.f32_out = true, c.alpha = 1.0f, c.device = emulated_device = EMULATED_H200;
    Problem q = make(c);
    describe(c, q);
    for (int64_t k = 0; k < c.k; k++)
        for (int64_t j = 0; j < c.n; j++) q.w.put(k, j, fabs(q.w.get(k, j)));
    std::vector<uint64_t> memory((size_t)lac_cuda_event_slots_bytes(c.m, c.k, LAC_F32) / 8 + 33);
    void *work = (void *)(((uintptr_t)memory.data() + 255) / 256 * 256);
    const lac_cuda_tile_t chosen = {}; /* not by few rows */
    const auto mean_of = [&](const char *what, lac_status_t status) {
        double sum = 0;
        for (int64_t i = 0; i < c.m; i++)
            for (int64_t j = 0; j < c.n; j++) sum += error_at(c, q, i, j, 0.0);
        const double mean = sum / (double)(c.m * c.n);
        checks++;
        if (status != LAC_OK || !(mean < 0.6)) fail(c, what, "mean error", mean);
    };
    mean_of("few", lac_cuda_event_fused(&q.p, &q.dense, nullptr, nullptr));
    mean_of("fused", lac_cuda_event_fused(&q.p, &q.dense, &chosen, nullptr));
    mean_of("slots", lac_cuda_event_slots(&q.p, &q.dense, nullptr, work, nullptr));
}

/* A row of W that holds Inf, or an event that is Inf, reaches the row of S that has the event, as Inf, and no
 * other. */
void check_infinite(lac_dt_t dt)
{
    Case c = {};
    c.seed = 7, c.dt = dt, c.m = 2, c.n = 16, c.k = 63, c.f32_out = dt != LAC_F64, c.alpha = 1.0f;
    c.density = 0.5; /* rows that share a list */
    c.device = emulated_device = EMULATED_H200;
    Problem q = make(c);
    describe(c, q);
    for (int64_t k = 0; k < c.k; k++) {
        q.s.put(k % 2, k, k == 62 ? INFINITY : 1.0), q.s.put((k + 1) % 2, k, 0.0);
        for (int64_t j = 0; j < c.n; j++) q.w.put(k, j, k == 20 ? INFINITY : 0.5);
    }
    if (lac_cuda_event_fused(&q.p, &q.dense, nullptr, nullptr) != LAC_OK) fail(c, "infinite", "status", 0);
    checks++;
    for (int64_t j = 0; j < c.n; j++) {
        if (!(q.out.get(0, j) == INFINITY)) return fail(c, "infinite", "row 0", q.out.get(0, j));
        if (!(q.out.get(1, j) == 15.5)) return fail(c, "infinite", "row 1", q.out.get(1, j));
    }
}

} // namespace

/* A single row of many events, which more warps share: in tiles of several widths; along a long k; of so many
 * columns that clusters of five share a tile, or that blocks take turns. */
void check_one_row()
{
    static const struct {
        int n, k;
        double density;
    } rows[] = {{200, 2400, 0.9}, {200, 2400, 0.2},  {201, 2400, 0.2},
                {248, 8200, 0.1}, {10800, 320, 0.9}, {25600, 80, 0.95}};
    for (unsigned r = 0; r < sizeof rows / sizeof *rows; r++) {
        Case c = {};
        c.seed = 2 * r + 1, c.dt = r == 1 ? LAC_F16 : LAC_BF16; /* odd: the density is expected */
        c.m = 1, c.n = rows[r].n, c.k = rows[r].k, c.density = rows[r].density;
        c.alpha = 1.0f, c.device = emulated_device = EMULATED_H200;
        Problem q = make(c);
        describe(c, q);
        check_gathers(c, q);
    }
}

/* test_emulated_halves [cases] [first seed] */
int main(int argc, char **argv)
{
    const int cases = argc > 1 ? atoi(argv[1]) : getenv("LACUNA_TEST_QUICK") ? 6 : 30;
    const unsigned first = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    for (int t = 0; t < cases; t++) {
        const Case c = random_case(first + (unsigned)t);
        emulated_device = c.device;
        Problem q = make(c);
        describe(c, q);
        check_gathers(c, q);
        check_double(c, q);
        check_copies(c.seed);
    }
    for (int t = 0; t < cases; t++) {
        const Case c = of_doubles(random_case(first + (unsigned)t), t);
        emulated_device = c.device;
        Problem q = make(c);
        describe(c, q);
        check_gathers(c, q);
        check_double(c, q);
    }
    check_few_rows(first);
    check_infinite(LAC_F64);
    check_infinite(LAC_F16);
    check_infinite(LAC_BF16);
    check_accuracy();
    check_one_row();
    printf("test_emulated_halves: %d checks, %d failures\n", checks, failures);
    return failures != 0 || checks == 0;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operators on compressed rows that a caller brings, on the emulator: values against sums in double, the same
 * bits in any order of the warps, and what is out of range. */
#include "cuda_support.h"
#include "emulator.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

namespace
{

int checks, failures;
constexpr uint64_t kNothing = ~uint64_t(0);

#define EXPECT(x) (checks++, (x) ? (void)0 : (failures++, (void)printf("FAIL line %d: %s\n", __LINE__, #x)))

/* Compressed rows in exactly as much memory as they take, of either index type. */
struct Rows {
    int64_t m, n, nnz;
    std::vector<int32_t> ptr, idx, perm;
    std::vector<int64_t> wide_ptr, wide_idx, wide_perm;
    std::vector<float> val;
    uint64_t bad = kNothing;
    lac_cuda_loose_t a;

    /* The value of entry e. */
    double value(int64_t e) const
    {
        if (val.empty()) return 1.0;
        return (double)val[a.homogeneous ? 0 : perm.empty() ? (size_t)e : (size_t)perm[(size_t)e]];
    }

    /* Once the 32-bit arrays are as they shall be. */
    void describe(bool wide, bool homogeneous)
    {
        wide_ptr.assign(ptr.begin(), ptr.end()), wide_idx.assign(idx.begin(), idx.end());
        wide_perm.assign(perm.begin(), perm.end());
        a = lac_cuda_loose_t{};
        a.m = m, a.n = n, a.nnz = nnz, a.wide = wide, a.homogeneous = homogeneous, a.bad = &bad;
        a.fan_out = m ? nnz / m : 0;
        if (!ptr.empty()) a.ptr = wide ? (const void *)wide_ptr.data() : ptr.data();
        a.idx = wide ? (const void *)wide_idx.data() : idx.data();
        if (!perm.empty()) a.perm = wide ? (const void *)wide_perm.data() : perm.data();
        if (!val.empty()) a.val = val.data();
    }

    int64_t begin(int64_t i) const { return ptr.empty() ? i * (nnz / m) : ptr[(size_t)i]; }
};

struct Way {
    bool wide, fan, homogeneous, ones, permuted;
};

void make(Rows &r, int64_t m, int64_t n, int64_t most, const Way &way, std::mt19937 &random)
{
    std::normal_distribution<float> normal;
    r.m = m, r.n = n, r.nnz = 0;
    if (!way.fan) r.ptr.push_back(0);
    if (way.fan)
        r.nnz = m * most;
    else
        for (int64_t i = 0; i < m; i++) {
            const int64_t each = random() % 9 == 0 ? 3 * most : (int64_t)(random() % (uint64_t)(most + 1));
            r.ptr.push_back((int32_t)(r.nnz += each));
        }
    for (int64_t e = 0; e < r.nnz; e++) r.idx.push_back((int32_t)(random() % (uint64_t)n));
    if (!way.ones)
        for (int64_t e = 0; e < (way.homogeneous ? 1 : r.nnz); e++)
            r.val.push_back(std::ldexp(normal(random), (int)(random() % 20) - 10));
    if (way.permuted) {
        for (int64_t e = 0; e < r.nnz; e++) r.perm.push_back((int32_t)e);
        std::shuffle(r.perm.begin(), r.perm.end(), random);
    }
    r.describe(way.wide, way.homogeneous);
}

/* A dense operand, by rows or by columns. */
struct Dense {
    std::vector<float> f;
    std::vector<uint8_t> u;
    int64_t cols;
    lac_cuda_loose_dense_t x;

    Dense(int64_t rows, int64_t columns, int kind, bool by_rows, double density, std::mt19937 &random)
        : cols(columns)
    {
        std::normal_distribution<float> normal;
        std::uniform_real_distribution<double> chance(0.0, 1.0);
        for (int64_t q = 0; q < rows * columns; q++) {
            const bool there = chance(random) < density;
            const float v = normal(random);
            f.push_back(there ? v : 0.0f);
            u.push_back(there ? (uint8_t)(1 + q % 255) : 0);
        }
        x = lac_cuda_loose_dense_t{};
        x.data = kind == 1 ? (const void *)u.data() : f.data();
        x.bytes = kind == 1, x.binary = kind == 2;
        x.rs = by_rows ? columns : 1, x.cs = by_rows ? 1 : rows;
    }

    double at(int64_t i, int64_t j) const
    {
        const size_t q = (size_t)(i * x.rs + j * x.cs);
        if (x.bytes) return u[q] ? 1.0 : 0.0;
        return x.binary ? f[q] != 0.0f : (double)f[q];
    }
};

bool near(float got, double want, double size)
{
    return std::fabs((double)got - want) <= std::ldexp(size, -23) + 1e-40;
}

/* The same call with the warps in another order, on another device. */
template <typename Call> void same_bits(std::vector<float> &out, const Call &call)
{
    std::vector<float> before = out;
    for (int device : {EMULATED_SMALL_HOPPER, EMULATED_A100}) {
        emulated_device = device, emulated_schedule += 77;
        out.assign(out.size(), NAN);
        EXPECT(call() == LAC_OK);
        EXPECT(out.empty() || !memcmp(out.data(), before.data(), out.size() * sizeof(float)));
    }
    emulated_device = EMULATED_H200;
}

/* Words of a workspace for so many elements. */
size_t workspace(size_t elements)
{
    return (elements * LAC_CUDA_LOOSE_SUMS + LAC_CUDA_LOOSE_RANGES) / sizeof(uint64_t);
}

void products(int64_t m, int64_t n, int64_t most, int64_t columns, const Way &way, int kind, unsigned seed)
{
    std::mt19937 random(seed);
    Rows r;
    make(r, m, n, most, way, random);
    for (bool transposed : {false, true}) {
        const int64_t inner = transposed ? m : n, outer = transposed ? n : m;
        const Dense x(inner, columns, kind, seed % 2, seed % 3 ? 0.2 : 1.0, random);
        std::vector<float> out((size_t)(outer * columns), NAN);
        std::vector<double> want(out.size(), 0.0), size(out.size(), 0.0);
        const int64_t rs = seed % 4 < 2 ? columns : 1, cs = seed % 4 < 2 ? 1 : outer;
        for (int64_t i = 0; i < m; i++)
            for (int64_t e = r.begin(i); e < r.begin(i + 1); e++)
                for (int64_t j = 0; j < columns; j++) {
                    const int64_t c = r.idx[(size_t)e], from = transposed ? i : c, to = transposed ? c : i;
                    const double term = x.at(from, j) != 0.0 ? r.value(e) * x.at(from, j) : 0.0;
                    want[(size_t)(to * rs + j * cs)] += term;
                    size[(size_t)(to * rs + j * cs)] += std::fabs(term);
                }
        const bool counts = (way.ones || way.homogeneous) && kind != 0;
        std::vector<uint64_t> sums(counts ? 0 : workspace(out.size()), 0x5555555555555555u);
        const auto call = [&] {
            return transposed ? lac_cuda_loose_scatter(&r.a, &x.x, columns, out.data(), rs, cs,
                                                       counts ? nullptr : sums.data(), nullptr)
                              : lac_cuda_loose_gather(&r.a, &x.x, columns, out.data(), rs, cs, nullptr);
        };
        EXPECT(call() == LAC_OK);
        for (size_t q = 0; q < out.size(); q++)
            if (checks++, !near(out[q], want[q], size[q])) {
                failures++;
                printf("FAIL seed %u transposed %d element %zu: %g, expected %g\n", seed, transposed, q,
                       (double)out[q], want[q]);
                break;
            }
        EXPECT(r.bad == kNothing);
        if (seed % 5 == 0) same_bits(out, call);
        if (!transposed || kind == 0) continue;
        std::vector<int32_t> found(out.size(), -1), met(out.size(), 0);
        for (int64_t i = 0; i < m; i++)
            for (int64_t e = r.begin(i); e < r.begin(i + 1); e++)
                for (int64_t j = 0; j < columns; j++)
                    met[(size_t)(r.idx[(size_t)e] * rs + j * cs)] += x.at(i, j) != 0.0;
        EXPECT(lac_cuda_loose_count(&r.a, &x.x, columns, found.data(), rs, cs, nullptr) == LAC_OK);
        EXPECT(found == met);
    }
}

void slices(int64_t m, int64_t n, int64_t most, int64_t count, const Way &way, unsigned seed)
{
    std::mt19937 random(seed);
    Rows r;
    make(r, m, n, most, way, random);
    std::vector<int32_t> list;
    for (int64_t i = 0; i < count; i++) list.push_back((int32_t)(random() % (uint64_t)(m + 2)) - 1);
    const std::vector<int64_t> wide(list.begin(), list.end());
    const lac_cuda_row_list_t rows = {count, seed % 2 ? (const void *)wide.data() : list.data(),
                                      seed % 2 != 0};
    std::vector<float> out((size_t)(count * n), NAN), grad((size_t)r.nnz, NAN);
    std::vector<double> want(out.size(), 0.0), size(out.size(), 0.0);
    const int64_t rs = seed % 4 < 2 ? n : 1, cs = seed % 4 < 2 ? 1 : count;
    for (int64_t i = 0; i < count; i++)
        for (int64_t row = list[(size_t)i], e = row < 0 || row >= m ? 0 : r.begin(row);
             row >= 0 && row < m && e < r.begin(row + 1); e++) {
            want[(size_t)(i * rs + r.idx[(size_t)e] * cs)] += r.value(e);
            size[(size_t)(i * rs + r.idx[(size_t)e] * cs)] += 4.0 * std::fabs(r.value(e));
        }
    const auto slice = [&] { return lac_cuda_loose_slice(&r.a, &rows, out.data(), rs, cs, nullptr); };
    EXPECT(slice() == LAC_OK);
    for (size_t q = 0; q < out.size(); q++)
        if (!near(out[q], want[q], size[q])) {
            EXPECT(!"a slice is right");
            break;
        }
    same_bits(out, slice);
    const Dense g(count, n, 0, seed % 4 < 2, 1.0, random);
    const auto gradient = [&] {
        return lac_cuda_loose_grad(&r.a, &rows, g.f.data(), rs, cs, grad.data(), nullptr);
    };
    EXPECT(gradient() == LAC_OK);
    for (int64_t i = 0; i < m; i++)
        for (int64_t e = r.begin(i); e < r.begin(i + 1); e++) {
            double sum = 0.0, all = 0.0;
            for (int64_t q = 0; q < count; q++)
                if (list[(size_t)q] == i) {
                    sum += g.at(q, r.idx[(size_t)e]);
                    all += std::fabs(g.at(q, r.idx[(size_t)e]));
                }
            if (!near(grad[(size_t)e], sum, 4.0 * all)) EXPECT(!"a gradient is right");
        }
    same_bits(grad, gradient);
    for (int64_t depth : {1, 3, 20}) {
        const Dense x(m, depth, 0, true, 0.9, random), y(depth, n, 0, seed % 2, 0.9, random);
        const auto sample = [&] {
            return lac_cuda_loose_sddmm(&r.a, &x.x, &y.x, depth, grad.data(), nullptr);
        };
        EXPECT(sample() == LAC_OK);
        for (int64_t i = 0; i < m; i++)
            for (int64_t e = r.begin(i); e < r.begin(i + 1); e++) {
                double sum = 0.0, all = 0.0;
                for (int64_t k = 0; k < depth; k++) {
                    sum += x.at(i, k) * y.at(k, r.idx[(size_t)e]);
                    all += std::fabs(x.at(i, k) * y.at(k, r.idx[(size_t)e]));
                }
                if (!near(grad[(size_t)e], sum, all)) EXPECT(!"a sample is right");
            }
        same_bits(grad, sample);
    }
    EXPECT(r.bad == kNothing);
}

float scattered(Rows &r, const std::vector<float> &x, bool events = false)
{
    float out = NAN;
    std::vector<uint64_t> sums(workspace(1), 9);
    const lac_cuda_loose_dense_t dense = {x.data(), false, events, 1, 1};
    EXPECT(lac_cuda_loose_scatter(&r.a, &dense, 1, &out, 1, 1, sums.data(), nullptr) == LAC_OK);
    return out;
}

/* Sums that floats would not hold, of the smallest and the largest, and those that are not finite. */
void values()
{
    const int64_t terms = 5000;
    Rows r;
    r.m = terms, r.n = 1, r.nnz = terms;
    r.idx.assign((size_t)terms, 0), r.val.assign((size_t)terms, 1.0f), r.val[17] = 16777216.0f;
    r.describe(false, false);
    std::vector<float> x((size_t)terms, 1.0f);
    EXPECT(scattered(r, x) == 16777216.0f + 4999.0f);
    x.assign(x.size(), 1e-30f), r.val[17] = 1.0f;
    EXPECT(near(scattered(r, x), 5000.0 * 1e-30, 5000.0 * 1e-30));
    r.val.assign(r.val.size(), 1e-30f); /* products that are no floats */
    EXPECT(scattered(r, x) == 0.0f);
    r.val.assign(r.val.size(), 1e30f), x.assign(x.size(), 1e30f);
    EXPECT(scattered(r, x) == INFINITY);
    for (size_t i = 0; i < x.size(); i += 2) x[i] = -1e30f;
    EXPECT(scattered(r, x) == 0.0f);
    r.val[4] = INFINITY;
    EXPECT(scattered(r, x) == -INFINITY);
    r.val[5] = INFINITY;
    EXPECT(std::isnan(scattered(r, x)));
    r.val[5] = 1.0f, x[4] = 0.0f; /* an Inf that no event names */
    EXPECT(std::isfinite(scattered(r, x)));
    r.val[6] = NAN;
    EXPECT(std::isnan(scattered(r, x)));
}

/* Of events: sums that are rounded once, whatever the exponents of their terms: in one bin, in two, and where
 * two will not do. */
void events()
{
    std::mt19937 random(5);
    std::uniform_real_distribution<float> uniform(1.0f, 2.0f);
    for (const int spread : {1, 5, 26, 30, 58, 62, 150, 250}) {
        const int64_t terms = 300;
        Rows r;
        r.m = terms, r.n = 1, r.nnz = terms;
        r.idx.assign((size_t)terms, 0);
        __float128 sum = 0;
        for (int64_t e = 0; e < terms; e++) {
            const float v = std::ldexp(uniform(random), (int)(random() % (unsigned)spread) - spread / 2);
            r.val.push_back(e % 3 ? v : -v);
            sum += r.val.back();
        }
        r.describe(false, false);
        const std::vector<float> x((size_t)terms, 0.5f);
        const float got = scattered(r, x, true);
        if (spread <= 58)
            EXPECT(got == (float)sum);
        else
            EXPECT(near(got, (double)sum, std::fabs((double)sum)));
    }
    Rows r; /* nothing but the smallest and zeros, which cancel; those that are not finite */
    r.m = 4, r.n = 1, r.nnz = 4;
    r.idx.assign(4, 0), r.val = {1e-45f, 0.0f, 1e-45f, -0.0f};
    r.describe(false, false);
    const std::vector<float> x(4, 1.0f);
    EXPECT(scattered(r, x, true) == 2.8e-45f);
    r.val[2] = -1e-45f;
    EXPECT(scattered(r, x, true) == 0.0f);
    r.val[1] = 3.4e38f, r.val[2] = 3.4e38f;
    EXPECT(scattered(r, x, true) == INFINITY);
    r.val[0] = -INFINITY;
    EXPECT(scattered(r, x, true) == -INFINITY);
    r.val[3] = NAN;
    EXPECT(std::isnan(scattered(r, x, true)));
    r.val.assign(4, 0.0f);
    EXPECT(scattered(r, x, true) == 0.0f);
}

/* What is wrong counts as absent, and the first place is kept. */
void wrong_places()
{
    std::mt19937 random(3);
    const Way plain = {false, false, false, false, true};
    for (bool wide : {false, true}) {
        Rows r;
        make(r, 9, 13, 6, plain, random);
        const Dense x(13, 2, 0, true, 1.0, random), t(9, 2, 0, true, 1.0, random);
        std::vector<float> out(13 * 2), back((size_t)r.nnz);
        std::vector<uint64_t> sums(workspace(13 * 2));
        const int32_t list[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
        const lac_cuda_row_list_t rows = {9, list, false};
        std::vector<float> lines(9 * 13);
        const auto expect = [&](uint64_t want, bool permuted) {
            r.describe(wide, false);
            EXPECT(lac_cuda_loose_gather(&r.a, &x.x, 2, out.data(), 2, 1, nullptr) == LAC_OK);
            EXPECT(r.bad == want), r.bad = kNothing;
            EXPECT(lac_cuda_loose_scatter(&r.a, &t.x, 2, out.data(), 2, 1, sums.data(), nullptr) == LAC_OK);
            EXPECT(r.bad == want), r.bad = kNothing;
            EXPECT(lac_cuda_loose_slice(&r.a, &rows, lines.data(), 13, 1, nullptr) == LAC_OK);
            EXPECT(r.bad == want), r.bad = kNothing;
            EXPECT(lac_cuda_loose_grad(&r.a, &rows, lines.data(), 13, 1, back.data(), nullptr) == LAC_OK);
            EXPECT(r.bad == (permuted ? kNothing : want)), r.bad = kNothing;
        };
        r.idx[5] = -1, r.idx[7] = 13;
        expect(4 * 5 + LAC_CUDA_LOOSE_IDX, false);
        r.idx[5] = 0, r.idx[7] = 0, r.perm[3] = (int32_t)r.nnz, r.perm[9] = -7;
        expect(4 * 3 + LAC_CUDA_LOOSE_PERM, true);
        r.perm[3] = r.perm[9] = 0;
        const int32_t before = r.ptr[4];
        r.ptr[4] = (int32_t)r.nnz + 1;
        expect(4 * 3 + LAC_CUDA_LOOSE_PTR, false);
        r.ptr[4] = before;
        expect(kNothing, false);
    }
}

} // namespace

int main()
{
    static const int64_t shapes[][4] = {{1, 1, 1, 1},    {5, 3, 2, 1},      {40, 30, 6, 3},
                                        {40, 30, 40, 4}, {33, 65, 9, 5},    {17, 5, 70, 33},
                                        {300, 20, 5, 1}, {3, 4, 900, 2},    {0, 5, 3, 2},
                                        {4, 6, 0, 2},    {700, 3001, 9, 1}, {40, 17000, 5, 1}};
    static const Way ways[] = {{false, false, false, false, false}, {true, false, false, false, true},
                               {false, true, false, false, false},  {true, true, true, false, false},
                               {false, false, true, false, false},  {false, true, false, true, false}};
    unsigned seed = 0;
    for (const auto &s : shapes)
        for (const Way &way : ways)
            for (int kind = 0; kind < 3; kind++) products(s[0], s[1], s[2], s[3], way, kind, seed++);
    emulated_device = EMULATED_SMALL_HOPPER; /* whose threads have two elements of X each */
    for (const Way &way : ways) products(20000, 50, 2, 1, way, 1, 5 * seed++ + 1);
    emulated_device = EMULATED_H200;
    static const int64_t picks[][4] = {
        {5, 7, 3, 4}, {40, 3000, 50, 6}, {300, 9, 4, 600}, {6, 40, 90, 0}, {3, 1, 40, 5}};
    for (const auto &s : picks)
        for (const Way &way : ways) slices(s[0], s[1], s[2], s[3], way, seed++);
    values();
    events();
    wrong_places();
    printf("%d checks, %d failures\n", checks, failures);
    return failures || checks < 1000;
}

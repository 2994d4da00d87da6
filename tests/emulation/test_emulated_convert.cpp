/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What is made of a dense operand's zeros, on the emulator: counts, rows packed and apart, bits, active
 * lists, against what a loop over the elements finds. */
#include "cuda_kernels.h"
#include "emulator.h"
#include "ref_half.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace
{

int checks, failures;

#define EXPECT(x) (checks++, (x) ? (void)0 : (failures++, (void)printf("FAIL line %d: %s\n", __LINE__, #x)))

/* S in exactly as much memory as it takes; what its nonzeros are is kept beside. */
struct Dense {
    std::vector<uint8_t> bytes;
    std::vector<double> value; /* [m][k] */
    lac_cuda_dense_t s;
    int64_t m, k;

    Dense(int64_t rows, int64_t columns, lac_dt_t dt, bool by_rows, int64_t between, double density,
          std::mt19937 &random)
        : m(rows), k(columns)
    {
        std::uniform_real_distribution<double> chance(0.0, 1.0);
        const int64_t size = (int64_t)lac_dt_size(dt), ld = (by_rows ? k : m) + between;
        const int64_t last = by_rows ? (m - 1) * ld + k : (k - 1) * ld + m;
        bytes.assign((size_t)(m && k ? last * size : 0), 0);
        value.assign((size_t)(m * k), 0.0);
        s = {dt, bytes.data(), by_rows ? ld : 1, by_rows ? 1 : ld, density};
        for (int64_t i = 0; i < m; i++)
            for (int64_t l = 0; l < k; l++)
                if (chance(random) < density) set(i, l, (int)(random() % 15) + 1);
    }

    void set(int64_t i, int64_t l, int x)
    {
        uint8_t *const to = bytes.data() + (i * s.rs + l * s.cs) * (int64_t)lac_dt_size(s.dt);
        const float f = (float)x;
        const double d = x;
        const uint16_t half = ref_is_half(s.dt) ? ref_half_nearest(s.dt, d) : (uint16_t)0;
        if (s.dt == LAC_U8)
            *to = (uint8_t)x;
        else if (ref_is_half(s.dt))
            memcpy(to, &half, 2);
        else if (s.dt == LAC_F64)
            memcpy(to, &d, 8);
        else
            memcpy(to, &f, 4);
        value[(size_t)(i * k + l)] = s.dt == LAC_U8 ? 1.0 : x;
    }
    double at(int64_t i, int64_t l) const { return value[(size_t)(i * k + l)]; }
    int64_t count(int64_t i) const
    {
        int64_t n = 0;
        for (int64_t l = 0; l < k; l++) n += at(i, l) != 0.0;
        return n;
    }
};

/* Whether idx and val from `from` on are row i's nonzeros. */
template <typename V>
bool is_row(const Dense &d, int64_t i, const std::vector<int32_t> &idx, const std::vector<V> &val,
            int64_t from)
{
    for (int64_t l = 0; l < d.k; l++)
        if (d.at(i, l) != 0.0) {
            if (idx[(size_t)from] != l || (double)val[(size_t)from] != d.at(i, l)) return false;
            from++;
        }
    return true;
}

template <typename V> void rows(const Dense &d, lac_dt_t dt)
{
    int64_t nnz = 0;
    for (int64_t i = 0; i < d.m; i++) nnz += d.count(i);
    std::vector<uint8_t> work((size_t)lac_cuda_csr_bytes(d.m));
    std::vector<int64_t> ptr((size_t)d.m + 1, -1), ends(2 * (size_t)d.m, -1);
    std::vector<int32_t> idx((size_t)nnz), apart((size_t)(d.m * d.k));
    std::vector<V> val((size_t)nnz), of_apart((size_t)(d.m * d.k));
    EXPECT(lac_cuda_csr_ptr(d.m, d.k, &d.s, ptr.data(), work.data(), nullptr) == LAC_OK);
    EXPECT(lac_cuda_csr_fill(d.m, d.k, &d.s, ptr.data(), idx.data(), dt, val.data(), nullptr) == LAC_OK);
    EXPECT(lac_cuda_csr_rows(d.m, d.k, &d.s, ends.data(), apart.data(), dt, of_apart.data(), nullptr) ==
           LAC_OK);
    EXPECT(ptr[0] == 0 && ptr[(size_t)d.m] == nnz);
    for (int64_t i = 0; i < d.m; i++) {
        const size_t at = (size_t)i;
        EXPECT(ptr[at + 1] - ptr[at] == d.count(i) && is_row(d, i, idx, val, ptr[at]));
        EXPECT(ends[2 * at] == i * d.k && ends[2 * at + 1] == i * d.k + d.count(i));
        EXPECT(is_row(d, i, apart, of_apart, i * d.k));
    }
    std::vector<int32_t> without((size_t)nnz);
    EXPECT(lac_cuda_csr_fill(d.m, d.k, &d.s, ptr.data(), without.data(), dt, nullptr, nullptr) == LAC_OK);
    EXPECT(without == idx);
}

void others(const Dense &d)
{
    const int64_t words = (d.k + 63) / 64;
    std::vector<int64_t> count((size_t)d.m, -1);
    std::vector<uint64_t> bits((size_t)(d.m * words), ~uint64_t(0));
    std::vector<int32_t> active((size_t)d.k);
    std::vector<uint8_t> work((size_t)lac_cuda_active_bytes(d.k));
    int64_t found = -1, sampled = -1;
    EXPECT(lac_cuda_count_rows(d.m, d.k, &d.s, count.data(), nullptr) == LAC_OK);
    EXPECT(lac_cuda_fill_bits(d.m, d.k, &d.s, bits.data(), nullptr) == LAC_OK);
    EXPECT(lac_cuda_active_list(d.m, d.k, &d.s, active.data(), &found, work.data(), nullptr) == LAC_OK);
    EXPECT(lac_cuda_probe(d.m, d.k, &d.s, 500, 7, &sampled, nullptr) == LAC_OK);
    int64_t at = 0, nnz = 0;
    for (int64_t l = 0; l < d.k; l++) {
        bool any = false;
        for (int64_t i = 0; i < d.m; i++) any |= d.at(i, l) != 0.0;
        if (any) EXPECT(at < found && active[(size_t)at] == l), at++;
    }
    EXPECT(at == found);
    for (int64_t i = 0; i < d.m; i++) {
        bool same = true;
        for (int64_t l = 0; l < words * 64; l++)
            same &= (bits[(size_t)(i * words + l / 64)] >> l % 64 & 1) == (l < d.k && d.at(i, l) != 0.0);
        EXPECT(same && count[(size_t)i] == d.count(i)), nnz += d.count(i);
    }
    EXPECT(nnz == 0 ? sampled == 0 : nnz == d.m * d.k ? sampled == 500 : sampled >= 0);
    EXPECT(llabs(sampled * d.m * d.k - 500 * nnz) <= 75 * d.m * d.k); /* samples are spread evenly */
}

} // namespace

int main()
{
    static const int64_t shapes[][2] = {{1, 1}, {1, 300}, {7, 64}, {40, 65}, {3, 4100}, {2, 9001}, {70, 5}};
    static const lac_dt_t types[] = {LAC_F32, LAC_U8, LAC_F16, LAC_BF16, LAC_F64};
    static const double densities[] = {0.0, 0.03, 0.6, 1.0};
    const bool quick = getenv("LACUNA_TEST_QUICK") != nullptr;
    std::mt19937 random(5);
    for (const auto &s : shapes)
        for (lac_dt_t dt : types)
            for (int way = 0; way < 3; way++)
                for (double density : densities) {
                    if (quick && random() % 4) continue;
                    const Dense d(s[0], s[1], dt, way != 1, way == 2 ? 3 : 0, density, random);
                    emulated_schedule += 977;
                    others(d);
                    if (dt == LAC_F64)
                        rows<double>(d, LAC_F64);
                    else
                        rows<float>(d, LAC_F32);
                }
    const Dense none(0, 5, LAC_F32, true, 0, 0.0, random);
    int64_t first = -1;
    uint8_t work[256];
    EXPECT(lac_cuda_csr_rows(0, 5, &none.s, &first, nullptr, LAC_F32, nullptr, nullptr) == LAC_OK &&
           first == -1);
    EXPECT(lac_cuda_csr_ptr(0, 5, &none.s, &first, work, nullptr) == LAC_OK && first == 0);
    EXPECT(lac_cuda_csr_rows((int64_t)1 << 40, 5, &none.s, &first, nullptr, LAC_F32, nullptr, nullptr) ==
           LAC_ERR_EXTENT);
    printf("%d checks, %d failures\n", checks, failures);
    return failures || checks < 1000;
}

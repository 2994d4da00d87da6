/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Batches of event products on the emulator, against fp64: random counts, shapes, strides, scalars and
 * densities, types; matrices a step apart, or named one by one in any order, one W for all of them too;
 * poison wherever nothing may be read; each batch twice, in two orders of its warps, for the same bits. */
#include "cuda_kernels.h"
#include "emulator.h"
#include "ref_half.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace
{

constexpr double kTolerance = 12.0; /* units of 2^-24 (|S||W| + |beta out|) beside the rounding, worst */

int checks, failures;

enum { S, W, OUT, OPERANDS };

struct Case {
    int64_t count, m, n, k;
    double density;
    lac_dt_t dt[OPERANDS];
    bool s_kmajor, w_cols, one_w, out_transposed, each;
    int pad[OPERANDS], apart[OPERANDS], offset[OPERANDS]; /* elements between lines, between matrices, and
                                                             before the first of these */
    float alpha, beta;
    int device;
    unsigned seed;
};

const char *name_of(lac_dt_t dt)
{
    return dt == LAC_U8 ? "u8" : dt == LAC_F16 ? "f16" : dt == LAC_BF16 ? "bf16" : "f32";
}

std::string text(const Case &c)
{
    char b[320];
    snprintf(b, sizeof b,
             "%lld of %lldx%lldx%lld d=%g %s,%s,%s s=%s w=%s%s out=%s %s pad=%d,%d,%d apart=%d,%d,%d "
             "offset=%d,%d,%d alpha=%g beta=%g device=%d seed=%u",
             (long long)c.count, (long long)c.m, (long long)c.k, (long long)c.n, c.density, name_of(c.dt[S]),
             name_of(c.dt[W]), name_of(c.dt[OUT]), c.s_kmajor ? "kmajor" : "rows", c.w_cols ? "cols" : "rows",
             c.one_w ? " (one)" : "", c.out_transposed ? "cols" : "rows", c.each ? "named" : "steps",
             c.pad[S], c.pad[W], c.pad[OUT], c.apart[S], c.apart[W], c.apart[OUT], c.offset[S], c.offset[W],
             c.offset[OUT], (double)c.alpha, (double)c.beta, c.device, c.seed);
    return b;
}

void fail(const char *what, const Case &c)
{
    printf("FAIL %s %s\n", what, text(c).c_str());
    failures++;
}

/* Where the elements of the matrices lie: element (r, c) of matrix q at [first(q) + r * rs + c * cs] of
 * memory whose beginning is aligned. */
struct Layout {
    int64_t rs, cs, step, offset;
    std::vector<int64_t> slot; /* of matrix q */
    int64_t first(int64_t q) const { return offset + slot[(size_t)q] * step; }
};

Layout lay_out(const Case &c, int which, int64_t rows, int64_t cols, bool transposed, std::mt19937 &random)
{
    const int64_t ld = (transposed ? rows : cols) + c.pad[which];
    std::vector<int64_t> slot((size_t)c.count);
    for (size_t q = 0; q < slot.size(); q++) slot[q] = which == W && c.one_w ? 0 : (int64_t)q;
    if (c.each) std::shuffle(slot.begin(), slot.end(), random);
    return {transposed ? 1 : ld, transposed ? ld : 1, ld * (transposed ? cols : rows) + c.apart[which],
            c.offset[which], slot};
}

/* Elements of any type from an aligned address on; a sanitizer sees what lies beyond. Poison at first: NaN,
 * or an event. */
struct Elements {
    lac_dt_t dt;
    size_t count, bytes;
    char *data;

    Elements(lac_dt_t dt_, size_t count_)
        : dt(dt_), count(count_), bytes(count_ * lac_dt_size(dt_)),
          data((char *)aligned_alloc(64, (bytes + 63) / 64 * 64))
    {
        memset(data, dt == LAC_U8 ? 77 : 0xff, bytes);
    }
    Elements(const Elements &x) : Elements(x.dt, x.count) { memcpy(data, x.data, bytes); }
    ~Elements() { free(data); }

    char *at(int64_t i) const { return data + i * (int64_t)lac_dt_size(dt); }
    double get(int64_t i) const
    {
        if (dt == LAC_U8) return *(const uint8_t *)at(i) != 0;
        return ref_is_half(dt) ? ref_half_value(dt, *(const uint16_t *)at(i)) : (double)*(const float *)at(i);
    }
    void put(int64_t i, double value) const
    {
        if (ref_is_half(dt))
            *(uint16_t *)at(i) = ref_half_nearest(dt, value);
        else
            *(float *)at(i) = (float)value;
    }
};

struct Batch {
    Layout ls, lw, lo;
    Elements s, w, before;
};

Batch make(const Case &c)
{
    std::mt19937 random(c.seed);
    const auto draw = [&] { return (double)(random() % 20001) / 10000.0 - 1.0; };
    const Layout ls = lay_out(c, S, c.m, c.k, c.s_kmajor, random),
                 lw = lay_out(c, W, c.k, c.n, c.w_cols, random),
                 lo = lay_out(c, OUT, c.m, c.n, c.out_transposed, random);
    const auto room = [&](int which, const Layout &l) {
        return Elements(c.dt[which], (size_t)(l.offset + c.count * l.step));
    };
    const Batch b = {ls, lw, lo, room(S, ls), room(W, lw), room(OUT, lo)};
    for (int64_t q = 0; q < c.count; q++) {
        std::vector<bool> active((size_t)c.k);
        for (int64_t i = 0; i < c.m; i++)
            for (int64_t k = 0; k < c.k; k++) {
                const int64_t at = b.ls.first(q) + i * b.ls.rs + k * b.ls.cs;
                const bool event = (double)(random() % 10000) < c.density * 10000.0;
                if (c.dt[S] == LAC_U8)
                    *b.s.at(at) = event ? (char)(1 + random() % 255) : 0;
                else
                    b.s.put(at, event ? draw() + 2.0 : random() % 2 ? 0.0 : -0.0);
                if (event) active[(size_t)k] = true;
            }
        for (int64_t k = 0; k < c.k; k++) /* NaN stays where no row has an event */
            for (int64_t j = 0; j < c.n && active[(size_t)k]; j++)
                b.w.put(b.lw.first(q) + k * b.lw.rs + j * b.lw.cs, draw());
        for (int64_t i = 0; i < c.m && c.beta != 0.0f; i++)
            for (int64_t j = 0; j < c.n; j++) b.before.put(b.lo.first(q) + i * b.lo.rs + j * b.lo.cs, draw());
    }
    return b;
}

/* Every element against fp64; what lies between the lines is as it was. */
void judge(const Case &c, const Batch &b, const Elements &out)
{
    std::vector<bool> inside(out.count);
    bool right = true, kept = true;
    for (int64_t q = 0; q < c.count; q++)
        for (int64_t i = 0; i < c.m; i++)
            for (int64_t j = 0; j < c.n; j++) {
                const int64_t at = b.lo.first(q) + i * b.lo.rs + j * b.lo.cs;
                double sum = 0.0, size = 0.0;
                for (int64_t k = 0; k < c.k; k++) {
                    const double x = b.s.get(b.ls.first(q) + i * b.ls.rs + k * b.ls.cs);
                    if (x == 0.0) continue;
                    const double term = x * b.w.get(b.lw.first(q) + k * b.lw.rs + j * b.lw.cs);
                    sum += term, size += fabs(term);
                }
                double want = (double)c.alpha * sum, unit = fabs((double)c.alpha) * size;
                if (c.beta != 0.0f) {
                    want += (double)c.beta * b.before.get(at);
                    unit += fabs((double)c.beta * b.before.get(at));
                }
                const double got = out.get(at), most = fmax(fabs(want), fabs(got)),
                             rounding = out.dt == LAC_F32 ? 0.0 : ldexp(0.5, ref_half_unit(out.dt, most));
                right &= fabs(got - want) <= rounding + kTolerance * ldexp(unit, -24) + 1e-37;
                inside[(size_t)at] = true;
            }
    for (size_t e = 0; e < out.count; e++)
        kept &= inside[e] || memcmp(out.at((int64_t)e), b.before.at((int64_t)e), lac_dt_size(out.dt)) == 0;
    if (!right) fail("values", c);
    if (!kept) fail("between the lines", c);
    checks++;
}

void check(const Case &c)
{
    emulated_device = c.device;
    const Batch b = make(c);
    std::string once;
    for (unsigned run = 0; run < 2; run++) {
        const Elements out(b.before);
        std::vector<const void *> each_s, each_w;
        std::vector<void *> each_out;
        for (int64_t q = 0; q < c.count; q++) {
            each_s.push_back(b.s.at(b.ls.first(q)));
            each_w.push_back(b.w.at(b.lw.first(q)));
            each_out.push_back(out.at(b.lo.first(q)));
        }
        lac_cuda_batch_t batch = {};
        batch.count = c.count, batch.m = c.m, batch.n = c.n, batch.k = c.k;
        batch.alpha = c.alpha, batch.beta = c.beta;
        batch.dt = c.dt[S], batch.w_dt = c.dt[W], batch.out_dt = c.dt[OUT];
        batch.srs = b.ls.rs, batch.scs = b.ls.cs, batch.wks = b.lw.rs, batch.wjs = b.lw.cs;
        batch.rs = b.lo.rs, batch.cs = b.lo.cs;
        if (c.each)
            batch.s_each = each_s.data(), batch.w_each = each_w.data(), batch.out_each = each_out.data();
        else {
            batch.s = each_s[0], batch.w = each_w[0], batch.out = each_out[0];
            batch.s_step = b.ls.step, batch.w_step = c.one_w ? 0 : b.lw.step, batch.out_step = b.lo.step;
        }
        emulated_schedule = c.seed * 5u + run;
        if (lac_cuda_batch_events(&batch, nullptr) != LAC_OK) return fail("refused", c);
        judge(c, b, out);
        if (run == 0) once.assign(out.data, out.bytes);
        if (run == 1 && memcmp(once.data(), out.data, out.bytes) != 0) fail("repeat", c);
    }
}

/* S, W and the output: all combinations that the kernel has. */
constexpr lac_dt_t kTypes[][OPERANDS] = {
    {LAC_F32, LAC_F32, LAC_F32},    {LAC_U8, LAC_F32, LAC_F32},    {LAC_F16, LAC_F16, LAC_F16},
    {LAC_BF16, LAC_BF16, LAC_BF16}, {LAC_BF16, LAC_BF16, LAC_F32}, {LAC_U8, LAC_F16, LAC_F16},
    {LAC_U8, LAC_BF16, LAC_F32},    {LAC_F32, LAC_F16, LAC_F32},   {LAC_F32, LAC_BF16, LAC_F32}};
constexpr unsigned kTypesCount = sizeof kTypes / sizeof *kTypes;

void set_types(Case &c, unsigned which)
{
    std::copy(kTypes[which], kTypes[which] + OPERANDS, c.dt);
}

Case draw_case(unsigned seed)
{
    std::mt19937 random(seed);
    const auto up_to = [&](unsigned most) { return (int64_t)(1 + random() % most); };
    const double densities[] = {0.0, 0.01, 0.05, 0.3, 1.0};
    const float alphas[] = {1.0f, 1.0f, -0.75f}, betas[] = {0.0f, 1.0f, 0.5f};
    Case c = {};
    c.count = up_to(5), c.m = up_to(4), c.n = up_to(random() % 3 ? 60 : 300),
    c.k = up_to(random() % 2 ? 200 : 2200);
    if (random() % 4) c.n = (c.n + 3) / 4 * 4, c.k = (c.k + 3) / 4 * 4;
    c.density = densities[random() % 5];
    set_types(c, seed % kTypesCount);
    c.s_kmajor = random() % 4 == 0, c.w_cols = random() % 4 == 0;
    c.one_w = random() % 4 == 0, c.out_transposed = random() % 4 == 0, c.each = random() % 2;
    for (int x = 0; x < OPERANDS; x++) {
        c.pad[x] = random() % 3 ? 0 : (int)up_to(4);
        c.apart[x] = random() % 3 ? 0 : (int)up_to(4);
        c.offset[x] = random() % 4 ? 0 : (int)up_to(3);
    }
    c.alpha = alphas[random() % 3], c.beta = betas[random() % 3];
    c.device = (int)(random() % EMULATED_DEVICES);
    c.seed = seed;
    return c;
}

Case plain_case(int64_t count, int64_t m, int64_t n, int64_t k, unsigned seed)
{
    Case c = {};
    c.count = count, c.m = m, c.n = n, c.k = k, c.density = 0.1, c.alpha = 1.0f, c.seed = seed;
    c.device = EMULATED_H200;
    set_types(c, 0);
    return c;
}

/* Operands where vectors would fit but for one thing: the distance of lines, that of matrices, the address.
 */
void check_alignment(bool quick)
{
    for (int broken = 0; broken < 3 * OPERANDS; broken++)
        for (unsigned kind = 0; kind < 2 * kTypesCount; kind++) {
            if (quick && kind / 2 > 3) break;
            Case c = plain_case(4, 4, 64, 96, 200 + (unsigned)broken);
            const int x = broken % OPERANDS;
            (broken / 3 == 0 ? c.pad : broken / 3 == 1 ? c.apart : c.offset)[x] = 1;
            c.each = kind & 1, set_types(c, kind / 2);
            check(c);
        }
}

/* Each number of warps that there is; more columns than a block has; most matrices that one launch can name.
 */
void check_cuts()
{
    for (int64_t warps = 1; warps <= 8; warps++)
        check(plain_case(2, 2, 20, 512 * warps - 4 * (warps % 2), 100 + (unsigned)warps));
    Case c = plain_case(2, 1, 2052, 36, 120);
    c.beta = 0.5f;
    for (unsigned types = 0; types < kTypesCount; types++) set_types(c, types), check(c);
    set_types(c, 0);
    c = plain_case(LAC_CUDA_BATCH_SET, 1, 4, 8, 121);
    c.density = 0.5, c.each = true;
    check(c);
}

void expect(lac_status_t want, const lac_cuda_batch_t &batch, const char *what)
{
    checks++;
    if (lac_cuda_batch_events(&batch, nullptr) == want) return;
    printf("FAIL %s\n", what);
    failures++;
}

/* What does not fit is refused, and what is empty is done at once: no address is read, for there is none. */
void check_refusals()
{
    emulated_device = EMULATED_H200;
    const int64_t beyond = INT64_C(1) << 31;
    const void *s[LAC_CUDA_BATCH_SET + 1] = {};
    void *out[LAC_CUDA_BATCH_SET + 1] = {};
    lac_cuda_batch_t plain = {}, b;
    plain.count = 1, plain.m = 1, plain.n = 4, plain.k = 4, plain.alpha = 1.0f;
    plain.srs = 4, plain.scs = 1, plain.wks = 4, plain.wjs = 1, plain.rs = 4, plain.cs = 1;
    b = plain, b.k = LAC_CUDA_BATCH_K + 1, expect(LAC_ERR_EXTENT, b, "a k that is too long is not refused");
    b = plain, b.n = beyond, expect(LAC_ERR_EXTENT, b, "an n that is too long is not refused");
    b = plain, b.wks = beyond, expect(LAC_ERR_EXTENT, b, "rows of W too far apart are not refused");
    b = plain, b.wjs = beyond, expect(LAC_ERR_EXTENT, b, "columns of W too far apart are not refused");
    b = plain, b.count = 1 << 16, b.m = 1 << 16, expect(LAC_ERR_EXTENT, b, "too many rows are not refused");
    b = plain, b.s_each = b.w_each = s, b.out_each = out, b.count = LAC_CUDA_BATCH_SET + 1;
    expect(LAC_ERR_EXTENT, b, "too many names are not refused");
    b = plain, b.count = 0, expect(LAC_OK, b, "an empty batch is refused");
    b = plain, b.m = 0, expect(LAC_OK, b, "products without rows are refused");
    b = plain, b.n = 0, expect(LAC_OK, b, "products without columns are refused");
}

} // namespace

/* test_emulated_batch [cases [first seed]] */
int main(int argc, char **argv)
{
    const bool quick = getenv("LACUNA_TEST_QUICK") != nullptr;
    const unsigned cases = argc > 1 ? (unsigned)atoi(argv[1])
                           : quick  ? 6
                                    : 40,
                   first = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    check_refusals();
    for (unsigned seed = first; seed < first + cases; seed++) check(draw_case(seed));
    check_alignment(quick);
    if (!quick) check_cuts();
    printf("test_emulated_batch: %d checks, %d failures\n", checks, failures);
    return failures != 0 || checks == 0;
}

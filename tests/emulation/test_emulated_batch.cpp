/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Batches of event products on the emulator, against fp64: random counts, shapes, strides, scalars and
 * densities; matrices a step apart, or named one by one in any order, one W for all of them too; poison
 * wherever nothing may be read; each batch twice, in two orders of its warps, for the same bits. */
#include "cuda_kernels.h"
#include "emulator.h"

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

constexpr double kTolerance = 12.0; /* units of 2^-24 (|S||W| + |beta out|), elementwise worst */

int checks, failures;

enum { S, W, OUT, OPERANDS };

struct Case {
    int64_t count, m, n, k;
    double density;
    bool u8, s_kmajor, w_cols, one_w, out_transposed, each;
    int pad[OPERANDS], apart[OPERANDS], offset[OPERANDS]; /* elements between lines, between matrices, and
                                                             before the first of these */
    float alpha, beta;
    int device;
    unsigned seed;
};

std::string text(const Case &c)
{
    char b[320];
    snprintf(b, sizeof b,
             "%lld of %lldx%lldx%lld d=%g %s s=%s w=%s%s out=%s %s pad=%d,%d,%d apart=%d,%d,%d "
             "offset=%d,%d,%d alpha=%g beta=%g device=%d seed=%u",
             (long long)c.count, (long long)c.m, (long long)c.k, (long long)c.n, c.density,
             c.u8 ? "u8" : "f32", c.s_kmajor ? "kmajor" : "rows", c.w_cols ? "cols" : "rows",
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

struct Batch {
    Layout ls, lw, lo;
    std::vector<float> s, w, before;
    std::vector<uint8_t> bytes;
};

Batch make(const Case &c)
{
    std::mt19937 random(c.seed);
    const auto draw = [&] { return (float)(random() % 20001) / 10000.0f - 1.0f; };
    Batch b;
    b.ls = lay_out(c, S, c.m, c.k, c.s_kmajor, random);
    b.lw = lay_out(c, W, c.k, c.n, c.w_cols, random);
    b.lo = lay_out(c, OUT, c.m, c.n, c.out_transposed, random);
    const auto room = [&](const Layout &l) { return (size_t)(l.offset + c.count * l.step); };
    b.s.assign(room(b.ls), NAN), b.bytes.assign(room(b.ls), 77);
    b.w.assign(room(b.lw), NAN), b.before.assign(room(b.lo), NAN);
    for (int64_t q = 0; q < c.count; q++) {
        std::vector<bool> active((size_t)c.k);
        for (int64_t i = 0; i < c.m; i++)
            for (int64_t k = 0; k < c.k; k++) {
                const size_t at = (size_t)(b.ls.first(q) + i * b.ls.rs + k * b.ls.cs);
                const bool event = (double)(random() % 10000) < c.density * 10000.0;
                b.bytes[at] = event ? (uint8_t)(1 + random() % 255) : 0;
                b.s[at] = !event ? (random() % 2 ? 0.0f : -0.0f) : c.u8 ? 1.0f : draw() + 2.0f;
                if (event) active[(size_t)k] = true;
            }
        for (int64_t k = 0; k < c.k; k++) /* NaN stays where no row has an event */
            for (int64_t j = 0; j < c.n && active[(size_t)k]; j++)
                b.w[(size_t)(b.lw.first(q) + k * b.lw.rs + j * b.lw.cs)] = draw();
        for (int64_t i = 0; i < c.m && c.beta != 0.0f; i++)
            for (int64_t j = 0; j < c.n; j++)
                b.before[(size_t)(b.lo.first(q) + i * b.lo.rs + j * b.lo.cs)] = draw();
    }
    return b;
}

/* Every element against fp64; what lies between the lines is as it was. */
void judge(const Case &c, const Batch &b, const float *s, const float *w, const float *before,
           const float *out)
{
    const size_t room = b.before.size();
    std::vector<bool> inside(room);
    bool right = true, kept = true;
    for (int64_t q = 0; q < c.count; q++)
        for (int64_t i = 0; i < c.m; i++)
            for (int64_t j = 0; j < c.n; j++) {
                const int64_t at = b.lo.first(q) + i * b.lo.rs + j * b.lo.cs;
                double sum = 0.0, size = 0.0;
                for (int64_t k = 0; k < c.k; k++) {
                    const double x = (double)s[b.ls.first(q) + i * b.ls.rs + k * b.ls.cs];
                    if (x == 0.0) continue;
                    const double term = x * (double)w[b.lw.first(q) + k * b.lw.rs + j * b.lw.cs];
                    sum += term, size += fabs(term);
                }
                double want = (double)c.alpha * sum, unit = fabs((double)c.alpha) * size;
                if (c.beta != 0.0f) {
                    want += (double)c.beta * (double)before[at];
                    unit += fabs((double)c.beta * (double)before[at]);
                }
                right &= fabs((double)out[at] - want) <= kTolerance * ldexp(unit, -24) + 1e-37;
                inside[(size_t)at] = true;
            }
    for (size_t e = 0; e < room; e++) kept &= inside[e] || memcmp(out + e, before + e, sizeof *out) == 0;
    if (!right) fail("values", c);
    if (!kept) fail("between the lines", c);
    checks++;
}

/* A copy that begins at an aligned address; a sanitizer sees what lies beyond. */
template <typename T> struct Aligned {
    size_t bytes;
    T *at;
    explicit Aligned(const std::vector<T> &from)
        : bytes(sizeof(T) * from.size()), at((T *)aligned_alloc(64, (bytes + 63) / 64 * 64))
    {
        memcpy(at, from.data(), bytes);
    }
    Aligned(const Aligned &) = delete;
    ~Aligned() { free(at); }
};

void check(const Case &c)
{
    emulated_device = c.device;
    const Batch b = make(c);
    const Aligned<float> s(b.s), w(b.w), before(b.before);
    const Aligned<uint8_t> bytes(b.bytes);
    std::vector<float> once;
    for (unsigned run = 0; run < 2; run++) {
        const Aligned<float> out(b.before);
        std::vector<const void *> each_s;
        std::vector<const float *> each_w;
        std::vector<float *> each_out;
        for (int64_t q = 0; q < c.count; q++) {
            each_s.push_back(c.u8 ? (const void *)(bytes.at + b.ls.first(q)) : s.at + b.ls.first(q));
            each_w.push_back(w.at + b.lw.first(q));
            each_out.push_back(out.at + b.lo.first(q));
        }
        lac_cuda_batch_t batch = {};
        batch.count = c.count, batch.m = c.m, batch.n = c.n, batch.k = c.k;
        batch.alpha = c.alpha, batch.beta = c.beta, batch.dt = c.u8 ? LAC_U8 : LAC_F32;
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
        judge(c, b, s.at, w.at, before.at, out.at);
        if (run == 0) once.assign(out.at, out.at + b.before.size());
        if (run == 1 && memcmp(once.data(), out.at, out.bytes) != 0) fail("repeat", c);
    }
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
    c.u8 = random() % 3 == 0, c.s_kmajor = random() % 4 == 0, c.w_cols = random() % 4 == 0;
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
    return c;
}

/* Operands where vectors would fit but for one thing: the distance of lines, that of matrices, the address.
 */
void check_alignment()
{
    for (int broken = 0; broken < 3 * OPERANDS; broken++)
        for (unsigned kind = 0; kind < 4; kind++) {
            Case c = plain_case(4, 4, 64, 96, 200 + (unsigned)broken);
            const int x = broken % OPERANDS;
            (broken / 3 == 0 ? c.pad : broken / 3 == 1 ? c.apart : c.offset)[x] = 1;
            c.each = kind & 1, c.u8 = kind & 2;
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
    check(c);
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
    const float *w[LAC_CUDA_BATCH_SET + 1] = {};
    float *out[LAC_CUDA_BATCH_SET + 1] = {};
    lac_cuda_batch_t plain = {}, b;
    plain.count = 1, plain.m = 1, plain.n = 4, plain.k = 4, plain.alpha = 1.0f;
    plain.srs = 4, plain.scs = 1, plain.wks = 4, plain.wjs = 1, plain.rs = 4, plain.cs = 1;
    b = plain, b.k = LAC_CUDA_BATCH_K + 1, expect(LAC_ERR_EXTENT, b, "a k that is too long is not refused");
    b = plain, b.n = beyond, expect(LAC_ERR_EXTENT, b, "an n that is too long is not refused");
    b = plain, b.wks = beyond, expect(LAC_ERR_EXTENT, b, "rows of W too far apart are not refused");
    b = plain, b.wjs = beyond, expect(LAC_ERR_EXTENT, b, "columns of W too far apart are not refused");
    b = plain, b.count = 1 << 16, b.m = 1 << 16, expect(LAC_ERR_EXTENT, b, "too many rows are not refused");
    b = plain, b.s_each = s, b.w_each = w, b.out_each = out, b.count = LAC_CUDA_BATCH_SET + 1;
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
    check_alignment();
    if (!quick) check_cuts();
    printf("test_emulated_batch: %d checks, %d failures\n", checks, failures);
    return failures != 0 || checks == 0;
}

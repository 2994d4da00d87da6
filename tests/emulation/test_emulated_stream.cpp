/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The streamed product on the emulator, and the adaptive one, against fp64: random shapes, orders, strides,
 * scalars, data and special values; poison wherever nothing may be read; each product twice, in two orders of
 * its warps, for the same bits, and with bias and activation. */
#include "cuda_kernels.h"
#include "emulator.h"

#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace
{

constexpr double kTolerance =
    12.0; /* units of 2^-24 (|S||W| + |beta out|): what tensor cores cut off, in the worst way */

int checks, decisions, failures;

struct Case {
    int64_t m, n, k;
    bool w_off; /* 16 bytes: by rows, or small products */
    bool u8, s_kmajor, w_cols, padded, out_transposed, device_scalars;
    float alpha, beta;
    int spread;           /* of exponents, to either side */
    bool of_w;            /* W's alone                    */
    int power_s, power_w; /* of two, of all elements      */
    int every;            /* of S's elements one is not zero; 0: two of three are not */
    bool small_row;       /* of S, beside the others                                  */
    bool small_element;   /* of W, which an S as much larger meets                    */
    bool positive;
    float special; /* put somewhere into W, unless 0 */
    int device;
    unsigned seed;
};

std::string text(const Case &c)
{
    char b[256];
    snprintf(b, sizeof b,
             "%lldx%lldx%lld %s s=%s w=%s%s%s out=%s%s alpha=%g beta=%g spread=%d%s%s powers=%d,%d every=%d "
             "special=%g device=%d seed=%u",
             (long long)c.m, (long long)c.k, (long long)c.n, c.u8 ? "u8" : "f32",
             c.s_kmajor ? "kmajor" : "rows", c.w_cols ? "cols" : "rows", c.w_off ? " off" : "",
             c.padded ? " padded" : "", c.out_transposed ? "cols" : "rows", c.device_scalars ? " dev" : "",
             c.alpha, c.beta, c.spread, c.of_w ? " of w" : "", c.positive ? " positive" : "", c.power_s,
             c.power_w, c.every, c.special, c.device, c.seed);
    return b;
}

void fail(const char *what, const Case &c)
{
    printf("FAIL %s %s\n", what, text(c).c_str());
    failures++;
}

/* Aligned, of exactly this many elements: a sanitizer sees what lies beyond. */
template <typename T> std::unique_ptr<T, void (*)(void *)> memory(int64_t count)
{
    return {(T *)aligned_alloc(256, (sizeof(T) * (size_t)count + 255) / 256 * 256), free};
}

struct Operands {
    std::vector<float> s, before;
    std::vector<uint8_t> bytes;
    std::unique_ptr<float, void (*)(void *)> w;
    std::unique_ptr<uint8_t, void (*)(void *)> workspace;
    float scalars[2];
    int64_t rs, cs;
    lac_cuda_product_t p;
};

std::unique_ptr<Operands> make(const Case &c)
{
    std::mt19937 random(c.seed);
    const auto draw = [&](int power, bool spread) {
        const float x = (float)(random() % 20001) / 10000.0f - 1.0f;
        return ldexpf(c.positive ? fabsf(x) : x,
                      power + (c.spread && spread ? (int)(random() % (2 * c.spread + 1)) - c.spread : 0));
    };
    const int64_t pad = c.padded ? 3 : 0, across = c.w_cols ? c.k : c.n, lines = c.w_cols ? c.n : c.k;
    const int64_t off = c.w_off ? c.seed / 2 % 4 : 0;
    const int64_t ldw = c.w_off && (off == 0 || c.seed % 2) ? across + (across + 1) % 4
                                                            : (across + 3) / 4 * 4 + (c.padded ? 4 : 0);
    std::unique_ptr<Operands> o(new Operands{std::vector<float>((size_t)((c.m + pad) * (c.k + pad)), NAN),
                                             std::vector<float>((size_t)((c.m + pad) * (c.n + pad)), NAN),
                                             std::vector<uint8_t>((size_t)((c.m + pad) * (c.k + pad)), 77),
                                             memory<float>(lines * ldw + off),
                                             {nullptr, free},
                                             {c.alpha, c.beta},
                                             c.s_kmajor ? 1 : c.k + pad,
                                             c.s_kmajor ? c.m + pad : 1,
                                             {}});
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t k = 0; k < c.k; k++) {
            const size_t at = (size_t)(i * o->rs + k * o->cs);
            const bool event = c.every ? random() % (unsigned)c.every == 0 : random() % 3 != 0;
            o->bytes[at] = event ? (uint8_t)(1 + random() % 255) : 0;
            o->s[at] = c.u8 ? (event ? 1.0f : 0.0f) : event ? draw(c.power_s, !c.of_w) : 0.0f;
        }
    float *w = o->w.get() + off;
    for (int64_t e = 0; e < lines * ldw; e++) w[e] = NAN;
    for (int64_t l = 0; l < lines; l++)
        for (int64_t x = 0; x < across; x++) w[l * ldw + x] = draw(c.power_w, true);
    for (int64_t k = 0; k < c.k && c.small_row; k++) o->s[(size_t)(3 * o->rs + k * o->cs)] *= 0x1p-34f;
    for (int64_t i = 0; i < c.m && c.small_element; i++)
        o->s[(size_t)(i * o->rs + c.k / 8 * o->cs)] = 0x1.2p12f;
    if (c.small_element) w[c.w_cols ? c.n / 2 * ldw + c.k / 8 : c.k / 8 * ldw + c.n / 2] = 0x1.5p-20f;
    if (c.special != 0.0f)
        w[(int64_t)(random() % (unsigned)lines) * ldw + random() % (unsigned)across] = c.special;
    const int64_t ors = c.out_transposed ? 1 : c.n + pad, ocs = c.out_transposed ? c.m + pad : 1;
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t j = 0; j < c.n; j++)
            if (c.beta != 0.0f) o->before[(size_t)(i * ors + j * ocs)] = draw(0, true);
    o->p = {c.m,
            c.n,
            c.k,
            {c.device_scalars ? o->scalars : nullptr, c.device_scalars ? 99.0f : c.alpha},
            w,
            ldw,
            c.w_cols ? LAC_CUDA_COLS : LAC_CUDA_ROWS,
            {c.device_scalars ? o->scalars + 1 : nullptr, c.beta},
            nullptr,
            ors,
            ocs,
            {},
            LAC_F32,
            LAC_F32};
    emulated_device = c.device;
    o->workspace = memory<uint8_t>(lac_cuda_stream_bytes(&o->p));
    memset(o->workspace.get(), 0x5a, (size_t)lac_cuda_stream_bytes(&o->p));
    return o;
}

/* Every element against fp64, without the zeros of S where `skips`: what the epilogue leaves of it, and what
 * lies between the lines is as it was. */
void judge(const Case &c, const Operands &o, const std::vector<float> &out,
           const lac_cuda_epilogue_t &epilogue, bool skips = false)
{
    std::vector<bool> inside(out.size());
    bool right = true, kept = true;
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t j = 0; j < c.n; j++) {
            const size_t at = (size_t)(i * o.p.rs + j * o.p.cs);
            double sum = 0.0, size = 0.0;
            for (int64_t k = 0; k < c.k; k++) {
                const double term =
                    (double)o.s[(size_t)(i * o.rs + k * o.cs)] *
                    (double)((const float *)o.p.w)[c.w_cols ? j * o.p.ldw + k : k * o.p.ldw + j];
                if (skips && o.s[(size_t)(i * o.rs + k * o.cs)] == 0.0f) continue;
                sum += term, size += fabs(term);
            }
            double want = (double)c.alpha * sum, unit = ldexp(fabs((double)c.alpha) * size, -24);
            if (c.beta != 0.0f) want += (double)c.beta * (double)o.before[at];
            if (c.beta != 0.0f) unit += ldexp(fabs((double)c.beta * (double)o.before[at]), -24);
            inside[at] = true;
            if (epilogue.any) {
                want += epilogue.bias ? (double)epilogue.bias[epilogue.of_rows ? i : j] : 0.0;
                unit += ldexp(fabs(want), -24);
                if (want <= (double)epilogue.limit + kTolerance * unit && out[at] == 0.0f) continue;
                if (want <= (double)epilogue.limit - kTolerance * unit) right = false;
            }
            if (fabs(want) > (double)FLT_MAX) want = copysign(INFINITY, want);
            if (std::isnan(want) || std::isinf(want))
                right &= std::isnan(want) ? std::isnan(out[at]) : (double)out[at] == want;
            else
                right &= fabs((double)out[at] - want) <= kTolerance * unit + 1e-37;
        }
    for (size_t e = 0; e < out.size(); e++) kept &= inside[e] || memcmp(&out[e], &o.before[e], 4) == 0;
    if (!right) fail("values", c);
    if (!kept) fail("between the lines", c);
    checks++;
}

void check(const Case &c)
{
    emulated_device = c.device;
    const std::unique_ptr<Operands> o = make(c);
    const lac_cuda_dense_t dense = {c.u8 ? LAC_U8 : LAC_F32,
                                    c.u8 ? (const void *)o->bytes.data() : o->s.data(), o->rs, o->cs, 1.0};
    std::vector<float> bias((size_t)(c.m + c.n)), first;
    for (size_t e = 0; e < bias.size(); e++) bias[e] = (float)(e % 29) / 32.0f - 0.25f;
    for (int run = 0; run < 4; run++) {
        std::vector<float> out = o->before;
        lac_cuda_product_t p = o->p;
        p.out = out.data();
        if (run >= 2) p.epilogue = {bias.data(), true, run == 3, false, 0.0f};
        emulated_schedule = c.seed * 3 + (unsigned)run;
        const lac_status_t status = lac_cuda_stream(&p, &dense, o->workspace.get(), nullptr);
        if (status != LAC_OK) return fail("refused", c);
        judge(c, *o, out, p.epilogue);
        if (run == 0) first = out;
        if (run == 1 && memcmp(first.data(), out.data(), 4 * out.size()) != 0) fail("repeat", c);
    }
}

/* The adaptive product of these operands, which are few nonzeros up to break_even. */
std::vector<float> adaptive(const Case &c, const Operands &o, double break_even, int run,
                            const lac_cuda_epilogue_t &epilogue)
{
    const lac_cuda_dense_t dense = {c.u8 ? LAC_U8 : LAC_F32, c.u8 ? (const void *)o.bytes.data() : o.s.data(),
                                    o.rs, o.cs, 0.0};
    const int64_t bytes = lac_cuda_adaptive_bytes(&o.p);
    const auto workspace = memory<uint8_t>(bytes);
    std::vector<float> out = o.before;
    lac_cuda_product_t p = o.p;
    memset(workspace.get(), 0x5a, (size_t)bytes);
    p.out = out.data();
    p.epilogue = epilogue;
    emulated_device = c.device;
    emulated_schedule = c.seed * 5 + (unsigned)run;
    if (lac_cuda_adaptive(&p, &dense, break_even, workspace.get(), nullptr) != LAC_OK) fail("refused", c);
    return out;
}

/* The break-even density at which nonzeros, or active k of a group of rows, are as many as there are, and
 * `more` than that. */
double density_of(const Case &c, const Operands &o, double more)
{
    double nonzeros = more, active = more;
    for (int64_t k = 0; k < c.k; k++) {
        int64_t rows = 0;
        for (int64_t i = 0; i < c.m; i++) rows += o.s[(size_t)(i * o.rs + k * o.cs)] != 0.0f;
        nonzeros += (double)rows, active += rows > 0;
    }
    return c.w_cols ? 1.0 - pow(fmax(0.0, 1.0 - active / (double)c.k), 1.0 / (double)c.m)
                    : nonzeros / (double)(c.m * c.k);
}

/* Always gathered and always streamed; then, of up to 11 rows, decided by one nonzero more or less. */
void check_adaptive(const Case &c)
{
    const std::unique_ptr<Operands> o = make(c);
    std::vector<float> bias((size_t)(c.m + c.n)), way[2];
    for (size_t e = 0; e < bias.size(); e++) bias[e] = (float)(e % 29) / 32.0f - 0.25f;
    for (int gathers = 0; gathers < 2; gathers++) {
        const lac_cuda_epilogue_t epilogue = {bias.data(), true, gathers == 0, false, 0.0f};
        way[gathers] = adaptive(c, *o, gathers, gathers, {});
        judge(c, *o, way[gathers], {}, gathers);
        judge(c, *o, adaptive(c, *o, gathers, gathers, epilogue), epilogue, gathers);
    }
    if (c.m > 11) return;
    if (memcmp(way[0].data(), way[1].data(), 4 * way[0].size()) == 0) return; /* they tell nothing apart */
    for (int gathers = 0; gathers < 2; gathers++) {
        const std::vector<float> out =
            adaptive(c, *o, density_of(c, *o, gathers ? 0.5 : -0.5), 2 + gathers, {});
        if (memcmp(out.data(), way[gathers].data(), 4 * out.size()) != 0)
            fail(gathers ? "few are not gathered" : "many are not streamed", c);
        checks++, decisions++;
    }
}

/* Data for which TF32 do, and such for which they do not, of more rows than have bf16 alone. */
void check_forms()
{
    struct {
        int spread;
        bool of_w;
        int power_s, power_w, every;
        bool small_row, small_element;
    } const forms[] = {{0, false, 0, 0, 0, false, false},     {20, true, 0, 0, 0, false, false},
                       {3, true, 40, -70, 0, false, false},   {20, false, 0, 0, 0, false, false},
                       {0, false, -50, -60, 0, false, false}, {0, false, 90, -90, 0, false, false},
                       {0, false, 0, 0, 0, true, false},      {0, false, 0, 0, 0, false, true},
                       {0, false, 0, 0, 30, false, false},    {60, true, 0, 0, 2, false, false}};
    unsigned seed = 2000;
    for (int64_t m : {40, 65, 97, 130})
        for (const auto &f : forms) {
            Case c = {};
            c.m = m, c.n = 140, c.k = 200, c.alpha = 1.0f, c.seed = seed++, c.device = EMULATED_LEAST_HOPPER;
            c.spread = f.spread, c.of_w = f.of_w, c.power_s = f.power_s, c.power_w = f.power_w,
            c.every = f.every;
            c.small_row = f.small_row, c.small_element = f.small_element;
            c.w_cols = seed % 2, c.s_kmajor = seed % 3 == 0;
            check(c);
        }
}

Case draw_case(unsigned seed)
{
    std::mt19937 random(seed);
    const auto up_to = [&](unsigned most) { return (int64_t)(1 + random() % most); };
    const float scalars[] = {1.0f, 1.0f, -0.5f, 2.0f}, betas[] = {0.0f, 0.0f, 1.0f, -0.5f},
                specials[] = {0.0f, 0.0f, 0.0f, INFINITY, NAN, 3.3e38f};
    Case c = {};
    c.m = random() % 3 ? up_to(40) : up_to(140);
    c.n = random() % 3 ? up_to(150) : up_to(600);
    c.k = random() % 3 ? up_to(300) : up_to(40);
    c.u8 = random() % 5 == 0, c.s_kmajor = random() % 2, c.w_cols = random() % 2, c.padded = random() % 2;
    c.out_transposed = random() % 2, c.device_scalars = random() % 4 == 0;
    c.alpha = scalars[random() % 4], c.beta = betas[random() % 4];
    c.spread = random() % 3 ? 0 : 20, c.of_w = random() % 2;
    c.positive = random() % 3 == 0;
    c.special = specials[random() % 6];
    c.device = random() % 2 ? EMULATED_H200 : EMULATED_LEAST_HOPPER;
    c.seed = seed;
    c.w_off = !c.w_cols && random() % 2;
    return c;
}

/* Columns of W that a block has, of a product that is not small. */
int64_t width_of(const Case &c)
{
    const std::unique_ptr<Operands> o = make(c);
    const lac_cuda_dense_t s = {LAC_F32, o->s.data(), o->rs, o->cs, 1.0};
    return lac_cuda_stream_cut(&o->p, &s, true, kEmulatedDevices[c.device].multiprocessors).w_bytes /
           (4 * 32);
}

/* Rows of S around those that a pass over W takes, and around those that several take together; of more than
 * one pass columns of two warpgroups, and of three. */
void check_passes()
{
    unsigned seed = 1000;
    for (int64_t m : {8, 9, 16, 17, 32, 33, 48, 49, 56, 57, 64, 65, 96, 97, 112, 113, 128, 129, 225}) {
        Case c = {};
        c.m = m, c.n = 200, c.k = m > 64 ? 400 : 220, c.alpha = 1.0f, c.seed = seed++;
        c.device = m > 64 ? EMULATED_SMALL_HOPPER : EMULATED_LEAST_HOPPER; /* or k would be short */
        check(c);
        if (m > 64 && width_of(c) != 128) fail("not two warpgroups", c);
        c.w_off = true;
        check(c);
        if (m <= 64) continue;
        c.n = 180, c.w_off = false, c.w_cols = m % 2;
        if (width_of(c) != 192) fail("not three warpgroups", c);
        check(c);
    }
}

/* Few rows, and small products, in one launch: tiles and k that are whole, and that are not, of a W and an S
 * that are aligned, and that are not; so many columns that several blocks share a processor, so few that
 * blocks share a tile. */
void check_small()
{
    unsigned seed = 3000;
    const int64_t shapes[][3] = {{1, 70, 100},  {8, 64, 256},   {3, 33, 7},     {5, 32, 16},
                                 {7, 40, 530},  {9, 36, 130},   {16, 1000, 64}, {11, 4, 1100},
                                 {2, 4500, 40}, {16, 200, 250}, {4, 1, 40},     {12, 3300, 20},
                                 {17, 60, 90},  {40, 130, 64},  {100, 37, 33},  {160, 30, 30}};
    for (const auto &x : shapes)
        for (unsigned turn = 0; turn < 4; turn++) {
            Case c = draw_case(seed++);
            c.m = x[0], c.n = x[1], c.k = x[2], c.device = EMULATED_SMALL_HOPPER;
            c.w_cols = turn % 2, c.w_off = turn / 2;
            check(c);
            if (x[2] > 40) check_adaptive(c);
        }
}

/* Few rows by a W by rows, made as an event product whose rows have all k. */
void check_few()
{
    unsigned seed = 7000;
    const int64_t shapes[][3] = {{2, 640, 1300}, {2, 264, 776},  {3, 132, 5200},
                                 {4, 516, 1100}, {9, 192, 1028}, {10, 384, 600},
                                 {10, 68, 8},    {3, 64, 12},    {10, 640, 2400}};
    for (const auto &x : shapes)
        for (unsigned turn = 0; turn < 3; turn++) {
            Case c = draw_case(seed++);
            c.m = x[0], c.n = x[1], c.k = x[2], c.device = EMULATED_SMALL_HOPPER;
            c.w_cols = c.w_off = c.s_kmajor = c.padded = false;
            check(c);
            if (turn == 0) check_adaptive(c);
        }
}

/* Up to eight rows by a W along k, multiplied and added by lanes along k: columns, rows and steps of k that
 * are not whole, so few columns that all warps of a block share them, so many that each has its own. */
void check_gemv()
{
    unsigned seed = 5000;
    const int64_t shapes[][3] = {{1, 37, 4},    {1, 250, 1100}, {2, 9, 2052},   {2, 90, 516},   {3, 130, 388},
                                 {4, 6, 4100},  {4, 1501, 128}, {5, 33, 260},   {8, 7, 4104},   {8, 611, 516},
                                 {7, 1000, 12}, {1, 3, 4096},   {6, 100, 1028}, {1, 1800, 260}, {1, 40, 333}};
    for (const auto &x : shapes)
        for (unsigned turn = 0; turn < 3; turn++) {
            Case c = draw_case(seed++);
            c.m = x[0], c.n = x[1], c.k = x[2], c.device = EMULATED_SMALL_HOPPER;
            c.w_cols = true, c.w_off = c.u8 = c.s_kmajor = false, c.padded = x[0] == 1 && turn;
            check(c);
            if (turn == 0) check_adaptive(c);
        }
}

/* A short k, which is not cut: tiles, partly filled, whose sums are the output. */
void check_thin()
{
    unsigned seed = 2000;
    const int64_t shapes[][3] = {{33, 2100, 20},  {70, 520, 164},  {130, 500, 200},
                                 {300, 260, 133}, {140, 815, 129}, {257, 130, 270}};
    for (const auto &x : shapes)
        for (unsigned turn = 0; turn < 4; turn++) {
            Case c = draw_case(seed++);
            c.m = x[0], c.n = x[1], c.k = x[2], c.device = EMULATED_LEAST_HOPPER;
            c.w_cols = turn % 2, c.out_transposed = turn / 2, c.w_off = turn == 2 && x[2] > 4;
            check(c);
            if (x[0] == 70 && turn < 2) check_adaptive(c);
        }
}

/* A k of up to 128 and an output of many tiles, of which a block has some of two groups of rows: all ways to
 * write them, and those that are added to. */
void check_rank_k()
{
    unsigned seed = 6000;
    const int64_t shapes[][3] = {{49, 64, 16},  {129, 132, 64}, {260, 200, 100}, {64, 516, 128},
                                 {300, 67, 33}, {130, 64, 1},   {500, 300, 70},  {128, 640, 32},
                                 {200, 96, 65}, {70, 520, 64},  {140, 815, 17},  {257, 128, 48}};
    for (const auto &x : shapes)
        for (unsigned turn = 0; turn < 4; turn++) {
            Case c = draw_case(seed++);
            c.m = x[0], c.n = x[1], c.k = x[2];
            c.device = turn % 2 && x[0] * x[1] > 60000 ? EMULATED_SMALL_HOPPER : EMULATED_LEAST_HOPPER;
            c.w_cols = turn % 2, c.w_off = turn == 3 && c.w_cols;
            c.out_transposed = turn == 2, c.padded = turn == 1;
            check(c);
            if (x[0] == 70 && turn < 2) check_adaptive(c);
        }
}

/* Middle sizes in one launch: clusters of one to three blocks, rows and columns that are no whole tiles, so
 * few rows in the last that not each block has one; all that decides in which form it is multiplied. */
void check_clusters()
{
    struct {
        int64_t m, n, k, parts;
    } const shapes[] = {{256, 128, 429, 3}, {128, 250, 433, 3}, {385, 128, 301, 2},
                        {250, 250, 233, 2}, {200, 200, 333, 2}, {250, 390, 253, 1}};
    unsigned seed = 9000;
    for (const auto &x : shapes)
        for (unsigned turn = 0; turn < 6; turn++) {
            Case c = draw_case(seed++);
            c.m = x.m, c.n = x.n, c.k = x.k, c.device = EMULATED_MIDDLE_HOPPER;
            c.u8 = c.s_kmajor = c.w_off = c.out_transposed = false, c.padded = true, c.w_cols = turn % 2;
            if (turn >= 4) c.every = turn == 4 ? 30 : 3, c.spread = 0;
            if (turn == 2) c.spread = 20, c.of_w = false;
            if (turn == 3) c.beta = 0.0f, c.special = 0.0f;
            emulated_device = c.device;
            const std::unique_ptr<Operands> o = make(c);
            const lac_cuda_dense_t s = {LAC_F32, o->s.data(), o->rs, o->cs, 1.0};
            const lac_cuda_stream_shape_t cut =
                lac_cuda_stream_cut(&o->p, &s, false, kEmulatedDevices[c.device].multiprocessors);
            const int64_t tiles = (x.m + 127) / 128 * ((x.n + 127) / 128);
            if (cut.kernel != LAC_CUDA_STREAM_CLUSTER || cut.blocks != tiles * x.parts) fail("no cluster", c);
            for (const lac_cuda_dense_t &other : {lac_cuda_dense_t{LAC_F32, s.data, s.rs + 1, 1, 1.0},
                                                  lac_cuda_dense_t{LAC_F32, o->s.data() + 1, s.rs, 1, 1.0},
                                                  lac_cuda_dense_t{LAC_F32, s.data, 1, s.rs, 1.0},
                                                  lac_cuda_dense_t{LAC_U8, s.data, s.rs, 1, 1.0}})
                if (lac_cuda_stream_cut(&o->p, &other, false, kEmulatedDevices[c.device].multiprocessors)
                        .kernel != LAC_CUDA_STREAM_STEPS)
                    fail("a cluster whose S the copy engine does not take", c);
            check(c);
        }
}

/* Parts of k whose sums lie in memory: where many are counted, who would have gathered columns adds them up.
 */
void check_gated_sums()
{
    Case c = draw_case(4000);
    c.m = 40, c.n = 260, c.k = 1500, c.w_cols = true, c.w_off = 0, c.device = EMULATED_SMALL_HOPPER;
    check_adaptive(c);
}

void check_refusals()
{
    constexpr int64_t kM = 64, kN = 64, kK = 1024;
    emulated_device = EMULATED_LEAST_HOPPER;
    std::vector<float> memory((size_t)(kK * (kN + 1) + 1));
    float *const x = memory.data();
    lac_cuda_product_t p = {kM, kN, kK, {nullptr, 1.0f}, x,      kN, LAC_CUDA_ROWS, {nullptr, 0.0f}, x,
                            kN, 1,  {}, LAC_F32,         LAC_F32};
    const lac_cuda_dense_t s = {LAC_F32, x, kK, 1, 1.0};
    const Case none = {};
    p.order = LAC_CUDA_COLS, p.ldw = kK + 1;
    if (lac_cuda_stream(&p, &s, x, nullptr) != LAC_ERR_VALUE) fail("odd columns are not refused", none);
    p.ldw = kK, p.w = x + 1;
    if (lac_cuda_stream(&p, &s, x, nullptr) != LAC_ERR_VALUE) fail("an odd address is not refused", none);
    emulated_device = EMULATED_A100, p.w = x, p.m = 1;
    if (lac_cuda_stream(&p, &s, x, nullptr) != LAC_ERR_VALUE) fail("an A100 is not refused", none);
    checks += 3;
}

} // namespace

/* test_emulated_stream [cases [first seed]] */
int main(int argc, char **argv)
{
    const unsigned cases = argc > 1                      ? (unsigned)atoi(argv[1])
                           : getenv("LACUNA_TEST_QUICK") ? 6
                                                         : 24,
                   first = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    check_refusals();
    for (unsigned seed = first; seed < first + cases; seed++) check(draw_case(seed));
    for (unsigned seed = first; seed < first + cases; seed++) {
        Case c = draw_case(seed);
        c.m = 1 + c.m % (seed % 4 ? 11 : 60), c.n = 1 + c.n % 300;
        check_adaptive(c);
    }
    if (!getenv("LACUNA_TEST_QUICK"))
        check_passes(), check_small(), check_gemv(), check_few(), check_forms(), check_thin(), check_rank_k(),
            check_clusters(), check_gated_sums();
    printf("%d checks, %d decisions, %d failures\n", checks, decisions, failures);
    return failures ? 1 : checks && decisions ? 0 : 1;
}

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Events times a sparse W by segments on the emulator, against fp64: random shapes, patterns, orders,
 * strides, scalars and cuts; NaN in what no event names; each product twice, in two orders of its warps, for
 * the same bits, and once with bias and activation; W's values written anew between calls. */
#include "cuda_kernels.h"
#include "emulator.h"

#include <algorithm>
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

constexpr double kTolerance = 12.0;    /* units of 2^-24 |S||W|, elementwise worst */
constexpr double kMeanTolerance = 2.5; /* the same, mean, of thousands of positive terms */
int checks, failures;

typedef enum pattern {
    UNIFORM,
    SKEWED, /* one row in four full, one in four empty */
    HUB,    /* all rows have the first column, and few others */
    FULL,
    PATTERNS
} pattern_t;

struct Case {
    int64_t m, n, k, width;
    double events, filled;
    pattern_t pattern;
    bool u8, s_kmajor, ones, out_transposed, device_scalars, positive, listed;
    int spread; /* binades of W's values */
    float alpha, beta;
    int device;
    unsigned seed;
    int s_offset, out_pad;
    lac_cuda_segments_cut_t cut;
};

/* Of exactly this many elements, 256-byte aligned: a sanitizer sees what lies beyond. */
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

std::string text(const Case &c, const char *what)
{
    char b[320];
    snprintf(b, sizeof b,
             "%s:%lldx%lldx%lld:d=%g,%g:%s:pattern=%d%s:s=%s+%d%s:out=%s+%d:alpha=%g:beta=%g%s:width=%lld:"
             "cut=%d,%d,%d,%d,%d,%d,%d:spread=%d:device=%d:seed=%u",
             what, (long long)c.m, (long long)c.k, (long long)c.n, c.events, c.filled, c.u8 ? "u8" : "f32",
             (int)c.pattern, c.ones ? ":ones" : "", c.s_kmajor ? "kmajor" : "rows", c.s_offset,
             c.listed ? ":listed" : "", c.out_transposed ? "trans" : "rows", c.out_pad, c.alpha, c.beta,
             c.device_scalars ? ":dev" : "", (long long)c.width, c.cut.warps, c.cut.lanes, c.cut.span,
             c.cut.copies, c.cut.cluster, c.cut.bits, c.cut.terms, c.spread, c.device, c.seed);
    return b;
}

void fail(const Case &c, const char *what, const char *how, double figure)
{
    printf("FAIL %s %g %s\n", how, figure, text(c, what).c_str());
    failures++;
}

/* S, W as plain vectors and as the kernels take them. */
struct Operands {
    std::vector<int64_t> s_ptr, w_ptr;
    std::vector<int32_t> s_idx, w_idx, list;
    std::vector<float> s_val, w_val, bias;
    Buffer<float> s, before, out;
    Buffer<uint8_t> bytes;
    Buffer<uint16_t> first;
    Buffer<uint32_t> workspace;
    std::vector<bool> inside;
    float scalars[2];
    lac_cuda_product_t p;
    lac_cuda_dense_t dense;
    lac_cuda_csr_t rows, w;
    lac_cuda_segments_t segments;
};

bool has_entry(const Case &c, std::mt19937 &random, int64_t k, int64_t j)
{
    const bool drawn = random() % 100000 < c.filled * 100000;
    return c.pattern == FULL                        ? true
           : c.pattern == SKEWED && k % 4 == 1      ? true
           : c.pattern == SKEWED && k % 4 == 2      ? false
           : c.pattern == HUB && (j == 0 || j == 5) ? true
                                                    : drawn;
}

/* The values of W: NaN in the rows that no row of S has an event for. */
void draw_values(const Case &c, Operands &o, std::mt19937 &random)
{
    std::vector<bool> active((size_t)c.k);
    for (int32_t k : o.s_idx) active[(size_t)k] = true;
    for (int64_t k = 0; k < c.k; k++)
        for (int64_t e = o.w_ptr[(size_t)k]; e < o.w_ptr[(size_t)k + 1]; e++) {
            const int halved = c.spread ? (int)(random() % (unsigned)c.spread) : 0;
            const float x = ldexpf((float)(random() % 20001) / 10000.0f - 1.0f, -halved);
            o.w_val[(size_t)e] = !active[(size_t)k] ? NAN : c.ones ? 1.0f : c.positive ? fabsf(x) : x;
        }
}

std::unique_ptr<Operands> make(const Case &c)
{
    std::mt19937 random(c.seed);
    const auto uniform = [&random] { return (float)(random() % 20001) / 10000.0f - 1.0f; };
    std::vector<int64_t> s_ptr(1), w_ptr(1);
    std::vector<int32_t> s_idx, w_idx, list;
    std::vector<float> s_val;
    std::vector<bool> active((size_t)c.k);
    for (int64_t i = 0; i < c.m; i++) {
        for (int64_t k = 0; k < c.k; k++)
            if (random() % 100000 < c.events * 100000)
                s_idx.push_back((int32_t)k), s_val.push_back(c.u8 ? 1.0f : uniform() + 2.0f),
                    active[(size_t)k] = true;
        s_ptr.push_back((int64_t)s_idx.size());
    }
    for (int64_t k = 0; k < c.k; k++) {
        for (int64_t j = 0; j < c.n; j++)
            if (has_entry(c, random, k, j)) w_idx.push_back((int32_t)j);
        w_ptr.push_back((int64_t)w_idx.size());
        if (c.listed && (active[(size_t)k] || random() % 3 == 0)) list.push_back((int32_t)k);
    }
    const int64_t columns = c.listed ? (int64_t)list.size() : c.k;
    const int64_t ldo = (c.out_transposed ? c.m : c.n) + c.out_pad,
                  room = ldo * (c.out_transposed ? c.n : c.m);
    const int64_t between = c.s_kmajor ? std::max<int64_t>(2, c.m) : 1; /* neighbours of a row of S */
    const int64_t s_count = c.s_offset + (c.s_kmajor ? between : c.m) * columns;
    std::unique_ptr<Operands> o(new Operands{s_ptr,
                                             w_ptr,
                                             s_idx,
                                             w_idx,
                                             list,
                                             s_val,
                                             std::vector<float>(w_idx.size()),
                                             {},
                                             Buffer<float>(s_count),
                                             Buffer<float>(room),
                                             Buffer<float>(room),
                                             Buffer<uint8_t>(s_count),
                                             Buffer<uint16_t>(lac_cuda_segments_bytes(c.k, c.n, c.width) / 2),
                                             Buffer<uint32_t>(lac_cuda_event_segments_bytes(c.m, c.k) / 4),
                                             std::vector<bool>((size_t)room),
                                             {c.alpha, c.beta},
                                             {},
                                             {},
                                             {},
                                             {},
                                             {}});
    const int64_t rs = c.s_kmajor ? 1 : columns, cs = between;
    for (int64_t e = 0; e < s_count; e++) o->s[e] = 7.0f, o->bytes[e] = 7; /* what is no element of S */
    for (int64_t i = 0; i < c.m; i++) {
        size_t at = 0;
        for (int64_t k = 0; k < columns; k++) {
            o->s[c.s_offset + i * rs + k * cs] = k % 2 ? 0.0f : -0.0f;
            o->bytes[c.s_offset + i * rs + k * cs] = 0;
        }
        for (int64_t e = s_ptr[(size_t)i]; e < s_ptr[(size_t)i + 1]; e++) {
            while (c.listed && list[at] < s_idx[(size_t)e]) at++;
            const int64_t column = c.listed ? (int64_t)at : s_idx[(size_t)e];
            o->s[c.s_offset + i * rs + column * cs] = s_val[(size_t)e];
            o->bytes[c.s_offset + i * rs + column * cs] = (uint8_t)(1 + random() % 255);
        }
    }
    for (int64_t e = 0; e < room; e++) o->before[e] = c.beta == 0.0f ? NAN : uniform();
    const bool by_columns = c.out_transposed;
    o->p = {c.m,
            c.n,
            columns,
            {nullptr, c.alpha},
            nullptr,
            0,
            LAC_CUDA_ROWS,
            {nullptr, c.beta},
            o->out.data(),
            by_columns ? 1 : ldo,
            by_columns ? ldo : 1,
            {},
            LAC_F32,
            LAC_F32};
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t j = 0; j < c.n; j++) o->inside[(size_t)(i * o->p.rs + j * o->p.cs)] = true;
    if (c.device_scalars) o->p.alpha = {o->scalars, 99.0f}, o->p.beta = {o->scalars + 1, 99.0f};
    o->dense = {c.u8 ? LAC_U8 : LAC_F32,
                c.u8 ? (const void *)(o->bytes.data() + c.s_offset) : o->s.data() + c.s_offset, rs, cs,
                c.seed % 2 ? c.events : 0.0};
    o->rows = {o->s_ptr.data(), o->s_idx.data(), c.u8 ? nullptr : o->s_val.data(), (int64_t)o->s_idx.size(), false};
    o->w = {o->w_ptr.data(), o->w_idx.data(), c.ones ? nullptr : o->w_val.data(), (int64_t)o->w_idx.size(), false};
    o->segments = {c.k, c.width, o->first.data()};
    draw_values(c, *o, random);
    return o;
}

/* The pointers against plain counting. */
void check_pointers(const Case &c, const Operands &o)
{
    const int64_t ranges = (c.n + c.width - 1) / c.width;
    checks++;
    for (int64_t k = 0; k < c.k; k++)
        for (int64_t r = 0; r <= ranges; r++) {
            uint32_t before = 0;
            for (int64_t e = o.w_ptr[(size_t)k]; e < o.w_ptr[(size_t)k + 1]; e++)
                before += o.w_idx[(size_t)e] < r * c.width;
            if (o.first[k * (ranges + 1) + r] != std::min(before, 65535u))
                return fail(c, "pointers", "at", (double)k);
        }
}

double worst_error(const Case &c, const Operands &o, double *mean)
{
    double worst = 0, all = 0;
    for (int64_t i = 0; i < c.m; i++) {
        std::vector<double> sum((size_t)c.n), magnitude((size_t)c.n);
        for (int64_t s = o.s_ptr[(size_t)i]; s < o.s_ptr[(size_t)i + 1]; s++) {
            const int64_t k = o.s_idx[(size_t)s];
            for (int64_t e = o.w_ptr[(size_t)k]; e < o.w_ptr[(size_t)k + 1]; e++) {
                const double x = (double)o.s_val[(size_t)s] * (double)o.w_val[(size_t)e];
                sum[(size_t)o.w_idx[(size_t)e]] += x, magnitude[(size_t)o.w_idx[(size_t)e]] += fabs(x);
            }
        }
        for (int64_t j = 0; j < c.n; j++) {
            const int64_t at = i * o.p.rs + j * o.p.cs;
            double expected = (double)c.alpha * sum[(size_t)j],
                   unit = fabs((double)c.alpha) * magnitude[(size_t)j];
            if (c.beta != 0.0f) {
                expected += (double)c.beta * (double)o.before[at];
                unit += fabs((double)c.beta * (double)o.before[at]);
            }
            const double error = fabs((double)o.out[at] - expected) / (unit * 0x1p-24 + 1e-30);
            if (!(error <= worst)) worst = error;
            all += error;
        }
    }
    *mean = all / (double)(c.m * c.n);
    return worst;
}

/* What a product reads its events from. */
typedef enum source { DENSE, ROWS, LISTS, BITS, COUNTS, SOURCES } source_t;

/* The rows of S as lists in memory, which are parts of longer ones. */
struct Lists {
    std::vector<int32_t> idx, count;
    lac_cuda_event_lists_t lists;
};

void make_lists(const Case &c, const Operands &o, Lists &x)
{
    const int64_t first = c.seed % 3 ? (int64_t)(c.seed % 7) : 0, behind = c.seed % 5;
    int64_t longest = 0;
    for (int64_t i = 0; i < c.m; i++)
        longest = std::max(longest, o.s_ptr[(size_t)i + 1] - o.s_ptr[(size_t)i]);
    const int64_t ld = first + longest + behind;
    x.idx.assign((size_t)(c.m * ld), (int32_t)first); /* beyond a list's length there may be anything */
    for (int64_t i = 0; i < c.m; i++) {
        int32_t *list = x.idx.data() + i * ld, *at = list;
        for (int64_t e = 0; e < first; e++) *at++ = (int32_t)e;
        for (int64_t e = o.s_ptr[(size_t)i]; e < o.s_ptr[(size_t)i + 1]; e++)
            *at++ = o.s_idx[(size_t)e] + (int32_t)first;
        for (int64_t e = 0; e < behind; e++) *at++ = (int32_t)(first + c.k + e);
        /* a length beyond the room is that of the room */
        x.count.push_back(c.seed % 11 == 0 && at == list + ld ? INT32_MAX : (int32_t)(at - list));
    }
    x.lists = {x.idx.data(), x.count.data(), ld, first, c.seed % 2 ? c.events : 0.0};
}

/* The same as bits: a part of longer rows, in which all else is set. */
struct Bits {
    std::vector<uint32_t> words;
    lac_cuda_event_bits_t bits;
};

void make_bits(const Case &c, const Operands &o, Bits &x)
{
    const int64_t first = c.seed % 3 ? (int64_t)(c.seed % 97) : 0, ld = (first + c.k + 31) / 32 + c.seed % 2;
    x.words.assign((size_t)(c.m * ld), ~0u);
    for (int64_t i = 0; i < c.m; i++) {
        uint32_t *row = x.words.data() + i * ld;
        for (int64_t k = first; k < first + c.k; k++) row[k / 32] &= ~(1u << k % 32);
        for (int64_t e = o.s_ptr[(size_t)i]; e < o.s_ptr[(size_t)i + 1]; e++) {
            const int64_t k = first + o.s_idx[(size_t)e];
            row[k / 32] |= 1u << k % 32;
        }
    }
    x.bits = {x.words.data(), ld, first, c.seed % 2 ? c.events : 0.0};
}

lac_status_t by_segments(const lac_cuda_product_t &p, const lac_cuda_event_source_t &s, const Case &c,
                         Operands &o)
{
    return lac_cuda_event_segments(&p, &s, &o.w, &o.segments, &c.cut, o.workspace.data(), nullptr);
}

lac_status_t run(const Case &c, Operands &o, source_t source, unsigned schedule)
{
    memcpy(o.out.data(), o.before.data(), sizeof(float) * o.out.count);
    memset(o.workspace.data(), 0x5a, sizeof(uint32_t) * o.workspace.count);
    emulated_schedule = c.seed * 1000003u + schedule;
    lac_cuda_product_t p = o.p;
    const bool given = source == ROWS;
    if (source != DENSE) p.k = c.k;
    if (source >= BITS) {
        Bits x;
        make_bits(c, o, x);
        if (source == BITS) return by_segments(p, {nullptr, nullptr, nullptr, nullptr, &x.bits}, c, o);
        const int64_t each = c.pattern == FULL ? c.n : 0;
        return lac_cuda_event_counts(&p, &x.bits, &o.w, each, c.seed % 2 != 0, nullptr);
    }
    if (source == LISTS) {
        Lists x;
        make_lists(c, o, x);
        return by_segments(p, {nullptr, nullptr, nullptr, &x.lists, nullptr}, c, o);
    }
    if (given) return by_segments(p, {nullptr, nullptr, &o.rows, nullptr, nullptr}, c, o);
    return by_segments(p, {&o.dense, c.listed ? o.list.data() : nullptr, nullptr, nullptr, nullptr}, c, o);
}

/* With bias and activation: what these make of the plain result, bit by bit. */
void check_after(const Case &c, Operands &o, const char *what, source_t source)
{
    static const float limits[] = {NAN, 0.0f, -0.25f, 0.5f};
    const unsigned draw = c.seed + (unsigned)checks;
    const bool of_rows = draw % 2, magnitude = draw % 4 == 3;
    const std::vector<float> plain(o.out.data(), o.out.data() + o.out.count);
    o.bias.resize((size_t)(of_rows ? c.m : c.n));
    for (size_t e = 0; e < o.bias.size(); e++) o.bias[e] = (float)((e * 37 + draw) % 101) / 50.0f - 1.0f;
    const lac_cuda_epilogue_t epilogue = {draw % 3 ? o.bias.data() : nullptr, true, of_rows, magnitude,
                                          limits[draw % 4]};
    o.p.epilogue = epilogue;
    const lac_status_t status = run(c, o, source, 7);
    o.p.epilogue = {};
    if (status != LAC_OK) return fail(c, what, "status", status);
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t j = 0; j < c.n; j++) {
            const int64_t at = i * o.p.rs + j * o.p.cs;
            const float x = plain[(size_t)at] + (epilogue.bias ? epilogue.bias[of_rows ? i : j] : 0.0f);
            const float want = (magnitude ? fabsf(x) : x) <= epilogue.limit ? 0.0f : x;
            if (memcmp(&o.out[at], &want, sizeof want)) return fail(c, what, "after", (double)o.out[at]);
        }
}

void check_product(const Case &c, Operands &o, source_t source)
{
    static const char *const names[SOURCES] = {"dense", "given", "lists", "bits", "counts"};
    const char *what = names[source];
    std::vector<float> first(o.out.count);
    double mean;
    for (unsigned again = 0; again < 2; again++) {
        const lac_status_t status = run(c, o, source, again);
        if (status != LAC_OK) return fail(c, what, "status", status);
        if (!again) memcpy(first.data(), o.out.data(), sizeof(float) * first.size());
    }
    const double error = worst_error(c, o, &mean);
    checks++;
    if (getenv("LACUNA_TEST_VERBOSE")) printf("error %g, mean %g %s\n", error, mean, text(c, what).c_str());
    if (!(error <= kTolerance)) fail(c, what, "error", error);
    if (c.positive && !(mean <= kMeanTolerance)) fail(c, what, "mean error", mean);
    if (memcmp(first.data(), o.out.data(), sizeof(float) * first.size())) fail(c, what, "repeat", 0);
    for (size_t e = 0; e < o.inside.size(); e++)
        if (!o.inside[e] && memcmp(o.out.data() + e, o.before.data() + e, sizeof(float)))
            return fail(c, what, "padding", (double)e);
    if (source != COUNTS) check_after(c, o, what, source);
}

/* W's ones are counted, into rows that lie anywhere; to the bits of the sums by segments. */
void check_counts(const Case &like)
{
    Case c = like;
    c.u8 = c.ones = true, c.out_transposed = c.device_scalars = c.listed = false;
    c.alpha = 1.0f, c.beta = 0.0f;
    const std::unique_ptr<Operands> o = make(c);
    if (lac_cuda_segment_pointers(c.k, c.n, c.width, &o->w, o->first.data(), nullptr) != LAC_OK)
        return fail(c, "counts", "pointers", 0);
    if (run(c, *o, LISTS, 0) != LAC_OK) fail(c, "counts", "status", 0);
    const std::vector<float> sums(o->out.data(), o->out.data() + o->out.count);
    check_product(c, *o, COUNTS);
    if (memcmp(sums.data(), o->out.data(), sizeof(float) * sums.size())) fail(c, "counts", "bits", 0);
}

/* Every element is the float next to its sum: few of these sums have more bits than a double. */
void expect_rounded_once(const Case &c, const Operands &o)
{
    for (int64_t i = 0; i < c.m; i++) {
        std::vector<double> sum((size_t)c.n);
        for (int64_t s = o.s_ptr[(size_t)i]; s < o.s_ptr[(size_t)i + 1]; s++)
            for (int64_t e = o.w_ptr[(size_t)o.s_idx[(size_t)s]]; e < o.w_ptr[(size_t)o.s_idx[(size_t)s] + 1];
                 e++)
                sum[(size_t)o.w_idx[(size_t)e]] += (double)o.w_val[(size_t)e];
        for (int64_t j = 0; j < c.n; j++)
            if (const float x = o.out[i * o.p.rs + j * o.p.cs], want = (float)sum[(size_t)j];
                x != want && !(std::isnan(x) && std::isnan(want)))
                return fail(c, "terms", "rounded", (double)x);
    }
}

void check(const Case &c)
{
    emulated_device = c.device;
    const std::unique_ptr<Operands> o = make(c);
    if (lac_cuda_segment_pointers(c.k, c.n, c.width, &o->w, o->first.data(), nullptr) != LAC_OK)
        return fail(c, "pointers", "status", 0);
    check_pointers(c, *o);
    check_product(c, *o, DENSE);
    check_product(c, *o, ROWS);
    if (c.u8) check_product(c, *o, LISTS), check_product(c, *o, BITS);
    if (c.u8) check_counts(c);
    if (c.ones) return;
    std::mt19937 random(c.seed + 1);
    draw_values(c, *o, random); /* the pattern as it was */
    check_product(c, *o, DENSE);
}

Case random_case(unsigned seed)
{
    std::mt19937 random(seed);
    const double events[] = {0.0, 0.01, 0.05, 0.3, 1.0}, filled[] = {0.0, 0.01, 0.1, 0.5};
    Case c = {};
    c.m = 1 + random() % 3, c.n = 1 + random() % 300, c.k = 1 + random() % 900;
    if (random() % 4) c.n = (c.n + 3) / 4 * 4, c.k = (c.k + 3) / 4 * 4;
    c.events = events[random() % 5], c.filled = filled[random() % 4],
    c.pattern = (pattern_t)(random() % FULL);
    c.u8 = random() % 2, c.s_kmajor = random() % 2, c.ones = random() % 4 == 0;
    c.out_transposed = random() % 2, c.device_scalars = random() % 2, c.listed = random() % 4 == 0;
    c.alpha = random() % 2 ? 1.0f : -0.75f, c.beta = random() % 2 ? 0.0f : 0.5f;
    c.device = int(random() % EMULATED_DEVICES), c.seed = seed;
    c.out_pad = random() % 2 ? 0 : 1 + int(random() % 4);
    c.s_offset = random() % 4 ? 0 : 1 + int(random() % 3);
    c.width = 32 * (1 + random() % 8);
    const bool hopper = kEmulatedDevices[c.device].major >= 9;
    const int lanes[] = {0, 4, 8, 16, 32};
    c.cut.warps = 8 * int(random() % 3);
    c.cut.lanes = lanes[random() % 5];
    c.cut.span = int(random() % 4);
    c.cut.copies = random() % 2 ? 1 << random() % 4 : 0;
    c.cut.cluster = random() % 2 && hopper ? 1 << random() % 4 : 0;
    c.cut.bits = int(random() % 3) - 1;
    c.cut.terms = int(random() % 3) - 1;
    c.spread = random() % 3 ? 0 : 40;
    return c;
}

/* Infinities, of one sign and of both, and a NaN, in three columns of W that row 0 meets twice. */
void put_odd_values(const Case &c, Operands &o)
{
    const float odd[][2] = {{INFINITY, INFINITY}, {INFINITY, -INFINITY}, {NAN, 1.0f}};
    std::vector<std::vector<size_t>> met((size_t)c.n);
    for (int64_t s = 0; s < o.s_ptr[1]; s++)
        for (int64_t e = o.w_ptr[(size_t)o.s_idx[(size_t)s]]; e < o.w_ptr[(size_t)o.s_idx[(size_t)s] + 1];
             e++)
            met[(size_t)o.w_idx[(size_t)e]].push_back((size_t)e);
    int put = 0;
    for (const std::vector<size_t> &entries : met)
        if (put < 3 && entries.size() >= 2)
            o.w_val[entries[0]] = odd[put][0], o.w_val[entries[1]] = odd[put][1], put++;
    if (put < 3) fail(c, "terms", "odd values", put);
}

/* Sums of integers are rounded once, from whatever S is read, and those of terms far apart as if they were.
 */
void expect_terms(Case c, bool odd)
{
    c.u8 = true, c.alpha = 1.0f, c.device = EMULATED_H200, c.cut.terms = 1;
    emulated_device = c.device;
    const std::unique_ptr<Operands> o = make(c);
    if (odd) put_odd_values(c, *o);
    if (lac_cuda_segment_pointers(c.k, c.n, c.width, &o->w, o->first.data(), nullptr) != LAC_OK)
        fail(c, "terms", "pointers", 0);
    unsigned schedule = 0;
    for (const source_t source : {DENSE, ROWS, LISTS, BITS}) {
        if (run(c, *o, source, schedule++) != LAC_OK) fail(c, "terms", "status", source);
        expect_rounded_once(c, *o);
        checks++;
    }
}

/* The word behind the pointers, by which a product says what it has met. */
int *word_of(Operands &o)
{
    return (int *)(o.first.data() + o.first.count) - 1;
}

/* Whatever is expected, and whether or not it comes true, sums are rounded once. */
void check_expected()
{
    Case c = {};
    c.m = 1, c.n = 64, c.k = 1200, c.width = 64, c.events = 0.05, c.filled = 0.05, c.seed = 160;
    c.u8 = true, c.alpha = 1.0f, c.device = EMULATED_H200, c.cut.terms = 1;
    emulated_device = c.device;
    const std::unique_ptr<Operands> o = make(c);
    if (lac_cuda_segment_pointers(c.k, c.n, c.width, &o->w, o->first.data(), nullptr) != LAC_OK)
        fail(c, "expected", "pointers", 0);
    unsigned schedule = 0;
    const auto expect = [&](const char *what, int before, bool stays) {
        *word_of(*o) = before;
        if (run(c, *o, LISTS, schedule++) != LAC_OK) fail(c, "expected", what, 0);
        expect_rounded_once(c, *o);
        if ((*word_of(*o) == before) != stays) fail(c, "expected", what, (double)*word_of(*o));
        checks++;
        return *word_of(*o);
    };
    const auto scale = [&](int by) {
        for (float &x : o->w_val) x = ldexpf(x, by);
    };
    if (*word_of(*o) != 0) fail(c, "expected", "to begin with", (double)*word_of(*o));
    const int met = expect("nothing", 0, false);
    expect("what is met", met, true);
    const int top = met & 255, bits = met >> 8;
    expect("all higher", bits << 8 | (top - 20), false);
    expect("all lower", bits << 8 | 254, false);
    expect("fewer events", 4 << 8 | top, false);
    expect("the most events", 31 << 8 | top, false);
    scale(40), expect("weights that grow", met, false);
    scale(-80), expect("weights that shrink", met, false);
    scale(40);
    size_t event = 0;
    const auto row = [&] { return o->w_ptr.begin() + o->s_idx[event]; };
    while (row()[0] == row()[1]) event++;
    float &entry = o->w_val[(size_t)*row()], x = entry;
    entry = ldexpf(1.0f, -36), expect("one far below", met, true); /* too few for a change */
    entry = ldexpf(1.0f, -70), expect("one farther below", met, false);
    entry = NAN, expect("a NaN", met, false);
    entry = x;
    for (float &w : o->w_val) w = 0.0f;
    expect("zeros", met, true);
    expect("zeros, and nothing expected", 0, false);
}

void check_terms()
{
    for (const int64_t m : {1, 3, 17})
        for (const int spread : {0, 12, 90}) {
            Case c = {};
            c.m = m, c.n = 100, c.k = 1200, c.width = 64, c.events = 0.05, c.filled = 0.05, c.spread = spread;
            c.seed = 130 + (unsigned)(m + spread);
            expect_terms(c, m == 3);
        }
    Case many = {}; /* more events of a block than it has threads, or than it queues */
    many.m = 1, many.n = 20, many.width = 32, many.filled = 0.05, many.spread = 60, many.seed = 140;
    many.k = 6000, many.events = 0.8;
    expect_terms(many, true);
    many.k = 18000, many.events = 1.0, many.positive = true;
    expect_terms(many, false);
    Case longer = {}; /* segments of more than two windows; ranges that are not all of one width */
    longer.m = 2, longer.n = 700, longer.k = 80, longer.width = 160, longer.events = 0.4,
    longer.pattern = FULL;
    longer.spread = 90, longer.seed = 150;
    expect_terms(longer, true);
}

/* So many positive terms that a copy settles several times, whatever warps share it; all of W, so that each
 * column has each term. */
void check_long_sums()
{
    for (int copies = 1; copies <= 16; copies *= 4)
        for (int bits : {-1, 1}) {
            Case c = {};
            c.m = 1, c.n = 12, c.k = 5000, c.width = 32, c.events = 1.0, c.pattern = FULL, c.positive = true;
            c.alpha = 1.0f, c.device = EMULATED_H200, c.seed = (unsigned)(50 + copies);
            c.cut = {16, copies == 4 ? 8 : 32, 1, copies, 1, bits, 0, false};
            check(c);
        }
}

/* Segments of many windows, of more events than a group of lanes has in flight. */
void check_long_segments()
{
    for (int lanes : {4, 8, 16, 32})
        for (int copies : {0, 1}) {
            Case c = {};
            c.m = 1, c.n = 200, c.k = 600, c.width = 224, c.events = 0.9, c.pattern = FULL, c.alpha = 1.0f;
            c.device = EMULATED_H200, c.seed = 60 + (unsigned)lanes,
            c.cut = {8, lanes, 1, copies, 1, 1, 0, false};
            check(c);
        }
}

/* A row of W of more entries than a pointer of its segments says. */
void check_far_segments()
{
    for (const int64_t width : {4096, 14336})
        for (const int span : {1, 3}) {
            Case c = {};
            c.m = 1, c.n = 65600, c.k = 2, c.width = width, c.events = 1.0, c.pattern = FULL, c.alpha = 1.0f;
            c.device = EMULATED_H200, c.seed = 100 + (unsigned)span, c.cut = {0, 0, span, 0, 1, 0, 0, false};
            if (span * width > 14336) continue;
            if (width == 4096) c.pattern = SKEWED, c.k = 6, c.filled = 0.01;
            check(c);
        }
    Case c =
        {}; /* ranges so narrow that each group of lanes has its own sums; the last begins behind as many */
    c.m = 1, c.width = 512, c.n = 129 * c.width, c.k = 4, c.events = 1.0, c.pattern = FULL, c.alpha = 1.0f;
    c.device = EMULATED_H200, c.seed = 104, c.cut = {8, 32, 1, 0, 1, 0, 0, false};
    check(c);
}

/* Rows of S so long that a block reads them in several rounds, or makes bits of them in several turns and
 * shares these with another. */
void check_long_rows()
{
    for (int u8 = 0; u8 < 2; u8++) {
        Case c = {};
        c.m = 2, c.n = 8, c.k = 70001, c.width = 32, c.events = u8 ? 0.003 : 0.01, c.filled = 0.2;
        c.u8 = u8, c.alpha = 1.0f, c.device = u8 ? EMULATED_SMALL_HOPPER : EMULATED_H200,
        c.seed = 70 + (unsigned)u8;
        c.cut = {0, 0, 0, 0, 1 + u8, u8 ? 1 : -1, 0, false};
        check(c);
    }
}

/* Lists that a block reads in several turns, of more events than it queues at once. */
void check_long_lists()
{
    for (int cluster = 1; cluster <= 2; cluster++) {
        Case c = {};
        c.m = 2, c.n = 12, c.k = 9000, c.width = 32, c.events = 0.9, c.pattern = FULL, c.u8 = true;
        c.alpha = 1.0f, c.device = EMULATED_H200, c.seed = 80 + (unsigned)cluster;
        c.cut = {8, 32, 0, 0, cluster, 0, 0, false};
        check(c);
    }
}

/* The widths that are chosen: pointers are a small part of W, sums fit in shared memory, nothing for what has
 * too few entries; and products of such a width, as they are cut by themselves. */
void check_widths()
{
    const int64_t shapes[][3] = {{40000, 40000, 40000000},
                                 {400000, 400000, 32000000},
                                 {4000, 4000, 320000},
                                 {100, 33, 500},
                                 {1, 1, 1},
                                 {3000000, 3000000, 3000000}};
    for (int device = 0; device < EMULATED_DEVICES; device++)
        for (const int64_t(&s)[3] : shapes) {
            emulated_device = device;
            const int64_t width = lac_cuda_segments_width(s[0], s[1], s[2]);
            checks++;
            if (width % 32 || (width == 0) != (s[0] == 3000000) ||
                (width && lac_cuda_segments_bytes(s[0], s[1], width) > s[2] + (2 << 20)))
                printf("FAIL width %lld of %lld x %lld on %d\n", (long long)width, (long long)s[0],
                       (long long)s[1], device),
                    failures++;
        }
    for (int device = 0; device < EMULATED_DEVICES; device++) {
        Case c = {};
        c.m = 1, c.n = 30000, c.k = 500, c.events = 0.05, c.filled = 0.001, c.alpha = 1.0f, c.device = device;
        c.seed = 90;
        emulated_device = device;
        c.width = lac_cuda_segments_width(c.k, c.n, 15000);
        check(c);
    }
    for (const double filled : {0.12, 0.25, 0.6}) { /* many events: wider ranges, shared by blocks */
        Case c = {};
        c.m = 1, c.n = 250, c.k = 4000, c.width = 32, c.events = 0.9, c.filled = filled, c.alpha = 1.0f;
        c.device = EMULATED_H200, c.seed = 91;
        emulated_device = c.device;
        check(c);
    }
}

/* As the backend cuts it where sums are fixed: the width, which hangs on W's columns, has no part in the
 * bits. */
void check_shards()
{
    for (int given = 0; given < 2; given++) {
        std::vector<float> first;
        for (int64_t width : {32, 96, 320, 14336}) {
            Case c = {};
            c.m = 3, c.n = 300, c.k = 3000, c.width = width, c.events = 0.2, c.filled = 0.3, c.alpha = 1.0f;
            c.device = EMULATED_H200, c.seed = 110, c.cut = {16, 32, 0, -1, 1, 1, 0, false};
            emulated_device = c.device;
            const std::unique_ptr<Operands> o = make(c);
            if (lac_cuda_segment_pointers(c.k, c.n, c.width, &o->w, o->first.data(), nullptr) != LAC_OK)
                fail(c, "shards", "pointers", 0);
            if (run(c, *o, given ? ROWS : DENSE, 0) != LAC_OK) fail(c, "shards", "status", 0);
            double mean;
            if (const double error = worst_error(c, *o, &mean); !(error <= kTolerance))
                fail(c, "shards", "error", error);
            if (first.empty()) first.assign(o->out.data(), o->out.data() + o->out.count);
            if (memcmp(first.data(), o->out.data(), sizeof(float) * first.size()))
                fail(c, "shards", "bits", 0);
            checks++;
        }
    }
}

} // namespace

/* test_emulated_segments [cases] [first seed] */
/* Other threads that launch the same kernel ask for less shared memory between our asking and our launch:
 * once or twice is made good, and without end is a failure, not a wrong result. */
void check_other_threads()
{
    Case c = {};
    c.m = 1, c.n = 1024, c.k = 200, c.width = 1024, c.events = 0.5, c.filled = 0.05, c.alpha = 1.0f;
    c.device = EMULATED_H200, c.seed = 120;
    emulated_device = c.device;
    const std::unique_ptr<Operands> o = make(c);
    if (lac_cuda_segment_pointers(c.k, c.n, c.width, &o->w, o->first.data(), nullptr) != LAC_OK)
        fail(c, "other threads", "pointers", 0);
    for (int others : {1, 2, 1000}) {
        emulated_meddling = others;
        const lac_status_t status = run(c, *o, ROWS, 0);
        const int left = emulated_meddling;
        emulated_meddling = 0;
        checks++;
        if (status != (others < 1000 ? LAC_OK : LAC_ERR_VENDOR) || left == others || (others < 1000 && left))
            fail(c, "other threads", "status", status);
        double mean;
        if (const double error = others < 1000 ? worst_error(c, *o, &mean) : 0.0; !(error <= kTolerance))
            fail(c, "other threads", "error", error);
    }
}

int main(int argc, char **argv)
{
    const bool quick = getenv("LACUNA_TEST_QUICK") != nullptr;
    const int cases = argc > 1 ? atoi(argv[1]) : quick ? 6 : 50;
    const unsigned first = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    for (int t = 0; t < cases; t++) check(random_case(first + (unsigned)t));
    if (!quick)
        check_long_sums(), check_long_segments(), check_far_segments(), check_long_rows(), check_long_lists(),
            check_widths();
    check_shards(), check_other_threads(), check_terms(), check_expected();
    printf("test_emulated_segments: %d checks, %d failures\n", checks, failures);
    return failures != 0 || checks == 0;
}

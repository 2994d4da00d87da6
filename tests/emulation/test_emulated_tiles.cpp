/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The product by tiles on the emulator, by products of a warpgroup and by those of a warp,
 * against fp64: random shapes, orders, strides, scalars, patterns of zeros, data and devices, and special
 * values; poison wherever nothing may be read; each product twice, in two orders of its warps and with a
 * packed beforehand, for the same bits, with bias and activation, and each with the bits of what is not zero.
 * Of f16 and bf16 the same but for bits; a C of two bytes is one of floats, rounded. */
#include "emulator.h"
#include "cuda_kernels.h"
#include "ref_half.h"

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

int checks, failures;

struct Case {
    int64_t m, n, k;
    bool a_by_columns, padded, c_by_columns, device_scalars;
    float alpha, beta;
    int zero_rows, zero_cols; /* zeros of a come in pieces of so many elements */
    double density;           /* of pieces that are no zeros                   */
    int spread;               /* of exponents, to either side                  */
    int rare;                 /* one of so many elements is far larger or smaller; 0: none */
    float special;            /* put somewhere into a or b, where it is not 0  */
    int device;
    bool portable; /* not by warpgroup products, on a device that has them */
    unsigned seed;
    int a_offset, c_offset; /* elements behind an aligned address */
    int b_rows, b_cols;     /* zeros of b come in pieces of so many elements */
    double b_density;       /* of pieces that are no zeros                   */
    lac_dt_t dt, out_dt;
    lac_cuda_form_t form;
    bool b_by_columns; /* of two bytes */
};

std::string text(const Case &c)
{
    char b[256];
    snprintf(b, sizeof b,
             "%lldx%lldx%lld a=%s c=%s%s%s alpha=%g beta=%g zeros=%dx%d-%g spread=%d special=%g device=%d%s "
             "at=%d,%d seed=%u B=%dx%d-%g rare=%d%s%s%s%s",
             (long long)c.m, (long long)c.k, (long long)c.n, c.a_by_columns ? "cols" : "rows",
             c.c_by_columns ? "cols" : "rows", c.padded ? " padded" : "", c.device_scalars ? " dev" : "",
             c.alpha, c.beta, c.zero_rows, c.zero_cols, c.density, c.spread, c.special, c.device,
             c.portable ? " portable" : "", c.a_offset, c.c_offset, c.seed, c.b_rows, c.b_cols, c.b_density,
             c.rare, c.form == LAC_CUDA_FORM_F16 ? " two f16" : "",
             c.dt == LAC_F16    ? " f16"
             : c.dt == LAC_BF16 ? " bf16"
                                : "",
             c.out_dt == c.dt ? "" : " to f32", c.b_by_columns ? " b=cols" : "");
    return b;
}

void fail(const char *what, const Case &c)
{
    printf("FAIL %s %s\n", what, text(c).c_str());
    failures++;
}

/* Aligned to 256 bytes, of exactly this many bytes: a sanitizer sees what lies beyond. */
template <typename T> std::unique_ptr<T, void (*)(void *)> memory(int64_t count)
{
    return {(T *)aligned_alloc(256, (sizeof(T) * (size_t)count + 255) / 256 * 256), free};
}

/* The number of that type that is nearest. */
float of_type(lac_dt_t dt, float x)
{
    return ref_is_half(dt) ? (float)ref_half_value(dt, ref_half_nearest(dt, x)) : x;
}

/* Floats that are numbers of type dt, in that type: what a kernel gets and leaves. Memory of exactly that
 * size. */
struct Typed {
    lac_dt_t dt;
    std::unique_ptr<uint16_t, void (*)(void *)> bits;
    Typed(lac_dt_t dt_, const float *x, int64_t count)
        : dt(dt_), bits(memory<uint16_t>(ref_is_half(dt_) ? count : 0))
    {
        for (int64_t e = 0; ref_is_half(dt) && e < count; e++) bits.get()[e] = ref_half_nearest(dt, x[e]);
    }
    void read(float *x, int64_t count) const
    {
        for (int64_t e = 0; ref_is_half(dt) && e < count; e++)
            x[e] = (float)ref_half_value(dt, bits.get()[e]);
    }
    /* That of x + offset: x itself where that has the type. */
    void *at(float *x, int64_t offset) const
    {
        return ref_is_half(dt) ? (void *)(bits.get() + offset) : (void *)(x + offset);
    }
};

struct Operands {
    std::vector<float> a, before, out; /* from an aligned address on: what vectors of their size get */
    std::unique_ptr<float, void (*)(void *)> b;
    std::unique_ptr<uint8_t, void (*)(void *)> workspace;
    float scalars[2];
    lac_cuda_tiles_t p;
};

/* Between lines lies NaN, and in those rows of b that no row of a has use for. */
std::unique_ptr<Operands> make(const Case &c)
{
    std::mt19937 random(c.seed);
    const auto draw = [&] {
        static const int far[] = {-19, -21, -40, -110, 5, 12, 60};
        float x = (float)(random() % 20001) / 10000.0f - 1.0f;
        if (c.rare && random() % (unsigned)c.rare == 0) x = ldexpf(x, far[random() % 7]);
        return of_type(c.dt, ldexpf(x, c.spread ? (int)(random() % (2 * c.spread + 1)) - c.spread : 0));
    };
    const int64_t piece = 16 / (int64_t)lac_dt_size(c.dt);
    const int64_t pad = c.padded ? 3 : 0, ldb = (c.n + piece - 1) / piece * piece + (c.padded ? piece : 0);
    const int64_t ars = c.a_by_columns ? 1 : c.k + pad, acs = c.a_by_columns ? c.m + pad : 1,
                  crs = c.c_by_columns ? 1 : c.n + pad, ccs = c.c_by_columns ? c.m + pad : 1;
    std::unique_ptr<Operands> o(
        new Operands{std::vector<float>((size_t)(c.a_offset + (c.m + pad) * (c.k + pad)), NAN),
                     std::vector<float>((size_t)(c.c_offset + (c.m + pad) * (c.n + pad)), NAN),
                     {},
                     memory<float>(c.k * ldb),
                     {nullptr, free},
                     {c.alpha, c.beta},
                     {}});
    const int64_t across = (c.k + c.zero_cols - 1) / c.zero_cols,
                  down = (c.m + c.zero_rows - 1) / c.zero_rows;
    std::vector<bool> kept((size_t)(across * down)), active((size_t)c.k);
    for (size_t t = 0; t < kept.size(); t++) kept[t] = random() % 100000 < c.density * 100000;
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t k = 0; k < c.k; k++) {
            const bool here = kept[(size_t)(i / c.zero_rows * across + k / c.zero_cols)];
            const float x = here ? draw() : random() % 2 ? 0.0f : -0.0f;
            o->a[(size_t)(c.a_offset + i * ars + k * acs)] = x;
            if (x != 0.0f) active[(size_t)k] = true;
        }
    float *b = o->b.get();
    for (int64_t e = 0; e < c.k * ldb; e++) b[e] = NAN;
    for (int64_t k = 0; k < c.k; k++)
        for (int64_t j = 0; j < c.n && active[(size_t)k]; j++) b[k * ldb + j] = draw();
    if (c.b_density < 1.0) {
        const int64_t b_across = (c.n + c.b_cols - 1) / c.b_cols, b_down = (c.k + c.b_rows - 1) / c.b_rows;
        std::vector<bool> b_kept((size_t)(b_across * b_down));
        for (size_t t = 0; t < b_kept.size(); t++) b_kept[t] = random() % 100000 < c.b_density * 100000;
        for (int64_t k = 0; k < c.k; k++)
            for (int64_t j = 0; j < c.n && active[(size_t)k]; j++)
                if (!b_kept[(size_t)(k / c.b_rows * b_across + j / c.b_cols)])
                    b[k * ldb + j] = random() % 2 ? 0.0f : -0.0f;
    }
    if (c.special != 0.0f && random() % 2) {
        o->a[(size_t)c.a_offset + (size_t)(random() % c.m * (uint64_t)ars + random() % c.k * (uint64_t)acs)] =
            of_type(c.dt, c.special);
    } else if (c.special != 0.0f) {
        b[random() % c.k * (uint64_t)ldb + random() % c.n] = of_type(c.dt, c.special);
    }
    for (int64_t k = 0; k < c.k && c.special != 0.0f; k++) /* a row of b may have got use now */
        for (int64_t j = 0; j < c.n; j++)
            if (!active[(size_t)k] && std::isnan(b[k * ldb + j])) b[k * ldb + j] = 1.0f;
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t j = 0; j < c.n; j++)
            if (c.beta != 0.0f) o->before[(size_t)(c.c_offset + i * crs + j * ccs)] = draw();
    const int64_t bytes = lac_cuda_tiles_bytes(c.dt, c.m, c.n, c.k, false);
    o->workspace = memory<uint8_t>(bytes);
    memset(o->workspace.get(), 0x5a, (size_t)bytes);
    o->p = {};
    o->p.m = c.m, o->p.n = c.n, o->p.k = c.k;
    o->p.alpha = {c.device_scalars ? o->scalars : nullptr, c.device_scalars ? 99.0f : c.alpha};
    o->p.beta = {c.device_scalars ? o->scalars + 1 : nullptr, c.device_scalars ? 99.0f : c.beta};
    o->p.a = o->a.data() + c.a_offset, o->p.ars = ars, o->p.acs = acs;
    o->p.b = b, o->p.ldb = ldb;
    o->p.crs = crs, o->p.ccs = ccs;
    o->p.portable = c.portable;
    o->p.dt = c.dt, o->p.out_dt = c.out_dt, o->p.form = c.form;
    return o;
}

/* b by columns, in memory of exactly that size; b by rows becomes what nobody has written, and is finite: no
 * tile is repaired for it. */
std::unique_ptr<uint16_t, void (*)(void *)> by_columns(lac_cuda_tiles_t *p)
{
    p->ld_columns = (p->k + 7) / 8 * 8;
    auto columns = memory<uint16_t>((p->n - 1) * p->ld_columns + p->k);
    uint16_t *const b = (uint16_t *)p->b;
    for (int64_t k = 0; k < p->k; k++)
        for (int64_t j = 0; j < p->n; j++) columns.get()[j * p->ld_columns + k] = b[k * p->ldb + j];
    memset(b, 0x3f, sizeof *b * (size_t)(p->k * p->ldb));
    p->b_columns = columns.get();
    return columns;
}

/* fn(p) with what p names as floats in the types that it says. */
template <typename Fn> lac_status_t with_types(const Case &c, Operands &o, lac_cuda_tiles_t p, Fn fn)
{
    const int64_t biases = p.epilogue.of_rows ? c.m : c.n, count = (int64_t)o.out.size();
    float *const bias = (float *)p.epilogue.bias;
    const Typed a(p.dt, o.a.data(), (int64_t)o.a.size()), b(p.dt, o.b.get(), c.k * p.ldb),
        out(p.out_dt, o.out.data(), count), of_bias(p.out_dt, bias, bias ? biases : 0);
    p.a = a.at(o.a.data(), c.a_offset), p.b = b.at(o.b.get(), 0), p.c = out.at(o.out.data(), c.c_offset);
    if (bias) p.epilogue.bias = (const float *)of_bias.at(bias, 0);
    std::unique_ptr<uint16_t, void (*)(void *)> columns(nullptr, free);
    if (c.b_by_columns) columns = by_columns(&p);
    const lac_status_t status = fn(p);
    out.read(o.out.data(), count);
    return status;
}
lac_status_t run(const Case &c, Operands &o)
{
    return with_types(c, o, o.p, [&](const lac_cuda_tiles_t &p) {
        return lac_cuda_tiles_run(&p, o.workspace.get(), nullptr);
    });
}

/* Every element against fp64, zeros of a skipped, within so many units of 2^-24 (|A||B| + |beta C|) as a
 * plain sum, which a repaired tile is, may be off, beside the rounding to C's type; what lies between the
 * lines of c is as it was. */
void judge(const Case &c, const Operands &o)
{
    const lac_cuda_tiles_t &p = o.p;
    std::vector<bool> inside(o.out.size());
    double worst = 0.0;
    bool special = true;
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t j = 0; j < c.n; j++) {
            const size_t at = (size_t)(c.c_offset + i * p.crs + j * p.ccs);
            double sum = 0.0, size = 0.0;
            for (int64_t k = 0; k < c.k; k++) {
                const double x = o.a[(size_t)(c.a_offset + i * p.ars + k * p.acs)],
                             y = o.b.get()[k * p.ldb + j];
                if (x != 0.0) sum += x * y, size += fabs(x * y);
            }
            const double was = c.beta == 0.0f ? 0.0 : (double)c.beta * (double)o.before[at],
                         want = (double)c.alpha * sum + was, got = (double)o.out[at];
            inside[at] = true;
            if (std::isfinite((float)want) && !std::isfinite((float)sum))
                continue; /* before alpha made it less */
            if (std::isfinite((float)want) && !std::isfinite(of_type(c.out_dt, (float)want))) continue;
            if (!std::isfinite((float)want))
                special &= std::isnan(want) ? std::isnan(got) : got == (double)(float)want;
            else {
                const double unit = 0x1p-24 * (fabs((double)c.alpha) * size + fabs(was)) + 0x1p-149,
                             rounding = ref_is_half(c.out_dt)
                                            ? ldexp(0.5, ref_half_unit(c.out_dt, fmax(fabs(want), fabs(got))))
                                            : 0.0,
                             error = fmax(fabs(got - want) - rounding, 0.0) / unit;
                if (!(error <= worst)) worst = error;
            }
        }
    if (!(worst <= 4.0 + std::sqrt((double)c.k))) printf("     error %g\n", worst), fail("error", c);
    if (!special) fail("special", c);
    for (size_t t = 0; t < o.out.size(); t++)
        if (!inside[t] && !std::isnan(o.out[t])) return fail("padding", c);
}

/* a packed beforehand, in as much memory as it takes. */
lac_status_t pack(const Case &c, Operands &o, std::unique_ptr<uint8_t, void (*)(void *)> *packed)
{
    lac_cuda_tiles_t *const p = &o.p;
    const auto to = [&](int64_t room) {
        *packed = memory<uint8_t>(lac_cuda_tiles_packed_bytes(p->dt, p->m, p->k, room));
        return with_types(c, o, *p, [&](const lac_cuda_tiles_t &typed) {
            return lac_cuda_tiles_pack(&typed, room, packed->get(), nullptr);
        });
    };
    const int64_t any = lac_cuda_tiles_room(p->k);
    int most = 0;
    lac_status_t status = to(any);
    if (status == LAC_OK)
        status = lac_cuda_tiles_max_room(p->dt, p->m, p->k, any, packed->get(), &most, nullptr);
    if (status != LAC_OK || most < 0 || most > any) return LAC_ERR_EXTENT;
    status = to(most);
    p->packed = packed->get(), p->room = most;
    return status;
}

/* CSR of c, of which the bits are known. */
void check_rows(const Case &c, const Operands &o, const uint64_t *bits)
{
    std::vector<int64_t> want(1, 0);
    const auto ptr = memory<int64_t>(c.m + 1);
    const auto scratch = memory<uint8_t>(8 * c.m + 4096);
    for (int64_t i = 0; i < c.m; i++) {
        want.push_back(want.back());
        for (int64_t j = 0; j < c.n; j++)
            want.back() += o.out[(size_t)(c.c_offset + i * o.p.crs + j * o.p.ccs)] != 0.0f;
    }
    if (lac_cuda_csr_ptr_of_bits(c.m, c.n, bits, ptr.get(), scratch.get(), nullptr) != LAC_OK ||
        memcmp(ptr.get(), want.data(), sizeof(int64_t) * want.size()))
        return fail("row starts", c);
    std::vector<int32_t> idx((size_t)want.back() + 1, -1);
    std::vector<float> val((size_t)want.back() + 1, NAN);
    if (lac_cuda_csr_fill_of_bits(c.m, c.n, bits, o.out.data() + c.c_offset, o.p.crs, o.p.ccs, ptr.get(),
                                  c.seed % 5 ? idx.data() : nullptr, val.data(), nullptr) != LAC_OK)
        return fail("status rows", c);
    size_t e = 0;
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t j = 0; j < c.n; j++) {
            const float &x = o.out[(size_t)(c.c_offset + i * o.p.crs + j * o.p.ccs)];
            if (x == 0.0f) continue;
            if (memcmp(&x, &val[e], sizeof x) || (c.seed % 5 && idx[e] != j)) return fail("rows", c);
            e++;
        }
    if (idx[e] != -1 || !std::isnan(val[e])) fail("behind the rows", c);
}

/* The same with bits of what is not zero: c as before, and its bits, nothing in the rest of a row's last word
 * and nothing behind the last row. `follows`: with o.p.epilogue; else without. */
void check_bits(const Case &c, Operands &o, bool follows, const char *what)
{
    const std::vector<float> want = o.out;
    const lac_cuda_epilogue_t epilogue = o.p.epilogue;
    const bool transposed = (c.seed + follows) % 2; /* by columns */
    const int64_t lines = transposed ? c.n : c.m, across = transposed ? c.m : c.n, words = (across + 63) / 64;
    const int64_t lrs = transposed ? o.p.ccs : o.p.crs, lcs = transposed ? o.p.crs : o.p.ccs;
    const auto bits = memory<uint64_t>(lines * words);
    memset(bits.get(), 0x5a, sizeof(uint64_t) * (size_t)(lines * words));
    o.out = o.before;
    o.p.c = o.out.data() + c.c_offset, o.p.bits = bits.get(), o.p.bits_words = words,
    o.p.bits_transposed = transposed;
    if (!follows) o.p.epilogue = {};
    if (run(c, o) != LAC_OK) return fail("status bits", c);
    o.p.epilogue = epilogue, o.p.bits = nullptr;
    if (memcmp(want.data(), o.out.data(), sizeof(float) * want.size())) fail(what, c);
    for (int64_t i = 0; i < lines; i++)
        for (int64_t j = 0; j < 64 * words; j++) {
            const bool is = bits.get()[i * words + j / 64] >> j % 64 & 1;
            if (is != (j < across && o.out[(size_t)(c.c_offset + i * lrs + j * lcs)] != 0.0f))
                return fail(what, c);
        }
    if (!transposed) check_rows(c, o, bits.get());
}

/* The same as floats: what a C of two bytes is rounded from. */
std::vector<float> as_floats(const Case &c, Operands &o)
{
    o.out = o.before;
    o.p.out_dt = LAC_F32;
    if (run(c, o) != LAC_OK) fail("status floats", c);
    o.p.out_dt = c.out_dt;
    return o.out;
}

/* The same with bias and activation: what these make of the plain result, bit by bit, and nothing between the
 * lines of c. */
void check_after(const Case &c, Operands &o, std::vector<float> plain)
{
    static const float limits[] = {NAN, 0.0f, -0.25f, 0.5f};
    const bool of_rows = c.seed / 4 % 2, magnitude = c.seed % 4 == 3;
    const auto bias = memory<float>(of_rows ? c.m : c.n);
    for (int64_t e = 0; e < (of_rows ? c.m : c.n); e++) bias.get()[e] = (float)(e * 37 % 101) / 50.0f - 1.0f;
    if (c.out_dt != LAC_F32) {
        const std::vector<float> rounded = plain;
        plain = as_floats(c, o);
        for (size_t t = 0; t < plain.size(); t++) {
            const float x = of_type(c.out_dt, plain[t]);
            if (memcmp(&x, &rounded[t], sizeof x) && !(std::isnan(x) && std::isnan(rounded[t])))
                return fail("rounded once", c);
        }
    }
    for (int64_t e = 0; e < (of_rows ? c.m : c.n); e++) bias.get()[e] = of_type(c.out_dt, bias.get()[e]);
    o.out = o.before;
    o.p.c = o.out.data() + c.c_offset;
    o.p.epilogue = {c.seed % 3 ? bias.get() : nullptr, true, of_rows, magnitude, limits[c.seed % 4]};
    if (run(c, o) != LAC_OK) return fail("status after", c);
    std::vector<float> want = plain;
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t j = 0; j < c.n; j++) {
            float &x = want[(size_t)(c.c_offset + i * o.p.crs + j * o.p.ccs)];
            x += o.p.epilogue.bias ? bias.get()[of_rows ? i : j] : 0.0f;
            if ((magnitude ? fabsf(x) : x) <= o.p.epilogue.limit) x = 0.0f;
            x = of_type(c.out_dt, x);
        }
    for (size_t t = 0; t < want.size(); t++)
        if (memcmp(&want[t], &o.out[t], sizeof want[t]) && !(std::isnan(want[t]) && std::isnan(o.out[t])))
            return fail("after", c);
    if (c.dt == LAC_F32) check_bits(c, o, true, "bits after");
}

void check(const Case &c)
{
    emulated_device = c.device;
    const std::unique_ptr<Operands> o = make(c);
    const size_t bytes = sizeof(float) * o->before.size();
    std::unique_ptr<uint8_t, void (*)(void *)> packed(nullptr, free);
    std::vector<float> first;
    for (int again = 0; again < 2; again++) {
        o->out = o->before;
        o->p.c = o->out.data() + c.c_offset;
        emulated_schedule = c.seed * 1000003u + (unsigned)again;
        lac_status_t status = LAC_OK;
        if (again) status = pack(c, *o, &packed);
        if (status == LAC_OK) status = run(c, *o);
        if (status != LAC_OK) return fail("status", c);
        if (!again) first = o->out;
    }
    checks++;
    judge(c, *o);
    if (memcmp(first.data(), o->out.data(), bytes)) fail("repeat", c);
    if (c.dt == LAC_F32) check_bits(c, *o, false, "bits");
    check_after(c, *o, first);
}

Case random_case(unsigned seed, unsigned largest)
{
    static const double densities[] = {0.0, 0.05, 0.3, 0.5, 1.0};
    static const int pieces[][2] = {{1, 1}, {32, 8}, {64, 1}, {1 << 20, 1}, {40, 3}};
    static const float specials[] = {INFINITY, -INFINITY, NAN, 3.4028235e38f, -3.4e38f, 1e-45f, 1.1e-38f};
    std::mt19937 random(seed);
    Case c = {};
    c.m = 1 + random() % largest, c.n = 1 + random() % largest, c.k = 1 + random() % largest;
    if (seed % 5 == 0) c.m = 1 + random() % 70;
    c.a_by_columns = random() % 2, c.padded = random() % 2, c.c_by_columns = random() % 2;
    c.device_scalars = random() % 2;
    c.alpha = random() % 2 ? 1.0f : -0.75f, c.beta = random() % 2 ? 0.0f : 0.5f;
    const unsigned piece = random() % 5;
    c.zero_rows = pieces[piece][0], c.zero_cols = pieces[piece][1];
    c.density = densities[random() % 5];
    c.spread = random() % 3 == 0 ? 8 : 0;
    c.special = seed % 4 == 3 ? specials[seed / 4 % 7] : 0.0f;
    c.portable = random() % 3 == 0;
    c.device = int(random() % EMULATED_DEVICES), c.seed = seed;
    c.a_offset = random() % 3 ? 0 : 1 + int(random() % 3),
    c.c_offset = random() % 3 ? 0 : 1 + int(random() % 3);
    const unsigned of_b = random() % 5;
    c.b_rows = pieces[of_b][1], c.b_cols = pieces[of_b][0];
    c.b_density = seed % 2 ? densities[random() % 5] : 1.0;
    c.rare = c.spread ? 0 : std::vector<int>{0, 300, 3000}[random() % 3];
    if (seed % 3) return c;
    /* Vectors would fit but for one thing: where the operands begin, or the distance of lines. */
    c.m = (c.m + 3) / 4 * 4, c.n = (c.n + 3) / 4 * 4, c.k = (c.k + 3) / 4 * 4;
    c.a_by_columns = false, c.padded = seed % 2, c.a_offset = c.c_offset = c.padded ? 0 : 1;
    return c;
}

/* What of b can be read as it lies. */
void check_alignment()
{
    alignas(16) static float x[8];
    const auto floats = [](const float *b, int64_t ldb) {
        return lac_cuda_tiles_aligned(LAC_F32, b, 5, ldb);
    };
    const auto halves = [](int64_t n, int64_t ldb) { return lac_cuda_tiles_aligned(LAC_BF16, x, n, ldb); };
    const bool right = floats(x, 8) && floats(x, (1LL << 30) - 4) && !floats(x + 1, 8) && !floats(x, 6) &&
                       !floats(x, -8) && !floats(x, 1LL << 30) && halves(8, 8) &&
                       halves(16, (1LL << 31) - 8) && !halves(8, 12) && !halves(9, 16) && !halves(0, 8) &&
                       !halves(8, 1LL << 31);
    checks++;
    if (right) return;
    printf("FAIL alignment\n");
    failures++;
}

/* Of two bytes an element, where that can be: whole pieces of 16 bytes. */
Case in_two_bytes(Case c)
{
    c.dt = c.seed % 2 ? LAC_F16 : LAC_BF16, c.out_dt = c.seed / 2 % 2 ? LAC_F32 : c.dt;
    if (c.dt == LAC_F16) c.spread = c.rare = 0;
    c.n = (c.n + 7) / 8 * 8, c.device %= 2, c.portable = false;
    return c;
}

/* Each half of a tile's rows wants a dozen steps in a row that the other half does not, more than there are
 * stages; and there are as many tiles as blocks, so that none is shared out. Packed, since a lies off 16
 * bytes; and as it lies. */
void check_halves_apart()
{
    Case c = {};
    c.m = 128, c.n = 1024, c.k = 1536, c.alpha = 1.0f, c.seed = 1, c.device = 1;
    c.zero_rows = 64, c.zero_cols = 64, c.density = 0.5, c.b_rows = c.b_cols = 1, c.b_density = 1.0;
    for (c.a_offset = 0; c.a_offset < 2; c.a_offset++) {
        c.b_by_columns = c.a_offset > 0;
        check(in_two_bytes(c));
    }
}

/* a as it lies, by rows and by columns: blocks of zeros, a last step and a last tile that are not whole, k
 * shared out, more tiles than blocks, some without any step, and special values. */
void check_unpacked(bool quick)
{
    static const int sizes[][3] = {{264, 264, 328}, {128, 72, 1600}, {520, 520, 200}, {130, 264, 64}};
    for (int t = 0; t < (quick ? 3 : 12); t++) {
        Case c = {};
        const int *size = sizes[t % 4];
        c.m = size[0], c.n = size[1], c.k = size[2];
        c.a_by_columns = t % 2, c.c_by_columns = t % 3 == 1, c.device_scalars = t % 3 == 0;
        if (c.a_by_columns) c.m = (c.m + 7) / 8 * 8;
        c.alpha = t % 2 ? -0.75f : 1.0f, c.beta = t % 5 == 1 ? 0.5f : 0.0f, c.seed = (unsigned)t;
        c.zero_rows = 128, c.zero_cols = t % 3 ? 64 : 128, c.density = t == 7 ? 0.0 : 0.5;
        c.b_rows = c.b_cols = 1, c.b_density = 1.0, c.device = t / 2 % 2;
        c.special = t == 8 ? INFINITY : t == 9 ? NAN : 0.0f;
        for (int columns = 0; columns < 2; columns++) {
            c.b_by_columns = columns;
            Case halves = in_two_bytes(c);
            halves.out_dt = t % 5 == 3 ? LAC_F32 : halves.dt;
            check(halves);
        }
    }
    Case c = {}; /* columns of c in whole pieces, but not full */
    c.m = 45, c.n = 200, c.k = 128, c.alpha = 1.0f, c.c_by_columns = c.padded = true;
    c.zero_rows = c.zero_cols = c.b_rows = c.b_cols = 1, c.density = c.b_density = 1.0;
    for (c.device = 0; c.device < 2; c.device++) check(in_two_bytes(c));
}

/* Floats by columns of a, four of which are read at a time; row groups of their own k. */
void check_columns()
{
    Case c = {};
    c.m = 136, c.n = 40, c.k = 800, c.alpha = 1.0f, c.a_by_columns = true, c.seed = 3;
    c.zero_rows = 32, c.zero_cols = 1, c.density = 0.3, c.b_rows = c.b_cols = 1, c.b_density = 1.0;
    c.special = 1.0f; /* no NaN in b, for which tiles would be repaired */
    for (c.device = 0; c.device < 2; c.device++) check(c);
}

/* An element that f16 cannot hold, of either operand, most often where no sample of its line sees it. */
void check_rests()
{
    Case c = {};
    c.m = 140, c.n = 133, c.k = 150, c.alpha = 1.0f, c.special = 5000.0f, c.form = LAC_CUDA_FORM_F16,
    c.device = 1;
    c.zero_rows = c.zero_cols = c.b_rows = c.b_cols = 1, c.density = c.b_density = 1.0;
    for (c.seed = 1; c.seed <= 4; c.seed++) check(c);
}

/* What has no kernel is refused. */
void check_refused(Case c)
{
    c = in_two_bytes(c);
    const std::unique_ptr<Operands> o = make(c);
    o->out = o->before;
    emulated_device = EMULATED_DEVICES - 1;
    const bool other_device = run(c, *o) == LAC_ERR_TYPE;
    emulated_device = 0, o->p.portable = true;
    const bool portable = run(c, *o) == LAC_ERR_TYPE;
    checks++;
    if (!other_device || !portable) fail("refused", c);
}

} // namespace

/* test_emulated_tiles [cases] [largest extent] [first seed] */
int main(int argc, char **argv)
{
    const bool quick = getenv("LACUNA_TEST_QUICK") != nullptr;
    const int cases = argc > 1 ? atoi(argv[1]) : quick ? 6 : 18;
    const unsigned largest = argc > 2 ? (unsigned)atoi(argv[2]) : quick ? 150 : 280;
    const unsigned first = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    check_alignment();
    check_refused(random_case(first, largest));
    check_halves_apart();
    check_unpacked(quick);
    check_columns();
    check_rests();
    for (int t = 0; t < cases; t++) {
        Case c = random_case(first + (unsigned)t, largest);
        check(c);
        check(in_two_bytes(c));
        c.form = LAC_CUDA_FORM_F16, c.portable = false, c.device %= 2; /* those of compute capability 9.0 */
        check(c);
        /* rows of b that follow each other, beside some that do not */
        c.zero_rows = 32, c.zero_cols = t % 4 ? 8 : 3, c.density = 0.3;
        if (t % 4 == 1) c.m = 1 + c.m % 140, c.n = 1 + c.n % 140, c.k += 1024;
        check(c);
        if (t % 2) continue;
        c.n = (c.n + 63) / 64 * 64, c.b_by_columns = t % 4 == 2;
        check(in_two_bytes(c));
    }
    printf("test_emulated_tiles: %d checks, %d failures\n", checks, failures);
    return failures != 0 || checks == 0;
}

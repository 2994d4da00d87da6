/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Problem strings: read strictly, where every complaint names its field, and printed in their canonical form.
 */
#include "ref_problem.h"
#include "ref_half.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Not terminated. */
struct piece {
    const char *s;
    size_t n;
};

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool same(struct piece a, const char *word)
{
    return a.n == strlen(word) && memcmp(a.s, word, a.n) == 0;
}

/* Drops a leading word; false, and no change, when the piece does not begin with it. */
static inline bool take_word(struct piece *a, const char *word)
{
    size_t n = strlen(word);
    if (a->n < n || memcmp(a->s, word, n) != 0) return false;
    a->s += n;
    a->n -= n;
    return true;
}

/* Drops leading digits, whose value must be in lo .. hi. No sign, no leading zero, so that each number
 * has one spelling. */
static inline bool take_integer(struct piece *a, uint64_t lo, uint64_t hi, uint64_t *value)
{
    size_t i = 0;
    uint64_t v = 0;

    for (; i < a->n && is_digit(a->s[i]); i++) {
        unsigned digit = (unsigned)(a->s[i] - '0');
        if (__builtin_mul_overflow(v, UINT64_C(10), &v) || __builtin_add_overflow(v, digit, &v)) return false;
    }
    if (i == 0 || (i > 1 && a->s[0] == '0') || v < lo || v > hi) return false;
    a->s += i;
    a->n -= i;
    *value = v;
    return true;
}

static inline bool take_extent(struct piece *a, int64_t lo, int64_t hi, int64_t *value)
{
    uint64_t v;
    if (!take_integer(a, (uint64_t)lo, (uint64_t)hi, &v)) return false;
    *value = (int64_t)v;
    return true;
}

/* The whole piece as a decimal number: [-]digits[.digits][e[+-]digits]. The check goes before strtod, which
 * also takes hexadecimals, "inf", "nan" and blanks. */
static inline bool whole_number(struct piece a, char *text, size_t size)
{
    size_t i = 0, digits = 0;

    if (a.n == 0 || a.n >= size) return false;
    if (a.s[i] == '-') i++;
    for (; i < a.n && is_digit(a.s[i]); i++) digits++;
    if (i < a.n && a.s[i] == '.')
        for (i++; i < a.n && is_digit(a.s[i]); i++) digits++;
    if (digits == 0) return false;
    if (i < a.n && (a.s[i] == 'e' || a.s[i] == 'E')) {
        i++;
        if (i < a.n && (a.s[i] == '+' || a.s[i] == '-')) i++;
        size_t exponent = i;
        while (i < a.n && is_digit(a.s[i])) i++;
        if (i == exponent) return false;
    }
    memcpy(text, a.s, a.n);
    text[a.n] = '\0';
    return i == a.n;
}

static inline bool whole_density(struct piece a, double *value)
{
    char text[64], *end;
    if (!whole_number(a, text, sizeof text)) return false;
    *value = strtod(text, &end) + 0.0; /* + 0.0: -0 becomes 0 */
    return *end == '\0' && *value >= 0.0 && *value <= 1.0;
}

static inline bool whole_float(struct piece a, float *value)
{
    char text[64], *end;
    if (!whole_number(a, text, sizeof text)) return false;
    *value = strtof(text, &end) + 0.0f;
    return *end == '\0' && isfinite(*value);
}

/* Reading of problem strings: strict, and every complaint names its field. */

struct parser {
    ref_problem_t *p;
    char *error;
    size_t error_size;
    unsigned seen; /* claims of the fields read so far */
};

/* What was found, made fit to print: at most 24 bytes, control and non-ASCII bytes as '?'. */
struct shown {
    char text[32];
};

static struct shown show(struct piece found)
{
    struct shown out;
    size_t n = found.n < 24 ? found.n : 24;
    for (size_t i = 0; i < n; i++) out.text[i] = found.s[i] >= ' ' && found.s[i] <= '~' ? found.s[i] : '?';
    memcpy(out.text + n, found.n > n ? "..." : "", found.n > n ? 4 : 1);
    return out;
}

/* Writes the message and returns false, so that a reader can end with it. */
__attribute__((format(printf, 2, 3))) static bool fail(struct parser *in, const char *format, ...)
{
    if (in->error != NULL && in->error_size > 0) {
        va_list args;
        va_start(args, format);
        vsnprintf(in->error, in->error_size, format, args);
        va_end(args);
    }
    return false;
}

static bool expected(struct parser *in, struct piece field, const char *what, struct piece found)
{
    return fail(in, "field '%.*s': expected %s, got '%s'", (int)field.n, field.s, what, show(found).text);
}

/* Fields ------------------------------------------------------------------------------------------- */

static ref_operand_t *operand(struct parser *in, char name)
{
    return name == 'A' ? &in->p->a : name == 'B' ? &in->p->b : &in->p->c;
}

static bool read_values(struct piece value, ref_values_t *out)
{
    for (ref_values_t v = REF_UNIFORM; v <= REF_OUTLIERS; v++) {
        if (!same(value, ref_values_name(v))) continue;
        *out = v;
        return true;
    }
    return false;
}

static bool read_structure(struct parser *in, struct piece key, struct piece value, ref_pattern_t *out)
{
    struct piece rest = value;

    out->block_rows = out->block_cols = 0;
    for (ref_structure_t s = REF_DENSE; s <= REF_FAN; s++) {
        if (!take_word(&rest, ref_structure_name(s))) continue;
        out->structure = s;
        if (s == REF_DENSE || s == REF_ZERO) {
            out->density = s == REF_DENSE ? 1.0 : 0.0;
            if (rest.n == 0) return true;
            break;
        }
        if (s == REF_BLOCK &&
            !(take_extent(&rest, 1, REF_MAX_BLOCK, &out->block_rows) && take_word(&rest, "x") &&
              take_extent(&rest, 1, REF_MAX_BLOCK, &out->block_cols) && take_word(&rest, "-")))
            return expected(in, key, "block<rows>x<cols>-<density>, rows and cols in 1 .. 2^31", value);
        if (whole_density(rest, &out->density)) return true;
        return expected(in, key, "a density in 0 .. 1 behind the structure", value);
    }
    return expected(
        in, key, "one of dense, zero, bern<d>, block<h>x<w>-<d>, row<d>, col<d>, band<d>, power<d>, fan<d>",
        value);
}

static bool read_pattern(struct parser *in, struct piece key, struct piece value)
{
    ref_pattern_t *out = &operand(in, key.s[0])->pattern;
    const char *slash = memchr(value.s, '/', value.n);

    if (slash != NULL) {
        struct piece kind = {slash + 1, value.n - (size_t)(slash - value.s) - 1};
        value.n = (size_t)(slash - value.s);
        if (!read_values(kind, &out->values))
            return expected(in, key, "values u, p, e8, e30, 1, i, x or o behind '/'", kind);
    }
    return read_structure(in, key, value, out);
}

/* The type that an operation is of, and its name. */
static lac_dt_t type_of(ref_op_t op)
{
    static const lac_dt_t types[] = {LAC_F32, LAC_F32, LAC_F64, LAC_F64, LAC_F16, LAC_BF16};
    return types[op];
}

static const char *type_name(lac_dt_t dt)
{
    return dt == LAC_F32   ? "f32"
           : dt == LAC_F64 ? "f64"
           : dt == LAC_F16 ? "f16"
           : dt == LAC_U8  ? "u8"
                           : "bf16";
}

static bool read_type(struct parser *in, struct piece key, struct piece value)
{
    char name = key.s[key.n - 1], words[24];
    ref_operand_t *o = operand(in, name);
    const char *own = type_name(type_of(in->p->op));
    bool widens = ref_is_half(type_of(in->p->op)), bytes = name != 'C';
    if (widens && same(value, "f32"))
        o->dt = LAC_F32;
    else if (bytes && same(value, "u8"))
        o->dt = LAC_U8;
    else if (!same(value, own)) {
        snprintf(words, sizeof words, "%s%s%s", own,
                 widens && bytes ? ", f32"
                 : widens        ? " or f32"
                                 : "",
                 bytes ? " or u8" : "");
        return expected(in, key, words, value);
    }
    return true;
}

static bool read_layout(struct parser *in, struct piece key, struct piece value)
{
    ref_layout_t l = {false, 1, 0};
    struct piece rest = value;

    l.by_columns = take_word(&rest, "col");
    bool good = l.by_columns || take_word(&rest, "row");
    if (good && take_word(&rest, "x")) good = take_extent(&rest, 1, REF_MAX_STEP, &l.step);
    if (good && take_word(&rest, "+")) good = take_extent(&rest, 0, REF_MAX_PAD, &l.pad);
    if (!good || rest.n != 0)
        return expected(in, key, "row or col, then x<step> (1 .. 1024), then +<pad> (0 .. 2^20)", value);
    if (key.n == strlen("lay"))
        in->p->a.layout = in->p->b.layout = in->p->c.layout = l;
    else
        operand(in, key.s[key.n - 1])->layout = l;
    return true;
}

static bool read_meta(struct parser *in, struct piece key, struct piece value)
{
    for (ref_meta_t m = REF_META_NONE; m <= REF_META_EVENT_LISTS; m++) {
        if (!same(value, ref_meta_name(m))) continue;
        operand(in, key.s[key.n - 1])->meta = m;
        return true;
    }
    return expected(in, key, "one of none, density, csr, csc, bits, active, ell, evbits, evlists", value);
}

static bool read_flag(struct parser *in, struct piece key, struct piece value)
{
    ref_operand_t *o = operand(in, key.s[key.n - 1]);
    bool on = same(value, "1");
    if (!on && !same(value, "0")) return expected(in, key, "0 or 1", value);
    *(key.s[0] == 'f' ? &o->frozen : &o->only) = on;
    return true;
}

static bool read_scalar(struct parser *in, struct piece key, struct piece value)
{
    if (whole_float(value, key.s[0] == 'a' ? &in->p->alpha : &in->p->beta)) return true;
    return expected(in, key, "a finite decimal number", value);
}

static bool read_seed(struct parser *in, struct piece key, struct piece value)
{
    struct piece rest = value;
    if (take_integer(&rest, 0, UINT64_MAX, &in->p->seed) && rest.n == 0) return true;
    return expected(in, key, "a seed in 0 .. 2^64 - 1", value);
}

/* Each field claims bits, and none may be claimed twice: "lay" speaks for all three layouts. */
enum { LAY_A = 1 << 6, LAY_B = 1 << 7, LAY_C = 1 << 8 };

static const struct field {
    const char *key;
    unsigned claims;
    bool (*read)(struct parser *in, struct piece key, struct piece value);
} fields[] = {
    {"A", 1 << 0, read_pattern},     {"B", 1 << 1, read_pattern},
    {"C", 1 << 2, read_pattern},     {"dtA", 1 << 3, read_type},
    {"dtB", 1 << 4, read_type},      {"s", 1 << 5, read_seed},
    {"layA", LAY_A, read_layout},    {"layB", LAY_B, read_layout},
    {"layC", LAY_C, read_layout},    {"lay", LAY_A | LAY_B | LAY_C, read_layout},
    {"metaA", 1 << 9, read_meta},    {"metaB", 1 << 10, read_meta},
    {"frozenA", 1 << 11, read_flag}, {"frozenB", 1 << 12, read_flag},
    {"onlyA", 1 << 13, read_flag},   {"onlyB", 1 << 14, read_flag},
    {"alpha", 1 << 15, read_scalar}, {"beta", 1 << 16, read_scalar},
    {"dtC", 1 << 17, read_type},
};

static bool read_field(struct parser *in, struct piece text)
{
    const char *equals = memchr(text.s, '=', text.n);
    struct piece key = {text.s, equals != NULL ? (size_t)(equals - text.s) : 0};
    struct piece value = {text.s + key.n + 1, equals != NULL ? text.n - key.n - 1 : 0};

    if (equals == NULL && text.n > 1 && text.s[0] == 's' && is_digit(text.s[1])) {
        key = (struct piece){text.s, 1};
        value = (struct piece){text.s + 1, text.n - 1};
    } else if (same(key, "s")) {
        key.n = 0;
    }
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (!same(key, fields[i].key)) continue;
        if ((in->seen & fields[i].claims) != 0) return fail(in, "field '%s': given twice", fields[i].key);
        in->seen |= fields[i].claims;
        return fields[i].read(in, key, value);
    }
    return fail(
        in,
        "expected a field A=, B=, C=, dtA=, dtB=, dtC=, lay=, layA=, layB=, layC=, metaA=, metaB=, frozenA=, "
        "frozenB=, onlyA=, onlyB=, alpha=, beta= or s<seed>, got '%s'",
        show(text).text);
}

/* The three pieces in front, and what holds across fields ------------------------------------------- */

static const struct piece name_op = {"operation", 9}, name_trans = {"transposes", 10},
                          name_extents = {"extents", 7};

static const char *const op_names[] = {"sgemm", "sgemv", "dgemm", "dgemv", "hgemm", "bgemm"};

/* Operands are of the operation's type, where their own fields do not say another. */
static bool read_op(struct parser *in, struct piece text)
{
    for (int op = REF_SGEMM; op <= REF_BGEMM; op++) {
        if (!same(text, op_names[op])) continue;
        in->p->op = (ref_op_t)op;
        in->p->a.dt = in->p->b.dt = in->p->c.dt = type_of((ref_op_t)op);
        return true;
    }
    return expected(in, name_op, "sgemm, sgemv, dgemm, dgemv, hgemm or bgemm", text);
}

static bool read_trans(struct parser *in, struct piece text)
{
    bool vector = ref_is_vector(in->p);
    lac_trans_t *out[2] = {&in->p->trans_a, &in->p->trans_b};
    bool good = text.n == (vector ? 1 : 2);

    for (size_t i = 0; good && i < text.n; i++) {
        good = text.s[i] == 'N' || text.s[i] == 'T';
        *out[i] = text.s[i] == 'T' ? LAC_TRANS : LAC_NO_TRANS;
    }
    if (good) return true;
    return expected(in, name_trans, vector ? "one letter N or T, of A" : "two letters N or T, of A and of B",
                    text);
}

static bool read_extents(struct parser *in, struct piece text)
{
    bool vector = ref_is_vector(in->p);
    struct piece rest = text;
    bool good = take_extent(&rest, 0, REF_MAX_EXTENT, &in->p->m) && take_word(&rest, "x") &&
                take_extent(&rest, 0, REF_MAX_EXTENT, &in->p->k);

    if (!vector) good = good && take_word(&rest, "x") && take_extent(&rest, 0, REF_MAX_EXTENT, &in->p->n);
    if (good && rest.n == 0) return true;
    return expected(in, name_extents,
                    vector ? "<m>x<k>, each in 0 .. 2^40" : "<m>x<k>x<n>, each in 0 .. 2^40", text);
}

static bool check_operand(struct parser *in, char name, lac_trans_t trans, int64_t rows, int64_t cols)
{
    const ref_operand_t *o = operand(in, name);
    bool byte_values = o->pattern.values == REF_UNIFORM || o->pattern.values == REF_ONES;

    if (o->dt == LAC_U8 && !byte_values)
        return fail(in, "field '%c': a u8 operand takes values u (any nonzero byte) or 1, got '%s'", name,
                    ref_values_name(o->pattern.values));
    bool events = o->meta == REF_META_EVENT_BITS || o->meta == REF_META_EVENT_LISTS;
    if (events && o->dt != LAC_U8)
        return fail(in, "field 'meta%c': %s wants dt%c=u8, got '%s'", name, ref_meta_name(o->meta), name,
                    type_name(o->dt));
    if (o->only && (o->meta == REF_META_NONE || o->meta == REF_META_DENSITY || events))
        return fail(in, "field 'only%c': expected meta%c=csr, csc, bits, active or ell beside it, got '%s'",
                    name, name, ref_meta_name(o->meta));
    if (o->meta == REF_META_ELL && o->pattern.structure != REF_DENSE && o->pattern.structure != REF_ZERO &&
        o->pattern.structure != REF_FAN)
        return fail(in, "field 'meta%c': ell wants rows of one length: %c=dense, zero or fan<d>, got '%s'",
                    name, name, ref_structure_name(o->pattern.structure));
    if (ref_layout_slots(&o->layout, trans == LAC_TRANS ? cols : rows, trans == LAC_TRANS ? rows : cols) < 0)
        return fail(in, "field 'extents': operand %c of %" PRId64 "x%" PRId64 " is larger than 2^44 elements",
                    name, rows, cols);
    return true;
}

/* One operand may be f32 beside one of two bytes, and then so is C. */
static bool check_types(struct parser *in)
{
    const ref_problem_t *p = in->p;
    bool half = ref_is_half(type_of(p->op)), a = half && p->a.dt == LAC_F32, b = half && p->b.dt == LAC_F32;
    if (a && !ref_is_half(p->b.dt))
        return fail(in, "field 'dtB': expected %s beside an A of f32", type_name(type_of(p->op)));
    if (b && !ref_is_half(p->a.dt))
        return fail(in, "field 'dtA': expected %s beside a B of f32", type_name(type_of(p->op)));
    if ((a || b) && p->c.dt != LAC_F32) return fail(in, "field 'dtC': expected f32 beside an operand of f32");
    return true;
}

static bool check_problem(struct parser *in)
{
    const ref_problem_t *p = in->p;
    return check_types(in) && check_operand(in, 'A', p->trans_a, p->m, p->k) &&
           check_operand(in, 'B', p->trans_b, p->k, p->n) && check_operand(in, 'C', LAC_NO_TRANS, p->m, p->n);
}

static void set_defaults(ref_problem_t *p)
{
    static const ref_operand_t plain = {
        .dt = LAC_F32, .pattern = {.structure = REF_DENSE, .density = 1.0}, .layout = {.step = 1}};
    memset(p, 0, sizeof *p);
    p->n = 1;
    p->alpha = 1.0f;
    p->a = p->b = p->c = plain;
    p->seed = 1;
}

bool ref_problem_parse(const char *text, ref_problem_t *problem, char *error, size_t error_size)
{
    static bool (*const front[])(struct parser *, struct piece) = {read_op, read_trans, read_extents};
    struct parser in = {problem, error, error_size, 0};

    if (text == NULL)
        return fail(&in,
                    "field 'operation': expected sgemm, sgemv, dgemm, dgemv, hgemm or bgemm, got no text");
    set_defaults(problem);
    for (size_t i = 0;; i++) {
        struct piece piece = {text, strcspn(text, ":")};
        if (!(i < 3 ? front[i](&in, piece) : read_field(&in, piece))) return false;
        text += piece.n;
        if (*text == '\0' && i < 2)
            return fail(&in, "field '%s': missing", i == 0 ? "transposes" : "extents");
        if (*text == '\0') return check_problem(&in);
        text++;
    }
}

/* The canonical text of a problem, and the words of the grammar. */

const char *ref_structure_name(ref_structure_t structure)
{
    static const char *const names[] = {"dense", "zero", "bern",  "block", "row",
                                        "col",   "band", "power", "fan"};
    return (unsigned)structure < sizeof names / sizeof *names ? names[structure] : "?";
}

const char *ref_values_name(ref_values_t values)
{
    static const char *const names[] = {"u", "p", "e8", "e30", "1", "i", "x", "o"};
    return (unsigned)values < sizeof names / sizeof *names ? names[values] : "?";
}

const char *ref_meta_name(ref_meta_t meta)
{
    static const char *const names[] = {"none",   "density", "csr",    "csc",    "bits",
                                        "active", "ell",     "evbits", "evlists"};
    return (unsigned)meta < sizeof names / sizeof *names ? names[meta] : "?";
}

/* Text that never overruns: length counts on like snprintf's. */
struct sink {
    char *text;
    size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void put(struct sink *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bool room = out->length < out->size;
    int n =
        vsnprintf(room ? out->text + out->length : NULL, room ? out->size - out->length : 0, format, args);
    va_end(args);
    if (n > 0) out->length += (size_t)n;
}

/* The shortest decimal that reads back as the same double, or as the same float. */
static void put_double(struct sink *out, double value)
{
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    put(out, "%s", text);
}

static void put_float(struct sink *out, float value)
{
    char text[40];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) break;
    }
    put(out, "%s", text);
}

static void put_pattern(struct sink *out, char operand, const ref_pattern_t *p)
{
    if (p->structure == REF_DENSE && p->values == REF_UNIFORM) return;
    put(out, ":%c=%s", operand, ref_structure_name(p->structure));
    if (p->structure == REF_BLOCK) put(out, "%" PRId64 "x%" PRId64 "-", p->block_rows, p->block_cols);
    if (p->structure != REF_DENSE && p->structure != REF_ZERO) put_double(out, p->density);
    if (p->values != REF_UNIFORM) put(out, "/%s", ref_values_name(p->values));
}

static void put_layout(struct sink *out, char operand, const ref_layout_t *l)
{
    if (!l->by_columns && l->step == 1 && l->pad == 0) return;
    put(out, ":lay%c=%s", operand, l->by_columns ? "col" : "row");
    if (l->step != 1) put(out, "x%" PRId64, l->step);
    if (l->pad != 0) put(out, "+%" PRId64, l->pad);
}

static void put_operand(struct sink *out, char operand, const ref_operand_t *o, lac_dt_t own)
{
    if (operand != 'C' && o->dt != own) put(out, ":dt%c=%s", operand, type_name(o->dt));
    put_layout(out, operand, &o->layout);
    if (o->meta != REF_META_NONE) put(out, ":meta%c=%s", operand, ref_meta_name(o->meta));
    if (o->frozen) put(out, ":frozen%c=1", operand);
    if (o->only) put(out, ":only%c=1", operand);
}

size_t ref_problem_print(const ref_problem_t *p, char *text, size_t size)
{
    struct sink out = {text, size, 0};
    char ta = p->trans_a == LAC_TRANS ? 'T' : 'N', tb = p->trans_b == LAC_TRANS ? 'T' : 'N';

    if (size > 0) text[0] = '\0';
    if (ref_is_vector(p))
        put(&out, "%s:%c:%" PRId64 "x%" PRId64, op_names[p->op], ta, p->m, p->k);
    else
        put(&out, "%s:%c%c:%" PRId64 "x%" PRId64 "x%" PRId64, op_names[p->op], ta, tb, p->m, p->k, p->n);
    put_pattern(&out, 'A', &p->a.pattern);
    put_pattern(&out, 'B', &p->b.pattern);
    put_pattern(&out, 'C', &p->c.pattern);
    put_operand(&out, 'A', &p->a, type_of(p->op));
    put_operand(&out, 'B', &p->b, type_of(p->op));
    put_operand(&out, 'C', &p->c, type_of(p->op));
    if (p->c.dt != type_of(p->op)) put(&out, ":dtC=%s", type_name(p->c.dt));
    if (p->alpha != 1.0f) {
        put(&out, ":alpha=");
        put_float(&out, p->alpha);
    }
    if (p->beta != 0.0f) {
        put(&out, ":beta=");
        put_float(&out, p->beta);
    }
    put(&out, ":s%" PRIu64, p->seed);
    return out.length;
}

int64_t ref_layout_slots(const ref_layout_t *layout, int64_t rows, int64_t cols)
{
    int64_t lines = layout->by_columns ? cols : rows, width = layout->by_columns ? rows : cols;
    int64_t step, ld, slots;

    if (rows == 0 || cols == 0) return 0;
    if (__builtin_mul_overflow(width, layout->step, &step)) return -1;
    if (__builtin_add_overflow(step, layout->pad, &ld)) return -1;
    if (__builtin_mul_overflow(lines - 1, ld, &slots)) return -1;
    if (__builtin_add_overflow(slots, step - layout->step + 1, &slots)) return -1;
    return slots <= REF_MAX_SLOTS ? slots : -1;
}

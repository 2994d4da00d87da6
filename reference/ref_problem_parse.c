/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Reading of problem strings: strict, and every complaint names its field. */
#include "ref_problem.h"

#include "ref_piece.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    for (ref_structure_t s = REF_DENSE; s <= REF_POWER; s++) {
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
        in, key, "one of dense, zero, bern<d>, block<h>x<w>-<d>, row<d>, col<d>, band<d>, power<d>", value);
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

static bool read_type(struct parser *in, struct piece key, struct piece value)
{
    ref_operand_t *o = operand(in, key.s[key.n - 1]);
    if (same(value, "f32"))
        o->dt = LAC_F32;
    else if (same(value, "u8"))
        o->dt = LAC_U8;
    else
        return expected(in, key, "f32 or u8", value);
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
    for (ref_meta_t m = REF_META_NONE; m <= REF_META_ACTIVE; m++) {
        if (!same(value, ref_meta_name(m))) continue;
        operand(in, key.s[key.n - 1])->meta = m;
        return true;
    }
    return expected(in, key, "one of none, density, csr, csc, bits, active", value);
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
        "expected a field A=, B=, C=, dtA=, dtB=, lay=, layA=, layB=, layC=, metaA=, metaB=, frozenA=, "
        "frozenB=, onlyA=, onlyB=, alpha=, beta= or s<seed>, got '%s'",
        show(text).text);
}

/* The three pieces in front, and what holds across fields ------------------------------------------- */

static const struct piece name_op = {"operation", 9}, name_trans = {"transposes", 10},
                          name_extents = {"extents", 7};

static bool read_op(struct parser *in, struct piece text)
{
    if (same(text, "sgemm"))
        in->p->op = REF_SGEMM;
    else if (same(text, "sgemv"))
        in->p->op = REF_SGEMV;
    else
        return expected(in, name_op, "sgemm or sgemv", text);
    return true;
}

static bool read_trans(struct parser *in, struct piece text)
{
    bool vector = in->p->op == REF_SGEMV;
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
    bool vector = in->p->op == REF_SGEMV;
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
    if (o->only && (o->meta == REF_META_NONE || o->meta == REF_META_DENSITY))
        return fail(in, "field 'only%c': expected meta%c=csr, csc, bits or active beside it, got '%s'", name,
                    name, ref_meta_name(o->meta));
    if (ref_layout_slots(&o->layout, trans == LAC_TRANS ? cols : rows, trans == LAC_TRANS ? rows : cols) < 0)
        return fail(in, "field 'extents': operand %c of %" PRId64 "x%" PRId64 " is larger than 2^44 elements",
                    name, rows, cols);
    return true;
}

static bool check_problem(struct parser *in)
{
    const ref_problem_t *p = in->p;
    return check_operand(in, 'A', p->trans_a, p->m, p->k) && check_operand(in, 'B', p->trans_b, p->k, p->n) &&
           check_operand(in, 'C', LAC_NO_TRANS, p->m, p->n);
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

    if (text == NULL) return fail(&in, "field 'operation': expected sgemm or sgemv, got no text");
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

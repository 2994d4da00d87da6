/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The canonical text of a problem, and the words of the grammar. */
#include "ref_problem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *ref_structure_name(ref_structure_t structure)
{
    static const char *const names[] = {"dense", "zero", "bern", "block", "row", "col", "band", "power"};
    return (unsigned)structure < sizeof names / sizeof *names ? names[structure] : "?";
}

const char *ref_values_name(ref_values_t values)
{
    static const char *const names[] = {"u", "p", "e8", "e30", "1", "i", "x", "o"};
    return (unsigned)values < sizeof names / sizeof *names ? names[values] : "?";
}

const char *ref_meta_name(ref_meta_t meta)
{
    static const char *const names[] = {"none", "density", "csr", "csc", "bits", "active"};
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

static void put_operand(struct sink *out, char operand, const ref_operand_t *o)
{
    if (o->dt == LAC_U8) put(out, ":dt%c=u8", operand);
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
    if (p->op == REF_SGEMV)
        put(&out, "sgemv:%c:%" PRId64 "x%" PRId64, ta, p->m, p->k);
    else
        put(&out, "sgemm:%c%c:%" PRId64 "x%" PRId64 "x%" PRId64, ta, tb, p->m, p->k, p->n);
    put_pattern(&out, 'A', &p->a.pattern);
    put_pattern(&out, 'B', &p->b.pattern);
    put_pattern(&out, 'C', &p->c.pattern);
    put_operand(&out, 'A', &p->a);
    put_operand(&out, 'B', &p->b);
    put_operand(&out, 'C', &p->c);
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

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Pieces of a text and the words and numbers in them: the lexical half of the problem parser. */
#ifndef REF_PIECE_H
#define REF_PIECE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

#endif

/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Numbers on the command line. */
#include "parse_number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

int64_t parse_integer(struct argp_state *state, const char *option, const char *text, int64_t least,
                      int64_t most)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most)
        argp_error(state, "%s: expected a whole number in %" PRId64 " .. %" PRId64 ", found '%s'", option,
                   least, most, text);
    return value;
}

double parse_real(struct argp_state *state, const char *option, const char *text, double least, double most)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (errno != 0 || end == text || *end != '\0' || !(value >= least && value <= most))
        argp_error(state, "%s: expected a number in %g .. %g, found '%s'", option, least, most, text);
    return value;
}

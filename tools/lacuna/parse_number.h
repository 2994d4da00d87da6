/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Numbers on the command line: whole, in range, or an error that names the option. */
#ifndef TOOL_PARSE_NUMBER_H
#define TOOL_PARSE_NUMBER_H

#include <argp.h>
#include <stdint.h>

/* Both end the program with a usage error when text is not such a number. */
int64_t parse_integer(struct argp_state *state, const char *option, const char *text, int64_t least,
                      int64_t most);
double parse_real(struct argp_state *state, const char *option, const char *text, double least, double most);

#endif

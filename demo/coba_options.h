/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The command line of the demo. */
#ifndef COBA_OPTIONS_H
#define COBA_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { COBA_TRIALS_MAX = 4096 };

typedef struct coba_options {
    int neurons;
    int trials;
    int steps;
    double connectivity;
    uint64_t seed;
    const char *raster;     /* file for the spikes, or NULL                     */
    const char *potentials; /* file for the final potentials, or NULL           */
    bool summary;           /* end with one line of key=value                   */
    bool picture;           /* draw the raster in the terminal                  */
} coba_options_t;

/* Reads argv. Prints what is wrong, naming the option, and exits with EX_USAGE when something is. */
coba_options_t coba_options_parse(int argc, char **argv);

#endif

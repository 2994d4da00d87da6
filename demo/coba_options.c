/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Reads the command line with argp. */
#include "coba_options.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coba_network.h"

enum { KEY_RASTER = 0x100, KEY_POTENTIALS, KEY_SUMMARY, KEY_NO_PICTURE };

static const char about[] =
    "Simulate the Vogels-Abbott network of 4000 conductance-based integrate-and-fire neurons, several "
    "trials side by side, with two matrix products a time step.\v"
    "After a stimulus of 50 ms nothing drives the network but its own spikes. The result does not depend on "
    "what computes the products: every sum is exact.";

static const struct argp_option table[] = {
    {"neurons", 'n', "N", 0, "Neurons, four fifths of them excitatory (4000)", 0},
    {"trials", 't', "N", 0, "Trials: the rows of each product (10)", 0},
    {"ms", 'm', "MS", 0, "Simulated time in milliseconds, in steps of 0.1 (300)", 0},
    {"connectivity", 'c', "P", 0,
     "Probability of a synapse between two neurons (80 / neurons: 0.02 for 4000)", 0},
    {"seed", 's', "N", 0, "Seed of the wiring and of the initial conditions (1)", 0},
    {"raster", KEY_RASTER, "FILE", 0, "Write the spikes, one line each: trial step neuron", 0},
    {"potentials", KEY_POTENTIALS, "FILE", 0,
     "Write the final membrane potentials, one line each: trial neuron millivolt", 0},
    {"summary", KEY_SUMMARY, NULL, 0, "Report in one line of key=value", 0},
    {"no-picture", KEY_NO_PICTURE, NULL, 0, "Draw no raster", 0},
    {0},
};

static int whole_number(struct argp_state *state, const char *option, const char *text, int low, int high)
{
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < low || value > high) {
        argp_error(state, "--%s: '%s' is not a whole number from %d to %d", option, text, low, high);
    }
    return (int)value;
}

static double real_number(struct argp_state *state, const char *option, const char *text, double low,
                          double high)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= low && value <= high)) {
        argp_error(state, "--%s: '%s' is not a number from %g to %g", option, text, low, high);
    }
    return value;
}

/* strtoull reads "-1" as the largest number, so the first character has to be a digit. */
static uint64_t seed_number(struct argp_state *state, const char *text)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 0);
    if (errno != 0 || *end != '\0' || !isdigit((unsigned char)text[0])) {
        argp_error(state, "--seed: '%s' is not a whole number from 0 to 2^64 - 1", text);
    }
    return value;
}

static error_t read_option(int key, char *text, struct argp_state *state)
{
    coba_options_t *options = state->input;
    switch (key) {
    case 'n':
        options->neurons = whole_number(state, "neurons", text, 10, 200000);
        return 0;
    case 't':
        options->trials = whole_number(state, "trials", text, 1, COBA_TRIALS_MAX);
        return 0;
    case 'm':
        options->steps = (int)(real_number(state, "ms", text, 0.1, 1e6) / COBA_DT + 0.5);
        return 0;
    case 'c':
        options->connectivity = real_number(state, "connectivity", text, 0.0, 1.0);
        return 0;
    case 's':
        options->seed = seed_number(state, text);
        return 0;
    case KEY_RASTER:
        options->raster = text;
        return 0;
    case KEY_POTENTIALS:
        options->potentials = text;
        return 0;
    case KEY_SUMMARY:
        options->summary = true;
        return 0;
    case KEY_NO_PICTURE:
        options->picture = false;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s': there are options only", text);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

coba_options_t coba_options_parse(int argc, char **argv)
{
    coba_options_t options = {
        .neurons = 4000, .trials = 10, .steps = 3000, .connectivity = -1.0, .seed = 1, .picture = true};
    const struct argp parser = {.options = table, .parser = read_option, .doc = about};
    argp_parse(&parser, argc, argv, 0, NULL, &options);
    /* A fixed number of synapses per neuron keeps a network of another size in the same regime. */
    if (options.connectivity < 0.0) {
        options.connectivity = options.neurons > COBA_IN_DEGREE ? COBA_IN_DEGREE / options.neurons : 1.0;
    }
    return options;
}

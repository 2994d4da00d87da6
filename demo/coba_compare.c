/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Compares the spikes and the final potentials of two runs, and fails unless they are the same to the bit. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coba_spikes.h"

enum { SAME = 0, DIFFERENT = 1, UNREADABLE = 2 };

/* One line of either kind of file. */
typedef struct record {
    long a, b;    /* trial and step, or trial and neuron */
    double value; /* neuron, or millivolt                */
} record_t;

/* The two files of one kind, read side by side. */
typedef struct pair {
    FILE *file[2];
    const char *path[2];
    char header[2][256];
} pair_t;

static void fail(const char *path, const char *why)
{
    fprintf(stderr, "coba_compare: '%s': %s\n", path, why);
    exit(UNREADABLE);
}

static void open_pair(pair_t *pair, const char *first, const char *second)
{
    *pair = (pair_t){.path = {first, second}};
    for (int i = 0; i < 2; i++) {
        pair->file[i] = fopen(pair->path[i], "r");
        if (!pair->file[i]) fail(pair->path[i], strerror(errno));
        if (!fgets(pair->header[i], sizeof pair->header[i], pair->file[i]) || pair->header[i][0] != '#') {
            fail(pair->path[i], "has no header line");
        }
    }
    if (strcmp(pair->header[0], pair->header[1]) != 0) fail(second, "is of a run of other extents");
}

static void close_pair(pair_t *pair)
{
    for (int i = 0; i < 2; i++) fclose(pair->file[i]);
}

/* False at the end of the file. */
static bool next(pair_t *pair, int i, record_t *record)
{
    const int fields = fscanf(pair->file[i], "%ld %ld %lf", &record->a, &record->b, &record->value);
    if (fields == EOF && feof(pair->file[i])) return false;
    if (fields != 3) fail(pair->path[i], "has a line that is not three numbers");
    return true;
}

/* Order of the spike lists: step, trial, neuron. */
static int spike_order(const record_t *x, const record_t *y)
{
    if (x->b != y->b) return x->b < y->b ? -1 : 1;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

/* Number of spikes that only one of the runs has: a merge of two sorted lists. */
static long spikes_apart(const char *first, const char *second)
{
    pair_t pair;
    record_t x, y;
    long apart = 0;
    open_pair(&pair, first, second);
    bool has_x = next(&pair, 0, &x), has_y = next(&pair, 1, &y);
    while (has_x || has_y) {
        const int order = !has_x ? 1 : !has_y ? -1 : spike_order(&x, &y);
        apart += order != 0;
        if (order <= 0) has_x = next(&pair, 0, &x);
        if (order >= 0) has_y = next(&pair, 1, &y);
    }
    close_pair(&pair);
    return apart;
}

/* Number of potentials that differ in a bit; the largest difference is NaN once one of them is NaN. */
static long potentials_apart(const char *first, const char *second, double *largest)
{
    pair_t pair;
    record_t x, y;
    long apart = 0;
    open_pair(&pair, first, second);
    *largest = 0;
    bool has_x = next(&pair, 0, &x), has_y = next(&pair, 1, &y);
    while (has_x && has_y) {
        const float v = (float)x.value, w = (float)y.value;
        const double difference = fabs((double)v - (double)w);
        apart += memcmp(&v, &w, sizeof v) != 0;
        if (!(difference <= *largest) && !isnan(*largest)) *largest = difference;
        has_x = next(&pair, 0, &x);
        has_y = next(&pair, 1, &y);
    }
    if (has_x != has_y) fail(pair.path[has_x ? 1 : 0], "is shorter than the other");
    close_pair(&pair);
    return apart;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "Usage: coba_compare RASTER RASTER POTENTIALS POTENTIALS\n"
                        "Exit status: 0 the runs are the same to the bit, 1 they differ, 2 not readable\n");
        return UNREADABLE;
    }
    double largest;
    const long spikes = spikes_apart(argv[1], argv[2]);
    const long potentials = potentials_apart(argv[3], argv[4], &largest);
    printf("spikes in one run only: %ld; potentials that differ: %ld, at most by %g mV\n", spikes, potentials,
           largest);
    return spikes == 0 && potentials == 0 ? SAME : DIFFERENT;
}

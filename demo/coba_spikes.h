/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The list of spikes of a run: grown while it runs, then summed up and written out. */
#ifndef COBA_SPIKES_H
#define COBA_SPIKES_H

#include <stddef.h>
#include <stdint.h>

typedef struct coba_spike {
    int32_t trial, step, neuron;
} coba_spike_t;

/* In ascending order of step, then trial, then neuron. A list of zeros is an empty one. */
typedef struct coba_spikes {
    coba_spike_t *spike;
    size_t count, capacity;
} coba_spikes_t;

/* Returns 0, or -1 when there is no memory. */
int coba_spikes_push(coba_spikes_t *spikes, coba_spike_t spike);
void coba_spikes_free(coba_spikes_t *spikes);

/* The extents that a reader of the files needs. */
typedef struct coba_shape {
    int neurons, excitatory, trials, steps;
} coba_shape_t;

/* Text, one spike a line: "trial step neuron", below one line "# key=value ..." with the extents.
 * Returns 0, or -1 with errno set. */
int coba_spikes_write(const coba_spikes_t *spikes, coba_shape_t shape, const char *path);

/* Text, one neuron a line: "trial neuron millivolt", with digits enough to give the same float again.
 * v is [trials x neurons]. Returns 0, or -1 with errno set. */
int coba_potentials_write(const float *v, coba_shape_t shape, const char *path);

/* FNV-1a, 64 bits, of the little-endian words of the spikes, and of the bits of count floats. */
uint64_t coba_spikes_checksum(const coba_spikes_t *spikes);
uint64_t coba_floats_checksum(const float *value, size_t count);

#endif

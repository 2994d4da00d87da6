/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Keeps, writes and sums up the spikes of a run. */
#include "coba_spikes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coba_network.h"

int coba_spikes_push(coba_spikes_t *spikes, coba_spike_t spike)
{
    if (spikes->count == spikes->capacity) {
        const size_t capacity = spikes->capacity ? 2 * spikes->capacity : 4096;
        coba_spike_t *grown = reallocarray(spikes->spike, capacity, sizeof *grown);
        if (!grown) return -1;
        spikes->spike = grown;
        spikes->capacity = capacity;
    }
    spikes->spike[spikes->count++] = spike;
    return 0;
}

void coba_spikes_free(coba_spikes_t *spikes)
{
    free(spikes->spike);
    *spikes = (coba_spikes_t){0};
}

static FILE *open_with_header(coba_shape_t shape, const char *path)
{
    FILE *file = fopen(path, "w");
    if (file) {
        fprintf(file, "# neurons=%d excitatory=%d trials=%d steps=%d dt_ms=%g\n", shape.neurons,
                shape.excitatory, shape.trials, shape.steps, COBA_DT);
    }
    return file;
}

/* A full disk is seen by ferror or, at the latest, when fclose writes the rest. */
static int close_checked(FILE *file)
{
    const int failed = ferror(file), cause = errno;
    if (fclose(file) != 0) return -1;
    errno = cause;
    return failed ? -1 : 0;
}

int coba_spikes_write(const coba_spikes_t *spikes, coba_shape_t shape, const char *path)
{
    FILE *file = open_with_header(shape, path);
    if (!file) return -1;
    for (size_t i = 0; i < spikes->count; i++) {
        const coba_spike_t s = spikes->spike[i];
        if (fprintf(file, "%d %d %d\n", s.trial, s.step, s.neuron) < 0) break;
    }
    return close_checked(file);
}

int coba_potentials_write(const float *v, coba_shape_t shape, const char *path)
{
    FILE *file = open_with_header(shape, path);
    if (!file) return -1;
    for (int trial = 0; trial < shape.trials; trial++) {
        for (int neuron = 0; neuron < shape.neurons; neuron++) {
            const double value = (double)v[(size_t)trial * (size_t)shape.neurons + (size_t)neuron];
            if (fprintf(file, "%d %d %.9g\n", trial, neuron, value) < 0) return close_checked(file);
        }
    }
    return close_checked(file);
}

static const uint64_t fnv_start = UINT64_C(0xcbf29ce484222325);

static uint64_t fnv_word(uint64_t hash, uint32_t word)
{
    for (int byte = 0; byte < 4; byte++) {
        hash = (hash ^ (word >> 8 * byte & 0xff)) * UINT64_C(0x100000001b3);
    }
    return hash;
}

uint64_t coba_spikes_checksum(const coba_spikes_t *spikes)
{
    uint64_t hash = fnv_start;
    for (size_t i = 0; i < spikes->count; i++) {
        hash = fnv_word(hash, (uint32_t)spikes->spike[i].trial);
        hash = fnv_word(hash, (uint32_t)spikes->spike[i].step);
        hash = fnv_word(hash, (uint32_t)spikes->spike[i].neuron);
    }
    return hash;
}

uint64_t coba_floats_checksum(const float *value, size_t count)
{
    uint64_t hash = fnv_start;
    for (size_t i = 0; i < count; i++) {
        uint32_t word;
        memcpy(&word, &value[i], sizeof word);
        hash = fnv_word(hash, word);
    }
    return hash;
}

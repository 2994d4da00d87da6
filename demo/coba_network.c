/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Draws the wiring of the network. */
#include "coba_network.h"

#include <stdlib.h>
#include <unistd.h>

#include "coba_random.h"

/* malloc promises memory that the machine may not have; better an error now than a killed process later. */
static int fits_in_memory(size_t bytes)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages <= 0 || page <= 0 || bytes / (size_t)page < (size_t)pages;
}

int coba_network_build(coba_network_t *network, int neurons, double connectivity, uint64_t seed)
{
    const size_t count = (size_t)neurons * (size_t)neurons;
    *network = (coba_network_t){.neurons = neurons, .excitatory = neurons - neurons / 5};
    if (count > SIZE_MAX / sizeof(float) || !fits_in_memory(count * sizeof(float))) return -1;
    network->weights = calloc(count, sizeof(float));
    if (!network->weights) return -1;

    coba_random_t random = coba_random_stream(seed, 0);
    for (int from = 0; from < neurons; from++) {
        float *row = network->weights + (size_t)from * (size_t)neurons;
        const float weight = (float)(from < network->excitatory ? COBA_WE : COBA_WI);
        for (int to = 0; to < neurons; to++) {
            if (coba_random_uniform(&random) < connectivity && to != from) {
                row[to] = weight;
                network->synapses++;
            }
        }
    }
    return 0;
}

void coba_network_free(coba_network_t *network)
{
    free(network->weights);
    *network = (coba_network_t){0};
}

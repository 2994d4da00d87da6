/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Integrates the membrane equations and passes the spikes on through the synapses. */
#include "coba_simulate.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "coba_random.h"

/* All arrays are [trials x neurons], row-major. */
typedef struct state {
    float *v;              /* mV: membrane potential                              */
    float *g_e, *g_i;      /* nS: conductances                                    */
    float *add_e, *add_i;  /* nS: what this step's spikes add to them             */
    float *spikes;         /* 1 where a neuron fired in this step, else 0         */
    int32_t *held;         /* steps for which a neuron stays refractory           */
    coba_random_t *random; /* [trials] where each trial's stream stands           */
} state_t;

double coba_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int state_allocate(state_t *state, int trials, size_t count)
{
    *state = (state_t){
        .v = calloc(count, sizeof(float)),
        .g_e = calloc(count, sizeof(float)),
        .g_i = calloc(count, sizeof(float)),
        .add_e = calloc(count, sizeof(float)),
        .add_i = calloc(count, sizeof(float)),
        .spikes = calloc(count, sizeof(float)),
        .held = calloc(count, sizeof(int32_t)),
        .random = calloc((size_t)trials, sizeof(coba_random_t)),
    };
    const int ok = state->v && state->g_e && state->g_i && state->add_e && state->add_i && state->spikes &&
                   state->held && state->random;
    return ok ? 0 : -1;
}

static void state_free(state_t *state)
{
    free(state->v);
    free(state->g_e);
    free(state->g_i);
    free(state->add_e);
    free(state->add_i);
    free(state->spikes);
    free(state->held);
    free(state->random);
}

/* Brette et al. 2007, Brian code of benchmark 1, with draws below zero conductance cut off at zero. */
static void start_trial(state_t *state, int trial, int neurons, uint64_t seed)
{
    coba_random_t *random = &state->random[trial];
    *random = coba_random_stream(seed, (uint64_t)trial + 1);
    for (int neuron = 0; neuron < neurons; neuron++) {
        const size_t i = (size_t)trial * (size_t)neurons + (size_t)neuron;
        const double v = COBA_EL + 5.0 * coba_random_normal(random) - 5.0;
        const double g_e = COBA_GL * (1.5 * coba_random_normal(random) + 4.0);
        const double g_i = COBA_GL * (12.0 * coba_random_normal(random) + 20.0);
        state->v[i] = (float)v;
        state->g_e[i] = (float)(g_e > 0 ? g_e : 0);
        state->g_i[i] = (float)(g_i > 0 ? g_i : 0);
    }
}

/* exp(-dt / tau) for every conductance; where a silent network has forgotten its last spike, 0 instead of the
 * subnormal numbers on which processors are slow. */
static inline float decayed(float g, float factor)
{
    return g > 1e-20f ? g * factor : 0.0f;
}

/* One forward Euler step of the potentials; the conductances decay exactly. Branch-free, to vectorise. */
static void integrate(state_t *state, size_t count)
{
    const float euler = (float)(COBA_DT / COBA_C);
    const float decay_e = (float)exp(-COBA_DT / COBA_TAU_E), decay_i = (float)exp(-COBA_DT / COBA_TAU_I);
    const int32_t refractory = (int32_t)(COBA_REFRACTORY / COBA_DT + 0.5);
    float *restrict v = state->v, *restrict g_e = state->g_e, *restrict g_i = state->g_i;
    float *restrict spikes = state->spikes;
    int32_t *restrict held = state->held;

    for (size_t i = 0; i < count; i++) {
        const float current = (float)COBA_GL * ((float)COBA_EL - v[i]) + g_e[i] * ((float)COBA_EE - v[i]) +
                              g_i[i] * ((float)COBA_EI - v[i]);
        const float moved = held[i] > 0 ? (float)COBA_VR : v[i] + euler * current;
        const int32_t waiting = held[i] > 0 ? held[i] - 1 : 0;
        const int fired = moved > (float)COBA_VT;
        spikes[i] = fired ? 1.0f : 0.0f;
        v[i] = fired ? (float)COBA_VR : moved;
        held[i] = fired ? refractory : waiting;
        g_e[i] = decayed(g_e[i], decay_e);
        g_i[i] = decayed(g_i[i], decay_i);
    }
}

/* The stimulus from outside: a Bernoulli draw for each synapse and step. */
static void stimulate(state_t *state, int trials, int neurons)
{
    for (int trial = 0; trial < trials; trial++) {
        float *g_e = state->g_e + (size_t)trial * (size_t)neurons;
        for (int neuron = 0; neuron < neurons / COBA_STIM_SHARE; neuron++) {
            for (int synapse = 0; synapse < COBA_STIM_SYNAPSES; synapse++) {
                const double draw = coba_random_uniform(&state->random[trial]);
                if (draw < COBA_DT / COBA_STIM_INTERVAL) g_e[neuron] += (float)COBA_WE;
            }
        }
    }
}

/* The excitatory columns of the spikes times the excitatory rows of the weights, and likewise inhibitory.
 * beta = 0: the product alone is a sum of whole numbers and exact; the conductances, which decay by a
 * rounded factor, take it up afterwards, each element in one addition. */
static void propagate(coba_synapses_t *synapses, state_t *state, size_t count, coba_result_t *result)
{
    const double start = coba_seconds();
    coba_synapses_pass(synapses, state->spikes, state->add_e, state->add_i);
    result->product_seconds += coba_seconds() - start;
    result->products += 2;

    for (size_t i = 0; i < count; i++) {
        state->g_e[i] += state->add_e[i];
        state->g_i[i] += state->add_i[i];
    }
}

static int record(const state_t *state, int step, int trials, int neurons, coba_spikes_t *spikes)
{
    for (int trial = 0; trial < trials; trial++) {
        const float *row = state->spikes + (size_t)trial * (size_t)neurons;
        for (int neuron = 0; neuron < neurons; neuron++) {
            if (row[neuron] == 0.0f) continue;
            if (coba_spikes_push(spikes, (coba_spike_t){trial, step, neuron}) != 0) return -1;
        }
    }
    return 0;
}

int coba_simulate(const coba_network_t *network, coba_synapses_t *synapses, int trials, int steps,
                  uint64_t seed, coba_progress_t *progress, coba_result_t *result)
{
    const size_t count = (size_t)trials * (size_t)network->neurons;
    state_t state;
    *result = (coba_result_t){0};
    int status = state_allocate(&state, trials, count);
    if (status != 0) goto done;
    for (int trial = 0; trial < trials; trial++) start_trial(&state, trial, network->neurons, seed);

    const double start = coba_seconds();
    for (int step = 0; step < steps; step++) {
        integrate(&state, count);
        propagate(synapses, &state, count, result);
        if (step * COBA_DT < COBA_STIM_MS) stimulate(&state, trials, network->neurons);
        status = record(&state, step, trials, network->neurons, &result->spikes);
        if (status != 0) goto done;
        if (progress) progress(step + 1, steps);
    }
    result->loop_seconds = coba_seconds() - start;
    result->v = state.v;
    state.v = NULL;

done:
    state_free(&state);
    return status;
}

void coba_result_free(coba_result_t *result)
{
    coba_spikes_free(&result->spikes);
    free(result->v);
    *result = (coba_result_t){0};
}

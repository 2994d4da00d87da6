/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One step of a network of leaky integrate-and-fire neurons: the spikes of the step before through their
 * synapses, integration, threshold, reset, refractory time, and the spikes of this step.
 *
 * The neurons are n in each of m independent copies of the network (trials, a batch); what belongs to a
 * neuron lies in [m][n] arrays of the caller's, by rows without gaps, in the context's space. Units are the
 * caller's: conductances g_q count in multiples of the leak conductance, currents in volts, so that
 *
 *     tau dv/dt = v_rest - v + current + sum over conductances g_q (reversal_q - v) + sum over currents g_q
 *
 * A step is, for each input q and then each neuron, in f32 with one rounding an operation, fma(x, y, z) being
 * x y + z rounded once:
 *
 *     received_q := events_q w_q                                            by any route, zeros skipped
 *     g_q := fma(weight_q, received_q, decay_q * g_q)                       0 where below 1e-30 in magnitude
 *     a neuron with wait > 0: wait := wait - 1, no spike, v stays
 *     any other:  G := 1 + g_q + ..      d := v_rest + current;  d := fma(g_q, reversal_q, d) or d + g_q ..
 *                 u := d / G;   v := fma(exp(-dt / tau G), v - u, u)        exponential Euler: exact for
 *                                                                           inputs that stay
 *                 v > v_threshold: v := v_reset, wait := refractory, a spike
 *
 * exp is a polynomial of the library's own (within 2 units in the last place), so that the host's and a
 * device's neurons agree to the bit where what they receive does: always where sums of weights are exact. */
#ifndef LACUNA_LIF_H
#define LACUNA_LIF_H

#include "lacuna/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LAC_LIF_INPUTS_MAX 8

/* One kind of synapse. */
typedef struct lac_lif_input {
    lac_obj_t events; /* m x k, u8 or f32: who fired in the step before; may lie in lif->spikes          */
    lac_obj_t w;      /* k x n: dense, or sparse only with CSR, CSC or a fixed fan-out attached          */
    float weight;     /* of each entry of w besides its value: one value for all, where w holds ones       */
    float decay;      /* of g in a step: exp(-dt / tau of the synapse); 0: a synapse that lasts one step  */
    int conductance;  /* nonzero: g (reversal - v) flows; 0: g itself                                    */
    float reversal;
    float *g;        /* [m][n] state                                                                    */
    float *received; /* [m][n] out: events w of this step                                               */
} lac_lif_input_t;

/* Set size to sizeof(lac_lif_t) and leave unknown members zero. */
typedef struct lac_lif {
    size_t size;
    lac_dim_t m, n;
    float dt, tau; /* in one unit; both above 0                                            */
    float v_rest, v_threshold, v_reset;
    int32_t refractory;   /* steps after a spike in which v stays; 0: none, and wait is not used     */
    const float *current; /* [n], the same in every copy; NULL: none                                 */
    float *v;             /* [m][n] state                                                            */
    int32_t *wait;        /* [m][n] state, 0 to begin with                                           */
    uint8_t *spikes;      /* [m][n] out: 1 where a neuron fired, else 0: events of the next step     */
    uint64_t *bits;       /* [m][ceil(n / 64)] out: the same as bits, unused ones 0: events of the
                             next step, too, by lac_meta_attach_event_bits; NULL: not wanted            */
    int32_t *list;        /* [m][n] out: who fired in each copy, ascending: events of the next step, too, by
                             lac_meta_attach_event_lists, which on a device take longer to make; NULL: not
                             wanted                                                                    */
    int32_t *count;       /* [m] out, with a list: how many fired                                      */
    int inputs;           /* 0 .. LAC_LIF_INPUTS_MAX                                                  */
    const lac_lif_input_t *input;
    uint8_t *spikes_twin; /* [m][n] out: the spikes once more, for a ring that is read across its end (delays
                             of single connections, docs/user/operators.md); NULL: not wanted. May hold
                             events, too       */
    uint64_t *bits_twin;  /* the same of bits, where there are any                                        */
} lac_lif_t;

/* Makes one step. On a device it is queued: a product for each input and one launch; in steady state it
 * neither allocates nor waits, and may be captured (run it once before); the length of a list stays there.
 * Zeros of the events are never multiplied, whatever route serves (LAC_SKIP_GUARANTEED_A): NaN or Inf in a
 * row of w that no event names does not show. The same inputs on one device give the same bits. Errors, with
 * a message that names the member: NULL; EXTENT; STRIDE; TYPE; SPACE; EMPTY; STALE; ALIAS (arrays overlap;
 * spikes may hold the events); VALUE (a size of no version, inputs out of range, dt or tau not above 0, a
 * negative refractory time, nan = strict); MEMORY; UNAVAILABLE (a context whose device has no such step).
 * Where checks fail nothing is written. */
LAC_API lac_status_t lac_lif_step(lac_ctx_t *ctx, const lac_lif_t *lif);

#ifdef __cplusplus
}
#endif
#endif

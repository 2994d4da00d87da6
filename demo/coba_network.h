/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The Vogels-Abbott network: its constants, and its wiring as one dense weight matrix.
 *
 * T. P. Vogels and L. F. Abbott, "Signal propagation and logic gating in networks of integrate-and-fire
 * neurons", J. Neurosci. 25(46):10786-10795, 2005; with the parameters of benchmark 1 (COBA) of
 * R. Brette et al., "Simulation of networks of spiking neurons: a review of tools and strategies",
 * J. Comput. Neurosci. 23(3):349-398, 2007.
 *
 * Units: ms, mV, pF, nS and pA, which fit together without factors (nS mV = pA, pA ms / pF = mV).
 *
 *     C dv/dt   = gl (El - v) + ge (Ee - v) + gi (Ei - v)      v > Vt: a spike, v := Vr, held for 5 ms
 *     dge/dt    = -ge / taue,     dgi/dt = -gi / taui
 *     a spike of an excitatory neuron adds we to ge of its targets; of an inhibitory one, wi to gi.
 *
 * For the first 50 ms one neuron in fifty gets spikes from outside, as in that benchmark; after that nothing
 * drives the network but itself. */
#ifndef COBA_NETWORK_H
#define COBA_NETWORK_H

#include <stdint.h>

#define COBA_DT            0.1     /* ms: time step                                                */
#define COBA_C             200.0   /* pF: membrane capacitance; C / gl = 20 ms                     */
#define COBA_GL            10.0    /* nS: leak                                                     */
#define COBA_EL            (-60.0) /* mV: resting potential                                        */
#define COBA_VT            (-50.0) /* mV: threshold                                                */
#define COBA_VR            (-60.0) /* mV: reset                                                    */
#define COBA_EE            0.0     /* mV: reversal potential of excitation                         */
#define COBA_EI            (-80.0) /* mV: reversal potential of inhibition                         */
#define COBA_TAU_E         5.0     /* ms: decay of excitation                                      */
#define COBA_TAU_I         10.0    /* ms: decay of inhibition                                      */
#define COBA_REFRACTORY    5.0     /* ms                                                           */
#define COBA_WE            6.0     /* nS: an excitatory synapse                                    */
#define COBA_WI            67.0    /* nS: an inhibitory synapse                                    */
#define COBA_STIM_MS       50.0    /* ms: how long the stimulus lasts                              */
#define COBA_STIM_SHARE    50      /* one neuron in so many is stimulated                          */
#define COBA_STIM_SYNAPSES 20      /* synapses of strength COBA_WE on each of them                 */
#define COBA_STIM_INTERVAL 70.0    /* ms: mean interval between the spikes of one of these synapses */
#define COBA_IN_DEGREE     80.0    /* synapses onto a neuron on average: 2 % of 4000               */

/* Neurons 0 .. excitatory - 1 excite, the others inhibit.
 * Weights in nS are whole numbers, so every sum of fewer than 2^24 / 67 of them is exact in binary32
 * whatever its order: two BLAS libraries that are both right give the same bits. */
typedef struct coba_network {
    int neurons;
    int excitatory;
    int64_t synapses;
    float *weights; /* [neurons x neurons] row-major, nS: from row to column, 0 where there is no synapse */
} coba_network_t;

/* Connects each ordered pair of different neurons with the given probability. Returns 0, or -1 when there
 * is no memory for the weights. */
int coba_network_build(coba_network_t *network, int neurons, double connectivity, uint64_t seed);

/* A network of zeros may be freed. */
void coba_network_free(coba_network_t *network);

#endif

#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Times the network of Vogels and Abbott (COBA), as in brainevent's examples, with its own kernels and with the backend "lacuna".

usage: brainevent_coba.py RESULT.json [--neurons 4000,400000] [--steps N] [--rounds N]

Four of five neurons excite; each has 80 connections of one strength; conductances decay exponentially; steps of 0.1 ms by exponential Euler. All
steps of a run are one program of JAX. The backends take turns in one process; times are medians of the rounds, with quartiles. A step's spikes are
the same for every backend until sums that are rounded otherwise part them; the firing rates must agree."""
import argparse
import datetime
import functools
import json
import statistics
import sys
import time

import brainevent
import jax
import jax.numpy as jnp
import numpy as np

import lacuna_blas
import lacuna_blas.brainevent as backend

SCHEMA = "lacuna-brainevent-coba-1"
PLATFORM = "cpu" if jax.default_backend() == "cpu" else "gpu"
BACKENDS = ({"cpu": "numba", "gpu": "cuda_raw"}[PLATFORM], "jax_raw", backend.NAME)
CONNECTIONS, STEP_MS = 80, 0.1
TAU, V_REST, V_THRESHOLD, V_RESET, REFRACTORY_MS, CURRENT = 20.0, -60.0, -50.0, -60.0, 5.0, 20.0
INPUTS = {"excitatory": (0.6, 5.0, 0.0), "inhibitory": (6.7, 10.0, -80.0)}  # strength, time constant, reversal potential


def network(neurons, seed=11):
    random = np.random.default_rng(seed)
    excitatory = neurons * 4 // 5
    indices = {name: jnp.asarray(random.integers(0, neurons, (count, CONNECTIONS)).astype(np.int32))
               for name, count in (("excitatory", excitatory), ("inhibitory", neurons - excitatory))}
    zeros = jnp.zeros(neurons, jnp.float32)
    state = {"v": jnp.asarray(random.normal(-55.0, 2.0, neurons).astype(np.float32)), "wait": jnp.zeros(neurons, jnp.int32),
             "spikes": jnp.zeros(neurons, bool), "g": {name: zeros for name in INPUTS}, "count": zeros}
    return indices, state


def step(name, indices, state):
    """One step of 0.1 ms; strengths in units of the leak's conductance."""
    neurons = state["v"].shape[0]
    split = neurons * 4 // 5
    spikes = {"excitatory": state["spikes"][:split], "inhibitory": state["spikes"][split:]}
    g, current = {}, CURRENT
    for each, (strength, tau, reversal) in INPUTS.items():
        received = brainevent.binary_fcnmv(jnp.full(1, strength, jnp.float32), indices[each], spikes[each], shape=(spikes[each].shape[0], neurons),
                                           transpose=True, backend=name)
        g[each] = state["g"][each] * np.float32(np.exp(-STEP_MS / tau)) + received
        current = current + g[each] * (reversal - state["v"])
    v = state["v"] + (V_REST - state["v"] + current) * np.float32(STEP_MS / TAU)
    waits = state["wait"] > 0
    v = jnp.where(waits, V_RESET, v)
    fired = (v >= V_THRESHOLD) & ~waits
    wait = jnp.where(fired, round(REFRACTORY_MS / STEP_MS), jnp.maximum(state["wait"] - 1, 0))
    return {"v": jnp.where(fired, V_RESET, v), "wait": wait, "spikes": fired, "g": g, "count": state["count"] + fired}


@functools.partial(jax.jit, static_argnums=(0, 3))
def run(name, indices, state, steps):
    return jax.lax.fori_loop(0, steps, lambda _, s: step(name, indices, s), state)


def measure(neurons, steps, rounds):
    indices, state = network(neurons)
    rates = {}
    for name in BACKENDS:
        done = jax.block_until_ready(run(name, indices, state, steps))
        rates[name] = float(done["count"].sum()) / neurons / (steps * STEP_MS * 1e-3)
    times = {name: [] for name in BACKENDS}
    for _ in range(rounds):
        for name in BACKENDS:
            begin = time.perf_counter()
            jax.block_until_ready(run(name, indices, state, steps))
            times[name].append(1e6 * (time.perf_counter() - begin) / steps)
    found = {name: dict(zip(("p25_us", "median_us", "p75_us"), statistics.quantiles(values, n=4)), rate_hz=rates[name]) for name, values in times.items()}
    found["speedup"] = statistics.median(x / y for x, y in zip(times[BACKENDS[0]], times[backend.NAME]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("--neurons", default="4000,400000")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    backend.register()
    report = {"schema": SCHEMA, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "jax": jax.__version__,
              "brainevent": brainevent.__version__, "device": str(jax.devices()[0].device_kind), "steps": options.steps, "rounds": options.rounds,
              "lacuna": dict(lacuna_blas.thread_context().info()), "networks": {}}
    print(f"{'us a step':<20} " + " ".join(f"{each:>10}" for each in BACKENDS) + f" {BACKENDS[0] + '/lacuna':>16} {'rate, Hz':>9}")
    for neurons in map(int, options.neurons.split(",")):
        found = report["networks"][neurons] = measure(neurons, options.steps, options.rounds)
        rates = [found[each]["rate_hz"] for each in BACKENDS]
        print(f"{f'{neurons} neurons':<20} " + " ".join(f"{found[each]['median_us']:>10.1f}" for each in BACKENDS) +
              f" {found['speedup']:>15.2f}x {rates[-1]:>9.1f}", flush=True)
        if not (min(rates) > 0 and max(rates) - min(rates) <= 0.05 * max(rates)):
            sys.exit(f"{neurons} neurons: firing rates of {rates} Hz")
    report["kernels"] = {f"{name}: {who}": count for (name, who), count in backend.counts().items()}
    with open(options.result, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()

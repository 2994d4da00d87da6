#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Times brainevent's products by its own backends and by "lacuna": dense, CSR and fixed fan-out, the steps of networks of 4,000 and 400,000 neurons among them.

usage: brainevent_ops.py RESULT.json [--rounds N] [--quick] [--only TEXT] [--own N] [--seconds S]

Run it where lacuna_blas and brainevent 0.3.0 are installed. The backends of one product take turns in one process; times are medians of the rounds, with
quartiles; each call waits for its result, and JAX's own share of a call is in all of them. Results are compared with those of the first backend.
--own N: then brainevent's own benchmarks of the same primitives, the first N configurations of each. --seconds: begins nothing after so many."""
import argparse
import datetime
import itertools
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

SCHEMA = "lacuna-brainevent-ops-1"
PLATFORM = "cpu" if jax.default_backend() == "cpu" else "gpu"
BACKENDS = ({"cpu": "numba", "gpu": "cuda_raw"}[PLATFORM], "jax_raw", backend.NAME)


def spikes(random, count, density):
    return jnp.asarray(random.random(count) < density)


def dense(random, n, density):
    weights, events = jnp.asarray(random.standard_normal((n, n)).astype(np.float32)), spikes(random, n, density)
    return lambda name: jax.jit(lambda w, s: brainevent.binary_densemv(w, s, transpose=True, backend=name)), (weights, events)


def fan_out(random, n, connections, density, transpose=True, homogeneous=True):
    """The step of a network: each neuron has as many connections."""
    indices = jnp.asarray(random.integers(0, n, (n, connections)).astype(np.int32))
    weights = jnp.ones(1, jnp.float32) if homogeneous else jnp.asarray(random.standard_normal((n, connections)).astype(np.float32))
    return lambda name: jax.jit(lambda w, i, s: brainevent.binary_fcnmv(w, i, s, shape=(n, n), transpose=transpose, backend=name)), (
        weights, indices, spikes(random, n, density))


def floats(random, n, connections):
    """A CSR matrix times a vector without zeros."""
    indices = jnp.asarray(np.sort(random.integers(0, n, (n, connections)), axis=1).astype(np.int32).reshape(-1))
    indptr = jnp.arange(n + 1, dtype=jnp.int32) * connections
    values, vector = (jnp.asarray(random.standard_normal(size).astype(np.float32)) for size in (n * connections, n))
    return lambda name: jax.jit(lambda w, i, p, v: brainevent.csrmv(w, i, p, v, shape=(n, n), backend=name)), (values, indices, indptr, vector)


def products(quick):
    small, large = (400, 4000) if quick else (4000, 400000)
    return {f"dense {small} x {small}, 1 % events": lambda r: dense(r, small, 0.01),
            f"{small} neurons, 80 connections each, 1 % events": lambda r: fan_out(r, small, 80, 0.01),
            f"{large} neurons, 80 connections each, 0.1 % events": lambda r: fan_out(r, large, 80, 0.001),
            f"{large} neurons, 80 connections each, 1 % events": lambda r: fan_out(r, large, 80, 0.01),
            f"{large} neurons, 80 connections each, own weights, 1 % events": lambda r: fan_out(r, large, 80, 0.01, homogeneous=False),
            f"{large} neurons, 80 inputs each, 1 % events": lambda r: fan_out(r, large, 80, 0.01, transpose=False),
            f"CSR {large // 10} x {large // 10}, 80 entries a row, floats": lambda r: floats(r, large // 10, 80)}


def timed(call, operands, seconds):
    calls, spent = 0, time.perf_counter()
    while True:
        jax.block_until_ready(call(*operands))
        calls += 1
        if time.perf_counter() - spent >= seconds:
            return 1e6 * (time.perf_counter() - spent) / calls


def compare(make, rounds, seconds):
    build, operands = make(np.random.default_rng(7))
    calls, results = {name: build(name) for name in BACKENDS}, {}
    for name in BACKENDS:
        try:
            results[name] = np.asarray(calls[name](*operands))
        except brainevent.KernelCompilationError:  # it has no kernel of this direction
            del calls[name]
    first = next(iter(calls))
    reference = results[first]
    scale = max(float(np.abs(reference).max()), 1e-6)
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(timed(call, operands, seconds))
    found = {name: dict(zip(("p25_us", "median_us", "p75_us"), statistics.quantiles(values, n=4))) for name, values in times.items()}
    found["difference"] = float(np.abs(results[backend.NAME] - reference).max()) / scale
    found["speedup"] = statistics.median(x / y for x, y in zip(times[first], times[backend.NAME]))
    return found


def own(count, ends):
    """brainevent's own benchmarks: for each primitive and configuration the mean in us by each backend."""
    found = {}
    for name, primitive in sorted(brainevent.get_registry().items()):
        make = primitive._benchmark_data_fn  # brainevent has no public way to take some configurations
        if backend.NAME not in primitive.available_backends(PLATFORM) or make is None or time.perf_counter() > ends:
            continue
        primitive._benchmark_data_fn = lambda *, platform, make=make: list(itertools.islice(make(platform=platform), count))
        try:
            records = primitive.benchmark(platform=PLATFORM, n_warmup=2, n_runs=20, backends=list(BACKENDS)).records
        finally:
            primitive._benchmark_data_fn = make
        table = found.setdefault(name, {})
        for each in records:
            table.setdefault(each.label, {})[each.backend] = 1e3 * each.mean_ms if each.success else each.error
        for label, times in table.items():
            cells = (f"{times[each]:>10.1f}" if isinstance(times.get(each), float) else f"{'-':>10}" for each in BACKENDS)
            print(f"{name + ' ' + label:<66.66} " + " ".join(cells), flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--own", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    ends = time.perf_counter() + options.seconds
    backend.register()
    report = {"schema": SCHEMA, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "jax": jax.__version__,
              "brainevent": brainevent.__version__, "device": jax.default_backend(), "rounds": options.rounds,
              "lacuna": dict(lacuna_blas.thread_context().info()), "products": {}}
    print(f"{'us a call':<66} " + " ".join(f"{each:>10}" for each in BACKENDS) + f" {'first/lacuna':>15}")
    for name, make in products(options.quick).items():
        if options.only not in name or time.perf_counter() > ends:
            continue
        found = report["products"][name] = compare(make, options.rounds, 0.01 if options.quick else 0.2)
        print(f"{name:<66} " + " ".join(f"{found[each]['median_us']:>10.1f}" if each in found else f"{'-':>10}" for each in BACKENDS) + f" {found['speedup']:>14.2f}x", flush=True)
        if not found["difference"] < 1e-4:
            sys.exit(f"{name}: results differ by {found['difference']}")
    if options.own:
        report["own"] = own(options.own, ends)
    with open(options.result, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Adds brainevent's own kernels to a result of bench/gpu/segments_bench: events times sparse weights at its problems, and Lacuna's by the same programs.

usage: brainevent_events.py RESULT.json [--rounds N] [--few]

Run it where brainevent 0.3.0 and lacuna_blas are installed, after segments_bench and on the same device: RESULT.json is what that wrote, and gains rows. Each
time is what a product adds to one XLA program: the medians of programs with 30 and with 10 products of other events, their difference over 20, so that what
the host does for a program is in neither. --few: programs of 3 and 1, small weights, no report is read: to see that this runs."""
import argparse
import functools
import json
import re
import statistics
import sys
import time

import brainevent
import jax
import jax.numpy as jnp
import numpy as np

import lacuna_blas.brainevent as backend

PLATFORM = "cpu" if jax.default_backend() == "cpu" else "gpu"
OWN = {"cpu": "numba", "gpu": "cuda_raw"}[PLATFORM]
NAME = re.compile(r"(\d+)x(\d+):(\d+)-a-row:([\d.e-]+)%$")


def weights(random, neurons, each):
    """`each` connections of every neuron, one in each of as many stretches of the others."""
    edges = np.linspace(0, neurons, each + 1).astype(np.int64)
    idx = edges[:-1] + (random.random((neurons, each), dtype=np.float32) * np.diff(edges)).astype(np.int64)
    return jnp.asarray(np.minimum(idx, edges[1:] - 1).astype(np.int32)), jnp.asarray(random.random((neurons, each), dtype=np.float32) + 0.5)


def programs(rows, neurons, idx, val):
    """{name: (a product of events and weights, the weights)}; events are a vector, or a matrix of a column for each row."""
    shape, one = (neurons, neurons), jnp.ones(1, jnp.float32)
    ptr = jnp.arange(neurons + 1, dtype=jnp.int32) * idx.shape[1]
    fan = brainevent.binary_fcnmv if rows == 1 else brainevent.binary_fcnmm
    found = {}
    for name, who in ((OWN, "brainevent"), (backend.NAME, "lacuna in a program")):
        by_csr = functools.partial(lambda s, w, name: brainevent.CSR((w[0], w[1], ptr), shape=shape, backend=name).T @ brainevent.BinaryArray(s), name=name)
        by_fan = functools.partial(lambda s, w, name: fan(w[0], w[1], s, shape=shape, transpose=True, backend=name), name=name)
        found[f"{who}: csr"] = (by_csr, (val.reshape(-1), idx.reshape(-1)))
        found[f"{who}: fixed fan-out"] = (by_fan, (val, idx))
        found[f"{who}: fixed fan-out, one value"] = (by_fan, (one, idx))
    return found


def timed(program, operands, rounds):
    jax.block_until_ready(program(*operands))
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        jax.block_until_ready(program(*operands))
        times.append(1e6 * (time.perf_counter() - begin))
    return statistics.median(times)


def measure(rows, neurons, each, density, rounds, lengths):
    random = np.random.default_rng(7)
    idx, val = weights(random, neurons, each)
    events = [jnp.asarray(random.random((neurons, rows)[:1 if rows == 1 else 2]) < density) for _ in range(max(lengths))]
    sums, counts = np.zeros((neurons, rows)), np.zeros((neurons, rows))
    for i, s in enumerate(np.asarray(events[0]).reshape(neurons, rows).T):
        hit = np.asarray(idx)[s].reshape(-1)
        sums[:, i] = np.bincount(hit, np.asarray(val)[s].reshape(-1), neurons)
        counts[:, i] = np.bincount(hit, minlength=neurons)
    found = {}
    for name, (product, weight) in programs(rows, neurons, idx, val).items():
        all_of = jax.jit(lambda events, w, product=product: [product(s, w) for s in events])
        try:
            out = np.asarray(all_of(events[:1], weight)[0]).reshape(neurons, rows)
        except brainevent.KernelCompilationError:  # it has no kernel of this form
            continue
        want = counts if "one value" in name else sums
        if not np.allclose(out, want, rtol=1e-4, atol=1e-4):
            sys.exit(f"{name}: results differ by {np.abs(out - want).max()}")
        short, long = (timed(all_of, (events[:n], weight), rounds) for n in lengths)
        found[name] = (long - short) / (lengths[1] - lengths[0])
    return found


def write(path, report):
    head = json.dumps({name: value for name, value in report.items() if name != "results"})
    with open(path, "w", encoding="utf-8") as file:
        file.write(head[:-1] + ', "results": [\n  ' + ",\n  ".join(json.dumps(row) for row in report["results"]) + "\n]}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--few", action="store_true")
    options = parser.parse_args()
    backend.register()
    if options.few:
        report = {"results": [{"problem": name, "route": "segments", "us": 0.0} for name in ("1x400:8-a-row:1%", "3x400:8-a-row:1%")]}
    else:
        with open(options.result, encoding="utf-8") as file:
            report = json.load(file)
    report["brainevent"], report["jax"] = brainevent.__version__, jax.__version__
    problems = list(dict.fromkeys(row["problem"] for row in report["results"]))
    for problem in filter(NAME.match, problems):
        rows, neurons, each, percent = NAME.match(problem).groups()
        found = measure(int(rows), int(neurons), int(each), float(percent) / 100, options.rounds, (1, 3) if options.few else (10, 30))
        report["results"] += [{"problem": problem, "route": name, "us": round(us, 3)} for name, us in found.items()]
        print(problem + ": " + ", ".join(f"{name} {us:.1f}" for name, us in found.items()), flush=True)
        write(options.result, report)


if __name__ == "__main__":
    main()

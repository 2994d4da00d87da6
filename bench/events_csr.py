#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Events times a sparse weight on the host, against SciPy's products of the same CSR matrix in the same process.

usage: events_csr.py [--quick]      (with lacuna_blas, NumPy and SciPy on the path; LACUNA_THREADS as wished)

A row: rows of events, neurons, connections of each, share that fires; microseconds a step of ours and of SciPy's three ways
(events as CSR times W, W' times a dense vector, the sum of W's rows that fired), medians of rounds that take turns; then the ratio of
the fastest of SciPy's to ours, and what two of our own rounds differ by."""
import statistics
import sys
import time

import numpy as np
import scipy.sparse as sparse

import lacuna_blas

CASES = ((1, 4000, 80, 0.01), (1, 40000, 1000, 0.001), (1, 40000, 1000, 0.01), (10, 40000, 1000, 0.01), (1, 400000, 80, 0.002))


def network(neurons, each, rng):
    """`each` connections of every neuron, one in each of as many stretches of the others."""
    edges = np.linspace(0, neurons, each + 1).astype(np.int64)
    idx = edges[:-1] + (rng.random((neurons, each)) * np.diff(edges)).astype(np.int64)
    val = (rng.random(neurons * each, dtype=np.float32) + 0.5).astype(np.float32)
    ptr = np.arange(neurons + 1, dtype=np.int32) * each
    return sparse.csr_matrix((val, idx.astype(np.int32).ravel(), ptr), shape=(neurons, neurons))


def timed(call, rounds):
    """Seconds of each round."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return times


def measure(rows, neurons, each, share, rounds):
    """The figures of one case."""
    rng = np.random.default_rng(7)
    w = network(neurons, each, rng)
    s = np.zeros((rows, neurons), np.float32)
    fired = [rng.choice(neurons, max(1, int(neurons * share)), replace=False) for _ in range(rows)]
    for row, k in zip(s, fired):
        row[k] = 1.0
    events, transposed, out = sparse.csr_matrix(s), w.T, np.empty((rows, neurons), np.float32)
    weight = lacuna_blas.Operand(w)
    ours = lambda: lacuna_blas.matmul(s, weight, out)  # noqa: E731
    theirs = {"csr x csr": lambda: events @ w, "W' x": lambda: transposed @ s.T,
              "sum of rows": lambda: [w[k].sum(axis=0) for k in fired]}
    ours()
    want = (events @ w).toarray()
    if not np.allclose(out, want, rtol=1e-5):
        sys.exit("the products differ")
    for call in theirs.values():
        call()
    first, second, times = [], [], {name: [] for name in theirs}
    for _ in range(rounds):
        first += timed(ours, 3)
        for name, call in theirs.items():
            times[name] += timed(call, 1)
        second += timed(ours, 3)
    mine = statistics.median(first + second)
    middle = {name: statistics.median(t) for name, t in times.items()}
    noise = abs(statistics.median(first) / statistics.median(second) - 1)
    print(f"{rows:3d} x {neurons:6d}, {each:4d} each, {share:6.3f}: ours {mine * 1e6:9.1f} us, " +
          ", ".join(f"{name} {t * 1e6:.1f}" for name, t in middle.items()) +
          f"; {min(middle.values()) / mine:.2f} times as fast (noise {noise:.0%})", flush=True)


if __name__ == "__main__":
    for case in CASES[:1] if "--quick" in sys.argv else CASES:
        measure(*case, 3 if "--quick" in sys.argv else 15)

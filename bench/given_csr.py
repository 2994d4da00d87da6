#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Few rows given as CSR times a dense matrix on the host, against SciPy's product of the same matrices in the same process.

usage: given_csr.py LACUNA RESULT.json [--quick]     (lacuna_blas, NumPy and SciPy on the path; LACUNA_THREADS as wished)

LACUNA is the command, which says what machine this is. Both allocate their output. Medians of rounds that take turns; the
last figure is what two of our own rounds of the same round differ by, at the median: what a ratio is worth."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy
import scipy.sparse as sparse

import lacuna_blas

SCHEMA = "lacuna-given-csr-1"
CASES = ((1, 8192, 8192, 0.001), (1, 8192, 8192, 0.01), (1, 8192, 8192, 0.1), (10, 5000, 5000, 0.001), (10, 5000, 5000, 0.01),
         (10, 5000, 5000, 0.1), (64, 4096, 4096, 0.001), (64, 4096, 4096, 0.01), (64, 4096, 4096, 0.1))
SAMPLE_S = 2e-3  # of as many calls as fill it


def sample(call, count):
    """Microseconds of one of so many calls."""
    begin = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - begin) * 1e6 / count


def measure(rows, inner, cols, density, rounds):
    """The figures of one case."""
    rng = np.random.default_rng(7)
    a = sparse.random(rows, inner, density, format="csr", dtype=np.float32, random_state=7)
    b = rng.standard_normal((inner, cols), dtype=np.float32)
    given = lacuna_blas.Operand(a)
    ours, theirs = (lambda: lacuna_blas.matmul(given, b)), (lambda: a @ b)
    if not np.allclose(ours(), theirs(), rtol=1e-4, atol=1e-4):
        sys.exit("the products differ")
    counts = [max(1, int(SAMPLE_S / max(sample(call, 3) * 1e-6, 1e-7))) for call in (ours, theirs)]
    sample(ours, 20 * counts[0])  # what is learned is learned
    first, scipys, second = [], [], []
    for _ in range(rounds):
        first.append(sample(ours, counts[0]))
        scipys.append(sample(theirs, counts[1]))
        second.append(sample(ours, counts[0]))
    return {"m": rows, "k": inner, "n": cols, "density": density, "lacuna_us": statistics.median(first + second),
            "scipy_us": statistics.median(scipys), "noise": statistics.median(abs(x / y - 1) for x, y in zip(first, second))}


def head_of(tool):
    """Commit, date and machine, as every report of `lacuna bench` has them."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "head.json"
        subprocess.run([tool, "bench", "--quiet", "--min-time", "0.001", "--json", path, "sgemm:NN:16x16x16"], check=True)
        report = json.loads(path.read_text(encoding="utf-8"))
    return {key: report[key] for key in ("commit", "date", "load_average", "machine")}


def main():
    """Measures and writes the report."""
    words = [word for word in sys.argv[1:] if word != "--quick"]
    if len(words) != 2:
        sys.exit(__doc__)
    quick = "--quick" in sys.argv
    report = {"schema": SCHEMA, **head_of(words[0]), "scipy": scipy.__version__, "numpy": np.__version__,
              "threads": os.environ.get("LACUNA_THREADS", "all"), "results": []}
    for case in CASES[:1] if quick else CASES:
        row = measure(*case, 3 if quick else 31)
        report["results"].append(row)
        print(f"{row['m']}x{row['k']}x{row['n']} {row['density']:g}: {row['lacuna_us']:.1f} us, SciPy {row['scipy_us']:.1f} "
              f"({row['scipy_us'] / row['lacuna_us']:.2f}x, noise {row['noise']:.0%})", flush=True)
    pathlib.Path(words[1]).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

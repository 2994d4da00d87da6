#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Measures what a program's first calls take under the drop-in library over what they take without it.

usage: first_calls.py BUILD RESULT.json [--device] [--rounds N] [--shapes N] [--max-extent N] [--max-flops N]
                      [--small-rounds N] [--library VENDOR]

BUILD is a build folder with first_calls (--device: first_calls_device), lacuna and the drop-in library. Every run is
a process of its own, so that first calls are first calls; plain and preloaded runs take turns, and ratios are medians
over the rounds of preloaded over plain in the same round. `control` is a second plain run: what a ratio is worth.
Routes are counted in runs of their own, from LACUNA_VERBOSE=exec."""
import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from report_reading import route_names  # noqa: E402

SCHEMA = "lacuna-first-calls-1"
WAYS = {"plain": None, "preloaded": {}, "learn_off": {"LACUNA_LEARN": "off"}, "control": None}  # None: not preloaded
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "LACUNA_THREADS": "1"}
SMALL = ((512, 40), (512, 100), (6000, 40))  # shapes in rotation, extent; the last are more than there are sites
SEED = 7


class Bench:
    """The programs of one build folder, and what they are given."""

    def __init__(self, options):
        lib = options.build / "lib"
        self.device = options.device
        self.program = options.build / ("bin/first_calls_device" if self.device else "bin/first_calls")
        self.drop_in = lib / ("liblacuna_cublas.so" if self.device else "liblacuna_blas.so")
        self.tool = options.build / "bin/lacuna"
        self.shapes = options.shapes or (60 if self.device else 200)
        self.extent = options.max_extent or (8192 if self.device else 4096)
        self.flops = options.max_flops or (2e11 if self.device else 4e9)
        self.small_rounds = options.small_rounds
        self.head = self.report_head()
        self.library = options.library or ("libcublas.so.13" if self.device else self.head["machine"]["blas"])

    def report_head(self):
        """Commit, date and machine, as every report of `lacuna bench` has them."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "head.json"
            subprocess.run([self.tool, "bench", "--quiet", "--min-time", "0.001", *(["--device", "cuda"] if self.device else []),
                            "--json", path, "sgemm:NN:16x16x16"], check=True)
            report = json.loads(path.read_text(encoding="utf-8"))
        return {key: report[key] for key in ("commit", "date", "load_average", "machine")}

    def run(self, preloads, settings, *arguments):
        """The JSON lines of one run."""
        environment = dict(os.environ, **settings)
        if preloads:
            environment["LD_PRELOAD"] = str(self.drop_in.resolve())
        done = subprocess.run([self.program, self.library, *map(str, arguments)], env=environment, capture_output=True,
                              text=True, check=False)
        if done.returncode:
            sys.exit(f"{self.program.name} ended with status {done.returncode}: {done.stderr.strip()}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def first(self, way, threads, sparse, **more):
        settings = {**(ONE_THREAD if threads == "1" else {}), **(WAYS[way] or {}), **more}
        return self.run(WAYS[way] is not None, settings, "first", self.shapes, sparse, self.extent, f"{self.flops:g}", SEED)


def is_sparse(row):
    return 0 < row["density"] < 0.5


def extents(row):
    return row["m"], row["n"], row["k"]


def count_routes(log, rows):
    """{'dense': {route: calls}, 'sparse': ...}, by the data of the shape, of the exec lines of a run."""
    kinds = {extents(row): "sparse" if is_sparse(row) else "dense" for row in rows}
    counts = {"dense": collections.Counter(), "sparse": collections.Counter()}
    for line in log.splitlines():
        fields = line.split(",")
        if fields[:3] != ["lacuna", "1", "exec"]:
            continue
        shape = tuple(int(extent) for extent in fields[7:10])
        counts[kinds[shape]][fields[14]] += 1
    return {kind: dict(sorted(routes.items())) for kind, routes in counts.items()}


def by_sparse_routes(routes):
    sparse = route_names("SPARSE")
    return sum(calls for route, calls in routes.items() if route in sparse)


def ratios(runs, way, chosen):
    """Median over the rounds of the way's time over the plain one's; None where no shape is chosen."""
    def total(rows):
        return sum(row["total_us"] for row in rows if chosen(row))
    pairs = [(total(mine), total(plain)) for mine, plain in zip(runs[way], runs["plain"])]
    return round(statistics.median(mine / plain for mine, plain in pairs), 4) if all(plain for _, plain in pairs) else None


def problems(runs):
    """A row for each shape; of each way [all calls, the first, the tenth] in us, medians over the rounds."""
    rows = []
    for i, row in enumerate(runs["plain"][0]):
        kept = {key: row[key] for key in ("m", "n", "k", "trans", "sparse", "pattern", "density")}
        for way, rounds in runs.items():
            kept[way] = [round(statistics.median(run[i][key] for run in rounds), 2)
                         for key in ("total_us", "first_us", "tenth_us")]
        rows.append(kept)
    return rows


def measure_list(bench, name, threads, rounds):
    sparse = int(name == "mixed")
    runs = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in WAYS:
            runs[way].append(bench.first(way, threads, sparse))
    routes = {}
    for way in ("preloaded", "learn_off"):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log"
            rows = bench.first(way, threads, sparse, LACUNA_VERBOSE="exec", LACUNA_LOG=str(log))
            routes[way] = count_routes(log.read_text(encoding="utf-8"), rows)
    taken = {way: by_sparse_routes(kinds["dense"]) for way, kinds in routes.items()}
    over = {way: {"dense": ratios(runs, way, lambda row: not is_sparse(row)), "sparse": ratios(runs, way, is_sparse),
                  "all": ratios(runs, way, lambda row: True)} for way in WAYS if way != "plain"}
    plain = statistics.median(sum(row["total_us"] for row in run) for run in runs["plain"])
    words = [f"{way} " + ", ".join(f"{data} {ratio:.3f}x" for data, ratio in by_data.items() if ratio)
             for way, by_data in over.items()]
    print(f"{name} list, {threads} threads, plain {plain / 1e6:.2f} s: {'; '.join(words)}; "
          f"calls of dense data by sparse routes {taken}", flush=True)
    return {"list": name, "threads": threads, "plain_us": round(plain, 1), "over_plain": over,
            "dense_calls_by_sparse_routes": taken, "routes": routes, "problems": problems(runs)}


def measure_small(bench, shapes, extent, detect, rounds):
    """ns a call above the BLAS called directly, in one process; of the control both are the BLAS."""
    settings = {**ONE_THREAD, "LACUNA_DETECT": detect}
    runs = {way: [bench.run(WAYS[way] is not None, settings, "small", shapes, extent, bench.small_rounds)[0] for _ in range(rounds)]
            for way in ("preloaded", "control")}
    row = {"shapes": shapes, "extent": extent, "detect": detect,
           "direct_ns": round(statistics.median(run["direct_ns"] for run in runs["preloaded"]), 1)}
    for way, results in runs.items():
        row[way] = {key: round(statistics.median(run[key] for run in results), 1) for key in ("more_ns", "first_more_ns")}
    print(f"{shapes} shapes of {extent}^3 in rotation, detect={detect}: {row['direct_ns']:.0f} ns a call directly, "
          f"{row['preloaded']['more_ns']:+.0f} ns through, {row['preloaded']['first_more_ns']:+.0f} ns in the first pass; "
          f"control {row['control']['more_ns']:+.0f} and {row['control']['first_more_ns']:+.0f} ns", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("--device", action="store_true", help="cublasSgemm on the first device")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shapes", type=int, help="in a list (default: 200, on a device 60)")
    parser.add_argument("--max-extent", type=int, help="of a shape (default: 4096, on a device 8192)")
    parser.add_argument("--max-flops", type=float, help="of a call (default: 4e9, on a device 2e11)")
    parser.add_argument("--small-rounds", type=int, default=101, help="passes over small shapes in rotation (default: 101)")
    parser.add_argument("--library", help="the vendor library (default: the BLAS that lacuna finds, or libcublas.so.13)")
    bench = Bench(options := parser.parse_args())
    lists = [measure_list(bench, name, threads, options.rounds) for threads in (["all"] if bench.device else ["1", "all"])
             for name in ("dense", "mixed")]
    small = [] if bench.device else [measure_small(bench, shapes, extent, detect, options.rounds)
                                     for shapes, extent in SMALL for detect in ("probe", "off")]
    report = {"schema": SCHEMA, **bench.head, "shapes": bench.shapes, "calls": 10, "max_extent": bench.extent,
              "max_flops": bench.flops, "seed": SEED, "rounds": options.rounds, "lists": lists, "small": small}
    options.result.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report)
    for head in ('{"list"', '{"m"', '{"shapes"'):
        text = text.replace(head, "\n" + head)  # a line for each list, shape and rotation
    options.result.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Times the routes of two builds on the same problems: what a change of all kernels cost.

usage: before_after.py BEFORE AFTER RESULT.json [--file LIST] [--device] [--rounds N] [--min-time SECONDS]

BEFORE and AFTER are commands `lacuna` of two build folders, each beside its libraries; 906ec08, whose sums ran straight
through, is BEFORE of the committed reports. LIST is bench/problems/accuracy.txt unless said. The builds take turns, problem
by problem, each time in a process of its own; medians over the rounds. The vendor's product is timed with both: what its
ratio is off 1 is what the other ratios are worth."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

SCHEMA = "lacuna-before-after-1"
RENAMED = {"plain": "native", "cublas": "dense"}  # as older builds, or the baseline of a device, name a route
LEFT_OUT = ("auto", "trivial", "cusparse", "adaptive")


def problems_of(path):
    """The problems of a list, without comments."""
    lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def times_of(command, problem, options, folder):
    """The report's head, the problem as it is printed, and {route: (route and side, microseconds)} of one process."""
    path = folder / "one.json"
    path.unlink(missing_ok=True)
    done = subprocess.run([command, "bench", "--quiet", "--route", "all", "--min-time", str(options.min_time), "--json", path,
                           *(["--device", "cuda"] if options.device else []), problem], capture_output=True, text=True, check=False)
    if not path.exists():
        sys.exit(f"{command} ended with status {done.returncode}: {done.stderr.strip()}")
    report = json.loads(path.read_text(encoding="utf-8"))
    found, times = report.pop("problems")[0], {}
    for row in found["rows"]:
        if row["status"] not in ("ok", "slow") or row["cache"] != "warm" or "median_us" not in row:
            continue
        name = RENAMED.get(row["route"], row["route"])
        side = row.get("decided_side") or ""
        if name not in LEFT_OUT:
            times["vendor" if row["baseline"] else name] = f"{name} {side}".strip(), row["median_us"]
    return report, found["problem"], times


def measure(problem, options, folder):
    """The rows of one problem, and the heads of both reports."""
    taken, heads, words, printed = ({}, {}), [None, None], {}, problem
    for turn in range(options.rounds):
        for which in ((0, 1), (1, 0))[turn % 2]:
            heads[which], printed, times = times_of((options.before, options.after)[which], problem, options, folder)
            for name, (route, us) in times.items():
                taken[which].setdefault(name, []).append(us)
                if which:
                    words[name] = "vendor" if name == "vendor" else route
    both = [name for name in taken[1] if name in taken[0]]
    return [{"problem": printed, "route": words[name], "before_us": statistics.median(taken[0][name]),
             "after_us": statistics.median(taken[1][name])} for name in both], heads


def write(options, heads, results):
    """The report; machine and date are those of the later build's last run."""
    report = {"schema": SCHEMA, **{key: heads[1][key] for key in ("commit", "date", "load_average", "machine")},
              "before": heads[0]["commit"], "rounds": options.rounds, "min_time_s": options.min_time, "results": results}
    options.result.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def main():
    """Measures and writes the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("--file", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent / "problems/accuracy.txt")
    parser.add_argument("--device", action="store_true", help="on a CUDA device")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--min-time", type=float, default=0.02, help="of each route, seconds")
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for problem in problems_of(options.file):
            rows, heads = measure(problem, options, pathlib.Path(folder))
            results += rows
            write(options, heads, results)  # what there is so far: a list takes minutes
            print(problem, *(f"{row['route']} {row['after_us'] / row['before_us']:.2f}" for row in rows), sep="; ", flush=True)
    if not results:
        sys.exit(f"{options.file}: expected problems, found none")


if __name__ == "__main__":
    main()

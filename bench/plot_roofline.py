#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Draws a report of `lacuna bench --json FILE`: each timed row's rate over its arithmetic intensity (needs matplotlib).

usage: plot_roofline.py FILE.json PICTURE.png

Flops and bytes are those that cannot be left out: the dense product's for dense routes; pairs of nonzeros that meet
and active slices for those that skip. The two roofs are the highest rates seen in the report itself."""
import json
import pathlib
import sys


def points(report):
    """{route: [(flops per byte, GFLOP/s)]} of the warm rows."""
    found = {}
    for problem in report["problems"]:
        for row in problem["rows"]:
            if row["cache"] == "warm" and row.get("gbytes_per_s", 0) > 0 and row["gflops"] > 0:
                found.setdefault(row["route"], []).append((row["gflops"] / row["gbytes_per_s"], row["gflops"]))
    return found


def main(report_path, picture_path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    report = json.loads(pathlib.Path(report_path).read_text(encoding="utf-8"))
    found = points(report)
    every = [point for route in found.values() for point in route]
    if not every:
        sys.exit(f"{report_path}: no timed rows")
    bandwidth, peak = max(rate / intensity for intensity, rate in every), max(rate for _, rate in every)
    figure, axes = pyplot.subplots(figsize=(7, 5))
    low, high = min(x for x, _ in every) / 2, max(x for x, _ in every) * 2
    roof = [low, min(high, peak / bandwidth), high]
    axes.plot(roof, [min(peak, bandwidth * x) for x in roof], color="grey", linewidth=0.8, label="best seen here")
    for route, values in sorted(found.items()):
        axes.scatter([x for x, _ in values], [y for _, y in values], s=14, label=route)
    axes.set(xscale="log", yscale="log", xlabel="flops per byte", ylabel="GFLOP/s",
             title=f"{report['date'][:10]}, commit {report['commit']}")
    axes.legend()
    figure.tight_layout()
    figure.savefig(picture_path, dpi=120)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])

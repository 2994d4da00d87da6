#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Draws a report of `lacuna bench --json FILE` (needs matplotlib): its rates under the machine's roofs, and each case's
fraction of its floor.

usage: plot_roofline.py FILE.json [PICTURE.png]      (FILE.png)

Left: GFLOP/s over flops per byte, of the work that cannot be left out: the dense product's for dense routes, pairs of
nonzeros and active slices for those that skip. Right: floor / time of the dispatcher and of the baseline. The floor
is what docs/user/performance.md calls so; roofs and floors come from the machine constants in the report, so that a
product from a cache can be beyond them."""
import json
import pathlib
import sys

sys.dont_write_bytecode = True
from report_reading import BENCH, caption, floor_us, in_words, lanes_of, roofs, timed  # noqa: E402

SHOWN = (("auto", "Lacuna", "#2166ac", "o"), ("baseline", "dense BLAS", "#b2182b", "x"))


def points(report):
    """{route: [(flops per byte, GFLOP/s)]} of the warm rows."""
    found = {}
    for problem in report["problems"]:
        for row in timed(problem, "warm"):
            if row["gbytes_per_s"] > 0 and row["gflops"] > 0:
                found.setdefault(row["route"], []).append((row["gflops"] / row["gbytes_per_s"], row["gflops"]))
    return found


def fractions(report):
    """[(case in words, {"auto" or "baseline": percent of the floor})] of the warm rows."""
    found = []
    for problem in report["problems"]:
        lanes, base = lanes_of(problem)
        rows = {"auto": lanes.get("auto"), "baseline": base}
        shares = {name: 100 * floor_us(report, problem) / row["median_us"] for name, row in rows.items() if row}
        if shares:
            extents, known = in_words(problem["problem"])
            found.append((f"{extents.replace(' ', '')}  {known}", shares))
    return found


def draw_roofline(axes, report):
    found = points(report)
    memory, arithmetic = roofs(report)
    intensities = [x for route in found.values() for x, _ in route]
    low, high = min(intensities) / 2, max(*intensities, arithmetic / memory) * 2
    roof = [low, arithmetic / memory, high] if low < arithmetic / memory else [low, high]
    axes.plot(roof, [min(arithmetic, memory * x) for x in roof], color="grey", linewidth=0.8,
              label=f"{memory:g} GB/s, {arithmetic:g} GFLOP/s")
    for route, values in sorted(found.items()):
        axes.scatter([x for x, _ in values], [y for _, y in values], s=14, label=route)
    axes.set(xscale="log", yscale="log", xlabel="flops per byte", ylabel="GFLOP/s")
    axes.legend(fontsize=7)


def draw_fractions(axes, cases):
    places = range(len(cases))
    for name, label, colour, marker in SHOWN:
        axes.scatter([shares.get(name) for _, shares in cases], places, s=22, color=colour, marker=marker, label=label)
    axes.axvline(100, color="grey", linewidth=0.8)
    axes.set(xscale="log", xlabel="% of the floor", yticks=list(places))
    axes.set_yticklabels([words for words, _ in cases], fontsize=7)
    axes.invert_yaxis()
    axes.grid(axis="x", linewidth=0.3)
    axes.legend(fontsize=7)


def main(report_path, picture_path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    report = json.loads(report_path.read_text(encoding="utf-8"))
    if report.get("schema") != BENCH or not points(report):
        sys.exit(f"{report_path}: no report with timed rows")
    if not roofs(report):
        sys.exit(f"{report_path}: no machine constants")
    cases = fractions(report)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, max(5.0, 1.2 + 0.2 * len(cases))))
    draw_roofline(left, report)
    draw_fractions(right, cases)
    figure.suptitle(caption(report).split(";")[0] + f"; {report['date'][:10]}, commit {report['commit']}", fontsize=9)
    figure.tight_layout()
    figure.savefig(picture_path, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    source = pathlib.Path(sys.argv[1])
    main(source, pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else source.with_suffix(".png"))

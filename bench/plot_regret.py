#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Draws a report of `lacuna bench --regret --json FILE`: the share of problems within each ratio (needs matplotlib).

usage: plot_regret.py FILE.json PICTURE.png"""
import json
import pathlib
import sys


def main(report_path, picture_path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    report = json.loads(pathlib.Path(report_path).read_text(encoding="utf-8"))
    problems = report["problems"]
    figure, (share, scatter) = pyplot.subplots(1, 2, figsize=(11, 4.5))
    for key, label in (("auto_over_best", "auto / best route"), ("auto_over_baseline", "auto / baseline")):
        values = sorted(problem[key] for problem in problems)
        share.step(values, [100 * (i + 1) / len(values) for i in range(len(values))], where="post", label=label)
    share.set(xscale="log", xlabel="ratio of times", ylabel="% of problems at most there")
    share.axvline(1.0, color="grey", linewidth=0.5)
    share.legend()
    for route in sorted({problem["best"] for problem in problems}):
        here = [problem for problem in problems if problem["best"] == route]
        scatter.scatter([p["best_us"] for p in here], [p["auto_over_best"] for p in here], s=9, label=f"best: {route}")
    scatter.set(xscale="log", yscale="log", xlabel="time of the best route, µs", ylabel="auto / best route")
    scatter.legend()
    figure.suptitle(f"{len(problems)} random problems, {report['date'][:10]}, commit {report['commit']}")
    figure.tight_layout()
    figure.savefig(picture_path, dpi=120)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])

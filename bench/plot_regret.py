#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Draws a report of `apitest regret --json FILE` (needs matplotlib): over density and shape, the route that
was chosen and how far it was from the best one; and the share of problems within each ratio.

usage: plot_regret.py FILE.json [PICTURE.png]      (FILE.png)

A cell holds the problems whose sparser operand has about that density, and whose result's smaller extent is about
that. Left: the route chosen most often there, and how often of how many. Middle: the geometric mean of time(auto) /
time(best route), and the worst."""
import json
import math
import pathlib
import sys

sys.dont_write_bytecode = True
from report_reading import REGRET, caption, density_of, extents_of, with_spare_colours  # noqa: E402

DENSITIES = [10 ** (-4 + i / 2) for i in range(8)]  # where each column begins
EXTENTS = [1, 4, 16, 64, 256, 1024]  # where each row begins
COLOURS = with_spare_colours({"event": "#4393c3", "csr": "#74c476", "bitmask": "#c994c7", "tiles": "#fdae61", "cusparse": "#a6761d",
                              "dense": "#d9d9d9", "native": "#ffffb3", "trivial": "#ffffff"}, "SPARSE")
REGRET_MOST = 1.5  # where the colours of the middle end


def place(starts, value):
    return max((i for i, start in enumerate(starts) if value >= start), default=0)


def cells(report):
    """{(row, column): [problem]}."""
    found = {}
    for problem in report["problems"]:
        m, _, n = extents_of(problem["problem"])
        density = min(density_of(problem["problem"], letter) for letter in "AB")
        # 1 + 1e-9: a boundary is a power that no float is exactly
        at = place(EXTENTS, min(m, n)), place(DENSITIES, density * (1 + 1e-9))
        found.setdefault(at, []).append(problem)
    return found


def commonest(problems):
    """(route, how often) that was chosen most often, whichever side it skips."""
    routes = [problem["chosen"].split()[0] for problem in problems]
    return max(((route, routes.count(route)) for route in sorted(set(routes))), key=lambda pair: pair[1])


def label_axes(axes, title):
    axes.set(title=title, xlabel="density of the sparser operand", ylabel="smaller extent of the result",
             xlim=(0, len(DENSITIES)), ylim=(0, len(EXTENTS)), xticks=range(len(DENSITIES)), yticks=range(len(EXTENTS)))
    axes.set_xticklabels([f"{100 * density:.2g} %" for density in DENSITIES], fontsize=7)
    axes.set_yticklabels(EXTENTS, fontsize=7)


def fill(axes, at, colour, text):
    from matplotlib import patches

    row, column = at
    axes.add_patch(patches.Rectangle((column, row), 1, 1, facecolor=colour, edgecolor="white", linewidth=0.5))
    axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=6.5)


def draw_routes(axes, found):
    for at, problems in found.items():
        route, often = commonest(problems)
        fill(axes, at, COLOURS.get(route, "#ffffff"), f"{route}\n{often} of {len(problems)}")
    label_axes(axes, "chosen most often")


def draw_regret(axes, found):
    from matplotlib import colormaps

    for at, problems in found.items():
        ratios = [problem["auto_over_best"] for problem in problems]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        share = min(max(mean - 1.0, 0.0) / (REGRET_MOST - 1.0), 1.0)
        fill(axes, at, colormaps["YlOrRd"](0.75 * share), f"{mean:.2f}\nworst {max(ratios):.2f}")
    label_axes(axes, "time of the chosen / time of the best route")


def draw_shares(axes, problems):
    for key, label in (("auto_over_best", "over the best route"), ("auto_over_baseline", "over the dense product")):
        values = sorted(problem[key] for problem in problems)
        axes.step(values, [100 * (i + 1) / len(values) for i in range(len(values))], where="post", label=label)
    axes.axvline(1.0, color="grey", linewidth=0.5)
    axes.set(xscale="log", title="all problems", xlabel="time of the chosen route", ylabel="% of problems at most there")
    axes.legend(fontsize=7)


def main(report_path, picture_path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    report = json.loads(report_path.read_text(encoding="utf-8"))
    if report.get("schema") != REGRET or not report["problems"]:
        sys.exit(f"{report_path}: no report of apitest regret with problems")
    found = cells(report)
    figure, (routes, regret, shares) = pyplot.subplots(1, 3, figsize=(16, 4.6), width_ratios=(4, 4, 3))
    draw_routes(routes, found)
    draw_regret(regret, found)
    draw_shares(shares, report["problems"])
    figure.suptitle(caption(report).split(";")[0] + f"; {len(report['problems'])} random problems of {report.get('type', 'f32')}, "
                    f"{report['date'][:10]}, commit {report['commit']}", fontsize=9)
    figure.tight_layout()
    figure.savefig(picture_path, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    source = pathlib.Path(sys.argv[1])
    main(source, pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else source.with_suffix(".png"))

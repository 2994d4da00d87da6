#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Renders bench/results/<machine>/*.json into the documents: no figure in them is typed.

usage: render.py [--root FOLDER] [--verify | --show REPORT.json]

README.md                   the picture and six rows
docs/speedup.svg            every random problem of the regret reports: speedup over density
docs/user/performance.md    one table per device, and the regret figures
docs/dev/results.md         an index of every raw result
--verify changes nothing and ends with status 1 when a document is not what would be written.
--show prints one report as tables, on the standard output."""
import argparse
import json
import math
import pathlib
import sys

sys.dont_write_bytecode = True
from report_reading import (ACCURACY, BEFORE_AFTER, BENCH, FIRST_CALLS, GIVEN_CSR, KERNELS, OPERATORS, REGRET, SPIKE_LINEAR, TORCH_LIF, caption, density_of, extents_of, floor_us,  # noqa: E402
                            in_words, lanes_of, microseconds, on_device, ratio, reports, roof_us, timed, metadata_words, without_metadata, with_spare_colours)

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
PERFORMANCE = """# Performance

`bench/render.py` renders this page from the raw results in `bench/results/`; no figure on it is typed.
[The index of results](../dev/results.md) lists them all, with machine, date and commit.

## How to read the tables

- Extents are m x k x n. *A 1 %* means that one in a hundred elements of A is nonzero, at random.
- *cuBLAS* or *BLAS* is the vendor's dense product, called directly on plain dense operands.
- *Lacuna* is the same call through the dispatcher in steady state, with no metadata given; *route* is what it chose.
- *with metadata* is the call when the program attaches what it knows or freezes an operand that does not change.
- *speedup* is the median, over rounds, of baseline time / Lacuna time. Both run in turns (A B A B) in one process.
- *% of roofline* is the least possible time over the time taken. The least possible time is the longer of two: the
  sparse operand, the active slices of the other operand and C, each moved once at memory bandwidth; or the pairs of
  nonzeros that meet, at the rate of the dense product. It can exceed 100 % when operands stay in a cache.

`lacuna bench --route all 'PROBLEM'` repeats any row.
"""
REGRET_HEAD = """## How good the decisions are

Each row is one run of `apitest regret`: random problems with extents log-uniform in 1 .. 8192, densities
log-uniform in 0.0001 .. 1, and five patterns of zeros, of floats (f32) or doubles (f64). *Regret* is time(auto) / time(best route): 1 means that the
dispatcher always chose the best route. *Slower than promised* counts the problems on which Lacuna took more than 2 %
*and* more than 1.5 µs longer than the vendor's dense product called directly; what seems so is timed again, eight times
as long, by three fresh processes of which the median counts (*judged by* says where an older report had one run alone).
"""
STANDIN = """## First calls on other machines

With 4, 16 and 64 threads, and in front of a BLAS of a quarter to four times the predicted speed, the same is played on a clock of its own:
`tests/unit/test_dispatch_first_calls.c` fails where 200 shapes of ten calls take more than 1.03 of the BLAS's time on dense data,
with learning or without.
"""
RESULTS = """# Raw results

`bench/render.py` renders this index. Every file holds machine, date and commit. `bench/render.py --show FILE` prints a
JSON report as tables; `bench/plot_roofline.py` and `bench/plot_regret.py` draw the pictures. [Performance](../user/performance.md)
shows the figures that matter to users; the pages in [experiments](experiments/) say what was learned from the others.
"""
# The six rows of the README: a problem, and whether it ran on a device.
README_ROWS = (("sgemm:NN:10x5000x5000:A=bern0.001:s1", True), ("sgemm:NN:10x5000x5000:A=bern0.1:s1", True),
               ("sgemm:NN:10000x10000x10:B=bern0.01:s1", True), ("sgemm:NN:1024x1024x1024:s1", True),
               ("sgemm:NN:10x5000x5000:A=bern0.01:s1", False), ("sgemm:NN:2048x2048x2048:A=bern0.1:s1", False))
# What the files hold, by the first word of their names.
SUBJECTS = {"accuracy": "errors of every route beside the vendor's", "batch": "many small products in one call", "before": "routes of two commits, in turns", "bits": "bias, activation and zero bits where tiles are written", "brainevent": "a network by the backends of brainevent",
            "columns": "event kernels, W by columns", "crossover": "around the break-even density", "csr": "CSR products",
            "dense": "dense operands through the drop-in library", "encoding": "encodings of the active k of a tile",
            "adaptive": "gather or stream, chosen by a count on the device", "event": "event kernels", "exchange": "a step of a sharded network on one and two devices", "fills": "tiles: the producers", "first": "the first ten calls of many shapes, plain and preloaded", "given": "few rows given as CSR beside SciPy", "host": "host time of a remembered call", "network": "a step of a network, spikes scanned, listed, as bits",
            "linear": "dense products of a few rows by the weight of a Linear layer", "rank_k": "products with a short k, as the gradient of a weight is", "layer": "a product with bias, activation and metadata of the output", "metadata": "builders of metadata, and the bitmask product",
            "operators": "host operators beside a copy of as many bytes", "plugin": "host time of a dense call through the drop-in library",
            "quarters": "tiles: lists for sets of row groups", "ranks": "two ranks that share one device: their bits", "regret": "random problems: the decision against the best route",
            "rows": "a row of bf16 by a weight that stays, sparse to full", "few": "few rows of floats, sparse to full", "roofline": "products from dense to sparse against the roof", "activations": "many rows, some percent of nonzeros", "clusters": "dense products of middle sizes", "middle": "dense products of middle sizes, blocks of 192 columns among them", "segments": "events times sparse weights", "sddmm": "sampled products", "slice": "row slices", "targets": "the shapes of the performance page", "doubles": "products of doubles on a device", "types": "products of f16 and bf16",
            "stream": "dense products with a short side, cuBLAS, tiles beside them", "tiles": "products by tiles: time and accuracy", "torch": "PyTorch programs, plain and preloaded"}
# The picture: one dot for each random problem.
INK = with_spare_colours({"event": "#1f78b4", "csr": "#33a02c", "bitmask": "#984ea3", "tiles": "#ff7f00", "dense": "#b0b0b0"},
                         "SPARSE")
# What bench/gpu/event_bench.cu times: lane, and what its caller has.
LANES = {"fused": "one kernel", "slots": "compact, gather", "stream": "stream all", "packed": "active list given",
         "csr": "CSR given", "fused-frozen": "frozen, one kernel", "slots-frozen": "frozen, compact, gather",
         "csr-frozen": "frozen, CSC given", "gather": "CSR given, gather", "wide": "CSR given, wide gather",
         "steps": "CSR given, schedule",
         "cusparse": "cuSPARSE", "building": "making the schedule"}
NOT_OURS = ("cublas", "cusparse", "building")  # lanes that are no product of ours


def table(heads, rows):
    """A Markdown table; a head that begins with '>' sets its column to the right."""
    lines = ["| " + " | ".join(head.strip("> ") for head in heads) + " |",
             "|" + "|".join("---:" if head.startswith(">") else "---" for head in heads) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def percent(share):
    """Two digits that count, and all digits of what is larger."""
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def without_empty(heads, rows):
    """The table without the columns in which no row has anything."""
    kept = [i for i in range(len(heads)) if any(row[i] for row in rows)]
    return table([heads[i] for i in kept], [[row[i] for i in kept] for row in rows])


def gemv_words(report, problems):
    """The BLAS's matrix-vector product and the dispatcher's speed against it, for a C of one row or column: what a
    program calls there. '-' where it was not measured, '' for other products and on a device."""
    m, _, n = extents_of(problems[0]["problem"])
    if on_device(report) or (m > 1 and n > 1) or problems[0]["problem"].startswith("sgemv"):
        return ""
    for problem in problems:
        lanes, _ = lanes_of(problem)
        if "gemv" in lanes and "auto" in lanes and not metadata_words(problem["problem"]):
            gemv, auto = lanes["gemv"]["median_us"], lanes["auto"]["median_us"]
            return f"{microseconds(gemv)} ({ratio(gemv / auto)})"
    return "-"


def dispatcher_row(report, problems):
    """One row for the problems that differ only in metadata given: {column: text}; None where auto was not timed."""
    plain, with_metadata, cusparse = None, None, ""
    for problem in problems:
        lanes, base = lanes_of(problem)
        if not base or "auto" not in lanes:
            continue
        words, auto = metadata_words(problem["problem"]), lanes["auto"]
        if not words:
            plain = problem, base, auto
        elif not with_metadata or auto["speedup"] > with_metadata[2]["speedup"]:
            with_metadata = words, base, auto
        if "cusparse" in lanes and ("csr" in problem["problem"] or not cusparse):
            cusparse = microseconds(lanes["cusparse"]["median_us"])
    if not plain and not with_metadata:
        return None
    base = (plain or with_metadata)[1]
    cells = dict(zip(("m x k x n", "nonzeros"), in_words(without_metadata(problems[0]["problem"]))))
    cells[">cuBLAS" if on_device(report) else ">BLAS"] = microseconds(base["median_us"])
    cells[">as sgemv (speedup)"] = gemv_words(report, problems)
    cells[">cuSPARSE"] = cusparse
    if plain:
        floor, us = floor_us(report, plain[0]), plain[2]["median_us"]
        cells |= {">Lacuna": microseconds(us), ">speedup": f"**{ratio(plain[2]['speedup'])}**",
                  ">% of roofline": percent(floor / us) if floor else "", "route": plain[2]["decided_route"]}
    if with_metadata:
        cells |= {">with metadata": f"{microseconds(with_metadata[2]['median_us'])} ({with_metadata[0]})", ">speedup ": ratio(with_metadata[2]["speedup"])}
    return cells


def targets(found):
    """(machine, path, report, {problem without metadata: row}) of every targets*.json in which auto was timed."""
    for machine, files in found.items():
        for path, report in files:
            if report["schema"] != BENCH or not path.name.startswith("targets"):
                continue
            groups = {}
            for problem in report["problems"]:
                groups.setdefault(without_metadata(problem["problem"]), []).append(problem)
            rows = {name: row for name, group in groups.items() if (row := dispatcher_row(report, group))}
            if rows:
                yield machine, path, report, rows


def table_of(columns, rows):
    """The table of rows that are dictionaries; cells that a row lacks are empty, empty columns are left out."""
    return without_empty(columns, [[row.get(column, "") for column in columns] for row in rows])


def readme_part(found):
    """The picture and the six rows, each with its machine."""
    measured = [(problem, report, row) for _, _, report, rows in targets(found) for problem, row in rows.items()]
    chosen = [next(((report, row) for name, report, row in measured if (name, on_device(report)) == wanted), None)
              for wanted in README_ROWS]
    if not any(chosen):  # not the project's own list of problems
        chosen = [(report, row) for _, report, row in measured[:len(README_ROWS)]]
    shown, captions = [], []
    for report, row in filter(None, chosen):
        kind = "GPU" if on_device(report) else "CPU"
        shown.append({"on": kind, ">vendor": row.get(">cuBLAS") or row.get(">BLAS"), **row})
        if (line := f"{kind}: {caption(report)}.") not in captions:
            captions.append(line)
    parts = []
    if drawn(found):
        parts.append("![Speedup over the vendor's dense product, one dot for each random problem, over the density of the "
                     "sparser operand](docs/speedup.svg)")
    if shown:
        parts.append(table_of(("on", "m x k x n", "nonzeros", ">vendor", ">as sgemv (speedup)", ">Lacuna", ">speedup", "route", ">with metadata",
                               ">speedup "), shown))
        parts.append("\n".join(captions))
    return "\n\n".join(parts)


def drawn(found):
    """(device?, report) of the regret report of each kind of machine that the picture shows: regret.json, the first found."""
    kinds = {}
    for files in found.values():
        for path, report in files:
            if path.name == "regret.json":
                kinds.setdefault(on_device(report), report)
    return sorted(kinds.items(), reverse=True)


def picture(found):
    """speedup.svg: for each kind of machine a panel of dots, both axes logarithmic."""
    wide, high, left, top, gap = 380, 260, 58, 44, 74
    panels = drawn(found)
    width, height = left + len(panels) * (wide + gap) - gap + 20, top + high + 76
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'font-family="sans-serif" font-size="12">', f'<rect width="{width}" height="{height}" fill="#ffffff"/>']

    def text(x, y, words, anchor="middle", more=""):
        out.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#222222"{more}>{words}</text>')

    for number, (device, report) in enumerate(panels):
        x0, speedups = left + number * (wide + gap), [1 / problem["auto_over_baseline"] for problem in report["problems"]]
        low, most = math.log10(min(0.8, *speedups)) - 0.05, max(speedups)
        top_decade = math.log10(most) * 1.05

        def across(density):
            return x0 + wide * (4 + math.log10(max(density, 1e-4))) / 4

        def up(speedup):
            return top + high * (1 - (math.log10(speedup) - low) / (top_decade - low))

        text(x0 + wide / 2, 20, ("GPU: " if device else "CPU: ") + caption(report).split(";")[0].split(", CUDA")[0], more=' font-weight="bold" font-size="11"')
        text(x0 + wide / 2, 36, f"{len(report['problems'])} random problems, seed {report['seed']}", more=' font-size="11"')
        out.append(f'<rect x="{x0}" y="{top}" width="{wide}" height="{high}" fill="none" stroke="#999999"/>')
        for speedup in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
            if speedup <= most:
                bold = ' stroke-width="1.6"' if speedup == 1 else ""
                out.append(f'<line x1="{x0}" x2="{x0 + wide}" y1="{up(speedup):.1f}" y2="{up(speedup):.1f}" '
                           f'stroke="{"#444444" if speedup == 1 else "#e4e4e4"}"{bold}/>')
                text(x0 - 6, up(speedup) + 4, f"{speedup}x", "end")
        for power in range(-4, 1):
            text(across(10 ** power), top + high + 16, f"{100 * 10 ** power:g} %")
        text(x0 + wide / 2, top + high + 34, "density of the sparser operand")
        for problem in report["problems"]:
            density = min(density_of(problem["problem"], letter) for letter in "AB")
            ink = INK.get(problem["chosen"].split()[0], INK["dense"])
            out.append(f'<circle cx="{across(density):.1f}" cy="{up(1 / problem["auto_over_baseline"]):.1f}" r="2.6" '
                       f'fill="{ink}" fill-opacity="0.75"/>')
    text(16, top + high / 2, "speedup over the dense product", more=f' transform="rotate(-90 16 {top + high / 2:.1f})"')
    used = {problem["chosen"].split()[0] for _, report in panels for problem in report["problems"]}
    x = left
    for route, ink in INK.items():
        if route in used or route == "dense":
            out.append(f'<circle cx="{x + 5}" cy="{height - 16}" r="4" fill="{ink}"/>')
            text(x + 14, height - 12, "no zeros skipped" if route == "dense" else route, "start")
            x += 90
    return "\n".join([*out, "</svg>"]) + "\n"


def regret_type(report):
    """Of what its products were; f32 where an older report does not say."""
    return report.get("type", "f32")


def regret_table(found):
    """One report of each machine, type, seed and kind of machine constants: regret.json where there are several."""
    newest = {}
    for machine, files in found.items():
        for path, report in files:
            if report["schema"] == REGRET:
                facts = report["machine"]
                shipped = facts.get("device constants", facts.get("constants", "defaults")).startswith(("defaults", "as shipped"))
                key = machine, regret_type(report), report["seed"], "as shipped" if shipped else "tuned"
                rank = path.name == "regret.json", report["date"]
                if key not in newest or rank > newest[key][0]:
                    newest[key] = rank, path, report
    rows = []
    for (machine, kind, seed, constants), (_, path, report) in newest.items():
        over = report["auto_over_best"]
        rows.append((f"[{machine}](../../bench/results/{machine}/{path.name})", kind, str(seed), constants, str(len(report["problems"])),
                     *(f"{over[part]:.3f}" for part in ("geometric_mean", "p95", "worst")),
                     f"{1 / report['auto_over_baseline']['geometric_mean']:.2f}x", str(report["promise_broken"]),
                     f"{report['processes_again']} processes" if "processes_again" in report else "one run"))
    return table(("machine", "type", ">seed", "machine constants", ">problems", ">regret, geometric mean", ">95th percentile", ">worst", ">speedup, geometric mean",
                  ">slower than promised", "judged by"), rows) if rows else ""


def performance_page(found):
    """One table per device, and the regret figures."""
    columns = ("m x k x n", "nonzeros", ">cuBLAS", ">BLAS", ">as sgemv (speedup)", ">cuSPARSE", ">Lacuna", ">speedup", ">% of roofline", "route",
               ">with metadata", ">speedup ")
    parts = [PERFORMANCE]
    for machine, path, report, rows in targets(found):
        drawing = path.with_suffix(".png")
        shown = f"\n![Fraction of the roofline](../../bench/results/{machine}/{drawing.name})\n" if drawing.exists() else ""
        doubles = ", in doubles" if all(problem["problem"].startswith("dgemm") for problem in report["problems"]) else ""
        parts.append(f"## {machine}{doubles}\n\n{caption(report)}\n\n{table_of(columns, rows.values())}\n{shown}")
    for machine, files in found.items():
        reports = {path.stem: report for path, report in files if report["schema"] == FIRST_CALLS}
        before = [report for stem, report in reports.items() if stem.startswith("first_calls_before")]
        for report in (report for stem, report in reports.items() if not stem.startswith("first_calls_before")):
            parts.append(f"## First calls: {machine}\n\n{caption(report)}\n\n{first_calls_section(report, before)}\n")
    if len(parts) > 1:
        parts.append(STANDIN)
    for machine, report in ((machine, report) for machine, files in found.items() for path, report in files
                            if report["schema"] == BENCH and path.name.startswith("roofline")):
        parts.append(f"## Time over the roof: {machine}\n\n{caption(report)}\n\n{roof_section(report)}\n")
    for machine, files in found.items():
        if given := [report for _, report in files if report["schema"] == GIVEN_CSR]:
            parts.append(f"## CSR given, few rows: {machine}\n\n{caption(given[0])}\n\n{given_csr_section(*given)}\n")
    for machine, files in found.items():
        reports = sorted((report for path, report in files if report["schema"] == OPERATORS and path.name.startswith("segments")),
                         key=lambda report: report["date"])
        if reports:
            parts.append(f"## Events times sparse weights: {machine}\n\n{caption(reports[-1])}\n\n{simulator_section(reports)}\n")
    for machine, report in ((machine, report) for machine, files in found.items() for _, report in files
                            if report["schema"] == SPIKE_LINEAR):
        parts.append(f"## Spikes through a Linear layer: {machine}\n\n{caption(report)}\n\n{spike_linear_section(report)}\n")
    for machine, report in ((machine, report) for machine, files in found.items() for _, report in files if report["schema"] == TORCH_LIF):
        parts.append(f"## Steps of neurons from PyTorch: {machine}\n\n{caption(report)}\n\n{torch_lif_section(report)}\n")
    if regrets := regret_table(found):
        parts.append(f"{REGRET_HEAD}\n{regrets}\n")
    return "\n".join(parts if len(parts) > 1 else [*parts, "Nothing has been measured yet.\n"])


ACCURACY_HEAD = """# Accuracy

`bench/render.py` renders this page from the raw results in `bench/results/`; no figure on it is typed.
[Semantics](semantics.md#accuracy) states the contract. `lacuna bench --accuracy` repeats the measurement.
"""


def speed_of(files):
    """A machine's report of bench/before_after.py; None where there is none."""
    return next((report for _, report in files if report["schema"] == BEFORE_AFTER), None)


def accuracy_page(found):
    """One table per device, every cell a multiple of the vendor's error."""
    parts = [f"## {machine}\n\n{caption(report)}\n\n{accuracy_section(report, speed_of(files))}\n"
             for machine, files in found.items() for _, report in files if report["schema"] == ACCURACY]
    return "\n".join([ACCURACY_HEAD, *(parts or ["Nothing has been measured yet.\n"])])


def results_page(root, found):
    """Every file of bench/results, with machine, date and commit where it is a report."""
    known = {path: report for files in found.values() for path, report in files}
    parts = [RESULTS]
    for folder in sorted(path for path in (root / "bench/results").glob("*") if path.is_dir()):
        rows = []
        for path in sorted(folder.iterdir()):
            if path.suffix not in (".json", ".txt"):
                continue
            report = known.get(path) or (json.loads(path.read_text(encoding="utf-8")) if path.suffix == ".json" else {})
            picture_of = path.with_suffix(".png")
            link = f"[{path.name}](../../bench/results/{folder.name}/{path.name})"
            if picture_of.exists():
                link += f", [picture](../../bench/results/{folder.name}/{picture_of.name})"
            held = next((report[key] for key in ("problems", "results", "programs") if key in report), None)
            of = f", of {report['type']}" if report.get("schema") == REGRET and regret_type(report) != "f32" else ""
            rows.append((link, SUBJECTS.get(path.stem.split("_")[0], "") + of, str(len(held)) if held else "",
                         (report.get("date") or "")[:10], f"`{report['commit']}`" if report.get("commit") else ""))
        parts.append(f"## {folder.name}\n\n" + table(("file", "subject", ">rows", "date", "commit"), rows) + "\n")
    return "\n".join(parts)


def bench_section(report):
    rows = []
    for problem in report["problems"]:
        extents, known = in_words(problem["problem"])
        floor = floor_us(report, problem)
        for cache in ("warm", "cold", "queued"):
            for row in timed(problem, cache):
                side = row.get("decided_side", "")
                ran = f"{row['decided_route']} {side}".strip() if row["route"] == "auto" else side
                rows.append((extents, known, row["route"], ran, cache, microseconds(row["median_us"]),
                             f"{microseconds(row['p25_us'])} .. {microseconds(row['p75_us'])}", ratio(row["speedup"]),
                             f"{row['gflops']:.3g}", f"{row['gbytes_per_s']:.3g}",
                             percent(floor / row["median_us"]) if floor else "",
                             microseconds(row["host_us"]) if "host_us" in row else ""))
                extents = known = ""
    scans = [(*in_words(p["problem"]), letter.upper(), microseconds(p[f"scan_{letter}_us"]))
             for p in report["problems"] for letter in "ab" if f"scan_{letter}_us" in p]
    text = without_empty(("m x k x n", "nonzeros", "route", "ran", "cache", ">median", ">quartiles", ">speedup",
                          ">GFLOP/s", ">GB/s", ">% of roofline", ">host"), rows)
    if on_device(report):
        text = ("*warm* and *cold* are calls recorded once and replayed as a graph; *queued*, call by call on a stream; "
                "*host* is what a queued call keeps the host busy for.\n\n") + text
    if scans:
        text += "\n\nWhat it costs to find, from the dense buffer, the metadata that was given above:\n\n"
        text += table(("m x k x n", "nonzeros", "operand", ">scan"), scans)
    return text


def regret_section(report):
    rows = [(name, *(f"{report[key][part]:.3f}" for part in ("geometric_mean", "median", "p95", "worst")))
            for name, key in (("auto / best route", "auto_over_best"), ("auto / baseline", "auto_over_baseline"))]
    worst = sorted(report["problems"], key=lambda p: -p["auto_over_best"])[:10]
    text = (f"{len(report['problems'])} random problems of {regret_type(report)}, extents log-uniform in 1 .. {report['max_extent']}, at most "
            f"{report['max_flops']:g} dense flops, seed {report['seed']}.\n\n")
    text += table(("", ">geometric mean", ">median", ">95th percentile", ">worst"), rows)
    text += (f"\n\nSlower than the baseline by more than 2 % and by more than 1.5 µs: {report['promise_broken']}.\n\n"
             "Farthest from the best route:\n\n")
    return text + table(
        ("problem", ">auto", ">best", "chosen", "best", ">auto / best"),
        [(f"`{p['problem']}`", microseconds(p["auto_us"]), microseconds(p["best_us"]), p["chosen"], p["best"],
          f"{p['auto_over_best']:.2f}") for p in worst])


def products_section(report):
    """Dense-looking products beside cuBLAS, and how accurate both are."""
    columns = {"cublas_us": "cuBLAS", "warm_us": "tiles", "frozen_us": "A frozen", "preparation_us": "preparation",
               "portable_us": "by mma.sync"}
    errors = {"mean_error": "mean", "cublas_mean_error": "cuBLAS, mean", "max_error": "worst",
              "cublas_max_error": "cuBLAS, worst"}
    timed_rows = [row for row in report["results"] if "warm_us" in row]
    judged = [row for row in report["results"] if "mean_error" in row]
    fast = without_empty(("m x k x n, A", *(">" + words for words in columns.values()), ">speedup"),
                         [(row["problem"].replace("%", " %"),
                           *(microseconds(row[key]) if row.get(key, -1) >= 0 else "" for key in columns),
                           ratio(row["cublas_us"] / row["warm_us"])) for row in timed_rows])
    right = without_empty(("m x k x n, data", *(">" + words for words in errors.values())),
                          [(row["problem"], *(f"{row[key]:.2g}" if key in row else "" for key in errors)) for row in judged])
    return ("Products called directly, replayed from a graph, preparation included but for a frozen A, in one run with "
            f"cuBLAS.\n\n{fast}\n\nErrors against fp64 over |A||B|, in units of 2^-24.\n\n{right}")


def kernels_section(report):
    """Kernels called directly and replayed from a graph: beside cuBLAS, or by themselves."""
    if any("cublas_us" in row for row in report["results"]):
        return products_section(report)
    times = {}
    for row in report["results"]:
        if "warm_us" not in row:  # how accurate, not how fast
            continue
        times.setdefault(row["problem"], {}).setdefault(row["route"].removesuffix("-best"), []).append(row["warm_us"])
    times = {problem: {lane: min(values) for lane, values in lanes.items()} for problem, lanes in times.items()}
    if not any("cublas" in lanes for lanes in times.values()):
        return table(("", ">warm"), [(problem, microseconds(min(lanes.values()))) for problem, lanes in times.items()])
    rows = []
    for problem, lanes in times.items():
        side, extents, density = problem.split(":")
        best = min(us for lane, us in lanes.items() if lane not in NOT_OURS)
        cells = [microseconds(lanes[lane]) if lane in lanes else "" for lane in LANES]
        rows.append((extents.replace("x", " x "), f"{'A' if side == 'left' else 'B'} {density.replace('%', ' %')}",
                     microseconds(lanes["cublas"]), *cells, ratio(lanes["cublas"] / best)))
    text = "Kernels called directly, replayed from a graph, in one run with cuBLAS.\n\n"
    return text + without_empty(("m x k x n", "nonzeros", ">cuBLAS", *(">" + words for words in LANES.values()),
                                 ">best speedup"), rows)


def host_operators_section(report):
    """Operators on the host, each beside a copy that moves as many bytes as it must."""
    times = {}
    for row in report["results"]:
        times.setdefault(row["problem"], []).append(row["us"])
    return "Each in turns with a copy that moves as many bytes as must move; medians.\n\n" + table(
        ("", ">ours", ">copy", ">times the copy"),
        [(problem, microseconds(ours), microseconds(copy), f"{ours / copy:.2f}")
         for problem, (ours, copy) in times.items()])


def operators_section(report):
    """Slices, sampled products, batches: a row for each problem, a column for each way to serve it."""
    if "processor" in report:
        return host_operators_section(report)
    times = {}
    for row in report["results"]:
        times.setdefault(row["problem"], {})[row["route"]] = row["us"]
    routes = list(dict.fromkeys(row["route"] for row in report["results"]))
    text = "Called directly, replayed from a graph, microseconds.\n\n"
    return text + table(("", *(">" + route for route in routes)),
                        [(problem, *(microseconds(ways[route]) if route in ways else "" for route in routes))
                         for problem, ways in times.items()])


def simulator_section(reports):
    """Events times sparse weights: a row for each problem, a column for each peer and each of our ways. Reports by
    date: of each route the newest time, for not every run has what the peers' package needs."""
    times, columns = {}, {
        ">cuSPARSE": ("cusparse spmv", "cusparse spmm"), ">brainevent, CSR": ("brainevent: csr",),
        ">fixed fan-out": ("brainevent: fixed fan-out",), ">one value": ("brainevent: fixed fan-out, one value",),
        ">Lacuna, from dense": ("segments",), ">events as CSR": ("segments, events given",),
        ">as lists": ("segments, lists given",),
        ">one value, bits given": ("ones: counts, bits given", "ones: segments, bits given"),
        ">in a JAX program, CSR": ("lacuna in a program: csr",), ">one value ": ("lacuna in a program: fixed fan-out, one value",)}
    for report in reversed(reports):
        for row in report["results"]:
            times.setdefault(row["problem"].removesuffix(":u8"), {}).setdefault(row["route"], row["us"])
    peers = next((report for report in reversed(reports) if "brainevent" in report), {})
    when = f" (measured on {peers['date']}, commit `{peers['commit']}`)" if peers and peers is not reports[-1] else ""
    rows = [(problem, *(microseconds(min(known)) if (known := [ways[route] for route in routes if ways.get(route, 0) > 0]) else ""
                        for routes in columns.values()))
            for problem, ways in times.items()]
    text = ("A row or several of events (share in percent) times W of so many neurons, each with so many connections, microseconds. cuSPARSE's and ours are replayed from "
            "a graph (`bench/gpu/segments_bench.cu`)")
    if peers:
        text += (f"; brainevent {peers['brainevent']}'s and the last two columns{when} are what a product adds to one XLA program "
                 "(`bench/brainevent_events.py`)")
    return f"{text}.\n\n{without_empty(('', *columns), rows)}"


def first_calls_section(report, before=()):
    """The promise for the first calls: time under the drop-in library over the time without it; of older commits, that alone."""
    def cell(value):
        return "" if value is None else f"{value:.3f}"

    def later(each, way):
        mine, plain = (sum(row[key][0] - row[key][1] for row in each["problems"]) for key in (way, "plain"))
        return f"{mine / plain:.3f}" if plain else ""

    def row(each, way, words):
        return (each["list"], each["threads"], words, *(cell(each["over_plain"][way][data]) for data in ("all", "dense", "sparse")),
                later(each, way), str(each["dense_calls_by_sparse_routes"].get(way, "")))
    ways = {"preloaded": "learning", "learn_off": "`LACUNA_LEARN=off`", "control": "no library, again"}
    rows = [line for each in report["lists"] for line in (
        *(row(each, way, words) for way, words in ways.items()),
        *(row(old, "preloaded", f"learning, at `{older['commit']}`") for older in before for old in older["lists"]
          if (old["list"], old["threads"]) == (each["list"], each["threads"])))]
    text = (f"Time of {report['shapes']} random shapes, {report['calls']} calls each in interleaved order, with the drop-in library "
            f"preloaded over the time without it; each run in a process of its own, medians of {report['rounds']} pairs. Extents are "
            f"log-uniform in 1 .. {report['max_extent']}, at most {report['max_flops']:g} flops a call, seed {report['seed']}. In the list "
            "*mixed* every second shape has an operand of which 0.1 to 30 % is nonzero. *Calls 2 to 10* leaves out the first call of each "
            "shape, in which the vendor and Lacuna load what they need. The last column counts the calls of dense data "
            "that a sparse route took.\n\n")
    text += without_empty(("list", ">threads", "library", ">all data", ">dense data", ">sparse data", ">calls 2 to 10", ">dense data by sparse routes"), rows)
    if report["small"]:
        text += "\n\nSmall shapes in rotation, one thread, ns a call above the BLAS called directly in the same process:\n\n" + table(
            (">shapes", "of about", "`LACUNA_DETECT`", ">BLAS, ns", ">later calls", ">first calls", ">no library", ">first, no library"),
            [(str(row["shapes"]), f"{row['extent']}^3", row["detect"], f"{row['direct_ns']:.0f}",
              *(f"{row[way][key]:+.0f}" for way in ("preloaded", "control") for key in ("more_ns", "first_more_ns"))) for row in report["small"]])
    return text


def roof_section(report):
    """Problems by their time over the roof, farthest from it first."""
    rows = []
    for problem in report["problems"]:
        lanes, base = lanes_of(problem, "cold")
        us, roof = lanes["auto"]["median_us"], roof_us(report, problem)
        extents, known = in_words(problem["problem"])
        rows.append((us / roof, base["median_us"] / roof, us > max(1.02 * base["median_us"], base["median_us"] + 1.5),
                     (extents, problem["problem"].split(":")[1], known, microseconds(base["median_us"]), microseconds(us),
                      ratio(base["median_us"] / us), microseconds(roof), f"{us / roof:.2f}", lanes["auto"]["decided_route"])))
    rows.sort(key=lambda row: -row[0])

    def mean(values):
        return math.exp(sum(math.log(value) for value in values) / len(values))
    return (f"`bench/problems/roofline.txt`: {len(rows)} products from dense to one nonzero in 1000, no metadata given, replayed from a graph with cold operands. "
            "The roof is what a perfect kernel that knows the zeros would take: 2 µs of launch, and the longer of the bytes that must move, at memory's rate, "
            "and the pairs of nonzeros, by six bf16 products each. *NT*: the second operand by columns, as a `Linear` layer has it.\n\n"
            f"Time over roof, geometric mean: Lacuna **{mean([row[0] for row in rows]):.2f}**, cuBLAS {mean([row[1] for row in rows]):.2f}; farthest: "
            f"Lacuna {max(row[0] for row in rows):.2f}, cuBLAS {max(row[1] for row in rows):.2f}. Slower than promised (2 % and 1.5 µs): {sum(row[2] for row in rows)}.\n\n"
            + table(("m x k x n", "", "nonzeros", ">cuBLAS", ">Lacuna", ">speedup", ">roof", ">over roof", "route"), [row[3] for row in rows]))


def spike_linear_section(report):
    """Layers by ways of serving them, times and their ratio to PyTorch's own."""
    ways = [way for way in next(iter(report["layers"].values())) if way != "torch"]
    rows = []
    for layer, by_way in report["layers"].items():
        extents, density = layer.split(", ")
        plain = by_way["torch"]["median_us"]
        rows.append((extents, density, microseconds(plain),
                     *(f"{microseconds(by_way[way]['median_us'])} ({ratio(plain / by_way[way]['median_us'])})" for way in ways)))
    heads = {"spikingjelly": "SpikingJelly's sparse kernel", "lacuna linear": "`lacuna_blas.torch.linear`", "lacuna optimized": "after `optimize`"}
    return ("Eager calls in a row, operands of random spikes; medians, and PyTorch's time over them (`bench/torch_spike_linear.py`):\n\n"
            + table(("rows x inputs x outputs", ">spikes", ">`F.linear`", *(">" + heads.get(way, way) for way in ways)), rows))


def torch_lif_section(report):
    """Programs by ways of making a step, and the time of PyTorch's own operations over them."""
    ways = list(dict.fromkeys(way for program in report["programs"].values() for way in program["ways"]))
    rows = []
    for name, program in report["programs"].items():
        def cell(way, found=program["ways"]):
            if way not in found:
                return ""
            plain = found["torch, in a graph" if way.endswith("graph") else "torch"]["median_us"]
            return microseconds(found[way]["median_us"]) + ("" if way.startswith("torch") else f" ({ratio(plain / found[way]['median_us'])})")
        rows.append((name, *(cell(way) for way in ways)))
    heads = {"torch": "PyTorch's operations", "lif_step": "`lacuna_blas.torch.lif_step`", "LIFStep": "`lacuna_blas.LIFStep`"}
    return ("A step of leaky integrate-and-fire neurons, or of training two dense layers of them through 20 steps; medians, and the time of PyTorch's own operations over them "
            "(`bench/torch_lif.py`). A graph holds ten steps. LIFStep works in place; lif_step returns new tensors, and has gradients."
            + (f" {report['note']}" if "note" in report else "") + "\n\n"
            + table(("", *(">" + ", ".join([heads[way.split(",")[0]], *way.split(", ")[1:]]) for way in ways)), rows))


KINDS = {"u": "uniform", "e8": "2^±8", "e30": "2^±30", "p": "positive", "o": "outliers"}


def speed_cells(row):
    """Before, after, and the ratio, of a row of bench/before_after.py; empty where the route was not timed at both."""
    if not row:
        return "", "", ""
    return microseconds(row["before_us"]), microseconds(row["after_us"]), f"{row['after_us'] / row['before_us']:.2f}"


def before_after_section(report):
    """What the routes take at two commits, in a line for each route."""
    ratios = {}
    for row in report["results"]:
        ratios.setdefault(row["route"].split()[0], []).append(row["after_us"] / row["before_us"])
    ways = {**{name: values for name, values in ratios.items() if name != "vendor"},
            "the vendor's, the same both times": ratios.get("vendor", [])}
    return (f"Speed before and after: commit `{report['before']}`, whose sums ran straight through, and `{report['commit']}`, the same problems by "
            f"the same routes in turns ({report['date'][:10]}). Time after over time before:\n\n"
            + table(("route", ">problems", ">geometric mean", ">least", ">most"),
                    [(name, str(len(values)), f"{math.exp(sum(map(math.log, values)) / len(values)):.2f}", f"{min(values):.2f}", f"{max(values):.2f}")
                     for name, values in ways.items() if values]))


def given_csr_section(*reports):
    """Products with CSR given beside SciPy's, by threads."""
    rows = [(f"{row['m']} x {row['k']} x {row['n']}", f"{100 * row['density']:g} %", report["threads"], microseconds(row["scipy_us"]),
             microseconds(row["lacuna_us"]), ratio(row["scipy_us"] / row["lacuna_us"]), f"{100 * row['noise']:.0f} %")
            for report in reports for row in report["results"]]
    return (f"A is a SciPy matrix in CSR, B dense, both called from Python, outputs allocated (`bench/given_csr.py`; SciPy {reports[0]['scipy']}, which uses "
            "one thread). *Noise* is what two of our own samples of one round differ by.\n\n"
            + table(("m x k x n", ">nonzeros", ">threads", ">SciPy", ">Lacuna", ">speedup", ">noise"), rows))


def accuracy_section(report, speed=None):
    """Errors of every route as multiples of the vendor's, by kinds of data; beside them what the route took before and after."""
    timed_routes = {(row["problem"], row["route"].split()[0]): row for row in speed["results"]} if speed else {}
    cells = {}
    for row in report["results"]:
        cells.setdefault((row["problem"], row["route"]), {})[row["kind"]] = row
    vendor = "cuBLAS" if on_device(report) else "BLAS"
    rows, shown = [], None
    for (problem, route), by_kind in cells.items():
        known = in_words(problem)
        rows.append((*(known if known != shown else ("", "")), route,
                     *(f"{by_kind[kind]['mean_ratio']:.2f}, {by_kind[kind]['max_ratio']:.2f}" if kind in by_kind else ""
                       for kind in KINDS), *speed_cells(timed_routes.get((problem, route.split()[0])))))
        shown = known
    worst = [(name, f"{max(row['mean_ratio'] for row in found):.2f}", f"{max(row['max_ratio'] for row in found):.2f}",
              *(f"{min(row[key] for row in found):.2g} .. {max(row[key] for row in found):.2g}"
                for key in ("vendor_mean_error", "mean_error", "vendor_max_error", "max_error")))
             for kind, name in KINDS.items() if (found := [row for row in report["results"] if row["kind"] == kind])]
    return (f"Errors against fp64 over |A||B|, over those of the {vendor}'s `sgemm` on the same data: the contract allows 2. "
            "Farthest from it, with the errors of all rows in units of 2^-24:\n\n"
            + table(("data", ">mean", ">max", f">mean error, {vendor}", ">ours", f">max error, {vendor}", ">ours"), worst)
            + (f"\n\n{before_after_section(speed)}" if speed else "")
            + "\n\nEach cell: the mean error and the largest, as multiples.\n\n"
            + without_empty(("m x k x n", "nonzeros", "route", *(">" + name for name in KINDS.values()), ">before", ">after", ">after / before"), rows))


def section(report):
    """A report as text with tables."""
    return {BENCH: bench_section, REGRET: regret_section, KERNELS: kernels_section, OPERATORS: operators_section, ACCURACY: accuracy_section,
            FIRST_CALLS: first_calls_section, SPIKE_LINEAR: spike_linear_section, TORCH_LIF: torch_lif_section,
            BEFORE_AFTER: before_after_section, GIVEN_CSR: given_csr_section}[
        report["schema"]](report)


def with_table(readme, inside):
    if readme.count(BEGIN) != 1 or readme.count(END) != 1:
        raise SystemExit(f"README.md: expected {BEGIN} and {END}, once each")
    before, rest = readme.split(BEGIN)
    return before + BEGIN + "\n" + (inside + "\n" if inside else "") + END + rest.split(END)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--verify", action="store_true", help="change nothing; status 1 when a document is stale")
    parser.add_argument("--show", type=pathlib.Path, metavar="REPORT.json", help="print one report as tables")
    options = parser.parse_args()
    found = reports(options.root)
    if options.show:
        shown = [report for files in found.values() for path, report in files if path.resolve() == options.show.resolve()]
        if not shown:
            raise SystemExit(f"{options.show}: not a report below {options.root}/bench/results")
        print(f"{caption(shown[0])}\n\n{section(shown[0])}")
        return 0
    readme, docs = options.root / "README.md", options.root / "docs"
    written = {readme: with_table(readme.read_text(encoding="utf-8"), readme_part(found)),
               docs / "user/performance.md": performance_page(found),
               docs / "user/accuracy.md": accuracy_page(found), docs / "dev/results.md": results_page(options.root, found)}
    if drawn(found):
        written[docs / "speedup.svg"] = picture(found)
    stale = [path for path, text in written.items()
             if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if options.verify:
            print(f"{path.name} is not what bench/render.py writes")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(written[path], encoding="utf-8")
    return 1 if options.verify and stale else 0


if __name__ == "__main__":
    sys.exit(main())

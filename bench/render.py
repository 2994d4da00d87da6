#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Renders bench/results/<machine>/*.json into the README's tables and docs/performance: no figure is typed.

usage: render.py [--root FOLDER] [--verify]

The README shows the dispatcher's rows of every targets*.json. docs/user/performance.md says how to read the pages
docs/performance/<machine>.md, which show every report, with the picture beside it where bench/plot_roofline.py or
bench/plot_regret.py has drawn one.
--verify changes nothing and ends with status 1 when a document is not what would be written."""
import argparse
import pathlib
import sys

sys.dont_write_bytecode = True
from report_reading import (BENCH, KERNELS, OPERATORS, REGRET, caption, extents_of, floor_us, in_words, lanes_of, microseconds,  # noqa: E402
                            on_device, ratio, reports, timed, told_words, untold)

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
HEAD = """# Performance

Rendered by `bench/render.py` from the raw reports in `bench/results/`; no figure here is typed. Each report carries
commit, date and machine. Routes are timed in turns (A B A B), so that ratios hold where a machine's speed drifts:
*speed* is the median over the rounds of baseline time / route time. Extents are m x k x n; *A 1 %* means that
one in a hundred elements of A is a nonzero. *vendor* is the BLAS (on a device cuBLAS) called directly on the plain
dense operands; *gemv* is the BLAS's matrix-vector product, where C has one row or column. *auto* is the dispatcher in steady state. *of floor* is the least time that anything could take, over
the time taken: the sparse operand as it is given, the active slices of the other and C, once each at the rate of
memory, or the pairs of nonzeros that meet at the rate of the dense product, whichever takes longer. What lies in a
cache can be above 100 %. Repeat any row with `lacuna bench --route all 'PROBLEM'`.
"""
# What bench/gpu/event_bench.cu times: lane, and what its caller has.
LANES = {"fused": "one kernel", "slots": "compact, gather", "stream": "stream all", "packed": "active list given",
         "csr": "CSR given", "fused-frozen": "frozen, one kernel", "slots-frozen": "frozen, compact, gather",
         "csr-frozen": "frozen, CSC given", "gather": "CSR given, gather", "wide": "CSR given, wide gather",
         "steps": "CSR given, steps",
         "cusparse": "cuSPARSE", "building": "making steps"}
NOT_OURS = ("cublas", "cusparse", "building")  # lanes that are no product of ours


def table(heads, rows):
    """A Markdown table; a head that begins with '>' sets its column to the right."""
    lines = ["| " + " | ".join(head.lstrip(">") for head in heads) + " |",
             "|" + "|".join("---:" if head.startswith(">") else "---" for head in heads) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def without_empty(heads, rows):
    """The table without the columns in which no row has anything."""
    kept = [i for i in range(len(heads)) if any(row[i] for row in rows)]
    return table([heads[i] for i in kept], [[row[i] for i in kept] for row in rows])


def gemv_words(problems):
    """The BLAS's matrix-vector product and the dispatcher's speed against it, for a C of one row or column: what a
    program calls there. '-' where it was not measured, '' for other products and on a device."""
    m, _, n = extents_of(problems[0]["problem"])
    if problems[0].get("on_device") or (m > 1 and n > 1) or problems[0]["problem"].startswith("sgemv"):
        return ""
    for problem in problems:
        lanes, _ = lanes_of(problem)
        if "gemv" in lanes and "auto" in lanes and not told_words(problem["problem"]):
            gemv, auto = lanes["gemv"]["median_us"], lanes["auto"]["median_us"]
            return f"{microseconds(gemv)} ({ratio(gemv / auto)})"
    return "-"


def readme_row(problems):
    """One line for the problems that differ only in what the library is told; None where auto was not timed."""
    plain, told, cusparse, gemv = None, None, "", gemv_words(problems)
    for problem in problems:
        lanes, base = lanes_of(problem)
        if not base or "auto" not in lanes:
            continue
        words, auto = told_words(problem["problem"]), lanes["auto"]
        if not words:
            plain = base, auto
        elif not told or auto["speedup"] > told[2]["speedup"]:
            told = words, base, auto
        if "cusparse" in lanes and ("csr" in problem["problem"] or not cusparse):
            cusparse = microseconds(lanes["cusparse"]["median_us"])
    if not plain and not told:
        return None
    base, auto = plain or (told[1], None)
    cells = [*in_words(untold(problems[0]["problem"])), microseconds(base["median_us"]), gemv, cusparse]
    cells += [microseconds(auto["median_us"]), f"**{ratio(auto['speedup'])}**", auto["decided_route"]] if auto else [""] * 3
    cells += [f"{microseconds(told[2]['median_us'])} ({told[0]})", ratio(told[2]["speedup"])] if told else ["", ""]
    return cells


def readme_table(found):
    """The dispatcher against the baseline, operands in cache: one table for every machine that has targets."""
    parts = []
    for files in found.values():
        for path, report in files:
            if report["schema"] != BENCH or not path.name.startswith("targets"):
                continue
            groups = {}
            for problem in report["problems"]:
                groups.setdefault(untold(problem["problem"]), []).append({**problem, "on_device": on_device(report)})
            rows = [row for row in map(readme_row, groups.values()) if row]
            vendor = "cuBLAS" if on_device(report) else "BLAS"
            if rows:
                parts.append(f"{caption(report)}\n\n" + without_empty(
                    ("m x k x n", "nonzeros", f">{vendor}", ">as sgemv (speed)", ">cuSPARSE", ">Lacuna", ">speed", "route", ">told more",
                     ">speed"), rows))
    return "\n\n".join(parts)


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
                             f"{100 * floor / row['median_us']:.2g} %" if floor else "",
                             microseconds(row["host_us"]) if "host_us" in row else ""))
                extents = known = ""
    scans = [(*in_words(p["problem"]), letter.upper(), microseconds(p[f"scan_{letter}_us"]))
             for p in report["problems"] for letter in "ab" if f"scan_{letter}_us" in p]
    text = without_empty(("m x k x n", "nonzeros", "route", "ran", "cache", ">median", ">quartiles", ">speed",
                          ">GFLOP/s", ">GB/s", ">of floor", ">host"), rows)
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
    text = (f"{len(report['problems'])} random problems, extents log-uniform in 1 .. {report['max_extent']}, at most "
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
    fast = without_empty(("m x k x n, A", *(">" + words for words in columns.values()), ">speed"),
                         [(row["problem"].replace("%", " %"),
                           *(microseconds(row[key]) if key in row else "" for key in columns),
                           ratio(row["cublas_us"] / row["warm_us"])) for row in timed_rows])
    right = table(("m x k x n, data", *(">" + words for words in errors.values())),
                  [(row["problem"], *(f"{row[key]:.2g}" for key in errors)) for row in judged])
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
                                 ">best speed"), rows)


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


def sections(files):
    """(path, report, text) of what the page shows: of reports on kernels only the newest of each bench."""
    newest = {path.name.split("_")[0]: path for path, report in files
              if report["schema"] == KERNELS and "_sweep_" not in path.name}
    for path, report in files:
        if report["schema"] == KERNELS and path not in newest.values():
            continue
        yield path, report, {BENCH: bench_section, REGRET: regret_section, KERNELS: kernels_section,
                             OPERATORS: operators_section}[report["schema"]](report)


def machine_page(machine, files):
    parts = [f"# Performance: {machine}\n\nHow it was measured, and what the columns mean: [performance](../user/performance.md).\n"]
    for path, report, text in sections(files):
        picture = path.with_suffix(".png")
        what = "chosen route and regret over density and shape" if report["schema"] == REGRET else "fraction of the floor"
        shown = f"![{path.stem}: {what}](../../bench/results/{machine}/{picture.name})\n\n"
        parts.append(f"## {path.stem}\n\n{caption(report)}\n\n{shown if picture.exists() else ''}{text}\n")
    return "\n".join(parts)


def overview(found):
    """How to read the pages of the machines, and what each holds."""
    rows = [(f"[{machine}](../performance/{machine}.md)", ", ".join(path.stem for path, _, _ in sections(files)))
            for machine, files in found.items()]
    return HEAD + "\n" + (table(("machine", "reports"), rows) if rows else "Nothing has been measured yet.") + "\n"


def with_table(readme, inside):
    if readme.count(BEGIN) != 1 or readme.count(END) != 1:
        raise SystemExit(f"README.md: expected {BEGIN} and {END}, once each")
    before, rest = readme.split(BEGIN)
    return before + BEGIN + "\n" + (inside + "\n" if inside else "") + END + rest.split(END)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--verify", action="store_true", help="change nothing; status 1 when a document is stale")
    options = parser.parse_args()
    found = reports(options.root)
    readme, pages = options.root / "README.md", options.root / "docs/performance"
    written = {readme: with_table(readme.read_text(encoding="utf-8"), readme_table(found)),
               options.root / "docs/user/performance.md": overview(found)}
    written |= {pages / f"{machine}.md": machine_page(machine, files) for machine, files in found.items()}
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

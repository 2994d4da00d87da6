#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Renders bench/results/<device>/*.json into the README's table and docs/performance.md: no figure is typed.

usage: render.py [--root FOLDER] [--verify]

The README shows the dispatcher's rows of every targets*.json; docs/performance.md shows every report.
--verify changes nothing and ends with status 1 when a document is not what would be written."""
import argparse
import json
import pathlib
import sys

BENCH, REGRET = "lacuna-bench-1", "lacuna-regret-1"
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
HEAD = """# Performance

Rendered by `bench/render.py` from the raw reports in `bench/results/`; no figure here is typed. Each report carries
commit, date and machine. Routes are timed in turns (A B A B), so that ratios hold where a machine's speed drifts:
*speed* is the median over the rounds of baseline time / route time. Extents are m x k x n; *A 1 %* means that
one in a hundred elements of A is a nonzero. *vendor* is the BLAS called directly on the plain dense operands.
*auto* is the dispatcher in steady state. Repeat any row with `lacuna bench --route all 'PROBLEM'`.
"""


def reports(root):
    """{device: [(file name, report)]}, both sorted."""
    found = {}
    for path in sorted((root / "bench/results").glob("*/*.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        if report.get("schema") in (BENCH, REGRET):
            found.setdefault(path.parent.name, []).append((path.name, report))
    return found


def table(heads, rows):
    """A Markdown table; a head that begins with '>' sets its column to the right."""
    lines = ["| " + " | ".join(head.lstrip(">") for head in heads) + " |",
             "|" + "|".join("---:" if head.startswith(">") else "---" for head in heads) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def operand(letter, fields):
    """What a problem string says of one operand, in words; '' where it is plain and dense."""
    pattern, words = fields.get(letter, "dense").split("/")[0], []
    if pattern != "dense":
        digits = next((i for i, c in enumerate(pattern) if c.isdigit()), len(pattern))
        structure, density = pattern[:digits], pattern[digits:]
        if structure == "block":
            size, density = density.split("-", 1)
            structure = f"{size} blocks"
        share = f"{100 * float(density):g} %" if density else pattern
        words.append(share if structure == "bern" else f"{share} ({structure})")
    if f"dt{letter}" in fields:
        words.append(fields[f"dt{letter}"])
    if f"meta{letter}" in fields:
        words.append({"csr": "CSR given", "csc": "CSC given", "bits": "bitmask given", "active": "active list given",
                      "density": "density given"}[fields[f"meta{letter}"]])
    if f"frozen{letter}" in fields:
        words.append("frozen")
    return f"{letter} {', '.join(words)}" if words else ""


def in_words(problem):
    """(extents, what is known of the operands) of a problem string."""
    operation, _trans, extents, *rest = problem.split(":")
    fields = dict(field.split("=", 1) for field in rest if "=" in field)
    known = "; ".join(filter(None, (operand("A", fields), operand("B", fields)))) or "dense"
    extra = ", ".join(f"{key} {fields[key]}" for key in ("alpha", "beta") if key in fields)
    extents = extents.replace("x", " x ")
    return extents + (" (gemv)" if operation == "sgemv" else ""), known + (f"; {extra}" if extra else "")


def microseconds(us):
    """Three digits that count, in us or ms."""
    value, unit = (us / 1000, "ms") if us >= 1000 else (us, "µs")
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"


def ratio(value):
    return f"{value:.{2 if value < 10 else 0}f}x"


def timed(problem, cache):
    return [row for row in problem["rows"] if row["cache"] == cache and "median_us" in row]


def caption(report):
    """Machine, BLAS, date and commit on one line."""
    machine = report["machine"]
    words = machine.get("blas version", "").split()
    blas = " ".join(word for word in words if not word.isupper() and not set("_=") & set(word))
    facts = [machine.get("device") or machine.get("processor", "unknown machine"), machine.get("instruction set"),
             f"{machine['processors']} processors" if "processors" in machine else "", blas or machine.get("blas")]
    text = f"{', '.join(filter(None, facts))}; {report['date'][:10]}, commit `{report['commit']}`"
    disturbed = [problem["others_share"] for problem in report["problems"] if problem.get("others_share", 0) > 0.05]
    if disturbed:
        text += (f"; **not alone**: during {len(disturbed)} of {len(report['problems'])} problems other programs used "
                 f"up to {100 * max(disturbed):.0f} % of the processors")
    return text


def readme_table(found):
    """The dispatcher against the baseline, operands in cache."""
    parts = []
    for files in found.values():
        for name, report in files:
            if report["schema"] != BENCH or not name.startswith("targets"):
                continue
            rows = []
            for problem in report["problems"]:
                lanes = {row["route"]: row for row in timed(problem, "warm")}
                base = next((row for row in lanes.values() if row["baseline"]), None)
                if base and "auto" in lanes:
                    auto = lanes["auto"]
                    rows.append((*in_words(problem["problem"]), microseconds(base["median_us"]),
                                 microseconds(auto["median_us"]), f"**{ratio(auto['speedup'])}**",
                                 auto["decided_route"]))
            parts.append(f"{caption(report)}\n\n" + table(
                ("m x k x n", "nonzeros", ">BLAS", ">Lacuna", ">speed", "route"), rows))
    return "\n\n".join(parts)


def bench_section(report):
    rows = []
    for problem in report["problems"]:
        extents, known = in_words(problem["problem"])
        for cache in ("warm", "cold"):
            for row in timed(problem, cache):
                side = row.get("decided_side", "")
                ran = f"{row['decided_route']} {side}".strip() if row["route"] == "auto" else side
                rows.append((extents, known, row["route"], ran, cache, microseconds(row["median_us"]),
                             f"{microseconds(row['p25_us'])} .. {microseconds(row['p75_us'])}", ratio(row["speedup"]),
                             f"{row['gflops']:.3g}", f"{row['gbytes_per_s']:.3g}"))
                extents = known = ""
    scans = [(*in_words(p["problem"]), letter.upper(), microseconds(p[f"scan_{letter}_us"]))
             for p in report["problems"] for letter in "ab" if f"scan_{letter}_us" in p]
    text = table(("m x k x n", "nonzeros", "route", "ran", "cache", ">median", ">quartiles", ">speed", ">GFLOP/s",
                  ">GB/s"), rows)
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


def performance_page(found):
    parts = [HEAD]
    for device, files in found.items():
        parts.append(f"## {device}\n")
        for name, report in files:
            section = bench_section if report["schema"] == BENCH else regret_section
            parts.append(f"### {name.removesuffix('.json')}\n\n{caption(report)}\n\n{section(report)}\n")
    if not found:
        parts.append("Nothing has been measured yet.\n")
    return "\n".join(parts)


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
    readme, page = options.root / "README.md", options.root / "docs/performance.md"
    written = {readme: with_table(readme.read_text(encoding="utf-8"), readme_table(found)),
               page: performance_page(found)}
    stale = [path for path, text in written.items()
             if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if options.verify:
            print(f"{path.name} is not what bench/render.py writes")
        else:
            path.write_text(written[path], encoding="utf-8")
    return 1 if options.verify and stale else 0


if __name__ == "__main__":
    sys.exit(main())

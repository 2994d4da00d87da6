#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Merges reports of `lacuna bench --json` into one: of each problem the run that other programs disturbed least.

usage: merge_reports.py LIST OUTPUT.json REPORT.json...

For a machine that is never quiet for long: problems are timed one by one, again and again. The problems of LIST are
written in its order, each whole as it was measured; reports of another machine, commit or BLAS are refused, and so is
a LIST with a problem that no report has. The head is that of the earliest report."""
import json
import pathlib
import sys


def wanted(path):
    """Problem strings of a list, without comments."""
    lines = (line.split("#")[0].strip() for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def canonical(problem):
    """Lists may leave the default seed out; reports never do."""
    last = problem.rsplit(":", 1)[-1]
    return problem if last[:1] == "s" and last[1:].isdigit() else problem + ":s1"


def main(list_path, output, *paths):
    reports = sorted((json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in paths),
                     key=lambda report: report["date"])
    head = reports[0]
    best = {}
    for report in reports:
        if any(report[key] != head[key] for key in ("schema", "commit", "machine")):
            sys.exit("expected reports of one commit on one machine with one BLAS")
        for problem in report["problems"]:
            known = best.get(problem["problem"])
            if not known or problem["others_share"] < known["others_share"]:
                best[problem["problem"]] = problem
    missing = [problem for problem in map(canonical, wanted(list_path)) if problem not in best]
    if missing:
        sys.exit(f"no report has {missing[0]} (and {len(missing) - 1} others)")
    merged = {**head, "problems": [best[canonical(problem)] for problem in wanted(list_path)]}
    pathlib.Path(output).write_text(json.dumps(merged, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])

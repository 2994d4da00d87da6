#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Puts single faults into a scratch copy of the tree, one at a time, and reports which of them the tests notice.

  run.py                       all faults that the result file does not hold yet
  run.py --again --changed     and those that were not noticed, or whose file has changed since
  run.py --only 'cuda|planner' those whose file matches
  run.py --check               that each edit of the list still applies: its old text occurs exactly once
  run.py --render FILE         writes the score of the result file between FILE's marks

faults.txt holds the list:

  @ <file> : <regular expression of the nearest tests, as ctest -R takes it>
  - <a line of the old text>          (one or more)
  + <a line of the new text>          (none: the text is removed)
  = <why no test notices it>          (a known survivor, which counts as one)
  ~ <why it changes no result>        (an equivalent edit, which does not count; it may cost time)

An edit without a file of its own belongs to the file of the one before. The nearest tests run first; where they
pass, all of them do (--wide). They must pass without a fault. A fault that does not compile counts as neither. The
result file is written after each fault, so that a run that was ended goes on where it was.
"""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIST, RESULT = HERE / "faults.txt", HERE / "results.json"
LEAST = 120
NEAREST_S, WIDE_S = 120, 1800  # that tests may take, or SLOWER times what they took; a fault that makes one hang is noticed
SLOWER, STEP_S = 5, 2
BEGIN, END = "<!-- mutation:begin -->", "<!-- mutation:end -->"
WIDE = "^(test_|reference|tool[.]|apitest[.]|plugin[.]|cublas[.]|fuzz[.])"
AREAS = (("kernels/host", "host kernels"), ("kernels/cuda", "CUDA kernels, emulated"), ("backend/cuda", "CUDA host code"),
         ("backend/host", "host routes, formats, operators"), ("backend/planner", "planner"), ("backend/api", "public calls"),
         ("backend", "operands, routes' base, threads"), ("plugin", "drop-in libraries"), ("tools", "command"),
         ("reference", "oracle"))

Fault = collections.namedtuple("Fault", "name file tests old new survives equivalent line")


def read_list(path=LIST):
    faults, file, tests, block = [], None, None, {}

    def close():
        if block:
            old, new = "\n".join(block.get("-", [])), "\n".join(block.get("+", []))
            digest = hashlib.sha256("\0".join((file, old, new)).encode()).hexdigest()[:10]
            faults.append(Fault(digest, file, tests, old, new, " ".join(block.get("=", [])), " ".join(block.get("~", [])),
                                block["line"]))
            block.clear()

    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark, text = line[:1], line[2:]
        if mark == "@":
            close()
            file, tests = (part.strip() for part in text.split(" : ", 1))
        elif mark and mark in "-+=~":
            if mark == "-" and set(block) - {"-", "line"}:
                close()
            block.setdefault("line", number)
            block.setdefault(mark, []).append(text)
        elif mark == "" or mark == "#":
            close()
        else:
            sys.exit(f"{path}:{number}: a line begins with one of @ - + = ~ #")
    close()
    return faults


def check(faults, root=ROOT):
    """What is wrong with the list, as lines."""
    wrong = [] if len(faults) >= LEAST else [f"{len(faults)} faults; {LEAST} are wanted"]
    seen = set()
    for fault in faults:
        where = f"faults.txt:{fault.line}: {fault.file}"
        path = root / fault.file
        if not path.is_file():
            wrong.append(f"{where}: is no file")
            continue
        count = path.read_text(encoding="utf-8").count(fault.old)
        if not fault.old or count != 1:
            wrong.append(f"{where}: the old text occurs {count} times: {fault.old!r}")
        if fault.old == fault.new:
            wrong.append(f"{where}: the edit changes nothing")
        if fault.name in seen:
            wrong.append(f"{where}: is in the list twice")
        seen.add(fault.name)
        try:
            re.compile(fault.tests)
        except re.error as error:
            wrong.append(f"{where}: {fault.tests}: {error}")
    return wrong


class Scratch:
    """A copy of the tree, configured and built, into which one edit goes at a time."""

    def __init__(self, folder, jobs):
        self.tree, self.jobs = folder / "tree", jobs
        self.build = self.tree / "build"

    def make(self):
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, text=True,
                                stdout=subprocess.PIPE).stdout.splitlines()
        wanted = set(listed)
        for name in listed:
            source, target = ROOT / name, self.tree / name
            if not source.is_file():
                continue
            if target.is_file() and target.read_bytes() == source.read_bytes():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
        for path in self.tree.rglob("*"):
            name = path.relative_to(self.tree).as_posix()
            if path.is_file() and not name.startswith("build/") and name not in wanted:
                path.unlink()
        self.call(["cmake", "--preset", "host", "-G", "Ninja"], "cmake.log", self.tree, True)  # it builds files by name
        self.compile([], True)

    def call(self, command, log, folder, must=False, limit=None):
        with open(self.tree.parent / log, "wb") as file:
            child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                     start_new_session=True)
            try:
                code, waited = None, 0
                while code is None and (limit is None or waited < limit):
                    try:
                        code = child.wait(STEP_S)
                    except subprocess.TimeoutExpired:
                        waited += STEP_S  # by this program, which may be stopped with its tests for a while
            finally:  # its tests too
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
        if must and code:
            sys.exit(f"{' '.join(command)} failed: see {self.tree.parent / log}")
        return code

    def compile(self, targets, must=False):
        command = ["cmake", "--build", str(self.build), f"-j{self.jobs}"]
        return self.call(command + (["--target", *targets] if targets else []), "build.log", self.tree, must) == 0

    def tests(self, pattern):
        """The files of this build that those tests run."""
        out = subprocess.run(["ctest", "--show-only=json-v1", "-R", pattern, "-E", "^valgrind", "-LE", "large"], cwd=self.build, check=True,
                             stdout=subprocess.PIPE).stdout
        tests, targets = json.loads(out)["tests"], set()
        for test in tests:
            for word in " ".join(test.get("command", [])).split():
                at = word.find(str(self.build) + "/")
                if at >= 0 and os.path.isfile(word[at:]):
                    targets.add(os.path.relpath(word[at:], self.build))
        if any(test["name"].startswith("tool.") for test in tests):  # what the command preloads
            targets.update(f"lib/{path.name}" for path in (self.build / "lib").glob("liblacuna_*.so"))
        return len(tests), sorted(targets)

    def first_failure(self, pattern, limit):
        """The name of a test that fails, or None."""
        code = self.call(["ctest", "-R", pattern, "-E", "^valgrind", "-LE", "large", "--stop-on-failure", f"-j{self.jobs}"], "test.log",
                         self.build, limit=limit)
        if code is None:
            return f"a test that does not end in {limit} s"
        text = (self.tree.parent / "test.log").read_text(encoding="utf-8", errors="replace")
        if "No tests were found" in text:
            sys.exit(f"{pattern}: no test has such a name")
        failed = re.search(r"The following tests FAILED:\s+\d+ - (\S+)", text)
        if code and not failed:
            sys.exit(f"ctest ended with {code}: see {self.tree.parent / 'test.log'}")
        return failed[1] if failed else None


def digest_of(text):
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def seconds_without(scratch, fault):
    """How long the nearest tests take, and pass, without a fault."""
    count, targets = scratch.tests(fault.tests)
    if not count:
        sys.exit(f"{fault.file}: {fault.tests}: no test has such a name")
    scratch.compile(targets, True)
    began = time.monotonic()
    by = scratch.first_failure(fault.tests, WIDE_S)
    if by:
        sys.exit(f"{by} fails without a fault: see {scratch.tree.parent / 'test.log'}")
    return time.monotonic() - began


def attempt(scratch, fault, wide, limit):
    path = scratch.tree / fault.file
    text = path.read_text(encoding="utf-8")
    result = {"file": fault.file, "digest": digest_of(text), "line": text[:text.index(fault.old)].count("\n") + 1,
              "old": fault.old, "new": fault.new}
    began = time.monotonic()
    path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
    try:
        if not scratch.compile(scratch.tests(fault.tests)[1]):
            return result | {"verdict": "does not compile"}
        by = scratch.first_failure(fault.tests, limit)
        if not by and wide:
            scratch.compile([])
            by = scratch.first_failure(wide, WIDE_S)
        return result | ({"verdict": "noticed", "by": by} if by else {"verdict": "survived"}) | {
            "seconds": round(time.monotonic() - began, 1)}
    finally:
        path.write_text(text, encoding="utf-8")


def is_wanted(fault, result, options):
    if fault.equivalent or not re.search(options.only, fault.file):
        return False
    if not result or (options.again and result["verdict"] != "noticed"):
        return True
    return options.changed and result.get("digest") != digest_of((ROOT / fault.file).read_text(encoding="utf-8"))


def run(options, faults):
    wrong = check(faults)
    if wrong:
        sys.exit("\n".join(wrong))
    known = json.loads(options.result.read_text(encoding="utf-8")) if options.result.exists() else {}
    results = {} if options.fresh else known.get("faults", {})
    wanted = [f for f in faults if is_wanted(f, results.get(f.name), options)]
    scratch = Scratch(options.folder.resolve(), options.jobs)
    print(f"{len(wanted)} of {len(faults)} faults; making {scratch.tree}", flush=True)
    scratch.make()
    if options.wide and not options.only and scratch.first_failure(options.wide, WIDE_S):
        sys.exit(f"a test fails without a fault: see {scratch.tree.parent / 'test.log'}")
    took = {}
    for number, fault in enumerate(wanted, 1):
        if fault.tests not in took:
            took[fault.tests] = seconds_without(scratch, fault)
        first = results.get(fault.name, {}).get("first")
        verdict = attempt(scratch, fault, options.wide, max(NEAREST_S, SLOWER * took[fault.tests]))
        results[fault.name] = verdict | {"first": first if first in ("noticed", "survived") else verdict["verdict"]}
        print(f"[{number}/{len(wanted)}] {fault.file}:{verdict['line']}: {verdict['verdict']}"
              f"{' by ' + verdict['by'] if verdict.get('by') else ''} ({verdict.get('seconds', 0)} s)"
              f"{'' if verdict['verdict'] == 'noticed' else '  ' + fault.old.strip()[:70]}", flush=True)
        names = {f.name for f in faults}
        kept = {name: results[name] for name in sorted(results) if name in names}
        text = json.dumps({"wide": options.wide, "date": time.strftime("%Y-%m-%d"), "faults": kept}, indent=1)
        options.result.write_text(text + "\n", encoding="utf-8")


def area_of(file):
    return next(name for folder, name in AREAS if file.startswith(folder + "/"))


def rendered(faults, results):
    """The score as Markdown."""
    held = results["faults"]
    rows, survivors, missing = collections.OrderedDict((name, [0, 0, 0]) for _, name in AREAS), [], 0
    for fault in faults:
        row, verdict = rows[area_of(fault.file)], held.get(fault.name, {}).get("verdict")
        if fault.equivalent:
            row[2] += 1
            continue
        if verdict not in ("noticed", "survived"):
            missing += 1
            continue
        row[0] += 1
        row[1] += verdict == "noticed"
        if verdict == "survived":
            survivors.append((fault, held[fault.name]["line"]))
    tried, noticed = sum(r[0] for r in rows.values()), sum(r[1] for r in rows.values())
    at_first = sum(held[f.name].get("first") == "noticed" for f in faults if not f.equivalent and f.name in held)
    lines = [f"{tried} faults were tried one at a time until {results['date']}; {'the tests' if results['wide'] else 'the nearest tests alone'} "
             f"noticed **{noticed}, {100 * noticed / max(1, tried):.1f} %**; {at_first}, {100 * at_first / max(1, tried):.1f} %, when they were "
             "tried for the first time, before tests were written for what had survived.", "", "| where | faults | noticed | equivalent, not counted |",
             "|---|---:|---:|---:|"]
    lines += [f"| {name} | {r[0]} | {r[1]} | {r[2]} |" for name, r in rows.items() if any(r)]
    if missing:
        lines += ["", f"{missing} faults of the list were not tried, or did not compile."]
    if survivors:
        lines += ["", "Not noticed:", ""]
        for fault, at in survivors:
            old, new = (" ".join(text.split()) for text in (fault.old, fault.new))
            lines.append(f"- `{fault.file}`, line {at}: `{old}` became `{new or '(nothing)'}`."
                         + (f" {fault.survives}" if fault.survives else ""))
    return "\n".join(lines)


def render(faults, options, only_check):
    text = options.render.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{options.render}: has no marks {BEGIN} and {END}")
    before, rest = text.split(BEGIN)
    block = rendered(faults, json.loads(options.result.read_text(encoding="utf-8")))
    made = f"{before}{BEGIN}\n{block}\n{END}{rest.split(END)[1]}"
    if only_check:
        return [] if made == text else [f"{options.render}: differs from what {options.result.name} says: run.py --render"]
    options.render.write_text(made, encoding="utf-8")
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX", help="faults in files that match")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build-mutation", help="of the scratch copy")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--wide", default=WIDE, metavar="REGEX", help="tests for what the nearest pass; '': none")
    parser.add_argument("--result", type=pathlib.Path, default=RESULT)
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--again", action="store_true", help="try what was not noticed before once more")
    parser.add_argument("--changed", action="store_true", help="try once more what was tried in another text of its file")
    parser.add_argument("--check", action="store_true", help="check the list, and the text of --render where it is given")
    parser.add_argument("--render", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    faults = read_list()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # the edit under way is taken back
    if options.check:
        wrong = check(faults) + (render(faults, options, True) if options.render else [])
        print("\n".join(wrong) or f"{len(faults)} faults apply")
        return 1 if wrong else 0
    if options.render:
        render(faults, options, False)
    else:
        run(options, faults)
    return 0


sys.exit(main())

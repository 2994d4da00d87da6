# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""apitest: which calls it tries, that it fails where their results are wrong, and the regret runs.

usage: test_apitest.py <apitest> [test class...]"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SMALL = "sgemm:NN:8x40x12:A=bern0.3:metaA=csr"
# With these operands every call has something to do.
FULL = "sgemm:NN:8x40x12:A=bern0.3:metaA=csr:B=bern0.4:metaB=csc:s3"
QUICK = ("--count", "5", "--max-dim", "64", "--repeat", "3", "--min-time", "0.001")


def apitest(*arguments):
    """Runs the program; (exit code, standard output, standard error)."""
    done = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def lines(report):
    """{name: status} of a report of one problem."""
    return {name: status for status, name in re.findall(r"(?m)^  (ok|refused|FAILED) +(\S+|\([a-z ]+\)) {2,}", report)}


def routes():
    """The library's routes, auto among them."""
    return [name for name in lines(apitest("check", SMALL)[1]) if not name.startswith(("lac_", "("))]


class Calls(unittest.TestCase):
    def test_gemm_and_the_other_calls(self):
        code, out, _ = apitest("check", SMALL)
        self.assertEqual(code, 0, out)
        for name in ("auto", "event", "lac_sgemm", "lac_plan_run", "lac_to_dense", "lac_sddmm", "lac_gemm_epilogue",
                     "(bad input)", "(touched)"):
            self.assertEqual("ok", lines(out).get(name), name)

    def test_one_route_alone(self):
        code, out, _ = apitest("check", "--route", "event", SMALL)
        self.assertEqual((code, lines(out)), (0, {"event": "ok"}))

    def test_usage(self):
        for arguments in ((), ("chekc",), ("check", "--corrupt", "lac_nothing", SMALL), ("regret", "--count", "-3"),
                          ("regret", SMALL), ("regret", "--baseline", "auto"), ("regret", "--type", "f16"), ("check", "--route", "evnet", SMALL)):
            self.assertEqual(2, apitest(*arguments)[0], arguments)


class Threads(unittest.TestCase):
    def test_larger_problems(self):
        """Without the reference route, one plain loop in double that has nothing to share: it takes a minute."""
        names = routes()
        self.assertIn("reference", names)
        code, out, err = apitest("check", "--quiet", "--route", ",".join(name for name in names if name != "reference"),
                                 "--file", str(SOURCE / "bench/problems/check_threads.txt"))
        self.assertEqual(code, 0, out + err)


class Corrupted(unittest.TestCase):
    """The check of the check."""

    @classmethod
    def setUpClass(cls):
        cls.whole = lines(apitest("check", FULL)[1])
        cls.calls = list(cls.whole)[list(cls.whole).index("lac_to_dense"):list(cls.whole).index("(touched)")]

    def test_every_call_is_called_wrong(self):
        code, out, _ = apitest("check", "--corrupt", "all", FULL)
        self.assertEqual(code, 1)
        self.assertGreater(len(self.calls), 15)
        for name, status in lines(out).items():
            self.assertEqual("FAILED" if name in self.calls else self.whole[name], status, name)

    def test_exactly_one_failure(self):
        """One wrong result among many that are right is enough."""
        for call in self.calls:
            code, out, _ = apitest("check", "--quiet", "--corrupt", call, FULL)
            self.assertEqual(code, 1, call)
            self.assertRegex(out, r"1 problems: [1-9]\d* passed, \d+ refused, 1 failed")
            self.assertEqual({call: "FAILED"}, lines(out))
            self.assertIn(f"repeat: apitest check --route auto '{FULL.split(':A')[0]}:", out)


class Contract(unittest.TestCase):
    """A route that breaks its contract fails the check, with any way to break it: guard_page_device.c has them."""
    FAULTS = {"never declines": "goes on with density", "writes first": "has written C", "no density": "reports the density 0 of",
              "cheap": "predicts .* where a dense product takes", "endless": "predicts inf us", "falling": "for half of m"}

    def check(self, fault, *arguments):
        environment = {**os.environ, **({"GUARDED_FAULT": fault} if fault else {})}
        done = subprocess.run([sys.argv[1], "check", "--device", "cuda", *arguments], capture_output=True, text=True, check=False, env=environment)
        return done.returncode, done.stdout + done.stderr

    def test_each_breach(self):
        problem = "sgemm:NN:64x1000x200:A=bern0.1"
        code, out = self.check(None, problem)
        self.assertEqual(code, 0, out)
        for fault, why in self.FAULTS.items():
            with self.subTest(fault=fault):
                code, out = self.check(fault, problem)
                self.assertEqual(code, 1, out)
                self.assertRegex(out, rf"(?m)^  FAILED .*{why}")


class Regret(unittest.TestCase):
    def test_summary(self):
        code, out, _ = apitest("regret", *QUICK)
        self.assertEqual(code, 0)
        self.assertRegex(out, r"auto / best: +geometric mean \d")
        self.assertIn("sgemm:", out)

    def test_json(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "regret.json")
            code, _, _ = apitest("regret", *QUICK, "--json", str(path))
            self.assertEqual(code, 0)
            report = json.loads(path.read_text(encoding="utf-8"))
        # One with a lane far slower than the fastest is left out: so are ours, at times, where nothing is optimised.
        self.assertIn(len(report["problems"]), range(1, 6))
        self.assertGreater(report["auto_over_best"]["geometric_mean"], 0)
        self.assertEqual(report["promise_broken"], sum(p["auto_over_allowed"] > 1 for p in report["problems"]))
        for p in report["problems"]:
            self.assertGreater(p["auto_over_allowed"], 0)
            self.assertLess(p["auto_over_allowed"], p["auto_over_baseline"])

    def regret(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "regret.json")
            code, out, err = apitest("regret", *QUICK, *arguments, "--json", str(path))
            self.assertEqual(code, 0, out + err)
            return json.loads(path.read_text(encoding="utf-8")), err

    def test_what_is_timed_again(self):
        """In three processes, of which the one in the middle counts: everything, where all is above what is asked for. One that
        left the problem out, since a lane was far slower than the fastest, is complained of, and the first finding stands."""
        report, err = self.regret("--again-above", "0")
        self.assertEqual(report["timed_again"], len(report["problems"]))
        again = [p for p in report["problems"] if "allowed_again" in p]
        self.assertEqual(len(again) + err.count("could not be timed again"), len(report["problems"]), err)
        for p in again:
            self.assertEqual(len(p["allowed_again"]), report["processes_again"])
            self.assertEqual(p["auto_over_allowed"], statistics.median(p["allowed_again"]))
        report, _ = self.regret("--again-above", "1e9")
        self.assertEqual(report["timed_again"], 0)
        self.assertFalse([p for p in report["problems"] if "allowed_again" in p])

    def test_one_problem_alone(self):
        """It is the same one as among others, whose seeds are their numbers from 1 on; or it is left out, as above."""
        found = 0
        for problem in [p["problem"] for p in self.regret("--again-above", "1e9")[0]["problems"]]:
            alone = [p["problem"] for p in self.regret("--only", str(int(problem.rsplit(":s", 1)[1]) - 1))[0]["problems"]]
            self.assertIn(alone, ([], [problem]))
            found += len(alone)
        self.assertGreater(found, 0)

    def test_doubles(self):
        """The same problems, of doubles, timed anew too; the report says the type."""
        floats, _ = self.regret("--again-above", "1e9")
        doubles, err = self.regret("--type", "f64", "--again-above", "0")
        self.assertEqual((floats["type"], doubles["type"]), ("f32", "f64"))
        self.assertGreater(len(doubles["problems"]), 0)
        drawn = {p["problem"].replace("sgemm:", "dgemm:") for p in floats["problems"]}
        found = {p["problem"] for p in doubles["problems"]}
        self.assertTrue(all(problem.startswith("dgemm:") for problem in found), found)
        self.assertTrue(found & drawn, (found, drawn))  # but for those that had a lane far slower than the fastest
        again = sum("allowed_again" in p for p in doubles["problems"])
        self.assertEqual(again + err.count("could not be timed again"), len(doubles["problems"]), err)

    def test_no_such_device(self):
        code, out, err = apitest("regret", "--device", "cuda:1023")
        self.assertEqual((code, out), (3, ""), err)
        self.assertIn("--device cuda:1023: device: ", err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])

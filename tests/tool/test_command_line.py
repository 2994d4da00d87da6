# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""The words, exit codes and answers of the command line.

usage: test_command_line.py <lacuna> [test class...]"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from command_tool import COMMANDS, QUICK, SMALL, SOURCE, host_routes, lacuna, main


class Words(unittest.TestCase):
    def test_help_of_each_command(self):
        for command in COMMANDS:
            code, out, _ = lacuna(command, "--help")
            self.assertEqual(code, 0, command)
            self.assertIn(f"Usage: lacuna {command}", out)
            self.assertIn("Exit codes: 0 ok", out)
            self.assertNotIn("corrupt", out)
            self.assertEqual(lacuna("help", command)[1], out)

    def test_help_names_every_command(self):
        for arguments in (("--help",), ("help",)):
            code, out, _ = lacuna(*arguments)
            self.assertEqual(code, 0)
            for command in COMMANDS:
                self.assertIn(f"  {command} ", out)

    def test_version(self):
        code, out, _ = lacuna("--version")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^lacuna \d+\.\d+\.\d+ \(\S+\)\n$")


class Usage(unittest.TestCase):
    """Exit code 2, and a message that says what was expected, where."""

    def refused(self, arguments, *words, code=2):
        got, _, err = lacuna(*arguments)
        self.assertEqual(got, code, f"{arguments}: {err}")
        for word in words:
            self.assertIn(word, err, arguments)

    def test_no_command(self):
        self.refused((), "Usage: lacuna COMMAND")

    def test_unknown_command(self):
        self.refused(("bnech",), "unknown command 'bnech'", "bench")
        self.refused(("help", "nothing"), "unknown command 'nothing'")

    def test_unknown_option(self):
        for command in COMMANDS:
            self.refused((command, "--no-such-option"), "--no-such-option", f"lacuna {command}")

    def test_problem_strings(self):
        for command in ("bench", "explain", "check"):
            self.refused((command, "sgemm:NN:10x20"), "extents", "10x20")
            self.refused((command, "sgemm:NN:8x8x8:A=bern2"), "field 'A'", "bern2")
        self.refused(("explain",), "expected a PROBLEM")

    def test_lists(self):
        self.refused(("check", "--file", "/no/such/list"), "--file", "/no/such/list")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "list.txt")
            path.write_text(f"# fine\n{SMALL} # also fine\n\nsgemm:XX:1x1x1\n", encoding="utf-8")
            self.refused(("check", "--file", str(path)), "list.txt:4:", "XX")

    def test_routes(self):
        for command in ("bench", "explain", "check"):
            self.refused((command, "--route", "evnet", SMALL), "--route", "evnet", "event")
        self.refused(("check", "--route", "", SMALL), "--route")
        self.refused(("bench", "--baseline", "auto", SMALL), "--baseline", "auto")

    def test_numbers(self):
        self.refused(("info", "--device", "cuda:1024"), "--device", "0 .. 1023, found '1024'")
        self.refused(("info", "--device", "cuda:-1"), "--device", "0 .. 1023, found '-1'")
        self.refused(("bench", "--repeat", "0", SMALL), "--repeat", "1 .. 100000, found '0'")
        self.refused(("bench", "--repeat", "100001", SMALL), "--repeat", "1 .. 100000, found '100001'")
        self.refused(("bench", "--repeat", "9" * 30, SMALL), "--repeat", "'" + "9" * 30 + "'")
        self.refused(("bench", "--repeat", "3x", SMALL), "--repeat", "'3x'")
        self.refused(("bench", "--min-time", "3601", SMALL), "--min-time", "'3601'")
        self.refused(("bench", "--min-time", "nan", SMALL), "--min-time", "'nan'")
        self.refused(("bench", "--min-time", "soon", SMALL), "--min-time", "soon")
        self.refused(("check", "--fuzz", "many"), "--fuzz", "many")

    def test_expressions(self):
        self.refused(("check", "--fuzz", "1", "--match", "("), "--match", "regular expression")
        self.refused(("check", "--fuzz", "1", "--match", "a", "--match", "b"), "--match", "twice")

    def test_settings(self):
        self.refused(("info", "--set", "threads"), "OPTION=VALUE")
        self.refused(("info", "--set", "threads=none"), "threads=none")
        self.refused(("info", "--set", "colour=red"), "colour")

    def test_arguments_that_do_not_belong(self):
        self.refused(("info", SMALL), SMALL)
        self.refused(("tune", SMALL), SMALL)

    def test_operands_that_time_nothing(self):
        for problem in ("sgemm:NN:8x8x8:A=zero", "sgemm:NN:8x0x8", "sgemm:NN:8x8x8:B=dense/x"):
            self.refused(("bench", problem), "nonzero, finite")

    def test_reports_that_cannot_be_written(self):
        self.refused(("bench", *QUICK, "--json", "/no/such/folder/x.json", SMALL), "--json", code=3)
        self.refused(("bench", *QUICK, "--csv", "/no/such/folder/x.csv", SMALL), "--csv", code=3)


class Info(unittest.TestCase):
    def test_facts(self):
        code, out, _ = lacuna("info")
        self.assertEqual(code, 0)
        for word in ("version", "processor", "threads", "blas"):
            self.assertIn(word, out.lower())

    def test_settings_show(self):
        _, out, _ = lacuna("info", "--set", "nan=strict")
        self.assertRegex(out, r"(?m)^option nan +strict \(function\)")


ROUTES = host_routes()


class Explain(unittest.TestCase):
    def test_every_route_has_its_line(self):
        code, out, _ = lacuna("explain", SMALL)
        self.assertEqual(code, 0)
        for route in ("trivial", *ROUTES):
            self.assertRegex(out, rf"(?m)^  [* ] +{route} ", out)
        self.assertEqual(sum(line.startswith("  *") for line in out.splitlines()), 1, out)
        self.assertIn("chosen: ", out)

    def test_refusals_are_explained(self):
        _, out, _ = lacuna("explain", "--set", "detect=off", "sgemm:NN:8x200x64")
        self.assertIn("refused because", out)
        self.assertIn("nothing is known of the operand's zeros", out)

    def test_forced(self):
        code, out, _ = lacuna("explain", "--route", "csr", "sgemm:NN:100x200x64:A=bern0.5:metaA=csr")
        self.assertEqual(code, 0)
        self.assertIn("chosen: csr left (forced)", out)

    def test_forced_and_refused(self):
        code, out, _ = lacuna("explain", "--route", "bitmask", "sgemm:NN:500x500x500")
        self.assertEqual(code, 0)
        self.assertIn("bitmask was asked for, and refused", out)

    def test_after_calls(self):
        code, out, _ = lacuna("explain", "--after", "20", "sgemm:NN:10x1000x1000:A=bern0.001")
        self.assertEqual(code, 0)
        self.assertIn("density", out)


class Check(unittest.TestCase):
    def test_passes_and_counts(self):
        code, out, _ = lacuna("check", SMALL)
        self.assertEqual(code, 0)
        self.assertRegex(out, r"1 problems: [1-9]\d* passed, [1-9]\d* refused, 0 failed; largest error")
        refused = {"bitmask"}
        for line in ("auto", *set(ROUTES) - refused, "lac_sgemm", "lac_plan_run"):
            self.assertRegex(out, rf"(?m)^  ok +{line} ")
        for route in refused:
            self.assertRegex(out, rf"(?m)^  refused +{route} +\S")

    def test_built_in(self):
        code, out, _ = lacuna("check", "--quiet")
        self.assertEqual(code, 0, out)

    def test_from_standard_input(self):
        code, out, _ = lacuna("check", "--quiet", "--file", "-", stdin=f"{SMALL}\n# no more\n")
        self.assertEqual(code, 0, out)
        self.assertIn("1 problems", out)

    def faulty(self, fault, *arguments):
        """A check of products that a BLAS with that fault computes (faulty_blas.c)."""
        return lacuna("check", *arguments, env={"LACUNA_BLAS": os.environ["FAULTY_BLAS"], "FAULTY_BLAS_FAULT": fault})

    def test_exactly_one_failure(self):
        """One wrong result among many that are right is enough, and its line says what repeats it."""
        for fault, why in (("element", "WRONG: 1 of 512 wrong"), ("padding", "wrote outside C"), ("input", "changed A or B"),
                           ("unstable", "gave other bits")):
            problem = "sgemm:NN:8x200x64:A=bern0.05:layC=row+3"
            code, out, err = self.faulty(fault, "--route", "event,dense", problem)
            self.assertEqual(code, 1, fault + out + err)
            self.assertRegex(out, r"(?m)^  ok +event ")
            self.assertRegex(out, rf"(?m)^  FAILED +dense .*{why}")
            self.assertIn("1 problems: 1 passed, 0 refused, 1 failed", out)
            self.assertIn(f"repeat: lacuna check --route dense '{problem}:s1'", out)
        code, out, _ = self.faulty("none", "--quiet", SMALL)
        self.assertEqual(code, 0, out)

    def test_exactly_one_breach_of_the_accuracy_contract(self):
        """Of five kinds of data, the first meets a BLAS that sums in double."""
        code, out, err = self.faulty("rough", "--accuracy", "--route", "csr", "sgemm:NN:16x3000x24:A=bern0.5")
        self.assertEqual(code, 1, out + err)
        self.assertIn("5 results, in units of 2^-24 |A||B| (of doubles 2^-53): 1 err more than 2 times", out)

    def test_mean_and_largest_error_are_both_promised(self):
        """A BLAS that sums in double, but for one element: beside that few largest errors are twice as large, the mean ones are."""
        code, out, err = self.faulty("spot", "--accuracy", "--route", "csr", "sgemm:NN:16x3000x24:A=bern0.5")
        self.assertEqual(code, 1, out + err)
        self.assertRegex(out, r"5 results, in units of 2\^-24 \|A\|\|B\| \(of doubles 2\^-53\): [45] err more than 2 times")

    def test_nothing_checked_is_not_a_pass(self):
        code, out, err = lacuna("check", "--route", "bitmask", "sgemm:NN:500x50x500")
        self.assertEqual(code, 1)
        self.assertIn("0 passed", out)
        self.assertIn("nothing was checked", err)

    def test_more_runs(self):
        code, out, _ = lacuna("check", "--quiet", "--repeat", "20", SMALL)
        self.assertEqual(code, 0, out)

    def test_fuzz_is_repeatable(self):
        """The same problems; the dispatcher, which learns from the clock, may choose other routes."""
        def problems(seed):
            code, out, _ = lacuna("check", "--fuzz", "20", "--seed", seed)
            self.assertEqual(code, 0, out)
            return [line for line in out.splitlines() if line.startswith(("sgem", "dgem"))]

        first = problems("7")
        self.assertEqual(len(first), 20)
        self.assertEqual(first, problems("7"))
        self.assertNotEqual(first, problems("8"))

    def test_fuzz_that_matches(self):
        """As many problems as asked for, each of which matches; none that does not exist is looked for without end."""
        code, out, _ = lacuna("check", "--fuzz", "20", "--seed", "7", "--match", "metaB=ell|metaA=ev(bits|lists)")
        self.assertEqual(code, 0, out)
        problems = [line for line in out.splitlines() if line.startswith(("sgem", "dgem"))]
        self.assertEqual(len(set(problems)), 20)
        for problem in problems:
            self.assertRegex(problem, "metaB=ell|metaA=ev(bits|lists)")
        self.assertRegex(out, "ev(bits|lists)")
        code, out, err = lacuna("check", "--fuzz", "1", "--match", "^no problem")
        self.assertNotEqual(code, 0)
        self.assertIn("none of 1048576", err)

    def test_report_does_not_depend_on_the_workers(self):
        """Forced routes give the same lines, in the order of the list, whoever checked what; those of a BLAS may not."""
        routes = ",".join(route for route in ROUTES if route != "dense")

        def report(*more):
            return lacuna("check", "--route", routes, "--fuzz", "60", "--seed", "3", *more)

        first = report()
        self.assertEqual(first[0], 0, first[1])
        for jobs in ("2", "7", "256"):
            self.assertEqual(first, report("--jobs", jobs))

    def test_workers_report_failures(self):
        code, out, _ = self.faulty("element", "--quiet", "--jobs", "4", *40 * ("sgemm:NN:9x9x9",))
        self.assertEqual(code, 1)
        self.assertRegex(out, r"40 problems: \d+ passed, \d+ refused, [1-9]\d* failed")

    def test_jobs_that_are_none(self):
        for jobs in ("0", "-1", "257", "many"):
            code, _, err = lacuna("check", "--jobs", jobs, SMALL)
            self.assertEqual(code, 2, err)
            self.assertIn("--jobs", err)


class Tune(unittest.TestCase):
    def test_output(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "constants")
            code, out, err = lacuna("tune", "--output", str(path))
            self.assertEqual(code, 0, err)
            self.assertGreater(path.stat().st_size, 0)
            self.assertTrue(out)

    def test_output_that_cannot_be_written(self):
        code, _, err = lacuna("tune", "--output", "/no/such/folder/constants")
        self.assertEqual(code, 3)
        self.assertIn("/no/such/folder", err)


class Lists(unittest.TestCase):
    def test_lists_are_what_their_script_writes(self):
        script = SOURCE / "bench/problems/make_check_lists.py"
        done = subprocess.run([sys.executable, str(script), "--verify"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_every_list_is_understood(self):
        """A misspelt problem would stop a bench half way: parsing comes first, and --route '' stops after it."""
        lists = sorted((SOURCE / "bench/problems").glob("*.txt"))
        self.assertTrue(lists)
        for path in lists:
            _, _, err = lacuna("check", "--route", "", "--file", str(path))
            self.assertIn("--route: expected", err, path)


if __name__ == "__main__":
    main()

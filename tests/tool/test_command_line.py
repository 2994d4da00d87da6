# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""The words, exit codes and reports of the command line.

usage: test_command_line.py <lacuna> <source folder> [test class...]"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = ""
SOURCE = pathlib.Path()
COMMANDS = ("info", "bench", "explain", "check", "tune", "run", "doctor")
ROUTES = ("trivial", "event", "csr", "bitmask", "reference", "dense", "plain")
SMALL = "sgemm:NN:8x200x64:A=bern0.05"
QUICK = ("--repeat", "3", "--min-time", "0.001")


def lacuna(*arguments, env=None, stdin=None):
    """Runs the tool; (exit code, standard output, standard error)."""
    done = subprocess.run([TOOL, *arguments], capture_output=True, text=True, input=stdin, check=False,
                          env={**os.environ, **(env or {})})
    return done.returncode, done.stdout, done.stderr


class Words(unittest.TestCase):
    def test_help_of_each_command(self):
        for command in COMMANDS:
            code, out, _ = lacuna(command, "--help")
            self.assertEqual(code, 0, command)
            self.assertIn(f"Usage: lacuna {command}", out)
            self.assertIn("Exit codes: 0 ok", out)
            self.assertNotIn("self-test", out)
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
        self.refused(("bench", "--repeat", "0", SMALL), "--repeat", "'0'")
        self.refused(("bench", "--min-time", "soon", SMALL), "--min-time", "soon")
        self.refused(("bench", "--regret", "--count", "-3"), "--count", "-3")
        self.refused(("check", "--fuzz", "many"), "--fuzz", "many")

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


class Explain(unittest.TestCase):
    def test_every_route_has_its_line(self):
        code, out, _ = lacuna("explain", SMALL)
        self.assertEqual(code, 0)
        for route in ROUTES:
            self.assertRegex(out, rf"(?m)^  [* ] +{route} ", out)
        self.assertEqual(sum(line.startswith("  *") for line in out.splitlines()), 1, out)
        self.assertIn("chosen: ", out)

    def test_refusals_are_explained(self):
        _, out, _ = lacuna("explain", "sgemm:NN:8x200x64")
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
        for route in ("auto", "event", "csr", "dense", "reference", "lac_sgemm", "lac_plan_run"):
            self.assertRegex(out, rf"(?m)^  ok +{route} ")
        self.assertRegex(out, r"(?m)^  refused +bitmask +\S")

    def test_built_in(self):
        code, out, _ = lacuna("check", "--quiet")
        self.assertEqual(code, 0, out)

    def test_from_standard_input(self):
        code, out, _ = lacuna("check", "--quiet", "--file", "-", stdin=f"{SMALL}\n# no more\n")
        self.assertEqual(code, 0, out)
        self.assertIn("1 problems", out)

    def test_failure_is_seen_and_can_be_repeated(self):
        code, out, _ = lacuna("check", "--self-test-corrupt", SMALL)
        self.assertEqual(code, 1)
        self.assertNotIn("  ok ", out)
        self.assertRegex(out, r"(?m)^  FAILED +event ")
        self.assertIn(f"repeat: lacuna check --route event '{SMALL}:s1'", out)

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
            return [line for line in out.splitlines() if line.startswith("sgem")]

        first = problems("7")
        self.assertEqual(len(first), 20)
        self.assertEqual(first, problems("7"))
        self.assertNotEqual(first, problems("8"))


class Place(unittest.TestCase):
    """--device: what can be said without a device, and where there is one, that it is used."""

    def test_not_understood(self):
        for place in ("gpu", "cuda:", "cuda:first", "cuda:-1", "cuda0", "cuda:1x", ""):
            for command in COMMANDS:
                code, _, err = lacuna(command, "--device", place)
                self.assertEqual(code, 2, f"{command} {place}: {err}")
                self.assertIn("--device", err)

    def test_host(self):
        code, out, _ = lacuna("check", "--quiet", "--device", "host", SMALL)
        self.assertEqual(code, 0, out)

    def test_no_such_device(self):
        """Device 1023 is on no machine, whether or not there are others."""
        for arguments in (("info",), ("check", SMALL), ("bench", SMALL), ("bench", "--regret"), ("explain", SMALL),
                          ("tune",)):
            code, out, err = lacuna(*arguments, "--device", "cuda:1023")
            self.assertEqual(code, 3, f"{arguments}: {err}")
            self.assertEqual(out, "")
            self.assertIn("--device cuda:1023: device: ", err)

    def test_device(self):
        code, out, err = lacuna("info", "--device", "cuda")
        if code == 3:
            self.skipTest(err.strip())
        self.assertRegex(out, r"(?m)^device +\S")
        code, out, err = lacuna("check", "--device", "cuda", SMALL)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"(?m)^  ok +event ")


@unittest.skipUnless("PRETENDED_DEVICE" in os.environ, "PRETENDED_DEVICE does not name the folder of pretend_device.c")
class PretendedDevice(unittest.TestCase):
    """What the tool does on a device, on one whose memory is the host's: no figure here means anything."""

    PROBLEMS = (SMALL, "sgemm:TN:33x44x55:A=bern0.1:metaA=csr:layC=col+3:beta=0.5:s2", "sgemm:NN:9x30x12:dtA=u8:A=bern0.2",
                "sgemm:NT:12x40x8:A=bern0.2:metaA=active:layB=rowx2", "sgemm:NN:12x70x8:A=bern0.2:metaA=bits:frozenA=1",
                "sgemm:NN:12x70x8:A=bern0.2:metaA=csc:s3", "sgemv:T:40x30:B=bern0.2:layB=row+1")

    def lacuna(self, *arguments):
        folder = os.environ["PRETENDED_DEVICE"]
        return lacuna(*arguments, "--device", "cuda", env={"LD_LIBRARY_PATH": folder, "LACUNA_TUNE_CACHE": "/dev/null/none"})

    def test_info(self):
        code, out, err = self.lacuna("info")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"(?m)^device +pretended$")

    def test_check(self):
        code, out, err = self.lacuna("check", *self.PROBLEMS)
        self.assertEqual(code, 0, out + err)
        self.assertIn("7 problems: ", out)
        self.assertIn("(against a product in double)", out)
        self.assertRegex(out, r"(?m)^  ok +event +event left")

    def test_check_by_the_devices_oracle(self):
        code, out, err = self.lacuna("check", "--route", "dense", "sgemm:TN:500x701x502:A=bern0.01:alpha=-2:beta=0.5")
        self.assertEqual(code, 0, out + err)
        self.assertIn("(against the device's route reference)", out)

    def test_check_can_fail(self):
        code, out, _ = self.lacuna("check", "--self-test-corrupt", SMALL)
        self.assertEqual(code, 1)
        self.assertIn("repeat: lacuna check --device cuda:0 --route event", out)

    def test_explain(self):
        code, out, err = self.lacuna("explain", "--after", "3", SMALL)
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"(?m)^  [* ] +event +left ")

    def test_bench(self):
        code, out, err = self.lacuna("bench", *QUICK, "--both", "--route", "all", "--json", "-", *self.PROBLEMS[:2])
        self.assertEqual(code, 0, err)
        report = json.loads(out)
        self.assertEqual(report["machine"]["device"], "pretended")
        for problem in report["problems"]:
            self.assertGreater(problem["floor_us"], 0)
            rows = {(row["route"], row["cache"]): row for row in problem["rows"]}
            self.assertEqual({route for route, _ in rows}, {"cublas", "auto", "event"})
            for (route, cache), row in rows.items():
                self.assertEqual(row["status"], "ok", row)
                self.assertEqual(row["timing"], "queued" if cache == "queued" else "replay")
                self.assertEqual(row["baseline"], route == "cublas")
                self.assertGreaterEqual(row["host_us"], 0)
            self.assertEqual({cache for _, cache in rows}, {"warm", "cold", "queued"})

    def test_bench_table(self):
        code, out, err = self.lacuna("bench", *QUICK, "--route", "auto", SMALL)
        self.assertEqual(code, 0, err)
        for word in ("host us", "of floor", "baseline", "; floor "):
            self.assertIn(word, out)

    def test_regret(self):
        code, out, err = self.lacuna("bench", "--regret", "--count", "4", "--max-dim", "64", *QUICK)
        self.assertEqual(code, 0, err)
        self.assertIn("4 problems", out)

    def test_other_devices_and_tuning(self):
        folder = os.environ["PRETENDED_DEVICE"]
        code, _, err = lacuna("info", "--device", "cuda:3", env={"LD_LIBRARY_PATH": folder})
        self.assertEqual(code, 3)
        self.assertIn("--device cuda:3: device: 3, and there are 1", err)
        with tempfile.TemporaryDirectory() as folder:
            code, _, err = self.lacuna("tune", "--output", str(pathlib.Path(folder, "constants")))
        self.assertEqual(code, 3)
        self.assertIn("nothing to measure", err)


class Bench(unittest.TestCase):
    def test_table(self):
        code, out, _ = lacuna("bench", *QUICK, "--route", "all", SMALL)
        self.assertEqual(code, 0)
        self.assertIn("baseline", out)
        self.assertRegex(out, r"(?m)^  auto .*-> \w+")
        self.assertRegex(out, r"(?m)^  bitmask .*refused: ")

    def test_json(self):
        code, out, _ = lacuna("bench", *QUICK, "--both", "--route", "all", "--json", "-",
                              SMALL, "sgemm:NN:64x64x8:A=bern0.1:metaA=csr", "sgemm:NN:9x9x9:beta=0.5")
        self.assertEqual(code, 0)
        report = json.loads(out)
        self.assertEqual(report["schema"], "lacuna-bench-1")
        for key in ("commit", "date", "machine"):
            self.assertTrue(report[key], key)
        self.assertEqual([p["problem"] for p in report["problems"]],
                         [f"{SMALL}:s1", "sgemm:NN:64x64x8:A=bern0.1:metaA=csr:s1", "sgemm:NN:9x9x9:beta=0.5:s1"])
        self.assertIn("scan_a_us", report["problems"][1])
        for problem in report["problems"]:
            timed = [row for row in problem["rows"] if row["status"] == "ok"]
            self.assertEqual({row["cache"] for row in timed}, {"warm", "cold"})
            for row in timed:
                self.assertLessEqual(row["min_us"], row["median_us"])
                self.assertLessEqual(row["median_us"], row["max_us"])
                self.assertGreater(row["speedup"], 0)
                self.assertEqual(row["samples"], 3)
            self.assertEqual(sum(row["baseline"] for row in timed), 2)
            for row in problem["rows"]:
                self.assertTrue(row["status"] == "ok" or row["note"], row)

    def test_csv(self):
        code, out, _ = lacuna("bench", *QUICK, "--csv", "-", SMALL)
        self.assertEqual(code, 0)
        rows = list(csv.DictReader(out.splitlines()))
        self.assertEqual(len(rows), 2)
        self.assertNotIn(None, {value for row in rows for value in (*row.keys(), *row.values())})
        self.assertEqual([row["baseline"] for row in rows], ["1", "0"])

    def test_seed(self):
        _, out, _ = lacuna("bench", *QUICK, "--seed", "5", "--json", "-", SMALL)
        self.assertEqual(json.loads(out)["problems"][0]["problem"], f"{SMALL}:s5")

    def test_quiet(self):
        self.assertEqual(lacuna("bench", *QUICK, "--quiet", SMALL), (0, "", ""))

    def test_without_blas(self):
        code, out, _ = lacuna("bench", *QUICK, SMALL, env={"LACUNA_BLAS": "/no/such/library.so"})
        self.assertEqual(code, 0)
        self.assertIn("no BLAS library was found", out)


class Regret(unittest.TestCase):
    OPTIONS = ("bench", "--regret", "--count", "5", "--max-dim", "64", *QUICK)

    def test_summary(self):
        code, out, _ = lacuna(*self.OPTIONS)
        self.assertEqual(code, 0)
        self.assertRegex(out, r"auto / best: +geometric mean \d")
        self.assertIn("sgemm:", out)

    def test_json(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "regret.json")
            code, _, _ = lacuna(*self.OPTIONS, "--json", str(path))
            self.assertEqual(code, 0)
            report = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual(len(report["problems"]), 5)
        self.assertGreater(report["auto_over_best"]["geometric_mean"], 0)


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


class Render(unittest.TestCase):
    """bench/render.py: figures go from a report into a document, and nowhere else."""

    def run_render(self, root, *arguments):
        return subprocess.run([sys.executable, str(SOURCE / "bench/render.py"), "--root", str(root), *arguments],
                              capture_output=True, text=True, check=False)

    def test_table(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            results = root / "bench/results/some-processor"
            results.mkdir(parents=True)
            (root / "docs").mkdir()
            code, _, err = lacuna("bench", "--quiet", *QUICK, "--json", str(results / "targets.json"), SMALL)
            self.assertEqual(code, 0, err)
            (root / "README.md").write_text("before\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nafter\n", encoding="utf-8")
            done = self.run_render(root)
            self.assertEqual(done.returncode, 0, done.stderr)
            readme = (root / "README.md").read_text(encoding="utf-8")
            page = (root / "docs/performance.md").read_text(encoding="utf-8")
            self.assertEqual(self.run_render(root, "--verify").returncode, 0)
            (root / "README.md").write_text(readme.replace("before", "BEFORE").replace("|", "!", 1), encoding="utf-8")
            self.assertEqual(self.run_render(root, "--verify").returncode, 1)
        self.assertNotIn("old", readme)
        self.assertTrue(readme.startswith("before\n") and readme.endswith("after\n"))
        self.assertIn("8 x 200 x 64", page)

    def test_table_of_a_device(self):
        """What is told of one product shares its line; kernels called directly get a table beside cuBLAS."""
        def row(route, us, baseline=False):
            return {"route": route, "cache": "warm", "baseline": baseline, "median_us": us, "p25_us": us, "p75_us": us,
                    "speedup": 60 / us, "gflops": 1, "gbytes_per_s": 1, "decided_route": "event", "decided_side": "left"}
        machine = {"device": "Some Device", "cublas": "13.1.0", "constant cuda_dram_gbps": "4000 GB/s: memory",
                   "constant cuda_dense_tflops": "50 TFLOP/s: arithmetic"}
        problems = [{"problem": f"sgemm:NN:10x5000x5000:A=bern0.01{told}:s1", "sparse_bytes": 8e6, "useful_flops": 5e6,
                     "rows": [row("vendor", 60.0, True), row("auto", us), row("cusparse", 20.0)]}
                    for told, us in (("", 6.0), (":metaA=csr", 4.0))]
        kernels = {"device": "Some Device", "driver": "1", "cublas": 130100, "commit": "c", "date": "2026-01-01", "results": [
            {"problem": "left:10x5000x5000:1%", "route": route, "warm_us": us} for route, us in (("cublas", 60), ("fused-best", 5))]}
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            results = root / "bench/results/some-device"
            results.mkdir(parents=True)
            (root / "docs").mkdir()
            (results / "targets_gpu.json").write_text(json.dumps(
                {"schema": "lacuna-bench-1", "date": "2026-01-01", "commit": "c", "machine": machine, "problems": problems}))
            (results / "event_2026-01-01.json").write_text(json.dumps(kernels))
            (root / "README.md").write_text("<!-- bench:begin -->\n<!-- bench:end -->\n", encoding="utf-8")
            done = self.run_render(root)
            self.assertEqual(done.returncode, 0, done.stderr)
            readme = (root / "README.md").read_text(encoding="utf-8")
            page = (root / "docs/performance.md").read_text(encoding="utf-8")
        self.assertIn("Some Device, cuBLAS 13.1.0; 2026-01-01", readme)
        self.assertIn("| A 1 % | 60.0 µs | 20.0 µs | 6.00 µs | **10x** | event | 4.00 µs (A CSR given) | 15x |", readme)
        self.assertIn("| 33 % |", page)  # 8 MB at 4000 GB/s are 2 us, of 6
        self.assertIn("| 60.0 µs | 5.00 µs | 12x |", page)

    def test_this_tree_is_rendered(self):
        done = self.run_render(SOURCE, "--verify")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Programs(unittest.TestCase):
    """lacuna run and lacuna doctor: another program with the drop-in libraries in front of its BLAS."""

    def test_exit_codes_are_the_programs(self):
        for command in ("run", "doctor"):
            self.assertEqual(lacuna(command, "sh", "-c", "exit 9")[0], 9, command)
            self.assertEqual(lacuna(command, "--", "/no/such/program")[0], 3, command)
            self.assertEqual(lacuna(command)[0], 2, command)
            self.assertEqual(lacuna(command, "--set", "nan", "true")[0], 2, command)

    def test_environment(self):
        code, out, _ = lacuna("run", "-S", "nan=strict", "--", "sh", "-c", "echo $LD_PRELOAD $LACUNA_NAN -s",
                              env={"LD_PRELOAD": ""})
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^/\S+/liblacuna_blas\.so:/\S+/liblacuna_cublas\.so strict -s$")

    def test_options_end_at_the_program(self):
        code, out, _ = lacuna("run", "echo", "--set", "nothing")
        self.assertEqual((code, out), (0, "--set nothing\n"))

    def test_doctor(self):
        code, _, err = lacuna("doctor", "--", os.environ["DOCTOR_PATIENT"])
        self.assertEqual(code, 7, err)
        self.assertRegex(err, r"sgemm_ +doctor_patient +liblacuna_blas\.so +intercepted")
        self.assertIn("2 by the dense one", err)  # the fake calls itself
        if "liblacuna_audit.so is not there" not in err:
            self.assertRegex(err, r"cblas_sgemm +doctor_patient +libblasfakea\.so +BYPASSED: fetched with dlsym")
            self.assertIn("doctor_patient brings cblas_sgemv64_ itself", err)

    def test_dlsym(self):
        code, _, err = lacuna("doctor", "--dlsym", "--", os.environ["DOCTOR_PATIENT"])
        if "--dlsym needs it" in err:
            self.assertEqual(code, 3)
            return
        self.assertEqual(code, 7, err)
        self.assertRegex(err, r"cblas_sgemm +doctor_patient +liblacuna +intercepted")
        self.assertIn("2 by the dense one", err)
        self.assertEqual(lacuna("run", "--dlsym", "--", os.environ["DOCTOR_PATIENT"]), (7, "", ""))

    def test_doctor_has_nothing_to_say(self):
        code, out, err = lacuna("doctor", "echo", "well")
        self.assertEqual((code, out), (0, "well\n"))
        self.assertIn("No process multiplied", err)

if __name__ == "__main__":
    TOOL, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])

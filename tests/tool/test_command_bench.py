# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Reports of the bench, and what becomes of them in the documents.

usage: test_command_bench.py <lacuna> [test class...]"""
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from command_tool import QUICK, SMALL, SOURCE, lacuna, main


class Bench(unittest.TestCase):
    def test_table(self):
        code, out, _ = lacuna("bench", *QUICK, "--route", "all", SMALL)
        self.assertEqual(code, 0)
        self.assertIn("baseline", out)
        self.assertRegex(out, r"(?m)^  auto .*-> \w+")
        self.assertRegex(out, r"(?m)^  bitmask .*refused: ")

    def test_vectors_as_sgemv(self):
        """A product of one row or column is timed as the sgemv that gives the same C, too, and no other is."""
        vectors = [f"sgemm:{trans}:{extents}:A=bern0.5:beta=0.5" for trans in ("NN", "NT", "TN", "TT")
                   for extents in ("1x40x30", "30x40x1", "1x40x1")]
        code, out, err = lacuna("bench", *QUICK, "--json", "-", *vectors, SMALL)
        self.assertEqual(code, 0, err)
        report = json.loads(out)
        if report["machine"]["blas"] == "none":
            self.skipTest("no BLAS to call")
        for problem in report["problems"]:
            lanes = {row["route"]: row for row in problem["rows"]}
            if "1x" in problem["problem"] or "x1:" in problem["problem"]:
                self.assertEqual(lanes["gemv"]["status"], "ok", problem["problem"])
                self.assertGreater(lanes["gemv"]["median_us"], 0)
            else:
                self.assertNotIn("gemv", lanes)

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

    def test_wrong_baseline(self):
        """A baseline with a wrong element, sampled or not, is called wrong, and no route that differs from it is."""
        problems = [f"sgemm:NN:{extents}:A=bern0.2:beta=0.5:s{seed}" for extents in ("4x50x6", "64x50x70") for seed in range(3)]
        for fault, value in (("nan", "-?nan"), ("element", r"\S+")):
            code, out, err = lacuna("bench", *QUICK, "--route", "event,csr,native", "--json", "-", *problems,
                                    env={"LACUNA_BLAS": os.environ["FAULTY_BLAS"], "FAULTY_BLAS_FAULT": fault})
            self.assertEqual(code, 1, err)
            for problem in json.loads(out)["problems"]:
                lanes = {row["route"]: row for row in problem["rows"]}
                wrong = [name for name, row in lanes.items() if row["status"] == "wrong"]
                self.assertEqual(wrong, ["vendor"], f"{fault}: {problem['problem']}")
                self.assertRegex(lanes["vendor"]["note"], rf"element \(\d+, \d+\) is {value}, in double it is -?\d")
                self.assertGreater(len(lanes), 3)
            # No route beside it: the samples alone.
            code, _, err = lacuna("bench", *QUICK, "--route", "bitmask", problems[0],
                                  env={"LACUNA_BLAS": os.environ["FAULTY_BLAS"], "FAULTY_BLAS_FAULT": fault})
            self.assertEqual(code, 1, fault)
            self.assertRegex(err, rf"route vendor: wrong: element \(2, 3\) is {value}, in double it is -?\d")

    def test_without_blas(self):
        code, out, _ = lacuna("bench", *QUICK, SMALL, env={"LACUNA_BLAS": "/no/such/library.so"})
        self.assertEqual(code, 0)
        self.assertIn("no BLAS library was found", out)


class BeforeAfter(unittest.TestCase):
    """bench/before_after.py with one build as both, and its columns beside the accuracy table."""

    def test_report(self):
        problem = "sgemm:NN:20x64x40:A=bern0.3:s1"
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            results, problems = root / "bench/results/some-processor", root / "list.txt"
            results.mkdir(parents=True)
            (root / "docs/user").mkdir(parents=True)
            (root / "docs/dev").mkdir()
            (root / "README.md").write_text("<!-- bench:begin -->\n<!-- bench:end -->\n", encoding="utf-8")
            problems.write_text(f"# one\n{problem}  # with a comment\n", encoding="utf-8")
            for command in ([sys.argv[1], "bench", "--quiet", "--accuracy", "--file", problems, "--json", results / "accuracy.json"],
                            [sys.executable, "-B", SOURCE / "bench/before_after.py", sys.argv[1], sys.argv[1], results / "before_after.json",
                             "--file", problems, "--rounds", "1", "--min-time", "0.001"],
                            [sys.executable, "-B", SOURCE / "bench/render.py", "--root", folder]):
                done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            report = json.loads((results / "before_after.json").read_text(encoding="utf-8"))
            page = (root / "docs/user/accuracy.md").read_text(encoding="utf-8")
        self.assertEqual(report["before"], report["commit"])
        self.assertEqual({row["problem"] for row in report["results"]}, {problem})
        routes = {row["route"] for row in report["results"]}
        self.assertLessEqual({"event left", "csr left", "native"}, routes)
        self.assertTrue(all(row["before_us"] > 0 and row["after_us"] > 0 for row in report["results"]))
        self.assertIn("| before | after | after / before |", page)
        native = next(row for row in report["results"] if row["route"] == "native")
        self.assertRegex(page, rf"native \|.* {native['after_us'] / native['before_us']:.2f} \|")


class FirstCalls(unittest.TestCase):
    """bench/first_calls.py on a few small shapes: what it counts, never what they take; and the tables of its report."""

    def test_report(self):
        if re.search("(?m)^blas  *none", lacuna("info")[1]):
            self.skipTest("no BLAS to preload in front of")
        shapes = 20
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            path = root / "bench/results/some-processor/first_calls.json"
            done = subprocess.run([sys.executable, "-B", str(SOURCE / "bench/first_calls.py"), str(pathlib.Path(sys.argv[1]).parents[1]), str(path), "--rounds", "1",
                                   "--shapes", str(shapes), "--max-extent", "1000", "--max-flops", "1e7", "--small-rounds", "1"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            report = json.loads(path.read_text(encoding="utf-8"))
            (root / "docs").mkdir()
            (root / "README.md").write_text("<!-- bench:begin -->\n<!-- bench:end -->\n", encoding="utf-8")
            done = subprocess.run([sys.executable, str(SOURCE / "bench/render.py"), "--root", folder], capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            page = (root / "docs/user/performance.md").read_text(encoding="utf-8")
        self.assertEqual(report["schema"], "lacuna-first-calls-1")
        for key in ("commit", "date", "machine"):
            self.assertTrue(report[key], key)
        self.assertEqual([(each["list"], each["threads"]) for each in report["lists"]],
                         [("dense", "1"), ("mixed", "1"), ("dense", "all"), ("mixed", "all")])
        for each in report["lists"]:
            self.assertEqual(each["dense_calls_by_sparse_routes"], {"preloaded": 0, "learn_off": 0})
            sparse = [row for row in each["problems"] if row["density"] < 0.5]
            self.assertEqual(len(sparse), shapes // 2 if each["list"] == "mixed" else 0)
            self.assertEqual({row["sparse"] for row in sparse} - {"A", "B"}, set())
            for kinds in each["routes"].values():
                self.assertEqual({kind: sum(routes.values()) for kind, routes in kinds.items()},
                                 {"dense": 10 * (shapes - len(sparse)), "sparse": 10 * len(sparse)})
            for row in each["problems"]:
                for way in ("plain", "preloaded", "learn_off", "control"):
                    total, first, tenth = row[way]
                    self.assertGreaterEqual(total, first + tenth - 0.02)
            self.assertEqual(each["over_plain"]["preloaded"]["sparse"] is None, each["list"] == "dense")
        self.assertEqual([(row["shapes"], row["extent"], row["detect"]) for row in report["small"][:2]],
                         [(512, 40, "probe"), (512, 40, "off")])
        ratio = report["lists"][0]["over_plain"]["preloaded"]["dense"]
        mine, plain = (sum(row[way][0] - row[way][1] for row in report["lists"][0]["problems"]) for way in ("preloaded", "plain"))
        self.assertIn(f"| dense | 1 | learning | {ratio:.3f} | {ratio:.3f} |  | {mine / plain:.3f} | 0 |", page)
        self.assertIn("| 512 | 40^3 | off |", page)


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
            code, _, err = lacuna("bench", "--quiet", *QUICK, "--json", str(results / "targets.json"), SMALL)
            self.assertEqual(code, 0, err)
            (root / "README.md").write_text("before\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nafter\n", encoding="utf-8")
            done = self.run_render(root)
            self.assertEqual(done.returncode, 0, done.stderr)
            readme = (root / "README.md").read_text(encoding="utf-8")
            page = (root / "docs/user/performance.md").read_text(encoding="utf-8")
            index = (root / "docs/dev/results.md").read_text(encoding="utf-8")
            shown = self.run_render(root, "--show", str(results / "targets.json"))
            absent = self.run_render(root, "--show", str(root / "README.md"))
            self.assertEqual(self.run_render(root, "--verify").returncode, 0)
            (root / "README.md").write_text(readme.replace("before", "BEFORE").replace("|", "!", 1), encoding="utf-8")
            self.assertEqual(self.run_render(root, "--verify").returncode, 1)
        self.assertNotIn("old", readme)
        self.assertTrue(readme.startswith("before\n") and readme.endswith("after\n"))
        self.assertIn("8 x 200 x 64", page)
        self.assertIn("## some-processor", page)
        self.assertIn("| [targets.json](../../bench/results/some-processor/targets.json) |", index)
        self.assertEqual((shown.returncode, absent.returncode), (0, 1))
        self.assertIn("| 8 x 200 x 64 |", shown.stdout)

    def test_table_of_vectors(self):
        """A product of one row stands beside the sgemv that a program would call, or '-' where none was timed."""
        def row(route, us, baseline=False):
            return {"route": route, "cache": "warm", "baseline": baseline, "median_us": us, "p25_us": us, "p75_us": us,
                    "speedup": 60 / us, "gflops": 1, "gbytes_per_s": 1, "decided_route": "event", "decided_side": "left"}
        base = [row("vendor", 60.0, True), row("auto", 6.0)]
        problems = [{"problem": problem, "sparse_bytes": 8e6, "useful_flops": 5e6, "rows": rows} for problem, rows in (
            ("sgemm:NN:1x500x400:A=bern0.01:s1", base + [row("gemv", 18.0)]),
            ("sgemm:NN:400x500x1:B=bern0.01:s1", base), ("sgemm:NN:8x500x400:A=bern0.01:s1", base))]
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "bench/results/some-processor").mkdir(parents=True)
            report = {"schema": "lacuna-bench-1", "machine": {"processor": "P"}, "date": "2026-01-01T00:00:00Z", "commit": "c",
                      "problems": problems}
            (root / "bench/results/some-processor/targets.json").write_text(json.dumps(report), encoding="utf-8")
            (root / "README.md").write_text("<!-- bench:begin -->\n<!-- bench:end -->\n", encoding="utf-8")
            done = self.run_render(root)
            self.assertEqual(done.returncode, 0, done.stderr)
            readme = (root / "README.md").read_text(encoding="utf-8")
        self.assertIn("| 1 x 500 x 400 | A 1 % | 60.0 µs | 18.0 µs (3.00x) | 6.00 µs | **10x** |", readme)
        self.assertIn("| 400 x 500 x 1 | B 1 % | 60.0 µs | - | 6.00 µs | **10x** |", readme)
        self.assertIn("| 8 x 500 x 400 | A 1 % | 60.0 µs |  | 6.00 µs | **10x** |", readme)

    def test_table_of_a_device(self):
        """Metadata given for one product shares its row; kernels called directly get a table beside cuBLAS."""
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
            (results / "targets_gpu.json").write_text(json.dumps(
                {"schema": "lacuna-bench-1", "date": "2026-01-01", "commit": "c", "machine": machine, "problems": problems}))
            (results / "event_2026-01-01.json").write_text(json.dumps(kernels))
            (root / "README.md").write_text("<!-- bench:begin -->\n<!-- bench:end -->\n", encoding="utf-8")
            done = self.run_render(root)
            self.assertEqual(done.returncode, 0, done.stderr)
            readme = (root / "README.md").read_text(encoding="utf-8")
            page = (root / "docs/user/performance.md").read_text(encoding="utf-8")
            targets, kernels = (self.run_render(root, "--show", str(results / name)).stdout
                                for name in ("targets_gpu.json", "event_2026-01-01.json"))
        self.assertIn("GPU: Some Device, cuBLAS 13.1.0; 2026-01-01", readme)
        self.assertIn("| GPU | 10 x 5000 x 5000 | A 1 % | 60.0 µs | 6.00 µs | **10x** | event | 4.00 µs (A CSR given) | 15x |",
                      readme)
        # 8 MB at 4000 GB/s are 2 us, of 6
        self.assertIn("| A 1 % | 60.0 µs | 20.0 µs | 6.00 µs | **10x** | 33 % | event | 4.00 µs (A CSR given) | 15x |", page)
        self.assertIn("| 33 % |", targets)
        self.assertIn("| 60.0 µs | 5.00 µs | 12x |", kernels)

    def test_decisions(self):
        """A regret report becomes a row of the page and the dots of the picture; one without a device stands beside one with, and one
        of doubles beside one of floats, which alone is drawn."""
        def report(machine, over, problems):
            figures = {"geometric_mean": over, "median": over, "p95": over, "worst": over}
            return {"schema": "lacuna-regret-1", "date": "2026-01-01", "commit": "c", "seed": 5, "machine": machine,
                    "auto_over_best": figures, "auto_over_baseline": {**figures, "geometric_mean": 0.5}, "promise_broken": 3, "max_extent": 64, "max_flops": 1e9,
                    "problems": problems}
        dots = [{"problem": f"sgemm:NN:10x50x50:A=bern{density}:s1", "chosen": chosen, "auto_over_baseline": over, "auto_over_best": 1.0,
                 "auto_us": 1.0, "best_us": 1.0, "best": chosen}
                for density, chosen, over in ((0.01, "event left", 0.1), (1, "dense", 1.0))]
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, machine, over in (("a-device", {"device": "Some Device", "device constants": "as shipped"}, 1.25),
                                        ("a-host", {"processor": "Some Processor", "constants": "/some/file.tune"}, 1.5)):
                (root / "bench/results" / name).mkdir(parents=True)
                (root / "bench/results" / name / "regret.json").write_text(json.dumps(report(machine, over, dots)))
            of_doubles = root / "bench/results/a-host/regret_f64.json"
            of_doubles.write_text(json.dumps({**report({"constants": "defaults"}, 1.75, dots[:1]), "type": "f64"}))
            (root / "README.md").write_text("<!-- bench:begin -->\n<!-- bench:end -->\n", encoding="utf-8")
            done = self.run_render(root)
            self.assertEqual(done.returncode, 0, done.stderr)
            shown = self.run_render(root, "--show", str(of_doubles)).stdout
            readme, page, picture, results = ((root / name).read_text(encoding="utf-8") for name in
                                              ("README.md", "docs/user/performance.md", "docs/speedup.svg", "docs/dev/results.md"))
        self.assertIn("](docs/speedup.svg)", readme)
        self.assertIn("| f32 | 5 | as shipped | 2 | 1.250 | 1.250 | 1.250 | 2.00x | 3 |", page)
        self.assertIn("| f32 | 5 | tuned | 2 | 1.500 |", page)
        self.assertIn("| f64 | 5 | as shipped | 1 | 1.750 |", page)
        self.assertIn("against the best route, of f64 | 1 |", results)
        self.assertIn("1 random problems of f64,", shown)
        self.assertEqual(picture.count(' r="2.6"'), 4)

    def test_first_calls(self):
        """An older commit is a row beside today's, of learning alone; calls 2 to 10 are summed over the shapes."""
        def report(commit, mine, routes):
            over = {way: {"all": ratio, "dense": ratio, "sparse": None} for way, ratio in (("preloaded", mine), ("learn_off", 1.0), ("control", 1.0))}
            problems = [{**dict.fromkeys(("learn_off", "control"), [100, 10, 10]), "plain": [100, 20, 10], "preloaded": [us, 20, 10]}
                        for us in (60, 140)]
            return {"schema": "lacuna-first-calls-1", "date": "2026-01-01", "commit": commit, "machine": {"device": "Some Device"}, "shapes": 2,
                    "calls": 10, "max_extent": 64, "max_flops": 1e9, "seed": 7, "rounds": 3, "small": [],
                    "lists": [{"list": "dense", "threads": "all", "over_plain": over, "problems": problems,
                               "dense_calls_by_sparse_routes": {"preloaded": routes, "learn_off": 0}}]}
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            results = root / "bench/results/some-device"
            results.mkdir(parents=True)
            (results / "first_calls.json").write_text(json.dumps(report("new", 1.25, 3)))
            (results / "first_calls_before_2026-01-01.json").write_text(json.dumps(report("old", 1.5, 9)))
            (root / "README.md").write_text("<!-- bench:begin -->\n<!-- bench:end -->\n", encoding="utf-8")
            done = self.run_render(root)
            self.assertEqual(done.returncode, 0, done.stderr)
            page = (root / "docs/user/performance.md").read_text(encoding="utf-8")
        self.assertEqual(page.count("## First calls: some-device"), 1)
        self.assertIn("| dense | all | learning | 1.250 | 1.250 | 1.000 | 3 |", page)
        self.assertIn("| dense | all | learning, at `old` | 1.500 | 1.500 | 1.000 | 9 |", page)

    def test_map_of_regret(self):
        """Problems lie in cells by their sparser operand and their result's smaller extent, both ends included."""
        texts = ["sgemm:NN:1x5x9000:A=bern0.0001:s1", "sgemm:TN:3x5x7:A=dense:B=block4x2-0.00011:s2",
                 "sgemm:NN:8192x5x2000:s3", "sgemm:NN:64x5x63:A=row0.5:B=power0.01/f:s4"]
        program = ("import json, plot_regret, sys\n"
                   "found = plot_regret.cells({'problems': [{'problem': text} for text in sys.argv[1:]]})\n"
                   "print(json.dumps([[*at, len(problems)] for at, problems in found.items()]))")
        done = subprocess.run([sys.executable, "-B", "-c", program, *texts], cwd=SOURCE / "bench", capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), [[0, 0, 2], [5, 7, 1], [2, 4, 1]])

    def test_this_tree_is_rendered(self):
        done = self.run_render(SOURCE, "--verify")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    main()

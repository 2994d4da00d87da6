# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""The command line on a device, on none, and on a pretended one.

usage: test_command_devices.py <lacuna> [test class...]"""
import json
import os
import pathlib
import tempfile
import unittest

from command_tool import COMMANDS, QUICK, SMALL, lacuna, main


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
        for arguments in (("info",), ("check", SMALL), ("bench", SMALL), ("explain", SMALL),
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


@unittest.skipUnless("STUB_DEVICE" in os.environ, "STUB_DEVICE does not name the folder of stub_device.c")
class StubDevice(unittest.TestCase):
    """What the tool does on a device, on one whose memory is the host's: no figure here means anything."""

    PROBLEMS = (SMALL, "sgemm:TN:33x44x55:A=bern0.1:metaA=csr:layC=col+3:beta=0.5:s2", "sgemm:NN:9x30x12:dtA=u8:A=bern0.2",
                "sgemm:NT:12x40x8:A=bern0.2:metaA=active:layB=rowx2", "sgemm:NN:12x70x8:A=bern0.2:metaA=bits:frozenA=1",
                "sgemm:NN:12x70x8:A=bern0.2:metaA=csc:s3", "sgemv:T:40x30:B=bern0.2:layB=row+1")

    def lacuna(self, *arguments, **environment):
        folder = os.environ["STUB_DEVICE"]
        return lacuna(*arguments, "--device", "cuda",
                      env={"LD_LIBRARY_PATH": folder, "LACUNA_TUNE_CACHE": "/dev/null/none", **environment})

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

    def test_check_with_workers(self):
        code, out, err = self.lacuna("check", "--quiet", "--jobs", "5", *20 * self.PROBLEMS)
        self.assertEqual(code, 0, out + err)
        self.assertIn("140 problems: ", out)

    def test_check_by_the_devices_oracle(self):
        code, out, err = self.lacuna("check", "--route", "dense", "sgemm:TN:500x701x502:A=bern0.01:alpha=-2:beta=0.5")
        self.assertEqual(code, 0, out + err)
        self.assertIn("(against the device's route reference)", out)

    def test_check_can_fail(self):
        code, out, err = self.lacuna("check", "--route", "event,dense", SMALL, STUB_WRONG="event")
        self.assertEqual(code, 1, out + err)
        self.assertIn("1 problems: 1 passed, 0 refused, 1 failed", out)
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
        for word in ("host us", "% of roofline", "baseline", "; floor "):
            self.assertIn(word, out)

    def test_other_devices(self):
        folder = os.environ["STUB_DEVICE"]
        code, _, err = lacuna("info", "--device", "cuda:3", env={"LD_LIBRARY_PATH": folder})
        self.assertEqual(code, 3)
        self.assertIn("--device cuda:3: device: 3, and there are 1", err)

    def constants(self, command, *args, **environment):
        code, out, err = self.lacuna(command, *args, **environment)
        self.assertEqual(code, 0, err)
        return out

    def test_tuning(self):
        """Measured constants lie in a file of the device's name, serve it from then on, and are said to."""
        with tempfile.TemporaryDirectory() as cache:
            told = self.constants("info", XDG_CACHE_HOME=cache, LACUNA_TUNE_CACHE="")
            self.assertRegex(told, r"(?m)^device constants +as shipped$")
            self.assertIn("as shipped", self.constants("explain", SMALL, XDG_CACHE_HOME=cache, LACUNA_TUNE_CACHE=""))
            self.assertRegex(self.constants("tune", XDG_CACHE_HOME=cache, LACUNA_TUNE_CACHE=""), r"(?m)^constant cuda_dram_gbps +12\.5 GB/s")
            written = pathlib.Path(cache, "lacuna/a-pretended-device.tune")
            text = written.read_text(encoding="utf-8")
            self.assertIn("# A Pretended Device\n", text)
            self.assertIn("\ncuda_dram_gbps = 12.5\n", text)
            self.assertNotIn("\ndense_gflops", text)
            for command in (("info",), ("explain", SMALL)):
                told = self.constants(*command, XDG_CACHE_HOME=cache, LACUNA_TUNE_CACHE="")
                self.assertRegex(told, rf"(?m)^ *device constants:? +{written}$")
            code, out, err = lacuna("info", env={"XDG_CACHE_HOME": cache})
            self.assertEqual(code, 0, err)
            self.assertNotIn("device constants", out)

    def test_tuning_into_a_named_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = str(pathlib.Path(folder, "constants"))
            self.constants("tune", "--output", path)
            self.assertRegex(self.constants("info", LACUNA_TUNE_CACHE=path), rf"(?m)^device constants +{path}$")
            code, _, err = self.lacuna("tune", "--output", "/no/such/folder/constants")
            self.assertEqual(code, 3)
            self.assertIn("/no/such/folder", err)


if __name__ == "__main__":
    main()

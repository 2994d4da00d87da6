# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""A CUDA backend that is none, or of another version; no driver; and where a device is, vendor's libraries that are none.

usage: odd_devices.py lacuna-tool liblacuna other-backend broken-cublas [unittest argument...]
other-backend is one of another version, broken-cublas makes no handles. Every case ends with right products by what is left, or with a sentence that
names what was wrong."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL, LIBRARY, OTHER, BROKEN = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
SMALL, DENSE = "sgemm:NN:8x200x64:A=bern0.05", "sgemm:NN:60x70x80:A=dense"
SECONDS = 120


def lacuna(*arguments, **settings):
    """The tool with these variables: (exit code, standard output, standard error)."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LACUNA_", "XDG_"))}
    environment |= {"HOME": "/proc", **{name: str(value) for name, value in settings.items()}}
    done = subprocess.run([TOOL, *arguments], env=environment, text=True, capture_output=True, timeout=SECONDS, check=False)
    return done.returncode, done.stdout, done.stderr


class Odd(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)


class Backend(Odd):
    """The library finds its backend beside itself: here beside a copy of it."""

    def expect_none(self, reason):
        shutil.copy(LIBRARY, self.folder / "liblacuna.so.0")
        code, out, err = lacuna("check", "--quiet", SMALL, LD_LIBRARY_PATH=self.folder)
        self.assertEqual(0, code, out + err)
        code, out, err = lacuna("check", "--device", "cuda", SMALL, LD_LIBRARY_PATH=self.folder)
        self.assertEqual((3, ""), (code, out), err)
        self.assertRegex(err, rf"--device cuda:0: .*{reason}")
        self.assertRegex(lacuna("info", LD_LIBRARY_PATH=self.folder)[1], rf"(?m)^backend cuda .*{reason}")

    def test_another_version(self):
        shutil.copy(OTHER, self.folder / "liblacuna_cuda.so")
        self.expect_none(r"liblacuna_cuda.so is of version 99\.0\.0, this library of \d")

    def test_a_library_without_the_symbol(self):
        shutil.copy(LIBRARY, self.folder / "liblacuna_cuda.so")
        self.expect_none("has no lac_cuda_backend")

    def test_no_library(self):
        (self.folder / "liblacuna_cuda.so").write_text("no library\n" * 100, encoding="utf-8")
        self.expect_none("(invalid ELF header|file too short|cannot open)")

    def test_not_there(self):
        self.expect_none("liblacuna_cuda.so")

    def test_no_driver_or_no_device(self):
        """With the real backend, where it was built: a machine without a driver, or one whose devices are hidden."""
        code, out, err = lacuna("check", "--device", "cuda", SMALL, CUDA_VISIBLE_DEVICES="")
        self.assertEqual((3, ""), (code, out), err)
        self.assertRegex(err, "--device cuda:0: .*(no CUDA driver|no CUDA-capable device|liblacuna_cuda.so)")
        code, out, err = lacuna("check", "--quiet", SMALL, CUDA_VISIBLE_DEVICES="")
        self.assertEqual(0, code, out + err)


class Vendor(Odd):
    """cuBLAS and cuSPARSE are opened by name: here by names that lead to something else."""

    def setUp(self):
        super().setUp()
        code, _, err = lacuna("info", "--device", "cuda")
        if code == 3:
            self.skipTest(err.strip())

    def expect_without(self, library, make, reason):
        for version in (".so", ".so.12", ".so.13"):
            make(self.folder / f"lib{library}{version}")
        code, out, err = lacuna("info", "--device", "cuda", LD_LIBRARY_PATH=self.folder)
        self.assertEqual(0, code, err)
        self.assertRegex(out, rf"(?m)^{library} +none")
        self.assertRegex(out, rf"(?m)^{library} missing +.*{reason}")
        code, out, err = lacuna("check", "--device", "cuda", SMALL, DENSE, LD_LIBRARY_PATH=self.folder)
        self.assertEqual(0, code, out + err)
        self.assertRegex(out, rf"(?m)^  refused +{'dense' if library == 'cublas' else library} ")
        self.assertRegex(out, r"2 problems: [1-9]\d* passed, \d+ refused, 0 failed")

    def test_no_library(self):
        for library in ("cublas", "cusparse"):
            with self.subTest(library=library):
                self.expect_without(library, lambda path: path.write_text("no library\n" * 100, encoding="utf-8"),
                                    "(invalid ELF header|file too short)")

    def test_a_library_without_the_symbols(self):
        mapped = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8").split()
        other = next(path for path in mapped if "/libm.so" in path or "/libm-" in path)
        for library in ("cublas", "cusparse"):
            with self.subTest(library=library):
                self.expect_without(library, lambda path: shutil.copy(other, path), "has no ")

    def test_a_cublas_of_another_version(self):
        """Its products end in an error that says so; those of our own go on."""
        for version in (".so", ".so.12", ".so.13"):
            shutil.copy(BROKEN, self.folder / f"libcublas{version}")
        known = re.findall(r"(?m)^route (\w+) +(\w+):", lacuna("info", "--device", "cuda")[1])
        ours = [name for name, role in known if role not in ("trivial", "dense")]
        self.assertGreater(len(ours), 4, known)
        code, out, err = lacuna("check", "--device", "cuda", "--route", ",".join(ours), SMALL, DENSE, LD_LIBRARY_PATH=self.folder)
        self.assertEqual(0, code, out + err)
        code, out, err = lacuna("check", "--device", "cuda", "--route", "cublas", DENSE, LD_LIBRARY_PATH=self.folder)
        self.assertEqual(1, code, out + err)
        self.assertRegex(out, "FAILED +cublas .*create: cuBLAS status 1")


if __name__ == "__main__":
    result = unittest.main(argv=[sys.argv[0], *sys.argv[5:]], exit=False).result
    sys.exit(0 if result.wasSuccessful() and len(result.skipped) < result.testsRun else 77 if result.wasSuccessful() else 1)

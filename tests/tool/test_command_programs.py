# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Other programs behind the command line.

usage: test_command_programs.py <lacuna> [test class...]"""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from command_tool import SOURCE, lacuna, main


class Folder(unittest.TestCase):
    """The tool in a folder with some of the libraries beside it."""

    LIBRARIES = ("liblacuna.so.0", "liblacuna_blas.so")

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        built = pathlib.Path(sys.argv[1]).resolve().parents[1]
        (self.folder / "bin").mkdir()
        shutil.copy(sys.argv[1], self.folder / "bin")
        (self.folder / "lib").mkdir()
        for name in self.LIBRARIES:
            if (built / "lib" / name).exists():
                shutil.copy(built / "lib" / name, self.folder / "lib" / name)

    def doctor(self, *program):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.folder / "lib")}
        return subprocess.run([self.folder / "bin" / pathlib.Path(sys.argv[1]).name, "doctor", "--", *program],
                              capture_output=True, text=True, check=False, env=environment).stderr


class Missing(Folder):
    """Not every library lies beside the tool."""

    def test_doctor_without_its_audit_library(self):
        """It says what it cannot know, and nothing that its own statistics contradict."""
        err = self.doctor(os.environ["DOCTOR_PATIENT"])
        self.assertRegex(err, r"liblacuna_audit\.so is not there: which calls go past Lacuna is not known \(it belongs into /\S+/lib\)")
        self.assertIn("where calls lead was not recorded", err)
        self.assertIn("2 by the dense one", err)
        self.assertNotIn("was bound", err)
        self.assertIn("whether any went past it is not known", self.doctor("true"))

    def test_advice_in_a_build_folder(self):
        (self.folder / "CMakeCache.txt").touch()
        self.assertIn(f"cmake --build {self.folder} --target lacuna_audit)", self.doctor("true"))

    def test_demo_builds_what_the_commands_need(self):
        """./run demo builds every library that the tool asks for by name."""
        asked = set()
        for source in (SOURCE / "tools" / "lacuna").glob("*.c"):
            asked |= set(re.findall(r'"lib(lacuna_\w+)\.so"', source.read_text(encoding="utf-8")))
        self.assertIn("lacuna_audit", asked)
        told = re.search(r"^commands_need\(\) \{ echo (.*); \}$", (SOURCE / "run").read_text(encoding="utf-8"), re.M)
        self.assertLessEqual(asked, set(told.group(1).split()))


class Extended(Folder):
    """A drop-in library with rows in its table that no other file knows: the doctor takes the names from the library."""

    LIBRARIES = ("liblacuna.so.0", "liblacuna_audit.so")

    def test_symbol_of_any_name(self):
        extended = pathlib.Path(os.environ["EXTENDED"])
        shutil.copy(extended / "liblacuna_blas.so", self.folder / "lib")
        err = self.doctor(extended / "doctor_patient_extended")
        self.assertIn("1 by the dense one", err)
        self.assertIn("product_of_a_trial", err)
        self.assertIn("doctor_patient_extended brings vector_of_a_trial itself" if (self.folder / "lib/liblacuna_audit.so").exists()
                      else "where calls lead was not recorded", err)
        if "liblacuna_audit.so is not there" not in err:
            self.assertRegex(err, r"\n  product_of_a_trial +doctor_patient_extended +liblacuna_blas\.so +intercepted")
            self.assertRegex(err, r"c_product_of_a_trial +doctor_patient_extended +libblas_extended_fake\.so +BYPASSED: fetched with dlsym")


class Programs(unittest.TestCase):
    """lacuna run and lacuna doctor: another program with the drop-in libraries in front of its BLAS."""

    def test_exit_codes_are_the_programs(self):
        for command in ("run", "doctor"):
            self.assertEqual(lacuna(command, "sh", "-c", "exit 9")[0], 9, command)
            self.assertEqual(lacuna(command, "--", "/no/such/program")[0], 3, command)
            self.assertEqual(lacuna(command)[0], 2, command)
            self.assertEqual(lacuna(command, "--set", "nan", "true")[0], 2, command)

    def test_settings_that_the_library_does_not_know(self):
        """Refused with the names that it accepts, before the program starts."""
        for command in ("run", "doctor"):
            code, out, err = lacuna(command, "-S", "bakend=event", "--", "echo", "started")
            self.assertEqual((code, out), (2, ""))
            self.assertRegex(err, r"--set bakend=event: option: 'bakend' is none of: backend detect .*frozen stats")
            code, out, err = lacuna(command, "--set", "backend=evnt", "--", "echo", "started")
            self.assertEqual((code, out), (2, ""))
            self.assertRegex(err, r"'evnt' is not accepted for backend; expected .*\bevent, .*\bauto, with ! to pin it")
            self.assertEqual(lacuna(command, "-S", "a" * 99 + "=1", "--", "echo", "started")[0], 2)
        settings = ("backend=event!", "FROZEN=64x64", "verbose=off", "blas=none", "tune_cache=/no/such/file")
        self.assertEqual(lacuna("run", *(word for setting in settings for word in ("-S", setting)), "--", "true")[0], 0)

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
        self.assertIn("2 by the dense one", err)  # the fake calls itself
        if "liblacuna_audit.so is not there" not in err:
            self.assertRegex(err, r"sgemm_ +doctor_patient +liblacuna_blas\.so +intercepted")
            self.assertRegex(err, r"cblas_sgemm +doctor_patient +libblasfakea\.so +BYPASSED: fetched with dlsym")
            self.assertRegex(err, r"sgemm_ +libblasfakea\.so +liblacuna_blas\.so +passed on: the vendor's own call")
            self.assertRegex(err, r"\n  not Lacuna's: cblas_zgemm\n")
            self.assertIn("doctor_patient brings cblas_sgemv64_ itself", err)

    @unittest.skipUnless(platform.machine() == "x86_64", "the doctor reads x86-64 code")
    def test_function_that_leads_on(self):
        """A library's own sgemm_ that only leads on to an intercepted call does not go past."""
        for stub in os.environ["DOCTOR_STUBS"].split():
            code, _, err = lacuna("doctor", "--", os.environ["DOCTOR_PATIENT"], stub)
            self.assertEqual(code, 7, err)
            if "liblacuna_audit.so is not there" not in err:
                if "noplt" not in stub:  # an auditor does not see how slots that no table leads through are bound
                    self.assertRegex(err, r"scipy_sgemm_ +libdoctor_stub_plt\.so +liblacuna_blas\.so +intercepted")
                self.assertIn("2x2x2              scipy_sgemm_ ", err)
                self.assertIn("2x4x3              scipy_cblas_sg ", err)  # row-major, as it was written
                self.assertRegex(err, r"libdoctor_stub_\w+\.so brings cblas_sgemm64_ itself: calls within it go past")

    def test_library_that_lacuna_opened(self):
        """What Lacuna opened to compare with is named as that, and its calls are not the program's."""
        settings = ("-S", "backend=csr", "-S", "compare=blas", "-S", "blas=" + os.environ["DOCTOR_OWN_BLAS"])
        code, _, err = lacuna("doctor", *settings, "--", os.environ["DOCTOR_PATIENT"])
        self.assertEqual(code, 7, err)
        self.assertIn("2 calls by sparse routes", err)
        if "liblacuna_audit.so is not there" not in err:
            self.assertRegex(err, r"\n  libopenblas\S+ was opened by Lacuna for itself")
            self.assertNotRegex(err, r"sgem[mv]_ +libopenblas")

    def test_dlsym(self):
        code, _, err = lacuna("doctor", "--dlsym", "--", os.environ["DOCTOR_PATIENT"])
        if "--dlsym needs it" in err:
            self.assertEqual(code, 3)
            return
        self.assertEqual(code, 7, err)
        self.assertRegex(err, r"cblas_sgemm +doctor_patient +liblacuna +intercepted")
        self.assertIn("2 by the dense one", err)
        self.assertEqual(lacuna("run", "--dlsym", "--", os.environ["DOCTOR_PATIENT"]), (7, "", ""))

    def test_jax(self):
        own = "--xla_gpu_enable_triton_gemm"
        show = ("--", "sh", "-c", 'echo "$LACUNA_DLSYM:$XLA_FLAGS"')
        for before, after in (("", f"{own}=false"), ("--a=1 --b", f"{own}=false --a=1 --b"), (f"{own}=true", f"{own}=true")):
            code, out, err = lacuna("run", "--jax", *show, env={"XLA_FLAGS": before})
            if "--dlsym needs it" in err:
                self.assertEqual(code, 3)
                continue
            self.assertEqual((code, out), (0, f"1:{after}\n"), err)
        self.assertEqual(lacuna("run", *show, env={"XLA_FLAGS": "--a=1"})[1], ":--a=1\n")

    def test_doctor_has_nothing_to_say(self):
        code, out, err = lacuna("doctor", "echo", "well")
        self.assertEqual((code, out), (0, "well\n"))
        self.assertIn("No process multiplied", err)


if __name__ == "__main__":
    main()

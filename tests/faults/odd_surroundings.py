# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Odd surroundings of an honest program: BLAS files that are none, damaged tuning and configuration files, no home.

usage: odd_surroundings.py lacuna-tool liblacuna liblacuna_blas [unittest argument...]
Every case ends with right products, within seconds, and with a sentence that names what was wrong."""
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

TOOL, LIBRARY, PLUGIN = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
PROBLEMS = ("sgemm:NN:8x200x64:A=bern0.05", "sgemv:T:100x70:A=dense")
SECONDS = 60


def run(arguments, settings=(), cwd=None, **more):
    """The tool in an environment that holds nothing of ours but the settings; None removes one."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LACUNA_", "XDG_"))}
    for name, value in dict(settings).items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = str(value)
    return subprocess.run([TOOL, *arguments], env=environment, cwd=cwd, text=True, capture_output=True, timeout=SECONDS,
                          check=False, **more)


def facts(settings, **more):
    """(the lines of `lacuna info` by their first words, standard error)"""
    result = run(["info"], settings, **more)
    if result.returncode:
        raise AssertionError(f"lacuna info ends with {result.returncode}: {result.stderr}")
    return result.stdout, result.stderr


class Surroundings(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.home = self.folder / "home"
        self.home.mkdir()

    def settings(self, **more):
        return {"HOME": self.home, **more}

    def expect_right(self, settings, **more):
        result = run(["check", "--quiet", *PROBLEMS], settings, **more)
        self.assertEqual(0, result.returncode, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"2 problems: [1-9]\d* passed, \d+ refused, 0 failed")
        return result


class Blas(Surroundings):
    """LACUNA_BLAS names something that is no BLAS: the library does without, and says why."""

    def expect_missing(self, named, reason, **more):
        settings = self.settings(LACUNA_BLAS=named)
        self.expect_right(settings, **more)
        text, _ = facts(settings, **more)
        self.assertRegex(text, rf"(?m)^blas missing .*{reason}")
        self.assertRegex(text, r"(?m)^blas +none")

    def test_no_such_file(self):
        self.expect_missing("/no/such/libblas.so", "/no/such/libblas.so: cannot open")

    def test_a_text_file(self):
        text = self.folder / "libblas.so"
        text.write_text("this is no library\n" * 100, encoding="utf-8")
        self.expect_missing(text, "(invalid ELF header|file too short)")

    def test_an_empty_file(self):
        empty = self.folder / "libblas.so"
        empty.touch()
        self.expect_missing(empty, "file too short")

    def test_a_folder(self):
        self.expect_missing(self.folder, "(Is a directory|cannot read)")

    def test_the_beginning_of_a_library(self):
        """Of one cut further on the loader itself dies, in any program."""
        begun = self.folder / "libblas.so"
        begun.write_bytes(LIBRARY.read_bytes()[:200])
        self.expect_missing(begun, "libblas.so")

    def test_a_library_without_the_symbols(self):
        self.expect_missing("libm.so.6", "libm.so.6 has no sgemm_ and sgemv_")

    def test_our_own_drop_in_library(self):
        self.expect_missing(PLUGIN, "is a Lacuna drop-in library")

    def test_none(self):
        self.expect_missing("none", "LACUNA_BLAS=none")


class Tuning(Surroundings):
    """The tuning file is data of unknown origin."""

    def expect_defaults(self, reason, **more):
        settings = self.settings(LACUNA_TUNE_CACHE=self.folder / "tune", **more)
        result = self.expect_right(settings)
        if reason:
            self.assertRegex(result.stderr, reason)
        self.assertRegex(facts(settings)[0], r"(?m)^constants +defaults")

    def write(self, text):
        (self.folder / "tune").write_bytes(text if isinstance(text, bytes) else text.encode())

    def test_damaged(self):
        for text in ("", "\n", "# lacuna tuning 3\nfork_join_us = 5\n", "# lacuna tuning 2\nfork_join_us\n",
                     "# lacuna tuning 2\nfork_join_us = five\n", "# lacuna tuning 2\nfork_join_us = 5 6\n",
                     "# lacuna tuning 2\nfork_join_us = -1\n", "# lacuna tuning 2\nfork_join_us = nan\n",
                     "# lacuna tuning 2\nfork_join_us = inf\n", "# lacuna tuning 2\nfork_join_us = 1e300\n",
                     "# lacuna tuning 2\n" + "fork_join_us = 5\n" * 1000, b"\x7fELF" + bytes(range(256)) * 40):
            with self.subTest(text=text[:40]):
                self.write(text)
                self.expect_defaults(r"tune: .*the default constants are used")

    def test_cut_anywhere(self):
        """A cut file is refused or holds constants that were written whole: never a product gone wrong."""
        self.write("# lacuna tuning 2\n# a processor, 2 threads\nfork_join_us = 4.5\ncsr_ns = 1.25\n")
        whole = (self.folder / "tune").read_bytes()
        for length in range(0, len(whole), 7):
            with self.subTest(length=length):
                self.write(whole[:length])
                self.expect_right(self.settings(LACUNA_TUNE_CACHE=self.folder / "tune"))

    def test_huge(self):
        with open(self.folder / "tune", "wb") as file:
            file.truncate(1 << 40)
        self.expect_defaults("default constants")
        self.write("# lacuna tuning 2\n" + "#" * (1 << 24))
        self.expect_defaults("default constants")

    def test_not_a_file(self):
        for make in (os.mkfifo, os.mkdir, lambda path: os.symlink(path, path)):
            make(self.folder / "tune")
            self.expect_defaults(None)
            (self.folder / "tune").rmdir() if (self.folder / "tune").is_dir() else (self.folder / "tune").unlink()

    def test_a_device_without_end(self):
        settings = self.settings(LACUNA_TUNE_CACHE="/dev/zero")
        self.expect_right(settings)

    def test_a_place_that_cannot_be_written(self):
        """Said before seconds are spent on measuring."""
        (self.folder / "file").touch()
        for place in ("/proc/nowhere/tune", "/proc", self.folder / "file" / "tune"):
            with self.subTest(place=place):
                result = run(["tune", "--quiet"], self.settings(LACUNA_TUNE_CACHE=place))
                self.assertEqual(3, result.returncode, result.stderr)
                self.assertRegex(result.stderr, "cannot write")

    def test_written_private(self):
        """The file and the folders above it are the user's own, whatever the umask says."""
        result = run(["tune", "--quiet", "--set", "threads=1"], self.settings(), preexec_fn=lambda: os.umask(0))
        self.assertEqual(0, result.returncode, result.stderr)
        made = list((self.home / ".cache/lacuna").iterdir())
        self.assertEqual(1, len(made), made)
        self.assertEqual(0o600, stat.S_IMODE(made[0].stat().st_mode))
        self.assertEqual(0o700, stat.S_IMODE(made[0].parent.stat().st_mode))
        self.assertRegex(facts(self.settings(LACUNA_THREADS=1))[0], rf"(?m)^constants +~/.cache/lacuna/{made[0].name}$")


class Home(Surroundings):
    """No home, one that is read-only, and one that is not a place."""

    def test_unset(self):
        settings = {"HOME": None}
        self.expect_right(settings)
        result = run(["tune", "--quiet"], settings)
        self.assertEqual(3, result.returncode)
        self.assertIn("set LACUNA_TUNE_CACHE or HOME", result.stderr)

    def test_read_only(self):
        self.expect_right({"HOME": "/proc"})
        result = run(["tune", "--quiet"], {"HOME": "/proc"})
        self.assertEqual(3, result.returncode)
        self.assertIn("cannot write /proc/.cache/lacuna/", result.stderr)

    def test_relative_is_passed_over(self):
        """Nothing is read from, or written to, wherever the program stands."""
        trap = self.folder / "trap"
        (trap / "lacuna").mkdir(parents=True)
        (trap / ".config/lacuna").mkdir(parents=True)
        for config in (trap / "lacuna/config", trap / ".config/lacuna/config"):
            config.write_text("threads = 7\n", encoding="utf-8")
        for settings in ({"HOME": "trap"}, {"HOME": "."}, {"HOME": None, "XDG_CONFIG_HOME": "trap"},
                         {"HOME": None, "XDG_CONFIG_HOME": "."}, {"HOME": None}):
            for place in (self.folder, trap):
                with self.subTest(settings=settings, place=place.name):
                    text, _ = facts(settings, cwd=place)
                    self.assertNotRegex(text, r"(?m)^option threads +7 ")
        result = run(["tune", "--quiet"], {"HOME": None, "XDG_CACHE_HOME": "trap"}, cwd=self.folder)
        self.assertEqual(3, result.returncode)
        text, _ = facts({"XDG_CONFIG_HOME": trap}) # the same file counts where it is named in full
        self.assertRegex(text, r"(?m)^option threads +7 ")

    def test_no_library_from_the_working_directory(self):
        for name in ("liblacuna_cuda.so", "libopenblas.so.0", "libblas.so.3"):
            (self.folder / name).write_text("a trap\n", encoding="utf-8")
        text, _ = facts(self.settings(), cwd=self.folder)
        self.assertNotRegex(text, "invalid ELF|too short")

    def test_no_library_beside_a_relative_name(self):
        """Opened by a relative name, the library looks for its CUDA part where it lies, not where that name leads
        from the folder that the program went to."""
        trap = self.folder / LIBRARY.parent.name
        trap.mkdir()
        shutil.copy(PLUGIN, trap / "liblacuna_cuda.so")
        program = f"""if True:
            import ctypes, os
            os.chdir({str(LIBRARY.parent.parent)!r})
            lacuna = ctypes.CDLL("{LIBRARY.parent.name}/{LIBRARY.name}")
            os.chdir({str(self.folder)!r})
            lacuna.lac_last_error.restype = ctypes.c_char_p
            context = ctypes.c_void_p()
            print(lacuna.lac_ctx_create_cuda(ctypes.byref(context), 0, None), lacuna.lac_last_error().decode())"""
        result = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, timeout=SECONDS, check=True)
        self.assertNotIn("has no lac_cuda_backend", result.stdout)


class Config(Surroundings):
    def expect_warning(self, reason, settings):
        result = self.expect_right(self.settings(**settings))
        if reason:
            self.assertRegex(result.stderr, reason)
        else:
            self.assertEqual("", result.stderr)
        return result

    def test_lines_that_are_none(self):
        config = self.folder / "config"
        for text, reason in (("backend\n", "expected 'option = value'"), ("colour = red\n", "no such option"),
                             ("threads = many\n", "'many' is not accepted"), ("=\n", "expected"),
                             ("threads = 1 2\n", "expected"), ("x" * 5000 + " = 1\n", "expected|no such option"),
                             ("\0\0\0\n\x01\x02\n", "expected"), ("# only a comment", None), ("", None)):
            with self.subTest(text=text[:20]):
                config.write_text(text, encoding="utf-8")
                self.expect_warning(reason, {"LACUNA_CONFIG": config})

    def test_endless(self):
        config = self.folder / "config"
        config.write_text("threads = 1\n" * 100000, encoding="utf-8")
        self.expect_warning("left out", {"LACUNA_CONFIG": config})
        self.expect_warning("left out", {"LACUNA_CONFIG": "/dev/zero"})

    def test_not_a_file(self):
        os.mkfifo(self.folder / "pipe")
        self.expect_warning("cannot read .*pipe", {"LACUNA_CONFIG": self.folder / "pipe"})
        self.expect_warning("cannot read", {"LACUNA_CONFIG": self.folder})
        self.expect_warning("cannot read", {"LACUNA_CONFIG": "/no/such/config"})
        self.expect_warning(None, {"LACUNA_CONFIG": "/dev/null"})

    def test_log_that_cannot_be_written(self):
        result = self.expect_right(self.settings(LACUNA_VERBOSE="exec", LACUNA_LOG="/proc/no/log"))
        self.assertIn("LACUNA_LOG: cannot open /proc/no/log; writing to standard error", result.stderr)
        result = self.expect_right(self.settings(LACUNA_VERBOSE="exec", LACUNA_LOG="/dev/full"))
        self.assertNotIn("lacuna,1,exec", result.stderr)

    def test_log_is_private(self):
        log = self.folder / "log"
        self.expect_right(self.settings(LACUNA_VERBOSE="exec", LACUNA_LOG=log), preexec_fn=lambda: os.umask(0))
        self.assertGreater(log.stat().st_size, 0)
        self.assertEqual(0o600, stat.S_IMODE(log.stat().st_mode))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])

# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Holds the manual pages to what the program and the sources say: every command, option, variable and call, and no other.

usage: manual_pages.py lacuna-tool source-folder [unittest argument...]"""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

TOOL, ROOT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
PAGE, ENVIRONMENT = ROOT / "docs/man/lacuna.1", ROOT / "docs/man/lacuna-environment.7"


def text(page):
    """The words of a page: no comments, no font changes."""
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if not line.startswith('.\\"')]
    return re.sub(r"\\f[A-Z]", "", "\n".join(lines)).replace("\\-", "-")


def help_of(*command):
    return subprocess.run([TOOL, *command, "--help"], text=True, capture_output=True, check=True).stdout


COMMANDS = re.findall(r"(?m)^  ([a-z]+) ", help_of())


class Tool(unittest.TestCase):
    def test_every_command(self):
        self.assertGreater(len(COMMANDS), 5)
        section = text(PAGE).split(".SH COMMANDS")[1].split(".SH")[0]
        for command in COMMANDS:
            self.assertRegex(section, rf"(?m)^\.BI?R? {command}\b")

    def test_every_option_and_no_other(self):
        known = {"--version"}
        for command in COMMANDS:
            if command != "help":
                known |= set(re.findall(r"(?m)^ +(?:-.,)? *(--[a-z-]+)", help_of(command)))
                known |= set(re.findall(r"(?m)^ +(-[A-Za-z?]),", help_of(command)))
        self.assertGreater(len(known), 25)
        named = set(re.findall(r"(?<![\w-])--?[A-Za-z?][a-z-]*", text(PAGE)))
        self.assertEqual(set(), known - named, "not in the page")
        self.assertEqual(set(), {option for option in named if option.startswith("--")} - known, "no longer there")


class Environment(unittest.TestCase):
    TABLE = (ROOT / "backend/planner/options.def").read_text(encoding="utf-8")
    TUNING = (ROOT / "docs/user/tuning.md").read_text(encoding="utf-8")

    def options(self):
        """Name, variable and accepted values; "" for those that another table lists."""
        found = re.findall(r'(?m)^LAC_OPTION\((\w+), "(\w+)",\s*(?:"([^"]*)"|\w+)\)', self.TABLE)
        self.assertEqual(len(found), len(re.findall(r"(?m)^LAC_OPTION", self.TABLE)))
        return found

    def test_routes_are_those_of_the_library(self):
        """The page sends its reader to "lacuna info", which lists every route that a name can force."""
        page = text(ENVIRONMENT)
        entry = page.split('LACUNA_BACKEND " (option ')[1].split(".TP")[0]
        for value in ("auto", "lacuna info", "blas", "cublas", "dense"):
            self.assertRegex(entry, rf"\b{value}\b")
        listed = dict(re.findall(r"(?m)^route (\w+) +(\w+):", subprocess.run([TOOL, "info"], text=True, capture_output=True, check=True).stdout))
        self.assertGreater(len(listed), 5)
        refused = subprocess.run([TOOL, "info", "--set", "backend=none"], text=True, capture_output=True, check=False).stderr
        for name, role in listed.items():
            self.assertEqual(role != "trivial", re.search(rf"\b{name}\b", refused) is not None, refused)

    def test_every_option_and_its_values(self):
        page = text(ENVIRONMENT)
        for name, variable, accepted in self.options():
            entry = re.search(rf'(?ms)^\.BR {variable} " \(option " {name} \)$(.*?)^\.(?:TP|SH)', page)
            self.assertIsNotNone(entry, variable)
            row = re.search(rf"(?m)^\| `{name}` \| `{variable}` \|([^|]*)\|[^|]*\|[^|]*\|$", self.TUNING)
            self.assertIsNotNone(row, variable)
            for value in re.findall(r"\b[a-z0-9]+(?=,| or |$| and )", accepted.split(", with")[0].replace("any of", "")):
                with self.subTest(variable=variable, value=value):
                    self.assertRegex(entry[1], rf"\b{value}\b")
                    if value != "commas":
                        self.assertRegex(row[1], rf"\b{value}\b")

    def test_every_variable_of_the_process(self):
        """All that the library reads is in the table, but for what lacuna run and lacuna doctor set for the auditor."""
        read = {name for name in self.read() if name.startswith("LACUNA_")}
        options = {variable for _, variable, _ in self.options()}
        variables = set(re.findall(r'(?m)^LAC_VARIABLE\(\w+, "(\w+)"\)', self.TABLE))
        self.assertEqual(variables, read - options - {"LACUNA_AUDIT", "LACUNA_DLSYM"})

    def read(self):
        """What the sources read, and the table."""
        read = {"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "HOME", "OMP_NUM_THREADS"}
        for folder in ("backend", "plugin"):
            for source in (ROOT / folder).rglob("*"):
                if source.suffix in (".c", ".def"):
                    read |= set(re.findall(r'"(LACUNA_[A-Z_]+)"', source.read_text(encoding="utf-8")))
        return read

    def test_every_variable_and_no_other(self):
        read = self.read()
        named = set(re.findall(r"\b(?:LACUNA_[A-Z_]+|XDG_[A-Z_]+|HOME|OMP_NUM_THREADS)\b", text(ENVIRONMENT)))
        self.assertEqual(read, named)
        self.assertEqual(set(), {name for name in read if name.startswith("LACUNA_") and name not in self.TUNING})


class Calls(unittest.TestCase):
    """The drop-in page names what the tables of symbols hold."""

    def rows(self, library):
        table = (ROOT / "plugin" / library / "symbols.def").read_text(encoding="utf-8")
        found = re.findall(r"(?m)^SYMBOL\((\w+), (\w+), [01]\)$", table)
        self.assertGreater(len(found), 8)
        return found

    def section(self, start, end):
        page = (ROOT / "docs/user/drop_in.md").read_text(encoding="utf-8")
        return page.split(start)[1].split(end)[0]

    def test_every_shape_of_the_blas(self):
        named = set(re.findall(r"`(\w+)`", self.section("**CPU BLAS:**", " under the names of")))
        self.assertEqual(named, {shape.lower() for shape, _ in self.rows("blas")})

    def test_every_call_of_cublas_and_cusparse(self):
        named = set(re.findall(r"`(cu(?:blas|sparse)\w+)`", self.section("**cuBLAS:**", "**Not intercepted:**")))
        self.assertEqual(named, {name.removesuffix("_64") for _, name in self.rows("cublas")})


class Layout(unittest.TestCase):
    def test_pages_are_well_formed(self):
        checker = ["mandoc", "-T", "lint", "-W", "warning"] if shutil.which("mandoc") else ["groff", "-man", "-ww", "-z"]
        if not shutil.which(checker[0]):
            self.skipTest("neither mandoc nor groff")
        for page in (PAGE, ENVIRONMENT):
            result = subprocess.run([*checker, page], text=True, capture_output=True, check=False)
            self.assertEqual("", result.stderr + (result.stdout if checker[0] == "mandoc" else ""))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])

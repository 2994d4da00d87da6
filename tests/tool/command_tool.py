# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the command line share: the tool, as a function, and a small problem for it."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = ("info", "bench", "explain", "check", "tune", "run", "doctor")
SMALL = "sgemm:NN:8x200x64:A=bern0.05"
QUICK = ("--repeat", "3", "--min-time", "0.001")


def lacuna(*arguments, env=None, stdin=None):
    """Runs the tool; (exit code, standard output, standard error)."""
    done = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, input=stdin, check=False,
                          env={**os.environ, **(env or {})})
    return done.returncode, done.stdout, done.stderr


def host_routes():
    """The routes that the library has on the host and lets one force, by its own report of a check."""
    names = re.findall(r"(?m)^  (?:ok|refused|FAILED) +([a-z]+) ", lacuna("check", "--route", "all", SMALL)[1])
    assert names[0] == "auto" and len(names) > 4, names
    return names[1:]


def main():
    """Runs the tests of the program, or those of the classes that are named after the tool."""
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])

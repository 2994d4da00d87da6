# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the examples and the programs of the documents: each block marked ```python of a page, in a namespace of its own.

A program that imports what is not installed here (SciPy, PyTorch) is not run, and that is said (77)."""
import importlib.util
import pathlib
import re
import sys

from python_case import skip

BLOCK = re.compile(r"(?ms)^```python\n(.*?)^```")
IMPORT = re.compile(r"(?m)^import (\w+)|^from (\w+)")


def programs(path):
    """(line before it, text) of each program of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return [(0, text)]
    return [(text.count("\n", 0, block.start(1)), block[1]) for block in BLOCK.finditer(text)]


def main(*paths):
    for path in map(pathlib.Path, paths):
        found = programs(path)
        assert found, f"{path}: no program"
        for before, text in found:
            for name in (first or second for first, second in IMPORT.findall(text)):
                if importlib.util.find_spec(name) is None:
                    skip(f"{path.name} needs {name}")
            exec(compile("\n" * before + text, str(path), "exec"), {"__name__": "manual"})
        print(f"{path.name}: {len(found)} run")


if __name__ == "__main__":
    main(*sys.argv[1:])

# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the programs of the documents: each block marked ```python of the files named, in a namespace of its own."""
import pathlib
import re
import sys

BLOCK = re.compile(r"(?ms)^```python\n(.*?)^```")


def main(*pages):
    for page in map(pathlib.Path, pages):
        text = page.read_text(encoding="utf-8")
        blocks = list(BLOCK.finditer(text))
        assert blocks, f"{page}: no program"
        for block in blocks:
            before = text.count("\n", 0, block.start(1))
            exec(compile("\n" * before + block[1], str(page), "exec"), {"__name__": "manual"})
        print(f"{page.name}: {len(blocks)} run")


if __name__ == "__main__":
    main(*sys.argv[1:])

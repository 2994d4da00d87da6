# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""The library exports what the public headers and the interposing interface declare: all of it, and nothing else.

usage: exported_symbols.py <nm> <liblacuna.so> <folder or header>..."""
import pathlib
import re
import subprocess
import sys

DECLARED = re.compile(r"\bLAC_API\b[^;]*?\b(lac_\w+)\s*\(")


def exported(nm, library):
    lines = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in lines.splitlines() if line.strip()}


def declared(places):
    headers = [header for place in map(pathlib.Path, places)
               for header in ([place] if place.is_file() else place.rglob("*.h"))]
    return {name for header in headers for name in DECLARED.findall(header.read_text(encoding="utf-8"))}


def main(nm, library, *places):
    there, promised = exported(nm, library), declared(places)
    wrong = [f"exported, but in none of these headers: {name}" for name in sorted(there - promised)]
    wrong += [f"declared, but not exported: {name}" for name in sorted(promised - there)]
    wrong += [f"outside the library's name space: {name}" for name in sorted(there) if not name.startswith("lac_")]
    print("\n".join(wrong + [f"{len(there)} exported, {len(promised)} declared"]))
    return 1 if wrong or not there or not promised else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

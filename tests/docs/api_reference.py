# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the API reference and looks up every public function in it, with a description for nearly all.

usage: api_reference.py cmake build-folder source-folder"""
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

# Said together with the function above them.
TOGETHER = {"lac_gemm_ex", "lac_meta_attach_csc", "lac_meta_attach_ell", "lac_meta_attach_active", "lac_meta_attach_bitmask", "lac_plan_run",
            "lac_plan_explain", "lac_plan_free", "lac_device_download", "lac_obj_colmajor"}


def leads_elsewhere(line):
    """A link to a page that is there, and not part of the reference."""
    target = re.search(r"unable to resolve reference to '([^']+)'", line)
    return target is not None and pathlib.Path(target.group(1)).is_file()


def main(cmake, build, source):
    run = subprocess.run([cmake, "--build", build, "--target", "docs"], text=True, capture_output=True, check=False)
    warnings = [line for line in (run.stdout + run.stderr).splitlines()
                if ("warning:" in line or "error:" in line) and not leads_elsewhere(line)]
    described = {}
    for page in (pathlib.Path(build) / "reference/xml").glob("*_8h.xml"):
        for member in xml.parse(page).iter("memberdef"):
            if member.get("kind") == "function":
                words = "".join("".join(member.find(part).itertext()) for part in ("briefdescription", "detaileddescription"))
                described[member.findtext("name")] = len(words.split())
    declared = set()
    for header in (pathlib.Path(source) / "include/lacuna").glob("*.h"):
        declared |= set(re.findall(r"LAC_API [^;(]*?\b(lac_\w+)\(", header.read_text(encoding="utf-8")))
    wrong = warnings + [f"not in the reference: {name}" for name in sorted(declared - described.keys())]
    wrong += [f"not described: {name}" for name in sorted(declared - TOGETHER) if described.get(name, 1) == 0]
    print("\n".join(wrong + [f"{len(declared)} functions, {len(described)} in the reference"]))
    return 1 if run.returncode or wrong or len(declared) < 30 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

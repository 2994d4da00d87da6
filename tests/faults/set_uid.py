# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""A set-uid program takes nothing from the environment of whoever starts it; the same program without that bit does.

usage: set_uid.py privileged_probe
Needs root, to make the program root's and to start it as somebody else; skipped (77) without."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

NOBODY = 65534


def facts(program, settings):
    """What the program says when nobody starts it: {key: value}, and its standard error."""
    result = subprocess.run([program], env=settings, user=NOBODY, group=NOBODY, extra_groups=[], text=True, cwd="/",
                            capture_output=True, timeout=60, check=True)
    return dict(line.split(": ", 1) for line in result.stdout.splitlines() if ": " in line), result.stderr


def main(probe):
    if os.geteuid() != 0:
        print("skipped: needs root")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        plain, set_uid = folder / "plain", folder / "set_uid"
        shutil.copy(probe, plain)
        shutil.copy(probe, set_uid)
        plain.chmod(0o755)
        set_uid.chmod(0o4755)
        home = folder / "home/.config/lacuna"
        home.mkdir(parents=True)
        (home / "config").write_text("sparse_margin = 77\n", encoding="utf-8")
        (folder / "tune").write_text("# lacuna tuning 2\nfork_join_us = 123\n", encoding="utf-8")
        settings = {"LACUNA_BACKEND": "csr", "LACUNA_THREADS": "3", "LACUNA_VERBOSE": "exec", "LACUNA_STATS": "1",
                    "LACUNA_LOG": str(folder / "log"), "LACUNA_TUNE_CACHE": str(folder / "tune"), "LACUNA_DISABLE": "1",
                    "LACUNA_BLAS": "none", "HOME": str(folder / "home"), "OMP_NUM_THREADS": "1"}
        taken, _ = facts(plain, settings)
        wrong = []
        for key, value in (("secure", "0"), ("option backend", "csr (environment)"), ("disabled", "1"),
                           ("option sparse_margin", "77 (config)"), ("constants", str(folder / "tune"))):
            if taken.get(key) != value:
                wrong.append(f"plain: {key} is {taken.get(key)}, expected {value}")
        if not (folder / "log").exists():
            wrong.append("plain: no log")
        (folder / "log").unlink(missing_ok=True)

        kept, errors = facts(set_uid, settings)
        if kept.get("secure") != "1":
            print(f"skipped: set-uid programs do not work in {folder}")
            return 77
        wrong += [f"set-uid: {key} is {value}" for key, value in kept.items()
                  if "(environment)" in value or "(config)" in value or "LACUNA_BLAS" in value]
        for key, value in (("option backend", "auto (default)"), ("disabled", "0")):
            if kept.get(key) != value:
                wrong.append(f"set-uid: {key} is {kept.get(key)}, expected {value}")
        if not kept.get("constants", "").startswith("defaults"):
            wrong.append(f"set-uid: constants are {kept.get('constants')}")
        if (folder / "log").exists() or "lacuna" in errors:
            wrong.append("set-uid: wrote a log")
        print("\n".join(wrong + [f"{len(taken)} facts, {len(kept)} as set-uid"]))
        return 1 if wrong or len(kept) < 20 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

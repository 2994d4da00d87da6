# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the wheel as `pip install .` does, installs it into a fresh virtual environment, tests it there, and removes it.

usage: wheel.py source-folder work-folder ON|OFF (the CUDA backend)

pip fetches scikit-build-core, NumPy, SciPy, auditwheel and twine, where LACUNA_FETCH=1 allows it; otherwise nothing runs, and that is said (77)."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

SKIP = 77
LARGEST = 30e6
TESTS = ("product", "operand", "arrays", "scipy", "float64")
FIVE_LINES = """import numpy as np, lacuna_blas
spikes = np.random.default_rng(1).random((64, 4096)) < 0.001
weight = np.random.default_rng(2).standard_normal((4096, 4096), np.float32)
out = lacuna_blas.matmul(spikes, weight)
assert np.allclose(out, spikes.astype(np.float32) @ weight, atol=1e-4)
"""
# What a library of the wheel may need of the machine; everything else is found when it runs.
ALLOWED = re.compile(r"(lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s)|ld-linux-\S+)\.so\.\d+|liblacuna\.so\.0")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIP)


def run(*command, **keywords):
    """Runs it, prints what it said where it fails, and returns its standard output."""
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, check=False, **keywords)
    if done.returncode:
        sys.exit(f"{command}: exit status {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout + done.stderr


def pip(python, *words):
    return subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "20", *words],
                          text=True, capture_output=True, check=False)


def fetched(python, *packages):
    done = pip(python, "install", *packages)
    if done.returncode:
        skip(f"pip could not fetch {', '.join(packages)}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")


def files_of(folder):
    return {path.relative_to(folder) for path in folder.rglob("*") if "__pycache__" not in path.parts and not path.is_dir()}


def check_contents(wheel, work, cuda):
    """One platform wheel for every Python 3, the libraries and the command in it, and nothing of a vendor's."""
    assert re.fullmatch(r"lacuna_blas-[\d.]+-py3-none-linux_\w+\.whl", wheel.name), wheel.name
    assert wheel.stat().st_size <= LARGEST, f"{wheel.stat().st_size} bytes"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(work / "contents")
        names = archive.namelist()
    binaries = [work / "contents" / name for name in names if re.search(r"\.so(\.\d+)?$|/bin/", name)]
    expected = {"liblacuna.so.0", "liblacuna_blas.so", "liblacuna_audit.so", "liblacuna_torch.so", "liblacuna_xla.so", "lacuna"}
    expected |= {"liblacuna_cuda.so", "liblacuna_cublas.so"} if cuda else set()
    assert {binary.name for binary in binaries} == expected, binaries
    for binary in binaries:
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", binary))
        assert needed and all(ALLOWED.fullmatch(name) for name in needed), (binary.name, needed)


def check_distribution(wheel, work):
    """What a package index and other distributions ask of it: tools in a virtual environment of their own."""
    tools = work / "tools"
    run(sys.executable, "-m", "venv", tools)
    fetched(tools / "bin/python", "auditwheel", "twine")
    shown = run(tools / "bin/python", "-m", "auditwheel", "show", wheel)
    found = re.search(r"manylinux_2_\d+_\w+", shown)
    assert found, shown
    assert "PASSED" in run(tools / "bin/python", "-m", "twine", "check", "--strict", wheel)
    print("auditwheel:", found[0], "twine: passed")


def check_five_lines(python, work):
    """They are right, and take a way past the zeros, which is where their time is won."""
    script = work / "five_lines.py"
    script.write_text(FIVE_LINES, encoding="utf-8")
    assert re.search(r"(?m)^lacuna,1,exec,lac_gemm,.*,(event|csr|bitmask),", run(python, script, env={**os.environ, "LACUNA_VERBOSE": "exec"}, cwd=work))


def main(source, work, cuda):
    source, work, cuda = pathlib.Path(source), pathlib.Path(work), cuda == "ON"
    if not os.environ.get("LACUNA_FETCH"):
        skip("would fetch scikit-build-core, NumPy, SciPy, auditwheel and twine from PyPI: set LACUNA_FETCH=1")
    if not shutil.which("readelf"):
        skip("needs readelf")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for name in ("LACUNA_LIBRARY", "PYTHONPATH"):
        os.environ.pop(name, None)

    venv, python = work / "venv", work / "venv/bin/python"
    made = subprocess.run([sys.executable, "-m", "venv", venv], text=True, capture_output=True, check=False)
    if made.returncode:
        skip(f"python3 -m venv: {(made.stdout + made.stderr).strip().splitlines()[-1]}")
    fetched(python, "scikit-build-core>=0.10", "numpy")
    run(python, "-m", "pip", "wheel", source, "--no-deps", "--no-build-isolation", "-w", work / "dist",
        "-C", f"build-dir={work / 'build'}", "-C", f"cmake.define.LACUNA_CUDA={'ON' if cuda else 'OFF'}")
    (wheel,) = (work / "dist").iterdir()
    check_contents(wheel, work, cuda)

    before = files_of(venv)
    run(python, "-m", "pip", "install", "--no-index", wheel)
    run(python, "-c", "import lacuna_blas, pathlib, sys; assert pathlib.Path(lacuna_blas.library_path()).is_relative_to(sys.prefix);"
        "lacuna_blas.Context()", cwd=work)
    script = work / "program.py"
    script.write_text("import numpy\nx = numpy.zeros((64, 2000), 'f4')\nx[0, 7] = 2\n"
                      "for _ in range(20): y = x @ numpy.ones((2000, 2000), 'f4')\nassert y[0, 5] == 2\n", encoding="utf-8")
    for command in ([venv / "bin/lacuna"], [python, "-m", "lacuna_blas"]):
        assert re.search(r"(?m)^version +\d", run(*command, "info")), command
        assert "64x2000x2000" in run(*command, "run", "--stats", python, script), command
    assert re.search(r"intercepted", run(venv / "bin/lacuna", "doctor", python, script))
    check_five_lines(python, work)
    check_distribution(wheel, work)

    fetched(python, "scipy")
    for test in TESTS:
        print(run(python, source / f"tests/python/test_{test}.py", cwd=work).strip().splitlines()[-1], test)
    run(python, "-m", "pip", "uninstall", "-y", "scipy", "lacuna-blas")
    left = files_of(venv) - before
    assert not left, left


if __name__ == "__main__":
    main(*sys.argv[1:])

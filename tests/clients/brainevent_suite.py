# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""brainevent's own tests with the backend "lacuna" registered from outside: those parametrised on it pass, and the library built their kernels.

usage: brainevent_suite.py [words for pytest, as -k "lacuna and densemv"]

As a pytest plugin this file registers the backend before brainevent's tests are collected; as a program it runs them, and fails where one fails, none
ran, or fewer than 80 % of the kernels were Lacuna's. Some fifteen minutes on two processors."""
import os
import re
import subprocess
import sys

SKIP = 77
FOLDERS = ("brainevent._dense", "brainevent._csr", "brainevent._fcn")


def pytest_configure(config):
    import lacuna_blas.brainevent
    lacuna_blas.brainevent.register()


def pytest_terminal_summary(terminalreporter):
    import lacuna_blas.brainevent
    counts = lacuna_blas.brainevent.counts()
    for who in ("lacuna", "brainevent"):
        terminalreporter.write_line(f"kernels by {who}: {sum(count for (_, whose), count in counts.items() if whose == who)}")
    executed = sum(count for (key, _), count in counts.items() if key == "executed")
    terminalreporter.write_line(f"calls computed by the library: {executed}")


def main(words):
    try:
        import brainevent
        import numba  # noqa: F401
        import pytest  # noqa: F401
    except ImportError as error:
        print(f"skipped: needs brainevent 0.3.0, Numba and pytest: {error}")
        sys.exit(SKIP)
    here = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "brainevent_suite", "-p", "no:cacheprovider", "-q", "-W", "ignore",
                           *(words or ["-k", "lacuna"]), "--pyargs", *FOLDERS], text=True, stdout=subprocess.PIPE, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([here, *os.environ.get("PYTHONPATH", "").split(os.pathsep)])})
    print(f"brainevent {brainevent.__version__}")
    print("\n".join(done.stdout.splitlines()[-12:]))
    passed = int((re.findall(r"(\d+) passed", done.stdout) or ["0"])[-1])
    ours, theirs = (int((re.findall(rf"kernels by {who}: (\d+)", done.stdout) or ["0"])[-1]) for who in ("lacuna", "brainevent"))
    share = ours / max(ours + theirs, 1)
    print(f"{passed} tests passed; {100 * share:.1f} % of {ours + theirs} kernels were Lacuna's")
    sys.exit(0 if done.returncode == 0 and passed and share >= 0.8 else 1)


if __name__ == "__main__":
    main(sys.argv[1:])

# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""brainevent's own tests with the backend "lacuna" registered from outside: those parametrised on it pass, and the library built their kernels.

usage: brainevent_suite.py [--jobs N] [--seconds S] [words for pytest, as -k "lacuna and densemv"]

As a pytest plugin this file registers the backend before brainevent's tests are collected; as a program it runs them, and fails where one fails, none
ran, or fewer than 80 % of the kernels were Lacuna's. Some fifteen minutes on two processors. --jobs: so many processes share the tests; --seconds: no test
begins later than that, and those that did not are counted."""
import argparse
import os
import re
import subprocess
import sys
import time

SKIP = 77
FOLDERS = ("brainevent._dense", "brainevent._csr", "brainevent._fcn")


SHARE, SHARES = (int(each) for each in os.environ.get("LACUNA_SUITE_SHARE", "0/1").split("/"))
ENDS = time.monotonic() + float(os.environ.get("LACUNA_SUITE_SECONDS", "inf"))


def pytest_configure(config):
    import lacuna_blas.brainevent
    lacuna_blas.brainevent.register()


def pytest_collection_modifyitems(config, items):
    kept = items[SHARE::SHARES]
    config.hook.pytest_deselected(items=[each for i, each in enumerate(items) if i % SHARES != SHARE])
    items[:] = kept


def pytest_runtest_setup(item):
    if time.monotonic() > ENDS:
        import pytest
        pytest.skip("the time is over")


def pytest_terminal_summary(terminalreporter):
    import lacuna_blas.brainevent
    counts = lacuna_blas.brainevent.counts()
    for who in ("lacuna", "brainevent"):
        terminalreporter.write_line(f"kernels by {who}: {sum(count for (_, whose), count in counts.items() if whose == who)}")
    executed = sum(count for (key, _), count in counts.items() if key == "executed")
    terminalreporter.write_line(f"calls computed by the library: {executed}")


def total(pattern, texts):
    return sum(int((re.findall(pattern, text) or ["0"])[-1]) for text in texts)


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options, words = parser.parse_known_args(arguments)
    try:
        import brainevent
        import jax
        import pytest  # noqa: F401
        if jax.default_backend() == "cpu":
            import numba  # noqa: F401
    except ImportError as error:
        print(f"skipped: needs brainevent 0.3.0, pytest, and on the CPU Numba: {error}")
        sys.exit(SKIP)
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.pathsep.join([here, *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    started = [subprocess.Popen([sys.executable, "-m", "pytest", "-p", "brainevent_suite", "-p", "no:cacheprovider", "-q", "-W", "ignore", "--tb=line",
                                 *(words or ["-k", "lacuna"]), "--pyargs", *FOLDERS], text=True, stdout=subprocess.PIPE,
                                env={**os.environ, "PYTHONPATH": path, "LACUNA_SUITE_SHARE": f"{share}/{options.jobs}",
                                     "LACUNA_SUITE_SECONDS": str(options.seconds)}) for share in range(options.jobs)]
    outputs = [each.communicate()[0] for each in started]
    print(f"brainevent {brainevent.__version__} on {jax.default_backend()}")
    for output in outputs:
        print("\n".join(each for each in output.splitlines() if re.match(r"FAILED|ERROR|E  |kernels|calls|[0-9]+ (passed|failed|skipped)", each)))
    counts = {what: total(rf"(\d+) {what}", outputs) for what in ("passed", "failed", "errors?", "skipped")}
    ours, theirs = (total(rf"kernels by {who}: (\d+)", outputs) for who in ("lacuna", "brainevent"))
    share, executed = ours / max(ours + theirs, 1), total(r"calls computed by the library: (\d+)", outputs)
    print(f"{counts['passed']} tests passed, {counts['failed'] + counts['errors?']} failed, {counts['skipped']} left out; "
          f"{100 * share:.1f} % of {ours + theirs} kernels were Lacuna's, which computed {executed} calls")
    fine = all(each.returncode == 0 for each in started) and counts["passed"] and not counts["failed"] and share >= 0.8
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main(sys.argv[1:])

#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# SciPy's own tests of its linear algebra (Debian: python3-scipy python3-pytest).
. "$(dirname "$0")/client_common.sh"
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import scipy, pytest' 2>/dev/null || skip "needs python3-scipy and python3-pytest"

cat >suite.sh <<SUITE
"$python" -m pytest -q -rA -p no:cacheprovider -W ignore --pyargs scipy.linalg.tests.test_blas scipy.linalg.tests.test_fblas \\
    scipy.linalg.tests.test_basic scipy.linalg.tests.test_decomp \\
    scipy.linalg.tests.test_decomp_cholesky scipy.linalg.tests.test_lapack scipy.linalg.tests.test_matfuncs >said 2>&1
grep -E '^(PASSED|FAILED|ERROR|XFAIL|XPASS)' said | sed 's/ - .*//' | sort
SUITE
PYTHONHASHSEED=0 plain_and_under scipy sh suite.sh
same scipy 1000 100 "tests"

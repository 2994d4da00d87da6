#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# SciPy's own tests of its linear algebra (Debian: python3-scipy python3-pytest).
. "$(dirname "$0")/client_common.sh"
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import scipy, pytest' 2>/dev/null || skip "needs python3-scipy and python3-pytest"

least=200 modules="test_blas test_fblas test_basic"
[ -n "${LACUNA_TEST_QUICK:-}" ] || least=1000 modules="$modules test_decomp test_decomp_cholesky test_lapack test_matfuncs"
cat >suite.sh <<SUITE
"$python" -m pytest -q -rA -p no:cacheprovider -W ignore --pyargs$(printf ' scipy.linalg.tests.%s' $modules) >said 2>&1
grep -E '^(PASSED|FAILED|ERROR|XFAIL|XPASS)' said | sed 's/ - .*//' | sort
SUITE
PYTHONHASHSEED=0 plain_and_under scipy sh suite.sh
same scipy "$least" 100 "tests" 100

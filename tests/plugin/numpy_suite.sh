#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# NumPy's own linear algebra tests, plain and under the plugin: the same tests must pass.
# usage: numpy_suite.sh preload|whole library python
set -u
mode=$1 library=$2 python=$3
routes=$(dirname "$(readlink -f "$0")")/../../backend/route/routes.def
"$python" -c 'import numpy, pytest, hypothesis' 2> /dev/null ||
    { echo "skipped: NumPy's tests need python3-numpy, python3-pytest and python3-hypothesis"; exit 77; }

core=$("$python" -c 'import numpy; print("numpy._core" if hasattr(numpy, "_core") else "numpy.core")')
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

suite() {
    said=$1
    shift
    env PYTHONHASHSEED=0 OPENBLAS_NUM_THREADS=1 "$@" "$python" -m pytest -q -rA -p no:cacheprovider --pyargs numpy.linalg \
        "$core.tests.test_multiarray" "$core.tests.test_numeric" \
        -k '(linalg or matmul or MatMul or Matmul or dot or Dot or inner or tensordot) and not huge' > "$said" 2>&1
    echo "exit status $?" >> "$said"
    grep -E '^(PASSED|FAILED|ERROR|XFAIL|XPASS|exit status)' "$said" | sed 's/ - .*//' | sort > "$said.list"
}

log=$folder/log
suite plain
case $mode in
    preload) set -- LD_PRELOAD="$library" ;;
    whole) set -- LD_LIBRARY_PATH="$(dirname "$library")" ;;
esac
suite under "$@" LACUNA_VERBOSE=exec LACUNA_LOG="$log"

passed=$(grep -c '^PASSED' plain.list)
# calls TYPE: of its letter.
calls() { grep -c "^lacuna,[0-9]*,exec,[a-z_]*cblas_$1gem[mv][0-9_]*," "$log" 2> /dev/null; }
updates=$(grep -c "^lacuna,[0-9]*,exec,[a-z_]*cblas_[sd]syrk[0-9_]*," "$log" 2> /dev/null) # of A @ A.T
sparse=$(sed -n 's/^LAC_ROUTE(\([a-z0-9_]*\), SPARSE,.*/\1/p' "$routes" | paste -sd'|' -)
set -- $(cat "$log" 2> /dev/null | awk -F, -v sparse="^($sparse)\$" '
    /^lacuna,[0-9]*,exec,/ { calls++; doubles += $4 ~ /d(gemm|gemv|syrk|symm)/; skipped += $15 ~ sparse }
    END { print calls + 0, doubles + 0, skipped + 0 }')
echo "$passed tests pass plain, $(grep -c '^PASSED' under.list) under the plugin"
echo "$1 calls came to Lacuna, $2 of them of doubles; $3 skipped zeros"
echo "NumPy's own: $(calls s) of floats and $(calls d) of doubles, and $updates of A @ A.T"
[ "$passed" -ge 100 ] || { echo "too few"; tail -n 20 plain; exit 1; }
[ "$(calls s)" -ge 10 ] && [ "$(calls d)" -ge 10 ] || { echo "the plugin was hardly used"; exit 1; }
[ "$updates" -ge 5 ] || { echo "no product of a matrix by its transpose came to Lacuna"; exit 1; }
diff plain.list under.list || { tail -n 30 under; exit 1; }

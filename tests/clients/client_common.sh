# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# For the scripts beside it: a client's own tests plain and under the plugin, which must give one list of results.
# usage: client_*.sh liblacuna_blas.so; 77 where the client is not installed. LACUNA_TEST_QUICK=1: a part of its tests.
set -u
library=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
sparse=$(sed -n 's/^LAC_ROUTE(\([a-z0-9_]*\), SPARSE,.*/\1/p' "$here/../../backend/route/routes.def" | paste -sd'|' -)
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

skip() { echo "skipped: $*"; exit 77; }

# plain_and_under NAME COMMAND...: runs it twice; standard output into $work/NAME.plain and .under, the calls that came
# to the library into $work/NAME.log*.
plain_and_under() {
    name=$1
    shift
    "$@" >"$name.plain" 2>"$name.plain.err"
    echo "exit status $?" >>"$name.plain"
    LD_PRELOAD=$library LACUNA_VERBOSE=exec LACUNA_LOG=$work/$name.log.%p "$@" >"$name.under" 2>"$name.under.err"
    echo "exit status $?" >>"$name.under"
}

# same NAME LEAST-LINES LEAST-CALLS WHAT [LEAST-OF-DGEMM]: the verdict. A line of the log: "lacuna,1,exec", symbol, caller,
# device, transposes, m, n, k, known, density, two times, route, reason.
same() {
    lines=$(($(wc -l <"$1.plain") - 1))
    set -- "$1" "$2" "$3" "$4" "${5:-0}" $(cat "$1".log.* 2>/dev/null | awk -F, -v sparse="^($sparse)\$" '
        /^lacuna,[0-9]*,exec,/ {
            double = $4 ~ /d(gemm|gemv|syrk|symm)/; skips = $15 ~ sparse
            calls++; skipped += skips; doubles += double; doubles_skipped += double && skips; dgemm += $4 ~ /dgemm/
        }
        END { print calls + 0, skipped + 0, doubles + 0, doubles_skipped + 0, dgemm + 0 }')
    echo "$1: $lines $4; $6 calls came to Lacuna, $7 skipped zeros; of doubles $8, of dgemm ${10}, and $9 skipped zeros"
    [ "$lines" -ge "$2" ] || { echo "too few: nothing was tested"; tail -n 5 "$1.plain" "$1.plain.err"; exit 1; }
    [ "$6" -ge "$3" ] && [ "${10}" -ge "$5" ] || { echo "hardly any call came to the library"; exit 1; }
    diff "$1.plain" "$1.under" || { tail -n 20 "$1.under.err"; exit 1; }
}

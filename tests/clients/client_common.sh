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

# same NAME LEAST-LINES LEAST-CALLS WHAT: the verdict.
same() {
    lines=$(($(wc -l <"$1.plain") - 1))
    calls=$(cat "$1".log.* 2>/dev/null | grep -c '^lacuna,[0-9]*,exec,')
    skipping=$(cat "$1".log.* 2>/dev/null | grep -cE "^lacuna,[0-9]*,exec,.*,($sparse),[^,]*\$")
    echo "$1: $lines $4, $calls calls came to Lacuna, $skipping of them skipped zeros"
    [ "$lines" -ge "$2" ] || { echo "too few: nothing was tested"; tail -n 5 "$1.plain" "$1.plain.err"; exit 1; }
    [ "$calls" -ge "$3" ] || { echo "hardly any call came to the library"; exit 1; }
    diff "$1.plain" "$1.under" || { tail -n 20 "$1.under.err"; exit 1; }
}

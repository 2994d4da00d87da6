#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# Runs one of netlib's BLAS testers (Debian: libblas-test) under the plugin and judges its summary.
# usage: blas_tester.sh preload|whole library tester input symbol backend sizes
#   library  liblacuna_blas.so to preload, or the libblas.so.3 that has it in front
#   sizes    the VALUES OF N to test in place of the input's own, up to six of them, to 65; "own" keeps those
# The testers exit with 0 whatever they find. What counts: every test passes that passes without the plugin, none
# fails, and as many calls of `symbol` are logged by Lacuna as have something to compute.
set -u
mode=$1 library=$2 tester=$3 input=$4 symbol=$5 backend=$6 sizes=$7

places=$(ls -d /usr/lib/*/blas /usr/lib/blas 2>/dev/null)
for place in $places; do
    [ -x "$place/$tester" ] && [ -f "$place/$input" ] && break
    place=
done
[ -n "${place:-}" ] || { echo "skipped: $tester is not here (Debian: libblas-test)"; exit 77; }

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
cp "$place/$input" input
if [ "$sizes" != own ]; then
    count=$(echo $sizes | wc -w)
    awk -v count="$count" -v sizes="$sizes" '
        /NUMBER OF VALUES OF N$/ { print count "  NUMBER OF VALUES OF N"; next }
        /  VALUES OF N$/ { print sizes "  VALUES OF N"; next }
        { print }' "$place/$input" > input
    grep -q "^$sizes  VALUES OF N" input || { echo "could not set the sizes in $input"; exit 1; }
fi

# The C testers take RowMajorStrg from netlib's own libblas, which lies beside them.
beside=
case $tester in *cblat*)
    beside=$place
    [ -e "$place/libblas.so.3" ] || { echo "skipped: netlib's own BLAS is not here (Debian: libblas3)"; exit 77; } ;;
esac

# summary folder command...: runs the tester there and leaves everything it said in summary.
summary() {
    mkdir "$1" && cd "$1" || exit 1
    shift
    "$@" "$place/$tester" < ../input > said 2>&1 || { cat said; echo "exit status $?"; exit 1; }
    cat said ./*.out > summary 2> /dev/null
    cd ..
}

summary plain env LD_LIBRARY_PATH="$beside"
case $mode in
    preload) set -- LD_PRELOAD="$library" LD_LIBRARY_PATH="$beside" ;;
    whole) set -- LD_LIBRARY_PATH="$(dirname "$library")" ;;
esac
log=$folder/log
summary under env "$@" LACUNA_BACKEND="$backend" LACUNA_VERBOSE=exec LACUNA_LOG="$log"

failed=0
fail_with() { echo "$*"; failed=1; }
plain=$(grep -c ' PASSED THE ' plain/summary)
under=$(grep -c ' PASSED THE ' under/summary)
exits=$(grep -c ' PASSED THE TESTS OF ERROR-EXITS' under/summary)
[ "$plain" -ge 10 ] || fail_with "the tester itself reports only $plain tests passed"
[ "$under" -eq "$plain" ] || fail_with "$under tests passed under the plugin, $plain without it"
[ "$exits" -ge 5 ] || fail_with "only $exits error-exit tests passed"
grep -q 'END OF TESTS' under/summary || fail_with "the tester did not reach its end"
bad=$(grep -E 'FAIL|SUSPECT|\*\*\*|ABANDONED|MISMATCH|INCORRECT' under/summary)
[ -z "$bad" ] || fail_with "$bad"

# Letters, scalars and extents above 0 make over a thousand calls of each routine. A forced route takes those that
# it can: a sparse one leaves a product with a scalar of 0, or of too few elements, to others.
calls() { grep "^lacuna,[0-9]*,exec,$symbol," "$log" 2> /dev/null | cut -d, -f15; }
logged=$(calls | wc -l)
[ "$logged" -ge 1000 ] || fail_with "only $logged calls of $symbol came to Lacuna"
case $backend in
    auto) route=. ;;
    *) route=$backend ;;
esac
# A route that refuses every BLAS call, for want of a frozen operand, say, says so in each line, and another serves.
refused=$(grep "^lacuna,[0-9]*,exec,$symbol,.*,forced route does not apply" "$log" | wc -l)
[ "$refused" -eq "$logged" ] && route=.
taken=$(calls | grep -c "$route")
[ "$taken" -ge 500 ] || fail_with "only $taken calls of $symbol took the route $route"

# netlib's cblas_sgemm calls sgemm_: a BLAS's own calls pass unseen.
others=$(grep -v "^lacuna,[0-9]*,exec,$symbol," "$log" 2> /dev/null | cut -d, -f4 | sort | uniq -c)
[ -z "$others" ] || fail_with "calls that the tester did not make came to Lacuna:" $others
routes=$(calls | sort | uniq -c | awk '{ printf " %s %d", $2, $1 }')
echo "$tester $backend: $under passed, $exits error exits, $logged calls of $symbol:$routes"
exit $failed

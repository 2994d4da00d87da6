#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# Runs one of netlib's BLAS testers (Debian: libblas-test) under the plugin and judges its summary.
# usage: blas_tester.sh preload|whole library tester input symbols backend sizes
#   library  liblacuna_blas.so to preload, or the libblas.so.3 that has it in front
#   symbols  those that the tester calls and Lacuna stands in front of
#   sizes    the VALUES OF N to test in place of the input's own, up to six of them, to 65; "own" keeps those
# The testers exit with 0 whatever they find. What counts: every test passes that passes without the plugin, none
# fails, and as many calls of each of the symbols are logged by Lacuna as have something to compute.
set -u
mode=$1 library=$2 tester=$3 input=$4 symbols=$5 backend=$6 sizes=$7

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

# Letters, scalars and extents above 0 make over a thousand calls of sgemm and sgemv, and over 500 of what has an extent
# less. A forced route takes those that it can: a third has an alpha of 0, and is left to others.
case $backend in
    auto) route=. ;;
    *) route=$backend ;;
esac
# calls symbol: the route of each.
calls() { grep "^lacuna,[0-9]*,exec,$1," "$log" 2> /dev/null | cut -d, -f15; }
counts=
for symbol in $symbols; do
    case $symbol in *sy*) least=500 ;; *) least=1000 ;; esac
    logged=$(calls "$symbol" | wc -l)
    [ "$logged" -ge $least ] || fail_with "only $logged calls of $symbol came to Lacuna"
    # A route that refuses every call, for want of a frozen operand, say, says so in each line, and another serves.
    refused=$(grep "^lacuna,[0-9]*,exec,$symbol,.*,forced route does not apply" "$log" | wc -l)
    wanted=$route
    [ "$refused" -eq "$logged" ] && wanted=.
    taken=$(calls "$symbol" | grep -c "$wanted")
    [ "$taken" -ge $((least / 2)) ] || fail_with "only $taken calls of $symbol took the route $wanted"
    case $backend in csr|native|reference) # which take one triangle of a matrix
        [ $((3 * taken)) -ge $((2 * logged)) ] || fail_with "$backend refused more calls of $symbol than those of alpha 0" ;;
    esac
    counts="$counts; $logged calls of $symbol:$(calls "$symbol" | sort | uniq -c | awk '{ printf " %s %d", $2, $1 }')"
done
# netlib's cblas_sgemm calls sgemm_: a BLAS's own calls pass unseen.
pattern=$(echo $symbols | tr ' ' '|')
others=$(grep -vE "^lacuna,[0-9]*,exec,($pattern)," "$log" 2> /dev/null | cut -d, -f4 | sort | uniq -c)
[ -z "$others" ] || fail_with "calls that the tester did not make came to Lacuna:" $others
echo "$tester $backend: $under passed, $exits error exits$counts"
exit $failed

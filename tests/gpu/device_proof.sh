#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# All that can be shown on a device, what shows most for its time first: its tests, random problems, host times, the
# sanitizer's four tools on each program, operands of tens of gigabytes, the table of speeds. A step that the time does
# not suffice for is left out, one that takes too long is ended; a table at the end says what became of each.
# usage: device_proof.sh <build folder> [minutes (default 30)] [random problems (default 200000)]; logs: <build folder>/proof
# Run by ./run gpu-proof, which builds first. Status 0: nothing failed; what was left out or ended is no failure.
set -u
build=$(cd "${1:?build folder}" && pwd) || exit 2
minutes=${2:-30} problems=${3:-200000}
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
logs=$build/proof
case $minutes$problems in *[!0-9]*) echo "minutes and problems are whole numbers" >&2; exit 2 ;; esac
end=$((SECONDS + 60 * minutes)) failed=0 table=()
workers=$(nproc)
[ "$workers" -le 8 ] || workers=8 # more wait for each other inside the driver
mkdir -p "$logs"
export LACUNA_TEST_DEVICE=1 # not to find a device is a failure

row() { # name result seconds what
    table+=("$(printf '%-34s %-10s %6s s  %s' "$1" "$2" "$3" "$4")")
    printf '%s\n' "${table[-1]}"
    [ "$2" != FAILED ] || failed=1
}
word_for() { # of a status
    case $1 in 0) echo ok ;; 3 | 77) echo skipped ;; 124 | 137) echo ended ;; *) echo FAILED ;; esac
}

# step NAME SECONDS LAST command...: at most so long, and no longer than there is time. LAST: the last such words of the
# log are shown.
step() {
    local name=$1 most=$2 last=$3 left=$((end - SECONDS)) begin=$SECONDS status=0 log
    shift 3
    log=$logs/$(tr -c '[:alnum:]\n' _ <<<"$name").log
    if [ $left -lt 10 ]; then
        row "$name" 'left out' 0 'no time'
        return
    fi
    timeout -k 10 $((most < left ? most : left)) bash -c '"$@"' - "$@" >"$log" 2>&1 </dev/null || status=$?
    row "$name" "$(word_for $status)" $((SECONDS - begin)) "$(grep -oE "$last" "$log" | tail -n 1 | cut -c 1-70)"
}

# The commands of the sanitizer's tests: program and arguments.
programs() {
    ctest --test-dir "$build" -N -V -R '^gpu\.sanitizer\.' | sed -n 's/^.*Test command: .*compute_sanitizer\.sh" *//p' | tr -d '"'
}

# One program under one tool; the verdict goes to a file of its own, for several run at a time.
examine() {
    local tool=$1 most=$2 status=0 name
    shift 2
    name=${tool}_$(basename "$1")
    LACUNA_SANITIZER_TOOLS=$tool LACUNA_TEST_QUICK=1 timeout -k 10 "$most" \
        sh "$source/tests/compute_sanitizer.sh" "$@" >"$logs/$name.log" 2>&1 || status=$?
    echo "$(word_for $status) $(basename "$1")" >"$logs/$name.verdict"
}

# sanitizer TOOL SECONDS: each program for at most so long, a few at a time.
sanitizer() {
    local tool=$1 most=$2 begin=$SECONDS left=$((end - SECONDS)) program verdict=ok what
    rm -f "$logs/${tool}_"*.verdict
    while read -r program; do
        left=$((end - SECONDS))
        [ $left -ge 10 ] || break
        while [ "$(jobs -rp | wc -l)" -ge 4 ]; do wait -n; done
        examine "$tool" $((most < left ? most : left)) $program & # a list of words
    done < <(programs)
    wait
    what=$(cat "$logs/${tool}_"*.verdict 2>/dev/null | sed -n 's/^\(ended\|skipped\|FAILED\) /\1: /p' | sort | tr '\n' ' ')
    case $what in *FAILED*) verdict=FAILED ;; *ended*) verdict=ended ;; *skipped*) verdict=skipped ;; esac
    [ $left -ge 10 ] || verdict='left out'
    row "$tool" "$verdict" $((SECONDS - begin)) "$(cat "$logs/${tool}_"*.verdict 2>/dev/null | grep -c '^ok') of $(programs | wc -l) clean${what:+; $what}"
}

tests() { ctest --test-dir "$build" -L '^gpu$' "$@" --timeout 300 --output-on-failure; }
random_problems() {
    local part=20000 seed seen=0
    for ((seed = 2001; seen < problems; seed++, seen += part)); do
        [ $((problems - seen)) -ge $part ] || part=$((problems - seen))
        "$build/bin/lacuna" check --quiet --device cuda --fuzz $part --seed $seed --jobs "$workers" || return
        echo "$((seen + part)) problems, to seed $seed"
    done
}
public_calls() { "$build/bin/apitest" check --quiet --device cuda --fuzz 5000 --seed 2101 --jobs "$workers"; }
export -f tests random_problems public_calls
export build problems workers

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1
step 'host time of a call' 60 'difference .*' "$build/bin/host_overhead_bench"
step 'tests' 600 '[0-9]+% tests passed.*' tests -LE large -E sanitizer
step "$problems random problems" 900 '[0-9]+ problems, to.*|.*(differ|fail|error).*' random_problems
step 'every public call' 200 '[0-9]+ problems: .* failed' public_calls
for tool in memcheck racecheck synccheck initcheck; do sanitizer $tool 150; done
step 'large operands' 600 '[0-9]+% tests passed.*' tests -L large
step speeds 300 '.+' "$build/bin/lacuna" bench --device cuda --min-time 0.05 --file "$source/bench/problems/targets_gpu.txt" \
    --json "$logs/targets_gpu.json"
printf '\n== device proof, %s s of %s, logs in %s\n' "$SECONDS" $((60 * minutes)) "$logs"
printf '%s\n' "${table[@]}"
exit $failed

#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# Runs one spiking network on the plain BLAS, under the drop-in library and on a CUDA device, and compares the three.
set -eu

usage() {
    cat <<'TEXT'
Usage: demo.sh [--preload LIBRARY] [--out FOLDER] [--device] [--no-plot] [--tick SECONDS] BUILD [option of coba ...]

Runs BUILD/bin/coba as it is, then with LIBRARY preloaded (BUILD/lib/liblacuna_blas.so), then BUILD/bin/coba_device,
whose products run on a CUDA device where there is one. Shows the raster, the time of each, what the library
decided, and the difference of the results, which has to be none.
Rasters, potentials and a picture go to FOLDER (BUILD/demo-out).
While a run goes on, a line says so every few SECONDS (5).
Exit status: 0 the results are the same to the bit, 1 they differ, 2 the demo could not run, 77 no device (--device).
TEXT
}

die() {
    echo "demo.sh: $*" >&2
    exit 2
}

preload='' out='' plot=yes device=wanted tick=5
while [ $# -gt 0 ]; do
    case $1 in
    --preload) [ $# -ge 2 ] || die "--preload: needs a library"; preload=$2; shift 2 ;;
    --out) [ $# -ge 2 ] || die "--out: needs a folder"; out=$2; shift 2 ;;
    --device) device=needed; shift ;;
    --no-plot) plot=no; shift ;;
    --tick) [ $# -ge 2 ] || die "--tick: needs a number of seconds"; tick=$2; shift 2 ;;
    --help) usage; exit 0 ;;
    -*) die "unknown option '$1' (try --help)" ;;
    *) break ;;
    esac
done
[ $# -ge 1 ] || { usage >&2; exit 2; }
build=$1
shift
here=$(dirname "$0")
coba=$build/bin/coba
library=${preload:-$build/lib/liblacuna_blas.so}
out=${out:-$build/demo-out}
[ -x "$coba" ] || die "$coba is not there: was a BLAS found when '$build' was configured?"
[ -r "$library" ] || die "$library is not there: build it first"
mkdir -p "$out"

# value NAME FILE: what the summary line of a run says of NAME.
value() { sed -n "s/^coba .*[ ]$1=\([^ ]*\).*/\1/p" "$2"; }

# ticking RUN ARGUMENT...: the run, and a line every few seconds as long as it lasts.
ticking() {
    begin=$(date +%s) ended=0
    while sleep "$tick" >/dev/null 2>&1; do echo "   still running, $(($(date +%s) - begin)) s"; done &
    ticker=$!
    "$@" || ended=$?
    kill "$ticker" 2>/dev/null || true
    wait "$ticker" 2>/dev/null || true
    return $ended
}

# The files of a run are $out/NAME.raster, .potentials, .log (what it printed), .stats (what the library said).
run_plain() {
    env -u LD_PRELOAD "$coba" --summary --raster "$out/plain.raster" \
        --potentials "$out/plain.potentials" "$@" >"$out/plain.log" 2>"$out/plain.errors" ||
        { cat "$out/plain.errors" >&2; return 1; }
}
run_preloaded() {
    env LD_PRELOAD="$library" LACUNA_STATS=1 "$coba" --summary --raster "$out/lacuna.raster" \
        --potentials "$out/lacuna.potentials" "$@" --no-picture >"$out/lacuna.log" 2>"$out/lacuna.stats" ||
        { cat "$out/lacuna.stats" >&2; return 1; }
}
run_on_device() {
    env -u LD_PRELOAD "$build/bin/coba_device" --summary --raster "$out/device.raster" \
        --potentials "$out/device.potentials" "$@" --no-picture >"$out/device.log" 2>"$out/device.stats"
}

blas=$(ldd "$coba" | awk '/blas|blis/ { print $3; exit }')
echo "1. An event-driven workload on the plain BLAS: $(readlink -f "${blas:-unknown}" || echo unknown)"
ticking run_plain "$@" || die "the plain run failed"
grep -v '^coba ' "$out/plain.log" || true

echo "2. The same program with LD_PRELOAD=$library"
ticking run_preloaded "$@" || die "the run with the library failed"
if grep -q 'cannot be preloaded' "$out/lacuna.stats"; then
    cat "$out/lacuna.stats" >&2
    die "$library could not be preloaded"
fi
if [ -s "$out/lacuna.stats" ]; then
    cat "$out/lacuna.stats"
elif [ -z "$preload" ]; then
    die "$library said nothing under LACUNA_STATS=1, so it saw no call"
fi

echo "3. The same network with its products on a CUDA device, by the library's own API"
status=0
ticking run_on_device "$@" || status=$?
case $status in
0) runs="plain lacuna device"; sed -n 's/^on /   on /p' "$out/device.log" ;;
77) runs="plain lacuna"; echo "   Skipped: $(cat "$out/device.stats")" ;;
*) cat "$out/device.stats" >&2; die "the run on the device failed" ;;
esac
[ $device = wanted ] || [ $status -ne 77 ] || exit 77

for run in $runs; do grep '^coba ' "$out/$run.log"; done | awk '
    function cell(run, name, unit, ratio) {
        if (run > runs) return ""
        if (ratio && run > 1 && of[run, name] > 0) unit = unit sprintf(" (%.1fx)", of[1, name] / of[run, name])
        return sprintf(" %18s", of[run, name] unit)
    }
    function row(text, name, unit, ratio) {
        printf "   %-22s%s%s%s\n", text, cell(1, name, unit, ratio), cell(2, name, unit, ratio), cell(3, name, unit, ratio)
    }
    /^coba / {
        runs++
        for (i = 2; i <= NF; i++) { split($i, pair, "="); of[runs, pair[1]] = pair[2] }
    }
    END {
        printf "4. %-22s %18s %18s %18s\n", "", "plain", "preloaded", (runs > 2 ? "device" : "")
        row("firing rate", "rate_hz", " Hz", 0)
        row("spikes", "spikes", "", 0)
        row("trials alive at end", "alive_trials", "", 0)
        row("nonzero in left side", "density", "", 0)
        row("products", "products", "", 0)
        row("wall time in products", "product_s", " s", 1)
        row("wall time of all steps", "loop_s", " s", 1)
        row("wall time of all", "total_s", " s", 1)
    }'

# The library counts the sites where it timed the BLAS too: beside it, what came of all.
awk -v plain="$(value product_s "$out/plain.log")" -v preloaded="$(value product_s "$out/lacuna.log")" '
    /measured gain/ {
        counted = $0; sub(/.*measured gain /, "", counted); sub(/ .*/, "", counted)
        printf "   Gain in products: %.1f s measured; %.1f s counted by the library", plain - preloaded, counted
        print (/at the 0 of/ ? ", which did not time the BLAS" : "")
    }' "$out/lacuna.stats"

# compare_with NAME: the plain run against another; 0 where they are the same to the bit.
compare_with() {
    apart=0
    "$build/bin/coba_compare" "$out/plain.raster" "$out/$1.raster" \
        "$out/plain.potentials" "$out/$1.potentials" >"$out/compare.log" || apart=$?
    echo "   plain and $1: $(cat "$out/compare.log")"
    [ $apart -le 1 ] || die "the results could not be compared"
    for sum in raster_checksum potential_checksum; do
        [ "$(value $sum "$out/plain.log")" = "$(value $sum "$out/$1.log")" ] || apart=1
    done
    return $apart
}

echo "5. The results"
status=0
for run in $runs; do
    [ "$run" = plain ] || compare_with "$run" || status=1
done
if [ $status -eq 0 ]; then
    echo "   They are the same to the bit."
else
    echo "   THE RESULTS DIFFER."
fi

if [ $plot = yes ]; then
    printf '6. '
    if [ -x /usr/bin/python3 ]; then
        /usr/bin/python3 "$here/plot_raster.py" "$out/lacuna.raster" "$out/raster.png"
    else
        echo "No picture: /usr/bin/python3 is not there."
    fi
fi
exit $status

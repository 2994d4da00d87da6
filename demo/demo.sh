#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# Runs one spiking network twice, on the plain BLAS and under the drop-in library, and compares the two.
set -eu

usage() {
    cat <<'TEXT'
Usage: demo.sh [--preload LIBRARY] [--out FOLDER] [--no-plot] BUILD [option of coba ...]

Runs BUILD/bin/coba as it is, then with LIBRARY preloaded (BUILD/lib/liblacuna_blas.so), and shows the
raster, the time of both, what the library decided, and the difference of the results, which has to be none.
Rasters, potentials and a picture go to FOLDER (BUILD/demo-out).
Exit status: 0 the results are the same to the bit, 1 they differ, 2 the demo could not run.
TEXT
}

die() {
    echo "demo.sh: $*" >&2
    exit 2
}

preload='' out='' plot=yes
while [ $# -gt 0 ]; do
    case $1 in
    --preload) [ $# -ge 2 ] || die "--preload: needs a library"; preload=$2; shift 2 ;;
    --out) [ $# -ge 2 ] || die "--out: needs a folder"; out=$2; shift 2 ;;
    --no-plot) plot=no; shift ;;
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

# The files of a run are $out/NAME.raster, .potentials, .log (what it printed), .stats (what the library said).
run_plain() {
    env -u LD_PRELOAD "$coba" --summary --raster "$out/plain.raster" \
        --potentials "$out/plain.potentials" "$@" >"$out/plain.log"
}
run_preloaded() {
    env LD_PRELOAD="$library" LACUNA_STATS=1 "$coba" --summary --raster "$out/lacuna.raster" \
        --potentials "$out/lacuna.potentials" "$@" --no-picture >"$out/lacuna.log" 2>"$out/lacuna.stats" ||
        { cat "$out/lacuna.stats" >&2; return 1; }
}

blas=$(ldd "$coba" | awk '/blas|blis/ { print $3; exit }')
echo "1. An event-driven workload on the plain BLAS: $(readlink -f "${blas:-unknown}" || echo unknown)"
run_plain "$@" || die "the plain run failed"
grep -v '^coba ' "$out/plain.log" || true

echo "2. The same program with LD_PRELOAD=$library"
run_preloaded "$@" || die "the run with the library failed"
if grep -q 'cannot be preloaded' "$out/lacuna.stats"; then
    cat "$out/lacuna.stats" >&2
    die "$library could not be preloaded"
fi
if [ -s "$out/lacuna.stats" ]; then
    cat "$out/lacuna.stats"
elif [ -z "$preload" ]; then
    die "$library said nothing under LACUNA_STATS=1, so it saw no call"
fi

cat "$out/plain.log" "$out/lacuna.log" | awk '
    function ratio(name) { return of[2, name] > 0 ? sprintf("%.1fx", of[1, name] / of[2, name]) : "-" }
    function row(text, name, unit, show) {
        printf "   %-22s %12s %12s %9s\n", text, of[1, name] unit, of[2, name] unit, show ? ratio(name) : ""
    }
    /^coba / {
        run++
        for (i = 2; i <= NF; i++) { split($i, pair, "="); of[run, pair[1]] = pair[2] }
    }
    END {
        printf "3. %-22s %12s %12s %9s\n", "", "plain", "preloaded", "ratio"
        row("firing rate", "rate_hz", " Hz", 0)
        row("spikes", "spikes", "", 0)
        row("trials alive at end", "alive_trials", "", 0)
        row("nonzero in left side", "density", "", 0)
        row("sgemm calls", "sgemm_calls", "", 0)
        row("wall time in sgemm", "sgemm_s", " s", 1)
        row("wall time of all", "total_s", " s", 1)
    }'

status=0
"$build/bin/coba_compare" "$out/plain.raster" "$out/lacuna.raster" \
    "$out/plain.potentials" "$out/lacuna.potentials" >"$out/compare.log" || status=$?
printf '4. '
cat "$out/compare.log"
[ $status -le 1 ] || die "the results could not be compared"
for sum in raster_checksum potential_checksum; do
    [ "$(value $sum "$out/plain.log")" = "$(value $sum "$out/lacuna.log")" ] || status=1
done
if [ $status -eq 0 ]; then
    echo "   The results are the same to the bit."
else
    echo "   THE RESULTS DIFFER."
fi

if [ $plot = yes ]; then
    printf '5. '
    if [ -x /usr/bin/python3 ]; then
        /usr/bin/python3 "$here/plot_raster.py" "$out/lacuna.raster" "$out/raster.png"
    else
        echo "No picture: /usr/bin/python3 is not there."
    fi
fi
exit $status

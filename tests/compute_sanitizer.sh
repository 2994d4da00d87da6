#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# Runs a program under compute-sanitizer's tools, one after the other; 77 where the sanitizer cannot work here.
# usage: [LACUNA_SANITIZER_TOOLS="memcheck racecheck"] compute_sanitizer.sh program argument...
set -u
log=$(mktemp)
trap 'rm -f "$log"' EXIT
command -v compute-sanitizer >/dev/null 2>&1 || { echo "skipped: no compute-sanitizer"; exit 77; }
for tool in ${LACUNA_SANITIZER_TOOLS:-memcheck racecheck initcheck synccheck}; do
    status=0
    extra=
    # Rows of a sparse operand leave shared memory by bulk copies, which initcheck does not see; here kernels read them.
    case $tool:$1 in initcheck:*/test_gpu_convert) echo "initcheck: left out"; continue ;; esac
    [ $tool != racecheck ] || extra='--kernel-name kns=lacuna' # a vendor's kernels take minutes, and are the vendor's
    [ $tool != memcheck ] || extra='--report-api-errors no' # the tests provoke some, and check their results
    compute-sanitizer --tool "$tool" $extra --error-exitcode 9 "$@" >"$log" 2>&1 || status=$?
    if [ $status -eq 77 ] || grep -q 'Device not supported' "$log"; then
        echo "skipped: no device, or one that compute-sanitizer does not support"
        exit 77
    fi
    echo "$tool: $(tail -n 1 "$log")"
    [ $status -eq 0 ] || { cat "$log"; exit 1; }
done

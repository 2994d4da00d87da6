#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# Runs a program plain and with a library preloaded, before each BLAS that is installed: it must say the same.
# usage: same_output.sh library least-lines program argument...
set -u
library=$1 least=$2
shift 2

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failed=0 tried=0
for place in "" $(ls -d /usr/lib/*/blas /usr/lib/*/openblas-* /usr/lib/*/blis-* /usr/lib/*/atlas 2>/dev/null); do
    [ -z "$place" ] || [ -e "$place/libblas.so.3" ] || continue
    env LD_LIBRARY_PATH="$place" "$@" > "$folder/plain" 2>&1
    echo "exit status $?" >> "$folder/plain"
    env LD_LIBRARY_PATH="$place" LD_PRELOAD="$library" "$@" > "$folder/under" 2>&1
    echo "exit status $?" >> "$folder/under"
    tried=$((tried + 1))
    lines=$(wc -l < "$folder/plain")
    echo "${place:-default}: $lines lines"
    [ "$lines" -ge "$least" ] || { echo "too few lines: nothing was tested"; tail -n 3 "$folder/plain"; failed=1; }
    diff "$folder/plain" "$folder/under" || failed=1
done
[ "$tried" -gt 0 ] && exit $failed

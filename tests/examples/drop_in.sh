#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# The first example plain and under the plugin: the same line, and most of its calls skip zeros.
# usage: drop_in.sh library program
set -eu
library=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$program" >"$work/plain"
LD_PRELOAD=$library LACUNA_VERBOSE=exec LACUNA_LOG=$work/log "$program" >"$work/under"
cat "$work/plain"
diff "$work/plain" "$work/under"
grep -q '^200 steps, sum -*[1-9]' "$work/plain" || { echo "nothing was computed"; exit 1; }
table=$(dirname "$0")/../../backend/route/routes.def
routes=$(sed -n 's/^LAC_ROUTE(\([a-z0-9_]*\), SPARSE,.*/\1/p' "$table" | paste -sd'|' -)
sparse=$(grep -cE "^lacuna,1,exec,cblas_sgemm,01_drop_in.*,($routes)," "$work/log") || true
echo "$sparse of 200 calls skipped zeros"
[ "$sparse" -ge 100 ]

#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# Compiles every header alone, twice in one file, without a word of warning.
# usage: headers_alone.sh root "folder-or-header..." compiler flag...
# A header that is made to be included into a frame has no include guard and is passed over.
set -u
root=$1
places=$2
shift 2

count=0
failed=0
for place in $places; do
    for header in "$root/$place"/*.h "$root/$place"; do
        [ -f "$header" ] && grep -q '^#ifndef .*_H$' "$header" || continue
        count=$((count + 1))
        printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
            "$@" -I"$root/include" -fsyntax-only - || { failed=$((failed + 1)); echo "not alone: $header"; }
    done
done
echo "$count headers, $failed failed"
[ "$count" -gt 0 ] && [ "$failed" -eq 0 ]

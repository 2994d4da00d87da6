#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# A drop-in library exports the names in its table and its marker: all, nothing else, and without a version tag.
# usage: exported_names.sh nm library table marker
set -u
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
"$1" -D --defined-only "$2" | awk '{ print $NF }' | sort > "$folder/there"
{ sed -n 's/^SYMBOL([A-Z_]*, \([A-Za-z0-9_]*\), [01])$/\1/p' "$3"; echo "$4"; } | sort > "$folder/promised"
[ "$(wc -l < "$folder/promised")" -ge 9 ] || { echo "the table was not read"; exit 1; }
wc -l < "$folder/there"
diff "$folder/promised" "$folder/there"

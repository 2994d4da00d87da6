#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# How shipped files were compiled and linked, as they say themselves.
# usage: hardened.sh readelf file...      INSTALLED=1: run paths may only be relative to the file itself
set -u
readelf=$1
shift
faults=0
fault() { echo "$file: $*"; faults=$((faults + 1)); }

for file; do
    [ -f "$file" ] || { fault "is not there"; continue; }
    symbols=$("$readelf" --dyn-syms -W "$file")
    program=$("$readelf" -lW "$file")
    dynamic=$("$readelf" -dW "$file")
    echo "$symbols" | grep -q '__stack_chk_fail' || fault "no stack protector"
    echo "$symbols" | grep -qE 'UND __[a-z]+_chk' || fault "no checked calls of libc"
    echo "$program" | grep -E '^ *GNU_STACK' | grep -q 'RWE' && fault "an executable stack"
    echo "$program" | grep -q 'GNU_RELRO' || fault "relocations can be written to"
    echo "$dynamic" | grep -qE 'BIND_NOW|Flags:.*NOW' || fault "symbols are resolved late"
    echo "$dynamic" | grep -q 'TEXTREL' && fault "code is relocated"
    "$readelf" -hW "$file" | grep -q 'Type: *DYN' || fault "is not position independent"
    case $file in
    *audit.so) ;; # the dynamic linker's own guest, which it keeps
    *.so*) echo "$dynamic" | grep -q 'NODELETE' || fault "can be unloaded while it is in use" ;;
    esac
    [ -z "${INSTALLED:-}" ] && continue
    paths=$(echo "$dynamic" | sed -n 's/.*(R[UN]*PATH).*\[\(.*\)\]/\1/p')
    case ":$paths:" in ::) ;; *::*) fault "an empty run path: the working directory" ;; esac
    echo "$paths" | tr ':' '\n' | grep -v '^$' | grep -v '^\$ORIGIN' && fault "a run path that is not its own"
done
echo "$# files, $faults faults"
[ $# -gt 0 ] && [ "$faults" -eq 0 ]

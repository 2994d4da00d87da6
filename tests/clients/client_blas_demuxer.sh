#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# libblastrampoline and FlexiBLAS in the place of libblas.so.3, with Lacuna preloaded in front of them and as the library that
# they pass calls on to: netlib's tester of BLAS 3 (Debian: libblas-test, libopenblas0-pthread). Neither is in Debian 12:
# LACUNA_SWITCHBOARDS=FOLDER:... says where they were installed, beside where the loader looks.
. "$(dirname "$0")/client_common.sh"
tester=$(ls -d /usr/lib/*/blas/xblat3s /usr/lib/blas/xblat3s 2>/dev/null | head -n 1)
[ -n "$tester" ] || skip "needs libblas-test"
openblas=$(ldconfig -p | sed -n 's/.*libopenblas\.so\.0 .* => //p' | head -n 1)
[ -n "$openblas" ] || skip "needs libopenblas0-pthread"
cc -shared -o lacuna_and_blas.so -Wl,--no-as-needed "$library" "$openblas" -Wl,-rpath,"$(dirname "$library")" || skip "needs gcc"

# find_library FILE: its path.
find_library() {
    IFS=:
    for folder in ${LACUNA_SWITCHBOARDS:-}; do [ -e "$folder/$1" ] && echo "$folder/$1"; done
    unset IFS
    ldconfig -p | sed -n "s|.*$1 .* => ||p"
}

# through NAME FILE VARIABLE: VARIABLE names the library that the BLAS demuxer passes calls on to.
through() {
    board=$(find_library "$2" | head -n 1)
    [ -n "$board" ] || { echo "$1 is not here"; return; }
    found=yes
    mkdir "$1" && ln -s "$board" "$1/libblas.so.3"
    cat >"$1.sh" <<SUITE
mkdir run && cd run
LD_LIBRARY_PATH=$work/$1:$(dirname "$board") "$tester" <"$(dirname "$tester")/sblat3.in" >said 2>&1 || echo "exit status \$?"
cat said ./*.out 2>/dev/null | grep -E 'PASSED THE|FAILED|SUSPECT|ABANDON' | sort
cd .. && rm -r run
SUITE
    plain_and_under "$1" env "$3=$openblas" sh "$1.sh"
    same "$1" 6 1000 "lines of netlib's tester, behind Lacuna"
    cp "$1.plain" "$1_behind.plain"
    env "$3=$work/lacuna_and_blas.so" LACUNA_VERBOSE=exec LACUNA_LOG="$work/$1_behind.log.%p" sh "$1.sh" >"$1_behind.under" 2>"$1_behind.under.err"
    echo "exit status $?" >>"$1_behind.under"
    same "$1_behind" 6 1000 "lines of netlib's tester, before Lacuna"
}

found=
through libblastrampoline libblastrampoline.so.5 LBT_DEFAULT_LIBS
through flexiblas libflexiblas.so.3 FLEXIBLAS
[ -n "$found" ] || skip "needs libblastrampoline or FlexiBLAS"

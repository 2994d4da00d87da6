#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# Installs a build, moves the installed tree, and builds and runs a consumer by find_package and by pkg-config.
# usage: install_consumers.sh cmake build-folder this-folder compiler libdir pkg-config-or-empty
set -eu
cmake=$1 build=$2 here=$3 compiler=$4 libdir=$5 pkg_config=$6
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/moved"
prefix=$work/moved

echo "find_package:"
"$cmake" -S "$here/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$compiler" \
    >/dev/null
"$cmake" --build "$work/consumer" >/dev/null
"$work/consumer/consumer"
"$work/consumer/static_consumer"
! ldd "$work/consumer/static_consumer" | grep liblacuna || { echo "the archive was not taken"; exit 1; }

echo "the installed examples:"
"$cmake" -S "$prefix"/share/doc/*/examples -B "$work/examples" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$compiler" >/dev/null
"$cmake" --build "$work/examples" >/dev/null
for example in 02_object_api 03_attach_csr 04_frozen_weight 05_plan 07_layers 08_ranks; do
    "$work/examples/$example" >/dev/null || { echo "$example fails"; exit 1; }
done

if [ -n "$pkg_config" ]; then
    echo "pkg-config:"
    PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
    export PKG_CONFIG_PATH
    # shellcheck disable=SC2046
    "$compiler" -o "$work/by_pkg_config" "$here/consumer/consumer.c" $("$pkg_config" --cflags --libs lacuna)
    LD_LIBRARY_PATH=$prefix/$libdir "$work/by_pkg_config"
    # shellcheck disable=SC2046
    "$compiler" -o "$work/by_run_path" "$here/consumer/consumer.c" $("$pkg_config" --cflags --libs lacuna) \
        -Wl,-rpath,"$("$pkg_config" --variable=libdir lacuna)" # as docs/install.md says
    env -u LD_LIBRARY_PATH "$work/by_run_path"
    # shellcheck disable=SC2046
    "$compiler" -o "$work/static_by_pkg_config" "$here/consumer/consumer.c" $("$pkg_config" --cflags lacuna) \
        $("$pkg_config" --static --libs lacuna | sed 's/-llacuna/-l:liblacuna.a/')
    "$work/static_by_pkg_config"
fi

if [ -x "$prefix/bin/lacuna" ]; then
    echo "the tool, from where it was moved to:"
    "$prefix/bin/lacuna" --version
fi
if command -v readelf >/dev/null; then
    INSTALLED=1 sh "$here/../structure/hardened.sh" readelf "$prefix/bin/lacuna" "$prefix/$libdir"/liblacuna*.so
fi
for module in "$prefix/$libdir"/liblacuna_*.so; do
    [ -e "$module" ] || continue
    ! ldd "$module" | grep 'not found' || { echo "not complete: $module"; exit 1; }
done

#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# A program that never calls cuBLAS says the same with the drop-in library preloaded, and no CUDA library is loaded.
# usage: untouched.sh library
set -u
plain=$(ls -1 / 2>&1; echo "exit status $?")
under=$(LD_PRELOAD=$1 ls -1 / 2>&1; echo "exit status $?")
[ -n "$plain" ] && [ "$plain" = "$under" ] || { echo "ls says: $under"; exit 1; }
maps=$(LD_PRELOAD=$1 cat /proc/self/maps)
echo "$maps" | grep -q liblacuna_cublas || { echo "the library was not loaded"; exit 1; }
echo "$maps" | grep -E 'libcuda|libcublas|libcudart|liblacuna_cuda' && exit 1
echo untouched

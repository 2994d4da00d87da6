#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# Distributed psgemm and pdgemm on 1, 2 and 4 processes whose local products go through the plugin, and ScaLAPACK's own
# testers of the parallel BLAS (Debian: libscalapack-openmpi-dev openmpi-bin
# libopenmpi-dev libhwloc-dev libevent-dev, and scalapack-mpi-test for the testers).
. "$(dirname "$0")/client_common.sh"
command -v mpirun >/dev/null && command -v mpicc >/dev/null || skip "needs openmpi-bin and libscalapack-openmpi-dev"
mpicc -O2 -o psgemm "$here/pgemm_zeros.c" -lscalapack-openmpi 2>/dev/null &&
    mpicc -O2 -DDOUBLE -o pdgemm "$here/pgemm_zeros.c" -lscalapack-openmpi 2>/dev/null ||
    skip "needs libscalapack-openmpi-dev libopenmpi-dev libhwloc-dev libevent-dev"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
for type in s d; do
    [ $type = d ] && least=12 || least=0
    for processes in 1 2 4; do
        plain_and_under "p${type}gemm_$processes" mpirun -np "$processes" --oversubscribe "./p${type}gemm"
        same "p${type}gemm_$processes" 12 12 "products, each compared with a serial one" $least
    done

    # Debian names pdb2tst and the like dpb2tst.
    for level in 2 3; do
        tester=$(ls /usr/lib/*/scalapack/openmpi-tests/PBLAS/${type}pb${level}tst 2>/dev/null | head -n 1)
        [ -n "$tester" ] || continue
        cp "/usr/share/scalapack/PBLAS/P$(echo $type | tr sd SD)BLAS${level}TST.dat" .
        plain_and_under "p${type}b${level}tst" sh -c "mpirun -np 4 --oversubscribe $tester | grep -aE 'PASSED|FAILED|SKIPPED|tests'"
        [ $type$level = d3 ] && least=10 || least=0
        same "p${type}b${level}tst" 10 10 "lines of ScaLAPACK's tester" $least
    done
done

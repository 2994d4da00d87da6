#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# A distributed psgemm on 2 x 2 processes whose local products go through the plugin, and ScaLAPACK's own testers of the
# parallel BLAS (Debian: libscalapack-openmpi-dev openmpi-bin
# libopenmpi-dev libhwloc-dev libevent-dev, and scalapack-mpi-test for the testers).
. "$(dirname "$0")/client_common.sh"
command -v mpirun >/dev/null && command -v mpicc >/dev/null || skip "needs openmpi-bin and libscalapack-openmpi-dev"
mpicc -O2 -o psgemm "$here/psgemm_zeros.c" -lscalapack-openmpi 2>/dev/null || skip "needs libscalapack-openmpi-dev libopenmpi-dev libhwloc-dev libevent-dev"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
for processes in 1 2 4; do
    plain_and_under "psgemm_$processes" mpirun -np "$processes" --oversubscribe ./psgemm
    same "psgemm_$processes" 12 12 "products, each compared with a serial one"
done

for level in 2 3; do
    tester=$(ls /usr/lib/*/scalapack/openmpi-tests/PBLAS/spb${level}tst 2>/dev/null | head -n 1)
    [ -n "$tester" ] || continue
    cp /usr/share/scalapack/PBLAS/PSBLAS${level}TST.dat .
    plain_and_under "spb${level}tst" sh -c "mpirun -np 4 --oversubscribe $tester | grep -aE 'PASSED|FAILED|SKIPPED|tests'"
    same "spb${level}tst" 10 10 "lines of ScaLAPACK's tester"
done

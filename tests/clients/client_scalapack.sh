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

tester=$(command -v xspblas3tst || ls /usr/lib/*/scalapack/xspblas3tst /usr/lib/scalapack/*/xspblas3tst 2>/dev/null | head -n 1)
if [ -n "$tester" ]; then
    cp "$(find /usr/share /usr/lib -name 'PSBLAS3TST.dat*' 2>/dev/null | head -n 1)" . 2>/dev/null
    gunzip -f PSBLAS3TST.dat.gz 2>/dev/null
    plain_and_under tester sh -c "mpirun -np 4 --oversubscribe $tester | grep -aE 'PASSED|FAILED|SKIPPED'"
    same tester 10 1 "lines of ScaLAPACK's tester"
fi

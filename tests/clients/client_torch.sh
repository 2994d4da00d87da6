#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# PyTorch on the CPU: products, linear layers and their gradients while what they multiply turns from sparse to dense and
# back, on two threads (tests/cublas/torch_steps.py). It has to be one whose BLAS is a shared library (Debian: python3-torch);
# the wheels of PyPI have theirs linked statically, and no call of them can come to Lacuna.
. "$(dirname "$0")/client_common.sh"
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || skip "needs python3-torch"
"$python" -c 'import torch; print(torch.__config__.show())' | grep -qiE 'BLAS_INFO=(generic|open)' ||
    skip "this PyTorch has its BLAS linked statically"

export CUDA_VISIBLE_DEVICES=
plain_and_under torch "$python" "$here/../cublas/torch_steps.py"
same torch 30 500 "kinds of products and gradients, held to fp64"

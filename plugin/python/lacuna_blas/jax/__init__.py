# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Lacuna in JAX: products that skip zeros, with gradients and vmap, as custom calls of XLA."""
from ._ffi import calls
from ._operators import csr_matmul, linear, matmul, sddmm, slice_rows

__all__ = ["calls", "csr_matmul", "linear", "matmul", "sddmm", "slice_rows"]

# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Lacuna in PyTorch: operators that skip zeros, with gradients."""
from ._operators import bmm, calls, clear, linear, mm, sddmm, slice_rows, spmm

__all__ = ["bmm", "calls", "clear", "linear", "mm", "sddmm", "slice_rows", "spmm"]

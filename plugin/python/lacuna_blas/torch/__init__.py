# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Lacuna in PyTorch: operators that skip zeros, with gradients, and optimize() for a model's Linear layers."""
from .._lif import LIFInput
from ._modules import Layer, LacunaLinear, Report, optimize, profile, refresh, restore, status
from ._common import calls
from ._lif import LIFState, lif_step
from ._operators import binding, bmm, linear, mm
from ._sparse import clear, sddmm, slice_rows, spmm

__all__ = ["LIFInput", "LIFState", "Layer", "LacunaLinear", "Report", "binding", "bmm", "calls", "clear", "lif_step", "linear", "mm", "optimize", "profile", "refresh", "restore",
           "sddmm", "slice_rows", "spmm", "status"]

# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Matrix products that skip zeros: Lacuna for NumPy, SciPy and everything with DLPack or an array interface.

    import lacuna_blas
    y = lacuna_blas.matmul(spikes, weights)

docs/user/python.md is the manual; lacuna_blas.torch holds the operators of PyTorch."""
from ._context import Context, DeviceArray, thread_context
from ._library import (ArgumentError, ElementTypeError, Error, FileError, OutOfMemoryError, UnavailableError, library, library_path)
from ._lif import LIFInput, LIFStep
from ._operand import Operand
from ._product import Candidate, Decision, explain, matmul
from ._sparse import sddmm, slice_rows, slice_rows_grad

__version__ = library.lac_version().decode()
__all__ = ["ArgumentError", "Candidate", "Context", "Decision", "DeviceArray", "ElementTypeError", "Error", "FileError", "LIFInput", "LIFStep", "Operand",
           "OutOfMemoryError", "UnavailableError", "explain", "library_path", "matmul", "sddmm", "slice_rows", "slice_rows_grad",
           "thread_context"]

# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Rows picked out of a sparse operand, with the gradient to its values, and products at the entries of a pattern."""
import ctypes

import numpy as np

from . import _arrays
from ._context import context_for, place, read
from ._library import DEVICE, I32, SliceOpts, library
from ._operand import Operand, as_operand, matrix_obj


def _operand(name, x, context, dense=False):
    """x as an Operand; a plain array only where a dense operand will do."""
    found = as_operand(name, x, context)
    if found is None and not dense:
        raise TypeError(f"{name}: is a {type(x).__name__}; expected a SciPy CSR or CSC matrix, or an Operand")
    return found if found is not None else Operand(x, context=context)


def _rows(rows, context):
    if isinstance(rows, (list, tuple, range)) and context.space != DEVICE:
        rows = np.asarray(rows, np.int64)
    return place("rows", _arrays.vector("rows", rows, context.stream, indices=True), context)


def _options(values, homogeneous, zero_rows, operand, context):
    """SliceOpts, and the array whose address it holds."""
    array = None
    if values is not None:
        length = 1 if homogeneous else operand.nnz
        array = _arrays.vector("values", values, context.stream, operand._floats, length, space=context.space)
    return SliceOpts(ctypes.sizeof(SliceOpts), array.pointer if array else None, bool(homogeneous), bool(zero_rows)), array


def slice_rows(a, rows, *, values=None, homogeneous=False, zero_rows=False, out=None, format="dense", context=None):
    """a[rows], in any order and as often as wanted: a dense array, or with format="csr" a scipy.sparse.csr_array.

    a: a SciPy matrix in CSR or CSC, or an Operand with compressed rows (a transposed Operand picks columns). values: one for each
    entry in place of a's own, or with homogeneous=True one value for all entries (None: 1). zero_rows: a row outside
    a picks zeros and is no error. On a device such a row is reported by the next call or Context.wait()."""
    context = context_for(context, a, rows, out)
    operand = _operand("a", a, context)
    picked = _rows(rows, context)
    options, kept = _options(values, homogeneous, zero_rows, operand, context)
    kind, count = _arrays.index_type("rows", picked.dtype), picked.shape[0]
    view = operand.obj()
    if format == "csr":
        return _slice_csr(context, operand, view, kind, picked, options, out)
    if format != "dense":
        raise ValueError(f"format: {format!r} is neither 'dense' nor 'csr'")
    shape = (count, operand.shape[1])
    out = context.empty(shape, operand._floats) if out is None else out
    target = read("out", out, context)
    with context.lock:
        library.lac_slice_rows(context.pointer, view, kind, count, picked.pointer, matrix_obj("out", target, shape, operand._floats), options)
    del kept
    return out


def _slice_csr(context, operand, view, kind, picked, options, out):
    import scipy.sparse
    if context.space == DEVICE:
        raise ValueError("format: 'csr' is for operands on the host")
    if out is not None:
        raise ValueError("out: 'csr' makes arrays of its own")
    count = picked.shape[0]
    ptr = np.empty(count + 1, np.int32)
    with context.lock:
        library.lac_slice_rows_count(context.pointer, view, kind, count, picked.pointer, I32, ptr.ctypes.data, options)
        idx, val = np.empty(ptr[-1], np.int32), np.empty(ptr[-1], operand._floats)
        library.lac_slice_rows_csr(context.pointer, view, kind, count, picked.pointer, I32, ptr.ctypes.data, idx.ctypes.data,
                                   val.ctypes.data, options)
    return scipy.sparse.csr_array((val, idx, ptr), shape=(count, operand.shape[1]))


def slice_rows_grad(a, rows, grad_out, *, homogeneous=False, zero_rows=False, out=None, context=None):
    """The gradient of slice_rows to a's values, of the gradient to its dense result: one value for each entry of a, in its order;
    with homogeneous=True the one value for all. The bits do not depend on the number of threads."""
    context = context_for(context, a, rows, grad_out)
    operand = _operand("a", a, context)
    picked = _rows(rows, context)
    options, _ = _options(None, homogeneous, zero_rows, operand, context)
    incoming = read("grad_out", grad_out, context)
    view = matrix_obj("grad_out", incoming, (picked.shape[0], operand.shape[1]), operand._floats, writable=False)
    length = 1 if homogeneous else operand.nnz
    out = context.empty(length, operand._floats) if out is None else out
    target = _arrays.vector("out", out, context.stream, operand._floats, length, space=context.space, writable=True)
    with context.lock:
        library.lac_slice_rows_grad(context.pointer, operand.obj(), _arrays.index_type("rows", picked.dtype), picked.shape[0],
                                    picked.pointer, view, target.pointer, options)
    return out


def sddmm(a, b, pattern, *, alpha=1.0, beta=0.0, out=None, context=None):
    """out[e] := beta out[e] + alpha (a @ b)[i, j] for each entry e = (i, j) of the pattern, in the order of its CSR arrays.

    a, b: float32, float64 or bool matrices, SciPy ones, Operands. pattern: a SciPy matrix in CSR, or an Operand with CSR; its values are not
    read. With out = pattern.data of a SciPy matrix the product is written into it."""
    context = context_for(context, a, b, out)
    first, second, entries = (_operand("a", a, context, dense=True), _operand("b", b, context, dense=True),
                              _operand("pattern", pattern, context))
    if first.shape[1] != second.shape[0] or entries.shape != (first.shape[0], second.shape[1]):
        raise ValueError(f"a, b, pattern: shapes {first.shape}, {second.shape} and {entries.shape} do not fit")
    if beta != 0 and out is None:
        raise ValueError("beta: needs out, whose contents it multiplies")
    length, floats = entries.format_view("csr").count, _arrays.product_type(first._element, second._element, entries._floats)
    out = context.empty(length, floats) if out is None else out
    target = _arrays.vector("out", out, context.stream, floats, length, space=context.space, writable=True)
    number = ctypes.c_double if floats == np.float64 else ctypes.c_float
    with context.lock:
        library.lac_sddmm(context.pointer, ctypes.byref(number(alpha)), first.obj(), second.obj(), ctypes.byref(number(beta)), entries.obj(),
                          target.pointer)
    return out

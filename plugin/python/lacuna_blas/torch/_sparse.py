# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators of PyTorch on compressed rows, lacuna::spmm, sddmm, slice_rows and slice_rows_grad, with gradients of any order, fake tensors and
vmap.

A sparse matrix of m rows is (indptr [m + 1], indices [nnz], values [nnz], columns), as of a CSR tensor."""
import collections
import ctypes
import threading

import torch

from .._library import I32, I64, SliceOpts, library
from .._operand import Operand
from ._common import _check_mm, _complete, _forward_mode, _keep, _obj, _op, _ours, context_of

torch.library.define("lacuna::spmm", "(Tensor indptr, Tensor indices, Tensor values, int columns, Tensor b, bool transpose=False) -> Tensor")
torch.library.define("lacuna::sddmm", "(Tensor indptr, Tensor indices, Tensor a, Tensor b) -> Tensor")
torch.library.define("lacuna::slice_rows", "(Tensor indptr, Tensor indices, Tensor values, int columns, Tensor rows) -> Tensor")
torch.library.define("lacuna::slice_rows_grad", "(Tensor indptr, Tensor indices, int columns, Tensor rows, Tensor grad) -> Tensor")

_KEPT = 8
_kept = collections.OrderedDict()  # operands of patterns that came lately: on a device, attaching waits
_kept_lock = threading.Lock()


def _stamp(x):
    """What changes where a tensor's contents do. Tensors made in inference mode do not say: None."""
    if x is None:
        return ()
    return None if x.is_inference() else (x.data_ptr(), x._version, tuple(x.shape), x.dtype, x.device)


def clear():
    """Forgets the sparse operands that are kept for the next call."""
    with _kept_lock:
        _kept.clear()


def _check_pattern(indptr, indices, columns, values=None):
    if indptr.dim() != 1 or indices.dim() != 1 or indptr.shape[0] < 1:
        raise ValueError("indptr, indices: expected one dimension each, and one row pointer or more")
    if indptr.dtype != indices.dtype or indptr.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"indptr, indices: have dtypes {indptr.dtype} and {indices.dtype}; expected int32 or int64, the same")
    if values is not None and values.shape != indices.shape:
        raise ValueError(f"values: has shape {tuple(values.shape)}; expected {tuple(indices.shape)}")
    return indptr.shape[0] - 1, columns


def _sparse(indptr, indices, values, columns):
    """The Operand of a sparse matrix; values None: the pattern alone. It is kept while the tensors stay as they are."""
    stamps = tuple(map(_stamp, (indptr, indices, values)))
    key = None if None in stamps else (*stamps, columns)
    with _kept_lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key][0]
    arrays = [None if x is None else x.detach().contiguous() for x in (indptr, indices, values)]
    operand = Operand.from_csr((indptr.shape[0] - 1, columns), *arrays, context=context_of(indptr.device))
    if key is not None:
        with _kept_lock:
            _kept[key] = operand, (indptr, indices, values)  # their memory is not used again while they are kept
            while len(_kept) > _KEPT:
                _kept.popitem(last=False)
    return operand


def _rows_of(indptr):
    """The row of each entry."""
    return torch.repeat_interleave(torch.arange(indptr.shape[0] - 1, device=indptr.device), indptr.diff().long())


def _check_spmm(indptr, indices, values, columns, b, transpose):
    m, n = _check_pattern(indptr, indices, columns, values)
    inner, outer = (m, n) if transpose else (n, m)
    if b.dim() != 2 or b.shape[0] != inner:
        raise ValueError(f"b: has shape {tuple(b.shape)}; expected {inner} rows")
    return outer, b.shape[1]


@torch.library.impl("lacuna::spmm", "CompositeExplicitAutograd")
def _spmm(indptr, indices, values, columns, b, transpose=False):
    shape = _check_spmm(indptr, indices, values, columns, b, transpose)
    if not _ours("spmm", values, b):
        rows, cols = _rows_of(indptr), indices.long()
        to, of = (cols, rows) if transpose else (rows, cols)
        return b.new_zeros(shape).index_add_(0, to, values[:, None] * b[of])
    operand, out = _sparse(indptr, indices, values, columns), b.new_empty(shape)
    view, context = (operand.T if transpose else operand).obj(), context_of(b.device)
    with context.lock:
        library.lac_gemm_ex(context.pointer, None, view, _obj(b), None, _obj(out), None)
    return out


@torch.library.register_fake("lacuna::spmm")
def _spmm_fake(indptr, indices, values, columns, b, transpose=False):
    return b.new_empty(_check_spmm(indptr, indices, values, columns, b, transpose))


def _check_sddmm(indptr, indices, a, b):
    _check_pattern(indptr, indices, b.shape[-1])
    _check_mm(a, b, 2)
    if a.shape[0] != indptr.shape[0] - 1:
        raise ValueError(f"a: has {a.shape[0]} rows; the pattern has {indptr.shape[0] - 1}")


@torch.library.impl("lacuna::sddmm", "CompositeExplicitAutograd")
def _sddmm(indptr, indices, a, b):
    _check_sddmm(indptr, indices, a, b)
    if not _ours("sddmm", a, b):
        return (a[_rows_of(indptr)] * b.t()[indices.long()]).sum(-1)
    pattern, out = _sparse(indptr, indices, None, b.shape[1]), a.new_empty(indices.shape)
    context, one = context_of(a.device), ctypes.c_float(1)
    with context.lock:
        library.lac_sddmm(context.pointer, ctypes.byref(one), _obj(a), _obj(b), None, pattern.obj(), out.data_ptr())
    return out


@torch.library.register_fake("lacuna::sddmm")
def _sddmm_fake(indptr, indices, a, b):
    _check_sddmm(indptr, indices, a, b)
    return a.new_empty(indices.shape)


def _check_slice(indptr, indices, columns, rows, values=None):
    _check_pattern(indptr, indices, columns, values)
    if rows.dim() != 1 or rows.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"rows: has dtype {rows.dtype} and {rows.dim()} dimensions; expected int32 or int64, and 1")


def _index(rows):
    return I32 if rows.dtype == torch.int32 else I64


def _entries(indptr, indices, rows):
    """Of a slice: the row of the result, the column and the number of each entry."""
    counts = indptr.diff().long()[rows.long()]
    to = torch.repeat_interleave(torch.arange(rows.shape[0], device=rows.device), counts)
    before = torch.cumsum(counts, 0) - counts
    entry = indptr.long()[rows.long()][to] + torch.arange(to.shape[0], device=rows.device) - before[to]
    return to, indices.long()[entry], entry


@torch.library.impl("lacuna::slice_rows", "CompositeExplicitAutograd")
def _slice_rows(indptr, indices, values, columns, rows):
    _check_slice(indptr, indices, columns, rows, values)
    out = values.new_empty((rows.shape[0], columns))
    if not _ours("slice_rows", values):
        to, column, entry = _entries(indptr, indices, rows)
        return out.zero_().index_put_((to, column), values[entry])
    operand, context = _sparse(indptr, indices, None, columns), context_of(values.device)
    rows, values = rows.contiguous(), values.contiguous()
    options = SliceOpts(ctypes.sizeof(SliceOpts), values.data_ptr(), 0, 0)
    with context.lock:
        library.lac_slice_rows(context.pointer, operand.obj(), _index(rows), rows.shape[0], rows.data_ptr(), _obj(out), options)
    return out


@torch.library.register_fake("lacuna::slice_rows")
def _slice_rows_fake(indptr, indices, values, columns, rows):
    _check_slice(indptr, indices, columns, rows, values)
    return values.new_empty((rows.shape[0], columns))


@torch.library.impl("lacuna::slice_rows_grad", "CompositeExplicitAutograd")
def _slice_rows_grad(indptr, indices, columns, rows, grad):
    _check_slice(indptr, indices, columns, rows)
    out = grad.new_empty(indices.shape)
    if not _ours("slice_rows_grad", grad):
        to, column, entry = _entries(indptr, indices, rows)
        return out.zero_().index_add_(0, entry, grad[to, column])
    operand, context, rows = _sparse(indptr, indices, None, columns), context_of(grad.device), rows.contiguous()
    with context.lock:
        library.lac_slice_rows_grad(context.pointer, operand.obj(), _index(rows), rows.shape[0], rows.data_ptr(), _obj(grad),
                                    out.data_ptr(), None)
    return out


@torch.library.register_fake("lacuna::slice_rows_grad")
def _slice_rows_grad_fake(indptr, indices, columns, rows, grad):
    _check_slice(indptr, indices, columns, rows)
    return grad.new_empty(indices.shape)


# Gradients ------------------------------------------------------------------------------------------------

def _spmm_setup(ctx, inputs, output):
    indptr, indices, values, ctx.columns, b, *transpose = inputs
    ctx.transpose = bool(transpose and transpose[0])
    ctx.save_for_backward(indptr, indices, values, b)


def _spmm_backward(ctx, grad):
    indptr, indices, values, b = ctx.saved_tensors
    need, left, right = ctx.needs_input_grad, *((b, grad) if ctx.transpose else (grad, b))
    to_values = _op.sddmm(indptr, indices, left, right.t()) if need[2] else None
    to_b = _op.spmm(indptr, indices, values, ctx.columns, grad, not ctx.transpose) if need[4] else None
    return None, None, to_values, None, to_b, None


def _sddmm_backward(ctx, grad):
    (indptr, indices, a, b), need = ctx.saved_tensors, ctx.needs_input_grad
    to_a = _op.spmm(indptr, indices, grad, b.shape[1], b.t(), False) if need[2] else None
    to_b = _op.spmm(indptr, indices, grad, b.shape[1], a, True).t() if need[3] else None
    return None, None, to_a, to_b


def _slice_setup(ctx, inputs, output):
    indptr, indices, _, ctx.columns, rows = inputs
    ctx.save_for_backward(indptr, indices, rows)


def _slice_backward(ctx, grad):
    indptr, indices, rows = ctx.saved_tensors
    return None, None, (_op.slice_rows_grad(indptr, indices, ctx.columns, rows, grad) if ctx.needs_input_grad[2] else None), None, None


def _slice_grad_setup(ctx, inputs, output):
    indptr, indices, ctx.columns, rows, _ = inputs
    ctx.save_for_backward(indptr, indices, rows)


def _slice_grad_backward(ctx, grad):
    indptr, indices, rows = ctx.saved_tensors
    return None, None, None, None, (_op.slice_rows(indptr, indices, grad, ctx.columns, rows) if ctx.needs_input_grad[4] else None)


_complete("spmm", _spmm_backward, _spmm_setup)
_complete("sddmm", _sddmm_backward, _keep(0, 1, 2, 3))
_complete("slice_rows", _slice_backward, _slice_setup)
_complete("slice_rows_grad", _slice_grad_backward, _slice_grad_setup)


# What users call ------------------------------------------------------------------------------------------

def _csr(name, a):
    if not isinstance(a, torch.Tensor) or a.layout != torch.sparse_csr or a.dim() != 2:
        raise TypeError(f"{name}: expected a 2-D tensor of layout torch.sparse_csr")
    return a.crow_indices(), a.col_indices()


def spmm(a, b, values=None):
    """a @ b of a sparse CSR tensor and a matrix. values: in place of a's own, where gradients are to reach them."""
    pattern = _csr("a", a)
    values = a.values() if values is None else values
    _forward_mode("spmm", values, b)
    return _op.spmm(*pattern, values, a.shape[1], b)


def sddmm(a, b, pattern):
    """(a @ b) at the entries of a sparse CSR tensor, in their order."""
    _forward_mode("sddmm", a, b)
    return _op.sddmm(*_csr("pattern", pattern), a, b)


def slice_rows(a, rows, values=None):
    """a[rows] of a sparse CSR tensor, dense. values: in place of a's own, where gradients are to reach them."""
    pattern = _csr("a", a)
    values = a.values() if values is None else values
    _forward_mode("slice_rows", values)
    return _op.slice_rows(*pattern, values, a.shape[1], rows)

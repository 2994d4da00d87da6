# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators of PyTorch, lacuna::*, with gradients of any order, fake tensors and vmap.

The kernels hand addresses to the C library. Types and devices that it does not have are handed to PyTorch's own
operators, openly: calls() counts both. So are, on the CPU, products that are best dense: another BLAS would bring threads
that compete with PyTorch's. On a device both have cuBLAS, and the library decides by the times of both."""
import collections
import ctypes
import threading

import torch

if not hasattr(torch.library, "register_autograd"):
    raise ImportError(f"lacuna_blas.torch needs PyTorch 2.4 or newer; this is {torch.__version__}")

from .._context import Context
from .._library import (DEVICE, F32, HOST, I32, I64, NO_TRANS, TRANS, U8, CallOpts, DecisionStruct, Epilogue, Obj, OutOfMemoryError,
                        SliceOpts, library)
from .._operand import Operand

SMALL = 1 << 22  # multiply-adds below which a layer's product is left to PyTorch: the call itself would cost more than zeros give

_calls = collections.Counter()
_streams = threading.local()
_ELEMENTS = {torch.float32: F32, torch.bool: U8}


def calls():
    """How many calls of each operator Lacuna computed, and how many PyTorch: {(operator, "lacuna" or "torch"): count}."""
    return dict(_calls)


def context_of(device):
    """The thread's context for a device: on CUDA, for PyTorch's current stream there. On the CPU the library sees no time of a dense
    product, and compares predictions with predictions."""
    contexts = _streams.__dict__.setdefault("contexts", {})
    if device.type == "cpu":
        if "cpu" not in contexts:
            contexts["cpu"] = Context(learn=False)
        return contexts["cpu"]
    index = torch.cuda.current_device() if device.index is None else device.index
    key = index, torch.cuda.current_stream(index).cuda_stream
    if key not in contexts:
        contexts[key] = Context(f"cuda:{index}", stream=key[1] or None)
    return contexts[key]


def capturing(x):
    """True where x lies on a device and PyTorch's current stream is being captured into a CUDA graph."""
    return x.is_cuda and torch.cuda.is_current_stream_capturing()


def _fits(*floats, events=()):
    """True where the library has the types (events may be bool) and the device."""
    device = (floats or events)[0].device
    served = device.type == "cpu" or device.type == "cuda"
    for x in floats:
        served = served and x.dtype == torch.float32 and x.device == device and x.layout == torch.strided
    for x in events:
        served = served and x.dtype in _ELEMENTS and x.device == device and x.layout == torch.strided
    return served


def _ours(operator, *floats):
    """The same, and counts the call."""
    served = _fits(*floats)
    _calls[operator, "lacuna" if served else "torch"] += 1
    return served


def _apart(x):
    """x, or a copy of it where elements of its matrices share memory (expanded and unfolded tensors), which have no view."""
    (m, n), (rs, cs) = x.shape[-2:], x.stride()[-2:]
    short, long = ((m, rs), (n, cs)) if rs < cs else ((n, cs), (m, rs))
    meet = long[0] > 1 and (long[1] == 0 or (short[0] > 1 and (short[0] - 1) * short[1] >= long[1]))
    return x.clone(memory_format=torch.contiguous_format) if meet or (short[0] > 1 and short[1] == 0) or x.is_neg() else x


def _obj(x, meta=None, trans=NO_TRANS):
    """The view of a 2-D tensor."""
    if not x.is_contiguous() or x.is_neg():
        x = _apart(x)
    view = Obj(_ELEMENTS[x.dtype], DEVICE if x.is_cuda else HOST, trans, *x.shape, *x.stride(), x.data_ptr(), meta)
    view.owner = x  # until the call is made
    return view


def _result_type(a, b):
    """That of the operand which is not bool."""
    kind = b.dtype if a.dtype == torch.bool else a.dtype
    return torch.float32 if kind == torch.bool else kind


def _floats(x, kind):
    """A bool operand as PyTorch's own products take it."""
    return x.to(kind) if x.dtype == torch.bool else x


def _asked():
    """This thread's options of a call that reports its decision, and the decision."""
    if not hasattr(_streams, "asked"):
        decision = DecisionStruct()
        _streams.asked = CallOpts(size=ctypes.sizeof(CallOpts), decision=ctypes.pointer(decision)), decision
    return _streams.asked


def _product(a, b, bias=None, known=None, trans_b=NO_TRANS, scanned=None):
    """(a @ b + bias, whether zeros were skipped); None for the product where PyTorch is to compute it. known, scanned: what is known of
    b, and of a, as Operands."""
    context, out = context_of(a.device), a.new_empty((a.shape[0], b.shape[0] if trans_b else b.shape[1]), dtype=torch.float32)
    first = _obj(a, scanned._meta.pointer if scanned else None)
    second, third = _obj(b, known._meta.pointer if known else None, trans_b), _obj(out)
    options, decision = _asked()
    options.may_decline, options.declined = not a.is_cuda, 0
    try:
        with context.lock:
            if bias is None:
                library.lac_gemm_ex(context.pointer, None, first, second, None, third, options)
            else:
                epilogue = Epilogue(size=ctypes.sizeof(Epilogue), bias=bias.data_ptr())
                library.lac_gemm_epilogue(context.pointer, None, first, second, None, third, epilogue, options)
    except OutOfMemoryError:
        if not capturing(a):
            raise
        return None, False  # no call was made before on the stream that is captured: nothing can be allocated now
    return (None, False) if options.declined else (out, decision.side != b"")


# Dense products -------------------------------------------------------------------------------------------

torch.library.define("lacuna::mm", "(Tensor a, Tensor b) -> Tensor")
torch.library.define("lacuna::bmm", "(Tensor a, Tensor b) -> Tensor")
torch.library.define("lacuna::linear", "(Tensor input, Tensor weight, Tensor? bias, int packed=0) -> Tensor")


def _check_mm(a, b, dimensions):
    for name, x in (("a", a), ("b", b)):
        if x.dim() != dimensions:
            raise ValueError(f"{name}: has {x.dim()} dimensions; expected {dimensions}")
    if a.shape[-1] != b.shape[-2] or a.shape[:-2] != b.shape[:-2]:
        raise ValueError(f"a, b: shapes {tuple(a.shape)} and {tuple(b.shape)} do not fit")


@torch.library.impl("lacuna::mm", "CompositeExplicitAutograd")
def _mm(a, b):
    _check_mm(a, b, 2)
    out = _product(a, b)[0] if _fits(events=(a, b)) else None
    _calls["mm", "torch" if out is None else "lacuna"] += 1
    if out is None:
        kind = _result_type(a, b)
        return torch.mm(_floats(a, kind), _floats(b, kind))
    return out


@torch.library.register_fake("lacuna::mm")
def _mm_fake(a, b):
    _check_mm(a, b, 2)
    return a.new_empty((a.shape[0], b.shape[1]), dtype=_result_type(a, b))


@torch.library.impl("lacuna::bmm", "CompositeExplicitAutograd")
def _bmm(a, b):
    _check_mm(a, b, 3)
    if not _ours("bmm", a, b):
        return torch.bmm(a, b)
    out = a.new_empty((a.shape[0], a.shape[1], b.shape[2]))
    if out.numel():
        a, b, context = _apart(a), _apart(b), context_of(a.device)
        with context.lock:
            library.lac_gemm_batched(context.pointer, a.shape[0], None, _obj(a[0]), a.stride(0), _obj(b[0]), b.stride(0), None,
                                     _obj(out[0]), out.stride(0))
    return out


@torch.library.register_fake("lacuna::bmm")
def _bmm_fake(a, b):
    _check_mm(a, b, 3)
    return a.new_empty((a.shape[0], a.shape[1], b.shape[2]))


def _check_linear(input, weight, bias):
    if input.dim() < 1 or weight.dim() != 2 or input.shape[-1] != weight.shape[1]:
        raise ValueError(f"input, weight: shapes {tuple(input.shape)} and {tuple(weight.shape)} do not fit")
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise ValueError(f"bias: has shape {tuple(bias.shape)}; expected {(weight.shape[0],)}")


@torch.library.impl("lacuna::linear", "CompositeExplicitAutograd")
def _linear(input, weight, bias, packed=0):
    _check_linear(input, weight, bias)
    out = None
    if _fits(*((weight,) if bias is None else (weight, bias)), events=(input,)):
        rows = input if input.dim() == 2 else input.reshape(-1, input.shape[-1])
        out = _linear_rows(rows, weight, None if bias is None else bias.contiguous(), packs.get(packed))
    _calls["linear", "torch" if out is None else "lacuna"] += 1
    if out is None:
        return torch.nn.functional.linear(_floats(input, weight.dtype), weight, bias)
    return out if input.dim() == 2 else out.view(*input.shape[:-1], weight.shape[0])


def _linear_rows(rows, weight, bias, pack):
    """rows @ weight.T + bias; None where PyTorch is to compute it."""
    if pack is None:
        return _product(rows, weight, bias, None, TRANS)[0]
    out, pack.skipped = _product(rows, weight, bias, pack.operand_of(weight), TRANS, pack.hint(rows))
    return out


@torch.library.register_fake("lacuna::linear")
def _linear_fake(input, weight, bias, packed=0):
    _check_linear(input, weight, bias)
    return weight.new_empty((*input.shape[:-1], weight.shape[0]))


packs = {}  # by number: what keeps a weight's packed copy (_modules.py)

# Sparse products ------------------------------------------------------------------------------------------
#
# A sparse matrix of m rows is (indptr [m + 1], indices [nnz], values [nnz], columns), as of a CSR tensor.

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


# Gradients: each is made of these operators again, so that there are gradients of any order ---------------

_op = torch.ops.lacuna


def _keep(*places):
    """A setup_context that saves the tensors in these places."""
    def setup(ctx, inputs, output):
        ctx.save_for_backward(*(inputs[i] for i in places))
    return setup


def _mm_backward(ctx, grad):
    (a, b), (need_a, need_b) = ctx.saved_tensors, ctx.needs_input_grad
    return (_op.mm(grad, b.t()) if need_a else None), (_op.mm(a.t(), grad) if need_b else None)


def _bmm_backward(ctx, grad):
    (a, b), (need_a, need_b) = ctx.saved_tensors, ctx.needs_input_grad
    return (_op.bmm(grad, b.mT) if need_a else None), (_op.bmm(a.mT, grad) if need_b else None)


def _linear_backward(ctx, grad):
    (input, weight), need = ctx.saved_tensors, ctx.needs_input_grad
    rows = grad.reshape(-1, weight.shape[0])
    mm = _op.mm if input.dtype == torch.bool or input.numel() * weight.shape[0] >= SMALL else torch.mm
    to_input = mm(rows, weight).reshape(input.shape) if need[0] else None
    to_weight = mm(rows.t(), input.reshape(-1, input.shape[-1])) if need[1] else None
    return to_input, to_weight, (rows.sum(0) if need[2] else None), None


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


for _name, _backward, _setup in (("mm", _mm_backward, _keep(0, 1)), ("bmm", _bmm_backward, _keep(0, 1)),
                                 ("linear", _linear_backward, _keep(0, 1)), ("spmm", _spmm_backward, _spmm_setup),
                                 ("sddmm", _sddmm_backward, _keep(0, 1, 2, 3)), ("slice_rows", _slice_backward, _slice_setup),
                                 ("slice_rows_grad", _slice_grad_backward, _slice_grad_setup)):
    torch.library.register_autograd(f"lacuna::{_name}", _backward, setup_context=_setup)


# vmap ---------------------------------------------------------------------------------------------------

def _first(x, dim):
    return x if dim is None else x.movedim(dim, 0)


def _mm_vmap(info, dims, a, b):
    a, b = _first(a, dims[0]), _first(b, dims[1])
    if dims[1] is None:  # the rows of all a are one product
        return _op.mm(a.reshape(-1, a.shape[-1]), b).reshape(*a.shape[:-1], b.shape[-1]), 0
    if dims[0] is None:
        wide = b.permute(1, 0, 2).reshape(b.shape[1], -1)
        return _op.mm(a, wide).reshape(a.shape[0], b.shape[0], b.shape[2]), 1
    return _op.bmm(a, b), 0


def _linear_vmap(info, dims, input, weight, bias, packed=0):
    if dims[1] is None and (bias is None or dims[2] is None):
        return _op.linear(_first(input, dims[0]), weight, bias, packed), 0
    return _each(_op.linear, info, dims, (input, weight, bias, packed))


def _each(operator, info, dims, inputs):
    """One call for each member."""
    outputs = [operator(*(x if dim is None else x.select(dim, i) for x, dim in zip(inputs, dims))) for i in range(info.batch_size)]
    return torch.stack(outputs), 0


def _by_member(name):
    def vmap(info, dims, *inputs):
        return _each(getattr(_op, name), info, dims, inputs)
    return vmap


if hasattr(torch.library, "register_vmap"):
    torch.library.register_vmap("lacuna::mm", _mm_vmap)
    torch.library.register_vmap("lacuna::linear", _linear_vmap)
    for _name in ("bmm", "spmm", "sddmm", "slice_rows", "slice_rows_grad"):
        torch.library.register_vmap(f"lacuna::{_name}", _by_member(_name))


# What users call ----------------------------------------------------------------------------------------

def mm(a, b):
    """a @ b of two matrices, leaving out what is zero in either; bool tensors are events."""
    return _op.mm(a, b)


def bmm(a, b):
    """The product of each matrix of a with that of b."""
    return _op.bmm(a, b)


def linear(input, weight, bias=None):
    """input @ weight.T + bias, as torch.nn.functional.linear; a bool input is events."""
    return _op.linear(input, weight, bias)


def _csr(name, a):
    if not isinstance(a, torch.Tensor) or a.layout != torch.sparse_csr or a.dim() != 2:
        raise TypeError(f"{name}: expected a 2-D tensor of layout torch.sparse_csr")
    return a.crow_indices(), a.col_indices()


def spmm(a, b, values=None):
    """a @ b of a sparse CSR tensor and a matrix. values: in place of a's own, where gradients are to reach them."""
    return _op.spmm(*_csr("a", a), a.values() if values is None else values, a.shape[1], b)


def sddmm(a, b, pattern):
    """(a @ b) at the entries of a sparse CSR tensor, in their order."""
    return _op.sddmm(*_csr("pattern", pattern), a, b)


def slice_rows(a, rows, values=None):
    """a[rows] of a sparse CSR tensor, dense. values: in place of a's own, where gradients are to reach them."""
    return _op.slice_rows(*_csr("a", a), a.values() if values is None else values, a.shape[1], rows)

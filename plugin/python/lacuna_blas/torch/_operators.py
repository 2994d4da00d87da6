# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators of PyTorch, lacuna::*, with gradients of any order, fake tensors and vmap.

A call in eager mode does not go through PyTorch's dispatcher, which takes longer than the rest of it; compiled, transformed and traced ones
do. The kernels hand addresses to the C library. Types and devices that it does not have are handed to PyTorch's own
operators, openly: calls() counts both. So are, on the CPU, products that are best dense: another BLAS would bring threads
that compete with PyTorch's. On a device both have cuBLAS, and the library decides by the times of both."""
import collections
import ctypes
import os
import threading

import torch

if not hasattr(torch.library, "register_autograd"):
    raise ImportError(f"lacuna_blas.torch needs PyTorch 2.4 or newer; this is {torch.__version__}")

from .._context import Context
from torch.autograd import forward_ad

from .._library import (DEVICE, F32, HOST, I32, I64, NO_TRANS, TRANS, U8, CallOpts, DecisionStruct, Epilogue, Obj, OutOfMemoryError,
                        SliceOpts, library, library_path, without_check)
from .._operand import Operand

# Multiply-adds below which a layer's product is left to PyTorch: the call itself would cost more than zeros give. On an H200 (2026-11-23) PyTorch's
# own takes no longer than its launch below the second.
SMALL, SMALL_ON_DEVICE = 1 << 22, 1 << 28
# A trained layer on a device: a step cost 410 us more of the host's time, whatever its product gained there (H200, 128 x 2048 x 2048, 2026-11-23).
TRAINED_ON_DEVICE = 1 << 32

_calls = collections.Counter()
_linears = [0]  # calls of linear by the compiled operator: a Counter takes longer
_streams = threading.local()
_ELEMENTS = {torch.float32: F32, torch.bool: U8}
_plain_linear = torch.nn.functional.linear


def calls():
    """How many calls of each operator Lacuna computed, and how many PyTorch: {(operator, "lacuna" or "torch"): count}."""
    counts = dict(_calls)
    if _linears[0]:
        counts["linear", "lacuna"] = counts.get(("linear", "lacuna"), 0) + _linears[0]
    return counts


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
        torch.cuda.current_blas_handle()  # PyTorch's own, which a capture could not make where it needs it
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
    return (None, False) if options.declined else (out, _gains(decision))


def _gains(decision):
    """True where the route skips zeros, or is a dense one of our own that was found faster than cuBLAS."""
    return decision.side != b"" or decision.route in (b"stream", b"tiles")


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


def _mm(a, b):
    _check_mm(a, b, 2)
    out = _product(a, b)[0] if _fits(events=(a, b)) else None
    _calls["mm", "torch" if out is None else "lacuna"] += 1
    if out is None:
        kind = _result_type(a, b)
        return torch.mm(_floats(a, kind), _floats(b, kind))
    return out


torch.library.impl("lacuna::mm", "CompositeExplicitAutograd", _mm)


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


torch.library.impl("lacuna::linear", "CompositeExplicitAutograd", _linear)


@torch.library.register_fake("lacuna::linear")
def _linear_fake(input, weight, bias, packed=0):
    _check_linear(input, weight, bias)
    return weight.new_empty((*input.shape[:-1], weight.shape[0]))


packs = {}  # by number: what keeps a weight's packed copy (_modules.py)

# The same in eager mode, without the dispatcher ------------------------------------------------------------

_gemm_ex, _gemm_epilogue = (without_check(name) for name in ("lac_gemm_ex", "lac_gemm_epilogue"))
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_stacked = torch._C._len_torch_dispatch_stack
_transformed = getattr(torch._C._functorch, "peek_interpreter_stack", lambda: None)
_compiling, _tracing, _graded = torch.compiler.is_compiling, torch._C._get_tracing_state, torch.is_grad_enabled
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


def eager(input, weight):
    """True where nothing watches the call: no compiler, transform, mode, subclass or forward-mode derivative."""
    return not (_compiling() or type(input) not in _PLAIN or type(weight) not in _PLAIN or _stacked() or _transformed() is not None
                or forward_ad._current_level >= 0 or _tracing() is not None)


class _Site:
    """One shape's views, options and context: a call fills in the addresses."""

    def __init__(self, input, weight, bias, device):
        columns, self.shape = input.shape[-1], (*input.shape[:-1], weight.shape[0])
        rows, outputs = input.numel() // max(columns, 1), weight.shape[0]
        space = HOST if device < 0 else DEVICE
        self.context = context_of(input.device)
        self.a = Obj(_ELEMENTS[input.dtype], space, NO_TRANS, rows, columns, columns, 1)
        self.b = Obj(F32, space, TRANS, outputs, columns, columns, 1)
        self.c = Obj(F32, space, NO_TRANS, rows, outputs, outputs, 1)
        self.options, self.decision = _asked()
        self.epilogue = None if bias is None else Epilogue(size=ctypes.sizeof(Epilogue))
        views = (self.context.pointer, None, ctypes.byref(self.a), ctypes.byref(self.b), None, ctypes.byref(self.c))
        self.arguments = (*views, *(() if bias is None else (ctypes.byref(self.epilogue),)), ctypes.byref(self.options))
        self.call = _gemm_ex if bias is None else _gemm_epilogue


class _Call(ctypes.Structure):
    """lacuna_torch_call_t of plugin/torch/stable_linear.c"""
    _fields_ = [("ctx", ctypes.c_void_p), ("known", ctypes.c_void_p), ("scanned", ctypes.c_void_p),
                ("may_decline", ctypes.c_int32), ("outcome", ctypes.c_int32), ("side", ctypes.c_char_p), ("route", ctypes.c_char_p)]


def _load_compiled():
    """lacuna::_linear, compiled against PyTorch's stable ABI; or why it is not there: then calls go through ctypes."""
    beside = os.path.dirname(os.path.realpath(library_path()))
    try:
        define = ctypes.c_void_p.in_dll(ctypes.CDLL(os.path.join(beside, "liblacuna_torch.so")), "lacuna_torch_define")
    except (OSError, ValueError) as error:
        return None, str(error)
    missing = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_char_p)(define.value)(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so").encode())
    if missing:
        return None, f"this PyTorch's stable ABI: {missing.decode()}"
    return torch.ops.lacuna._linear.default, None


_compiled, _why_not = _load_compiled()
_NOTHING = torch.empty(0)


def binding():
    """How calls of linear reach the library: "stable ABI", or "ctypes" and why."""
    return "stable ABI" if _compiled else f"ctypes: {_why_not}"


def _make_call(key, input):
    """This thread's _Call for a device and PyTorch's current stream there, and its address: for weights without a packed copy, and for those
    with one. None where a capture has begun on a new stream."""
    if input.is_cuda and torch.cuda.is_current_stream_capturing():
        return None
    if not hasattr(_streams, "calls"):
        _streams.calls = {}
    context = context_of(input.device)
    plain, packed = (_Call(ctx=context.pointer, may_decline=not input.is_cuda) for _ in range(2))
    found = _streams.calls[key] = plain, ctypes.addressof(plain), packed, ctypes.addressof(packed), context
    return found


def _this_call(input):
    """What _make_call made for this thread, device and stream."""
    key = input.get_device()
    if key >= 0:
        key = key, _raw_stream(key)
    try:
        return _streams.calls[key]
    except (AttributeError, KeyError):
        return _make_call(key, input)


def _linear_compiled(input, weight, bias, pack):
    """linear_now by the compiled operator, which looks at types, places and shapes itself."""
    found = _this_call(input)
    if found is None:
        return None
    if pack is None:
        call = found[0]
        out = _compiled(input, weight, _NOTHING if bias is None else bias, found[1])
    else:
        call, known = found[2], pack.operand_of(weight)
        call.known = known and known._meta.pointer
        hint = pack.hint(input) if pack.streak >= 2 else None
        call.scanned = hint and hint._meta.pointer
        out = _compiled(input, weight, _NOTHING if bias is None else bias, found[3])
        pack.skipped = not call.outcome and _gains(call)
    outcome = call.outcome
    if not outcome:
        _linears[0] += 1
        return out
    if outcome < 0:
        return None
    _calls["linear", "torch"] += 1
    return _plain_linear(_floats(input, torch.float32), weight, bias)


def linear_now(input, weight, bias, pack):
    """linear in eager mode and without gradients; None where it is not for this way: then the operator serves."""
    if _compiled:
        return _linear_compiled(input, weight, bias, pack)
    device = input.get_device()
    if weight.dtype is not torch.float32 or input.dtype not in _ELEMENTS or weight.get_device() != device or not (
            input.is_contiguous() and weight.is_contiguous()) or input.shape[-1] != weight.shape[-1] or weight.dim() != 2 or input.is_neg():
        return None
    if bias is not None and (bias.dtype is not torch.float32 or bias.get_device() != device or bias.shape != weight.shape[:1]
                             or not bias.is_contiguous()):
        return None
    if device < 0 and input.device.type != "cpu":
        return None
    sites = _streams.__dict__.setdefault("sites", {})
    key = (input.shape, weight.shape[0], bias is None, input.dtype, device, 0 if device < 0 else _raw_stream(device))
    site = sites.get(key)
    if site is None:
        if device >= 0 and torch.cuda.is_current_stream_capturing():
            return None
        if len(sites) >= 256:
            sites.clear()
        site = sites[key] = _Site(input, weight, bias, device)
    return _run(site, input, weight, bias, pack)


def _run(site, input, weight, bias, pack):
    known = hint = None
    if pack is not None:
        known, hint = pack.operand_of(weight), pack.hint(input) if pack.streak >= 2 else None
    out = weight.new_empty(site.shape)
    with site.context.lock:
        site.a.buf, site.b.buf, site.c.buf = input.data_ptr(), weight.data_ptr(), out.data_ptr()
        site.a.meta, site.b.meta = hint and hint._meta.pointer, known and known._meta.pointer
        if bias is not None:
            site.epilogue.bias = bias.data_ptr()
        site.options.may_decline, site.options.declined = site.a.space == HOST, 0
        status = site.call(*site.arguments)
        declined = site.options.declined
    if status:
        return None  # the operator says why
    if pack is not None:
        pack.skipped = not declined and _gains(site.decision)
    _calls["linear", "torch" if declined else "lacuna"] += 1
    return torch.nn.functional.linear(_floats(input, torch.float32), weight, bias) if declined else out


class Linear(torch.autograd.Function):
    """linear_now with its gradients; those of the gradients come from the operators."""

    @staticmethod
    def forward(ctx, input, weight, bias, number):
        ctx.save_for_backward(input, weight)
        out = linear_now(input, weight, bias, packs.get(number))
        return _linear(input, weight, bias, number) if out is None else out

    @staticmethod
    def backward(ctx, grad):
        return _linear_backward(ctx, grad)


def linear_eager(input, weight, bias, number):
    """lacuna::linear by the shortest way."""
    if not eager(input, weight):
        if _forward_mode("linear", input, weight):
            return _plain_linear(_floats(input, weight.dtype), weight, bias)
        return _op.linear(input, weight, bias, number)
    if _graded() and (input.requires_grad or weight.requires_grad or (bias is not None and bias.requires_grad)):
        return Linear.apply(input, weight, bias, number)
    out = (_linear_compiled if _compiled else linear_now)(input, weight, bias, packs.get(number) if number else None)
    return _op.linear(input, weight, bias, number) if out is None else out


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
    small = SMALL_ON_DEVICE if input.is_cuda else SMALL
    mm = torch.mm if input.dtype != torch.bool and input.numel() * weight.shape[0] < small else _mm if not torch.is_grad_enabled() and eager(
        grad, weight) else _op.mm
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

def _forward_mode(operator, *tensors):
    """True where a call has tangents: operators that are registered as ours lose them, so that PyTorch's own serves, or there is an error."""
    if forward_ad._current_level < 0 or all(forward_ad.unpack_dual(x).tangent is None for x in tensors):
        return False
    if operator not in ("mm", "bmm", "linear"):
        raise NotImplementedError(f"lacuna::{operator}: has no forward-mode derivative; use reverse mode")
    _calls[operator, "torch"] += 1
    return True


def mm(a, b):
    """a @ b of two matrices, leaving out what is zero in either; bool tensors are events."""
    if _forward_mode("mm", a, b):
        return torch.mm(_floats(a, _result_type(a, b)), _floats(b, _result_type(a, b)))
    return _op.mm(a, b)


def bmm(a, b):
    """The product of each matrix of a with that of b."""
    return torch.bmm(a, b) if _forward_mode("bmm", a, b) else _op.bmm(a, b)


def linear(input, weight, bias=None):
    """input @ weight.T + bias, as torch.nn.functional.linear; a bool input is events."""
    if input.numel() * weight.size(0) < (SMALL_ON_DEVICE if input.is_cuda else SMALL) and input.dtype is not torch.bool:
        _calls["linear", "torch"] += 1
        return _plain_linear(input, weight, bias)
    if _compiled and eager(input, weight) and not (_graded() and (input.requires_grad or weight.requires_grad or (
            bias is not None and bias.requires_grad))):
        found = _this_call(input)  # linear_eager without a packed copy, in one piece: this is what a call costs
        if found is not None:
            out = _compiled(input, weight, _NOTHING if bias is None else bias, found[1])
            outcome = found[0].outcome
            if not outcome:
                _linears[0] += 1
                return out
            if outcome > 0:
                _calls["linear", "torch"] += 1
                return _plain_linear(_floats(input, torch.float32), weight, bias)
    return linear_eager(input, weight, bias, 0)


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

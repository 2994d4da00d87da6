# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Dense products of PyTorch, lacuna::mm, bmm and linear, with gradients of any order, fake tensors and vmap; and linear by the shortest way in
eager mode."""
import ctypes
import os

import torch
from torch.autograd import forward_ad

from .._library import NO_TRANS, TRANS, CallOpts, DecisionStruct, Epilogue, Obj, OutOfMemoryError, library, library_path, without_check
from ._common import (_ELEMENTS, NUMBERS, SPACES, _apart, _calls, _check_mm, _complete, _each, _fits, _forward_mode, _keep, _linears, _obj, _op,
                      _streams, capturing, context_of)

# Multiply-adds below which a layer's product is left to PyTorch: the call itself would cost more than zeros give. On an H200 (2026-11-23) PyTorch's
# own takes no longer than its launch below the second.
SMALL, SMALL_ON_DEVICE = 1 << 22, 1 << 28
# Bytes of a weight from which none is small on a device, whose second cache (50 to 60 MB) does not hold it. PyTorch's product of one row by 172 MiB takes 53 us, ours 27 and as a
# layer some 37, all of the host's; by 86 MiB it takes 26 (H200, 2026-11-25, bench/torch_layer.py).
LARGE_WEIGHT = 128 << 20
# A trained layer on a device: a step cost 410 us more of the host's time, whatever its product gained there (H200, 128 x 2048 x 2048, 2026-11-23).
TRAINED_ON_DEVICE = 1 << 32

_plain_linear = torch.nn.functional.linear
_ONE = ctypes.byref(ctypes.c_float(1))  # a scalar of a product, where it is not the default


def least_products(weight, layer_input=None):
    """Multiply-adds below which a product by this weight is left to PyTorch. layer_input: of a layer, which is trained where one of them has gradients."""
    if not weight.is_cuda:
        return SMALL
    if layer_input is not None and _graded() and (weight.requires_grad or layer_input.requires_grad):
        return max(SMALL_ON_DEVICE, TRAINED_ON_DEVICE)
    return SMALL_ON_DEVICE if weight.numel() * weight.element_size() < LARGE_WEIGHT else 0


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


def _product(kind, a, b, bias=None, known=None, trans_b=NO_TRANS, scanned=None):
    """(a @ b + bias of this type, whether zeros were skipped); None for the product where PyTorch is to compute it. known, scanned: what is
    known of b, and of a, as Metadata."""
    adds = bias is not None and kind is not torch.float32  # no epilogue takes halves: the product is added to the bias, and rounded once with it
    if adds and known is None:
        return None, False  # what zeros would save is less than another launch
    context, out = context_of(a.device), a.new_empty((a.shape[0], b.shape[0] if trans_b else b.shape[1]), dtype=kind)
    first, second, third = _obj(a, scanned and scanned.pointer), _obj(b, known and known.pointer, trans_b), _obj(out)
    options, decision = _asked()
    if adds:
        out.copy_(bias)
    options.may_decline, options.declined = adds or not a.is_cuda, 0
    try:
        with context.lock:
            if bias is None or adds:
                library.lac_gemm_ex(context.pointer, None, first, second, _ONE if adds else None, third, options)
            else:
                epilogue = Epilogue(size=ctypes.sizeof(Epilogue), bias=bias.data_ptr())
                library.lac_gemm_epilogue(context.pointer, None, first, second, None, third, epilogue, options)
    except OutOfMemoryError:
        if not capturing(a):
            raise
        return None, False  # no call was made before on the stream that is captured: nothing can be allocated now
    return (None, False) if _left_to_pytorch(options, decision, adds) else (out, _gains(decision))


def copy_by_k(weight, known):
    """Makes the copy of a frozen weight by which event products gather, kept with what is known of it: by a product without events."""
    context = context_of(weight.device)
    rows, out = weight.detach().new_zeros((1, weight.shape[1])), weight.detach().new_empty((1, weight.shape[0]))
    with context.lock:
        library.lac_gemm_ex(context.pointer, None, _obj(rows), _obj(weight.detach(), known.pointer, TRANS), None, _obj(out),
                            CallOpts(size=ctypes.sizeof(CallOpts), route=b"event"))


def _left_to_pytorch(options, decision, adds):
    """True where PyTorch is to compute it. cuBLAS rounds a product of halves before it adds what was there, as `adds` says, so that of such a trial the time alone is
    of use: PyTorch's own product has the bias in its epilogue."""
    return bool(options.declined) or (adds and decision.route == b"dense")


def _gains(decision):
    """True where the route skips zeros, or is a dense one of our own that was found faster than cuBLAS."""
    return decision.side != b"" or decision.route in (b"stream", b"tiles")


# The operators --------------------------------------------------------------------------------------------

torch.library.define("lacuna::mm", "(Tensor a, Tensor b) -> Tensor")
torch.library.define("lacuna::bmm", "(Tensor a, Tensor b) -> Tensor")
torch.library.define("lacuna::linear", "(Tensor input, Tensor weight, Tensor? bias, int packed=0) -> Tensor")


def _mm(a, b):
    _check_mm(a, b, 2)
    kind = _result_type(a, b)
    out = _product(kind, a, b)[0] if _fits(kind, events=(a, b)) else None
    _calls["mm", "torch" if out is None else "lacuna"] += 1
    if out is None:
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
    kind = _result_type(a, b)
    served = _fits(kind, events=(a, b))
    _calls["bmm", "lacuna" if served else "torch"] += 1
    if not served:
        return torch.bmm(_floats(a, kind), _floats(b, kind))
    out = a.new_empty((a.shape[0], a.shape[1], b.shape[2]), dtype=kind)
    if out.numel():
        a, b, context = _apart(a), _apart(b), context_of(a.device)
        with context.lock:
            library.lac_gemm_batched(context.pointer, a.shape[0], None, _obj(a[0]), a.stride(0), _obj(b[0]), b.stride(0), None,
                                     _obj(out[0]), out.stride(0))
    return out


@torch.library.register_fake("lacuna::bmm")
def _bmm_fake(a, b):
    _check_mm(a, b, 3)
    return a.new_empty((a.shape[0], a.shape[1], b.shape[2]), dtype=_result_type(a, b))


def _check_linear(input, weight, bias):
    if input.dim() < 1 or weight.dim() != 2 or input.shape[-1] != weight.shape[1]:
        raise ValueError(f"input, weight: shapes {tuple(input.shape)} and {tuple(weight.shape)} do not fit")
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise ValueError(f"bias: has shape {tuple(bias.shape)}; expected {(weight.shape[0],)}")


def _linear(input, weight, bias, packed=0):
    _check_linear(input, weight, bias)
    out = None
    if _fits(weight.dtype, *((weight,) if bias is None else (weight, bias)), events=(input,)):
        rows = input if input.dim() == 2 else input.reshape(-1, input.shape[-1])
        out = _linear_rows(rows, weight, None if bias is None else bias.contiguous(), packs.get(packed))
    _calls["linear", "torch" if out is None else "lacuna"] += 1
    if out is None:
        return torch.nn.functional.linear(_floats(input, weight.dtype), weight, bias)
    return out if input.dim() == 2 else out.view(*input.shape[:-1], weight.shape[0])


def _linear_rows(rows, weight, bias, pack):
    """rows @ weight.T + bias; None where PyTorch is to compute it."""
    if pack is None:
        return _product(weight.dtype, rows, weight, bias, None, TRANS)[0]
    out, pack.skipped = _product(weight.dtype, rows, weight, bias, pack.metadata_of(weight), TRANS, pack.hint(rows))
    return out


torch.library.impl("lacuna::linear", "CompositeExplicitAutograd", _linear)


@torch.library.register_fake("lacuna::linear")
def _linear_fake(input, weight, bias, packed=0):
    _check_linear(input, weight, bias)
    return weight.new_empty((*input.shape[:-1], weight.shape[0]))


packs = {}  # by number: what keeps a weight's packed copy (_modules.py)

# The same in eager mode, without the dispatcher ------------------------------------------------------------

_gemm_ex, _gemm_epilogue = (without_check(name) for name in ("lac_gemm_ex", "lac_gemm_epilogue"))
PLAIN = (torch.Tensor, torch.nn.Parameter)
_stacked = torch._C._len_torch_dispatch_stack
_transformed = getattr(torch._C._functorch, "peek_interpreter_stack", lambda: None)
_compiling, _tracing, _graded = torch.compiler.is_compiling, torch._C._get_tracing_state, torch.is_grad_enabled
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


def eager(input, weight):
    """True where nothing watches the call: no compiler, transform, mode, subclass or forward-mode derivative."""
    return not (_compiling() or type(input) not in PLAIN or type(weight) not in PLAIN or _stacked() or _transformed() is not None
                or forward_ad._current_level >= 0 or _tracing() is not None)


class _Site:
    """One shape's views, options and context: a call fills in the addresses."""

    def __init__(self, input, weight, bias, device):
        columns, self.shape = input.shape[-1], (*input.shape[:-1], weight.shape[0])
        rows, outputs = input.numel() // max(columns, 1), weight.shape[0]
        space, element = SPACES[device >= 0], _ELEMENTS[weight.dtype]
        self.context = context_of(input.device)
        self.a = Obj(_ELEMENTS[input.dtype], space, NO_TRANS, rows, columns, columns, 1)
        self.b = Obj(element, space, TRANS, outputs, columns, columns, 1)
        self.c = Obj(element, space, NO_TRANS, rows, outputs, outputs, 1)
        self.options, self.decision = _asked()
        self.adds = bias is not None and weight.dtype is not torch.float32
        self.epilogue = None if bias is None or self.adds else Epilogue(size=ctypes.sizeof(Epilogue))
        views = (self.context.pointer, None, ctypes.byref(self.a), ctypes.byref(self.b), _ONE if self.adds else None, ctypes.byref(self.c))
        self.arguments = (*views, *((ctypes.byref(self.epilogue),) if self.epilogue else ()), ctypes.byref(self.options))
        self.call = _gemm_epilogue if self.epilogue else _gemm_ex


class _Call(ctypes.Structure):
    """lacuna_torch_call_t of plugin/torch/stable_linear.c"""
    _fields_ = [("ctx", ctypes.c_void_p), ("known", ctypes.c_void_p), ("scanned", ctypes.c_void_p),
                ("may_decline", ctypes.c_int32), ("outcome", ctypes.c_int32), ("skipped", ctypes.c_int32)]


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
        call, known = found[2], pack.metadata_of(weight)
        call.known = known and known.pointer
        hint = pack.hint(input) if pack.streak >= 2 else None
        call.scanned = hint and hint.pointer
        out = _compiled(input, weight, _NOTHING if bias is None else bias, found[3])
        pack.skipped = bool(call.skipped)
    outcome = call.outcome
    if not outcome:
        _linears[0] += 1
        return out
    if outcome < 0:
        return None
    _calls["linear", "torch"] += 1
    return _plain_linear(_floats(input, weight.dtype), weight, bias)


def linear_now(input, weight, bias, pack):
    """linear in eager mode and without gradients; None where it is not for this way: then the operator serves."""
    if _compiled:
        return _linear_compiled(input, weight, bias, pack)
    device = input.get_device()
    if weight.dtype not in NUMBERS[device >= 0] or input.dtype not in (weight.dtype, torch.bool) or weight.get_device() != device or not (
            input.is_contiguous() and weight.is_contiguous()) or input.shape[-1] != weight.shape[-1] or weight.dim() != 2 or input.is_neg():
        return None
    if bias is not None and (bias.dtype is not weight.dtype or bias.get_device() != device or bias.shape != weight.shape[:1]
                             or not bias.is_contiguous()):
        return None
    if device < 0 and input.device.type != "cpu":
        return None
    sites = _streams.__dict__.setdefault("sites", {})
    key = (input.shape, weight.shape[0], bias is None, input.dtype, weight.dtype, device, 0 if device < 0 else _raw_stream(device))
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
        known, hint = pack.metadata_of(weight), pack.hint(input) if pack.streak >= 2 else None
    if site.adds and known is None:
        _calls["linear", "torch"] += 1
        return _plain_linear(_floats(input, weight.dtype), weight, bias)
    out = weight.new_empty(site.shape)
    if site.adds:
        out.copy_(bias)
    with site.context.lock:
        site.a.buf, site.b.buf, site.c.buf = input.data_ptr(), weight.data_ptr(), out.data_ptr()
        site.a.meta, site.b.meta = hint and hint.pointer, known and known.pointer
        if site.epilogue:
            site.epilogue.bias = bias.data_ptr()
        site.options.may_decline, site.options.declined = site.adds or not weight.is_cuda, 0
        status = site.call(*site.arguments)
        declined = _left_to_pytorch(site.options, site.decision, site.adds)
    if status:
        return None  # the operator says why
    if pack is not None:
        pack.skipped = not declined and _gains(site.decision)
    _calls["linear", "torch" if declined else "lacuna"] += 1
    return _plain_linear(_floats(input, weight.dtype), weight, bias) if declined else out


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
    return linear_plain(input, weight, bias, packs.get(number) if number else None)


def linear_plain(input, weight, bias, pack):
    """The same where nothing watches the call and no gradients are wanted."""
    out = (_linear_compiled if _compiled else linear_now)(input, weight, bias, pack)
    return _op.linear(input, weight, bias, pack.number if pack else 0) if out is None else out


# Gradients and vmap ---------------------------------------------------------------------------------------

def _mm_backward(ctx, grad):
    (a, b), (need_a, need_b) = ctx.saved_tensors, ctx.needs_input_grad
    return (_op.mm(grad, b.t()) if need_a else None), (_op.mm(a.t(), grad) if need_b else None)


def _bmm_backward(ctx, grad):
    (a, b), (need_a, need_b) = ctx.saved_tensors, ctx.needs_input_grad
    return (_op.bmm(grad, b.mT) if need_a else None), (_op.bmm(a.mT, grad) if need_b else None)


def gradient_mm(a, b):
    """a @ b in a backward pass, by the shortest way: small ones of numbers are PyTorch's, and where no further gradients are wanted no operator is dispatched."""
    if a.numel() * b.shape[1] < least_products(b) and torch.bool not in (a.dtype, b.dtype):
        return torch.mm(a, b)
    return (_op.mm if torch.is_grad_enabled() or not eager(a, b) else _mm)(a, b)


def _linear_backward(ctx, grad):
    (input, weight), need = ctx.saved_tensors, ctx.needs_input_grad
    rows = grad.reshape(-1, weight.shape[0])
    to_input = gradient_mm(rows, weight).reshape(input.shape) if need[0] else None
    to_weight = gradient_mm(rows.t(), input.reshape(-1, input.shape[-1])) if need[1] else None
    return to_input, to_weight, (rows.sum(0) if need[2] else None), None


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


_complete("mm", _mm_backward, _keep(0, 1), _mm_vmap)
_complete("bmm", _bmm_backward, _keep(0, 1))
_complete("linear", _linear_backward, _keep(0, 1), _linear_vmap)


# What users call ------------------------------------------------------------------------------------------

def mm(a, b):
    """a @ b of two matrices, leaving out what is zero in either; bool tensors are events."""
    if _forward_mode("mm", a, b):
        return torch.mm(_floats(a, _result_type(a, b)), _floats(b, _result_type(a, b)))
    return _op.mm(a, b)


def bmm(a, b):
    """The product of each matrix of a with that of b; bool tensors are events."""
    if _forward_mode("bmm", a, b):
        return torch.bmm(_floats(a, _result_type(a, b)), _floats(b, _result_type(a, b)))
    return _op.bmm(a, b)


def linear(input, weight, bias=None):
    """input @ weight.T + bias, as torch.nn.functional.linear; a bool input is events."""
    if input.numel() * weight.size(0) < least_products(weight) and input.dtype is not torch.bool:
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
                return _plain_linear(_floats(input, weight.dtype), weight, bias)
    return linear_eager(input, weight, bias, 0)

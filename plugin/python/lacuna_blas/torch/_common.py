# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""What all operators of PyTorch share: who computed their calls, each thread's contexts, views of tensors, and how an operator gets its
gradients and its vmap.

A call in eager mode does not go through PyTorch's dispatcher, which takes longer than the rest of it; compiled, transformed and traced ones
do. The kernels hand addresses to the C library. Types and devices that it does not have are handed to PyTorch's own
operators, openly: calls() counts both. So are, on the CPU, products that are best dense: another BLAS would bring threads
that compete with PyTorch's. On a device both have cuBLAS, and the library decides by the times of both."""
import collections
import threading

import torch

if not hasattr(torch.library, "register_autograd"):
    raise ImportError(f"lacuna_blas.torch needs PyTorch 2.4 or newer; this is {torch.__version__}")

from torch.autograd import forward_ad

from .._context import Context
from .._library import BF16, DEVICE, F16, F32, HOST, NO_TRANS, U8, Obj

_stream_captured = getattr(torch._C, "_cuda_isCurrentStreamCapturing", torch.cuda.is_current_stream_capturing)  # without a second call in Python
_calls = collections.Counter()
_linears = [0]  # calls of linear by the compiled operator: a Counter takes longer
_streams = threading.local()
_ELEMENTS = {torch.float32: F32, torch.float16: F16, torch.bfloat16: BF16, torch.bool: U8}
HALVES = (torch.float16, torch.bfloat16)
# By is_cuda: the numbers that the library multiplies there, and where it looks for them.
NUMBERS, SPACES = {False: (torch.float32,), True: (torch.float32, *HALVES)}, {False: HOST, True: DEVICE}


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
    return x.is_cuda and _stream_captured()


def _fits(kind, *numbers, events=()):
    """True where the library multiplies numbers of this type, which all of them have (events may be bool), on their device."""
    device = (numbers or events)[0].device
    served = (device.type == "cpu" or device.type == "cuda") and kind in NUMBERS[device.type == "cuda"]
    for x in numbers:
        served = served and x.dtype is kind and x.device == device and x.layout == torch.strided
    for x in events:
        served = served and (x.dtype is kind or x.dtype is torch.bool) and x.device == device and x.layout == torch.strided
    return served


def _ours(operator, *numbers):
    """The same of an operator that the library has in float32 alone, and counts the call."""
    served = _fits(torch.float32, *numbers)
    _calls[operator, "lacuna" if served else "torch"] += 1
    return served


def _apart(x):
    """x, or a copy of it where elements of its matrices share memory (expanded and unfolded tensors), which have no view. Halves are copied, too,
    where neither their rows nor their columns are contiguous: the library does that for float32 alone."""
    (m, n), (rs, cs) = x.shape[-2:], x.stride()[-2:]
    short, long = ((m, rs), (n, cs)) if rs < cs else ((n, cs), (m, rs))
    meet = long[0] > 1 and (long[1] == 0 or (short[0] > 1 and (short[0] - 1) * short[1] >= long[1]))
    loose = x.dtype in HALVES and short[1] != 1 and m > 1 and n > 1
    return x.clone(memory_format=torch.contiguous_format) if meet or loose or (short[0] > 1 and short[1] == 0) or x.is_neg() else x


def _obj(x, meta=None, trans=NO_TRANS):
    """The view of a 2-D tensor."""
    if not x.is_contiguous() or x.is_neg():
        x = _apart(x)
    view = Obj(_ELEMENTS[x.dtype], SPACES[x.is_cuda], trans, *x.shape, *x.stride(), x.data_ptr(), meta)
    view.owner = x  # until the call is made
    return view


def _check_mm(a, b, dimensions):
    for name, x in (("a", a), ("b", b)):
        if x.dim() != dimensions:
            raise ValueError(f"{name}: has {x.dim()} dimensions; expected {dimensions}")
    if a.shape[-1] != b.shape[-2] or a.shape[:-2] != b.shape[:-2]:
        raise ValueError(f"a, b: shapes {tuple(a.shape)} and {tuple(b.shape)} do not fit")


def _forward_mode(operator, *tensors):
    """True where a call has tangents: operators that are registered as ours lose them, so that PyTorch's own serves, or there is an error."""
    if forward_ad._current_level < 0 or all(forward_ad.unpack_dual(x).tangent is None for x in tensors):
        return False
    if operator not in ("mm", "bmm", "linear"):
        raise NotImplementedError(f"lacuna::{operator}: has no forward-mode derivative; use reverse mode")
    _calls[operator, "torch"] += 1
    return True


# Gradients are made of these operators again, so that there are gradients of any order ---------------------

_op = torch.ops.lacuna


def _keep(*places):
    """A setup_context that saves the tensors in these places."""
    def setup(ctx, inputs, output):
        ctx.save_for_backward(*(inputs[i] for i in places))
    return setup


def _each(operator, info, dims, inputs):
    """One call for each member."""
    outputs = [operator(*(x if dim is None else x.select(dim, i) for x, dim in zip(inputs, dims))) for i in range(info.batch_size)]
    return torch.stack(outputs), 0


def _by_member(name):
    def vmap(info, dims, *inputs):
        return _each(getattr(_op, name), info, dims, inputs)
    return vmap


def _complete(name, backward, setup, vmap=None):
    """Registers an operator's gradients and its vmap; without one of its own, a call for each member."""
    torch.library.register_autograd(f"lacuna::{name}", backward, setup_context=setup)
    if hasattr(torch.library, "register_vmap"):
        torch.library.register_vmap(f"lacuna::{name}", vmap or _by_member(name))

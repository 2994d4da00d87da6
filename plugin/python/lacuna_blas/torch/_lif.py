# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""A step of leaky integrate-and-fire neurons as an operator of PyTorch, lacuna::lif_step, with surrogate gradients of any order, fake tensors and
vmap.

The synapses of q kinds are lists of as many events [m, k] and weights. A weight is [k, n]; or [nnz], the values of compressed rows, whose indptr and
indices stand in its place of their lists and are empty otherwise. State is v [m, n], wait [m, n] or None, and g [q, m, n]."""
import ctypes
import math
import typing

import torch

from .._library import LIF_INPUTS_MAX, Lif, LifInput, library
from .._lif import LIFInput
from ._common import _calls, _complete, _fits, _forward_mode, _obj, _op, context_of
from ._operators import PLAIN, eager, gradient_mm, least_products
from ._sparse import _sparse

# The derivative of a spike by x = v - v_threshold; k: the slope. They are those of SuperSpike (Zenke and Ganguli 2018), snnTorch and SpikingJelly.
SURROGATES = {"fast_sigmoid": lambda x, k: (k * x.abs() + 1) ** -2, "atan": lambda x, k: k / 2 / (1 + (math.pi / 2 * k * x) ** 2),
              "sigmoid": lambda x, k: k * torch.sigmoid(k * x) * torch.sigmoid(-k * x)}
_TINY = 1e-30  # where g is flushed to 0

torch.library.define(
    "lacuna::lif_step",
    "(Tensor v, Tensor? wait, Tensor g, Tensor[] events, Tensor[] weights, Tensor[] indptr, Tensor[] indices, Tensor? current, float[] weight, "
    "float[] decay, bool[] conductance, float[] reversal, float dt, float tau, float v_rest, float v_threshold, float v_reset, int refractory, "
    "bool binary, str surrogate, float slope) -> (Tensor v, Tensor wait, Tensor g, Tensor spikes)")


class _Neurons(typing.NamedTuple):
    """The arguments behind the tensors, in their order."""
    weight: list
    decay: list
    conductance: list
    reversal: list
    dt: float
    tau: float
    v_rest: float
    v_threshold: float
    v_reset: float
    refractory: int
    binary: bool
    surrogate: str
    slope: float


def _check(v, wait, g, events, weights, indptr, indices, current, neurons):
    def shaped(name, x, shape):
        if x.shape != torch.Size(shape):
            raise ValueError(f"{name}: has shape {tuple(x.shape)}; expected {tuple(shape)}")

    if v.dim() != 2:
        raise ValueError(f"v: has {v.dim()} dimensions; expected 2")
    kinds = len(events)
    if kinds > LIF_INPUTS_MAX or {len(x) for x in (weights, indptr, indices, *neurons[:4])} != {kinds}:
        raise ValueError(f"inputs: expected at most {LIF_INPUTS_MAX}, and as many of each list")
    if neurons.surrogate not in SURROGATES:
        raise ValueError(f"surrogate: {neurons.surrogate!r} is not one of {', '.join(SURROGATES)}")
    if not (neurons.dt > 0 and neurons.tau > 0 and neurons.refractory >= 0):
        raise ValueError(f"dt, tau, refractory: are {neurons.dt}, {neurons.tau}, {neurons.refractory}; expected two above 0, and one of 0 or more")
    for state in g:
        shaped("g", state, v.shape)
    if len(g) != kinds:
        raise ValueError(f"g: has {len(g)} states; expected {kinds}")
    if wait is not None:
        shaped("wait", wait, v.shape)
        if wait.dtype != torch.int32:
            raise TypeError(f"wait: has dtype {wait.dtype}; expected int32")
    elif neurons.refractory:
        raise ValueError("wait: is None, and refractory is not 0")
    if current is not None:
        shaped("current", current, v.shape[1:])
    for q, (x, w) in enumerate(zip(events, weights)):
        if x.dim() != 2 or x.shape[0] != v.shape[0]:
            raise ValueError(f"inputs[{q}].events: has shape {tuple(x.shape)}; expected {v.shape[0]} rows")
        if indptr[q].numel():
            shaped(f"inputs[{q}].w: indptr", indptr[q], (x.shape[1] + 1,))
            shaped(f"inputs[{q}].w: values", w, indices[q].shape)
        else:
            shaped(f"inputs[{q}].w", w, (x.shape[1], v.shape[1]))


def _by_library(v, wait, g, events, weights, indptr, indices, current, neurons):
    """The outputs, written in place by the C library over copies of the state."""
    v, g = v.clone(memory_format=torch.contiguous_format), g.clone(memory_format=torch.contiguous_format)
    wait = v.new_empty(0, dtype=torch.int32) if wait is None else wait.clone(memory_format=torch.contiguous_format)
    spikes, received, context = v.new_empty(v.shape, dtype=torch.bool), torch.empty_like(g), context_of(v.device)
    current = None if current is None else current.contiguous()
    views = [_obj(x) for x in events]
    kept = [_sparse(indptr[q], indices[q], w, v.shape[1]) if indptr[q].numel() else _obj(w) for q, w in enumerate(weights)]
    states, sums, step_of = g.data_ptr(), received.data_ptr(), 4 * v.numel()
    structs = (LifInput * max(len(events), 1))(*(
        LifInput(events=views[q], w=w.obj() if indptr[q].numel() else w, weight=neurons.weight[q], decay=neurons.decay[q],
                 conductance=neurons.conductance[q], reversal=neurons.reversal[q], g=states + q * step_of, received=sums + q * step_of)
        for q, w in enumerate(kept)))
    step = Lif(size=ctypes.sizeof(Lif), m=v.shape[0], n=v.shape[1], dt=neurons.dt, tau=neurons.tau, v_rest=neurons.v_rest,
               v_threshold=neurons.v_threshold, v_reset=neurons.v_reset, refractory=neurons.refractory,
               current=None if current is None else current.data_ptr(), v=v.data_ptr(), wait=wait.data_ptr() if neurons.refractory else None,
               spikes=spikes.data_ptr(), inputs=len(events), input=structs)
    with context.lock:
        library.lac_lif_step(context.pointer, ctypes.byref(step))
    return v, wait, g, spikes if neurons.binary else spikes.to(v.dtype)


def _moved(v, g, current, neurons):
    """(G, u, a, v before threshold and reset) of neurons that do not wait, of g after its decay: differentiable. Without conductances G and a are numbers."""
    rate, drive, total = neurons.dt / neurons.tau, neurons.v_rest if current is None else current + neurons.v_rest, 1.0
    for q, conductance in enumerate(neurons.conductance):
        if conductance:
            total, drive = total + g[q], drive + g[q] * neurons.reversal[q]
        else:
            drive = g[q] if isinstance(drive, float) and drive == 0 else drive + g[q]
    if any(neurons.conductance):
        steady, factor = drive / total, torch.exp(-rate * total)
        return total, steady, factor, torch.lerp(steady, v, factor)
    steady, factor = drive if isinstance(drive, torch.Tensor) else torch.full_like(v, drive), math.exp(-rate)
    return total, steady, factor, torch.lerp(steady.expand_as(v), v, factor)


def _stacked(each, like):
    """A tensor [q, m, n] of q matrices."""
    return each[0][None] if len(each) == 1 else torch.stack(each) if each else torch.zeros_like(like)


class _Spike(torch.autograd.Function):
    """x > 0 as a number, with a surrogate's derivative."""

    @staticmethod
    def forward(ctx, x, surrogate, slope):
        ctx.save_for_backward(x)
        ctx.surrogate = surrogate, slope
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        name, slope = ctx.surrogate
        return grad * SURROGATES[name](ctx.saved_tensors[0], slope), None, None


def _by_torch(v, wait, g, events, weights, indptr, indices, current, neurons, differentiable=False):
    """The same by PyTorch's operators, of any type. g: a tensor, or a list of as many; comes back as a list."""
    after_g = []
    for q, (x, w) in enumerate(zip(events, weights)):
        x = x if x.dtype == v.dtype else x.to(v.dtype)
        received = _op.spmm(indptr[q], indices[q], w, v.shape[1], x.t().contiguous(), True).t() if indptr[q].numel() else x @ w
        state = torch.add(received if neurons.weight[q] == 1 else neurons.weight[q] * received, g[q], alpha=neurons.decay[q])
        after_g.append(state if differentiable else torch.where(state.abs() < _TINY, 0, state))
    moved, waits = _moved(v, after_g, current, neurons)[-1], wait > 0 if neurons.refractory else None
    above = moved - neurons.v_threshold
    fired = above > 0 if waits is None else (above > 0) & ~waits
    spikes = fired
    if differentiable and not neurons.binary:
        spikes = _Spike.apply(above, neurons.surrogate, neurons.slope)
        spikes = spikes if waits is None else torch.where(waits, 0, spikes)
    elif not neurons.binary:
        spikes = fired.to(v.dtype)
    after = torch.where(fired, neurons.v_reset, moved if waits is None else torch.where(waits, v, moved))
    if wait is None:
        wait = v.new_empty(0, dtype=torch.int32)
    else:
        wait = torch.where(fired, neurons.refractory, (wait - 1).clamp(min=0)) if neurons.refractory else wait.clone()
    return after, wait, after_g, spikes


def _lif_step(v, wait, g, events, weights, indptr, indices, current, *neurons):
    return _run(v, wait, g, events, weights, indptr, indices, current, _Neurons(*neurons))


def _run(v, wait, g, events, weights, indptr, indices, current, neurons):
    _check(v, wait, g, events, weights, indptr, indices, current, neurons)
    served = _fits(torch.float32, v, g, *weights, *(() if current is None else (current,)), events=tuple(events)) and (wait is None or wait.device == v.device)
    _calls["lif_step", "lacuna" if served else "torch"] += 1
    if served:
        return _by_library(v, wait, g, events, weights, indptr, indices, current, neurons)
    after, waits, after_g, spikes = _by_torch(v, wait, g, events, weights, indptr, indices, current, neurons)
    return after, waits, _stacked(after_g, g), spikes


torch.library.impl("lacuna::lif_step", "CompositeExplicitAutograd", _lif_step)


@torch.library.register_fake("lacuna::lif_step")
def _lif_step_fake(v, wait, g, events, weights, indptr, indices, current, *neurons):
    neurons = _Neurons(*neurons)
    _check(v, wait, g, events, weights, indptr, indices, current, neurons)
    return (v.new_empty(v.shape), v.new_empty(0 if wait is None else wait.shape, dtype=torch.int32), g.new_empty(g.shape),
            v.new_empty(v.shape, dtype=torch.bool if neurons.binary else v.dtype))


# Gradients: a spike's derivative is the surrogate's, and the reset has none ---------------------------------

class _Saved(typing.NamedTuple):
    """What gradients are computed from: state before the step, g and spikes after it, and what a step reads."""
    v: torch.Tensor
    wait: "torch.Tensor | None"
    current: "torch.Tensor | None"
    g: torch.Tensor
    spikes: torch.Tensor
    events: list
    weights: list
    indptr: list
    indices: list

    def flat(self):
        """The tensors alone, for save_for_backward."""
        return [x for x in (*self[:5], *self.events, *self.weights, *self.indptr, *self.indices) if x is not None]

    @classmethod
    def of(cls, tensors, has_wait, has_current):
        tensors = list(tensors)
        first = [tensors.pop(0), tensors.pop(0) if has_wait else None, tensors.pop(0) if has_current else None, tensors.pop(0), tensors.pop(0)]
        kinds = len(tensors) // 4
        return cls(*first, *(tensors[i * kinds:(i + 1) * kinds] for i in range(4)))


def _gradients(saved, neurons, to_v, to_g, to_spikes, need_g, need_events, need_weights, need_current):
    """The gradients to (v, g, events, weights, current) of those to v, g and spikes after the step, any of which may be None: differentiable."""
    v, wait, current, g, spikes = saved[:5]
    kinds = range(len(saved.events))
    total, steady, factor, moved = _moved(v, g, current, neurons)
    free = wait <= 0 if neurons.refractory else None
    to_moved = before = None
    if to_v is not None:
        fired = spikes.detach()
        to_moved = torch.addcmul(to_v, to_v, fired, value=-1) if free is None and not neurons.binary else torch.where(
            fired == 0 if free is None else (fired == 0) & free, to_v, 0)
        before = None if free is None else torch.where(free, 0, to_v)
    if to_spikes is not None and not neurons.binary:
        risen = to_spikes * SURROGATES[neurons.surrogate](moved - neurons.v_threshold, neurons.slope)
        risen = risen if free is None else torch.where(free, risen, 0)
        to_moved = risen if to_moved is None else to_moved + risen
    if to_moved is None:
        to_moved = torch.zeros_like(v)
    to_steady = to_moved * (1 - factor)
    conducts = any(neurons.conductance)
    to_drive = to_steady / total if conducts else to_steady
    to_total = -neurons.dt / neurons.tau * factor * (v - steady) * to_moved - to_drive * steady if conducts else None
    before = to_moved * factor if before is None else before + to_moved * factor
    each = [to_total + to_drive * neurons.reversal[q] if neurons.conductance[q] else to_drive for q in kinds]
    if to_g is not None:
        each = [x + to_g[q] for q, x in enumerate(each)]
    to_received = [x if neurons.weight[q] == 1 else neurons.weight[q] * x for q, x in enumerate(each)]
    return (before, _stacked([neurons.decay[q] * x for q, x in enumerate(each)], g) if need_g else None,
            [_to_events(to_received[q], saved, q) if need_events[q] else None for q in kinds],
            [_to_weight(to_received[q], saved, q) if need_weights[q] else None for q in kinds],
            to_drive.sum(0) if need_current else None)


def _to_events(grad, saved, q):
    w, indptr = saved.weights[q], saved.indptr[q]
    return _op.spmm(indptr, saved.indices[q], w, grad.shape[1], grad.t(), False).t() if indptr.numel() else gradient_mm(grad, w.t())


def _to_weight(grad, saved, q):
    events, indptr = saved.events[q], saved.indptr[q]
    if indptr.numel():
        return _op.sddmm(indptr, saved.indices[q], events.to(grad.dtype).t(), grad)
    return gradient_mm(events.t(), grad)


def _setup(ctx, inputs, output):
    v, wait, _, events, weights, indptr, indices, current, *neurons = inputs
    ctx.neurons, ctx.has = _Neurons(*neurons), (wait is not None, current is not None)
    ctx.save_for_backward(*_Saved(v, wait, current, output[2], output[3], events, weights, indptr, indices).flat())


def _backward(ctx, to_v, _, to_g, to_spikes):
    saved, need = _Saved.of(ctx.saved_tensors, *ctx.has), ctx.needs_input_grad
    before, before_g, to_events, to_weights, to_current = _gradients(saved, ctx.neurons, to_v, to_g, to_spikes, need[2], need[3], need[4], need[7])
    nothing = [None] * len(saved.events)
    return before, None, before_g, to_events, to_weights, nothing, nothing, to_current, *[None] * len(ctx.neurons)


class _Step(torch.autograd.Function):
    """The same in eager mode, without the dispatcher, which takes longer than the rest of a small step."""

    @staticmethod
    def forward(ctx, neurons, v, wait, g, current, *lists):
        kinds = len(lists) // 4
        lists = [list(lists[i * kinds:(i + 1) * kinds]) for i in range(4)]
        after, waits, after_g, spikes = outputs = _run(v, wait, g, *lists, current, neurons)
        ctx.neurons, ctx.has, ctx.kinds = neurons, (wait is not None, current is not None), kinds
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(waits, *((spikes,) if neurons.binary else ()))
        ctx.save_for_backward(*_Saved(v, wait, current, after_g, spikes, *lists).flat())
        return outputs

    @staticmethod
    def backward(ctx, to_v, _, to_g, to_spikes):
        saved, need, kinds = _Saved.of(ctx.saved_tensors, *ctx.has), ctx.needs_input_grad, ctx.kinds
        before, before_g, to_events, to_weights, to_current = _gradients(saved, ctx.neurons, to_v, to_g, to_spikes, need[3], need[5:5 + kinds],
                                                                         need[5 + kinds:5 + 2 * kinds], need[4])
        return None, before, None, before_g, to_current, *to_events, *to_weights, *[None] * (2 * kinds)


def _step(v, wait, g, events, weights, indptr, indices, current, neurons):
    """lacuna::lif_step by the shortest way; g, and g after it, as a list."""
    rest = events, weights, indptr, indices, current
    tensors = (v, *g, *events, *weights, *(() if current is None else (current,)))
    watched = not all(type(x) in PLAIN for x in tensors) or not eager(v, v)
    trained = next((x for x in tensors if x.requires_grad), None) if torch.is_grad_enabled() and not watched else None
    if trained is not None and sum(x.shape[0] * x.shape[1] * v.shape[1] for x in events) < least_products(v, trained):
        _check(v, wait, g, *rest, neurons)  # a backward pass of ours would cost the host more than zeros give
        _calls["lif_step", "torch"] += 1
        return _by_torch(v, wait, g, *rest, neurons, differentiable=True)
    g = _stacked(g, v[None][:0])
    if watched:
        after, waits, after_g, spikes = _op.lif_step(v, wait, g, *rest, *neurons)
    elif trained is None:
        after, waits, after_g, spikes = _run(v, wait, g, *rest, neurons)
    else:
        after, waits, after_g, spikes = _Step.apply(neurons, v, wait, g, current, *events, *weights, *indptr, *indices)
    return after, waits, [after_g[0]] if len(events) == 1 else list(after_g), spikes


# vmap: copies of one network are rows of one call ----------------------------------------------------------

def _vmap(info, dims, v, wait, g, events, weights, indptr, indices, current, *neurons):
    shared = all(dim is None for dims_of in dims[4:7] for dim in dims_of) and dims[7] is None
    batch = info.batch_size

    def member(x, dim, i):
        if isinstance(x, (list, tuple)):
            return [member(each, of, i) for each, of in zip(x, dim)]
        return x if x is None or dim is None else x.select(dim, i)

    if not shared:
        arguments, each_dim = (v, wait, g, events, weights, indptr, indices, current), dims[:8]
        outputs = [_op.lif_step(*(member(x, dim, i) for x, dim in zip(arguments, each_dim)), *neurons) for i in range(batch)]
        return tuple(torch.stack(x) for x in zip(*outputs)), (0, 0, 0, 0)

    def rows(x, dim, at=0):
        """The batch, put before the copies, is one with them."""
        if x is None:
            return None
        x = x.unsqueeze(at).expand(*x.shape[:at], batch, *x.shape[at:]) if dim is None else x.movedim(dim, at)
        return x.flatten(at, at + 1)

    after, waits, state, spikes = _op.lif_step(rows(v, dims[0]), rows(wait, dims[1]), rows(g, dims[2], 1), [rows(x, dim) for x, dim in zip(events, dims[3])],
                                               weights, indptr, indices, current, *neurons)
    copies = spikes.shape[0] // batch if batch else 0
    apart = (batch, copies, spikes.shape[1])
    waits = waits.view(apart) if wait is not None else waits.expand(batch, 0)
    return (after.view(apart), waits, state.view(state.shape[0], *apart), spikes.view(apart)), (0, 0, 1, 0)


_complete("lif_step", _backward, _setup, _vmap)


# What users call ------------------------------------------------------------------------------------------

class LIFState(typing.NamedTuple):
    """What a step leaves: spikes, and the state for the next one."""
    spikes: torch.Tensor
    v: torch.Tensor
    wait: "torch.Tensor | None"
    g: "list[torch.Tensor]"


def _weight(w, empty):
    """(weights, indptr, indices) of an input's w."""
    pattern, values = w if isinstance(w, tuple) else (w, None)
    if pattern.layout != torch.sparse_csr:
        return pattern, empty, empty
    return (pattern.values() if values is None else values), pattern.crow_indices(), pattern.col_indices()


def lif_step(v, inputs=(), *, dt, tau, v_rest=0.0, v_threshold=1.0, v_reset=0.0, refractory=0, wait=None, current=None, binary=False,
             surrogate="fast_sigmoid", slope=25.0):
    """One time step of leaky integrate-and-fire neurons, as lacuna_blas.LIFStep makes it, of tensors that stay as they are: returns
    LIFState(spikes, v, wait, g).

    v: [n] or [m, n]. inputs: lacuna_blas.LIFInputs of tensors, whose w is [k, n], or a sparse CSR tensor, or such a tensor and the values in place of its own; an
    input's g is of v's shape. wait: int32 of v's shape; None: zeros, where refractory is not 0. spikes are of v's type, with gradients, or with binary=True bool, without. Gradients reach v, g, events, w and
    current; that of a spike is the surrogate's, "fast_sigmoid": 1 / (1 + slope |x|)^2, "atan" or "sigmoid", of x = v - v_threshold; the reset has none. float32 is
    computed by Lacuna, other types by PyTorch's operators."""
    flat = v.dim() == 1

    def matrix(x):
        return x[None] if flat and x is not None and x.dim() == 1 else x

    _forward_mode("lif_step", v, *(each.events for each in inputs))
    if wait is None and refractory:
        wait = torch.zeros(v.shape, dtype=torch.int32, device=v.device)
    empty = v.new_empty(0, dtype=torch.int64)
    weights, indptr, indices = zip(*(_weight(x.w, empty) for x in inputs)) if inputs else ((), (), ())
    neurons = _Neurons([float(x.weight) for x in inputs], [float(x.decay) for x in inputs], [bool(x.conductance) for x in inputs],
                       [float(x.reversal) for x in inputs], dt, tau, v_rest, v_threshold, v_reset, refractory, binary, surrogate, slope)
    after, waits, state, spikes = _step(matrix(v), matrix(wait), [matrix(x.g) for x in inputs], [matrix(x.events) for x in inputs], list(weights), list(indptr),
                                        list(indices), current, neurons)
    if flat:
        spikes, after, state, waits = spikes[0], after[0], [x[0] for x in state], waits[0] if wait is not None else waits
    return LIFState(spikes, after, None if wait is None else waits, state)

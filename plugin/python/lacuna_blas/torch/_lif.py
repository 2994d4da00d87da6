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
from ._sparse import _sparse

# The derivative of a spike by x = v - v_threshold; k: the slope. They are those of SuperSpike (Zenke and Ganguli 2018), snnTorch and SpikingJelly.
SURROGATES = {"fast_sigmoid": lambda x, k: 1 / (1 + k * x.abs()) ** 2, "atan": lambda x, k: k / 2 / (1 + (math.pi / 2 * k * x) ** 2),
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
    shaped("g", g, (kinds, *v.shape))
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
    structs = (LifInput * max(len(events), 1))(*(
        LifInput(events=views[q], w=w if indptr[q].numel() == 0 else w.obj(), weight=neurons.weight[q], decay=neurons.decay[q],
                 conductance=neurons.conductance[q], reversal=neurons.reversal[q], g=g[q].data_ptr(), received=received[q].data_ptr())
        for q, w in enumerate(kept)))
    step = Lif(size=ctypes.sizeof(Lif), m=v.shape[0], n=v.shape[1], dt=neurons.dt, tau=neurons.tau, v_rest=neurons.v_rest,
               v_threshold=neurons.v_threshold, v_reset=neurons.v_reset, refractory=neurons.refractory,
               current=None if current is None else current.data_ptr(), v=v.data_ptr(), wait=wait.data_ptr() if neurons.refractory else None,
               spikes=spikes.data_ptr(), inputs=len(events), input=structs)
    with context.lock:
        library.lac_lif_step(context.pointer, ctypes.byref(step))
    return v, wait, g, spikes if neurons.binary else spikes.to(v.dtype)



def _moved(v, g, current, neurons):
    """(G, u, a, v before threshold and reset) of neurons that do not wait, of g after its decay: differentiable."""
    total, drive = torch.ones_like(v), torch.full_like(v, neurons.v_rest)
    if current is not None:
        drive = drive + current
    for q, conductance in enumerate(neurons.conductance):
        if conductance:
            total, drive = total + g[q], drive + g[q] * neurons.reversal[q]
        else:
            drive = drive + g[q]
    steady, factor = drive / total, torch.exp(-neurons.dt / neurons.tau * total)
    return total, steady, factor, steady + factor * (v - steady)


def _free(v, wait, neurons):
    """Which neurons do not wait."""
    return wait <= 0 if neurons.refractory else torch.ones_like(v, dtype=torch.bool)


def _by_torch(v, wait, g, events, weights, indptr, indices, current, neurons):
    """The same by PyTorch's operators, of any type."""
    received = [_op.spmm(indptr[q], indices[q], w, v.shape[1], x.to(v.dtype).t().contiguous(), True).t() if indptr[q].numel() else x.to(v.dtype) @ w
                for q, (x, w) in enumerate(zip(events, weights))]
    g = torch.stack([neurons.weight[q] * x + neurons.decay[q] * g[q] for q, x in enumerate(received)]) if received else g.clone()
    g = torch.where(g.abs() < _TINY, torch.zeros_like(g), g)
    moved, free = _moved(v, g, current, neurons)[-1], _free(v, wait, neurons)
    spikes = free & (moved > neurons.v_threshold)
    after = torch.where(spikes, torch.full_like(v, neurons.v_reset), torch.where(free, moved, v))
    if wait is None:
        wait = v.new_empty(0, dtype=torch.int32)
    else:
        wait = torch.where(spikes, torch.full_like(wait, neurons.refractory), (wait - 1).clamp(min=0)) if neurons.refractory else wait.clone()
    return after, wait, g, spikes if neurons.binary else spikes.to(v.dtype)


@torch.library.impl("lacuna::lif_step", "CompositeExplicitAutograd")
def _lif_step(v, wait, g, events, weights, indptr, indices, current, *neurons):
    neurons = _Neurons(*neurons)
    _check(v, wait, g, events, weights, indptr, indices, current, neurons)
    served = _fits(v, g, *weights, *(() if current is None else (current,)), events=tuple(events)) and (wait is None or wait.device == v.device)
    _calls["lif_step", "lacuna" if served else "torch"] += 1
    return (_by_library if served else _by_torch)(v, wait, g, events, weights, indptr, indices, current, neurons)


@torch.library.register_fake("lacuna::lif_step")
def _lif_step_fake(v, wait, g, events, weights, indptr, indices, current, *neurons):
    neurons = _Neurons(*neurons)
    _check(v, wait, g, events, weights, indptr, indices, current, neurons)
    return (v.new_empty(v.shape), v.new_empty(0 if wait is None else wait.shape, dtype=torch.int32), g.new_empty(g.shape),
            v.new_empty(v.shape, dtype=torch.bool if neurons.binary else v.dtype))


# Gradients: a spike's derivative is the surrogate's, and the reset has none ---------------------------------

def _setup(ctx, inputs, output):
    v, wait, _, events, weights, indptr, indices, current, *neurons = inputs
    ctx.neurons, ctx.kinds, ctx.has = _Neurons(*neurons), len(events), (wait is not None, current is not None)
    _, _, g, spikes = output
    ctx.save_for_backward(v, g, spikes, *events, *weights, *indptr, *indices, *(() if wait is None else (wait,)),
                          *(() if current is None else (current,)))


def _backward(ctx, to_v, _, to_g, to_spikes):
    neurons, kinds = ctx.neurons, ctx.kinds
    v, g, spikes, *rest = ctx.saved_tensors
    events, weights, indptr, indices = (rest[i * kinds:(i + 1) * kinds] for i in range(4))
    rest = rest[4 * kinds:]
    wait, current = rest.pop(0) if ctx.has[0] else None, rest.pop(0) if ctx.has[1] else None
    total, steady, factor, moved = _moved(v, g, current, neurons)
    free, zero = _free(v, wait, neurons), torch.zeros_like(v)
    to_v = zero if to_v is None else to_v
    to_moved = torch.where(free & (spikes.detach() == 0), to_v, zero)
    if to_spikes is not None and not neurons.binary:
        to_moved = to_moved + torch.where(free, to_spikes * SURROGATES[neurons.surrogate](moved - neurons.v_threshold, neurons.slope), zero)
    rate, away = neurons.dt / neurons.tau, v - steady
    to_drive = to_moved * (1 - factor) / total
    to_total = -rate * factor * away * to_moved - to_drive * steady
    before = to_moved * factor + torch.where(free, zero, to_v)  # to v
    each = [(0 if to_g is None else to_g[q]) + (to_total + to_drive * neurons.reversal[q] if conductance else to_drive)
            for q, conductance in enumerate(neurons.conductance)]
    to_received = [neurons.weight[q] * x for q, x in enumerate(each)]
    need = ctx.needs_input_grad
    to_events = [_to_events(to_received[q], weights[q], indptr[q], indices[q]) if need[3][q] else None for q in range(kinds)]
    to_weights = [_to_weight(to_received[q], events[q], indptr[q], indices[q]) if need[4][q] else None for q in range(kinds)]
    to_g = None if not need[2] else torch.stack([neurons.decay[q] * x for q, x in enumerate(each)]) if kinds else torch.zeros_like(g)
    return (before, None, to_g, to_events, to_weights, [None] * kinds, [None] * kinds, to_drive.sum(0) if need[7] else None, *[None] * len(neurons))


def _to_events(grad, w, indptr, indices):
    return _op.spmm(indptr, indices, w, grad.shape[1], grad.t(), False).t() if indptr.numel() else _op.mm(grad, w.t())


def _to_weight(grad, events, indptr, indices):
    events = events if events.dtype == torch.bool and not indptr.numel() else events.to(grad.dtype)
    return _op.sddmm(indptr, indices, events.t(), grad) if indptr.numel() else _op.mm(events.t(), grad)


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
    g = torch.stack([matrix(x.g) for x in inputs]) if inputs else matrix(v).new_empty((0, *matrix(v).shape))
    numbers = ([float(getattr(x, name)) for x in inputs] for name in ("weight", "decay"))
    after, waits, state, spikes = _op.lif_step(matrix(v), matrix(wait), g, [matrix(x.events) for x in inputs], list(weights), list(indptr),
                                               list(indices), current, *numbers, [bool(x.conductance) for x in inputs],
                                               [float(x.reversal) for x in inputs], dt, tau, v_rest, v_threshold, v_reset, refractory, binary,
                                               surrogate, slope)
    if flat:
        spikes, after, state, waits = spikes[0], after[0], state[:, 0], waits[0] if wait is not None else waits
    return LIFState(spikes, after, None if wait is None else waits, list(state))

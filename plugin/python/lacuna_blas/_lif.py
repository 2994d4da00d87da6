# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Steps of a network of leaky integrate-and-fire neurons: the products of each kind of synapse, integration, threshold and spikes."""
import ctypes
import dataclasses

import numpy as np

from . import _arrays
from ._context import context_for, read
from ._library import LIF_INPUTS_MAX, NO_TRANS, Lif, LifInput, Obj, raise_failure, without_check
from ._operand import as_operand

_lif_step = without_check("lac_lif_step")
_FLOAT, _INT, _WORD = np.dtype(np.float32), np.dtype(np.int32), np.dtype(np.uint64)


@dataclasses.dataclass
class LIFInput:
    """One kind of synapse of a LIFStep: what neurons receive is events @ w, of the neurons that fired in the step before.

        g := weight * received + decay * g          0 where below 1e-30 in magnitude

    events: [k] or [m, k], bool, uint8 (a nonzero byte is an event of value 1) or float32; an Operand where its spikes are attached as bits or lists; may be
    a part of the step's spikes. w: [k, n] float32, a SciPy matrix, or an Operand (CSR, CSC, a fixed fan-out). g: float32 state of the
    shape of v, changed in place. decay: exp(-dt / tau of the synapse); 0: a synapse that lasts one step. conductance: what flows into a
    neuron is g (reversal - v), g counting in multiples of the leak's conductance; otherwise it is g itself. received: [n] or [m, n] float32 for what the
    last step brought; None: an array of the step's own (.received)."""
    events: object
    w: object
    g: object
    weight: float = 1.0
    decay: float = 0.0
    conductance: bool = False
    reversal: float = 0.0
    received: object = None


class LIFStep:
    """A time step of n neurons, or of m independent copies of them, bound to the arrays that it reads and writes. A call makes one step and
    returns the array of spikes:

        tau dv/dt = v_rest - v + current + sum of inputs           exponential Euler, exact for inputs that stay
        v > v_threshold: a spike; v := v_reset, and stays for `refractory` steps

    v: [n] or [m, n] float32 state, changed in place. inputs: LIFInputs, up to 8. dt, tau: in one unit. current: [n] float32, the same in
    every copy. spikes: bool or uint8 of v's shape, in which 1 is written where a neuron fires; None: a new one (.spikes). wait: int32 of v's
    shape, the steps that a neuron has still to wait, 0 to begin with; None: a new one, if refractory is not 0. bits, and indices beside counts: the spikes once
    more, as Operand.attach_event_bits and attach_event_lists take them. spikes_twin, bits_twin: written like spikes and bits, for rings of delays
    (docs/user/operators.md). Arrays are contiguous, of one place, and used where they lie: write them between steps as you like. On a device a step is queued,
    and may be captured into a graph after one that was not.

    The same arrays give the same bits each time, on the host and on a device too where sums of weights are exact. Zeros of the events are
    never multiplied: a NaN in the weights of a silent neuron does not show."""

    def __init__(self, v, inputs=(), *, dt, tau, v_rest=0.0, v_threshold=1.0, v_reset=0.0, refractory=0, current=None, spikes=None, wait=None,
                 bits=None, indices=None, counts=None, spikes_twin=None, bits_twin=None, context=None):
        self.context = context = context_for(context, v)
        self.v, self.inputs, self.received, self._operands = v, tuple(inputs), (), ()
        array = read("v", v, context)
        if array.ndim not in (1, 2):
            raise ValueError(f"v: has {array.ndim} dimensions; expected 1 or 2")
        self._shape = array.shape
        m, n = self._shape if array.ndim == 2 else (1, *self._shape)
        if len(self.inputs) > LIF_INPUTS_MAX:
            raise ValueError(f"inputs: has {len(self.inputs)} kinds of synapses; expected at most {LIF_INPUTS_MAX}")
        if indices is not None and counts is None:
            raise ValueError("counts: is None beside indices")
        self.spikes = self._zeros(self._shape, np.bool_) if spikes is None else spikes
        self.wait = self._zeros(self._shape, np.int32) if wait is None and refractory else wait
        words = (*self._shape[:-1], -(-n // 64))
        self._structs = (LifInput * max(len(self.inputs), 1))(*(self._input(f"inputs[{q}]", each) for q, each in enumerate(self.inputs)))
        self._lif = Lif(size=ctypes.sizeof(Lif), m=m, n=n, dt=dt, tau=tau, v_rest=v_rest, v_threshold=v_threshold, v_reset=v_reset, refractory=refractory,
                        current=self._address("current", current, (n,), _FLOAT, False), v=self._address("v", v, self._shape, _FLOAT),
                        wait=self._address("wait", self.wait, self._shape, _INT), spikes=self._address("spikes", self.spikes, self._shape, None),
                        bits=self._address("bits", bits, words, _WORD), list=self._address("indices", indices, self._shape, _INT),
                        count=self._address("counts", counts, (m,), _INT), inputs=len(self.inputs), input=self._structs,
                        spikes_twin=self._address("spikes_twin", spikes_twin, self._shape, None),
                        bits_twin=self._address("bits_twin", bits_twin, words, _WORD))
        self._kept = current, bits, indices, counts, spikes_twin, bits_twin
        self._lif_address = ctypes.addressof(self._lif)

    def _zeros(self, shape, dtype):
        return self.context.asarray(np.zeros(shape, dtype))

    def _address(self, name, x, shape, dtype, written=True):
        """Where the elements of an array of this shape and type lie; None where there is none. A type of None: bytes of events."""
        if x is None:
            return None
        array = read(name, x, self.context)
        if array.shape != tuple(shape):
            raise ValueError(f"{name}: has shape {array.shape}; expected {tuple(shape)}")
        if array.dtype != dtype if dtype is not None else array.dtype not in (np.bool_, np.uint8):
            raise TypeError(f"{name}: has dtype {array.dtype}; expected {dtype if dtype is not None else 'bool or uint8'}")
        if not array.is_contiguous():
            raise ValueError(f"{name}: its elements are not contiguous")
        if written and not array.writable:
            raise ValueError(f"{name}: is read-only")
        return array.pointer

    def _input(self, name, given):
        received = self._zeros(self._shape, np.float32) if given.received is None else given.received
        self.received += (received,)
        return LifInput(events=self._view(f"{name}.events", given.events, row=True), w=self._view(f"{name}.w", given.w), weight=given.weight,
                        decay=given.decay, conductance=bool(given.conductance), reversal=given.reversal,
                        g=self._address(f"{name}.g", given.g, self._shape, _FLOAT),
                        received=self._address(f"{name}.received", received, self._shape, _FLOAT))

    def _view(self, name, x, row=False):
        """The view of an operand; row: an array of one dimension is a row, and bytes are events."""
        operand = as_operand(name, x, self.context)
        if operand is not None:
            self._operands += (operand,)
            return operand.obj()
        array = read(name, x, self.context)
        shape, strides = array.shape, array.strides
        if row and array.ndim == 1:
            shape, strides = (1, *shape), (max(shape[0], 1) * max(abs(strides[0]), 1), *strides)
        if len(shape) != 2:
            raise ValueError(f"{name}: has {array.ndim} dimensions; expected {'1 or 2' if row else '2'}")
        return Obj(_arrays.element_type(name, array.dtype, events=row), array.space, NO_TRANS, *shape, *strides, array.pointer, None)

    def __call__(self):
        """Makes one step and returns spikes."""
        with self.context.lock:
            status = _lif_step(self.context.pointer, self._lif_address)
            if status:
                raise_failure(status)
        return self.spikes

# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Linear layers of a model on Lacuna, with a packed copy of each weight that is used only while the weight is as it was.

A weight that was changed in place is noticed by the address of its data, by its version counter, which the operators of PyTorch
count up (copy_, load_state_dict, under no_grad too), and by the steps of optimizers: the fused ones of PyTorch 2.15 do not count
(2026-11-23). Writes that nobody counts (through weight.data or a NumPy view) need refresh()."""
import copyreg
import ctypes
import dataclasses
import functools
import itertools
import threading
import time
import weakref

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from . import _operators
from .._context import Context
from .._library import TRANS, DecisionStruct, library
from .._operand import Metadata, Operand
from .._product import Decision
from ._common import HALVES, NUMBERS, _obj
from ._operators import _floats, _graded, eager, least_products, packs

_SAMPLES = 16
_PAUSE, _PAUSE_ON_DEVICE = 64, 8  # calls between two tries of a layer whose input is dense, at most
_TIMED = True  # on the CPU, PyTorch's product of a layer is timed now and then, and compared with ours
_autocast = getattr(torch._C, "_is_any_autocast_enabled", lambda: True)
_numbers = itertools.count(1)
_kept_for_recordings = weakref.WeakKeyDictionary()  # by layer: what recordings read of it, after optimize() was taken back
_steps = {}  # by address: steps that optimizers took with a parameter there


def _stepped(optimizer, *_):
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            _steps[parameter.data_ptr()] = _steps.get(parameter.data_ptr(), 0) + 1


@functools.lru_cache(maxsize=None)
def _watch_optimizers():
    """Every optimizer's steps, once."""
    return register_optimizer_step_post_hook(_stepped)


def _least(before, seconds):
    """A minimum that forgets."""
    return seconds if before is None else min(1.1 * before, seconds)


class Packed:
    """A weight's metadata, frozen from the second call on that finds the weight unchanged: a weight that changes before each call
    is never packed. stays: the weight's owner promised that it does not change, so that recordings may read the copy, too."""

    def __init__(self, stays=False):
        _watch_optimizers()
        self.stays, self.ready = stays, False
        self.recorded, self.kept = False, []  # whether a recording reads the metadata; earlier ones that some recordings read
        self.number = next(_numbers)
        self.lock, self.stamp, self.metadata, self.weight = threading.Lock(), None, None, None
        self.frozen = False
        self.changes = self.packed_calls = 0
        self.longest_pause = _PAUSE_ON_DEVICE
        self.elements = self.ours = self.theirs = None  # of the last input, and the least seconds of a product of so many
        self.tries, self.skipped, self.timing = 0, False, False
        self.shape = self.kind = None  # of an input that went to linear_plain: another one of them is asked nothing else
        self.least = [0, 0, 0, 0]  # elements of an input below which a call is PyTorch's: on the CPU, on a device, and both with gradients
        self.streak = self.pause = 0  # products in a row that skipped nothing; calls to leave to PyTorch before the next try
        packs[self.number] = weakref.proxy(self)
        weakref.finalize(self, packs.pop, self.number, None)

    def metadata_of(self, weight):
        """The frozen metadata that holds for the weight now; None where none does."""
        with self.lock:
            recorded = _operators.capturing(weight)
            if not self.stays and (recorded or weight.is_inference()):  # a replay would not see a change; no version counter
                return None
            address = weight.data_ptr()
            version, steps = (0, 0) if self.stays else (weight._version, _steps.get(address, 0))
            if (self.frozen and version == self.stamp[4] and address == self.stamp[0] and weight.stride() == self.stamp[2]
                    and weight.shape == self.stamp[1] and steps == self.stamp[5] and self._sampled() == self.sample):
                return self._lent(recorded)
            stamp = (address, weight.shape, weight.stride(), weight.get_device(), version, steps)
            if stamp != self.stamp or self._sampled() != self.sample:
                self._begin(weight, stamp)
                if not self.stays:
                    return None
            if not self.frozen:
                self.metadata.freeze()
                self.frozen = True
            return self._lent(recorded)

    def _lent(self, recorded):
        self.packed_calls += 1
        self.recorded |= recorded
        return self.metadata

    def prepare(self, weight):
        """Of a weight that stays, before there is a recording: its metadata, and of a half type on a device the copy that recorded products
        read."""
        known = self.metadata_of(weight)
        if known is not None and weight.is_cuda and weight.dtype in HALVES and weight.is_contiguous():
            _operators.copy_by_k(weight, known)
        self.ready = True

    def product(self, input, weight, bias):
        """The layer's product where nothing watches the call and no gradients are wanted."""
        begin = time.perf_counter()
        out = _operators.linear_plain(input, weight, bias, self)
        self.learn(input, time.perf_counter() - begin)
        return out

    def learn(self, input, seconds):
        """After a call: a layer whose products skip nothing, or on the CPU take longer than PyTorch's, is left to PyTorch more and more
        often, and tried again later. On a device a call returns before its product is done: there the library compares times."""
        won, timed = self.skipped, _TIMED and not input.is_cuda
        if timed:
            if input.numel() != self.elements:
                self.elements, self.ours, self.theirs = input.numel(), None, None
            elif won:
                self.ours = _least(self.ours, seconds)
            won = won and (self.theirs is None or self.ours is None or self.ours < self.theirs)
            self.tries += 1
        self.streak = 0 if won else self.streak + 1
        self.pause, self.timing = 0 if won else min(2 ** self.streak, self.longest_pause) - 1, timed
        if won and timed and self.tries % _PAUSE == 8:
            self.pause = 1  # to see what PyTorch takes

    def plain(self, call, input):
        """PyTorch's own product, timed."""
        begin = time.perf_counter()
        out = call(input)
        if input.numel() == self.elements:
            self.theirs = _least(self.theirs, time.perf_counter() - begin)
            self.timing = False
        return out

    def hint(self, rows):
        """After a pause the planner would go on believing what it saw of this layer: it is given the density instead. A device would have
        to be waited for."""
        if self.streak < 2 or rows.device.type != "cpu":
            return None
        return Operand(rows.detach().contiguous()).scan("density")._meta

    def _begin(self, weight, stamp):
        """A weight that was not seen before, or was changed: what is known of the old contents is never used again."""
        self.changes += self.stamp is not None
        self._keep_recorded()
        if self.metadata is not None and self.stamp[:4] == stamp[:4]:
            self.metadata.touch()
        else:
            self.weight = weight.detach()  # while we hold it, its memory can be no other tensor's
            self.metadata = Metadata(_operators.context_of(weight.device), *weight.shape)
            self.cells = self._cells(self.weight)
            self.longest_pause = _PAUSE if weight.device.type == "cpu" else _PAUSE_ON_DEVICE
        self.stamp, self.frozen, self.ready, self.sample = stamp, False, False, self._sampled()

    def _keep_recorded(self):
        """What a recording reads is neither freed nor made anew while we live."""
        if self.recorded and self.metadata is not None:
            self.kept.append((self.metadata, self.weight))
            self.metadata = None
        self.recorded = False

    @staticmethod
    def _cells(weight):
        """A few elements on the host, which show most of the writes that PyTorch does not count: a view of them."""
        if weight.device.type != "cpu" or not weight.is_contiguous() or not weight.numel():
            return None
        flat = weight.numpy().reshape(-1).view("i4")
        return flat[::max((flat.size - 1) // (_SAMPLES - 1), 1)][:_SAMPLES + 1]

    def _sampled(self):
        return None if self.metadata is None or self.cells is None else self.cells.tobytes()

    def forget(self):
        with self.lock:
            self._keep_recorded()
            if self.metadata is not None:
                self.metadata.touch()
            self.metadata = self.stamp = self.weight = None
            self.frozen = self.ready = False


class LacunaLinear(torch.nn.Linear):
    """A Linear whose product is lacuna::linear. optimize() makes one of a Linear, in place; copies and saved models are plain
    Linears again."""

    def forward(self, input):
        packed = self.__dict__.get("_lacuna_packed")
        if packed is not None and input.shape == packed.shape and input.dtype is packed.kind and not (packed.pause or _graded() or _autocast()):
            weight = self._parameters.get("weight")
            if weight is not None and eager(input, weight):
                return packed.product(input, weight, self._parameters["bias"])
        return self._considered(input, packed)

    def _considered(self, input, packed):
        """The product of an input of which nothing is known yet, or that something watches."""
        compiling = torch.compiler.is_compiling()
        recorded = packed is not None and packed.stays and not compiling and self._captured(input, packed)
        if packed is not None and not compiling and not recorded and input.dtype is not torch.bool:
            if packed.pause > 0:
                packed.pause -= 1
                return packed.plain(super().forward, input) if packed.timing else super().forward(input)
            if input.numel() < packed.least[input.is_cuda + 2 * torch.is_grad_enabled()]:
                return super().forward(input)
        parameters = self._parameters
        weight = parameters.get("weight")
        weight, bias = (self.weight, self.bias) if weight is None else (weight, parameters["bias"])
        place, kind, least = "cuda" if weight.is_cuda else "cpu", weight.dtype, _operators.SMALL if recorded else least_products(weight, input)
        large = input.numel() * weight.shape[0] >= least
        served = packed is not None and kind in NUMBERS[weight.is_cuda] and input.dtype in (kind, torch.bool) and large
        if packed is not None and not large and not compiling and (weight.requires_grad or not torch.is_grad_enabled()):
            packed.least[input.is_cuda + 2 * torch.is_grad_enabled()] = -(-least // max(weight.shape[0], 1))  # the next such call is spared the question
        if not served or torch.is_autocast_enabled(place):
            return super().forward(_floats(input, kind))
        if compiling:
            return torch.ops.lacuna.linear(input, weight, bias, packed.number)
        if not _graded() and eager(input, weight):
            packed.shape, packed.kind = input.shape, input.dtype
            return packed.product(input, weight, bias)
        begin = time.perf_counter()
        out = _operators.linear_eager(input, weight, bias, packed.number)
        packed.learn(input, time.perf_counter() - begin)
        return out

    def _captured(self, input, packed):
        """True where a call of a layer whose weight stays is captured: a replay takes no time of the host's. Other calls prepare for it."""
        if _operators.capturing(input):
            return True
        if not packed.ready and "weight" in self._parameters and self.weight.device == input.device:
            packed.prepare(self.weight)
        return False

    def __reduce_ex__(self, protocol):
        state = {key: value for key, value in self.__dict__.items() if key != "_lacuna_packed"}
        return copyreg._reconstructor, (_plain_class(type(self)), object, None), state  # of the standard library: we are not needed to load it


_classes = {torch.nn.Linear: LacunaLinear}


def _lacuna_class(plain):
    """A subclass of Linear with a forward of its own (SpikingJelly's, with its steps) calls ours where it calls Linear's."""
    if plain not in _classes:
        _classes[plain] = type(plain.__name__, (plain, LacunaLinear), {"__module__": plain.__module__})
    return _classes[plain]


def _plain_class(optimized):
    return next((plain for plain, ours in _classes.items() if ours is optimized), optimized)


@dataclasses.dataclass
class Layer:
    """One Linear layer, and what is expected of it for the inputs that were seen."""
    name: str
    shape: "tuple[int, int]"  # of the weight: outputs, inputs
    rows: int = 0  # of the input, all leading dimensions together; 0: none was seen
    density: "float | None" = None  # mean over the calls
    calls: int = 0
    dense_us: "float | None" = None  # predicted, a call
    lacuna_us: "float | None" = None  # predicted with a packed weight, a call
    route: str = ""

    @property
    def worth(self):
        """True where a call is predicted to take less time; None: unknown."""
        return None if self.lacuna_us is None else self.lacuna_us < 0.95 * self.dense_us


class Report(list):
    """Layers; str() is a table. undo() of what optimize() returned takes its changes back."""

    def __init__(self, layers=(), model=None, skipped=()):
        super().__init__(layers)
        self.model, self.skipped = model, tuple(skipped)

    def __str__(self):
        lines = [f"{'layer':<24} {'outputs x inputs':>18} {'rows':>6} {'density':>8} {'dense us':>10} {'lacuna us':>10}  expected"]
        for each in self:
            shape = f"{each.shape[0]} x {each.shape[1]}"
            if each.lacuna_us is None:
                lines.append(f"{each.name:<24} {shape:>18} {'-':>6} {'-':>8} {'-':>10} {'-':>10}  no input was seen")
                continue
            gain = f"{each.dense_us / each.lacuna_us:.2f}x by {each.route}" if each.worth else "no gain: left to the BLAS"
            lines.append(f"{each.name:<24} {shape:>18} {each.rows:>6} {each.density:>8.3g} {each.dense_us:>10.4g} {each.lacuna_us:>10.4g}  {gain}")
        lines += [f"{name:<24} left as it is: {why}" for name, why in self.skipped]
        return "\n".join(lines)

    def undo(self):
        return restore(self.model)


def _predict(layer, module, input):
    """Fills in what the cost model says of this input."""
    rows, weight = input.detach().reshape(-1, input.shape[-1]).contiguous(), module.weight.detach()
    events = rows != 0  # of any type, which say as much of the density
    density = float(torch.count_nonzero(events)) / max(rows.numel(), 1)
    layer.calls += 1
    layer.density = density if layer.density is None else layer.density + (density - layer.density) / layer.calls
    layer.rows = rows.shape[0]
    if weight.dtype not in NUMBERS[rows.is_cuda] or rows.dtype not in (weight.dtype, torch.bool) or not rows.numel():
        return
    context = Context("host" if rows.device.type == "cpu" else str(rows.device), learn=False)  # the model alone, whatever was measured
    out, known, packed = rows.new_empty((rows.shape[0], weight.shape[0]), dtype=weight.dtype), Operand(events, context=context), Metadata(context, *weight.shape)
    known.scan("density")
    packed.freeze()
    found = DecisionStruct()
    with context.lock:
        library.lac_explain(context.pointer, None, _obj(rows, known._meta.pointer), _obj(weight, packed.pointer, TRANS), None, _obj(out), None,
                            ctypes.byref(found))
    decision = Decision._of(found)
    ours = decision.cost_us if rows.numel() * weight.shape[0] >= least_products(weight) else decision.dense_us
    layer.dense_us, layer.lacuna_us = decision.dense_us, min(ours, decision.dense_us)
    layer.route = f"{decision.route} {decision.side}".strip()


def profile(model, *inputs, **keywords):
    """Runs the model once, unchanged, and reports for each Linear layer the density of its input and the times that the cost model
    predicts: which layers have zeros worth skipping."""
    layers, hooks = {}, []

    def seen(module, arguments):
        _predict(layers[module], module, arguments[0])

    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear):
            layers[module] = Layer(name, tuple(module.weight.shape))
            hooks.append(module.register_forward_pre_hook(seen))
    try:
        with torch.no_grad():
            model(*inputs, **keywords)
    finally:
        for hook in hooks:
            hook.remove()
    return Report(layers.values())


def optimize(model, *inputs, only=None, frozen=False, **keywords):
    """Lets the model's Linear layers, and those of subclasses that call Linear's forward, compute with Lacuna. Parameters, hooks and
    the state_dict stay as they are. inputs: the model is run on them once, and the report tells what each layer is expected to
    gain. only: names of layers. frozen: a promise that their weights do not change before refresh(), as in inference: changes are not
    looked for, and CUDA graphs may be captured with the packed copies, once the model has run on their device; a half type has a copy as large as
    the weight there. After refresh() capture anew. Returns a Report; its undo(), or restore(model), takes everything back."""
    expected = {each.name: each for each in profile(model, *inputs, **keywords)} if inputs or keywords else {}
    names = None if only is None else {only} if isinstance(only, str) else set(only)
    changed, skipped = [], []
    for name, module in model.named_modules():
        if not isinstance(module, torch.nn.Linear) or (names is not None and name not in names):
            continue
        why = _unfit(module)
        if why:
            skipped.append((name, why))
            continue
        module.__class__ = _lacuna_class(type(module))
        module.__dict__["_lacuna_packed"] = Packed(frozen)
        changed.append(expected.get(name) or Layer(name, tuple(module.weight.shape)))
    unknown = (names or set()) - {each.name for each in changed} - {name for name, _ in skipped}
    if unknown:
        restore(model)
        raise ValueError(f"only: {sorted(unknown)} are not Linear layers of the model")
    return Report(changed, model, skipped)


def _unfit(module):
    if isinstance(module, LacunaLinear):
        return "it is optimized already"
    if torch.nn.utils.parametrize.is_parametrized(module):
        return "its weight is computed anew in each call"
    if "forward" in module.__dict__:
        return "its forward was replaced"
    return None


def _optimized(model):
    return [module for module in model.modules() if isinstance(module, LacunaLinear) and "_lacuna_packed" in module.__dict__]


def restore(model):
    """Takes optimize() back; returns how many layers it changed."""
    modules = _optimized(model)
    for module in modules:
        packed = module.__dict__.pop("_lacuna_packed")
        packed.forget()
        if packed.kept:
            _kept_for_recordings.setdefault(module, []).extend(packed.kept)
        module.__class__ = _plain_class(type(module))
    return len(modules)


def refresh(model):
    """The weights were written in a way that PyTorch does not count (weight.data, a NumPy view): nothing packed is used again."""
    for module in _optimized(model):
        module.__dict__["_lacuna_packed"].forget()


def status(model):
    """(name, changes noticed, calls with the packed weight) of each optimized layer."""
    return [(name, module.__dict__["_lacuna_packed"].changes, module.__dict__["_lacuna_packed"].packed_calls)
            for name, module in model.named_modules() if isinstance(module, LacunaLinear) and "_lacuna_packed" in module.__dict__]

# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""The product: out := act(beta out + alpha a b + bias), of matrices, vectors and stacks of matrices, and why it went its way."""
import ctypes
import dataclasses
import math

import numpy as np

from . import _arrays
from ._context import context_for, read
from ._library import ACTIVATIONS, HOST, NO_TRANS, CallOpts, DecisionStruct, Epilogue, Obj, library, raise_failure, without_check
from ._operand import Operand, as_operand, format_bits


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One route's place in a decision."""
    route: str
    side: str  # "left", "right": which operand it takes as sparse; "": neither
    refusal: "str | None"  # why it does not apply
    cost_us: "float | None"  # predicted microseconds
    nbytes: int  # memory it needs beyond the operands


@dataclasses.dataclass(frozen=True)
class Decision:
    """A chosen route, with the costs and refusals of all; str() is a table."""
    route: str
    side: str
    reason: str
    known: str  # how the density was known
    density: "float | None"
    cost_us: "float | None"
    dense_us: "float | None"  # predicted for the dense route
    break_even: "float | None"  # where the device decides: the density up to which zeros are skipped
    candidates: "tuple[Candidate, ...]"

    def __str__(self):
        density = "unknown" if self.density is None else f"{self.density:.3g} ({self.known})"
        lines = [f"{self.route} {self.side}".rstrip() + f": {self.reason}; density {density}"]
        if self.break_even is not None:
            lines.append(f"  zeros are skipped up to density {self.break_even:.3g}")
        for each in self.candidates:
            cost = each.refusal if each.refusal is not None else f"{each.cost_us:.4g} us"
            lines.append(f"  {each.route:<10} {each.side:<6} {cost}")
        return "\n".join(lines)

    @classmethod
    def _of(cls, struct):
        def text(value):
            return None if value is None else value.decode(errors="replace")

        def positive(value):
            return None if value < 0 else value

        candidates = tuple(Candidate(text(each.route), text(each.side), text(each.refusal), positive(each.cost_us), each.bytes)
                           for each in struct.candidate[:struct.count])
        return cls(text(struct.route), text(struct.side), text(struct.reason), text(struct.known), positive(struct.density),
                   positive(struct.cost_us), positive(struct.dense_us), positive(struct.break_even), candidates)


class _Factor:
    """A factor or the result as a stack of matrices: lead extents and strides, then rows and columns."""

    def __init__(self, array, element, lead, lead_strides, m, n, rs, cs):
        self.array, self.element, self.lead, self.lead_strides = array, element, lead, lead_strides
        self.m, self.n, self.rs, self.cs = m, n, rs, cs

    def obj(self, offset=0, rows=None):
        """The matrix `offset` elements behind the first; rows: (extent, stride) in place of its own."""
        m, rs = rows or (self.m, self.rs)
        pointer = self.array.pointer + offset * self.array.dtype.itemsize
        return Obj(self.element, self.array.space, NO_TRANS, m, self.n, rs, self.cs, pointer, None)

    def rows(self):
        """(extent, stride) of all rows of the stack as one matrix; None where they do not lie evenly."""
        return _one_stride((*self.lead, self.m), (*self.lead_strides, self.rs))


def _one_stride(shape, strides):
    """(elements, stride) of these dimensions taken as one, or None. A stride of 0 repeats one matrix."""
    kept = [(extent, stride) for extent, stride in zip(shape, strides) if extent != 1]
    if not kept:
        return 1, 0
    extent, stride = kept[-1]
    for outer, outer_stride in reversed(kept[:-1]):
        if outer_stride != extent * stride:
            return None
        extent *= outer
    return extent, stride


def _factor(name, x, context, column):
    """x as a _Factor; a vector is a row, or a column."""
    array = read(name, x, context)
    element = _arrays.element_type(name, array.dtype)
    if array.ndim == 0:
        raise ValueError(f"{name}: has no dimensions; expected 1 or more")
    if array.ndim == 1:
        (length,), (stride,) = array.shape, array.strides
        apart = max(length, 1) * max(abs(stride), 1)
        return _Factor(array, element, (), (), *((length, 1, stride, apart) if column else (1, length, apart, stride)))
    return _Factor(array, element, array.shape[:-2], array.strides[:-2], *array.shape[-2:], *array.strides[-2:])


def _element(factor):
    return factor._element if isinstance(factor, Operand) else factor.element


class _Call:
    """The operands of one call, checked against each other."""

    def __init__(self, a, b, out, context):
        self.context = context = context_for(context, a, b, out)
        kind = np.float64 if np.float64 in (getattr(a, "dtype", None), getattr(b, "dtype", None)) else np.float32  # of a SciPy matrix of ones
        left, right = as_operand("a", a, context, kind), as_operand("b", b, context, kind)
        self.keep = (a, b, left, right)
        first = None if left else _factor("a", a, context, column=False)
        second = None if right else _factor("b", b, context, column=True)
        m, k = left.shape if left else (first.m, first.n)
        k_right, n = right.shape if right else (second.m, second.n)
        if k != k_right:
            raise ValueError(f"a, b: shapes {_shape(a)} and {_shape(b)} do not fit: a has {k} columns, b has {k_right} rows")
        lead_a, lead_b = first.lead if first else (), second.lead if second else ()
        try:
            lead = lead_a if lead_a == lead_b else np.broadcast_shapes(lead_a, lead_b)
        except ValueError:
            raise ValueError(f"a, b: shapes {_shape(a)} and {_shape(b)}: their stacks do not fit") from None
        row, column = first is None or first.array.ndim > 1, second is None or second.array.ndim > 1
        shape = (*lead, *((m,) if row else ()), *((n,) if column else ()))
        self.given = out
        self.out_operand = out if isinstance(out, Operand) else None
        self.scalar = out is None and shape == () and context.space == 0
        if self.out_operand:
            if out._array is None or out._trans != NO_TRANS:
                raise ValueError("out: an Operand without an array, or a transpose, cannot be written")
            target = out._array
        else:
            self.given = context.empty(shape, _arrays.product_type(_element(left or first), _element(right or second))) if out is None else out
            target = read("out", self.given, context)
        if target.shape != shape:
            raise ValueError(f"out: has shape {target.shape}; the product of {_shape(a)} and {_shape(b)} has {shape}")
        self.dtype = _arrays.product_type(_element(left or first), _element(right or second), target.dtype)
        if target.dtype != self.dtype:
            raise TypeError(f"out: has dtype {target.dtype}; expected {self.dtype}")
        if not target.writable:
            raise ValueError("out: is read-only")
        strides = target.strides
        cs = strides[-1] if column else 1
        rs = strides[len(lead)] if row else max(n, 1) * max(abs(cs), 1)
        if row and not column:
            cs = max(m, 1) * max(abs(rs), 1)
        third = _Factor(target, _arrays.element_type("out", self.dtype), shape[:len(lead)], strides[:len(lead)], m, n, rs, cs)
        self.lead, self.first, self.second, self.third, self.left, self.right = lead, first, second, third, left, right
        self.shape, self.m, self.n = shape, m, n
        self.single = self._single()

    def _single(self):
        """The three views of one product, or None where the stack cannot be one: the rows of all a times one b can."""
        if not self.lead:
            c = self.third.obj()
            if self.out_operand:
                c.meta = self.out_operand._meta.pointer
            return (self.left or self.first).obj(), (self.right or self.second).obj(), c
        if self.left or (self.second and self.second.lead) or self.first.lead != self.lead:
            return None
        rows, written = self.first.rows(), self.third.rows()
        if rows is None or written is None or not rows[1]:
            return None
        return self.first.obj(rows=rows), (self.right or self.second).obj(), self.third.obj(rows=written)

    def stack(self):
        """(count, a, stride, b, stride, c, stride) with even strides, or None."""
        count, places = math.prod(self.lead), []
        for factor in (self.first, self.second, self.third):
            if factor is None or not factor.lead:
                places.append(0)
                continue
            even = _one_stride(self.lead, self._lead_strides(factor))
            if even is None:
                return None
            places.append(even[1])
        return count, places

    def _lead_strides(self, factor):
        """A factor's strides along the stack of the result: 0 where it is repeated."""
        missing = len(self.lead) - len(factor.lead)
        return (0,) * missing + tuple(0 if extent == 1 else stride for extent, stride in zip(factor.lead, factor.lead_strides))

    def views(self, operand, factor):
        """An array of views, one for each matrix of the stack, or one for all; and the step through it."""
        if operand or not factor.lead:
            one = (operand or factor).obj()
            return (Obj * 1)(one), 0
        strides = self._lead_strides(factor)
        each = [factor.obj(sum(i * s for i, s in zip(index, strides))) for index in np.ndindex(*self.lead)]
        return (Obj * len(each))(*each), 1

    def result(self):
        return self.given[()] if self.scalar else self.given


def _shape(x):
    return tuple(x.shape) if hasattr(x, "shape") else np.shape(x)


def _number(value, default, dtype):
    """The address of a scalar; None is the library's default."""
    return None if value == default else ctypes.byref((ctypes.c_double if dtype == np.float64 else ctypes.c_float)(value))


def _epilogue(call, bias, bias_per_row, activation, threshold, formats):
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation: {activation!r} is not one of None, 'relu', 'threshold', 'magnitude'")
    if bias is None and activation is None and not formats:
        return None, None
    if formats and not call.out_operand:
        raise ValueError("formats: needs an out that is an Operand, whose metadata they become")
    if call.lead and bias_per_row:
        raise ValueError("bias_per_row: needs a single product, not a stack")
    epilogue = Epilogue(size=ctypes.sizeof(Epilogue), bias_per_row=bool(bias_per_row), act=ACTIVATIONS[activation],
                        threshold=threshold, formats=format_bits("formats", formats))
    values = None
    if bias is not None:
        values = _arrays.vector("bias", bias, call.context.stream, call.dtype, call.m if bias_per_row else call.n, space=call.context.space)
        epilogue.bias = values.pointer
    return epilogue, values


def _options(route):
    return None if route is None else CallOpts(size=ctypes.sizeof(CallOpts), route=route.encode())


_gemm_ex = without_check("lac_gemm_ex")
_SITES_MAX = 256  # in a context


class _Site:
    """What a product that was in order shares with those whose arrays differ from its own in their addresses alone: views, which a call fills
    in, and the result's shape and type. A context keeps the sites that no call uses, by _site_key. Operands have views of their own."""
    __slots__ = ("first", "second", "third", "shape", "dtype", "scalar")

    def __init__(self, call):
        first, second, self.third = call.single
        self.first, self.second = None if call.left else first, None if call.right else second
        self.shape, self.dtype, self.scalar = call.shape, call.dtype, call.scalar

    def run(self, context, alpha, a, b, beta, out):
        given = np.empty(self.shape, self.dtype) if out is None else out
        scale, keep = _number(alpha, 1.0, self.dtype), _number(beta, 0.0, self.dtype)
        first, second, third = _placed(self.first, a), _placed(self.second, b), _placed(self.third, given)
        with context.lock:
            status = _gemm_ex(context.pointer, scale, first, second, keep, third, None)
            if status:
                raise_failure(status)
        return given[()] if self.scalar else given


def _placed(view, x):
    """The address of the view, filled in with the array's; of an Operand's own view where there is none."""
    if view is None:
        return x._view_address
    view.buf = _arrays.address(x)
    return ctypes.addressof(view)


def _face(x):
    """What a product's views take of an array of NumPy's or of an Operand on the host besides its address; None: of anything else."""
    if type(x) is np.ndarray:
        return x.shape, x.strides, x.dtype, x.flags.num
    return x._face if type(x) is Operand else None


def _site_key(a, b, out):
    """None where one of them is not of the kinds that sites are kept for; an out that is an Operand is none."""
    key = _face(a), _face(b), () if out is None else _face(out) if type(out) is np.ndarray else None
    return None if None in key else key


def _keep_site(context, key, site):
    if len(context.sites) >= _SITES_MAX:
        context.sites.clear()
    context.sites.setdefault(key, []).append(site)


def matmul(a, b, out=None, *, alpha=1.0, beta=0.0, bias=None, bias_per_row=False, activation=None, threshold=0.0, formats=(),
           route=None, context=None):
    """out := act(beta out + alpha a @ b + bias), leaving out what is zero in a or b. Returns out.

    a, b: float32 or float64 arrays, or bool ones (events), with numpy.matmul's rules for vectors and stacks; SciPy
    matrices in CSR or CSC; Operands. float32 and float64 do not mix. Arrays of NumPy, and whatever speaks DLPack or an array interface, are used where they lie, on the host or a
    CUDA device. out: an array of their type, or an Operand; None: a new one (of events alone: float32). bias: one value for each column (bias_per_row:
    for each row). activation: None, "relu", "threshold" (x > threshold), "magnitude" (|x| > threshold); what does not pass
    becomes 0. formats: what out, an Operand, is to know of its zeros afterwards. route: a route by its name. On a device the
    product is queued and the call returns."""
    if beta != 0 and out is None:
        raise ValueError("beta: needs out, whose contents it multiplies")
    key = _site_key(a, b, out) if bias is None and activation is None and not formats and route is None else None
    if key:
        context = context_for(context)
        sites = context.sites.get(key)
        if sites:
            site = sites.pop()
            result = site.run(context, alpha, a, b, beta, out)
            sites.append(site)
            return result
    call = _Call(a, b, out, context)
    epilogue, values = _epilogue(call, bias, bias_per_row, activation, threshold, formats)
    if call.lead and math.prod(call.shape) == 0:
        return call.result()
    scale, keep = _number(alpha, 1.0, call.dtype), _number(beta, 0.0, call.dtype)
    address = call.context.pointer
    if call.single:
        options = _options(route)
        first, second, third = map(ctypes.byref, call.single)
        with call.context.lock:
            if epilogue or call.out_operand:  # which begins a new generation of what is known of out
                library.lac_gemm_epilogue(address, scale, first, second, keep, third, epilogue and ctypes.byref(epilogue),
                                          options and ctypes.byref(options))
            else:
                library.lac_gemm_ex(address, scale, first, second, keep, third, options and ctypes.byref(options))
        if key and call.context.space == HOST:
            _keep_site(call.context, key, _Site(call))
        return call.result()
    if epilogue or route:
        raise ValueError("bias, activation, route: need a single product, or a stack of rows times one matrix")
    even = call.stack()
    with call.context.lock:
        if even and even[1][2]:
            count, (step_a, step_b, step_c) = even
            library.lac_gemm_batched(address, count, scale, (call.left or call.first).obj(), step_a, (call.right or call.second).obj(),
                                     step_b, keep, call.third.obj(), step_c)
        else:
            (views_a, step_a), (views_b, step_b) = call.views(call.left, call.first), call.views(call.right, call.second)
            library.lac_gemm_batched_array(address, math.prod(call.lead), scale, views_a, step_a, views_b, step_b, keep,
                                           call.views(None, call.third)[0])
    return call.result()


def explain(a, b, out=None, *, alpha=1.0, beta=0.0, route=None, context=None):
    """Which route matmul would take now, and why: a Decision. Nothing is computed."""
    call = _Call(a, b, out, context)
    if not call.single:
        raise ValueError("a, b: need a single product, or a stack of rows times one matrix")
    options, decision = _options(route), DecisionStruct()
    first, second, third = map(ctypes.byref, call.single)
    with call.context.lock:
        library.lac_explain(call.context.pointer, _number(alpha, 1.0, call.dtype), first, second, _number(beta, 0.0, call.dtype), third,
                            options and ctypes.byref(options), ctypes.byref(decision))
    return Decision._of(decision)

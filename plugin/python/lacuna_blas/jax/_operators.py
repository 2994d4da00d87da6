# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""The operators as primitives of JAX, each linear in each of its floating operands, so that gradients and tangents of any order are
these operators again.

A sparse matrix is (indptr, indices, values) of compressed rows, in any order and with repetitions; indptr None: every row has as many
entries, and indices is [rows, entries]. Types and platforms that the library does not have are computed by JAX's own
operators, openly: calls() counts them."""
import functools
import math

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, xla

from ._ffi import call, csr_gemm, handed_over


def _define(name, abstract, lacuna, plain, on_cuda=None):
    """A primitive of one result: on the CPU and on CUDA devices a custom call (on_cuda: another one there), elsewhere JAX's own operators."""
    primitive = Primitive(f"lacuna_{name}")
    primitive.def_impl(functools.partial(xla.apply_primitive, primitive))
    primitive.def_abstract_eval(abstract)

    def counted(*operands, **parameters):
        handed_over[name] += 1
        return plain(*operands, **parameters)

    mlir.register_lowering(primitive, mlir.lower_fun(counted, multiple_results=False))
    for platform, custom_call in (("cpu", lacuna), ("cuda", on_cuda or lacuna)):
        mlir.register_lowering(primitive, mlir.lower_fun(custom_call, multiple_results=False), platform=platform)
    return primitive


def _linear(primitive, count, transpose):
    """The primitive is linear in each of its first operands, `count` of them; the others have no tangents."""
    def jvp(primals, tangents, **parameters):
        out = primitive.bind(*primals, **parameters)
        parts = [primitive.bind(*primals[:i], tangent, *primals[i + 1:], **parameters)
                 for i, tangent in enumerate(tangents[:count]) if type(tangent) is not ad.Zero]
        return out, functools.reduce(jnp.add, parts) if parts else ad.Zero(jax.core.get_aval(out).to_tangent_aval())

    ad.primitive_jvps[primitive] = jvp
    ad.primitive_transposes[primitive] = transpose


def _each(primitive):
    """A batching rule for the general case: one call for each member, in a loop."""
    def rule(operands, dims, **parameters):
        size = next(x.shape[dim] for x, dim in zip(operands, dims) if dim is not None)
        members = [x if dim is None else jnp.moveaxis(x, dim, 0) for x, dim in zip(operands, dims)]

        def one(i):
            picked = (x if dim is None else jax.lax.dynamic_index_in_dim(x, i, keepdims=False)
                      for x, dim in zip(members, dims))
            return primitive.bind(*picked, **parameters)

        return jax.lax.map(one, jnp.arange(size)), 0
    return rule


# Dense products: [.., m, k] by [.., k, n], stacks of one extent ------------------------------------------------------


def _gemm_shape(a, b):
    return jax.core.ShapedArray((*a.shape[:-1], b.shape[-1]), jnp.dtype("float32"))


def _gemm_call(a, b):
    return call("gemm", jax.ShapeDtypeStruct((*a.shape[:-1], b.shape[-1]), jnp.float32), a, b)


def _gemm_plain(a, b):
    return jnp.matmul(a.astype(jnp.float32), b.astype(jnp.float32))


_gemm = _define("gemm", _gemm_shape, _gemm_call, _gemm_plain)


def _turned(x):
    return jnp.swapaxes(x, -1, -2)


ad.defbilinear(_gemm, lambda grad, a, b: _gemm.bind(grad, _turned(b)), lambda grad, a, b: _gemm.bind(_turned(a), grad))


def _gemm_batch(operands, dims):
    (a, b), (da, db) = operands, dims
    if db is None and b.ndim == 2:  # the rows of all a are one product
        a = jnp.moveaxis(a, da, 0)
        return _gemm.bind(a.reshape(a.shape[0] * a.shape[1], a.shape[2]), b).reshape(*a.shape[:-1], b.shape[-1]), 0
    if da is None and a.ndim == 2:  # and so are the columns of all b
        b = jnp.moveaxis(b, db, 1)
        out = _gemm.bind(a, b.reshape(b.shape[0], b.shape[1] * b.shape[2]))
        return out.reshape(a.shape[0], *b.shape[1:]), 1
    size = a.shape[da] if da is not None else b.shape[db]
    a, b = (jnp.broadcast_to(x, (size, *x.shape)) if d is None else jnp.moveaxis(x, d, 0) for x, d in ((a, da), (b, db)))
    stack = math.prod(a.shape[:-2])
    out = _gemm.bind(a.reshape(stack, *a.shape[-2:]), b.reshape(stack, *b.shape[-2:]))
    return out.reshape(*a.shape[:-1], b.shape[-1]), 0


batching.primitive_batchers[_gemm] = _gemm_batch

# Compressed rows ----------------------------------------------------------------------------------------------------
#
# The operands of each primitive: the floating ones, then indices and, unless fan, indptr.


def _attributes(shape, fan):
    return {"m": shape[0], "n": shape[1], "fan": int(fan)}


def _rows_of(indices, indptr, shape):
    """The row of each entry."""
    if not indptr:
        return jnp.repeat(jnp.arange(shape[0]), indices.size // max(shape[0], 1), total_repeat_length=indices.size)
    return jnp.searchsorted(indptr[0], jnp.arange(indices.size), side="right") - 1


def _each_value(values, count):
    return jnp.broadcast_to(values.reshape(-1), (count,)) if values.size == 1 else values.reshape(-1)


def _csr_gemm_shape(values, b, indices, *indptr, shape, transpose):
    return jax.core.ShapedArray((shape[1] if transpose else shape[0], b.shape[1]), jnp.dtype("float32"))


def _csr_gemm_call(values, b, indices, *indptr, shape, transpose, on_device=False):
    out = jax.ShapeDtypeStruct((shape[1] if transpose else shape[0], b.shape[1]), jnp.float32)
    return csr_gemm(out, values, indices, *indptr, b, trans=int(transpose), on_device=on_device, **_attributes(shape, not indptr))


def _csr_gemm_plain(values, b, indices, *indptr, shape, transpose):
    rows, columns = _rows_of(indices, indptr, shape), indices.reshape(-1)
    to, of, extent = (columns, rows, shape[1]) if transpose else (rows, columns, shape[0])
    terms = _each_value(values, indices.size)[:, None] * b.astype(values.dtype)[of]
    return jnp.zeros((extent, b.shape[1]), values.dtype).at[to].add(terms)


_csr_gemm = _define("csr_gemm", _csr_gemm_shape, _csr_gemm_call, _csr_gemm_plain, functools.partial(_csr_gemm_call, on_device=True))


def _sddmm_shape(x, y, indices, *indptr, shape):
    return jax.core.ShapedArray((indices.size,), jnp.dtype("float32"))


def _sddmm_call(x, y, indices, *indptr, shape):
    return call("csr_sddmm", jax.ShapeDtypeStruct((indices.size,), jnp.float32), indices, *indptr, x, y, **_attributes(shape, not indptr))


def _sddmm_plain(x, y, indices, *indptr, shape):
    return (x[_rows_of(indices, indptr, shape)] * y.T[indices.reshape(-1)]).sum(-1)


_sddmm = _define("sddmm", _sddmm_shape, _sddmm_call, _sddmm_plain)


def _csr_gemm_transpose(grad, values, b, indices, *indptr, shape, transpose):
    rest = [None] * (1 + len(indptr))
    if ad.is_undefined_primal(values):
        left, right = (b, grad) if transpose else (grad, b)
        to_values = _sddmm.bind(left.astype(jnp.float32), right.astype(jnp.float32).T, indices, *indptr, shape=shape)
        extents = values.aval.shape
        return [to_values.sum().reshape(extents) if values.aval.size == 1 else to_values.reshape(extents), None, *rest]
    return [None, _csr_gemm.bind(values, grad, indices, *indptr, shape=shape, transpose=not transpose), *rest]


def _sddmm_transpose(grad, x, y, indices, *indptr, shape):
    rest = [None] * (1 + len(indptr))
    if ad.is_undefined_primal(x):
        return [_csr_gemm.bind(grad, y.T, indices, *indptr, shape=shape, transpose=False), None, *rest]
    return [None, _csr_gemm.bind(grad, x, indices, *indptr, shape=shape, transpose=True).T, *rest]


def _csr_gemm_batch(operands, dims, *, shape, transpose):
    (values, b, *pattern), (dv, db, *dp) = operands, dims
    if dv is not None or any(d is not None for d in dp):
        return _each(_csr_gemm)(operands, dims, shape=shape, transpose=transpose)
    b = jnp.moveaxis(b, db, 1)  # the columns of all b are one product
    out = _csr_gemm.bind(values, b.reshape(b.shape[0], b.shape[1] * b.shape[2]), *pattern, shape=shape, transpose=transpose)
    return out.reshape(out.shape[0], *b.shape[1:]), 1


_linear(_csr_gemm, 2, _csr_gemm_transpose)
_linear(_sddmm, 2, _sddmm_transpose)
batching.primitive_batchers[_csr_gemm] = _csr_gemm_batch
batching.primitive_batchers[_sddmm] = _each(_sddmm)


def _slice_shape(values, indices, *rest, shape):
    return jax.core.ShapedArray((rest[-1].shape[0], shape[1]), jnp.dtype("float32"))


def _slice_call(values, indices, *rest, shape):
    out = jax.ShapeDtypeStruct((rest[-1].shape[0], shape[1]), jnp.float32)
    return call("csr_slice_rows", out, values, indices, *rest, **_attributes(shape, len(rest) == 1))


def _slice_plain(values, indices, *rest, shape):
    *indptr, rows = rest
    dense = jnp.zeros(shape, values.dtype).at[_rows_of(indices, indptr, shape), indices.reshape(-1)].add(_each_value(values, indices.size))
    return jnp.where(((rows >= 0) & (rows < shape[0]))[:, None], dense[jnp.clip(rows, 0, max(shape[0] - 1, 0))], 0)


_slice = _define("slice_rows", _slice_shape, _slice_call, _slice_plain)


def _slice_grad_shape(grad, indices, *rest, shape):
    return jax.core.ShapedArray((indices.size,), jnp.dtype("float32"))


def _slice_grad_call(grad, indices, *rest, shape):
    return call("csr_slice_rows_grad", jax.ShapeDtypeStruct((indices.size,), jnp.float32), indices, *rest, grad,
                **_attributes(shape, len(rest) == 1))


def _slice_grad_plain(grad, indices, *rest, shape):
    *indptr, rows = rest
    inside = (rows >= 0) & (rows < shape[0])
    dense = jnp.zeros(shape, grad.dtype).at[jnp.where(inside, rows, shape[0])].add(grad, mode="drop")
    return dense[_rows_of(indices, indptr, shape), indices.reshape(-1)]


_slice_grad = _define("slice_rows_grad", _slice_grad_shape, _slice_grad_call, _slice_grad_plain)


def _slice_transpose(grad, values, indices, *rest, shape):
    extents = values.aval.shape
    to_values = _slice_grad.bind(grad, indices, *rest, shape=shape)
    return [to_values.sum().reshape(extents) if values.aval.size == 1 else to_values.reshape(extents), None, *[None] * len(rest)]


def _slice_grad_transpose(grad, dense, indices, *rest, shape):
    return [_slice.bind(grad, indices, *rest, shape=shape), None, *[None] * len(rest)]


for _primitive, _rule in ((_slice, _slice_transpose), (_slice_grad, _slice_grad_transpose)):
    _linear(_primitive, 1, _rule)
    batching.primitive_batchers[_primitive] = _each(_primitive)

# What users call ----------------------------------------------------------------------------------------------------


def _dense(name, x, dimensions=None):
    x = jnp.asarray(x)
    if dimensions is not None and x.ndim != dimensions:
        raise ValueError(f"{name}: has {x.ndim} dimensions; expected {dimensions}")
    return x


def matmul(a, b):
    """jnp.matmul(a, b) of two arrays of 2 dimensions, or of stacks of them; b may be one matrix for a stack. bool: events. What is zero is skipped."""
    a, b = _dense("a", a), _dense("b", b)
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2] or (b.ndim > 2 and a.shape[:-2] != b.shape[:-2]):
        raise ValueError(f"a, b: shapes {a.shape} and {b.shape} do not fit")
    kinds = {a.dtype, b.dtype}
    if jnp.dtype("float32") not in kinds or not kinds <= {jnp.dtype("float32"), jnp.dtype("bool")}:
        handed_over["gemm"] += 1
        return jnp.matmul(a, b)
    stack = math.prod(a.shape[:-2])
    if b.ndim == 2:
        out = _gemm.bind(a.reshape(stack * a.shape[-2], a.shape[-1]), b)
    else:
        out = _gemm.bind(a.reshape(stack, *a.shape[-2:]), b.reshape(stack, *b.shape[-2:]))
    return out.reshape(*a.shape[:-1], b.shape[-1])


def linear(x, weight, bias=None):
    """x @ weight.T + bias, weight [outputs, inputs], any leading dimensions."""
    x, weight = _dense("x", x), _dense("weight", weight, 2)
    rows = matmul(x.reshape(math.prod(x.shape[:-1]), x.shape[-1]), weight.T)
    out = rows.reshape(*x.shape[:-1], weight.shape[0])
    return out if bias is None else out + bias


def _pattern(indptr, indices, shape):
    """indices and, unless every row has as many, indptr, of one type."""
    indices = jnp.asarray(indices)
    if not jnp.issubdtype(indices.dtype, jnp.integer):
        raise TypeError(f"indices: has dtype {indices.dtype}; expected integers")
    if indptr is None:
        if indices.ndim != 2 or indices.shape[0] != shape[0]:
            raise ValueError(f"indices: has shape {indices.shape}; expected {shape[0]} rows of as many entries, or indptr")
        kept = indices
        return (kept if kept.dtype in _WIDTHS else kept.astype(jnp.int32),)
    indptr = jnp.asarray(indptr)
    if indptr.shape != (shape[0] + 1,) or indices.ndim != 1:
        raise ValueError(f"indptr, indices: have shapes {indptr.shape} and {indices.shape}; expected ({shape[0] + 1},) and one dimension")
    kind = jnp.promote_types(indptr.dtype, indices.dtype)
    kind = kind if kind in _WIDTHS else jnp.dtype("int32")
    return indices.astype(kind), indptr.astype(kind)


_WIDTHS = (jnp.dtype("int32"), jnp.dtype("int64"))


def _check_values(values, pattern):
    values = jnp.atleast_1d(jnp.asarray(values))
    if values.size not in (1, pattern[0].size):
        raise ValueError(f"values: has {values.size} elements; expected {pattern[0].size}, or 1 for all entries")
    return values


def _floats(name, plain, call_, values, *others):
    """The primitive where all are float32, otherwise JAX's own operators."""
    if all(x.dtype == jnp.float32 for x in (values, *others)):
        return call_()
    handed_over[name] += 1
    return plain()


def csr_matmul(indptr, indices, values, b, *, shape, transpose=False):
    """A @ b, or A.T @ b, of an m x n matrix A = shape of compressed rows; values: one for each entry, or one for all. b: [n, columns] or [n],
    float32 or bool (events). Zeros of b are skipped: with transpose, rows of A that meet none are not even read."""
    pattern = _pattern(indptr, indices, shape)
    values, b = _check_values(values, pattern), jnp.asarray(b)
    inner = shape[0] if transpose else shape[1]
    if b.ndim not in (1, 2) or b.shape[0] != inner:
        raise ValueError(f"b: has shape {b.shape}; expected {inner} rows")
    dense = b[:, None] if b.ndim == 1 else b
    parameters = {"shape": tuple(shape), "transpose": bool(transpose)}
    checked = () if dense.dtype == jnp.bool_ else (dense,)
    out = _floats("csr_gemm", lambda: _csr_gemm_plain(values, dense, *pattern, **parameters),
                  lambda: _csr_gemm.bind(values, dense, *pattern, **parameters), values, *checked)
    return out[:, 0] if b.ndim == 1 else out


def sddmm(x, y, indptr, indices, *, shape):
    """(x @ y) at the entries of compressed rows, one value for each, in their order."""
    pattern, x, y = _pattern(indptr, indices, shape), _dense("x", x, 2), _dense("y", y, 2)
    if (x.shape[0], y.shape[1]) != tuple(shape) or x.shape[1] != y.shape[0]:
        raise ValueError(f"x, y: shapes {x.shape} and {y.shape} do not fit a pattern of {tuple(shape)}")
    return _floats("sddmm", lambda: _sddmm_plain(x, y, *pattern, shape=tuple(shape)),
                   lambda: _sddmm.bind(x, y, *pattern, shape=tuple(shape)), x, y)


def slice_rows(indptr, indices, values, rows, *, shape):
    """A[rows], dense; a row outside A is zeros."""
    pattern = _pattern(indptr, indices, shape)
    values, rows = _check_values(values, pattern), jnp.asarray(rows)
    if rows.ndim != 1 or not jnp.issubdtype(rows.dtype, jnp.integer):
        raise TypeError(f"rows: has dtype {rows.dtype} and {rows.ndim} dimensions; expected integers, and 1")
    rows = rows if rows.dtype in _WIDTHS else rows.astype(jnp.int32)
    return _floats("slice_rows", lambda: _slice_plain(values, *pattern, rows, shape=tuple(shape)),
                   lambda: _slice.bind(values, *pattern, rows, shape=tuple(shape)), values)

# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""register() makes "lacuna" a backend of brainevent: of its dense, CSR and fixed fan-out products of events, its CSR products of floats, and its
row slices.

brainevent asks for a kernel when it lowers a call. Where the library has not the call's types or platform, the kernel of brainevent's
own default backend is handed back instead; counts() counts both, and what ran."""
import collections
import threading

import jax
import jax.numpy as jnp

from .jax._ffi import call, csr_gemm
from .jax._ffi import calls as _executed

NAME = "lacuna"
_HALF = (jnp.dtype("float16"), jnp.dtype("bfloat16"))
_FLOAT, _INDEX = (jnp.dtype("float32"),), tuple(jnp.dtype(name) for name in ("int32", "int64", "uint32", "uint64"))
_counts, _lock = collections.Counter(), threading.Lock()


def counts():
    """{(primitive, "lacuna" or "brainevent"): kernels built}, and under ("executed", operator) the calls that the library computed."""
    with _lock:
        built = dict(_counts)
    return {**built, **{("executed", name): count for name, count in _executed().items() if not name.startswith("handed")}}


def _count(primitive, who):
    with _lock:
        _counts[primitive, who] += 1


def _events(x, weighted):
    """The operand of events as the library reads it, and whether its nonzeros count as ones: bool and binary events as bytes."""
    if x.dtype == jnp.bool_:
        return x
    return x.astype(jnp.float32) if weighted else x != 0


def _column(x):
    return x.reshape(-1, 1) if x.ndim == 1 else x


def _f32(out):
    return jax.ShapeDtypeStruct(out.shape, jnp.float32)


# Each maker takes the parameters that brainevent binds and returns the kernel, or None where the library has not the types.


def _served(weight_info, *index_infos):
    return weight_info.dtype in _FLOAT and all(info.dtype in _INDEX for info in index_infos)


def _dense(platform, *, weight_info, transpose, outs, weighted=False, **_):
    """weights @ events, or with transpose weights.T @ events."""
    if not _served(weight_info):
        return None
    out = outs[0]
    shape = (out.shape[0], 1) if len(out.shape) == 1 else out.shape
    if 0 in shape or 0 in weight_info.shape:
        return None

    def kernel(weights, events):
        result = call("gemm", jax.ShapeDtypeStruct(shape, jnp.float32), weights, _column(_events(events, weighted)),
                      trans_a=int(transpose), events=2)
        return (result.reshape(out.shape),)
    return kernel


def _csr(platform, *, weight_info, indices_info, indptr_info, shape, transpose, outs, weighted=False, binary=True, **infos):
    """The primitives of CSR: (weights, indices, indptr, [perm,] events, [workspace...])."""
    permuted = "perm_info" in infos
    if not _served(weight_info, indices_info, indptr_info) or indices_info.dtype != indptr_info.dtype:
        return None
    out = outs[0]
    columns = 1 if len(out.shape) == 1 else out.shape[1]
    result = jax.ShapeDtypeStruct((shape[1] if transpose else shape[0], columns), jnp.float32)

    def kernel(weights, indices, indptr, *rest):
        perm, (events, *workspace) = (rest[:1], rest[1:]) if permuted else ((), rest)
        dense = _events(events, weighted or not binary)
        got = csr_gemm(result, weights, indices, indptr, *perm, _column(dense), on_device=platform != "cpu", m=shape[0], n=shape[1],
                       trans=int(transpose), perm=int(permuted))
        return (got.reshape(out.shape), *workspace)
    return kernel


def _csr_float(platform, **parameters):
    return _csr(platform, **{**parameters, "binary": False})


def _fan_out(platform, *, weight_info, indices_info, shape, transpose, outs, weighted=False, **_):
    """Every row has as many entries: indices and weights are [rows, entries], or one weight for all."""
    if not _served(weight_info, indices_info):
        return None
    out = outs[0]
    m, n = indices_info.shape[0], shape[1] if shape[0] == indices_info.shape[0] else shape[0]
    rows = n if transpose else m
    batch_first = _batch_first(out, rows)
    columns = 1 if len(out.shape) == 1 else out.shape[0 if batch_first else 1]
    if not batch_first and out.shape[0] != rows:
        return None
    result = jax.ShapeDtypeStruct((rows, columns), jnp.float32)

    def kernel(weights, indices, events):
        got = csr_gemm(result, weights, indices, _column(_events(events, weighted)), on_device=platform != "cpu", m=m, n=n, fan=1,
                       trans=int(transpose))
        return (got.T if batch_first else got.reshape(out.shape),)
    return kernel


def _batch_first(out, rows):
    """Whether brainevent asks for [columns, rows], as its CUDA kernel of transposed fan-out products writes; where both are equal it means [rows, columns]."""
    return len(out.shape) == 2 and out.shape[0] != rows and out.shape[1] == rows


def _own_fan_out(make, *, shape, indices_info, transpose, outs, **more):
    """brainevent's CUDA kernel of a fan-out product, which writes [columns, rows] whatever was asked for."""
    rows = shape[1] if shape[0] == indices_info.shape[0] else shape[0]
    kernel_of = lambda outs: make(shape=shape, indices_info=indices_info, transpose=transpose, outs=outs, **more)  # noqa: E731
    if not transpose or _batch_first(outs[0], rows):
        return kernel_of(outs)
    kernel = kernel_of([jax.ShapeDtypeStruct(outs[0].shape[::-1], outs[0].dtype)])
    return lambda *operands: (kernel(*operands)[0].T,)


def _slice(platform, *, data_info, indices_info, indptr_info, shape, outs, **_):
    if not _served(data_info, indices_info, indptr_info) or indices_info.dtype != indptr_info.dtype:
        return None

    def kernel(data, indices, indptr, rows):
        return (call("csr_slice_rows", _f32(outs[0]), data, indices, indptr, rows, m=shape[0], n=shape[1]),)
    return kernel


def _slice_grad(platform, *, ct_info, indices_info, indptr_info, shape, outs, **_):
    if not _served(ct_info, indices_info, indptr_info) or indices_info.dtype != indptr_info.dtype:
        return None

    def kernel(ct, indices, indptr, rows):
        return (call("csr_slice_rows_grad", _f32(outs[0]), indices, indptr, rows, ct, m=shape[0], n=shape[1]),)
    return kernel


_MAKERS = {"binary_densemv": _dense, "binary_densemm": _dense, "binary_csrmv": _csr, "binary_csrmm": _csr,
           "binary_csrmv_indexed": _csr, "binary_csrmm_indexed": _csr, "csrmv": _csr_float, "csrmm": _csr_float,
           "csr_slice_rows": _slice, "csr_slice_rows_grad": _slice_grad, "ell_binary_matvec": _fan_out, "binary_fcnmm": _fan_out}


def _generator(primitive, platform, maker, default):
    """brainevent's way to ask for a kernel; default: the backend of its own that gets what we have not. Its Numba kernels have no half types."""
    own = dict(primitive._kernels[platform])  # brainevent has no public way to a kernel's generator

    def generate(**parameters):
        kernel = maker(platform, **parameters)
        _count(primitive.name, "brainevent" if kernel is None else NAME)
        if kernel is not None:
            return kernel
        half = any(getattr(info, "dtype", None) in _HALF for info in parameters.values())
        backend = "jax_raw" if half and default == "numba" and "jax_raw" in own else default
        make = own[backend].kernel_generator
        return _own_fan_out(make, **parameters) if (primitive.name, backend) == ("binary_fcnmm", "cuda_raw") else make(**parameters)
    return generate


def register(default=False):
    """Registers "lacuna" for brainevent's primitives, on the CPU and on CUDA devices; with default=True it is what they use where no
    backend is named. Calling it again changes nothing but the default. Returns the names of the primitives."""
    import brainevent
    primitives = brainevent.get_registry()
    missing = _MAKERS.keys() - primitives.keys()
    if missing:
        raise ImportError(f"brainevent {brainevent.__version__} has no {sorted(missing)}; lacuna_blas.brainevent was made for 0.3.0")
    for name, maker in _MAKERS.items():
        primitive = primitives[name]
        for platform in ("cpu", "gpu"):
            if NAME not in primitive.available_backends(platform):
                primitive.def_kernel(NAME, platform, _generator(primitive, platform, maker, primitive.defaults[platform]))
            if default:
                primitive.set_default(platform, NAME)
    return list(_MAKERS)

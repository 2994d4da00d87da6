# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""The handlers of liblacuna_xla, registered with XLA, and how a call of each is written into a program."""
import collections
import ctypes
import itertools
import math
import os

import jax
import jax.numpy as jnp
import numpy as np

from .. import _library

if not hasattr(jax, "ffi"):
    raise ImportError(f"lacuna_blas.jax needs JAX 0.5 or newer; this is {jax.__version__}")


class _Handler(ctypes.Structure):
    """entry_t of plugin/xla/handlers.c"""
    _fields_ = [("name", ctypes.c_char_p), ("host", ctypes.c_void_p), ("cuda", ctypes.c_void_p), ("calls", ctypes.POINTER(ctypes.c_longlong))]


def _load():
    """The handlers by name."""
    path = os.path.join(os.path.dirname(os.path.realpath(_library.library_path())), "liblacuna_xla.so")
    try:
        table = (_Handler * 64).in_dll(ctypes.CDLL(path), "lacuna_xla_handlers")
    except (OSError, ValueError) as error:
        raise ImportError(f"lacuna_blas.jax found no handlers beside {_library.library_path()}: {error}") from error
    return {each.name.decode(): each for each in itertools.takewhile(lambda each: each.name, table)}


def _capsule(address):
    return jax.ffi.pycapsule(ctypes.cast(address, ctypes.CFUNCTYPE(ctypes.c_void_p)))


_handlers = _load()
for _name, _each in _handlers.items():
    jax.ffi.register_ffi_target(f"lacuna_{_name}", _capsule(_each.host), platform="cpu")
    if _each.cuda:
        jax.ffi.register_ffi_target(f"lacuna_{_name}", _capsule(_each.cuda), platform="CUDA")

handed_over = collections.Counter()  # by operator: products written into programs as JAX's own


def calls():
    """How many calls of each operator Lacuna computed, {operator: count}; and under "handed over: operator", how many products were left to
    JAX when a program was traced, because the library has not their types or platform."""
    counts = {name: each.calls[0] for name, each in _handlers.items()}
    return {**counts, **{f"handed over: {name}": count for name, count in handed_over.items()}}


def call(handler, result, *operands, **attributes):
    """A custom call; attributes are integers."""
    return jax.ffi.ffi_call(f"lacuna_{handler}", result)(*operands, **{name: np.int64(value) for name, value in attributes.items()})


def csr_gemm(result, values, *rest, on_device, **attributes):
    """The custom call of a product with compressed rows; rest: their other arrays, then the dense operand. On a device a second result is the
    memory that a transposed product adds in: XLA gives it, so that calls may be recorded, and run side by side. Events that meet one value are
    counted there, and XLA multiplies where it reads the counts."""
    if not on_device or not attributes.get("trans"):
        return call("csr_gemm", result, values, *rest, **attributes)
    if values.size == 1 and rest[-1].dtype == np.bool_:
        indices, *others = rest if not attributes.get("perm") else (*rest[:-2], rest[-1])
        counts = call("csr_count", jax.ShapeDtypeStruct(result.shape, np.int32), indices, *others, **{**attributes, "perm": 0})
        return jnp.where(counts != 0, counts.astype(np.float32) * values.reshape(1, 1), np.float32(0))
    sums = jax.ShapeDtypeStruct((16 * math.prod(result.shape) + 2048,), np.uint8)
    return call("csr_gemm", (result, sums), values, *rest, **attributes)[0]

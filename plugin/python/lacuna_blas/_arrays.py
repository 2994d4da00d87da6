# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of other libraries as addresses, extents and strides, without a copy: NumPy, DLPack, the two array interfaces.

Every error names the argument."""
import ctypes

import numpy as np

from ._library import DEVICE, F32, F64, HOST, I32, I64, U8

_DLPACK_CPU, _DLPACK_CUDA, _DLPACK_PINNED, _DLPACK_MANAGED = 1, 2, 3, 13
_DLPACK_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}


class Array:
    """Where an array's elements lie. strides are in elements; owner keeps the memory alive."""

    __slots__ = ("pointer", "shape", "strides", "dtype", "space", "device", "writable", "owner")

    def __init__(self, pointer, shape, strides, dtype, space, device, writable, owner):
        self.pointer, self.shape, self.strides, self.dtype = pointer, shape, strides, dtype
        self.space, self.device, self.writable, self.owner = space, device, writable, owner

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return int(np.prod(self.shape, dtype=np.int64))

    def is_contiguous(self):
        return all(extent <= 1 or stride == expected for extent, stride, expected
                   in zip(self.shape, self.strides, contiguous_strides(self.shape)))


def contiguous_strides(shape):
    """Those of an array in C order, in elements."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


class _DLTensor(ctypes.Structure):
    """DLTensor of dlpack.h, which every version of the protocol shares."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int), ("ndim", ctypes.c_int),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class _ArrayInterface(ctypes.Structure):
    """PyArrayInterface, what __array_struct__ holds"""
    _fields_ = [("two", ctypes.c_int), ("nd", ctypes.c_int), ("kind", ctypes.c_char), ("itemsize", ctypes.c_int), ("flags", ctypes.c_int),
                ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("data", ctypes.c_void_p), ("descr", ctypes.c_void_p)]


def address(x):
    """Where an array of NumPy's begins, in half the time of __array_interface__."""
    capsule = x.__array_struct__  # which holds the structure
    return _ArrayInterface.from_address(_capsule_pointer(capsule, None)).data or 0


def _element_strides(name, strides, dtype):
    size = dtype.itemsize
    elements = tuple([stride // size for stride in strides])
    if elements and [element * size for element in elements] != list(strides):
        raise ValueError(f"{name}: its strides {tuple(strides)} are not whole elements of {size} bytes")
    return elements


def _from_numpy(name, x):
    dtype, flags = x.dtype, x.flags
    if not dtype.isnative or not flags.aligned:
        raise ValueError(f"{name}: its elements are not aligned or not in this machine's byte order")
    strides = _element_strides(name, x.strides, dtype)
    return Array(address(x), x.shape, strides, dtype, HOST, None, flags.writeable, x)


def _from_dlpack(name, x, stream):
    kind, device = x.__dlpack_device__()
    on_host = kind in (_DLPACK_CPU, _DLPACK_PINNED)
    if not on_host and kind not in (_DLPACK_CUDA, _DLPACK_MANAGED):
        raise TypeError(f"{name}: lies on a device of DLPack's type {int(kind)}; host memory and CUDA devices are supported")
    # DLPack spells the legacy default stream 1. The producer makes that stream wait for its own.
    capsule = x.__dlpack__() if on_host else x.__dlpack__(stream=stream or 1)
    tensor = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    if tensor.lanes != 1 or tensor.code not in _DLPACK_KINDS:
        raise TypeError(f"{name}: has elements of DLPack's type code {tensor.code}, which is not supported")
    dtype = np.dtype("?" if tensor.code == 6 else f"{_DLPACK_KINDS[tensor.code]}{tensor.bits // 8}")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else contiguous_strides(shape)
    # A capsule that is not renamed is given back by its own destructor. This protocol has no mark for read-only memory.
    return Array((tensor.data or 0) + tensor.byte_offset, shape, strides, dtype, HOST if on_host else DEVICE,
                 None if on_host else int(device), True, (x, capsule))


def _from_cuda_interface(name, x, stream):
    face = x.__cuda_array_interface__
    if face.get("mask") is not None:
        raise TypeError(f"{name}: has a mask, which is not supported")
    queued_on = face.get("stream")
    if queued_on is not None and stream is not None and (queued_on if queued_on > 1 else 0) != stream:
        raise ValueError(f"{name}: is queued on stream {queued_on}, the context computes on {stream}: "
                         "make a Context(stream=...) for it")
    dtype, shape = np.dtype(face["typestr"]), tuple(face["shape"])
    strides = face.get("strides")
    strides = contiguous_strides(shape) if strides is None else _element_strides(name, strides, dtype)
    pointer, read_only = face["data"]
    return Array(pointer or 0, shape, strides, dtype, DEVICE, None, not read_only, x)


def is_array(x):
    return isinstance(x, np.ndarray) or hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__") or hasattr(
        x, "__array_interface__")


def view(name, x, stream=None):
    """The Array of x; stream is the one of the context that will use it (0: the default stream; None: a host's)."""
    if isinstance(x, Array):
        return x
    if isinstance(x, np.ndarray):
        return _from_numpy(name, x)
    try:
        if hasattr(x, "__dlpack__"):
            return _from_dlpack(name, x, stream)
        if hasattr(x, "__cuda_array_interface__"):
            return _from_cuda_interface(name, x, stream)
        if hasattr(x, "__array_interface__"):
            return _from_numpy(name, np.asarray(x))
    except (BufferError, RuntimeError, AttributeError) as error:
        raise TypeError(f"{name}: does not let its memory be read: {error}") from error
    raise TypeError(f"{name}: is a {type(x).__name__}; expected an array (NumPy, DLPack, or an array interface), "
                    "a SciPy CSR or CSC matrix, or an Operand")


def float_type(element):
    """The type of the values that stand for elements: events are ones of either type, float32 unless something else says so."""
    return np.dtype(np.float64 if element == F64 else np.float32)


def product_type(a, b, out=None):
    """The type of a product by its factors' elements: that of the floats among them, or of events alone the output's."""
    if {a, b} == {F32, F64}:
        raise TypeError(f"a, b: have dtypes {float_type(a)} and {float_type(b)}; expected the same, or bool for events")
    return float_type(F64 if F64 in (a, b) or (a == b == U8 and out == np.float64) else F32)


def element_type(name, dtype, events=False):
    """F32, F64 or U8. Bytes other than 0 and 1 would lose their values, so they are taken for events only where one says so."""
    if dtype == np.float32:
        return F32
    if dtype == np.float64:
        return F64
    if dtype == np.bool_ or (events and dtype == np.uint8):
        return U8
    hint = "; Operand(x, events=True) takes each nonzero byte for an event of value 1" if dtype == np.uint8 else ""
    raise TypeError(f"{name}: has dtype {dtype}; expected float32, float64, or bool for events{hint}")


def index_type(name, dtype):
    if dtype == np.int32:
        return I32
    if dtype == np.int64:
        return I64
    raise TypeError(f"{name}: has dtype {dtype}; expected int32 or int64")


def vector(name, x, stream=None, dtype=None, length=None, indices=False, space=None, writable=False):
    """A contiguous one-dimensional Array of this type, length and place."""
    array = view(name, x, stream)
    if array.ndim != 1:
        raise ValueError(f"{name}: has {array.ndim} dimensions; expected 1")
    if length is not None and array.shape[0] != length:
        raise ValueError(f"{name}: has {array.shape[0]} elements; expected {length}")
    if not array.is_contiguous():
        raise ValueError(f"{name}: its elements are not contiguous")
    if indices:
        index_type(name, array.dtype)
    elif array.dtype != dtype:
        raise TypeError(f"{name}: has dtype {array.dtype}; expected {np.dtype(dtype)}")
    if space is not None and array.space != space:
        where = ("on the host", "on a device")
        raise ValueError(f"{name}: lies {where[array.space]}; expected one that lies {where[space]}")
    if writable and not array.writable:
        raise ValueError(f"{name}: is read-only")
    return array

# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Where products run: contexts, one for each thread where none is named, and memory on a device."""
import ctypes
import re
import threading
import weakref

import numpy as np

from . import _arrays
from ._library import DEVICE, HOST, STREAM_NEW, InfoFn, library


def _stream_address(stream):
    """An address, or what PyTorch (cuda_stream), CuPy (ptr) and CUDA's Python bindings (__cuda_stream__) call a stream."""
    if stream is None:
        return None
    if stream == "new":
        return STREAM_NEW
    if hasattr(stream, "__cuda_stream__"):
        stream = stream.__cuda_stream__
        return (stream() if callable(stream) else stream)[1]
    stream = getattr(stream, "cuda_stream", getattr(stream, "ptr", stream))
    if not isinstance(stream, int):
        raise TypeError(f"stream: is a {type(stream).__name__}; expected a stream's address, a stream, or 'new'")
    return stream


class Context:
    """Where products run, with which settings, and what was learned of the products seen so far.

    device: "host", "cuda" (the thread's current device) or "cuda:N". stream: a CUDA stream of PyTorch, CuPy or others, its
    address, "new" for one of the context's own, or None for the default stream. Other keywords are options, as Context(threads=2,
    backend="csr"); they are those of docs/user/tuning.md. A context serves one thread at a time; others wait."""

    def __init__(self, device="host", *, stream=None, **options):
        name = str(device)
        matched = re.fullmatch(r"host|cpu|cuda(?::(\d+))?", name)
        if not matched:
            raise ValueError(f"device: is {name!r}; expected 'host', 'cuda' or 'cuda:N'")
        self.space = DEVICE if name.startswith("cuda") else HOST
        self.device = None if self.space == HOST else int(matched[1]) if matched[1] else -1
        pointer = ctypes.c_void_p()
        if self.space == HOST:
            if stream is not None:
                raise ValueError("stream: a context on the host has none")
            library.lac_ctx_create(ctypes.byref(pointer))
        else:
            library.lac_ctx_create_cuda(ctypes.byref(pointer), self.device, _stream_address(stream))
        self.pointer = pointer.value
        self.lock = threading.RLock()
        self.sites = {}  # of matmul: what products of the same extents share
        self._free = weakref.finalize(self, library.lac_ctx_free, self.pointer)
        self._free.atexit = False  # the process's end frees it; a driver may be gone before
        self.stream = None if self.space == HOST else library.lac_device_stream(self.pointer) or 0
        for option, value in options.items():
            self.set(option, value)

    def __repr__(self):
        where = "host" if self.space == HOST else "cuda" if self.device < 0 else f"cuda:{self.device}"
        return f"Context({where!r})"

    def set(self, option, value):
        """Sets one option; True and False stand for "on" and "off"."""
        text = {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
        with self.lock:
            library.lac_ctx_set(self.pointer, option.encode(), text.encode())

    def info(self):
        """The facts of the context as (key, value) pairs: version, BLAS, instruction set, routes, options, constants."""
        return self._told(lambda fact: library.lac_ctx_info(self.pointer, fact, None))

    def tune(self, path=None, progress=None):
        """Measures the constants of this machine or device (some seconds) and stores them; progress(step, "done/total")."""
        self._told(lambda step: library.lac_tune(self.pointer, None if path is None else str(path).encode(), step, None), progress)

    def _told(self, call, listener=None):
        facts, failures = [], []

        def hear(_argument, key, value):
            try:
                fact = (key.decode(errors="replace"), value.decode(errors="replace"))
                facts.append(fact)
                if listener:
                    listener(*fact)
            except BaseException as error:  # an exception cannot pass through C
                failures.append(error)

        with self.lock:
            call(InfoFn(hear))
        if failures:
            raise failures[0]
        return facts

    @property
    def nbytes(self):
        """Bytes that the context holds for its work."""
        return library.lac_ctx_bytes(self.pointer)

    def wait(self):
        """Waits until everything queued on the context's stream is done; the host is always done."""
        if self.space == DEVICE:
            with self.lock:
                library.lac_device_wait(self.pointer)

    def empty(self, shape, dtype=np.float32):
        """An array without contents where the context computes: NumPy's on the host, a DeviceArray on a device."""
        return np.empty(shape, dtype) if self.space == HOST else DeviceArray(self, shape, dtype)

    def asarray(self, x):
        """A copy of a host array on the context's device; on the host the array itself."""
        x = np.ascontiguousarray(x)
        if self.space == HOST:
            return x
        copy = DeviceArray(self, x.shape, x.dtype)
        with self.lock:
            library.lac_device_upload(self.pointer, copy.pointer, x.ctypes.data, x.nbytes)
        return copy


def _free_memory(context, pointer):
    with context.lock:
        library.lac_device_free(context.pointer, pointer)


class DeviceArray:
    """An array in C order on a context's device. CuPy, PyTorch, JAX and Numba read it through __cuda_array_interface__."""

    def __init__(self, context, shape, dtype=np.float32):
        self.shape = (shape,) if isinstance(shape, int) else tuple(int(extent) for extent in shape)
        self.dtype, self.context = np.dtype(dtype), context
        self.size = int(np.prod(self.shape, dtype=np.int64))
        self.nbytes = self.size * self.dtype.itemsize
        pointer = ctypes.c_void_p()
        if self.nbytes:
            with context.lock:
                library.lac_device_alloc(context.pointer, self.nbytes, ctypes.byref(pointer))
            self._free = weakref.finalize(self, _free_memory, context, pointer.value)
            self._free.atexit = False
        self.pointer = pointer.value or 0

    ndim = property(lambda self: len(self.shape))

    def __repr__(self):
        return f"DeviceArray({self.shape}, {self.dtype}, {self.context!r})"

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.pointer, False), "strides": None, "version": 3,
                "stream": self.context.stream or 1}

    def numpy(self):
        """A copy on the host; waits for the work queued before."""
        copy = np.empty(self.shape, self.dtype)
        if self.nbytes:
            with self.context.lock:
                library.lac_device_download(self.context.pointer, copy.ctypes.data, self.pointer, self.nbytes)
        return copy


_local = threading.local()


def thread_context(device=None):
    """This thread's own context on the host (None) or on a CUDA device's default stream (its ordinal; -1: the current one)."""
    contexts = _local.__dict__.setdefault("contexts", {})
    if device not in contexts:
        contexts[device] = Context("host" if device is None else "cuda" if device < 0 else f"cuda:{device}")
    return contexts[device]


def _device_of(x):
    """None for the host, else the ordinal of a CUDA device; -1 where the array does not say which."""
    if hasattr(x, "__dlpack_device__"):
        kind, ordinal = x.__dlpack_device__()
        return int(ordinal) if int(kind) in (2, 13) else None
    if hasattr(x, "__cuda_array_interface__"):
        return -1
    return None


def context_for(context, *arrays):
    """The context of a call: the one that was named, or the thread's own where the first array on a device lies."""
    if context is not None:
        if not isinstance(context, Context):
            raise TypeError(f"context: is a {type(context).__name__}; expected a Context")
        return context
    for x in arrays:
        if x is None or isinstance(x, np.ndarray):
            continue
        own = x.context if isinstance(x, DeviceArray) else getattr(x, "_context", None)
        if isinstance(own, Context) and own.space == DEVICE:
            return own
        device = _device_of(x)
        if device is not None:
            return thread_context(device)
    return thread_context()


def place(name, array, context):
    """The Array itself, where the context can reach it."""
    if array.space != context.space:
        where = ("the host", "a device")
        raise ValueError(f"{name}: lies on {where[array.space]}, the context computes on {where[context.space]}")
    if array.device is not None and context.device >= 0 and array.device != context.device:
        raise ValueError(f"{name}: lies on cuda:{array.device}, the context computes on cuda:{context.device}")
    return array


def read(name, x, context):
    return place(name, _arrays.view(name, x, context.stream), context)

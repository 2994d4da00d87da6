# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operands: a matrix together with what is known of its zeros. Nothing is copied; the arrays must stay as they are."""
import ctypes
import weakref

import numpy as np

from . import _arrays
from ._context import context_for, place, read
from ._library import DEVICE, F32, F64, FORMATS, HOST, NO_TRANS, TRANS, U8, FormatView, Obj, library


def format_bits(name, formats):
    """LAC_META_ bits of a name or of several."""
    bits = 0
    for each in (formats,) if isinstance(formats, str) else formats:
        if each not in FORMATS:
            raise ValueError(f"{name}: {each!r} is not one of {', '.join(FORMATS)}")
        bits |= FORMATS[each]
    return bits


def is_sparse_matrix(x):
    """A matrix of SciPy, or of CuPy, in any of its formats."""
    return isinstance(getattr(x, "format", None), str) and hasattr(x, "nnz") and hasattr(x, "tocsr")


class Metadata:
    """lac_meta_t of a stored m x n matrix, and the arrays attached to it. An operand and its transpose share one."""

    def __init__(self, context, m, n):
        pointer = ctypes.c_void_p()
        with context.lock:
            library.lac_meta_create_for(context.pointer, ctypes.byref(pointer), m, n)
        self.pointer = pointer.value
        self.attached = {}
        self._context = context  # lives as long
        self._free = weakref.finalize(self, library.lac_meta_free, self.pointer)
        self._free.atexit = False

    def freeze(self):
        """The contents stay as they are until touch()."""
        library.lac_meta_freeze(self.pointer)
        return self

    def touch(self):
        """The contents changed, or are about to."""
        library.lac_meta_touch(self.pointer)
        self.attached.clear()


class Operand:
    """A matrix and what is known of its zeros.

    x: a 2-D float32, float64 or bool array of any strides, or such a SciPy matrix in CSR or CSC, if of bool all ones. The memory
    is x's and is not copied. events=True: x is uint8, and each nonzero byte is an event of value 1. dtype: of a bool SciPy matrix, the type that
    its ones have. A matrix of SciPy stands for the operand as it is: after its arrays change, make a new one. An Operand may be used in every thread."""

    def __init__(self, x, *, events=False, dtype=np.float32, context=None):
        context = context_for(context, x)
        if is_sparse_matrix(x):
            data = self._matrix_values(x)
            self._start(context, x.shape, None, _values_type("x" if data is not None else "dtype", dtype if data is None else data.dtype))
            self._attach(x.format, x.indptr, x.indices, data)
            return
        array = read("x", x, context)
        if array.ndim != 2:
            raise ValueError(f"x: has {array.ndim} dimensions; expected 2")
        self._start(context, array.shape, array, _arrays.element_type("x", array.dtype, events))

    def _start(self, context, shape, array, element):
        self._context, self._stored, self._array, self._element = context, tuple(int(extent) for extent in shape), array, element
        self._meta, self._registered = Metadata(context, *self._stored), None
        if element == F64:
            library.lac_meta_set_type(self._meta.pointer, F64)
        self._lay(NO_TRANS)

    def _lay(self, trans):
        """Sets the view that the C library takes, its address, and on the host what else a product's views depend on."""
        (m, n), space, array = self._stored, self._context.space, self._array
        self._trans = trans
        self._view = Obj(self._element, space, trans, m, n, *(array.strides if array else (max(n, 1), 1)), array.pointer if array else None,
                         self._meta.pointer)
        self._view_address = ctypes.addressof(self._view)
        self._face = (self.shape, self._element) if space == HOST else None

    @classmethod
    def from_csr(cls, shape, indptr, indices, data=None, *, dtype=np.float32, context=None):
        """A sparse-only operand of CSR arrays, on the host or a device; data None: every entry is 1, of this dtype. No copy is made."""
        return cls._compressed("csr", shape, indptr, indices, data, dtype, context)

    @classmethod
    def from_csc(cls, shape, indptr, indices, data=None, *, dtype=np.float32, context=None):
        """The same of CSC arrays."""
        return cls._compressed("csc", shape, indptr, indices, data, dtype, context)

    @classmethod
    def from_ell(cls, shape, indices, data=None, *, dtype=np.float32, context=None):
        """A sparse-only operand with as many entries in each row: a fixed fan-out. indices: [rows, entries] int32 or int64, the columns of each row's
        entries, ascending; data: their values, of the same shape; None: every entry is 1, of this dtype. No copy is made."""
        return cls._compressed("ell", shape, None, indices, data, dtype, context)

    @classmethod
    def _compressed(cls, kind, shape, indptr, indices, data, dtype, context):
        if len(shape) != 2:
            raise ValueError(f"shape: has {len(shape)} extents; expected 2")
        operand, context = cls.__new__(cls), context_for(context, indptr, indices)
        if data is not None:
            data = _arrays.view("data", data, context.stream)
        operand._start(context, shape, None, _values_type("dtype" if data is None else "data", dtype if data is None else data.dtype))
        if kind == "ell":
            return operand.attach_ell(indices, data)
        return operand._attach(kind, indptr, indices, data)

    # What it is ------------------------------------------------------------------------------------------

    @property
    def shape(self):
        return self._stored if self._trans == NO_TRANS else self._stored[::-1]

    ndim = 2

    @property
    def dtype(self):
        return np.dtype(self._array.dtype) if self._element == U8 else self._floats

    @property
    def _floats(self):
        """The type of its values."""
        return _arrays.float_type(self._element)

    @property
    def T(self):
        """The transpose: the same memory and the same metadata."""
        other = Operand.__new__(Operand)
        other.__dict__.update(self.__dict__)
        other._lay(TRANS if self._trans == NO_TRANS else NO_TRANS)
        return other

    def __repr__(self):
        density = self.density
        known = "" if density is None else f", density={density:.3g}"
        return f"Operand({self.shape}, {self.dtype}{', sparse only' if self._array is None else ''}{known})"

    @property
    def density(self):
        """Fraction of nonzeros as last measured or attached; None: unknown."""
        density = library.lac_meta_density(self._meta.pointer)
        return None if density < 0 else density

    @property
    def generation(self):
        """Counts from 1; touch() begins a new one."""
        return library.lac_meta_generation(self._meta.pointer)

    @property
    def nbytes(self):
        """Bytes that the library holds for the metadata, derived formats included."""
        return library.lac_meta_bytes(self._meta.pointer)

    # What is known of its zeros --------------------------------------------------------------------------

    def scan(self, *formats):
        """Measures formats of the stored matrix ("density", the default; "csr", "csc", "bitmask", "active"). They stand for the
        contents only while the operand is frozen; otherwise they are a hint about cost."""
        bits = format_bits("formats", formats or ("density",))
        with self._context.lock:
            library.lac_meta_scan(self._context.pointer, self.obj(), bits)
        return self

    def freeze(self):
        """Promises that the contents stay as they are until touch(). Formats derived from them are made once and kept."""
        self._meta.freeze()
        return self

    def touch(self):
        """The contents changed, or are about to: nothing that was known before is used again."""
        self._meta.touch()
        return self

    def attach_csr(self, indptr, indices, data=None):
        """The caller's CSR of the stored matrix; it stands for the operand until touch(). The arrays are kept, not copied."""
        return self._attach("csr", indptr, indices, data)

    def attach_csc(self, indptr, indices, data=None):
        """The same with compressed columns."""
        return self._attach("csc", indptr, indices, data)

    def attach_ell(self, indices, data=None):
        """The same with as many entries in each row: indices, and data, are [rows, entries]."""
        idx, majors = read("indices", indices, self._context), self._stored[0]
        if idx.ndim != 2 or idx.shape[0] != majors or not idx.is_contiguous():
            raise ValueError(f"indices: expected a contiguous array of shape ({majors}, entries of each row)")
        val = None if data is None else read("data", data, self._context)
        if val is not None and (val.shape != idx.shape or val.dtype != self._floats or not val.is_contiguous()):
            raise ValueError(f"data: expected a contiguous {self._floats} array of shape {idx.shape}")
        with self._context.lock:
            library.lac_meta_attach_ell(self._meta.pointer, _arrays.index_type("indices", idx.dtype), idx.shape[1], idx.pointer,
                                        val.pointer if val else None)
        self._meta.attached["ell"] = (idx, val)
        return self

    def attach_event_bits(self, bits, first=0):
        """The events of this bool operand once more as bits, such as a LIFStep writes: bit (first + j) % 64 of word (first + j) // 64 of a row is
        column j. bits: [rows, words] uint64, or [words] of one row; read when a product runs, so that they may change between calls, as the array does."""
        words = self._events("bits", bits, np.uint64)
        with self._context.lock:
            library.lac_meta_attach_event_bits(self._meta.pointer, words.shape[-1], words.pointer, first)
        self._meta.attached["event_bits"] = (words,)
        return self

    def attach_event_lists(self, indices, counts, first=0):
        """The same as lists: the first counts[i] of row i of indices, less `first`, are the columns of its events, ascending. indices: [rows, length]
        int32, or [length] of one row; counts: [rows] int32."""
        idx, count = self._events("indices", indices, np.int32), self._events("counts", counts, np.int32, (self._stored[0],))
        with self._context.lock:
            library.lac_meta_attach_event_lists(self._meta.pointer, idx.shape[-1], idx.pointer, count.pointer, first)
        self._meta.attached["event_lists"] = (idx, count)
        return self

    def _events(self, name, x, dtype, shape=None):
        """An array of these extents; without them a row for each of the operand's."""
        if self._array is None or self._element != U8:
            raise TypeError(f"{name}: need an operand of bool events, in an array")
        array, rows = read(name, x, self._context), self._stored[0]
        fits = array.shape == shape if shape else array.shape[:-1] == ((rows,) if array.ndim == 2 else ()) and (array.ndim == 2 or (array.ndim == 1 and rows == 1))
        if not fits or array.dtype != dtype or not array.is_contiguous():
            raise ValueError(f"{name}: expected a contiguous {np.dtype(dtype)} array of {f'shape {shape}' if shape else f'{rows} rows'}")
        return array

    def attach_active(self, indices, values):
        """The ascending int32 columns where any row is nonzero; values[j] is the column indices[j], whole."""
        indices = place("indices", _arrays.vector("indices", indices, self._context.stream, np.int32), self._context)
        values = read("values", values, self._context)
        if values.shape != (indices.shape[0], self._stored[0]) or values.dtype != self._floats or not values.is_contiguous():
            raise ValueError(f"values: expected a contiguous {self._floats} array of shape {(indices.shape[0], self._stored[0])}")
        with self._context.lock:
            library.lac_meta_attach_active(self._meta.pointer, indices.shape[0], indices.pointer, values.pointer)
        self._meta.attached["active"] = (indices, values)
        return self

    def attach_bitmask(self, bits, values):
        """64-bit words, ceil(columns / 64) a row, bit (j % 64) of word j // 64 for column j; values packed by rows."""
        words = read("bits", bits, self._context)
        expected = (self._stored[0], -(-self._stored[1] // 64))
        if words.shape != expected or words.dtype != np.uint64 or not words.is_contiguous():
            raise ValueError(f"bits: expected a contiguous uint64 array of shape {expected}")
        values = place("values", _arrays.vector("values", values, self._context.stream, self._floats), self._context)
        if self._context.space == HOST:
            padded = np.frombuffer((ctypes.c_uint8 * (8 * words.size)).from_address(words.pointer), np.uint8) if words.size else ()
            count = int(np.unpackbits(padded).sum()) if words.size else 0
            if values.shape[0] != count:
                raise ValueError(f"values: has {values.shape[0]} elements; bits has {count} set")
        with self._context.lock:
            library.lac_meta_attach_bitmask(self._meta.pointer, words.pointer, values.pointer)
        self._meta.attached["bitmask"] = (words, values)
        return self

    @staticmethod
    def _matrix_values(x):
        """The values of a SciPy matrix; None: ones."""
        if x.format not in ("csr", "csc"):
            raise TypeError(f"x: is a sparse matrix in {x.format} format; expected csr or csc (x.tocsr())")
        data = x.data
        if data.dtype == np.bool_:
            if not bool(data.all()):
                raise ValueError("x: a bool matrix stands for ones, and has entries that are False (x.eliminate_zeros())")
            return None
        if data.dtype not in (np.float32, np.float64):
            raise TypeError(f"x: has dtype {data.dtype}; expected float32, float64, or bool for ones")
        return data

    def _attach(self, kind, indptr, indices, data):
        context, majors = self._context, self._stored[0 if kind == "csr" else 1]
        ptr = place("indptr", _arrays.vector("indptr", indptr, context.stream, indices=True, length=majors + 1), context)
        idx = place("indices", _arrays.vector("indices", indices, context.stream, indices=True), context)
        if idx.dtype != ptr.dtype:
            raise TypeError(f"indices: has dtype {idx.dtype}, and indptr {ptr.dtype}; expected the same")
        if context.space == HOST:  # an array that is too short would be read past its end
            count = int(ctypes.cast(ptr.pointer, ctypes.POINTER(ctypes.c_int64 if ptr.dtype == np.int64 else ctypes.c_int32))[majors])
            if count > idx.shape[0]:
                raise ValueError(f"indices: has {idx.shape[0]} elements; indptr[{majors}] is {count}")
        val = None
        if data is not None:
            val = place("data", _arrays.vector("data", data, context.stream, self._floats), context)
            if val.shape[0] != idx.shape[0]:
                raise ValueError(f"data: has {val.shape[0]} elements; indices has {idx.shape[0]}")
        attach = library.lac_meta_attach_csr if kind == "csr" else library.lac_meta_attach_csc
        with context.lock:
            attach(self._meta.pointer, _arrays.index_type("indptr", ptr.dtype), ptr.pointer, idx.pointer, val.pointer if val else None)
        self._meta.attached[kind] = (ptr, idx, val)
        return self

    # What leaves it --------------------------------------------------------------------------------------

    def format_view(self, kind):
        """lac_format_view_t of the format that stands for the contents; ArgumentError where none does."""
        view = FormatView()
        library.lac_meta_view(self._meta.pointer, FORMATS[kind], ctypes.byref(view))
        return view

    @property
    def nnz(self):
        """Entries of the CSR or CSC that stands for the contents; ArgumentError where neither does."""
        try:
            return self.format_view("csr").count
        except ValueError:
            return self.format_view("csc").count

    def to_scipy(self):
        """The operand as a scipy.sparse.csr_array, a copy. What stands for its contents is converted; an array without such a
        format is scanned, of its contents now."""
        import scipy.sparse
        if self._context.space == DEVICE:
            raise ValueError("to_scipy: the operand lies on a device")
        kind = "csr" if self._trans == NO_TRANS else "csc"
        source = self
        try:
            with self._context.lock:
                library.lac_meta_convert(self._context.pointer, self.obj(), FORMATS[kind])
        except ValueError:
            if self._array is None:
                raise
            source = Operand.__new__(Operand)
            source._start(self._context, self._stored, self._array, self._element)
            source.scan(kind).freeze()
        view = source.format_view(kind)
        majors = self.shape[0]

        def copied(pointer, kind, count):
            return np.ctypeslib.as_array((kind * count).from_address(pointer)).copy() if count else np.empty(0, kind)

        number = ctypes.c_double if self._floats == np.float64 else ctypes.c_float
        values = copied(view.val, number, view.count) if view.val else np.ones(view.count, self._floats)
        return scipy.sparse.csr_array((values, copied(view.idx, ctypes.c_int32, view.count),
                                       copied(view.ptr, ctypes.c_int64, majors + 1).astype(np.int32)), shape=self.shape)

    def to_dense(self, out=None):
        """The operand as a dense array of its values' type (events: float32), zeros included."""
        out = self._context.empty(self.shape, self._floats) if out is None else out
        target = read("out", out, self._context)
        with self._context.lock:
            library.lac_to_dense(self._context.pointer, self.obj(), matrix_obj("out", target, self.shape, self._floats))
        return out

    # Drop-in calls ---------------------------------------------------------------------------------------

    def register(self):
        """Drop-in calls (NumPy's own product under `lacuna run`) that bring this array use this metadata, until unregister().
        The operand must be frozen, or have an attached format, and stay as it is."""
        with self._context.lock:
            library.lac_register(self._context.pointer, self.obj())
        self._registered = weakref.finalize(self._meta, library.lac_unregister, self._array.pointer)
        self._registered.atexit = False
        return self

    def unregister(self):
        library.lac_unregister(self._array.pointer if self._array else None)
        if self._registered:
            self._registered.detach()
            self._registered = None
        return self

    def obj(self):
        """The view that the C library takes."""
        return self._view


def _values_type(name, dtype):
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise TypeError(f"{name}: has dtype {dtype}; expected float32 or float64")
    return F64 if np.dtype(dtype) == np.float64 else F32


def as_operand(name, x, context, dtype=np.float32):
    """An Operand or a matrix of SciPy as an Operand that the context can use; arrays as None. dtype: of ones."""
    if isinstance(x, np.ndarray):
        return None
    if isinstance(x, Operand):
        if x._context.space != context.space:
            where = ("the host", "a device")
            raise ValueError(f"{name}: lies on {where[x._context.space]}, the context computes on {where[context.space]}")
        return x
    if is_sparse_matrix(x):
        try:
            return Operand(x, dtype=dtype, context=context)
        except (ValueError, TypeError) as error:
            raise type(error)(*_renamed(name, error)) from None
    return None


def _renamed(name, error):
    """The arguments of the same error, said of the call's own argument."""
    text = str(error)
    text = f"{name}{text[1:]}" if text.startswith("x:") else f"{name}: {text}"
    return (text, error.status) if hasattr(error, "status") else (text,)


def matrix_obj(name, array, shape, dtype, writable=True):
    """The view of an output of this shape and type."""
    if array.shape != tuple(shape):
        raise ValueError(f"{name}: has shape {array.shape}; expected {tuple(shape)}")
    if array.dtype != dtype:
        raise TypeError(f"{name}: has dtype {array.dtype}; expected {np.dtype(dtype)}")
    if writable and not array.writable:
        raise ValueError(f"{name}: is read-only")
    return Obj(_arrays.element_type(name, array.dtype), array.space, NO_TRANS, *array.shape, *array.strides, array.pointer, None)

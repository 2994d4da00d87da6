# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""liblacuna as Python sees it: where it lies, its structs and functions as include/lacuna declares them, its errors.

The declarations are a copy of the headers; tests/python/test_declarations.py holds the two together."""
import ctypes
import os
import pathlib
import sys
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint, c_uint64, c_void_p

HOST, DEVICE = 0, 1
NO_TRANS, TRANS = 0, 1
F32, U8, F64, F16, BF16 = 0, 1, 2, 3, 4
I32, I64 = 0, 1
OK = 0
FORMATS = {"density": 0x01, "bitmask": 0x02, "csr": 0x04, "csc": 0x08, "active": 0x10}
ACTIVATIONS = {None: 0, "relu": 1, "threshold": 2, "magnitude": 3}
CANDIDATES_MAX, LIF_INPUTS_MAX = 24, 8
STREAM_NEW = c_void_p(-1).value


class Error(RuntimeError):
    """A call of the library failed; str() is the library's message, which begins with the argument's name in C.

    status: the code of lacuna/types.h. In C the third matrix of a product is c; here it is out."""

    def __init__(self, message, status=None):
        super().__init__(message)
        self.status = status


class ArgumentError(Error, ValueError):
    """An argument is wrong: its extents, strides, place, overlap, value, or the rules of its sparse format."""


class ElementTypeError(Error, TypeError):
    """An element type, or a combination of them, is not supported."""


class OutOfMemoryError(Error, MemoryError):
    """Out of memory, on the host or the device."""


class UnavailableError(Error):
    """No device, no CUDA backend, or a vendor library that cannot be found."""


class FileError(Error, OSError):
    """A file could not be read or written."""


# lac_status_t, by code: the name of the constant and the exception. Other codes: Error.
STATUSES = {
    "LAC_ERR_NULL": (10, ArgumentError), "LAC_ERR_EXTENT": (11, ArgumentError), "LAC_ERR_STRIDE": (12, ArgumentError),
    "LAC_ERR_ALIAS": (13, ArgumentError), "LAC_ERR_TYPE": (14, ElementTypeError), "LAC_ERR_VALUE": (15, ArgumentError),
    "LAC_ERR_SPACE": (16, ArgumentError), "LAC_ERR_SPARSE": (20, ArgumentError), "LAC_ERR_STALE": (21, ArgumentError),
    "LAC_ERR_EMPTY": (22, ArgumentError), "LAC_ERR_MEMORY": (30, OutOfMemoryError),
    "LAC_ERR_UNAVAILABLE": (40, UnavailableError), "LAC_ERR_VENDOR": (41, Error), "LAC_ERR_TIMEOUT": (42, Error), "LAC_ERR_ABORTED": (43, Error),
    "LAC_ERR_IO": (50, FileError),
    "LAC_ERR_INTERNAL": (90, Error),
}
_EXCEPTIONS = dict(STATUSES.values())


class Obj(ctypes.Structure):
    """lac_obj_t"""
    _fields_ = [("dt", c_int), ("space", c_int), ("trans", c_int), ("m", c_int64), ("n", c_int64), ("rs", c_int64),
                ("cs", c_int64), ("buf", c_void_p), ("meta", c_void_p)]


class CandidateStruct(ctypes.Structure):
    """lac_candidate_t"""
    _fields_ = [("route", c_char_p), ("side", c_char_p), ("refusal", c_char_p), ("cost_us", c_double), ("bytes", c_size_t)]


class DecisionStruct(ctypes.Structure):
    """lac_decision_t"""
    _fields_ = [("route", c_char_p), ("side", c_char_p), ("reason", c_char_p), ("known", c_char_p), ("density", c_double),
                ("cost_us", c_double), ("dense_us", c_double), ("break_even", c_double), ("count", c_int), ("candidate", CandidateStruct * CANDIDATES_MAX)]


class CallOpts(ctypes.Structure):
    """lac_call_opts_t"""
    _fields_ = [("size", c_size_t), ("route", c_char_p), ("decision", POINTER(DecisionStruct)), ("symbol", c_char_p),
                ("caller", c_void_p), ("may_decline", c_int), ("declined", c_int), ("scalars", c_int), ("skip", c_int),
                ("density_limit", c_double), ("density", c_double)]


class Epilogue(ctypes.Structure):
    """lac_epilogue_t"""
    _fields_ = [("size", c_size_t), ("bias", c_void_p), ("bias_per_row", c_int), ("act", c_int), ("threshold", c_double),
                ("formats", c_uint)]


class SliceOpts(ctypes.Structure):
    """lac_slice_opts_t"""
    _fields_ = [("size", c_size_t), ("val", c_void_p), ("homogeneous", c_int), ("zero_rows", c_int)]


class FormatView(ctypes.Structure):
    """lac_format_view_t"""
    _fields_ = [("count", c_int64), ("ptr", c_void_p), ("idx", c_void_p), ("val", c_void_p), ("bits", c_void_p)]


class LifInput(ctypes.Structure):
    """lac_lif_input_t"""
    _fields_ = [("events", Obj), ("w", Obj), ("weight", c_float), ("decay", c_float), ("conductance", c_int), ("reversal", c_float), ("g", c_void_p),
                ("received", c_void_p)]


class Lif(ctypes.Structure):
    """lac_lif_t"""
    _fields_ = [("size", c_size_t), ("m", c_int64), ("n", c_int64), ("dt", c_float), ("tau", c_float), ("v_rest", c_float), ("v_threshold", c_float),
                ("v_reset", c_float), ("refractory", c_int32), ("current", c_void_p), ("v", c_void_p), ("wait", c_void_p), ("spikes", c_void_p),
                ("bits", c_void_p), ("list", c_void_p), ("count", c_void_p), ("inputs", c_int), ("input", POINTER(LifInput)),
                ("spikes_twin", c_void_p), ("bits_twin", c_void_p)]


STRUCTS = {"lac_obj_t": Obj, "lac_candidate_t": CandidateStruct, "lac_decision_t": DecisionStruct, "lac_call_opts_t": CallOpts,
           "lac_epilogue_t": Epilogue, "lac_slice_opts_t": SliceOpts, "lac_format_view_t": FormatView, "lac_lif_input_t": LifInput, "lac_lif_t": Lif}

InfoFn = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)
_scalar, _obj = c_void_p, POINTER(Obj)


class Status(c_int):
    """lac_status_t: a call with this result raises where it is not LAC_OK."""


def raise_failure(status):
    """Raises what a status other than LAC_OK stands for. lac_last_error is the calling thread's own."""
    text = library.lac_last_error() or library.lac_status_text(status)
    raise _EXCEPTIONS.get(status, Error)(text.decode(errors="replace"), status)


def _check(status, _function, _arguments):
    """The errcheck of every function that returns a status."""
    if status.value != OK:
        raise_failure(status.value)


# Every function that this package calls: its result, then its arguments.
FUNCTIONS = {
    "lac_version": (c_char_p,),
    "lac_status_text": (c_char_p, Status),
    "lac_last_error": (c_char_p,),
    "lac_ctx_create": (Status, POINTER(c_void_p)),
    "lac_ctx_create_cuda": (Status, POINTER(c_void_p), c_int, c_void_p),
    "lac_ctx_free": (None, c_void_p),
    "lac_ctx_set": (Status, c_void_p, c_char_p, c_char_p),
    "lac_ctx_info": (Status, c_void_p, InfoFn, c_void_p),
    "lac_ctx_bytes": (c_size_t, c_void_p),
    "lac_tune": (Status, c_void_p, c_char_p, InfoFn, c_void_p),
    "lac_gemm_epilogue": (Status, c_void_p, _scalar, _obj, _obj, _scalar, _obj, POINTER(Epilogue), POINTER(CallOpts)),
    "lac_gemm_ex": (Status, c_void_p, _scalar, _obj, _obj, _scalar, _obj, POINTER(CallOpts)),
    "lac_gemm_batched": (Status, c_void_p, c_int64, _scalar, _obj, c_int64, _obj, c_int64, _scalar, _obj, c_int64),
    "lac_gemm_batched_array": (Status, c_void_p, c_int64, _scalar, _obj, c_int64, _obj, c_int64, _scalar, _obj),
    "lac_explain": (Status, c_void_p, _scalar, _obj, _obj, _scalar, _obj, POINTER(CallOpts), POINTER(DecisionStruct)),
    "lac_meta_create": (Status, POINTER(c_void_p), c_int64, c_int64),
    "lac_meta_create_for": (Status, c_void_p, POINTER(c_void_p), c_int64, c_int64),
    "lac_meta_set_type": (Status, c_void_p, c_int),
    "lac_meta_free": (None, c_void_p),
    "lac_meta_scan": (Status, c_void_p, _obj, c_uint),
    "lac_meta_convert": (Status, c_void_p, _obj, c_uint),
    "lac_meta_view": (Status, c_void_p, c_uint, POINTER(FormatView)),
    "lac_meta_attach_csr": (Status, c_void_p, c_int, c_void_p, c_void_p, c_void_p),
    "lac_meta_attach_csc": (Status, c_void_p, c_int, c_void_p, c_void_p, c_void_p),
    "lac_meta_attach_ell": (Status, c_void_p, c_int, c_int64, c_void_p, c_void_p),
    "lac_meta_attach_event_bits": (Status, c_void_p, c_int64, c_void_p, c_int64),
    "lac_meta_attach_event_lists": (Status, c_void_p, c_int64, c_void_p, c_void_p, c_int64),
    "lac_meta_attach_active": (Status, c_void_p, c_int64, c_void_p, c_void_p),
    "lac_meta_attach_bitmask": (Status, c_void_p, c_void_p, c_void_p),
    "lac_meta_freeze": (Status, c_void_p),
    "lac_meta_touch": (Status, c_void_p),
    "lac_meta_density": (c_double, c_void_p),
    "lac_meta_generation": (c_uint64, c_void_p),
    "lac_meta_bytes": (c_size_t, c_void_p),
    "lac_register": (Status, c_void_p, _obj),
    "lac_unregister": (Status, c_void_p),
    "lac_to_dense": (Status, c_void_p, _obj, _obj),
    "lac_slice_rows": (Status, c_void_p, _obj, c_int, c_int64, c_void_p, _obj, POINTER(SliceOpts)),
    "lac_slice_rows_grad": (Status, c_void_p, _obj, c_int, c_int64, c_void_p, _obj, c_void_p, POINTER(SliceOpts)),
    "lac_slice_rows_count": (Status, c_void_p, _obj, c_int, c_int64, c_void_p, c_int, c_void_p, POINTER(SliceOpts)),
    "lac_slice_rows_csr": (Status, c_void_p, _obj, c_int, c_int64, c_void_p, c_int, c_void_p, c_void_p, c_void_p, POINTER(SliceOpts)),
    "lac_sddmm": (Status, c_void_p, _scalar, _obj, _obj, _scalar, _obj, c_void_p),
    "lac_lif_step": (Status, c_void_p, POINTER(Lif)),
    "lac_device_alloc": (Status, c_void_p, c_size_t, POINTER(c_void_p)),
    "lac_device_free": (Status, c_void_p, c_void_p),
    "lac_device_upload": (Status, c_void_p, c_void_p, c_void_p, c_size_t),
    "lac_device_download": (Status, c_void_p, c_void_p, c_void_p, c_size_t),
    "lac_device_wait": (Status, c_void_p),
    "lac_device_stream": (c_void_p, c_void_p),
}

NAME = "liblacuna.so.0"


def packaged(name):
    """The path of a file that came with the package; None where it is not there. An editable install has two folders."""
    places = (pathlib.Path(folder).resolve() / name for folder in sys.modules[__package__].__path__)
    return next((path for path in places if path.is_file()), None)


def library_path():
    """LACUNA_LIBRARY; otherwise the library that came with the package; otherwise what the loader finds by its name."""
    return os.environ.get("LACUNA_LIBRARY") or str(packaged(f"lib/{NAME}") or NAME)


def _load():
    path = library_path()
    try:
        loaded = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"lacuna_blas found no library: {error} (LACUNA_LIBRARY may name the file {NAME})") from error
    for name, (result, *arguments) in FUNCTIONS.items():
        try:
            function = getattr(loaded, name)
        except AttributeError:
            raise ImportError(f"{path} has no {name}: it is of another version than this package") from None
        function.restype, function.argtypes = result, arguments
        if result is Status:
            function.errcheck = _check
    return loaded


library = _load()


def without_check(name):
    """The same function again, which returns its status as a number and raises nothing; pointers go in as addresses or by reference."""
    function = ctypes.CDLL(library._name)[name]
    function.restype, function.argtypes = c_int, [c_void_p if issubclass(kind, ctypes._Pointer) else kind for kind in FUNCTIONS[name][1:]]
    return function

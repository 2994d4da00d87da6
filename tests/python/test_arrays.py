# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of other libraries: what they say of their memory is used where it lies, and what cannot be used is refused."""
import sys
import unittest

import numpy as np

from lacuna_blas import _arrays, matmul
from python_case import assert_product, sparse


class ByDlpack:
    """An array that speaks DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class ByInterface:
    """An array that has the array interface and nothing else."""

    def __init__(self, array):
        self.array, self.__array_interface__ = array, array.__array_interface__


class OnDevice:
    """What a CUDA array says of itself; the address is never read."""

    def __init__(self, **changes):
        self.__cuda_array_interface__ = {"shape": (3, 4), "typestr": "<f4", "data": (4096, False), "version": 3, "strides": (32, 8),
                                         "stream": None, **changes}


class Arrays(unittest.TestCase):
    def test_other_arrays_are_used_where_they_lie(self):
        a, b = sparse(1, 20, 60)[:, ::2], sparse(2, 40, 30).T
        for wrap in (ByDlpack, ByInterface):
            with self.subTest(protocol=wrap.__name__):
                seen = _arrays.view("a", wrap(a))
                self.assertEqual((seen.pointer, seen.shape, seen.strides, seen.dtype),
                                 (a.ctypes.data, a.shape, tuple(s // 4 for s in a.strides), a.dtype))
                out = np.empty((20, 40), np.float32)
                returned = matmul(wrap(a), wrap(b), wrap(out))
                self.assertIs(returned.array, out)
                assert_product(out, a, b)

    def test_dlpack_bools_are_events(self):
        if np.lib.NumpyVersion(np.__version__) < "1.25.0":
            self.skipTest("this NumPy exports no bool by DLPack")
        a, b = sparse(3, 20, 30) != 0, sparse(4, 30, 10)
        assert_product(matmul(ByDlpack(a), b), a, b)

    def test_the_memory_outlives_its_array(self):
        """The capsule of DLPack is given back, not leaked: the array's last reference goes with the call's."""
        a = sparse(5, 20, 30)
        before = sys.getrefcount(a)
        seen = _arrays.view("a", ByDlpack(a))
        self.assertGreater(sys.getrefcount(a), before)
        del seen
        self.assertEqual(sys.getrefcount(a), before)

    def test_cuda_array_interface(self):
        seen = _arrays.view("a", OnDevice())
        self.assertEqual((seen.pointer, seen.shape, seen.strides, seen.space), (4096, (3, 4), (8, 2), 1))
        self.assertEqual(_arrays.view("a", OnDevice(strides=None)).strides, (4, 1))
        self.assertFalse(_arrays.view("a", OnDevice(data=(4096, True))).writable)
        self.assertEqual(_arrays.view("a", OnDevice(stream=77), 77).pointer, 4096)
        self.assertEqual(_arrays.view("a", OnDevice(stream=1), 0).pointer, 4096)

    def test_refusals(self):
        for kind, message, x in (
                (ValueError, "a: is queued on stream 77", OnDevice(stream=77)),
                (TypeError, "a: has a mask", OnDevice(mask=object())),
                (ValueError, "a: its strides", OnDevice(strides=(30, 2))),
                (TypeError, "a: is a dict", {})):
            with self.subTest(message=message), self.assertRaisesRegex(kind, f"^{message}"):
                _arrays.view("a", x, 0)

        class Elsewhere(ByDlpack):
            def __dlpack_device__(self):
                return 8, 0

        class Refusing(ByDlpack):
            def __dlpack__(self, **_):
                raise BufferError("not today")

        with self.assertRaisesRegex(TypeError, "^a: lies on a device of DLPack's type 8"):
            _arrays.view("a", Elsewhere(np.zeros(3)))
        with self.assertRaisesRegex(TypeError, "^a: does not let its memory be read: not today"):
            _arrays.view("a", Refusing(np.zeros(3)))
        with self.assertRaisesRegex(ValueError, "^a: lies on a device, the context computes on the host"):
            from lacuna_blas import Context
            matmul(OnDevice(), np.zeros((4, 2), np.float32), context=Context())


if __name__ == "__main__":
    sys.exit(unittest.main())

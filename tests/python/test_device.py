# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""The package's way with devices: on a real one where LACUNA_LIBRARY finds one, otherwise on the stub whose memory is the host's."""
import sys
import threading
import unittest

import numpy as np

import lacuna_blas
from lacuna_blas import Operand, matmul
from python_case import assert_product, skip, sparse

try:
    CONTEXT = lacuna_blas.Context("cuda", stream="new")
except lacuna_blas.UnavailableError as error:
    skip(str(error))


class Device(unittest.TestCase):
    def test_products(self):
        a, b = sparse(1, 20, 70), sparse(2, 70, 30, density=1.0)
        first, second = CONTEXT.asarray(a), CONTEXT.asarray(b)
        out = matmul(first, second, context=CONTEXT)
        self.assertIsInstance(out, lacuna_blas.DeviceArray)
        assert_product(out.numpy(), a, b)
        self.assertIs(matmul(first, second, out, alpha=2.0), out)  # the context of its operands
        assert_product(out.numpy(), a, b, alpha=2.0)
        CONTEXT.wait()

    def test_bias(self):
        a, b, bias = sparse(1, 20, 70), sparse(2, 70, 30, density=1.0), sparse(3, 30, density=1.0)
        try:
            got = matmul(CONTEXT.asarray(a), CONTEXT.asarray(b), bias=CONTEXT.asarray(bias))
        except lacuna_blas.UnavailableError as error:
            self.skipTest(str(error))  # the stub
        assert_product(got.numpy(), a, b, add=bias)

    def test_doubles(self):
        a, b = sparse(1, 20, 70).astype(np.float64), sparse(2, 70, 30, density=1.0).astype(np.float64)
        try:
            got = matmul(CONTEXT.asarray(a), CONTEXT.asarray(b), alpha=0.1)
        except lacuna_blas.UnavailableError as error:
            self.skipTest(str(error))  # the stub
        self.assertEqual(got.dtype, np.float64)
        np.testing.assert_allclose(got.numpy(), 0.1 * (a @ b), rtol=1e-12, atol=1e-14)

    def test_operands(self):
        a, b = sparse(4, 20, 70), sparse(5, 70, 30, density=1.0)
        rows, columns = np.nonzero(a)
        ptr = np.searchsorted(rows, np.arange(21)).astype(np.int32)
        arrays = [CONTEXT.asarray(x) for x in (ptr, columns.astype(np.int32), a[rows, columns])]
        operand = Operand.from_csr((20, 70), *arrays, context=CONTEXT)
        self.assertAlmostEqual(operand.density, len(rows) / a.size)
        frozen = Operand(CONTEXT.asarray(a), context=CONTEXT).scan("density").freeze()
        assert_product(matmul(frozen, CONTEXT.asarray(b)).numpy(), a, b)

    def test_places(self):
        a = sparse(6, 20, 20)
        there = CONTEXT.asarray(a)
        for message, call in (
                ("b: lies on the host, the context computes on a device", lambda: matmul(there, a)),
                ("a: lies on a device, the context computes on the host", lambda: matmul(there, a, context=lacuna_blas.Context())),
                ("a: lies on the host, the context computes on a device", lambda: matmul(Operand(a), there, context=CONTEXT)),
                ("bias: lies on the host", lambda: matmul(there, there, bias=a[0].copy())),
                ("stream: a context on the host has none", lambda: lacuna_blas.Context(stream=1))):
            with self.subTest(message=message), self.assertRaisesRegex(ValueError, f"^{message}"):
                call()

    def test_arrays(self):
        x = np.arange(12, dtype=np.int64).reshape(3, 4)
        there = CONTEXT.asarray(x)
        face = there.__cuda_array_interface__
        self.assertEqual((face["shape"], face["typestr"], face["strides"], face["version"]), ((3, 4), x.dtype.str, None, 3))
        np.testing.assert_array_equal(there.numpy(), x)
        self.assertEqual(CONTEXT.empty((0, 3)).numpy().shape, (0, 3))

    def test_memory_is_given_back_from_any_thread(self):
        there = [CONTEXT.asarray(sparse(7, 50, 50)) for _ in range(20)]
        thread = threading.Thread(target=there.clear)
        thread.start()
        thread.join()
        self.assertEqual(there, [])


if __name__ == "__main__":
    sys.exit(unittest.main())

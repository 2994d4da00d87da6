# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""float64, NumPy's own type, on the host: products, operands, slices, samples, with float64's accuracy; and what does not mix."""
import sys
import unittest

import numpy as np

from lacuna_blas import Operand, explain, matmul, sddmm, slice_rows, slice_rows_grad
from python_case import sparse, ElementCase

try:
    import scipy.sparse
except ImportError:
    scipy = None


def doubles(seed, *shape, density=0.1):
    """Values that float32 does not have, but for zeros."""
    random = np.random.default_rng(seed)
    return random.standard_normal(shape) * (random.random(shape) < density)


def csr_of(a):
    rows, columns = np.nonzero(a)
    return np.searchsorted(rows, np.arange(a.shape[0] + 1)).astype(np.int32), columns.astype(np.int32), a[rows, columns]


class Doubles(ElementCase):
    def test_products(self):
        for density in (0.02, 1.0):
            for first, second in (((7, 50), (50, 9)), ((50,), (50, 9)), ((7, 50), (50,)), ((50,), (50,)), ((2, 3, 7, 50), (50, 9)),
                                  ((3, 7, 50), (3, 50, 9)), ((2, 1, 7, 50), (4, 50, 9)), ((0, 50), (50, 9)), ((7, 0), (0, 9)), ((64, 3000), (3000, 40))):
                with self.subTest(a=first, b=second, density=density):
                    a, b = doubles(1, *first, density=density), doubles(2, *second, density=0.5)
                    self.product(matmul(a, b), a, b)
        self.assertIsInstance(matmul(np.ones(3), np.ones(3)), np.float64)

    def test_every_route(self):
        a, b = doubles(3, 30, 100, density=0.05), doubles(4, 100, 40, density=1.0)
        known = Operand(a).scan("density")  # machines with many threads would not look for zeros in so little
        routes = [each.route for each in explain(known, b).candidates if each.refusal is None]
        self.assertIn("event", routes)
        for route in routes:
            self.product(matmul(known, b, route=route), a, b)

    def test_scalars_bias_and_strides(self):
        a, b, c = doubles(5, 20, 30), doubles(6, 30, 40), doubles(7, 20, 40, density=1.0)
        out = c.copy()
        self.assertIs(matmul(a, b, out, alpha=1 / 3, beta=0.1), out)
        self.product(out, a, b, add=np.longdouble(0.1) * c, alpha=1 / 3)
        bias = doubles(8, 40, density=1.0)
        got = matmul(np.asfortranarray(a)[::2], b, bias=bias, activation="relu")
        np.testing.assert_allclose(got, np.maximum(a[::2] @ b + bias, 0), rtol=0, atol=1e-13)
        stacked = np.stack([c, c])
        matmul(np.stack([a, a]), np.stack([b, 2 * b]), stacked, alpha=3.0, beta=1.0)
        self.product(stacked[1], a, 2 * b, add=c, alpha=3.0)

    def test_events(self):
        spikes, weights = sparse(9, 9, 200, density=0.03) != 0, doubles(10, 200, 30, density=1.0)
        self.product(matmul(spikes, weights), spikes, weights)
        out = np.empty((9, 9))
        matmul(spikes, spikes.T, out)  # of events alone, the output says the type
        np.testing.assert_array_equal(out, spikes.astype(float) @ spikes.T)
        self.assertEqual(matmul(spikes, spikes.T).dtype, np.float32)

    def test_operands(self):
        a, b = doubles(11, 20, 70), doubles(12, 70, 30, density=1.0)
        frozen = Operand(b).freeze()
        for _ in range(3):
            self.product(matmul(a, frozen), a, b)
        ptr, idx, val = csr_of(a)
        words = np.zeros((20, 2), np.uint64)
        for i, j in zip(*np.nonzero(a)):
            words[i, j // 64] |= np.uint64(1) << np.uint64(j % 64)
        active = np.flatnonzero(a.any(axis=0)).astype(np.int32)
        for attach in (lambda o: o.attach_csr(ptr, idx, val), lambda o: o.attach_csc(*csr_of(a.T.copy())),
                       lambda o: o.attach_bitmask(words, val), lambda o: o.attach_active(active, np.ascontiguousarray(a[:, active].T)),
                       lambda o: o.scan("csr").freeze()):
            operand = Operand(a)
            attach(operand)
            self.product(matmul(operand, b), a, b)
            self.product(operand.to_dense(), a, np.eye(70))
        alone = Operand.from_csr((20, 70), ptr, idx, val)
        self.assertEqual((alone.dtype, alone.T.dtype), (np.float64, np.float64))
        self.product(matmul(alone, b), a, b)
        self.product(matmul(alone.T, matmul(alone, b)), a.T, matmul(alone, b))
        self.product(matmul(Operand.from_csr((20, 70), ptr, idx, dtype=float), b), a != 0, b)
        hidden = Operand(np.empty((20, 30)))
        matmul(a, b, hidden, activation="relu", formats="csr")
        want = np.maximum(np.asarray(a, np.longdouble) @ np.asarray(b, np.longdouble), 0)
        self.assertTrue(np.all(np.abs(matmul(hidden, np.eye(30)) - want) <= 110 * np.finfo(float).eps * (np.abs(a) @ np.abs(b))))

    @unittest.skipUnless(scipy, "needs SciPy")
    def test_scipy(self):
        a, b = doubles(13, 40, 60), doubles(14, 60, 8, density=1.0)
        for matrix in (scipy.sparse.csr_array(a), scipy.sparse.csc_array(a), scipy.sparse.csr_matrix(a)):
            self.product(matmul(matrix, b), a, b)
            self.product(matmul(matrix.T, matmul(matrix, b)), a.T, matmul(matrix, b))
        self.product(matmul(scipy.sparse.csr_array(a != 0), b), a != 0, b)
        back = Operand(a).to_scipy()
        self.assertEqual(back.dtype, np.float64)
        np.testing.assert_array_equal(back.toarray(), a)
        picked = slice_rows(scipy.sparse.csr_array(a), [3, 3, 0], format="csr")
        np.testing.assert_array_equal(picked.toarray(), a[[3, 3, 0]])

    def test_slices_and_samples(self):
        a = doubles(15, 12, 30, density=0.3)
        operand, rows = Operand.from_csr((12, 30), *csr_of(a)), np.array([4, 0, 4, 11])
        np.testing.assert_array_equal(slice_rows(operand, rows), a[rows])
        own = doubles(16, operand.nnz, density=1.0)
        values = a.copy()
        values[np.nonzero(a)] = own
        np.testing.assert_array_equal(slice_rows(operand, rows, values=own), values[rows])
        grad = doubles(17, 4, 30, density=1.0)
        want = np.zeros_like(a)
        np.add.at(want, rows, grad)
        np.testing.assert_allclose(slice_rows_grad(operand, rows, grad), want[np.nonzero(a)], rtol=0, atol=1e-14)
        x, y = doubles(18, 12, 9, density=1.0), doubles(19, 9, 30, density=1.0)
        np.testing.assert_allclose(sddmm(x, y, operand, alpha=1 / 3), (x @ y)[np.nonzero(a)] / 3, rtol=0, atol=1e-13)

    def test_types_do_not_mix(self):
        a, b = doubles(20, 4, 5), doubles(21, 5, 6)
        single, ptr = b.astype(np.float32), csr_of(a)
        for message, call in (("a, b: have dtypes float64 and float32", lambda: matmul(a, single)),
                              ("a, b: have dtypes float32 and float64", lambda: matmul(single.T, Operand(b[:, :4]))),
                              ("a, b: have dtypes", lambda: explain(Operand.from_csr((4, 5), *ptr), single)),
                              ("out: has dtype float32; expected float64", lambda: matmul(a, b, np.empty((4, 6), np.float32))),
                              ("out: has dtype float64; expected float32", lambda: matmul(a.astype("f4"), single, np.empty((4, 6)))),
                              ("bias: has dtype float32; expected float64", lambda: matmul(a, b, bias=np.zeros(6, np.float32))),
                              ("data: has dtype float32; expected float64", lambda: Operand(a).attach_csr(*ptr[:2], ptr[2].astype("f4"))),
                              ("data: has dtype int64", lambda: Operand.from_csr((4, 5), *ptr[:2], ptr[2].astype(int))),
                              ("dtype: has dtype", lambda: Operand.from_csr((4, 5), *ptr[:2], dtype=np.float16)),
                              ("a: has dtype float16", lambda: matmul(a.astype(np.float16), b))):
            with self.subTest(message=message), self.assertRaisesRegex(TypeError, f"^{message}"):
                call()


if __name__ == "__main__":
    sys.exit(unittest.main())

# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Matrices of SciPy in and out: products, row slices with their gradient, sampled products."""
import sys
import unittest

import numpy as np

import lacuna_blas
from lacuna_blas import Operand, matmul, sddmm, slice_rows, slice_rows_grad
from python_case import assert_product, skip, sparse

try:
    import scipy.sparse as sp
except ImportError:
    skip("needs SciPy (Debian: python3-scipy)")


class Scipy(unittest.TestCase):
    def setUp(self):
        self.dense = sparse(1, 40, 60, density=0.1)
        self.csr = sp.csr_matrix(self.dense)

    def test_products(self):
        b = sparse(2, 60, 30, density=1.0)
        for a in (self.csr, self.csr.tocsc(), sp.csr_array(self.dense)):
            assert_product(matmul(a, b), self.dense, b)
            assert_product(matmul(b.T.copy(), a.T), b.T, self.dense.T)
        assert_product(matmul(self.csr, b[:, 0].copy()), self.dense, b[:, 0])
        assert_product(matmul(self.csr.astype(bool), b), self.dense != 0, b)
        wide = self.csr.copy()
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        assert_product(matmul(wide, b), self.dense, b)

    def test_no_copy(self):
        operand = Operand(self.csr)
        self.csr.data *= 3  # the operand's own values, changed under it
        assert_product(operand.to_dense(), np.eye(40), 3 * self.dense)

    def test_refusals(self):
        b = sparse(2, 60, 30)
        unsorted = sp.csr_matrix((np.ones(2, np.float32), np.array([3, 1], np.int32), np.array([0] + 40 * [2], np.int32)), shape=(40, 60))
        for kind, message, a in ((TypeError, "a: is a sparse matrix in coo format", self.csr.tocoo()),
                                 (TypeError, "a: has dtype int32", self.csr.astype(np.int32)),
                                 (lacuna_blas.ArgumentError, "a: idx", unsorted)):
            with self.subTest(message=message), self.assertRaisesRegex(kind, f"^{message}"):
                matmul(a, b)

    def test_to_scipy(self):
        for operand, want in ((Operand(self.dense), self.dense), (Operand(self.csr), self.dense), (Operand(self.csr).T, self.dense.T),
                              (Operand(self.dense).freeze(), self.dense), (Operand(self.dense != 0), self.dense != 0)):
            got = operand.to_scipy()
            self.assertEqual(got.format, "csr")
            np.testing.assert_array_equal(got.toarray(), want)
        self.assertIsNone(Operand(self.dense).density)  # only asked, nothing promised

    def test_slices(self):
        rows = [3, 39, 3, 0]
        for source in (self.csr, Operand(self.csr), Operand(self.dense).freeze()):
            for kind in (np.int32, np.int64):
                got = slice_rows(source, np.array(rows, kind))
                np.testing.assert_array_equal(got, self.dense[rows])
        np.testing.assert_array_equal(slice_rows(Operand(self.csr).T, [5, 1]), self.dense.T[[5, 1]])
        out = np.empty((4, 60), np.float32)
        self.assertIs(slice_rows(self.csr, rows, out=out), out)
        np.testing.assert_array_equal(out, self.dense[rows])
        got = slice_rows(self.csr, rows, format="csr")
        self.assertEqual(got.format, "csr")
        np.testing.assert_array_equal(got.toarray(), self.dense[rows])
        np.testing.assert_array_equal(slice_rows(self.csr, rows, values=2 * self.csr.data), 2 * self.dense[rows])
        np.testing.assert_array_equal(slice_rows(self.csr, rows, homogeneous=True), self.dense[rows] != 0)
        np.testing.assert_array_equal(slice_rows(self.csr, [40, 1], zero_rows=True)[0], 0)
        for kind, message, call in ((lacuna_blas.ArgumentError, r"rows\[1\]: is 40", lambda: slice_rows(self.csr, [1, 40])),
                                    (TypeError, "rows: has dtype float64", lambda: slice_rows(self.csr, np.zeros(2))),
                                    (ValueError, "values: has 2 elements", lambda: slice_rows(self.csr, rows, values=np.zeros(2, np.float32))),
                                    (ValueError, "format: 'coo'", lambda: slice_rows(self.csr, rows, format="coo")),
                                    (TypeError, "a: is a ndarray", lambda: slice_rows(self.dense, rows)),
                                    (ValueError, "out: has shape", lambda: slice_rows(self.csr, rows, out=np.zeros((4, 4), np.float32)))):
            with self.subTest(message=message), self.assertRaisesRegex(kind, f"^{message}"):
                call()

    def test_the_gradient_of_slices(self):
        """The adjoint: <slice(v), g> = <v, grad(g)> for the values v, which it must be for each g."""
        rows = np.array([3, 39, 3, 0, 7])
        g = sparse(3, 5, 60, density=1.0)
        grad = slice_rows_grad(self.csr, rows, g)
        want = sp.csr_matrix(self.csr)
        want.data = np.zeros(self.csr.nnz)
        for i, row in enumerate(rows):
            span = slice(want.indptr[row], want.indptr[row + 1])
            want.data[span] += g[i, want.indices[span]]
        np.testing.assert_allclose(grad, want.data, rtol=1e-6)
        one = slice_rows_grad(self.csr, rows, g, homogeneous=True)
        np.testing.assert_allclose(one, [want.data.sum()], rtol=1e-4)

    def test_sampled_products(self):
        a, b, before = sparse(4, 40, 25, density=1.0), sparse(5, 25, 60, density=1.0), self.csr.data.copy()
        full = a.astype(np.float64) @ b
        rows, columns = np.nonzero(self.dense)
        np.testing.assert_allclose(sddmm(a, b, self.csr), full[rows, columns], atol=1e-4)
        np.testing.assert_allclose(sddmm(a, b, self.csr, alpha=2.0, beta=1.0, out=before),
                                   2 * full[rows, columns] + self.csr.data, atol=1e-4)
        left = sp.csr_matrix(a * (np.abs(a) > 1))
        np.testing.assert_allclose(sddmm(left, b, self.csr), (left @ b)[rows, columns], atol=1e-4)
        for message, call in (("a, b, pattern: shapes", lambda: sddmm(b, a, self.csr)),
                              ("beta: needs out", lambda: sddmm(a, b, self.csr, beta=1.0)),
                              ("out: has 3 elements", lambda: sddmm(a, b, self.csr, out=np.zeros(3, np.float32)))):
            with self.subTest(message=message), self.assertRaisesRegex(ValueError, f"^{message}"):
                call()


if __name__ == "__main__":
    sys.exit(unittest.main())

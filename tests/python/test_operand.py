# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operands: scans, freezing, attached formats, outputs that know their zeros, and what is not used after a touch."""
import gc
import sys
import unittest
import weakref

import numpy as np

import lacuna_blas
from lacuna_blas import Operand, explain, matmul
from python_case import assert_product, sparse


def csr_of(a):
    """indptr, indices, data of a dense matrix."""
    rows, columns = np.nonzero(a)
    return (np.searchsorted(rows, np.arange(a.shape[0] + 1)).astype(np.int32), columns.astype(np.int32), a[rows, columns])


class Operands(unittest.TestCase):
    def test_scan(self):
        a = sparse(1, 40, 50, density=0.1)
        operand = Operand(a)
        self.assertIsNone(operand.density)
        operand.scan("density", "csr")
        self.assertAlmostEqual(operand.density, np.count_nonzero(a) / a.size)
        self.assertIn("density=", repr(operand))
        with self.assertRaisesRegex(ValueError, "^formats: 'coo'"):
            operand.scan("coo")

    def test_a_frozen_weight_and_its_transpose(self):
        w, x = sparse(2, 300, 200, density=1.0), sparse(3, 10, 200, density=0.02)
        weight = Operand(w).freeze()
        self.assertEqual(weight.T.shape, (200, 300))
        self.assertIs(weight.T.T._meta, weight._meta)
        for _ in range(5):
            assert_product(matmul(x, weight.T), x, w.T)
        matmul(x, weight.T, route="event")
        self.assertGreater(weight.nbytes, 300 * 200 * 4)  # the packed, k-major copy
        w *= 2
        weight.touch()
        assert_product(matmul(x, weight.T), x, w.T)
        self.assertEqual(weight.generation, 2)
        weight.freeze()
        assert_product(matmul(x, weight.T, route="event"), x, w.T)

    def test_attached_formats_stand_for_the_operand(self):
        a, b = sparse(4, 20, 70, density=0.1), sparse(5, 70, 30, density=1.0)
        words = np.zeros((20, 2), np.uint64)
        for i, j in zip(*np.nonzero(a)):
            words[i, j // 64] |= np.uint64(1) << np.uint64(j % 64)
        active = np.flatnonzero(a.any(axis=0)).astype(np.int32)
        ptr, idx, val = csr_of(a)
        column = csr_of(a.T.copy())
        for attach in (lambda o: o.attach_csr(ptr, idx, val), lambda o: o.attach_csr(ptr.astype(np.int64), idx.astype(np.int64), val),
                       lambda o: o.attach_csc(*column), lambda o: o.attach_bitmask(words, a[np.nonzero(a)]),
                       lambda o: o.attach_active(active, np.ascontiguousarray(a[:, active].T))):
            wrong = np.full_like(a, 5)  # what the formats say counts, not what lies there
            operand = Operand(wrong)
            attach(operand)
            self.assertEqual(explain(operand, b).known, "attached")
            assert_product(Operand.to_dense(operand), np.eye(20), a)
            operand.touch()
            assert_product(matmul(operand, b), wrong, b)

    def test_sparse_only(self):
        a, b = sparse(6, 20, 70, density=0.1), sparse(7, 70, 30, density=1.0)
        operand = Operand.from_csr((20, 70), *csr_of(a))
        assert_product(matmul(operand, b), a, b)
        product = matmul(operand, b)
        assert_product(matmul(operand.T, product), a.T, product)
        columns = Operand.from_csc((70, 20), *csr_of(a))
        assert_product(matmul(b.T.copy(), columns), b.T, a.T)
        pattern = Operand.from_csr((20, 70), *csr_of(a)[:2])
        assert_product(matmul(pattern, b), a != 0, b)
        operand.touch()
        with self.assertRaisesRegex(lacuna_blas.ArgumentError, "touched"):
            matmul(operand, b)

    def test_a_layer_knows_its_outputs_zeros(self):
        x, w, v = sparse(8, 12, 80), sparse(9, 80, 90, density=1.0), sparse(10, 90, 20, density=1.0)
        bias = np.full(90, -2.0, np.float32)
        hidden = Operand(np.empty((12, 90), np.float32))
        self.assertIs(matmul(x, w, hidden, bias=bias, activation="relu", formats=("csr", "density")), hidden)
        values = hidden._array.owner
        self.assertGreater(np.count_nonzero(values), 0)
        self.assertAlmostEqual(hidden.density, np.count_nonzero(values) / values.size)
        self.assertEqual(explain(hidden, v).known, "attached")
        assert_product(matmul(hidden, v), values, v)

    def test_refusals(self):
        a = sparse(11, 20, 70)
        ptr, idx, val = csr_of(a)
        late, backward = ptr.copy(), idx[::-1].copy()
        late[-1] += 100
        for kind, message, call in (
                (ValueError, "x: has 1 dimensions", lambda: Operand(a[0])),
                (TypeError, "x: has dtype float16", lambda: Operand(a.astype(np.float16))),
                (ValueError, "indptr: has 20 elements; expected 21", lambda: Operand(a).attach_csr(ptr[:-1], idx, val)),
                (ValueError, r"indices: has \d+ elements; indptr\[20\] is", lambda: Operand(a).attach_csr(late, idx, val)),
                (ValueError, r"data: has \d+ elements", lambda: Operand(a).attach_csr(ptr, idx, val[:-1])),
                (TypeError, "data: has dtype float64", lambda: Operand(a).attach_csr(ptr, idx, val.astype(float))),
                (TypeError, "indices: has dtype int64, and indptr int32", lambda: Operand(a).attach_csr(ptr, idx.astype(np.int64), val)),
                (lacuna_blas.ArgumentError, "idx", lambda: Operand(a).attach_csr(ptr, backward, val)),
                (ValueError, "indices: its elements are not contiguous", lambda: Operand(a).attach_csr(ptr, np.repeat(idx, 2)[::2], val)),
                (ValueError, "bits: expected", lambda: Operand(a).attach_bitmask(np.zeros((20, 1), np.uint64), val)),
                (ValueError, "values: has 3 elements; bits has 0", lambda: Operand(a).attach_bitmask(np.zeros((20, 2), np.uint64), val[:3])),
                (ValueError, "out: an Operand without an array", lambda: matmul(a.T.copy(), a, Operand(a).T)),
                (ValueError, "shape: has 1 extents", lambda: Operand.from_csr((3,), ptr, idx))):
            with self.subTest(message=message), self.assertRaisesRegex(kind, f"^{message}"):
                call()

    def test_what_is_attached_lives_as_long_as_the_operand(self):
        a = sparse(12, 20, 70)
        ptr, idx, val = csr_of(a)
        seen = weakref.ref(val)
        operand = Operand.from_csr((20, 70), ptr, idx, val)
        del val
        transpose = operand.T
        del operand
        gc.collect()
        self.assertIsNotNone(seen())
        assert_product(matmul(np.eye(70, dtype=np.float32), transpose), np.eye(70), a.T)
        del transpose
        gc.collect()
        self.assertIsNone(seen())

    def test_registration(self):
        operand = Operand(sparse(13, 64, 64, density=1.0)).freeze()
        operand.register()
        with self.assertRaises(lacuna_blas.ArgumentError):
            operand.register()
        operand.unregister()
        with self.assertRaises(lacuna_blas.ArgumentError):
            operand.unregister()
        address = operand._array.pointer
        operand.register()
        owner = operand._array.owner
        del operand
        gc.collect()  # the registration went with the metadata
        again = Operand(owner).freeze().register()
        self.assertEqual(again._array.pointer, address)
        again.unregister()


if __name__ == "__main__":
    sys.exit(unittest.main())

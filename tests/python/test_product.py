# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""matmul and explain on NumPy arrays: values, shapes, settings, and the messages of what is refused."""
import os
import subprocess
import sys
import threading
import unittest
import unittest.mock

import numpy as np

import lacuna_blas
from lacuna_blas import _arrays, _product, matmul
from python_case import assert_product, sparse


class Product(unittest.TestCase):
    def test_shapes_are_those_of_numpy(self):
        shapes = (((7, 50), (50, 9)), ((50,), (50, 9)), ((7, 50), (50,)), ((50,), (50,)), ((3, 7, 50), (50, 9)), ((2, 3, 7, 50), (50, 9)),
                  ((3, 7, 50), (3, 50, 9)), ((2, 1, 7, 50), (4, 50, 9)), ((7, 50), (3, 50, 9)), ((3, 7, 50), (50,)), ((50,), (3, 50, 9)),
                  ((0, 50), (50, 9)), ((7, 0), (0, 9)), ((0, 7, 50), (50, 9)), ((1, 50), (50, 1)), ((3, 1, 50), (3, 50, 1)))
        for density in (0.02, 1.0):
            for first, second in shapes:
                with self.subTest(a=first, b=second, density=density):
                    a, b = sparse(1, *first, density=density), sparse(2, *second, density=0.5)
                    assert_product(matmul(a, b), a, b)

    def test_vectors_give_a_scalar(self):
        for _ in range(2):
            self.assertIsInstance(matmul(np.ones(3, np.float32), np.ones(3, np.float32)), np.float32)

    def test_strides(self):
        a, b = sparse(3, 40, 60), sparse(4, 60, 30, density=1.0)
        wide = np.zeros((40, 90), np.float32)
        for x in (a, np.asfortranarray(a), a[::2], a[:, ::-1], a[::-1]):
            for y in (b, np.asfortranarray(b), b[:, ::3]):
                if x.shape[1] == y.shape[0]:
                    assert_product(matmul(x, y), x, y)
        out = wide[:, 5:65:2]
        self.assertIs(matmul(a, b, out), out)
        assert_product(out, a, b)
        self.assertEqual(np.count_nonzero(wide[:, :5]) + np.count_nonzero(wide[:, 6::2]), 0)

    def test_scalars(self):
        a, b, c = sparse(5, 20, 30), sparse(6, 30, 40), sparse(7, 20, 40, density=1.0)
        out = c.copy()
        matmul(a, b, out, alpha=-2.0, beta=0.5)
        assert_product(out, a, b, add=0.5 * c.astype(np.float64), alpha=-2.0)
        stacked = np.stack([c, c])
        matmul(np.stack([a, a]), np.stack([b, 2 * b]), stacked, alpha=3.0, beta=1.0)
        for got, factor in zip(stacked, (1, 2)):
            assert_product(got, a, factor * b, add=c, alpha=3.0)
        poisoned = np.full((20, 40), np.nan, np.float32)
        assert_product(matmul(a, b, poisoned), a, b)  # beta = 0 never reads out

    def test_bias_and_activation(self):
        a, b, bias = sparse(8, 5, 6, 40), sparse(9, 40, 20), sparse(10, 20, density=1.0)
        full = (a.astype(np.float64) @ b) + bias
        got = matmul(a, b, bias=bias, activation="relu")
        np.testing.assert_allclose(got, np.maximum(full, 0), atol=1e-4)
        np.testing.assert_allclose(matmul(a[0], b, activation="threshold", threshold=0.5),
                                   np.where(a[0] @ b > 0.5, a[0] @ b, 0), atol=1e-4)
        column = sparse(11, 6, density=1.0)
        assert_product(matmul(a[0], b, bias=column, bias_per_row=True), a[0], b, add=column[:, None])

    def test_events(self):
        spikes, weights = sparse(12, 9, 200, density=0.03) != 0, sparse(13, 200, 30, density=1.0)
        assert_product(matmul(spikes, weights), spikes, weights)
        counts = (spikes * 7).astype(np.uint8)
        assert_product(matmul(lacuna_blas.Operand(counts, events=True), weights), spikes, weights)

    def test_routes_agree(self):
        a, b = sparse(14, 30, 100, density=0.05), sparse(15, 100, 40, density=1.0)
        for candidate in lacuna_blas.explain(a, b).candidates:
            if candidate.refusal is None:
                assert_product(matmul(a, b, route=candidate.route), a, b)

    def test_explain(self):
        a, b = sparse(16, 10, 2000, density=0.001), sparse(17, 2000, 500, density=1.0)
        free = lacuna_blas.explain(a, b)
        self.assertGreater(len(free.candidates), 4)
        self.assertIn(free.route, str(free))
        forced = lacuna_blas.explain(a, b, route="reference")
        self.assertEqual((forced.route, forced.reason), ("reference", "forced"))
        self.assertTrue(any(candidate.refusal for candidate in free.candidates))

    def test_a_forced_route_runs(self):
        """What explain says is what matmul does: the verbose line of a process of its own names the route."""
        program = ("import numpy, lacuna_blas; a = numpy.eye(40, dtype='f4');"
                   "lacuna_blas.matmul(a, a, route='csr'); lacuna_blas.Context(verbose='exec')")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                              env={**os.environ, "LACUNA_VERBOSE": "exec"})
        self.assertRegex(done.stderr, r"lacuna,1,exec,lac_gemm,.*,40,40,40,.*,csr,forced")


class Refusals(unittest.TestCase):
    """Each bad argument: the exception, and a message that begins with the argument's name."""

    def test_arguments(self):
        a, b = np.zeros((4, 5), np.float32), np.zeros((5, 6), np.float32)
        frozen = np.zeros((4, 6), np.float32)
        frozen.flags.writeable = False
        unaligned = np.frombuffer(bytes(81), np.uint8)[1:].view(np.float32).reshape(4, 5)
        cases = (
            (ValueError, "a, b: shapes", (a, a), {}),
            (ValueError, "a, b: shapes .* stacks do not fit", (np.zeros((2, 4, 5), np.float32), np.zeros((3, 5, 6), np.float32)), {}),
            (TypeError, "a: has dtype float16", (a.astype(np.float16), b), {}),
            (TypeError, "b: has dtype uint8.*events=True", (a, b.astype(np.uint8)), {}),
            (TypeError, "b: is a list", (a, [1.0]), {}),
            (ValueError, "a: .*byte order", (a.astype(">f4"), b), {}),
            (ValueError, "a: .*not aligned", (unaligned, b), {}),
            (ValueError, "a: has no dimensions", (np.float32(1).reshape(()), b), {}),
            (ValueError, r"out: has shape \(4, 5\)", (a, b, np.zeros((4, 5), np.float32)), {}),
            (TypeError, "out: has dtype float64", (a, b, np.zeros((4, 6))), {}),
            (ValueError, "out: is read-only", (a, b, frozen), {}),
            (ValueError, "beta: needs out", (a, b), {"beta": 1.0}),
            (ValueError, "bias: has 4 elements; expected 6", (a, b), {"bias": np.zeros(4, np.float32)}),
            (TypeError, "bias: has dtype float64", (a, b), {"bias": np.zeros(6)}),
            (ValueError, "activation: 'gelu'", (a, b), {"activation": "gelu"}),
            (ValueError, "formats: needs an out", (a, b), {"formats": "csr"}),
            (TypeError, "context: is a str", (a, b), {"context": "host"}),
            (ValueError, "bias, activation, route: need a single product", (a, np.zeros((2, 5, 6), np.float32)), {"activation": "relu"}),
        )
        for kind, message, arguments, keywords in cases:
            with self.subTest(message=message), self.assertRaisesRegex(kind, f"^{message}"):
                matmul(*arguments, **keywords)

    def test_the_librarys_message(self):
        a, b = np.zeros((5, 5), np.float32), np.zeros((5, 5), np.float32)
        with self.assertRaisesRegex(lacuna_blas.ArgumentError, "^c: .*overlaps a") as caught:
            matmul(a, b, a)
        self.assertEqual(caught.exception.status, 13)
        self.assertIsInstance(caught.exception, ValueError)
        with self.assertRaisesRegex(lacuna_blas.ArgumentError, "no_such_route"):
            matmul(a, b, route="no_such_route")
        with self.assertRaisesRegex(lacuna_blas.ArgumentError, "^a: strides .* overlap"):
            matmul(np.broadcast_to(a[0], (5, 5)), b)
        for option, value in (("threads", 0), ("no_such_option", 1)):
            with self.assertRaises(lacuna_blas.ArgumentError):
                lacuna_blas.Context(**{option: value})
        with self.assertRaisesRegex(ValueError, "^device: is 'tpu'"):
            lacuna_blas.Context("tpu")


class Sites(unittest.TestCase):
    """Products like an earlier one, which take its views and fill in addresses."""

    def setUp(self):
        self.context = lacuna_blas.Context(threads=1)

    def multiply(self, *arguments, **keywords):
        return matmul(*arguments, context=self.context, **keywords)

    def test_values(self):
        layouts = (lambda x: x, np.asfortranarray, lambda x: np.repeat(x, 2, axis=-1)[..., ::2], lambda x: x.astype(np.float64), lambda x: x != 0)
        for first, second in (((6, 40), (40, 9)), ((40,), (40, 9)), ((6, 40), (40,)), ((40,), (40,)), ((3, 6, 40), (40, 9))):
            for layout in layouts:
                dtype = np.float64 if layout(np.zeros(2)).dtype == np.float64 and layout is layouts[3] else np.float32
                for seed in (1, 2, 3):
                    with self.subTest(a=first, b=second, layout=layouts.index(layout), seed=seed):
                        a, b = layout(sparse(seed, *first)), sparse(seed + 9, *second, density=0.9).astype(dtype)
                        assert_product(self.multiply(a, b), a, b, dtype=dtype)
                        out = np.ones((*a.shape[:-1], *b.shape[1:]), dtype)
                        self.assertIs(self.multiply(a, b, out, alpha=-2.0, beta=seed), out)
                        assert_product(out, a, b, add=np.full(out.shape, float(seed)), alpha=-2.0, dtype=dtype)

    def test_operands(self):
        b = sparse(30, 40, 9, density=1.0)
        for seed in (1, 2, 3):
            a = sparse(seed, 6, 40)
            frozen = lacuna_blas.Operand(a, context=self.context).scan("csr").freeze()
            assert_product(self.multiply(frozen, b), a, b)
            assert_product(self.multiply(frozen.T, b[:6]), a.T, b[:6])
            assert_product(self.multiply(frozen.T, frozen), a.T, a)
        frozen.touch()
        a[:] = sparse(4, 6, 40)
        assert_product(self.multiply(frozen, b), a, b)
        target = lacuna_blas.Operand(np.zeros((6, 9), np.float32), context=self.context).scan("csr").freeze()
        for _ in range(3):
            generation = target.generation
            self.multiply(a, b, target)
            self.assertGreater(target.generation, generation)  # what was known of it is gone

    def test_checks_stay(self):
        a, b, out = sparse(5, 4, 5, density=0.5), sparse(6, 5, 6, density=0.5), np.zeros((4, 6), np.float32)
        frozen = out.copy()
        frozen.flags.writeable = False
        unaligned = np.frombuffer(bytes(81), np.uint8)[1:].view(np.float32).reshape(4, 5)
        for _ in range(2):
            self.multiply(a, b)
            self.multiply(a, b, out)
        memory, operand = np.zeros(40, np.float32), lacuna_blas.Operand(a, context=self.context)
        wide = lacuna_blas.Operand(a.astype(np.float64), context=self.context)
        for _ in range(2):
            self.multiply(operand, b)
            self.multiply(wide, b.astype(np.float64))
        for kind, message, arguments in (
                (ValueError, "out: is read-only", (a, b, frozen)),
                (ValueError, "a: .*not aligned", (unaligned, b)),
                (ValueError, "a: .*byte order", (a.astype(">f4"), b)),
                (TypeError, "a: has dtype int32", (a.astype(np.int32), b)),
                (TypeError, "a, b: have dtypes float64", (a.astype(np.float64), b)),
                (TypeError, "a, b: have dtypes float64", (wide, b)),
                (ValueError, "a, b: shapes", (a[:, :4], b)),
                (ValueError, "a, b: shapes", (operand.T, b)),
                (ValueError, r"out: has shape \(4, 5\)", (a, b, out[:, :5])),
                (ValueError, "c: .*overlaps a", (memory[:20].reshape(4, 5), b, memory[10:34].reshape(4, 6)))):
            for _ in range(2):
                with self.subTest(message=message), self.assertRaisesRegex(kind, f"^{message}"):
                    self.multiply(*arguments)
                assert_product(self.multiply(a, b), a, b)
        sparse_only = lacuna_blas.Operand.from_csr((4, 5), np.zeros(5, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32), context=self.context)
        self.assertEqual(np.count_nonzero(self.multiply(sparse_only, b)), 0)
        sparse_only.touch()
        with self.assertRaisesRegex(lacuna_blas.ArgumentError, "^a.meta: was touched"):
            self.multiply(sparse_only, b)

    def test_only_the_first_is_described(self):
        a, b = sparse(7, 4, 5, density=0.5), sparse(8, 5, 6, density=0.5)
        self.multiply(a, b)
        with unittest.mock.patch.object(_product, "_Call", side_effect=AssertionError("described again")):
            assert_product(self.multiply(2 * a, b), 2 * a, b)
            with self.assertRaisesRegex(AssertionError, "described again"):
                self.multiply(a, b, bias=b[0])

    def test_a_call_within_a_call(self):
        """As a signal handler or a finalizer makes it: it must not find the views that the outer call is filling in."""
        a, b, inner = sparse(9, 4, 5, density=1.0), sparse(10, 5, 6, density=1.0), []
        self.multiply(a, b)
        plain = _arrays.address

        def address(x):
            if x is b and not inner:
                inner.append(None)
                inner[0] = self.multiply(3 * a, 2 * b)
            return plain(x)

        with unittest.mock.patch.object(_arrays, "address", address):
            assert_product(self.multiply(a, b), a, b)
        assert_product(inner[0], 3 * a, 2 * b)

    def test_nothing_is_kept(self):
        a, b = sparse(11, 4, 5), sparse(12, 5, 6)
        operand = lacuna_blas.Operand(a, context=self.context)
        before = [sys.getrefcount(x) for x in (a, b, operand)]
        for _ in range(3):
            self.multiply(a, b)
            self.multiply(operand, b)
        self.assertEqual([sys.getrefcount(x) for x in (a, b, operand)], before)
        for rows in range(1, 600):
            self.multiply(np.ones((rows, 2), np.float32), b[:2])
        self.assertLessEqual(len(self.context.sites), 256)


class Contexts(unittest.TestCase):
    def test_options_and_facts(self):
        context = lacuna_blas.Context(threads=1, learn=False)
        facts = dict(context.info())
        self.assertEqual(facts["version"], lacuna_blas.__version__)
        self.assertRegex(facts["option threads"], "^1 ")
        self.assertRegex(facts["option learn"], "^off ")
        a = sparse(18, 20, 30)
        assert_product(matmul(a, a.T, context=context), a, a.T)
        self.assertGreaterEqual(context.nbytes, 0)

    def test_an_exception_in_a_listener_comes_back(self):
        def listener(*_):
            raise KeyError("mine")
        with self.assertRaisesRegex(KeyError, "mine"):
            context = lacuna_blas.Context()
            context._told(lambda fact: lacuna_blas.library.lac_ctx_info(context.pointer, fact, None), listener)

    def test_threads(self):
        """Threads with contexts of their own, and threads that share one."""
        a, b, shared, failures = sparse(19, 60, 200), sparse(20, 200, 50), lacuna_blas.Context(), []

        def work(context):
            try:
                for _ in range(50):
                    assert_product(matmul(a, b, context=context), a, b)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(context,)) for context in (None, None, shared, shared)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_a_forked_child(self):
        a, b = sparse(21, 60, 200), sparse(22, 200, 50)
        matmul(a, b)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                assert_product(matmul(a, b), a, b)
                assert_product(matmul(a, b, context=lacuna_blas.Context()), a, b)
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        assert_product(matmul(a, b), a, b)

    def test_numpy_is_all_it_imports(self):
        program = ("import sys; before = set(sys.modules); import numpy; ours = set(sys.modules); import lacuna_blas;"
                   "print(sorted({m.split('.')[0] for m in set(sys.modules) - ours} - set(sys.stdlib_module_names)))")
        if sys.version_info < (3, 10):
            self.skipTest("sys.stdlib_module_names is of Python 3.10")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.strip(), "['lacuna_blas']")


if __name__ == "__main__":
    sys.exit(unittest.main())

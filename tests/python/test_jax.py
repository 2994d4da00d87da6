# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""The operators of JAX: values, gradients and tangents of both orders, vmap, jit, and what is handed over."""
import functools
import re
import sys
import unittest

import numpy as np

from python_case import skip

try:
    import jax
    import jax.numpy as jnp
    from jax.test_util import check_grads
    import lacuna_blas.jax as lac
    from lacuna_blas.jax._ffi import csr_gemm
except ImportError as error:
    skip(f"needs JAX 0.5 or newer: {error}")

jax.config.update("jax_default_matmul_precision", "highest")  # the products that ours are compared with
ON_CPU = jax.default_backend() == "cpu"


def normal(seed, *shape, density=1.0):
    random = np.random.default_rng(seed)
    return jnp.asarray((random.standard_normal(shape) * (random.random(shape) < density)).astype(np.float32))


def pattern(seed, m, n, fan=None):
    """(indptr, indices, entries): any order, with repetitions; fan: as many in each row, and no indptr."""
    random = np.random.default_rng(seed)
    if fan is not None:
        return None, jnp.asarray(random.integers(0, n, (m, fan)).astype(np.int32)), m * fan
    counts = random.integers(0, 5, m)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return jnp.asarray(indptr), jnp.asarray(random.integers(0, n, indptr[-1]).astype(np.int32)), int(indptr[-1])


def dense_of(indptr, indices, values, m, n):
    rows = np.repeat(np.arange(m), indices.shape[1]) if indptr is None else np.repeat(np.arange(m), np.diff(np.asarray(indptr)))
    out = np.zeros((m, n), np.float64)
    np.add.at(out, (rows, np.asarray(indices).reshape(-1)), np.broadcast_to(np.asarray(values, np.float64).reshape(-1), rows.shape))
    return out


def close(got, want, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=tolerance, atol=tolerance)


def check(function, *operands):
    """Both orders, forward and backward, against finite differences."""
    check_grads(function, operands, order=2, modes=("fwd", "rev"), atol=0.1, rtol=0.1)


class Dense(unittest.TestCase):
    def test_values_and_gradients(self):
        a, b = normal(1, 5, 9, density=0.3), normal(2, 9, 4)
        before = lac.calls()["gemm"]
        close(lac.matmul(a, b), a @ b)
        self.assertGreater(lac.calls()["gemm"], before)
        check(lac.matmul, a, b)
        check(lac.matmul, normal(3, 2, 3, 4), normal(4, 2, 4, 2))
        check(lac.linear, normal(5, 2, 3, 6), normal(6, 4, 6), normal(7, 4))
        close(lac.linear(normal(5, 2, 3, 6), normal(6, 4, 6)), normal(5, 2, 3, 6) @ normal(6, 4, 6).T)

    def test_events(self):
        spikes, weight = normal(8, 7, 30, density=0.1) != 0, normal(9, 30, 8)
        close(lac.matmul(spikes, weight), spikes.astype(jnp.float32) @ weight)
        close(lac.matmul(weight.T, spikes.T), weight.T @ spikes.T.astype(jnp.float32))
        close(jax.grad(lambda w: lac.matmul(spikes, w).sum())(weight), np.broadcast_to(np.asarray(spikes).sum(0)[:, None], (30, 8)))

    def test_a_large_one_under_jit(self):
        a, b = normal(10, 64, 3000, density=0.01), normal(11, 3000, 500)
        close(jax.jit(lac.matmul)(a, b), a @ b, 1e-4)
        got, want = (jax.jit(jax.grad(lambda a, b: (f(a, b) ** 2).sum(), (0, 1)))(a, b) for f in (lac.matmul, jnp.matmul))
        for x, y in zip(got, want):
            close(x, y, 1e-2)

    def test_vmap(self):
        a, b, many_a, many_b = normal(12, 4, 6), normal(13, 6, 3), normal(14, 5, 4, 6), normal(15, 6, 5, 3)
        close(jax.vmap(lac.matmul, (0, None))(many_a, b), many_a @ b)
        close(jax.vmap(lac.matmul, (None, 1))(a, many_b), jnp.stack([a @ many_b[:, i] for i in range(5)]))
        close(jax.vmap(lac.matmul, (0, 1))(many_a, many_b), jnp.stack([many_a[i] @ many_b[:, i] for i in range(5)]))
        nested = jax.vmap(jax.vmap(lac.matmul, (0, None)), (None, 1))(many_a, many_b)
        close(nested, jnp.stack([many_a @ many_b[:, i] for i in range(5)]))
        close(jax.vmap(jax.grad(lambda a, b: lac.matmul(a, b).sum()), (0, None))(many_a, b), jnp.broadcast_to(b.sum(1), many_a.shape))

    def test_other_types_are_handed_over_and_counted(self):
        before = lac.calls().get("handed over: gemm", 0)
        a, b = normal(16, 4, 6).astype(jnp.bfloat16), normal(17, 6, 3).astype(jnp.bfloat16)
        self.assertEqual(lac.matmul(a, b).dtype, jnp.bfloat16)
        self.assertEqual(lac.calls()["handed over: gemm"], before + 1)

    def test_empty(self):
        self.assertEqual(lac.matmul(normal(1, 0, 4), normal(2, 4, 3)).shape, (0, 3))
        close(lac.matmul(normal(1, 2, 0), normal(2, 0, 3)), np.zeros((2, 3)))

    def test_refusals(self):
        a = normal(18, 4, 6)
        for message, call in (("a, b: shapes", lambda: lac.matmul(a, a)), ("weight: has 1 dimensions", lambda: lac.linear(a, a[0]))):
            with self.assertRaisesRegex(ValueError, f"^{message}"):
                call()


class Compressed(unittest.TestCase):
    M, N = 6, 7

    def patterns(self):
        return (("csr", pattern(20, self.M, self.N)), ("fan-out", pattern(21, self.M, self.N, fan=3)))

    def test_products(self):
        for name, (indptr, indices, count) in self.patterns():
            for homogeneous in (False, True):
                values = normal(22, 1 if homogeneous else count)
                for transpose, inner in ((False, self.N), (True, self.M)):
                    with self.subTest(pattern=name, homogeneous=homogeneous, transpose=transpose):
                        b = normal(23, inner, 3, density=0.5)
                        dense = dense_of(indptr, indices, values, self.M, self.N)
                        dense = dense.T if transpose else dense

                        def product(values, b, indptr=indptr, indices=indices, transpose=transpose):
                            return lac.csr_matmul(indptr, indices, values, b, shape=(self.M, self.N), transpose=transpose)

                        before = sum(lac.calls()[name] for name in ("csr_gemm", "csr_count"))
                        close(product(values, b), dense @ np.asarray(b))
                        self.assertGreater(sum(lac.calls()[name] for name in ("csr_gemm", "csr_count")), before)
                        close(product(values, b[:, 0]), dense @ np.asarray(b[:, 0]))
                        close(product(values, b != 0), dense @ (np.asarray(b) != 0))
                        check(product, values, normal(24, inner, 3))
                        stack = jnp.stack([b, 2 * b])
                        close(jax.vmap(product, (None, 0))(values, stack)[1], 2 * dense @ np.asarray(b))
                        close(jax.vmap(product, (0, None))(jnp.stack([values, 3 * values]), b)[1], 3 * dense @ np.asarray(b))
                        close(jax.jit(product)(values, b), dense @ np.asarray(b))

    def test_samples(self):
        x, y = normal(25, self.M, 4), normal(26, 4, self.N)
        for name, (indptr, indices, count) in self.patterns():
            with self.subTest(pattern=name):
                def sampled(x, y, indptr=indptr, indices=indices):
                    return lac.sddmm(x, y, indptr, indices, shape=(self.M, self.N))

                rows = np.repeat(np.arange(self.M), 3) if indptr is None else np.repeat(np.arange(self.M), np.diff(indptr))
                close(sampled(x, y), np.asarray(x @ y)[rows, np.asarray(indices).reshape(-1)])
                self.assertEqual(sampled(x, y).shape, (count,))
                check(sampled, x, y)
                close(jax.vmap(sampled, (0, None))(jnp.stack([x, 2 * x]), y)[1], 2 * sampled(x, y))

    def test_slices(self):
        rows = jnp.asarray([5, 0, 5, -1, 3, self.M])
        for name, (indptr, indices, count) in self.patterns():
            with self.subTest(pattern=name):
                values = normal(27, count)

                def sliced(values, indptr=indptr, indices=indices):
                    return lac.slice_rows(indptr, indices, values, rows, shape=(self.M, self.N))

                dense = dense_of(indptr, indices, values, self.M, self.N)
                want = np.stack([dense[r] if 0 <= r < self.M else np.zeros(self.N) for r in np.asarray(rows)])
                close(sliced(values), want)
                check(sliced, values)
                check(sliced, normal(28, 1))
                close(jax.vmap(sliced)(jnp.stack([values, 2 * values]))[1], 2 * want)

    def test_what_jax_computes_instead_is_the_same(self):
        """float64 has no kernels of ours here; JAX's own operators give what ours do."""
        for name, (indptr, indices, count) in self.patterns():
            values, half = normal(29, count), normal(29, count).astype(jnp.float16).astype(jnp.float32)
            before = lac.calls().get("handed over: csr_gemm", 0)
            b = normal(30, self.N, 2).astype(jnp.float16)
            got = lac.csr_matmul(indptr, indices, half.astype(jnp.float16), b, shape=(self.M, self.N))
            self.assertEqual(lac.calls()["handed over: csr_gemm"], before + 1)
            close(got, lac.csr_matmul(indptr, indices, half, b.astype(jnp.float32), shape=(self.M, self.N)), 2e-2)
            sliced = [lac.slice_rows(indptr, indices, v, jnp.asarray([2, 9, 0]), shape=(self.M, self.N)) for v in (half.astype(jnp.float16), half)]
            close(sliced[0], sliced[1], 1e-2)
            del values, name

    def test_a_wrong_index_is_an_error(self):
        indptr, indices, count = pattern(31, self.M, self.N)
        wrong, values, b = indices.at[0].set(self.N), normal(32, count), normal(33, self.N)

        def product(indices):
            return lac.csr_matmul(indptr, indices, values, b, shape=(self.M, self.N)).block_until_ready()

        if not ON_CPU:  # the call itself does not wait for the device: the next one says it, once
            product(wrong)
        with self.assertRaisesRegex(Exception, r"a.idx\[0\]: (is|was) out of range"):
            product(wrong if ON_CPU else indices)
        close(product(indices), dense_of(indptr, indices, values, self.M, self.N) @ np.asarray(b))

    def test_the_workspace_of_a_device(self):
        """Where the library is given memory for its sums, the result is the same: only a device uses it."""
        indptr, indices, count = pattern(36, self.M, self.N)
        values, b = normal(37, count), normal(38, self.M, 3)
        product = jax.jit(lambda values, b: csr_gemm(jax.ShapeDtypeStruct((self.N, 3), jnp.float32), values, indices, indptr, b, on_device=True,
                                                     m=self.M, n=self.N, trans=1))
        close(product(values, b), dense_of(indptr, indices, values, self.M, self.N).T @ np.asarray(b))
        self.assertIn(f"{16 * self.N * 3 + 2048}xui8", product.lower(values, b).as_text())
        for one, events in ((values[:1], b != 0), (values[:1].at[0].set(jnp.inf), (b != 0).at[:4].set(False)), (-values[:1], b > 9)):
            counted = jax.jit(product).lower(one, events).as_text()
            self.assertNotIn("ui8", counted)
            self.assertIn("@lacuna_csr_count", counted)
            met = dense_of(indptr, indices, jnp.ones(count, jnp.float32), self.M, self.N).T @ np.asarray(events, np.float32)
            self.assertTrue(np.array_equal(product(one, events), np.where(met != 0, met * np.asarray(one), np.float32(0))))

    def test_programs_for_a_device(self):
        """Lowered for CUDA, wherever that is done: calls of the library, gradients too; a transposed product of own values brings memory."""
        indptr, indices, count = pattern(43, self.M, self.N)
        values, b, shape, rows = normal(44, count), normal(45, self.M, 3), (self.M, self.N), jnp.asarray([2, 0])

        def product(values, b):
            return (lac.csr_matmul(indptr, indices, values, b, shape=shape, transpose=True) ** 2).sum()

        for call, targets in ((lambda: product(values, b), {"csr_gemm"}), (lambda: jax.grad(product, (0, 1))(values, b), {"csr_gemm", "csr_sddmm"}),
                              (lambda: lac.matmul(b.T, b), {"gemm"}),
                              (lambda: jax.grad(lambda v: (lac.slice_rows(indptr, indices, v, rows, shape=shape) ** 2).sum())(values),
                               {"csr_slice_rows", "csr_slice_rows_grad"})):
            program = jax.jit(call).trace().lower(lowering_platforms=("cuda",)).as_text()
            self.assertEqual(set(re.findall(r"custom_call @lacuna_(\w+)", program)), targets)
            self.assertEqual(f"tensor<{16 * self.N * 3 + 2048}xui8>" in program, "csr_gemm" in targets)

    @unittest.skipIf(ON_CPU, "on a device")
    def test_command_buffers(self):
        """Steps of a network in one program, which XLA records: the same bits as one by one, every time."""
        indices = jnp.asarray(np.random.default_rng(39).integers(0, 400, (400, 20)).astype(np.int32))
        for values in (normal(40, 1), normal(41, 400 * 20)):
            def step(v, values=values):
                spikes = v > 0.4
                weighted = jnp.where(spikes, v, 0.0)
                current = lac.csr_matmul(None, indices, values, spikes, shape=(400, 400), transpose=True)
                more = lac.csr_matmul(None, indices, values, weighted, shape=(400, 400), transpose=True)
                back = lac.csr_matmul(None, indices, values, spikes, shape=(400, 400))
                return jnp.tanh(0.9 * v + 0.1 * current + 0.05 * more + 0.02 * back)

            many = jax.jit(lambda v, step=step: functools.reduce(lambda v, _: step(v), range(6), v))
            v, one = normal(42, 400), jax.jit(step)
            want = v
            for _ in range(6):
                want = one(want)
            for _ in range(5):
                np.testing.assert_array_equal(np.asarray(many(v)), np.asarray(many(v)))
            close(many(v), want, 1e-3)

    def test_refusals(self):
        indptr, indices, count = pattern(34, self.M, self.N)
        values, shape = normal(35, count), (self.M, self.N)
        for kind, message, call in (
                (ValueError, "b: has shape", lambda: lac.csr_matmul(indptr, indices, values, normal(1, 3), shape=shape)),
                (ValueError, "values: has", lambda: lac.csr_matmul(indptr, indices, values[:-1], normal(1, self.N), shape=shape)),
                (ValueError, "indptr, indices:", lambda: lac.csr_matmul(indptr[1:], indices, values, normal(1, self.N), shape=shape)),
                (ValueError, "indices: has shape", lambda: lac.csr_matmul(None, indices, values, normal(1, self.N), shape=shape)),
                (TypeError, "indices: has dtype", lambda: lac.csr_matmul(indptr, values, values, normal(1, self.N), shape=shape)),
                (TypeError, "rows: has dtype", lambda: lac.slice_rows(indptr, indices, values, values, shape=shape)),
                (ValueError, "x, y: shapes", lambda: lac.sddmm(normal(1, 2, 3), normal(1, 3, 2), indptr, indices, shape=shape))):
            with self.subTest(message=message), self.assertRaisesRegex(kind, f"^{message}"):
                call()


if __name__ == "__main__":
    sys.exit(unittest.main())

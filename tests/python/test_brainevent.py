# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""The backend "lacuna" of brainevent: results and gradients beside those of its own backend, and what is handed over and counted."""
import re
import sys
import unittest

import numpy as np

from python_case import skip

try:
    import jax
    import jax.numpy as jnp
    import brainevent
    import lacuna_blas.brainevent as lac
    NAMES = lac.register()
except ImportError as error:
    skip(f"needs JAX and brainevent 0.3.0: {error}")

jax.config.update("jax_default_matmul_precision", "highest")  # or a device's own products, which ours are held to, are in TF32
M, N, COLUMNS = 23, 31, 5
PRIMITIVES = brainevent.get_registry()
PLATFORM = {"cuda": "gpu"}.get(jax.default_backend(), jax.default_backend())


def random(seed):
    return np.random.default_rng(seed)


def floats(seed, *shape):
    return jnp.asarray(random(seed).standard_normal(shape).astype(np.float32))


def events(seed, kind, *shape):
    some = (random(seed).random(shape) < 0.3) * random(seed + 1).standard_normal(shape)
    return jnp.asarray(some != 0) if kind == "bool" else jnp.asarray(some.astype(np.float32))


def structure(seed):
    """Indices and row pointers, every column of a row once: brainevent's own slices on a device keep one of two."""
    counts = random(seed).integers(0, 6, M)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    rows = [random(seed + 100 + i).choice(N, count, replace=False) for i, count in enumerate(counts)]
    return jnp.asarray(np.concatenate(rows).astype(np.int32)), jnp.asarray(indptr)


def dense_of(weights, indices, indptr, transposed):
    out = np.zeros((M, N), np.float64)
    np.add.at(out, (np.repeat(np.arange(M), np.diff(indptr)), np.asarray(indices)), np.broadcast_to(np.asarray(weights), np.shape(indices)))
    return out.T if transposed else out


def kernels(who):
    return {name: count for (name, whose), count in lac.counts().items() if whose == who}


class Backend(unittest.TestCase):
    def both(self, name, call, gradients=()):
        """call(backend, *gradients) by ours and by brainevent's own default, or on a device its JAX one, which has every direction and is no nvcc's to
        compile; and the gradients of the sum of squares."""
        before = kernels("lacuna").get(name, 0)
        other = "jax_raw" if PLATFORM != "cpu" and "jax_raw" in PRIMITIVES[name].available_backends(PLATFORM) else None
        got, want = call(lac.NAME, *gradients), call(other, *gradients)
        self.assertGreater(kernels("lacuna").get(name, 0), before)
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-5, atol=1e-5)
        for i in range(len(gradients)):
            x, y = (jax.grad(lambda *g, backend=backend: (call(backend, *g) ** 2).sum(), i)(*gradients) for backend in (lac.NAME, other))
            np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-4, atol=1e-4)

    def test_registration(self):
        self.assertEqual(set(NAMES), set(lac.register()))
        for name in NAMES:
            self.assertIn(lac.NAME, PRIMITIVES[name].available_backends(PLATFORM))
            self.assertNotEqual(PRIMITIVES[name].defaults[PLATFORM], lac.NAME)

    def test_dense(self):
        for kind in ("bool", "float"):
            for weighted in (False, True):
                for transpose, inner in ((False, N), (True, M)):
                    with self.subTest(events=kind, weighted=weighted, transpose=transpose):
                        vector, matrix = events(1, kind, inner), events(2, kind, inner, COLUMNS)
                        self.both("binary_densemv", lambda backend, w, v=vector, t=transpose, s=weighted: brainevent.binary_densemv(
                            w, v, transpose=t, backend=backend, weighted=s), (floats(3, M, N),))
                        self.both("binary_densemm", lambda backend, w, v=matrix, t=transpose, s=weighted: brainevent.binary_densemm(
                            w, v, transpose=t, backend=backend, weighted=s), (floats(4, M, N),))

    def test_compressed_rows(self):
        indices, indptr = structure(5)
        for homogeneous in (False, True):
            weights = floats(6, 1 if homogeneous else indices.size)
            for transpose, inner in ((False, N), (True, M)):
                with self.subTest(homogeneous=homogeneous, transpose=transpose):
                    for name, dense in (("csrmv", floats(7, inner)), ("csrmm", floats(8, inner, COLUMNS))):
                        self.both(name, lambda backend, w, x, name=name, t=transpose: getattr(brainevent, name)(
                            w, indices, indptr, x, shape=(M, N), transpose=t, backend=backend), (weights, dense))
                    matrix = brainevent.CSR((weights, indices, indptr), shape=(M, N))
                    for kind in ("bool", "float"):
                        spikes = brainevent.BinaryArray(events(9, kind, inner))
                        many = brainevent.BinaryArray(events(10, kind, inner, COLUMNS))
                        for each in (spikes, many):
                            want = dense_of(weights, indices, indptr, transpose) @ (np.asarray(each.value) != 0)
                            with_ours = self.with_default(lambda each=each, t=transpose, m=matrix: (m.T if t else m) @ each)
                            np.testing.assert_allclose(with_ours, want, rtol=1e-5, atol=1e-5)

    def with_default(self, call):
        """The result where "lacuna" is the backend of every primitive that is asked for none."""
        brainevent.config.set_backend(PLATFORM, lac.NAME)
        try:
            before = sum(kernels("lacuna").values())
            out = np.asarray(call())
            self.assertGreater(sum(kernels("lacuna").values()), before)
            return out
        finally:
            brainevent.config.set_backend(PLATFORM, None)

    def test_fixed_fan_out(self):
        indices = jnp.asarray(random(11).integers(0, N, (M, 4)).astype(np.int32))
        for homogeneous in (False, True):
            weights = floats(12, 1) if homogeneous else floats(12, M, 4)
            for transpose, inner in ((False, N), (True, M)):
                for weighted in (False, True):
                    with self.subTest(homogeneous=homogeneous, transpose=transpose, weighted=weighted):
                        for name, call, x in (("ell_binary_matvec", brainevent.binary_fcnmv, events(13, "float", inner)),
                                              ("binary_fcnmm", brainevent.binary_fcnmm, events(14, "bool", inner, COLUMNS))):
                            self.both(name, lambda backend, w, call=call, x=x, t=transpose, s=weighted: call(
                                w, indices, x, shape=(M, N), transpose=t, backend=backend, weighted=s), (weights,))

    def test_fan_out_by_columns(self):
        """brainevent's CUDA kernel of transposed fan-out products writes [columns, rows]: ours does where that is asked for, and its own is set right."""
        indices = jnp.asarray(random(11).integers(0, N, (M, 4)).astype(np.int32))
        weights, x = floats(12, M, 4), events(14, "float", M, COLUMNS)
        expected = np.asarray(brainevent.binary_fcnmm(weights, indices, x, shape=(M, N), transpose=True, backend="jax_raw"))
        infos = {name: jax.ShapeDtypeStruct(each.shape, each.dtype)
                 for name, each in (("weight_info", weights), ("matrix_info", x), ("indices_info", indices))}
        asked = {"shape": (M, N), "transpose": True, "weighted": False, **infos}
        for shape in ((N, COLUMNS), (COLUMNS, N)):
            outs = [jax.ShapeDtypeStruct(shape, jnp.float32)]
            right = expected if shape[0] == N else expected.T
            got = PRIMITIVES["binary_fcnmm"](weights, indices, x, outs=outs, backend=lac.NAME, **asked)[0]
            np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-5)

            def by_columns(*, outs, **_):
                self.assertEqual(outs[0].shape, (COLUMNS, N))
                return lambda *_: (jnp.asarray(expected.T),)
            np.testing.assert_array_equal(lac._own_fan_out(by_columns, outs=outs, **asked)(weights, indices, x)[0], right)

    def test_slices(self):
        indices, indptr = structure(15)
        rows = jnp.asarray([3, 0, 3, M - 1, -2, M + 5])
        self.both("csr_slice_rows", lambda backend, w: brainevent.csr_slice_rows(w, indices, indptr, rows, shape=(M, N), backend=backend),
                  (floats(16, indices.size),))
        self.assertGreater(kernels("lacuna").get("csr_slice_rows_grad", 0), 0)

    def test_programs_for_a_device(self):
        """Lowered for CUDA, wherever that is done: each primitive becomes the library's call, with XLA's memory where rows are added that differ."""
        indices, indptr = structure(20)
        fan = jnp.asarray(random(21).integers(0, N, (M, 4)).astype(np.int32))
        several, one, wide = floats(22, indices.size), floats(23, 1), floats(24, M, 4)
        rows = jnp.asarray([3, 0, 3])
        before = kernels("brainevent")

        def csr(weights, x, transposed):
            matrix = brainevent.CSR((weights, indices, indptr), shape=(M, N))
            return (matrix.T if transposed else matrix) @ brainevent.BinaryArray(x)

        brainevent.config.set_backend("gpu", lac.NAME)
        try:
            for call, target, memory in (
                    (lambda: brainevent.binary_densemv(floats(25, M, N), events(26, "bool", N), transpose=False), "gemm", 0),
                    (lambda: brainevent.binary_densemm(floats(25, M, N), events(26, "float", M, COLUMNS), transpose=True), "gemm", 0),
                    (lambda: csr(several, events(27, "bool", N), False), "csr_gemm", 0),
                    (lambda: csr(several, events(28, "bool", M), True), "csr_gemm", 16 * N + 2048),
                    (lambda: csr(one, events(28, "float", M), True), "csr_count", 0),
                    (lambda: csr(several, events(28, "bool", M, COLUMNS), True), "csr_gemm", 16 * N * COLUMNS + 2048),
                    (lambda: brainevent.csrmv(one, indices, indptr, floats(29, M), shape=(M, N), transpose=True), "csr_gemm", 16 * N + 2048),
                    (lambda: brainevent.binary_fcnmv(one, fan, events(30, "bool", M), shape=(M, N), transpose=True), "csr_count", 0),
                    (lambda: brainevent.binary_fcnmm(wide, fan, events(31, "bool", M, COLUMNS), shape=(M, N), transpose=True), "csr_gemm", 16 * N * COLUMNS + 2048),
                    (lambda: brainevent.csr_slice_rows(several, indices, indptr, rows, shape=(M, N)), "csr_slice_rows", 0)):
                program = jax.jit(call).trace().lower(lowering_platforms=("cuda",)).as_text()
                with self.subTest(target=target, memory=memory):
                    self.assertIn(f"@lacuna_{target}(", program)
                    self.assertEqual(re.findall(r"tensor<(\d+)xui8>\)", program), [str(memory)] if memory else [])
        finally:
            brainevent.config.set_backend("gpu", None)
        self.assertEqual(kernels("brainevent"), before)

    def test_inactive_weights_never_show(self):
        weights = floats(17, M, N).at[:, 3].set(jnp.nan).at[:, 4].set(jnp.inf)
        spikes = jnp.ones(N, jnp.float32).at[3].set(0).at[4].set(0)
        for weighted in (False, True):
            out = brainevent.binary_densemv(weights, spikes, transpose=False, backend=lac.NAME, weighted=weighted)
            self.assertTrue(bool(jnp.isfinite(out).all()))

    def test_other_types_are_handed_over_and_counted(self):
        before = kernels("brainevent").get("binary_densemv", 0)
        weights, spikes = floats(18, M, N).astype(jnp.float16), events(19, "bool", N)
        got = brainevent.binary_densemv(weights, spikes, transpose=False, backend=lac.NAME)
        self.assertEqual((got.dtype, kernels("brainevent")["binary_densemv"]), (jnp.float16, before + 1))


if __name__ == "__main__":
    sys.exit(unittest.main())

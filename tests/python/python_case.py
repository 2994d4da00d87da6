# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the Python package share: matrices with zeros, and a bound on the error of a product."""
import sys
import unittest

sys.dont_write_bytecode = True
SKIP = 77


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIP)


try:
    import numpy as np
except ImportError as error:  # the interpreter that has PyTorch or JAX may be another one than that of the package
    skip(f"needs NumPy: {error}")


def sparse(seed, *shape, density=0.1):
    """float32 normal values, all but this fraction of them zero."""
    random = np.random.default_rng(seed)
    return (random.standard_normal(shape) * (random.random(shape) < density)).astype(np.float32)


def assert_product(got, a, b, add=0.0, alpha=1.0, dtype=np.float32):
    """got is alpha a @ b + add within any order of summation's error in its type, element by element; NaN fails."""
    wide = np.float64 if dtype == np.float32 else np.longdouble
    a, b = np.asarray(a, wide), np.asarray(b, wide)
    want = alpha * (a @ b) + add
    bound = float(np.finfo(dtype).eps) * ((a.shape[-1] + 3) * abs(alpha) * (np.abs(a) @ np.abs(b)) + 3 * np.abs(add)) + 1e-37
    got = np.asarray(got)
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    assert got.dtype == dtype, got.dtype
    worst = np.max(np.where(np.abs(got - want) <= bound, 0.0, 1.0), initial=0.0)
    assert worst == 0.0, f"off by up to {np.max(np.abs(got - want))}"


class ElementCase(unittest.TestCase):
    """Tests of float64."""

    def product(self, got, a, b, **settings):
        assert_product(got, a, b, dtype=np.float64, **settings)

# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the Python package share: matrices with zeros, and a bound on the error of a product."""
import sys

import numpy as np

sys.dont_write_bytecode = True
SKIP = 77


def sparse(seed, *shape, density=0.1):
    """float32 normal values, all but this fraction of them zero."""
    random = np.random.default_rng(seed)
    return (random.standard_normal(shape) * (random.random(shape) < density)).astype(np.float32)


def assert_product(got, a, b, add=0.0, alpha=1.0):
    """got is alpha a @ b + add within any order of summation's error in float32, element by element; NaN fails."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    want = alpha * (a @ b) + add
    bound = 2.0 ** -23 * ((a.shape[-1] + 3) * abs(alpha) * (np.abs(a) @ np.abs(b)) + 3 * np.abs(add)) + 1e-37
    got = np.asarray(got)
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    assert got.dtype == np.float32, got.dtype
    worst = np.max(np.where(np.abs(got - want) <= bound, 0.0, 1.0), initial=0.0)
    assert worst == 0.0, f"off by up to {np.max(np.abs(got - want))}"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIP)

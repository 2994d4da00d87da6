# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""A step of descent for the values of a sparse weight: the gradient is computed at its entries alone (SDDMM)."""
import numpy as np
import scipy.sparse

import lacuna_blas

random = np.random.default_rng(7)
weight = scipy.sparse.random(300, 400, density=0.05, format="csr", dtype=np.float32, random_state=7)
inputs = random.standard_normal((400, 32)).astype(np.float32)
target = random.standard_normal((300, 32)).astype(np.float32)

losses = []
for _ in range(50):
    error = lacuna_blas.matmul(weight, inputs) - target  # weight is used where it lies
    losses.append(float((error * error).mean()))
    gradient = lacuna_blas.sddmm(error, inputs.T, weight)  # one value for each entry of the weight
    weight.data -= 5e-4 * gradient
print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f} over {weight.nnz} entries")
assert losses[-1] < 0.95 * losses[0]

rows = lacuna_blas.slice_rows(weight, [3, 3, 299])  # dense rows, as a simulator gathers them
assert np.array_equal(rows, weight[[3, 3, 299]].toarray())

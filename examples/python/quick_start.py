# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""A layer of spikes through a weight that stays: the product that skips what is zero, why it is fast, and its check."""
import numpy as np

import lacuna_blas

random = np.random.default_rng(7)
spikes = random.random((64, 2048)) < 0.01  # bool: an event is a one
weight = random.standard_normal((1024, 2048)).astype(np.float32)  # [outputs, inputs], as a Linear layer has it
bias = np.full(1024, -4, np.float32)

frozen = lacuna_blas.Operand(weight).freeze()  # a promise: it stays until frozen.touch()
hidden = lacuna_blas.Operand(np.empty((64, 1024), np.float32))
for _ in range(20):
    lacuna_blas.matmul(spikes, frozen.T, hidden, bias=bias, activation="relu", formats="csr")
print(hidden)  # its zeros are known: the next layer scans nothing
print(lacuna_blas.explain(spikes, frozen.T))

expected = np.maximum(spikes.astype(np.float32) @ weight.T + bias, 0)
assert np.allclose(hidden.to_dense(), expected, atol=1e-4)
assert np.isclose(hidden.density, np.count_nonzero(expected) / expected.size, atol=1e-3)

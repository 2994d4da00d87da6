# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""A layer of leaky neurons with random connections, trained through time in JAX: spikes times compressed rows, gradients at the connections."""
import jax
import jax.numpy as jnp
import numpy as np

import lacuna_blas.jax as lac

random = np.random.default_rng(7)
INPUTS, NEURONS, FAN_OUT, STEPS = 400, 100, 20, 20
targets = jnp.asarray(random.integers(0, NEURONS, (INPUTS, FAN_OUT)).astype(np.int32))  # of each input; no row pointers are needed
weights = jnp.asarray(random.standard_normal((INPUTS, FAN_OUT)).astype(np.float32) * 0.3)
spikes = jnp.asarray(random.random((STEPS, INPUTS)) < 0.05)
wanted = jnp.asarray(random.random(NEURONS).astype(np.float32) * 5)


@jax.jit
def loss(weights):
    def step(v, fired):
        current = lac.csr_matmul(None, targets, weights, fired, shape=(INPUTS, NEURONS), transpose=True)
        v = 0.9 * v + current
        return v, jax.nn.sigmoid(4 * (v - 1))  # a soft spike
    return jnp.mean((jax.lax.scan(step, jnp.zeros(NEURONS), spikes)[1].sum(0) - wanted) ** 2)


losses = []
for _ in range(40):
    value, gradient = jax.value_and_grad(loss)(weights)
    weights = weights - 0.3 * gradient
    losses.append(float(value))
print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}; calls computed by Lacuna: {lac.calls()}")
assert losses[-1] < 0.7 * losses[0]

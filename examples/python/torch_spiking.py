# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""A spiking network trained through time, whose Linear layers compute with Lacuna after one call."""
import torch

import lacuna_blas.torch


class Spike(torch.autograd.Function):
    """A step, with the gradient of a fast sigmoid."""

    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 0).float()

    @staticmethod
    def backward(ctx, grad):
        return grad / (1 + 10 * ctx.saved_tensors[0].abs()) ** 2


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.readout = torch.nn.Linear(700, 512), torch.nn.Linear(512, 20)

    def forward(self, spikes):  # [steps, batch, inputs]
        v, output = torch.zeros(spikes.shape[1], 512), 0
        for step in spikes:
            v = 0.9 * v + self.hidden(step)
            fired = Spike.apply(v - 1)
            v = v - fired
            output = output + self.readout(fired)
        return output


torch.manual_seed(7)
model, spikes, labels = Network(), (torch.rand(20, 64, 700) < 0.02).float(), torch.arange(64) % 20
report = lacuna_blas.torch.optimize(model, spikes)  # runs the model once, to predict what each layer gains
print(report)
optimizer, losses = torch.optim.Adam(model.parameters(), lr=5e-3), []
for _ in range(10):
    loss = torch.nn.functional.cross_entropy(model(spikes), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # changes the weights: the packed copies are made anew
    losses.append(loss.item())
print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}; (layer, changes noticed, calls with a packed weight): {lacuna_blas.torch.status(model)}")
assert losses[-1] < losses[0]
report.undo()
assert type(model.hidden) is torch.nn.Linear

#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Measures PyTorch models plain and after lacuna_blas.torch.optimize(), and what an operator's call costs.

usage: torch_optimize.py RESULT.json [--device cpu|cuda] [--rounds N] [--only TEXT] [--quick]

Run it where lacuna_blas is installed, or with PYTHONPATH=plugin/python and LACUNA_LIBRARY. Plain and optimized steps of one
program take turns in one process; times are medians over the rounds, with the quartiles. Operands are random, never zero-filled,
and each program's results are compared, plain against optimized. --quick: small ones, to see that it runs."""
import argparse
import datetime
import json
import statistics
import sys
import time

import torch

import lacuna_blas
import lacuna_blas.torch as lac

SCHEMA = "lacuna-torch-optimize-1"


class Spike(torch.autograd.Function):
    """A step, with the gradient of a fast sigmoid."""

    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 0).float()

    @staticmethod
    def backward(ctx, grad):
        return grad / (1 + 10 * ctx.saved_tensors[0].abs()) ** 2


class Spiking(torch.nn.Module):
    """Two Linear layers with leaky neurons between, over the steps of its input [steps, batch, inputs]."""

    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.first, self.second = torch.nn.Linear(inputs, hidden), torch.nn.Linear(hidden, outputs)

    def forward(self, spikes):
        v, out = spikes.new_zeros(spikes.shape[1], self.first.out_features), 0
        for step in spikes:
            v = 0.9 * v + self.first(step)
            fired = Spike.apply(v - 1)
            v = v - fired
            out = out + self.second(fired)
        return out


def inference(model, x):
    def step():
        with torch.no_grad():
            return model(x)
    return model, step


def training(model, x, classes):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    labels = torch.arange(x.shape[-2], device=x.device) % classes

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()
    return model, step


def events(device, *shape, density):
    return (torch.rand(*shape, device=device) < density).float()


def programs(device, quick):
    """name: a function that makes (model, step), the same each time."""
    width, steps, batch = (256, 4, 16) if quick else (2048, 20, 128)

    def spiking():
        return Spiking(700, width, 20).to(device)

    def relu():
        return torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 20)).to(device)

    table = {}
    for density in (0.001, 0.01, 0.1, 1.0):
        table[f"Linear {width} x {width}, batch {batch}, {100 * density:g} %"] = lambda density=density: inference(
            torch.nn.Linear(width, width).to(device), events(device, batch, width, density=density) * torch.randn(batch, width, device=device))
    for density in (0.01, 0.05):
        table[f"spiking network forward, {steps} steps, batch {batch}, {100 * density:g} %"] = lambda density=density: inference(
            spiking(), events(device, steps, batch, 700, density=density))
        table[f"spiking network trained, {steps} steps, batch {batch}, {100 * density:g} %"] = lambda density=density: training(
            spiking(), events(device, steps, batch, 700, density=density), 20)
    table[f"ReLU network trained, batch {batch}, input 2 %"] = lambda: training(relu(), events(device, batch, width, density=0.02), 20)
    table[f"ReLU network trained, batch {batch}, input dense"] = lambda: training(relu(), torch.randn(batch, width, device=device), 20)
    return table


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def timed(step, device, seconds):
    """Microseconds a step, over as many as fill this time."""
    calls, spent = 1, 0.0
    while True:
        wait(device)
        begin = time.perf_counter()
        for _ in range(calls):
            step()
        wait(device)
        spent = time.perf_counter() - begin
        if spent >= seconds:
            return 1e6 * spent / calls
        calls = max(2 * calls, int(calls * seconds / max(spent, 1e-9)))


def summary(times):
    quartiles = statistics.quantiles(times, n=4) if len(times) > 1 else 3 * times
    return {"median_us": statistics.median(times), "p25_us": quartiles[0], "p75_us": quartiles[2]}


def compare(make, device, rounds, seconds):
    """One program, plain and optimized in turn, from the same weights."""
    sides = {}
    for name in ("plain", "optimized"):
        torch.manual_seed(1)
        model, step = make()
        sides[name] = model, step
    lac.optimize(sides["optimized"][0])
    results = [[step() for _, step in sides.values()] for _ in range(8)]  # and both are warm
    worst = max(float((x - y).abs().max() / x.abs().max().clamp_min(1e-6)) for x, y in results)
    times = {name: [] for name in sides}
    for _ in range(rounds):
        for name, (_, step) in sides.items():
            times[name].append(timed(step, device, seconds))
    report = {name: summary(values) for name, values in times.items()}
    report["speedup"] = statistics.median(x / y for x, y in zip(times["plain"], times["optimized"]))
    report["largest_difference"] = worst
    report["layers"] = [{"name": name, "changes": changes, "packed_calls": calls} for name, changes, calls in lac.status(sides["optimized"][0])]
    return report


def call_cost(device, rounds):
    """What one call of a small Linear costs the host: PyTorch's own, and the operator."""
    x, weight, bias = (torch.randn(shape, device=device) for shape in ((4, 16), (8, 16), (8,)))
    times = {"F.linear": [], "lacuna::linear": []}
    with torch.no_grad():
        for _ in range(rounds):
            for name, call in (("F.linear", torch.nn.functional.linear), ("lacuna::linear", lac.linear)):
                times[name].append(timed(lambda call=call: call(x, weight, bias), device, 0.02))
    return {name: summary(values) for name, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    seconds = 0.005 if options.quick else 0.2
    head = {"schema": SCHEMA, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "torch": torch.__version__,
            "device": torch.cuda.get_device_name() if options.device == "cuda" else "cpu", "threads": torch.get_num_threads(),
            "lacuna": dict(lacuna_blas.thread_context(None if options.device == "cpu" else -1).info()), "rounds": options.rounds}
    report = {**head, "call": call_cost(options.device, options.rounds), "programs": {}}
    table = {name: make for name, make in programs(options.device, options.quick).items() if options.only in name}
    for number, (name, make) in enumerate(table.items(), 1):
        found = report["programs"][name] = compare(make, options.device, options.rounds, seconds)
        print(f"{number}/{len(table)} {name}: {found['plain']['median_us']:.0f} -> {found['optimized']['median_us']:.0f} us, "
              f"{found['speedup']:.2f}x, difference {found['largest_difference']:.1g}", flush=True)
        if not found["largest_difference"] < 1e-3:
            sys.exit(f"{name}: plain and optimized differ")
    with open(options.result, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()

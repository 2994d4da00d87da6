#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Measures PyTorch models plain, preloaded, and after lacuna_blas.torch.optimize(); their loss curves; and what a call costs.

usage: torch_optimize.py RESULT.json [--device cpu|cuda] [--preload LIBRARY] [--rounds N] [--only TEXT] [--quick]

Run it where lacuna_blas is installed, or with PYTHONPATH=plugin/python and LACUNA_LIBRARY. Plain and optimized steps of one
program take turns in one process; times are medians over the rounds, with the quartiles. --preload: the plain programs run once more in a
process in front of whose BLAS this drop-in library stands. Operands are random, never zero-filled. The results of each program,
which for training are its losses over the first steps, are compared with the plain ones. --quick: small ones, to see that it runs."""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import unittest.mock

import torch

import lacuna_blas
import lacuna_blas.torch as lac
from lacuna_blas.torch import _operators

SCHEMA = "lacuna-torch-optimize-2"
CURVE = 30  # steps whose losses are compared


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
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
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


def compare(make, device, rounds, seconds, alone):
    """One program, plain and optimized in turn, from the same weights; alone: plain only."""
    sides = {}
    for name in ("plain",) if alone else ("plain", "optimized"):
        torch.manual_seed(1)
        sides[name] = make()
    if not alone:
        lac.optimize(sides["optimized"][0])
    trained, results = False, {name: [] for name in sides}
    for _ in range(CURVE):  # and all are warm
        for name, (_, step) in sides.items():
            out = step()
            trained = out.dim() == 0
            results[name].append(float(out) if trained else out)
    report = {"losses": results} if trained else {}
    if not alone:
        report["largest_difference"] = max(float(abs(x - y).max() / abs(x).max().clamp_min(1e-6)) for x, y in zip(
            *(map(torch.as_tensor, each) for each in (results["plain"], results["optimized"]))))
    times = {name: [] for name in sides}
    for _ in range(rounds):
        for name, (_, step) in sides.items():
            times[name].append(timed(step, device, seconds))
    report.update({name: summary(values) for name, values in times.items()})
    if not alone:
        report["speedup"] = statistics.median(x / y for x, y in zip(times["plain"], times["optimized"]))
        report["layers"] = [{"name": name, "changes": changes, "packed_calls": calls} for name, changes, calls in lac.status(sides["optimized"][0])]
    return report


def preloaded(options):
    """The plain programs in a process of their own behind the drop-in library."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "preloaded.json")
        words = [sys.executable, __file__, path, "--device", options.device, "--rounds", str(options.rounds), "--only", options.only, "--plain-only"]
        subprocess.run(words + (["--quick"] if options.quick else []), check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "LD_PRELOAD": options.preload})
        with open(path, encoding="utf-8") as file:
            return json.load(file)["programs"]


def merge(found, other):
    found["preloaded"] = other["plain"]
    found["preloaded_speedup"] = found["plain"]["median_us"] / other["plain"]["median_us"]
    if "losses" in found:
        found["losses"]["preloaded"] = other["losses"]["plain"]


def row(name, found):
    """One line of the table: microseconds of each side, and for training the first and last loss of each."""
    losses = "".join(f" {side} {curve[0]:.4f} .. {curve[-1]:.4f}" for side, curve in found.get("losses", {}).items())
    times = [f"{found[side]['median_us']:>10.1f}" if side in found else f"{'-':>10}" for side in ("plain", "preloaded", "optimized")]
    return f"{name:<56} {' '.join(times)} {found['speedup']:>7.2f}x {found['largest_difference']:>9.1g} {losses}"


def call_cost(device, rounds):
    """What one call of a small Linear costs this thread's processor: {way: the least microseconds of the rounds, 25 for each}."""
    x, weight, bias = (torch.randn(shape, device=device) for shape in ((4, 16), (8, 16), (8,)))
    small, asked = {"SMALL": _operators.SMALL}, {"SMALL": 0, "SMALL_ON_DEVICE": 0}
    operator, context = torch.ops.lacuna.linear.default, _operators.context_of(x.device)
    ways = {"F.linear": ("auto", small, lambda: torch.nn.functional.linear(x, weight, bias)),
            "linear, small: left to PyTorch": ("auto", small, lambda: lac.linear(x, weight, bias)),
            "linear, computed": ("event", asked, lambda: lac.linear(x, weight, bias)),
            "linear, asked and left to PyTorch": ("auto", asked, lambda: lac.linear(x, weight, bias)),
            "linear by ctypes, computed": ("event", {**asked, "_compiled": None}, lambda: lac.linear(x, weight, bias)),
            "the operator lacuna::linear, computed": ("event", asked, lambda: operator(x, weight, bias, 0))}
    least = {}
    with torch.no_grad():
        for _ in range(25 * rounds):
            for name, (backend, settings, call) in ways.items():
                context.set("backend", backend)
                with unittest.mock.patch.multiple(_operators, **settings):
                    begin = time.thread_time()
                    for _ in range(200):
                        call()
                    us = 1e6 * (time.thread_time() - begin) / 200
                least[name] = min(us, least.get(name, us))
                wait(device)
    context.set("backend", "auto")
    return {"binding": _operators.binding(), "least_us": {name: round(us, 3) for name, us in least.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--preload", metavar="LIBRARY")
    parser.add_argument("--plain-only", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    seconds = 0.005 if options.quick else 0.2
    head = {"schema": SCHEMA, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "torch": torch.__version__,
            "device": torch.cuda.get_device_name() if options.device == "cuda" else "cpu", "threads": torch.get_num_threads(),
            "lacuna": dict(lacuna_blas.thread_context(None if options.device == "cpu" else -1).info()), "rounds": options.rounds}
    report = {**head, "programs": {}}
    if not options.plain_only:
        report["call"] = call_cost(options.device, options.rounds)
        print(f"a call ({report['call']['binding']}): " + ", ".join(f"{name} {us:.2f} us" for name, us in report["call"]["least_us"].items()), flush=True)
    table = {name: make for name, make in programs(options.device, options.quick).items() if options.only in name}
    for number, (name, make) in enumerate(table.items(), 1):
        found = report["programs"][name] = compare(make, options.device, options.rounds, seconds, options.plain_only)
        print(f"{number}/{len(table)} {name}: {found['plain']['median_us']:.0f} us" + (
            "" if options.plain_only else f" -> {found['optimized']['median_us']:.0f} us"), flush=True)
    if options.preload:
        for name, found in preloaded(options).items():
            merge(report["programs"][name], found)
    with open(options.result, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
    if not options.plain_only:
        print(f"{'us a step':<56} {'plain':>10} {'preloaded':>10} {'optimized':>10} {'speedup':>8} {'differ':>9}  losses")
        print("\n".join(row(name, found) for name, found in report["programs"].items()))
    for name, found in report["programs"].items():
        if not found.get("largest_difference", 0) < (2e-2 if "losses" in found else 1e-3):  # one spike more or less is a step's whole
            sys.exit(f"{name}: plain and optimized differ")


if __name__ == "__main__":
    main()

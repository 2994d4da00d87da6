#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Measures what a call of an optimized layer is made of: the host's time for each part, beside PyTorch's own.

usage: torch_layer.py RESULT.json [--device cpu|cuda] [--rounds N] [--size ROWSxINPUTSxOUTPUTS] [--type float32|float16|bfloat16]

Run it where lacuna_blas is installed, or with PYTHONPATH=plugin/python and LACUNA_LIBRARY. Parts take turns; each figure is the processor time of the
thread for one call, the least of the rounds, and on a device also the time until it was done. On the CPU take a small layer (4x16x8, the default
there): products cost the host's time, too. The route that skips zeros is forced, and layers do not time PyTorch's product meanwhile."""
import argparse
import contextlib
import datetime
import json
import time
import unittest.mock

import torch

import lacuna_blas.torch as lac
from lacuna_blas.torch import _modules, _operators

SCHEMA = "lacuna-torch-layer-1"
CALLS = 200
DENSITIES = (0.005, 0.05)


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def parts(x, plain, layer):
    """{part: call}"""
    weight, bias, packed = layer.weight, layer.bias, layer._lacuna_packed
    linear = torch.nn.functional.linear
    return {"F.linear": lambda: linear(x, weight, bias), "linear": lambda: lac.linear(x, weight, bias),
            "Linear": lambda: plain(x), "optimized": lambda: layer(x),
            "Linear.forward": lambda: plain.forward(x), "optimized.forward": lambda: layer.forward(x),
            "linear_eager, packed": lambda: _operators.linear_eager(x, weight, bias, packed.number),
            "metadata_of": lambda: packed.metadata_of(weight), "empty": lambda: torch.empty(x.shape[0], weight.shape[0], device=x.device, dtype=x.dtype)}


def measure(calls, device, rounds):
    """{part: {"host_us": least processor time, "done_us": least time until done}} of one call."""
    found = {name: {"host_us": float("inf"), "done_us": float("inf")} for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            call()
            wait(device)
            begin, busy = time.perf_counter(), time.thread_time()
            for _ in range(CALLS):
                call()
            host = 1e6 * (time.thread_time() - busy) / CALLS
            wait(device)
            done = 1e6 * (time.perf_counter() - begin) / CALLS
            found[name] = {"host_us": min(host, found[name]["host_us"]), "done_us": min(done, found[name]["done_us"])}
    return {name: {key: round(us, 2) for key, us in each.items()} for name, each in found.items()}


def layer_cost(rows, inputs, outputs, density, device, dtype, rounds):
    torch.manual_seed(5)
    x = (torch.rand(rows, inputs, device=device) < density).to(dtype)
    plain, layer = (torch.nn.Linear(inputs, outputs, device=device, dtype=dtype) for _ in range(2))
    lac.optimize(layer)
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.enter_context(unittest.mock.patch.multiple(_operators, SMALL=0, SMALL_ON_DEVICE=0))
        stack.enter_context(unittest.mock.patch.object(_modules, "_TIMED", False))
        _operators.context_of(x.device).set("backend", "event")
        stack.callback(_operators.context_of(x.device).set, "backend", "auto")
        found = measure(parts(x, plain, layer), device, rounds)
        packed = layer._lacuna_packed
        return {"parts": found, "packed_calls": packed.packed_calls, "frozen": packed.frozen, "pause": packed.pause, "streak": packed.streak}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--size")
    parser.add_argument("--type", choices=("float32", "float16", "bfloat16"), default="float32")
    options = parser.parse_args()
    size = options.size or ("4x16x8" if options.device == "cpu" else "128x2048x2048")
    report = {"schema": SCHEMA, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "torch": torch.__version__,
              "device": torch.cuda.get_device_name() if options.device == "cuda" else "cpu", "threads": torch.get_num_threads(),
              "binding": lac.binding(), "size": size, "type": options.type, "rounds": options.rounds, "layers": {}}
    for density in DENSITIES:
        found = report["layers"][str(density)] = layer_cost(*map(int, size.split("x")), density, options.device, getattr(torch, options.type), options.rounds)
        print(f"{size} of {options.type} at {100 * density:g} %, {report['binding']}, {found['packed_calls']} calls with a packed weight")
        print(f"  {'':<24} {'host us':>8} {'done us':>8}")
        for name, each in found["parts"].items():
            print(f"  {name:<24} {each['host_us']:>8.2f} {each['done_us']:>8.2f}", flush=True)
    with open(options.result, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()

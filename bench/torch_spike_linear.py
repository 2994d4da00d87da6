#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Times a Linear layer whose input is spikes: PyTorch, SpikingJelly's sparse kernel, and ours, plain and optimized.

usage: torch_spike_linear.py RESULT.json [--spikingjelly FOLDER] [--rounds N] [--quick]

FOLDER: ops/spike_linear of the source distribution of SpikingJelly 2.0.0, whose one CUDA file is compiled as its setup.py does (a minute); without it that
column is left out. The ways take turns in one process; times are medians of the rounds, with quartiles, of calls in a row in eager mode on one stream.
Ours gets the same floats as the others. Results are compared with PyTorch's."""
import argparse
import datetime
import json
import pathlib
import statistics
import sys
import time

import torch

import lacuna_blas
import lacuna_blas.torch as lac

SCHEMA = "lacuna-torch-spike-linear-1"
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def spikingjelly(folder):
    """Its sparse product of [rows, inputs] by [outputs, inputs]."""
    import torch.utils.cpp_extension
    native = pathlib.Path(folder) / "native.cu"
    torch.utils.cpp_extension.load("sj_spike_linear", [str(native)], extra_cuda_cflags=["-O3", "--use_fast_math"], is_python_module=False)
    return torch.ops.sj_spike_linear.kernel_sparse


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def timed(call, seconds):
    calls = 1
    while True:
        wait()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        wait()
        spent = time.perf_counter() - begin
        if spent >= seconds:
            return 1e6 * spent / calls
        calls = max(2 * calls, int(calls * seconds / max(spent, 1e-9)))


def compare(rows, inputs, outputs, density, theirs, rounds, seconds):
    torch.manual_seed(3)
    layer = torch.nn.Linear(inputs, outputs, bias=False).to(DEVICE)
    optimized = torch.nn.Linear(inputs, outputs, bias=False).to(DEVICE)
    optimized.load_state_dict(layer.state_dict())
    lac.optimize(torch.nn.Sequential(optimized))
    x, weight = (torch.rand(rows, inputs, device=DEVICE) < density).float(), layer.weight
    ways = {"torch": lambda: layer(x), "lacuna linear": lambda: lac.linear(x, weight), "lacuna optimized": lambda: optimized(x)}
    if theirs:
        ways["spikingjelly"] = lambda: theirs(x, weight)
    with torch.no_grad():
        want = ways["torch"]()
        differ = {name: float((call() - want).abs().max() / want.abs().max().clamp_min(1e-6)) for name, call in ways.items()}
        for call in ways.values():
            timed(call, seconds)
        times = {name: [] for name in ways}
        for _ in range(rounds):
            for name, call in ways.items():
                times[name].append(timed(call, seconds))
    return {name: {**dict(zip(("p25_us", "median_us", "p75_us"), statistics.quantiles(values, n=4))), "differs": differ[name]}
            for name, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("--spikingjelly", metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    theirs = spikingjelly(options.spikingjelly) if options.spikingjelly else None
    shapes = ((16, 256, 256),) if options.quick else ((128, 2048, 2048), (128, 8192, 8192), (2560, 2048, 2048))
    names = ("torch", *(("spikingjelly",) if theirs else ()), "lacuna linear", "lacuna optimized")
    report = {"schema": SCHEMA, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "torch": torch.__version__,
              "device": torch.cuda.get_device_name() if DEVICE == "cuda" else "cpu", "rounds": options.rounds,
              "lacuna": dict(lacuna_blas.thread_context(None if DEVICE == "cpu" else -1).info()), "layers": {}}
    print(f"{'us a call':<36} " + " ".join(f"{name:>17}" for name in names))
    with torch.no_grad():
        for rows, inputs, outputs in shapes:
            for density in (0.001, 0.005, 0.01, 0.05):
                name = f"{rows} x {inputs} x {outputs}, {100 * density:g} %"
                found = report["layers"][name] = compare(rows, inputs, outputs, density, theirs, options.rounds, 0.005 if options.quick else 0.02)
                print(f"{name:<36} " + " ".join(f"{found[each]['median_us']:>17.1f}" for each in names), flush=True)
                worst = max(each["differs"] for each in found.values())
                if not worst < 1e-4:
                    sys.exit(f"{name}: results differ by {worst}")
    with open(options.result, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Times steps of leaky integrate-and-fire neurons from PyTorch: its own operations, lacuna_blas.torch.lif_step, and lacuna_blas.LIFStep.

usage: torch_lif.py RESULT.json [--rounds N] [--quick]

*Simulated*: one copy of a recurrent network with a fixed number of connections of one value each, whose spikes are the events of the next step; PyTorch's sparse CSR
product, or lif_step with the same tensor, or LIFStep on a fixed fan-out with spikes as bits; eager, and on a device as replays of a graph of ten steps.
*Trained*: batches of random spikes through two dense layers and 20 steps, forward, backward and an update, by PyTorch's operations and by
lif_step. The ways take turns in one process; times are medians of rounds with quartiles, each of the network as it then is. Rates and losses are compared."""
import argparse
import datetime
import json
import statistics
import sys
import time

import torch

import lacuna_blas
import lacuna_blas.torch as lac
from lacuna_blas import Context, LIFInput, LIFStep, Operand

SCHEMA = "lacuna-torch-lif-1"
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
NEURONS = dict(dt=0.1, tau=20.0, v_rest=-60.0, v_threshold=-50.0, v_reset=-60.0)
IN_GRAPH = 10


class Spike(torch.autograd.Function):
    """A step, with the gradient of a fast sigmoid."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).float()

    @staticmethod
    def backward(ctx, grad):
        return grad / (1 + 25 * ctx.saved_tensors[0].abs()) ** 2


def plain_step(v, drive, wait, refractory, dt, tau, v_rest, v_threshold, v_reset):
    """Neurons driven by a current, in PyTorch's operations: (spikes, v, wait)."""
    steady = v_rest + drive
    moved = steady + torch.exp(torch.tensor(-dt / tau)).item() * (v - steady)
    if not refractory:
        spikes = Spike.apply(moved - v_threshold)
        return spikes, torch.where(spikes.detach() > 0, v_reset, moved), None
    free = wait <= 0
    fired = free & (moved > v_threshold)
    return fired, torch.where(fired, v_reset, torch.where(free, moved, v)), torch.where(fired, refractory, (wait - 1).clamp(min=0))


class Simulation:
    """One copy of n neurons, `each` connections of one value, and currents that keep some 1 % of them firing."""

    def __init__(self, way, n, each):
        torch.manual_seed(11)
        width = n // each  # one connection in each of as many ranges of neurons: ascending, none twice
        targets = (torch.arange(each) * width + torch.randint(width, (n, each))).to(torch.int32)
        self.n, self.way, self.fired = n, way, 0
        self.v, self.g, self.wait = torch.empty(n).uniform_(-60, -50), torch.zeros(n), torch.zeros(n, dtype=torch.int32)
        self.current, spikes = torch.empty(n).uniform_(8, 16), torch.rand(n) < 0.01
        for name in ("v", "g", "wait", "current"):
            setattr(self, name, getattr(self, name).to(DEVICE))
        self.spikes = spikes.to(DEVICE)
        settings = dict(weight=0.05, decay=0.9)
        if way == "LIFStep":
            bits = torch.zeros(-(-n // 64), dtype=torch.int64)
            for i in spikes.nonzero().flatten().tolist():
                bits[i // 64] |= (1 << (i % 64)) - (1 << 64 if i % 64 == 63 else 0)
            self.bits = bits.to(DEVICE).view(torch.uint64)
            context = Context("host" if DEVICE == "cpu" else DEVICE, stream=None if DEVICE == "cpu" else torch.cuda.current_stream())
            events = Operand(self.spikes[None], context=context).attach_event_bits(self.bits)
            synapse = LIFInput(events, Operand.from_ell((n, n), targets.to(DEVICE), context=context), self.g, **settings)
            self.step = LIFStep(self.v, [synapse], **NEURONS, refractory=20, current=self.current, spikes=self.spikes, wait=self.wait, bits=self.bits,
                                context=context)
            return
        ptr = torch.arange(0, n * each + 1, each, dtype=torch.int32)
        w = torch.sparse_csr_tensor(ptr, targets.flatten(), torch.ones(n * each), (n, n)).to(DEVICE)
        if way == "lif_step":
            self.step = lambda: self._lif_step(w, settings)
        else:
            flat = targets.flatten().long()
            rows = torch.arange(n, dtype=torch.int32).repeat_interleave(each)[flat.argsort(stable=True)]
            ptr = torch.cat([torch.zeros(1, dtype=torch.int32), torch.bincount(flat, minlength=n).cumsum(0).int()])
            transposed = torch.sparse_csr_tensor(ptr, rows, torch.ones(n * each), (n, n)).to(DEVICE)
            self.step = lambda: self._plain(transposed, settings)

    def _lif_step(self, w, settings):
        state = lac.lif_step(self.v, [LIFInput(self.spikes, w, self.g, **settings)], **NEURONS, refractory=20, wait=self.wait, current=self.current, binary=True)
        self._keep(state.spikes, state.v, state.wait, state.g[0])

    def _plain(self, w, settings):
        g = settings["weight"] * (w @ self.spikes.float()) + settings["decay"] * self.g
        self._keep(*plain_step(self.v, self.current + g, self.wait, 20, **NEURONS), g)

    def _keep(self, spikes, v, wait, g):
        for old, new in ((self.spikes, spikes), (self.v, v), (self.wait, wait), (self.g, g)):
            old.copy_(new)


class Training:
    """Two dense layers of neurons through 20 steps, and an update of their weights."""

    def __init__(self, way, batch, sizes):
        torch.manual_seed(12)
        self.way, self.batch, self.sizes = way, batch, sizes
        self.w = [(torch.randn(k, n) * 2 / k ** 0.5).to(DEVICE).requires_grad_() for k, n in zip(sizes, sizes[1:])]
        self.data = [(torch.rand(batch, sizes[0]) < 0.03).float().to(DEVICE) for _ in range(20)]
        self.goal = torch.randint(0, sizes[-1], (batch,)).to(DEVICE)
        self.optimizer, self.losses = torch.optim.SGD(self.w, lr=0.01), []

    def step(self):
        settings = dict(dt=1.0, tau=5.0, v_rest=0.0, v_threshold=0.5, v_reset=0.0)
        v, counts = [torch.zeros(self.batch, n, device=DEVICE) for n in self.sizes[1:]], 0
        g = [torch.zeros_like(x) for x in v]
        for events in self.data:
            for layer, w in enumerate(self.w):
                if self.way == "lif_step":
                    events, v[layer], _, (g[layer],) = lac.lif_step(v[layer], [LIFInput(events, w, g[layer], decay=0.5)], **settings)
                else:
                    g[layer] = events @ w + 0.5 * g[layer]
                    events, v[layer], _ = plain_step(v[layer], g[layer], None, 0, **settings)
            counts = counts + events
        loss = torch.nn.functional.cross_entropy(counts, self.goal)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.detach())


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def timed(call, seconds, per_call=1):
    calls = 1
    while True:
        wait()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        wait()
        spent = time.perf_counter() - begin
        if spent >= seconds:
            return 1e6 * spent / calls / per_call
        calls = max(2 * calls, int(calls * seconds / max(spent, 1e-9)))


def captured(call):
    """A call that replays ten steps, which ran on the stream that is captured."""
    stream, graph = torch.cuda.current_stream(), torch.cuda.CUDAGraph()
    wait()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(IN_GRAPH):
            call()
    return graph.replay


def medians(ways, rounds, seconds):
    """{way: quartiles}; ways: {name: (call, steps of a call)}."""
    times = {name: [] for name in ways}
    for _ in range(rounds):
        for name, (call, steps) in ways.items():
            times[name].append(timed(call, seconds, steps))
    return {name: dict(zip(("p25_us", "median_us", "p75_us"), statistics.quantiles(each, n=4))) for name, each in times.items()}


def simulate(n, each, rounds, seconds):
    networks = {way: Simulation(way, n, each) for way in ("torch", "lif_step", "LIFStep")}
    rates = {}
    for way, network in networks.items():
        fired = 0
        for _ in range(100):
            network.step()
            fired = fired + network.spikes.sum()
        rates[way] = float(fired) / 100 / n
    if max(rates.values()) > 1.02 * min(rates.values()) + 1e-4 or not min(rates.values()) > 0:
        sys.exit(f"{n} neurons: rates differ: {rates}")
    ways = {way: (network.step, 1) for way, network in networks.items()}
    if DEVICE == "cuda":
        ways.update({f"{way}, in a graph": (captured(network.step), IN_GRAPH) for way, network in networks.items()})
    return {"rates": rates, "ways": medians(ways, rounds, seconds)}


def train(batch, sizes, rounds, seconds):
    networks = {way: Training(way, batch, sizes) for way in ("torch", "lif_step")}
    for network in networks.values():
        for _ in range(5):
            network.step()
    losses = {way: [float(x) for x in network.losses] for way, network in networks.items()}
    if max(abs(a - b) for a, b in zip(*losses.values())) > 0.02 * losses["torch"][0]:
        sys.exit(f"{sizes}: losses differ: {losses}")
    return {"losses": losses, "ways": medians({way: (network.step, 1) for way, network in networks.items()}, rounds, seconds)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    simulated = ((500, 20),) if options.quick else ((4000, 80), (40000, 100))
    trained = ((8, (50, 40, 10)),) if options.quick else ((128, (700, 2048, 20)), (128, (2048, 4096, 20)))
    seconds = 0.005 if options.quick else 0.05
    report = {"schema": SCHEMA, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "torch": torch.__version__,
              "device": torch.cuda.get_device_name() if DEVICE == "cuda" else "cpu", "threads": torch.get_num_threads(), "rounds": options.rounds,
              "lacuna": dict(lacuna_blas.thread_context(None if DEVICE == "cpu" else -1).info()), "programs": {}}
    stream = torch.cuda.stream(torch.cuda.Stream()) if DEVICE == "cuda" else None
    if stream:
        stream.__enter__()  # graphs are captured on the stream that the calls before ran on
    for n, each in simulated:
        with torch.no_grad():
            report["programs"][f"simulated, {n} neurons with {each} connections"] = simulate(n, each, options.rounds, seconds)
    for batch, sizes in trained:
        report["programs"][f"trained, batch {batch}, {' - '.join(map(str, sizes))}, 20 steps"] = train(batch, sizes, options.rounds, seconds)
    if stream:
        stream.__exit__(None, None, None)
    for name, program in report["programs"].items():
        print(name)
        for way, found in program["ways"].items():
            print(f"  {way:<24} {found['median_us']:>10.1f} us", flush=True)
    with open(options.result, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()

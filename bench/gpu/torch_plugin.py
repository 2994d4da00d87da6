# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the drop-in cuBLAS does to the time of PyTorch programs: each measured plain and preloaded, in turn. Those of layers
also preloaded with their weights frozen (LACUNA_FROZEN), and, where lacuna_blas can be imported, packed by its optimize().

usage: torch_plugin.py <liblacuna_cublas.so> <results.json> [rounds [only programs whose names hold this]]

Every way to run them has a process of its own; rounds of the ways alternate, the least of each are compared, since what a
host does beside is only ever added. Operands are random, never zero-filled."""
import gc
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time


def timed(step, warm, calls):
    """Microseconds per step, by events around `calls` steps: the median of nine."""
    import torch

    for _ in range(warm):
        step()
    torch.cuda.synchronize()
    times = []
    for _ in range(9):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            step()
        end.record()
        end.synchronize()
        times.append(1e3 * begin.elapsed_time(end) / calls)
    return statistics.median(times)


def record(step):
    """A CUDA graph of one step, after a few on a side stream, as PyTorch's manual has it."""
    import torch

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(20):
            step()
    torch.cuda.synchronize()
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        step()
    return recorded


def packed(model):
    """The model, its layers packed in a process that measures that."""
    if "MEASURE_PACKED" in os.environ:
        import lacuna_blas.torch

        lacuna_blas.torch.optimize(model, frozen=True)
    return model


def relu_network(bias, graph=False, width=4096, batch=16, share=0.03, autocast=False):
    """Four layers, each behind a ReLU that leaves `share` of what comes: its threshold is the bias, or its own. Under
    autocast, which lasts for all steps, PyTorch casts each weight to bf16 once."""
    import torch

    torch.manual_seed(1)
    layers = packed(torch.nn.ModuleList(torch.nn.Linear(width, width, bias=bias, device="cuda") for _ in range(4)))
    thresholds = []

    def activate(y, i):
        return torch.relu(y) if bias else torch.nn.functional.threshold(y, thresholds[i], 0.0)

    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, enabled=autocast):
        x = torch.randn(batch, width, device="cuda")
        x = y = torch.relu(x - torch.quantile(x, 1.0 - share))
        for i, layer in enumerate(layers):
            if bias:
                layer.bias.zero_()
            y = layer(y)
            thresholds.append(torch.quantile(y.float(), 1.0 - share).item())
            if bias:
                layer.bias.fill_(-thresholds[-1])
                y = y - thresholds[-1]
            y = activate(y, i)

        def step():
            y = x
            for i, layer in enumerate(layers):
                y = activate(layer(y), i)
            return y

        if not graph:
            return timed(step, 100, 50)
        return timed(record(step).replay, 20, 50)


def decode_step(graph, width=4096, inner=11008, share=0.1):
    """A row of bf16 through four gated layers, as a language model's step has them: thresholds leave `share` of the row
    that each product reads."""
    import torch

    torch.manual_seed(5)
    keep = torch.nn.functional.threshold

    class Gated(torch.nn.Module):
        def __init__(self):
            super().__init__()
            like = {"bias": False, "device": "cuda", "dtype": torch.bfloat16}
            self.gate, self.up = (torch.nn.Linear(width, inner, **like) for _ in range(2))
            self.down = torch.nn.Linear(inner, width, **like)
            self.thresholds = None

        def forward(self, x):
            gate, up = self.gate(x), self.up(x)
            if self.thresholds is None:
                hidden = torch.quantile(gate.float(), 1.0 - share).item()
                y = self.down(keep(gate, hidden, 0.0) * up)
                self.thresholds = hidden, torch.quantile(y.float(), 1.0 - share).item()
            hidden, out = self.thresholds
            return keep(self.down(keep(gate, hidden, 0.0) * up), out, 0.0)

    with torch.no_grad():
        layers = packed(torch.nn.Sequential(*(Gated() for _ in range(4))))
        x = torch.randn(1, width, device="cuda", dtype=torch.bfloat16)
        x = keep(x, torch.quantile(x.float(), 1.0 - share).item(), 0.0)
        layers(x)
        if not graph:
            return timed(lambda: layers(x), 100, 50)
        return timed(record(lambda: layers(x)).replay, 20, 50)


def spiking_step(size=8192, batch=10, rate=0.01, graph=False):
    """Leaky integrate-and-fire neurons, all to all; the threshold holds about `rate` of them firing."""
    import torch

    torch.manual_seed(2)
    w = torch.randn(size, size, device="cuda") / size ** 0.5
    v, s = torch.rand(batch, size, device="cuda"), (torch.rand(batch, size, device="cuda") < rate).float()
    noise = torch.rand(batch, size, device="cuda")

    def step():
        current = torch.mm(s, w)
        v.mul_(0.9).add_(current, alpha=0.1).add_(noise, alpha=0.01)
        noise.add_(0.381966).frac_()
        s.copy_(noise < rate)

    if not graph:
        return timed(step, 100, 50)
    return timed(record(step).replay, 20, 50)


def changing_product(density, size=8192, batch=10):
    """A product recorded with 0.1 % of its operand nonzero, and replayed with another density, and back."""
    import torch

    w, x = torch.randn(size, size, device="cuda"), torch.randn(batch, size, device="cuda")
    s, out = x * (torch.rand_like(x) < 0.001), torch.empty(batch, size, device="cuda")
    recorded = record(lambda: torch.mm(s, w, out=out))
    s.copy_(x * (torch.rand_like(x) < density))
    return timed(recorded.replay, 20, 50)


def dense_training(width=4096, batch=512):
    """GELU keeps everything: nothing is to be gained, and nothing may be lost. Large enough that the host runs ahead."""
    import torch

    torch.manual_seed(3)
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(width, width, device="cuda"), torch.nn.GELU()]
    network = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
    x, y = torch.randn(batch, width, device="cuda"), torch.randn(batch, width, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.mse_loss(network(x), y).backward()
        optimizer.step()

    return timed(step, 60, 30)


def spiking_training(hidden, batch, steps, graph=True):
    """A step of training a spiking network 784-hidden-hidden-10 through time: forward, backward and SGD, in one CUDA graph."""
    import torch

    class Spike(torch.autograd.Function):
        """A step, with the gradient of a fast sigmoid."""

        @staticmethod
        def forward(ctx, v):
            ctx.save_for_backward(v)
            return (v > 0).float()

        @staticmethod
        def backward(ctx, grad):
            return grad / (1 + 10 * ctx.saved_tensors[0].abs()) ** 2

    torch.manual_seed(5)
    layers = [torch.nn.Linear(a, b, device="cuda") for a, b in ((784, hidden), (hidden, hidden), (hidden, 10))]
    weights = [p for layer in layers for p in layer.parameters()]
    x = (torch.rand(steps, batch, 784, device="cuda") < 0.05).float()
    y = torch.randint(10, (batch,), device="cuda")

    def step():
        v = [x.new_zeros(batch, hidden) for _ in layers[:-1]]
        out = 0
        for s in x:
            for i, layer in enumerate(layers[:-1]):
                v[i] = 0.9 * v[i] + layer(s)
                s = Spike.apply(v[i] - 1)
                v[i] = v[i] - s
            out = out + layers[-1](s)
        for p, grad in zip(weights, torch.autograd.grad(torch.nn.functional.cross_entropy(out, y), weights)):
            p.data.sub_(grad, alpha=1e-3)

    if not graph:
        return timed(step, 20, 5)
    return timed(record(step).replay, 10, 10)


def dense_product(m, k, n):
    import torch

    a, b, c = torch.randn(m, k, device="cuda"), torch.randn(k, n, device="cuda"), torch.empty(m, n, device="cuda")
    return timed(lambda: torch.mm(a, b, out=c), 300, 100)


def sparse_product(m, k, n, density, index):
    """cusparseSpMM by PyTorch: CSR times a dense matrix by rows."""
    import torch

    torch.manual_seed(4)
    s = torch.randn(m, k, device="cuda") * (torch.rand(m, k, device="cuda") < density)
    csr, w = s.to_sparse_csr(), torch.randn(k, n, device="cuda")
    kind = getattr(torch, index)
    csr = torch.sparse_csr_tensor(csr.crow_indices().to(kind), csr.col_indices().to(kind), csr.values(), s.shape)
    return timed(lambda: csr @ w, 100, 50)


def host_time(n):
    """Host microseconds to queue a dense product, the queue never full: the least of many rounds."""
    import torch

    a, c = torch.randn(n, n, device="cuda"), torch.empty(n, n, device="cuda")
    best = 1e9
    for _ in range(60):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(100):
            torch.mm(a, a, out=c)
        best = min(best, 1e4 * (time.perf_counter() - begin))
    return best


PROGRAMS = {
    "ReLU network, 3 % active": lambda: relu_network(False),
    "ReLU network, 3 % active, with bias": lambda: relu_network(True),
    "ReLU network, 3 % active, recorded": lambda: relu_network(False, graph=True),
    "ReLU network, 3 % active, with bias, recorded": lambda: relu_network(True, graph=True),
    "ReLU network, 3 % active, autocast": lambda: relu_network(False, autocast=True),
    "ReLU network, 3 % active, autocast, recorded": lambda: relu_network(False, graph=True, autocast=True),
    "decode step, bf16, 10 % active": lambda: decode_step(False),
    "decode step, bf16, 10 % active, recorded": lambda: decode_step(True),
    "spiking step, 1 %": spiking_step,
    "spiking step, 1 %, recorded": lambda: spiking_step(graph=True),
    "spiking step, 0.1 %, recorded": lambda: spiking_step(rate=0.001, graph=True),
    "recurrent network 20000, batch 10, 1 %": lambda: spiking_step(20000),
    "recurrent network 20000, batch 10, 1 %, recorded": lambda: spiking_step(20000, graph=True),
    "training, spiking, 4096 wide, batch 64, 10 steps, recorded": lambda: spiking_training(4096, 64, 10),
    "training, spiking, 1024 wide, batch 128, 20 steps, recorded": lambda: spiking_training(1024, 128, 20),
    "training, spiking, 1024 wide, batch 128, 20 steps": lambda: spiking_training(1024, 128, 20, graph=False),
    "product recorded at 0.1 %, at 0.1 %": lambda: changing_product(0.001),
    "product recorded at 0.1 %, at 80 %": lambda: changing_product(0.8),
    "2 x 5000 x 5000 recorded at 0.1 %, at 0.1 %": lambda: changing_product(0.001, 5000, 2),
    "2 x 5000 x 5000 recorded at 0.1 %, at 10 %": lambda: changing_product(0.1, 5000, 2),
    "2 x 5000 x 5000 recorded at 0.1 %, at 80 %": lambda: changing_product(0.8, 5000, 2),
    "10 x 5000 x 5000 recorded at 0.1 %, at 0.1 %": lambda: changing_product(0.001, 5000),
    "10 x 5000 x 5000 recorded at 0.1 %, at 10 %": lambda: changing_product(0.1, 5000),
    "10 x 5000 x 5000 recorded at 0.1 %, at 80 %": lambda: changing_product(0.8, 5000),
    "dense training": dense_training,
    "dense mm 10x5000x5000": lambda: dense_product(10, 5000, 5000),
    "dense mm 64x5000x5000": lambda: dense_product(64, 5000, 5000),
    "dense mm 1024x1024x1024": lambda: dense_product(1024, 1024, 1024),
    "csr 10x5000 @ 5000x5000, 1 %, int32": lambda: sparse_product(10, 5000, 5000, 0.01, "int32"),
    "csr 4096x4096 @ 4096x16, 1 %, int32": lambda: sparse_product(4096, 4096, 16, 0.01, "int32"),
    "csr 4096x4096 @ 4096x16, 1 %, int64": lambda: sparse_product(4096, 4096, 16, 0.01, "int64"),
    "csr 4096x4096 @ 4096x128, 1 %, int64": lambda: sparse_product(4096, 4096, 128, 0.01, "int64"),
    "csr 4096x4096 @ 4096x1024, 5 %, int64": lambda: sparse_product(4096, 4096, 1024, 0.05, "int64"),
    "host time mm 256x256x256": lambda: host_time(256),
}


OF_LAYERS = ("ReLU network", "decode step")  # programs whose weights can be frozen or packed
WEIGHTS = "4096x4096,4096x11008,11008x4096"  # of those


def measure(only):
    named = {name: program for name, program in PROGRAMS.items() if only in name}
    if "MEASURE_PACKED" in os.environ or "LACUNA_FROZEN" in os.environ:
        named = {name: program for name, program in named.items() if name.startswith(OF_LAYERS)}
    return {name: fresh(program) for name, program in named.items()}


def fresh(program):
    """Run in memory that no other program had: a weight in the place of another would be taken for it."""
    import torch

    gc.collect()
    torch.cuda.empty_cache()
    return program()


def run(only, **more):
    environment = dict(os.environ, MEASURE_TORCH=only or ",", **more)
    done = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main(plugin, path, rounds="3", only=""):
    import torch

    preloaded = {"LD_PRELOAD": os.path.abspath(plugin)}
    ways = {"plain": {}, "preloaded": preloaded, "frozen": {**preloaded, "LACUNA_FROZEN": WEIGHTS}}
    if importlib.util.find_spec("lacuna_blas"):
        ways["packed"] = {"MEASURE_PACKED": "1"}
    runs = {way: [] for way in ways}
    for _ in range(int(rounds)):
        for way, more in ways.items():
            runs[way].append(run(only, **more))
    rows = []
    for name in runs["plain"][0]:
        us = {way: min(r[name] for r in of_way) for way, of_way in runs.items() if name in of_way[0]}
        rows.append({"program": name, **{f"{way}_us": round(time_us, 3) for way, time_us in us.items()},
                     "ratio": round(us["plain"] / us["preloaded"], 3)})
        faster = "  ".join(f"{way} {time_us:9.2f} us {us['plain'] / time_us:6.2f}x" for way, time_us in us.items())
        print(f"{name:60} {faster}")
    header = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
              "date": time.strftime("%Y-%m-%d"), "rounds": int(rounds)}
    with open(path, "w", encoding="utf-8") as out:
        json.dump({**header, "programs": rows, "runs": runs}, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    if "MEASURE_TORCH" in os.environ:
        print(json.dumps(measure(os.environ["MEASURE_TORCH"].strip(","))))
    else:
        main(*sys.argv[1:])

# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tensor parallelism of PyTorch on two devices under the drop-in cuBLAS: unmodified, right, and its times beside plain ones.

usage: torch_tensor_parallel.py <liblacuna_cublas.so>

Starts itself by torchrun on two devices, plain and with the library preloaded. Each rank holds what its own products and the sums of all ranks
come to against fp64, at most twice cuBLAS's error (torch_check.py). Exits with 77, and the reason, where PyTorch or two devices are missing."""
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cublas"))

INNER, OUTER, BATCH, NEURONS = 8192, 4096, 16, 20000
DENSITIES = [0.0, 0.01, 1.0]


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def layers():
    """A column-wise layer and a row-wise one behind it, as DTensor's parallelize_module makes them, with their gradients."""
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    from torch_check import check, events

    mesh = init_device_mesh("cuda", (2,))
    torch.manual_seed(1)
    for bias in (False, True):
        net = torch.nn.Sequential(torch.nn.Linear(INNER, OUTER, bias=bias), torch.nn.ReLU(), torch.nn.Linear(OUTER, INNER, bias=bias)).cuda()
        whole = [p.detach().clone() for p in net.parameters()]
        for p in whole:
            torch.distributed.broadcast(p, 0)
        with torch.no_grad():
            for p, q in zip(net.parameters(), whole):
                p.copy_(q)
        first, second = (whole[0], whole[2]) if bias else whole
        b1, b2 = (whole[1], whole[3]) if bias else (None, None)
        parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
        for seed, density in enumerate(DENSITIES):
            x = events(density, BATCH, INNER, seed=seed)
            for _ in range(6):
                net.zero_grad()
                shard = net[0](x)
                hidden = net[1](shard)
                out = net[2](hidden)
                out.sum().backward()
                torch.cuda.synchronize()
            rank, half = torch.distributed.get_rank(), OUTER // 2
            mine = slice(rank * half, (rank + 1) * half)
            check("column-wise", shard.detach(), x, first[mine].t(), b1[mine].expand(BATCH, half) if bias else None)
            both = [torch.empty_like(hidden) for _ in range(2)]
            torch.distributed.all_gather(both, hidden.detach().contiguous())
            check("row-wise", out.detach(), torch.cat(both, 1), second.t(), b2.expand(BATCH, INNER) if bias else None)
            inner = torch.ones(BATCH, INNER, device="cuda") @ second[:, mine] * (hidden.detach() > 0)
            check("column-wise weight", net[0].weight.grad.to_local(), inner.t().contiguous(), x)


def network():
    """A recurrent net, W split by output column, NCCL's all-gather each step: eager and in a graph. The bits of both are the same."""
    import torch
    from torch_check import check, events

    rank, half = torch.distributed.get_rank(), NEURONS // 2
    mine = slice(rank * half, (rank + 1) * half)
    generator = torch.Generator("cuda").manual_seed(3)
    w = torch.randn(NEURONS, NEURONS, device="cuda", generator=generator)[:, mine].contiguous() / 100
    s, potential, spikes = events(0.01, 1, NEURONS, seed=1).sign().abs(), torch.zeros(1, half, device="cuda"), torch.zeros(1, half, device="cuda")
    current = torch.zeros(1, half, device="cuda")
    kick = events(0.01, 1, half, seed=7 + rank).abs() * 2

    def step():
        torch.mm(s, w, out=current)
        potential.mul_(0.9).add_(current).add_(kick)
        torch.ge(potential, 1.0, out=flags)
        spikes.copy_(flags)
        potential.mul_(1 - spikes)
        torch.distributed.all_gather_into_tensor(s.view(-1), spikes.view(-1))

    flags = torch.zeros(1, half, dtype=torch.bool, device="cuda")
    times = {}
    start = s.clone()

    def restart():
        s.copy_(start)
        potential.zero_()

    def timed(run, calls=100, rounds=7):
        took = []
        for _ in range(rounds):
            restart()
            torch.distributed.barrier()
            torch.cuda.synchronize()
            before = time.perf_counter()
            for _ in range(calls):
                run()
            torch.cuda.synchronize()
            took.append(1e6 * (time.perf_counter() - before) / calls)
        return statistics.median(took)

    for _ in range(12):
        step()
    torch.cuda.synchronize()
    times["eager"] = timed(step)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        step()
    times["graph"] = timed(graph.replay)
    results = []
    for run in (step, graph.replay):
        restart()
        seen = s.clone()
        for i in range(20):
            seen.copy_(s)
            run()
        torch.cuda.synchronize()
        check("recurrent product", current, seen, w)
        results.append(s.clone())
    assert torch.equal(results[0], results[1]), "other spikes from the graph"
    assert 0 < int(s.sum()) < NEURONS, f"{int(s.sum())} spikes"
    return times


def worker():
    import torch
    from torch_check import worst

    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", rank))
    layers()
    times = network()
    print("rank", rank, "worst error over cuBLAS's:", {name: round(ratio, 2) for name, ratio in worst.items()}, flush=True)
    if rank == 0:
        print("TIMES", json.dumps(times), flush=True)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def start(plugin, preloaded):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = dict(os.environ, UNDER_LACUNA="1", NCCL_NVLS_ENABLE="0", TORCH_SYMM_MEM_DISABLE_MULTICAST="1", OMP_NUM_THREADS="1")
    if preloaded:
        environment.update(LD_PRELOAD=os.path.abspath(plugin), LACUNA_STATS="1")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--master-addr=127.0.0.1", f"--master-port={port}",
               __file__, plugin]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=250)
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="")
        sys.exit(f"{'preloaded' if preloaded else 'plain'}: exit status {done.returncode}")
    print(*(line for line in done.stdout.splitlines() if line.startswith("rank")), sep="\n")
    found = re.search(r"^TIMES (.*)$", done.stdout, re.M)
    return json.loads(found[1]), done.stderr


def main(plugin):
    try:
        import torch
    except ImportError:
        skip("there is no PyTorch")
    if torch.cuda.device_count() < 2:
        skip(f"{torch.cuda.device_count()} devices, and two are needed")
    plain, _ = start(plugin, False)
    ours, statistics_text = start(plugin, True)
    sparse = [int(calls) for calls in re.findall(r"lacuna: (\d+) calls by sparse routes", statistics_text)]
    print("calls by sparse routes:", sparse)
    print(f"{'us a step':12}{'plain':>10}{'preloaded':>12}")
    for name in plain:
        print(f"{name:12}{plain[name]:10.1f}{ours[name]:12.1f}")
    if sum(calls > 20 for calls in sparse) < 2:
        print("hardly a sparse route ran on one of the ranks: nothing was tested")
        return 1
    return 0


if __name__ == "__main__":
    if "UNDER_LACUNA" in os.environ:
        worker()
    else:
        sys.exit(main(sys.argv[1]))

# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch under the drop-in cuBLAS: every product right, and sparse routes among those that ran.

usage: torch_products.py <liblacuna_cublas.so>

What is right is said in torch_check.py; the same operations with their gradients, in CUDA graphs, on two threads, are in
torch_steps.py. Starts itself again with the library preloaded. Exits with 77 where PyTorch or a device is missing."""
import ctypes
import os
import re
import subprocess
import sys
import threading

try:
    import torch
except ImportError:
    sys.exit(77)

from torch_check import FLOOR, check, error, events, often, worst
from torch_steps import steps

SHAPES = [(1, 2048, 3000), (10, 5000, 5000), (64, 4096, 1024), (300, 1111, 517), (2, 3, 5)]
DENSITIES = [0.0, 0.001, 0.02, 0.3, 1.0]


def products():
    for m, k, n in SHAPES:
        for seed, density in enumerate(DENSITIES):
            s, w, base = events(density, m, k, seed=seed), events(1.0, k, n, seed=9), events(1.0, m, n, seed=8)
            check("mm", often(3, lambda: s @ w), s, w)
            check("mm turned weight", often(3, lambda: s @ w.t().contiguous().t()), s, w)
            check("mm right", often(3, lambda: w.t() @ s.t()), w.t(), s.t())
            check("addmm", often(3, lambda: torch.addmm(base, s, w, beta=0.5, alpha=2.0)), 2.0 * s, w, 0.5 * base)
            check("mv", often(3, lambda: torch.mv(w.t(), s[0])).unsqueeze(1), w.t(), s[0].unsqueeze(1))
            stacked, weights = torch.stack([s, 2 * s, s]), torch.stack([w, w, 3 * w])
            batch = often(3, lambda: torch.bmm(stacked, weights))
            for i in range(3):
                check("bmm", batch[i], stacked[i], weights[i])
            shared = often(3, lambda: torch.matmul(stacked, w))
            check("matmul shared", shared[1], stacked[1], w)


def linear():
    for bias in (False, True):
        for density in (0.01, 1.0):
            layer = torch.nn.Linear(3000, 2000, bias=bias, device="cuda")
            x = events(density, 16, 3000, seed=3)

            def step():
                layer.zero_grad()
                inner = x.clone().requires_grad_()
                out = layer(inner)
                out.backward(GRADIENT)
                return out.detach(), inner.grad, layer.weight.grad

            out, grad_x, grad_w = often(4, step)
            w = layer.weight.detach()
            name = "Linear with bias" if bias else "Linear"
            added = layer.bias.detach().expand(16, 2000) if bias else None
            check(name, out, x, w.t(), added)
            check(name + " backward", grad_x, GRADIENT, w)
            check(name + " weight", grad_w, GRADIENT.t(), x)


def graphs():
    """A recorded product sees other data, at the same time as eager work on the stream it was recorded on."""
    x, w, out = events(0.001, 10, 5000), events(1.0, 5000, 5000, seed=5), torch.empty(10, 5000, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        often(5, lambda: torch.mm(x, w, out=out))
    graph, captured_on = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph, stream=captured_on):
        torch.mm(x, w, out=out)
    other = events(0.001, 10, 5000, seed=6)
    for density in (0.001, 0.8, 0.0, 0.01, 1.0, 0.001):
        x.copy_(events(density, 10, 5000, seed=7))
        torch.cuda.synchronize()
        with torch.cuda.stream(captured_on):
            beside = [torch.mm(other, w) for _ in range(20)]
        for _ in range(20):
            graph.replay()
        torch.cuda.synchronize()
        check("graph", out, x, w)
        check("beside a graph", beside[-1], other, w)
    kept = []
    for i in range(80):  # more recordings than there are workspaces, each given up at once
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=captured_on):
            torch.mm(x, w, out=out)
        kept = [graph]
    kept[0].replay()
    torch.cuda.synchronize()
    check("graph again", out, x, w)


def streams_and_threads():
    w, results = events(1.0, 4096, 4096, seed=1), {}
    torch.cuda.synchronize()

    def work(number):
        stream, mine = torch.cuda.Stream(), []
        with torch.cuda.stream(stream):
            for i in range(60):
                s = events((0.002, 0.05, 1.0)[i % 3], 8, 4096, seed=100 * number + i % 3)
                mine.append((s, s @ w))
            stream.synchronize()
        results[number] = mine[-3:]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2
    for mine in results.values():
        for s, c in mine:
            check("threads", c, s, w)


def changing():
    """One site whose data turns from sparse to dense and back."""
    w = events(1.0, 5000, 5000, seed=2)
    for i in range(400):
        s = events((0.001, 0.8)[i // 100 % 2], 10, 5000, seed=i)
        c = s @ w
        if i % 25 == 24:
            check("changing", c, s, w)


def tf32():
    """Where the program allows TF32, either arithmetic will do."""
    torch.backends.cuda.matmul.allow_tf32 = True
    for density in (0.001, 1.0):
        s, w = events(density, 10, 5000), events(1.0, 5000, 5000, seed=4)
        mine = error(often(3, lambda: s @ w), s, w)
        assert mine < 2.0 ** -9, mine
    torch.backends.cuda.matmul.allow_tf32 = False


def sparse():
    """cusparseSpMM: CSR times dense, either index type and order, often enough for both ways to have been clocked."""
    for m, k, n in [(300, 2000, 16), (2000, 1500, 65), (4096, 4096, 256)]:
        for density in (0.001, 0.05):
            s, w, base = events(density, m, k, seed=11), events(1.0, k, n, seed=12), events(1.0, m, n, seed=13)
            for kind in (torch.int32, torch.int64):
                csr = s.to_sparse_csr()
                csr = torch.sparse_csr_tensor(csr.crow_indices().to(kind), csr.col_indices().to(kind), csr.values(), s.shape)
                for _ in range(12):
                    check("csr", often(1, lambda: csr @ w), s, w)
                    check("csr, by columns", often(1, lambda: csr @ w.t().contiguous().t()), s, w)
                often(12, lambda: torch.addmm(base, csr, w, beta=0.5, alpha=2.0))
                check("csr addmm", torch.addmm(base, csr, w, beta=0.5, alpha=2.0), 2.0 * s, w, 0.5 * base)


def batched():
    """cublasSgemmBatched is passed on."""
    a, b, c = events(1.0, 4, 200, 300), events(1.0, 4, 300, 100, seed=1), torch.zeros(4, 200, 100, device="cuda")
    where = [torch.tensor([x[i].data_ptr() for i in range(4)], device="cuda") for x in (a, b, c)]
    one, zero = ctypes.c_float(1.0), ctypes.c_float(0.0)
    at = [ctypes.c_void_p(x.data_ptr()) for x in where]
    status = ctypes.CDLL(None).cublasSgemmBatched(
        ctypes.c_void_p(torch.cuda.current_blas_handle()), 0, 0, 100, 200, 300, ctypes.byref(one), at[1], 100, at[0], 300,
        ctypes.byref(zero), at[2], 100, 4)
    assert status == 0, status
    torch.cuda.synchronize()
    for i in range(4):
        check("batched", c[i], a[i], b[i])


def cupy_sparse(cupy, w):
    """CSR, and its transpose, times dense: as CuPy calls cusparseSpMM."""
    import cupyx.scipy.sparse

    for density in (0.001, 0.03):
        s = cupyx.scipy.sparse.random(3000, 3000, density, format="csr", dtype=cupy.float32)
        for name, x in (("cupy csr", s), ("cupy csr turned", s.T)):
            for _ in range(12):
                c = x @ w
                cupy.cuda.Device().synchronize()
            want = x.astype(cupy.float64) @ w.astype(cupy.float64)
            scale = abs(x).astype(cupy.float64) @ cupy.abs(w).astype(cupy.float64) + 1e-30
            worst[name] = max(worst.get(name, 0.0), float((cupy.abs(c - want) / scale).max() / FLOOR))
            assert worst[name] < 40, worst[name]


def cupy():
    try:
        import cupy
    except ImportError:
        print("no CuPy")
        return
    w = cupy.random.standard_normal((3000, 2000), dtype=cupy.float32)
    cupy_sparse(cupy, w[:, :100].copy())
    for density in (0.001, 1.0):
        s = cupy.random.standard_normal((10, 3000), dtype=cupy.float32)
        s *= cupy.random.random(s.shape) < density
        for _ in range(3):
            c = s @ w
            cupy.cuda.Device().synchronize()
        want = s.astype(cupy.float64) @ w.astype(cupy.float64)
        scale = cupy.abs(s).astype(cupy.float64) @ cupy.abs(w).astype(cupy.float64) + 1e-30
        worst["cupy"] = float((cupy.abs(c - want) / scale).max() / FLOOR)
        assert worst["cupy"] < 40, worst["cupy"]


def run_all():
    """Every part, whatever became of the one before; the number of those that failed."""
    failed = 0
    for part in (linear, graphs, steps, streams_and_threads, changing, tf32, sparse, batched, cupy, products):
        try:
            part()
            print("right:", part.__name__, flush=True)
        except Exception as why:  # an error of CUDA, a wrong result, a missing attribute: printed, and counted
            failed += 1
            print("WRONG:", part.__name__, type(why).__name__, why, flush=True)
    print("worst error over cuBLAS's:", {name: round(ratio, 2) for name, ratio in worst.items()})
    return failed


def main(plugin):
    if not torch.cuda.is_available():
        return 77
    environment = dict(os.environ, LD_PRELOAD=os.path.abspath(plugin), LACUNA_STATS="1", UNDER_LACUNA="1")
    done = subprocess.run([sys.executable, __file__, plugin], env=environment, capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr, sep="")
    ran = re.search(r"lacuna: (\d+) calls by sparse routes", done.stderr)
    if done.returncode == 0 and not (ran and int(ran[1]) > 100):
        print("hardly a sparse route ran: nothing was tested")
        return 1
    for told in ("cusparseSpMM 4096x4096x256", "cublasSgemmBatched not probed: 1 addresses on the device"):
        if done.returncode == 0 and told not in done.stderr:
            print("not in the statistics:", told)
            return 1
    recorded = sum(int(calls) for calls in re.findall(r"(\d+) recorded both ways", done.stderr))
    print(recorded, "products recorded both ways" if recorded else "recorded both ways: CUDA or the driver is too old for it")
    return done.returncode


if __name__ == "__main__":
    if "UNDER_LACUNA" in os.environ:
        GRADIENT = torch.randn(16, 2000, device="cuda")
        sys.exit(1 if run_all() else 0)
    else:
        sys.exit(main(sys.argv[1]))

# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""What only a CUDA device has: streams, captures into CUDA graphs, compiled programs, and arrays of others without copies."""
import sys
import threading
import unittest

from python_case import skip

try:
    import torch
    import lacuna_blas.torch as lac
except ImportError as error:
    skip(f"needs PyTorch 2.4 or newer: {error}")
if not torch.cuda.is_available():
    skip("needs a CUDA device that PyTorch finds")

import lacuna_blas
from lacuna_blas import Context, Operand
from lacuna_blas.torch import _operators
from torch_case import HALVES, assert_linear, sum_in_float32

CUDA = torch.device("cuda", torch.cuda.current_device())
F = torch.nn.functional
OP = torch.ops.lacuna


def setUpModule():
    _operators.SMALL = _operators.SMALL_ON_DEVICE = _operators.TRAINED_ON_DEVICE = 0  # products of this size would be left to PyTorch
    torch.backends.cuda.matmul.allow_tf32 = False
    sum_in_float32()


def normal(seed, *shape, density=1.0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(*shape, generator=generator) * (torch.rand(*shape, generator=generator) < density)
    return x.to(CUDA)


def layer(inputs, outputs):
    torch.manual_seed(3)
    return torch.nn.Linear(inputs, outputs).to(CUDA)


def served(name):
    return lac.calls().get((name, "lacuna"), 0)


class Case(unittest.TestCase):
    def close(self, got, want, rtol=1e-5, atol=1e-4):
        torch.testing.assert_close(got, want, rtol=rtol, atol=atol)

    def rounded(self, got, x, weight, bias=None):
        """got is F.linear of these in its type, whoever computed it."""
        assert_linear(got, x, weight, bias, ours=False)


class Streams(Case):
    def test_the_current_stream_is_used(self):
        """On a stream that is busy, a product reads what was queued before it there."""
        weight = normal(1, 3000, 3000)
        for _ in range(3):
            stream = torch.cuda.Stream()
            x = normal(2, 60, 3000, density=0.02)
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(30):  # keeps the stream busy
                    weight @ weight
                late = x * 2
                got = lac.linear(late, weight)
            torch.cuda.current_stream().wait_stream(stream)
            self.close(got, F.linear(2 * x, weight), atol=1e-3)

    def test_the_current_stream_is_used_in_half_types(self):
        """By the bias, too, which is written before the product."""
        busy = normal(1, 3000, 3000)
        for kind in HALVES:
            weight, bias, x, stream = normal(1, 2000, 3000).to(kind), normal(3, 2000).to(kind), normal(2, 60, 3000, density=0.02).to(kind), torch.cuda.Stream()
            lac.linear(x, weight, bias)
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(30):
                    busy @ busy
                late, more = x * 2, bias * 4
                got = lac.linear(late, weight, more)
            torch.cuda.current_stream().wait_stream(stream)
            self.rounded(got, 2 * x, weight, 4 * bias)

    def test_threads(self):
        weight, wrong = normal(3, 500, 400), []

        def work(seed):
            with torch.cuda.stream(torch.cuda.Stream()):
                for i in range(20):
                    x = normal(100 * seed + i, 9, 400, density=0.1)
                    if not torch.allclose(lac.linear(x, weight), F.linear(x, weight), rtol=1e-5, atol=1e-4):
                        wrong.append((seed, i))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_the_same_bits_each_time(self):
        x, weight = normal(4, 64, 2000, density=0.05), normal(5, 1500, 2000)
        model = layer(2000, 1500)
        lac.optimize(model)
        first = [call() for call in (lambda: lac.mm(x, weight.t()), lambda: lac.bmm(x.view(4, 16, -1), weight.view(4, -1, 2000).mT))]
        for _ in range(5):
            self.assertTrue(torch.equal(lac.mm(x, weight.t()), first[0]))
            self.assertTrue(torch.equal(lac.bmm(x.view(4, 16, -1), weight.view(4, -1, 2000).mT), first[1]))

    def test_mixed_devices_are_refused(self):
        with self.assertRaises(RuntimeError):
            lac.linear(normal(6, 3, 4).cpu(), normal(7, 5, 4))
        with self.assertRaises(RuntimeError):
            lac.mm(normal(6, 3, 4), normal(7, 4, 5).cpu())


class Graphs(Case):
    def replayed(self, call, x, contents, stream):
        """call(x) captured, and its result for each of these contents of x."""
        with torch.cuda.stream(stream):
            for _ in range(3):
                call(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            out = call(x)
        results = []
        for each in contents:
            x.copy_(each)
            graph.replay()
            torch.cuda.synchronize()
            results.append(out.clone())
        return results

    def test_linear(self):
        weight, bias, stream = normal(8, 1000, 2000), normal(9, 1000), torch.cuda.Stream()
        contents = [normal(10 + i, 33, 2000, density=density) for i, density in enumerate((0.01, 1.0, 0.2, 0.0, 0.001))]
        x, before = contents[0].clone(), served("linear")
        for got, each in zip(self.replayed(lambda x: lac.linear(x, weight, bias), x, contents, stream), contents):
            self.close(got, F.linear(each, weight, bias), atol=1e-3)
        self.assertEqual(served("linear"), before + 4)
        for name, call in (("mm", lambda x: lac.mm(x, weight.t())), ("bmm", lambda x: lac.bmm(x.view(3, 11, -1), weight.t().expand(3, -1, -1).contiguous()))):
            with self.subTest(operator=name):
                for got, each in zip(self.replayed(call, x, contents, stream), contents):
                    self.close(got.view(33, 1000), each @ weight.t(), atol=1e-3)

    def test_half_types(self):
        """A bias that changes between replays is read anew."""
        for kind in HALVES:
            weight, bias, stream = normal(80, 1000, 2000).to(kind), normal(81, 1000).to(kind), torch.cuda.Stream()
            contents = [normal(82 + i, 33, 2000, density=density).to(kind) for i, density in enumerate((0.01, 1.0, 0.2, 0.0))]
            for given in (contents, [each != 0 for each in contents]):
                before = served("linear")
                for got, each in zip(self.replayed(lambda x: lac.linear(x, weight, bias), given[0].clone(), given, stream), given):
                    self.rounded(got, each, weight, bias)
                self.assertEqual(served("linear"), before)  # PyTorch's own: without a packed copy zeros are not skipped
            rows = weight.t().contiguous()
            for got, each in zip(self.replayed(lambda x: lac.mm(x, rows), contents[0].clone(), contents, stream), contents):
                self.rounded(got, each, weight)
            stack = rows.expand(3, -1, -1).contiguous()
            for got, each in zip(self.replayed(lambda x: lac.bmm(x.view(3, 11, -1), stack), contents[0].clone(), contents, stream), contents):
                self.rounded(got.view(33, 1000), each, weight)
            graph, x = torch.cuda.CUDAGraph(), contents[0]
            with torch.cuda.graph(graph, stream=stream):
                out = lac.linear(x, weight, bias)
            for _ in range(2):
                bias.mul_(-2)
                graph.replay()
                torch.cuda.synchronize()
                self.rounded(out, x, weight, bias)

    def test_sparse_operands(self):
        a = normal(20, 300, 400, density=0.05).to_sparse_csr()
        rows, b, stream = torch.tensor([3, 299, 3], device=CUDA), normal(21, 400, 17), torch.cuda.Stream()
        contents = [normal(22, 400, 17), normal(23, 400, 17, density=0.1)]
        for got, each in zip(self.replayed(lambda x: lac.spmm(a, x), b.clone(), contents, stream), contents):
            self.close(got, a.to_dense() @ each)
        values = a.values().clone()
        for got, each in zip(self.replayed(lambda v: lac.slice_rows(a, rows, v), values, (a.values(), 2 * a.values()), stream), (1, 2)):
            self.close(got, each * a.to_dense()[rows])

    def test_a_stream_without_a_call_before(self):
        """Nothing can be allocated there: PyTorch's own product is captured, and counted as such."""
        x, weight = normal(24, 40, 3000, density=0.01), normal(25, 2000, 3000)
        graph = torch.cuda.CUDAGraph()
        F.linear(x, weight)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=torch.cuda.Stream(priority=-1)):
            out = lac.linear(x, weight)
        graph.replay()
        self.close(out, F.linear(x, weight), atol=1e-3)

    def test_a_weight_of_half_type_that_changes_between_replays(self):
        for kind in HALVES:
            model, x, stream = layer(2000, 1000).to(kind), normal(26, 20, 2000, density=0.01).to(kind), torch.cuda.Stream()
            lac.optimize(model)
            with torch.no_grad():
                with torch.cuda.stream(stream):
                    for _ in range(5):
                        model(x)
                self.assertGreater(lac.status(model)[0][2], 0)
                torch.cuda.synchronize()
                graph, model.__dict__["_lacuna_packed"].pause = torch.cuda.CUDAGraph(), 0
                with torch.cuda.graph(graph, stream=stream):
                    out = model(x)
                for i in range(3):
                    model.weight.mul_(-1.5)
                    x.copy_(normal(27 + i, 20, 2000, density=0.01))
                    graph.replay()
                    torch.cuda.synchronize()
                    self.rounded(out, x, model.weight, model.bias)
                self.rounded(model(x), x, model.weight, model.bias)

    def test_a_frozen_weight_in_a_recording(self):
        """Of a half type: its copy is read by replays whatever the row holds, after refresh() and restore() too; PyTorch's would be as large."""
        for kind in HALVES:
            model, x, stream = layer(4096, 11008).to(kind), normal(30, 1, 4096, density=0.1).to(kind), torch.cuda.Stream()
            lac.optimize(model, frozen=True)
            with torch.no_grad():
                with torch.cuda.stream(stream):
                    model(x)
                torch.cuda.synchronize()
                graph, calls = torch.cuda.CUDAGraph(), lac.status(model)[0][2]
                with torch.cuda.graph(graph):
                    out = model(x)
                self.assertEqual(lac.status(model)[0][2], calls + 1)
                for i, undo in enumerate((None, lac.refresh, lac.restore, lambda model: model(x))):
                    x.copy_(normal(31 + i, 1, 4096, density=(0.0, 0.1, 1.0, 0.5)[i]))
                    if undo:
                        undo(model)
                    graph.replay()
                    torch.cuda.synchronize()
                    self.rounded(out, x, model.weight, model.bias)

    def test_a_weight_that_changes_between_replays(self):
        model, x, stream = layer(2000, 1000), normal(26, 20, 2000, density=0.01), torch.cuda.Stream()
        lac.optimize(model)
        with torch.no_grad():
            contents = [normal(27 + i, 20, 2000, density=0.01) for i in range(3)]
            with torch.cuda.stream(stream):
                for _ in range(4):
                    model(x)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                out = model(x)
            for each in contents:
                model.weight.mul_(-1.5)
                x.copy_(each)
                graph.replay()
                self.close(out, F.linear(each, model.weight, model.bias), atol=1e-3)

    def test_graphed_callables(self):
        """Forward and backward, as make_graphed_callables captures them, while SGD changes the weight."""
        torch.manual_seed(5)
        plain = torch.nn.Sequential(torch.nn.Linear(600, 500), torch.nn.ReLU(), torch.nn.Linear(500, 10)).to(CUDA)
        model = torch.nn.Sequential(torch.nn.Linear(600, 500), torch.nn.ReLU(), torch.nn.Linear(500, 10)).to(CUDA)
        model.load_state_dict(plain.state_dict())
        lac.optimize(model)
        graphed = torch.cuda.make_graphed_callables(model, (normal(30, 32, 600, density=0.05),))
        curves = []
        for each in (plain, graphed):
            optimizer, losses = torch.optim.SGD(each.parameters(), lr=0.05), []
            for step in range(6):
                loss = F.cross_entropy(each(normal(31 + step, 32, 600, density=0.05)), torch.arange(32, device=CUDA) % 10)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(float(loss.detach()))
            curves.append(losses)
        self.close(torch.tensor(curves[1]), torch.tensor(curves[0]), rtol=1e-3, atol=1e-3)


class Compiled(Case):
    def test_inductor(self):
        try:
            import triton  # noqa: F401
        except ImportError:
            self.skipTest("needs Triton")
        weight, bias = normal(40, 300, 500).requires_grad_(), normal(41, 300).requires_grad_()

        def network(x):
            return torch.relu(OP.linear(x, weight, bias, 0)).square()

        for mode in ("default", "reduce-overhead"):
            with self.subTest(mode=mode):
                torch._dynamo.reset()
                compiled = torch.compile(network, mode=mode)
                for i in range(4):
                    x = normal(42 + i, 20, 500, density=0.05)
                    torch.compiler.cudagraph_mark_step_begin()
                    got = compiled(x)
                    want = network(x)
                    self.close(got, want, rtol=1e-4, atol=1e-3)
                    for a, b in zip(torch.autograd.grad(got.sum(), (weight, bias)), torch.autograd.grad(want.sum(), (weight, bias))):
                        self.close(a, b, rtol=1e-4, atol=1e-2)


class Arrays(Case):
    def test_tensors_go_in_and_out_without_copies(self):
        x, weight, out = normal(50, 20, 300, density=0.1), normal(51, 300, 40), torch.empty(20, 40, device=CUDA)
        context = Context(CUDA, stream=torch.cuda.current_stream())
        self.assertIs(lacuna_blas.matmul(x, weight, out, context=context), out)
        self.close(out, x @ weight)
        made = lacuna_blas.matmul(x != 0, weight)
        got = torch.as_tensor(made, device=CUDA)
        self.assertEqual(got.data_ptr(), made.pointer)
        torch.cuda.synchronize()
        self.close(got, (x != 0).float() @ weight)
        frozen = Operand(weight, context=context).freeze()
        for _ in range(3):
            lacuna_blas.matmul(x, frozen, out, context=context)
            self.close(out, x @ weight)

    def test_cupy(self):
        try:
            import cupy
            import cupyx.scipy.sparse as sparse
        except ImportError:
            self.skipTest("needs CuPy")
        a = cupy.random.random((30, 200), dtype=cupy.float32) * (cupy.random.random((30, 200)) < 0.1)
        b = cupy.random.random((200, 12), dtype=cupy.float32)
        want = cupy.asnumpy(a) @ cupy.asnumpy(b)
        compressed = sparse.csr_matrix(a)
        compressed.sort_indices()
        for left in (a, compressed):
            cupy.cuda.Device().synchronize()
            if left is a:
                operand = left
            else:
                operand = Operand.from_csr(left.shape, left.indptr, left.indices, left.data, context=Context("cuda"))
            got = cupy.asnumpy(cupy.asarray(lacuna_blas.matmul(operand, b)))
            torch.testing.assert_close(torch.from_numpy(got), torch.from_numpy(want), rtol=1e-5, atol=1e-5)


if __name__ == "__main__":
    sys.exit(unittest.main())

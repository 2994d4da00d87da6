# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""The operators of PyTorch: values, gradients of both orders, fake tensors, vmap, compilation, and what is handed over."""
import sys
import types
import unittest
import unittest.mock

from python_case import skip

try:
    import torch
    import lacuna_blas.torch as lac
except ImportError as error:
    skip(f"needs PyTorch 2.4 or newer: {error}")

from lacuna_blas.torch import _operators

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
OP = torch.ops.lacuna


def setUpModule():
    """Products of this size would be left to PyTorch."""
    _operators.SMALL = _operators.SMALL_ON_DEVICE = _operators.TRAINED_ON_DEVICE = 0
    _operators.context_of(torch.device(DEVICE)).set("backend", "event")


def normal(seed, *shape, density=1.0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(*shape, generator=generator, dtype=dtype) * (torch.rand(*shape, generator=generator) < density)
    return x.to(DEVICE)


def csr(seed, m, n, density=0.2, dtype=torch.float32, index=torch.int64):
    """indptr, indices, values."""
    a = normal(seed, m, n, density=density, dtype=dtype).to_sparse_csr()
    return a.crow_indices().to(index), a.col_indices().to(index), a.values()


def cases(dtype=torch.float32):
    """Every operator with arguments, of which all floating ones have gradients."""
    indptr, indices, values = csr(1, 6, 9, dtype=dtype)
    rows = torch.tensor([5, 0, 5, 3], device=DEVICE)

    def leaf(*arguments):
        return tuple(x.detach().clone().requires_grad_() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in arguments)

    def n(seed, *shape):
        return normal(seed, *shape, dtype=dtype)

    return (("mm", leaf(n(2, 5, 9), n(3, 9, 4))), ("bmm", leaf(n(4, 3, 5, 9), n(5, 3, 9, 4))),
            ("linear", leaf(n(6, 2, 5, 9), n(7, 4, 9), n(8, 4), 0)), ("linear", leaf(n(6, 5, 9), n(7, 4, 9), None, 0)),
            ("linear", leaf(n(6, 9), n(7, 4, 9), n(8, 4), 0)),
            ("spmm", leaf(indptr, indices, values, 9, n(9, 9, 4), False)), ("spmm", leaf(indptr, indices, values, 9, n(10, 6, 4), True)),
            ("sddmm", leaf(indptr, indices, n(11, 6, 5), n(12, 5, 9))), ("slice_rows", leaf(indptr, indices, values, 9, rows)),
            ("slice_rows_grad", leaf(indptr, indices, 9, rows, n(13, 4, 9))))


def call_in_double(name, arguments):
    """The same operator in float64, which PyTorch computes; and the gradients of its sum of squares."""
    wide = [x.detach().double().requires_grad_() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in arguments]
    return getattr(OP, name)(*wide), [x for x in wide if isinstance(x, torch.Tensor) and x.requires_grad]


class Operators(unittest.TestCase):
    def close(self, got, want, msg=None):
        torch.testing.assert_close(got, want.to(got.dtype), rtol=1e-5, atol=1e-5, msg=msg)

    def test_values_and_gradients(self):
        """float32 by the library against float64 by PyTorch's own operators: the result, and gradients of both orders."""
        for name, arguments in cases():
            with self.subTest(operator=name):
                before = lac.calls().get((name, "lacuna"), 0)
                got, (want, wide) = getattr(OP, name)(*arguments), call_in_double(name, arguments)
                self.assertGreater(lac.calls()[name, "lacuna"], before)
                self.close(got, want)
                leaves = [x for x in arguments if isinstance(x, torch.Tensor) and x.requires_grad]
                first = torch.autograd.grad((got ** 2).sum(), leaves, create_graph=True)
                expected = torch.autograd.grad((want ** 2).sum(), wide, create_graph=True)
                for x, y in zip(first, expected):
                    torch.testing.assert_close(x, y.float(), rtol=1e-4, atol=1e-3)
                second = torch.autograd.grad(sum((x ** 2).sum() for x in first), leaves)
                for x, y in zip(second, torch.autograd.grad(sum((y ** 2).sum() for y in expected), wide)):
                    torch.testing.assert_close(x, y.float(), rtol=1e-3, atol=1e-1)

    def test_opcheck(self):
        for name, arguments in cases():
            with self.subTest(operator=name):
                result = torch.library.opcheck(getattr(OP, name), arguments)
                self.assertEqual(set(result.values()), {"SUCCESS"})

    def test_the_short_way_of_linear(self):
        """lac.linear in eager mode does not go through our own dispatch: values, gradients of both orders, and what must not take it."""
        self.the_short_way()

    def test_the_short_way_of_linear_through_ctypes(self):
        with unittest.mock.patch.object(_operators, "_compiled", None):
            self.the_short_way()

    def test_the_compiled_binding_is_there(self):
        """Beside the library of a build, with a PyTorch that has the stable ABI."""
        self.assertTrue(lac.binding() == "stable ABI" or lac.binding().startswith("ctypes: "), lac.binding())
        if hasattr(torch._C, "_stable") or tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 9):
            self.assertEqual(lac.binding(), "stable ABI")

    def the_short_way(self):
        weight, bias = normal(60, 4, 9), normal(61, 4)
        inputs = (normal(62, 5, 9), normal(63, 2, 3, 9), normal(64, 9), normal(65, 9, 5).t(), normal(66, 0, 9), normal(67, 5, 9) != 0,
                  torch.complex(normal(69, 5, 9), normal(69, 5, 9)).conj().imag)
        for x in inputs:
            for b in (None, bias, normal(68, 8)[::2]):
                before = lac.calls().get(("linear", "lacuna"), 0)
                want = torch.nn.functional.linear(x.float(), weight, b)
                for needs in (False, True):
                    w = weight.clone().requires_grad_(needs)
                    self.close(lac.linear(x, w, b), want)
                    with torch.no_grad():
                        self.close(lac.linear(x, w, b), want)
                if x.numel():  # without rows either may have served: not every machine's library declines
                    self.assertEqual(lac.calls()["linear", "lacuna"], before + 4)
        leaves = [x.clone().requires_grad_() for x in (inputs[1], weight, bias)]
        wide = [x.detach().double().requires_grad_() for x in leaves]
        first, expected = (torch.autograd.grad((call(*operands) ** 2).sum(), operands, create_graph=True)
                           for call, operands in ((lac.linear, leaves), (torch.nn.functional.linear, wide)))
        second, wanted = (torch.autograd.grad(sum((x ** 2).sum() for x in grads), operands) for grads, operands in ((first, leaves), (expected, wide)))
        for x, y in zip((*first, *second), (*expected, *wanted)):
            torch.testing.assert_close(x, y.float(), rtol=1e-3, atol=1e-2)

    def test_what_watches_a_call_sees_it(self):
        """Forward-mode derivatives, modes and traces get the operator, and not the short way past them."""
        x, weight = normal(70, 5, 9), normal(71, 4, 9)
        seen = []

        class Mode(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append(str(func))
                return func(*args, **(kwargs or {}))

        with Mode():
            lac.linear(x, weight)
        self.assertIn("lacuna.linear.default", seen)
        sparse = normal(72, 6, 5, density=0.4).to_sparse_csr()
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
            for call in (lambda: lac.linear(dual, weight), lambda: lac.mm(dual, weight.t()), lambda: lac.bmm(dual[None], weight.t()[None])[0]):
                self.close(torch.autograd.forward_ad.unpack_dual(call()).tangent, torch.ones_like(x) @ weight.t())
            with self.assertRaisesRegex(NotImplementedError, "lacuna::spmm: has no forward-mode derivative"):
                lac.spmm(sparse, dual)
        traced = torch.jit.trace(lambda x: lac.linear(x, weight), (x,))
        self.close(traced(2 * x), 2 * x @ weight.t())
        self.assertIsInstance(lac.linear(torch.nn.Parameter(x), weight), torch.Tensor)

    def test_gradcheck(self):
        for name, arguments in cases(torch.float64):
            with self.subTest(operator=name):
                operator = getattr(OP, name)
                self.assertTrue(torch.autograd.gradcheck(operator, arguments))
                self.assertTrue(torch.autograd.gradgradcheck(operator, arguments))

    def test_a_wrong_gradient_is_seen(self):
        class Wrong(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                ctx.save_for_backward(a, b)
                return OP.mm(a, b)

            @staticmethod
            def backward(ctx, grad):
                a, b = ctx.saved_tensors
                return OP.mm(grad, b.t()) * 1.01, OP.mm(a.t(), grad)

        with self.assertRaises(RuntimeError):
            torch.autograd.gradcheck(Wrong.apply, cases(torch.float64)[0][1])

    def test_layouts(self):
        a, b = normal(14, 30, 40, density=0.1), normal(15, 40, 20)
        for x in (a, a.t().contiguous().t(), a[::2], a[:, :1].expand(30, 40), a.flatten()[:69].unfold(0, 40, 1), a[:0]):
            for y in (b, b.t().contiguous().t(), b[:, ::3], b[:1].expand(40, 20)):
                self.close(lac.mm(x, y), x @ y)
        self.close(lac.bmm(a.expand(3, 30, 40), normal(16, 3, 40, 5)), a.expand(3, 30, 40) @ normal(16, 3, 40, 5))
        self.close(lac.linear(a.t().reshape(8, 5, 30).transpose(0, 1), normal(17, 6, 30)), a.t().reshape(8, 5, 30).transpose(0, 1) @ normal(17, 6, 30).t())
        self.assertEqual(lac.mm(a[:, :0], b[:0]).abs().sum(), 0)

    def test_events(self):
        spikes, weight, bias = normal(18, 5, 7, 30, density=0.1) != 0, normal(19, 8, 30), normal(20, 8)
        self.close(lac.linear(spikes, weight, bias), torch.nn.functional.linear(spikes.float(), weight, bias))
        self.close(lac.mm(spikes[0], weight.t()), spikes[0].float() @ weight.t())
        self.close(lac.mm(weight, spikes[0].t()), weight @ spikes[0].float().t())
        self.close(lac.bmm(spikes, weight.t().expand(5, 30, 8)), spikes.float() @ weight.t())
        self.close(lac.bmm(weight.expand(5, 8, 30), spikes.mT), weight @ spikes.float().mT)
        self.close(torch.func.vmap(lac.mm)(spikes, weight.t().expand(5, 30, 8)), spikes.float() @ weight.t())
        weight.requires_grad_()
        lac.linear(spikes, weight).sum().backward()
        self.close(weight.grad, spikes.float().sum((0, 1)).expand(8, 30))
        stack = weight.detach().t().repeat(5, 1, 1).requires_grad_()
        lac.bmm(spikes, stack).sum().backward()
        self.close(stack.grad, spikes.float().sum(1)[..., None].expand(5, 30, 8))

    def test_sparse_tensors(self):
        dense = normal(21, 12, 30, density=0.2)
        a, b = dense.to_sparse_csr(), normal(22, 30, 7)
        self.close(lac.spmm(a, b), dense @ b)
        self.close(lac.sddmm(normal(23, 12, 5), normal(24, 5, 30), a),
                   (normal(23, 12, 5) @ normal(24, 5, 30))[dense != 0])
        rows = torch.tensor([3, 11, 3], device=DEVICE)
        self.close(lac.slice_rows(a, rows), dense[rows])
        self.close(lac.slice_rows(a, rows.int(), values=2 * a.values()), 2 * dense[rows])
        indptr, indices, values = csr(25, 12, 30, index=torch.int32)
        self.close(OP.spmm(indptr, indices, values, 30, b), torch.sparse_csr_tensor(indptr, indices, values, (12, 30)).to_dense() @ b)
        for call in (lambda: lac.spmm(dense, b), lambda: lac.slice_rows(a.to_sparse_coo(), rows)):
            with self.assertRaisesRegex(TypeError, "^a: expected"):
                call()

    def test_what_a_kept_operand_knows_changes_with_its_tensors(self):
        indptr, indices, values = csr(26, 12, 30)
        b = normal(27, 30, 7)

        def both():
            return OP.spmm(indptr, indices, values, 30, b), torch.sparse_csr_tensor(indptr, indices, values, (12, 30)).to_dense() @ b

        for change in (lambda: None, lambda: values.mul_(3), lambda: values.copy_(normal(28, *values.shape))):
            change()
            self.close(*both())
        moved = indices.clone()
        for row in range(12):
            span = slice(int(indptr[row]), int(indptr[row + 1]))
            moved[span] = torch.arange(span.stop - span.start, device=DEVICE)
        indices.copy_(moved)
        self.close(*both())
        lac.clear()
        self.close(*both())

    def test_other_types_are_handed_over_and_counted(self):
        """On a device the half types are the library's (test_torch_halves.py)."""
        for dtype in (torch.float64, torch.bfloat16, torch.float16)[:3 if DEVICE == "cpu" else 1]:
            a, b = normal(29, 4, 6).to(dtype), normal(30, 6, 3).to(dtype)
            for left in (a, a > 0):
                for name, call, bias in (("mm", lambda: lac.mm(left, b), None), ("bmm", lambda: lac.bmm(left[None], b[None])[0], None),
                                         ("linear", lambda: lac.linear(left, b.t()), None), ("linear", lambda: lac.linear(left, b.t(), b[1]), b[1])):
                    with self.subTest(operator=name, dtype=dtype, events=left is not a):
                        before = lac.calls().get((name, "torch"), 0)
                        got = call()
                        self.assertEqual((got.dtype, lac.calls()[name, "torch"]), (dtype, before + 1))
                        torch.testing.assert_close(got, torch.nn.functional.linear(left.to(dtype), b.t(), bias))

    def test_products_with_compressed_rows_are_pytorchs_in_half_types(self):
        for dtype in (torch.bfloat16, torch.float16):
            indptr, indices, values = csr(90, 6, 9)
            values, b, rows = values.to(dtype), normal(91, 9, 4).to(dtype), torch.tensor([5, 0], device=DEVICE)
            for name, call in (("spmm", lambda: OP.spmm(indptr, indices, values, 9, b, False)), ("sddmm", lambda: OP.sddmm(indptr, indices, b[:6], b.t())),
                               ("slice_rows", lambda: OP.slice_rows(indptr, indices, values, 9, rows)),
                               ("slice_rows_grad", lambda: OP.slice_rows_grad(indptr, indices, 9, rows, b.t()[:2]))):
                before = lac.calls().get((name, "torch"), 0)
                self.assertEqual((call().dtype, lac.calls()[name, "torch"]), (dtype, before + 1))

    def test_types_of_fake_tensors(self):
        """Those of PyTorch's products; bool has that of what stands beside it."""
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode():
            for device in ("cpu", "cuda"):
                for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
                    a, b = torch.empty(4, 6, dtype=dtype, device=device), torch.empty(6, 3, dtype=dtype, device=device)
                    for left in (a, a != 0):
                        for got in (OP.mm(left, b), OP.bmm(left[None], b[None])[0], OP.linear(left, b.t(), b[0], 0), OP.mm(b.t(), left.t()).t()):
                            self.assertEqual((got.dtype, got.shape, got.device.type), (dtype, (4, 3), device))
                self.assertEqual(OP.mm(a != 0, b != 0).dtype, torch.float32)

    def test_which_products_are_small(self):
        """By multiply-adds; none on a device that reads a large weight. Layers that are trained there are small for longer."""
        mib = 1 << 20

        def least(where, nbytes, **more):
            return _operators.least_products(types.SimpleNamespace(is_cuda=where == "cuda", numel=lambda: nbytes // 4, element_size=lambda: 4, requires_grad=more.pop("trained", False)), **more)

        with unittest.mock.patch.multiple(_operators, SMALL=1 << 22, SMALL_ON_DEVICE=1 << 28, TRAINED_ON_DEVICE=1 << 32):
            plain, input = torch.empty(0), torch.empty(0, requires_grad=True)
            for nbytes in (4, 128 * mib - 4, 128 * mib, 1 << 34):
                self.assertEqual([least("cpu", nbytes), least("cpu", nbytes, layer_input=input)], 2 * [1 << 22])
                self.assertEqual(least("cuda", nbytes), 0 if nbytes >= 128 * mib else 1 << 28)
                self.assertEqual([least("cuda", nbytes, layer_input=input), least("cuda", nbytes, layer_input=plain, trained=True)], 2 * [1 << 32])
                with torch.no_grad():
                    self.assertEqual(least("cuda", nbytes, layer_input=input, trained=True), least("cuda", nbytes))

    def test_dense_products_are_pytorchs_on_the_cpu(self):
        if DEVICE != "cpu":
            self.skipTest("on a device the library has cuBLAS, too")
        context = _operators.context_of(torch.device(DEVICE))
        context.set("backend", "auto")
        self.addCleanup(context.set, "backend", "event")
        weight = normal(50, 500, 600)
        for density, who in ((0.01, "lacuna"), (1.0, "torch")):
            x = normal(51, 40, 600, density=density)
            for name, call in (("mm", lambda: lac.mm(x, weight.t())), ("linear", lambda: lac.linear(x, weight, weight[:, 0]))):
                for _ in range(10):  # the first ones tell the planner what there is
                    call()
                before = lac.calls().get((name, who), 0)
                got = call()
                self.assertEqual(lac.calls()[name, who], before + 1)
                torch.testing.assert_close(got, x @ weight.t() + (weight[:, 0] if name == "linear" else 0), rtol=1e-4, atol=1e-3)

    def test_refusals(self):
        a, b = normal(31, 4, 6), normal(32, 6, 3)
        indptr, indices, values = csr(33, 5, 6)
        for kind, message, call in (
                (ValueError, "a, b: shapes", lambda: lac.mm(b, a)), (ValueError, "a: has 1 dimensions", lambda: lac.mm(a[0], b)),
                (ValueError, "input, weight: shapes", lambda: lac.linear(a, b)), (ValueError, "bias: has shape", lambda: lac.linear(a, b.t(), a[0])),
                (ValueError, "b: has shape", lambda: OP.spmm(indptr, indices, values, 6, a)),
                (ValueError, "values: has shape", lambda: OP.spmm(indptr, indices, values[1:], 6, b)),
                (TypeError, "indptr, indices: have dtypes", lambda: OP.spmm(indptr.int(), indices, values, 6, b)),
                (ValueError, "indices: has .* elements|ptr.0.: is 1", lambda: OP.spmm(indptr + 1, indices, values, 6, b)),
                (TypeError, "rows: has dtype", lambda: OP.slice_rows(indptr, indices, values, 6, a[0]))):
            with self.subTest(message=message), self.assertRaisesRegex(kind, message):
                call()

    def test_vmap(self):
        a, b, many_a, many_b = normal(34, 4, 6), normal(35, 6, 3), normal(36, 5, 4, 6), normal(37, 6, 5, 3)
        vmap = torch.func.vmap
        self.close(vmap(lac.mm, (0, None))(many_a, b), many_a @ b)
        self.close(vmap(lac.mm, (None, 1))(a, many_b), torch.stack([a @ many_b[:, i] for i in range(5)]))
        self.close(vmap(lac.mm, (0, 1))(many_a, many_b), torch.stack([many_a[i] @ many_b[:, i] for i in range(5)]))
        weight, bias = normal(38, 3, 6), normal(39, 5, 3)
        self.close(vmap(lac.linear, (0, None, None))(many_a, weight, bias[0]), torch.nn.functional.linear(many_a, weight, bias[0]))
        self.close(vmap(lac.linear, (0, None, 0))(many_a, weight, bias),
                   torch.stack([torch.nn.functional.linear(many_a[i], weight, bias[i]) for i in range(5)]))
        indptr, indices, values = csr(40, 4, 6)
        many = torch.stack([values, 2 * values])
        got = vmap(lambda v: OP.spmm(indptr, indices, v, 6, b))(many)
        self.close(got[1], 2 * got[0])

    def test_compiled(self):
        def network(x, weight, bias):
            return torch.relu(OP.linear(x, weight, bias, 0)).mm(weight).sum()

        arguments = normal(41, 5, 9), normal(42, 4, 9).requires_grad_(), normal(43, 4).requires_grad_()
        compiled = torch.compile(network, backend="aot_eager", fullgraph=True)
        got, want = compiled(*arguments), network(*arguments)
        self.close(got, want)
        for x, y in zip(torch.autograd.grad(got, arguments[1:]), torch.autograd.grad(want, arguments[1:])):
            self.close(x, y)


if __name__ == "__main__":
    sys.exit(unittest.main())

# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""The operators of PyTorch and optimize() in the half types, which the library has on a device: on a CUDA device, or, where PyTorch finds none, on the
stub whose memory is the host's, for which tensors of the CPU are taken."""
import copy
import ctypes
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from python_case import skip

try:
    import torch
except ImportError as error:
    skip(f"needs PyTorch 2.4 or newer: {error}")
STUB = not torch.cuda.is_available()
if STUB:
    if "LACUNA_STUB_LIBRARY" not in os.environ:
        skip("needs a CUDA device that PyTorch finds, or the stub device")
    os.environ["LACUNA_LIBRARY"] = os.environ["LACUNA_STUB_LIBRARY"]
try:
    import lacuna_blas.torch as lac
except ImportError as error:
    skip(f"needs PyTorch 2.4 or newer: {error}")

from lacuna_blas import Context
from lacuna_blas.torch import _common, _modules, _operators
from torch_case import HALVES, assert_linear, assert_near, assert_rounded, linear_in_double, sum_in_float32

DEVICE = torch.device("cpu" if STUB else "cuda")
FOLDER = tempfile.TemporaryDirectory()
F = torch.nn.functional
OP = torch.ops.lacuna

# PyTorch's stable ABI as the compiled operator finds it, with tensors of the CPU for those of a device.
SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
int32_t aoti_torch_device_type_cpu(void) { return 1; }
int32_t aoti_torch_device_type_cuda(void) { return 0; }
int32_t aoti_torch_empty_strided(int64_t dim, const int64_t *sizes, const int64_t *strides, int32_t dtype, int32_t type, int32_t index, void **made)
{
    int32_t (*real)(int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t, void **);
    (void)type;
    *(void **)&real = dlsym(RTLD_NEXT, "aoti_torch_empty_strided");
    return real(dim, sizes, strides, dtype, 0, index, made);
}
"""


def load_compiled_for_the_stub():
    """The compiled operator, through the shim; None where there is no compiler, no operator in this build, or no stable ABI."""
    lib = os.path.join(FOLDER.name, "torch", "lib")
    shim, real = os.path.join(lib, "libtorch_cpu.so"), os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so")
    os.makedirs(lib)
    try:
        subprocess.run([os.environ.get("LACUNA_CC", "cc"), "-shared", "-fPIC", "-xc", "-", "-xnone", "-Wl,--no-as-needed", real, "-o", shim], check=True,
                       input=SHIM.encode(), capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"without the compiled operator: {error}")
        return None
    load_compiled_for_the_stub.kept = ctypes.CDLL(shim)
    with unittest.mock.patch.object(torch, "__file__", os.path.join(FOLDER.name, "torch", "__init__.py")), unittest.mock.patch.object(
            _operators, "library_path", lambda: os.environ.get("LACUNA_TORCH", "none")):
        compiled, why = _operators._load_compiled()
    print(f"the compiled operator: {why or 'loaded'}")
    return compiled


def setUpModule():
    """Products of this size would be left to PyTorch."""
    _operators.SMALL = _operators.SMALL_ON_DEVICE = _operators.TRAINED_ON_DEVICE = 0
    sum_in_float32()
    if STUB:
        _common.NUMBERS[False], _common.SPACES[False] = _common.NUMBERS[True], _common.SPACES[True]
        _common._streams.contexts = {"cpu": Context("cuda", learn=False)}
        _operators._compiled = load_compiled_for_the_stub()
        _modules.Packed.learn = lambda *_: None  # or its layers, which skip nothing there, would be left to PyTorch
        _modules.Packed._cells, _modules.Packed.hint = staticmethod(lambda weight: None), lambda *_: None  # which are for float32 on the host


def tearDownModule():
    FOLDER.cleanup()


def served(name):
    return lac.calls().get((name, "lacuna"), 0)


class Half:
    """Of one type, by one backend of the library's."""
    kind, backend = None, "reference" if STUB else "event"

    def setUp(self):
        context = _operators.context_of(DEVICE)
        context.set("backend", self.backend)
        self.addCleanup(context.set, "backend", "auto")

    def make(self, seed, *shape, density=1.0):
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(*shape, generator=generator) * (torch.rand(*shape, generator=generator) < density)
        return x.to(self.kind).to(DEVICE)


class Operators(Half):
    def cases(self):
        """Operators with arguments, of which all that are numbers have gradients."""
        def leaf(*arguments):
            return tuple(x.requires_grad_() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in arguments)

        make, spikes = self.make, self.make(9, 5, 24, density=0.3) != 0
        return (("mm", leaf(make(1, 5, 24, density=0.3), make(2, 24, 16))), ("mm", leaf(spikes, make(2, 24, 16))), ("mm", leaf(make(3, 16, 5), spikes)),
                ("bmm", leaf(make(4, 3, 5, 24), make(5, 3, 24, 16))), ("bmm", leaf(spikes.expand(3, 5, 24).contiguous(), make(5, 3, 24, 16))),
                ("linear", leaf(make(6, 2, 5, 24), make(7, 16, 24), make(8, 16), 0)), ("linear", leaf(make(6, 5, 24), make(7, 16, 24), None, 0)),
                ("linear", leaf(make(6, 24), make(7, 16, 24), make(8, 16), 0)), ("linear", leaf(spikes, make(7, 16, 24), make(8, 16), 0)))

    def product(self, call, name, a, b):
        """call(a, b), computed by the library, is a @ b."""
        before = served(name)
        got = call(a, b)
        self.assertEqual(served(name), before + 1)
        assert_rounded(got, self.kind, a.double() @ b.double(), a.double().abs() @ b.double().abs())

    def test_products(self):
        make, a, b = self.make, self.make(1, 9, 40, density=0.2), self.make(2, 40, 24)
        for x in (a, a.t().contiguous().t(), a[::2], a[:, :1].expand(9, 40), make(3, 9, 80)[:, ::2], make(4, 18, 80)[::2, ::2], a[:1], a != 0):
            for y in (b, b.t().contiguous().t(), make(5, 40, 48)[:, ::2], b[:1].expand(40, 24), b[:, :1], make(6, 41, 24)[1:], make(7, 961)[1:].view(40, 24)):
                self.product(lac.mm, "mm", x, y)
        self.product(lac.mm, "mm", a[:, :1], b[:1])
        self.product(lac.mm, "mm", b.t(), (a != 0).t())
        self.assertEqual(lac.mm(a[:, :0], b[:0]).abs().sum(), 0)
        self.assertEqual(lac.mm(a[:0], b).shape, (0, 24))
        self.assertEqual(lac.mm(a != 0, b != 0).dtype, torch.float32)

    def test_batches(self):
        make, a, b = self.make, self.make(11, 3, 9, 40, density=0.2), self.make(12, 3, 40, 24)
        for x in (a, a[:1].expand(3, 9, 40), a.mT.contiguous().mT, make(13, 3, 9, 80)[..., ::2], make(14, 9, 3, 40).transpose(0, 1), a != 0):
            for y in (b, b.mT.contiguous().mT, b[:1].expand(3, 40, 24), make(15, 3, 80, 48)[:, ::2, ::2]):
                self.product(lac.bmm, "bmm", x, y)
        self.product(lac.bmm, "bmm", b.mT, (a != 0).mT)

    def test_linear(self):
        """With a bias PyTorch's own, where no weight is packed."""
        make, weight, bias = self.make, self.make(21, 16, 40), self.make(22, 16)
        inputs = (make(24, 5, 40, density=0.2), make(25, 2, 3, 40), make(26, 40), make(27, 40, 5).t(), make(28, 5, 40) != 0, make(29, 1, 40),
                  make(30, 10, 80)[::2, ::2])
        for x in inputs:
            for b in (None, bias, make(23, 40)[3:19], make(31, 32)[::2]):
                ours = b is None
                for needs in (False, True):
                    w = weight.clone().requires_grad_(needs)
                    for call in (lac.linear, lambda *operands: OP.linear(*operands, 0)):
                        before = served("linear")
                        assert_linear(call(x, w, b), x, w, b, ours)
                        self.assertEqual(served("linear"), before + ours)
        self.assertEqual(lac.linear(inputs[0][:0], weight, bias).shape, (0, 16))
        none = inputs[0][:, :0], weight[:, :0], bias
        assert_rounded(lac.linear(*none), self.kind, *linear_in_double(*none))

    def test_linear_through_ctypes(self):
        with unittest.mock.patch.object(_operators, "_compiled", None):
            self.test_linear()

    def test_the_compiled_operator_serves(self):
        if _operators._compiled is None:
            self.skipTest(f"there is none ({lac.binding()})")
        before, _operators._linears[0] = _operators._linears[0], 0
        self.addCleanup(lambda: _operators._linears.__setitem__(0, before + _operators._linears[0]))
        weight, bias = self.make(33, 16, 40), self.make(34, 16)
        for x in (self.make(35, 5, 40), self.make(35, 2, 5, 40), self.make(35, 5, 40) != 0):
            for b in (None, bias):
                assert_linear(lac.linear(x, weight, b), x, weight, b, b is None)
        self.assertEqual(_operators._linears[0], 3)

    def test_gradients(self):
        """Of both orders, against float64; of means, because the sums would be more than a float16."""
        for name, arguments in self.cases():
            with self.subTest(operator=name):
                wide = [x.detach().double().requires_grad_() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in arguments]
                got, want = getattr(OP, name)(*arguments), getattr(OP, name)(*wide)
                leaves, wide = ([x for x in each if isinstance(x, torch.Tensor) and x.requires_grad] for each in (arguments, wide))
                first = torch.autograd.grad((got.float() ** 2).mean(), leaves, create_graph=True)
                expected = torch.autograd.grad((want ** 2).mean(), wide, create_graph=True)
                for x, y in zip(first, expected):
                    self.assertEqual(x.dtype, self.kind)
                    assert_near(x, y, roundings=4)
                second = torch.autograd.grad(sum((x.float() ** 2).sum() for x in first), leaves)
                for x, y in zip(second, torch.autograd.grad(sum((y ** 2).sum() for y in expected), wide)):
                    assert_near(x, y, roundings=12)

    def test_gradients_of_the_short_way(self):
        operands = [self.make(41, 2, 5, 40, density=0.3), self.make(42, 16, 40), self.make(43, 16)]
        wide, before = [x.double().requires_grad_() for x in operands], (served("linear"), served("mm"))
        out = lac.linear(*(x.requires_grad_() for x in operands))
        for x, y in zip(torch.autograd.grad((out.float() ** 2).sum(), operands), torch.autograd.grad((F.linear(*wide) ** 2).sum(), wide)):
            assert_near(x, y, roundings=4)
        self.assertEqual((served("linear"), served("mm")), (before[0], before[1] + 2))

    def test_opcheck(self):
        for name, arguments in self.cases():
            with self.subTest(operator=name):
                self.assertEqual(set(torch.library.opcheck(getattr(OP, name), arguments).values()), {"SUCCESS"})

    def test_vmap(self):
        vmap, make = torch.func.vmap, self.make
        many, b, weight, bias = make(51, 5, 4, 24, density=0.3), make(52, 24, 16), make(53, 16, 24), make(54, 5, 16)
        for x in (many, many != 0):
            wide, size = x.double() @ b.double(), x.double().abs() @ b.double().abs()
            assert_rounded(vmap(lac.mm, (0, None))(x, b), self.kind, wide, size)
            assert_rounded(vmap(lac.mm, (0, 0))(x, b.expand(5, 24, 16)), self.kind, wide, size)
            assert_rounded(vmap(lac.mm, (None, 0))(b.t(), x.mT), self.kind, wide.mT, size.mT)
            assert_linear(vmap(lac.linear, (0, None, None))(x, weight, bias[0]), x, weight, bias[0], False)
            for i, got in enumerate(vmap(lac.linear, (0, None, 0))(x, weight, bias)):
                assert_linear(got, x[i], weight, bias[i], False)

    def test_forward_mode_is_pytorchs(self):
        x, weight = self.make(55, 5, 24), self.make(56, 16, 24)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
            for call in (lambda: lac.linear(dual, weight), lambda: lac.mm(dual, weight.t()), lambda: lac.bmm(dual[None], weight.t()[None])[0],
                         lambda: lac.bmm(dual.t()[None], (x[:, :3] != 0)[None])):
                tangent = torch.autograd.forward_ad.unpack_dual(call()).tangent
                self.assertEqual(tangent.dtype, self.kind)

    def test_what_the_library_lacks_is_pytorchs(self):
        """Two types in one product are PyTorch's error; products with compressed rows are its own."""
        a, b = self.make(61, 5, 24), self.make(62, 24, 16)
        for call in (lambda: lac.mm(a.float(), b), lambda: lac.linear(a, b.t().float()), lambda: lac.linear(a, b.t(), b[0].float()),
                     lambda: lac.bmm(a[None].float(), b[None])):
            with self.assertRaises(RuntimeError):
                call()
        indptr, indices = torch.tensor([0, 1, 1, 3], device=DEVICE), torch.tensor([4, 0, 23], device=DEVICE)
        values, before = self.make(63, 3), lac.calls().get(("spmm", "torch"), 0)
        want = torch.stack([values[0] * b[4], torch.zeros_like(b[0]), values[1] * b[0] + values[2] * b[23]])
        torch.testing.assert_close(OP.spmm(indptr, indices, values, 24, b, False), want)
        self.assertEqual(lac.calls()["spmm", "torch"], before + 1)


class Layers(Half):
    """optimize() of a model in halves."""

    def layer(self, inputs=400, outputs=300, bias=True):
        torch.manual_seed(3)
        return torch.nn.Linear(inputs, outputs, bias).to(DEVICE, self.kind)

    def spikes(self, seed=1, rows=8, columns=400):
        return (self.make(seed, rows, columns, density=0.02) != 0).to(self.kind)

    def settle(self, module, x):
        """Calls until the packed weight is used."""
        used = lac.status(module)[0][2]
        with torch.no_grad():
            for _ in range(4):
                module(x)
        self.assertGreater(lac.status(module)[0][2], used, "the packed weight is not used")

    def right(self, module, x):
        with torch.no_grad():
            assert_linear(module(x), x, module.weight, module.bias, False)

    def test_results_and_undo(self):
        model = torch.nn.Sequential(self.layer(), torch.nn.ReLU(), self.layer(300, 16, bias=False))
        wide, x = copy.deepcopy(model).double(), self.spikes()
        report, before = lac.optimize(model), served("linear")
        for _ in range(5):
            assert_near(model(x), wide(x.double()), roundings=4)
        self.assertGreaterEqual(served("linear"), before + 4)
        for given in (x != 0, x[0], x.view(2, 4, 400)):
            with torch.no_grad():
                assert_linear(model[0](given), given, model[0].weight, model[0].bias)
        self.assertEqual(report.undo(), 2)
        self.assertIs(type(model[0]), torch.nn.Linear)

    def test_a_sum_is_not_rounded_before_the_bias_is_added(self):
        """Where the weight is packed."""
        module, ulp = self.layer(2, 2), torch.finfo(self.kind).eps
        x, weight, bias = (torch.tensor(values, device=DEVICE, dtype=self.kind) for values in ([[1, 1]], [[256, ulp], [-256, -ulp]], [-256, 256]))
        module.load_state_dict({"weight": weight, "bias": bias})
        lac.optimize(module)
        self.settle(module, x)
        before = served("linear")
        with torch.no_grad():
            self.assertEqual(module(x).tolist(), [[ulp, -ulp]])
        self.assertEqual(served("linear"), before + 1)

    def test_the_packed_copy_is_used(self):
        """A write that nobody counts leaves a stale result: so the copy is there. refresh() helps."""
        if STUB:
            self.skipTest("the stub packs nothing")
        module, x = self.layer(), self.spikes()
        lac.optimize(module)
        self.settle(module, x)
        k = int(x[0].nonzero()[0])
        module.weight.data.view(-1)[1 * 400 + k] += 100  # .data has a version counter of its own
        with torch.no_grad():
            self.assertGreater((module(x).double() - linear_in_double(x, module.weight, module.bias)[0]).abs().max(), 50)
        lac.refresh(module)
        self.right(module, x)
        self.settle(module, x)
        self.right(module, x)

    def test_each_change_is_noticed(self):
        module, x = self.layer(), self.spikes()
        state = {key: torch.randn_like(value) for key, value in module.state_dict().items()}
        optimizers = [torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9), torch.optim.AdamW(module.parameters(), lr=0.1, fused=True)]

        def step(optimizer):
            def change():
                optimizer.zero_grad()
                module(x).float().square().mean().backward()
                optimizer.step()
            return change

        def quietly(change):
            def changed():
                with torch.no_grad():
                    change()
            return changed

        def swap_parameter():
            module.weight = torch.nn.Parameter(torch.randn_like(module.weight))

        def swap_data():
            module.weight.data = torch.randn_like(module.weight)

        changes = {"SGD": step(optimizers[0]), "fused AdamW": step(optimizers[1]),
                   "copy_": quietly(lambda: module.weight.copy_(torch.randn_like(module.weight))),
                   "one element": quietly(lambda: module.weight[7, int(x[0].nonzero()[0])].add_(100)),
                   "foreach": quietly(lambda: torch._foreach_mul_([module.weight], 0.5)),
                   "load_state_dict": lambda: module.load_state_dict(state), "swapped data": swap_data, "swapped parameter": swap_parameter}
        lac.optimize(module)
        for name, change in changes.items():
            with self.subTest(change=name):
                self.settle(module, x)
                before = module.weight.detach().clone()
                change()
                self.assertFalse(torch.equal(before, module.weight), "the change changed nothing")
                self.right(module, x)
                self.settle(module, x)
                self.right(module, x)

    def test_a_type_that_changes(self):
        """By .to(), into float32 and back, and as other numbers of the same bits in the same memory, which the packed copy has as well."""
        module, x, other = self.layer(bias=False), self.spikes(), HALVES[self.kind is HALVES[0]]
        lac.optimize(module)
        self.settle(module, x)
        for kind in (other, self.kind) if STUB else (torch.float32, other, self.kind):
            module.to(kind)
            self.right(module, x.to(kind))
            self.settle(module, x.to(kind))
            self.right(module, x.to(kind))
        self.settle(module, x)
        module.weight.data = module.weight.data.view(other)
        self.right(module, x.to(other))

    def test_autocast_is_left_to_pytorch(self):
        module, x = self.layer(), self.spikes()
        lac.optimize(module)
        self.settle(module, x)
        before = served("linear")
        with torch.autocast(DEVICE.type, torch.bfloat16), torch.no_grad():
            self.assertEqual(module(x).dtype, torch.bfloat16)
        self.assertEqual(served("linear"), before)

    def test_training(self):
        """Loss curves, plain and optimized, from one start."""
        curves = []
        for optimized in (False, True):
            model = torch.nn.Sequential(self.layer(200, 64), torch.nn.ReLU(), self.layer(64, 10))
            if optimized:
                lac.optimize(model)
            optimizer, losses, x, before = torch.optim.SGD(model.parameters(), lr=0.05), [], self.spikes(7, 32, 200) * 4, served("linear")
            for _ in range(8):
                loss = F.cross_entropy(model(x).float(), torch.arange(32, device=DEVICE) % 10)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(float(loss.detach()))
            curves.append(losses)
            self.assertEqual(served("linear"), before, "a weight that changes is never packed")
        self.assertLess(curves[0][-1], curves[0][0])
        torch.testing.assert_close(torch.tensor(curves[1]), torch.tensor(curves[0]), rtol=0.02, atol=0.02)

    def test_compiled(self):
        model = torch.nn.Sequential(self.layer(), torch.nn.ReLU())
        lac.optimize(model)
        compiled, x = torch.compile(model, backend="aot_eager"), self.spikes()
        for _ in range(3):
            with torch.no_grad():
                assert_rounded(compiled(x), self.kind, *(each.relu() for each in linear_in_double(x, model[0].weight, model[0].bias)),
                               before=linear_in_double(x, model[0].weight)[0])
                model[0].weight.mul_(1.5)

    def test_profile(self):
        if STUB:
            self.skipTest("predictions are a device's")
        model, x = torch.nn.Sequential(self.layer(16000, 12000)), self.make(8, 16, 16000, density=0.004)
        report = lac.profile(model, x)[0]
        self.assertAlmostEqual(report.density, float((x != 0).float().mean()), places=6)
        self.assertIsNotNone(report.lacuna_us)
        self.assertTrue(report.worth, str(report))


class Float16(Operators, unittest.TestCase):
    kind = torch.float16


class BFloat16(Operators, unittest.TestCase):
    kind = torch.bfloat16


class Float16Layers(Layers, unittest.TestCase):
    kind = torch.float16


class BFloat16Layers(Layers, unittest.TestCase):
    kind = torch.bfloat16


@unittest.skipIf(STUB, "the stub has one way to multiply")
class BFloat16ByChoice(Operators, unittest.TestCase):
    """By the routes that the planner chooses, cuBLAS among them."""
    kind, backend = torch.bfloat16, "auto"


@unittest.skipIf(STUB, "the stub has one way to multiply")
class Float16ByCublas(Operators, unittest.TestCase):
    kind, backend = torch.float16, "dense"


if __name__ == "__main__":
    sys.exit(unittest.main())

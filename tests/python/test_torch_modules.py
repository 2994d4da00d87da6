# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""optimize(): results and training are those of the plain model, each change of a weight is noticed, and all is taken back."""
import copy
import io
import sys
import unittest
import unittest.mock

from python_case import skip

try:
    import torch
    import lacuna_blas.torch as lac
except ImportError as error:
    skip(f"needs PyTorch 2.4 or newer: {error}")

from lacuna_blas.torch import _modules, _operators
from lacuna_blas.torch._operators import context_of, packs

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
F = torch.nn.functional


def sparse_input(seed, rows, columns, density=0.02):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(rows, columns, generator=generator) < density).float().to(DEVICE)


def layer(inputs=400, outputs=300, bias=True):
    torch.manual_seed(3)
    return torch.nn.Linear(inputs, outputs, bias).to(DEVICE)


def setUpModule():
    """Layers of any size are ours, by the event route, which multiplies by the packed copy: a stale one would be seen."""
    _operators.SMALL = _operators.SMALL_ON_DEVICE = _operators.TRAINED_ON_DEVICE = 0
    _modules._TIMED = False
    context_of(DEVICE).set("backend", "event")


class ByRoute(unittest.TestCase):
    def setUp(self):
        self.x = sparse_input(1, 8, 400)

    def settle(self, module):
        """Calls until the packed weight is used."""
        used = lac.status(module)[0][2]
        with torch.no_grad():
            for _ in range(4):
                module(self.x)
        self.assertGreater(lac.status(module)[0][2], used, "the packed weight is not used")

    def right(self, module):
        with torch.no_grad():
            torch.testing.assert_close(module(self.x), F.linear(self.x, module.weight, module.bias), rtol=1e-5, atol=1e-5)


class Changes(ByRoute):
    def test_the_packed_copy_is_used(self):
        """A write that nobody counts, where no sample lies, leaves a stale result: so the copy is there. refresh() helps."""
        module = layer()
        lac.optimize(module)
        self.settle(module)
        flat = module.weight.data.view(-1)  # .data has a version counter of its own
        k = int(self.x[0].nonzero()[0])
        flat[1 * 400 + k] += 100
        with torch.no_grad():
            self.assertGreater((module(self.x) - F.linear(self.x, module.weight, module.bias)).abs().max(), 50)
        lac.refresh(module)
        self.right(module)
        self.settle(module)
        self.right(module)

    def test_each_change_is_noticed(self):
        self.each_change(but=None if DEVICE.type == "cpu" else "all of .data")  # samples are taken on the host

    def test_each_change_is_noticed_without_samples(self):
        """By what is counted alone, which is all there is on a device."""
        with unittest.mock.patch.object(_modules.Packed, "_cells", staticmethod(lambda weight: None)):
            self.each_change(but="all of .data")

    def each_change(self, but=None):
        module = layer()
        state = {key: torch.randn_like(value) for key, value in module.state_dict().items()}
        optimizers = [kind(module.parameters(), lr=0.1, **keywords) for kind, keywords in (
            (torch.optim.SGD, {"momentum": 0.9}), (torch.optim.SGD, {"foreach": True}), (torch.optim.Adam, {"foreach": True}),
            (torch.optim.Adam, {"foreach": False}), (torch.optim.AdamW, {"fused": True}), (torch.optim.RMSprop, {}))]

        def step(optimizer):
            def change():
                optimizer.zero_grad()
                module(self.x).square().sum().backward()
                optimizer.step()
            return change

        def under(mode, change):
            def changed():
                with mode():
                    change()
            return changed

        def swap_data():
            module.weight.data = torch.randn_like(module.weight)

        def swap_parameter():
            module.weight = torch.nn.Parameter(torch.randn_like(module.weight))

        changes = {f"optimizer {i}": step(optimizer) for i, optimizer in enumerate(optimizers)}
        changes.update({
            "copy_": under(torch.no_grad, lambda: module.weight.copy_(torch.randn_like(module.weight))),
            "one element": under(torch.no_grad, lambda: module.weight[7, int(self.x[0].nonzero()[0])].add_(100)),
            "detach": lambda: module.weight.detach().mul_(-1),
            "view": under(torch.no_grad, lambda: module.weight.view(-1)[:500].zero_()),
            "inference": under(torch.inference_mode, lambda: module.weight.mul_(2)),
            "foreach": under(torch.no_grad, lambda: torch._foreach_mul_([module.weight], 0.5)),
            "out=": under(torch.no_grad, lambda: torch.mul(module.weight, 3, out=module.weight)),
            "load_state_dict": lambda: module.load_state_dict(state),
            "all of .data": lambda: module.weight.data.mul_(-2),
            "init": lambda: torch.nn.init.xavier_uniform_(module.weight),
            "swapped data": swap_data, "swapped parameter": swap_parameter})
        changes.pop(but, None)
        lac.optimize(module)
        for name, change in changes.items():
            with self.subTest(change=name):
                self.settle(module)
                before, noticed = module.weight.detach().clone(), lac.status(module)[0][1]
                change()
                self.assertFalse(torch.equal(before, module.weight), "the change changed nothing")
                self.right(module)
                self.assertGreaterEqual(lac.status(module)[0][1], noticed)
                self.settle(module)
                self.right(module)

    def test_a_weight_that_stays_is_packed_at_once(self):
        """By its owner's promise: a change is not looked for until refresh(), and a weight born in inference mode is packed, too."""
        with torch.inference_mode():
            born = layer()
        module = layer()
        for each in (module, born):
            lac.optimize(each, frozen=True)
            self.right(each)
            self.assertEqual(lac.status(each)[0][1:], (0, 2), "one call prepared, and one was made")
        with torch.no_grad():
            module.weight[1, int(self.x[0].nonzero()[0])] += 100
            self.assertGreater((module(self.x) - F.linear(self.x, module.weight, module.bias)).abs().max(), 50)
        lac.refresh(module)
        self.right(module)
        self.assertEqual(lac.restore(module), 1)
        self.right(module)

    def test_a_weight_that_changes_before_each_call_is_never_packed(self):
        module = layer()
        lac.optimize(module)
        with torch.no_grad():
            for _ in range(5):
                module.weight.mul_(0.9)
                self.right(module)
        self.assertEqual(lac.status(module)[0][2], 0)


class Models(unittest.TestCase):
    def test_results_state_and_undo(self):
        model = torch.nn.Sequential(layer(400, 300), torch.nn.ReLU(), torch.nn.Sequential(layer(300, 10, bias=False))).to(DEVICE)
        x = sparse_input(2, 16, 400)
        want, keys = model(x), list(model.state_dict())
        report = lac.optimize(model)
        self.assertEqual([each.name for each in report], ["0", "2.0"])
        self.assertIn("no input was seen", str(report))
        for _ in range(3):
            torch.testing.assert_close(model(x), want)
        self.assertEqual(list(model.state_dict()), keys)
        self.assertIsInstance(model[0], torch.nn.Linear)
        self.assertEqual(lac.optimize(model).skipped, (("0", "it is optimized already"), ("2.0", "it is optimized already")))
        numbers = [module.__dict__["_lacuna_packed"].number for module in (model[0], model[2][0])]
        self.assertEqual(report.undo(), 2)
        self.assertEqual(lac.restore(model), 0)
        self.assertIs(type(model[0]), torch.nn.Linear)
        self.assertTrue(all(number not in packs for number in numbers))
        torch.testing.assert_close(model(x), want)

    def test_copies_and_saved_models_are_plain(self):
        model = layer()
        lac.optimize(model)
        x = sparse_input(3, 4, 400)
        want = model(x)
        buffer = io.BytesIO()
        torch.save(model, buffer)
        buffer.seek(0)
        for twin in (copy.deepcopy(model), torch.load(buffer, weights_only=False)):
            self.assertIs(type(twin), torch.nn.Linear)
            torch.testing.assert_close(twin(x), want)
        self.assertIsInstance(model, lac.LacunaLinear)

    def test_subclasses_hooks_and_names(self):
        class Stepped(torch.nn.Linear):
            """As SpikingJelly's: a forward of its own that calls Linear's, here for each step of a sequence."""

            def forward(self, input):
                return torch.stack([super(Stepped, self).forward(x) for x in input])

        model = torch.nn.ModuleDict({"a": Stepped(400, 30), "b": layer()}).to(DEVICE)
        x, seen = torch.stack([sparse_input(4, 5, 400), sparse_input(5, 5, 400)]), []
        model["a"].register_forward_hook(lambda *_: seen.append(1))
        want = model["a"](x)
        lac.optimize(model, only="a")
        self.assertEqual((type(model["a"]).__name__, type(model["b"])), ("Stepped", torch.nn.Linear))
        self.assertIsInstance(model["a"], Stepped)
        before = lac.calls().get(("linear", "lacuna"), 0)
        torch.testing.assert_close(model["a"](x), want)
        self.assertEqual((lac.calls()["linear", "lacuna"] - before, len(seen)), (2, 2))
        self.assertIs(type(copy.deepcopy(model["a"])), Stepped)
        lac.restore(model)
        self.assertIs(type(model["a"]), Stepped)
        with self.assertRaisesRegex(ValueError, "^only: .*no_such"):
            lac.optimize(model, only=["a", "no_such"])
        self.assertIs(type(model["a"]), Stepped)

    def test_what_is_left_alone(self):
        model = torch.nn.ModuleDict({"a": layer(), "b": layer()})
        torch.nn.utils.parametrizations.weight_norm(model["a"])
        model["b"].forward = lambda input: input
        report = lac.optimize(model)
        self.assertEqual((list(report), [name for name, _ in report.skipped]), ([], ["a", "b"]))
        x = sparse_input(6, 4, 400).double()
        for dtype in (torch.float64, torch.float16, torch.bfloat16)[:3 if DEVICE.type == "cpu" else 1]:  # of a device: test_torch_halves.py
            other = layer().to(dtype)
            lac.optimize(other)
            before = lac.calls().get(("linear", "lacuna"), 0)
            for given in (x.to(dtype), x != 0):
                torch.testing.assert_close(other(given), F.linear(x.to(dtype), other.weight, other.bias))
            self.assertEqual(lac.calls().get(("linear", "lacuna"), 0), before)
            self.assertEqual([each.lacuna_us for each in lac.profile(torch.nn.Sequential(layer().to(dtype)), x.to(dtype))], [None])
        cast = layer()
        lac.optimize(cast)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            self.assertEqual(cast(x.float()).dtype, torch.bfloat16)
        small = layer()
        lac.optimize(small)
        with unittest.mock.patch.multiple(_operators, SMALL=1 << 30, SMALL_ON_DEVICE=1 << 30):
            before = lac.calls().get(("linear", "lacuna"), 0)
            torch.testing.assert_close(small(x != 0), F.linear(x.float(), small.weight, small.bias))
            self.assertEqual(lac.calls().get(("linear", "lacuna"), 0), before)
        with torch.inference_mode():
            born = layer()
            lac.optimize(born)
            torch.testing.assert_close(born(x.float()), F.linear(x.float(), born.weight, born.bias))

    def test_a_dense_layer_is_tried_rarely(self):
        context_of(DEVICE).set("backend", "auto")
        self.addCleanup(context_of(DEVICE).set, "backend", "event")
        module, dense, sparse = layer(2000, 1000), torch.randn(20, 2000, device=DEVICE), sparse_input(9, 20, 2000)
        lac.optimize(module)

        def served(x, calls):
            before = lac.calls()
            for _ in range(calls):
                torch.testing.assert_close(module(x), F.linear(x, module.weight, module.bias), rtol=1e-4, atol=1e-4)
            return lac.calls().get(("linear", "lacuna"), 0) - before.get(("linear", "lacuna"), 0)

        with torch.no_grad():
            rarely = served(dense, 300)
            if DEVICE.type == "cpu":  # a device's kernels skip nothing at cuBLAS's speed or better: then the layer stays ours
                self.assertLess(rarely, 15)
            self.assertGreater(served(sparse, 300), 60 if DEVICE.type == "cpu" else 30)  # from some call on, all; on a device it may be dense

    def test_a_dense_hidden_layer_is_trained(self):
        """Its input needs a gradient, and is tried again after each pause."""
        context_of(DEVICE).set("backend", "auto")
        self.addCleanup(context_of(DEVICE).set, "backend", "event")
        model = torch.nn.Sequential(layer(300, 300), layer(300, 200))
        lac.optimize(model)
        tried = lac.calls()
        for _ in range(70):
            model(torch.randn(8, 300, device=DEVICE)).square().sum().backward()
        for module in model:
            if DEVICE.type == "cpu":
                self.assertGreater(module.__dict__["_lacuna_packed"].streak, 3)
            self.assertIsNotNone(module.weight.grad)
        self.assertGreater(sum(lac.calls().values()), sum(tried.values()))

    def test_a_trained_layer_of_a_device_is_large(self):
        """Elsewhere gradients ask for no larger product; without them it is served as ever."""
        model, x = torch.nn.Sequential(layer(64, 32)), torch.randn(4, 64, device=DEVICE)
        lac.optimize(model)
        with unittest.mock.patch.multiple(_operators, TRAINED_ON_DEVICE=1 << 40):
            for _ in range(3):
                before = dict(lac.calls())
                model(x).sum().backward()
                self.assertEqual(dict(lac.calls()) == before, DEVICE.type != "cpu")
            with torch.no_grad():
                before = sum(lac.calls().values())
                model(x)
                self.assertGreater(sum(lac.calls().values()), before)
        self.assertEqual(model[0].__dict__["_lacuna_packed"].least[2], 0)

    def test_a_large_weight_of_a_device_is_no_small_product(self):
        """Where nothing is trained."""
        if DEVICE.type == "cpu":
            self.skipTest("there products are small by their multiply-adds alone")
        module, x = layer(64, 32), torch.randn(1, 64, device=DEVICE)
        lac.optimize(module)
        for limit, large in ((64 * 32 * 4 + 1, False), (64 * 32 * 4, True)):
            lac.refresh(module)
            module.__dict__["_lacuna_packed"].least = [0, 0, 0, 0]
            with unittest.mock.patch.multiple(_operators, SMALL_ON_DEVICE=1 << 40, TRAINED_ON_DEVICE=1 << 41, LARGE_WEIGHT=limit):
                for _ in range(3):
                    with torch.no_grad():
                        before = lac.calls().get(("linear", "lacuna"), 0)
                        module(x), lac.linear(x, module.weight, module.bias)
                        self.assertEqual(lac.calls().get(("linear", "lacuna"), 0) - before, 2 * large)
                    module(x).sum().backward()
                    self.assertEqual(lac.calls().get(("linear", "lacuna"), 0) - before, 2 * large)
                    lac.linear(x, module.weight).sum().backward()
                    self.assertEqual(lac.calls().get(("linear", "lacuna"), 0) - before, 3 * large)

    def test_the_faster_one_serves(self):
        """By times that are given, not taken."""
        x, pack = torch.zeros(4, 4), _modules.Packed()
        pack.skipped = True
        with unittest.mock.patch.object(_modules, "_TIMED", True):
            for _ in range(20):
                pack.learn(x, 3.0)
            pauses = pack.pause
            pack.theirs = 2.0
            for _ in range(4):
                pack.learn(x, 3.0)
            self.assertEqual((pauses, pack.pause), (0, 7))
            pack.theirs = 4.0
            pack.learn(x, 3.0)
            self.assertEqual(pack.pause, 0)
            pack.skipped = False
            pack.learn(x, 1.0)
            self.assertEqual(pack.pause, 1)

    def test_compiled(self):
        model = torch.nn.Sequential(layer(), torch.nn.ReLU())
        lac.optimize(model)
        x = sparse_input(7, 4, 400)
        compiled = torch.compile(model, backend="aot_eager")
        for _ in range(3):
            torch.testing.assert_close(compiled(x), torch.relu(F.linear(x, model[0].weight, model[0].bias)))
            with torch.no_grad():
                model[0].weight.mul_(1.5)

    def test_profile(self):
        inputs, outputs = (2000, 1500) if DEVICE.type == "cpu" else (16000, 12000)  # what takes a device some time
        model = torch.nn.Sequential(layer(inputs, outputs), torch.nn.ReLU(), layer(outputs, 1000))
        x = sparse_input(8, 16, inputs, density=0.01)
        report = lac.profile(model, x)
        self.assertEqual([(each.name, each.shape, each.rows) for each in report], [("0", (outputs, inputs), 16), ("2", (1000, outputs), 16)])
        self.assertAlmostEqual(report[0].density, float((x != 0).float().mean()), places=6)
        self.assertTrue(report[0].worth)
        self.assertIn("x by", str(report))
        dense = lac.profile(model, torch.randn(16, inputs, device=DEVICE))[0]
        self.assertAlmostEqual(dense.density, 1.0, places=3)
        if DEVICE.type == "cpu":  # our dense kernels of a device may be predicted to be faster than cuBLAS
            self.assertFalse(dense.worth)
        self.assertIs(type(model[0]), torch.nn.Linear)
        optimized = lac.optimize(model, x)
        self.assertTrue(optimized[0].worth)


class Spike(torch.autograd.Function):
    """A step, with the gradient of a fast sigmoid."""

    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 0).float()

    @staticmethod
    def backward(ctx, grad):
        v, = ctx.saved_tensors
        return grad / (1 + 10 * v.abs()) ** 2


class Spiking(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(200, 150), torch.nn.Linear(150, 10)

    def forward(self, spikes):
        v, out = torch.zeros(spikes.shape[1], 150, device=spikes.device), 0
        for step in spikes:
            v = 0.9 * v + self.first(step)
            fired = Spike.apply(v - 1)
            v = v - fired
            out = out + self.second(fired)
        return out


class Rectified(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(200, 150), torch.nn.ReLU(), torch.nn.Linear(150, 150), torch.nn.ReLU(), torch.nn.Linear(150, 10))

    def forward(self, spikes):
        return self.layers(spikes.mean(0))


class Training(unittest.TestCase):
    """Loss curves of training, plain and optimized, from the same start: a spiking network through time, and ReLUs."""

    def curve(self, kind, optimized):
        torch.manual_seed(11)
        model = kind().to(DEVICE)
        data = torch.stack([sparse_input(20 + i, 64, 200, density=0.05) for i in range(10)])
        labels = (torch.arange(64) % 10).to(DEVICE)
        if optimized:
            lac.optimize(model)
        optimizer, losses = torch.optim.Adam(model.parameters(), lr=5e-3), []
        for _ in range(12):
            loss = F.cross_entropy(model(data), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        return losses, lac.status(model)

    def test_curves_agree(self):
        for kind in (Spiking, Rectified):
            with self.subTest(network=kind.__name__):
                plain, _ = self.curve(kind, False)
                ours, states = self.curve(kind, True)
                self.assertLess(plain[-1], 0.9 * plain[0])
                torch.testing.assert_close(torch.tensor(ours), torch.tensor(plain), rtol=2e-3, atol=2e-3)
                for name, changes, packed in states:
                    self.assertGreaterEqual(changes, 6, name)  # of eleven, less those in calls that were PyTorch's
                    self.assertEqual(packed > 0, kind is Spiking, name)  # through time a weight stays for ten calls


if __name__ == "__main__":
    sys.exit(unittest.main())

# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""lacuna::lif_step: values and gradients of both orders against the equations in PyTorch, fake tensors, vmap, compilation, captures, and training
through time."""
import sys
import unittest
import unittest.mock

from python_case import skip

try:
    import torch
    import lacuna_blas.torch as lac
except ImportError as error:
    skip(f"needs PyTorch 2.4 or newer: {error}")

from lacuna_blas.torch import LIFInput, _operators, lif_step

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
OP = torch.ops.lacuna.lif_step
NEURONS = dict(dt=1.0, tau=10.0, v_rest=-0.2, v_threshold=0.9, v_reset=-0.1)


def setUpModule():
    """Steps of this size that are trained would be left to PyTorch."""
    _operators.SMALL = _operators.SMALL_ON_DEVICE = _operators.TRAINED_ON_DEVICE = 0


class Spike(torch.autograd.Function):
    """The step function with the surrogate 1 / (1 + 25 |x|)^2."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad / (1 + 25 * x.abs()) ** 2


def reference(v, inputs, wait, current, refractory, dt, tau, v_rest, v_threshold, v_reset):
    """A step as the equations read, which autograd differentiates; the reset is detached."""
    total, drive, states = torch.ones_like(v), v_rest + (torch.zeros_like(v) if current is None else current), []
    for x in inputs:
        g = x.weight * (x.events.to(v.dtype) @ x.w) + x.decay * x.g
        states.append(g)
        total, drive = (total + g, drive + g * x.reversal) if x.conductance else (total, drive + g)
    steady = drive / total
    moved = steady + torch.exp(-dt / tau * total) * (v - steady)
    free = torch.ones_like(v, dtype=torch.bool) if wait is None else wait <= 0
    spikes = Spike.apply(moved - v_threshold) * free
    fired = spikes.detach() > 0
    after = torch.where(free, torch.where(fired, torch.full_like(v, v_reset), moved), v)
    return spikes, after, None if wait is None else torch.where(fired, refractory, (wait - 1).clamp(min=0)), states


def network(dtype=torch.float64, m=3, n=20, k=12, seed=1, refractory=2, sparse=False, grad=True):
    """(v, inputs, wait, current) of two kinds of synapses, one of weights by columns or in CSR; all leaves where gradients are wanted."""
    generator = torch.Generator().manual_seed(seed)

    def leaf(*shape, low=0.0, high=1.0, density=1.0):
        x = torch.rand(*shape, generator=generator, dtype=torch.float64) * (high - low) + low
        x = (x * (torch.rand(*shape, generator=generator) < density)).to(DEVICE, dtype)
        return x.requires_grad_(grad)

    events = (torch.rand(m, k, generator=generator) < 0.3).to(DEVICE, dtype).requires_grad_(grad)
    second = leaf(k, n, density=0.4)
    if sparse:
        second = second.detach().to_sparse_csr().requires_grad_(grad)
    inputs = [LIFInput(events, leaf(n, k).t(), leaf(m, n), weight=0.4, decay=0.9, conductance=True, reversal=2.0),
              LIFInput(events, second, leaf(m, n), weight=0.7, decay=0.5)]
    wait = torch.randint(0, 3, (m, n), generator=generator, dtype=torch.int32).to(DEVICE) if refractory else None
    return leaf(m, n, low=-0.5), inputs, wait, leaf(n)


def leaves(v, inputs, current):
    return [v, current, *(x for each in inputs for x in (each.events, each.g))]


class Step(unittest.TestCase):
    def close(self, got, want, rtol=1e-5, atol=1e-5):
        torch.testing.assert_close(got.double(), want.double(), rtol=rtol, atol=atol)

    def test_small_ones_that_are_trained_are_pytorchs(self):
        with unittest.mock.patch.multiple(_operators, SMALL=1 << 30, SMALL_ON_DEVICE=1 << 30, TRAINED_ON_DEVICE=1 << 30):
            self.check("torch", "torch")
            for grad, who in ((True, "torch"), (False, "lacuna")):
                v, inputs, wait, current = network(torch.float32, grad=grad)
                before = lac.calls().get(("lif_step", who), 0)
                state = lif_step(v, inputs, wait=wait, current=current, refractory=2, binary=True, **NEURONS)
                self.assertEqual((lac.calls()["lif_step", who], state.spikes.dtype, state.v.requires_grad), (before + 1, torch.bool, grad))

    def test_values_and_gradients(self):
        self.check("lacuna", "torch")

    def check(self, in_float32, in_float64):
        """Both types, computed by whom, against the equations in float64: outputs, gradients of both orders."""
        for dtype, rtol in ((torch.float32, 2e-3), (torch.float64, 1e-9)):
            for refractory in (0, 2):
                with self.subTest(dtype=dtype, refractory=refractory):
                    results = []
                    for kind, step in ((dtype, lif_step), (torch.float64, reference)):
                        v, inputs, wait, current = network(kind, refractory=refractory)
                        before = lac.calls()
                        found = step(v, inputs, wait=wait, current=current, refractory=refractory, **NEURONS)
                        if step is lif_step:
                            who = in_float32 if dtype == torch.float32 else in_float64
                            self.assertEqual(lac.calls()["lif_step", who], before.get(("lif_step", who), 0) + 1)
                        spikes, after, waits, g = found
                        loss = (spikes ** 2).sum() + (after ** 2).sum() + (spikes * after).sum() + sum((x ** 3).sum() for x in g)
                        each = leaves(v, inputs, current)
                        first = torch.autograd.grad(loss, each, create_graph=True)
                        second = torch.autograd.grad(sum((x ** 2).sum() for x in first), each)
                        results.append(((spikes, after, *g), first, second, waits))
                    (got, first, second, waits), (want, expected, curved, other) = results
                    self.assertGreater(int(want[0].sum()), 0)
                    self.assertGreater(int((want[0] == 0).sum()), 0)
                    for x, y in zip(got, want):
                        self.close(x, y)
                    for x, y in (*zip(first, expected), *zip(second, curved)):
                        self.close(x, y, rtol=rtol, atol=rtol)
                    if refractory:
                        self.assertTrue(torch.equal(waits, other))
                    else:
                        self.assertIsNone(waits)

    def test_gradcheck(self):
        """Of what has true derivatives, in float64: potentials where nobody fires, and g."""
        v, inputs, wait, current = network(m=2, n=4, k=3)
        settings = {**NEURONS, "v_threshold": 1e3}

        def step(v, current, events, first, second, w, u):
            state = lif_step(v, [LIFInput(events, w, first, weight=0.4, decay=0.9, conductance=True, reversal=2.0),
                                 LIFInput(events, u, second, weight=0.7, decay=0.5)], wait=wait, current=current, refractory=2, **settings)
            return state.v, *state.g

        arguments = (v, current, inputs[0].events, inputs[0].g, inputs[1].g, inputs[0].w.detach().requires_grad_(), inputs[1].w)
        self.assertTrue(torch.autograd.gradcheck(step, arguments))
        self.assertTrue(torch.autograd.gradgradcheck(step, arguments))

    def test_surrogates(self):
        """Each one's derivative is that of a sigmoid: between a negative and a positive x it rises by an integral that is known."""
        x = torch.linspace(-400, 400, 400001, dtype=torch.float64)
        for name, area in (("fast_sigmoid", 2 / 1.5), ("atan", 1.0), ("sigmoid", 1.0)):
            value = torch.trapezoid(lac._lif.SURROGATES[name](x, 1.5), x).item()
            self.assertAlmostEqual(value, area, delta=0.01, msg=name)
        v, inputs, wait, current = network(torch.float32)
        found = {}
        for name in ("fast_sigmoid", "atan", "sigmoid"):
            spikes = lif_step(v, inputs, wait=wait, current=current, refractory=2, surrogate=name, slope=3.0, **NEURONS).spikes
            found[name] = torch.autograd.grad(spikes.sum(), v)[0].sum().item()
        self.assertEqual(len(set(found.values())), 3)

    def test_sparse_weights(self):
        """A CSR weight gives what the dense one gives, with gradients at its entries."""
        results = []
        for sparse in (False, True):
            v, inputs, wait, current = network(torch.float32, sparse=sparse)
            values = inputs[1].w
            if sparse:
                values = inputs[1].w.values().detach().requires_grad_()
                inputs[1].w = inputs[1].w.detach(), values
            state = lif_step(v, inputs, wait=wait, current=current, refractory=2, **NEURONS)
            loss = (state.v ** 2).sum() + state.spikes.sum()
            to = torch.autograd.grad(loss, [values, *leaves(v, inputs, current)])
            results.append((state, to, values))
        (dense, to_dense, w), (compressed, to_values, _) = results
        for x, y in zip((dense.spikes, dense.v, *dense.g), (compressed.spikes, compressed.v, *compressed.g)):
            self.close(x, y)
        self.close(to_values[0], to_dense[0][w != 0])
        for x, y in zip(to_values[1:], to_dense[1:]):
            self.close(x, y)
        v, inputs, wait, current = network(torch.float32, sparse=True)
        lif_step(v, inputs, wait=wait, current=current, refractory=2, **NEURONS).v.square().sum().backward()
        self.assertEqual(inputs[1].w.grad.layout, torch.sparse_csr)

    def test_one_dimension_and_binary_spikes(self):
        v, inputs, wait, current = network(torch.float32, m=1, grad=False)
        want = lif_step(v, inputs, wait=wait, current=current, refractory=2, **NEURONS)
        flat = [LIFInput(x.events[0] != 0, x.w, x.g[0], weight=x.weight, decay=x.decay, conductance=x.conductance, reversal=x.reversal) for x in inputs]
        got = lif_step(v[0], flat, wait=wait[0], current=current, refractory=2, binary=True, **NEURONS)
        self.assertEqual((got.spikes.dtype, got.spikes.shape, want.spikes.dtype), (torch.bool, v[0].shape, torch.float32))
        for x, y in zip((got.spikes.float(), got.v, got.wait, *got.g), (want.spikes[0], want.v[0], want.wait[0], *(g[0] for g in want.g))):
            self.assertTrue(torch.equal(x, y))
        self.assertIsNone(lif_step(v[0], dt=1.0, tau=2.0).wait)
        self.assertEqual(lif_step(v[0], dt=1.0, tau=2.0, refractory=3).wait.shape, v[0].shape)

    def test_state_stays(self):
        v, inputs, wait, current = network(torch.float32, grad=False)
        before = [x.clone() for x in (v, wait, inputs[0].g)]
        lif_step(v, inputs, wait=wait, current=current, refractory=2, **NEURONS)
        for x, y in zip((v, wait, inputs[0].g), before):
            self.assertTrue(torch.equal(x, y))

    def arguments(self, dtype=torch.float32, binary=False, sparse=False, grad=True):
        """The operator's own arguments."""
        v, inputs, wait, current = network(dtype, sparse=sparse, grad=grad)
        empty = torch.empty(0, dtype=torch.int64, device=DEVICE)
        second = inputs[1].w
        weights = [inputs[0].w.detach().requires_grad_(grad), second.values().detach().requires_grad_(grad) if sparse else second]
        return (v, wait, torch.stack([x.g for x in inputs]).detach().requires_grad_(grad), [x.events for x in inputs], weights,
                [empty, second.crow_indices() if sparse else empty], [empty, second.col_indices() if sparse else empty], current, [0.4, 0.7], [0.9, 0.5],
                [True, False], [2.0, 0.0], 1.0, 10.0, -0.2, 0.9, -0.1, 2, binary, "fast_sigmoid", 25.0)

    def test_opcheck(self):
        for binary, sparse, dtype in ((False, False, torch.float32), (True, False, torch.float32), (False, True, torch.float32), (False, False, torch.float64)):
            with self.subTest(binary=binary, sparse=sparse, dtype=dtype):
                result = torch.library.opcheck(OP, self.arguments(dtype, binary, sparse))
                self.assertEqual(set(result.values()), {"SUCCESS"})

    def test_vmap(self):
        arguments = self.arguments(grad=False)
        v, wait, g, events, weights, *rest = arguments
        many_v, many_wait = torch.stack([v, v + 0.3, v - 0.1]), torch.stack([wait, wait * 0, wait + 1])
        many_g, many_events = torch.stack([g, 2 * g, 0 * g], 1), [torch.stack([x, x.flip(1), 0 * x], 2) for x in events]
        many_w = torch.stack([weights[0], 2 * weights[0], -weights[0]])
        each = [OP(many_v[i], many_wait[i], many_g[:, i], [x[:, :, i] for x in many_events], weights, *rest) for i in range(3)]
        got = torch.func.vmap(lambda v, wait, g, x, y: OP(v, wait, g, [x, y], weights, *rest), (0, 0, 1, 2, 2))(many_v, many_wait, many_g, *many_events)
        one = torch.func.vmap(lambda x: OP(v, None, g, events, weights, *rest[:-4], 0, *rest[-3:]), (0,))(many_v)
        self.assertEqual(one[1].shape, (3, 0))
        for i in range(3):
            for x, y in zip(got, each[i]):
                self.close(x[i], y)
        got = torch.func.vmap(lambda w: OP(v, wait, g, events, [w, weights[1]], *rest))(many_w)
        for i in range(3):
            for x, y in zip(got, OP(v, wait, g, events, [many_w[i], weights[1]], *rest)):
                self.close(x[i], y)

    def test_compiled(self):
        def run(v, g, w, current, wait, events):
            total = 0
            for _ in range(3):
                spikes, v, wait, (g,) = lif_step(v, [LIFInput(events, w, g, weight=0.4, decay=0.9)], current=current, wait=wait, refractory=1, **NEURONS)
                total = total + spikes
            return total.sum() + (v ** 2).sum()

        v, inputs, wait, current = network(torch.float32)
        w = inputs[1].w
        arguments = v, inputs[0].g, w, current, wait, inputs[0].events.detach()
        got, want = torch.compile(run, backend="aot_eager", fullgraph=True)(*arguments), run(*arguments)
        self.close(got, want)
        for x, y in zip(torch.autograd.grad(got, (v, w, current)), torch.autograd.grad(want, (v, w, current))):
            self.close(x, y)

    def test_training_through_time(self):
        """Two layers over 20 steps: losses of the operator and of the equations in PyTorch agree, and fall."""
        curves = []
        for step in (lif_step, reference):
            generator = torch.Generator().manual_seed(7)
            w = [(torch.randn(k, n, generator=generator) * scale).to(DEVICE).requires_grad_() for k, n, scale in ((40, 64, 0.9), (64, 10, 0.7))]
            data = [(torch.rand(16, 40, generator=generator) < 0.25).float().to(DEVICE) for _ in range(20)]
            goal = torch.randint(0, 10, (16,), generator=generator).to(DEVICE)
            optimizer, losses = torch.optim.Adam(w, lr=0.02), []
            for _ in range(12):
                v = [torch.zeros(16, n, device=DEVICE) for n in (64, 10)]
                g, counts = [torch.zeros_like(x) for x in v], 0
                for events in data:
                    for layer in range(2):
                        events, v[layer], _, (g[layer],) = step(v[layer], [LIFInput(events, w[layer], g[layer], decay=0.5)], wait=None, current=None,
                                                                refractory=0, dt=1.0, tau=4.0, v_rest=0.0, v_threshold=1.0, v_reset=0.0)
                    counts = counts + events
                loss = torch.nn.functional.cross_entropy(counts, goal)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(float(loss.detach()))
            curves.append(losses)
        self.assertLess(curves[0][-1], 0.8 * curves[0][0])
        for got, want in zip(*curves):
            self.assertAlmostEqual(got, want, delta=0.02 * curves[0][0])

    def test_captured(self):
        if DEVICE == "cpu":
            self.skipTest("needs a CUDA device")
        v, inputs, wait, current = network(torch.float32, m=2, n=300, k=200, grad=False)
        events, stream = inputs[0].events, torch.cuda.Stream()

        def step():
            return lif_step(v, inputs, wait=wait, current=current, refractory=2, **NEURONS)

        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            for _ in range(3):
                step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            out = step()
        for density in (0.0, 0.05, 1.0):
            events.copy_((torch.rand_like(events) < density).float())
            graph.replay()
            torch.cuda.synchronize()
            want = reference(v, inputs, wait, current, 2, **NEURONS)
            self.close(out.v, want[1], atol=1e-3)
            self.close(out.spikes, want[0])

    def test_refusals(self):
        v, inputs, wait, current = network(torch.float32, grad=False)
        first = inputs[0]

        def step(v=v, events=first.events, w=first.w, g=first.g, **settings):
            return lif_step(v, [LIFInput(events, w, g)], **{**dict(dt=1.0, tau=2.0), **settings})

        for kind, message, call in (
                (ValueError, "v: has 3 dimensions", lambda: step(v[None])), (ValueError, "g: has shape", lambda: step(g=first.g[:, 1:])),
                (ValueError, r"inputs\[0\].events: has shape", lambda: step(events=first.events[1:])),
                (ValueError, r"inputs\[0\].w: has shape", lambda: step(w=first.w[1:])), (ValueError, "current: has shape", lambda: step(current=current[1:])),
                (TypeError, "wait: has dtype torch.int64", lambda: step(wait=wait.long())), (ValueError, "surrogate: 'step'", lambda: step(surrogate="step")),
                (ValueError, "dt, tau, refractory: are 0.0", lambda: step(dt=0.0)), (ValueError, "inputs: expected at most 8",
                                                                                    lambda: lif_step(v, [first] * 9, dt=1.0, tau=1.0))):
            with self.subTest(message=message), self.assertRaisesRegex(kind, message):
                call()
        with torch.autograd.forward_ad.dual_level(), self.assertRaisesRegex(NotImplementedError, "lif_step: has no forward-mode"):
            step(torch.autograd.forward_ad.make_dual(v, v))


if __name__ == "__main__":
    sys.exit(unittest.main())

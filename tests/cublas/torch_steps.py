# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Products of PyTorch forward and backward, eager and in CUDA graphs, while what they multiply turns from sparse to dense and back.

usage: torch_steps.py    without a device: eager, on two threads. Exits with 77 where PyTorch is missing.

A step is a product, or two layers, with all its gradients. Its operands stay where they are, so that a graph of it can be
replayed with other contents; each product in it, forward or backward, is then held to fp64 (torch_check.py). With a
device (torch_products.py) two threads take each step at the same time, each on a stream of its own."""
import sys
import threading

try:
    import torch
    from torch.nn.functional import linear
except ImportError:
    sys.exit(77)

from torch_check import DEVICE, check, events, often, synchronize, worst

ROWS, INNER, COLUMNS = (10, 5000, 4000) if DEVICE == "cuda" else (6, 400, 300)
# Of the input and of the gradient, one after the other: both sparse, each dense alone, both dense, nothing, and back.
DENSITIES = [(0.001, 0.002), (0.8, 0.002), (0.001, 1.0), (1.0, 0.8), (0.0, 0.0), (0.01, 0.001), (0.001, 0.002)]
WARM_UP = 8  # eager steps before a capture: a site is captured both ways where they have shown it sparse
REPLAYS = 3  # of the same contents


class Step:
    """forward(**operands) gives a dict with "out" and whatever products lie before it; facts(t) lists, as
    (name, c, a, b, added), what has to hold between operands, results and gradients (the gradient of x is t.d_x)."""

    def __init__(self, name, shapes, forward, facts):
        self.name, self._forward, self._facts = name, forward, facts
        self.operands = {x: torch.zeros(shape, device=DEVICE) for x, shape in shapes.items()}

    def fill(self, density, of_gradient, seed):
        """New contents in place: x and the gradient of the result have events, the weights are dense."""
        for i, (name, x) in enumerate(self.operands.items()):
            share = {"x": density, "gradient": of_gradient}.get(name, 1.0)
            x.copy_(events(share, *x.shape, seed=16 * seed + i))
            if name == "threshold":  # leaves a few of the hidden layer, where the input has few
                x.sub_(2.0 * (density * INNER + 1.0) ** 0.5 if density < 0.1 else 0.0)

    def run(self):
        """Results and gradients, by name. The leaves are new each time: what autograd keeps of a leaf belongs to a stream."""
        given = dict(self.operands)
        gradient = given.pop("gradient")
        leaves = {name: x.detach().requires_grad_() for name, x in given.items()}
        made = self._forward(**leaves)
        sources = dict(leaves, **{name: x for name, x in made.items() if name != "out"})
        found = torch.autograd.grad(made["out"], list(sources.values()), gradient)
        results = {name: x.detach() for name, x in made.items()}
        results.update({"d_" + name: x for name, x in zip(sources, found)})
        return results

    def check(self, how, results):
        tensors = dict(self.operands, **results)
        for fact in self._facts(tensors):
            name, c, a, b = fact[:4]
            check(f"{how} {self.name} {name}", c, a, b, *fact[4:])


def ones(n):
    return torch.ones(1, n, device=DEVICE)


def facts_of_mm(t):
    return [("forward", t["out"], t["x"], t["w"]),
            ("of x", t["d_x"], t["gradient"], t["w"].t()),
            ("of w", t["d_w"], t["x"].t(), t["gradient"])]


def facts_of_addmm(t):
    half = 0.5 * torch.eye(ROWS, device=DEVICE)
    return [("forward", t["out"], 2.0 * t["x"], t["w"], 0.5 * t["base"]),
            ("of x", t["d_x"], 2.0 * t["gradient"], t["w"].t()),
            ("of w", t["d_w"], 2.0 * t["x"].t(), t["gradient"]),
            ("of base", t["d_base"], half, t["gradient"])]


def facts_of_bmm(t):
    return [(f"{fact[0]}, member {i}",) + fact[1:]
            for i in range(3) for fact in facts_of_mm({name: x[i] for name, x in t.items()})]


def facts_of_mv(t):
    return [("forward", t["out"].unsqueeze(1), t["w"], t["x"].unsqueeze(1)),
            ("of x", t["d_x"].unsqueeze(1), t["w"].t(), t["gradient"].unsqueeze(1)),
            ("of w", t["d_w"], t["gradient"].unsqueeze(1), t["x"].unsqueeze(0))]


def facts_of_layer(c, d_c, x, d_x, w, d_w):
    return [("forward", c, x, w.t()), ("of x", d_x, d_c, w), ("of w", d_w, d_c.t(), x)]


def facts_of_bias(c, d_c, x, d_x, w, d_w, bias, d_bias):
    forward, *backward = facts_of_layer(c, d_c, x, d_x, w, d_w)
    return [forward + (bias.expand_as(c),), *backward, ("of bias", d_bias.unsqueeze(0), ones(ROWS), d_c)]


def facts_of_linear(t):
    return facts_of_layer(t["out"], t["gradient"], t["x"], t["d_x"], t["w"], t["d_w"])


def facts_of_linear_bias(t):
    return facts_of_bias(t["out"], t["gradient"], t["x"], t["d_x"], t["w"], t["d_w"], t["bias"], t["d_bias"])


def facts_of_layers(t):
    first = facts_of_bias(t["drive"], t["d_drive"], t["x"], t["d_x"], t["w"], t["d_w"], t["threshold"], t["d_threshold"])
    second = facts_of_layer(t["out"], t["gradient"], t["hidden"], t["d_hidden"], t["v"], t["d_v"])
    return [(f"{layer} layer {fact[0]}",) + fact[1:]
            for layer, facts in (("first", first), ("second", second)) for fact in facts]


def two_layers(x, w, threshold, v):
    drive = linear(x, w, threshold)
    hidden = torch.relu(drive)
    return {"drive": drive, "hidden": hidden, "out": linear(hidden, v)}


def all_steps():
    m, k, n = ROWS, INNER, COLUMNS
    x, right, left, gradient = (m, k), (k, n), (n, k), (m, n)
    return [
        Step("mm", {"x": x, "w": right, "gradient": gradient}, lambda x, w: {"out": torch.mm(x, w)}, facts_of_mm),
        Step("addmm", {"base": gradient, "x": x, "w": right, "gradient": gradient},
             lambda base, x, w: {"out": torch.addmm(base, x, w, beta=0.5, alpha=2.0)}, facts_of_addmm),
        Step("bmm", {"x": (3, *x), "w": (3, *right), "gradient": (3, *gradient)},
             lambda x, w: {"out": torch.bmm(x, w)}, facts_of_bmm),
        Step("mv", {"x": (k,), "w": left, "gradient": (n,)}, lambda x, w: {"out": torch.mv(w, x)}, facts_of_mv),
        Step("Linear", {"x": x, "w": left, "gradient": gradient}, lambda x, w: {"out": linear(x, w)}, facts_of_linear),
        Step("Linear with bias", {"x": x, "w": left, "bias": (n,), "gradient": gradient},
             lambda x, w, bias: {"out": linear(x, w, bias)}, facts_of_linear_bias),
        Step("layers", {"x": x, "w": left, "threshold": (n,), "v": (k, n), "gradient": x}, two_layers, facts_of_layers),
    ]


def eager(step, _together, seed):
    for i, densities in enumerate(DENSITIES):
        step.fill(*densities, seed=seed + i)
        step.check("eager", often(REPLAYS, step.run))


def captured(step):
    """A graph of the step, made on the current stream after a warm-up there, and the tensors that its replays write."""
    step.fill(*DENSITIES[0], seed=1)
    often(WARM_UP, step.run)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
        results = step.run()
    return graph, results


def replayed(step, graph, results, seed):
    """Replays on the current stream. What a replay does not write would stay NaN."""
    for i, densities in enumerate(DENSITIES):
        for x in results.values():
            x.fill_(float("nan"))
        step.fill(*densities, seed=seed + i)
        for _ in range(REPLAYS):
            graph.replay()
        torch.cuda.current_stream().synchronize()
        step.check("graph", results)


CAPTURING = threading.Lock()  # in PyTorch's mode of capture, no other thread may allocate meanwhile


def in_a_graph(step, together, seed):
    """Captured, one thread after the other; then replayed, one beside the other."""
    with CAPTURING:
        graph, results = captured(step)
    together.wait()
    replayed(step, graph, results, seed)


def two_threads(parts):
    """Each part of each step by two threads at once, each with operands, and on a device with a stream, of its own."""
    together, errors = threading.Barrier(2, timeout=200), []

    def work(number):
        try:
            with torch.cuda.stream(torch.cuda.Stream() if DEVICE == "cuda" else None):
                for i, step in enumerate(all_steps()):
                    for part in parts:
                        part(step, together, 10000 * number + 100 * i)
                        together.wait()
        except Exception as why:  # the other thread is not to wait for this one
            errors.append(why)
            together.abort()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    synchronize()
    told = [why for why in errors if not isinstance(why, threading.BrokenBarrierError)] or errors
    if told:
        raise told[0]


def steps():
    two_threads([eager, in_a_graph] if DEVICE == "cuda" else [eager])


if __name__ == "__main__":
    steps()
    for kind in sorted(worst):
        print("right:", kind)

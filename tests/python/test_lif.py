# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Steps of spiking neurons: each step against the equations in double from the state before it, formats of weights and events, and bad arguments.
On a real device where LACUNA_LIBRARY finds one, too."""
import gc
import sys
import unittest

import numpy as np

import lacuna_blas
from lacuna_blas import LIFInput, LIFStep, Operand
from python_case import sparse

NEURONS = dict(dt=0.1, tau=20.0, v_rest=-60.0, v_threshold=-50.0, v_reset=-60.0)


def contexts():
    yield lacuna_blas.Context()
    try:
        yield lacuna_blas.Context("cuda", stream="new")
    except lacuna_blas.UnavailableError:
        pass


def host(x):
    return x.numpy() if isinstance(x, lacuna_blas.DeviceArray) else np.array(x)


def expected(v, wait, inputs, current, dt, tau, v_rest, v_threshold, v_reset, refractory):
    """(spikes, v, wait, [g]) after a step, in double; inputs: (events, w, g, weight, decay, conductance, reversal)."""
    g_all, total, drive = [], np.ones(v.shape), np.full(v.shape, v_rest) + (0 if current is None else current)
    for events, w, g, weight, decay, conductance, reversal in inputs:
        g = weight * (events.astype(float) @ w.astype(float)) + decay * g.astype(float)
        g_all.append(g)
        total, drive = (total + g, drive + g * reversal) if conductance else (total, drive + g)
    steady = drive / total
    free = wait <= 0
    moved = np.where(free, steady + np.exp(-dt / tau * total) * (v - steady), v)
    spikes = free & (moved > v_threshold)
    return spikes, np.where(spikes, v_reset, moved), np.where(spikes, refractory, np.maximum(wait - 1, 0)), g_all


class Network:
    """m copies of n neurons whose first k excite and whose next k inhibit all, in arrays of a context."""

    def __init__(self, context, m, n, k, events=np.bool_, form="dense", seed=1):
        random = np.random.default_rng(seed)
        self.context, self.m, self.n, self.k = context, m, n, k
        shape = (m, n)
        self.v = context.asarray(random.uniform(-62, -49, shape).astype(np.float32))
        self.current = context.asarray(random.uniform(0, 12, n).astype(np.float32))
        self.g = [context.asarray(random.uniform(0, 1, shape).astype(np.float32)) for _ in range(2)]
        self.w = [np.abs(sparse(seed + 10 + q, k, n, density=0.1)) for q in range(2)]
        self.fired = [(random.random((m, k)) < 0.1).astype(events) for _ in range(2)]
        self.inputs = [LIFInput(context.asarray(self.fired[q]), self.weights(self.w[q], form), self.g[q], weight=(0.3, 0.8)[q], decay=0.95,
                                conductance=q == 0, reversal=0.0) for q in range(2)]
        self.step = LIFStep(self.v, self.inputs, **NEURONS, refractory=3, current=self.current, context=context)

    def weights(self, w, form):
        place = self.context.asarray
        if form == "dense":
            return place(w)
        rows, columns = np.nonzero(w)
        ptr = np.searchsorted(rows, np.arange(self.k + 1)).astype(np.int32)
        return Operand.from_csr(w.shape, place(ptr), place(columns.astype(np.int32)), place(w[rows, columns]), context=self.context)

    def check(self, case, rounds=6):
        total = 0
        for _ in range(rounds):
            before = [host(x) for x in (self.v, self.step.wait, *self.g)]
            spikes, v, wait, g = expected(before[0], before[1], [(self.fired[q], self.w[q], before[2 + q], each.weight, each.decay, each.conductance,
                                                                  each.reversal) for q, each in enumerate(self.inputs)],
                                          host(self.current), **NEURONS, refractory=3)
            case.assertIs(self.step(), self.step.spikes)
            near = np.abs(v - NEURONS["v_threshold"]) < 1e-3  # either may be right
            got = host(self.step.spikes)
            case.assertTrue(((got == spikes) | near).all())
            same = (got == spikes)
            np.testing.assert_allclose(host(self.v)[same], v[same], rtol=1e-5)
            np.testing.assert_array_equal(host(self.step.wait)[same], wait[same])
            for q in range(2):
                np.testing.assert_allclose(host(self.g[q]), g[q], rtol=1e-4, atol=1e-5)
                np.testing.assert_allclose(host(self.step.received[q]), self.fired[q].astype(float) @ self.w[q], rtol=1e-4, atol=1e-5)
            total += int(got.sum())
        case.assertGreater(total, 0, "nobody fired")


class Steps(unittest.TestCase):
    def test_against_the_equations(self):
        for context in contexts():
            for m, n, k in ((1, 50, 30), (3, 130, 64)):
                for events in (np.bool_, np.uint8, np.float32):
                    for form in ("dense", "csr"):
                        with self.subTest(context=context, m=m, events=events, form=form):
                            Network(context, m, n, k, events, form).check(self)

    def test_one_dimension(self):
        """Arrays of n give what those of 1 x n give."""
        random = np.random.default_rng(3)
        w, start, fired = sparse(4, 40, 70), random.uniform(-60, -49, 70).astype(np.float32), random.random(40) < 0.2
        flat, row = start.copy(), start[None].copy()
        g = [np.zeros(70, np.float32), np.zeros((1, 70), np.float32)]
        one = LIFStep(flat, [LIFInput(fired, w, g[0])], **NEURONS)
        other = LIFStep(row, [LIFInput(fired[None], w, g[1])], **NEURONS)
        for _ in range(3):
            np.testing.assert_array_equal(one(), other()[0])
            np.testing.assert_array_equal(flat, row[0])
        self.assertEqual((one.spikes.shape, one.spikes.dtype, one.wait), ((70,), np.bool_, None))

    def test_recurrence_by_spikes_bits_and_lists(self):
        """The spikes of a step are the events of the next one: as bytes, as bits and as lists they give the same bits, of a fixed fan-out and of its CSR."""
        n, each = 200, 12
        random = np.random.default_rng(5)
        indices = np.sort(np.stack([random.choice(n, each, replace=False) for _ in range(n)]), axis=1).astype(np.int32)
        values = random.integers(1, 9, (n, each)).astype(np.float32)
        start, current, first = random.uniform(-60, -49, n).astype(np.float32), random.uniform(5, 14, n).astype(np.float32), random.random(n) < 0.1
        results = []
        for kind in ("bytes", "bits", "lists", "csr", "dense"):
            v, g, spikes = start.copy(), np.zeros(n, np.float32), first.copy()
            bits = np.packbits(np.pad(first, (0, -n % 64)), bitorder="little").view(np.uint64).copy()
            listed, counts = np.zeros(n, np.int32), np.array([first.sum()], np.int32)
            listed[:counts[0]] = np.flatnonzero(first)
            w = Operand.from_ell((n, n), indices, values)
            if kind == "csr":
                w = Operand.from_csr((n, n), np.arange(0, n * each + 1, each, dtype=np.int32), indices.reshape(-1), values.reshape(-1))
            if kind == "dense":
                w = w.to_dense()
            events = Operand(spikes[None])
            if kind == "bits":
                self.assertIs(events.attach_event_bits(bits), events)
            if kind == "lists":
                self.assertIs(events.attach_event_lists(listed, counts), events)
            step = LIFStep(v, [LIFInput(events, w, g, weight=0.5, decay=0.9)], **NEURONS, refractory=2, current=current, spikes=spikes, bits=bits,
                           indices=listed, counts=counts)
            fired = 0
            for _ in range(40):
                step()
                fired += int(spikes.sum())
                self.assertEqual(list(listed[:counts[0]]), list(np.flatnonzero(spikes)))
                np.testing.assert_array_equal(np.unpackbits(bits.view(np.uint8), bitorder="little")[:n], spikes)
            self.assertGreater(fired, 20)
            results.append((fired, v.copy(), g.copy()))
        for fired, v, g in results[1:]:
            self.assertEqual(fired, results[0][0])
            np.testing.assert_array_equal(v, results[0][1])
            np.testing.assert_array_equal(g, results[0][2])

    def test_a_silent_neurons_weights_do_not_show(self):
        w = sparse(6, 20, 30, density=1.0)
        w[7] = np.nan
        fired = np.zeros(20, bool)
        fired[3] = True
        g = np.zeros(30, np.float32)
        LIFStep(np.zeros(30, np.float32), [LIFInput(fired, w, g)], dt=1, tau=10)()
        np.testing.assert_array_equal(g, w[3])

    def test_a_scipy_matrix(self):
        try:
            import scipy.sparse
        except ImportError:
            self.skipTest("needs SciPy")
        w, fired = sparse(7, 40, 60), np.random.default_rng(8).random((2, 40)) < 0.3
        g = np.zeros((2, 60), np.float32)
        step = LIFStep(np.zeros((2, 60), np.float32), [LIFInput(fired, scipy.sparse.csr_array(w), g)], dt=1, tau=10)
        gc.collect()  # the step keeps what it made of the matrix
        step()
        np.testing.assert_allclose(g, fired.astype(np.float32) @ w, rtol=1e-5, atol=1e-5)

    def test_a_step_keeps_its_arrays(self):
        def made():
            return LIFStep(np.zeros(5, np.float32), [LIFInput(np.ones(4, bool), np.ones((4, 5), np.float32), np.zeros(5, np.float32))], dt=1, tau=10,
                           current=np.full(5, 50, np.float32), bits=np.zeros(1, np.uint64))
        step = made()
        gc.collect()
        self.assertTrue(step().all())
        np.testing.assert_array_equal(step.received[0], np.full(5, 4))

    def test_no_inputs(self):
        v = np.array([0.5, 2.0], np.float32)
        np.testing.assert_array_equal(LIFStep(v, dt=1, tau=1)(), [False, False])  # decays to 0.18 and 0.74
        np.testing.assert_allclose(v, np.array([0.5, 2.0]) * np.exp(-1), rtol=1e-6)

    def test_refusals(self):
        n, k = 30, 20
        v, w, fired, g = np.zeros(n, np.float32), sparse(9, k, n), np.zeros(k, bool), np.zeros(n, np.float32)

        def step(of=v, synapse=None, **settings):
            inputs = [LIFInput(**{**dict(events=fired, w=w, g=g), **synapse})] if synapse is not None else []
            return LIFStep(of, inputs, **{**dict(dt=1, tau=10), **settings})()

        for kind, message, call in (
                (ValueError, "v: has 3 dimensions", lambda: step(v.reshape(1, 1, n))), (TypeError, "v: has dtype float64", lambda: step(v.astype(float))),
                (ValueError, "v: its elements are not contiguous", lambda: step(np.zeros((n, 2), np.float32).T)),
                (ValueError, "inputs: has 9 kinds", lambda: LIFStep(v, [LIFInput(fired, w, g)] * 9, dt=1, tau=1)),
                (ValueError, "spikes: has shape", lambda: step(spikes=np.zeros(n + 1, bool))), (TypeError, "spikes: has dtype", lambda: step(spikes=np.zeros(n))),
                (TypeError, "wait: has dtype int64", lambda: step(refractory=1, wait=np.zeros(n, int))),
                (ValueError, "bits: has shape", lambda: step(bits=np.zeros(2, np.uint64))),
                (ValueError, "counts: is None beside indices", lambda: step(indices=np.zeros(n, np.int32))),
                (ValueError, r"inputs\[0\].g: has shape", lambda: step(synapse=dict(g=g[1:]))),
                (ValueError, r"inputs\[0\].w: has 1 dimensions", lambda: step(synapse=dict(w=w[0]))),
                (TypeError, r"inputs\[0\].events: has dtype int64", lambda: step(synapse=dict(events=fired.astype(int)))),
                (lacuna_blas.ArgumentError, "lif.dt: 0 is not above 0", lambda: step(dt=0)),
                (lacuna_blas.ArgumentError, "lif.refractory: -1 is negative", lambda: step(refractory=-1)),
                (lacuna_blas.ArgumentError, r"lif.input\[0\].w: has 20 rows", lambda: step(synapse=dict(events=fired[1:]))),
                (lacuna_blas.ArgumentError, r"lif.input\[0\].g: overlaps lif.v", lambda: step(synapse=dict(g=v)))):
            with self.subTest(message=message), self.assertRaisesRegex(kind, f"^{message}"):
                call()
        self.assertFalse(v.any() or g.any(), "a refused step wrote")
        read_only = v.copy()
        read_only.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "^v: is read-only"):
            step(read_only)
        for message, call in (("bits: need an operand of bool events", lambda: Operand(w).attach_event_bits(np.zeros((k, 1), np.uint64))),
                              ("bits: expected a contiguous uint64 array", lambda: Operand(fired[None]).attach_event_bits(np.zeros(1, np.int64))),
                              ("counts: expected", lambda: Operand(fired[None]).attach_event_lists(np.zeros(k, np.int32), np.zeros(2, np.int32))),
                              ("indices: expected", lambda: Operand.from_ell((k, n), np.zeros((k + 1, 3), np.int32))),
                              ("data: expected", lambda: Operand.from_ell((k, n), np.zeros((k, 3), np.int32), np.zeros((k, 2), np.float32)))):
            with self.subTest(message=message), self.assertRaisesRegex((ValueError, TypeError), f"^{message}"):
                call()


if __name__ == "__main__":
    sys.exit(unittest.main())
